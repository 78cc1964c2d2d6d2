//! The whole of an identification, as `carom identify` and the Python package do it.
//!
//! [`identify`] decides what the single steps of a [`Task`] leave open:
//!
//! 1. Actuators whose delay is free are given a history of controls where the model has none.
//! 1. Parameters that no model file could hold are refused before the search, and so are parameters that the recordings do not identify.
//! 2. Initial states that nobody measured become unknowns where nothing could be identified otherwise.
//! 3. Where recorded initial states leave residuals well above the noise, or their own noise moves the estimates, a second search estimates them
//!    too. It counts if it explains the recordings better and brings no new objection.
//! 4. The calibrated model is replayed on the recordings of the fit and on those held out; [`Outcome::objections`] says what speaks against it.
//! 5. What the residuals depend on is looked at, for what the model may lack.
//! 6. Profiles, folds, recovery and motions to record next are looked at as far as [`WantedChecks`] asks for them.
//!
//! The caller watches by [`Watch`], and stops by a flag: the best that was found until then is kept.
//!
//! ```
//! # let loaded = carom::load::file("../../models/pendulum.xml".as_ref(), &[]).unwrap();
//! # let (model, spec) = (loaded.model, loaded.spec);
//! use carom_tasks::identify::workflow::{self, Question, WantedChecks};
//! use carom_tasks::identify::{Free, Settings, Unwatched};
//! # use carom_tasks::recording::{self, Mapping};
//! # let folder = std::env::temp_dir().join(format!("carom-workflow-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("swing.csv");
//! # let mut text = String::from("t,angle\n");
//! # for k in 0..200 { let t = 0.01 * f64::from(k); text += &format!("{t},{}\n", 0.5 * (3.63 * t).cos() * (-0.02 * t).exp()); }
//! # std::fs::write(&path, text)?;
//! # let mapping = Mapping::parse("time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nnoise = 0.01\n", "swing.toml")?;
//! # let recordings = recording::load(&model, &mapping, &[path])?;
//!
//! let question = Question {
//!     model: &model,
//!     spec: &spec,
//!     original: None,
//!     recordings: &recordings,
//!     held_out: None,
//!     settings: Settings {
//!         free: vec![Free::new("joint.pivot.damping[0] log".parse()?)],
//!         ..Settings::default()
//!     },
//!     checks: WantedChecks::default(),
//!     resume: None,
//! };
//! let outcome = workflow::identify(&question, None, &mut Unwatched)?;
//! assert!(outcome.identified.estimates[0].value > 0.0);
//! assert!(outcome.description.is_ok(), "the calibrated model as MJCF");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use carom::Model;
use carom::{Error, ErrorKind};
use carom_spec::ModelSpec;

use super::conclude::Identified;
use super::continuous::{holding_step, stated};
use super::outcome::{Checks, Outcome};
use super::{
    Excitation, Inspection, Original, Settings, Solution, Task, Watch, calibrated, check_folds,
    delays, start_noise, stepping_of,
};
use crate::evaluate::{Floor, Predictor, Report, StartNoise, evaluate, evaluate_by, noise_floor};
use crate::problem::{Horizon, Stepping};
use crate::recording::Recordings;

/// Estimated initial states count if they leave less than this part of the residuals of recorded ones: they are many more unknowns, which
/// explain some of the noise in any case.
const WORTH_MORE: f64 = 0.8;

/// What is identified, and from what.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The model at the start.
    pub model: &'a Model,
    /// Its description, which the calibrated one is written from.
    pub spec: &'a ModelSpec,
    /// The files that it comes from, which the calibrated one is a patch of; without them it is written whole.
    pub original: Option<Original<'a>>,
    /// Recordings of the fit.
    pub recordings: &'a Recordings,
    /// Recordings that are held out, on which errors are measured before and after.
    pub held_out: Option<&'a Recordings>,
    /// Free parameters, loss, optimiser, limits.
    pub settings: Settings,
    /// What is looked at beyond the search.
    pub checks: WantedChecks,
    /// A checkpoint of the same question to go on from.
    pub resume: Option<&'a [u8]>,
}

impl Question<'_> {
    /// The calibrated model as MJCF.
    fn written(&self, task: &Task<'_>, theta: &[f64]) -> Result<String, Error> {
        let (model, spec) = (self.model, self.spec);
        calibrated(model, spec, self.original, task.parameters(), theta)
    }
}

/// What is looked at beyond the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedChecks {
    /// Motions that would tell what the recordings do not.
    pub suggestions: bool,
    /// What residuals depend on.
    pub dependences: bool,
    /// Profile likelihoods.
    pub profiles: Profiles,
    /// Cross-validation over so many folds.
    pub folds: Option<usize>,
    /// Recovery of a known truth from so many synthetic sets.
    pub recovery: Option<usize>,
}

