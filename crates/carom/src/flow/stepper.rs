//! One step of a Runge–Kutta method on the manifold of configurations.
//!
//! Positions are followed in the tangent space at the start of the step, as by the fixed RK4 (see
//! [`integrate`](crate::integrate)): with k = (ρ, α, ω) the rates of positions, velocities and activations, stage i lies at
//!
//!   q₀ ⊕ h·Σⱼ aᵢⱼ·ρⱼ,   v₀ + h·Σⱼ aᵢⱼ·αⱼ,   w₀ + h·Σⱼ aᵢⱼ·ωⱼ                             (1)
//!
//! where ρᵢ is the velocity of the stage, for orientations carried to the start of the step.

use super::control::Tolerance;
use super::mode::{Gauge, Mode, read_gauges};
use super::tableau::Tableau;
use crate::data::Data;
use crate::dynamics;
use crate::integrate::{add_scaled, integrate_positions, tangent_rates};
use crate::model::{JointKind, Model};
use crate::stages::actuation::is_disabled;
use crate::stages::solve::law::{Law, MAX_ROWS};
use crate::stages::solve::{Phase, SolveStatus};
use crate::state::{Input, State};

/// Rates of a state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    /// Of the positions, in the tangent space at the start of the step, nv.
    pub(super) position: Vec<f64>,
    /// Of the velocities, nv.
    pub(super) velocity: Vec<f64>,
    /// Of the activations, na.
    pub(super) activation: Vec<f64>,
}

impl Rates {
    pub(super) fn zeros(model: &Model) -> Self {
        let n = model.counts();
        Self {
            position: vec![0.0; n.nv],
            velocity: vec![0.0; n.nv],
            activation: vec![0.0; n.na],
        }
    }

    /// Σ factorᵢ·kᵢ.
    pub(super) fn combine(&mut self, factors: &[f64], rates: &[Self]) {
        let parts = [&mut self.position, &mut self.velocity, &mut self.activation];
        for part in parts {
            part.fill(0.0);
        }
        for (&factor, rates) in factors.iter().zip(rates) {
            if factor != 0.0 {
                add_scaled(&mut self.position, &rates.position, factor);
                add_scaled(&mut self.velocity, &rates.velocity, factor);
                add_scaled(&mut self.activation, &rates.activation, factor);
            }
        }
    }

    fn copy_from(&mut self, other: &Self) {
        self.position.copy_from_slice(&other.position);
        self.velocity.copy_from_slice(&other.velocity);
        self.activation.copy_from_slice(&other.activation);
    }
}

/// The state at h·slope from another. (1)
pub(super) fn place(model: &Model, start: &State, slope: &Rates, h: f64, state: &mut State) {
    state.qpos.copy_from_slice(&start.qpos);
    state.qvel.copy_from_slice(&start.qvel);
    state.act.copy_from_slice(&start.act);
    integrate_positions(model, &mut state.qpos, &slope.position, h);
    add_scaled(&mut state.qvel, &slope.velocity, h);
    add_scaled(&mut state.act, &slope.activation, h);
}

/// Keeps activations within their ranges.
pub(super) fn clamp_activations(model: &Model, act: &mut [f64]) {
    let actuators = &model.structure.actuators;
    for (actuator, states) in actuators.activations.iter().enumerate() {
        if actuators.activation_limited[actuator] {
            let [low, high] = model.actuators.activation_range[actuator];
            for state in states.clone() {
                act[state] = act[state].clamp(low, high);
            }
        }
    }
}

/// A constraint that goes from one piece of its law to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kink {
    pub(super) block: usize,
    from: Phase,
    pub(super) to: Phase,
}

/// Evaluates the dynamics and takes steps.
#[derive(Clone, Debug)]
pub(super) struct Stepper {
    pub(super) tableau: &'static Tableau,
    /// Results of the last evaluation.
    pub(super) data: Data,
    /// The state of the last evaluation: after a step, its end.
    pub(super) state: State,
    /// Rates of all stages, the last ones those at the end.
    pub(super) rates: Vec<Rates>,
    /// Gauges at the last evaluation.
    pub(super) gauges: Vec<Gauge>,
    /// Pieces of their laws that the constraints are on at the start of the step.
    pub(super) phases: Vec<Phase>,
    slope: Rates,
    pub(super) evaluations: usize,
}

