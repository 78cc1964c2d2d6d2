//! Which contact law explains recordings best: `carom identify --laws auto`.
//!
//! Every [`Candidate`] is fitted to all recordings, by CMA-ES on the mean of distance over size and angle, and again without
//! each of them in turn. The candidate whose fits predict the recordings that were left out best is chosen. Where frames before
//! the start were recorded, fits begin from a line through them with the candidate's own friction, so that noise of the
//! velocities does not become a wrong parameter.

mod candidate;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use carom::{Error, ErrorKind, Model};
use carom_optimise::{
    Answer, Bounds, CmaEs, CmaSettings, Evaluation, Evaluator, Limits, Optimiser, Request, Search,
    Space, Unobserved, minimise,
};
use carom_spec::ModelSpec;
use carom_spec::mjcf::{AssetStorage, patched, write_with};
use rayon::prelude::*;

pub use candidate::Candidate;
use candidate::{Scene, Unknown, moving};

use super::Original;
use crate::error;
use crate::evaluate::evaluate;
use crate::problem::Stepping;
use crate::recording::{Recordings, line};

/// The error of Eq. 1: what reports call it.
pub const METRIC: &str = "distance_and_angle";
/// What a fit counts that cannot be simulated.
const FAILED: f64 = 1e3;
/// Points of a generation.
const POPULATION: usize = 8;
/// First standard deviation of a search, in parts of the ranges.
const SIGMA: f64 = 0.17;
/// Evaluations of a search, and of those without a recording. Those begin anew: from where a fit to all recordings ended,
/// they would know what they are to predict.
const EVALUATIONS: [u64; 2] = [176, 112];

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct LawQuestion<'a> {
    /// The model at the start.
    pub spec: &'a ModelSpec,
    /// The files that it comes from.
    pub original: Option<Original<'a>>,
    /// Recordings of the fit.
    pub recordings: &'a Recordings,
    /// Held-out recordings, on which the chosen law is measured.
    pub held_out: Option<&'a Recordings>,
    /// The laws to choose among.
    pub candidates: &'a [Candidate],
    /// Of random numbers.
    pub seed: u64,
}

/// A law with what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct LawFit {
    /// The law.
    pub candidate: Candidate,
    /// Its numbers: name, value, unit.
    pub numbers: Vec<(&'static str, f64, &'static str)>,
    /// Mean error on the recordings of the fit.
    pub fitted: f64,
    /// Mean error on recordings that were left out of fits.
    pub left_out: f64,
    /// Simulated sets of recordings.
    pub evaluations: u64,
    /// Where the search ended, by unknown.
    values: Vec<(Unknown, f64)>,
}

/// The answer.
#[derive(Clone, Debug)]
pub struct LawChoice {
    /// All laws that were tried, in the order of the question.
    pub fits: Vec<LawFit>,
    /// The place of the chosen one.
    pub chosen: usize,
    /// The calibrated model as MJCF.
    pub description: String,
    /// Errors of the fit from initial states as the mapping has them, and from estimated ones where that is possible.
    pub fitted: [Option<f64>; 2],
    /// The same on held-out recordings.
    pub held_out: [Option<f64>; 2],
    /// Seconds that it took.
    pub seconds: f64,
}

impl LawChoice {
    /// The chosen law.
    pub fn best(&self) -> &LawFit {
        &self.fits[self.chosen]
    }
}

