//! Non-symmetric systems with the sparsity of the kinematic tree (implicit integration).
//!
//! A dof meets its ancestors and its descendants. Eliminating from the leaves to the root gives A = U·L with
//! U unit upper and L lower triangular, without fill-in and without pivoting. For k from the last dof to the
//! first, and ancestors a, b of k,
//!
//!   U(a, k) = A(a, k)/A(k, k),   A(a, b) ← A(a, b) − U(a, k)·A(k, b)          (1)
//!
//! The rows of L and the columns of U are stored like the rows of a [`TreeSparsity`], so that (1) runs over
//! contiguous prefixes: A(a, b ≤ a) is a prefix of row a of L, A(a < b, b) a prefix of column b of U.

use super::panel::{row_offset, shared_parts, subtract_rows, with_panel_length};
use super::{PivotError, TreeSparsity};
use crate::scalar::Scalar;
use std::array::from_fn;

/// A pivot of smaller magnitude counts as zero, as in MuJoCo.
const MIN_PIVOT: f64 = 1e-15;

/// The full pattern: row i holds ancestors, i itself and descendants in increasing order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DofPattern {
    /// Where each row starts, and the number of entries at the end: nv + 1.
    pub row_start: Vec<usize>,
    /// The column of each entry.
    pub columns: Vec<usize>,
    /// The index of each diagonal entry: nv.
    pub diagonal: Vec<usize>,
    /// For each entry (i, a) of the tree's lower triangle its index here.
    pub lower: Vec<usize>,
    /// For each entry (i, a) of the tree's lower triangle the index of (a, i) here.
    pub upper: Vec<usize>,
}

impl DofPattern {
    /// The pattern of a tree.
    pub fn new(sparsity: &TreeSparsity) -> Self {
        let count = sparsity.dof_count();
        let mut rows = vec![Vec::new(); count];
        for dof in 0..count {
            for &ancestor in sparsity.row_columns(dof) {
                rows[dof].push(ancestor);
                if ancestor != dof {
                    rows[ancestor].push(dof);
                }
            }
        }
        let mut pattern = Self {
            row_start: vec![0],
            ..Self::default()
        };
        for (dof, row) in rows.iter_mut().enumerate() {
            row.sort_unstable();
            let position = row.partition_point(|&column| column < dof);
            pattern.diagonal.push(pattern.columns.len() + position);
            pattern.columns.append(row);
            pattern.row_start.push(pattern.columns.len());
        }
        for dof in 0..count {
            for &ancestor in sparsity.row_columns(dof) {
                pattern.lower.extend(pattern.entry(dof, ancestor));
                pattern.upper.extend(pattern.entry(ancestor, dof));
            }
        }
        pattern
    }

    /// The number of stored entries.
    #[inline]
    pub fn entry_count(&self) -> usize {
        self.columns.len()
    }

    /// The number of dofs, nv.
    #[inline]
    pub fn dof_count(&self) -> usize {
        self.diagonal.len()
    }

    /// The entries of row `dof`.
    #[inline]
    pub fn row_range(&self, dof: usize) -> std::ops::Range<usize> {
        self.row_start[dof]..self.row_start[dof + 1]
    }

    /// The index of entry (`row`, `column`), if it is stored.
    pub fn entry(&self, row: usize, column: usize) -> Option<usize> {
        let position = self.columns[self.row_range(row)]
            .binary_search(&column)
            .ok()?;
        Some(self.row_start[row] + position)
    }
}

/// The factors of a matrix with a [`DofPattern`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TreeLu<T = f64> {
    /// Row i of L over the ancestors of i, then its diagonal.
    lower: Vec<T>,
    /// Column i of U over the ancestors of i, then a number without meaning.
    upper: Vec<T>,
    /// 1 / L(i, i).
    diagonal_inverse: Vec<T>,
}

impl<T: Scalar> TreeLu<T> {
    /// Storage for the factors.
    pub(crate) fn new(sparsity: &TreeSparsity) -> Self {
        Self {
            lower: vec![T::ZERO; sparsity.entry_count()],
            upper: vec![T::ZERO; sparsity.entry_count()],
            diagonal_inverse: vec![T::ZERO; sparsity.dof_count()],
        }
    }

