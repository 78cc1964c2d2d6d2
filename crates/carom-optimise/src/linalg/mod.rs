//! Dense matrices, as far as optimisers need them.
//!
//! Own loops and not a library, for three reasons. Libraries choose their kernels by the processor that they find, so that
//! a search would end with other bits on another machine; here every sum runs from first to last. Sizes are tens, where
//! simulations cost a thousand times more. And these few factorisations do not need what takes seventeen seconds
//! (nalgebra) or ninety-five (faer) of a core to compile.

mod bounded;
mod cholesky;
mod eigen;
mod qr;
mod svd;

pub use bounded::bounded_least_squares;
pub use cholesky::Cholesky;
pub use eigen::SymmetricEigen;
pub use qr::{Qr, least_squares, reduce};
pub use svd::Svd;

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A dense matrix, row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            data: vec![0.0; rows * columns],
        }
    }

    /// The identity.
    pub fn identity(size: usize) -> Self {
        Self::from_fn(size, size, |i, j| f64::from(u8::from(i == j)))
    }

    /// A matrix from its entries.
    pub fn from_fn(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(rows, columns);
        for i in 0..rows {
            for j in 0..columns {
                matrix[(i, j)] = entry(i, j);
            }
        }
        matrix
    }

    /// A matrix from rows; those shorter than the first are filled with zeros.
    pub fn from_rows(rows: &[&[f64]]) -> Self {
        let columns = rows.first().map_or(0, |row| row.len());
        Self::from_fn(rows.len(), columns, |i, j| {
            rows[i].get(j).copied().unwrap_or(0.0)
        })
    }

    /// A matrix from its numbers row by row; `None` if their count does not fit.
    pub fn from_data(rows: usize, columns: usize, data: Vec<f64>) -> Option<Self> {
        (data.len() == rows * columns).then_some(Self {
            rows,
            columns,
            data,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All numbers, row by row.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// A row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// A row to change.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// Two different rows to change, the first above the second.
    pub(crate) fn two_rows_mut(&mut self, above: usize, below: usize) -> (&mut [f64], &mut [f64]) {
        let (head, tail) = self.data.split_at_mut(below * self.columns);
        let start = above * self.columns;
        (
            &mut head[start..start + self.columns],
            &mut tail[..self.columns],
        )
    }

    /// A column.
    pub fn column(&self, column: usize) -> Vec<f64> {
        (0..self.rows).map(|row| self[(row, column)]).collect()
    }

    /// The length of each column, as [`norm`] finds it.
    pub fn column_lengths(&self) -> Vec<f64> {
        let mut largest = vec![0.0_f64; self.columns];
        for row in self.data.chunks_exact(self.columns.max(1)) {
            for (largest, entry) in largest.iter_mut().zip(row) {
                *largest = largest.max(entry.abs());
            }
        }
        let mut squares = vec![0.0; self.columns];
        for row in self.data.chunks_exact(self.columns.max(1)) {
            for ((square, entry), largest) in squares.iter_mut().zip(row).zip(&largest) {
                *square += (entry / largest) * (entry / largest);
            }
        }
        let found = largest.iter().zip(&squares).map(|(&largest, square)| {
            if largest == 0.0 || !largest.is_finite() {
                largest
            } else {
                largest * square.sqrt()
            }
        });
        found.collect()
    }

    /// The matrix of some of the columns.
    #[must_use]
    pub fn columns_at(&self, columns: &[usize]) -> Self {
        Self::from_fn(self.rows, columns.len(), |i, j| self[(i, columns[j])])
    }

    /// The transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |i, j| self[(j, i)])
    }

    /// The product with a vector.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        (0..self.rows)
            .map(|row| dot(self.row(row), vector))
            .collect()
    }

    /// The product with another matrix.
    #[must_use]
    pub fn times_matrix(&self, other: &Self) -> Self {
        let mut product = Self::zeros(self.rows, other.columns);
        for i in 0..self.rows {
            for k in 0..self.columns {
                let factor = self[(i, k)];
                add_scaled(product.row_mut(i), factor, other.row(k));
            }
        }
        product
    }

    /// The transpose times the matrix itself: the sums of products of columns.
    #[must_use]
    pub fn gram(&self) -> Self {
        let mut gram = Self::zeros(self.columns, self.columns);
        for i in 0..self.rows {
            let row = &self.data[i * self.columns..(i + 1) * self.columns];
            for j in 0..self.columns {
                add_scaled(gram.row_mut(j), row[j], row);
            }
        }
        gram
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.data[row * self.columns + column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.data[row * self.columns + column]
    }
}

/// The sum of products, from first to last.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// The length of a vector, also of one whose squares overflow.
pub fn norm(vector: &[f64]) -> f64 {
    let largest = largest(vector);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let squares = vector
        .iter()
        .fold(0.0, |sum, v| sum + (v / largest) * (v / largest));
    largest * squares.sqrt()
}

/// The largest absolute value.
pub fn largest(vector: &[f64]) -> f64 {
    vector
        .iter()
        .fold(0.0, |largest: f64, v| largest.max(v.abs()))
}

/// `target += factor·vector`.
pub fn add_scaled(target: &mut [f64], factor: f64, vector: &[f64]) {
    for (target, v) in target.iter_mut().zip(vector) {
        *target += factor * v;
    }
}

/// The transpose of a matrix times a vector.
pub fn transpose_times(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; matrix.columns()];
    for (row, &factor) in vector.iter().enumerate() {
        add_scaled(&mut product, factor, matrix.row(row));
    }
    product
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Matrix;
    use crate::random::Random;

    /// A matrix of normal numbers.
    pub(crate) fn random_matrix(rows: usize, columns: usize, seed: u64) -> Matrix {
        let mut random = Random::new(seed, 0);
        let data = (0..rows * columns).map(|_| random.normal()).collect();
        Matrix::from_data(rows, columns, data).unwrap()
    }

    /// Whether two matrices agree within a tolerance.
    pub(crate) fn assert_near(a: &Matrix, b: &Matrix, tolerance: f64) {
        assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
        for (a, b) in a.data().iter().zip(b.data()) {
            assert!((a - b).abs() <= tolerance, "{a} {b}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{assert_near, random_matrix};
    use super::*;

    #[test]
    fn products_agree() {
        let a = random_matrix(5, 3, 1);
        assert_near(&a.gram(), &a.transpose().times_matrix(&a), 1e-14);
        let v = [1.0, -2.0, 0.5, 3.0, 1.0];
        let by_transpose = a.transpose().times(&v);
        for (a, b) in transpose_times(&a, &v).iter().zip(&by_transpose) {
            assert!((a - b).abs() < 1e-14);
        }
    }

    #[test]
    fn lengths_of_huge_and_tiny_vectors() {
        assert!((norm(&[3e200, 4e200]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((norm(&[3e-200, 4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
        assert_eq!(norm(&[]), 0.0);
    }
}
