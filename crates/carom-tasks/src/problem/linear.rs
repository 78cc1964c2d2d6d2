//! Residuals with their Jacobian: by formulas for fixed steps where they cover what is free, by forward sensitivities over dual
//! numbers, or by a backward pass for every residual, whichever is less work.

use carom::Error;
use carom::flow::{Flow, Motion, Variation};
use carom::linearize::{Linearization, Tangent};
use carom::rollout::Rollout;
use carom::varied::{self, LANES, Varied as Number};
use carom::{Data, Input, Model, State};

use super::runner::{Predicted, Stop};
use super::sum::{Engine, Failure, Tape, Worker};
use super::tangents::{Changes, Followed, Stepper};
use super::{Job, Problem, Stepping, starts};

/// A backward pass costs about so many forward passes of plain numbers; one over dual numbers about one a direction.
const BACKWARD_COST: usize = 2;

/// Jacobian of the residuals of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Number of residuals, those of the prior at the end.
    pub rows: usize,
    /// By the parameters, row by row.
    pub by_parameters: Vec<f64>,
    /// By the shift of the run's own start, row by row; empty unless starts are free.
    pub by_start: Vec<f64>,
}

/// Residuals and their Jacobian, run by run.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// All residuals; NaN where a run failed.
    pub residuals: Vec<f64>,
    /// The Jacobian of each run: residuals of a run depend on the parameters and on its own start.
    pub blocks: Vec<Block>,
    /// Number of parameters.
    pub parameters: usize,
    /// Unknowns of a start.
    pub start_width: usize,
    /// Runs that failed; their blocks are zero.
    pub failures: Vec<Failure>,
}

impl Linear {
    /// No residuals, of so many parameters.
    pub(crate) fn nothing(parameters: usize) -> Self {
        Self {
            residuals: Vec::new(),
            blocks: Vec::new(),
            parameters,
            start_width: 0,
            failures: Vec::new(),
        }
    }

    /// The loss; infinite where a run failed.
    pub fn value(&self) -> f64 {
        let half = 0.5 * self.residuals.iter().map(|r| r * r).sum::<f64>();
        if half.is_nan() { f64::INFINITY } else { half }
    }

    /// Number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.parameters + self.blocks.len() * self.start_width
    }

    /// The whole Jacobian, row by row.
    pub fn dense(&self) -> Vec<f64> {
        let width = self.unknowns();
        let mut matrix = Vec::with_capacity(self.residuals.len() * width);
        for (run, block) in self.blocks.iter().enumerate() {
            for row in 0..block.rows {
                let start = matrix.len();
                matrix.resize(start + width, 0.0);
                let line = &mut matrix[start..];
                line[..self.parameters].copy_from_slice(
                    &block.by_parameters[row * self.parameters..][..self.parameters],
                );
                let own = self.parameters + run * self.start_width;
                line[own..own + self.start_width]
                    .copy_from_slice(&block.by_start[row * self.start_width..][..self.start_width]);
            }
        }
        matrix
    }

    /// The gradient of the loss: Jᵀ·r, over runs that did not fail.
    pub fn gradient(&self) -> Vec<f64> {
        let mut gradient = vec![0.0; self.unknowns()];
        let mut rest = self.residuals.as_slice();
        for (run, block) in self.blocks.iter().enumerate() {
            let (own, others) = rest.split_at(block.rows);
            rest = others;
            for (row, &residual) in own.iter().enumerate().filter(|(_, r)| !r.is_nan()) {
                let (p, s) = (self.parameters, self.start_width);
                for k in 0..p {
                    gradient[k] += residual * block.by_parameters[row * p + k];
                }
                for k in 0..s {
                    gradient[p + run * s + k] += residual * block.by_start[row * s + k];
                }
            }
        }
        gradient
    }
}

/// Which way Jacobians are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Fixed steps as linear maps.
    Formulas,
    Forward,
    Backward,
}

/// What all runs of a Jacobian share.
struct Ways<'e> {
    engine: &'e Engine,
    /// Models over dual numbers.
    varied: Vec<Model<Number>>,
    /// The formulas, where they cover the model.
    formulas: Option<Linearization>,
    /// The way that was asked for.
    asked: Option<Way>,
}

