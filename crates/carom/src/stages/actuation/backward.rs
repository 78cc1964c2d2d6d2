//! The adjoint of actuator forces and activation dynamics.
//!
//! Up the chain τ = Σ m·f with the limits of joints, then f = gain·u + bias with the limits of actuators and tendons,
//! then the input u, which is the control or an activation. What a limit holds passes its cotangent to the limit. The
//! forces of a tendon whose sum S is brought to its limit L are fᵢ ← fᵢ·L/S:
//!
//!   f̄ᵢ ← f̄ᵢ·L/S − L/S²·Σ f̄ⱼfⱼ,   L̄ = Σ f̄ⱼfⱼ/S

use super::forward::{
    GREATEST_CONTROL, exceeded_limit, gained, is_disabled, nearest_turn, rotational_gear,
    rotational_period, turns_away,
};
use super::servo::ServoAt;
use super::{Actuation, ActuatorPlace};
use crate::cotangent::{InputBar, StateBar};
use crate::dynamics::At;
use crate::history::{delayed_control, delayed_control_vjp};
use crate::laws::so3;
use crate::math::Vec3;
use crate::model::{ActuatorDynamics, Model, Transmission};
use crate::scalar::Scalar;
use crate::stages::passive::Passive;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::state::{Input, State};
use crate::terms::Term;
use crate::terms::actuator::{Force, Next, Rate};
use std::f64::consts::TAU;

/// Cotangents that the actuation passes on.
#[derive(Debug)]
pub struct Targets<'a> {
    /// Of the transmission.
    pub transmission: &'a mut TransmissionData,
    /// Of the velocities.
    pub velocity: &'a mut Velocity,
    /// Of the passive forces.
    pub passive: &'a mut Passive,
    /// Of the model.
    pub model: &'a mut Model,
    /// Of the state.
    pub state: &'a mut StateBar,
    /// Of the input.
    pub input: &'a mut InputBar,
}

/// Adds the cotangents of moments, lengths, velocities, activations, controls and parameters; `bar` is used up.
pub fn backward(
    model: &Model,
    (state, input): (&State, &Input),
    (transmission, velocity, passive): (&TransmissionData, &Velocity, &Passive),
    actuation: &Actuation,
    bar: &mut Actuation,
    mut targets: Targets<'_>,
) {
    let count = actuation.saturated.len();
    if count == 0 || model.settings.disable.actuation {
        return;
    }
    let before_limits = |dof: usize| joint_force(model, transmission, passive, actuation, dof);
    limit_joint_forces(
        model,
        actuation,
        &mut bar.force,
        before_limits,
        &mut targets,
    );
    compensate_gravity(model, &bar.force, &mut targets);
    let pattern = &model.structure.actuators.moment;
    for (output, force_bar) in bar.actuator_force.iter_mut().enumerate() {
        let force = actuation.actuator_force[output];
        for (entry, &dof) in pattern.row(output).zip(pattern.columns(output)) {
            *force_bar += transmission.moment[entry] * bar.force[dof];
            targets.transmission.moment[entry] += force * bar.force[dof];
        }
    }
    // What adds beyond the limits does not see them.
    for (mechanical_bar, outputs) in
        (bar.mechanical_force.iter_mut()).zip(&model.structure.actuators.outputs)
    {
        *mechanical_bar += bar.actuator_force[outputs.start];
    }
    limit_actuator_forces(model, actuation, &mut bar.actuator_force, &mut targets);
    limit_tendon_forces(model, actuation, &mut bar.actuator_force, &mut targets);
    for actuator in 0..count {
        let place = ActuatorPlace {
            transmission,
            velocity,
            timestep: input.timestep,
        };
        if let Some(servo) = ServoAt::find(model, actuator, place) {
            servo.backward(state, actuation, bar, &mut targets);
            continue;
        }
        let output = model.structure.actuators.outputs[actuator].start;
        let force_bar = bar.actuator_force[output] + bar.unlimited_force[output];
        let place = Place {
            model,
            actuator,
            length: transmission.length[output],
            rate: velocity.actuator[output],
            timestep: input.timestep,
            state,
            actuation,
        };
        place.force_vjp(force_bar, bar, &mut targets);
    }
    effective_controls(model, (state, input), &bar.control, &mut targets);
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

#[inline]
fn add_pair(sum: &mut [f64; 2], term: [f64; 2]) {
    sum[0] += term[0];
    sum[1] += term[1];
}

/// The force of all actuators on a dof before its limits.
fn joint_force(
    model: &Model,
    transmission: &TransmissionData,
    passive: &Passive,
    actuation: &Actuation,
    dof: usize,
) -> f64 {
    let structure = &model.structure;
    let mut sum = 0.0;
    for (output, &force) in actuation.actuator_force.iter().enumerate() {
        if let Some(entry) = structure.actuators.moment.entry(output, dof) {
            sum += transmission.moment[entry] * force;
        }
    }
    if structure.has_gravcomp && structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
        sum += passive.gravcomp[dof];
    }
    sum
}

