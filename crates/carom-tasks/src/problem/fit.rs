//! Identification of systems of any kind: numbers θ make a [`Dynamics`], whose motions are compared with recordings.
//!
//! [`Problem`](super::Problem) knows models, their parameters by name and cheap Jacobians. A [`Fit`] knows nothing but the trait: a
//! learned simulator, a reduced model or a user's own type is fitted by the gradient of the same losses over the same runs.
//! A model stands beside the system to say what recordings mean: names of joints and where bodies and sites are.

use crate::error;
use carom::cotangent::{Cotangents, ModelBar, StateBar};
use carom::dynamics::At;
use carom::parameters::Parameters;
use carom::system::Shape;
use carom::{Data, Dynamics, Input, Model, State};
use carom::{Error, ErrorKind};
use carom_optimise::{
    Bounds, Evaluation, Failure, LbfgsbSettings, Limits, LocalSettings, OneByOne, Optimiser,
    Request, Settings, Space, Unobserved, minimise,
};
use rayon::prelude::*;

use super::runner::{self, FrameBar, Predicted};
use super::{Job, Run, schedule, weigh};
use crate::loss::{Loss, Observed, Observer};
use crate::recording::{Recordings, Trajectory};

/// What makes systems from numbers θ.
pub trait Family: Sync {
    /// The systems.
    type System: Dynamics;

    /// The system for θ.
    ///
    /// # Errors
    /// When there is none.
    fn at(&self, theta: &[f64]) -> Result<Self::System, Error>;

    /// The cotangent of θ from that of the system's own numbers.
    ///
    /// # Errors
    /// When there is no such system.
    fn backward(
        &self,
        theta: &[f64],
        bar: &<Self::System as Dynamics>::Bar,
    ) -> Result<Vec<f64>, Error>;
}

/// Models by the values of some of their parameters.
impl Family for Parameters {
    type System = Model;

    fn at(&self, theta: &[f64]) -> Result<Model, Error> {
        self.apply(theta)
    }

    fn backward(&self, theta: &[f64], bar: &ModelBar) -> Result<Vec<f64>, Error> {
        Parameters::backward(self, theta, bar, None)
    }
}

/// Where a search ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The numbers with the lowest loss.
    pub theta: Vec<f64>,
    /// The loss there.
    pub value: f64,
    /// Why the search ended, in a sentence.
    pub end: String,
}

/// Recordings, a loss, and a family of systems to be fitted.
#[derive(Clone, Debug)]
pub struct Fit<'a, F> {
    family: F,
    model: &'a Model,
    recordings: &'a Recordings,
    observer: Observer<'a>,
    jobs: Vec<Job>,
}

impl<'a, F: Family> Fit<'a, F> {
    /// Whole trajectories from their recorded starts. `model` says what the recordings mean; its configurations, velocities and
    /// controls are those of the systems. `theta` gives the system whose own step length is used between frames.
    ///
    /// # Errors
    /// When systems and model do not go together, or there is nothing to compare.
    pub fn new(
        family: F,
        theta: &[f64],
        model: &'a Model,
        recordings: &'a Recordings,
        loss: Loss,
    ) -> Result<Self, Error> {
        let (system, n) = (family.at(theta)?, model.counts());
        let Shape {
            nq,
            nv,
            nu,
            sensors,
            ..
        } = system.shape();
        let observer = Observer::new(loss, &recordings.channels);
        let is_sensed = !observer.needs_sensors() || sensors == n.nsensor_value;
        if [nq, nv, nu] != [n.nq, n.nv, n.nu] || !is_sensed {
            return Err(error::settings(format!(
                "the system has {nq} positions, {nv} velocities, {nu} controls and {sensors} sensor values, the model {}, {}, {} and {}",
                n.nq, n.nv, n.nu, n.nsensor_value
            )));
        }
        let steps = (system.input().timestep, recordings.steps_per_frame);
        let mut jobs = Vec::new();
        for (trajectory, motion) in recordings.trajectories.iter().enumerate() {
            let (first, last) = (recordings.start, motion.frames() - 1);
            let run = Run {
                trajectory,
                first,
                last,
            };
            let count = (first + 1..=last).map(|frame| observer.count(motion, frame));
            let count = count.sum();
            let known = recordings.start(model, trajectory, first)?;
            let mut start = system.reference();
            start.qpos.clone_from(&known.qpos);
            start.qvel.clone_from(&known.qvel);
            jobs.push(Job {
                run,
                start,
                stretches: schedule::stretches(motion, &run, steps, nu),
                factor: 1.0,
                count,
            });
        }
        jobs.retain(|job| job.count > 0);
        if jobs.is_empty() {
            return Err(error::settings("there is nothing to compare"));
        }
        weigh(&mut jobs, loss.average, 1.0);
        Ok(Self {
            family,
            model,
            recordings,
            observer,
            jobs,
        })
    }

