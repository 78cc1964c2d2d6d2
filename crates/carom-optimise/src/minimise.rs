//! The loop around ask and tell, with limits, progress and checkpoints.

use std::error::Error;
use std::fmt::{self, Display};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::checkpoint::CheckpointError;
use crate::optimiser::{Best, Optimiser, Status, TellError};
use crate::request::{Answer, Outcome, Request};

/// Who evaluates: a batch at a time, so that it can be shared out over threads.
pub trait Evaluator {
    /// Answers to all requests, in any order.
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer>;
}

/// Evaluate the requests of a batch one after the other by a function of the request.
pub struct OneByOne<F>(pub F);

impl<F: FnMut(&Request) -> Outcome> Evaluator for OneByOne<F> {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer> {
        requests
            .iter()
            .map(|request| request.answer((self.0)(request)))
            .collect()
    }
}

/// When to stop although the search goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// Evaluations in all, those before a resume included. A batch that was asked is finished.
    pub evaluations: Option<u64>,
    /// Wall time of this run.
    pub time: Option<Duration>,
    /// A value that is low enough.
    pub target: Option<f64>,
    /// Stop as soon as this is set, by a signal handler or another thread.
    pub stop: Option<&'a AtomicBool>,
}

/// Where a run stands.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Batches told in this run.
    pub batches: u64,
    /// Evaluations in all.
    pub evaluations: u64,
    /// Failures among the answers of the last batch.
    pub failures: usize,
    /// The lowest point so far.
    pub best: Option<Best>,
    /// Time since the run began.
    pub elapsed: Duration,
}

/// Who watches a run.
pub trait Observer {
    /// A batch was told.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }

    /// Whether [`Observer::checkpoint`] is to be called.
    fn wants_checkpoints(&self) -> bool {
        false
    }

    /// The search after each batch, as bytes to be stored. A run ends where that fails.
    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), String> {
        let _ = bytes;
        Ok(())
    }
}

/// Nobody watches.
pub struct Unobserved;

impl Observer for Unobserved {}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The search itself did.
    Search(Status),
    /// The number of evaluations is used up.
    Evaluations,
    /// The time is used up.
    Time,
    /// The value is low enough.
    Target,
    /// It was told to stop.
    Stopped,
}

impl Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Search(status) => f.write_str(status.reason()),
            Self::Evaluations => f.write_str("all evaluations are used up"),
            Self::Time => f.write_str("the time is used up"),
            Self::Target => f.write_str("the value is as low as asked for"),
            Self::Stopped => f.write_str("stopped on request"),
        }
    }
}

/// Ask, evaluate and tell until the search ends or a limit is met.
pub fn minimise(
    optimiser: &mut dyn Optimiser,
    evaluator: &mut dyn Evaluator,
    limits: &Limits<'_>,
    observer: &mut dyn Observer,
) -> Result<End, RunError> {
    let begin = Instant::now();
    let mut batches = 0;
    loop {
        if let Some(end) = met_limit(optimiser, limits, begin) {
            return Ok(end);
        }
        let requests = optimiser.ask();
        if requests.is_empty() {
            return Ok(End::Search(optimiser.status()));
        }
        let answers = evaluator.evaluate(&requests);
        check_all_answered(&requests, &answers)?;
        let failures = answers.iter().filter(|a| a.outcome.is_err()).count();
        optimiser.tell(answers)?;
        batches += 1;
        if observer.wants_checkpoints() {
            let bytes = optimiser.checkpoint()?;
            observer
                .checkpoint(&bytes)
                .map_err(|reason| RunError::Store { reason })?;
        }
        observer.progress(&Progress {
            batches,
            evaluations: optimiser.evaluations(),
            failures,
            best: optimiser.best(),
            elapsed: begin.elapsed(),
        });
    }
}

fn met_limit(optimiser: &dyn Optimiser, limits: &Limits<'_>, begin: Instant) -> Option<End> {
    let status = optimiser.status();
    if !status.is_running() {
        return Some(End::Search(status));
    }
    let low_enough = |target: f64| optimiser.best().is_some_and(|best| best.value <= target);
    if limits.target.is_some_and(low_enough) {
        return Some(End::Target);
    }
    if limits.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        return Some(End::Stopped);
    }
    if (limits.evaluations).is_some_and(|most| optimiser.evaluations() >= most) {
        return Some(End::Evaluations);
    }
    if limits.time.is_some_and(|most| begin.elapsed() >= most) {
        return Some(End::Time);
    }
    None
}

/// An evaluator that leaves requests out would be asked for them for ever.
fn check_all_answered(requests: &[Request], answers: &[Answer]) -> Result<(), RunError> {
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer.id).collect();
    ids.sort_unstable();
    let missing = requests
        .iter()
        .find(|request| ids.binary_search(&request.id).is_err());
    missing.map_or(Ok(()), |request| {
        Err(RunError::Unanswered { id: request.id })
    })
}

/// Why a run could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The evaluator left a request out.
    Unanswered {
        /// The id of the request.
        id: u64,
    },
    /// The evaluator gave a wrong answer.
    Tell(TellError),
    /// The search could not be put into bytes.
    Checkpoint(CheckpointError),
    /// The bytes could not be stored.
    Store {
        /// What went wrong.
        reason: String,
    },
}

impl Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered { id } => write!(
                f,
                "request {id} was not answered: answer all requests, with a failure where there is no value"
            ),
            Self::Tell(error) => error.fmt(f),
            Self::Checkpoint(error) => error.fmt(f),
            Self::Store { reason } => write!(f, "the checkpoint could not be stored: {reason}"),
        }
    }
}

impl Error for RunError {}

impl From<TellError> for RunError {
    fn from(error: TellError) -> Self {
        Self::Tell(error)
    }
}

impl From<CheckpointError> for RunError {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}
