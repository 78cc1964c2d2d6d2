//! One step of a Runge–Kutta method on the manifold of configurations.
//!
//! Positions are followed in the tangent space at the start of the step, as by the fixed RK4 (see
//! [`integrate`](crate::integrate)): with k = (ρ, α, ω) the rates of positions, velocities and activations, stage i lies at
//!
//!   q₀ ⊕ h·Σⱼ aᵢⱼ·ρⱼ,   v₀ + h·Σⱼ aᵢⱼ·αⱼ,   w₀ + h·Σⱼ aᵢⱼ·ωⱼ                             (1)
//!
//! where ρᵢ is the velocity of the stage, for orientations carried to the start of the step.

use super::control::Tolerance;
use super::dense::Dense;
use super::event::{Snapshot, gauge_of};
use super::hold::{Blend, soften};
use super::mode::{Gauge, Mode, Switch, gauge_rate, read_gauges};
use super::pieces::{Pieces, read_keys};
use super::tableau::{Method, Tableau};
use crate::data::Data;
use crate::dynamics;
use crate::integrate::{Rates, add_scaled, place, tangent_rates};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::actuation::{is_disabled, write_bends};
use crate::stages::collision::Contact;
use crate::stages::solve::{Phase, SolveStatus};
use crate::state::{Input, State};

/// Keeps activations within their ranges.
pub(super) fn clamp_activations<T: Scalar>(model: &Model<T>, act: &mut [T]) {
    let actuators = &model.structure.actuators;
    for (actuator, states) in actuators.activations.iter().enumerate() {
        if actuators.activation_limited[actuator] {
            let [low, high] = model.actuators.activation_range[actuator];
            for state in states.clone() {
                act[state] = Scalar::clamp(act[state], low, high);
            }
        }
    }
}

/// Evaluates the dynamics and takes steps.
#[derive(Clone, Debug)]
pub(super) struct Stepper {
    pub(super) tableau: &'static Tableau,
    /// Results of the last evaluation.
    pub(super) data: Data,
    /// The state of the last evaluation: after a step, its end.
    pub(super) state: State,
    /// Rates of all stages, then those at the end of the step, then those where it was cut.
    pub(super) rates: Vec<Rates>,
    /// Gauges at the last evaluation.
    pub(super) gauges: Vec<Gauge>,
    /// Gauges at the start of the step.
    pub(super) first_gauges: Vec<Gauge>,
    /// The pieces on which the step is made.
    pub(super) pieces: Pieces,
    /// Where residuals and distances are at the last evaluation.
    pub(super) found: Pieces,
    /// Pieces of laws for the solver.
    given: Vec<Phase>,
    /// Numbers that change their sign where forces of actuators bend, at the last evaluation and at the start of the step.
    pub(super) bends: Vec<f64>,
    pub(super) first_bends: Vec<f64>,
    /// Forces and distances of the constraints at the start of the step.
    pub(super) first: Snapshot,
    pub(super) dense: Dense,
    blend: Blend,
    /// Weights of the rates where the path of the step was last gone to.
    pub(super) path_weights: Vec<f64>,
    /// The first part of the step at which a stage was beyond a switch, if one was.
    pub(super) early: Option<f64>,
    /// The same of the end of a piece.
    pub(super) early_kink: Option<f64>,
    spare: (State, Vec<Gauge>, Vec<Contact>),
    pub(super) slope: Rates,
    /// Length of the step, where it is implicit.
    pub(super) horizon: f64,
    /// The fastest rate at which constraints come to rest, at the start of the step (1/s).
    pub(super) stiffness: f64,
    pub(super) evaluations: usize,
}

impl Stepper {
    pub(super) fn new(model: &Model, method: Method) -> Self {
        let tableau = method.tableau();
        Self {
            tableau,
            data: Data::new(model),
            state: State::reference(model),
            rates: vec![Rates::zeros(model.counts()); tableau.len() + 2],
            gauges: Vec::new(),
            first_gauges: Vec::new(),
            pieces: Pieces::default(),
            found: Pieces::default(),
            given: Vec::new(),
            bends: Vec::new(),
            first_bends: Vec::new(),
            first: Snapshot::default(),
            dense: Dense::of(method),
            blend: Blend::default(),
            path_weights: Vec::new(),
            early: None,
            early_kink: None,
            spare: (State::reference(model), Vec::new(), Vec::new()),
            slope: Rates::zeros(model.counts()),
            horizon: 0.0,
            stiffness: 0.0,
            evaluations: 0,
        }
    }