/// θ and the shift of a start as one row of columns.
struct Columns<'x> {
    theta: &'x [f64],
    shift: &'x [f64],
}

impl Columns<'_> {
    fn len(&self) -> usize {
        self.theta.len() + self.shift.len()
    }

    /// Dual numbers of θ and shift, whose directions are some columns.
    fn seeded(&self, first: usize) -> (Vec<Number>, Vec<Number>) {
        let seed = |offset: usize, numbers: &[f64]| -> Vec<Number> {
            let lane = |k: usize| (offset + k).checked_sub(first).filter(|&lane| lane < LANES);
            (numbers.iter().enumerate())
                .map(|(k, &x)| {
                    lane(k).map_or(Number::constant(x), |lane| Number::variable(x, lane))
                })
                .collect()
        };
        (seed(0, self.theta), seed(self.theta.len(), self.shift))
    }
}

impl Problem<'_> {
    /// Residuals with their Jacobian.
    ///
    /// # Errors
    /// When the unknowns give no model. Runs that fail are named, with residuals that are NaN.
    pub fn linearize(&self, x: &[f64]) -> Result<Linear, Error> {
        self.linearize_by(x, None)
    }

    /// [`Self::linearize`] one way or the other; the cheaper one if none is given.
    pub(super) fn linearize_by(&self, x: &[f64], way: Option<Way>) -> Result<Linear, Error> {
        let (theta, shifts) = self.unknowns(x)?;
        let engine = Engine::new(self, theta)?;
        let varied = self.varied_models(theta)?;
        let ways = Ways {
            formulas: self.formulas(&engine.model, &varied, way),
            engine: &engine,
            varied,
            asked: way,
        };
        let runs = self.in_chunks(&engine, |worker, index, job| {
            let columns = Columns {
                theta,
                shift: self.shift(shifts, index),
            };
            let start = self.start_of(&engine.model, theta, job, columns.shift)?;
            let outcome = self.followed(&ways, worker, (job, &start), &columns);
            Ok(match outcome {
                Ok(Followed { residuals, lines }) => self.block(job, residuals, &lines, &columns),
                Err(stop) => self.failed(self.failure(index, job, stop), job, columns.shift),
            })
        })?;
        let mut linear = Linear {
            residuals: Vec::new(),
            blocks: Vec::new(),
            parameters: theta.len(),
            start_width: self.prior.len(),
            failures: Vec::new(),
        };
        for (residuals, block, failure) in runs {
            linear.residuals.extend(residuals);
            linear.blocks.push(block);
            linear.failures.extend(failure);
        }
        Ok(linear)
    }

    /// Residuals of a run with the rows of their Jacobian: by formulas where they cover all steps, or the cheaper other way.
    fn followed(
        &self,
        ways: &Ways<'_>,
        worker: &mut Worker,
        (job, start): (&Job, &State),
        columns: &Columns<'_>,
    ) -> Result<Followed, Stop> {
        let (engine, varied) = (ways.engine, ways.varied.as_slice());
        let stop = |why| Stop {
            frame: job.run.last,
            why,
        };
        if let Some(formulas) = &ways.formulas {
            let found = self.by_formulas(ways, formulas, worker, (job, start), columns)?;
            // Dual numbers cover every step.
            if let Some(found) = found {
                return Ok(found);
            }
        }
        let (predicted, tape) = worker.simulate(engine, self, job, start)?;
        let way = ways
            .asked
            .unwrap_or_else(|| self.cheaper_way(job.count, columns.len()));
        let forward = match (way, &tape, &engine.flow) {
            (Way::Backward, ..) | (_, Tape::Flow(_), None) => None,
            (_, Tape::Fixed(_), _) => Some(
                self.forward_fixed(worker, varied, job, columns)
                    .map_err(stop)?,
            ),
            // Motions that forward sensitivities do not know have backward passes.
            (_, Tape::Flow(motions), Some(flow)) => self
                .forward_flow(ways, flow, job, (&predicted, motions), columns)
                .ok(),
        };
        let lines = match forward {
            Some(lines) => lines,
            None => self
                .backward(engine, worker, job, (&predicted, &tape), columns)
                .map_err(stop)?,
        };
        Ok(Followed {
            residuals: worker.residuals((engine, self), job, &predicted),
            lines,
        })
    }

    /// Models over dual numbers, the same for all runs: those whose directions are parameters, and one whose are none.
    fn varied_models(&self, theta: &[f64]) -> Result<Vec<Model<Number>>, Error> {
        let columns = Columns { theta, shift: &[] };
        let of = |first: usize| {
            let mut model = varied::model(&self.parameters, &columns.seeded(first).0)?;
            self.leave_out(&mut model.settings);
            Ok(model)
        };
        (0..theta.len() + LANES).step_by(LANES).map(of).collect()
    }

    /// Whether a Jacobian costs but a small multiple of a simulation, whatever the number of unknowns.
    pub fn has_cheap_jacobian(&self, x: &[f64]) -> bool {
        let found = self.unknowns(x).and_then(|(theta, _)| {
            let (model, varied) = (self.model(theta)?, self.varied_models(theta)?);
            Ok(self.formulas(&model, &varied, None).is_some())
        });
        found.unwrap_or(false)
    }

    /// The formulas for fixed steps along the parameters; none where they do not cover them, or another way is asked for.
    fn formulas(
        &self,
        model: &Model,
        varied: &[Model<Number>],
        way: Option<Way>,
    ) -> Option<Linearization> {
        let is_asked = way.is_none_or(|way| way == Way::Formulas)
            && self.settings.stepping == Stepping::Fixed
            && self.settings.from_distance.is_none()
            && !self.observer.needs_sensors();
        is_asked
            .then(|| Linearization::along(model, varied, self.parameters.len()))
            .flatten()
    }

    /// Simulates a run with the rows of its Jacobian by formulas; none where they do not cover a step.
    fn by_formulas(
        &self,
        ways: &Ways<'_>,
        formulas: &Linearization,
        worker: &mut Worker,
        (job, start): (&Job, &State),
        columns: &Columns<'_>,
    ) -> Result<Option<Followed>, Stop> {
        let (model, varied) = (&ways.engine.model, ways.varied.as_slice());
        let Worker { data, stepper, .. } = worker;
        let stepper =
            stepper.get_or_insert_with(|| Stepper::new(model, &varied[0], formulas, columns.len()));
        let changes = stepper.start_changes();
        if self.parameters.has_state() || !columns.shift.is_empty() {
            for first in (0..columns.len()).step_by(LANES) {
                let (theta, shift) = columns.seeded(first);
                let state = varied::start(&self.parameters, &theta, &job.start);
                let mut state = state.map_err(|error| Stop {
                    frame: job.run.last,
                    why: error,
                })?;
                starts::moved(model, &mut state, &shift);
                changes.read(&varied[varied_place(varied, first)], &state, first);
            }
        }
        stepper.run(self, (model, data), varied, (job, start))
    }

    /// Forward passes over dual numbers, or backward passes, by their number.
    pub(super) fn cheaper_way(&self, residuals: usize, columns: usize) -> Way {
        let forward = columns.div_ceil(LANES) * LANES;
        if self.settings.from_distance.is_some() || forward > residuals * BACKWARD_COST {
            return Way::Backward;
        }
        Way::Forward
    }

    /// Residuals and Jacobian of a run from rows by all columns, with those of the prior.
    fn block(
        &self,
        job: &Job,
        mut residuals: Vec<f64>,
        lines: &[f64],
        columns: &Columns<'_>,
    ) -> (Vec<f64>, Block, Option<Failure>) {
        let (p, s) = (columns.theta.len(), columns.shift.len());
        let mut block = Block {
            rows: residuals.len() + s,
            by_parameters: Vec::with_capacity((residuals.len() + s) * p),
            by_start: Vec::with_capacity((residuals.len() + s) * s),
        };
        for line in lines.chunks_exact((p + s).max(1)) {
            block.by_parameters.extend(&line[..p]);
            block.by_start.extend(&line[p..]);
        }
        residuals.extend(self.prior_residuals(job, columns.shift));
        for k in 0..s {
            block.by_parameters.extend(vec![0.0; p]);
            let line = (0..s).map(|other| {
                if other == k {
                    job.factor / self.prior[k]
                } else {
                    0.0
                }
            });
            block.by_start.extend(line);
        }
        (residuals, block, None)
    }

    fn failed(
        &self,
        failure: Failure,
        job: &Job,
        shift: &[f64],
    ) -> (Vec<f64>, Block, Option<Failure>) {
        let rows = job.count + shift.len();
        let block = Block {
            rows,
            by_parameters: vec![0.0; rows * self.parameters.len()],
            by_start: vec![0.0; rows * shift.len()],
        };
        (vec![f64::NAN; rows], block, Some(failure))
    }

    /// Rows of the Jacobian by fixed steps over dual numbers.
    fn forward_fixed(
        &self,
        worker: &mut Worker,
        varied: &[Model<Number>],
        job: &Job,
        columns: &Columns<'_>,
    ) -> Result<Vec<f64>, Error> {
        let mut lines = vec![0.0; job.count * columns.len()];
        for first in (0..columns.len()).step_by(LANES) {
            let (theta, shift) = columns.seeded(first);
            let place = varied_place(varied, first);
            worker.varied.resize(varied.len(), None);
            let model = &varied[place];
            let data = worker.varied[place].get_or_insert_with(|| varied::data(model));
            let mut state = varied::start(&self.parameters, &theta, &job.start)?;
            starts::moved(self.parameters.base(), &mut state, &shift);
            let residuals = self.dual_residuals((model, data), state, job);
            write_columns(&residuals, first, columns.len(), &mut lines);
        }
        Ok(lines)
    }

    /// Simulates a run over dual numbers.
    fn dual_residuals(
        &self,
        (model, data): (&Model<Number>, &mut Data<Number>),
        mut state: State<Number>,
        job: &Job,
    ) -> Vec<Number> {
        let trajectory = &self.recordings.trajectories[job.run.trajectory];
        let mut input = Input::zeros(model);
        let mut controls = vec![0.0; model.counts().nu];
        let mut residuals = Vec::with_capacity(job.count);
        for stretch in &job.stretches {
            input.timestep = Number::constant(stretch.timestep);
            let mut marks = stretch.marks.iter().peekable();
            for step in 0..stretch.steps {
                stretch.controls.write(step, &mut controls);
                for (number, &control) in input.ctrl.iter_mut().zip(&controls) {
                    *number = Number::constant(control);
                }
                varied::step(model, &mut state, &input, data);
                if let Some(&(_, frame)) = marks.next_if(|(end, _)| *end == step + 1) {
                    let nu = controls.len();
                    for (number, &control) in input
                        .ctrl
                        .iter_mut()
                        .zip(&trajectory.controls[frame * nu..])
                    {
                        *number = Number::constant(control);
                    }
                    self.observer.prepare(model, &state, &input, data);
                    let at = (trajectory, frame);
                    self.observer
                        .residuals(at, (&state, &*data), job.factor, &mut residuals);
                }
            }
        }
        residuals
    }

    /// Rows of the Jacobian by forward sensitivities of a motion in continuous time.
    fn forward_flow(
        &self,
        ways: &Ways<'_>,
        flow: &Flow,
        job: &Job,
        (predicted, motions): (&[Predicted], &[Rollout<Option<Motion>>]),
        columns: &Columns<'_>,
    ) -> Result<Vec<f64>, Error> {
        let (engine, varied) = (ways.engine, ways.varied.as_slice());
        let trajectory = &self.recordings.trajectories[job.run.trajectory];
        let mut lines = vec![0.0; job.count * columns.len()];
        for first in (0..columns.len()).step_by(LANES) {
            let (theta, shift) = columns.seeded(first);
            let model = &varied[varied_place(varied, first)];
            let mut start = varied::start(&self.parameters, &theta, &job.start)?;
            starts::moved(&engine.model, &mut start, &shift);
            let count = LANES.min(columns.len() - first);
            let along = (0..count)
                .map(|lane| Variation {
                    start: tangent_of(&engine.model, model, &start, lane),
                    model: (first < columns.theta.len())
                        .then(|| lane_of(&engine.model, model, lane)),
                })
                .collect();
            let changes = changes_of_motions(flow, job, motions, along)?;
            let mut data = varied::data(model);
            let mut residuals = Vec::with_capacity(job.count);
            for (index, known) in predicted.iter().enumerate() {
                let mut state = known.state.map(Number::constant);
                let changes = Changes::of(&changes, index);
                changes.write(&engine.model, &known.state, 0, &mut state);
                let input = Input::zeros(model);
                self.observer.prepare(model, &state, &input, &mut data);
                let at = (trajectory, known.frame);
                self.observer
                    .residuals(at, (&state, &data), job.factor, &mut residuals);
            }
            write_columns(&residuals, first, columns.len(), &mut lines);
        }
        Ok(lines)
    }

    /// Rows of the Jacobian by a backward pass each.
    fn backward(
        &self,
        engine: &Engine,
        worker: &mut Worker,
        job: &Job,
        (predicted, tape): (&[Predicted], &Tape),
        columns: &Columns<'_>,
    ) -> Result<Vec<f64>, Error> {
        let mut lines = Vec::with_capacity(job.count * columns.len());
        let mut seeds = vec![0.0; job.count];
        for row in 0..job.count {
            seeds.fill(0.0);
            seeds[row] = 1.0;
            let start_bar = worker.backward((engine, self), job, (predicted, tape), &seeds)?;
            let by_theta =
                (self.parameters).backward(columns.theta, &worker.bars.model, Some(&start_bar))?;
            lines.extend(by_theta);
            if !columns.shift.is_empty() {
                let (qpos, qvel) = (&start_bar.qpos, &start_bar.qvel);
                lines.extend(starts::moved_vjp(&engine.model, columns.shift, qpos, qvel));
            }
        }
        Ok(lines)
    }
}