fn limit_joint_forces(
    model: &Model,
    actuation: &Actuation,
    bar: &mut [f64],
    before_limits: impl Fn(usize) -> f64,
    targets: &mut Targets<'_>,
) {
    let joints = &model.structure.joints;
    for joint in 0..joints.kind.len() {
        if !joints.actuator_force_limited[joint] {
            continue;
        }
        let (dof, range) = (joints.dof[joint], model.joints.actuator_force_range[joint]);
        let force = actuation.force[dof];
        if range[0] < force && force < range[1] {
            continue;
        }
        let (force_bar, range_bar) = clamp_vjp(before_limits(dof), range, bar[dof]);
        bar[dof] = force_bar;
        add_pair(
            &mut targets.model.joints.actuator_force_range[joint],
            range_bar,
        );
    }
}

fn compensate_gravity(model: &Model, bar: &[f64], targets: &mut Targets<'_>) {
    let structure = &model.structure;
    if !structure.has_gravcomp {
        return;
    }
    for (dof, &bar) in bar.iter().enumerate() {
        if structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
            targets.passive.gravcomp[dof] += bar;
        }
    }
}

fn limit_actuator_forces(
    model: &Model,
    actuation: &Actuation,
    bar: &mut [f64],
    targets: &mut Targets<'_>,
) {
    let structure = &model.structure.actuators;
    for (actuator, outputs) in structure.outputs.iter().enumerate() {
        if !structure.force_limited[actuator] {
            continue;
        }
        let range = model.actuators.force_range[actuator];
        let bar = &mut bar[outputs.clone()];
        if let [x, y, z] = bar {
            let force = &actuation.unlimited_force[outputs.clone()];
            let force = Vec3(std::array::from_fn(|k| force[k]));
            let (force_bar, most_bar) = so3::limit_vjp(force, range[1], Vec3([*x, *y, *z]));
            [*x, *y, *z] = force_bar.0;
            targets.model.actuators.force_range[actuator][1] += most_bar;
            continue;
        }
        let bar = &mut bar[0];
        let mut force = actuation.unlimited_force[outputs.start];
        if let Transmission::Tendon(tendon) = structure.transmission[actuator]
            && let Some((total, limit)) = exceeded_limit(model, tendon, &actuation.unlimited_force)
        {
            force *= limit / total;
        }
        let (force_bar, range_bar) = clamp_vjp(force, range, *bar);
        *bar = force_bar;
        add_pair(
            &mut targets.model.actuators.force_range[actuator],
            range_bar,
        );
    }
}

fn limit_tendon_forces(
    model: &Model,
    actuation: &Actuation,
    bar: &mut [f64],
    targets: &mut Targets<'_>,
) {
    let forces = &actuation.unlimited_force;
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
        add_pair(
            &mut targets.model.tendons.actuator_force_range[tendon],
            range_bar,
        );
        let scale = limit / total;
        for output in pulling() {
            bar[output] = bar[output] * scale - scale / total * along;
        }
    }
}

/// Controls within their ranges, given or past; one bad number among them switches all off.
fn effective_controls(
    model: &Model,
    (state, input): (&State, &Input),
    bar: &[f64],
    targets: &mut Targets<'_>,
) {
    let owners = &model.structure.actuators.control_owner;
    let delayed =
        |control: usize| delayed_control(model, state, owners[control], input.ctrl[control]);
    let clamp = !model.settings.disable.clampctrl;
    let range = |control: usize| model.control_range(control).filter(|_| clamp);
    let good = (0..bar.len()).all(|control| {
        let given = delayed(control);
        let held = range(control).map_or(given, |[low, high]| Scalar::clamp(given, low, high));
        held.abs() <= GREATEST_CONTROL
    });
    if !good {
        return;
    }
    for (control, &bar) in bar.iter().enumerate() {
        let mut control_bar = bar;
        if let Some(range) = range(control) {
            let range_bar;
            (control_bar, range_bar) = clamp_vjp(delayed(control), range, bar);
            let structure = &model.structure;
            let numbers = &mut targets.model.actuators;
            if let Some(sum) = numbers.control_range_mut(&structure.actuators, control) {
                add_pair(sum, range_bar);
            }
        }
        let past = (&mut *targets.state, &mut *targets.model);
        targets.input.ctrl[control] +=
            delayed_control_vjp(model, state, owners[control], control_bar, past);
    }
}

