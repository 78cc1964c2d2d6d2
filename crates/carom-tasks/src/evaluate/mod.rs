//! Errors of a model on recordings.
//!
//! The model is simulated from the recorded start of every trajectory, or of every window of one, without correction, and compared at
//! every frame. Means are over the frames of a trajectory, then over trajectories; with windows of equal length, over all windows.
//!
//! - position (m): distance of positions, mean over bodies and sites; in per cent of a length where the mapping gives one
//! - rotation (deg): angle between orientations
//! - `distance_and_angle`: distance over the length that the mapping gives (`size`), and angle (rad), as sums of losses have it
//! - mae18: mean absolute error over the 18 numbers (position, rotation matrix, velocity, angular velocity) of a free body; mae13: the same
//!   with quaternions, of equal sign, for matrices
//! - angle (rad, deg), slide (m): absolute errors of hinges and slides; whole turns count, unless the mapping says `modulo_turns`
//! - mse q, mse v, mse: mean squared errors of joint positions, of velocities, and of both, whole turns included
//! - distances that the mapping names
//! - sensor: absolute errors of sensor values
//! - torque (N·m): root mean squares of what joint torques by inverse dynamics are off, where controls are measured torques
//!
//! What errors are to be compared with: [`evaluate_by`] has those of predictors that know no model, [`noise_floor`] those that the model
//! would have if it were right. [`evaluate_or_windows`] measures windows where whole runs diverge.

mod floor;
mod metric;
mod signals;
mod torque;
mod windows;

pub use floor::{Floor, StartNoise, noise_floor};
pub use metric::Metric;
pub use signals::{Signal, signals, touches};
pub use windows::{Windows, evaluate_or_windows, window_of};

use crate::error;
use carom::Error;
use carom::{Data, Dynamics, Model, State};
use rayon::prelude::*;

use crate::problem::runner::{self, Predicted};
use crate::problem::{Job, Run, Stepping, schedule, starts};
use crate::recording::Recordings;
use metric::{Meter, Sums};

/// Errors of one trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryErrors {
    /// What it is called.
    pub label: String,
    /// Frames that were compared, over all windows.
    pub frames: usize,
    /// Simulations.
    pub windows: usize,
    /// Steps in which a learned term had an input outside of the range that it was trained on.
    pub extrapolating: usize,
    /// Errors in the order of the report's metrics; NaN where nothing was compared.
    pub errors: Vec<f64>,
    /// Why it has no errors, if it has none: what happened, and where.
    pub failure: Option<String>,
}

/// Errors of a model on recordings.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// Errors of every trajectory.
    pub trajectories: Vec<TrajectoryErrors>,
    /// Means over all trajectories that did not fail.
    pub total: Vec<f64>,
}

impl Report {
    /// The total of a metric by name.
    pub fn total_of(&self, name: &str) -> Option<f64> {
        let index = self.metrics.iter().position(|metric| metric.name == name)?;
        Some(self.total[index])
    }

    /// Trajectories that failed.
    pub fn failures(&self) -> impl Iterator<Item = &TrajectoryErrors> {
        let all = self.trajectories.iter();
        all.filter(|trajectory| trajectory.failure.is_some())
    }
}

/// What predicts the frames after a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Predictor {
    /// The model.
    #[default]
    Model,
    /// Everything stays where it is.
    HoldStill,
    /// Everything goes on with the velocity of the start.
    ConstantVelocity,
}

impl Predictor {
    /// Those that need no dynamics: a model that is not better than these has explained nothing.
    pub const NAIVE: [Self; 2] = [Self::HoldStill, Self::ConstantVelocity];

    /// What it does, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Model => "the model",
            Self::HoldStill => "holding still",
            Self::ConstantVelocity => "constant velocity",
        }
    }
}

