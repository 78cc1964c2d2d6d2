//! The replay gate: a calibrated model is replayed on recordings, and must be better there than the one it came from.

use crate::evaluate::Report;

/// Errors that differ by less than this fraction are the same.
pub(super) const ERROR_ROUNDING: f64 = 1e-9;

/// How the errors of a replay went from the model at the start to the calibrated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Metrics that fell.
    pub better: Vec<String>,
    /// Metrics that rose.
    pub worse: Vec<String>,
    /// Trajectories that the model at the start simulates to their end and the calibrated one does not.
    pub lost: Vec<String>,
}

impl Replay {
    /// Compares the errors of two models on the same recordings.
    pub fn new([before, after]: &[Report; 2]) -> Self {
        let mut replay = Self {
            better: Vec::new(),
            worse: Vec::new(),
            lost: Vec::new(),
        };
        let totals = before.total.iter().zip(&after.total);
        for (metric, (before, after)) in before.metrics.iter().zip(totals) {
            if *after > before * (1.0 + ERROR_ROUNDING) {
                replay.worse.push(metric.name.clone());
            } else if *after < before * (1.0 - ERROR_ROUNDING) {
                replay.better.push(metric.name.clone());
            }
        }
        let trajectories = before.trajectories.iter().zip(&after.trajectories);
        replay.lost = trajectories
            .filter(|(before, after)| before.failure.is_none() && after.failure.is_some())
            .map(|(_, after)| after.label.clone())
            .collect();
        replay
    }

    /// What speaks against the calibrated model: it loses trajectories, or more errors rose than fell.
    pub fn objection(&self, recordings: &str) -> Option<String> {
        if let Some(first) = self.lost.first() {
            return Some(format!(
                "on {recordings}, {} trajectories that the model at the start simulates cannot be simulated by the calibrated one, such as {first}",
                self.lost.len()
            ));
        }
        if self.worse.len() > self.better.len() {
            let worse = self.worse.join(", ");
            return Some(format!(
                "on {recordings}, the calibrated model is worse than the one at the start ({worse})"
            ));
        }
        None
    }
}
