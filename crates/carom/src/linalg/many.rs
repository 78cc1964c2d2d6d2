//! Many right-hand sides at once, X ← A⁻¹·X, with X stored row by row.
//!
//! A step of a substitution then combines whole rows, a few at a time, so that every row is loaded and stored once for
//! several others, and each entry of the factor serves all right-hand sides.

use std::ops::Range;

use super::TreeSparsity;
use super::panel::{Panel, row_offset, subtract_rows};

/// Rows combined together.
const GROUP: usize = 4;

/// target ← target − Σ coefficient(j)·source(j), where each source is a row of `rows`.
///
/// `sources` gives index and coefficient of each.
pub(super) fn subtract_all(
    target: &mut [f64],
    rows: &[f64],
    mut sources: impl Iterator<Item = (usize, f64)>,
) {
    let width = target.len();
    let row = |index: usize| &rows[index * width..(index + 1) * width];
    loop {
        let mut group: [(usize, f64); GROUP] = [(0, 0.0); GROUP];
        let mut count = 0;
        for (place, source) in group.iter_mut().zip(&mut sources) {
            *place = source;
            count += 1;
        }
        match count {
            GROUP => subtract_rows(target, group.map(|(i, _)| row(i)), group.map(|(_, c)| c)),
            3 => {
                let group = [group[0], group[1], group[2]];
                subtract_rows(target, group.map(|(i, _)| row(i)), group.map(|(_, c)| c));
            }
            2 => {
                let group = [group[0], group[1]];
                subtract_rows(target, group.map(|(i, _)| row(i)), group.map(|(_, c)| c));
            }
            1 => subtract_rows(target, [row(group[0].0)], [group[0].1]),
            _ => {}
        }
        if count < GROUP {
            return;
        }
    }
}

/// X ← M⁻¹·X by the factor M = Lᵀ·D·L of whole trees. `x` holds the rows of these dofs alone, `width` numbers each.
pub(crate) fn solve_trees(
    sparsity: &TreeSparsity,
    factor: &[f64],
    diagonal_inverse: &[f64],
    dofs: Range<usize>,
    width: usize,
    x: &mut [f64],
) {
    let origin = dofs.start;
    let panels = sparsity.panels_of(dofs.clone());
    for panel in panels.iter().rev() {
        scatter(sparsity, factor, (*panel, origin), width, x);
    }
    for (row, dof) in x.chunks_exact_mut(width.max(1)).zip(dofs) {
        let inverse = diagonal_inverse[dof];
        for number in row {
            *number *= inverse;
        }
    }
    for panel in panels {
        gather(sparsity, factor, (*panel, origin), width, x);
    }
}

/// Rows of the ancestors lose their share of a panel's rows, last row first.
fn scatter(
    sparsity: &TreeSparsity,
    factor: &[f64],
    (panel, origin): (Panel, usize),
    width: usize,
    x: &mut [f64],
) {
    let Panel { first, length } = panel;
    let (start, shared) = (sparsity.row_start[first], sparsity.ancestor_count(first));
    let entries = &factor[start..];
    let (above, own) = x.split_at_mut((first - origin) * width);
    for row in (1..length).rev() {
        let within = &entries[row_offset(shared, row) + shared..][..row];
        let (before, source) = own.split_at_mut(row * width);
        let source = &source[..width];
        for (target, &entry) in before.chunks_exact_mut(width).zip(within) {
            subtract_rows(target, [source], [entry]);
        }
    }
    for (position, &ancestor) in sparsity.columns[start..start + shared].iter().enumerate() {
        let target = &mut above[(ancestor - origin) * width..][..width];
        let coefficient = |row: usize| entries[row_offset(shared, row) + position];
        subtract_all(target, own, (0..length).map(|row| (row, coefficient(row))));
    }
}

/// The rows of a panel lose their share of the ancestors' rows.
fn gather(
    sparsity: &TreeSparsity,
    factor: &[f64],
    (panel, origin): (Panel, usize),
    width: usize,
    x: &mut [f64],
) {
    let Panel { first, length } = panel;
    for dof in first..first + length {
        let (above, own) = x.split_at_mut((dof - origin) * width);
        let entries = &factor[sparsity.row_range(dof)];
        let sources = sparsity.ancestors(dof).iter().zip(entries);
        let sources = sources.map(|(&ancestor, &entry)| (ancestor - origin, entry));
        subtract_all(&mut own[..width], above, sources);
    }
}

/// X ← A⁻¹·X by the dense factor A = Lᵀ·L of [`cholesky`](super::cholesky).
pub(crate) fn solve_dense(factor: &[f64], size: usize, width: usize, x: &mut [f64]) {
    let scale = |row: &mut [f64], factor: f64| {
        for number in row {
            *number *= factor;
        }
    };
    let mut end = size;
    while end > 0 {
        let first = end.saturating_sub(GROUP);
        let (above, own) = x.split_at_mut(first * width);
        for i in (first..end).rev() {
            let entries = &factor[i * size..=i * size + i];
            let (before, source) = own.split_at_mut((i - first) * width);
            let source = &mut source[..width];
            scale(source, entries[i]);
            for (target, &entry) in before.chunks_exact_mut(width).zip(&entries[first..]) {
                subtract_rows(target, [&*source], [entry]);
            }
        }
        for (k, target) in above.chunks_exact_mut(width).enumerate() {
            let sources = (first..end).map(|i| (i - first, factor[i * size + k]));
            subtract_all(target, own, sources);
        }
        end = first;
    }
    for i in 0..size {
        let entries = &factor[i * size..=i * size + i];
        let (above, own) = x.split_at_mut(i * width);
        let target = &mut own[..width];
        subtract_all(target, above, entries[..i].iter().copied().enumerate());
        scale(target, entries[i]);
    }
}