    /// Evaluates the dynamics at `self.state` in a mode. False where they are not finite.
    pub(super) fn evaluate(&mut self, model: &Model, input: &Input, mode: &Mode) -> bool {
        self.evaluate_on(model, input, mode, false)
    }

    /// Evaluates the dynamics at `self.state` in a mode, if asked for on the pieces of the step. False where they are not finite.
    fn evaluate_on(&mut self, model: &Model, input: &Input, mode: &Mode, on_pieces: bool) -> bool {
        let is_implicit = self.tableau.is_extrapolated();
        if !mode.holds().is_empty() && !is_implicit {
            return self.evaluate_held(model, input, mode);
        }
        self.evaluations += 1;
        let (state, data) = (&mut self.state, &mut self.data);
        let (found, given) = (&mut self.found, &mut self.given);
        // All stages before the solver, with the constraints of the mode.
        prepare(model, state, input, mode, data, &mut self.gauges);
        self.bends.clear();
        // Kink functions of actuator forces, for events at the end of the step.
        write_bends(
            model,
            &data.transmission,
            &data.velocity,
            &data.actuation,
            &mut self.bends,
        );
        soften(mode, data);
        read_keys(data, &mut found.keys);
        let contacts = &data.collision.contacts;
        // On the pieces at the start of the step, the solver has no pieces to find.
        let is_put = on_pieces
            && !is_implicit
            && (self.pieces).put(&found.keys, (model, contacts), &mut data.constraint, given);
        let is_solved = if is_put {
            dynamics::settle(model, state, &state.warmstart, given, data)
        } else {
            dynamics::solve_constraints(model, state, data);
            data.solve.report.status != SolveStatus::NotFinite
        };
        state.warmstart.copy_from_slice(&data.solve.qacc);
        // Where residuals and distances really are, for events.
        found.find(model, data);
        is_solved && data.solve.qacc.iter().all(|number| number.is_finite())
    }

    /// [`Self::evaluate`] where contacts are held. Kinks are left to the control of errors.
    fn evaluate_held(&mut self, model: &Model, input: &Input, mode: &Mode) -> bool {
        self.evaluations += Blend::count(mode);
        self.found = Pieces::default();
        self.bends.clear();
        let (state, data) = (&mut self.state, &mut self.data);
        let room = (&mut *data, &mut self.gauges, &mut self.blend);
        let is_finite = evaluate_combinations(model, state, input, mode, room);
        self.blend.write(&mut data.solve.qacc);
        state.warmstart.copy_from_slice(&data.solve.qacc);
        is_finite && data.solve.qacc.iter().all(|number| number.is_finite())
    }

    /// Reads the gauges at `self.state`, nothing more.
    pub(super) fn probe(&mut self, model: &Model) {
        dynamics::forward_position(model, &self.state, &mut self.data);
        read_gauges(model, &self.state, &self.data, &mut self.gauges);
    }

    /// The rate of a gauge at a state of which the velocity stages are at hand. A point of contact may wander over its
    /// surface, so that its distance changes by more than the velocities there: differences along the motion know.
    pub(super) fn gauge_rate(&mut self, model: &Model, state: &State, switch: Switch) -> f64 {
        let rate = gauge_rate(model, state, &self.data, switch).unwrap_or(0.0);
        if !matches!(switch, Switch::Contact { .. }) {
            return rate;
        }
        self.gauge_along(model, state, switch, &state.qvel, rate)
            .unwrap_or(rate)
    }

    /// The derivative of a gauge along a motion, by differences; `size` is about that.
    pub(super) fn gauge_along(
        &mut self,
        model: &Model,
        state: &State,
        switch: Switch,
        motion: &[f64],
        size: f64,
    ) -> Option<f64> {
        // Central difference, short enough that the contact stays in sight.
        let reach = 0.3 * super::SIGHT_DISTANCE / size.abs().max(0.1);
        self.slope.position.copy_from_slice(motion);
        self.slope.velocity.fill(0.0);
        self.slope.activation.fill(0.0);
        let [before, after] = [-reach, reach].map(|reach| {
            place(model, state, &self.slope, reach, &mut self.state);
            self.probe(model);
            gauge_of(&self.gauges, switch)
        });
        Some((after? - before?) / (2.0 * reach))
    }

