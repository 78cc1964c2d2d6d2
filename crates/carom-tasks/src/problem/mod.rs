//! Identification as a problem of numbers: parameters θ of a model, and start states if they are free, in; a loss against
//! recordings, its gradient, or residuals with their Jacobian, out.
//!
//! Unknowns are x = (θ, δ₁, δ₂, …): δᵢ shifts the recorded start of run i in tangent space, first positions, then velocities, where
//! starts are [free](Starts::Free). A run is a simulation from one frame to another: a whole trajectory, or a
//! [segment](Horizon::Segments) of it.
//!
//! Runs are spread over threads and summed in their order, so results are the same bits for any number of threads. A run that leaves
//! the finite numbers makes the value infinite and is named; none is dropped in silence.
//!
//! ```
//! # let spec = carom_spec::read_file("../../models/pendulum.xml".as_ref(), &[]).spec;
//! # let model = carom::compile::compile(&spec).0.unwrap();
//! use carom::parameters::Parameters;
//! use carom_tasks::problem::{Problem, Settings};
//! # use carom_tasks::recording::{self, Mapping};
//! # let folder = std::env::temp_dir().join(format!("carom-problem-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("swing.csv");
//! # std::fs::write(&path, "t,angle\n0.00,0.50\n0.01,0.49\n0.02,0.48\n0.03,0.44\n")?;
//! # let mapping = Mapping::parse("time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\n", "swing.toml")?;
//!
//! let recordings = recording::load(&model, &mapping, &[path])?;
//! let parameters = Parameters::select(&model, &["joint.pivot.damping"])?;
//! let problem = Problem::new(&recordings, parameters, Settings::default())?;
//! let x = problem.start();
//! let gradient = problem.gradient(&x)?;
//! println!("{} {:?}", gradient.value, gradient.gradient);
//! let linear = problem.linearize(&x)?;
//! assert_eq!(linear.residuals.len() * x.len(), linear.dense().len());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fit;
mod linear;
mod physical;
mod response;
pub(crate) mod runner;
pub(crate) mod schedule;
pub(crate) mod starts;
mod sum;
mod tangents;

pub use fit::{Family, Fit, Fitted};
pub use linear::{Block, Linear};
pub(crate) use response::{DofStep, Push, RowOrigin};
pub use starts::Starts;
pub use sum::{Failure, GradientSum, Residuals, Value};

use crate::error;
use carom::Error;
use carom::flow::FlowSettings;
use carom::model::ContactsFromDistance;
use carom::parameters::Parameters;
use carom::rollout::Controls;
use carom::{Model, State};

use crate::loss::{Average, Loss, Observer};
use crate::recording::{Recordings, Trajectory};
use schedule::Stretch;
use sum::Engine;

/// How far a simulation goes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Horizon {
    /// To the end of the trajectory.
    #[default]
    Whole,
    /// Over some frames, again and again.
    Segments {
        /// Frames of a segment, its start among them: `DiffMJX` takes five.
        frames: usize,
        /// Frames from a start to the next.
        every: usize,
    },
}

/// How a simulation gets from frame to frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Stepping {
    /// By steps of fixed length, of the model's integrator.
    #[default]
    Fixed,
    /// By steps to a tolerance in continuous time.
    Flow(FlowSettings),
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How predictions are compared.
    pub loss: Loss,
    /// How far they go.
    pub horizon: Horizon,
    /// The simulations themselves, where they are given; those of the horizon if none.
    pub runs: Option<Vec<Run>>,
    /// Whether starts are as recorded.
    pub starts: Starts,
    /// How simulations step.
    pub stepping: Stepping,
    /// Contacts from distance in gradients.
    pub from_distance: Option<ContactsFromDistance>,
}

/// A simulation from a frame to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The trajectory.
    pub trajectory: usize,
    /// Frame of the start.
    pub first: usize,
    /// Frame of the end.
    pub last: usize,
}

/// How large the residuals of a frame are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameResidual {
    /// The run.
    pub run: usize,
    /// Time since the trajectory began (s).
    pub time: f64,
    /// Root mean square at the start of the search.
    pub before: f64,
    /// At its end.
    pub after: f64,
}

