//! Gradients that end where they grow beyond use.
//!
//! Read backwards, a derivative is as long as what the cost put in from there on, unless stiff contacts or instabilities make it grow
//! [`Growth`](carom::rollout::Growth). A gradient that grew a thousand times is right, and of no use to descent: it says what happens
//! within a thousandth of the plan. Where the measured growth exceeds a bound, what came through is cut off, and only what the cost
//! says from there on is carried further back [Georgiev 2024, sec. 4].

use carom::State;
use carom::cotangent::StateBar;
use carom::rollout::{Loss, RolloutBar};

/// A loss whose derivatives are cut off where they have grown.
pub(super) struct Truncated {
    inner: RolloutBar,
    bound: f64,
    /// What the loss has put in since the last cut.
    put_in: f64,
    /// Slopes by sensors of a step, added to zero.
    room: Vec<f64>,
    /// Steps before which it was cut, last first.
    pub(super) cuts: Vec<usize>,
}

impl Truncated {
    pub(super) fn new(inner: RolloutBar, bound: f64) -> Self {
        Self {
            inner,
            bound,
            put_in: 0.0,
            room: Vec::new(),
            cuts: Vec::new(),
        }
    }
}

impl Loss for Truncated {
    fn by_state(&mut self, step: usize, state: &State, bar: &mut StateBar) {
        if bar.norm() > self.bound * self.put_in {
            bar.set_zero();
            self.cuts.push(step);
            self.put_in = 0.0;
        }
        let mut own = StateBar::like(state);
        self.inner.by_state(step, state, &mut own);
        self.put_in += own.norm();
        self.inner.by_state(step, state, bar);
    }

    fn by_sensors(&mut self, step: usize, bar: &mut [f64]) {
        self.room.clear();
        self.room.resize(bar.len(), 0.0);
        self.inner.by_sensors(step, &mut self.room);
        self.put_in += length(&self.room);
        for (sum, term) in bar.iter_mut().zip(&self.room) {
            *sum += term;
        }
    }

    fn uses_sensors(&self) -> bool {
        self.inner.uses_sensors()
    }
}

fn length(numbers: &[f64]) -> f64 {
    numbers.iter().map(|n| n * n).sum::<f64>().sqrt()
}
