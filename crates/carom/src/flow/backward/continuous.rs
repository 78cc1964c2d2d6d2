//! The adjoint as a motion of its own.
//!
//! With λ the cotangents of the state at a time, read backwards,
//!
//!   −λ̇ = (∂f/∂x)ᵀ·λ,   θ̄ = ∫ (∂f/∂θ)ᵀ·λ dt                                               (1)
//!
//! between onsets, where λ jumps as in the stored adjoint. λ belongs to turns in the frame of the body, which itself turns
//! with ω: that adds ω × λ to the part of an orientation.
//!
//! (1) is followed by steps of the pair Tsit5 within each step of the motion; as all its weights differ from zero, the
//! cotangents of a stage times its weight are at once its part of θ̄. The state at a stage is that of a shorter step of the
//! motion's own method: it is as exact as the motion itself.

use super::{Pass, Reading, rates_backward};
use crate::cotangent::{Cotangents, StateBar};
use crate::dynamics::{self, At};
use crate::error::Error;
use crate::flow::control::History;
use crate::flow::motion::{Regime, Step};
use crate::flow::stepper::Stepper;
use crate::flow::{Flow, Method, StepControl, Tableau};
use crate::integrate::{add_scaled, vector_at};
use crate::model::Model;
use crate::rollout::{Gradient, NoGradient};
use crate::stages::solve::Phase;

/// From which end of a step its states are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// From the start, which is stored.
    Start,
    /// From the end, where the reading is.
    End,
}

/// Longest step of the cotangents (s): forces that act on them alone do not show in the steps of the motion.
const MAX_COTANGENT_STEP: f64 = 0.02;

/// Shortest step of the cotangents (s): some hundred ulps of a second.
const MIN_COTANGENT_STEP: f64 = 1e-13;

/// Reads a motion backwards by the equation of its cotangents.
pub(super) fn backward(
    flow: &Flow,
    mut reading: Reading<'_, '_>,
    tolerance: f64,
    anchor: Anchor,
) -> Result<Gradient, Error> {
    let motion = reading.motion;
    let has_range = |limited: &[bool]| limited.iter().any(|&limited| limited);
    if anchor == Anchor::End && has_range(&flow.model.structure.actuators.activation_limited) {
        return Err(NoGradient::refused(
            "activations with a range cannot be followed backwards from the end; use another adjoint than 'backsolve'"
                .to_owned(),
        ));
    }
    if motion.has_holds() {
        return Err(NoGradient::refused(
            "a contact chatters and is held, which the equation of the cotangents does not know; use the adjoint 'stored'"
                .to_owned(),
        ));
    }
    let mut follower = Follower::new(flow, tolerance, anchor);
    for index in (0..motion.steps.len()).rev() {
        reading.arrive_after(index)?;
        let pass = &mut reading.pass;
        if anchor == Anchor::Start {
            motion.read(index, &mut pass.start, &mut pass.rates);
            let last = pass.tableau.len();
            pass.slopes[last].combine(pass.tableau.weights, &pass.rates);
            pass.clamp_activation_bars(motion.steps[index].h);
        }
        follower.read_step(pass, index)?;
    }
    reading.finish()
}

/// Follows cotangents.
struct Follower<'a> {
    model: &'a Model,
    tableau: &'static Tableau,
    tolerance: f64,
    anchor: Anchor,
    most_steps: usize,
    /// Takes steps of the motion, to states on the way.
    stepper: Stepper,
    phases: Vec<Phase>,
    control: StepControl,
    history: History,
    /// The next step (s).
    h: f64,
    /// λ: of positions, velocities and activations in a row.
    lambda: Vec<f64>,
    stage_lambda: Vec<f64>,
    /// −λ̇ of every stage, and at the end.
    rates: Vec<Vec<f64>>,
    /// Parts of θ̄ of the step that is tried.
    trial: Cotangents,
    /// Room for what is not needed.
    spare: Cotangents,
    mocap: StateBar,
}

