//! After the solve: what the estimates are worth.
//!
//! Errors follow from the information of the recordings, by derivatives or where these mislead by secants (`secants.rs`), and the
//! noise that the residuals show, √(2·loss/degrees), and from that of recorded initial states (`start_noise.rs`). Where there
//! are many runs, errors are also taken from how much the runs contradict each other, which holds if residuals of a run
//! depend on each other, as those of a model that is not quite right do; the greater of both counts:
//!
//!   C = A⁻¹·(Σ gᵢ·gᵢᵀ)·A⁻¹·n/(n − p),   A = `JᵀJ`,   gᵢ = Jᵢᵀ·rᵢ of run i
//!
//! Through impacts that a growing horizon follows (`growth.rs`), runs are few, and residuals after an impact that is followed not quite
//! rightly go together. There the parts i are blocks of frames, and the greater error counts for each parameter. How far its passes are
//! apart is added, and repeated searches (`bootstrap.rs`) say how much larger errors are than that.

use std::ops::Range;

use carom::Error;
use carom::Model;
use carom_optimise::linalg::{Matrix, transpose_times};
use carom_optimise::statistics::distribution::student_range;
use carom_optimise::statistics::{Information, estimated_noise};

use super::bootstrap::Repetitions;
use super::secants::ErrorBasis;
use super::solve::Solution;
use super::task::{Marginal, Task};
use crate::error;
use crate::problem::{FrameResidual, Linear};

/// Fewest runs for a sandwich estimate.
const MIN_SANDWICH_RUNS: usize = 10;
/// Parts of the recordings that take the place of runs where these are too few.
const BLOCKS: usize = 20;
/// Combinations with at least this standard deviation, in scales, are named as weak.
const MIN_WEAK_DEVIATION: f64 = 0.5;

/// A parameter's estimate.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The value at the start.
    pub start: f64,
    /// The value found.
    pub value: f64,
    /// Its standard error, by the slope of its transform; infinite if the recordings do not tell.
    pub error: f64,
    /// The ends of its interval.
    pub interval: [f64; 2],
    /// Whether it lies at a bound: the interval is then only how far it could move.
    pub is_at_bound: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Identified {
    /// The parameters.
    pub estimates: Vec<Estimate>,
    /// Covariance of θ.
    pub covariance: Matrix,
    /// Correlations of pairs that are above 0.9, greatest first, in words.
    pub correlated: Vec<String>,
    /// Combinations that are known badly, in words.
    pub weak: Vec<String>,
    /// Deviation of the residuals, in units of the noise of the recordings: about 1 if model and noise are right.
    pub noise: f64,
    /// Residuals less unknowns.
    pub degrees: usize,
    /// Whether errors are those of runs that contradict each other.
    pub by_runs: bool,
    /// By how many standard errors the noise of recorded initial states moves each estimate, which intervals from derivatives count in; empty
    /// where initial states are unknowns, or nothing is known of their noise.
    pub start_shares: Vec<f64>,
    /// By how many standard errors each estimate is off the minimum that derivatives predict; empty where they mislead.
    pub off_minimum: Vec<f64>,
    /// What errors follow from.
    pub basis: ErrorBasis,
    /// What searches told that were repeated on recordings of the calibrated model; none where errors follow from something else.
    pub repetitions: Option<Repetitions>,
    /// Standard errors of θ if residuals had a deviation of 1.
    pub unit_errors: Vec<f64>,
    /// With which probability an interval holds the truth.
    pub confidence: f64,
    /// Residuals at the start and at the end, as a mean over each frame: run, time (s), and both.
    pub frames: Vec<FrameResidual>,
    /// θ.
    pub theta: Vec<f64>,
    /// The calibrated model.
    pub model: Model,
}

/// Residuals below this part of the noise, or of a unit where none is stated, are rounding: what is left of a recording that the model itself
/// has made. Nothing follows from them.
pub(super) const ROUNDING_NOISE: f64 = 1e-9;

