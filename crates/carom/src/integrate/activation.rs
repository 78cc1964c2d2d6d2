//! Advance of the activation states.

use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::actuation::{
    ActuatorPlace, ServoAt, ServoBar, is_disabled, nearest_setpoint, nearest_setpoint_vjp,
};
use crate::terms::Term;
use crate::terms::actuator::Next;

/// Advances all activations by one time step; those of switched-off actuators stay. Angular setpoints move to the
/// equivalent one nearest to the actuator's length.
pub(super) fn advance<T: Scalar>(
    model: &Model<T>,
    act: &mut [T],
    activation_dot: &[T],
    place: ActuatorPlace<'_, T>,
) {
    let (transmission, h) = (place.transmission, place.timestep);
    if act.is_empty() || model.settings.disable.actuation {
        return;
    }
    for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
        if let Some(servo) = ServoAt::find(model, actuator, place) {
            servo.advance(act, activation_dot);
            continue;
        }
        let disabled = is_disabled(model, actuator);
        for state in states.clone() {
            let rate = if disabled {
                T::ZERO
            } else {
                activation_dot[state]
            };
            act[state] = Next::value(model, actuator, [act[state], rate, h]);
        }
        if let Some(last) = states.clone().last() {
            let length = transmission.length[model.structure.actuators.outputs[actuator].start];
            act[last] = nearest_setpoint(model, actuator, act[last], length);
        }
    }
}

/// What the activations of a step advance from.
#[derive(Clone, Copy)]
pub(super) struct From<'a> {
    pub(super) model: &'a Model,
    pub(super) act: &'a [f64],
    pub(super) activation_dot: &'a [f64],
    pub(super) place: ActuatorPlace<'a, f64>,
}

/// The twin of [`advance`]: adds to the cotangents of activations, rates, speeds and model; returns that of the step.
pub(super) fn advance_vjp(from: From<'_>, bar: &[f64], mut targets: ServoBar<'_>) -> f64 {
    let From {
        model,
        act,
        activation_dot,
        place,
    } = from;
    let (transmission, h) = (place.transmission, place.timestep);
    let mut h_bar = 0.0;
    if act.is_empty() {
        return h_bar;
    }
    if model.settings.disable.actuation {
        for (act_bar, &bar) in targets.act.iter_mut().zip(bar) {
            *act_bar += bar;
        }
        return h_bar;
    }
    for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
        if let Some(servo) = ServoAt::find(model, actuator, place) {
            h_bar += servo.advance_vjp(act, activation_dot, bar, &mut targets);
            continue;
        }
        let model_bar = &mut *targets.model;
        let disabled = is_disabled(model, actuator);
        let last = states.clone().last();
        for state in states.clone() {
            let rate = if disabled { 0.0 } else { activation_dot[state] };
            if last == Some(state) {
                let next = Next::value(model, actuator, [act[state], rate, h]);
                let length = transmission.length[model.structure.actuators.outputs[actuator].start];
                nearest_setpoint_vjp(model, actuator, (next, length), bar[state], model_bar);
            }
            let x = [act[state], rate, h];
            let [act_part, rate_part, step_part] =
                Next::vjp(model, actuator, x, bar[state], model_bar);
            targets.act[state] += act_part;
            if !disabled {
                targets.activation_dot[state] += rate_part;
            }
            h_bar += step_part;
        }
    }
    h_bar
}
