//! Principal axes of a symmetric 3×3 matrix by Jacobi rotations.
//!
//! Where eigenvalues coincide the axes are a matter of convention, and they are visible to the user (the
//! fluid model, the inertial frames). The convention is MuJoCo's: the largest off-diagonal element is rotated
//! away first, by at most an eighth of a turn, and axes are exchanged by quarter turns only where the
//! eigenvalues clearly differ.

use super::{Mat3, Quat, Vec3};
use std::f64::consts::FRAC_1_SQRT_2;

/// An off-diagonal element is zero when below this fraction of the largest element.
const ZERO_ELEMENT: f64 = 1e-14;
/// Eigenvalues are equal when closer than this fraction of the largest element.
const EQUAL_VALUES: f64 = 1e-12;
/// More rotations than Jacobi needs for any input: convergence is quadratic, about ten suffice.
const MAX_ROTATIONS: usize = 500;

/// The eigenvalues of a symmetric matrix, in decreasing order (within rounding where they are equal), and the
/// rotation whose matrix has the eigenvectors as columns: A = R·diag(values)·Rᵀ.
///
/// Only the symmetric part of the matrix counts. A diagonal matrix in decreasing order gives the identity.
pub fn principal_axes(matrix: &Mat3<f64>) -> (Quat<f64>, Vec3<f64>) {
    let mut remaining = (*matrix + matrix.transpose()) * 0.5;
    let mut axes = Quat::identity();
    let scale = matrix
        .0
        .iter()
        .fold(0.0_f64, |scale, element| scale.max(element.abs()));
    for _ in 0..MAX_ROTATIONS {
        let (p, q) = largest_off_diagonal(&remaining);
        if remaining[3 * p + q].abs() < ZERO_ELEMENT * scale || remaining[3 * p + q] == 0.0 {
            break;
        }
        axes = axes.mul(rotate_away(&mut remaining, p, q)).normalized();
    }
    sort_decreasing(axes, remaining.diagonal(), EQUAL_VALUES * scale)
}

/// Row and column of the off-diagonal element of largest magnitude; later ones win ties.
fn largest_off_diagonal(matrix: &Mat3<f64>) -> (usize, usize) {
    let [xy, xz, yz] = [matrix[1].abs(), matrix[2].abs(), matrix[5].abs()];
    if xy > xz && xy > yz {
        (0, 1)
    } else if xz > yz {
        (0, 2)
    } else {
        (1, 2)
    }
}

/// Zeroes element (p, q) by turning axes p and q in their plane: A ← Rᵀ·A·R. Returns the rotation.
fn rotate_away(matrix: &mut Mat3<f64>, p: usize, q: usize) -> Quat<f64> {
    let element = matrix[3 * p + q];
    let ratio = (matrix[4 * q] - matrix[4 * p]) / (2.0 * element);
    let tan = if ratio >= 0.0 { 1.0 } else { -1.0 } / (ratio.abs() + ratio.hypot(1.0));
    let cos = 1.0 / tan.hypot(1.0);
    let sin = tan * cos;

    matrix[4 * p] -= tan * element;
    matrix[4 * q] += tan * element;
    let r = 3 - p - q;
    let (rp, rq) = (matrix[3 * r + p], matrix[3 * r + q]);
    set_symmetric(matrix, p, q, 0.0);
    set_symmetric(matrix, r, p, cos * rp - sin * rq);
    set_symmetric(matrix, r, q, sin * rp + cos * rq);

    // Axis p turns away from axis q: about −r, or about +r for the odd order (x, z).
    let half_cos = (0.5 + 0.5 * cos).sqrt();
    let half_sin = 0.5 * sin / half_cos;
    let mut rotation = Quat([half_cos, 0.0, 0.0, 0.0]);
    rotation[r + 1] = if r == 1 { half_sin } else { -half_sin };
    rotation
}

/// Sets an element and its mirror image.
fn set_symmetric(matrix: &mut Mat3<f64>, i: usize, j: usize, element: f64) {
    matrix[3 * i + j] = element;
    matrix[3 * j + i] = element;
}

/// Exchanges neighbours that differ by more than `tolerance` until the values decrease.
fn sort_decreasing(
    mut axes: Quat<f64>,
    mut values: Vec3<f64>,
    tolerance: f64,
) -> (Quat<f64>, Vec3<f64>) {
    for first in [0, 1, 0] {
        if values[first] + tolerance < values[first + 1] {
            values.0.swap(first, first + 1);
            let mut quarter_turn = Quat([FRAC_1_SQRT_2, 0.0, 0.0, 0.0]);
            quarter_turn[(first + 2) % 3 + 1] = FRAC_1_SQRT_2;
            axes = axes.mul(quarter_turn);
        }
    }
    (axes.normalized(), values)
}
