//! Actuator forces and activation dynamics, muscles included.
//!
//! Reads `state.act`, `input.ctrl`, lengths and velocities; writes [`Actuation`]. Laws are in
//! `laws::actuator`, `laws::muscle` and `laws::activation`.

mod backward;
mod bends;
mod derivative;
mod forward;

pub(crate) use backward::Place;
pub use backward::{Targets, backward, nearest_setpoint_vjp};
pub(crate) use bends::write_bends;
pub(crate) use derivative::{
    Sensitivity, force_inputs, is_free, next_derivatives, sensitivity, velocity_derivative,
};
pub use forward::forward;
pub(crate) use forward::{gained, is_disabled, nearest_setpoint, tendon_force};

use crate::arrays::arrays;

arrays! {
    /// Results of the actuation stage.
    pub struct Actuation {
        /// Time derivatives of the activations.
        activation_dot: [T; na],
        /// Scalar forces of the actuators.
        actuator_force: [T; nactuator],
        /// The same before the limits of actuators and tendons.
        unlimited_force: [T; nactuator],
        /// Generalised force of all actuators, joint and tendon force limits applied.
        force: [T; nv],
        /// Work area: the control each actuator acts on, after clamping.
        control: [T; nactuator],
        @plain
        /// Whether the actuator's force stands at its own, its joint's or its tendon's limit.
        saturated: [bool; nactuator],
    }
}

#[cfg(test)]
pub(crate) mod tests;
