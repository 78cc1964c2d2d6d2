//! M = Lᵀ·D·L over the kinematic tree [Featherstone 2008, §6.5].
//!
//! L is unit lower triangular with the sparsity of M itself: eliminating dofs from the leaves to the root
//! fills in nothing. For k from the last dof to the first, with r = row k of the remaining matrix,
//!
//!   M(a, ·) ← M(a, ·) − r(a)/r(k)·r(·)  for every ancestor a of k;   L(k, ·) = r/r(k),  D(k) = r(k)    (1)
//!
//! The factor has the layout of the matrix: the rows of L with D in place of the unit diagonal.
//! Systems are solved as x = L⁻¹·D⁻¹·L⁻ᵀ·b.

use super::{PivotError, TreeSparsity};
use crate::scalar::Scalar;

/// Factors `matrix` into `factor` and the inverse of D; fails at the first pivot that is not positive.
pub fn factor<T: Scalar>(
    sparsity: &TreeSparsity,
    matrix: &[T],
    factor: &mut [T],
    diagonal_inverse: &mut [T],
) -> Result<(), PivotError> {
    factor.copy_from_slice(matrix);
    factor_in_place(sparsity, factor, diagonal_inverse)
}

/// Factors a matrix in its own storage; see [`factor`].
pub fn factor_in_place<T: Scalar>(
    sparsity: &TreeSparsity,
    matrix: &mut [T],
    diagonal_inverse: &mut [T],
) -> Result<(), PivotError> {
    for dof in (0..sparsity.dof_count()).rev() {
        let (start, diagonal) = (sparsity.row_start[dof], sparsity.diagonal[dof]);
        let (above, row) = matrix.split_at_mut(start);
        let (row, rest) = row.split_at_mut(diagonal - start);
        let pivot = rest[0];
        if pivot.value().is_nan() || pivot.value() <= 0.0 {
            return Err(PivotError { index: dof });
        }
        let inverse = pivot.recip();
        diagonal_inverse[dof] = inverse;
        for (position, &ancestor) in sparsity.columns[start..diagonal].iter().enumerate() {
            let first = sparsity.row_start[ancestor];
            let target = &mut above[first..=first + position];
            subtract_scaled(target, &row[..=position], row[position] * inverse); // (1)
        }
        for entry in row {
            *entry *= inverse;
        }
    }
    Ok(())
}

/// target ← target − factor·source, over slices of equal length.
#[inline]
fn subtract_scaled<T: Scalar>(target: &mut [T], source: &[T], factor: T) {
    for (target, &source) in target.iter_mut().zip(source) {
        *target -= source * factor;
    }
}

/// x ← M⁻¹·x.
pub fn solve_in_place<T: Scalar>(
    sparsity: &TreeSparsity,
    factor: &[T],
    diagonal_inverse: &[T],
    x: &mut [T],
) {
    solve_lower_transposed(sparsity, factor, x);
    for (x, &inverse) in x.iter_mut().zip(diagonal_inverse) {
        *x *= inverse;
    }
    solve_lower(sparsity, factor, x);
}

/// Solves for several right-hand sides that stand one after the other, nv numbers each.
pub fn solve_many<T: Scalar>(
    sparsity: &TreeSparsity,
    factor: &[T],
    diagonal_inverse: &[T],
    vectors: &mut [T],
) {
    if sparsity.dof_count() == 0 {
        return;
    }
    for vector in vectors.chunks_exact_mut(sparsity.dof_count()) {
        solve_in_place(sparsity, factor, diagonal_inverse, vector);
    }
}

/// x ← D^(−1/2)·L⁻ᵀ·x, so that the inner product of two results is xᵀ·M⁻¹·y.
pub fn half_solve<T: Scalar>(
    sparsity: &TreeSparsity,
    factor: &[T],
    diagonal_inverse: &[T],
    x: &mut [T],
) {
    solve_lower_transposed(sparsity, factor, x);
    for (x, &inverse) in x.iter_mut().zip(diagonal_inverse) {
        *x *= inverse.sqrt();
    }
}

/// x ← L⁻ᵀ·x.
pub fn solve_lower_transposed<T: Scalar>(sparsity: &TreeSparsity, factor: &[T], x: &mut [T]) {
    for dof in (0..sparsity.dof_count()).rev() {
        let entries = sparsity.row_start[dof]..sparsity.diagonal[dof];
        let value = x[dof];
        for (&column, &entry) in sparsity.columns[entries.clone()]
            .iter()
            .zip(&factor[entries])
        {
            x[column] -= entry * value;
        }
    }
}

/// x ← L⁻¹·x.
pub fn solve_lower<T: Scalar>(sparsity: &TreeSparsity, factor: &[T], x: &mut [T]) {
    for dof in 0..sparsity.dof_count() {
        let entries = sparsity.row_start[dof]..sparsity.diagonal[dof];
        let mut value = x[dof];
        for (&column, &entry) in sparsity.columns[entries.clone()]
            .iter()
            .zip(&factor[entries])
        {
            value -= entry * x[column];
        }
        x[dof] = value;
    }
}

/// product ← M·x, with M given by its lower triangle.
pub fn mul_vec<T: Scalar>(sparsity: &TreeSparsity, matrix: &[T], x: &[T], product: &mut [T]) {
    for dof in 0..sparsity.dof_count() {
        let (start, diagonal) = (sparsity.row_start[dof], sparsity.diagonal[dof]);
        let value = x[dof];
        let mut sum = matrix[diagonal] * value;
        let columns = &sparsity.columns[start..diagonal];
        for (&column, &entry) in columns.iter().zip(&matrix[start..diagonal]) {
            sum += entry * x[column];
            product[column] += entry * value;
        }
        product[dof] = sum;
    }
}

/// Writes the full symmetric matrix, nv × nv row by row.
pub fn to_dense<T: Scalar>(sparsity: &TreeSparsity, matrix: &[T], dense: &mut [T]) {
    let count = sparsity.dof_count();
    dense.fill(T::ZERO);
    for dof in 0..count {
        let range = sparsity.row_range(dof);
        for (&column, &entry) in sparsity.columns[range.clone()].iter().zip(&matrix[range]) {
            dense[dof * count + column] = entry;
            dense[column * count + dof] = entry;
        }
    }
}
