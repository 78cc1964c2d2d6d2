//! The adjoint of actuator forces and activation dynamics.
//!
//! Up the chain τ = Σ m·f with the limits of joints, then f = gain·u + bias with the limits of actuators and tendons,
//! then the input u, which is the control or an activation. What a limit holds passes its cotangent to the limit. The
//! forces of a tendon whose sum S is brought to its limit L are fᵢ ← fᵢ·L/S:
//!
//!   f̄ᵢ ← f̄ᵢ·L/S − L/S²·Σ f̄ⱼfⱼ,   L̄ = Σ f̄ⱼfⱼ/S

use super::ActuatorPlace;
use super::derivative::{force_inputs, is_explicit};
use super::forward::{
    GREATEST_CONTROL, acting_output, exceeded_limit, is_disabled, nearest_turn, rotational_gear,
    rotational_period, turns_away,
};
use super::servo::ServoAt;
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::history::{delayed_control, delayed_control_vjp};
use crate::laws::so3;
use crate::math::Vec3;
use crate::model::{ActuatorDynamics, Model, TermMode, Transmission};
use crate::scalar::Scalar;
use crate::terms::Term;
use crate::terms::actuator::{Force, Next, Rate};
use std::f64::consts::TAU;

/// Adds the cotangents of moments, lengths, velocities, activations, controls and parameters; those of the actuation are
/// used up.
pub fn backward(at: At<'_>, bars: &mut Cotangents) {
    let (model, found) = (at.model, &at.data.actuation);
    let count = found.saturated.len();
    if count == 0 || model.settings.disable.actuation {
        return;
    }
    limit_joint_forces(at, bars);
    compensate_gravity(model, bars);
    let pattern = &model.structure.actuators.moment;
    let bar = &mut bars.data.actuation;
    for (output, force_bar) in bar.actuator_force.iter_mut().enumerate() {
        let force = found.actuator_force[output];
        for (entry, &dof) in pattern.row(output).zip(pattern.columns(output)) {
            *force_bar += at.data.transmission.moment[entry] * bar.force[dof];
            bars.data.transmission.moment[entry] += force * bar.force[dof];
        }
    }
    // What adds beyond the limits does not see them.
    for (mechanical_bar, outputs) in
        (bar.mechanical_force.iter_mut()).zip(&model.structure.actuators.outputs)
    {
        *mechanical_bar += bar.actuator_force[outputs.start];
    }
    limit_actuator_forces(at, bars);
    limit_tendon_forces(at, bars);
    learned_forces(at, bars);
    for actuator in 0..count {
        if let Some(servo) = ServoAt::find(model, actuator, ActuatorPlace::at(at)) {
            servo.backward(at, bars);
        } else {
            force_vjp(at, actuator, bars);
        }
    }
    effective_controls(at, bars);
}

/// What learned terms leave of the cotangents of forces, and have themselves.
fn learned_forces(at: At<'_>, bars: &mut Cotangents) {
    let (model, structure) = (at.model, &at.model.structure.learned);
    if structure.on_actuators == 0 {
        return;
    }
    let (bar, laws) = (&mut bars.data.actuation, &at.data.actuation.law_force);
    let outputs = at.data.learned.output.iter();
    let outputs = outputs.zip(&mut bars.data.learned.output);
    for (&target, (&y, y_bar)) in structure.targets.iter().zip(outputs) {
        let Some((output, mode)) = acting_output(model, target) else {
            continue;
        };
        let force_bar = bar.actuator_force[output] + bar.unlimited_force[output];
        let (own, law) = match mode {
            TermMode::Add => (force_bar, force_bar),
            TermMode::Multiply => (laws[output] * force_bar, (1.0 + y) * force_bar),
            TermMode::Replace => (force_bar, 0.0),
        };
        *y_bar += own;
        bar.actuator_force[output] = law;
        bar.unlimited_force[output] = 0.0;
    }
}

/// What a number held within limits passes on: the cotangents of the number and of the two limits.
#[inline]
fn clamp_vjp(number: f64, [low, high]: [f64; 2], bar: f64) -> (f64, [f64; 2]) {
    if number < low {
        (0.0, [bar, 0.0])
    } else if number > high {
        (0.0, [0.0, bar])
    } else {
        (bar, [0.0; 2])
    }
}

/// The force of all actuators on a dof before its limits.
fn joint_force(at: At<'_>, dof: usize) -> f64 {
    let structure = &at.model.structure;
    let mut sum = 0.0;
    for (output, &force) in at.data.actuation.actuator_force.iter().enumerate() {
        if let Some(entry) = structure.actuators.moment.entry(output, dof) {
            sum += at.data.transmission.moment[entry] * force;
        }
    }
    if structure.has_gravcomp && structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
        sum += at.data.passive.gravcomp[dof];
    }
    sum
}

