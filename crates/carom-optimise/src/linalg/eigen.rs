//! Eigenvalues and eigenvectors of symmetric matrices [Golub 2013, §8.3]: reflections to three diagonals, then rotations
//! with implicit shifts until the outer two vanish.

use super::{Matrix, add_scaled, dot, norm};

/// A = Vᵀ·diag(λ)·V with the eigenvectors as rows of V and eigenvalues from least to greatest.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricEigen {
    /// Eigenvalues, from least to greatest.
    pub values: Vec<f64>,
    /// Eigenvectors of length one, a row for each value.
    pub vectors: Matrix,
}

/// Maximum of rotations per eigenvalue before giving up; three are usual.
const MAX_ROTATIONS: usize = 60;

impl SymmetricEigen {
    /// Eigenvalues and vectors of a symmetric matrix; `None` if it has entries that are not finite.
    pub fn new(matrix: &Matrix) -> Option<Self> {
        if !matrix.data().iter().all(|entry| entry.is_finite()) {
            return None;
        }
        let mut tridiagonal = Tridiagonal::new(matrix);
        tridiagonal.diagonalise()?;
        let mut order: Vec<usize> = (0..matrix.rows()).collect();
        let values = &tridiagonal.diagonal;
        order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut vectors = Matrix::zeros(matrix.rows(), matrix.rows());
        for (to, &from) in order.iter().enumerate() {
            let row = tridiagonal.vectors.row(from);
            // The sign is free: the largest entry is positive, so that it does not hang on rounding.
            let mut peak = 0.0_f64;
            for &entry in row {
                if entry.abs() > peak.abs() {
                    peak = entry;
                }
            }
            let sign = if peak < 0.0 { -1.0 } else { 1.0 };
            add_scaled(vectors.row_mut(to), sign, row);
        }
        let values = order.iter().map(|&i| values[i]).collect();
        Some(Self { values, vectors })
    }
}

/// A = Vᵀ·T·V with three diagonals in T.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// Entries beside the diagonal: (i, i + 1).
    beside: Vec<f64>,
    /// V: rows are rotated together.
    vectors: Matrix,
}

impl Tridiagonal {
    fn new(matrix: &Matrix) -> Self {
        let size = matrix.rows();
        let mut a = matrix.clone();
        let mut vectors = Matrix::identity(size);
        for k in 0..size.saturating_sub(2) {
            let column: Vec<f64> = (k + 1..size).map(|i| a[(i, k)]).collect();
            let Some((v, beta, entry)) = reflection(&column) else {
                continue;
            };
            reflect_both_sides(&mut a, k + 1, &v, beta);
            reflect_rows(&mut vectors, k + 1, &v, beta);
            a[(k + 1, k)] = entry;
        }
        Self {
            diagonal: (0..size).map(|i| a[(i, i)]).collect(),
            beside: (1..size).map(|i| a[(i, i - 1)]).collect(),
            vectors,
        }
    }

    /// Rotate until the matrix is diagonal; `None` if that does not end.
    fn diagonalise(&mut self) -> Option<()> {
        let mut end = self.diagonal.len();
        let mut sweeps = 0;
        while end > 1 {
            let small = |i: usize| {
                let around = self.diagonal[i].abs() + self.diagonal[i + 1].abs();
                self.beside[i].abs() <= f64::EPSILON * around
                    || self.beside[i].abs() < f64::MIN_POSITIVE
            };
            if small(end - 2) {
                self.beside[end - 2] = 0.0;
                end -= 1;
                sweeps = 0;
                continue;
            }
            let start = (0..end - 1).rev().find(|&i| small(i)).map_or(0, |i| i + 1);
            sweeps += 1;
            if sweeps > MAX_ROTATIONS {
                return None;
            }
            self.sweep(start, end);
        }
        Some(())
    }

    /// One implicit step with Wilkinson's shift on rows `start..end`.
    fn sweep(&mut self, start: usize, end: usize) {
        let (d, e) = (&mut self.diagonal, &mut self.beside);
        let last = end - 1;
        let half = 0.5 * (d[last - 1] - d[last]);
        let corner = e[last - 1];
        let root = half.hypot(corner);
        let shift = d[last] - corner * (corner / (half + root.copysign(half)));
        let (mut x, mut z) = (d[start] - shift, e[start]);
        for k in start..last {
            let length = x.hypot(z);
            let (c, s) = if length == 0.0 {
                (1.0, 0.0)
            } else {
                (x / length, z / length)
            };
            if k > start {
                e[k - 1] = length;
            }
            let (a, b, w) = (d[k], d[k + 1], e[k]);
            d[k] = c * c * a + 2.0 * c * s * w + s * s * b;
            d[k + 1] = s * s * a - 2.0 * c * s * w + c * c * b;
            e[k] = c * s * (b - a) + (c * c - s * s) * w;
            if k + 1 < last {
                x = e[k];
                z = s * e[k + 1];
                e[k + 1] *= c;
            }
            rotate_rows(&mut self.vectors, k, c, s);
        }
    }
}