/// What the recordings tell at a point.
pub(super) struct Known {
    information: Information,
    marginal: Marginal,
    /// Residuals, with zeros for those of priors.
    residuals: Vec<f64>,
    /// Lengths of the columns of the Jacobian by all starts.
    starts: Vec<f64>,
    /// What errors of θ are at least; none for derivatives.
    pub(super) least_errors: Vec<f64>,
    /// Deviation of the residuals.
    noise: f64,
    /// Residuals less unknowns.
    degrees: usize,
}

impl Known {
    /// Deviation of the residuals.
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// Standard errors of θ, whatever they are at least.
    pub(super) fn errors(&self) -> Vec<f64> {
        self.information.standard_errors(self.noise)
    }

    /// A covariance with errors that are at least what they must be.
    fn widened(&self, mut covariance: Matrix) -> Matrix {
        for (k, least) in self.least_errors.iter().enumerate() {
            covariance[(k, k)] = covariance[(k, k)].max(least * least);
        }
        covariance
    }

    /// Standard errors of θ if residuals had a deviation of 1.
    fn unit_errors(&self) -> Vec<f64> {
        let errors = self.information.standard_errors(1.0).into_iter();
        let least = self.least_errors.iter().map(|least| least / self.noise);
        let least = least.chain(std::iter::repeat(0.0));
        errors
            .zip(least)
            .map(|(one, least)| one.max(least))
            .collect()
    }

    /// How well each number of a start would be known if all else were.
    pub(super) fn start_errors(&self) -> impl Iterator<Item = f64> {
        self.starts.iter().map(|length| self.noise / length)
    }
}

