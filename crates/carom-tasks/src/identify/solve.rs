//! The solve: an optimiser is asked and told, with limits, progress, and a checkpoint after every batch.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use carom_optimise::{
    Answer, AnyMethod, End, Evaluator, Limits, Observer, Optimiser, Progress, Request, RunError,
    Search, Status, checkpoint, minimise,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::OptimiserKind;
use super::task::Task;
use super::workflow::Event;
use crate::error;
use crate::problem::Horizon;
use carom::{Error, ErrorKind};

/// Frames of the segments that a warm-up fits, one after the other.
const WARM_UP: [usize; 3] = [5, 12, 30];
/// Evaluations of each.
const WARM_UP_EVALUATIONS: u64 = 30;

/// Who watches a solve.
pub trait Watch: Send {
    /// After every batch: evaluations so far, and the lowest loss.
    fn progress(&mut self, evaluations: u64, lowest: f64) {
        let _ = (evaluations, lowest);
    }

    /// At turns of the [workflow](super::workflow).
    fn event(&mut self, event: Event<'_>) {
        let _ = event;
    }

    /// Whether [`Self::checkpoint`] is to be called.
    fn wants_checkpoints(&self) -> bool {
        false
    }

    /// The solve after each batch, as bytes to be stored.
    ///
    /// # Errors
    /// When they cannot be; the solve ends there.
    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let _ = bytes;
        Ok(())
    }
}

/// Nobody watches.
pub struct Unwatched;
impl Watch for Unwatched {}

/// The end of a solve.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "what is so of an end does not exclude each other"
)]
pub struct Solution {
    /// The unknowns of the lowest loss: θ, then the shifts of the starts.
    pub x: Vec<f64>,
    /// The loss there.
    pub value: f64,
    /// Why the search ended, in a sentence.
    pub end: String,
    /// Whether it ended by itself at a goal, and not by a limit, on request or because it was stuck.
    pub is_finished: bool,
    /// Whether no more progress was possible although the goal was not reached.
    pub is_stalled: bool,
    /// Whether it was told to stop.
    pub is_stopped: bool,
    /// Whether derivatives misled the search, so that it continued with secants.
    pub is_by_secants: bool,
    /// The loss of every evaluation, in order; infinite where it failed.
    pub history: Vec<f64>,
}

/// What a checkpoint holds.
#[derive(Serialize, Deserialize)]
struct Saved {
    /// Of the question, so that another one is not resumed with it.
    fingerprint: u64,
    history: Vec<f64>,
    search: Vec<u8>,
}

