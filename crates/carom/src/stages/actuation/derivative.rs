//! Derivatives of actuator forces: by velocity for the implicit integrators, by everything for linearisation.

use super::Actuation;
use super::backward::{Reverse, Targets, next_activation_vjp};
use super::forward::{Law, is_disabled, next_activation, time_constant};
use super::muscle::{Muscle, activation_rate};
use crate::data::Data;
use crate::dual::Dual;
use crate::history::is_delayed;
use crate::model::{ActuatorDynamics, BiasKind, GainKind, Model};
use crate::scalar::Scalar;
use crate::state::{Input, State};

/// ∂force/∂velocity of an actuator that is switched on and does not stand at a limit; zero otherwise.
pub(crate) fn velocity_derivative<T: Scalar>(
    law: &Law<'_, T>,
    act: &[T],
    actuation: &Actuation<T>,
) -> T {
    let (model, actuator) = (law.model, law.actuator);
    let structure = &model.structure.actuators;
    if actuation.saturated[actuator] || is_disabled(model, actuator) {
        return T::ZERO;
    }
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
    bias + gain * gained(law, act, actuation)
}

/// The twin of [`velocity_derivative`]; `bar` receives the cotangents of controls and activation rates.
pub(crate) fn velocity_derivative_vjp(
    law: &Law<'_, f64>,
    state: &State,
    actuation: &Actuation,
    derivative_bar: f64,
    bar: &mut Actuation,
    targets: &mut Targets<'_>,
) {
    let (model, actuator) = (law.model, law.actuator);
    let structure = &model.structure.actuators;
    if actuation.saturated[actuator] || is_disabled(model, actuator) {
        return;
    }
    if structure.bias[actuator] == BiasKind::Affine {
        targets.model.actuators.bias[actuator][2] += derivative_bar;
    }
    let input = gained(law, &state.act, actuation);
    let parameters = &model.actuators.gain[actuator];
    let gain_bar = derivative_bar * input;
    let gain = match structure.gain[actuator] {
        GainKind::Affine => {
            targets.model.actuators.gain[actuator][2] += gain_bar;
            parameters[2]
        }
        GainKind::Muscle => {
            let mut reverse = Reverse {
                law,
                state,
                actuation,
                targets,
            };
            let curve = |muscle: &Muscle<'_, _>, length, rate| {
                muscle.gain_velocity_derivative(length, rate)
            };
            let (gain, slopes) = reverse.muscle(parameters, gain_bar, curve);
            let sums = &mut targets.model.actuators.gain[actuator];
            for (sum, slope) in sums.iter_mut().zip(slopes) {
                *sum += slope;
            }
            gain
        }
        GainKind::Fixed | GainKind::User => return,
    };
    let input_bar = derivative_bar * gain;
    let Some(last) = structure.activations[actuator].clone().last() else {
        bar.control[actuator] += input_bar;
        return;
    };
    if structure.activation_early[actuator] {
        let (rate, h) = (actuation.activation_dot[last], law.timestep);
        let given = (state.act[last], rate, h);
        let [activation_bar, rate_bar, step_bar] =
            next_activation_vjp(model, actuator, given, input_bar, targets.model);
        targets.state.act[last] += activation_bar;
        bar.activation_dot[last] += rate_bar;
        targets.input.timestep += step_bar;
    } else {
        targets.state.act[last] += input_bar;
    }
}