/// v and β of the reflection I − β·v·vᵀ that leaves of a column its first entry alone, and that entry; `None` if there is
/// nothing to clear.
fn reflection(column: &[f64]) -> Option<(Vec<f64>, f64, f64)> {
    let length = norm(column);
    if norm(&column[1..]) == 0.0 {
        return None;
    }
    let entry = -length.copysign(column[0]);
    let head = column[0] - entry;
    let mut v: Vec<f64> = column.iter().map(|c| c / head).collect();
    v[0] = 1.0;
    Some((v, -head / entry, entry))
}

/// A ← H·A·H for the rows and columns from `first` on: with p = β·A·v and w = p − ½·β·(pᵀv)·v it is A − v·wᵀ − w·vᵀ.
fn reflect_both_sides(a: &mut Matrix, first: usize, v: &[f64], beta: f64) {
    let mut w: Vec<f64> = (0..v.len())
        .map(|i| beta * dot(&a.row(first + i)[first..], v))
        .collect();
    let half = 0.5 * beta * dot(&w, v);
    add_scaled(&mut w, -half, v);
    for i in 0..v.len() {
        let row = &mut a.row_mut(first + i)[first..];
        add_scaled(row, -v[i], &w);
        add_scaled(row, -w[i], v);
    }
}

fn reflect_rows(vectors: &mut Matrix, first: usize, v: &[f64], beta: f64) {
    let mut sum = vec![0.0; vectors.columns()];
    for (i, &factor) in v.iter().enumerate() {
        add_scaled(&mut sum, factor, vectors.row(first + i));
    }
    for (i, &factor) in v.iter().enumerate() {
        add_scaled(vectors.row_mut(first + i), -beta * factor, &sum);
    }
}

fn rotate_rows(vectors: &mut Matrix, k: usize, c: f64, s: f64) {
    let (above, below) = vectors.two_rows_mut(k, k + 1);
    for (a, b) in above.iter_mut().zip(below) {
        (*a, *b) = (c * *a + s * *b, c * *b - s * *a);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_near, random_matrix};
    use super::*;

    fn check(matrix: &Matrix, tolerance: f64) -> SymmetricEigen {
        let size = matrix.rows();
        let eigen = SymmetricEigen::new(matrix).unwrap();
        let v = &eigen.vectors;
        let diagonal = Matrix::from_fn(
            size,
            size,
            |i, j| {
                if i == j { eigen.values[i] } else { 0.0 }
            },
        );
        let again = v.transpose().times_matrix(&diagonal).times_matrix(v);
        assert_near(&again, matrix, tolerance);
        let unit = v.times_matrix(&v.transpose());
        assert_near(&unit, &Matrix::identity(size), 1e-13);
        assert!(eigen.values.is_sorted());
        eigen
    }

    #[test]
    fn matrices_are_put_together_again() {
        for size in [1, 2, 3, 10, 100] {
            let a = random_matrix(size, size, size as u64);
            let symmetric = Matrix::from_fn(size, size, |i, j| a[(i, j)] + a[(j, i)]);
            check(&symmetric, 1e-11);
        }
    }

    #[test]
    fn repeated_zero_and_far_apart_eigenvalues() {
        check(&Matrix::zeros(4, 4), 0.0);
        check(&Matrix::identity(5), 0.0);
        let spread = Matrix::from_fn(6, 6, |i, j| {
            let scale = |k: usize| 10.0_f64.powi(2 * i32::try_from(k).unwrap());
            scale(i).min(scale(j)) * if i == j { 2.0 } else { 1.0 }
        });
        check(&spread, 1e-4);
        assert_eq!(
            SymmetricEigen::new(&Matrix::zeros(0, 0)).unwrap().values,
            [0.0; 0]
        );
    }

    #[test]
    fn known_values() {
        // The second difference has the eigenvalues 2 − 2·cos(kπ/(n + 1)).
        let second = Matrix::from_fn(9, 9, |i, j| match i.abs_diff(j) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        for (k, value) in check(&second, 1e-13).values.iter().enumerate() {
            let exact = 2.0 - 2.0 * ((k + 1) as f64 * std::f64::consts::PI / 10.0).cos();
            assert!((value - exact).abs() < 1e-14);
        }
    }

    #[test]
    fn what_is_not_finite_has_none() {
        assert_eq!(
            SymmetricEigen::new(&Matrix::from_rows(&[&[f64::NAN]])),
            None
        );
    }
}
