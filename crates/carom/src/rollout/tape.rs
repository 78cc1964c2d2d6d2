//! States in a row.

use std::ops::Range;

use crate::history::{self, History};
use crate::model::Model;
use crate::state::State;

/// What changes in a state from step to step, as a row of numbers: time, configuration, velocity, activations, the
/// acceleration that the solver found last, and histories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    nq: usize,
    nv: usize,
    na: usize,
    warmstart: usize,
    width: usize,
}

impl StateRow {
    /// The rows of a model.
    pub fn new(model: &Model) -> Self {
        let n = model.counts();
        Self {
            nq: n.nq,
            nv: n.nv,
            na: n.na,
            warmstart: n.nv,
            width: 1 + n.nq + 2 * n.nv + n.na + history::number_count(model),
        }
    }

    /// The rows of states like this one.
    pub fn like(state: &State) -> Self {
        let [nq, nv, na, warmstart] =
            [&state.qpos, &state.qvel, &state.act, &state.warmstart].map(Vec::len);
        let past: usize = state.history.iter().map(History::stored_numbers).sum();
        Self {
            nq,
            nv,
            na,
            warmstart,
            width: 1 + nq + nv + na + warmstart + past,
        }
    }

    /// How many numbers a row has. The first is the time.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where the configuration is.
    pub fn qpos(&self) -> Range<usize> {
        1..1 + self.nq
    }

    /// Where the velocity is.
    pub fn qvel(&self) -> Range<usize> {
        let start = self.qpos().end;
        start..start + self.nv
    }

    /// Where the activations are.
    pub fn act(&self) -> Range<usize> {
        let start = self.qvel().end;
        start..start + self.na
    }

    /// Where the acceleration is from which the solver starts.
    pub fn warmstart(&self) -> Range<usize> {
        let start = self.act().end;
        start..start + self.warmstart
    }

    /// Where past controls and sensor values are.
    pub fn history(&self) -> Range<usize> {
        self.warmstart().end..self.width
    }

    /// Writes a state.
    pub fn write(&self, state: &State, row: &mut [f64]) {
        row[0] = state.time;
        row[self.qpos()].copy_from_slice(&state.qpos);
        row[self.qvel()].copy_from_slice(&state.qvel);
        row[self.act()].copy_from_slice(&state.act);
        row[self.warmstart()].copy_from_slice(&state.warmstart);
        let mut rest = &mut row[self.history()];
        for history in &state.history {
            rest = history.store(rest);
        }
    }

    /// Reads a state; what does not change from step to step is left alone.
    pub fn read(&self, row: &[f64], state: &mut State) {
        state.time = row[0];
        state.qpos.copy_from_slice(&row[self.qpos()]);
        state.qvel.copy_from_slice(&row[self.qvel()]);
        state.act.copy_from_slice(&row[self.act()]);
        state.warmstart.copy_from_slice(&row[self.warmstart()]);
        let mut rest = &row[self.history()];
        for history in &mut state.history {
            rest = history.restore(rest);
        }
    }
}

/// Recorded states, to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    numbers: &'a [f64],
    layout: &'a StateRow,
}

impl<'a> Rows<'a> {
    pub(super) fn new(numbers: &'a [f64], layout: &'a StateRow) -> Self {
        Self { numbers, layout }
    }

    /// Number of states.
    pub(super) fn len(self) -> usize {
        self.numbers.len() / self.layout.width
    }

    /// Copies a state out; what does not change from step to step is left alone.
    pub(super) fn read(self, index: usize, state: &mut State) {
        self.layout.read(self.row(index), state);
    }

    pub(super) fn time(self, index: usize) -> f64 {
        self.row(index)[0]
    }

    pub(super) fn qpos(self, index: usize) -> &'a [f64] {
        &self.row(index)[self.layout.qpos()]
    }

    pub(super) fn qvel(self, index: usize) -> &'a [f64] {
        &self.row(index)[self.layout.qvel()]
    }

    pub(super) fn act(self, index: usize) -> &'a [f64] {
        &self.row(index)[self.layout.act()]
    }

    /// What the solver found in the step that led to a state.
    pub(super) fn acceleration(self, index: usize) -> &'a [f64] {
        &self.row(index)[self.layout.warmstart()]
    }

    fn row(self, index: usize) -> &'a [f64] {
        &self.numbers[index * self.layout.width..][..self.layout.width]
    }
}

/// Memory of states.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tape {
    numbers: Vec<f64>,
    layout: StateRow,
}

impl Tape {
    /// Room for some states like this one.
    pub(super) fn with_capacity(like: &State, states: usize) -> Self {
        let layout = StateRow::like(like);
        Self {
            numbers: Vec::with_capacity(states * layout.width),
            layout,
        }
    }

    /// Some states whose numbers are zero.
    pub(super) fn zeros(like: &State, states: usize) -> Self {
        let layout = StateRow::like(like);
        Self {
            numbers: vec![0.0; states * layout.width],
            layout,
        }
    }

    /// Bytes that a state takes.
    pub(super) fn bytes_per_state(like: &State) -> usize {
        StateRow::like(like).width * size_of::<f64>()
    }

    /// The states.
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows::new(&self.numbers, &self.layout)
    }

    /// Their numbers.
    pub(super) fn numbers_mut(&mut self) -> &mut [f64] {
        &mut self.numbers
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.rows().len()
    }

    /// Appends a state.
    pub(super) fn push(&mut self, state: &State) {
        let length = self.numbers.len();
        debug_assert!(
            length + self.layout.width <= self.numbers.capacity(),
            "a tape keeps to its budget"
        );
        self.numbers.resize(length + self.layout.width, 0.0);
        self.layout.write(state, &mut self.numbers[length..]);
    }

    /// Forgets all states from one on.
    pub(super) fn truncate(&mut self, states: usize) {
        self.numbers.truncate(states * self.layout.width);
    }
}