    /// Writes the rates of velocities and activations that the last evaluation found.
    pub(super) fn record(&mut self, model: &Model, stage: usize) {
        write_rates(model, &self.data, &mut self.rates[stage]);
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
        self.remember_pieces(mode);
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
        self.early = None;
        self.early_kink = None;
        // Whatever was tried before, the same step gives the same bits.
        (self.state.warmstart).copy_from_slice(&self.rates[0].velocity);
        if self.tableau.is_extrapolated() {
            return self.extrapolated_step(model, start, input, h, mode);
        }
        let count = self.tableau.len();
        for stage in 1..=count {
            let factors = match self.tableau.stages.get(stage - 1) {
                Some(factors) => factors,
                None => self.tableau.weights,
            };
            // The state of the stage, or of the end. (1)
            self.slope.combine(factors, &self.rates);
            place(model, start, &self.slope, h, &mut self.state);
            self.state.time = start.time + h * self.tableau.place(stage);
            if stage == count {
                clamp_activations(model, &mut self.state.act);
            }
            if !self.evaluate_on(model, input, mode, true) {
                return false;
            }
            // A stage beyond an event says where to look for it.
            if stage < count {
                self.look_for_events(model, mode, self.tableau.place(stage));
            }
            self.record(model, stage);
            // Rates of orientations, carried to the tangent space at the start.
            let rates = &mut self.rates[stage].position;
            rates.copy_from_slice(&self.slope.position);
            tangent_rates(model, &self.state.qvel, h, rates);
        }
        true
    }

    /// Remembers what the last evaluation was like as the start of a step.
    fn remember_pieces(&mut self, mode: &Mode) {
        if mode.holds().is_empty() || self.tableau.is_extrapolated() {
            self.pieces.read(&self.data);
        } else {
            self.pieces = Pieces::default();
        }
        self.first_gauges.clone_from(&self.gauges);
        self.first_bends.clone_from(&self.bends);
        self.stiffness = stiffness(&self.data);
        self.first.take(&self.data);
    }

    /// Evaluates the dynamics at a part of the step of length h that was just taken, where it may be cut. False where they are
    /// not finite.
    pub(super) fn evaluate_along(
        &mut self,
        (model, start, input): (&Model, &State, &Input),
        mode: &Mode,
        (h, part): (f64, f64),
    ) -> bool {
        self.go_along(model, start, h, part);
        self.evaluate_on(model, input, mode, true)
    }

    /// Goes to the end of the step of length h that was just taken and evaluates the dynamics there, as the step did.
    pub(super) fn return_to_end(
        &mut self,
        (model, start, input): (&Model, &State, &Input),
        mode: &Mode,
        h: f64,
    ) {
        self.slope.combine(self.tableau.weights, &self.rates);
        place(model, start, &self.slope, h, &mut self.state);
        self.state.time = start.time + h;
        clamp_activations(model, &mut self.state.act);
        self.evaluate_on(model, input, mode, true);
    }

    /// Remembers the first stage of a step that seems to be beyond an event.
    fn look_for_events(&mut self, model: &Model, mode: &Mode, part: f64) {
        if self.early.is_none() && !mode.suits(&self.gauges) {
            self.early = Some(part);
        }
        if self.early_kink.is_none() && self.kink(model, 0.0).is_some() {
            self.early_kink = Some(part);
        }
    }

    /// Makes the end of a step, or where it was cut, the start of the next one.
    pub(super) fn advance(&mut self, start: &mut State, mode: &Mode, is_cut: bool) {
        start.copy_from(&self.state);
        self.remember_pieces(mode);
        let end = self.tableau.len() + usize::from(is_cut);
        // The rates at the end are those of the next first stage.
        let (first, rest) = self.rates.split_at_mut(1);
        first[0].copy_from(&rest[end - 1]);
        first[0].position.copy_from_slice(&start.qvel);
    }

    /// The error of the last step in units of what is allowed: that of the worst component.
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
        let mut measure = |dof: usize, before: f64, after: f64| {
            let error = h * self.slope.position[dof];
            let measured = tolerances.position.measure(error, before, after);
            of_position = nan_max(of_position, measured);
        };
        let joints = &model.structure.joints;
        for (position, dof) in joints.straight() {
            measure(dof, start.qpos[position], end.qpos[position]);
        }
        // Angles have no size to be relative to: take one radian.
        for (_, first) in joints.rotations() {
            (first..first + 3).for_each(|dof| measure(dof, 1.0, 1.0));
        }
        nan_max(of_position, nan_max(of_velocity, of_activation))
    }
}

