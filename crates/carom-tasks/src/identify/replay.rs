//! The replay gate: a calibrated model is replayed on recordings, and must be better there than the one it came from.

use crate::evaluate::Report;

/// Errors that differ by less than this fraction are the same.
const ERROR_ROUNDING: f64 = 1e-9;

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

/// Why an answer is no success: the loss did not fall, or the calibrated model is worse when it is replayed on the recordings of the fit or
/// on the held-out ones. `losses` are those before and after.
pub fn replay_objections(
    losses: [f64; 2],
    fitted: &[Report; 2],
    held_out: Option<&[Report; 2]>,
) -> Vec<String> {
    let mut objections = Vec::new();
    let [before, after] = losses;
    let is_lower = after < before * (1.0 - ERROR_ROUNDING);
    if !is_lower {
        objections.push(
            "the search found nothing better than the start: the loss did not fall".to_owned(),
        );
    }
    objections.extend(Replay::new(fitted).objection("the recordings of the fit"));
    if let Some(held_out) = held_out {
        objections.extend(Replay::new(held_out).objection("held-out recordings"));
    }
    objections
}
