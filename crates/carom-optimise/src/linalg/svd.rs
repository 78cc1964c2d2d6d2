//! Singular values by rotations of pairs of columns until all are orthogonal [Golub 2013, §8.6.3]: slow for large
//! matrices, and right in every digit of the least singular value, which decides what data can tell.

use super::{Matrix, Qr, dot, norm};

/// Singular values of a matrix and the directions that they belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct Svd {
    /// Singular values, from greatest to least, as many as the matrix has columns.
    pub values: Vec<f64>,
    /// Directions of length one in the space of the columns, a row for each value.
    pub directions: Matrix,
}

/// Maximum of Jacobi sweeps; less than ten are usual.
const MAX_SWEEPS: usize = 60;

impl Svd {
    /// Singular values of a matrix; `None` if it has entries that are not finite.
    pub fn new(matrix: &Matrix) -> Option<Self> {
        if !matrix.data().iter().all(|entry| entry.is_finite()) {
            return None;
        }
        let count = matrix.columns();
        // Rows of these two are columns of R and of the directions: pairs of rows are rotated.
        let r = Qr::new(matrix).r_in_order();
        let mut work = r.transpose();
        let mut directions = Matrix::identity(count);
        for _ in 0..MAX_SWEEPS {
            let mut rotated = false;
            for i in 0..count {
                for j in i + 1..count {
                    rotated |= make_orthogonal(&mut work, &mut directions, i, j);
                }
            }
            if !rotated {
                break;
            }
        }
        Some(sorted(&work, &directions))
    }
}

/// Rotate two rows until they are orthogonal; whether that was needed.
fn make_orthogonal(work: &mut Matrix, directions: &mut Matrix, i: usize, j: usize) -> bool {
    let (a, b) = (work.row(i), work.row(j));
    let (aa, bb, ab) = (dot(a, a), dot(b, b), dot(a, b));
    if ab.abs() <= f64::EPSILON * (aa * bb).sqrt() || ab == 0.0 {
        return false;
    }
    let ratio = (bb - aa) / (2.0 * ab);
    let tangent = 1.0_f64.copysign(ratio) / (ratio.abs() + ratio.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = cosine * tangent;
    for matrix in [work, directions] {
        let (a, b) = matrix.two_rows_mut(i, j);
        for (a, b) in a.iter_mut().zip(b) {
            (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
        }
    }
    true
}

fn sorted(work: &Matrix, directions: &Matrix) -> Svd {
    let lengths: Vec<f64> = (0..work.rows()).map(|i| norm(work.row(i))).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
    Svd {
        values: order.iter().map(|&i| lengths[i]).collect(),
        directions: Matrix::from_fn(lengths.len(), lengths.len(), |i, j| {
            directions[(order[i], j)]
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_near, random_matrix};
    use super::*;

    #[test]
    fn products_of_columns_are_put_together_again() {
        for (rows, columns) in [(12, 5), (5, 5), (3, 6)] {
            let a = random_matrix(rows, columns, 7);
            let svd = Svd::new(&a).unwrap();
            let stretched = Matrix::from_fn(columns, columns, |i, j| {
                svd.values[i] * svd.directions[(i, j)]
            });
            assert_near(&stretched.gram(), &a.gram(), 1e-12);
            assert!(svd.values.is_sorted_by(|a, b| a >= b));
        }
    }

    #[test]
    fn the_least_value_is_right_far_below_the_greatest() {
        // Singular values 1 and 1e-13: their squares, as eigenvalues of the sums of products, would drown.
        let (c, s) = (0.8, 0.6);
        let a = Matrix::from_rows(&[&[c, s], &[-s * 1e-13, c * 1e-13]]);
        let svd = Svd::new(&a).unwrap();
        assert!(
            (svd.values[1] / 1e-13 - 1.0).abs() < 1e-2,
            "{}",
            svd.values[1]
        );
        assert!((svd.directions[(1, 0)].abs() - s).abs() < 1e-3);
    }
}