/// Simulates a model against recordings and measures its errors.
///
/// # Errors
/// When the model has no motion in continuous time and that is asked for, or the mapping's `[evaluate]` makes no sense.
pub fn evaluate(
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
) -> Result<Report, Error> {
    evaluate_by(Predictor::Model, model, recordings, stepping).map(|measured| measured.report)
}

/// As [`evaluate`], for a system that is no model but has a model's states; `model` says what the recordings mean.
///
/// # Errors
/// When the system has other states than the model or no whole number of steps between frames, or the mapping's `[evaluate]`
/// makes no sense.
pub fn evaluate_system<D: Dynamics>(
    system: &D,
    model: &Model,
    recordings: &Recordings,
) -> Result<Report, Error> {
    let (shape, n) = (system.shape(), model.counts());
    if [shape.nq, shape.nv, shape.nu] != [n.nq, n.nv, n.nu] {
        return Err(error::settings(format!(
            "the system has {} positions, {} velocities and {} controls, the model {}, {} and {}",
            shape.nq, shape.nv, shape.nu, n.nq, n.nv, n.nu
        )));
    }
    let step = system.input().timestep;
    let follow = |job: &Job| {
        let lengths = job.stretches.iter().map(|stretch| stretch.timestep);
        for length in lengths {
            if (length / step - 1.0).abs() > STEP_TOLERANCE {
                let why = format!(
                    "frames need steps of {length:.6} s, the system was made for steps of {step:.6} s"
                );
                return Err(runner::Stop {
                    frame: job.run.first,
                    why: error::settings(why),
                });
            }
        }
        let followed = runner::simulate(system, job, &job.start, false, &mut system.work());
        followed.map(|(predicted, _)| predicted)
    };
    let own = Own {
        step,
        follow: &follow,
    };
    measure((Predictor::Model, Some(&own)), model, recordings, None).map(|measured| measured.report)
}

/// How far steps may be from those of a system that has a length of its own, as a part of it.
const STEP_TOLERANCE: f64 = 1e-3;

/// A system that is no model: the length of its steps, and how it is followed.
struct Own<'a> {
    step: f64,
    follow: &'a Follow<'a>,
}

type Follow<'a> = dyn Fn(&Job) -> Result<Vec<Predicted>, runner::Stop> + Sync + 'a;

/// Errors, and how large they are beside the noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The errors.
    pub report: Report,
    /// Root mean square of all errors whose noise the mapping states, in units of it; none if it states none. 1 if the model is right and
    /// the starts are.
    pub over_noise: Option<f64>,
}

/// Measures the errors of a predictor.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_by(
    predictor: Predictor,
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
) -> Result<Measured, Error> {
    let flow = flow_of(model, stepping)?;
    measure((predictor, None), model, recordings, flow.as_ref())
}

