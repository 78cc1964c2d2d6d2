//! An electric motor with winding, driver, temperature, cogging and friction.
//!
//! With V the terminal voltage, ω the speed of the actuator, R the resistance and K the motor constant, which is that of
//! the torque and of the back-EMF, the current without inductance and the torque are
//!
//!   i = (V − K·ω)/R,   τ = K·i                                                             (1)
//!
//! The winding has a time constant tₑ = L/R. Then i is a state; the torque takes its value at the end of the step:
//!
//!   di/dt = ((V − K·ω)/R − i)/tₑ, held within ±(di/dt)max,   i⁺ = i + di/dt·tₑ·(1 − e^(−h/tₑ))      (2)
//!
//! The driver commands a torque through a voltage within ±Vmax that compensates the back-EMF; the raw voltage u adds
//! beyond it. Absent set points are zero:
//!
//!   V = (R/K)·(kp·(uₚ − θ) + kd·(uᵥ − ω) + ki·x + uₛ) + K·ω,   dx/dt = uₚ − θ             (3)
//!
//! x stops at ±Imax, and the first control moves no faster than slewmax: its state s follows it,
//! s⁺ = clamp(u, s − h·slewmax, s + h·slewmax). The winding is T above the temperature around it,
//!
//!   dT/dt = (Rₜ·i² − T/Rθ)/C,   Rₜ = R·(1 + α·(T + Tₐ − T₀))                               (4)
//!
//! and Rₜ takes the place of R in (1) and (2), not in the driver. Beyond the limit of the electrical torque act cogging
//! and `LuGre` friction [Canudas 1995] with bristles that are deflected by z:
//!
//!   τ += A·sin(N·θ + φ) − σ₀·z − σ₁·dz/dt                                                  (5)
//!   dz/dt = a·z + ω,   a = −σ₀·|ω|/g,   g = Fᶜ + (Fˢ − Fᶜ)·e^(−(ω/vˢ)²)                 (6)
//!   z⁺ = e^(a·h)·z + ω·(e^(a·h) − 1)/a                                                      (7)
//!
//! Integrators that are implicit in velocity take the derivative without how bristles yield,
//!
//!   ∂τ/∂ω ≈ (K/Rₜ)·(−K + [K − kd·R/K])·s − σ₁,   s = 1 − e^(−h/tₑ), or 1 without inductance (8)
//!
//! where the bracket is that of a driver below Vmax, and a current at its greatest rate, or a torque at its limit, has only
//! the last term. Layout of the parameters: gain = R, K, α, T₀, kp, ki, kd, Vmax;
//! bias = A, N, φ, Fᶜ, Fˢ, vˢ; dynamics = tₑ, (di/dt)max, Rθ, C, Tₐ, σ₀, σ₁, slewmax, Imax.

use super::servo::{
    Acting, MOST_CONTROLS, MOST_FORCES, MOST_STATES, Places, Seen, filter_duration, limit_rate,
    unpack, without_windup,
};
use crate::math::MIN_LENGTH;
use crate::model::{ServoInputs, ServoStates};
use crate::scalar::Scalar;

/// Which inputs and states a motor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcMotor {
    /// Its controls.
    pub inputs: ServoInputs,
    /// Its states.
    pub states: ServoStates,
}

impl DcMotor {
    /// Torques and rates of the states. (1) to (6)
    pub fn act<T: Scalar>(&self, seen: &Seen<T>) -> Acting<T> {
        let places = Places::of(self.states);
        let dynamics = &seen.dynamics;
        let (velocity, h) = (seen.velocity[0], seen.timestep);
        let mut rates = [T::ZERO; MOST_STATES];

        // What limits and integrates set points.
        let controls = self.limited_controls(seen);
        if let Some(place) = places.slew {
            rates[place] = (controls[0] - seen.activations[place]) / h;
        }
        if let Some(place) = places.integral {
            let error = controls[0] - seen.length[0];
            rates[place] = without_windup(error, seen.activations[place], dynamics[8]);
        }

        // The winding: current and temperature.
        let winding = self.winding(seen, &controls);
        if let Some(place) = places.temperature {
            let current = winding.current;
            let heat = winding.resistance * current * current;
            rates[place] = (heat - seen.activations[place] / dynamics[2]) / dynamics[3];
        }
        let mut acting = winding.current;
        if let Some(place) = places.current {
            rates[place] = winding.current_rate;
            acting += winding.current_rate * winding_duration(seen);
        }

        // The rotor: cogging and friction.
        let bias = &seen.bias;
        let mut mechanical = bias[0] * (bias[1] * seen.length[0] + bias[2]).sin();
        if let Some(place) = places.bristle {
            let deflection = seen.activations[place];
            rates[place] = bristle_decay(seen) * deflection + velocity;
            mechanical -= dynamics[5] * deflection + dynamics[6] * rates[place];
        }
        let mut force = [T::ZERO; MOST_FORCES];
        force[0] = seen.gain[1] * acting;
        Acting {
            force,
            mechanical,
            rates,
        }
    }

    /// The controls, the first no faster than it may be.
    fn limited_controls<T: Scalar>(&self, seen: &Seen<T>) -> [T; MOST_CONTROLS] {
        let mut controls = seen.controls;
        if let Some(place) = Places::of(self.states).slew {
            let last = seen.activations[place];
            controls[0] = limit_rate(controls[0], last, seen.dynamics[7], seen.timestep);
        }
        controls
    }

