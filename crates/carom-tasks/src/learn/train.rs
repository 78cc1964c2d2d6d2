//! The search for weights.

use std::sync::atomic::{AtomicBool, Ordering};

use carom::parameters::Parameters;
use carom::{Error, ErrorKind, Model};
use carom_optimise::linalg::Matrix;
use carom_optimise::{
    AdamSettings, AnyMethod, Bounds, Evaluation, Failure, LbfgsbSettings, LeastSquaresSettings,
    Limits, LocalSettings, OneByOne, Optimiser, Outcome, Schedule, Search, Settings as Method,
    Space, Unobserved, Want, checkpoint, minimise,
};
use carom_spec::ModelSpec;
use carom_spec::model_spec::LearnedTermSpec;
use serde::{Deserialize, Serialize};

use super::{compile, scales};
use crate::error;
use crate::loss::Loss;
use crate::problem::{self, Problem, Stepping};
use crate::recording::{Recordings, Trajectory};

/// Up to so many weights are found by Levenberg–Marquardt: a Jacobian costs a simulation for every few of them.
const MAX_JACOBIAN_WEIGHTS: usize = 48;
/// Frames of the first segments, each followed by longer ones by the factor.
const FIRST_FRAMES: usize = 6;
const FRAMES_FACTOR: usize = 4;
/// Steps of Adam, over the first segments only, and the length of the first one in scales of the weights.
const ADAM_STEPS: u64 = 200;
const ADAM_RATE: f64 = 0.02;
/// Gradients longer than this are shortened to it.
const ADAM_CLIP: f64 = 10.0;
/// Evaluations between looks at held-out recordings.
const ROUND: u64 = 25;
/// Rounds without a better one that end a horizon.
const PATIENCE: u32 = 4;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How predictions are compared.
    pub loss: Loss,
    /// How simulations step.
    pub stepping: Stepping,
    /// Frames of the segments that are predicted, one after the other; longer than all trajectories means whole ones. Empty to
    /// choose by the recordings.
    pub horizons: Vec<usize>,
    /// Most evaluations of each horizon.
    pub evaluations: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            loss: Loss::default(),
            stepping: Stepping::Fixed,
            horizons: Vec::new(),
            evaluations: 400,
        }
    }
}

/// How training over one horizon went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Horizon {
    /// Frames of a segment.
    pub frames: usize,
    /// Evaluations of the loss, its gradient or its Jacobian.
    pub evaluations: u64,
    /// The loss over these segments before.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// The loss of whole held-out recordings with what was found.
    pub validation: Option<f64>,
    /// Why it ended.
    pub end: String,
}

/// A model with trained terms.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The description, its terms with weights and scales.
    pub spec: ModelSpec,
    /// The model.
    pub model: Model,
    /// How many weights there are.
    pub weights: usize,
    /// The horizons, in order.
    pub horizons: Vec<Horizon>,
    /// The loss of whole held-out recordings before and after, where there are some.
    pub validation: Option<[f64; 2]>,
    /// Whether training was told to stop.
    pub is_stopped: bool,
}

/// Who watches.
pub trait Watch {
    /// After each round: frames of the segments, evaluations over them, the lowest loss, and that of held-out recordings.
    fn progress(&mut self, frames: usize, evaluations: u64, lowest: f64, validation: Option<f64>) {
        let _ = (frames, evaluations, lowest, validation);
    }

    /// Whether [`Self::checkpoint`] is to be called.
    fn wants_checkpoints(&self) -> bool {
        false
    }

