//! Length ranges of actuators, found by pulling and pushing.
//!
//! Muscles need the range of lengths that the mechanism allows. Starting from the reference configuration, the
//! actuator alone acts, first one way, then the other, with a force that gives a fixed acceleration, while
//! velocities decay; springs, dampers, gravity, dry friction and contacts are off, limits and equality constraints
//! hold. The lengths seen over the last part of the simulation are the ends of the range: they must have settled.

use carom_spec::model_spec::{ActuatorSpec, LengthRangeMode, LengthRangeSettings};

use super::Source;
use super::report::{Report, code};
use crate::data::Data;
use crate::dynamics;
use crate::integrate;
use crate::model::{ActuatorRecipe, BiasKind, Disable, GainKind, Integrator, Model, Transmission};
use crate::stages::inertia;
use crate::state::{Input, State};

/// Denominators are kept above this.
const MIN: f64 = 1e-15;
/// Time constants of the decay are at least this (s).
const MIN_TIME: f64 = 0.01;
/// Simulations longer than this are refused.
const MAX_STEPS: f64 = 1e7;
/// Beyond this a coordinate or velocity counts as unstable, as in MuJoCo.
const UNSTABLE: f64 = 1e10;

/// Computes the length ranges that the settings ask for and the file does not give; notes where they come from.
pub(super) fn derive(
    source: Source<'_>,
    model: &mut Model,
    recipes: &mut [ActuatorRecipe],
    report: &mut Report,
) {
    let settings = &source.spec.compiler.length_range;
    let mut simulation = None;
    for (actuator, spec) in source.spec.actuators.iter().enumerate() {
        if !is_wanted(settings, spec, model.actuators.length_range[actuator]) {
            continue;
        }
        if let Some(range) = limits_of_target(settings, model, actuator) {
            model.actuators.length_range[actuator] = range;
            recipes[actuator].length_from_limits = true;
            continue;
        }
        recipes[actuator].length_simulated = true;
        let simulation = simulation.get_or_insert_with(|| Simulation::new(settings, model));
        match simulation.range(settings, actuator) {
            Ok(range) => model.actuators.length_range[actuator] = range,
            Err(message) => {
                let checked = &mut report.checked("actuator", &spec.name, spec.span);
                checked.error_help(
                    code::LENGTH_RANGE,
                    format!("length range of {checked} {message}"),
                    "give lengthrange, or adjust compiler/lengthrange",
                );
            }
        }
    }
}

fn is_wanted(settings: &LengthRangeSettings, actuator: &ActuatorSpec, range: [f64; 2]) -> bool {
    let is_muscle = actuator.gain == GainKind::Muscle || actuator.bias == BiasKind::Muscle;
    let is_user = actuator.gain == GainKind::User || actuator.bias == BiasKind::User;
    let is_chosen = match settings.mode {
        LengthRangeMode::None => false,
        LengthRangeMode::Muscle => is_muscle,
        LengthRangeMode::MuscleUser => is_muscle || is_user,
        LengthRangeMode::All => true,
    };
    is_chosen && !(settings.use_existing && range[0] < range[1])
}

/// The limits of the joint or tendon, when the settings say to use them.
fn limits_of_target(
    settings: &LengthRangeSettings,
    model: &Model,
    actuator: usize,
) -> Option<[f64; 2]> {
    let structure = &model.structure;
    match structure.actuators.transmission[actuator] {
        _ if !settings.use_limit => None,
        Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
            structure.joints.limited[joint].then_some(model.joints.range[joint])
        }
        Transmission::Tendon(tendon) => {
            structure.tendons.limited[tendon].then_some(model.tendons.range[tendon])
        }
        _ => None,
    }
}

/// The mechanism with nothing acting but one actuator.
struct Simulation {
    model: Model,
    state: State,
    input: Input,
    data: Data,
    /// Moment arms of the actuator over all dofs, and the acceleration that they give.
    moment: Vec<f64>,
    acceleration: Vec<f64>,
}

