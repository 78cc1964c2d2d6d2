//! The search for weights, and for parameters of the model with them.

use std::sync::atomic::{AtomicBool, Ordering};

use carom::parameters::{Parameters, Selection, Transform};
use carom::{Error, ErrorKind, Model};
use carom_optimise::linalg::Matrix;
use carom_optimise::random::Random;
use carom_optimise::{
    AdamSettings, AnyMethod, Bounds, Evaluation, Failure, LbfgsbSettings, LeastSquaresSettings,
    Limits, LocalSettings, OneByOne, Optimiser, Outcome, Schedule, Search, Settings as Method,
    Space, Unobserved, Want, checkpoint, minimise,
};
use carom_spec::mjcf::ReadSettings;
use carom_spec::model_spec::LearnedTermSpec;
use carom_spec::{MemorySource, ModelSpec};
use serde::{Deserialize, Serialize};

use super::settings::Settings;
use super::{compile, scales};
use crate::error;
use crate::identify::calibrated;
use crate::problem::{self, Problem, Run};
use crate::recording::{Recordings, Trajectory};

/// Up to so many unknowns are found by Levenberg–Marquardt: a Jacobian costs a simulation for every few of them.
const MAX_JACOBIAN_UNKNOWNS: usize = 48;
/// Frames of the first segments, each followed by longer ones by the factor.
const FIRST_FRAMES: usize = 6;
const FRAMES_FACTOR: usize = 4;
/// Gradients longer than this are shortened to it.
const ADAM_CLIP: f64 = 10.0;
/// Evaluations between looks at held-out recordings.
const ROUND: u64 = 25;
/// Rounds without a better one that end a search.
const PATIENCE: u32 = 4;
/// Of so many trajectories or more, one in so many is held back where nothing else is said.
const HELD_BACK_FROM: usize = 5;
/// Part by which the largest moment of inertia stays below the sum of the others.
const MOMENT_MARGIN: f64 = 1e-6;
/// Part of a ratio of moments that rounding may change.
const MOMENT_ROUNDING: f64 = 1e-9;
/// How far a search goes in the logarithm of a parameter.
const MAX_LOG_DISTANCE: f64 = 18.4;

/// How training over one horizon went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Horizon {
    /// Frames of a segment.
    pub frames: usize,
    /// What was searched for, and how.
    pub search: String,
    /// Evaluations of the loss, its gradient or its Jacobian.
    pub evaluations: u64,
    /// The loss over these segments before.
    pub before: f64,
    /// And after.
    pub after: f64,
    /// The loss of held-out recordings with what was found.
    pub validation: Option<f64>,
    /// Why it ended.
    pub end: String,
}

/// A model with trained terms.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The description, its terms with weights and scales, and with the parameters that were found.
    pub spec: ModelSpec,
    /// The model.
    pub model: Model,
    /// How many weights there are.
    pub weights: usize,
    /// Parameters of the model that were found with them: names, values before and after.
    pub parameters: Vec<(String, [f64; 2])>,
    /// Trajectories that were held back from training.
    pub held_back: Vec<String>,
    /// The searches, in order.
    pub horizons: Vec<Horizon>,
    /// The loss of held-out recordings before and after, where there are some.
    pub validation: Option<[f64; 2]>,
    /// Whether training was told to stop.
    pub is_stopped: bool,
}

/// Where training stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress<'p> {
    /// The search at work, and how many there are.
    pub search: [usize; 2],
    /// What it searches for, and how.
    pub what: &'p str,
    /// Frames of its segments.
    pub frames: usize,
    /// Its evaluations, and how many it has at most.
    pub evaluations: [u64; 2],
    /// Its lowest loss; of segments drawn at random, their mean.
    pub loss: f64,
    /// That of held-out recordings.
    pub validation: Option<f64>,
}

/// Who watches.
pub trait Watch {
    /// After each round of evaluations.
    fn progress(&mut self, progress: &Progress<'_>) {
        let _ = progress;
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
    /// The stage at work among all.
    stage: usize,
    /// Its search; none before its first round.
    search: Option<Vec<u8>>,
    /// The loss at its start.
    before: f64,
    rounds_without: u32,
    /// Where it begins, and its best point with the measure of it: the loss of held-out recordings, or else that of the stage.
    start: Vec<f64>,
    stage_best: Vec<f64>,
    stage_measure: f64,
    /// The best of all stages, by held-out recordings; else of the last one.
    best: Vec<f64>,
    best_measure: f64,
    done: Vec<Horizon>,
    evaluations: u64,
}

/// How a stage searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    LeastSquares,
    Adam,
    Lbfgs,
}

