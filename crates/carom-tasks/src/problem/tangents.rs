//! Runs by steps of fixed length with their derivatives by formulas: every step is a linear map of changes,
//!
//!   dx⁺ = A·dx + B·dθ                                                                       (1)
//!
//! with A and B of [`carom::linearize`]. That costs a small multiple of the simulation, however many directions there are; dual
//! numbers cost about a simulation a direction.

use carom::linearize::{Linearization, Tangent, step_by_formulas};
use carom::math::{Quat, Vec3};
use carom::model::JointKind;
use carom::varied::{self, LANES, Varied as Number};
use carom::{Data, Input, Model, State};

use super::runner::Stop;
use super::{Job, Problem};
use crate::error;

/// How a state changes along some directions, in tangent space: one row a number of the state, one column a direction.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    rows: Vec<f64>,
    width: usize,
}

impl Changes {
    pub(super) fn zeros(size: usize, width: usize) -> Self {
        Self {
            rows: vec![0.0; size * width],
            width,
        }
    }

    /// Those at one place of motions that were followed along directions.
    pub(super) fn of(motions: &[Vec<Tangent>], place: usize) -> Self {
        let numbers = |motion: &'_ Vec<Tangent>| {
            let Tangent {
                qpos, qvel, act, ..
            } = &motion[place];
            [qpos.as_slice(), qvel, act].concat()
        };
        let columns: Vec<Vec<f64>> = motions.iter().map(numbers).collect();
        let size = columns.first().map_or(0, Vec::len);
        let rows = (0..size).flat_map(|row| columns.iter().map(move |column| column[row]));
        Self {
            rows: rows.collect(),
            width: columns.len(),
        }
    }

    fn row(&self, index: usize) -> &[f64] {
        &self.rows[index * self.width..(index + 1) * self.width]
    }

    /// Takes over the directions of a state over dual numbers from column `first` on.
    pub(super) fn read(&mut self, model: &Model<Number>, state: &State<Number>, first: usize) {
        let values: Vec<Number> = (state.qpos.iter())
            .map(|number| Number::constant(number.value))
            .collect();
        let mut turns = vec![Number::constant(0.0); state.qvel.len()];
        carom::difference(model, &values, &state.qpos, &mut turns);
        let numbers = turns.iter().chain(&state.qvel).chain(&state.act);
        for (number, row) in numbers.zip(self.rows.chunks_exact_mut(self.width)) {
            for (entry, tangent) in row[first..].iter_mut().zip(number.tangent) {
                *entry = tangent;
            }
        }
    }

    /// (1): `before` are the changes before the step, of which the first are those along θ.
    fn advance(&mut self, before: &Self, step: &Linearization, controls: usize) {
        let (size, inputs, width) = (step.size(), step.inputs(), self.width);
        let directions = inputs - controls;
        for (index, row) in self.rows.chunks_exact_mut(width).enumerate() {
            let by_theta = &step.b[index * inputs + controls..(index + 1) * inputs];
            row[..directions].copy_from_slice(by_theta);
            row[directions..].fill(0.0);
            let by_state = &step.a[index * size..(index + 1) * size];
            for (&slope, before) in by_state.iter().zip(before.rows.chunks_exact(width)) {
                if slope != 0.0 {
                    for (entry, &change) in row.iter_mut().zip(before) {
                        *entry += slope * change;
                    }
                }
            }
        }
    }

    /// Lets a state over dual numbers, whose values are those of `state`, change along the columns from `first` on.
    pub(super) fn write(
        &self,
        model: &Model,
        state: &State,
        first: usize,
        moving: &mut State<Number>,
    ) {
        let nv = state.qvel.len();
        let tangents = |row: usize| {
            let mut tangent = [0.0; LANES];
            for (lane, &rate) in tangent.iter_mut().zip(&self.row(row)[first..]) {
                *lane = rate;
            }
            tangent
        };
        let along = |value: f64, row: usize| Number {
            value,
            tangent: tangents(row),
        };
        for (dof, velocity) in moving.qvel.iter_mut().enumerate() {
            *velocity = along(state.qvel[dof], nv + dof);
        }
        for (index, activation) in moving.act.iter_mut().enumerate() {
            *activation = along(state.act[index], 2 * nv + index);
        }
        let joints = &model.structure.joints;
        for (joint, kind) in joints.kind.iter().enumerate() {
            let (qpos, dof) = (joints.qpos[joint], joints.dof[joint]);
            let (straight, rotation) = match kind {
                JointKind::Hinge | JointKind::Slide => (1, None),
                JointKind::Ball => (0, Some((qpos, dof))),
                JointKind::Free => (3, Some((qpos + 3, dof + 3))),
            };
            for k in 0..straight {
                moving.qpos[qpos + k] = along(state.qpos[qpos + k], dof + k);
            }
            if let Some((qpos, dof)) = rotation {
                let quat = Quat(std::array::from_fn(|k| {
                    Number::constant(state.qpos[qpos + k])
                }));
                let turn = Vec3(std::array::from_fn(|k| along(0.0, dof + k)));
                let turned = quat.mul(Quat::exp(turn));
                moving.qpos[qpos..qpos + 4].copy_from_slice(&turned.0);
            }
        }
    }
}

