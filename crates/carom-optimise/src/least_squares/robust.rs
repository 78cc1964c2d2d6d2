//! Losses that grow slower than squares, for residuals that hold outliers [Triggs 2000, §4].
//!
//! With z = (r/δ)² the cost is ½·δ²·Σ ρ(z), where ρ(z) ≈ z for small z. Near a point it is a sum of squares again: rows of
//! the Jacobian are multiplied by a, residuals by b,
//!
//!   a = √max(ρ′ + 2·ρ″·z, ε),   b = ρ′/a   (1)
//!
//! so that the gradient Σ a·b·r·∂r = Σ ρ′·r·∂r is exact and the curvature along each residual is right where it is positive.

use serde::{Deserialize, Serialize};

/// How residuals count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Loss {
    /// By their squares.
    #[default]
    Squares,
    /// By their squares up to δ, beyond it by their size: ρ = 2·√z − 1.
    Huber(f64),
    /// Between squares and size without a seam: ρ = 2·(√(1 + z) − 1).
    Soft(f64),
    /// By the logarithm of their size, far out hardly at all: ρ = ln(1 + z).
    Cauchy(f64),
}

/// Curvatures along a residual below this fraction are raised to it, so that weights stay finite.
const MIN_CURVATURE_RATIO: f64 = f64::EPSILON;

impl Loss {
    /// ρ and its first two derivatives.
    fn rho(self, z: f64) -> [f64; 3] {
        match self {
            Self::Huber(_) if z > 1.0 => {
                let root = z.sqrt();
                [2.0 * root - 1.0, 1.0 / root, -0.5 / (z * root)]
            }
            Self::Squares | Self::Huber(_) => [z, 1.0, 0.0],
            Self::Soft(_) => {
                let root = (1.0 + z).sqrt();
                [2.0 * (root - 1.0), 1.0 / root, -0.5 / (root * root * root)]
            }
            Self::Cauchy(_) => {
                let t = 1.0 / (1.0 + z);
                [z.ln_1p(), t, -t * t]
            }
        }
    }

    fn delta(self) -> f64 {
        match self {
            Self::Squares => 1.0,
            Self::Huber(delta) | Self::Soft(delta) | Self::Cauchy(delta) => delta,
        }
    }

    /// The cost of residuals.
    pub fn cost(self, residuals: &[f64]) -> f64 {
        let delta = self.delta();
        let sum = residuals.iter().fold(0.0, |sum, r| {
            let ratio = r / delta;
            sum + self.rho(ratio * ratio)[0]
        });
        0.5 * delta * delta * sum
    }

    /// a and b of (1) for a residual.
    pub(super) fn weights(self, residual: f64) -> [f64; 2] {
        let z = (residual / self.delta()).powi(2);
        let [_, first, second] = self.rho(z);
        let a = (first + 2.0 * second * z).max(MIN_CURVATURE_RATIO).sqrt();
        [a, first / a] // (1)
    }

    /// Why the loss cannot be used.
    pub fn problem(self) -> Option<String> {
        let delta = self.delta();
        let usable = delta.is_finite() && delta > 0.0;
        (!usable).then(|| {
            format!("the loss changes its form at residuals of {delta}: give a positive number")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [Loss; 4] = [
        Loss::Squares,
        Loss::Huber(0.7),
        Loss::Soft(0.7),
        Loss::Cauchy(0.7),
    ];

    #[test]
    fn weighted_residuals_have_the_slope_and_curvature_of_the_cost() {
        for loss in LOSSES {
            for r in [-3.0, -0.2, 0.01, 0.5, 2.0] {
                let h = 1e-4;
                let [low, mid, high] = [-h, 0.0, h].map(|d| loss.cost(&[r + d]));
                let slope = (high - low) / (2.0 * h);
                let curvature = (high - 2.0 * mid + low) / (h * h);
                let [a, b] = loss.weights(r);
                assert!((a * b * r - slope).abs() < 1e-6, "{loss:?} {r}");
                let expected = curvature.max(0.0);
                assert!(
                    (a * a - expected).abs() < 1e-5,
                    "{loss:?} {r}: {} {curvature}",
                    a * a
                );
            }
        }
    }

    #[test]
    fn small_residuals_count_by_their_squares() {
        for loss in LOSSES {
            assert!((loss.cost(&[1e-3, 2e-3]) / 2.5e-6 - 1.0).abs() < 1e-5);
            assert_eq!(loss.problem(), None);
        }
        assert!(Loss::Huber(-1.0).problem().unwrap().contains("of -1"));
    }
}
