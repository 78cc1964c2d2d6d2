//! Advance of the activation states.

use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::actuation::{is_disabled, nearest_setpoint, nearest_setpoint_vjp};
use crate::stages::transmission::TransmissionData;
use crate::terms::Term;
use crate::terms::actuator::Next;

/// Advances all activations by one time step; those of switched-off actuators stay. Angular setpoints move to the
/// equivalent one nearest to the actuator's length.
pub(super) fn advance<T: Scalar>(
    model: &Model<T>,
    act: &mut [T],
    activation_dot: &[T],
    transmission: &TransmissionData<T>,
    h: T,
) {
    if act.is_empty() || model.settings.disable.actuation {
        return;
    }
    for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
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
            let length = transmission.length[actuator];
            act[last] = nearest_setpoint(model, actuator, act[last], length);
        }
    }
}

/// The twin of [`advance`]: adds to the cotangents of activations, rates and model; returns that of the step.
pub(super) fn advance_vjp(
    model: &Model,
    act: &[f64],
    (activation_dot, transmission, h): (&[f64], &TransmissionData, f64),
    bar: &[f64],
    (act_bar, activation_dot_bar): (&mut [f64], &mut [f64]),
    model_bar: &mut Model,
) -> f64 {
    let mut h_bar = 0.0;
    if act.is_empty() {
        return h_bar;
    }
    if model.settings.disable.actuation {
        for (act_bar, &bar) in act_bar.iter_mut().zip(bar) {
            *act_bar += bar;
        }
        return h_bar;
    }
    for (actuator, states) in model.structure.actuators.activations.iter().enumerate() {
        let disabled = is_disabled(model, actuator);
        let last = states.clone().last();
        for state in states.clone() {
            let rate = if disabled { 0.0 } else { activation_dot[state] };
            if last == Some(state) {
                let next = Next::value(model, actuator, [act[state], rate, h]);
                let length = transmission.length[actuator];
                nearest_setpoint_vjp(model, actuator, (next, length), bar[state], model_bar);
            }
            let x = [act[state], rate, h];
            let [act_part, rate_part, step_part] =
                Next::vjp(model, actuator, x, bar[state], model_bar);
            act_bar[state] += act_part;
            if !disabled {
                activation_dot_bar[state] += rate_part;
            }
            h_bar += step_part;
        }
    }
    h_bar
}
