//! Products of the few rows of a block with vectors over its columns.
//!
//! A free body has six columns and a pair of them twelve: for these widths the loops are unrolled.

use crate::linalg::cholesky::dot;

/// product ← rows·x, row by row.
#[inline]
pub(super) fn mul(rows: &[f64], x: &[f64], product: &mut [f64]) {
    if let Ok(x) = <&[f64; 12]>::try_from(x) {
        mul_unrolled(rows, x, product);
    } else if let Ok(x) = <&[f64; 6]>::try_from(x) {
        mul_unrolled(rows, x, product);
    } else {
        let rows = rows.chunks_exact(x.len().max(1));
        for (product, row) in product.iter_mut().zip(rows) {
            *product = dot(row, x);
        }
    }
}

#[inline]
fn mul_unrolled<const C: usize>(rows: &[f64], x: &[f64; C], product: &mut [f64]) {
    for (product, row) in product.iter_mut().zip(rows.as_chunks::<C>().0) {
        let mut sums = [0.0; 2];
        for pair in 0..C / 2 {
            for lane in 0..2 {
                sums[lane] += row[2 * pair + lane] * x[2 * pair + lane];
            }
        }
        *product = sums[0] + sums[1];
    }
}

/// sums ← sums + rowsᵀ·factors.
#[inline]
pub(super) fn add_transposed(rows: &[f64], factors: &[f64], sums: &mut [f64]) {
    if let Ok(sums) = <&mut [f64; 12]>::try_from(&mut *sums) {
        add_unrolled(rows, factors, sums);
    } else if let Ok(sums) = <&mut [f64; 6]>::try_from(&mut *sums) {
        add_unrolled(rows, factors, sums);
    } else {
        let rows = rows.chunks_exact(sums.len().max(1));
        for (&factor, row) in factors.iter().zip(rows) {
            for (sum, &entry) in sums.iter_mut().zip(row) {
                *sum += factor * entry;
            }
        }
    }
}

#[inline]
fn add_unrolled<const C: usize>(rows: &[f64], factors: &[f64], sums: &mut [f64; C]) {
    let mut total = *sums;
    for (&factor, row) in factors.iter().zip(rows.as_chunks::<C>().0) {
        // Rows that do not push are common: contacts about to open, limits nearby.
        if factor == 0.0 {
            continue;
        }
        for column in 0..C {
            total[column] += factor * row[column];
        }
    }
    *sums = total;
}
