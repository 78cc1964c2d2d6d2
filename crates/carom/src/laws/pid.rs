//! A servo of a length with proportional, derivative and integral action and feedforward.
//!
//! With set points p of the length ℓ and w of its rate, feedforward f and constant b₀, absent controls being zero,
//!
//!   τ = kp·(p − ℓ) + kv·(w − dℓ/dt) + ki·x + f + b₀,   dx/dt = p − ℓ                       (1)
//!
//! The set point moves no faster than slewmax: its state s follows the control u, which may be any number of turns away
//! where the length is an angle about a three-dimensional rotation,
//!
//!   p = s⁺ = clamp(u, s − h·slewmax, s + h·slewmax)                                        (2)
//!
//! Beyond ±imax the integral x takes only errors that lead it back. States advance by Euler's rule, within the range of
//! activations if there is one; integrators that are implicit in velocity take ∂τ/∂(dℓ/dt) = −kv. Layout of the
//! parameters: gain = ki; bias = b₀, −kp, −kv; dynamics = imax, slewmax.

use super::servo::{
    Acting, MOST_FORCES, MOST_STATES, Places, Seen, limit_rate, nearest_turn, unpack,
    without_windup,
};
use crate::model::{ServoInputs, ServoStates};
use crate::scalar::Scalar;

/// Which inputs and states a servo has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pid {
    /// Its controls.
    pub inputs: ServoInputs,
    /// Its states.
    pub states: ServoStates,
    /// Whether the force takes the integral at the end of the step.
    pub early: bool,
    /// Whether the states are held within a range.
    pub limited: bool,
}

impl Pid {
    /// Force and rates of the states. (1), (2)
    pub fn act<T: Scalar>(&self, seen: &Seen<T>) -> Acting<T> {
        let places = Places::of(self.states);
        let (length, velocity) = (seen.length[0], seen.velocity[0]);
        let mut rates = [T::ZERO; MOST_STATES];
        let mut controls = seen.controls;
        if let Some(place) = places.slew {
            let last = seen.activations[place];
            let wanted = nearest_turn(controls[0], last, seen.period);
            controls[0] = limit_rate(wanted, last, seen.dynamics[1], seen.timestep);
            rates[place] = (controls[0] - last) / seen.timestep;
        }
        let [position, speed, feedforward, _] = unpack(self.inputs, &controls);
        let position = nearest_turn(position, length, seen.period);
        let [constant, stiffness, damping, ..] = seen.bias;
        let mut force = [T::ZERO; MOST_FORCES];
        force[0] = -stiffness * position - damping * speed + feedforward;
        if let Some(place) = places.integral {
            let integral = seen.activations[place];
            rates[place] = without_windup(position - length, integral, seen.dynamics[0]);
            let effective = if self.early {
                self.hold(seen, integral + rates[place] * seen.timestep)
            } else {
                integral
            };
            force[0] += seen.gain[0] * effective;
        }
        force[0] += constant + stiffness * length + damping * velocity;
        Acting {
            force,
            mechanical: T::ZERO,
            rates,
        }
    }

    /// The states after a step.
    pub fn advance<T: Scalar>(&self, seen: &Seen<T>) -> [T; MOST_STATES] {
        std::array::from_fn(|place| {
            self.hold(
                seen,
                seen.activations[place] + seen.rates[place] * seen.timestep,
            )
        })
    }

    /// A state within its range.
    fn hold<T: Scalar>(&self, seen: &Seen<T>, state: T) -> T {
        let [low, high] = seen.activation_range;
        if self.limited {
            state.clamp(low, high)
        } else {
            state
        }
    }
}