/// What a run gives.
pub(super) struct Followed {
    pub(super) residuals: Vec<f64>,
    /// Rows of their Jacobian.
    pub(super) lines: Vec<f64>,
}

/// Memory of a thread for runs by formulas.
pub(super) struct Stepper {
    step: Linearization,
    changes: Changes,
    before: Changes,
    state: State,
    state_before: State,
    input: Input,
    moving: State<Number>,
    moving_input: Input<Number>,
    moving_data: Data<Number>,
    residuals: Vec<Number>,
}

impl Stepper {
    /// Room for runs of a model, with all columns of their Jacobian.
    pub(super) fn new(
        model: &Model,
        varied: &Model<Number>,
        step: &Linearization,
        columns: usize,
    ) -> Self {
        let changes = Changes::zeros(step.size(), columns);
        Self {
            step: step.clone(),
            before: changes.clone(),
            changes,
            state: State::reference(model),
            state_before: State::reference(model),
            input: Input::zeros(model),
            moving: State::reference(varied),
            moving_input: Input::zeros(varied),
            moving_data: varied::data(varied),
            residuals: Vec::new(),
        }
    }

    /// How the start changes: to be written before [`Self::run`].
    pub(super) fn start_changes(&mut self) -> &mut Changes {
        self.changes.rows.fill(0.0);
        &mut self.changes
    }

    /// Simulates a run: its residuals and the rows of their Jacobian. None where the formulas do not cover a step.
    pub(super) fn run(
        &mut self,
        problem: &Problem<'_>,
        (model, data): (&Model, &mut Data),
        varied: &[Model<Number>],
        (job, start): (&Job, &State),
    ) -> Result<Option<Followed>, Stop> {
        let controls = model.counts().nu;
        let mut residuals = Vec::with_capacity(job.count);
        let mut lines = vec![0.0; job.count * self.changes.width];
        self.state.copy_from(start);
        for stretch in &job.stretches {
            self.input.timestep = stretch.timestep;
            let mut marks = stretch.marks.iter().peekable();
            for step in 0..stretch.steps {
                stretch.controls.write(step, &mut self.input.ctrl);
                self.state_before.copy_from(&self.state);
                let report = carom::step(model, &mut self.state, &self.input, data);
                let mark = marks.next_if(|(end, _)| *end == step + 1);
                if let Some(place) = report.not_finite {
                    let reached = mark.or_else(|| marks.next());
                    return Err(Stop {
                        frame: reached.map_or(job.run.last, |&(_, frame)| frame),
                        why: error::simulation(place.describe(model)),
                    });
                }
                let (state, out) = (&self.state_before, &mut self.step);
                if !step_by_formulas(model, state, &self.input, data, out) {
                    return Ok(None);
                }
                std::mem::swap(&mut self.changes, &mut self.before);
                self.changes.advance(&self.before, &self.step, controls);
                if let Some(&(_, frame)) = mark {
                    let lines = &mut lines[residuals.len() * self.changes.width..];
                    self.observe(problem, (model, varied), (job, frame), lines);
                    problem.observe(model, data, (job, frame), &self.state, &mut residuals);
                }
            }
        }
        Ok(Some(Followed { residuals, lines }))
    }

    /// Writes the rows of a frame.
    fn observe(
        &mut self,
        problem: &Problem<'_>,
        (model, varied): (&Model, &[Model<Number>]),
        (job, frame): (&Job, usize),
        lines: &mut [f64],
    ) {
        let trajectory = &problem.recordings.trajectories[job.run.trajectory];
        let width = self.changes.width;
        for first in (0..width).step_by(LANES) {
            let model_here = &varied[super::linear::varied_place(varied, first)];
            (self.changes).write(model, &self.state, first, &mut self.moving);
            let (state, input) = (&self.moving, &self.moving_input);
            (problem.observer).prepare(model_here, state, input, &mut self.moving_data);
            self.residuals.clear();
            let known = (state, &self.moving_data);
            (problem.observer).residuals(
                (trajectory, frame),
                known,
                job.factor,
                &mut self.residuals,
            );
            super::linear::write_columns(&self.residuals, first, width, lines);
        }
    }
}
