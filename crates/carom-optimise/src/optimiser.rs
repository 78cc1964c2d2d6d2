//! Ask and tell: what every optimiser looks like from outside.
//!
//! An optimiser never calls a loss. It is asked which points it wants evaluated and told what was found there, in any order
//! and in any portions; who evaluates, on how many threads or machines, is not its concern. It moves on only once a whole
//! batch is answered, and reads the answers in the order of its requests: so its path depends on nothing but its seed and
//! the answers.

use std::error::Error;
use std::fmt::{self, Display};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{self, CheckpointError};
use crate::request::{Answer, Answered, Evaluation, Failure, Outcome, Proposal, Request};
use crate::space::Space;

/// Whether a search goes on, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// There is more to ask.
    Running,
    /// The goal is reached; the sentence says by which measure.
    Converged(String),
    /// No more progress is possible although the goal is not reached; the sentence says why.
    Stalled(String),
    /// The method's own limit of steps or restarts is used up; the sentence says which.
    Finished(String),
}

impl Status {
    /// Whether there is more to ask.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// The reason of an end; empty while running.
    pub fn reason(&self) -> &str {
        match self {
            Self::Running => "",
            Self::Converged(reason) | Self::Stalled(reason) | Self::Finished(reason) => reason,
        }
    }
}

/// The lowest point so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Where it is.
    pub point: Vec<f64>,
    /// The value there.
    pub value: f64,
}

impl Best {
    /// Keep the lower of two; the first of equals.
    pub(crate) fn keep(best: &mut Option<Self>, point: &[f64], value: f64) -> bool {
        let better = value.is_finite() && best.as_ref().is_none_or(|best| value < best.value);
        if better {
            *best = Some(Self {
                point: point.to_vec(),
                value,
            });
        }
        better
    }
}

/// A search that is asked and told.
pub trait Optimiser {
    /// Points that are waiting for an answer; empty once the search has ended. Asking twice gives the same requests.
    fn ask(&mut self) -> Vec<Request>;

    /// Answers to requests, in any order and any portions. Values that are not finite count as failures.
    fn tell(&mut self, answers: Vec<Answer>) -> Result<(), TellError>;

    /// The lowest point so far.
    fn best(&self) -> Option<Best>;

    /// Whether the search goes on.
    fn status(&self) -> Status;

    /// Number of answers so far, failures included.
    fn evaluations(&self) -> u64;

    /// All of the search as bytes, from which it can go on.
    fn checkpoint(&self) -> Result<Vec<u8>, CheckpointError>;
}

/// An algorithm in scaled coordinates of the free parameters, one batch after the other.
pub trait Method {
    /// The next batch; at least one point while the status is running.
    fn propose(&mut self) -> Vec<Proposal>;

    /// What came of the batch, in its order.
    fn learn(&mut self, answered: Vec<Answered>);

    /// The lowest point so far, in scaled coordinates.
    fn best(&self) -> Option<&Best>;

    /// Whether the search goes on.
    fn status(&self) -> &Status;
}

/// A method at work in a space: batches become requests with ids, answers are checked and put in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search<M> {
    space: Space,
    method: M,
    open: Vec<Open>,
    next_id: u64,
    evaluations: u64,
    /// How many residuals there are, once the first are told.
    residual_count: Option<usize>,
    last_failure: Option<Failure>,
}

/// A request that waits until its whole batch is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Open {
    id: u64,
    proposal: Proposal,
    outcome: Option<Outcome>,
}

impl<M: Method> Search<M> {
    /// A search by a method that was made for the scaled coordinates of the space.
    pub fn new(space: Space, method: M) -> Self {
        Self {
            space,
            method,
            open: Vec::new(),
            next_id: 0,
            evaluations: 0,
            residual_count: None,
            last_failure: None,
        }
    }

    /// The parameters.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The method.
    pub fn method(&self) -> &M {
        &self.method
    }

    /// Why the last evaluation that failed did.
    pub fn last_failure(&self) -> Option<&Failure> {
        self.last_failure.as_ref()
    }

