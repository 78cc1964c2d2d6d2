//! Exact line search: the root of the increasing derivative φ′ of the cost along a direction.
//!
//! φ′ is piecewise linear for pyramids, limits and friction, and smooth on elliptic cones, so Newton's method kept
//! within a bracket finds its root in a few evaluations.

use super::problem::Island;

/// The cost along a direction: its smooth part as a quadratic, and the rows it moves.
pub(super) struct Ray<'a> {
    pub(super) island: Island<'a>,
    /// Derivatives of the smooth part at the start: slope and curvature.
    pub(super) smooth: [f64; 2],
    pub(super) residual: &'a [f64],
    /// J·direction.
    pub(super) rate: &'a [f64],
}

/// What a line search found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Step length; zero if the cost does not fall along the direction.
    pub(super) length: f64,
    /// φ′ there.
    pub(super) slope: f64,
}

/// When a line search ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accuracy {
    /// |φ′| that is small enough.
    pub(super) slope: f64,
    /// Greatest number of evaluations.
    pub(super) evaluations: usize,
}

impl Ray<'_> {
    /// φ′ and φ″ at a step length.
    pub(super) fn derivatives(&self, step: f64) -> (f64, f64) {
        let [slope, curvature] = self.smooth;
        let (mut slope, mut curvature) = (slope + step * curvature, curvature);
        for (_, block) in self.island.blocks() {
            let rows = block.rows();
            let law = self.island.law(block);
            let (s, c) = law.along(&self.residual[rows.clone()], &self.rate[rows], step);
            slope += s;
            curvature += c;
        }
        (slope, curvature)
    }

    /// Searches from a first guess, given the (negative) slope at zero.
    pub(super) fn search(&self, start_slope: f64, guess: f64, accuracy: Accuracy) -> Step {
        let mut low = Step {
            length: 0.0,
            slope: start_slope,
        };
        let mut high: Option<Step> = None;
        let mut best = low;
        let mut length = guess;
        for _ in 0..accuracy.evaluations {
            let (slope, curvature) = self.derivatives(length);
            let here = Step { length, slope };
            if !slope.is_finite() {
                break;
            }
            // Keep the best point, in case evaluations run out.
            if best.length == 0.0 || slope.abs() < best.slope.abs() {
                best = here;
            }
            if slope.abs() <= accuracy.slope {
                break;
            }
            // φ′ increases, so its sign says on which side the root is.
            if slope < 0.0 {
                low = here;
            } else {
                high = Some(here);
            }
            let next = next_length(here, curvature, low, high);
            if next == length {
                break;
            }
            length = next;
        }
        best
    }
}

/// Newton's next point, or one within the bracket where it leaves it.
fn next_length(here: Step, curvature: f64, low: Step, high: Option<Step>) -> f64 {
    let newton = here.length - here.slope / curvature;
    // No upper end yet: Newton forward, or twice the length.
    let Some(high) = high else {
        return if newton.is_finite() && newton > here.length {
            newton
        } else {
            here.length * 2.0
        };
    };
    if newton > low.length && newton < high.length {
        return newton;
    }
    // Newton leaves the bracket at a kink: the secant, or the middle.
    let secant = low.length - low.slope * (high.length - low.length) / (high.slope - low.slope);
    if secant > low.length && secant < high.length {
        secant
    } else {
        0.5 * (low.length + high.length)
    }
}