    /// The training after each round, as bytes to be stored.
    ///
    /// # Errors
    /// When they cannot be; training ends there.
    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let _ = bytes;
        Ok(())
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Training between two rounds.
#[derive(Clone, Serialize, Deserialize)]
struct Saved {
    /// Of the question, so that another one is not resumed with it.
    fingerprint: u64,
    /// The horizon at work among all.
    stage: usize,
    /// The search over it; none before its first round.
    search: Option<Vec<u8>>,
    before: f64,
    /// Whether the search is the second one of a horizon: after Adam comes L-BFGS.
    is_refining: bool,
    rounds_without: u32,
    /// Where the horizon begins, and the best so far by held-out recordings, or else by the last horizon.
    start: Vec<f64>,
    best: Vec<f64>,
    best_validation: Option<f64>,
    /// The lowest held-out loss within this horizon.
    stage_validation: Option<f64>,
    done: Vec<Horizon>,
    evaluations: u64,
}

/// Reads recordings for a model: those to train on, and held-out ones if there are any.
pub type Load<'l> = &'l dyn Fn(&Model) -> Result<(Recordings, Option<Recordings>), Error>;

/// Gives a model terms and trains them. `load` reads the recordings for the model with its terms: those to train on, and held-out
/// ones if there are any.
///
/// # Errors
/// When the terms do not fit the model, the recordings cannot be used, or a checkpoint is of another question.
pub fn train(
    mut spec: ModelSpec,
    terms: Vec<LearnedTermSpec>,
    load: Load<'_>,
    settings: &Settings,
    resume: Option<&[u8]>,
    (stop, watch): (Option<&AtomicBool>, &mut dyn Watch),
) -> Result<Learned, Error> {
    let first = spec.learned_terms.len();
    spec.learned_terms.extend(terms);
    let model = compile(&spec)?;
    let (recordings, held_out) = load(&model)?;
    let sizes = scales::sizes(&model, &recordings);
    for (index, term) in spec.learned_terms.iter_mut().enumerate().skip(first) {
        let form = &model.structure.learned.terms[index].form;
        if term.scales.is_empty() && form.scales_by_data() {
            term.scales = sizes[index].scales(term, form.odd_inputs());
        }
    }
    let model = compile(&spec)?;
    let new = &model.structure.learned.terms[first..];
    let selectors: Vec<String> = (spec.learned_terms[first..].iter())
        .map(|term| format!("learned.{}.weights", term.name))
        .collect();
    let selectors: Vec<&str> = selectors.iter().map(String::as_str).collect();
    let parameters = Parameters::select(&model, &selectors)?;
    let scale: Vec<f64> = (new.iter().zip(&sizes[first..]))
        .flat_map(|(term, sizes)| (term.form).weight_scales(&sizes.input_sizes(), &sizes.outputs))
        .collect();
    let mut training = Training {
        settings,
        recordings: &recordings,
        held_out: held_out.as_ref(),
        parameters: &parameters,
        scale,
        stop,
        watch,
    };
    let saved = training.run(resume)?;
    let theta = &saved.best;
    let mut next = theta.iter().copied();
    let trained = spec.learned_terms[first..].iter_mut();
    for (term, learned) in trained.zip(new) {
        term.weights = next.by_ref().take(learned.weights.len()).collect();
    }
    let before = training.validate(parameters.theta0())?;
    let validation = before.zip(training.validate(theta)?);
    Ok(Learned {
        model: compile(&spec)?,
        weights: parameters.len(),
        horizons: saved.done,
        validation: validation.map(|(before, after)| [before, after]),
        is_stopped: stop.is_some_and(|stop| stop.load(Ordering::Relaxed)),
        spec,
    })
}

struct Training<'a, 'w> {
    settings: &'a Settings,
    recordings: &'a Recordings,
    held_out: Option<&'a Recordings>,
    parameters: &'a Parameters,
    /// Typical sizes of the weights.
    scale: Vec<f64>,
    stop: Option<&'a AtomicBool>,
    watch: &'w mut dyn Watch,
}

impl Training<'_, '_> {
    /// Frames of the segments of each horizon.
    fn horizons(&self) -> Vec<usize> {
        let trajectories = self.recordings.trajectories.iter();
        let longest = trajectories.map(Trajectory::frames).max().unwrap_or(2);
        if !self.settings.horizons.is_empty() {
            let own = self.settings.horizons.iter();
            return own.map(|&frames| frames.clamp(2, longest)).collect();
        }
        let growing =
            std::iter::successors(Some(FIRST_FRAMES), |frames| Some(frames * FRAMES_FACTOR));
        let short = growing.take_while(|frames| 2 * frames < longest);
        short.chain([longest]).collect()
    }

