//! A line search for Wolfe's conditions [More 1994].
//!
//! Along a direction with the value φ and the slope φ′ at a step a, the search ends where
//!
//!   φ(a) ≤ φ(0) + c₁·a·φ′(0)   and   |φ′(a)| ≤ c₂·|φ′(0)|   (1)
//!
//! It keeps an interval that holds such a step: one end is the best step so far, the other lies where φ turns. The next step
//! is where a cubic or a parabola through the two ends and the last trial has its least value, kept within the interval.

use serde::{Deserialize, Serialize};

/// c₁ of the Wolfe conditions: sufficient decrease.
const MIN_DECREASE: f64 = 1e-3;
/// c₂ of the Wolfe conditions: the slope must fall to this fraction.
const MAX_SLOPE_RATIO: f64 = 0.9;
/// Width of the interval, relative to its end, below which the search ends.
const MIN_INTERVAL_WIDTH: f64 = 0.1;
/// Least and greatest growth of a step while no minimum is bracketed.
const STEP_GROWTH: [f64; 2] = [1.1, 4.0];
/// An interval that keeps more than this fraction in two trials is halved.
const MAX_INTERVAL_RATIO: f64 = 0.66;

/// A step with its value and slope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) step: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
}

/// What to do after a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// The trial meets the conditions, or nothing better can be had.
    Accept,
    /// Try another step.
    Try(f64),
}

/// A search along a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LineSearch {
    start: Trial,
    best: Trial,
    other: Trial,
    /// Whether the interval holds a turn.
    bracketed: bool,
    /// Whether values have not yet been low enough, so that an auxiliary function is followed.
    early: bool,
    interval: [f64; 2],
    longest: f64,
    widths: [f64; 2],
}

impl LineSearch {
    /// Begin with a first step, of which none may be longer than the longest.
    pub(super) fn new(value: f64, slope: f64, step: f64, longest: f64) -> Self {
        let start = Trial {
            step: 0.0,
            value,
            slope,
        };
        Self {
            start,
            best: start,
            other: start,
            bracketed: false,
            early: true,
            interval: [0.0, step + STEP_GROWTH[1] * step],
            longest,
            widths: [longest, 2.0 * longest],
        }
    }

    /// Whether a trial is low enough.
    pub(super) fn is_low_enough(&self, trial: Trial) -> bool {
        trial.value <= self.start.value + trial.step * MIN_DECREASE * self.start.slope // (1)
    }

    /// A step failed: none may be as long, and the next is a part of it.
    pub(super) fn shorten(&mut self, failed: f64) -> f64 {
        self.longest = failed;
        self.interval[1] = self.interval[1].min(failed);
        let base = if self.best.step < failed {
            self.best.step
        } else {
            0.0
        };
        base + 0.25 * (failed - base)
    }

    /// Go on after a trial.
    pub(super) fn advance(&mut self, trial: Trial) -> Next {
        let low_enough = self.is_low_enough(trial);
        let flat_enough = trial.slope.abs() <= MAX_SLOPE_RATIO * -self.start.slope;
        if low_enough && flat_enough || self.is_exhausted(trial, low_enough) {
            return Next::Accept;
        }
        if low_enough && trial.slope >= 0.0 {
            self.early = false;
        }
        let next = if self.early && trial.value <= self.best.value && !low_enough {
            self.with_auxiliary(trial)
        } else {
            self.update(trial)
        };
        Next::Try(self.safeguard(next))
    }

    fn is_exhausted(&self, trial: Trial, low_enough: bool) -> bool {
        let [low, high] = self.interval;
        let outside = trial.step <= low || trial.step >= high;
        let narrow = high - low <= MIN_INTERVAL_WIDTH * high;
        let still_falls = low_enough && trial.slope <= MIN_DECREASE * self.start.slope;
        self.bracketed && (outside || narrow) || trial.step >= self.longest && still_falls
    }

