//! Products of matrices, C += A·B, on the vector instructions that the processor has.
//!
//! The loops are plain code over tiles of 4 rows and two vector registers of columns, compiled once for each
//! set of instructions and chosen when the program runs (the crate `pulp`). No assembly, no unsafe code, no copies.

use super::Real;

/// The left factor: element (i, k) is at `i * row + k * step` of the values.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a, F> {
    /// Its numbers.
    pub values: &'a [F],
    /// Rows, which are those of the product.
    pub rows: usize,
    /// Columns, which are rows of the right factor.
    pub inner: usize,
    /// From a row to the next one.
    pub row: usize,
    /// From a column to the next one.
    pub step: usize,
}

impl<'a, F> Left<'a, F> {
    /// A matrix, row by row.
    pub fn plain(values: &'a [F], rows: usize, inner: usize) -> Self {
        Self {
            values,
            rows,
            inner,
            row: inner,
            step: 1,
        }
    }

    /// The transpose of a matrix that is stored row by row with `rows` columns and `inner` rows.
    pub fn transposed(values: &'a [F], rows: usize, inner: usize) -> Self {
        Self {
            values,
            rows,
            inner,
            row: 1,
            step: rows,
        }
    }
}

/// Columns of the right factor that are worked on while they stay in the first cache.
const DEPTH: usize = 256;

/// C += A·B with tiles of `R` rows and `N` columns; B and C are stored row by row.
#[allow(
    clippy::inline_always,
    reason = "to be compiled for the instructions of the caller"
)]
#[inline(always)]
pub fn tiles<F: Real, const R: usize, const N: usize>(a: Left<'_, F>, b: &[F], c: &mut [F]) {
    if a.rows == 0 || a.inner == 0 {
        return;
    }
    let columns = c.len() / a.rows;
    let mut from = 0;
    while from < a.inner {
        let to = (from + DEPTH).min(a.inner);
        let mut column = 0;
        while column + N <= columns {
            let mut row = 0;
            while row + R <= a.rows {
                tile::<F, R, N>(a, b, c, [row, column, columns, from, to]);
                row += R;
            }
            while row < a.rows {
                tile::<F, 1, N>(a, b, c, [row, column, columns, from, to]);
                row += 1;
            }
            column += N;
        }
        if column < columns {
            for row in 0..a.rows {
                for k in from..to {
                    let factor = a.values[row * a.row + k * a.step];
                    for j in column..columns {
                        c[row * columns + j] =
                            factor.fused(b[k * columns + j], c[row * columns + j]);
                    }
                }
            }
        }
        from = to;
    }
}

#[allow(
    clippy::inline_always,
    reason = "to be compiled for the instructions of the caller"
)]
#[inline(always)]
fn tile<F: Real, const R: usize, const N: usize>(
    a: Left<'_, F>,
    b: &[F],
    c: &mut [F],
    [row, column, columns, from, to]: [usize; 5],
) {
    let mut sums = [[F::default(); N]; R];
    for k in from..to {
        let start = k * columns + column;
        let Some(right) = b[start..].first_chunk::<N>() else {
            return;
        };
        for i in 0..R {
            let factor = a.values[(row + i) * a.row + k * a.step];
            for j in 0..N {
                sums[i][j] = factor.fused(right[j], sums[i][j]);
            }
        }
    }
    for i in 0..R {
        let start = (row + i) * columns + column;
        for (out, sum) in c[start..start + N].iter_mut().zip(&sums[i]) {
            *out += *sum;
        }
    }
}