/// An actuator as its law sees it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) model: &'a Model,
    pub(crate) actuator: usize,
    pub(crate) length: f64,
    pub(crate) rate: f64,
    /// Length of the step (s).
    pub(crate) timestep: f64,
    pub(crate) state: &'a State,
    pub(crate) actuation: &'a Actuation,
}

impl<'a> Place<'a> {
    /// An actuator at the results of the stages before.
    pub(crate) fn new(at: At<'a>, actuator: usize) -> Self {
        let (model, data) = (at.model, at.data);
        let output = model.structure.actuators.outputs[actuator].start;
        Self {
            model,
            actuator,
            length: data.transmission.length[output],
            rate: data.velocity.actuator[output],
            timestep: at.input.timestep,
            state: at.state,
            actuation: &data.actuation,
        }
    }

    fn gained(&self) -> f64 {
        let (act, h) = (&self.state.act, self.timestep);
        gained(self.model, self.actuator, act, self.actuation, h)
    }

    /// From the cotangents of the force and of the activation's rate, in `bar`, to those of everything they depend on.
    fn force_vjp(&self, force_bar: f64, bar: &mut Actuation, targets: &mut Targets<'_>) {
        let (model, actuator) = (self.model, self.actuator);
        let setpoint = self.gained();
        let period = rotational_period(model, actuator);
        let turns = turns_away(setpoint, self.length, period);
        if !is_disabled(model, actuator) {
            let input = setpoint - period.unwrap_or(0.0) * turns;
            let x = [self.length, self.rate, input];
            let x_bar = Force::vjp(model, actuator, x, force_bar, targets.model);
            period_vjp(model, actuator, -turns * x_bar[2], targets.model);
            self.inputs_vjp(x_bar, bar, targets);
        }
        if let Some(last) = model.structure.actuators.activations[actuator]
            .clone()
            .last()
        {
            self.activation_rate_vjp(last, bar, targets);
        }
    }

    /// The adjoint of [`velocity_derivative`](super::velocity_derivative); `bar` receives the cotangents of controls and
    /// activation rates.
    pub(crate) fn velocity_derivative_vjp(
        &self,
        derivative_bar: f64,
        bar: &mut Actuation,
        targets: &mut Targets<'_>,
    ) {
        let (model, actuator) = (self.model, self.actuator);
        if self.actuation.saturated[actuator] || is_disabled(model, actuator) {
            return;
        }
        let input = self.gained();
        let x = [self.length, self.rate, input];
        let x_bar = Force::rate_derivative_vjp(model, actuator, x, derivative_bar, targets.model);
        self.inputs_vjp(x_bar, bar, targets);
    }

    /// What length, rate and input pass on.
    fn inputs_vjp(
        &self,
        [length_bar, rate_bar, input_bar]: [f64; 3],
        bar: &mut Actuation,
        targets: &mut Targets<'_>,
    ) {
        let (model, actuator) = (self.model, self.actuator);
        let structure = &model.structure.actuators;
        let output = structure.outputs[actuator].start;
        targets.transmission.length[output] += length_bar;
        targets.velocity.actuator[output] += rate_bar;
        let Some(last) = structure.activations[actuator].clone().last() else {
            bar.control[structure.controls[actuator].start] += input_bar;
            return;
        };
        if !structure.activation_early[actuator] {
            targets.state.act[last] += input_bar;
            return;
        }
        let rate = self.actuation.activation_dot[last];
        let x = [self.state.act[last], rate, self.timestep];
        let [activation_bar, dot_bar, step_bar] =
            Next::vjp(model, actuator, x, input_bar, targets.model);
        targets.state.act[last] += activation_bar;
        bar.activation_dot[last] += dot_bar;
        targets.input.timestep += step_bar;
    }

    /// The rate of change of the activation `last`.
    fn activation_rate_vjp(&self, last: usize, bar: &mut Actuation, targets: &mut Targets<'_>) {
        let (model, actuator) = (self.model, self.actuator);
        let place = model.structure.actuators.controls[actuator].start;
        let control = self.actuation.control[place];
        let (activation, dot_bar) = (self.state.act[last], bar.activation_dot[last]);
        let dynamics = model.structure.actuators.dynamics[actuator];
        let (mut target, mut turns) = (control, 0.0);
        if let ActuatorDynamics::Filter | ActuatorDynamics::FilterExact = dynamics {
            let period = rotational_period(model, actuator);
            turns = turns_away(control, activation, period);
            target = nearest_turn(control, activation, period);
        }
        let x = [target, activation];
        let [target_bar, activation_bar] = Rate::vjp(model, actuator, x, dot_bar, targets.model);
        bar.control[place] += target_bar;
        targets.state.act[last] += activation_bar;
        period_vjp(model, actuator, -turns * target_bar, targets.model);
    }
}

/// Adds to the first numbers of a list.
#[inline]
fn add(sum: &mut [f64], terms: &[f64]) {
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