    /// Factors a matrix given by the entries of `pattern`; fails at the first pivot that vanishes.
    pub(crate) fn factor(
        &mut self,
        sparsity: &TreeSparsity,
        pattern: &DofPattern,
        matrix: &[T],
    ) -> Result<(), PivotError> {
        for (lower, &index) in self.lower.iter_mut().zip(&pattern.lower) {
            *lower = matrix[index];
        }
        for (upper, &index) in self.upper.iter_mut().zip(&pattern.upper) {
            *upper = matrix[index];
        }
        for panel in sparsity.panels.iter().rev() {
            with_panel_length!(panel, self.eliminate(sparsity))?;
        }
        Ok(())
    }

    /// Steps (1) for the P dofs of a panel, first within the panel, then for all rows above at once.
    #[inline]
    fn eliminate<const P: usize>(
        &mut self,
        first: usize,
        sparsity: &TreeSparsity,
    ) -> Result<(), PivotError> {
        let (start, shared) = (sparsity.row_start[first], sparsity.ancestor_count(first));
        let (lower_above, lower) = self.lower.split_at_mut(start);
        let (upper_above, upper) = self.upper.split_at_mut(start);
        for row in (0..P).rev() {
            let (lower_before, lower) = lower.split_at_mut(row_offset(shared, row));
            let (upper_before, upper) = upper.split_at_mut(row_offset(shared, row));
            let pivot = lower[shared + row];
            if pivot.value().is_nan() || pivot.value().abs() < MIN_PIVOT {
                return Err(PivotError { index: first + row });
            }
            let inverse = pivot.recip();
            self.diagonal_inverse[first + row] = inverse;
            for entry in &mut upper[..shared + row] {
                *entry *= inverse;
            }
            for other in 0..row {
                let (offset, diagonal) = (row_offset(shared, other), shared + other);
                let target = &mut lower_before[offset..][..=diagonal];
                subtract_rows(target, [&*lower], [upper[diagonal]]);
                let target = &mut upper_before[offset..][..diagonal];
                subtract_rows(target, [&*upper], [lower[diagonal]]);
            }
        }
        let lower = shared_parts::<T, P>(lower, shared);
        let upper = shared_parts::<T, P>(upper, shared);
        for (position, &ancestor) in sparsity.ancestors(first).iter().enumerate() {
            let offset = sparsity.row_start[ancestor];
            let target = &mut lower_above[offset..][..=position];
            subtract_rows(target, lower, from_fn(|row| upper[row][position]));
            let target = &mut upper_above[offset..][..position];
            subtract_rows(target, upper, from_fn(|row| lower[row][position]));
        }
        Ok(())
    }

    /// x ← A⁻¹·x.
    pub(crate) fn solve_in_place(&self, sparsity: &TreeSparsity, x: &mut [T]) {
        for panel in sparsity.panels.iter().rev() {
            with_panel_length!(panel, sparsity.scatter::<T>(&self.upper, x));
        }
        for panel in &sparsity.panels {
            let scale = Some(&self.diagonal_inverse[..]);
            with_panel_length!(panel, sparsity.gather::<T>(&self.lower, scale, x));
        }
    }

    /// X ← A⁻¹·X for many right-hand sides that stand row by row, `width` numbers each.
    pub(crate) fn solve_many(&self, sparsity: &TreeSparsity, width: usize, x: &mut [T]) {
        for dof in (0..sparsity.dof_count()).rev() {
            let (above, own) = x.split_at_mut(dof * width);
            let entries = &self.upper[sparsity.row_range(dof)];
            for (&ancestor, &entry) in sparsity.ancestors(dof).iter().zip(entries) {
                let target = &mut above[ancestor * width..][..width];
                subtract_rows(target, [&own[..width]], [entry]);
            }
        }
        for dof in 0..sparsity.dof_count() {
            let (above, own) = x.split_at_mut(dof * width);
            let own = &mut own[..width];
            let entries = &self.lower[sparsity.row_range(dof)];
            for (&ancestor, &entry) in sparsity.ancestors(dof).iter().zip(entries) {
                subtract_rows(own, [&above[ancestor * width..][..width]], [entry]);
            }
            for number in own {
                *number *= self.diagonal_inverse[dof];
            }
        }
    }

    /// x ← A⁻ᵀ·x, as the adjoint of a solve needs it.
    pub(crate) fn solve_transposed_in_place(&self, sparsity: &TreeSparsity, x: &mut [T]) {
        for dof in (0..sparsity.dof_count()).rev() {
            x[dof] *= self.diagonal_inverse[dof];
            sparsity.scatter::<1, T>(dof, &self.lower, x);
        }
        for panel in &sparsity.panels {
            with_panel_length!(panel, sparsity.gather::<T>(&self.upper, None, x));
        }
    }
}
