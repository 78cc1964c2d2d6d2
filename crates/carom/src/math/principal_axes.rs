//! Principal axes of a symmetric 3×3 matrix by cyclic Jacobi rotations.

use super::{Mat3, Quat, Vec3};

/// Sweeps after which Jacobi has converged for any input (quadratic convergence needs about five).
const MAX_SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix, in decreasing order, and the rotation whose matrix has the
/// eigenvectors as columns: A = R·diag(values)·Rᵀ.
///
/// Only the symmetric part of the matrix counts. Axes keep their order where eigenvalues are equal, and a
/// diagonal matrix in decreasing order gives the identity.
pub fn principal_axes(matrix: &Mat3<f64>) -> (Quat<f64>, Vec3<f64>) {
    let mut a = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            a[i][j] = 0.5 * (matrix[3 * i + j] + matrix[3 * j + i]);
        }
    }
    let mut axes = Mat3::identity();
    for _ in 0..MAX_SWEEPS {
        let mut rotated = false;
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            rotated |= rotate_away(&mut a, &mut axes, p, q);
        }
        if !rotated {
            break;
        }
    }
    sort_decreasing(&axes, Vec3([a[0][0], a[1][1], a[2][2]]))
}

/// Zeroes a[p][q] by a rotation in the plane of axes p and q; false if it is negligible already.
fn rotate_away(a: &mut [[f64; 3]; 3], axes: &mut Mat3<f64>, p: usize, q: usize) -> bool {
    let off = a[p][q];
    // Negligible against the geometric mean of the diagonal: it would not change a rounded eigenvalue,
    // and eigenvectors to rounding only when the eigenvalues differ, hence the much smaller bound.
    if off == 0.0 || off.abs() <= f64::MIN_POSITIVE {
        return false;
    }
    let ratio = (a[q][q] - a[p][p]) / (2.0 * off);
    let tan = 1.0_f64.copysign(ratio) / (ratio.abs() + ratio.hypot(1.0));
    if tan == 0.0 {
        (a[p][q], a[q][p]) = (0.0, 0.0);
        return false;
    }
    let cos = 1.0 / tan.hypot(1.0);
    let sin = tan * cos;
    let r = 3 - p - q;
    a[p][p] -= tan * off;
    a[q][q] += tan * off;
    (a[p][q], a[q][p]) = (0.0, 0.0);
    let (rp, rq) = (a[r][p], a[r][q]);
    a[r][p] = cos * rp - sin * rq;
    a[r][q] = sin * rp + cos * rq;
    (a[p][r], a[q][r]) = (a[r][p], a[r][q]);
    for row in 0..3 {
        let (vp, vq) = (axes[3 * row + p], axes[3 * row + q]);
        axes[3 * row + p] = cos * vp - sin * vq;
        axes[3 * row + q] = sin * vp + cos * vq;
    }
    true
}

/// Orders the eigenvalues and makes the axes right-handed.
fn sort_decreasing(axes: &Mat3<f64>, values: Vec3<f64>) -> (Quat<f64>, Vec3<f64>) {
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
    let [x, y] = [axes.column(order[0]), axes.column(order[1])];
    let rotation = Mat3::from_columns(x, y, x.cross(y));
    (Quat::from_mat3(&rotation), Vec3(order.map(|i| values[i])))
}