impl Task<'_> {
    /// Makes the loss small, from the start or from a checkpoint, and where it has walls, looks for lower values around. `stop` ends the search after a batch; the best point so far
    /// is kept. The result is the same to the bit for any number of threads, and if the search was ended and resumed.
    ///
    /// # Errors
    /// When nothing can be evaluated, or a checkpoint cannot be stored or is of another question.
    pub fn solve(
        &self,
        resume: Option<&[u8]>,
        stop: Option<&AtomicBool>,
        watch: &mut dyn Watch,
    ) -> Result<Solution, Error> {
        self.on_threads(move || {
            let found = self.search(resume, stop, watch)?;
            self.scattered(found, stop)
        })
    }

    /// Looks for a better start on short segments first, whose loss has few minima, where whole trajectories are compared and
    /// the optimiser was left open. It is the same for any number of threads, and each time: a resumed search does it again.
    ///
    /// # Errors
    /// When the model cannot be simulated at the start.
    pub fn warm_up(&mut self, stop: Option<&AtomicBool>) -> Result<(), Error> {
        if self.grows() {
            return self.grow(stop);
        }
        let is_whole = self.settings.problem.horizon == Horizon::Whole;
        if !is_whole || self.settings.optimiser != OptimiserKind::Auto || self.torques.is_some() {
            return Ok(());
        }
        let longest = self.problem.all_runs().map(|run| run.last - run.first);
        let longest = longest.max().unwrap_or(0);
        let mut lowest = self.loss_at(self.start())?;
        for frames in WARM_UP.into_iter().filter(|frames| 2 * frames <= longest) {
            let mut short = self.on_segments(frames)?;
            short.settings.evaluations = Some(WARM_UP_EVALUATIONS);
            short.optimiser = OptimiserKind::Lm;
            let Ok(found) = short.solve(None, stop, &mut Unwatched) else {
                continue;
            };
            let before = self.clone();
            self.start_at(&found.x)?;
            match self.loss_at(self.start()) {
                Ok(value) if value < lowest => lowest = value,
                _ => *self = before,
            }
        }
        Ok(())
    }

    pub(super) fn loss_at(&self, x: &[f64]) -> Result<f64, Error> {
        self.on_threads(|| {
            let residuals = self.residuals(x).map_err(error::no_loss)?;
            Ok(0.5 * residuals.iter().map(|r| r * r).sum::<f64>())
        })
    }

    fn search(
        &self,
        resume: Option<&[u8]>,
        stop: Option<&AtomicBool>,
        watch: &mut dyn Watch,
    ) -> Result<Solution, Error> {
        let fingerprint = self.fingerprint()?;
        let (mut search, history) = match resume {
            None => (
                self.optimiser
                    .search_settings(self)
                    .search(self.space.clone(), self.settings.seed),
                Vec::new(),
            ),
            Some(bytes) => resumed(bytes, fingerprint)?,
        };
        let history = Mutex::new(history);
        let mut evaluator = Evaluate {
            task: self,
            history: &history,
        };
        let mut observer = Observe {
            fingerprint,
            history: &history,
            watch,
        };
        let limits = Limits {
            evaluations: self.settings.evaluations,
            time: self.settings.seconds.map(Duration::from_secs_f64),
            target: None,
            stop,
        };
        let end =
            minimise(&mut search, &mut evaluator, &limits, &mut observer).map_err(|error| {
                match error {
                    RunError::Store { reason } => Error::new(
                        ErrorKind::Checkpoint,
                        format!("the checkpoint could not be stored: {reason}"),
                    ),
                    other => error::no_loss(Error::of(ErrorKind::Loss, other)),
                }
            })?;
        let Some(best) = search.best() else {
            let why = search.last_failure().map_or_else(
                || "the search was ended before anything was evaluated".to_owned(),
                |failure| failure.reason.clone(),
            );
            return Err(error::no_loss(error::simulation(why)));
        };
        Ok(self.polished(Solution {
            x: best.point,
            value: best.value,
            end: end.to_string(),
            is_finished: matches!(
                end,
                End::Target | End::Search(Status::Converged(_) | Status::Finished(_))
            ),
            is_stalled: matches!(end, End::Search(Status::Stalled(_))),
            is_stopped: end == End::Stopped,
            is_by_secants: search.method().is_by_secants(),
            history: history.into_inner().unwrap_or_default(),
        }))
    }

    /// A number that tells questions apart: parameters, bounds, settings and the residuals at the start.
    fn fingerprint(&self) -> Result<u64, Error> {
        let residuals = self.residuals(self.start()).map_err(error::no_loss)?;
        let names: Vec<&str> = self.parameters().names().collect();
        let text = format!(
            "{names:?} {:?} {:?} {:?} {:?} {}",
            self.space,
            self.priors,
            self.problem.settings(),
            self.optimiser,
            self.settings.seed
        );
        let numbers = residuals
            .iter()
            .flat_map(|residual| residual.to_bits().to_le_bytes());
        // Fowler, Noll and Vo's sum.
        Ok(text
            .bytes()
            .chain(numbers)
            .fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| {
                (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            }))
    }
}

fn resumed(bytes: &[u8], fingerprint: u64) -> Result<(Search<AnyMethod>, Vec<f64>), Error> {
    let wrong = |cause: checkpoint::CheckpointError| Error::of(ErrorKind::Checkpoint, cause);
    let saved: Saved = checkpoint::decode(bytes).map_err(wrong)?;
    if saved.fingerprint != fingerprint {
        let sentence = "the checkpoint is of another question: resume with the same model, recordings, parameters, settings and seed, or start anew without --resume";
        return Err(Error::new(ErrorKind::Checkpoint, sentence));
    }
    let search = Search::resume(&saved.search).map_err(wrong)?;
    Ok((search, saved.history))
}

struct Evaluate<'t, 'a> {
    task: &'t Task<'a>,
    history: &'t Mutex<Vec<f64>>,
}

impl Evaluator for Evaluate<'_, '_> {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer> {
        let answers: Vec<Answer> = requests
            .par_iter()
            .map(|request| request.answer(self.task.evaluate(&request.point, request.want)))
            .collect();
        if let Ok(mut history) = self.history.lock() {
            let value = |answer: &Answer| match &answer.outcome {
                Ok(found) if found.value().is_finite() => found.value(),
                _ => f64::INFINITY,
            };
            history.extend(answers.iter().map(value));
        }
        answers
    }
}

struct Observe<'t> {
    fingerprint: u64,
    history: &'t Mutex<Vec<f64>>,
    watch: &'t mut dyn Watch,
}

impl Observer for Observe<'_> {
    fn progress(&mut self, progress: &Progress) {
        let lowest = progress
            .best
            .as_ref()
            .map_or(f64::INFINITY, |best| best.value);
        self.watch.progress(progress.evaluations, lowest);
    }

    fn wants_checkpoints(&self) -> bool {
        self.watch.wants_checkpoints()
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), String> {
        let history = self
            .history
            .lock()
            .map_err(|error| error.to_string())?
            .clone();
        let saved = Saved {
            fingerprint: self.fingerprint,
            history,
            search: bytes.to_vec(),
        };
        let bytes = checkpoint::encode(&saved).map_err(|error| error.to_string())?;
        self.watch
            .checkpoint(&bytes)
            .map_err(|error| error.to_string())
    }
}
