//! Motions of which not all steps are remembered.
//!
//! The lengths of the steps and the constraints that act in them are known. So taking the steps again needs no search, rejects
//! no step, and gives the same bits.

use std::ops::Range;

use super::Flow;
use super::backward::Reading;
use super::motion::{Regime, Rows, Step};
use super::stepper::Stepper;
use crate::error::Error;
use crate::model::Model;
use crate::rollout::Gradient;
use crate::rollout::schedule::{self, Reversible};
use crate::state::{Input, State};

/// Reads a motion backwards within its own budget of memory.
pub(super) fn backward(flow: &Flow, reading: Reading<'_, '_>) -> Result<Gradient, Error> {
    let (model, motion) = (&flow.model, reading.motion);
    let mut replay = Replay {
        model,
        input: Input::zeros(model),
        stepper: Stepper::new(model, flow.settings.method),
        state: motion.states()[0].clone(),
        rows: Rows::new(model.counts(), 1),
        reading,
    };
    replay.store();
    let steps = motion.steps.len();
    // The budget that the lengths of steps leave to stored states.
    let left = (motion.bytes).saturating_sub(steps * size_of::<Step>());
    let states = left / replay.rows.bytes();
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
    /// Stored starts of steps, with the rates there.
    rows: Rows,
    reading: Reading<'a, 'l>,
}

impl Replay<'_, '_> {
    /// Goes to a stored start of a step.
    fn restore(&mut self, index: usize) {
        let (state, rates) = (&mut self.state, &mut self.stepper.rates);
        self.rows.read(index, state, rates);
        rates[0].position.copy_from_slice(&state.qvel);
        state.warmstart.copy_from_slice(&rates[0].velocity);
    }

    /// Evaluates the stages of a step from the state, which stays what it is.
    fn step(&mut self, index: usize) {
        let (model, stepper, state) = (self.model, &mut self.stepper, &mut self.state);
        let motion = self.reading.motion;
        let step = motion.steps[index];
        let Regime { mode, pieces } = &motion.regimes[step.regime];
        (self.reading.controls).write(step.interval, &mut self.input.ctrl);
        state.time = step.time;
        // No check: what was finite is so again.
        if step.is_fresh {
            stepper.begin(model, state, &self.input, mode);
        }
        stepper.pieces.clone_from(pieces);
        stepper.step(model, state, &self.input, step.h, mode);
    }

    /// Goes to the end of the step whose stages were just evaluated, or to where it was cut.
    fn advance(&mut self, index: usize) {
        let (model, stepper, state) = (self.model, &mut self.stepper, &mut self.state);
        let motion = self.reading.motion;
        let step = motion.steps[index];
        let is_cut = step.part < 1.0;
        let mode = &motion.regimes[step.regime].mode;
        if is_cut {
            let at = (model, &*state, &self.input);
            stepper.evaluate_along(at, mode, (step.h, step.part));
            stepper.record(model, stepper.tableau.len() + 1);
        }
        stepper.advance(state, mode, is_cut);
    }
}

impl Reversible for Replay<'_, '_> {
    fn stored(&self) -> usize {
        self.rows.len()
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
        // Implicit steps keep no rates at the start, but a guess of the acceleration.
        (self.stepper.rates[0].velocity).copy_from_slice(&self.state.warmstart);
        self.rows.push(&self.state, &self.stepper.rates);
    }

    fn forget(&mut self, states: usize) {
        self.rows.truncate(states);
    }

    fn reverse_stored(&mut self, first: usize, steps: Range<usize>) -> Result<(), Error> {
        let offset = steps.start;
        for index in steps.rev() {
            self.restore(first + index - offset);
            self.step(index);
            self.reading.arrive_after(index)?;
            let pass = &mut self.reading.pass;
            // What a stored motion gives the pass, and no more: the same bits come out of both.
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