fn limit_joint_forces(at: At<'_>, bars: &mut Cotangents) {
    let joints = &at.model.structure.joints;
    for joint in 0..joints.kind.len() {
        if !joints.actuator_force_limited[joint] {
            continue;
        }
        let range = at.model.joints.actuator_force_range[joint];
        let dof = joints.dof[joint];
        let force = at.data.actuation.force[dof];
        if range[0] < force && force < range[1] {
            continue;
        }
        let bar = &mut bars.data.actuation.force[dof];
        let (force_bar, range_bar) = clamp_vjp(joint_force(at, dof), range, *bar);
        *bar = force_bar;
        add(
            &mut bars.model.joints.actuator_force_range[joint],
            &range_bar,
        );
    }
}

fn compensate_gravity(model: &Model, bars: &mut Cotangents) {
    let structure = &model.structure;
    if !structure.has_gravcomp {
        return;
    }
    for (dof, &bar) in bars.data.actuation.force.iter().enumerate() {
        if structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
            bars.data.passive.gravcomp[dof] += bar;
        }
    }
}

fn limit_actuator_forces(at: At<'_>, bars: &mut Cotangents) {
    let (model, structure) = (at.model, &at.model.structure.actuators);
    let forces = &at.data.actuation.unlimited_force;
    for (actuator, outputs) in structure.outputs.iter().enumerate() {
        if !structure.force_limited[actuator] {
            continue;
        }
        let range = model.actuators.force_range[actuator];
        let range_bar = &mut bars.model.actuators.force_range[actuator];
        let bar = &mut bars.data.actuation.actuator_force[outputs.clone()];
        if let [x, y, z] = bar {
            let force = Vec3(std::array::from_fn(|k| forces[outputs.start + k]));
            let (force_bar, most_bar) = so3::limit_vjp(force, range[1], Vec3([*x, *y, *z]));
            [*x, *y, *z] = force_bar.0;
            range_bar[1] += most_bar;
            continue;
        }
        let mut force = forces[outputs.start];
        if let Transmission::Tendon(tendon) = structure.transmission[actuator]
            && let Some((total, limit)) = exceeded_limit(model, tendon, forces)
        {
            force *= limit / total;
        }
        let (force_bar, own_range_bar) = clamp_vjp(force, range, bar[0]);
        bar[0] = force_bar;
        add(range_bar, &own_range_bar);
    }
}

fn limit_tendon_forces(at: At<'_>, bars: &mut Cotangents) {
    let (model, forces) = (at.model, &at.data.actuation.unlimited_force);
    let bar = &mut bars.data.actuation.actuator_force;
    for tendon in 0..model.counts().ntendon {
        let Some((total, limit)) = exceeded_limit(model, tendon, forces) else {
            continue;
        };
        let actuators = &model.structure.actuators;
        let pulling = || {
            let all = actuators.transmission.iter().zip(&actuators.outputs);
            all.filter(|(transmission, _)| **transmission == Transmission::Tendon(tendon))
                .map(|(_, outputs)| outputs.start)
        };
        let along: f64 = pulling().map(|output| bar[output] * forces[output]).sum();
        let range = model.tendons.actuator_force_range[tendon];
        let (_, range_bar) = clamp_vjp(total, range, along / total);
        add(
            &mut bars.model.tendons.actuator_force_range[tendon],
            &range_bar,
        );
        let scale = limit / total;
        for output in pulling() {
            bar[output] = bar[output] * scale - scale / total * along;
        }
    }
}

/// Controls within their ranges, given or past; one bad number among them switches all off.
fn effective_controls(at: At<'_>, bars: &mut Cotangents) {
    let (model, state) = (at.model, at.state);
    let owners = &model.structure.actuators.control_owner;
    let delayed =
        |control: usize| delayed_control(model, state, owners[control], at.input.ctrl[control]);
    let clamp = !model.settings.disable.clampctrl;
    let range = |control: usize| model.control_range(control).filter(|_| clamp);
    let good = (0..owners.len()).all(|control| {
        let given = delayed(control);
        let held = range(control).map_or(given, |[low, high]| Scalar::clamp(given, low, high));
        held.abs() <= GREATEST_CONTROL
    });
    if !good {
        return;
    }
    for (control, &bar) in bars.data.actuation.control.iter().enumerate() {
        let mut control_bar = bar;
        if let Some(range) = range(control) {
            let range_bar;
            (control_bar, range_bar) = clamp_vjp(delayed(control), range, bar);
            let actuators = &model.structure.actuators;
            if let Some(sum) = bars.model.actuators.control_range_mut(actuators, control) {
                add(sum, &range_bar);
            }
        }
        let past = (&mut bars.state, &mut *bars.model);
        bars.input.ctrl[control] +=
            delayed_control_vjp(model, state, owners[control], control_bar, past);
    }
}