    /// Update with ψ(a) = φ(a) − c₁·a·φ′(0) in place of φ, whose least value lies where φ is low enough.
    fn with_auxiliary(&mut self, trial: Trial) -> f64 {
        let tilt = MIN_DECREASE * self.start.slope;
        let tilted = |t: Trial, sign: f64| Trial {
            step: t.step,
            value: t.value - sign * t.step * tilt,
            slope: t.slope - sign * tilt,
        };
        self.best = tilted(self.best, 1.0);
        self.other = tilted(self.other, 1.0);
        let next = self.update(tilted(trial, 1.0));
        self.best = tilted(self.best, -1.0);
        self.other = tilted(self.other, -1.0);
        next
    }

    /// Choose the next step and shrink the interval.
    fn update(&mut self, trial: Trial) -> f64 {
        let turned = trial.slope * self.best.slope.signum() < 0.0;
        let next = if trial.value > self.best.value {
            self.bracketed = true;
            self.after_rise(trial)
        } else if turned {
            self.bracketed = true;
            self.after_turn(trial)
        } else if trial.slope.abs() < self.best.slope.abs() {
            self.after_flattening(trial)
        } else {
            self.after_steepening(trial)
        };
        if trial.value > self.best.value {
            self.other = trial;
        } else {
            if turned {
                self.other = self.best;
            }
            self.best = trial;
        }
        next
    }

    /// The value rose: the least value lies between the best step and the trial.
    fn after_rise(&self, trial: Trial) -> f64 {
        let best = self.best;
        let reach = trial.step - best.step;
        let cubic = cubic_minimum(best, trial);
        let mean_slope = (best.value - trial.value) / reach;
        let parabola = best.step + 0.5 * reach * best.slope / (mean_slope + best.slope);
        if (cubic - best.step).abs() < (parabola - best.step).abs() {
            cubic
        } else {
            cubic + 0.5 * (parabola - cubic)
        }
    }

    /// The slope changed sign: the least value lies between, and the farther guess is the bolder one.
    fn after_turn(&self, trial: Trial) -> f64 {
        let cubic = cubic_minimum(trial, self.best);
        let secant = secant_root(trial, self.best);
        if (cubic - trial.step).abs() > (secant - trial.step).abs() {
            cubic
        } else {
            secant
        }
    }

    /// The value falls ever slower: go on, as far as the cubic says if that leads away from the best step.
    fn after_flattening(&self, trial: Trial) -> f64 {
        let secant = secant_root(trial, self.best);
        let cubic = self.cubic_beyond(trial);
        let cubic_is_nearer = (cubic - trial.step).abs() < (secant - trial.step).abs();
        if self.bracketed {
            let next = if cubic_is_nearer { cubic } else { secant };
            let limit = trial.step + MAX_INTERVAL_RATIO * (self.other.step - trial.step);
            if trial.step > self.best.step {
                next.min(limit)
            } else {
                next.max(limit)
            }
        } else {
            let next = if cubic_is_nearer { secant } else { cubic };
            next.clamp(self.interval[0], self.interval[1])
        }
    }

    fn cubic_beyond(&self, trial: Trial) -> f64 {
        let best = self.best;
        let reach = trial.step - best.step;
        let theta = 3.0 * (best.value - trial.value) / reach + best.slope + trial.slope;
        let scale = theta.abs().max(best.slope.abs()).max(trial.slope.abs());
        let inside = (theta / scale).powi(2) - (best.slope / scale) * (trial.slope / scale);
        let mut gamma = scale * inside.max(0.0).sqrt();
        if trial.step > best.step {
            gamma = -gamma;
        }
        let numerator = (gamma - trial.slope) + theta;
        let denominator = (gamma + (best.slope - trial.slope)) + gamma;
        let ratio = numerator / denominator;
        if ratio < 0.0 && gamma != 0.0 {
            trial.step + ratio * (best.step - trial.step)
        } else if trial.step > best.step {
            self.interval[1]
        } else {
            self.interval[0]
        }
    }