/// Fits all candidates and chooses among them; `told` hears of each. The numbers are the same for any number of threads.
///
/// # Errors
/// When errors cannot be measured, nothing can be simulated, or it was stopped before the first law was fitted.
pub fn choose_law(
    question: &LawQuestion<'_>,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&LawFit),
) -> Result<LawChoice, Error> {
    let begin = Instant::now();
    let scene = scene(question)?;
    let mut fits: Vec<LawFit> = Vec::new();
    for &candidate in question.candidates {
        if stop.load(Ordering::Relaxed) && !fits.is_empty() {
            break;
        }
        let fit = fit(question, (candidate, scene), stop)?;
        told(&fit);
        fits.push(fit);
    }
    let least = (0..fits.len()).min_by(|&a, &b| fits[a].left_out.total_cmp(&fits[b].left_out));
    let Some(chosen) = least.filter(|&chosen| fits[chosen].left_out < FAILED) else {
        return Err(error::settings(
            "no contact law could simulate the recordings; look at them with `carom evaluate` first",
        ));
    };
    let best = &fits[chosen];
    let model = compiled(
        &best
            .candidate
            .applied(question.spec, &best.values, (scene, false)),
    )?;
    let errors = |recordings: &Recordings| {
        let estimated = (recordings.start > 0).then(|| {
            let mut recordings = recordings.clone();
            line::estimate(&model, &mut recordings);
            error_of(&model, &recordings)
        });
        [error_of(&model, recordings), estimated.flatten()]
    };
    Ok(LawChoice {
        description: described(question, best, scene),
        fitted: errors(question.recordings),
        held_out: question.held_out.map_or([None; 2], errors),
        chosen,
        fits,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// Checks the question, and measures what candidates scale with.
fn scene(question: &LawQuestion<'_>) -> Result<Scene, Error> {
    let spec = question.spec;
    if question.recordings.evaluate.size.is_none() {
        return Err(error::settings(
            "--laws compares distances with the size of the bodies; give [evaluate] size = 0.06 (m) in the mapping",
        ));
    }
    if !spec.pairs.is_empty() || !spec.contact_laws.is_empty() {
        return Err(error::settings(
            "--laws chooses for models whose geoms alone say how they touch; leave out <pair> and carom/contact texts",
        ));
    }
    if question.candidates.is_empty() {
        return Err(error::settings("--laws names no law; write --laws auto"));
    }
    let model = compiled(spec)?;
    let moves = moving(spec);
    let masses: Vec<f64> = (0..model.counts().nbody)
        .filter(|&body| moves.get(body).copied().unwrap_or(false))
        .map(|body| model.bodies.mass[body])
        .filter(|&mass| mass > 0.0)
        .collect();
    if masses.is_empty() {
        return Err(error::settings(
            "nothing moves in the model, so that no contact can be identified",
        ));
    }
    Ok(Scene {
        mass: masses.iter().sum::<f64>() / masses.len() as f64,
        has_pairs: masses.len() > 1,
    })
}

fn compiled(spec: &ModelSpec) -> Result<Model, Error> {
    let (model, problems) = carom::compile::compile(spec);
    model.ok_or_else(|| {
        let first = problems.iter().find(|problem| problem.is_error());
        let why = first.map_or_else(String::new, |problem| problem.message.clone());
        Error::new(
            ErrorKind::Unsupported,
            format!("the model does not go with the law: {why}"),
        )
    })
}

/// Mean error over recordings; none where a simulation fails.
fn error_of(model: &Model, recordings: &Recordings) -> Option<f64> {
    let report = evaluate(model, recordings, Stepping::Fixed).ok()?;
    let has_failed = report.failures().next().is_some();
    let error = report.total_of(METRIC)?;
    (!has_failed && error.is_finite()).then_some(error)
}

/// One law with its search.
struct Fitting<'a> {
    question: &'a LawQuestion<'a>,
    candidate: Candidate,
    scene: Scene,
    unknowns: Vec<Unknown>,
}

impl Fitting<'_> {
    /// The numbers at a point of the unit box.
    fn values(&self, point: &[f64]) -> Vec<(Unknown, f64)> {
        let place = |(&unknown, &share): (&Unknown, &f64)| {
            let ([low, _, high], is_log) = unknown.range();
            let value = if is_log {
                (low.ln() + share * (high / low).ln()).exp()
            } else {
                low + share * (high - low)
            };
            (unknown, value)
        };
        self.unknowns.iter().zip(point).map(place).collect()
    }

    fn first(&self) -> Vec<f64> {
        let share = |unknown: &Unknown| {
            let ([low, first, high], is_log) = unknown.range();
            if is_log {
                (first / low).ln() / (high / low).ln()
            } else {
                (first - low) / (high - low)
            }
        };
        self.unknowns.iter().map(share).collect()
    }

    fn error(&self, point: &[f64], recordings: &Recordings) -> f64 {
        let spec =
            self.candidate
                .applied(self.question.spec, &self.values(point), (self.scene, false));
        let Ok(model) = compiled(&spec) else {
            return FAILED;
        };
        let mut begun = recordings.clone();
        if recordings.start > 0 {
            line::estimate(&model, &mut begun);
        }
        error_of(&model, &begun).unwrap_or(FAILED)
    }

    /// The lowest point of a search, its error, and how many were tried.
    fn search(
        &self,
        recordings: &Recordings,
        (start, round): (Vec<f64>, usize),
        stop: &AtomicBool,
    ) -> Result<(Vec<f64>, f64, u64), Error> {
        let count = start.len();
        let bounds = Bounds::new(vec![0.0; count], vec![1.0; count]).map_err(error::space)?;
        let space = Space::new(start.clone(), bounds).map_err(error::space)?;
        let settings = CmaSettings {
            sigma: SIGMA,
            population: Some(POPULATION),
            ..CmaSettings::default()
        };
        let method = CmaEs::new(&space, settings, self.question.seed);
        let mut search = Search::new(space, method);
        let limits = Limits {
            evaluations: Some(EVALUATIONS[round]),
            stop: Some(stop),
            ..Limits::default()
        };
        let mut generation = Generation {
            fitting: self,
            recordings,
        };
        minimise(&mut search, &mut generation, &limits, &mut Unobserved)
            .map_err(|cause| Error::of(ErrorKind::Loss, cause))?;
        let tried = search.evaluations();
        Ok(match search.best() {
            Some(best) => (best.point, best.value, tried),
            None => (start, FAILED, tried),
        })
    }
}

/// The points of a generation, at once.
struct Generation<'a> {
    fitting: &'a Fitting<'a>,
    recordings: &'a Recordings,
}

