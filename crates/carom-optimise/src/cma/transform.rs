//! Boxes without walls: coordinates run over all numbers and are folded into their bounds.
//!
//! Well inside, a coordinate is itself. Within a margin a around a bound it bends along a parabola that touches the bound,
//!
//!   x = l + (y − l + a)²/(4·a)   for |y − l| ≤ a   (1)
//!
//! and beyond it runs back. Unlike a penalty it needs no constant, unlike clipping it has no flat region: a search that
//! starts at a bound moves off it like from any other place.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;

/// Width of the margin at a bound, as a fraction of the width of the box; of the scale where there is one bound.
const BOUNDARY_MARGIN: f64 = 0.05;

/// The folding of all coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Transform {
    bounds: Bounds,
}

impl Transform {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds }
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    fn margin(&self, i: usize) -> f64 {
        if self.bounds.is_boxed(i) {
            BOUNDARY_MARGIN * (self.bounds.upper()[i] - self.bounds.lower()[i])
        } else {
            BOUNDARY_MARGIN
        }
    }

    /// The point within the bounds.
    pub(super) fn fold(&self, y: &[f64]) -> Vec<f64> {
        (0..y.len()).map(|i| self.fold_one(i, y[i])).collect()
    }

    fn fold_one(&self, i: usize, mut y: f64) -> f64 {
        let (lower, upper, margin) = (
            self.bounds.lower()[i],
            self.bounds.upper()[i],
            self.margin(i),
        );
        let (first, last) = (lower - margin, upper + margin);
        if (first..=last).contains(&y) {
            // Not folded.
        } else if first.is_finite() && last.is_finite() {
            // Back and forth with the period of two widths.
            let width = last - first;
            let place = (y - first).rem_euclid(2.0 * width);
            y = first
                + if place > width {
                    2.0 * width - place
                } else {
                    place
                };
        } else if y < first {
            y = 2.0 * first - y;
        } else if y > last {
            y = 2.0 * last - y;
        }
        let folded = if y < lower + margin {
            lower + (y - first).powi(2) / (4.0 * margin) // (1)
        } else if y > upper - margin {
            upper - (last - y).powi(2) / (4.0 * margin)
        } else {
            y
        };
        self.bounds.clamp(i, folded)
    }

    /// Coordinates that are folded to a point within the bounds.
    pub(super) fn unfold(&self, x: &[f64]) -> Vec<f64> {
        (0..x.len())
            .map(|i| {
                let (lower, upper, margin) = (
                    self.bounds.lower()[i],
                    self.bounds.upper()[i],
                    self.margin(i),
                );
                if x[i] < lower + margin {
                    lower - margin + 2.0 * (margin * (x[i] - lower)).max(0.0).sqrt()
                } else if x[i] > upper - margin {
                    upper + margin - 2.0 * (margin * (upper - x[i])).max(0.0).sqrt()
                } else {
                    x[i]
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transform() -> Transform {
        let inf = f64::INFINITY;
        let bounds = Bounds::new(vec![-1.0, 0.0, -inf, -inf], vec![1.0, inf, 2.0, inf]).unwrap();
        Transform::new(bounds)
    }

    #[test]
    fn every_point_of_the_box_is_reached_and_none_outside() {
        let transform = transform();
        for k in -400..400 {
            let y = f64::from(k) * 0.0173;
            let x = transform.fold(&[y; 4]);
            assert!(transform.bounds().contains(&x), "{y}: {x:?}");
            let again = transform.fold(&transform.unfold(&x));
            for (a, b) in again.iter().zip(&x) {
                assert!((a - b).abs() < 1e-14, "{y}: {a} {b}");
            }
            assert_eq!(x[3], y);
        }
    }

    #[test]
    fn the_middle_is_left_alone_and_the_seams_are_smooth() {
        let transform = transform();
        assert_eq!(transform.fold(&[0.3, 0.3, 0.3, 0.3]), [0.3; 4]);
        for seam in [-1.1, -0.9, 0.9, 1.1] {
            let h = 1e-6;
            let at = |y: f64| transform.fold(&[y, 0.0, 0.0, 0.0])[0];
            let [left, right] = [at(seam) - at(seam - h), at(seam + h) - at(seam)].map(|d| d / h);
            assert!((left - right).abs() < 1e-4, "{seam}: {left} {right}");
        }
    }
}
