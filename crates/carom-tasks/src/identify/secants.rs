//! Standard errors where derivatives mislead: secants of the residuals over about one standard error of each unknown.
//!
//! In fixed steps a contact begins at one step or at the next, and residuals are rough at scales far below the noise. Derivatives
//! there are those of the roughness. An interval asks how the residuals change from one of its ends to the other. That is the
//! slope of the straight line through residuals at points along the interval,
//!
//!   Jᵢⱼ = Σₖ tₖ·rᵢ(x + tₖ·sⱼ·eⱼ)/(sⱼ·Σₖ tₖ²),   tₖ = ±½, ±1, ±3⁄2, ±2   (1)
//!
//! with sⱼ the standard error that follows from J itself. It is found by iteration from wide spans to narrow ones; from narrow
//! ones, the first errors would be those of the roughness again. Averaging several points suppresses contact noise, which would
//! otherwise look like information. The narrowest span is that of the search by secants, below which nobody looked for a lower
//! loss. No secant determines a parameter better than its own span, so errors are at least the span.
//!
//! On simulated tosses of a cube, either way alone is at times too narrow: secants if trajectories diverge within one standard
//! error, derivatives if the search stopped in a local dip. So where the two disagree, the wider counts.

use rayon::prelude::*;

use super::conclude::Known;
use super::task::Task;
use crate::error;
use crate::problem::{Block, Linear, Stepping};
use carom::Error;

/// Smallest span in scales of the parameters: narrower secants measure rounding.
const MIN_SPAN: f64 = 1e-6;
/// First span in scales of the parameters, that of the search by secants.
const FIRST_SPAN: f64 = 0.03;
/// Smallest span of the search by secants, in scales of the parameters.
const MIN_SEARCHED_SPAN: f64 = 3e-4;
/// Largest span in scales of the parameters: wider secants say nothing about the point.
const MAX_SPAN: f64 = 0.25;
/// Spans have settled if they differ from the errors they lead to by less than this factor.
const SETTLED_SPAN_RATIO: f64 = 1.25;
/// Errors by derivatives and by secants disagree if they differ by more than this factor.
const MAX_ERROR_RATIO: f64 = 1.4;
/// Where residuals are evaluated, in spans to both sides: tₖ of (1).
const SECANT_POINTS: [f64; 4] = [0.5, 1.0, 1.5, 2.0];
/// Maximum of iterations of the spans.
const MAX_ROUNDS: usize = 6;

/// What errors follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorBasis {
    /// Derivatives at the solution.
    Derivatives,
    /// Secants over about one standard error of each parameter, or derivatives where those are wider.
    Secants,
    /// Searches that were repeated on recordings of the calibrated model itself.
    Repetitions,
}

impl ErrorBasis {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Derivatives => "derivatives",
            // The name of this version of the JSON.
            Self::Secants => "slopes",
            Self::Repetitions => "repetitions",
        }
    }
}

/// A change of some unknowns together, each by its span.
struct Direction<'s> {
    unknowns: Vec<usize>,
    spans: &'s [f64],
}

