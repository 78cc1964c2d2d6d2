//! What residuals tell about parameters.
//!
//! With residuals in units of their noise, r(x) = (model − data)/σ, Fisher's information is F = Jᵀ·J. In scaled parameters
//! u = x/s its eigenvectors are the right singular vectors of J·diag(s): a combination v of parameters with the singular
//! value d is known to ±1/d scales. The covariance of an estimate is
//!
//!   C = diag(s)·(Σₖ vₖ·vₖᵀ/dₖ²)·diag(s)   (1)
//!
//! Singular values come from J itself, not from Jᵀ·J, where those below 1e-8 of the largest would drown.

use std::error::Error;
use std::fmt::{self, Display};

use crate::linalg::{Matrix, Svd};
use crate::statistics::distribution::student_range;
use crate::statistics::words::combination;

/// Singular values below this fraction of the largest are zero except for rounding.
const SINGULAR_VALUE_ROUNDING: f64 = 1e-12;

/// Fisher's information of named parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Information {
    names: Vec<String>,
    scale: Vec<f64>,
    residuals: usize,
    svd: Svd,
}

/// A combination of parameters and how well it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// The parts of all parameters in scales, of length one together.
    pub parts: Vec<f64>,
    /// The deviation of an estimate along it, in scales; infinite if nothing depends on it.
    pub deviation: f64,
    /// In words.
    pub words: String,
}

/// A parameter's estimate with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error; infinite if the data do not tell.
    pub error: f64,
    /// The interval's lower end.
    pub lower: f64,
    /// The interval's upper end.
    pub upper: f64,
}

impl Information {
    /// The information of residuals in units of their noise, from their Jacobian by the named parameters. Scales are what a
    /// change of each parameter is measured by.
    pub fn new(
        names: &[impl AsRef<str>],
        scale: &[f64],
        jacobian: &Matrix,
    ) -> Result<Self, InformationError> {
        let count = names.len();
        let fits = scale.len() == count && jacobian.columns() == count;
        if !fits {
            return Err(InformationError::Lengths {
                names: count,
                scales: scale.len(),
                columns: jacobian.columns(),
            });
        }
        let scaled = Matrix::from_fn(jacobian.rows(), count, |i, j| scale[j] * jacobian[(i, j)]);
        let svd = Svd::new(&scaled).ok_or_else(|| {
            let index = scaled.data().iter().position(|entry| !entry.is_finite());
            let index = index.unwrap_or(0);
            InformationError::NotFinite {
                residual: index / count,
                parameter: names[index % count].as_ref().to_owned(),
            }
        })?;
        Ok(Self {
            names: names.iter().map(|name| name.as_ref().to_owned()).collect(),
            scale: scale.to_vec(),
            residuals: jacobian.rows(),
            svd,
        })
    }

    /// Names of the parameters.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Singular values of the scaled Jacobian, from greatest to least: how many deviations of noise a change by one scale
    /// along each combination makes.
    pub fn singular_values(&self) -> &[f64] {
        &self.svd.values
    }

    fn greatest(&self) -> f64 {
        self.svd.values.first().copied().unwrap_or(0.0)
    }

    /// How many combinations the data can tell at all.
    pub fn rank(&self) -> usize {
        let least = SINGULAR_VALUE_ROUNDING * self.greatest();
        (self.svd.values.iter())
            .filter(|&&value| value > least)
            .count()
    }

    /// The ratio of the greatest to the least singular value; infinite if the rank is not full.
    pub fn condition(&self) -> f64 {
        if self.rank() < self.names.len() {
            return f64::INFINITY;
        }
        let least = self.svd.values.last().copied().unwrap_or(1.0);
        self.greatest() / least
    }

    /// Degrees of freedom that the residuals have left.
    pub fn degrees(&self) -> usize {
        self.residuals.saturating_sub(self.rank())
    }

