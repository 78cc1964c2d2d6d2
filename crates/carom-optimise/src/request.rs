//! The language between optimisers and those who evaluate: requests and answers.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::linalg::{Matrix, dot, transpose_times};

/// What is wanted at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// The value of the loss.
    Value,
    /// The value and its gradient.
    Gradient,
    /// The residuals r of a sum of squares ½·‖r‖².
    Residuals,
    /// The residuals and their Jacobian.
    Jacobian,
}

impl Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => "a value",
            Self::Gradient => "a gradient",
            Self::Residuals => "residuals",
            Self::Jacobian => "residuals with their Jacobian",
        })
    }
}

/// A point to evaluate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The name of the request, under which its answer is told.
    pub id: u64,
    /// All parameters, within their bounds.
    pub point: Vec<f64>,
    /// What is wanted there.
    pub want: Want,
}

impl Request {
    /// The answer to this request.
    pub fn answer(&self, outcome: Outcome) -> Answer {
        Answer {
            id: self.id,
            outcome,
        }
    }
}

/// What was found at a point. More than was asked for is welcome: a Jacobian also answers a request for a gradient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Evaluation {
    /// The value of the loss.
    Value(f64),
    /// The value and its gradient by all parameters.
    Gradient {
        /// The value of the loss.
        value: f64,
        /// Its derivative by each parameter.
        gradient: Vec<f64>,
    },
    /// Residuals.
    Residuals(Vec<f64>),
    /// Residuals and their derivatives.
    Jacobian {
        /// The residuals.
        residuals: Vec<f64>,
        /// Their derivatives: a row for each residual, a column for each parameter.
        jacobian: Matrix,
    },
}

/// Why a point has no value. A search treats it as worse than any other and goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A sentence.
    pub reason: String,
}

impl Failure {
    /// A failure with a reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

/// What came of a request.
pub type Outcome = Result<Evaluation, Failure>;

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The id of the request.
    pub id: u64,
    /// What came of it.
    pub outcome: Outcome,
}

impl Evaluation {
    /// The value of the loss.
    pub fn value(&self) -> f64 {
        match self {
            Self::Value(value) | Self::Gradient { value, .. } => *value,
            Self::Residuals(residuals) | Self::Jacobian { residuals, .. } => {
                0.5 * dot(residuals, residuals)
            }
        }
    }

    /// Reduce to what was wanted; `None` if that is not contained.
    pub(crate) fn serve(self, want: Want) -> Option<Self> {
        match (want, self) {
            (Want::Value, evaluation) => Some(Self::Value(evaluation.value())),
            (Want::Residuals, Self::Jacobian { residuals, .. }) => Some(Self::Residuals(residuals)),
            (
                Want::Gradient,
                Self::Jacobian {
                    residuals,
                    jacobian,
                },
            ) => Some(Self::Gradient {
                value: 0.5 * dot(&residuals, &residuals),
                gradient: transpose_times(&jacobian, &residuals),
            }),
            (Want::Gradient, found @ Self::Gradient { .. })
            | (Want::Residuals, found @ Self::Residuals(_))
            | (Want::Jacobian, found @ Self::Jacobian { .. }) => Some(found),
            _ => None,
        }
    }

    /// The first number that is not finite, in words.
    pub(crate) fn not_finite(&self) -> Option<String> {
        let wrong = |what: &str, values: &[f64]| {
            let index = values.iter().position(|value| !value.is_finite())?;
            Some(format!("{what} {index} is {}", values[index]))
        };
        let value = self.value();
        match self {
            Self::Gradient { gradient, .. } => wrong("derivative by parameter", gradient),
            Self::Residuals(residuals) => wrong("residual", residuals),
            Self::Jacobian {
                residuals,
                jacobian,
            } => wrong("residual", residuals)
                .or_else(|| wrong("entry of the Jacobian", jacobian.data())),
            Self::Value(_) => None,
        }
        .or_else(|| (!value.is_finite()).then(|| format!("the value is {value}")))
    }
}

/// A scaled point that a method wants to know about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// Scaled coordinates of the free parameters.
    pub point: Vec<f64>,
    /// What is wanted there.
    pub want: Want,
}

/// A proposal with what came of it, in scaled coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The scaled coordinates of the proposal.
    pub point: Vec<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

impl Answered {
    /// The value, infinite where there is none.
    pub fn value(&self) -> f64 {
        self.outcome
            .as_ref()
            .map_or(f64::INFINITY, Evaluation::value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_was_asked_for_is_welcome() {
        let found = Evaluation::Jacobian {
            residuals: vec![1.0, 2.0],
            jacobian: Matrix::from_rows(&[&[1.0], &[3.0]]),
        };
        assert_eq!(
            found.clone().serve(Want::Value),
            Some(Evaluation::Value(2.5))
        );
        let gradient = found.clone().serve(Want::Gradient).unwrap();
        let expected = Evaluation::Gradient {
            value: 2.5,
            gradient: vec![7.0],
        };
        assert_eq!(gradient, expected);
        assert_eq!(gradient.serve(Want::Jacobian), None);
    }

    #[test]
    fn numbers_that_are_not_finite_are_named() {
        let infinite = Evaluation::Residuals(vec![1.0, f64::INFINITY]);
        assert_eq!(infinite.not_finite().unwrap(), "residual 1 is inf");
        assert_eq!(
            Evaluation::Value(f64::NAN).not_finite().unwrap(),
            "the value is NaN"
        );
        let huge = Evaluation::Residuals(vec![1e200]);
        assert_eq!(huge.not_finite().unwrap(), "the value is inf");
    }
}
