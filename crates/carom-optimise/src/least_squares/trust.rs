//! A step within a trust region and bounds.
//!
//! For a damping λ the step solves a least-squares problem with bounds,
//!
//!   p(λ) = argmin ‖J·p + r‖² + λ·‖D·p‖²,   l ≤ x + p ≤ u   (1)
//!
//! and λ ≥ 0 is as small as ‖D·p(λ)‖ ≤ Δ allows, within a hundredth. ‖D·p‖ falls with λ, about as 1/(c + λ), so that secants of
//! its reciprocal find λ in a few trials [More 1978, §5].

use crate::bounds::Bounds;
use crate::linalg::{
    Matrix, add_scaled, bounded_least_squares, dot, norm, reduce, transpose_times,
};

/// How far the length of a step may be from the radius, as a fraction of it.
const RADIUS_TOLERANCE: f64 = 0.01;
/// Maximum of trials for the damping that gives a step the length of the radius.
const MAX_DAMPING_TRIALS: usize = 30;

/// J and r reduced to as many rows as J has columns.
pub(super) struct Reduced {
    /// R with columns of length one, so that what depends on what is not judged by units.
    r: Matrix,
    q: Vec<f64>,
    /// Lengths of the columns of J, one for those that are zero.
    lengths: Vec<f64>,
}

/// Where a step leads and what the model says of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    /// x + p.
    pub(super) point: Vec<f64>,
    /// ‖D·p‖.
    pub(super) length: f64,
    pub(super) damping: f64,
    /// The decrease of ½·‖J·p + r‖².
    pub(super) predicted: f64,
}

impl Reduced {
    pub(super) fn new(jacobian: &Matrix, residuals: &[f64]) -> Self {
        let lengths: Vec<f64> = (jacobian.column_lengths().into_iter())
            .map(|length| if length > 0.0 { length } else { 1.0 })
            .collect();
        let (r, q) = reduce(jacobian, &lengths, residuals);
        Self { r, q, lengths }
    }

    /// The step within a radius.
    pub(super) fn step(&self, x: &[f64], bounds: &Bounds, scale: &[f64], radius: f64) -> Step {
        let room = |limit: &[f64]| -> Vec<f64> {
            let room = (0..x.len()).map(|i| self.lengths[i] * (limit[i] - x[i]));
            room.collect()
        };
        let limits = [room(bounds.lower()), room(bounds.upper())];
        let scale: Vec<f64> = scale
            .iter()
            .zip(&self.lengths)
            .map(|(d, l)| d / l)
            .collect();
        let mut step = self.scaled_step(&limits, &scale, radius);
        for i in 0..x.len() {
            // A step to a bound ends there to the bit.
            step.point[i] = match step.point[i] {
                p if p == limits[0][i] => bounds.lower()[i],
                p if p == limits[1][i] => bounds.upper()[i],
                p => bounds.clamp(i, x[i] + p / self.lengths[i]),
            };
        }
        step
    }

    /// p in units of the lengths of columns, in place of the point.
    fn scaled_step(&self, limits: &[Vec<f64>; 2], scale: &[f64], radius: f64) -> Step {
        let at = |damping: f64| self.damped(limits, scale, damping);
        let full = at(0.0);
        if full.length <= (1.0 + RADIUS_TOLERANCE) * radius {
            return full;
        }
        let gradient = transpose_times(&self.r, &self.q);
        let scaled: Vec<f64> = gradient.iter().zip(scale).map(|(g, d)| g / d).collect();
        let mut high = norm(&scaled) / radius;
        let mut low = 0.0;
        // A secant of 1/‖D·p‖ through two dampings; at first the one at zero, and the limit 1/‖D·p‖ ≈ λ/‖D⁻¹·g‖.
        let mut before = (0.0, 1.0 / full.length);
        let mut damping = high * (1.0 - radius / full.length).max(1e-3);
        let mut step = at(damping);
        for _ in 0..MAX_DAMPING_TRIALS {
            if (step.length - radius).abs() <= RADIUS_TOLERANCE * radius {
                break;
            }
            if step.length > radius {
                low = damping;
            } else {
                high = damping;
            }
            let now = (damping, 1.0 / step.length);
            let slope = (now.1 - before.1) / (now.0 - before.0);
            let guess = now.0 + (1.0 / radius - now.1) / slope;
            before = now;
            damping = if guess.is_finite() && guess > low && guess < high {
                guess
            } else if low > 0.0 {
                (low * high).sqrt()
            } else {
                1e-3 * high
            };
            step = at(damping);
        }
        step
    }

    /// p(λ) of (1).
    fn damped(&self, limits: &[Vec<f64>; 2], scale: &[f64], damping: f64) -> Step {
        let (rows, columns) = (self.r.rows(), self.r.columns());
        let root = damping.sqrt();
        let extra = if damping > 0.0 { columns } else { 0 };
        let matrix = Matrix::from_fn(rows + extra, columns, |i, j| {
            if i < rows {
                self.r[(i, j)]
            } else if i - rows == j {
                root * scale[j]
            } else {
                0.0
            }
        });
        let mut target: Vec<f64> = self.q.iter().map(|q| -q).collect();
        target.resize(rows + extra, 0.0);
        let step = bounded_least_squares(&matrix, &target, &limits[0], &limits[1]);
        let scaled: Vec<f64> = step.iter().zip(scale).map(|(p, d)| p * d).collect();
        let mut after = self.r.times(&step);
        add_scaled(&mut after, 1.0, &self.q);
        Step {
            length: norm(&scaled),
            damping,
            predicted: 0.5 * (dot(&self.q, &self.q) - dot(&after, &after)),
            point: step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::testing::random_matrix;
    use crate::random::Random;

    #[test]
    fn steps_are_as_long_as_the_radius_allows() {
        for seed in 0..50 {
            let mut random = Random::new(seed, 0);
            let jacobian = random_matrix(12, 5, seed);
            let reduced = Reduced::new(&jacobian, &random.normals(12));
            let bounds = if seed % 2 == 0 {
                Bounds::free(5)
            } else {
                Bounds::new(vec![-0.1; 5], vec![0.2; 5]).unwrap()
            };
            let x = vec![0.0; 5];
            let scale = [1.0, 10.0, 0.1, 1.0, 3.0];
            let full = reduced.step(&x, &bounds, &scale, f64::INFINITY);
            assert_eq!(full.damping, 0.0);
            for radius in [1e-6, 1e-3, 0.1, 1.0] {
                let step = reduced.step(&x, &bounds, &scale, radius);
                assert!(
                    step.length <= 1.11 * radius,
                    "{seed}: {} {radius}",
                    step.length
                );
                assert!(step.length >= 0.89 * radius.min(full.length));
                assert!(step.predicted > 0.0);
                assert!(bounds.contains(&step.point));
            }
        }
    }
}