    /// The loss and its gradient, by one backward pass a trajectory. Sums are in the order of the trajectories.
    ///
    /// # Errors
    /// When there is no such system, or it cannot be followed, or has no derivative.
    pub fn gradient(&self, theta: &[f64]) -> Result<(f64, Vec<f64>), Error> {
        let system = self.family.at(theta)?;
        let parts: Result<Vec<_>, Error> = (self.jobs.par_iter())
            .map(|job| self.part(&system, job))
            .collect();
        let (mut value, mut sum) = (0.0, zero_bar(&system));
        for (part, bar) in parts? {
            value += part;
            sum += &bar;
        }
        Ok((value, self.family.backward(theta, &sum)?))
    }

    /// Searches for the numbers with the lowest loss within bounds, from a start.
    ///
    /// # Errors
    /// When the start is not within the bounds, or nothing could be evaluated.
    pub fn search(
        &self,
        start: &[f64],
        bounds: Bounds,
        limits: &Limits<'_>,
    ) -> Result<Fitted, Error> {
        let space = Space::new(start.to_vec(), bounds)
            .map_err(|cause| Error::of(ErrorKind::Settings, cause))?;
        let settings = LocalSettings::Lbfgsb(LbfgsbSettings::default());
        let mut search = Settings::Local(settings).search(space, 0);
        let mut evaluator = OneByOne(|request: &Request| {
            let found = self.gradient(&request.point);
            let (value, gradient) = found.map_err(|error| Failure::new(error.to_string()))?;
            Ok(Evaluation::Gradient { value, gradient })
        });
        let end = minimise(&mut search, &mut evaluator, limits, &mut Unobserved)
            .map_err(|cause| Error::of(ErrorKind::Loss, cause))?;
        let best = (search.best())
            .ok_or_else(|| error::simulation("the system could not be followed at the start"))?;
        Ok(Fitted {
            theta: best.point.clone(),
            value: best.value,
            end: end.to_string(),
        })
    }

    /// The loss of a trajectory, and the cotangent of the system's own numbers.
    fn part(
        &self,
        system: &F::System,
        job: &Job,
    ) -> Result<(f64, <F::System as Dynamics>::Bar), Error> {
        let trajectory = &self.recordings.trajectories[job.run.trajectory];
        let (mut work, mut look) = (system.work(), Look::new(self.model));
        let has_sensors = self.observer.needs_sensors();
        let (predicted, rollouts) =
            runner::simulate(system, job, &job.start, has_sensors, &mut work).map_err(|stop| {
                let reached = format!("{}: frame {} was not reached", trajectory.label, stop.frame);
                error::simulation(reached).because(stop.why)
            })?;
        let mut residuals = Vec::with_capacity(job.count);
        let mut bars = Vec::with_capacity(predicted.len());
        for known in &predicted {
            let begin = residuals.len();
            let shown = self.shown(known, &mut look.data);
            let at = (trajectory, known.frame);
            (self.observer).residuals(at, (&shown, &look.data), job.factor, &mut residuals);
            let own = &residuals[begin..];
            bars.push(self.frame_bar((trajectory, known), &shown, job.factor, own, &mut look));
        }
        let value = 0.5 * residuals.iter().map(|r| r * r).sum::<f64>();
        let mut sum = zero_bar(system);
        runner::backward(system, job, &rollouts, &bars, &mut sum)?;
        Ok((value, sum))
    }

    /// The state of the model that shows a prediction, with `data` made ready to be compared.
    fn shown(&self, known: &Predicted, data: &mut Data) -> State {
        let mut state = State::reference(self.model);
        state.time = known.state.time;
        state.qpos.copy_from_slice(&known.state.qpos);
        state.qvel.copy_from_slice(&known.state.qvel);
        (self.observer).prepare_with(self.model, &state, &known.sensors, data);
        state
    }

    /// The cotangents of a prediction from those of its residuals, which are the residuals themselves.
    fn frame_bar(
        &self,
        (trajectory, known): (&Trajectory, &Predicted),
        shown: &State,
        factor: f64,
        residuals: &[f64],
        look: &mut Look,
    ) -> FrameBar {
        let Look { data, input, bars } = look;
        bars.state.set_zero();
        let mut sensors = vec![0.0; known.sensors.len()];
        self.observer.residuals_vjp(
            (trajectory, known.frame),
            At {
                model: self.model,
                state: shown,
                input,
                data,
            },
            factor,
            residuals,
            &mut Observed {
                bars,
                sensors: &mut sensors,
            },
        );
        let mut state = StateBar::like(&known.state);
        state.qpos.copy_from_slice(&bars.state.qpos);
        state.qvel.copy_from_slice(&bars.state.qvel);
        FrameBar { state, sensors }
    }
}

/// What is seen of a model that shows the states of a system.
struct Look {
    data: Data,
    input: Input,
    /// What the model says of bodies and sites is held: its own cotangent is not read.
    bars: Cotangents,
}

impl Look {
    fn new(model: &Model) -> Self {
        Self {
            data: Data::new(model),
            input: Input::zeros(model),
            bars: Cotangents::zeros(model),
        }
    }
}

/// A cotangent of zero.
fn zero_bar<D: Dynamics>(system: &D) -> D::Bar {
    system.take_bar(&mut system.reverse(), 0.0)
}
