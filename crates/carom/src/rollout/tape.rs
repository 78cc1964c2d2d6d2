//! States in a row.

use crate::history;
use crate::model::Model;
use crate::state::State;

/// What changes in a state from step to step, one row of numbers for each state: time, configuration, velocity,
/// activations, the acceleration that the solver found last, and histories.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tape {
    rows: Vec<f64>,
    widths: [usize; 5],
    width: usize,
}

impl Tape {
    /// Room for some states of a model.
    pub(super) fn with_capacity(model: &Model, states: usize) -> Self {
        let widths = widths(model);
        let width = width(&widths);
        Self {
            rows: Vec::with_capacity(states * width),
            widths,
            width,
        }
    }

    /// Bytes that a state takes.
    pub(super) fn bytes_per_state(model: &Model) -> usize {
        width(&widths(model)) * size_of::<f64>()
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.width
    }

    /// Appends a state.
    pub(super) fn push(&mut self, state: &State) {
        debug_assert!(
            self.rows.len() + self.width <= self.rows.capacity(),
            "a tape keeps to its budget"
        );
        self.rows.push(state.time);
        self.rows.extend_from_slice(&state.qpos);
        self.rows.extend_from_slice(&state.qvel);
        self.rows.extend_from_slice(&state.act);
        self.rows.extend_from_slice(&state.warmstart);
        for history in &state.history {
            history.store(&mut self.rows);
        }
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
        let mut rest = self.part(index, 4);
        for history in &mut state.history {
            rest = history.restore(rest);
        }
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

fn widths(model: &Model) -> [usize; 5] {
    let n = model.counts();
    [n.nq, n.nv, n.na, n.nv, history::number_count(model)]
}

fn width(widths: &[usize]) -> usize {
    1 + widths.iter().sum::<usize>()
}