impl Stepper {
    pub(super) fn new(model: &Model, tableau: &'static Tableau) -> Self {
        Self {
            tableau,
            data: Data::new(model),
            state: State::reference(model),
            rates: vec![Rates::zeros(model); tableau.len() + 1],
            gauges: Vec::new(),
            phases: Vec::new(),
            slope: Rates::zeros(model),
            evaluations: 0,
        }
    }

    /// Evaluates the dynamics at `self.state` in a mode. False where they are not finite.
    pub(super) fn evaluate(&mut self, model: &Model, input: &Input, mode: &Mode) -> bool {
        self.evaluations += 1;
        let Self { state, data, .. } = self;
        prepare(model, state, input, mode, data, &mut self.gauges);
        dynamics::solve_constraints(model, state, data);
        state.warmstart.copy_from_slice(&data.solve.qacc);
        data.solve.report.status != SolveStatus::NotFinite
            && data.solve.qacc.iter().all(|number| number.is_finite())
    }

    /// Reads the gauges at a state, nothing more.
    pub(super) fn probe(&mut self, model: &Model, state: &State) {
        dynamics::forward_position(model, state, &mut self.data);
        read_gauges(model, state, &self.data, &mut self.gauges);
    }

    /// Writes the rates of velocities and activations that the last evaluation found.
    pub(super) fn record(&mut self, model: &Model, stage: usize) {
        let rates = &mut self.rates[stage];
        rates.velocity.copy_from_slice(&self.data.solve.qacc);
        let actuators = &model.structure.actuators.activations;
        for (actuator, states) in actuators.iter().enumerate() {
            let is_off = model.settings.disable.actuation || is_disabled(model, actuator);
            for state in states.clone() {
                let rate = self.data.actuation.activation_dot[state];
                rates.activation[state] = if is_off { 0.0 } else { rate };
            }
        }
    }

    /// Evaluates the dynamics at the start of steps: the first stage.
    pub(super) fn begin(
        &mut self,
        model: &Model,
        start: &State,
        input: &Input,
        mode: &Mode,
    ) -> bool {
        self.state.copy_from(start);
        let is_finite = self.evaluate(model, input, mode);
        self.record(model, 0);
        self.phases.clone_from(&self.data.solve.phase);
        self.rates[0].position.copy_from_slice(&start.qvel);
        is_finite
    }

    /// A step of length h from a state whose rates are those of the first stage; the rates at its end too. False where
    /// the dynamics are not finite on the way.
    pub(super) fn step(
        &mut self,
        model: &Model,
        start: &State,
        input: &Input,
        h: f64,
        mode: &Mode,
    ) -> bool {
        let count = self.tableau.len();
        for stage in 1..=count {
            let factors = match self.tableau.stages.get(stage - 1) {
                Some(factors) => factors,
                None => self.tableau.weights,
            };
            self.slope.combine(factors, &self.rates);
            place(model, start, &self.slope, h, &mut self.state);
            self.state.time = start.time + h * self.tableau.place(stage);
            if stage == count {
                clamp_activations(model, &mut self.state.act);
            }
            if !self.evaluate(model, input, mode) {
                return false;
            }
            self.record(model, stage);
            let rates = &mut self.rates[stage].position;
            rates.copy_from_slice(&self.slope.position);
            tangent_rates(model, &self.state.qvel, h, rates);
        }
        true
    }

    /// The first constraint that is on another piece of its law than at the start of the step, at the last evaluation:
    /// between them the acceleration has a kink.
    pub(super) fn kink(&self) -> Option<Kink> {
        let now = &self.data.solve.phase;
        let pieces = now.iter().zip(&self.phases).enumerate();
        let mut changed = pieces.filter(|(_, (now, before))| now != before);
        let (block, (&to, &from)) = changed.next()?;
        (now.len() == self.phases.len()).then_some(Kink { block, from, to })
    }

    /// A number that changes its sign at a kink, at the last evaluation.
    pub(super) fn boundary(&self, kink: Kink) -> f64 {
        let constraint = &self.data.constraint;
        let block = &constraint.blocks[kink.block];
        let (mut weight, mut friction) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        for (index, row) in constraint.block_rows(block).iter().enumerate() {
            (weight[index], friction[index]) = (row.weight, row.friction);
        }
        let law = Law {
            kind: block.kind,
            weight: &weight[..block.row_count],
            friction: &friction[..block.row_count],
        };
        law.boundary(&self.data.solve.residual[block.rows()], kink.from, kink.to)
    }

