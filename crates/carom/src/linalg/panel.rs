//! Panels: up to four consecutive dofs of a chain, eliminated together.
//!
//! The rows of a panel stand one after the other and share their first columns, the ancestors of the first
//! dof. Every row above is then loaded and stored once for the whole panel, and sums over ancestors run in
//! independent accumulators.

use super::TreeSparsity;
use crate::scalar::Scalar;
use std::array::from_fn;

/// The most rows of a panel.
pub(super) const MAX_PANEL: usize = 4;

/// `length` dofs from `first` on, each the parent of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panel {
    pub(super) first: usize,
    pub(super) length: usize,
}

/// Calls a method that is generic over the number of rows with the length of a panel.
macro_rules! with_panel_length {
    ($panel:expr, $receiver:ident.$method:ident$(::<$number:ty>)?($($argument:expr),*)) => {
        match $panel.length {
            1 => $receiver.$method::<1 $(, $number)?>($panel.first, $($argument),*),
            2 => $receiver.$method::<2 $(, $number)?>($panel.first, $($argument),*),
            3 => $receiver.$method::<3 $(, $number)?>($panel.first, $($argument),*),
            _ => $receiver.$method::<4 $(, $number)?>($panel.first, $($argument),*),
        }
    };
}
pub(super) use with_panel_length;

/// Where the rows of a panel with `shared` common ancestors start, relative to its first row.
#[inline]
pub(super) fn row_offset(shared: usize, row: usize) -> usize {
    row * shared + row * (row + 1) / 2
}

/// The parts of a panel's rows over the shared ancestors.
#[inline]
pub(super) fn shared_parts<T, const P: usize>(panel: &[T], shared: usize) -> [&[T]; P] {
    from_fn(|row| &panel[row_offset(shared, row)..][..shared])
}

/// target ← target − Σ coefficients(j)·rows(j), over the length of the target.
#[inline]
pub(super) fn subtract_rows<T: Scalar, const P: usize>(
    target: &mut [T],
    rows: [&[T]; P],
    coefficients: [T; P],
) {
    let length = target.len();
    let rows = rows.map(|row| &row[..length]);
    for i in 0..length {
        let mut sum = rows[0][i] * coefficients[0];
        for j in 1..P {
            sum += rows[j][i] * coefficients[j];
        }
        target[i] -= sum;
    }
}

impl TreeSparsity {
    /// x(a) ← x(a) − Σ entries(k, a)·x(k) for the proper ancestors a of the dofs k of a panel, last k first.
    #[inline]
    pub(super) fn scatter<const P: usize, T: Scalar>(
        &self,
        first: usize,
        entries: &[T],
        x: &mut [T],
    ) {
        let (start, shared) = (self.row_start[first], self.ancestor_count(first));
        let panel = &entries[start..];
        let (above, values) = x.split_at_mut(first);
        for row in (1..P).rev() {
            let within = &panel[row_offset(shared, row) + shared..][..row];
            let value = values[row];
            subtract_rows(&mut values[..row], [within], [value]);
        }
        let rows = shared_parts::<T, P>(panel, shared);
        let values: [T; P] = from_fn(|row| values[row]);
        for (position, &column) in self.columns[start..start + shared].iter().enumerate() {
            let mut sum = rows[0][position] * values[0];
            for row in 1..P {
                sum += rows[row][position] * values[row];
            }
            above[column] -= sum;
        }
    }

    /// x(k) ← (x(k) − Σ entries(k, a)·x(a))·scale(k) over the proper ancestors a of the dofs k of a panel.
    #[inline]
    pub(super) fn gather<const P: usize, T: Scalar>(
        &self,
        first: usize,
        entries: &[T],
        scale: Option<&[T]>,
        x: &mut [T],
    ) {
        let (start, shared) = (self.row_start[first], self.ancestor_count(first));
        let panel = &entries[start..];
        let (above, values) = x.split_at_mut(first);
        let rows = shared_parts::<T, P>(panel, shared);
        let mut sums = [T::ZERO; P];
        for (position, &column) in self.columns[start..start + shared].iter().enumerate() {
            let value = above[column];
            for row in 0..P {
                sums[row] += rows[row][position] * value;
            }
        }
        for row in 0..P {
            let within = &panel[row_offset(shared, row) + shared..][..row];
            for (&entry, &value) in within.iter().zip(&values[..row]) {
                sums[row] += entry * value;
            }
            values[row] -= sums[row];
            if let Some(scale) = scale {
                values[row] *= scale[first + row];
            }
        }
    }

    /// Sets the product of a symmetric matrix for the dofs of a panel, and adds their share for the dofs above.
    #[inline]
    pub(super) fn mul_panel<const P: usize, T: Scalar>(
        &self,
        first: usize,
        matrix: &[T],
        x: &[T],
        product: &mut [T],
    ) {
        let (start, shared) = (self.row_start[first], self.ancestor_count(first));
        let panel = &matrix[start..];
        let rows = shared_parts::<T, P>(panel, shared);
        let values: [T; P] = from_fn(|row| x[first + row]);
        let (above, own) = product.split_at_mut(first);
        let mut sums = [T::ZERO; P];
        for (position, &column) in self.columns[start..start + shared].iter().enumerate() {
            let value = x[column];
            let mut sum = above[column];
            for row in 0..P {
                sums[row] += rows[row][position] * value;
                sum += rows[row][position] * values[row];
            }
            above[column] = sum;
        }
        for row in 0..P {
            let within = &panel[row_offset(shared, row) + shared..][..=row];
            for other in 0..row {
                sums[row] += within[other] * values[other];
                sums[other] += within[other] * values[row];
            }
            sums[row] += within[row] * values[row];
        }
        own[..P].copy_from_slice(&sums);
    }
}
