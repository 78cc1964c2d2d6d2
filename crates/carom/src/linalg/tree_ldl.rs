//! M = Lᵀ·D·L over the kinematic tree [Featherstone 2008, §6.5].
//!
//! L is unit lower triangular with the sparsity of M itself: eliminating dofs from the leaves to the root
//! fills in nothing. For k from the last dof to the first, with r = row k of the remaining matrix,
//!
//!   M(a, ·) ← M(a, ·) − r(a)/r(k)·r(·)  for every ancestor a of k;   L(k, ·) = r/r(k),  D(k) = r(k)    (1)
//!
//! The factor has the layout of the matrix: the rows of L with D in place of the unit diagonal.
//! Systems are solved as x = L⁻¹·D⁻¹·L⁻ᵀ·b.

use super::panel::{row_offset, shared_parts, subtract_rows, with_panel_length};
use super::{PivotError, TreeSparsity};
use crate::scalar::Scalar;
use std::array::from_fn;
use std::ops::Range;

/// Factors `matrix` into `factor` and the inverse of D; fails at the first pivot that is not positive.
pub(crate) fn factor<T: Scalar>(
    sparsity: &TreeSparsity,
    matrix: &[T],
    factor: &mut [T],
    diagonal_inverse: &mut [T],
) -> Result<(), PivotError> {
    factor.copy_from_slice(matrix);
    factor_in_place(sparsity, factor, diagonal_inverse)
}

/// Factors a matrix in its own storage; see [`factor`].
pub(crate) fn factor_in_place<T: Scalar>(
    sparsity: &TreeSparsity,
    matrix: &mut [T],
    diagonal_inverse: &mut [T],
) -> Result<(), PivotError> {
    for panel in sparsity.panels.iter().rev() {
        with_panel_length!(panel, sparsity.eliminate::<T>(matrix, diagonal_inverse))?;
    }
    Ok(())
}

impl TreeSparsity {
    /// Steps (1) for the P dofs of a panel, first within the panel, then for all rows above at once.
    #[inline]
    fn eliminate<const P: usize, T: Scalar>(
        &self,
        first: usize,
        matrix: &mut [T],
        diagonal_inverse: &mut [T],
    ) -> Result<(), PivotError> {
        let (start, shared) = (self.row_start[first], self.ancestor_count(first));
        let (above, panel) = matrix.split_at_mut(start);
        let mut inverses = [T::ZERO; P];
        for row in (0..P).rev() {
            let (before, source) = panel.split_at_mut(row_offset(shared, row));
            let pivot = source[shared + row];
            if pivot.value().is_nan() || pivot.value() <= 0.0 {
                return Err(PivotError { index: first + row });
            }
            inverses[row] = pivot.recip();
            diagonal_inverse[first + row] = inverses[row];
            for other in 0..row {
                let target = &mut before[row_offset(shared, other)..][..=shared + other];
                let coefficient = source[shared + other] * inverses[row];
                subtract_rows(target, [&*source], [coefficient]);
            }
        }
        let rows = shared_parts::<T, P>(panel, shared);
        for (position, &ancestor) in self.columns[start..start + shared].iter().enumerate() {
            let target = &mut above[self.row_start[ancestor]..][..=position];
            subtract_rows(
                target,
                rows,
                from_fn(|row| rows[row][position] * inverses[row]),
            );
        }
        for row in 0..P {
            for entry in &mut panel[row_offset(shared, row)..][..shared + row] {
                *entry *= inverses[row];
            }
        }
        Ok(())
    }
}

/// x ← M⁻¹·x.
pub(crate) fn solve_in_place<T: Scalar>(
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

/// x ← D^(−1/2)·L⁻ᵀ·x, so that the inner product of two results is xᵀ·M⁻¹·y.
pub(crate) fn half_solve<T: Scalar>(
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
pub(crate) fn solve_lower_transposed<T: Scalar>(
    sparsity: &TreeSparsity,
    factor: &[T],
    x: &mut [T],
) {
    for panel in sparsity.panels.iter().rev() {
        with_panel_length!(panel, sparsity.scatter::<T>(factor, x));
    }
}

/// x ← L⁻¹·x.
pub(crate) fn solve_lower<T: Scalar>(sparsity: &TreeSparsity, factor: &[T], x: &mut [T]) {
    for panel in &sparsity.panels {
        with_panel_length!(panel, sparsity.gather::<T>(factor, None, x));
    }
}

/// As [`factor_in_place`] for the dofs of whole trees; the others stay.
pub(crate) fn factor_trees<T: Scalar>(
    sparsity: &TreeSparsity,
    dofs: Range<usize>,
    matrix: &mut [T],
    diagonal_inverse: &mut [T],
) -> Result<(), PivotError> {
    for panel in sparsity.panels_of(dofs).iter().rev() {
        with_panel_length!(panel, sparsity.eliminate::<T>(matrix, diagonal_inverse))?;
    }
    Ok(())
}

/// x ← M⁻¹·x for the dofs of whole trees; the others stay.
pub(crate) fn solve_trees<T: Scalar>(
    sparsity: &TreeSparsity,
    factor: &[T],
    diagonal_inverse: &[T],
    dofs: Range<usize>,
    x: &mut [T],
) {
    let panels = sparsity.panels_of(dofs.clone());
    for panel in panels.iter().rev() {
        with_panel_length!(panel, sparsity.scatter::<T>(factor, x));
    }
    for (x, &inverse) in x[dofs.clone()].iter_mut().zip(&diagonal_inverse[dofs]) {
        *x *= inverse;
    }
    for panel in panels {
        with_panel_length!(panel, sparsity.gather::<T>(factor, None, x));
    }
}

/// product ← M·x for the dofs of whole trees; the others stay.
pub(crate) fn mul_trees<T: Scalar>(
    sparsity: &TreeSparsity,
    matrix: &[T],
    dofs: Range<usize>,
    x: &[T],
    product: &mut [T],
) {
    for panel in sparsity.panels_of(dofs) {
        with_panel_length!(panel, sparsity.mul_panel::<T>(matrix, x, product));
    }
}

/// product ← M·x, with M given by its lower triangle.
pub(crate) fn mul_vec<T: Scalar>(
    sparsity: &TreeSparsity,
    matrix: &[T],
    x: &[T],
    product: &mut [T],
) {
    for panel in &sparsity.panels {
        with_panel_length!(panel, sparsity.mul_panel::<T>(matrix, x, product));
    }
}

/// Writes the full symmetric matrix, nv × nv row by row.
pub(crate) fn to_dense<T: Scalar>(sparsity: &TreeSparsity, matrix: &[T], dense: &mut [T]) {
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
