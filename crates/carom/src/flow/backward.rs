//! The adjoint of a motion.
//!
//! A step passes back through its stages, last first. With x̄ the cotangents of its end, those of the rates are
//!
//!   k̄ᵢ = h·bᵢ·x̄ + h·Σⱼ aⱼᵢ·x̄ⱼ,   x̄ᵢ = (∂f/∂x)ᵀ·k̄ᵢ at stage i,   x̄₀ = x̄ + Σᵢ x̄ᵢ           (1̄)
//!
//! with positions in the tangent space at the start of the step. Lengths of steps are constants, but for those that end at
//! an onset, where the jump (1) of the module passes back
//!
//!   x̄⁻ = x̄⁺ + c·∇g,   θ̄ += c·∂g/∂θ,   c = (f⁺ − f⁻)·x̄⁺ / (∇g·f⁻)                        (2̄)
//!
//! Where a model has a surrogate for its gradients (contacts from distance), ∂f and the jump of f are the surrogate's.

mod continuous;
mod implicit;

use std::mem::take;

use super::Flow;
use super::adjoint::Adjoint;
use super::dense::Dense;
use super::hold::{Blend, Shared};
use super::mode::{Gauge, Mode, Switch, ball_angle, contact_of};
use super::motion::{Motion, Onset, Regime};
use super::pieces::Key;
use super::replay;
use super::stepper::{evaluate_combinations, prepare};
use super::tableau::Tableau;
use crate::cotangent::{Cotangents, DataBar, StateBar};
use crate::data::Data;
use crate::dynamics::backward::Observer;
use crate::dynamics::{self, At, Surrogate};
use crate::error::Error;
use crate::integrate::{
    Rates, add_scaled, dot, integrate_positions, place, place_vjp, tangent_rates, tangent_rates_vjp,
};
use crate::model::{JointKind, Model};
use crate::rollout::{Controls, Gradient, Loss, NoGradient};
use crate::stages::actuation::is_disabled;
use crate::stages::constraint::Constraint;
use crate::stages::solve::Phase;
use crate::stages::{collision, kinematics, tendon};
use crate::state::{Input, State};
use continuous::Anchor;

impl Motion {
    /// The gradient of a loss over the states at the ends of the intervals; `flow` and `controls` are those the motion was
    /// followed with. The loss is asked for derivatives with respect to states only.
    ///
    /// # Errors
    /// When the motion was not followed to its end, or has no derivative.
    ///
    /// # Panics
    /// When the controls do not fit the model.
    pub fn backward(
        &self,
        flow: &Flow,
        controls: &Controls,
        loss: &mut dyn Loss,
    ) -> Result<Gradient, Error> {
        let mut reading = Reading::new(flow, self, controls, loss)?;
        match flow.settings.adjoint {
            Adjoint::Continuous { tolerance } => {
                return continuous::backward(flow, reading, tolerance, Anchor::Start);
            }
            Adjoint::Backsolve { tolerance } => {
                return continuous::backward(flow, reading, tolerance, Anchor::End);
            }
            _ if !self.is_stored() => return replay::backward(flow, reading),
            _ => {}
        }
        for step in (0..self.steps.len()).rev() {
            reading.arrive_after(step)?;
            let Pass { start, rates, .. } = &mut reading.pass;
            self.read(step, start, rates);
            reading.pass.step(step)?;
        }
        reading.finish()
    }
}

/// A motion while it is read backwards, step by step.
pub(super) struct Reading<'a, 'l> {
    pub(super) motion: &'a Motion,
    pub(super) controls: &'a Controls,
    /// `start` is where the reading is.
    pub(super) pass: Pass<'a>,
    loss: &'l mut dyn Loss,
    /// Which of the states at the ends of intervals has been read last; at first, none.
    reached: usize,
    /// Onsets that are left.
    onsets: usize,
}

impl<'a, 'l> Reading<'a, 'l> {
    fn new(
        flow: &'a Flow,
        motion: &'a Motion,
        controls: &'a Controls,
        loss: &'l mut dyn Loss,
    ) -> Result<Self, Error> {
        controls.assert_fit(flow.model.counts().nu);
        if !motion.status.is_done() {
            return Err(NoGradient::refused(motion.status.to_string()));
        }
        Ok(Self {
            motion,
            controls,
            pass: Pass::new(flow, motion),
            loss,
            reached: motion.states.len(),
            onsets: motion.onsets.len(),
        })
    }

