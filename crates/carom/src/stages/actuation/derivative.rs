//! Derivatives of actuator forces with respect to actuator velocities, for the implicit integrators.

use super::Actuation;
use super::forward::{Law, is_disabled, next_activation};
use crate::model::{BiasKind, GainKind, Model};
use crate::scalar::Scalar;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;

/// ∂force/∂velocity of an actuator that is switched on and does not stand at a limit; zero otherwise.
pub(crate) fn velocity_derivative<T: Scalar>(
    model: &Model<T>,
    actuator: usize,
    act: &[T],
    transmission: &TransmissionData<T>,
    velocity: &Velocity<T>,
    actuation: &Actuation<T>,
) -> T {
    let structure = &model.structure.actuators;
    if actuation.saturated[actuator] || is_disabled(model, actuator) {
        return T::ZERO;
    }
    let law = Law {
        model,
        actuator,
        length: transmission.length[actuator],
        velocity: velocity.actuator[actuator],
    };
    let bias = match structure.bias[actuator] {
        BiasKind::Affine => model.actuators.bias[actuator][2],
        BiasKind::None | BiasKind::Muscle | BiasKind::User => T::ZERO,
    };
    let parameters = &model.actuators.gain[actuator];
    let gain = match structure.gain[actuator] {
        GainKind::Affine => parameters[2],
        GainKind::Muscle => law
            .muscle(parameters)
            .gain_velocity_derivative(law.length, law.velocity),
        GainKind::Fixed | GainKind::User => return bias,
    };
    bias + gain * gained(model, actuator, act, actuation)
}

/// What the gain multiplies: the control, or the activation, at the end of the step if the actuator acts early.
pub(super) fn gained<T: Scalar>(
    model: &Model<T>,
    actuator: usize,
    act: &[T],
    actuation: &Actuation<T>,
) -> T {
    let structure = &model.structure.actuators;
    let Some(last) = structure.activations[actuator].clone().last() else {
        return actuation.control[actuator];
    };
    if structure.activation_early[actuator] {
        let (rate, h) = (actuation.activation_dot[last], model.option.timestep[0]);
        next_activation(model, actuator, act[last], rate, h)
    } else {
        act[last]
    }
}