impl Task<'_> {
    /// What the recordings determine at a solution: by derivatives, or by secants where these disagree. If the search found that
    /// derivatives mislead, they must agree over its narrowest spans too.
    pub(super) fn known_at(
        &self,
        x: &[f64],
        value: f64,
        is_by_secants: bool,
    ) -> Result<(Known, ErrorBasis), Error> {
        // Derivatives, and whether secants over their errors agree with them.
        let derived = self.linearize(x).and_then(|it| self.known(it, value));
        // Torques have no secants, and need none: they are linear in what they depend on. Where a horizon has grown, secants over so many
        // impacts tell nothing: errors come from repeated searches (`bootstrap.rs`).
        let is_exact = matches!(self.settings.problem.stepping, Stepping::Flow(_))
            || self.torques.is_some()
            || self.grows();
        let mut errors = Vec::new();
        if let Ok(known) = &derived {
            errors = known.errors();
            let checked: &[f64] = if is_by_secants {
                &[MIN_SPAN, MIN_SEARCHED_SPAN]
            } else {
                &[MIN_SPAN]
            };
            let agrees = |&least: &f64| {
                let secants = self.secants(x, &self.spans_of(known, least));
                let secants = secants.and_then(|it| self.known(it, value));
                secants.is_ok_and(|secants| agree(&errors, &secants.errors()))
            };
            if is_exact || checked.iter().all(agrees) {
                return derived.map(|known| (known, ErrorBasis::Derivatives));
            }
        }
        // They do not: take secants, but no error smaller than that by derivatives.
        match self.known_by_secants(x, value) {
            Ok(mut known) => {
                for (least, error) in known.least_errors.iter_mut().zip(errors) {
                    if error.is_finite() {
                        *least = least.max(error);
                    }
                }
                Ok((known, ErrorBasis::Secants))
            }
            Err(why) => derived
                .map(|known| (known, ErrorBasis::Derivatives))
                .map_err(|_| why),
        }
    }

    /// Secants over spans that are the errors they lead to.
    fn known_by_secants(&self, x: &[f64], value: f64) -> Result<Known, Error> {
        let count = self.parameters().len();
        let mut spans = self.space.scale().to_vec();
        for span in &mut spans[..count] {
            *span *= FIRST_SPAN;
        }
        let mut known = self.known(self.secants(x, &spans)?, value)?;
        for _ in 1..MAX_ROUNDS {
            // The errors become the spans, until both are the same.
            let next = self.spans_of(&known, MIN_SEARCHED_SPAN);
            let pairs = next[..count].iter().zip(&spans);
            if pairs
                .into_iter()
                .all(|(a, b)| a / b < SETTLED_SPAN_RATIO && b / a < SETTLED_SPAN_RATIO)
            {
                break;
            }
            spans = next;
            known = self.known(self.secants(x, &spans)?, value)?;
        }
        known.least_errors = spans[..count].to_vec();
        Ok(known)
    }

    /// One standard error of every unknown, within the spans that secants can have: at least a fraction of its scale.
    fn spans_of(&self, known: &Known, least: f64) -> Vec<f64> {
        let parameters = known.errors().into_iter().map(|error| (error, MAX_SPAN));
        // The scale of an initial state is how well it was measured.
        let starts = known.start_errors().map(|error| (error, 1.0));
        (parameters.chain(starts).zip(self.space.scale()))
            .map(|((error, most), &scale)| {
                let error = if error.is_finite() { error } else { f64::MAX };
                error.clamp(least * scale, most * scale)
            })
            .collect()
    }

    /// Residuals of the recordings with their secants over spans of all unknowns. (1)
    fn secants(&self, x: &[f64], spans: &[f64]) -> Result<Linear, Error> {
        let count = self.parameters().len();
        let rows: Vec<usize> = self.problem.rows_of_runs().collect();
        let width = (x.len() - count) / rows.len().max(1);
        // The initial state of a run matters to that run alone: those of all runs are moved at once.
        let mut directions: Vec<Vec<usize>> = (0..count).map(|k| vec![k]).collect();
        directions.extend((0..width).map(|k| {
            let starts = (0..rows.len()).map(|run| count + run * width + k);
            starts.collect()
        }));
        let here = self.recorded_residuals(x)?;
        let secants: Result<Vec<Vec<f64>>, Error> = directions
            .into_par_iter()
            .map(|unknowns| self.secant(x, &here, &Direction { unknowns, spans }))
            .collect();
        let secants = secants?;
        let mut first = 0;
        let mut blocks = Vec::with_capacity(rows.len());
        for (run, &rows) in rows.iter().enumerate() {
            let own = first..first + rows;
            let column = |k: usize, unknown: usize| (&secants[k], spans[unknown]);
            let by_parameters = own.clone().flat_map(|row| {
                let entry = move |k| column(k, k).0[row] / column(k, k).1;
                (0..count).map(entry)
            });
            let by_start = own.clone().flat_map(|row| {
                let unknown = move |k| count + run * width + k;
                let entry =
                    move |k| column(count + k, unknown(k)).0[row] / column(count + k, unknown(k)).1;
                (0..width).map(entry)
            });
            blocks.push(Block {
                rows,
                by_parameters: by_parameters.collect(),
                by_start: by_start.collect(),
            });
            first += rows;
        }
        Ok(Linear {
            residuals: here,
            blocks,
            parameters: count,
            start_width: width,
            failures: Vec::new(),
        })
    }

    /// By how much residuals change along a direction, a span's worth: the slope of a straight line through those here and at points to
    /// both sides, as far as bounds and failures leave them.
    fn secant(&self, x: &[f64], here: &[f64], along: &Direction<'_>) -> Result<Vec<f64>, Error> {
        let bounds = self.space.bounds();
        let mut last_failure = error::simulation("bounds are in the way");
        let mut points: Vec<(f64, Vec<f64>)> = vec![(0.0, here.to_vec())];
        for part in SECANT_POINTS.iter().flat_map(|&part| [part, -part]) {
            let mut moved = x.to_vec();
            let mut is_free = true;
            for &unknown in &along.unknowns {
                let wanted = x[unknown] + part * along.spans[unknown];
                moved[unknown] = bounds.clamp(unknown, wanted);
                is_free &= moved[unknown] == wanted;
            }
            if is_free {
                match self.recorded_residuals(&moved) {
                    Ok(residuals) => points.push((part, residuals)),
                    Err(why) => last_failure = why,
                }
            }
        }
        if points.len() == 1 {
            return Err(last_failure);
        }
        // Least squares: the slope of a line through all points.
        let count = points.len() as f64;
        let mean = points.iter().map(|point| point.0).sum::<f64>() / count;
        let squares: f64 = points.iter().map(|point| (point.0 - mean).powi(2)).sum();
        let slope = |row: usize| {
            let terms = points.iter().map(|(part, r)| (part - mean) * r[row]);
            terms.sum::<f64>() / squares
        };
        Ok((0..here.len()).map(slope).collect())
    }
}

/// Whether errors by derivatives and by secants are about the same.
fn agree(derived: &[f64], secants: &[f64]) -> bool {
    (derived.iter().zip(secants)).all(|(a, b)| {
        let both_unknown = !a.is_finite() && !b.is_finite();
        both_unknown || (a / b < MAX_ERROR_RATIO && b / a < MAX_ERROR_RATIO)
    })
}
