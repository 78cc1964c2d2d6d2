//! Motions of which not all steps are remembered.
//!
//! The lengths of the steps and the constraints that act in them are known. So taking the steps again needs no search, rejects
//! no step, and gives the same bits.

use std::ops::Range;

use super::Flow;
use super::backward::Reading;
use super::motion::{Regime, Step};
use super::stepper::Stepper;
use crate::error::Error;
use crate::model::Model;
use crate::rollout::Gradient;
use crate::rollout::schedule::{self, Reversible};
use crate::state::{Input, State};

/// Reads a motion backwards within its own budget of memory.
pub(super) fn backward(flow: &Flow, reading: Reading<'_, '_>) -> Result<Gradient, Error> {
    let motion = reading.motion;
    let mut replay = Replay {
        model: &flow.model,
        input: Input::zeros(&flow.model),
        stepper: Stepper::new(&flow.model, flow.settings.method),
        state: motion.states()[0].clone(),
        rows: Vec::new(),
        reading,
    };
    replay.store();
    let steps = motion.steps.len();
    // The budget that the lengths of steps leave to stored states.
    let left = (motion.bytes).saturating_sub(steps * size_of::<Step>());
    let states = left / (replay.rows.len() * size_of::<f64>());
    schedule::reverse(&mut replay, 0..steps, states)?;
    replay.reading.finish()
}

/// A motion that is followed again.
struct Replay<'a, 'l> {
    model: &'a Model,
    input: Input,
    stepper: Stepper,
    /// The start of the next step.
    state: State,
    /// Stored starts of steps: positions, velocities, activations, and rates of velocities and activations there.
    rows: Vec<f64>,
    reading: Reading<'a, 'l>,
}

impl Replay<'_, '_> {
    fn width(&self) -> usize {
        let State {
            qpos, qvel, act, ..
        } = &self.state;
        qpos.len() + 2 * (qvel.len() + act.len())
    }

    /// Goes to a stored start of a step.
    fn restore(&mut self, index: usize) {
        let width = self.width();
        let State {
            qpos,
            qvel,
            act,
            warmstart,
            ..
        } = &mut self.state;
        let rates = &mut self.stepper.rates[0];
        rates
            .position
            .copy_from_slice(&self.rows[index * width + qpos.len()..][..qvel.len()]);
        let mut rest = &self.rows[index * width..][..width];
        for part in [qpos, qvel, act, warmstart, &mut rates.activation] {
            let (head, tail) = rest.split_at(part.len());
            part.copy_from_slice(head);
            rest = tail;
        }
        rates.velocity.copy_from_slice(&self.state.warmstart);
    }

    /// Evaluates the stages of a step from the state, which stays what it is.
    fn step(&mut self, index: usize) {
        let Self {
            model,
            input,
            stepper,
            state,
            reading,
            ..
        } = self;
        let step = reading.motion.steps[index];
        let Regime { mode, pieces } = &reading.motion.regimes[step.regime];
        reading.controls.write(step.interval, &mut input.ctrl);
        state.time = step.time;
        // No check: what was finite is so again.
        if step.is_fresh {
            stepper.begin(model, state, input, mode);
        }
        stepper.pieces.clone_from(pieces);
        stepper.step(model, state, input, step.h, mode);
    }
}

impl Replay<'_, '_> {
    /// Goes to the end of the step whose stages were just evaluated, or to where it was cut.
    fn advance(&mut self, index: usize) {
        let Self {
            model,
            input,
            stepper,
            state,
            reading,
            ..
        } = self;
        let step = reading.motion.steps[index];
        let is_cut = step.part < 1.0;
        let mode = &reading.motion.regimes[step.regime].mode;
        if is_cut {
            stepper.evaluate_along((model, state, input), mode, (step.h, step.part));
            stepper.record(model, stepper.tableau.len() + 1);
        }
        stepper.advance(state, mode, is_cut);
    }
}

impl Reversible for Replay<'_, '_> {
    fn stored(&self) -> usize {
        self.rows.len() / self.width()
    }

    fn simulate(&mut self, steps: Range<usize>, store: bool) -> Result<(), Error> {
        self.restore(self.stored() - 1);
        for step in steps {
            self.step(step);
            self.advance(step);
            if store {
                self.store();
            }
        }
        Ok(())
    }

    fn store(&mut self) {
        let State {
            qpos,
            qvel,
            act,
            warmstart,
            ..
        } = &self.state;
        let activation_rates = &self.stepper.rates[0].activation;
        for part in [qpos, qvel, act, warmstart, activation_rates] {
            self.rows.extend_from_slice(part);
        }
    }

    fn forget(&mut self, states: usize) {
        self.rows.truncate(states * self.width());
    }

    fn reverse_stored(&mut self, first: usize, steps: Range<usize>) -> Result<(), Error> {
        let offset = steps.start;
        for index in steps.rev() {
            self.restore(first + index - offset);
            self.step(index);
            self.reading.arrive_after(index)?;
            let pass = &mut self.reading.pass;
            pass.start.time = self.state.time;
            pass.start.qpos.copy_from_slice(&self.state.qpos);
            pass.start.qvel.copy_from_slice(&self.state.qvel);
            pass.start.act.copy_from_slice(&self.state.act);
            for (known, found) in pass.rates.iter_mut().zip(&self.stepper.rates) {
                known.velocity.copy_from_slice(&found.velocity);
                known.activation.copy_from_slice(&found.activation);
            }
            pass.step(index)?;
        }
        Ok(())
    }
}
