//! Dense Cholesky factorisation A = Lᵀ·L, row by row in place.
//!
//! Eliminating from the last row up keeps every update a contiguous prefix of a row of the lower triangle,
//! the same order as the tree factorisation. Four pivot rows are applied at once, so each row above is
//! loaded and stored once for four of them.
//!
//! Matrices are n × n, row-major; only the lower triangle is read or written.

use super::PivotError;
use super::panel::subtract_rows;
use crate::scalar::Scalar;
use std::array::from_fn;

/// Pivot rows applied together.
const PANEL: usize = 4;

/// Replaces the lower triangle of a symmetric matrix by L; fails at the first pivot that is not positive.
///
/// The diagonal receives the reciprocals 1/L(i, i), as solves multiply by them.
pub(crate) fn factor(matrix: &mut [f64], size: usize) -> Result<(), PivotError> {
    let mut end = size;
    while end >= PANEL {
        let first = end - PANEL;
        factor_rows(matrix, size, first, end)?;
        let (above, panel) = matrix.split_at_mut(first * size);
        let rows: [&[f64]; PANEL] = from_fn(|row| &panel[row * size..][..size]);
        for i in 0..first {
            let target = &mut above[i * size..=i * size + i];
            subtract_rows(target, rows, rows.map(|row| row[i]));
        }
        end = first;
    }
    factor_rows(matrix, size, 0, end)
}

/// Factors rows `first..end` among themselves, assuming that all later rows have been applied to them.
fn factor_rows(
    matrix: &mut [f64],
    size: usize,
    first: usize,
    end: usize,
) -> Result<(), PivotError> {
    for k in (first..end).rev() {
        let (above, row) = matrix.split_at_mut(k * size);
        let row = &mut row[..=k];
        let pivot = row[k];
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(PivotError { index: k });
        }
        let inverse = 1.0 / pivot.sqrt();
        row[k] = inverse;
        for entry in &mut row[..k] {
            *entry *= inverse;
        }
        for i in first..k {
            let target = &mut above[i * size..=i * size + i];
            subtract_rows(target, [&*row], [row[i]]);
        }
    }
    Ok(())
}

/// x ← A⁻¹·x by the factor L.
pub(crate) fn solve_in_place<T: Scalar>(factor: &[f64], size: usize, x: &mut [T]) {
    for i in (0..size).rev() {
        let row = &factor[i * size..=i * size + i];
        let (before, after) = x.split_at_mut(i);
        let value = after[0] * row[i];
        after[0] = value;
        for (x, &entry) in before.iter_mut().zip(row) {
            *x -= value * entry;
        }
    }
    for i in 0..size {
        let row = &factor[i * size..=i * size + i];
        let (before, after) = x.split_at_mut(i);
        after[0] = (after[0] - dot(&row[..i], before)) * row[i];
    }
}

/// The inner product, in four interleaved sums that the compiler can keep in vector registers.
#[inline]
pub(crate) fn dot<T: Scalar>(a: &[f64], b: &[T]) -> T {
    let mut sums = [T::ZERO; 4];
    let (a_chunks, a_rest) = a.as_chunks::<4>();
    let (b_chunks, b_rest) = b[..a.len()].as_chunks::<4>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..4 {
            sums[lane] += b[lane] * a[lane];
        }
    }
    let mut rest = T::ZERO;
    for (&a, &b) in a_rest.iter().zip(b_rest) {
        rest += b * a;
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}