/// A search over segments of one length.
#[derive(Clone, Copy, Debug)]
struct Stage {
    frames: usize,
    way: Way,
    /// Whether parameters of the model are found alone.
    is_physical: bool,
}

impl Stage {
    fn words(self) -> &'static str {
        match (self.is_physical, self.way) {
            (true, _) => "parameters of the model, by Levenberg–Marquardt",
            (false, Way::LeastSquares) => "all unknowns, by Levenberg–Marquardt",
            (false, Way::Adam) => "all unknowns, by Adam",
            (false, Way::Lbfgs) => "all unknowns, by L-BFGS",
        }
    }
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
    let (mut recordings, mut held_out) = load(&model)?;
    let sizes = scales::sizes(&model, &recordings);
    for (index, term) in spec.learned_terms.iter_mut().enumerate().skip(first) {
        let form = &model.structure.learned.terms[index].form;
        if term.scales.is_empty() && form.scales_by_data() {
            term.scales = sizes[index].scales(term, form.odd_inputs());
        }
        if term.range.is_empty() {
            term.range = sizes[index].range();
        }
    }
    let model = compile(&spec)?;
    let new = &model.structure.learned.terms[first..];
    let weights = (spec.learned_terms[first..].iter())
        .map(|term| Selection::new(format!("learned.{}.weights", term.name)));
    let selections: Vec<Selection> = settings.free.iter().cloned().chain(weights).collect();
    let parameters = Parameters::new(&model, &selections)?;
    if parameters.has_state() {
        let why =
            "the initial state is no parameter of the model: leave state.… out of what is free";
        return Err(error::settings(why));
    }
    let physical = physical(&model, &settings.free)?;
    let count = physical.as_ref().map_or(0, Parameters::len);
    let held_back = match &held_out {
        Some(_) => Vec::new(),
        None => hold_back(&mut recordings, &mut held_out, parameters.len(), settings),
    };
    let mut scale = physical.as_ref().map_or(Vec::new(), |physical| {
        physical_scales(physical, &settings.free)
    });
    scale.extend(
        new.iter().zip(&sizes[first..]).flat_map(|(term, sizes)| {
            (term.form).weight_scales(&sizes.input_sizes(), &sizes.outputs)
        }),
    );
    let mut training = Training {
        settings,
        recordings: &recordings,
        held_out: held_out.as_ref(),
        parameters: &parameters,
        physical: physical.as_ref(),
        scale,
        moves_moments: parameters.names().any(moves_moments),
        stop,
        watch,
    };
    let saved = training.run(resume)?;
    let theta = &saved.best;
    let before = training.validate(parameters.theta0())?;
    let validation = before.zip(training.validate(theta)?);
    let mut next = theta[count..].iter().copied();
    let trained = spec.learned_terms[first..].iter_mut();
    for (term, learned) in trained.zip(new) {
        term.weights = next.by_ref().take(learned.weights.len()).collect();
    }
    let found = |physical: &Parameters| {
        let values = physical.values(physical.theta0());
        let after = physical.values(&theta[..count]);
        let names = physical.names().map(str::to_owned);
        names
            .zip(values.into_iter().zip(after))
            .map(|(name, (a, b))| (name, [a, b]))
            .collect()
    };
    let spec = match &physical {
        None => spec,
        Some(_) => with_parameters(&spec, &settings.free, &theta[..count])?,
    };
    Ok(Learned {
        model: compile(&spec)?,
        weights: parameters.len() - count,
        parameters: physical.as_ref().map_or(Vec::new(), found),
        held_back,
        horizons: saved.done,
        validation: validation.map(|(before, after)| [before, after]),
        is_stopped: stop.is_some_and(|stop| stop.load(Ordering::Relaxed)),
        spec,
    })
}

/// The parameters of the model that are free; none if there are none.
fn physical(model: &Model, free: &[Selection]) -> Result<Option<Parameters>, Error> {
    if free.is_empty() {
        return Ok(None);
    }
    Parameters::new(model, free).map(Some)
}

/// Whether a parameter is a moment of inertia by itself; those of `pseudo_inertia` are always possible.
fn moves_moments(name: &str) -> bool {
    name.contains(".inertia")
}