/// A run made ready.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) run: Run,
    pub(crate) start: State,
    pub(crate) stretches: Vec<Stretch>,
    /// √ of the factor of its penalties.
    pub(crate) factor: f64,
    /// Number of its residuals, without those of the prior.
    pub(crate) count: usize,
}

/// Sets the factors of the penalties, where every run has so many starts.
fn weigh(jobs: &mut [Job], average: Average, starts: f64) {
    let frames = |job: &Job| (job.run.last - job.run.first) as f64;
    let all: f64 = jobs.iter().map(frames).sum();
    let runs = jobs.len() as f64;
    for job in jobs {
        job.factor = match average {
            Average::Sum => (1.0 / starts).sqrt(),
            Average::Frames => (1.0 / all).sqrt(),
            Average::Runs => (1.0 / (frames(job) * runs)).sqrt(),
        };
    }
}

/// Parameters, recordings and a loss; see the [module](self) documentation.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    pub(crate) recordings: &'a Recordings,
    parameters: Parameters,
    settings: Settings,
    observer: Observer<'a>,
    jobs: Vec<Job>,
    /// Standard deviations of the prior of a start's shift, 2·nv; empty unless starts are free.
    prior: Vec<f64>,
    skipped: Vec<String>,
}

impl<'a> Problem<'a> {
    /// # Errors
    /// When there is nothing to compare, or the settings do not go together.
    pub fn new(
        recordings: &'a Recordings,
        parameters: Parameters,
        settings: Settings,
    ) -> Result<Self, Error> {
        let model = parameters.base().clone();
        let observer = Observer::new(settings.loss, &recordings.channels);
        if let (Stepping::Flow(_), true) = (settings.stepping, observer.needs_sensors()) {
            return Err(error::settings(
                "sensors are compared in fixed steps only; set their weight to 0 or use fixed steps".to_owned(),
            ));
        }
        if let Horizon::Segments { frames, every } = settings.horizon
            && (frames < 2 || every < 1)
        {
            return Err(error::settings(format!(
                "segments of {frames} frames, every {every}: a segment has 2 frames or more, and starts are 1 or more apart"
            )));
        }
        let mut problem = Self {
            prior: settings.starts.prior(&model, recordings)?,
            recordings,
            settings,
            observer,
            jobs: Vec::new(),
            skipped: Vec::new(),
            parameters,
        };
        let drawn = (problem.settings.starts).measured_again(&model, recordings)?;
        for run in problem.runs() {
            problem.add(&model, run, &drawn);
        }
        if problem.jobs.is_empty() {
            let first = problem.skipped.first().cloned().unwrap_or_default();
            return Err(error::settings(format!(
                "there is nothing to compare: no run has a start and a compared value after it. {first}"
            )));
        }
        let starts = problem.starts_per_run() as f64;
        weigh(&mut problem.jobs, problem.settings.loss.average, starts);
        Ok(problem)
    }

    fn runs(&self) -> Vec<Run> {
        if let Some(runs) = &self.settings.runs {
            return runs.clone();
        }
        let start = self.recordings.start;
        let of = |(trajectory, motion): (usize, &Trajectory)| -> Vec<Run> {
            let end = motion.frames() - 1;
            match self.settings.horizon {
                Horizon::Whole => vec![Run {
                    trajectory,
                    first: start,
                    last: end,
                }],
                Horizon::Segments { frames, every } => (start..)
                    .step_by(every)
                    .take_while(|first| first + frames - 1 <= end)
                    .map(|first| Run {
                        trajectory,
                        first,
                        last: first + frames - 1,
                    })
                    .collect(),
            }
        };
        let all = self.recordings.trajectories.iter().enumerate();
        all.flat_map(of).collect()
    }

