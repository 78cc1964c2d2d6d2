//! The value of the loss and its gradient, over all runs.

use crate::error;
use carom::Error;
use carom::cotangent::{Cotangents, ModelBar, StateBar};
use carom::dynamics::At;
use carom::flow::{Flow, Motion};
use carom::rollout::Rollout;
use carom::varied::Varied;
use carom::{Data, Input, Model, State};
use rayon::prelude::*;

use super::runner::{self, FrameBar, Predicted, Stop};
use super::tangents::Stepper;
use super::{Job, Problem, Stepping, starts};
use crate::loss::Observed;

/// A run that could not be simulated, or has no gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its index among the runs.
    pub run: usize,
    /// Its trajectory.
    pub trajectory: usize,
    /// The frame that was not reached.
    pub frame: usize,
    /// What happened.
    pub why: Error,
}

/// The value of the loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The loss; infinite where a run failed.
    pub value: f64,
    /// The part of each run; infinite where it failed.
    pub by_run: Vec<f64>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
}

/// Residuals whose halved squares add up to the loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Residuals {
    /// All of them, run by run, those of the prior of its start at the end of each; NaN where a run failed.
    pub residuals: Vec<f64>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
}

/// The loss and its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientSum {
    /// The loss; infinite where a run failed.
    pub value: f64,
    /// Its derivatives by all unknowns; without those of runs that failed.
    pub gradient: Vec<f64>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
}

/// A model made ready to be simulated.
pub(crate) struct Engine {
    pub(crate) model: Model,
    pub(crate) flow: Option<Flow>,
}

/// How a run was simulated.
pub(crate) enum Tape {
    Fixed(Vec<Rollout>),
    Flow(Vec<Rollout<Option<Motion>>>),
}

/// Memory of a thread.
pub(crate) struct Worker {
    pub(crate) data: Data,
    /// Cotangents at a frame, among them that of the model from one run.
    pub(super) bars: Cotangents,
    /// No controls: frames of bodies depend on none.
    input: Input,
    /// Memory of models over dual numbers, by the directions that they carry.
    pub(super) varied: Vec<Option<Data<Varied>>>,
    /// Memory of runs by formulas.
    pub(super) stepper: Option<Stepper>,
}

impl Engine {
    pub(crate) fn new(problem: &Problem<'_>, theta: &[f64]) -> Result<Self, Error> {
        let model = problem.model(theta)?;
        let flow = match problem.settings.stepping {
            Stepping::Fixed => None,
            Stepping::Flow(settings) => Some(Flow::new(&model, settings)?),
        };
        Ok(Self { model, flow })
    }

    pub(crate) fn worker(&self) -> Worker {
        Worker {
            data: Data::new(&self.model),
            bars: Cotangents::zeros(&self.model),
            input: Input::zeros(&self.model),
            varied: Vec::new(),
            stepper: None,
        }
    }
}

impl Worker {
    /// Simulates a run from a start.
    pub(crate) fn simulate(
        &mut self,
        engine: &Engine,
        problem: &Problem<'_>,
        job: &Job,
        start: &State,
    ) -> Result<(Vec<Predicted>, Tape), Stop> {
        if let Some(flow) = &engine.flow {
            let (predicted, motions) = runner::simulate(flow, job, start, false, &mut ())?;
            return Ok((predicted, Tape::Flow(motions)));
        }
        let (has_sensors, data) = (problem.observer.needs_sensors(), &mut self.data);
        let (predicted, rollouts) = runner::simulate(&engine.model, job, start, has_sensors, data)?;
        Ok((predicted, Tape::Fixed(rollouts)))
    }

