//! Errors of parameters that were found through many impacts, by a parametric bootstrap.
//!
//! Through impacts in fixed steps, the loss has walls: a corner that touches one step earlier moves on differently. The search ends
//! between some of them, and neither its curvature there nor secants say how far the truth may be. How far such a search errs can be
//! tried, though: the found model makes recordings of its own, from the initial states that were found and with the stated noise, and the
//! whole search is repeated on each of them, from the original initial values. There the truth is known. With tᵦₖ the error of
//! parameter k in round b, over the standard error sₖ by derivatives of that round, errors are
//!
//!   f·sₖ,   f² = mean of tᵦₖ² over all rounds and parameters, at least 1.   (1)
//!
//! If errors on the recordings and in the rounds are drawn alike, their ratio has Student's distribution. Errors of one round depend on
//! each other, so its degrees of freedom are the rounds, not the rounds times the parameters.

use std::sync::atomic::AtomicBool;

use carom::Error;
use carom_optimise::random::Random;
use carom_optimise::statistics::distribution::student_range;
use rayon::prelude::*;

use super::again::is_stopped;
use super::conclude::Identified;
use super::secants::ErrorBasis;
use super::solve::Solution;
use super::synthetic::Synthetic;
use super::task::Task;
use crate::error;

/// Searches that are repeated. Fewer make intervals wide: Student's factor is 2.8 for four, and 4.3 for two.
const ROUNDS: usize = 4;
/// Fewest rounds with an answer.
const MIN_ROUNDS: usize = 3;
/// The first stream of random numbers: those below are for searches and recovery.
const FIRST_STREAM: u64 = 1 << 32;

/// What repeated searches told.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetitions {
    /// Errors over standard errors by derivatives, for every round with an answer and every parameter.
    pub errors: Vec<Vec<f64>>,
    /// By which factor errors are larger than by derivatives. (1)
    pub factor: f64,
    /// Rounds without an answer, and why.
    pub failures: Vec<String>,
}

impl Task<'_> {
    /// Replaces errors and intervals by those of repeated searches, where a horizon has grown; leaves all others, and stopped searches, as
    /// they are.
    ///
    /// # Errors
    /// When the found model cannot simulate its own recordings, or too few rounds have an answer.
    pub fn repeat(
        &self,
        solution: &Solution,
        identified: &mut Identified,
        stop: Option<&AtomicBool>,
    ) -> Result<(), Error> {
        if !self.grows() || solution.is_stopped {
            return Ok(());
        }
        let repetitions = self.on_threads(|| Ok(self.repeated(solution, identified, stop)))?;
        if is_stopped(stop) {
            return Ok(());
        }
        let rounds = repetitions.errors.len();
        if rounds < MIN_ROUNDS {
            let why = repetitions.failures.first().cloned().unwrap_or_default();
            return Err(error::no_loss(error::simulation(format!(
                "the errors of the answer are not known: too few searches on recordings of the calibrated model itself have an answer ({why})"
            ))));
        }
        let count = identified.theta.len();
        for i in 0..count {
            for j in 0..count {
                identified.covariance[(i, j)] *= repetitions.factor * repetitions.factor;
            }
        }
        let range = student_range(self.settings.confidence, rounds as f64);
        identified.estimates = self.estimates(&identified.theta, &identified.covariance, range);
        for error in &mut identified.unit_errors {
            *error *= repetitions.factor;
        }
        identified.basis = ErrorBasis::Repetitions;
        identified.repetitions = Some(repetitions);
        Ok(())
    }

    fn repeated(
        &self,
        solution: &Solution,
        identified: &Identified,
        stop: Option<&AtomicBool>,
    ) -> Repetitions {
        let found = self.with_found_starts(&solution.x);
        let recordings = found.as_ref().unwrap_or(self.problem.recordings);
        let stepping = self.settings.problem.stepping;
        let synthetic = Synthetic::from_starts(&identified.model, recordings, stepping);
        let rounds: Vec<Result<Vec<f64>, Error>> = (0..ROUNDS)
            .into_par_iter()
            .map(|round| {
                let mut random = Random::new(self.settings.seed, FIRST_STREAM + round as u64);
                let recordings = synthetic.measure(&mut random);
                let (_, answer) = self.searched_again(&recordings, stop)?;
                let pairs = answer.theta.iter().zip(&identified.theta).enumerate();
                let error = |k: usize| answer.covariance[(k, k)].sqrt();
                Ok(pairs
                    .map(|(k, (found, truth))| (found - truth) / error(k))
                    .collect())
            })
            .collect();
        let mut errors = Vec::new();
        let mut failures = Vec::new();
        for (round, found) in rounds.into_iter().enumerate() {
            match found {
                Ok(found) if found.iter().all(|error| error.is_finite()) => errors.push(found),
                Ok(_) => failures.push(format!("round {}: not identifiable", round + 1)),
                Err(why) => failures.push(format!("round {}: {why}", round + 1)),
            }
        }
        let squares = errors.iter().flatten().map(|error| error * error);
        let mean = squares.sum::<f64>() / errors.iter().flatten().count().max(1) as f64;
        Repetitions {
            errors,
            factor: mean.sqrt().max(1.0),
            failures,
        }
    }
}
