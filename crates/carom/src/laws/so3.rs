//! A servo of an orientation: a spring along the shortest turn to the wanted one, and a damper.
//!
//! With q the orientation of the child in the parent, p the wanted one and ω the velocity of the turn in the child's
//! frame,
//!
//!   τ = kp·log(q⁻¹·p) − kv·ω + b₀·(1, 1, 1)                                                (1)
//!
//! The lengths of the actuator are the rotation vector of q. p is given as rotation vector or as quaternion of any size;
//! as a rotation vector it may be a state w with dw/dt = u, which comes back to the equivalent vector of at most half a
//! turn after each step:
//!
//!   w⁺ ← w⁺·(1 − 2π·round(|w⁺|/2π)/|w⁺|)  where |w⁺| > π                                    (2)
//!
//! The range of forces bounds the size of the torque, not its components:
//!
//!   τ ← τ·min(1, τmax/|τ|)                                                                 (3)
//!
//! Layout of the parameters: gain = kp; bias = b₀, −kp, −kv.

use super::servo::{Acting, MOST_STATES, Seen};
use crate::math::{Quat, Vec3};
use crate::scalar::Scalar;
use std::f64::consts::{PI, TAU};

/// How the wanted orientation is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each may hold by itself")]
pub struct Orientation {
    /// As a quaternion instead of a rotation vector.
    pub by_quaternion: bool,
    /// Through its rate.
    pub integrates: bool,
    /// Whether the torque takes the state at the end of the step.
    pub early: bool,
    /// Whether the states are held within a range.
    pub limited: bool,
}

impl Orientation {
    /// Torques, and rates of the wanted rotation vector. (1)
    pub fn act<T: Scalar>(&self, seen: &Seen<T>) -> Acting<T> {
        let mut rates = [T::ZERO; MOST_STATES];
        let wanted = if self.by_quaternion {
            Quat(seen.controls).normalized()
        } else {
            let vector = if self.integrates {
                rates[..3].copy_from_slice(&seen.controls[..3]);
                let early =
                    |k: usize| self.hold(seen, seen.activations[k] + rates[k] * seen.timestep);
                let state = |k: usize| {
                    if self.early {
                        early(k)
                    } else {
                        seen.activations[k]
                    }
                };
                std::array::from_fn(state)
            } else {
                std::array::from_fn(|k| seen.controls[k])
            };
            Quat::exp(Vec3(vector))
        };
        let error = wanted.difference(Quat::exp(Vec3(seen.length)));
        let (stiffness, [constant, _, damping, ..]) = (seen.gain[0], seen.bias);
        let force =
            std::array::from_fn(|k| stiffness * error[k] + constant + damping * seen.velocity[k]);
        Acting {
            force,
            mechanical: T::ZERO,
            rates,
        }
    }

    /// The wanted rotation vector after a step. (2)
    pub fn advance<T: Scalar>(&self, seen: &Seen<T>) -> [T; MOST_STATES] {
        let next = |k: usize| self.hold(seen, seen.activations[k] + seen.rates[k] * seen.timestep);
        let mut vector = Vec3(std::array::from_fn(next));
        let angle = vector.norm();
        if angle.value() > PI {
            let turns = (angle.value() / TAU).round();
            vector *= (angle - T::from(TAU * turns)) / angle;
        }
        let mut out = [T::ZERO; MOST_STATES];
        out[..3].copy_from_slice(&vector.0);
        out
    }

    /// A state within its range.
    fn hold<T: Scalar>(self, seen: &Seen<T>, state: T) -> T {
        let [low, high] = seen.activation_range;
        if self.limited {
            state.clamp(low, high)
        } else {
            state
        }
    }
}

/// A torque of at most a size. (3)
pub fn limit<T: Scalar>(torque: Vec3<T>, most: T) -> Vec3<T> {
    let size = torque.norm();
    if size.value() > most.value() {
        torque * (most / size)
    } else {
        torque
    }
}

/// The twin of [`limit`]: the cotangents of the torque and of the bound.
#[must_use]
pub fn limit_vjp(torque: Vec3, most: f64, bar: Vec3) -> (Vec3, f64) {
    let size = torque.norm();
    if size <= most {
        return (bar, 0.0);
    }
    let direction = torque * (1.0 / size);
    let along = direction.dot(bar);
    ((bar - direction * along) * (most / size), along)
}