fn measure(
    (predictor, own): (Predictor, Option<&Own<'_>>),
    model: &Model,
    recordings: &Recordings,
    flow: Option<&carom::flow::Flow>,
) -> Result<Measured, Error> {
    let meter = Meter::new(recordings, flow.is_some())?;
    let evaluation = Evaluation {
        model,
        recordings,
        meter: &meter,
        flow,
        own,
        predictor,
    };
    let trajectories: Vec<(TrajectoryErrors, Sums)> = (0..recordings.trajectories.len())
        .into_par_iter()
        .map(|trajectory| evaluation.trajectory(trajectory))
        .collect();
    let (mut total, mut all) = (Sums::default(), Sums::default());
    for (errors, sums) in trajectories
        .iter()
        .filter(|(errors, _)| errors.failure.is_none())
    {
        all.add(sums);
        if recordings.evaluate.window.is_some() {
            total.add(sums);
        } else {
            total.add_means(&errors.errors);
        }
    }
    let mut report = Report {
        total: total.means(meter.metrics.len()),
        metrics: meter.metrics.clone(),
        trajectories: trajectories.into_iter().map(|(errors, _)| errors).collect(),
    };
    if predictor == Predictor::Model && own.is_none() {
        torque::add(model, recordings, &mut report)?;
    }
    Ok(Measured {
        over_noise: meter.residuals_over_noise(&all),
        report,
    })
}

/// The states that a model predicts for a trajectory from its recorded start, with their frames, that of the start first.
///
/// # Errors
/// When the trajectory has no start, or the simulation does not reach its end.
pub fn predict(
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
    trajectory: usize,
) -> Result<Vec<(usize, State)>, Error> {
    let predicted = predictions(model, recordings, stepping, trajectory)?;
    let states = predicted.into_iter();
    Ok(states.map(|known| (known.frame, known.state)).collect())
}

/// As [`predict`], with the sensors.
pub(crate) fn predictions(
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
    trajectory: usize,
) -> Result<Vec<Predicted>, Error> {
    let flow = flow_of(model, stepping)?;
    let meter = Meter::new(recordings, flow.is_some())?;
    let evaluation = Evaluation {
        model,
        recordings,
        meter: &meter,
        flow: flow.as_ref(),
        own: None,
        predictor: Predictor::Model,
    };
    let Some(motion) = recordings.trajectories.get(trajectory) else {
        return Err(error::recording(format!(
            "there is no trajectory {trajectory}"
        )));
    };
    let run = Run {
        trajectory,
        first: recordings.start,
        last: motion.frames() - 1,
    };
    let simulated = evaluation.simulate(&mut Data::new(model), run);
    simulated.map(|(predicted, _)| predicted)
}

/// A number with four digits that count.
pub fn figure(number: f64) -> String {
    if number.is_nan() {
        return "–".to_owned();
    }
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e5).contains(&size) {
        return format!("{number:.3e}");
    }
    let decimals = match size {
        s if s >= 1000.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        s if s >= 1.0 => 3,
        s if s >= 0.1 => 4,
        s if s >= 0.01 => 5,
        _ => 6,
    };
    format!("{number:.decimals$}")
}

fn flow_of(model: &Model, stepping: Stepping) -> Result<Option<carom::flow::Flow>, Error> {
    match stepping {
        Stepping::Fixed => Ok(None),
        Stepping::Flow(settings) => carom::flow::Flow::new(model, settings).map(Some),
    }
}

struct Evaluation<'a> {
    model: &'a Model,
    recordings: &'a Recordings,
    meter: &'a Meter<'a>,
    flow: Option<&'a carom::flow::Flow>,
    own: Option<&'a Own<'a>>,
    predictor: Predictor,
}

