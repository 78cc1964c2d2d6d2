//! Eigenvalues of small symmetric matrices by Jacobi's rotations.

/// Rotations of a matrix this small settle within few sweeps; more would not help.
const MAX_SWEEPS: usize = 30;

/// Diagonalises the leading `count` rows and columns of a symmetric matrix: `matrix` = Σ value(k)·vector(k)·vector(k)ᵀ.
///
/// Row k of the second result is the k-th eigenvector.
pub fn symmetric_eigen<const N: usize>(
    mut matrix: [[f64; N]; N],
    count: usize,
) -> ([f64; N], [[f64; N]; N]) {
    let mut vectors = [[0.0; N]; N];
    for (k, vector) in vectors.iter_mut().enumerate() {
        vector[k] = 1.0;
    }
    for _ in 0..MAX_SWEEPS {
        let mut rotated = false;
        for p in 0..count {
            for q in p + 1..count {
                rotated |= rotate(&mut matrix, &mut vectors, (p, q), count);
            }
        }
        if !rotated {
            break;
        }
    }
    let values = std::array::from_fn(|k| if k < count { matrix[k][k] } else { 0.0 });
    (values, vectors)
}

/// Makes the entry (p, q) zero; false if it is already, as far as rounding tells.
fn rotate<const N: usize>(
    matrix: &mut [[f64; N]; N],
    vectors: &mut [[f64; N]; N],
    (p, q): (usize, usize),
    count: usize,
) -> bool {
    let (app, aqq, apq) = (matrix[p][p], matrix[q][q], matrix[p][q]);
    if !apq.is_finite() || apq.abs() <= f64::EPSILON * 0.1 * (app.abs() * aqq.abs()).sqrt() {
        return false;
    }
    let theta = (aqq - app) / (2.0 * apq);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let tangent = if theta == 0.0 { 1.0 } else { tangent };
    let cosine = tangent.hypot(1.0).recip();
    let sine = tangent * cosine;
    for k in 0..count {
        let (kp, kq) = (matrix[k][p], matrix[k][q]);
        matrix[k][p] = cosine * kp - sine * kq;
        matrix[k][q] = sine * kp + cosine * kq;
    }
    for k in 0..count {
        let (pk, qk) = (matrix[p][k], matrix[q][k]);
        matrix[p][k] = cosine * pk - sine * qk;
        matrix[q][k] = sine * pk + cosine * qk;
        let (vp, vq) = (vectors[p][k], vectors[q][k]);
        vectors[p][k] = cosine * vp - sine * vq;
        vectors[q][k] = sine * vp + cosine * vq;
    }
    matrix[p][q] = 0.0;
    matrix[q][p] = 0.0;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn the_parts_make_up_the_matrix() {
        let mut random = Random::new(5);
        for round in 0..200 {
            let count = 1 + round % 6;
            let root: [[f64; 6]; 6] = std::array::from_fn(|_| random.numbers());
            // Some matrices are singular.
            let rank = if round % 3 == 0 { count.min(2) } else { 6 };
            let matrix: [[f64; 6]; 6] = std::array::from_fn(|i| {
                std::array::from_fn(|j| (0..rank).map(|k| root[k][i] * root[k][j]).sum())
            });
            let (values, vectors) = symmetric_eigen(matrix, count);
            for i in 0..count {
                for j in 0..count {
                    let sum: f64 = (0..count)
                        .map(|k| values[k] * vectors[k][i] * vectors[k][j])
                        .sum();
                    assert!((sum - matrix[i][j]).abs() < 1e-13);
                    let product: f64 = (0..count).map(|k| vectors[i][k] * vectors[j][k]).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-13);
                }
            }
        }
    }
}
