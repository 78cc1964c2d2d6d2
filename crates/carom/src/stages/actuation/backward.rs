//! The adjoint of actuator forces and activation dynamics.
//!
//! Up the chain τ = Σ m·f with the limits of joints, then f = gain·u + bias with the limits of actuators and tendons,
//! then the input u, which is the control or an activation. What a limit holds passes its cotangent to the limit. The
//! forces of a tendon whose sum S is brought to its limit L are fᵢ ← fᵢ·L/S:
//!
//!   f̄ᵢ ← f̄ᵢ·L/S − L/S²·Σ f̄ⱼfⱼ,   L̄ = Σ f̄ⱼfⱼ/S
//!
//! Muscles are differentiated by dual numbers.

use super::Actuation;
use super::derivative::gained;
use super::forward::{
    GREATEST_CONTROL, Law, exceeded_limit, is_disabled, rotational_gear, rotational_period,
    time_constant, turns_away,
};
use super::muscle::{Muscle, activation_rate};
use crate::cotangent::{InputBar, StateBar};
use crate::dual::Dual;
use crate::history::{delayed_control, delayed_control_vjp};
use crate::math::{MIN_LENGTH, Vec3};
use crate::model::{ActuatorDynamics, BiasKind, GainKind, Model, Transmission};
use crate::scalar::Scalar;
use crate::stages::passive::Passive;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;
use crate::state::{Input, State};
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
    let count = actuation.actuator_force.len();
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
    for (actuator, force_bar) in bar.actuator_force.iter_mut().enumerate() {
        let force = actuation.actuator_force[actuator];
        for (entry, &dof) in pattern.row(actuator).zip(pattern.columns(actuator)) {
            *force_bar += transmission.moment[entry] * bar.force[dof];
            targets.transmission.moment[entry] += force * bar.force[dof];
        }
    }
    limit_actuator_forces(model, actuation, &mut bar.actuator_force, &mut targets);
    limit_tendon_forces(model, actuation, &mut bar.actuator_force, &mut targets);
    for actuator in 0..count {
        let law = Law {
            model,
            actuator,
            length: transmission.length[actuator],
            velocity: velocity.actuator[actuator],
            timestep: input.timestep,
        };
        let force_bar = bar.actuator_force[actuator] + bar.unlimited_force[actuator];
        let mut reverse = Reverse {
            law: &law,
            state,
            actuation,
            targets: &mut targets,
        };
        reverse.actuator(force_bar, &mut bar.control[actuator], &bar.activation_dot);
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
    for (actuator, &force) in actuation.actuator_force.iter().enumerate() {
        if let Some(entry) = structure.actuators.moment.entry(actuator, dof) {
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
    for (actuator, bar) in bar.iter_mut().enumerate() {
        if !structure.force_limited[actuator] {
            continue;
        }
        let mut force = actuation.unlimited_force[actuator];
        if let Transmission::Tendon(tendon) = structure.transmission[actuator]
            && let Some((total, limit)) = exceeded_limit(model, tendon, &actuation.unlimited_force)
        {
            force *= limit / total;
        }
        let range = model.actuators.force_range[actuator];
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
        let pulls = |actuator: usize| {
            model.structure.actuators.transmission[actuator] == Transmission::Tendon(tendon)
        };
        let along: f64 = (bar.iter().zip(forces).enumerate())
            .filter(|&(actuator, _)| pulls(actuator))
            .map(|(_, (bar, force))| bar * force)
            .sum();
        let range = model.tendons.actuator_force_range[tendon];
        let (_, range_bar) = clamp_vjp(total, range, along / total);
        add_pair(
            &mut targets.model.tendons.actuator_force_range[tendon],
            range_bar,
        );
        let scale = limit / total;
        for (actuator, bar) in bar.iter_mut().enumerate() {
            if pulls(actuator) {
                *bar = *bar * scale - scale / total * along;
            }
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
    let delayed = |actuator: usize| delayed_control(model, state, actuator, input.ctrl[actuator]);
    let limited = &model.structure.actuators.control_limited;
    let clamp = !model.settings.disable.clampctrl;
    let held = |actuator: usize| clamp && limited[actuator];
    let range = |actuator: usize| model.actuators.control_range[actuator];
    let good = (0..bar.len()).all(|actuator| {
        let given = delayed(actuator);
        let [low, high] = range(actuator);
        let control = if held(actuator) {
            Scalar::clamp(given, low, high)
        } else {
            given
        };
        control.abs() <= GREATEST_CONTROL
    });
    if !good {
        return;
    }
    for (actuator, &bar) in bar.iter().enumerate() {
        let mut control_bar = bar;
        if held(actuator) {
            let range_bar;
            (control_bar, range_bar) = clamp_vjp(delayed(actuator), range(actuator), bar);
            add_pair(
                &mut targets.model.actuators.control_range[actuator],
                range_bar,
            );
        }
        let past = (&mut *targets.state, &mut *targets.model);
        targets.input.ctrl[actuator] +=
            delayed_control_vjp(model, state, actuator, control_bar, past);
    }
}

/// One actuator's law, read upwards.
pub(super) struct Reverse<'a, 't> {
    pub(super) law: &'a Law<'a, f64>,
    pub(super) state: &'a State,
    pub(super) actuation: &'a Actuation,
    pub(super) targets: &'a mut Targets<'t>,
}

impl Reverse<'_, '_> {
    /// From the cotangents of force and activation rates to those of everything they depend on.
    fn actuator(&mut self, force_bar: f64, control_bar: &mut f64, rates_bar: &[f64]) {
        let (model, actuator) = (self.law.model, self.law.actuator);
        let act = &self.state.act;
        let setpoint = gained(self.law, act, self.actuation);
        let period = rotational_period(model, actuator);
        let turns = turns_away(setpoint, self.law.length, period);
        let mut setpoint_bar = 0.0;
        if !is_disabled(model, actuator) {
            let input = setpoint - period.unwrap_or(0.0) * turns;
            setpoint_bar = self.force(input, force_bar);
            period_vjp(model, actuator, -turns * setpoint_bar, self.targets.model);
        }
        let structure = &model.structure.actuators;
        let Some(last) = structure.activations[actuator].clone().last() else {
            *control_bar += setpoint_bar;
            return;
        };
        let mut rate_bar = rates_bar[last];
        let mut activation_bar = setpoint_bar;
        if structure.activation_early[actuator] {
            let (rate, h) = (self.actuation.activation_dot[last], self.law.timestep);
            let bars = next_activation_vjp(
                model,
                actuator,
                (act[last], rate, h),
                setpoint_bar,
                self.targets.model,
            );
            activation_bar = bars[0];
            rate_bar += bars[1];
            self.targets.input.timestep += bars[2];
        }
        self.targets.state.act[last] += activation_bar;
        self.activation_rate(last, rate_bar, control_bar);
    }

    /// force = gain·input + bias: returns the cotangent of the input.
    fn force(&mut self, input: f64, bar: f64) -> f64 {
        let (model, actuator) = (self.law.model, self.law.actuator);
        let structure = &model.structure.actuators;
        let (gain, gain_bar) = (&model.actuators.gain[actuator], input * bar);
        let input_bar = match structure.gain[actuator] {
            GainKind::Fixed => {
                self.targets.model.actuators.gain[actuator][0] += gain_bar;
                gain[0] * bar
            }
            GainKind::Affine => {
                let slopes = self.affine(gain, gain_bar);
                add(&mut self.targets.model.actuators.gain[actuator], &slopes);
                self.law.gain() * bar
            }
            GainKind::Muscle => {
                let curve = |muscle: &Muscle<'_, _>, length, rate| muscle.gain(length, rate);
                let (value, slopes) = self.muscle(gain, gain_bar, curve);
                add(&mut self.targets.model.actuators.gain[actuator], &slopes);
                value * bar
            }
            GainKind::User => bar,
        };
        let bias = &model.actuators.bias[actuator];
        match structure.bias[actuator] {
            BiasKind::None | BiasKind::User => {}
            BiasKind::Affine => {
                let slopes = self.affine(bias, bar);
                add(&mut self.targets.model.actuators.bias[actuator], &slopes);
            }
            BiasKind::Muscle => {
                let curve = |muscle: &Muscle<'_, _>, length, _| muscle.bias(length);
                let (_, slopes) = self.muscle(bias, bar, curve);
                add(&mut self.targets.model.actuators.bias[actuator], &slopes);
            }
        }
        input_bar
    }

    /// p₀ + p₁·length + p₂·velocity: returns the cotangents of p.
    fn affine(&mut self, parameters: &[f64; 10], bar: f64) -> [f64; 3] {
        let Law {
            actuator,
            length,
            velocity,
            ..
        } = *self.law;
        self.targets.transmission.length[actuator] += parameters[1] * bar;
        self.targets.velocity.actuator[actuator] += parameters[2] * bar;
        [bar, length * bar, velocity * bar]
    }

    /// A curve of a muscle: returns its value and the cotangents of its parameters.
    pub(super) fn muscle(
        &mut self,
        parameters: &[f64; 10],
        bar: f64,
        curve: impl Fn(&Muscle<'_, Dual<15>>, Dual<15>, Dual<15>) -> Dual<15>,
    ) -> (f64, [f64; 10]) {
        let actuator = self.law.actuator;
        let numbers = &self.law.model.actuators;
        let varying = std::array::from_fn(|i| Dual::variable(parameters[i], i));
        let [low, high] = numbers.length_range[actuator];
        let muscle = Muscle {
            parameters: &varying,
            length_range: [Dual::variable(low, 10), Dual::variable(high, 11)],
            acceleration_reference: Dual::variable(numbers.acceleration_reference[actuator], 12),
        };
        let length = Dual::variable(self.law.length, 13);
        let velocity = Dual::variable(self.law.velocity, 14);
        let value = curve(&muscle, length, velocity);
        let slopes = value.tangent.map(|slope| slope * bar);
        let numbers_bar = &mut self.targets.model.actuators;
        add_pair(
            &mut numbers_bar.length_range[actuator],
            [slopes[10], slopes[11]],
        );
        numbers_bar.acceleration_reference[actuator] += slopes[12];
        self.targets.transmission.length[actuator] += slopes[13];
        self.targets.velocity.actuator[actuator] += slopes[14];
        (value.value, std::array::from_fn(|i| slopes[i]))
    }

    /// The rate of change of the activation `last`.
    fn activation_rate(&mut self, last: usize, bar: f64, control_bar: &mut f64) {
        let (model, actuator) = (self.law.model, self.law.actuator);
        let parameters = &model.actuators.dynamics[actuator];
        let control = self.actuation.control[actuator];
        let activation = self.state.act[last];
        match model.structure.actuators.dynamics[actuator] {
            ActuatorDynamics::Integrator => *control_bar += bar,
            ActuatorDynamics::Filter | ActuatorDynamics::FilterExact => {
                let tau = time_constant(parameters);
                let period = rotational_period(model, actuator);
                let turns = turns_away(control, activation, period);
                let difference_bar = bar / tau;
                *control_bar += difference_bar;
                self.targets.state.act[last] -= difference_bar;
                period_vjp(model, actuator, -turns * difference_bar, self.targets.model);
                let rate = self.actuation.activation_dot[last];
                let tau_bar = -rate * difference_bar;
                time_constant_vjp(model, actuator, tau_bar, self.targets.model);
            }
            ActuatorDynamics::Muscle => {
                let mut varying = parameters.map(Dual::<5>::constant);
                for (place, parameter) in varying[..3].iter_mut().enumerate() {
                    *parameter = Dual::variable(parameter.value, place);
                }
                let rate = activation_rate(
                    Dual::variable(control, 3),
                    Dual::variable(activation, 4),
                    &varying,
                );
                let [rising, falling, width, by_control, by_activation] =
                    rate.tangent.map(|slope| slope * bar);
                let parameters_bar = &mut self.targets.model.actuators.dynamics[actuator];
                add(parameters_bar, &[rising, falling, width]);
                *control_bar += by_control;
                self.targets.state.act[last] += by_activation;
            }
            ActuatorDynamics::None | ActuatorDynamics::User => {}
        }
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
fn period_vjp(model: &Model, actuator: usize, bar: f64, model_bar: &mut Model) {
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

/// The twin of the time constant of a filter.
fn time_constant_vjp(model: &Model, actuator: usize, bar: f64, model_bar: &mut Model) {
    if model.actuators.dynamics[actuator][0] >= MIN_LENGTH {
        model_bar.actuators.dynamics[actuator][0] += bar;
    }
}

/// The twin of [`next_activation`](super::next_activation): returns the cotangents of activation, rate and step.
pub fn next_activation_vjp(
    model: &Model,
    actuator: usize,
    (activation, activation_dot, h): (f64, f64, f64),
    bar: f64,
    model_bar: &mut Model,
) -> [f64; 3] {
    let structure = &model.structure.actuators;
    // Duration over which the rate acts, with its derivatives by step and time constant.
    let (duration, by_step, by_constant) =
        if structure.dynamics[actuator] == ActuatorDynamics::FilterExact {
            let tau = time_constant(&model.actuators.dynamics[actuator]);
            let decay = (-h / tau).exp();
            (tau * (1.0 - decay), decay, 1.0 - decay - decay * h / tau)
        } else {
            (h, 1.0, 0.0)
        };
    let mut bar = bar;
    if structure.activation_limited[actuator] {
        let next = activation + activation_dot * duration;
        let range = model.actuators.activation_range[actuator];
        let (next_bar, range_bar) = clamp_vjp(next, range, bar);
        bar = next_bar;
        add_pair(
            &mut model_bar.actuators.activation_range[actuator],
            range_bar,
        );
    }
    let duration_bar = activation_dot * bar;
    time_constant_vjp(model, actuator, duration_bar * by_constant, model_bar);
    [bar, bar * duration, duration_bar * by_step]
}