impl<'a> Follower<'a> {
    fn new(flow: &'a Flow, tolerance: f64, anchor: Anchor) -> Self {
        let (model, settings) = (&flow.model, &flow.settings);
        let n = model.counts();
        let width = 2 * n.nv + n.na;
        let tableau = Method::Tsit5.tableau();
        Self {
            model,
            tableau,
            tolerance,
            anchor,
            most_steps: settings.most_steps,
            stepper: Stepper::new(model, settings.method),
            phases: Vec::new(),
            control: settings.control,
            history: History::default(),
            h: MAX_COTANGENT_STEP,
            lambda: vec![0.0; width],
            stage_lambda: vec![0.0; width],
            rates: vec![vec![0.0; width]; tableau.len() + 1],
            trial: Cotangents::zeros(model),
            spare: Cotangents::zeros(model),
            mocap: StateBar::zeros(model),
        }
    }

    /// From the cotangents of the end of a step in `pass.next` to those of its start; `pass.start` is the end of the step that
    /// states are computed from, and its start afterwards.
    fn read_step(&mut self, pass: &mut Pass<'_>, index: usize) -> Result<(), Error> {
        let step = pass.motion.steps[index];
        self.load(&pass.next);
        self.begin(pass, step);
        // What is left of the step.
        let mut left = step.h * step.part;
        let mut attempts = 0;
        while left > 0.0 {
            attempts += 1;
            if attempts > self.most_steps || self.h < MIN_COTANGENT_STEP {
                return Err(NoGradient::refused(format!(
                    "the cotangents cannot be followed at {} s; loosen the tolerance of the adjoint or use the stored one",
                    step.time + left
                )));
            }
            // No step goes beyond the step of the motion.
            let h = if self.h >= left - MIN_COTANGENT_STEP {
                left
            } else {
                self.h
            };
            let error = self.try_step(pass, (index, step), left, h)?;
            let factor =
                self.history
                    .next_factor(&self.control, error, f64::from(self.tableau.error_order));
            // Accepted: go on from there, and from the end also with the state.
            if error <= 1.0 {
                self.accept(pass);
                left = if h == left { 0.0 } else { left - h };
                if self.anchor == Anchor::End {
                    self.go_to(pass, step, -h);
                    pass.start.copy_from(&self.stepper.state);
                    self.begin(pass, step);
                }
            }
            // The end of a step of the motion is no reason to go on with short ones.
            if error > 1.0 || h == self.h || factor < 1.0 {
                self.h = (h * factor).min(MAX_COTANGENT_STEP);
            }
        }
        self.store(&mut pass.next);
        pass.check_finite(index)
    }

    /// Evaluates the dynamics at `pass.start`.
    fn begin(&mut self, pass: &Pass<'_>, step: Step) {
        let Regime { mode, pieces } = &pass.motion.regimes[step.regime];
        self.stepper
            .begin(self.model, &pass.start, &pass.input, mode);
        self.stepper.pieces.clone_from(pieces);
    }

    /// Evaluates the dynamics so long after `pass.start`.
    fn go_to(&mut self, pass: &Pass<'_>, step: Step, time: f64) {
        let mode = &pass.motion.regimes[step.regime].mode;
        if time == 0.0 {
            self.begin(pass, step);
        } else {
            (self.stepper).step(self.model, &pass.start, &pass.input, time, mode);
        }
    }

    /// A step of λ of length h backwards from where `left` is left of a step of the motion; its error in units of what is
    /// allowed.
    fn try_step(
        &mut self,
        pass: &mut Pass<'_>,
        (index, step): (usize, Step),
        left: f64,
        h: f64,
    ) -> Result<f64, Error> {
        self.trial.model.set_zero();
        self.trial.input.set_zero();
        self.mocap.set_zero();
        let count = self.tableau.len();
        for stage in 0..=count {
            let factors = match stage.checked_sub(1) {
                None => &[][..],
                Some(row) => (self.tableau.stages.get(row)).map_or(self.tableau.weights, |row| row),
            };
            self.stage_lambda.copy_from_slice(&self.lambda);
            for (&factor, rates) in factors.iter().zip(&self.rates) {
                add_scaled(&mut self.stage_lambda, rates, h * factor);
            }
            let back = h * self.tableau.place(stage);
            let time = match self.anchor {
                Anchor::Start => (left - back).max(0.0),
                Anchor::End => -back,
            };
            self.go_to(pass, step, time);
            // The rates at the end are for the error only.
            let weight = self.tableau.weights.get(stage).map(|weight| h * weight);
            self.stage_rates(pass, index, stage, weight)?;
        }
        // The worst error, relative to the largest cotangent.
        let (mut error, mut size) = (0.0_f64, 0.0_f64);
        for k in 0..self.lambda.len() {
            let terms = self.tableau.error.iter().zip(&self.rates);
            let sum: f64 = terms.map(|(factor, rates)| factor * rates[k]).sum();
            error = error.max((h * sum).abs());
            size = size
                .max(self.lambda[k].abs())
                .max(self.stage_lambda[k].abs());
        }
        Ok(if size == 0.0 {
            0.0
        } else {
            error / (self.tolerance * size)
        })
    }

