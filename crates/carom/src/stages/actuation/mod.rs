//! Actuator forces and activation dynamics, muscles included.
//!
//! Reads `state.act`, `input.ctrl`, lengths and velocities; writes [`Actuation`]. Laws are in
//! `laws::actuator`, `laws::muscle` and `laws::activation`; those of motors and servos with several controls, states or
//! forces are in [`laws::servo`](crate::laws::servo), and act through `servo`.

mod backward;
mod bends;
mod derivative;
mod forward;
mod servo;

pub(crate) use backward::velocity_derivative_vjp;
pub use backward::{backward, nearest_setpoint_vjp};
pub(crate) use bends::write_bends;
pub(crate) use derivative::{
    Sensitivity, force_inputs, is_free, next_derivatives, sensitivity, velocity_derivative,
};
pub use forward::forward;
pub(crate) use forward::{is_disabled, nearest_setpoint, tendon_force};
pub(crate) use servo::{ServoAt, ServoBar};

use crate::arrays::arrays;
use crate::data::Data;
use crate::dynamics::At;
use crate::scalar::Scalar;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;

arrays! {
    /// Results of the actuation stage.
    pub struct Actuation {
        /// Time derivatives of the activations.
        activation_dot: [T; na],
        /// Forces of the actuators, one each, or the three of a servo of an orientation.
        actuator_force: [T; nout],
        /// The same before the limits of actuators and tendons, and before what adds to them beyond limits.
        unlimited_force: [T; nout],
        /// Work area: forces of the laws, where learned terms change some.
        law_force: [T; nout],
        /// What adds to the force beyond its limits: cogging and friction of a motor.
        mechanical_force: [T; nactuator],
        /// Generalised force of all actuators, joint and tendon force limits applied.
        force: [T; nv],
        /// Work area: the control each actuator acts on, after clamping.
        control: [T; nu],
        @plain
        /// Whether the actuator's force stands at its own, its joint's or its tendon's limit. The own limit of a motor,
        /// which holds a part of its force only, does not count.
        saturated: [bool; nactuator],
    }
}

/// Where actuators act: lengths and speeds of their transmissions, and the length of the step.
#[derive(Clone, Copy, Debug)]
pub struct ActuatorPlace<'a, T: Scalar> {
    /// Lengths.
    pub transmission: &'a TransmissionData<T>,
    /// Speeds.
    pub velocity: &'a Velocity<T>,
    /// (s)
    pub timestep: T,
}

impl<'a> ActuatorPlace<'a, f64> {
    /// Where derivatives are taken.
    pub(crate) fn at(at: At<'a>) -> Self {
        Self {
            timestep: at.input.timestep,
            ..Self::of(at.data)
        }
    }
}

impl<'a, T: Scalar> ActuatorPlace<'a, T> {
    /// At the results of the stages before.
    pub(crate) fn of(data: &'a Data<T>) -> Self {
        Self {
            transmission: &data.transmission,
            velocity: &data.velocity,
            timestep: data.timestep,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