    /// Makes a run ready, or notes why it cannot be.
    fn add(&mut self, model: &Model, run: Run, drawn: &[Recordings]) {
        let trajectory = &self.recordings.trajectories[run.trajectory];
        let frames = run.first + 1..=run.last;
        let count = frames
            .map(|frame| self.observer.count(trajectory, frame))
            .sum();
        if count == 0 {
            self.skipped.push(format!(
                "{}: nothing is compared between frames {} and {}",
                trajectory.label, run.first, run.last
            ));
            return;
        }
        let steps = match self.settings.stepping {
            Stepping::Fixed => (model.option.timestep[0], self.recordings.steps_per_frame),
            // One interval a frame.
            Stepping::Flow(_) => (f64::NAN, Some(1)),
        };
        let stretches = schedule::stretches(trajectory, &run, steps, model.counts().nu);
        let timestep = match self.settings.stepping {
            Stepping::Fixed => stretches.first().map_or(0.0, |stretch| stretch.timestep),
            Stepping::Flow(_) => 0.0,
        };
        let starts: Result<Vec<State>, Error> = std::iter::once(self.recordings)
            .chain(drawn)
            .map(|recordings| starts::state(recordings, model, &run, timestep))
            .collect();
        match starts {
            Ok(starts) => self.jobs.extend(starts.into_iter().map(|start| Job {
                run,
                start,
                stretches: stretches.clone(),
                factor: 1.0,
                count,
            })),
            Err(error) => self.skipped.push(error.to_string()),
        }
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The recordings.
    pub fn recordings(&self) -> &Recordings {
        self.recordings
    }

    /// What is asked.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The runs, in the order of all results.
    pub fn all_runs(&self) -> impl ExactSizeIterator<Item = Run> {
        let first_of_each = self.jobs.iter().step_by(self.starts_per_run());
        first_of_each.map(|job| job.run)
    }

    /// Simulations of every run, one after the other in all results: more than one where starts are [drawn](Starts::Drawn).
    pub fn starts_per_run(&self) -> usize {
        self.settings.starts.count()
    }

    /// Runs that are left out, and why.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Number of residuals, those of the priors of starts included.
    pub fn residual_count(&self) -> usize {
        self.rows_of_runs().sum()
    }

    /// Residuals of each run, those of the prior of its start included.
    pub(crate) fn rows_of_runs(&self) -> impl Iterator<Item = usize> {
        (self.jobs.iter()).map(|job| job.count + self.prior.len())
    }

    /// Steps of all runs together, about: in continuous time their number is not known beforehand.
    pub(crate) fn steps(&self) -> usize {
        const STEPS_A_FRAME: usize = 10;
        let stretches = self.jobs.iter().flat_map(|job| &job.stretches);
        let steps: usize = stretches.map(|stretch| stretch.steps).sum();
        match self.settings.stepping {
            Stepping::Fixed => steps,
            Stepping::Flow(_) => STEPS_A_FRAME * steps,
        }
    }

    /// Standard deviations of the shifts of all starts, in the order of the unknowns; none unless starts are free.
    pub(crate) fn start_deviations(&self) -> impl Iterator<Item = f64> {
        (self.jobs.iter()).flat_map(|_| self.prior.iter().copied())
    }

    /// Whether something measures every coordinate at the starts.
    pub(crate) fn measures_starts(&self) -> bool {
        starts::are_measured(self.parameters.base(), self.recordings)
    }

    /// The recordings with every run started where the unknowns put it.
    pub(crate) fn with_found_starts(&self, x: &[f64]) -> Result<Recordings, Error> {
        let n = self.parameters.base().counts();
        let mut recordings = self.recordings.clone();
        // Starts that were found are those at the frame itself.
        recordings.velocity.means = false;
        for (job, start) in self.jobs.iter().zip(self.starts(x)?) {
            let Run {
                trajectory, first, ..
            } = job.run;
            let trajectory = &mut recordings.trajectories[trajectory];
            trajectory.qpos[first * n.nq..][..n.nq].copy_from_slice(&start.qpos);
            trajectory.qvel[first * n.nv..][..n.nv].copy_from_slice(&start.qvel);
        }
        Ok(recordings)
    }

    /// The recorded start of every run with the controls of all of its steps, in the model's own time step: about the run as it is
    /// compared, also where its frames come at uneven times or it is followed in continuous time.
    pub(crate) fn motions(&self) -> Vec<(&State, (usize, Controls))> {
        let model = &self.parameters.base();
        let (timestep, nu) = (model.option.timestep[0], model.counts().nu);
        let of = |job: &'_ Job| {
            let trajectory = &self.recordings.trajectories[job.run.trajectory];
            schedule::in_own_steps(trajectory, &job.run, timestep, nu)
        };
        let first_of_each = self.jobs.iter().step_by(self.starts_per_run());
        first_of_each.map(|job| (&job.start, of(job))).collect()
    }