impl Task<'_> {
    /// Says what a solution is worth.
    ///
    /// # Errors
    /// When the solution cannot be linearised.
    pub fn conclude(&self, solution: &Solution) -> Result<Identified, Error> {
        self.on_threads(|| self.concluded(solution))
    }

    fn concluded(&self, solution: &Solution) -> Result<Identified, Error> {
        let count = self.parameters().len();
        let theta = &solution.x[..count];
        let (known, basis) = self
            .known_at(&solution.x, solution.value, solution.is_by_secants)
            .map_err(error::no_loss)?;
        let before = self.recorded_residuals(&self.origin());
        let before = before.map_err(error::no_loss)?;
        let names: Vec<&str> = self.parameters().names().collect();
        let information = &known.information;
        let of_starts = self
            .start_covariance(
                theta,
                &information.covariance(1.0),
                (known.noise, known.degrees),
            )
            .map_err(error::no_loss)?;
        let start_shares = (of_starts.as_ref()).map_or_else(Vec::new, |starts| {
            let errors = known.errors();
            let share = |(k, error): (usize, f64)| starts[(k, k)].sqrt() / error;
            errors.into_iter().enumerate().map(share).collect()
        });
        // Derivatives with respect to initial states mislead where those with respect to parameters do.
        let of_starts = of_starts.filter(|_| basis == ErrorBasis::Derivatives);
        let (covariance, range, by_runs) = self.covariance(&known, of_starts.as_ref());
        Ok(Identified {
            estimates: self.estimates(theta, &covariance, range),
            correlated: correlated(&names, &covariance),
            weak: (information
                .unknown(known.noise, MIN_WEAK_DEVIATION)
                .into_iter())
            .map(|one| one.words)
            .collect(),
            covariance,
            noise: known.noise,
            degrees: known.degrees,
            by_runs,
            start_shares,
            off_minimum: if basis == ErrorBasis::Derivatives && known.noise > ROUNDING_NOISE {
                self.off_minimum(theta, &known)
            } else {
                Vec::new()
            },
            basis,
            repetitions: None,
            unit_errors: known.unit_errors(),
            confidence: self.settings.confidence,
            frames: if self.predicts() {
                self.problem.by_frame(&before, &known.residuals)
            } else {
                Vec::new()
            },
            theta: theta.to_vec(),
            model: self.parameters().bake(theta).map_err(error::no_loss)?,
        })
    }

    /// Gauss and Newton's step to the minimum, in standard errors. What lies at a bound stays there.
    fn off_minimum(&self, theta: &[f64], known: &Known) -> Vec<f64> {
        let bounds = self.space.bounds();
        let mut gradient = transpose_times(&known.marginal.jacobian, &known.residuals);
        for prior in &self.priors {
            gradient[prior.index] += prior.gradient(theta);
        }
        for (k, slope) in gradient.iter_mut().enumerate() {
            if is_at_bound(theta[k], [bounds.lower()[k], bounds.upper()[k]]) {
                *slope = 0.0;
            }
        }
        let step = known.information.covariance(1.0).times(&gradient);
        let errors = known.errors().into_iter();
        errors
            .zip(step)
            .map(|(error, step)| step.abs() / error)
            .collect()
    }

    /// What residuals with their Jacobian tell, where the loss has a value.
    pub(super) fn known(&self, linear: Linear, value: f64) -> Result<Known, Error> {
        let marginal = self.marginal(&linear)?;
        let starts = linear.blocks.iter().flat_map(|block| {
            let column = |k: usize| {
                let column = block.by_start.iter().skip(k).step_by(linear.start_width);
                column.map(|entry| entry * entry).sum::<f64>().sqrt()
            };
            (0..linear.start_width).map(column)
        });
        let starts = starts.collect();
        let mut residuals = linear.residuals;
        // Simulations from drawn starts are compared with the same measurements.
        let measured = residuals.len() / self.problem.starts_per_run();
        let priors = marginal.jacobian.rows() - residuals.len();
        residuals.resize(marginal.jacobian.rows(), 0.0);
        let names: Vec<&str> = self.parameters().names().collect();
        let information = Information::new(&names, self.theta_scale(), &marginal.jacobian)
            .map_err(error::information)?;
        let degrees = (measured + priors).saturating_sub(information.rank() + marginal.starts);
        Ok(Known {
            noise: estimated_noise(2.0 * value, degrees).unwrap_or(f64::INFINITY),
            information,
            marginal,
            residuals,
            starts,
            degrees,
            least_errors: Vec::new(),
        })
    }

    /// The covariance of θ, by how many deviations intervals go to each side, and whether both are from runs that contradict each
    /// other.
    fn covariance(&self, known: &Known, of_starts: Option<&Matrix>) -> (Matrix, f64, bool) {
        let information = &known.information;
        let mut covariance = known.widened(information.covariance(known.noise));
        if let Some(starts) = of_starts {
            covariance = Matrix::from_fn(covariance.rows(), covariance.rows(), |i, j| {
                covariance[(i, j)] + starts[(i, j)]
            });
        }
        let range = student_range(self.settings.confidence, known.degrees.max(1) as f64);
        let (runs, count) = (known.marginal.runs.len(), self.parameters().len());
        if information.rank() != count {
            return (covariance, range, false);
        }
        if runs >= MIN_SANDWICH_RUNS && runs > 2 * count {
            let rows = &known.marginal.runs;
            let other = contradictions(information, (&known.marginal, rows), &known.residuals);
            let other = known.widened(other);
            let wider = student_range(self.settings.confidence, (runs - count) as f64);
            let is_greater =
                |k: usize| other[(k, k)].sqrt() * wider > covariance[(k, k)].sqrt() * range;
            if (0..count).filter(|&k| is_greater(k)).count() * 2 > count {
                return (other, wider, true);
            }
        } else if self.grows() {
            let blocks = known.marginal.blocks(BLOCKS.max(3 * count));
            let other = contradictions(information, (&known.marginal, &blocks), &known.residuals);
            let wider = student_range(self.settings.confidence, (blocks.len() - count) as f64);
            let mut covariance = scaled(&covariance, &other, wider / range);
            for (k, spread) in self.pass_spread.iter().enumerate() {
                covariance[(k, k)] += spread * spread;
            }
            return (covariance, range, false);
        }
        (covariance, range, false)
    }

    pub(super) fn estimates(
        &self,
        theta: &[f64],
        covariance: &Matrix,
        range: f64,
    ) -> Vec<Estimate> {
        let parameters = self.parameters();
        let count = parameters.len();
        let values = parameters.values(theta);
        let starts = parameters.values(self.start_theta());
        let errors: Vec<f64> = (0..count).map(|k| covariance[(k, k)].sqrt()).collect();
        let at = |sign: f64| -> Vec<f64> {
            let moved: Vec<f64> = (0..count)
                .map(|k| theta[k] + sign * range * errors[k])
                .collect();
            parameters.values(&moved)
        };
        let slopes = {
            let step = 1e-6;
            let high: Vec<f64> = theta.iter().map(|t| t + step).collect();
            let low: Vec<f64> = theta.iter().map(|t| t - step).collect();
            let pairs = parameters
                .values(&high)
                .into_iter()
                .zip(parameters.values(&low));
            pairs
                .map(|(high, low)| ((high - low) / (2.0 * step)).abs())
                .collect::<Vec<f64>>()
        };
        let (low, high) = (at(-1.0), at(1.0));
        let bounds = self.space.bounds();
        (parameters.names().zip(parameters.units()).enumerate())
            .map(|(k, (name, unit))| Estimate {
                name: name.to_owned(),
                unit: unit.to_owned(),
                start: starts[k],
                value: values[k],
                error: slopes[k] * errors[k],
                interval: [low[k].min(high[k]), low[k].max(high[k])],
                is_at_bound: is_at_bound(theta[k], [bounds.lower()[k], bounds.upper()[k]]),
            })
            .collect()
    }
}