/// What the gain multiplies: the control, or the activation, at the end of the step if the actuator acts early.
pub(crate) fn gained<T: Scalar>(law: &Law<'_, T>, act: &[T], actuation: &Actuation<T>) -> T {
    let (model, actuator) = (law.model, law.actuator);
    let structure = &model.structure.actuators;
    let Some(last) = structure.activations[actuator].clone().last() else {
        return actuation.control[actuator];
    };
    if structure.activation_early[actuator] {
        let rate = actuation.activation_dot[last];
        next_activation(model, actuator, act[last], rate, law.timestep)
    } else {
        act[last]
    }
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
pub(crate) fn sensitivity(
    model: &Model,
    state: &State,
    input: &Input,
    data: &Data,
    actuator: usize,
) -> Sensitivity {
    let structure = &model.structure.actuators;
    let mut out = Sensitivity::default();
    if is_disabled(model, actuator) {
        return out;
    }
    let acts = data.actuation.control[actuator] == input.ctrl[actuator];
    let control = f64::from(u8::from(acts && !is_delayed(model, actuator)));
    let last = structure.activations[actuator].clone().last();
    let effective = match last {
        None => [0.0, control],
        Some(last) => {
            let by_activation = rate_derivatives(model, actuator, state.act[last], data);
            out.rate.activation = by_activation[0];
            out.rate.control = by_activation[1] * control;
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
    let law = Law::of(model, actuator, data);
    let gained = gained(&law, &state.act, &data.actuation);
    let gain = law.gain();
    out.force.activation = gain * effective[0];
    out.force.control = gain * effective[1];
    let parameters = &model.actuators.gain[actuator];
    match structure.gain[actuator] {
        GainKind::Affine => {
            out.force.length += parameters[1] * gained;
            out.force.velocity += parameters[2] * gained;
            if !data.actuation.saturated[actuator] {
                out.damping.activation = parameters[2] * effective[0];
                out.damping.control = parameters[2] * effective[1];
            }
        }
        GainKind::Muscle => {
            let [gain, slope] = over_muscle(&law, parameters, |muscle, length, velocity| {
                let slope = muscle.gain_velocity_derivative(length, velocity);
                [muscle.gain(length, velocity), slope]
            });
            out.force.length += gain.tangent[0] * gained;
            out.force.velocity += gain.tangent[1] * gained;
            if !data.actuation.saturated[actuator] {
                out.damping = ByInputs {
                    length: slope.tangent[0] * gained,
                    velocity: slope.tangent[1] * gained,
                    activation: slope.value * effective[0],
                    control: slope.value * effective[1],
                };
            }
        }
        GainKind::Fixed | GainKind::User => {}
    }
    let parameters = &model.actuators.bias[actuator];
    match structure.bias[actuator] {
        BiasKind::Affine => {
            out.force.length += parameters[1];
            out.force.velocity += parameters[2];
        }
        BiasKind::Muscle => {
            let [bias] = over_muscle(&law, parameters, |muscle, length, _| [muscle.bias(length)]);
            out.force.length += bias.tangent[0];
        }
        BiasKind::None | BiasKind::User => {}
    }
    out
}

/// Curves of a muscle with their derivatives by length and velocity.
fn over_muscle<const N: usize>(
    law: &Law<'_, f64>,
    parameters: &[f64; 10],
    curves: impl Fn(Muscle<'_, Dual<2>>, Dual<2>, Dual<2>) -> [Dual<2>; N],
) -> [Dual<2>; N] {
    let plain = law.muscle(parameters);
    let parameters = parameters.map(Dual::constant);
    let muscle = Muscle {
        parameters: &parameters,
        length_range: plain.length_range.map(Dual::constant),
        acceleration_reference: Dual::constant(plain.acceleration_reference),
    };
    let (length, velocity) = (
        Dual::variable(law.length, 0),
        Dual::variable(law.velocity, 1),
    );
    curves(muscle, length, velocity)
}

/// Whether the actuator's own limit holds its force.
/// Whether an actuator is switched on and its force is not held by its range.
pub(crate) fn is_free(model: &Model, actuator: usize, data: &Data) -> bool {
    !is_disabled(model, actuator) && !is_limited(model, actuator, data)
}

fn is_limited(model: &Model, actuator: usize, data: &Data) -> bool {
    let [low, high] = model.actuators.force_range[actuator];
    let force = data.actuation.unlimited_force[actuator];
    model.structure.actuators.force_limited[actuator] && (force < low || force > high)
}

/// Derivatives of the last activation's rate by activation and effective control.
fn rate_derivatives(model: &Model, actuator: usize, activation: f64, data: &Data) -> [f64; 2] {
    let parameters = &model.actuators.dynamics[actuator];
    match model.structure.actuators.dynamics[actuator] {
        ActuatorDynamics::Integrator => [0.0, 1.0],
        ActuatorDynamics::Filter | ActuatorDynamics::FilterExact => {
            let rate = time_constant(parameters).recip();
            [-rate, rate]
        }
        ActuatorDynamics::Muscle => {
            let control = Dual::<2>::variable(data.actuation.control[actuator], 1);
            let parameters = parameters.map(Dual::constant);
            activation_rate(control, Dual::variable(activation, 0), &parameters).tangent
        }
        ActuatorDynamics::None | ActuatorDynamics::User => [0.0; 2],
    }
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
    let rate_value = data.actuation.activation_dot[last];
    let (slope, duration) = advance_slope(model, actuator, (activation, rate_value), data.timestep);
    [
        slope * (1.0 + duration * rate.activation),
        slope * duration * rate.control,
    ]
}

/// How an activation advances, act⁺ = act + duration·rate: zero if its range holds it, otherwise one; and the duration.
pub(crate) fn advance_slope(
    model: &Model,
    actuator: usize,
    (activation, rate): (f64, f64),
    h: f64,
) -> (f64, f64) {
    let structure = &model.structure.actuators;
    let duration = if structure.dynamics[actuator] == ActuatorDynamics::FilterExact {
        let tau = time_constant(&model.actuators.dynamics[actuator]);
        tau * (1.0 - (-h / tau).exp())
    } else {
        h
    };
    let next = activation + rate * duration;
    let [low, high] = model.actuators.activation_range[actuator];
    let held = structure.activation_limited[actuator] && (next < low || next > high);
    (f64::from(u8::from(!held)), duration)
}