    /// An outcome in scaled coordinates, or the mistake of the one who tells.
    fn accept(&mut self, id: u64, outcome: Outcome) -> Result<(), TellError> {
        let Some(place) = self.open.iter().position(|open| open.id == id) else {
            return Err(TellError::Unknown { id });
        };
        if self.open[place].outcome.is_some() {
            return Err(TellError::Again { id });
        }
        let want = self.open[place].proposal.want;
        let outcome = match outcome {
            Ok(evaluation) => {
                let residuals = self.check_lengths(id, &evaluation)?;
                let not_finite = evaluation.not_finite();
                let served = match (evaluation.serve(want), not_finite) {
                    (Some(evaluation), _) => finite(self.scaled(evaluation)),
                    (None, Some(reason)) => Err(Failure { reason }),
                    (None, None) => {
                        let want = want.to_string();
                        return Err(TellError::Kind { id, want });
                    }
                };
                self.residual_count = self.residual_count.or(residuals);
                served
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = &outcome {
            self.last_failure = Some(failure.clone());
        }
        self.open[place].outcome = Some(outcome);
        self.evaluations += 1;
        Ok(())
    }

    /// Whether lists are as long as they must be; the number of residuals if there are any.
    fn check_lengths(&self, id: u64, evaluation: &Evaluation) -> Result<Option<usize>, TellError> {
        let (residuals, derivatives) = match evaluation {
            Evaluation::Value(_) => (None, None),
            Evaluation::Gradient { gradient, .. } => (None, Some(gradient.len())),
            Evaluation::Residuals(residuals) => (Some(residuals.len()), None),
            Evaluation::Jacobian {
                residuals,
                jacobian,
            } => {
                if jacobian.rows() != residuals.len() {
                    return Err(TellError::Length {
                        id,
                        what: "rows of the Jacobian",
                        expected: residuals.len(),
                        found: jacobian.rows(),
                    });
                }
                (Some(residuals.len()), Some(jacobian.columns()))
            }
        };
        let expected = self.space.len();
        if let Some(found) = derivatives.filter(|&found| found != expected) {
            return Err(TellError::Length {
                id,
                what: "derivatives",
                expected,
                found,
            });
        }
        match (residuals, self.residual_count) {
            (Some(found), Some(expected)) if found != expected => Err(TellError::Length {
                id,
                what: "residuals",
                expected,
                found,
            }),
            _ => Ok(residuals),
        }
    }

    fn scaled(&self, evaluation: Evaluation) -> Evaluation {
        match evaluation {
            Evaluation::Gradient { value, gradient } => Evaluation::Gradient {
                value,
                gradient: self.space.scaled_gradient(&gradient),
            },
            Evaluation::Jacobian {
                residuals,
                jacobian,
            } => Evaluation::Jacobian {
                residuals,
                jacobian: self.space.scaled_jacobian(&jacobian),
            },
            other => other,
        }
    }

    fn close_batch(&mut self) {
        if self.open.iter().any(|open| open.outcome.is_none()) {
            return;
        }
        let answered = self.open.drain(..).filter_map(|open| {
            open.outcome.map(|outcome| Answered {
                point: open.proposal.point,
                outcome,
            })
        });
        let answered: Vec<Answered> = answered.collect();
        if !answered.is_empty() {
            self.method.learn(answered);
        }
    }
}

/// An evaluation of which all numbers are finite.
fn finite(evaluation: Evaluation) -> Outcome {
    match evaluation.not_finite() {
        Some(reason) => Err(Failure { reason }),
        None => Ok(evaluation),
    }
}

impl<M: Method + Serialize + DeserializeOwned> Search<M> {
    /// The search of a checkpoint.
    pub fn resume(bytes: &[u8]) -> Result<Self, CheckpointError> {
        checkpoint::decode(bytes)
    }
}

impl<M: Method + Serialize> Optimiser for Search<M> {
    fn ask(&mut self) -> Vec<Request> {
        if self.open.is_empty() && self.status().is_running() {
            for proposal in self.method.propose() {
                self.open.push(Open {
                    id: self.next_id,
                    proposal,
                    outcome: None,
                });
                self.next_id += 1;
            }
        }
        let waiting = self.open.iter().filter(|open| open.outcome.is_none());
        waiting
            .map(|open| Request {
                id: open.id,
                point: self.space.point(&open.proposal.point),
                want: open.proposal.want,
            })
            .collect()
    }

    fn tell(&mut self, answers: Vec<Answer>) -> Result<(), TellError> {
        for answer in answers {
            self.accept(answer.id, answer.outcome)?;
        }
        self.close_batch();
        Ok(())
    }

    fn best(&self) -> Option<Best> {
        self.method.best().map(|best| Best {
            point: self.space.point(&best.point),
            value: best.value,
        })
    }

    fn status(&self) -> Status {
        self.method.status().clone()
    }

    fn evaluations(&self) -> u64 {
        self.evaluations
    }

    fn checkpoint(&self) -> Result<Vec<u8>, CheckpointError> {
        checkpoint::encode(self)
    }
}

/// A mistake of the one who tells. What was told before it stays told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TellError {
    /// An answer to a request that is not open.
    Unknown {
        /// The id of the answer.
        id: u64,
    },
    /// A second answer to a request.
    Again {
        /// The id of the answer.
        id: u64,
    },
    /// An answer that does not hold what was asked for.
    Kind {
        /// The id of the answer.
        id: u64,
        /// What was asked for.
        want: String,
    },
    /// A list of the wrong length.
    Length {
        /// The id of the answer.
        id: u64,
        /// The list.
        what: &'static str,
        /// The length that it should have.
        expected: usize,
        /// The length that it has.
        found: usize,
    },
}

impl Display for TellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { id } => write!(
                f,
                "answer {id} belongs to no open request: answer the requests of the last `ask`"
            ),
            Self::Again { id } => {
                write!(f, "request {id} is answered twice: tell each answer once")
            }
            Self::Kind { id, want } => write!(
                f,
                "the answer to request {id} lacks what was asked for, {want}: give it, or tell a failure"
            ),
            Self::Length {
                id,
                what,
                expected,
                found,
            } => write!(
                f,
                "the answer to request {id} has {found} {what}, not {expected}: give as many, in the same order each time"
            ),
        }
    }
}

impl Error for TellError {}
