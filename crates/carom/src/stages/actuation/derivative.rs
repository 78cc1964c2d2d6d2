//! Derivatives of actuator forces: by velocity for the implicit integrators, by everything for linearisation.

use super::forward::{gained, is_disabled};
use super::servo::ServoAt;
use super::{Actuation, ActuatorPlace};
use crate::data::Data;
use crate::dynamics::At;
use crate::history::is_delayed;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::terms::Term;
use crate::terms::actuator::{Force, Next, Rate};

/// ∂force/∂velocity of an actuator that is switched on and does not stand at a limit; zero otherwise.
pub(crate) fn velocity_derivative<T: Scalar>(
    model: &Model<T>,
    actuator: usize,
    place: ActuatorPlace<'_, T>,
    act: &[T],
    actuation: &Actuation<T>,
) -> T {
    if actuation.saturated[actuator] || is_explicit(model, actuator) {
        return T::ZERO;
    }
    if let Some(servo) = ServoAt::find(model, actuator, place) {
        return servo.velocity_derivative(act, actuation);
    }
    let output = model.structure.actuators.outputs[actuator].start;
    let x = [
        place.transmission.length[output],
        place.velocity.actuator[output],
        gained(model, actuator, act, actuation, place.timestep),
    ];
    Force::rate_derivative(model, actuator, x)
}

/// Whether implicit integrators leave an actuator out: it is switched off, or its law is replaced by a learned term.
pub(super) fn is_explicit<T: Scalar>(model: &Model<T>, actuator: usize) -> bool {
    is_disabled(model, actuator) || model.structure.learned.replaces(actuator)
}

/// Derivatives of what an actuator does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sensitivity {
    /// Of the force.
    pub(crate) force: ByInputs,
    /// Of [`velocity_derivative`].
    pub(crate) damping: ByInputs,
    /// Of the last activation's rate.
    pub(crate) rate: ByInputs,
}

/// Derivatives by what an actuator's law depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ByInputs {
    pub(crate) length: f64,
    pub(crate) velocity: f64,
    /// By the last activation.
    pub(crate) activation: f64,
    pub(crate) control: f64,
}

/// Derivatives of an actuator's force and activation rate at the state of `data`; a control that its range holds, or
/// that is refused or comes later, has none. Limits of tendons and joints on the force are not regarded.
pub(crate) fn sensitivity(at: At<'_>, actuator: usize) -> Sensitivity {
    let At {
        model,
        state,
        input,
        data,
    } = at;
    let structure = &model.structure.actuators;
    let mut out = Sensitivity::default();
    if is_disabled(model, actuator) {
        return out;
    }
    let place = structure.controls[actuator].start;
    let acts = data.actuation.control[place] == input.ctrl[place];
    let control = f64::from(u8::from(acts && !is_delayed(model, actuator)));
    let last = structure.activations[actuator].clone().last();
    // Of the input, by activation and control.
    let by_source = match last {
        None => [0.0, control],
        Some(last) => {
            let x = [data.actuation.control[place], state.act[last]];
            let [by_control, by_activation] = Rate::by_inputs(model, actuator, x);
            out.rate.activation = by_activation;
            out.rate.control = by_control * control;
            if structure.activation_early[actuator] {
                next_derivatives(model, actuator, state.act[last], data, &out.rate)
            } else {
                [1.0, 0.0]
            }
        }
    };
    if is_limited(model, actuator, data) {
        return out;
    }
    let x = force_inputs(at, actuator);
    out.force = ByInputs::new(Force::by_inputs(model, actuator, x), by_source);
    if !data.actuation.saturated[actuator] {
        let slopes = Force::rate_derivative_by_inputs(model, actuator, x);
        out.damping = ByInputs::new(slopes, by_source);
    }
    out
}

impl ByInputs {
    /// From derivatives by length, rate and input, and those of the input by activation and control.
    fn new([length, velocity, input]: [f64; 3], [activation, control]: [f64; 2]) -> Self {
        Self {
            length,
            velocity,
            activation: input * activation,
            control: input * control,
        }
    }
}

/// Length, rate and input of an actuator's force.
pub(crate) fn force_inputs(at: At<'_>, actuator: usize) -> [f64; 3] {
    let (data, h) = (at.data, at.input.timestep);
    let output = at.model.structure.actuators.outputs[actuator].start;
    [
        data.transmission.length[output],
        data.velocity.actuator[output],
        gained(at.model, actuator, &at.state.act, &data.actuation, h),
    ]
}

/// Whether an actuator is switched on and its force is not held by its range.
pub(crate) fn is_free(model: &Model, actuator: usize, data: &Data) -> bool {
    !is_disabled(model, actuator) && !is_limited(model, actuator, data)
}

/// Whether the actuator's own limit holds its force.
fn is_limited(model: &Model, actuator: usize, data: &Data) -> bool {
    let [low, high] = model.actuators.force_range[actuator];
    let output = model.structure.actuators.outputs[actuator].start;
    let force = data.actuation.unlimited_force[output];
    model.structure.actuators.force_limited[actuator] && (force < low || force > high)
}

/// Derivatives of the last activation after a step, by activation and control.
pub(crate) fn next_derivatives(
    model: &Model,
    actuator: usize,
    activation: f64,
    data: &Data,
    rate: &ByInputs,
) -> [f64; 2] {
    let structure = &model.structure.actuators;
    let Some(last) = structure.activations[actuator].clone().last() else {
        return [0.0; 2];
    };
    let dot = data.actuation.activation_dot[last];
    let x = [activation, dot, data.timestep];
    let [by_activation, by_dot, _] = Next::by_inputs(model, actuator, x);
    [
        by_activation + by_dot * rate.activation,
        by_dot * rate.control,
    ]
}
