//! Principal axes of inertia, in the order and with the signs that MuJoCo chooses.
//!
//! Any order and sign describes the same inertia, but the frame is visible (sensors, mesh vertices, the fluid box of a
//! body with equal moments), so the same one is found: Jacobi rotations start from the given axes, remove the
//! largest off-diagonal entry each time, and accumulate as a quaternion; then quarter turns sort the moments in
//! decreasing order.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::math::{Mat3, Quat, Vec3};
use crate::scalar::Scalar;

/// Tolerances relative to the largest entry of the matrix.
#[derive(Clone, Copy)]
pub(super) struct Tolerance {
    /// Off-diagonal entries up to this count as zero.
    negligible: f64,
    /// Moments that differ by up to this keep their order.
    tie: f64,
}

impl Tolerance {
    /// For bodies: exact to rounding.
    pub(super) const BODY: Self = Self {
        negligible: 4e-15,
        tie: 1e-12,
    };
    /// For meshes, whose vertices are only known to single precision. MuJoCo stops here, and a frame that is a little
    /// off the principal axes is visible in the mesh's vertices, so it has to be the same.
    pub(super) const MESH: Self = Self {
        negligible: 1e-7,
        tie: 1e-7,
    };
    /// For inertias that a parameter changes: exact, and moments keep their order, so that the frame follows.
    pub(super) const FOLLOW: Self = Self {
        negligible: 4e-15,
        tie: f64::INFINITY,
    };
}

/// Convergence is quadratic: a handful of rotations suffices for any matrix of finite numbers.
const MAX_ROTATIONS: usize = 100;

/// Moments that differ by less than this share of the largest have axes that turn too easily to be followed.
const SEPARATION: f64 = 1e-6;

/// Principal moments and their axes, with what derivatives they have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Principal<T> {
    /// Rotation to the principal axes.
    pub(super) quat: Quat<T>,
    /// Principal moments.
    pub(super) moments: [T; 3],
    /// Products xy, xz, yz about these axes: zero, with derivatives where moments coincide.
    pub(super) products: [T; 3],
}

/// The principal frame of a symmetric matrix (xx, yy, zz, xy, xz, yz) over any scalar.
///
/// Derivatives are those at the solution: with D = Rᵀ·dA·R for the axes R and the moments λ, dλᵢ = Dᵢᵢ, and the axes
/// turn by ωₖ = Dᵢⱼ/(λᵢ − λⱼ) for i, j, k in cyclic order. Where λᵢ and λⱼ coincide there is no such turn, and Dᵢⱼ
/// itself is kept as a product of inertia.
pub(super) fn principal<T: Scalar>(full: [T; 6], tolerance: Tolerance) -> Principal<T> {
    let frame = principal_frame(full.map(T::value), tolerance);
    with_derivatives(full, frame)
}

/// The derivatives of a principal frame whose values are known.
pub(super) fn with_derivatives<T: Scalar>(
    full: [T; 6],
    (quat, moments): (Quat, [f64; 3]),
) -> Principal<T> {
    let fixed = Quat(quat.0.map(T::from));
    let mut result = Principal {
        quat: fixed,
        moments: moments.map(T::from),
        products: [T::ZERO; 3],
    };
    if !T::HAS_DERIVATIVES {
        return result;
    }
    let [xx, yy, zz, xy, xz, yz] = full;
    let axes = fixed.to_mat3();
    let rotated = axes
        .transpose()
        .mul(&Mat3([xx, xy, xz, xy, yy, yz, xz, yz, zz]))
        .mul(&axes);
    let change = rotated.0.map(|entry| entry - entry.value());
    for axis in 0..3 {
        result.moments[axis] += change[4 * axis];
    }
    let largest = moments
        .iter()
        .fold(0.0_f64, |most, moment| most.max(moment.abs()));
    let mut turn = Vec3::ZERO;
    for (place, (i, j)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let axis = 3 - i - j;
        let gap = moments[i] - moments[j];
        if gap.abs() > SEPARATION * largest {
            // (0, 2) is the pair that is not in cyclic order.
            let sign = if axis == 1 { -1.0 } else { 1.0 };
            turn[axis] = change[3 * i + j] / (gap * sign);
        } else {
            result.products[place] = change[3 * i + j];
        }
    }
    result.quat = fixed.mul(Quat::from_parts(T::ONE, turn * T::from(0.5)));
    result
}