/// From the cotangents of an actuator's force and of its activation's rate to those of everything they depend on.
fn force_vjp(at: At<'_>, actuator: usize, bars: &mut Cotangents) {
    let (model, structure) = (at.model, &at.model.structure.actuators);
    let output = structure.outputs[actuator].start;
    let bar = &bars.data.actuation;
    let force_bar = bar.actuator_force[output] + bar.unlimited_force[output];
    if !is_disabled(model, actuator) {
        let [length, rate, setpoint] = force_inputs(at, actuator);
        let period = rotational_period(model, actuator);
        let turns = turns_away(setpoint, length, period);
        let x = [length, rate, setpoint - period.unwrap_or(0.0) * turns];
        let x_bar = Force::vjp(model, actuator, x, force_bar, &mut bars.model);
        period_vjp(model, actuator, -turns * x_bar[2], &mut bars.model);
        inputs_vjp(at, actuator, x_bar, bars);
    }
    if let Some(last) = structure.activations[actuator].clone().last() {
        activation_rate_vjp(at, actuator, last, bars);
    }
}

/// The adjoint of [`velocity_derivative`](super::velocity_derivative).
pub(crate) fn velocity_derivative_vjp(
    at: At<'_>,
    actuator: usize,
    derivative_bar: f64,
    bars: &mut Cotangents,
) {
    let model = at.model;
    if at.data.actuation.saturated[actuator] || is_explicit(model, actuator) {
        return;
    }
    if let Some(servo) = ServoAt::find(model, actuator, ActuatorPlace::at(at)) {
        servo.velocity_derivative_vjp(at, derivative_bar, bars);
        return;
    }
    let x = force_inputs(at, actuator);
    let x_bar = Force::rate_derivative_vjp(model, actuator, x, derivative_bar, &mut bars.model);
    inputs_vjp(at, actuator, x_bar, bars);
}

/// What length, rate and input pass on.
fn inputs_vjp(
    at: At<'_>,
    actuator: usize,
    [length_bar, rate_bar, input_bar]: [f64; 3],
    bars: &mut Cotangents,
) {
    let structure = &at.model.structure.actuators;
    let output = structure.outputs[actuator].start;
    bars.data.transmission.length[output] += length_bar;
    bars.data.velocity.actuator[output] += rate_bar;
    let Some(last) = structure.activations[actuator].clone().last() else {
        bars.data.actuation.control[structure.controls[actuator].start] += input_bar;
        return;
    };
    if !structure.activation_early[actuator] {
        bars.state.act[last] += input_bar;
        return;
    }
    let rate = at.data.actuation.activation_dot[last];
    let x = [at.state.act[last], rate, at.input.timestep];
    let [activation_bar, dot_bar, step_bar] =
        Next::vjp(at.model, actuator, x, input_bar, &mut bars.model);
    bars.state.act[last] += activation_bar;
    bars.data.actuation.activation_dot[last] += dot_bar;
    bars.input.timestep += step_bar;
}

/// The rate of change of the activation `last`.
fn activation_rate_vjp(at: At<'_>, actuator: usize, last: usize, bars: &mut Cotangents) {
    let (model, structure) = (at.model, &at.model.structure.actuators);
    let place = structure.controls[actuator].start;
    let (control, activation) = (at.data.actuation.control[place], at.state.act[last]);
    let (mut target, mut turns) = (control, 0.0);
    if let ActuatorDynamics::Filter | ActuatorDynamics::FilterExact = structure.dynamics[actuator] {
        let period = rotational_period(model, actuator);
        turns = turns_away(control, activation, period);
        target = nearest_turn(control, activation, period);
    }
    let (x, bar) = ([target, activation], &mut bars.data.actuation);
    let dot_bar = bar.activation_dot[last];
    let [target_bar, activation_bar] = Rate::vjp(model, actuator, x, dot_bar, &mut bars.model);
    bar.control[place] += target_bar;
    bars.state.act[last] += activation_bar;
    period_vjp(model, actuator, -turns * target_bar, &mut bars.model);
}

/// Adds to the first numbers of a list.
#[inline]
pub(super) fn add(sum: &mut [f64], terms: &[f64]) {
    for (sum, term) in sum.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// The twin of the length of a full turn of an angular servo.
pub(super) fn period_vjp(model: &Model, actuator: usize, bar: f64, model_bar: &mut Model) {
    if bar == 0.0 {
        return;
    }
    if let Some(first) = rotational_gear(model, actuator) {
        let gear = &model.actuators.gear[actuator];
        let axis = Vec3(std::array::from_fn(|i| gear[first + i]));
        let mut axis_bar = Vec3::ZERO;
        axis.norm_vjp(bar * TAU, &mut axis_bar);
        add(
            &mut model_bar.actuators.gear[actuator][first..],
            &axis_bar.0,
        );
    }
}

/// The twin of moving an angular setpoint to the equivalent one nearest to the actuator's length: the setpoint keeps
/// its cotangent, the length has none, and the gear says what a turn is.
pub fn nearest_setpoint_vjp(
    model: &Model,
    actuator: usize,
    (setpoint, length): (f64, f64),
    bar: f64,
    model_bar: &mut Model,
) {
    let period = rotational_period(model, actuator);
    let turns = turns_away(setpoint, length, period);
    period_vjp(model, actuator, -turns * bar, model_bar);
}