/// The fastest rate at which constraints that push come to rest (1/s): with b and k of a row, r̈ = −d·(b·ṙ + d·k·r) at most.
fn stiffness(data: &Data) -> f64 {
    let blocks = data.constraint.blocks.iter().zip(&data.solve.phase);
    let acting = blocks.filter(|(_, phase)| **phase != Phase::OFF);
    acting
        .flat_map(|(block, _)| data.constraint.block_rows(block))
        .map(|row| {
            (row.impedance.damping).max((row.impedance.stiffness * row.impedance.value).sqrt())
        })
        .fold(0.0, f64::max)
}

/// The greater of two numbers; one that is not a number if there is one.
fn nan_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// Writes the rates of velocities and activations that an evaluation found.
pub(super) fn write_rates(model: &Model, data: &Data, rates: &mut Rates) {
    rates.velocity.copy_from_slice(&data.solve.qacc);
    let actuators = &model.structure.actuators.activations;
    for (actuator, states) in actuators.iter().enumerate() {
        let is_off = model.settings.disable.actuation || is_disabled(model, actuator);
        for state in states.clone() {
            let rate = data.actuation.activation_dot[state];
            rates.activation[state] = if is_off { 0.0 } else { rate };
        }
    }
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

/// Evaluates all combinations of held contacts, last the one with all of them. False where one is not finite.
pub(super) fn evaluate_combinations(
    model: &Model,
    state: &State,
    input: &Input,
    mode: &Mode,
    (data, gauges, blend): (&mut Data, &mut Vec<Gauge>, &mut Blend),
) -> bool {
    blend.clear();
    let mut is_finite = true;
    for bits in 0..Blend::count(mode) {
        let combination = mode.combination(bits);
        prepare(model, state, input, &combination, data, gauges);
        dynamics::solve_constraints(model, state, data);
        is_finite &= data.solve.report.status != SolveStatus::NotFinite;
        blend.push(&data.solve.qacc);
    }
    blend.read_shares(mode, data);
    is_finite
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
        // A trial step by the size of the rates, an explicit Euler step to see how they change.
        let rate = size(&self.rates[0]);
        let unit = tolerances.position.measure(1.0, 1.0, 1.0);
        let trial = (0.01 * unit / rate).clamp(1e-9, 1e-3);
        let last = self.tableau.len();
        self.slope.combine(&[1.0], &self.rates);
        place(model, start, &self.slope, trial, &mut self.state);
        self.state.time = start.time + trial;
        if !self.evaluate_on(model, input, mode, true) {
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
        // The step whose error term of the method's order is about one hundredth.
        let change = size(&rest[last - 1]) / trial;
        let reach = (0.01 / rate.max(change)).powf(1.0 / f64::from(self.tableau.error_order));
        reach.min(100.0 * trial)
    }
}

impl Stepper {
    /// Whether the path of the last step leaves a mode at one of these parts of it; that of the first.
    pub(super) fn leaves(
        &mut self,
        model: &Model,
        start: &State,
        mode: &Mode,
        h: f64,
        parts: impl Iterator<Item = f64>,
    ) -> Option<f64> {
        let mut parts = parts.peekable();
        parts.peek()?;
        // The end of the step is needed again, and rows of constraints refer to its contacts.
        self.spare.0.copy_from(&self.state);
        self.spare.1.clone_from(&self.gauges);
        self.spare.2.clone_from(&self.data.collision.contacts);
        let left = parts.find(|&part| {
            self.go_along(model, start, h, part);
            self.probe(model);
            !mode.suits(&self.gauges)
        });
        if left.is_none() {
            self.state.copy_from(&self.spare.0);
            std::mem::swap(&mut self.gauges, &mut self.spare.1);
            std::mem::swap(&mut self.data.collision.contacts, &mut self.spare.2);
        }
        left
    }

    /// Goes to a part of the path of the step of length h that was just taken.
    pub(super) fn go_along(&mut self, model: &Model, start: &State, h: f64, part: f64) {
        self.dense.write_weights(part, &mut self.path_weights);
        self.slope.combine(&self.path_weights, &self.rates);
        place(model, start, &self.slope, h, &mut self.state);
        self.state.time = start.time + part * h;
        // Whatever was tried before, the same place gives the same bits.
        (self.state.warmstart).copy_from_slice(&self.rates[0].velocity);
    }
}