    /// The winding under the terminal voltage. (1), (2)
    fn winding<T: Scalar>(&self, seen: &Seen<T>, controls: &[T; MOST_CONTROLS]) -> Winding<T> {
        let places = Places::of(self.states);
        let (gain, dynamics) = (&seen.gain, &seen.dynamics);
        let mut resistance = gain[0];
        if let Some(place) = places.temperature {
            let above = seen.activations[place] + dynamics[4] - gain[3];
            resistance *= gain[2] * above + 1.0;
        }
        let (voltage, is_voltage_held) = self.voltage(seen, controls);
        let voltage = voltage - gain[1] * seen.velocity[0];
        let driven = voltage / resistance.max(T::from(MIN_LENGTH));
        let Some(place) = places.current else {
            return Winding {
                resistance,
                current: driven,
                current_rate: T::ZERO,
                is_voltage_held,
                is_rate_held: false,
            };
        };
        let current = seen.activations[place];
        let rate = (driven - current) / dynamics[0];
        let most = dynamics[1];
        let is_rate_held = most.value() > 0.0 && rate.value().abs() > most.value();
        let current_rate = if is_rate_held {
            rate.clamp(-most, most)
        } else {
            rate
        };
        Winding {
            resistance,
            current,
            current_rate,
            is_voltage_held,
            is_rate_held,
        }
    }

    /// The terminal voltage, and whether that of the driver is at its limit. (3)
    fn voltage<T: Scalar>(&self, seen: &Seen<T>, controls: &[T; MOST_CONTROLS]) -> (T, bool) {
        let [position, speed, feedforward, raw] = unpack(self.inputs, controls);
        if !self.inputs.has_controller() {
            return (raw, false);
        }
        let (velocity, gain) = (seen.velocity[0], &seen.gain);
        let integral = Places::of(self.states).integral;
        let integral = integral.map_or(T::ZERO, |place| seen.activations[place]);
        let torque = gain[4] * (position - seen.length[0])
            + gain[6] * (speed - velocity)
            + gain[5] * integral
            + feedforward;
        let voltage = gain[0] / gain[1] * torque + gain[1] * velocity;
        let most = gain[7];
        if most.value() > 0.0 && voltage.value().abs() > most.value() {
            (voltage.clamp(-most, most) + raw, true)
        } else {
            (voltage + raw, false)
        }
    }

    /// The states after a step. (2), (7), otherwise Euler's rule
    pub fn advance<T: Scalar>(&self, seen: &Seen<T>) -> [T; MOST_STATES] {
        let places = Places::of(self.states);
        let h = seen.timestep;
        let mut next: [T; MOST_STATES] =
            std::array::from_fn(|place| seen.activations[place] + seen.rates[place] * h);
        if let Some(place) = places.integral {
            let most = seen.dynamics[8];
            if most.value() > 0.0 {
                next[place] = next[place].clamp(-most, most);
            }
        }
        if let Some(place) = places.bristle {
            let decay = bristle_decay(seen);
            let factor = (decay * h).exp();
            let reach = if decay.value().abs() > MIN_LENGTH {
                (factor - T::ONE) / decay
            } else {
                // (e^(a·h) − 1)/a up to its slope at a = 0.
                h + decay * h * h * 0.5
            };
            next[place] = factor * seen.activations[place] + reach * seen.velocity[0];
        }
        if let Some(place) = places.current {
            let duration = winding_duration(seen);
            next[place] = seen.activations[place] + seen.rates[place] * duration;
        }
        next
    }

    /// (8); a limit of the torque holds its electrical part.
    pub fn velocity_derivative<T: Scalar>(&self, seen: &Seen<T>, is_force_held: bool) -> T {
        let (gain, dynamics) = (&seen.gain, &seen.dynamics);
        let mut slope = T::ZERO;
        let winding = self.winding(seen, &self.limited_controls(seen));
        if !is_force_held && !winding.is_rate_held {
            let (resistance, constant) = (winding.resistance, gain[1]);
            let mut by_speed = -constant;
            if self.inputs.has_controller() && !winding.is_voltage_held {
                by_speed += constant - gain[6] * gain[0] / constant;
            }
            slope = constant * by_speed / resistance.max(T::from(MIN_LENGTH));
            if self.states.current {
                slope *= -(-seen.timestep / dynamics[0]).exp() + 1.0;
            }
        }
        if self.states.bristle {
            slope -= dynamics[6];
        }
        slope
    }
}

/// The state of the winding.
struct Winding<T> {
    resistance: T,
    current: T,
    current_rate: T,
    is_voltage_held: bool,
    is_rate_held: bool,
}

/// Over how long the rate of the current acts in a step. (2)
fn winding_duration<T: Scalar>(seen: &Seen<T>) -> T {
    filter_duration(seen.dynamics[0].max(T::from(MIN_LENGTH)), seen.timestep)
}

/// The rate at which bristles yield, a. (6)
fn bristle_decay<T: Scalar>(seen: &Seen<T>) -> T {
    let [_, _, _, coulomb, breakaway, stribeck, ..] = seen.bias;
    let velocity = seen.velocity[0];
    let ratio = velocity / stribeck.max(T::from(MIN_LENGTH));
    let friction = coulomb + (breakaway - coulomb) * (-ratio * ratio).exp();
    -seen.dynamics[5] * velocity.abs() / friction.max(T::from(MIN_LENGTH))
}