    fn problem<'r>(
        &self,
        recordings: &'r Recordings,
        frames: Option<usize>,
    ) -> Result<Problem<'r>, Error> {
        let horizon = frames.map_or(problem::Horizon::Whole, |frames| {
            problem::Horizon::Segments {
                frames,
                every: frames - 1,
            }
        });
        let settings = problem::Settings {
            loss: self.settings.loss,
            stepping: self.settings.stepping,
            horizon,
            ..problem::Settings::default()
        };
        Problem::new(recordings, self.parameters.clone(), settings)
    }

    /// The loss of whole held-out recordings.
    fn validate(&self, theta: &[f64]) -> Result<Option<f64>, Error> {
        let Some(recordings) = self.held_out else {
            return Ok(None);
        };
        let problem = self.problem(recordings, None)?;
        Ok(Some(problem.value(theta)?.value))
    }

    /// A number that differs between questions.
    fn fingerprint(&self) -> u64 {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        let mut mix = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01B3);
        self.parameters
            .base()
            .for_each(|_, _, _, number| mix(number.to_bits()));
        for trajectory in &self.recordings.trajectories {
            mix(trajectory.frames() as u64);
            trajectory
                .qvel
                .iter()
                .for_each(|number| mix(number.to_bits()));
        }
        self.horizons()
            .iter()
            .for_each(|&frames| mix(frames as u64));
        mix(self.settings.evaluations);
        hash
    }

    fn run(&mut self, resume: Option<&[u8]>) -> Result<Saved, Error> {
        let (horizons, fingerprint) = (self.horizons(), self.fingerprint());
        let begin = self.parameters.theta0().to_vec();
        let mut saved = match resume {
            Some(bytes) => {
                let saved: Saved = checkpoint::decode(bytes)
                    .map_err(|cause| Error::of(ErrorKind::Checkpoint, cause))?;
                if saved.fingerprint != fingerprint {
                    let why =
                        "the checkpoint belongs to another model, blueprint, recording or setting";
                    return Err(Error::new(ErrorKind::Checkpoint, why));
                }
                saved
            }
            None => Saved {
                fingerprint,
                stage: 0,
                search: None,
                before: f64::NAN,
                is_refining: false,
                rounds_without: 0,
                start: begin.clone(),
                best: begin,
                best_validation: None,
                stage_validation: None,
                done: Vec::new(),
                evaluations: 0,
            },
        };
        while saved.stage < horizons.len() {
            let frames = horizons[saved.stage];
            let problem = self.problem(self.recordings, Some(frames))?;
            if !self.round(&problem, frames, &mut saved)? {
                break;
            }
            if self.watch.wants_checkpoints() {
                let bytes = checkpoint::encode(&saved)
                    .map_err(|cause| Error::of(ErrorKind::Checkpoint, cause))?;
                self.watch.checkpoint(&bytes)?;
            }
        }
        Ok(saved)
    }

    fn space(&self, start: &[f64]) -> Result<Space, Error> {
        let (lower, upper) = (self.parameters.bounds().iter())
            .map(|&[low, high]| (low, high))
            .unzip();
        Bounds::new(lower, upper)
            .and_then(|bounds| Space::new(start.to_vec(), bounds)?.with_scale(self.scale.clone()))
            .map_err(error::space)
    }

    /// A search from a start: the first one over a horizon, or the one that refines it.
    fn search(&self, saved: &Saved) -> Result<Search<AnyMethod>, Error> {
        let method = if self.parameters.len() <= MAX_JACOBIAN_WEIGHTS {
            LocalSettings::LeastSquares(LeastSquaresSettings::default())
        } else if saved.stage == 0 && !saved.is_refining {
            LocalSettings::Adam(AdamSettings {
                schedule: Schedule::Cosine {
                    rate: ADAM_RATE,
                    last: 0.1,
                },
                clip: Some(ADAM_CLIP),
                steps: ADAM_STEPS,
                ..AdamSettings::default()
            })
        } else {
            LocalSettings::Lbfgsb(LbfgsbSettings {
                memory: 20,
                value_tolerance: 1e-7,
                ..LbfgsbSettings::default()
            })
        };
        Ok(Method::Local(method).search(self.space(&saved.start)?, 0))
    }

    /// Some evaluations of a horizon, and what follows from them; false if training was told to stop.
    fn round(
        &mut self,
        problem: &Problem<'_>,
        frames: usize,
        saved: &mut Saved,
    ) -> Result<bool, Error> {
        let mut search = match &saved.search {
            Some(bytes) => {
                Search::resume(bytes).map_err(|cause| Error::of(ErrorKind::Checkpoint, cause))?
            }
            None => self.search(saved)?,
        };
        if saved.before.is_nan() {
            saved.before = problem.value(&saved.start)?.value;
        }
        let limits = Limits {
            evaluations: Some(search.evaluations() + ROUND),
            stop: self.stop,
            ..Limits::default()
        };
        let mut evaluator = OneByOne(|request: &carom_optimise::Request| {
            evaluate(problem, &request.point, request.want)
        });
        let begun = search.evaluations();
        let end = minimise(&mut search, &mut evaluator, &limits, &mut Unobserved)
            .map_err(|cause| error::no_loss(Error::of(ErrorKind::Loss, cause)))?;
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Ok(false);
        }
        saved.evaluations += search.evaluations() - begun;
        let Some(best) = search.best() else {
            let why = search.last_failure().map_or_else(
                || "nothing could be evaluated".to_owned(),
                |failure| failure.reason.clone(),
            );
            return Err(error::no_loss(error::simulation(why)));
        };
        let validation = self.validate(&best.point)?;
        self.watch
            .progress(frames, saved.evaluations, best.value, validation);
        let is_better = |than: Option<f64>| match (validation, than) {
            (Some(found), Some(known)) => found < known,
            _ => true,
        };
        if is_better(saved.stage_validation) {
            saved.stage_validation = validation;
            saved.rounds_without = 0;
        } else {
            saved.rounds_without += 1;
        }
        if is_better(saved.best_validation) {
            saved.best_validation = validation;
            saved.best.clone_from(&best.point);
        }
        let is_running = search.status().is_running();
        let is_spent = saved.evaluations >= self.settings.evaluations;
        let is_stale = saved.rounds_without >= PATIENCE;
        if is_running && !is_spent && !is_stale {
            let bytes = search.checkpoint();
            saved.search = Some(bytes.map_err(|cause| Error::of(ErrorKind::Checkpoint, cause))?);
            return Ok(true);
        }
        saved.start = best.point;
        saved.search = None;
        let is_adam = self.parameters.len() > MAX_JACOBIAN_WEIGHTS && saved.stage == 0;
        if is_adam && !saved.is_refining && !is_spent {
            saved.is_refining = true;
            return Ok(true);
        }
        saved.done.push(Horizon {
            frames,
            evaluations: saved.evaluations,
            before: saved.before,
            after: best.value,
            validation,
            end: match (is_stale, is_spent) {
                (true, _) => "held-out recordings are predicted no better".to_owned(),
                (_, true) => "all evaluations are used up".to_owned(),
                _ => end.to_string(),
            },
        });
        saved.stage += 1;
        saved.before = f64::NAN;
        saved.evaluations = 0;
        saved.is_refining = false;
        saved.rounds_without = 0;
        saved.stage_validation = None;
        Ok(true)
    }
}

/// What a search wants to know at a point.
fn evaluate(problem: &Problem<'_>, x: &[f64], want: Want) -> Outcome {
    let failed = |failures: &[problem::Failure]| match failures.first() {
        Some(failure) => Err(Failure::new(failure.why.to_string())),
        None => Ok(()),
    };
    let wrong = |error: Error| Failure::new(error.to_string());
    match want {
        Want::Value | Want::Residuals => {
            let found = problem.residuals(x).map_err(wrong)?;
            failed(&found.failures)?;
            Ok(Evaluation::Residuals(found.residuals))
        }
        Want::Jacobian => {
            let found = problem.linearize(x).map_err(wrong)?;
            failed(&found.failures)?;
            let numbers = found.dense();
            let rows = found.residuals.len();
            let jacobian = Matrix::from_data(rows, x.len(), numbers)
                .ok_or_else(|| Failure::new("the Jacobian has another shape"))?;
            Ok(Evaluation::Jacobian {
                residuals: found.residuals,
                jacobian,
            })
        }
        Want::Gradient => {
            let found = problem.gradient(x).map_err(wrong)?;
            failed(&found.failures)?;
            Ok(Evaluation::Gradient {
                value: found.value,
                gradient: found.gradient,
            })
        }
    }
}