    /// Goes from the start of the next step to the end of a step, over what is there: ends of intervals and onsets.
    pub(super) fn arrive_after(&mut self, step: usize) -> Result<(), Error> {
        self.read_states_from(self.motion.steps[step].interval + 1);
        self.pass_onsets_after(step)
    }

    /// Asks the loss for its derivatives with respect to the states at the ends of intervals, down to one of them.
    fn read_states_from(&mut self, state: usize) {
        let Self { motion, pass, .. } = self;
        while self.reached > state {
            let nu = pass.input.ctrl.len();
            // The interval behind is read: its controls' cotangents are complete.
            if self.reached < motion.states.len() {
                pass.controls[(self.reached - 1) * nu..][..nu]
                    .copy_from_slice(&pass.bar.input.ctrl);
            }
            self.reached -= 1;
            (self.loss).by_state(self.reached, &motion.states[self.reached], &mut pass.next);
            pass.norms[self.reached] = pass.next.norm();
            // The interval ahead has controls of its own.
            if self.reached > 0 {
                self.controls.write(self.reached - 1, &mut pass.input.ctrl);
                pass.bar.input.next_step();
            }
        }
    }

    /// Passes the onsets between a step and the next one, at `self.pass.start`.
    fn pass_onsets_after(&mut self, step: usize) -> Result<(), Error> {
        self.pass_onsets(|onset| onset.steps > step)
    }

    fn pass_onsets(&mut self, are_here: impl Fn(&Onset) -> bool) -> Result<(), Error> {
        while let Some(onset) = self.motion.onsets[..self.onsets]
            .last()
            .filter(|&it| are_here(it))
        {
            self.pass.onset(onset)?;
            self.onsets -= 1;
        }
        Ok(())
    }

    /// The gradient, after the last step that was read.
    pub(super) fn finish(mut self) -> Result<Gradient, Error> {
        self.read_states_from(0);
        self.pass_onsets(|_| true)?;
        Ok(self.pass.finish())
    }
}

/// The rates of a surrogate are taken this long before and after an onset (s): short against every contact, long against
/// rounding of the distance.
const SURROGATE_TIME_OFFSET: f64 = 1e-8;

/// Weights of the rates in a stage, or at the end of the step.
pub(super) fn weights<'a>(tableau: &'static Tableau, cut: &'a [f64], stage: usize) -> &'a [f64] {
    match stage.checked_sub(1) {
        None => &[],
        Some(row) if row < tableau.stages.len() => tableau.stages[row],
        Some(row) if row == tableau.stages.len() => tableau.weights,
        Some(_) => cut,
    }
}

/// The adjoints of steps and onsets.
pub(super) struct Pass<'a> {
    model: &'a Model,
    motion: &'a Motion,
    tableau: &'static Tableau,
    dense: Dense,
    /// Weights of the rates where the step at hand was cut.
    cut_weights: Vec<f64>,
    surrogate: Option<Surrogate>,
    input: Input,
    /// Cotangents of the state after the step at hand.
    next: StateBar,
    bar: Cotangents,
    /// The start of the step at hand.
    pub(super) start: State,
    /// State of a stage.
    state: State,
    data: Data,
    gauges: Vec<Gauge>,
    keys: Vec<Key>,
    phases: Vec<Phase>,
    /// Rates of the stages of the step at hand.
    pub(super) rates: Vec<Rates>,
    /// Σⱼ aᵢⱼ·kⱼ of every stage, and Σ bᵢ·kᵢ.
    slopes: Vec<Rates>,
    rate_bars: Vec<Rates>,
    slope_bar: Rates,
    columns: implicit::Columns,
    controls: Vec<f64>,
    norms: Vec<f64>,
}

impl<'a> Pass<'a> {
    fn new(flow: &'a Flow, motion: &'a Motion) -> Self {
        let model = &flow.model;
        let tableau = flow.settings.method.tableau();
        let (n, intervals) = (model.counts(), motion.states.len() - 1);
        Self {
            model,
            motion,
            tableau,
            dense: Dense::of(flow.settings.method),
            cut_weights: Vec::new(),
            surrogate: Surrogate::of(model),
            input: Input::zeros(model),
            next: StateBar::zeros(model),
            bar: Cotangents::zeros(model),
            start: motion.end().clone(),
            state: motion.states[0].clone(),
            data: Data::new(model),
            gauges: Vec::new(),
            keys: Vec::new(),
            phases: Vec::new(),
            rates: vec![Rates::zeros(model.counts()); tableau.len() + 1],
            slopes: vec![Rates::zeros(model.counts()); tableau.len() + 2],
            rate_bars: vec![Rates::zeros(model.counts()); tableau.len() + 1],
            slope_bar: Rates::zeros(n),
            columns: implicit::Columns::new(model, tableau),
            controls: vec![0.0; intervals * n.nu],
            norms: vec![0.0; intervals + 1],
        }
    }