/// The largest of three moments of inertia in parts of the other two: at most one where a body has them.
fn moment_ratio(mut moments: [f64; 3]) -> f64 {
    moments.sort_by(f64::total_cmp);
    let [a, b, c] = moments;
    match a + b {
        others if others > 0.0 => c / others,
        // A body without any.
        _ if a == 0.0 && c == 0.0 => 0.0,
        _ => f64::INFINITY,
    }
}

/// By how much each parameter of the model must change to matter.
fn physical_scales(physical: &Parameters, free: &[Selection]) -> Vec<f64> {
    let owners = physical.selections_of().iter().zip(physical.theta0());
    let scale = |(&owner, &start): (&usize, &f64)| match free[owner].transform {
        Transform::Log => 1.0,
        _ if start != 0.0 => start.abs(),
        _ => 1.0,
    };
    owners.map(scale).collect()
}

/// A description with parameters of its model that were found; its terms stay as they are.
fn with_parameters(
    spec: &ModelSpec,
    free: &[Selection],
    theta: &[f64],
) -> Result<ModelSpec, Error> {
    let mut plain = spec.clone();
    let terms = std::mem::take(&mut plain.learned_terms);
    let model = compile(&plain)?;
    let text = calibrated(&model, &plain, None, &Parameters::new(&model, free)?, theta)?;
    let files = MemorySource::new().with("calibrated.xml", text);
    let path = "calibrated.xml".as_ref();
    let mut found = carom_spec::read::read(path, &files, &ReadSettings::default()).spec;
    found.learned_terms = terms;
    Ok(found)
}

/// Takes trajectories out of those to train on, spread evenly over them, and says which.
fn hold_back(
    recordings: &mut Recordings,
    held_out: &mut Option<Recordings>,
    unknowns: usize,
    settings: &Settings,
) -> Vec<String> {
    let all = recordings.trajectories.len();
    let share = settings.held_back.unwrap_or_else(|| {
        let is_worth_it = unknowns > MAX_JACOBIAN_UNKNOWNS && all >= HELD_BACK_FROM;
        if is_worth_it {
            1.0 / HELD_BACK_FROM as f64
        } else {
            0.0
        }
    });
    let mut owed = 0.0;
    let mut kept = Vec::new();
    let mut held = Vec::new();
    for trajectory in std::mem::take(&mut recordings.trajectories) {
        owed += share;
        if owed >= 1.0 - 1e-9 {
            owed -= 1.0;
            held.push(trajectory);
        } else {
            kept.push(trajectory);
        }
    }
    let labels = held.iter().map(|one| one.label.clone()).collect();
    recordings.trajectories = kept;
    if !held.is_empty() {
        let mut others = recordings.clone();
        others.trajectories = held;
        *held_out = Some(others);
    }
    labels
}

struct Training<'a, 'w> {
    settings: &'a Settings,
    recordings: &'a Recordings,
    held_out: Option<&'a Recordings>,
    /// Those of the model, then weights.
    parameters: &'a Parameters,
    /// Those of the model alone.
    physical: Option<&'a Parameters>,
    /// Typical sizes of all unknowns.
    scale: Vec<f64>,
    /// Whether moments of inertia are free, each by itself.
    moves_moments: bool,
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

    /// All searches, one after the other: parameters of the model alone first, then all unknowns together.
    fn stages(&self) -> Result<Vec<Stage>, Error> {
        let horizons = self.horizons();
        let mut stages = Vec::new();
        if self.physical.is_some() {
            stages.push(Stage {
                frames: horizons[0],
                way: Way::LeastSquares,
                is_physical: true,
            });
        }
        for (index, &frames) in horizons.iter().enumerate() {
            let mut add = |way| {
                stages.push(Stage {
                    frames,
                    way,
                    is_physical: false,
                });
            };
            if self.parameters.len() <= MAX_JACOBIAN_UNKNOWNS {
                add(Way::LeastSquares);
                continue;
            }
            let problem = self.problem(self.recordings, self.parameters, Some(frames))?;
            let has_batches = problem.all_runs().len() > self.settings.batch;
            if has_batches || index == 0 {
                add(Way::Adam);
            }
            if !has_batches || index + 1 == horizons.len() {
                add(Way::Lbfgs);
            }
        }
        Ok(stages)
    }