/// Rotation to the principal axes of a symmetric matrix (xx, yy, zz, xy, xz, yz), and the principal moments.
pub(super) fn principal_frame(full: [f64; 6], tolerance: Tolerance) -> (Quat, [f64; 3]) {
    let [xx, yy, zz, xy, xz, yz] = full;
    let matrix = Mat3([xx, xy, xz, xy, yy, yz, xz, yz, zz]);
    let scale = full
        .iter()
        .fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    let mut quat = Quat::identity();
    let mut rotated = matrix;
    for _ in 0..MAX_ROTATIONS {
        let Some(turn) = jacobi_turn(&rotated, tolerance.negligible * scale) else {
            break;
        };
        quat = quat.mul(turn).normalized();
        let axes = quat.to_mat3();
        rotated = axes.transpose().mul(&matrix).mul(&axes);
    }
    sort(quat, rotated.diagonal().0, tolerance.tie * scale)
}

/// The rotation that removes the largest off-diagonal entry; none when it is negligible.
fn jacobi_turn(matrix: &Mat3, negligible: f64) -> Option<Quat> {
    let entry = |row: usize, column: usize| matrix[3 * row + column];
    let size = |row: usize, column: usize| entry(row, column).abs();
    let (row, column) = if size(0, 1) > size(0, 2) && size(0, 1) > size(1, 2) {
        (0, 1)
    } else if size(0, 2) > size(1, 2) {
        (0, 2)
    } else {
        (1, 2)
    };
    // Written so that numbers that are not comparable end the iteration.
    let is_large = size(row, column) > negligible;
    if !is_large {
        return None;
    }
    let ratio = (entry(column, column) - entry(row, row)) / (2.0 * entry(row, column));
    let tangent = 1.0_f64.copysign(ratio) / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let half_cosine = (0.5 + 0.5 * cosine).sqrt();
    let half_sine = tangent * cosine / (2.0 * half_cosine);
    let mut turn = [half_cosine, 0.0, 0.0, 0.0];
    let axis = 3 - row - column;
    turn[axis + 1] = if axis == 1 { half_sine } else { -half_sine };
    Some(Quat(turn))
}

/// Bubble sort by quarter turns.
fn sort(mut quat: Quat, mut moments: [f64; 3], tie: f64) -> (Quat, [f64; 3]) {
    for first in [0, 1, 0] {
        if moments[first] + tie < moments[first + 1] {
            moments.swap(first, first + 1);
            let mut turn = [FRAC_1_SQRT_2, 0.0, 0.0, 0.0];
            turn[(first + 2) % 3 + 1] = FRAC_1_SQRT_2;
            quat = quat.mul(Quat(turn)).normalized();
        }
    }
    (quat, moments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rebuild(quat: Quat, moments: [f64; 3]) -> Mat3 {
        let axes = quat.to_mat3();
        axes.mul(&Mat3::from_diagonal(moments.into()))
            .mul(&axes.transpose())
    }

    #[test]
    fn frame_rebuilds_the_matrix_over_many_scales() {
        for exponent in -12..6 {
            let scale = 10.0_f64.powi(exponent);
            let full = [3.0, 2.5, 2.0, 0.3, -0.7, 0.2].map(|entry| entry * scale);
            let (quat, moments) = principal_frame(full, Tolerance::BODY);
            let rebuilt = rebuild(quat, moments);
            let expected = [
                full[0], full[3], full[4], full[3], full[1], full[5], full[4], full[5], full[2],
            ];
            for (found, expected) in rebuilt.0.iter().zip(expected) {
                assert!(
                    (found - expected).abs() <= 1e-14 * 3.0 * scale,
                    "{found} for {expected}"
                );
            }
            assert!(moments[0] >= moments[1] && moments[1] >= moments[2]);
        }
    }

    #[test]
    fn diagonal_in_decreasing_order_is_left_alone() {
        let (quat, moments) = principal_frame([3.0, 2.0, 1.0, 0.0, 0.0, 0.0], Tolerance::BODY);
        assert_eq!(quat, Quat::identity());
        assert_eq!(moments, [3.0, 2.0, 1.0]);
    }

    #[test]
    fn numbers_that_are_not_finite_end_quickly() {
        let (_, moments) = principal_frame(
            [f64::NAN, f64::INFINITY, 1.0, f64::NAN, 0.0, 1e308],
            Tolerance::BODY,
        );
        assert!(moments.iter().any(|moment| !moment.is_finite()));
    }
}