    /// The state of a stage, from the rates of the stages before it.
    fn place(&mut self, stage: usize, h: f64) {
        let slope = &self.slopes[stage];
        place(self.model, &self.start, slope, h, &mut self.state);
        self.state.time = self.start.time + h * self.tableau.place(stage);
    }

    /// The adjoint of a step: from the cotangents of its end in `self.next` to those of its start.
    pub(super) fn step(&mut self, index: usize) -> Result<(), Error> {
        if self.tableau.is_extrapolated() {
            return self.extrapolated_step(index);
        }
        let step = self.motion.steps[index];
        // Where a step was cut, the rates at its end are those of one more stage.
        let is_cut = step.part < 1.0;
        let (h, count) = (step.h, self.tableau.len() + usize::from(is_cut));
        if is_cut {
            self.dense.write_weights(step.part, &mut self.cut_weights);
        }
        // Rebuild the slopes to all stages, and the rates of positions there, from the stored rates.
        for stage in 0..=count {
            let weights = weights(self.tableau, &self.cut_weights, stage);
            self.slopes[stage].combine(weights, &self.rates);
            if stage < count {
                self.place(stage, h);
                let rates = &mut self.rates[stage].position;
                rates.copy_from_slice(&self.slopes[stage].position);
                tangent_rates(self.model, &self.state.qvel, h, rates);
            }
        }
        self.rate_bars.iter_mut().for_each(Rates::clear);
        self.clamp_activation_bars(h);
        // The end depends on the start directly and through the rates of all stages.
        let (end_bar, mut start_bar) = self.take_end();
        self.pass_to_rates(count, h, &end_bar, &mut start_bar);
        // Stages, last first: by then all that depends on their rates has added its part. (1̄)
        for stage in (0..count).rev() {
            self.place(stage, h);
            self.stage(index, stage)?;
            // Only rates of orientations depend on where the stage lies.
            tangent_rates_vjp(
                self.model,
                (&self.slopes[stage].position, &self.state.qvel, h),
                &self.rate_bars[stage].position,
                (&mut self.slope_bar.position, &mut self.bar.state.qvel),
            );
            let stage_bar = self.bar.state.clone();
            add_all_but_positions(&mut start_bar, &stage_bar);
            self.pass_to_rates(stage, h, &stage_bar, &mut start_bar);
        }
        self.arrive(start_bar, index)
    }

    /// Takes the cotangents of the end of a step, and begins those of its start: what was added to is the end itself.
    fn take_end(&mut self) -> (StateBar, StateBar) {
        let end_bar = std::mem::replace(&mut self.next, StateBar::zeros(self.model));
        let mut start_bar = end_bar.clone();
        start_bar.qpos.fill(0.0);
        (end_bar, start_bar)
    }

    /// Goes on from the cotangents at the start of a step.
    fn arrive(&mut self, start_bar: StateBar, step: usize) -> Result<(), Error> {
        self.next = start_bar;
        self.check_finite(step)
    }

    fn check_finite(&self, step: usize) -> Result<(), Error> {
        if self.next.norm().is_finite() {
            Ok(())
        } else {
            Err(NoGradient::Exploded.at(step))
        }
    }

    /// Activations that were held at the end of their range there do not depend on anything.
    fn clamp_activation_bars(&mut self, h: f64) {
        let count = self.tableau.len();
        let slope = &self.slopes[count].activation;
        let actuators = &self.model.structure.actuators;
        for (actuator, states) in actuators.activations.iter().enumerate() {
            if actuators.activation_limited[actuator] {
                let [low, high] = self.model.actuators.activation_range[actuator];
                for state in states.clone() {
                    let end = self.start.act[state] + h * slope[state];
                    if end < low || end > high {
                        let range_bar = &mut self.bar.model.actuators.activation_range[actuator];
                        range_bar[usize::from(end > high)] += take(&mut self.next.act[state]);
                    }
                }
            }
        }
    }