/// For each direction, how the predicted states of a run in continuous time change along it.
fn changes_of_motions(
    flow: &Flow,
    job: &Job,
    motions: &[Rollout<Option<Motion>>],
    mut along: Vec<Variation>,
) -> Result<Vec<Vec<Tangent>>, Error> {
    let mut changes: Vec<Vec<Tangent>> = vec![Vec::new(); along.len()];
    let motions = motions.iter().filter_map(|motion| motion.trace().as_ref());
    for (stretch, motion) in job.stretches.iter().zip(motions) {
        let found = motion.forward(flow, &stretch.controls, &along)?;
        for ((changes, found), variation) in changes.iter_mut().zip(found).zip(&mut along) {
            if let Some(last) = found.last() {
                variation.start.qpos.clone_from(&last.qpos);
                variation.start.qvel.clone_from(&last.qvel);
                variation.start.act.clone_from(&last.act);
            }
            changes.extend(found.into_iter().skip(1));
        }
    }
    Ok(changes)
}

/// Which of the models carries the directions of the columns from `first` on; the last one for those that are no parameters.
pub(super) fn varied_place(varied: &[Model<Number>], first: usize) -> usize {
    (first / LANES).min(varied.len() - 1)
}

/// Writes the derivatives of residuals as columns.
pub(super) fn write_columns(residuals: &[Number], first: usize, width: usize, lines: &mut [f64]) {
    for (line, residual) in lines.chunks_exact_mut(width).zip(residuals) {
        for (column, tangent) in line[first..].iter_mut().zip(residual.tangent) {
            *column = tangent;
        }
    }
}

/// One direction of a model over dual numbers.
fn lane_of(plain: &Model, model: &Model<Number>, lane: usize) -> Model {
    let mut tangents = Vec::new();
    model.for_each(|_, _, _, number| tangents.push(number.tangent[lane]));
    let mut direction = Model::zeros(plain.structure.clone(), plain.settings);
    let mut tangents = tangents.into_iter();
    direction.for_each_mut(|_, _, _, number| *number = tangents.next().unwrap_or(0.0));
    direction
}

/// One direction of a state over dual numbers.
fn tangent_of(plain: &Model, model: &Model<Number>, state: &State<Number>, lane: usize) -> Tangent {
    let values: Vec<Number> = state
        .qpos
        .iter()
        .map(|x| Number::constant(x.value))
        .collect();
    let mut turns = vec![Number::constant(0.0); plain.counts().nv];
    carom::difference(model, &values, &state.qpos, &mut turns);
    let part = |numbers: &[Number]| numbers.iter().map(|number| number.tangent[lane]).collect();
    Tangent {
        qpos: part(&turns),
        qvel: part(&state.qvel),
        act: part(&state.act),
        ..Tangent::zeros(plain)
    }
}