    /// The value falls ever faster: as far as allowed, or towards the turn.
    fn after_steepening(&self, trial: Trial) -> f64 {
        if self.bracketed {
            cubic_minimum(trial, self.other)
        } else if trial.step > self.best.step {
            self.interval[1]
        } else {
            self.interval[0]
        }
    }

    /// Keep the next step within the interval, and the interval shrinking.
    fn safeguard(&mut self, mut next: f64) -> f64 {
        let (best, other) = (self.best.step, self.other.step);
        if self.bracketed {
            let width = (other - best).abs();
            if width >= MAX_INTERVAL_RATIO * self.widths[1] {
                next = best + 0.5 * (other - best);
            }
            self.widths = [width, self.widths[0]];
            self.interval = [best.min(other), best.max(other)];
        } else {
            let reach = next - best;
            self.interval = STEP_GROWTH.map(|growth| next + growth * reach);
        }
        next = next.clamp(0.0, self.longest);
        let [low, high] = self.interval;
        if self.bracketed
            && (next <= low || next >= high || high - low <= MIN_INTERVAL_WIDTH * high)
        {
            next = best;
        }
        next
    }
}

/// Where the cubic through two trials has its least value.
fn cubic_minimum(a: Trial, b: Trial) -> f64 {
    let theta = 3.0 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
    let scale = theta.abs().max(a.slope.abs()).max(b.slope.abs());
    let inside = (theta / scale).powi(2) - (a.slope / scale) * (b.slope / scale);
    let mut gamma = scale * inside.max(0.0).sqrt();
    if b.step < a.step {
        gamma = -gamma;
    }
    let numerator = (gamma - a.slope) + theta;
    let denominator = ((gamma - a.slope) + gamma) + b.slope;
    a.step + numerator / denominator * (b.step - a.step)
}

/// Where the line through two slopes is zero.
fn secant_root(a: Trial, b: Trial) -> f64 {
    a.step + a.slope / (a.slope - b.slope) * (b.step - a.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps that a search takes until it accepts, and the last trial.
    fn follow(curve: impl Fn(f64) -> [f64; 2], first: f64) -> (usize, Trial) {
        let [value, slope] = curve(0.0);
        let mut search = LineSearch::new(value, slope, first, 1e10);
        let mut step = first;
        for count in 1..50 {
            let [value, slope] = curve(step);
            let trial = Trial { step, value, slope };
            match search.advance(trial) {
                Next::Accept => {
                    assert!(search.is_low_enough(trial), "{trial:?}");
                    return (count, trial);
                }
                Next::Try(next) => step = next,
            }
        }
        panic!("no end");
    }

    #[test]
    fn the_functions_of_the_paper_are_searched_in_few_steps() {
        // The first two test functions of [More 1994, §5].
        let first = |a: f64| [-a / (a * a + 2.0), (a * a - 2.0) / (a * a + 2.0).powi(2)];
        let second = |a: f64| {
            let b: f64 = a + 0.004;
            [
                b.powi(5) - 2.0 * b.powi(4),
                5.0 * b.powi(4) - 8.0 * b.powi(3),
            ]
        };
        for start in [1e-3, 1e-1, 10.0, 1e3] {
            let (count, trial) = follow(first, start);
            assert!(count <= 12, "{start}: {count}");
            assert!(trial.slope.abs() <= MAX_SLOPE_RATIO * 0.5);
            let (count, trial) = follow(second, start);
            assert!(count <= 15, "{start}: {count}");
            assert!(trial.value < 0.0);
        }
    }

    #[test]
    fn failed_steps_are_shortened_towards_the_best() {
        let mut search = LineSearch::new(1.0, -1.0, 1.0, 10.0);
        assert_eq!(search.shorten(1.0), 0.25);
        assert_eq!(search.shorten(0.25), 0.0625);
        assert_eq!(search.longest, 0.25);
    }
}