    /// From the cotangents of the state of a stage, or of the end, to those of the rates it was reached with; positions
    /// also to the start. `self.slope_bar` may hold a part of the cotangent of the slope of positions.
    fn pass_to_rates(&mut self, stage: usize, h: f64, bar: &StateBar, start_bar: &mut StateBar) {
        let placed = (&self.start, &self.slopes[stage], h);
        place_vjp(self.model, placed, bar, (&mut self.slope_bar, start_bar));
        let weights = weights(self.tableau, &self.cut_weights, stage);
        for (&weight, rate_bar) in weights.iter().zip(&mut self.rate_bars) {
            if weight != 0.0 {
                rate_bar.add_scaled(&self.slope_bar, weight);
            }
        }
        self.slope_bar.clear();
    }

    /// From the cotangents of the rates of a stage to those of its state, in `self.bar.state`.
    fn stage(&mut self, step: usize, stage: usize) -> Result<(), Error> {
        self.bar.state.set_zero();
        let Regime { mode, pieces } = &self.motion.regimes[self.motion.steps[step].regime];
        let (model, state, data) = (self.model, &mut self.state, &mut self.data);
        // Compute the stage again, up to the constraints, in the mode of its step.
        prepare(model, state, &self.input, mode, data, &mut self.gauges);
        let acting = self.surrogate.as_ref();
        let acting = acting.filter(|surrogate| surrogate.acts(&data.kinematics));
        if acting.is_none() && !mode.holds().is_empty() {
            return self.held_stage((step, stage), mode);
        }
        let acceleration = &self.rates[stage].velocity;
        let is_unique = if let Some(surrogate) = acting {
            state.warmstart.copy_from_slice(acceleration);
            surrogate.evaluate(state, &self.input, data)
        } else {
            // The solution is stored; only the factor of the solver is made again.
            let phases = pieces.put_again(model, data, (&mut self.keys, &mut self.phases));
            dynamics::settle(model, state, acceleration, phases, data)
        };
        if !is_unique {
            return Err(NoGradient::NotUnique.at(step));
        }
        let at = At {
            model: acting.map_or(model, |surrogate| &surrogate.model),
            state,
            input: &self.input,
            data,
        };
        let rate_bar = &self.rate_bars[stage];
        let activation_bar = Some(&rate_bar.activation[..]);
        let velocity_bar = (&rate_bar.velocity[..], 1.0);
        rates_backward(at, velocity_bar, activation_bar, &mut self.bar, &mut ());
        Ok(())
    }

    /// [`Self::stage`] where contacts are held: one pass for every combination of them.
    fn held_stage(&mut self, (step, stage): (usize, usize), mode: &Mode) -> Result<(), Error> {
        let (model, state, input) = (self.model, &self.state, &self.input);
        let (data, gauges) = (&mut self.data, &mut self.gauges);
        let mut blend = Blend::default();
        // All accelerations first: the shares depend on each of them.
        evaluate_combinations(model, state, input, mode, (data, gauges, &mut blend));
        let rate_bar = &self.rate_bars[stage];
        let last = Blend::count(mode) - 1;
        for bits in 0..=last {
            prepare(model, state, input, &mode.combination(bits), data, gauges);
            dynamics::solve_constraints(model, state, data);
            let acceleration = data.solve.qacc.clone();
            if !dynamics::settle(model, state, &acceleration, &[], data) {
                return Err(NoGradient::NotUnique.at(step));
            }
            let at = At {
                model,
                state,
                input,
                data,
            };
            let velocity_bar = (&rate_bar.velocity[..], blend.weight_of(bits));
            // The last combination has all contacts, and so the rows that the shares depend on.
            if bits < last {
                rates_backward(at, velocity_bar, None, &mut self.bar, &mut ());
            } else {
                let shared = &mut Shared {
                    mode,
                    blend: &blend,
                    bar: &rate_bar.velocity,
                };
                let activation_bar = Some(&rate_bar.activation[..]);
                rates_backward(at, velocity_bar, activation_bar, &mut self.bar, shared);
            }
        }
        Ok(())
    }

    /// (f⁺ − f⁻)·x̄⁺ of (2̄), with the surrogate's rates where it acts: shortly before and after the onset at `self.state`.
    fn jump_along(&mut self, onset: &Onset) -> f64 {
        let Some(surrogate) = &self.surrogate else {
            return dot(&onset.jump, &self.next.qvel);
        };
        let (state, data) = (&self.state, &mut self.data);
        // Contacts from distance act on both sides: take the jump of the surrogate itself.
        let [after, before] = [SURROGATE_TIME_OFFSET, -SURROGATE_TIME_OFFSET].map(|moment| {
            let mut moved = state.clone();
            integrate_positions(self.model, &mut moved.qpos, &state.qvel, moment);
            dynamics::forward(&surrogate.model, &moved, &self.input, data);
            dot(&data.solve.qacc, &self.next.qvel)
        });
        (after - before) / onset.tied as f64
    }

