//! Inertia that is physical for any ten numbers: the logarithm of the Cholesky factor of the pseudo-inertia
//! [Rucker 2022].
//!
//! With Σ = ∫ r·rᵀ dm the second moments of mass about the centre of mass, a body is physical when its mass is positive
//! and Σ positive definite. Both hold by construction for
//!
//!   m = exp(2α),   Σ = m·S·Sᵀ,   S = (e^d₁ s₁₂ s₁₃; 0 e^d₂ s₂₃; 0 0 e^d₃),   centre of mass (t₁, t₂, t₃)     (1)
//!
//! and the inertia about the centre of mass is I = tr(Σ)·1 − Σ. The numbers are θ = (α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃).
//! The centre of mass is in the axes of the body, Σ in those of its principal axes at the start.

use crate::scalar::Scalar;

/// How many numbers there are.
pub(super) const COUNT: usize = 10;

/// Names of the numbers.
pub(super) const NAMES: [&str; COUNT] = [
    "alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3",
];

/// Mass, centre of mass and inertia of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BodyInertia<T> {
    /// Mass (kg).
    pub(super) mass: T,
    /// Centre of mass in the body frame (m).
    pub(super) center: [T; 3],
    /// Moments about the centre of mass (kg·m²).
    pub(super) moments: [T; 3],
    /// Products xy, xz, yz (kg·m²).
    pub(super) products: [T; 3],
}

/// The inertia for ten numbers (1).
pub(super) fn from_log_cholesky<T: Scalar>(theta: &[T; COUNT]) -> BodyInertia<T> {
    let [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3] = *theta;
    let mass = (alpha * 2.0).exp();
    let (e1, e2, e3) = (d1.exp(), d2.exp(), d3.exp());
    let xx = mass * (e1 * e1 + s12 * s12 + s13 * s13);
    let yy = mass * (e2 * e2 + s23 * s23);
    let zz = mass * (e3 * e3);
    let xy = mass * (s12 * e2 + s13 * s23);
    BodyInertia {
        mass,
        center: [t1, t2, t3],
        moments: [yy + zz, xx + zz, xx + yy],
        products: [-xy, -(mass * s13 * e3), -(mass * s23 * e3)],
    }
}

/// The ten numbers of an inertia with principal moments; none when it is not physical, or only just.
pub(super) fn to_log_cholesky(
    mass: f64,
    center: [f64; 3],
    moments: [f64; 3],
) -> Option<[f64; COUNT]> {
    let [a, b, c] = moments;
    let half = 0.5 * (a + b + c);
    let logs = [half - a, half - b, half - c].map(|second| 0.5 * (second / mass).ln());
    let [d1, d2, d3] = logs;
    let alpha = 0.5 * mass.ln();
    let [t1, t2, t3] = center;
    let theta = [alpha, d1, d2, d3, 0.0, 0.0, 0.0, t1, t2, t3];
    theta
        .iter()
        .all(|number| number.is_finite())
        .then_some(theta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Mat3;
    use crate::testing::Random;

    #[test]
    fn numbers_of_an_inertia_give_it_back() {
        let (mass, center, moments) = (2.5, [0.1, -0.2, 0.3], [0.3, 0.25, 0.2]);
        let theta = to_log_cholesky(mass, center, moments).unwrap();
        let found = from_log_cholesky(&theta);
        assert!((found.mass - mass).abs() < 1e-15);
        assert_eq!((found.center, found.products), (center, [0.0; 3]));
        for (found, expected) in found.moments.iter().zip(moments) {
            assert!((found - expected).abs() < 1e-15, "{found} for {expected}");
        }
    }

    #[test]
    fn inertia_is_physical_for_any_numbers() {
        let mut random = Random::new(7);
        for _ in 0..1000 {
            let theta = random.numbers().map(|number: f64| 4.0 * number);
            let BodyInertia {
                mass,
                moments: [xx, yy, zz],
                products: [xy, xz, yz],
                ..
            } = from_log_cholesky(&theta);
            let (_, eigen) = Mat3([xx, xy, xz, xy, yy, yz, xz, yz, zz]).symmetric_eigen();
            let [a, b, c] = eigen.0;
            let rounding = 1e-12 * (a + b + c);
            assert!(mass > 0.0 && a.min(b).min(c) > 0.0, "{theta:?}");
            assert!(a + b > c - rounding && a + c > b - rounding && b + c > a - rounding);
        }
    }

    #[test]
    fn flat_bodies_have_no_numbers() {
        assert_eq!(to_log_cholesky(1.0, [0.0; 3], [0.1, 0.1, 0.2]), None);
        assert_eq!(to_log_cholesky(0.0, [0.0; 3], [0.1, 0.1, 0.1]), None);
    }
}
