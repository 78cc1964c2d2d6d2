//! What an identification comes to: the answer, its worth, and what speaks against it.

use carom::Model;
use carom::{Error, ErrorKind};

use super::conclude::Identified;
use super::{
    CrossValidation, Dependences, Excitation, Grade, Inspection, OptimiserKind, ParameterProfile,
    Recovery, Solution, StartNoise, Task, start_noise,
};
use crate::evaluate::{Floor, Predictor, Report};
use crate::loss::Average;
use crate::problem::{self, Starts};
use crate::recording::Channel;

/// What was looked at beyond the search, as far as it was asked for.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Motions that would tell what the recordings do not.
    pub suggestions: Vec<Excitation>,
    /// Profile likelihoods; none if they were left out.
    pub profiles: Option<Vec<ParameterProfile>>,
    /// Errors of trajectories that a fit did not know.
    pub cross_validation: Option<CrossValidation>,
    /// Whether a known truth is found again.
    pub recovery: Option<Recovery>,
}

/// The initial state of a run, as it was estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct InitialState {
    /// The trajectory.
    pub label: String,
    /// Its frame.
    pub frame: usize,
    /// Configuration.
    pub qpos: Vec<f64>,
    /// Velocity.
    pub qvel: Vec<f64>,
}

/// Everything that an identification found, for text, JSON, reports and Python.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the recordings could tell at the start.
    pub inspection: Inspection,
    /// The end of the search.
    pub solution: Solution,
    /// Parameters, intervals and the calibrated model.
    pub identified: Identified,
    /// Errors on the recordings of the fit, before and after.
    pub fitted: [Report; 2],
    /// Errors on recordings that were held out, before and after.
    pub held_out: Option<[Report; 2]>,
    /// Errors that the calibrated model would have if it were right, on the recordings of the fit and on those held out.
    pub floors: [Option<Floor>; 2],
    /// Errors of predictors that know no model, on held-out recordings, or on those of the fit where there are none.
    pub naive: Vec<(Predictor, Report)>,
    /// Residuals in units of the noise that the mapping states; none if it states none.
    pub over_noise: Option<f64>,
    /// Time of search and replay (s).
    pub seconds: f64,
    /// The model at the start.
    pub before: Model,
    /// The calibrated model as MJCF, or why it cannot be written: what was found is said all the same.
    pub description: Result<String, Error>,
    /// Residuals in standard deviations of the noise with initial states as recorded, where these were tried first and are now unknowns.
    pub recorded_starts: Option<f64>,
    /// True values, where they are known.
    pub truth: Option<Vec<f64>>,
    /// What the residuals of the answer depend on; none where nothing is predicted or it would take long.
    pub dependences: Option<Dependences>,
    /// What was looked at beyond the search.
    pub checks: Checks,
    /// The optimiser, chosen if that was left open.
    pub optimiser: OptimiserKind,
    /// Loss, horizon, initial states and stepping, as they were decided.
    pub settings: problem::Settings,
    /// Simulations that were compared.
    pub runs: usize,
    /// Runs that were left out, and why.
    pub skipped: Vec<String>,
    /// How well initial states are known from what is measured, where the mapping states its noise.
    pub start_noise: Vec<StartNoise>,
    /// Estimated initial states; none where they are as recorded.
    pub initial_states: Option<Vec<InitialState>>,
    /// Whether residuals are in units of a noise that the mapping states for every channel.
    pub has_stated_noise: bool,
}

impl Outcome {
    /// What a search found, before it is replayed.
    pub(super) fn new(
        before: &Model,
        task: &Task<'_>,
        inspection: Inspection,
        solution: Solution,
        identified: Identified,
    ) -> Self {
        let nothing = || Report {
            metrics: Vec::new(),
            trajectories: Vec::new(),
            total: Vec::new(),
        };
        Self {
            fitted: [nothing(), nothing()],
            held_out: None,
            floors: [None, None],
            naive: Vec::new(),
            over_noise: None,
            seconds: 0.0,
            before: before.clone(),
            description: Err(Error::new(
                ErrorKind::Description,
                "the calibrated model was not written",
            )),
            recorded_starts: None,
            truth: None,
            dependences: None,
            checks: Checks::default(),
            optimiser: task.optimiser(),
            settings: task.settings().problem.clone(),
            runs: task.problem().all_runs().len(),
            skipped: task.problem().skipped().to_vec(),
            start_noise: start_noise::of_recordings(task.problem().recordings()),
            initial_states: initial_states(task, &solution),
            has_stated_noise: has_stated_noise(task),
            inspection,
            solution,
            identified,
        }
    }

    /// Whether initial states are unknowns too.
    pub fn has_free_starts(&self) -> bool {
        matches!(self.settings.starts, Starts::Free { .. })
    }

    /// Why the answer is no success.
    pub fn objections(&self) -> Vec<String> {
        let verdict = self.verdict();
        let words = verdict.words(Grade::NoSuccess).map(str::to_owned);
        words.collect()
    }

    /// Why the answer is no, in a sentence; none if it may be used, be it with doubts.
    pub fn refusal(&self) -> Option<String> {
        self.objections().into_iter().next()
    }

    /// How many times the stated noise residuals are, if that is more than chance explains.
    pub fn times_the_noise(&self) -> Option<f64> {
        /// Initial states that are not free bring noise of their own into all that follows.
        const MAX_FROM_MEASURED_STARTS: f64 = 3.0;
        /// Who states noise rarely knows it better than by this factor.
        const MAX_FROM_STATEMENT: f64 = 1.2;
        /// Standard deviations of the residuals' own scatter.
        const CHANCE: f64 = 5.0;
        let identified = &self.identified;
        let most = if self.has_free_starts() {
            let scatter = CHANCE / (2.0 * identified.degrees as f64).sqrt();
            MAX_FROM_STATEMENT.max(1.0 + scatter)
        } else {
            MAX_FROM_MEASURED_STARTS
        };
        (self.has_stated_noise && identified.noise > most).then_some(identified.noise)
    }
}

/// Whether residuals are in units of a noise that the mapping states for every channel.
pub(super) fn has_stated_noise(task: &Task<'_>) -> bool {
    let problem = task.problem();
    let loss = &problem.settings().loss;
    let channels = &problem.recordings().channels;
    let mut compared = channels.iter().filter(|one| loss.weight(one) != 0.0);
    let is_in_its_units = |channel: &Channel| {
        let times = channel.noise.map(|noise| noise * loss.weight(channel));
        times.is_some_and(|times| (times - 1.0).abs() < 1e-9)
    };
    loss.average == Average::Sum && compared.all(is_in_its_units)
}

fn initial_states(task: &Task<'_>, solution: &Solution) -> Option<Vec<InitialState>> {
    let problem = task.problem();
    if !task.has_free_starts() {
        return None;
    }
    let states = problem.starts(&solution.x).unwrap_or_default();
    let of = |(run, state): (problem::Run, carom::State)| InitialState {
        label: problem.recordings().trajectories[run.trajectory]
            .label
            .clone(),
        frame: run.first,
        qpos: state.qpos,
        qvel: state.qvel,
    };
    Some(problem.all_runs().zip(states).map(of).collect())
}
