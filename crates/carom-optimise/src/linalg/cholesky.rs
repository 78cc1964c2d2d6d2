//! Cholesky factors of positive definite matrices.

use super::{Matrix, dot};

/// The lower factor L of A = L·Lᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct Cholesky {
    lower: Matrix,
}

impl Cholesky {
    /// Factor a symmetric matrix, of which the lower half is read; `None` where a pivot is not positive.
    pub fn new(matrix: &Matrix) -> Option<Self> {
        let size = matrix.rows();
        let mut lower = Matrix::zeros(size, size);
        for i in 0..size {
            for j in 0..=i {
                let rest = matrix[(i, j)] - dot(&lower.row(i)[..j], &lower.row(j)[..j]);
                if i == j {
                    let positive = rest > 0.0 && rest.is_finite();
                    if !positive {
                        return None;
                    }
                    lower[(i, i)] = rest.sqrt();
                } else {
                    lower[(i, j)] = rest / lower[(j, j)];
                }
            }
        }
        Some(Self { lower })
    }

    /// L.
    pub fn lower(&self) -> &Matrix {
        &self.lower
    }

    /// The solution of A·x = b.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let size = b.len();
        let mut x = b.to_vec();
        for i in 0..size {
            x[i] = (x[i] - dot(&self.lower.row(i)[..i], &x[..i])) / self.lower[(i, i)];
        }
        for i in (0..size).rev() {
            let rest = (i + 1..size).fold(x[i], |rest, k| rest - self.lower[(k, i)] * x[k]);
            x[i] = rest / self.lower[(i, i)];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_near, random_matrix};
    use super::*;

    #[test]
    fn factors_multiply_to_the_matrix_and_solve() {
        let a = random_matrix(9, 6, 3).gram();
        let factor = Cholesky::new(&a).unwrap();
        let product = factor.lower().times_matrix(&factor.lower().transpose());
        assert_near(&product, &a, 1e-13);
        let x = [1.0, 2.0, -1.0, 0.5, 0.0, 3.0];
        let found = factor.solve(&a.times(&x));
        for (x, found) in x.iter().zip(&found) {
            assert!((x - found).abs() < 1e-11, "{x} {found}");
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        let indefinite = Matrix::from_rows(&[&[1.0, 2.0], &[2.0, 1.0]]);
        assert_eq!(Cholesky::new(&indefinite), None);
        let broken = Matrix::from_rows(&[&[f64::NAN]]);
        assert_eq!(Cholesky::new(&broken), None);
    }
}