    /// The adjoint of a jump at `self.start`. (2̄)
    fn onset(&mut self, onset: &Onset) -> Result<(), Error> {
        if onset.grazes {
            return Ok(());
        }
        self.state.copy_from(&self.start);
        let along = self.jump_along(onset);
        if along == 0.0 {
            return Ok(());
        }
        let coefficient = along / onset.rate;
        let (model, state) = (self.model, &self.state);
        let (data, bar) = (&mut self.data, &mut self.bar);
        // ∇g and ∂g/∂θ, through collision, tendons and kinematics alone.
        dynamics::forward_position(model, state, data);
        dynamics::forward_velocity(model, state, data);
        data.constraint = Constraint::default();
        bar.data.start(data);
        bar.state.set_zero();
        gauge_backward(model, state, data, onset.switch, coefficient, bar);
        let at = At {
            model,
            state,
            input: &self.input,
            data,
        };
        collision::backward(at, bar);
        tendon::backward(at, bar);
        kinematics::backward(at, bar);
        self.next.add(&bar.state);
        self.check_finite(onset.steps)
    }

    fn finish(mut self) -> Gradient {
        self.bar.give_timestep_to_model();
        Gradient {
            model: self.bar.model,
            start: self.next,
            controls: self.controls,
            norms: self.norms,
        }
    }
}

/// From the cotangents of the rates of velocities, times a factor, and of activations to those of the state and of everything
/// else, which are added to.
fn rates_backward(
    at: At<'_>,
    (velocity_bar, factor): (&[f64], f64),
    activation_bar: Option<&[f64]>,
    bar: &mut Cotangents,
    observer: &mut dyn Observer,
) {
    bar.data.start(at.data);
    add_scaled(&mut bar.data.solve.qacc, velocity_bar, factor);
    if let Some(activation_bar) = activation_bar {
        add_activation_bars(at.model, activation_bar, 1.0, &mut bar.data);
    }
    dynamics::backward::observe_backward(at, bar, observer);
}

/// Adds the derivatives of a gauge, times a coefficient.
fn gauge_backward(
    model: &Model,
    state: &State,
    data: &Data,
    switch: Switch,
    coefficient: f64,
    bar: &mut Cotangents,
) {
    let end = |upper: bool| if upper { (1, -1.0) } else { (0, 1.0) };
    match switch {
        Switch::JointLimit { joint, upper } => {
            let (side, sign) = end(upper);
            bar.model.joints.margin[joint] -= coefficient;
            let dof = model.structure.joints.dof[joint];
            if model.structure.joints.kind[joint] == JointKind::Ball {
                let [low, high] = model.joints.range[joint];
                bar.model.joints.range[joint][usize::from(high >= low)] += coefficient;
                let (axis, _) = ball_angle(model, state, joint);
                for k in 0..3 {
                    bar.state.qpos[dof + k] -= coefficient * axis[k];
                }
            } else {
                bar.model.joints.range[joint][side] -= sign * coefficient;
                bar.state.qpos[dof] += sign * coefficient;
            }
        }
        Switch::TendonLimit { tendon, upper } => {
            let (side, sign) = end(upper);
            bar.model.tendons.margin[tendon] -= coefficient;
            bar.model.tendons.range[tendon][side] -= sign * coefficient;
            bar.data.tendon.length[tendon] += sign * coefficient;
        }
        Switch::Contact { geoms, feature } => {
            if let Some(index) = contact_of(data, geoms, feature) {
                bar.data.contacts[index].distance += coefficient;
                bar.data.contacts[index].include_margin -= coefficient;
            }
        }
    }
}

/// Adds the cotangents of the rates of activations, times a factor.
fn add_activation_bars(model: &Model, rates: &[f64], factor: f64, bar: &mut DataBar) {
    let activations = &model.structure.actuators.activations;
    for (actuator, states) in activations.iter().enumerate() {
        if !(model.settings.disable.actuation || is_disabled(model, actuator)) {
            for state in states.clone() {
                bar.actuation.activation_dot[state] += factor * rates[state];
            }
        }
    }
}

/// Adds the cotangents of a stage to those of the start of the step, on which all but positions depend directly.
fn add_all_but_positions(sum: &mut StateBar, terms: &StateBar) {
    add_scaled(&mut sum.qvel, &terms.qvel, 1.0);
    add_scaled(&mut sum.act, &terms.act, 1.0);
    sum.add_given(terms);
}