    /// All combinations, the worst known first. The noise is that of the residuals: 1 if they are in its units.
    pub fn directions(&self, noise: f64) -> Vec<Direction> {
        let rank = self.rank();
        let count = self.names.len();
        (0..count)
            .rev()
            .map(|k| {
                let parts = self.svd.directions.row(k).to_vec();
                let deviation = if k < rank {
                    noise / self.svd.values[k]
                } else {
                    f64::INFINITY
                };
                Direction {
                    words: combination(&self.names, &parts, deviation),
                    parts,
                    deviation,
                }
            })
            .collect()
    }

    /// Combinations that are known no better than to a number of scales: those that a fit would make up.
    pub fn unknown(&self, noise: f64, deviation: f64) -> Vec<Direction> {
        let mut directions = self.directions(noise);
        directions.retain(|direction| direction.deviation > deviation);
        directions
    }

    /// The covariance of the parameters' estimates, (1). Entries of parameters that the data do not tell are infinite.
    pub fn covariance(&self, noise: f64) -> Matrix {
        let count = self.names.len();
        let rank = self.rank();
        let told = self.told();
        Matrix::from_fn(count, count, |i, j| {
            if !(told[i] && told[j]) {
                return if i == j { f64::INFINITY } else { f64::NAN };
            }
            let sum = (0..rank).fold(0.0, |sum, k| {
                let v = self.svd.directions.row(k);
                let ratio = noise / self.svd.values[k];
                sum + (v[i] * ratio) * (v[j] * ratio)
            });
            self.scale[i] * sum * self.scale[j] // (1)
        })
    }

    /// Whether each parameter takes no part in combinations that the data cannot tell.
    pub fn told(&self) -> Vec<bool> {
        let blind = self.rank()..self.names.len();
        (0..self.names.len())
            .map(|i| {
                blind
                    .clone()
                    .all(|k| self.svd.directions[(k, i)].abs() < 1e-6)
            })
            .collect()
    }

    /// Standard errors of the parameters; infinite where the data do not tell.
    pub fn standard_errors(&self, noise: f64) -> Vec<f64> {
        let covariance = self.covariance(noise);
        (0..self.names.len())
            .map(|i| covariance[(i, i)].sqrt())
            .collect()
    }

    /// Intervals that hold the true parameters with a probability each. The noise is known, or, given the residuals'
    /// degrees of freedom, estimated from them.
    pub fn intervals(
        &self,
        estimate: &[f64],
        probability: f64,
        noise: f64,
        degrees: Option<usize>,
    ) -> Vec<Interval> {
        let degrees = degrees.map_or(f64::INFINITY, |degrees| degrees as f64);
        let range = student_range(probability, degrees);
        let errors = self.standard_errors(noise);
        (estimate.iter().zip(errors))
            .map(|(&estimate, error)| Interval {
                estimate,
                error,
                lower: estimate - range * error,
                upper: estimate + range * error,
            })
            .collect()
    }
}

/// The noise that residuals show: √(‖r‖²/degrees); `None` without degrees of freedom.
pub fn estimated_noise(sum_of_squares: f64, degrees: usize) -> Option<f64> {
    (degrees > 0).then(|| (sum_of_squares / degrees as f64).sqrt())
}

/// Why there is no information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InformationError {
    /// Names, scales and columns of the Jacobian differ in number.
    Lengths {
        /// Names.
        names: usize,
        /// Scales.
        scales: usize,
        /// Columns of the Jacobian.
        columns: usize,
    },
    /// A derivative is not finite.
    NotFinite {
        /// The residual.
        residual: usize,
        /// The name of the parameter.
        parameter: String,
    },
}

impl Display for InformationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths {
                names,
                scales,
                columns,
            } => write!(
                f,
                "{names} names and {scales} scales for a Jacobian with {columns} columns: give one of each for each column"
            ),
            Self::NotFinite {
                residual,
                parameter,
            } => write!(
                f,
                "the derivative of residual {residual} by {parameter} is not finite: leave the residual out, or move {parameter}"
            ),
        }
    }
}

impl Error for InformationError {}