    /// −λ̇ of a stage whose state was just evaluated, and its part of θ̄ if it has a weight.
    fn stage_rates(
        &mut self,
        pass: &mut Pass<'_>,
        index: usize,
        stage: usize,
        weight: Option<f64>,
    ) -> Result<(), Error> {
        let Self {
            model,
            stepper,
            phases,
            trial,
            spare,
            stage_lambda,
            ..
        } = self;
        let regime = &pass.motion.regimes[pass.motion.steps[index].regime];
        let Stepper { data, state, .. } = stepper;
        // The surrogate where it acts, else the pieces of the step of the motion.
        let acting = (pass.surrogate.as_ref()).filter(|surrogate| surrogate.acts(&data.kinematics));
        let is_unique = if let Some(surrogate) = acting {
            surrogate.evaluate(state, &pass.input, data)
        } else {
            let phases = (regime.pieces).put_again(model, data, (&mut pass.keys, phases));
            dynamics::settle(model, state, &state.warmstart, phases, data)
        };
        if !is_unique {
            return Err(NoGradient::NotUnique.at(index));
        }
        let at = At {
            model: acting.map_or(model, |surrogate| &surrogate.model),
            state,
            input: &pass.input,
            data,
        };
        // θ̄ is linear in λ, so λ times the weight of the stage gives its part of θ̄ at once.
        let scale = weight.unwrap_or(1.0);
        for number in &mut *stage_lambda {
            *number *= scale;
        }
        let nv = state.qvel.len();
        let (positions, rest) = stage_lambda.split_at(nv);
        let (velocities, activations) = rest.split_at(nv);
        let spare = if weight.is_none() { spare } else { trial };
        spare.state.set_zero();
        rates_backward(at, (velocities, 1.0), Some(activations), spare, &mut ());
        let bar = &mut spare.state;
        add_scaled(&mut bar.qvel, positions, 1.0);
        turn_with_bodies(model, &state.qvel, positions, &mut bar.qpos);
        let rates = &mut self.rates[stage];
        let parts = bar.qpos.iter().chain(&bar.qvel).chain(&bar.act);
        for (rate, part) in rates.iter_mut().zip(parts) {
            *rate = part / scale;
        }
        for number in &mut *stage_lambda {
            *number /= scale;
        }
        if weight.is_some() {
            self.mocap.add_given(bar);
        }
        Ok(())
    }

    /// Takes the step that was tried.
    fn accept(&mut self, pass: &mut Pass<'_>) {
        self.lambda.copy_from_slice(&self.stage_lambda);
        self.trial.give_timestep_to_model();
        add_scaled(&mut pass.bar.input.ctrl, &self.trial.input.ctrl, 1.0);
        pass.next.add_given(&self.mocap);
        pass.bar.model += &self.trial.model;
    }

    fn load(&mut self, bar: &StateBar) {
        let parts = bar.qpos.iter().chain(&bar.qvel).chain(&bar.act);
        for (number, part) in self.lambda.iter_mut().zip(parts) {
            *number = *part;
        }
    }

    fn store(&self, bar: &mut StateBar) {
        let parts = (bar.qpos.iter_mut())
            .chain(&mut bar.qvel)
            .chain(&mut bar.act);
        for (part, number) in parts.zip(&self.lambda) {
            *part = *number;
        }
    }
}

/// Adds ω × λ to the rates of cotangents of orientations.
fn turn_with_bodies(model: &Model, qvel: &[f64], lambda: &[f64], rates: &mut [f64]) {
    for (_, first) in model.structure.joints.rotations() {
        let turned = vector_at(qvel, first).cross(vector_at(lambda, first));
        add_scaled(&mut rates[first..first + 3], &turned.0, 1.0);
    }
}
