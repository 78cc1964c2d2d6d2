//! States in a row.

use crate::model::{Counts, Model};
use crate::state::State;

/// What changes in a state from step to step, one row of numbers for each state: time, configuration, velocity,
/// activations, and the acceleration that the solver found last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tape {
    rows: Vec<f64>,
    widths: [usize; 4],
    width: usize,
}

impl Tape {
    /// Room for some states of a model.
    pub(super) fn with_capacity(model: &Model, states: usize) -> Self {
        let n = model.counts();
        let width = width(n);
        Self {
            rows: Vec::with_capacity(states * width),
            widths: [n.nq, n.nv, n.na, n.nv],
            width,
        }
    }

    /// Bytes that a state takes.
    pub(super) fn bytes_per_state(model: &Model) -> usize {
        width(model.counts()) * size_of::<f64>()
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.width
    }

    /// Appends a state.
    pub(super) fn push(&mut self, state: &State) {
        self.rows.push(state.time);
        self.rows.extend_from_slice(&state.qpos);
        self.rows.extend_from_slice(&state.qvel);
        self.rows.extend_from_slice(&state.act);
        self.rows.extend_from_slice(&state.warmstart);
    }

    /// Forgets all states from one on.
    pub(super) fn truncate(&mut self, states: usize) {
        self.rows.truncate(states * self.width);
    }

    /// Copies a state out; what does not change from step to step is left alone.
    pub(super) fn read(&self, index: usize, state: &mut State) {
        state.time = self.time(index);
        state.qpos.copy_from_slice(self.qpos(index));
        state.qvel.copy_from_slice(self.qvel(index));
        state.act.copy_from_slice(self.act(index));
        state.warmstart.copy_from_slice(self.acceleration(index));
    }

    pub(super) fn time(&self, index: usize) -> f64 {
        self.rows[index * self.width]
    }

    pub(super) fn qpos(&self, index: usize) -> &[f64] {
        self.part(index, 0)
    }

    pub(super) fn qvel(&self, index: usize) -> &[f64] {
        self.part(index, 1)
    }

    pub(super) fn act(&self, index: usize) -> &[f64] {
        self.part(index, 2)
    }

    /// What the solver found in the step that led to a state.
    pub(super) fn acceleration(&self, index: usize) -> &[f64] {
        self.part(index, 3)
    }

    fn part(&self, index: usize, part: usize) -> &[f64] {
        let before: usize = self.widths[..part].iter().sum();
        &self.rows[index * self.width + 1 + before..][..self.widths[part]]
    }
}

fn width(n: &Counts) -> usize {
    1 + n.nq + 2 * n.nv + n.na
}