impl WantedChecks {
    /// Nothing beyond the search.
    pub const NONE: Self = Self {
        suggestions: false,
        dependences: false,
        profiles: Profiles::Never,
        folds: None,
        recovery: None,
    };
}

impl Default for WantedChecks {
    /// What takes little.
    fn default() -> Self {
        Self {
            suggestions: true,
            dependences: true,
            profiles: Profiles::WhereCheap,
            folds: None,
            recovery: None,
        }
    }
}

/// When profile likelihoods are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profiles {
    /// Not at all.
    Never,
    /// Where that takes little time and the search ended at a smooth minimum.
    #[default]
    WhereCheap,
    /// In any case.
    Always,
}

/// Something that whoever watches may want to say at once.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    /// The mapping does not give all initial states: they are estimated too.
    InitialStatesFreed,
    /// Every free parameter is identifiable, or is fitted all the same.
    Inspected(&'e Inspection),
    /// The recordings tell some parameters badly; these motions would tell more.
    Suggested(&'e [Excitation]),
    /// A search begins.
    SearchBegins,
    /// It has ended.
    SearchEnds,
}

/// Identifies the parameters of a model from recordings; see the [module](self) documentation. `stop` ends it and keeps the best so far. The
/// numbers are the same to the bit for any number of threads.
///
/// # Errors
/// When question and recordings do not go together, the recordings do not identify the parameters, or nothing can be simulated.
pub fn identify(
    question: &Question<'_>,
    stop: Option<&AtomicBool>,
    watch: &mut dyn Watch,
) -> Result<Outcome, Error> {
    if let Some(folds) = question.checks.folds {
        check_folds(folds, question.recordings.trajectories.len())?;
    }
    let delayed = delays::prepared(question.model, question.spec, &question.settings)?;
    let mut question = question.clone();
    if let Some(delayed) = &delayed {
        (question.model, question.spec) = (&delayed.model, &delayed.spec);
        question.settings = delayed.settings.clone();
    }
    let question = &question;
    let mut settings = question.settings.clone();
    if settings.problem.stepping == Stepping::Fixed && !settings.fixed_steps {
        settings.problem.stepping = stepping_of(None, question.spec);
    }
    let thinned =
        (settings.compare_every > 1).then(|| question.recordings.thinned(settings.compare_every));
    let compared = thinned.as_ref().unwrap_or(question.recordings);
    let mut task = Task::new(question.model, compared, settings)?;
    let inspection = prepare(question, &mut task, stop, watch)?;
    watch.event(Event::Inspected(&inspection));
    let mut suggestions = Vec::new();
    if question.checks.suggestions {
        suggestions = suggestions_before(&task, &inspection);
        watch.event(Event::Suggested(&suggestions));
    }
    let mut outcome = search(
        question,
        (&task, false),
        inspection,
        question.resume,
        stop,
        watch,
    )?;
    let mut decided = &task;
    let freed = task.with_free_starts(&outcome.identified)?;
    if let Some(freed) = freed.as_ref().filter(|_| !outcome.solution.is_stopped) {
        // The checkpoint is that of the first search: a resumed one makes the second again.
        let mut unstored = WithoutCheckpoints(watch);
        let inspection = outcome.inspection.clone();
        let mut other = search(
            question,
            (freed, true),
            inspection,
            None,
            stop,
            &mut unstored,
        )?;
        if explains_more(&other, &outcome) {
            other.seconds += outcome.seconds;
            other.recorded_starts = Some(outcome.identified.noise);
            (outcome, decided) = (other, freed);
        }
    }
    if question.checks.dependences && !outcome.solution.is_stopped {
        // A table of what to try next is a courtesy: without it the answer is the same.
        let found = decided.dependences(&outcome.solution, &outcome.identified);
        outcome.dependences = found.ok().flatten();
    }
    outcome.checks = checks_after(question.checks, decided, &outcome, suggestions, stop)?;
    Ok(outcome)
}

/// Inspects the question, and looks for a better start of the search.
fn prepare(
    question: &Question<'_>,
    task: &mut Task<'_>,
    stop: Option<&AtomicBool>,
    watch: &mut dyn Watch,
) -> Result<Inspection, Error> {
    can_be_written(task, question)?;
    task.find_starts(stop)?;
    task.follow_torques(stop)?;
    let grows = task.grows();
    if grows {
        task.warm_up(stop)?;
    }
    let mut inspection = task.inspect()?;
    // From an initial state that nobody measured, nothing may move: it is found first.
    if inspection.refusal().is_some() && task.free_unmeasured_starts()? {
        watch.event(Event::InitialStatesFreed);
        task.find_starts(stop)?;
        inspection = task.inspect()?;
    }
    if let Some(why) = inspection.refusal()
        && !task.settings().anyway
    {
        let suggestions = suggestions_before(task, &inspection);
        watch.event(Event::Suggested(&suggestions));
        let motions = suggestions.into_iter().map(|one| one.motion);
        let motions = motions.collect();
        return Err(Error::new(ErrorKind::NotIdentifiable { motions }, why));
    }
    if !grows {
        task.warm_up(stop)?;
    }
    Ok(inspection)
}

/// Refuses parameters that no model file can hold before the search, not after it.
fn can_be_written(task: &Task<'_>, question: &Question<'_>) -> Result<(), Error> {
    let moved = |side: f64| {
        let theta = task.start_theta().iter();
        let moved: Vec<f64> = theta
            .map(|theta| theta + side * theta.abs().max(1e-3))
            .collect();
        question.written(task, &moved)
    };
    // On one side of a start that is only just possible, as the inertia of a plate is, no file could be written.
    let written = moved(1e-6).or_else(|error| moved(-1e-6).map_err(|_| error));
    written.map(drop)
}

/// Searches, concludes and replays, from a start that is near the minimum where that is said. The search goes on from a checkpoint, if there is one, and ends early where the flag says so.
fn search(
    question: &Question<'_>,
    (task, is_near): (&Task<'_>, bool),
    inspection: Inspection,
    resume: Option<&[u8]>,
    stop: Option<&AtomicBool>,
    watch: &mut dyn Watch,
) -> Result<Outcome, Error> {
    let begin = Instant::now();
    watch.event(Event::SearchBegins);
    let near = if is_near {
        task.descend(stop)
    } else {
        Ok(None)
    };
    let solution = match near {
        Ok(Some(solution)) => Ok(solution),
        _ => task.solve(resume, stop, watch),
    };
    watch.event(Event::SearchEnds);
    let solution = solution?;
    let mut identified = task.conclude(&solution)?;
    task.repeat(&solution, &mut identified, stop)?;
    let errors = Replayed::new(question, task, &solution, &identified)?;
    let description = described(question, task, &identified, &errors);
    let mut outcome = Outcome::new(question.model, task, inspection, solution, identified);
    outcome.over_noise = if outcome.has_stated_noise {
        Some(outcome.identified.noise)
    } else {
        errors.over_noise
    };
    outcome.fitted = errors.fitted;
    outcome.held_out = errors.held_out;
    outcome.floors = errors.floors;
    outcome.naive = errors.naive;
    outcome.description = description;
    outcome.seconds = begin.elapsed().as_secs_f64();
    Ok(outcome)
}

/// The calibrated model as a file, which says if it holds in continuous time.
fn described(
    question: &Question<'_>,
    task: &Task<'_>,
    identified: &Identified,
    errors: &Replayed,
) -> Result<String, Error> {
    let text = question.written(task, &identified.theta)?;
    let Stepping::Flow(flow) = task.settings().problem.stepping else {
        return Ok(text);
    };
    let fitted = &errors.fitted[1];
    let timestep = holding_step(&identified.model, &errors.recordings, fitted)?;
    let tolerance = flow.tolerances.position.relative;
    stated(&text, question.spec, (tolerance, timestep))
}

/// Errors of the model at the start and of the calibrated one, and what they are to be compared with.
struct Replayed {
    /// Those of the fit, from the starts of the replay.
    recordings: Recordings,
    fitted: [Report; 2],
    held_out: Option<[Report; 2]>,
    floors: [Option<Floor>; 2],
    naive: Vec<(Predictor, Report)>,
    over_noise: Option<f64>,
}

impl Replayed {
    fn new(
        question: &Question<'_>,
        task: &Task<'_>,
        solution: &Solution,
        identified: &Identified,
    ) -> Result<Self, Error> {
        let problem = &task.settings().problem;
        let stepping = problem.stepping;
        let on_horizon = |recordings: &Recordings| on_horizon(recordings, problem.horizon);
        let recordings = on_horizon(question.recordings);
        let others = question.held_out.map(on_horizon);
        // The fit is replayed from the initial states that were estimated with it.
        let begun = task.with_found_starts(&solution.x);
        let begun = begun.as_ref().map(on_horizon);
        let begun = begun.as_ref().unwrap_or(&recordings);
        let before = |recordings| evaluate(question.model, recordings, stepping);
        let after =
            |recordings| evaluate_by(Predictor::Model, &identified.model, recordings, stepping);
        let fit = after(begun)?;
        let held_out =
            |others| -> Result<[Report; 2], Error> { Ok([before(others)?, after(others)?.report]) };
        let naive = |predictor: Predictor| {
            let judged = others.as_ref().unwrap_or(begun);
            let measured = evaluate_by(predictor, &identified.model, judged, stepping)?;
            Ok((predictor, measured.report))
        };
        let floor = |recordings: &Recordings, starts| {
            noise_floor(&identified.model, recordings, stepping, starts)
        };
        let starts = if task.has_free_starts() {
            StartNoise::Estimated
        } else {
            StartNoise::Measured
        };
        let floor_of_others = (others.as_ref()).map(|others| floor(others, StartNoise::Measured));
        Ok(Self {
            recordings: begun.clone(),
            fitted: [before(&recordings)?, fit.report],
            held_out: others.as_ref().map(held_out).transpose()?,
            floors: [
                floor(begun, starts)?,
                floor_of_others.transpose()?.flatten(),
            ],
            naive: Predictor::NAIVE
                .into_iter()
                .map(naive)
                .collect::<Result<_, Error>>()?,
            over_noise: fit.over_noise,
        })
    }
}

/// Recordings that are replayed as the loss compares them, over its segments, unless the mapping says how errors are measured.
fn on_horizon(recordings: &Recordings, horizon: Horizon) -> Recordings {
    let mut recordings = recordings.clone();
    if let Horizon::Segments { frames, every } = horizon
        && recordings.evaluate.window.is_none()
    {
        recordings.evaluate.window = Some(frames.saturating_sub(1).max(1));
        recordings.evaluate.every = Some(every);
    }
    recordings
}

/// Whether estimated initial states explain the recordings better than recorded ones, without a new objection. Where the noise of recorded ones
/// moves the estimates, it is enough that they explain them as well.
fn explains_more(freed: &Outcome, recorded: &Outcome) -> bool {
    let [noise, before] = [freed, recorded].map(|one| one.identified.noise);
    let is_moved = start_noise::matters(&recorded.identified.start_shares);
    (noise < WORTH_MORE * before || is_moved && noise <= before)
        && freed.objections().len() <= recorded.objections().len()
}

/// Motions that would tell what the recordings do not, before the search: where something cannot be told, or is told badly although
/// the noise is known.
fn suggestions_before(task: &Task<'_>, inspection: &Inspection) -> Vec<Excitation> {
    let channels = &task.problem().recordings().channels;
    let mut compared = channels.iter().filter(|channel| channel.is_compared);
    let has_noise = compared.all(|channel| channel.noise.is_some());
    let is_weak = has_noise && !inspection.weak.is_empty();
    if (inspection.refusal().is_none() && !is_weak) || !task.predicts() {
        return Vec::new();
    }
    // A suggestion is a courtesy: where there is none, the search says what is wrong.
    task.suggest(task.start_theta(), 1.0).unwrap_or_default()
}

/// Looks at all that was asked for, after the search. `suggestions` are those from before it.
fn checks_after(
    wanted: WantedChecks,
    task: &Task<'_>,
    outcome: &Outcome,
    suggestions: Vec<Excitation>,
    stop: Option<&AtomicBool>,
) -> Result<Checks, Error> {
    let (solution, identified) = (&outcome.solution, &outcome.identified);
    let mut checks = Checks {
        suggestions,
        ..Checks::default()
    };
    if solution.is_stopped {
        return Ok(checks);
    }
    // What was said before goes by the noise of the mapping; now the residuals tell it.
    checks.suggestions = if identified.weak.is_empty() || !wanted.suggestions || !task.predicts() {
        Vec::new()
    } else {
        let suggested = task.suggest(&identified.theta, identified.noise);
        suggested.unwrap_or(checks.suggestions)
    };
    // Where derivatives mislead, every fit of a profile takes many more simulations, and its ends are those of roughness.
    let is_smooth = solution.is_finished && !solution.is_by_secants;
    let follows = match wanted.profiles {
        Profiles::Never => false,
        Profiles::WhereCheap => is_smooth && task.profiles_are_cheap(),
        Profiles::Always => true,
    };
    if follows {
        checks.profiles = Some(task.profiles(solution, identified, stop)?);
    }
    if let Some(folds) = wanted.folds {
        checks.cross_validation = Some(task.cross_validate(folds, identified, stop)?);
    }
    if let Some(rounds) = wanted.recovery {
        checks.recovery = Some(task.recover(rounds, identified, stop)?);
    }
    Ok(checks)
}

/// Whoever watches, without checkpoints.
struct WithoutCheckpoints<'w>(&'w mut dyn Watch);

impl Watch for WithoutCheckpoints<'_> {
    fn progress(&mut self, evaluations: u64, lowest: f64) {
        self.0.progress(evaluations, lowest);
    }

    fn event(&mut self, event: Event<'_>) {
        self.0.event(event);
    }
}