impl Simulation {
    fn new(settings: &LengthRangeSettings, model: &Model) -> Self {
        let mut model = model.clone();
        model.settings.disable = Disable {
            frictionloss: true,
            contact: true,
            spring: true,
            damper: true,
            gravity: true,
            actuation: true,
            ..Disable::default()
        };
        // Steps are split between position and force, which Runge–Kutta cannot do.
        if model.settings.integrator == Integrator::RungeKutta4 {
            model.settings.integrator = Integrator::Euler;
        }
        if settings.timestep > 0.0 {
            model.option.timestep[0] = settings.timestep;
        }
        let nv = model.counts().nv;
        Self {
            state: State::reference(&model),
            input: Input::zeros(&model),
            data: Data::new(&model),
            moment: vec![0.0; nv],
            acceleration: vec![0.0; nv],
            model,
        }
    }

    /// The range of one actuator; a predicate for the error message otherwise.
    fn range(
        &mut self,
        settings: &LengthRangeSettings,
        actuator: usize,
    ) -> Result<[f64; 2], String> {
        let shortest = self.settle(settings, actuator, -1.0)?;
        let longest = self.settle(settings, actuator, 1.0)?;
        let range = [shortest[0], longest[1]];
        let difference = range[1] - range[0];
        let is_ordered = difference > 0.0;
        if !is_ordered {
            return Err(format!("came out empty: {} to {}", range[0], range[1]));
        }
        let spread = |[low, high]: [f64; 2]| high - low;
        if spread(shortest).max(spread(longest)) > settings.tolerance * difference {
            return Err(format!(
                "did not converge: {} to {} when shortened, {} to {} when stretched",
                shortest[0], shortest[1], longest[0], longest[1]
            ));
        }
        Ok(range)
    }

    /// Lengths seen over the last interval when the actuator pulls (−1) or pushes (1).
    fn settle(
        &mut self,
        settings: &LengthRangeSettings,
        actuator: usize,
        direction: f64,
    ) -> Result<[f64; 2], String> {
        let is_affordable = settings.total_time / self.model.option.timestep[0] <= MAX_STEPS;
        if !is_affordable {
            return Err(format!("would need more than {MAX_STEPS} steps"));
        }
        self.state = State::reference(&self.model);
        let mut seen: Option<[f64; 2]> = None;
        while self.state.time < settings.total_time {
            let length = self.step(settings, actuator, direction);
            if !self.is_stable() {
                return Err("is unstable".to_owned());
            }
            if self.state.time > settings.total_time - settings.interval {
                let [low, high] = seen.unwrap_or([length; 2]);
                seen = Some([low.min(length), high.max(length)]);
            }
        }
        seen.ok_or_else(|| "has no time to settle".to_owned())
    }

    /// Advances one step; the actuator's length at its start.
    fn step(&mut self, settings: &LengthRangeSettings, actuator: usize, direction: f64) -> f64 {
        let h = self.model.option.timestep[0];
        let decay = (-h / settings.time_constant.max(MIN_TIME)).exp();
        for velocity in &mut self.state.qvel {
            *velocity *= decay;
        }
        dynamics::forward_position(&self.model, &self.state, &mut self.data);
        self.push(settings, actuator, direction);
        let Self {
            model,
            state,
            input,
            data,
            ..
        } = self;
        dynamics::forward(model, state, input, data);
        integrate::advance(model, state, input, data);
        data.transmission.length[self.model.structure.actuators.outputs[actuator].start]
    }

    /// Sets the applied force to what the actuator has to exert.
    fn push(&mut self, settings: &LengthRangeSettings, actuator: usize, direction: f64) {
        let pattern = &self.model.structure.actuators.moment;
        self.moment.fill(0.0);
        let row = self.model.structure.actuators.outputs[actuator].start;
        for (&dof, entry) in pattern.columns(row).iter().zip(pattern.row(row)) {
            self.moment[dof] += self.data.transmission.moment[entry];
        }
        self.acceleration.copy_from_slice(&self.moment);
        inertia::solve(&self.model, &self.data.inertia, &mut self.acceleration);
        let scale = direction * settings.acceleration / norm(&self.acceleration).max(MIN);
        for (force, moment) in self.input.force.iter_mut().zip(&self.moment) {
            *force = moment * scale;
        }
        let size = norm(&self.input.force);
        if settings.max_force > 0.0 && size > settings.max_force {
            let scale = settings.max_force / size.max(MIN);
            for force in &mut self.input.force {
                *force *= scale;
            }
        }
    }

    fn is_stable(&self) -> bool {
        let is_small = |number: &f64| number.abs() < UNSTABLE;
        self.state.qpos.iter().all(is_small) && self.state.qvel.iter().all(is_small)
    }
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}
