//! Adam [Kingma 2015, alg. 1] within bounds, with clipped gradients, schedules, and the best point kept.
//!
//! With the gradient g at step t, shortened to a length c where it is longer,
//!
//!   m ← β₁·m + (1 − β₁)·g              (1)
//!   v ← β₂·v + (1 − β₂)·g²             (2)
//!   u ← P(u − a(t)·m̂/(√v̂ + ε))         (3)
//!
//! where m̂ = m/(1 − β₁ᵗ), v̂ = v/(1 − β₂ᵗ) and P moves into the bounds. A step to a point that cannot be evaluated is taken
//! back, halved, and its memory m forgotten, so that the next one does not lead there again.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::linalg::{largest, norm};
use crate::optimiser::{Best, Method, Status};
use crate::request::{Answered, Evaluation, Proposal, Want};
use crate::space::Space;

/// The length of steps over time, in scaled coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// Always the same.
    Constant(f64),
    /// From a rate down to a share of it along half a cosine over all steps.
    Cosine {
        /// The first rate.
        rate: f64,
        /// The last rate as a share of the first.
        last: f64,
    },
    /// Shrinks by a factor at each step.
    Exponential {
        /// The first rate.
        rate: f64,
        /// The factor for each step.
        factor: f64,
    },
}

impl Schedule {
    /// The rate of a step.
    pub fn rate(&self, step: u64, steps: u64) -> f64 {
        match *self {
            Self::Constant(rate) => rate,
            Self::Cosine { rate, last } => {
                let share = step as f64 / steps.max(1) as f64;
                let half = 0.5 * (1.0 + (std::f64::consts::PI * share).cos());
                rate * (last + (1.0 - last) * half)
            }
            Self::Exponential { rate, factor } => rate * factor.powf(step as f64),
        }
    }
}

/// Settings of Adam.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamSettings {
    /// Length of steps, a(t).
    pub schedule: Schedule,
    /// β₁ and β₂.
    pub decay: [f64; 2],
    /// ε.
    pub epsilon: f64,
    /// Gradients longer than this are shortened to it.
    pub clip: Option<f64>,
    /// Steps in all.
    pub steps: u64,
    /// Converged once no entry of the projected gradient is larger.
    pub gradient_tolerance: f64,
    /// End after so many steps in a row without a new best point.
    pub patience: Option<u64>,
}

impl Default for AdamSettings {
    fn default() -> Self {
        Self {
            schedule: Schedule::Constant(0.01),
            decay: [0.9, 0.999],
            epsilon: 1e-8,
            clip: None,
            steps: 1000,
            gradient_tolerance: 0.0,
            patience: None,
        }
    }
}

/// Failures in a row, each of which halves the step, before giving up: 2⁻⁴⁰ of a step is nothing.
const MAX_FAILURES: u32 = 40;

/// Adam at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    settings: AdamSettings,
    bounds: Bounds,
    /// Where the next gradient is wanted.
    point: Vec<f64>,
    /// The last point that had a gradient.
    good: Option<Vec<f64>>,
    mean: Vec<f64>,
    square: Vec<f64>,
    step: u64,
    /// Steps since m and v began, for (3).
    since: i32,
    since_best: u64,
    failures: u32,
    best: Option<Best>,
    status: Status,
}

impl Adam {
    /// Start at the start of a space.
    pub fn new(space: &Space, settings: AdamSettings) -> Self {
        Self::from_point(space.scaled_start(), space.scaled_bounds(), settings)
    }

    /// Start at a scaled point.
    pub(crate) fn from_point(point: Vec<f64>, bounds: Bounds, settings: AdamSettings) -> Self {
        let zeros = vec![0.0; point.len()];
        Self {
            settings,
            bounds,
            point,
            good: None,
            mean: zeros.clone(),
            square: zeros,
            step: 0,
            since: 0,
            since_best: 0,
            failures: 0,
            best: None,
            status: Status::Running,
        }
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.step
    }