    /// Reads a run backwards: the cotangent of its start, and in `bars` that of the model.
    pub(crate) fn backward(
        &mut self,
        (engine, problem): (&Engine, &Problem<'_>),
        job: &Job,
        (predicted, tape): (&[Predicted], &Tape),
        residual_bars: &[f64],
    ) -> Result<StateBar, Error> {
        self.bars.model.set_zero();
        let bars = self.frame_bars((engine, problem), job, predicted, residual_bars);
        let sum = &mut self.bars.model;
        match (tape, &engine.flow) {
            (Tape::Fixed(rollouts), _) => {
                runner::backward(&engine.model, job, rollouts, &bars, sum)
            }
            (Tape::Flow(motions), Some(flow)) => runner::backward(flow, job, motions, &bars, sum),
            (Tape::Flow(_), None) => Err(error::simulation("the motion has no flow")),
        }
    }

    /// Simulates a run for its residuals alone.
    fn residuals_from(
        &mut self,
        engine: &Engine,
        problem: &Problem<'_>,
        job: &Job,
        start: &State,
    ) -> Result<Vec<f64>, Stop> {
        let (predicted, _) = self.simulate(engine, problem, job, start)?;
        Ok(self.residuals((engine, problem), job, &predicted))
    }

    /// The residuals of a run.
    pub(crate) fn residuals(
        &mut self,
        (engine, problem): (&Engine, &Problem<'_>),
        job: &Job,
        predicted: &[Predicted],
    ) -> Vec<f64> {
        let trajectory = &problem.recordings.trajectories[job.run.trajectory];
        let mut residuals = Vec::with_capacity(job.count);
        for known in predicted {
            self.look((engine, problem), known);
            problem.observer.residuals(
                (trajectory, known.frame),
                (&known.state, &self.data),
                job.factor,
                &mut residuals,
            );
        }
        residuals
    }

    fn look(&mut self, (engine, problem): (&Engine, &Problem<'_>), known: &Predicted) {
        let Predicted { state, sensors, .. } = known;
        problem
            .observer
            .prepare_with(&engine.model, state, sensors, &mut self.data);
    }

    /// Cotangents of the frames from those of the residuals; what the model itself is due is added to that in `bars`.
    fn frame_bars(
        &mut self,
        (engine, problem): (&Engine, &Problem<'_>),
        job: &Job,
        predicted: &[Predicted],
        residual_bars: &[f64],
    ) -> Vec<FrameBar> {
        let trajectory = &problem.recordings.trajectories[job.run.trajectory];
        let mut used = 0;
        let mut bars = Vec::with_capacity(predicted.len());
        for known in predicted {
            self.look((engine, problem), known);
            let mut sensors = vec![0.0; known.sensors.len()];
            self.bars.state.set_zero();
            used += problem.observer.residuals_vjp(
                (trajectory, known.frame),
                At {
                    model: &engine.model,
                    state: &known.state,
                    input: &self.input,
                    data: &self.data,
                },
                job.factor,
                &residual_bars[used..],
                &mut Observed {
                    bars: &mut self.bars,
                    sensors: &mut sensors,
                },
            );
            bars.push(FrameBar {
                state: self.bars.state.clone(),
                sensors,
            });
        }
        bars
    }
}

/// What some runs give: the sum of the cotangents of the model, and the rest of each.
type Chunk = (ModelBar, Vec<Result<Part, Failure>>);

/// What one run gives to the gradient.
struct Part {
    value: f64,
    shift_bar: Vec<f64>,
    start_bar: Option<StateBar>,
}

impl Problem<'_> {
    /// The loss.
    ///
    /// # Errors
    /// When the unknowns give no model. Runs that fail are no error: they are named, and the value is infinite.
    pub fn value(&self, x: &[f64]) -> Result<Value, Error> {
        let Residuals {
            residuals,
            failures,
        } = self.residuals(x)?;
        let mut rest = residuals.as_slice();
        let by_run: Vec<f64> = (self.jobs.chunks(self.starts_per_run()))
            .map(|jobs| {
                let count = jobs.iter().map(|job| job.count + self.prior.len()).sum();
                let (own, others) = rest.split_at(count);
                rest = others;
                let half = 0.5 * own.iter().map(|r| r * r).sum::<f64>();
                if half.is_nan() { f64::INFINITY } else { half }
            })
            .collect();
        Ok(Value {
            value: by_run.iter().sum(),
            by_run,
            failures,
        })
    }

    /// The residuals.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn residuals(&self, x: &[f64]) -> Result<Residuals, Error> {
        let (theta, shifts) = self.unknowns(x)?;
        let engine = Engine::new(self, theta)?;
        let chunks = self.in_chunks(&engine, |worker, index, job| {
            let shift = self.shift(shifts, index);
            let start = self.start_of(&engine.model, theta, job, shift)?;
            let outcome = worker.residuals_from(&engine, self, job, &start);
            let (mut residuals, failure) = match outcome {
                Ok(residuals) => (residuals, None),
                Err(stop) => (
                    vec![f64::NAN; job.count],
                    Some(self.failure(index, job, stop)),
                ),
            };
            residuals.extend(self.prior_residuals(job, shift));
            Ok((residuals, failure))
        })?;
        let mut all = Residuals {
            residuals: Vec::new(),
            failures: Vec::new(),
        };
        for (residuals, failure) in chunks {
            all.residuals.extend(residuals);
            all.failures.extend(failure);
        }
        Ok(all)
    }

    /// The loss and its gradient, by one backward pass a run.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn gradient(&self, x: &[f64]) -> Result<GradientSum, Error> {
        let (theta, shifts) = self.unknowns(x)?;
        let engine = Engine::new(self, theta)?;
        let size = self.chunk_size();
        let chunks: Result<Vec<_>, Error> = (self.jobs.par_chunks(size).enumerate())
            .map(|(chunk, jobs)| {
                let mut worker = engine.worker();
                let mut model_bar = ModelBar::zeros(&engine.model);
                let mut parts = Vec::with_capacity(jobs.len());
                for (offset, job) in jobs.iter().enumerate() {
                    let index = chunk * size + offset;
                    let shift = self.shift(shifts, index);
                    let start = self.start_of(&engine.model, theta, job, shift)?;
                    let part =
                        self.part(&engine, &mut worker, (job, &start, shift), &mut model_bar);
                    parts.push(part.map_err(|stop| self.failure(index, job, stop)));
                }
                Ok((model_bar, parts))
            })
            .collect();
        self.add_up(&engine, theta, chunks?)
    }

    /// The value of a run, and its gradient, of which that by the model is added to `model_bar`.
    fn part(
        &self,
        engine: &Engine,
        worker: &mut Worker,
        (job, start, shift): (&Job, &State, &[f64]),
        model_bar: &mut ModelBar,
    ) -> Result<Part, Stop> {
        let (predicted, tape) = worker.simulate(engine, self, job, start)?;
        let residuals = worker.residuals((engine, self), job, &predicted);
        let prior = self.prior_residuals(job, shift);
        let squares = residuals.iter().chain(&prior).map(|r| r * r);
        let value = 0.5 * squares.sum::<f64>();
        let start_bar = worker
            .backward((engine, self), job, (&predicted, &tape), &residuals)
            .map_err(|why| Stop {
                frame: job.run.last,
                why,
            })?;
        *model_bar += &worker.bars.model;
        let mut shift_bar = Vec::new();
        if !shift.is_empty() {
            shift_bar = starts::moved_vjp(&engine.model, shift, &start_bar.qpos, &start_bar.qvel);
            for ((bar, residual), sigma) in shift_bar.iter_mut().zip(prior).zip(&self.prior) {
                *bar += residual * job.factor / sigma;
            }
        }
        Ok(Part {
            value,
            shift_bar,
            start_bar: self.parameters.has_state().then_some(start_bar),
        })
    }

    /// Sums chunks in their order and pulls the sum back to θ.
    fn add_up(
        &self,
        engine: &Engine,
        theta: &[f64],
        chunks: Vec<Chunk>,
    ) -> Result<GradientSum, Error> {
        let mut model_bar = ModelBar::zeros(&engine.model);
        let mut start_sum = StateBar::zeros(&engine.model);
        let mut sum = GradientSum {
            value: 0.0,
            gradient: vec![0.0; theta.len()],
            failures: Vec::new(),
        };
        for (chunk_bar, parts) in chunks {
            model_bar += &chunk_bar;
            for part in parts {
                match part {
                    Ok(part) => {
                        sum.value += part.value;
                        sum.gradient.extend(part.shift_bar);
                        if let Some(bar) = &part.start_bar {
                            start_sum.add(bar);
                        }
                    }
                    Err(failure) => {
                        sum.value = f64::INFINITY;
                        sum.gradient.extend(vec![0.0; self.prior.len()]);
                        sum.failures.push(failure);
                    }
                }
            }
        }
        let by_theta = (self.parameters).backward(theta, &model_bar, Some(&start_sum))?;
        sum.gradient[..theta.len()].copy_from_slice(&by_theta);
        Ok(sum)
    }

    /// The start of a run for some unknowns.
    pub(super) fn start_of(
        &self,
        model: &Model,
        theta: &[f64],
        job: &Job,
        shift: &[f64],
    ) -> Result<State, Error> {
        let mut start = self.parameters.apply_state(theta, &job.start)?;
        starts::moved(model, &mut start, shift);
        Ok(start)
    }

    /// Appends the residuals of a frame that compares no sensors.
    pub(super) fn observe(
        &self,
        model: &Model,
        data: &mut Data,
        (job, frame): (&Job, usize),
        state: &State,
        residuals: &mut Vec<f64>,
    ) {
        let trajectory = &self.recordings.trajectories[job.run.trajectory];
        self.observer.prepare_with(model, state, &[], data);
        (self.observer).residuals((trajectory, frame), (state, &*data), job.factor, residuals);
    }

    /// Residuals of the prior of a start.
    pub(super) fn prior_residuals(&self, job: &Job, shift: &[f64]) -> Vec<f64> {
        let terms = shift.iter().zip(&self.prior);
        terms
            .map(|(shift, sigma)| job.factor * shift / sigma)
            .collect()
    }

    /// Runs of a thread in a row. Sums within are in this order, so it may not depend on the number of threads.
    pub(super) fn chunk_size(&self) -> usize {
        self.jobs.len().div_ceil(256)
    }

    /// Does something for every run, over threads, and returns the results in order.
    pub(super) fn in_chunks<R: Send>(
        &self,
        engine: &Engine,
        work: impl Fn(&mut Worker, usize, &Job) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let size = self.chunk_size();
        let chunks: Result<Vec<Vec<R>>, Error> = (self.jobs.par_chunks(size).enumerate())
            .map(|(chunk, jobs)| {
                let mut worker = engine.worker();
                (jobs.iter().enumerate())
                    .map(|(offset, job)| work(&mut worker, chunk * size + offset, job))
                    .collect()
            })
            .collect();
        Ok(chunks?.into_iter().flatten().collect())
    }
    /// A run that was stopped.
    pub(super) fn failure(&self, index: usize, job: &Job, stop: Stop) -> Failure {
        Failure {
            run: index / self.starts_per_run(),
            trajectory: job.run.trajectory,
            frame: stop.frame,
            why: stop.why,
        }
    }
}