/// Whether a number is at one of its bounds: searches without derivatives come close to them.
fn is_at_bound(theta: f64, [low, high]: [f64; 2]) -> bool {
    /// Share of the width of the bounds.
    const MAX_DISTANCE: f64 = 1e-4;
    let width = high - low;
    let near = if width.is_finite() {
        MAX_DISTANCE * width
    } else {
        0.0
    };
    theta <= low + near || theta >= high - near
}

/// A covariance with errors that are at least those of another one, times a factor.
fn scaled(covariance: &Matrix, other: &Matrix, factor: f64) -> Matrix {
    let ratio = |k: usize| factor * (other[(k, k)] / covariance[(k, k)]).sqrt();
    let ratios: Vec<f64> = (0..covariance.rows()).map(|k| ratio(k).max(1.0)).collect();
    Matrix::from_fn(covariance.rows(), covariance.columns(), |i, j| {
        covariance[(i, j)] * ratios[i] * ratios[j]
    })
}

/// The covariance from how much the runs contradict each other.
fn contradictions(
    information: &Information,
    (marginal, parts): (&Marginal, &[Range<usize>]),
    residuals: &[f64],
) -> Matrix {
    let inverse = information.covariance(1.0);
    let count = inverse.rows();
    let mut sum = Matrix::zeros(count, count);
    for rows in parts {
        let mut gradient = vec![0.0; count];
        for row in rows.clone() {
            for (entry, slope) in gradient.iter_mut().zip(marginal.jacobian.row(row)) {
                *entry += slope * residuals[row];
            }
        }
        for i in 0..count {
            for j in 0..count {
                sum[(i, j)] += gradient[i] * gradient[j];
            }
        }
    }
    let runs = parts.len() as f64;
    let factor = runs / (runs - count as f64);
    let product = inverse.times_matrix(&sum).times_matrix(&inverse);
    Matrix::from_fn(count, count, |i, j| factor * product[(i, j)])
}

/// Pairs of estimates that move together.
fn correlated(names: &[&str], covariance: &Matrix) -> Vec<String> {
    let mut pairs = Vec::new();
    for i in 0..names.len() {
        for j in 0..i {
            let size = (covariance[(i, i)] * covariance[(j, j)]).sqrt();
            let correlation = covariance[(i, j)] / size;
            if correlation.abs() > 0.9 && correlation.is_finite() {
                pairs.push((correlation, j, i));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    (pairs.into_iter())
        .map(|(correlation, i, j)| {
            let how = if correlation > 0.0 { "in the same direction" } else { "in opposite directions" };
            format!("{} and {} are known together better than each alone: their errors go {how} (correlation {correlation:.3})", names[i], names[j])
        })
        .collect()
}