impl Evaluator for Generation<'_> {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer> {
        let answers = requests.par_iter().map(|request| {
            let error = self.fitting.error(&request.point, self.recordings);
            request.answer(Ok(Evaluation::Value(error)))
        });
        answers.collect()
    }
}

/// Fits one law to all recordings, and to all but one of them.
fn fit(
    question: &LawQuestion<'_>,
    (candidate, scene): (Candidate, Scene),
    stop: &AtomicBool,
) -> Result<LawFit, Error> {
    let fitting = Fitting {
        question,
        candidate,
        scene,
        unknowns: candidate.unknowns(scene),
    };
    let all = question.recordings;
    let (point, fitted, mut evaluations) = fitting.search(all, (fitting.first(), 0), stop)?;
    let count = all.trajectories.len();
    let mut left_out = Vec::new();
    for out in (0..count).filter(|_| count > 1) {
        let part = |keep: &dyn Fn(usize) -> bool| {
            let mut part = all.clone();
            let mut index = 0;
            part.trajectories.retain(|_| {
                index += 1;
                keep(index - 1)
            });
            part
        };
        let (others, held) = (part(&|index| index != out), part(&|index| index == out));
        let (found, _, tried) = fitting.search(&others, (fitting.first(), 1), stop)?;
        evaluations += tried;
        left_out.push(fitting.error(&found, &held));
    }
    // With a single recording there is nothing to leave out.
    let left_out = if left_out.is_empty() {
        fitted
    } else {
        left_out.iter().sum::<f64>() / left_out.len() as f64
    };
    let values = fitting.values(&point);
    let numbers = values.iter().map(|&(unknown, value)| {
        let (name, unit) = unknown.words();
        (name, candidate.reported(unknown, value, scene), unit)
    });
    Ok(LawFit {
        candidate,
        numbers: numbers.collect(),
        fitted,
        left_out,
        evaluations,
        values,
    })
}

/// The calibrated model: a patch of its file where there is one.
fn described(question: &LawQuestion<'_>, fit: &LawFit, scene: Scene) -> String {
    let spec = fit
        .candidate
        .applied(question.spec, &fit.values, (scene, true));
    let patch = question
        .original
        .and_then(|original| patched(original.sources, original.spec, &spec).ok());
    patch.unwrap_or_else(|| {
        let whole = fit
            .candidate
            .applied(question.spec, &fit.values, (scene, false));
        write_with(&whole, AssetStorage::Inline)
    })
}
