//! Positions after a step: q⁺ = q ⊕ h·v⁺, in tangent space.
//!
//! A rotation q⁺ = q ⊗ exp(r), r = h·ω⁺, turns by
//!
//!   δ⁺ = exp(r)ᵀ·δ + Jᵣ(r)·dr,    Jᵣ(r) = 1 − (1 − cos x)/x²·[r] + (x − sin x)/x³·[r]²,  x = |r|          (1)

use crate::math::{Mat3, Vec3};

/// Below this square of the angle the coefficients of (1) are taken from their series.
const SMALL: f64 = 1e-2;

/// exp(r)ᵀ and Jᵣ(r). (1)
pub(super) fn step_jacobians(rotation: Vec3) -> (Mat3, Mat3) {
    let square = rotation.norm_squared();
    // sin x/x, (1 − cos x)/x², (x − sin x)/x³
    let (first, second, third) = if square < SMALL {
        (
            series(square, 1.0, [6.0, 20.0, 42.0, 72.0, 110.0]),
            series(square, 0.5, [12.0, 30.0, 56.0, 90.0, 132.0]),
            series(square, 1.0 / 6.0, [20.0, 42.0, 72.0, 110.0, 156.0]),
        )
    } else {
        let angle = square.sqrt();
        let (sin, cos) = angle.sin_cos();
        (
            sin / angle,
            (1.0 - cos) / square,
            (angle - sin) / (square * angle),
        )
    };
    let cross = Mat3::skew(rotation);
    let twice = cross.mul(&cross);
    let combine = |once: f64, two: f64| {
        let identity: Mat3 = Mat3::identity();
        Mat3(std::array::from_fn(|k| {
            identity.0[k] + once * cross.0[k] + two * twice.0[k]
        }))
    };
    (combine(-first, second), combine(-second, third))
}

/// first·(1 − s/d₁·(1 − s/d₂·(…))).
fn series(square: f64, first: f64, divisors: [f64; 5]) -> f64 {
    let sum = divisors
        .iter()
        .rev()
        .fold(1.0, |sum, divisor| 1.0 - square / divisor * sum);
    first * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;
    use crate::math::Quat;

    #[test]
    fn jacobians_are_those_of_the_exponential() {
        for scale in [0.0, 1e-9, 1e-4, 0.09, 0.11, 1.0, 3.0] {
            let rotation = Vec3([0.6, -0.64, 0.48]) * scale;
            let (turn, right) = step_jacobians(rotation);
            let quat = Quat::exp(rotation);
            for k in 0..3 {
                let mut moved = rotation.map(Dual::<1>::constant);
                moved[k].tangent[0] = 1.0;
                let change = quat.map(Dual::constant).conjugate().mul(Quat::exp(moved));
                let (_, vector) = change.parts();
                let axis = Vec3(std::array::from_fn(|i| f64::from(u8::from(i == k))));
                let expected = quat.rotate_inverse(axis);
                for i in 0..3 {
                    assert!((2.0 * vector[i].tangent[0] - right.0[3 * i + k]).abs() < 1e-12);
                    assert!((turn.0[3 * i + k] - expected[i]).abs() < 1e-14);
                }
            }
        }
    }
}