impl Evaluation<'_> {
    fn trajectory(&self, trajectory: usize) -> (TrajectoryErrors, Sums) {
        let motion = &self.recordings.trajectories[trajectory];
        let mut data = Data::new(self.model);
        let mut sums = Sums::default();
        let (mut windows, mut frames, mut extrapolating) = (0, 0, 0);
        let mut failure = None;
        for run in self.windows(trajectory) {
            match self.simulate(&mut data, run) {
                Ok((predicted, outside)) => {
                    windows += 1;
                    extrapolating += outside;
                    let [first, last] = self.recordings.evaluate.frames.unwrap_or([0, usize::MAX]);
                    let is_asked = |known: &&Predicted| (first..=last).contains(&known.frame);
                    for known in predicted.iter().filter(is_asked) {
                        frames += 1;
                        let known = (known, known.frame == run.last);
                        self.meter
                            .measure(self.model, motion, known, &mut data, &mut sums);
                    }
                }
                Err(why) => {
                    failure = Some(why.to_string());
                    break;
                }
            }
        }
        if windows > 0 && frames == 0 && failure.is_none() {
            failure = Some(format!(
                "none of its {} frames is asked for",
                motion.frames()
            ));
        }
        if windows == 0 && failure.is_none() {
            failure = Some(format!(
                "it has {} frames, fewer than a window needs",
                motion.frames()
            ));
        }
        let errors = TrajectoryErrors {
            label: motion.label.clone(),
            frames,
            windows,
            extrapolating,
            errors: match failure {
                None => sums.means(self.meter.metrics.len()),
                Some(_) => vec![f64::NAN; self.meter.metrics.len()],
            },
            failure,
        };
        (errors, sums)
    }

    /// The runs of a trajectory.
    fn windows(&self, trajectory: usize) -> Vec<Run> {
        let last = self.recordings.trajectories[trajectory].frames() - 1;
        let (first, how) = (self.recordings.start, &self.recordings.evaluate);
        let Some(window) = how.window else {
            return vec![Run {
                trajectory,
                first,
                last,
            }];
        };
        let starts = (first..).step_by(how.every.unwrap_or(window).max(1));
        let starts = starts.take_while(|start| start + window <= last);
        let run = |first| Run {
            trajectory,
            first,
            last: first + window,
        };
        starts.map(run).collect()
    }

    /// Predictions of a run, that of its start first, and how many steps were outside of what terms were trained on.
    fn simulate(&self, data: &mut Data, run: Run) -> Result<(Vec<Predicted>, usize), Error> {
        let motion = &self.recordings.trajectories[run.trajectory];
        let steps = match (self.own, self.flow) {
            (Some(own), _) => (own.step, None),
            (None, None) => (
                self.model.option.timestep[0],
                self.recordings.steps_per_frame,
            ),
            (None, Some(_)) => (f64::NAN, Some(1)),
        };
        let stretches = schedule::stretches(motion, &run, steps, self.model.counts().nu);
        let timestep = match self.flow {
            None => stretches.first().map_or(0.0, |stretch| stretch.timestep),
            Some(_) => 0.0,
        };
        let start: State = starts::state(self.recordings, self.model, &run, timestep)?;
        let job = Job {
            run,
            start,
            stretches,
            factor: 1.0,
            count: 0,
        };
        let has_sensors = self.meter.needs_sensors();
        let outcome = match (self.own, self.flow) {
            (Some(own), _) => (own.follow)(&job).map(|predicted| (predicted, 0)),
            _ if self.predictor != Predictor::Model => Ok((self.extrapolated(&job), 0)),
            (None, None) => runner::simulate(self.model, &job, &job.start, has_sensors, data).map(
                |(predicted, rollouts)| {
                    let outside = rollouts.iter().map(|rollout| rollout.extrapolating);
                    (predicted, outside.sum())
                },
            ),
            (None, Some(flow)) => runner::simulate(flow, &job, &job.start, false, &mut ())
                .map(|(predicted, _)| (predicted, 0)),
        };
        let (predicted, outside) = outcome.map_err(|stop| {
            error::simulation(format!(
                "the simulation from frame {} did not reach frame {}",
                run.first, stop.frame
            ))
            .because(stop.why)
        })?;
        let mut all = Vec::with_capacity(predicted.len() + 1);
        if !self.recordings.evaluate.without_start {
            all.push(Predicted {
                frame: run.first,
                state: job.start,
                sensors: Vec::new(),
            });
        }
        all.extend(predicted);
        Ok((all, outside))
    }

    /// Predictions without dynamics.
    fn extrapolated(&self, job: &Job) -> Vec<Predicted> {
        let times = &self.recordings.trajectories[job.run.trajectory].times;
        let still = vec![0.0; self.model.counts().nv];
        let at = |frame: usize| {
            let mut state = job.start.clone();
            if self.predictor == Predictor::ConstantVelocity {
                let passed = times[frame] - times[job.run.first];
                let moved = state.qvel.iter().map(|velocity| velocity * passed);
                let shift: Vec<f64> = moved.chain(still.iter().copied()).collect();
                starts::moved(self.model, &mut state, &shift);
            }
            Predicted {
                frame,
                state,
                sensors: Vec::new(),
            }
        };
        (job.run.first + 1..=job.run.last).map(at).collect()
    }
}