    /// Root mean squares of the residuals of each frame from recorded starts, without the factor of the mean over frames, for two
    /// lists of all residuals.
    pub(crate) fn by_frame(&self, before: &[f64], after: &[f64]) -> Vec<FrameResidual> {
        let mut frames = Vec::new();
        let mut next = 0;
        let starts = self.starts_per_run();
        for (index, job) in self.jobs.iter().enumerate() {
            let (run, is_recorded) = (index / starts, index % starts == 0);
            let trajectory = &self.recordings.trajectories[job.run.trajectory];
            for frame in job.run.first + 1..=job.run.last {
                let count = self.observer.count(trajectory, frame);
                let mean = |residuals: &[f64]| {
                    let own = residuals.get(next..next + count).unwrap_or_default();
                    let squares: f64 = own.iter().map(|r| r * r).sum();
                    (squares / count as f64).sqrt() / job.factor
                };
                if count > 0 && is_recorded {
                    frames.push(FrameResidual {
                        run,
                        time: trajectory.times[frame],
                        before: mean(before),
                        after: mean(after),
                    });
                }
                next += count;
            }
            next += self.prior.len();
        }
        frames
    }

    /// Number of unknowns.
    pub fn len(&self) -> usize {
        self.parameters.len() + self.jobs.len() * self.prior.len()
    }

    /// Whether there is no unknown.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where to begin: the model as it is, starts as recorded.
    pub fn start(&self) -> Vec<f64> {
        let mut x = self.parameters.theta0().to_vec();
        x.resize(self.len(), 0.0);
        x
    }

    /// The start states of all runs for some unknowns.
    ///
    /// # Errors
    /// When there is no such model.
    pub fn starts(&self, x: &[f64]) -> Result<Vec<State>, Error> {
        let (theta, shifts) = self.unknowns(x)?;
        let model = self.parameters.base();
        (self.jobs.iter().enumerate())
            .map(|(index, job)| self.start_of(model, theta, job, self.shift(shifts, index)))
            .collect()
    }

    /// The shift of a run's start with which it begins as another one, at a frame between, has got there; none where it has not.
    pub(crate) fn continued(
        &self,
        x: &[f64],
        run: usize,
        from: (&Self, usize),
    ) -> Result<Option<Vec<f64>>, Error> {
        let (before, index) = from;
        let (theta, shifts) = before.unknowns(x)?;
        let engine = Engine::new(before, theta)?;
        let (job, model) = (&before.jobs[index], &engine.model);
        let start = before.start_of(model, theta, job, before.shift(shifts, index))?;
        let simulated = engine.worker().simulate(&engine, before, job, &start);
        let Ok((predicted, _)) = simulated else {
            return Ok(None);
        };
        let Job { run, start, .. } = &self.jobs[run];
        let reached = predicted.iter().find(|one| one.frame == run.first);
        Ok(reached.map(|reached| starts::shift(model, start, &reached.state)))
    }

    /// θ and the shifts of the starts.
    fn unknowns<'x>(&self, x: &'x [f64]) -> Result<(&'x [f64], &'x [f64]), Error> {
        if x.len() == self.len() {
            return Ok(x.split_at(self.parameters.len()));
        }
        Err(error::settings(format!(
            "there are {} unknowns, {} numbers were given",
            self.len(),
            x.len()
        )))
    }

    /// The shift of a run's start; empty unless starts are free.
    fn shift<'x>(&self, shifts: &'x [f64], job: usize) -> &'x [f64] {
        &shifts[job * self.prior.len()..][..self.prior.len()]
    }

    /// Sensors that nobody compares are not read.
    fn leave_out(&self, settings: &mut carom::model::Settings) {
        settings.disable.sensor |= !self.observer.needs_sensors();
    }

    /// The model for θ, with contacts from distance if they are asked for; an error if no file could hold it.
    fn model(&self, theta: &[f64]) -> Result<Model, Error> {
        let mut model = self.parameters.apply(theta)?;
        self.leave_out(&mut model.settings);
        if let Some(why) = physical::impossible(&model, self.parameters.base()) {
            return Err(error::settings(why));
        }
        match &self.settings.from_distance {
            None => Ok(model),
            Some(distant) => model.with_contacts_from_distance(distant.clone()),
        }
    }
}