    fn descend(&mut self, value: f64, mut gradient: Vec<f64>) {
        self.failures = 0;
        if Best::keep(&mut self.best, &self.point, value) {
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        let slope = largest(&self.bounds.projected_gradient(&self.point, &gradient));
        if slope <= self.settings.gradient_tolerance {
            self.status = Status::Converged(format!(
                "the largest entry of the projected gradient is {slope:.1e}"
            ));
            return;
        }
        if self.patience_is_over() || self.step >= self.settings.steps {
            return;
        }
        if let Some(clip) = self.settings.clip {
            let length = norm(&gradient);
            if length > clip {
                for g in &mut gradient {
                    *g *= clip / length;
                }
            }
        }
        self.good = Some(self.point.clone());
        self.take_step(&gradient);
    }

    fn take_step(&mut self, gradient: &[f64]) {
        let [b1, b2] = self.settings.decay;
        let rate = self.settings.schedule.rate(self.step, self.settings.steps);
        self.step += 1;
        self.since = self.since.saturating_add(1);
        let bias = [1.0 - b1.powi(self.since), 1.0 - b2.powi(self.since)];
        for (i, &g) in gradient.iter().enumerate() {
            self.mean[i] = b1 * self.mean[i] + (1.0 - b1) * g; // (1)
            self.square[i] = b2 * self.square[i] + (1.0 - b2) * g * g; // (2)
            let root = (self.square[i] / bias[1]).sqrt() + self.settings.epsilon;
            let step = rate * (self.mean[i] / bias[0]) / root;
            self.point[i] = self.bounds.clamp(i, self.point[i] - step); // (3)
        }
    }

    fn patience_is_over(&mut self) -> bool {
        let over = (self.settings.patience).is_some_and(|patience| self.since_best >= patience);
        if over {
            self.status = Status::Finished(format!(
                "{} steps in a row brought no lower value",
                self.since_best
            ));
        } else if self.step >= self.settings.steps {
            self.status = Status::Finished(format!("all {} steps are done", self.settings.steps));
        }
        over
    }

    fn step_back(&mut self, reason: &str) {
        self.failures += 1;
        let Some(good) = &self.good else {
            self.status = Status::Stalled(format!(
                "the start cannot be evaluated: {reason}; start elsewhere"
            ));
            return;
        };
        if self.failures > MAX_FAILURES {
            self.status = Status::Stalled(format!("steps of any length fail: {reason}"));
            return;
        }
        for (point, good) in self.point.iter_mut().zip(good) {
            *point = good + 0.5 * (*point - good);
        }
        self.mean.fill(0.0);
        self.square.fill(0.0);
        self.since = 0;
    }
}

impl Method for Adam {
    fn propose(&mut self) -> Vec<Proposal> {
        vec![Proposal {
            point: self.point.clone(),
            want: Want::Gradient,
        }]
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        for Answered { outcome, .. } in answered {
            match outcome {
                Ok(Evaluation::Gradient { value, gradient }) => self.descend(value, gradient),
                Ok(_) => self.step_back("no gradient was given"),
                Err(failure) => self.step_back(&failure.reason),
            }
        }
    }

    fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    fn status(&self) -> &Status {
        &self.status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_begin_and_end_where_they_say() {
        let cosine = Schedule::Cosine {
            rate: 0.2,
            last: 0.1,
        };
        assert_eq!(cosine.rate(0, 100), 0.2);
        assert!((cosine.rate(100, 100) - 0.02).abs() < 1e-15);
        assert!((cosine.rate(50, 100) - 0.11).abs() < 1e-15);
        let shrinking = Schedule::Exponential {
            rate: 1.0,
            factor: 0.5,
        };
        assert_eq!(shrinking.rate(3, 9), 0.125);
    }

    #[test]
    fn the_first_step_is_as_long_as_the_rate_whatever_the_gradient() {
        let space = Space::new(vec![1.0, 1.0], Bounds::free(2)).unwrap();
        for size in [1e-3, 1e6] {
            let mut adam = Adam::new(&space, AdamSettings::default());
            adam.descend(1.0, vec![size, -size]);
            assert!((adam.point[0] - 0.99).abs() < 1e-6);
            assert!((adam.point[1] - 1.01).abs() < 1e-6);
        }
    }
}