    /// Makes the end of a step the start of the next one.
    pub(super) fn advance(&mut self, start: &mut State) {
        start.copy_from(&self.state);
        self.phases.clone_from(&self.data.solve.phase);
        let (first, rest) = self.rates.split_at_mut(1);
        let last = &rest[rest.len() - 1];
        first[0].copy_from(last);
        first[0].position.copy_from_slice(&start.qvel);
    }

    /// The error of the last step in units of what is allowed: that of the worst number.
    pub(super) fn error(
        &mut self,
        model: &Model,
        start: &State,
        h: f64,
        tolerances: &super::Tolerances,
    ) -> f64 {
        self.slope.combine(self.tableau.error, &self.rates);
        let worst = |tolerance: Tolerance, errors: &[f64], before: &[f64], after: &[f64]| {
            let numbers = errors.iter().zip(before).zip(after);
            numbers
                .map(|((&error, &before), &after)| tolerance.measure(h * error, before, after))
                .fold(0.0, nan_max)
        };
        let end = &self.state;
        let of_velocity = worst(
            tolerances.velocity,
            &self.slope.velocity,
            &start.qvel,
            &end.qvel,
        );
        let of_activation = worst(
            tolerances.activation,
            &self.slope.activation,
            &start.act,
            &end.act,
        );
        let mut of_position = 0.0;
        let joints = &model.structure.joints;
        for (joint, &dof) in joints.dof.iter().enumerate() {
            let position = joints.qpos[joint];
            let (straight, turned) = match joints.kind[joint] {
                JointKind::Hinge | JointKind::Slide => (1, 0),
                JointKind::Ball => (0, 3),
                JointKind::Free => (3, 3),
            };
            for k in 0..straight + turned {
                let error = h * self.slope.position[dof + k];
                // An angle of one is large.
                let (before, after) = if k < straight {
                    (start.qpos[position + k], end.qpos[position + k])
                } else {
                    (1.0, 1.0)
                };
                let measured = tolerances.position.measure(error, before, after);
                of_position = nan_max(of_position, measured);
            }
        }
        nan_max(of_position, nan_max(of_velocity, of_activation))
    }
}

/// The greater of two numbers; one that is not a number if there is one.
fn nan_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Everything of an evaluation but the solution of the constraints.
pub(super) fn prepare(
    model: &Model,
    state: &State,
    input: &Input,
    mode: &Mode,
    data: &mut Data,
    gauges: &mut Vec<Gauge>,
) {
    dynamics::smooth(model, state, input, data);
    read_gauges(model, state, data, gauges);
    mode.choose_contacts(model, &mut data.collision.contacts);
    dynamics::constraint_rows(model, state, input, data);
    mode.choose_limits(model, data);
}

impl Stepper {
    /// A first step from a state whose rates are those of the first stage, from their size and their change
    /// [Hairer 1993].
    pub(super) fn first_step(
        &mut self,
        model: &Model,
        start: &State,
        input: &Input,
        mode: &Mode,
        tolerances: &super::Tolerances,
    ) -> f64 {
        let size = |rates: &Rates| {
            let of = |tolerance: Tolerance, rates: &[f64]| {
                let measured = rates.iter().map(|&rate| tolerance.measure(rate, 1.0, 1.0));
                measured.fold(0.0, nan_max)
            };
            let of_position = of(tolerances.position, &rates.position);
            let of_velocity = of(tolerances.velocity, &rates.velocity);
            nan_max(of_position, of_velocity)
        };
        let rate = size(&self.rates[0]);
        let unit = tolerances.position.measure(1.0, 1.0, 1.0);
        let trial = (0.01 * unit / rate).clamp(1e-9, 1e-3);
        let last = self.tableau.len();
        self.slope.combine(&[1.0], &self.rates);
        place(model, start, &self.slope, trial, &mut self.state);
        self.state.time = start.time + trial;
        if !self.evaluate(model, input, mode) {
            return trial;
        }
        self.record(model, last);
        self.rates[last].position.copy_from_slice(&self.state.qvel);
        let (first, rest) = self.rates.split_at_mut(1);
        for (after, before) in [
            (&mut rest[last - 1].position, &first[0].position),
            (&mut rest[last - 1].velocity, &first[0].velocity),
        ] {
            add_scaled(after, before, -1.0);
        }
        let change = size(&rest[last - 1]) / trial;
        let reach = (0.01 / rate.max(change)).powf(1.0 / f64::from(self.tableau.error_order));
        reach.min(100.0 * trial)
    }
}