    fn problem<'r>(
        &self,
        recordings: &'r Recordings,
        parameters: &Parameters,
        frames: Option<usize>,
    ) -> Result<Problem<'r>, Error> {
        let horizon = frames.map_or(problem::Horizon::Whole, |frames| {
            problem::Horizon::Segments {
                frames,
                every: self.settings.every.unwrap_or(frames - 1),
            }
        });
        let settings = problem::Settings {
            loss: self.settings.loss,
            stepping: self.settings.stepping,
            horizon,
            ..problem::Settings::default()
        };
        Problem::new(recordings, parameters.clone(), settings)
    }

    /// The loss of held-out recordings, over segments as long as the last ones of training: a motion that is not stable cannot be
    /// predicted for longer.
    fn validate(&self, theta: &[f64]) -> Result<Option<f64>, Error> {
        let Some(recordings) = self.held_out else {
            return Ok(None);
        };
        let lengths = recordings.trajectories.iter().map(Trajectory::frames);
        let frames = (self.horizons().last().copied()).filter(|&last| {
            !self.settings.horizons.is_empty() && lengths.clone().any(|frames| frames > last)
        });
        let problem = self.problem(recordings, self.parameters, frames)?;
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
        for byte in format!("{:?}", self.settings).bytes() {
            mix(u64::from(byte));
        }
        hash
    }

    fn run(&mut self, resume: Option<&[u8]>) -> Result<Saved, Error> {
        let (stages, fingerprint) = (self.stages()?, self.fingerprint());
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
                rounds_without: 0,
                start: begin.clone(),
                stage_best: begin.clone(),
                stage_measure: f64::INFINITY,
                best: begin,
                best_measure: f64::INFINITY,
                done: Vec::new(),
                evaluations: 0,
            },
        };
        while let Some(stage) = stages.get(saved.stage) {
            let parameters = match self.physical {
                Some(physical) if stage.is_physical => physical,
                _ => self.parameters,
            };
            let problem = self.problem(self.recordings, parameters, Some(stage.frames))?;
            let mut work = Work {
                stage: *stage,
                of: stages.len(),
                problem,
            };
            if !self.round(&mut work, &mut saved)? {
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

    fn space(&self, parameters: &Parameters, start: &[f64]) -> Result<Space, Error> {
        let mut bounds = parameters.bounds();
        let owners = parameters.selections_of().iter();
        for ((bounds, &owner), start) in bounds.iter_mut().zip(owners).zip(parameters.theta0()) {
            let free = self.settings.free.get(owner);
            if free.is_some_and(|free| free.transform == Transform::Log) {
                bounds[0] = bounds[0].max(start - MAX_LOG_DISTANCE);
                bounds[1] = bounds[1].min(start + MAX_LOG_DISTANCE);
            }
        }
        let (lower, upper) = bounds.iter().map(|&[low, high]| (low, high)).unzip();
        let scale = self.scale[..start.len()].to_vec();
        Bounds::new(lower, upper)
            .and_then(|bounds| Space::new(start.to_vec(), bounds)?.with_scale(scale))
            .map_err(error::space)
    }

    /// The search of a stage, from its start.
    fn search(&self, work: &Work<'_>, start: &[f64]) -> Result<Search<AnyMethod>, Error> {
        let method = match work.stage.way {
            Way::LeastSquares => LocalSettings::LeastSquares(LeastSquaresSettings::default()),
            Way::Adam => LocalSettings::Adam(AdamSettings {
                schedule: Schedule::Cosine {
                    rate: self.settings.rate,
                    last: 0.05,
                },
                clip: Some(ADAM_CLIP),
                // One more than are taken: a search that goes on says where it is.
                steps: self.settings.steps + 1,
                ..AdamSettings::default()
            }),
            Way::Lbfgs => LocalSettings::Lbfgsb(LbfgsbSettings {
                memory: 20,
                value_tolerance: 1e-7,
                ..LbfgsbSettings::default()
            }),
        };
        let space = self.space(work.problem.parameters(), start)?;
        Ok(Method::Local(method).search(space, 0))
    }

    /// Weights that are large cost something: one residual for each.
    fn penalty(&self, x: &[f64]) -> Vec<(usize, f64)> {
        if self.settings.regularization == 0.0 {
            return Vec::new();
        }
        let first = self.physical.map_or(0, Parameters::len);
        let factor = (2.0 * self.settings.regularization).sqrt();
        (first..x.len())
            .map(|index| (index, factor / self.scale[index]))
            .collect()
    }

    /// The loss of all segments of a stage, with what the weights cost.
    fn value(&self, problem: &Problem<'_>, x: &[f64]) -> Result<f64, Error> {
        let costs = self.penalty(x).into_iter().map(|(index, factor)| {
            let residual = factor * x[index];
            0.5 * residual * residual
        });
        Ok(problem.value(x)?.value + costs.sum::<f64>())
    }

    /// Some evaluations of a stage, and what follows from them; false if training was told to stop.
    fn round(&mut self, work: &mut Work<'_>, saved: &mut Saved) -> Result<bool, Error> {
        let count = work.problem.parameters().len();
        let whole = |point: &[f64], saved: &Saved| [point, &saved.start[count..]].concat();
        let mut search = match &saved.search {
            Some(bytes) => {
                Search::resume(bytes).map_err(|cause| Error::of(ErrorKind::Checkpoint, cause))?
            }
            None => self.search(work, &saved.start[..count])?,
        };
        if saved.before.is_nan() {
            saved.before = self.value(&work.problem, &saved.start[..count])?;
            saved.stage_best.clone_from(&saved.start);
            saved.stage_measure = self.validate(&saved.start)?.unwrap_or(saved.before);
        }
        // Adam ends before its last step, so that the point reached can be asked for.
        let most = match work.stage.way {
            Way::Adam => self.settings.steps,
            _ => self.settings.evaluations,
        };
        let round_end = match work.stage.way {
            Way::Adam => (search.evaluations() + ROUND).min(most.max(1)),
            _ => search.evaluations() + ROUND,
        };
        let limits = Limits {
            evaluations: Some(round_end),
            stop: self.stop,
            ..Limits::default()
        };
        let begun = search.evaluations();
        let (mut step, mut losses) = (begun, Vec::new());
        let runs: Vec<Run> = work.problem.all_runs().collect();
        let is_batched = work.stage.way == Way::Adam && runs.len() > self.settings.batch;
        let mut evaluator = OneByOne(|request: &carom_optimise::Request| {
            let outcome = if is_batched {
                let batch = self.batch(&work.problem, &runs, step);
                batch.and_then(|batch| self.evaluate(&batch, &request.point, request.want))
            } else {
                self.evaluate(&work.problem, &request.point, request.want)
            };
            step += 1;
            if let Ok(Evaluation::Gradient { value, .. }) = &outcome {
                losses.push(*value);
            }
            outcome
        });
        let end = minimise(&mut search, &mut evaluator, &limits, &mut Unobserved)
            .map_err(|cause| error::no_loss(Error::of(ErrorKind::Loss, cause)))?;
        saved.evaluations += search.evaluations() - begun;
        let is_stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        // What was lowest over some segments says little: the point reached is judged.
        let reached = if is_batched {
            let point = search.ask().first().map(|request| request.point.clone());
            let mean = losses.iter().sum::<f64>() / losses.len().max(1) as f64;
            point.map(|point| (point, mean))
        } else {
            search.best().map(|best| (best.point, best.value))
        };
        let Some((point, loss)) = reached else {
            if is_stopped {
                return Ok(false);
            }
            let why = search.last_failure().map_or_else(
                || "nothing could be evaluated".to_owned(),
                |failure| failure.reason.clone(),
            );
            return Err(error::no_loss(error::simulation(why)));
        };
        let point = whole(&point, saved);
        let validation = self.validate(&point)?;
        let measure = match validation {
            Some(validation) => validation,
            None if is_batched => self.value(&work.problem, &point[..count])?,
            None => loss,
        };
        if measure < saved.stage_measure {
            saved.stage_measure = measure;
            saved.stage_best = point;
            saved.rounds_without = 0;
        } else {
            saved.rounds_without += 1;
        }
        if self.held_out.is_none() || saved.stage_measure < saved.best_measure {
            saved.best_measure = saved.stage_measure;
            saved.best.clone_from(&saved.stage_best);
        }
        if is_stopped {
            return Ok(false);
        }
        self.watch.progress(&Progress {
            search: [saved.stage + 1, work.of],
            what: work.stage.words(),
            frames: work.stage.frames,
            evaluations: [saved.evaluations, most],
            loss,
            validation,
        });
        let is_running = search.status().is_running();
        let is_spent = saved.evaluations >= most;
        let is_stale = validation.is_some() && saved.rounds_without >= PATIENCE;
        if is_running && !is_spent && !is_stale {
            let bytes = search.checkpoint();
            saved.search = Some(bytes.map_err(|cause| Error::of(ErrorKind::Checkpoint, cause))?);
            return Ok(true);
        }
        saved.done.push(Horizon {
            frames: work.stage.frames,
            search: work.stage.words().to_owned(),
            evaluations: saved.evaluations,
            before: saved.before,
            after: self.value(&work.problem, &saved.stage_best[..count])?,
            validation: self.held_out.map(|_| saved.stage_measure),
            end: match (is_stale, is_spent) {
                (true, _) => "held-out recordings are predicted no better".to_owned(),
                (_, true) => "all evaluations are used up".to_owned(),
                _ => end.to_string(),
            },
        });
        saved.start.clone_from(&saved.stage_best);
        saved.search = None;
        saved.stage += 1;
        saved.before = f64::NAN;
        saved.evaluations = 0;
        saved.rounds_without = 0;
        Ok(true)
    }

    /// The segments of a step of Adam: all of them once in random order, and then again in another one.
    fn batch<'r>(
        &self,
        problem: &Problem<'r>,
        runs: &[Run],
        step: u64,
    ) -> Result<Problem<'r>, Failure> {
        let size = self.settings.batch;
        let a_pass = (runs.len() / size).max(1) as u64;
        let order = Random::new(0, step / a_pass).shuffled(runs.len());
        let place = usize::try_from(step % a_pass).unwrap_or(0) * size;
        let chosen = order[place..place + size].iter().map(|&run| runs[run]);
        let settings = problem::Settings {
            runs: Some(chosen.collect()),
            ..problem.settings().clone()
        };
        let batch = Problem::new(problem.recordings, problem.parameters().clone(), settings);
        batch.map_err(|cause| Failure::new(cause.to_string()))
    }

    /// Refuses a point where a body has moments of inertia that no body has: the model could not be written.
    fn check_moments(&self, parameters: &Parameters, x: &[f64]) -> Result<(), Failure> {
        if !self.moves_moments {
            return Ok(());
        }
        let model = parameters.apply(x);
        let model = model.map_err(|cause| Failure::new(cause.to_string()))?;
        let before = &parameters.base().bodies.inertia;
        for (body, (after, before)) in model.bodies.inertia.iter().zip(before).enumerate().skip(1) {
            // Not to the last digit: the written model must have them too. A flat body is at the limit from the beginning.
            let limit = (1.0 - MOMENT_MARGIN).max(moment_ratio(before.0) * (1.0 + MOMENT_ROUNDING));
            if moment_ratio(after.0) > limit {
                let why = format!("the moments of inertia of body {body} are those of no body");
                return Err(Failure::new(why));
            }
        }
        Ok(())
    }

    /// What a search wants to know at a point.
    fn evaluate(&self, problem: &Problem<'_>, x: &[f64], want: Want) -> Outcome {
        self.check_moments(problem.parameters(), x)?;
        let failed = |failures: &[problem::Failure]| match failures.first() {
            Some(failure) => Err(Failure::new(failure.why.to_string())),
            None => Ok(()),
        };
        let wrong = |error: Error| Failure::new(error.to_string());
        let penalty = self.penalty(x);
        let costs = penalty.iter().map(|&(index, factor)| factor * x[index]);
        match want {
            Want::Value | Want::Residuals => {
                let mut found = problem.residuals(x).map_err(wrong)?;
                failed(&found.failures)?;
                found.residuals.extend(costs);
                Ok(Evaluation::Residuals(found.residuals))
            }
            Want::Jacobian => {
                let mut found = problem.linearize(x).map_err(wrong)?;
                failed(&found.failures)?;
                let mut numbers = found.dense();
                for &(index, factor) in &penalty {
                    let row = numbers.len();
                    numbers.resize(row + x.len(), 0.0);
                    numbers[row + index] = factor;
                }
                found.residuals.extend(costs);
                let rows = found.residuals.len();
                let jacobian = Matrix::from_data(rows, x.len(), numbers)
                    .ok_or_else(|| Failure::new("the Jacobian has another shape"))?;
                Ok(Evaluation::Jacobian {
                    residuals: found.residuals,
                    jacobian,
                })
            }
            Want::Gradient => {
                let mut found = problem.gradient(x).map_err(wrong)?;
                failed(&found.failures)?;
                for (residual, &(index, factor)) in costs.zip(&penalty) {
                    found.value += 0.5 * residual * residual;
                    found.gradient[index] += residual * factor;
                }
                Ok(Evaluation::Gradient {
                    value: found.value,
                    gradient: found.gradient,
                })
            }
        }
    }
}

/// A stage made ready.
struct Work<'r> {
    stage: Stage,
    /// How many there are.
    of: usize,
    problem: Problem<'r>,
}
