//! Errors of predicted strikes.

use super::strikes::Recorded;
use carom_planar::Planar;

/// Thresholds of the accuracy.
pub const THRESHOLDS: [f64; 6] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5];

/// An angle within half a turn.
pub(super) fn wrapped(angle: f64) -> f64 {
    angle - std::f64::consts::TAU * (angle / std::f64::consts::TAU).round()
}

/// What was predicted of a strike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// x, y, yaw and their rates when contact has ended.
    pub post: Planar,
    /// x, y, yaw at rest.
    pub rest: [f64; 3],
}

/// How large the errors of predictions are.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Relative errors of velocities after contact, one for each strike.
    pub relative: Vec<f64>,
    /// Mean distance between predicted and recorded places of rest (m).
    pub position: f64,
    /// Mean difference of yaw there (rad).
    pub yaw: f64,
}

/// The relative error of a velocity; `gyration` (m) weighs the yaw rate.
pub fn relative_error(found: &Planar, seen: &Planar, gyration: f64) -> f64 {
    let size = |x: f64, y: f64, spin: f64| x.hypot(y).hypot(gyration * spin);
    size(found[3] - seen[3], found[4] - seen[4], found[5] - seen[5])
        / size(seen[3], seen[4], seen[5])
}

impl Score {
    /// Of predictions, strike by strike. One that is not finite counts as an error of 1 in velocity.
    pub fn of(predictions: &[Prediction], strikes: &[Recorded], gyration: f64) -> Self {
        let mut score = Self {
            relative: Vec::new(),
            position: 0.0,
            yaw: 0.0,
        };
        let count = strikes.len() as f64;
        for (found, seen) in predictions.iter().zip(strikes) {
            let off = relative_error(&found.post, &seen.post, gyration);
            score.relative.push(if off.is_finite() { off } else { 1.0 });
            let away = (found.rest[0] - seen.rest[0]).hypot(found.rest[1] - seen.rest[1]);
            score.position += away / count;
            score.yaw += wrapped(found.rest[2] - seen.rest[2]).abs() / count;
        }
        score
    }

    /// Share of strikes with a relative error below a threshold.
    pub fn accuracy(&self, threshold: f64) -> f64 {
        let good = self.relative.iter().filter(|off| **off < threshold).count();
        good as f64 / self.relative.len() as f64
    }

    /// The median of the relative errors.
    pub fn median(&self) -> f64 {
        let mut sorted = self.relative.clone();
        sorted.sort_by(f64::total_cmp);
        let half = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => sorted[half],
            _ => 0.5 * (sorted[half - 1] + sorted[half]),
        }
    }
}
