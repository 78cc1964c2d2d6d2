//! Sparse Cholesky factorisation A = Uᵀ·U of a symmetric matrix made of dense blocks.
//!
//! Rows and columns are grouped in nodes; A has a block for every node and for every edge between two nodes. Nodes are
//! eliminated in the order of least degree, which keeps the fill small. The row of a node holds its diagonal block and
//! the blocks of its later neighbours, side by side, so eliminating it works on contiguous rows:
//!
//!   U(k, ·) = chol(A(k, k))⁻ᵀ·A(k, ·);   A(i, j) ← A(i, j) − U(k, i)ᵀ·U(k, j)  for later neighbours i, j of k     (1)
//!
//! The pattern may change from one use to the next: all lists keep their capacity, and an unchanged pattern is not
//! analysed again. Where only some blocks change from one factorisation to the next, only the rows that depend on them
//! are computed again.

use std::array::from_fn;
use std::ops::Range;

use super::PivotError;
use super::many::subtract_all;
use super::minimum_degree::MinimumDegree;
use super::panel::subtract_rows;
use crate::scalar::Scalar;

/// Where a block of A is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockPlace {
    /// Index of the first entry.
    pub start: usize,
    /// Distance between its rows.
    pub stride: usize,
    /// Whether the transposed block is stored.
    pub transposed: bool,
    /// When the row that holds it is eliminated.
    step: u32,
}

/// A symmetric block matrix, then its factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct BlockCholesky {
    sizes: Vec<usize>,
    /// First row of each node.
    offset: Vec<usize>,
    /// Edges (smaller node, larger node), sorted.
    edges: Vec<[u32; 2]>,
    /// Nodes in the order of elimination, and the place of each node in it.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Later neighbours of each node, in the order of elimination; by place.
    later_start: Vec<usize>,
    later: Vec<u32>,
    /// Where the row of each node starts among the values, and how wide it is; by place.
    row_start: Vec<usize>,
    width: Vec<usize>,
    values: Vec<f64>,
    /// Whether the row of each node is to be computed again; by place.
    stale: Vec<bool>,
    ordering: MinimumDegree,
    runs: Vec<Run>,
}

/// Columns that stand side by side in two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    source: usize,
    target: usize,
    length: usize,
}

/// Blocks of this size, those of free bodies, have loops of their own.
const SQUARE: usize = 6;

/// Nodes and edges are numbered with 32 bits.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl BlockCholesky {
    /// Prepares for a matrix with nodes of these sizes and blocks at these edges, in any order and with repetitions.
    /// `edges` is sorted.
    pub(crate) fn analyze(
        &mut self,
        sizes: impl Iterator<Item = usize>,
        edges: &mut Vec<[u32; 2]>,
    ) {
        for edge in edges.iter_mut() {
            edge.sort_unstable();
        }
        edges.sort_unstable();
        edges.dedup();
        let mut count = 0;
        let mut same = *edges == self.edges;
        for size in sizes {
            if count < self.sizes.len() {
                same &= self.sizes[count] == size;
                self.sizes[count] = size;
            } else {
                same = false;
                self.sizes.push(size);
            }
            count += 1;
        }
        same &= count == self.sizes.len();
        if same {
            return;
        }
        self.sizes.truncate(count);
        self.edges.clone_from(edges);
        self.order_nodes();
        self.lay_out();
    }

    /// The number of stored entries.
    #[cfg(test)]
    pub(crate) fn entry_count(&self) -> usize {
        self.values.len()
    }

    /// Eliminates nodes symbolically, least degree first.
    fn order_nodes(&mut self) {
        let count = self.sizes.len();
        self.ordering.read(count, &self.edges);
        self.order.clear();
        self.place.clear();
        self.place.resize(count, u32::MAX);
        self.later_start.clear();
        self.later_start.push(0);
        self.later.clear();
        for step in 0..count {
            let node = self.ordering.eliminate(&mut self.later);
            self.place[node as usize] = index(step);
            self.order.push(node);
            self.later_start.push(self.later.len());
        }
        for step in 0..count {
            let range = self.later_start[step]..self.later_start[step + 1];
            self.later[range].sort_unstable_by_key(|&node| self.place[node as usize]);
        }
    }

    fn lay_out(&mut self) {
        self.offset.clear();
        let mut offset = 0;
        for &size in &self.sizes {
            self.offset.push(offset);
            offset += size;
        }
        self.row_start.clear();
        self.width.clear();
        let mut start = 0;
        for (step, &node) in self.order.iter().enumerate() {
            let size = self.sizes[node as usize];
            let later = &self.later[self.later_start[step]..self.later_start[step + 1]];
            let width = size + later.iter().map(|&n| self.sizes[n as usize]).sum::<usize>();
            self.row_start.push(start);
            self.width.push(width);
            start += size * width;
        }
        // Rows are cleared before they are filled.
        self.values.resize(start, 0.0);
        self.stale.clear();
        self.stale.resize(self.order.len(), true);
    }

    /// Asks for a factor that owes nothing to the matrix before.
    pub(crate) fn invalidate(&mut self) {
        self.stale.fill(true);
    }

    /// Says that blocks of a node change.
    pub(crate) fn invalidate_node(&mut self, node: usize) {
        self.stale[self.place[node] as usize] = true;
    }

    /// Whether the row that holds a block must be filled anew, once [`Self::clear`] has been called.
    #[inline]
    pub(crate) fn is_stale(&self, place: &BlockPlace) -> bool {
        self.stale[place.step as usize]
    }

    /// Sets to zero the rows that depend on the nodes that change: theirs, and all those that are updated when they are
    /// eliminated. The first later neighbour of a node is its parent in the tree of eliminations, and all its later
    /// neighbours are ancestors there.
    pub(crate) fn clear(&mut self) {
        for step in 0..self.order.len() {
            if !self.stale[step] {
                continue;
            }
            if let Some(&parent) = self.later_of(step).first() {
                self.stale[self.place[parent as usize] as usize] = true;
            }
            let range = self.row_range(step);
            self.values[range].fill(0.0);
        }
    }

    /// The entries; [`Self::place_of`] tells where a block is.
    pub(crate) fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Where the block of two nodes is. Only the upper triangle of a diagonal block matters.
    pub(crate) fn place_of(&self, row: usize, column: usize) -> Option<BlockPlace> {
        let (first, second) = (self.place[row] as usize, self.place[column] as usize);
        let transposed = second < first;
        let (step, other) = if transposed {
            (second, row)
        } else {
            (first, column)
        };
        let mut column_start = 0;
        if first != second {
            column_start = self.sizes[self.order[step] as usize];
            let mut neighbours = self.later_of(step).iter();
            loop {
                let neighbour = *neighbours.next()? as usize;
                if neighbour == other {
                    break;
                }
                column_start += self.sizes[neighbour];
            }
        }
        Some(BlockPlace {
            start: self.row_start[step] + column_start,
            stride: self.width[step],
            transposed,
            step: index(step),
        })
    }

    #[inline]
    fn later_of(&self, step: usize) -> &[u32] {
        &self.later[self.later_start[step]..self.later_start[step + 1]]
    }

    /// The rows of a node among the values.
    #[inline]
    fn row_range(&self, step: usize) -> Range<usize> {
        let size = self.sizes[self.order[step] as usize];
        self.row_start[step]..self.row_start[step] + size * self.width[step]
    }

    /// Replaces the matrix by its factor, with reciprocals on the diagonal; fails at the first pivot that is not
    /// positive. (1) Rows that have not been cleared keep their factor: every number is the same as if all had been.
    pub(crate) fn factor(&mut self) -> Result<(), PivotError> {
        let outcome = self.factor_stale();
        self.stale.fill(outcome.is_err());
        self.runs.clear();
        outcome
    }

    fn factor_stale(&mut self) -> Result<(), PivotError> {
        for step in 0..self.order.len() {
            let node = self.order[step] as usize;
            if self.stale[step] {
                let (size, width) = (self.sizes[node], self.width[step]);
                let range = self.row_range(step);
                factor_row(&mut self.values[range], size, width).map_err(|row| PivotError {
                    index: self.offset[node] + row,
                })?;
            }
            self.eliminate(step);
        }
        Ok(())
    }

    /// Subtracts the products of a node's row from the stale rows of its later neighbours. With one neighbour all those
    /// after it are stale.
    fn eliminate(&mut self, step: usize) {
        let mut column = self.width[step];
        for position in (self.later_start[step]..self.later_start[step + 1]).rev() {
            let neighbour = self.later[position] as usize;
            if !self.stale[self.place[neighbour] as usize] {
                break;
            }
            column -= self.sizes[neighbour];
            self.subtract_from(step, position, column);
        }
    }

    /// Subtracts the products of a node's row from the row of one of its later neighbours, whose columns start at
    /// `column`.
    fn subtract_from(&mut self, step: usize, position: usize, column: usize) {
        let neighbour = self.later[position] as usize;
        let target_step = self.place[neighbour] as usize;
        self.find_runs(step, position, column);
        let (source, target) = (self.row_range(step), self.row_range(target_step));
        let (width, target_width) = (self.width[step], self.width[target_step]);
        let (before, targets) = self.values.split_at_mut(target.start);
        let mut rows = &before[source];
        let targets = &mut targets[..target.len()];
        // Up to so many rows of the source at once, so that each target is loaded and stored once for all of them.
        while !rows.is_empty() {
            let count = (rows.len() / width).min(6);
            let (chunk, rest) = rows.split_at(count * width);
            let subtract = match count {
                1 => subtract_runs::<1>,
                2 => subtract_runs::<2>,
                3 => subtract_runs::<3>,
                4 => subtract_runs::<4>,
                5 => subtract_runs::<5>,
                _ => subtract_runs::<6>,
            };
            subtract(chunk, width, column, &self.runs, targets, target_width);
            rows = rest;
        }
    }

    /// The columns of a node's row from one of its neighbours on, matched with those of the neighbour's row.
    fn find_runs(&mut self, step: usize, position: usize, column: usize) {
        let neighbour = self.later[position] as usize;
        let target_step = self.place[neighbour] as usize;
        self.runs.clear();
        let mut run = Run {
            source: column,
            target: 0,
            length: self.sizes[neighbour],
        };
        let (mut source, mut target) = (run.length + column, run.length);
        let mut places =
            self.later[self.later_start[target_step]..self.later_start[target_step + 1]].iter();
        for &other in &self.later[position + 1..self.later_start[step + 1]] {
            let size = self.sizes[other as usize];
            for &candidate in places.by_ref() {
                if candidate == other {
                    break;
                }
                target += self.sizes[candidate as usize];
            }
            if run.target + run.length == target {
                run.length += size;
            } else {
                self.runs.push(run);
                run = Run {
                    source,
                    target,
                    length: size,
                };
            }
            source += size;
            target += size;
        }
        self.runs.push(run);
    }

    /// x ← A⁻¹·x by the factor.
    pub(crate) fn solve_in_place<T: Scalar>(&self, x: &mut [T]) {
        for step in 0..self.order.len() {
            self.solve_forward(step, x);
        }
        for step in (0..self.order.len()).rev() {
            self.solve_backward(step, x);
        }
    }

    /// x(k) ← U(k, k)⁻ᵀ·x(k), then x(j) ← x(j) − U(k, j)ᵀ·x(k) for the later neighbours j of a node k.
    fn solve_forward<T: Scalar>(&self, step: usize, x: &mut [T]) {
        let (own, width) = (self.rows_of(step), self.width[step]);
        let rows = &self.values[self.row_range(step)];
        for (row, entries) in rows.chunks_exact(width).enumerate() {
            let (done, rest) = x[own.clone()].split_at_mut(row + 1);
            let value = done[row] * entries[row];
            done[row] = value;
            for (x, &entry) in rest.iter_mut().zip(&entries[row + 1..]) {
                *x -= value * entry;
            }
        }
        let mut column = own.len();
        for &neighbour in self.later_of(step) {
            let other = self.rows_of_node(neighbour);
            if own.len() == SQUARE && other.len() == SQUARE {
                let values = from_fn(|row| x[own.start + row]);
                subtract_transposed(&rows[column..], width, values, &mut x[other]);
                column += SQUARE;
                continue;
            }
            for (row, entries) in own.clone().zip(rows.chunks_exact(width)) {
                let value = x[row];
                let entries = &entries[column..column + other.len()];
                for (x, &entry) in x[other.clone()].iter_mut().zip(entries) {
                    *x -= value * entry;
                }
            }
            column += other.len();
        }
    }

    /// x(k) ← U(k, k)⁻¹·(x(k) − Σ U(k, j)·x(j)) over the later neighbours j of a node k.
    fn solve_backward<T: Scalar>(&self, step: usize, x: &mut [T]) {
        let (own, width) = (self.rows_of(step), self.width[step]);
        let rows = &self.values[self.row_range(step)];
        let mut column = own.len();
        for &neighbour in self.later_of(step) {
            let other = self.rows_of_node(neighbour);
            if own.len() == SQUARE && other.len() == SQUARE {
                let values = from_fn(|column| x[other.start + column]);
                subtract_product(&rows[column..], width, values, &mut x[own.clone()]);
                column += SQUARE;
                continue;
            }
            for (row, entries) in own.clone().zip(rows.chunks_exact(width)) {
                let entries = &entries[column..column + other.len()];
                let products = x[other.clone()].iter().zip(entries);
                let sum = products.fold(T::ZERO, |sum, (&x, &entry)| sum + x * entry);
                x[row] -= sum;
            }
            column += other.len();
        }
        for (row, entries) in rows.chunks_exact(width).enumerate().rev() {
            let (head, later) = x[own.clone()].split_at_mut(row + 1);
            let mut sum = head[row];
            for (&x, &entry) in later.iter().zip(&entries[row + 1..]) {
                sum -= x * entry;
            }
            head[row] = sum * entries[row];
        }
    }

    /// X ← A⁻¹·X by the factor, for right-hand sides that stand row by row, `count` numbers each.
    ///
    /// `room` holds the rows of one node meanwhile.
    pub(crate) fn solve_many(&self, count: usize, room: &mut Vec<f64>, x: &mut [f64]) {
        for step in 0..self.order.len() {
            self.solve_many_forward(step, count, room, x);
        }
        for step in (0..self.order.len()).rev() {
            self.solve_many_backward(step, count, room, x);
        }
    }

    /// As [`Self::solve_forward`].
    fn solve_many_forward(&self, step: usize, count: usize, room: &mut Vec<f64>, x: &mut [f64]) {
        let (own, width) = (self.rows_of(step), self.width[step]);
        let rows = &self.values[self.row_range(step)];
        let entries_of = || rows.chunks_exact(width);
        let own_values = &mut x[own.start * count..own.end * count];
        for (row, entries) in entries_of().enumerate() {
            let (done, rest) = own_values.split_at_mut((row + 1) * count);
            let source = &mut done[row * count..];
            for number in source.iter_mut() {
                *number *= entries[row];
            }
            for (target, &entry) in rest.chunks_exact_mut(count).zip(&entries[row + 1..]) {
                subtract_rows(target, [&*source], [entry]);
            }
        }
        room.clear();
        room.extend_from_slice(own_values);
        let later = self.later_of(step).iter();
        let later = later.flat_map(|&node| self.rows_of_node(node));
        for (column, row) in (own.len()..width).zip(later) {
            let sources = entries_of().map(|entries| entries[column]).enumerate();
            subtract_all(&mut x[row * count..(row + 1) * count], room, sources);
        }
    }

    /// As [`Self::solve_backward`].
    fn solve_many_backward(&self, step: usize, count: usize, room: &mut Vec<f64>, x: &mut [f64]) {
        let (own, width) = (self.rows_of(step), self.width[step]);
        let rows = &self.values[self.row_range(step)];
        room.clear();
        room.extend_from_slice(&x[own.start * count..own.end * count]);
        for (row, entries) in rows.chunks_exact(width).enumerate().rev() {
            let (head, done) = room.split_at_mut((row + 1) * count);
            let target = &mut head[row * count..];
            let within = entries[row + 1..own.len()].iter().copied().enumerate();
            subtract_all(target, done, within);
            let later = self.later_of(step).iter();
            let later = later.flat_map(|&node| self.rows_of_node(node));
            subtract_all(target, x, later.zip(entries[own.len()..].iter().copied()));
            for number in target {
                *number *= entries[row];
            }
        }
        x[own.start * count..own.end * count].copy_from_slice(room);
    }

    /// The rows of the node that is eliminated at a step, among all.
    #[inline]
    fn rows_of(&self, step: usize) -> Range<usize> {
        self.rows_of_node(self.order[step])
    }

    #[inline]
    fn rows_of_node(&self, node: u32) -> Range<usize> {
        let offset = self.offset[node as usize];
        offset..offset + self.sizes[node as usize]
    }
}

/// Factors the leading square of some rows and applies it to the rest of them; fails with the row of the pivot.
fn factor_row(rows: &mut [f64], size: usize, width: usize) -> Result<(), usize> {
    for row in 0..size {
        let (mut done, current) = rows.split_at_mut(row * width);
        let target = &mut current[row..width];
        while !done.is_empty() {
            let count = (done.len() / width).min(6);
            let (chunk, rest) = done.split_at_mut(count * width);
            match count {
                1 => subtract_tails::<1>(chunk, width, row, target),
                2 => subtract_tails::<2>(chunk, width, row, target),
                3 => subtract_tails::<3>(chunk, width, row, target),
                4 => subtract_tails::<4>(chunk, width, row, target),
                5 => subtract_tails::<5>(chunk, width, row, target),
                _ => subtract_tails::<6>(chunk, width, row, target),
            }
            done = rest;
        }
        let pivot = target[0];
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(row);
        }
        let inverse = 1.0 / pivot.sqrt();
        target[0] = inverse;
        for entry in &mut target[1..] {
            *entry *= inverse;
        }
    }
    Ok(())
}

/// target ← target − Σ source(q, column)·source(q, column…) over P rows q.
#[inline]
fn subtract_tails<const P: usize>(source: &[f64], width: usize, column: usize, target: &mut [f64]) {
    let tails: [&[f64]; P] = from_fn(|q| &source[q * width + column..][..target.len()]);
    subtract_rows(target, tails, tails.map(|tail| tail[0]));
}

/// target(r, ·) ← target(r, ·) − Σ source(q, column + r)·source(q, ·) over P rows q, for the columns in the runs.
fn subtract_runs<const P: usize>(
    source: &[f64],
    width: usize,
    column: usize,
    runs: &[Run],
    targets: &mut [f64],
    target_width: usize,
) {
    let size = targets.len() / target_width;
    let heads: [&[f64]; P] = from_fn(|q| &source[q * width + column..][..size]);
    for run in runs {
        let parts: [&[f64]; P] = from_fn(|q| &source[q * width + run.source..][..run.length]);
        for (row, target) in targets.chunks_exact_mut(target_width).enumerate() {
            let target = &mut target[run.target..run.target + run.length];
            subtract_rows(target, parts, heads.map(|head| head[row]));
        }
    }
}

/// x ← x − Aᵀ·values for the square A at the start of some rows.
#[inline]
fn subtract_transposed<T: Scalar>(rows: &[f64], width: usize, values: [T; SQUARE], x: &mut [T]) {
    let rows: [&[f64]; SQUARE] = from_fn(|row| &rows[row * width..][..SQUARE]);
    let x = &mut x[..SQUARE];
    for column in 0..SQUARE {
        let mut sum = values[0] * rows[0][column];
        for row in 1..SQUARE {
            sum += values[row] * rows[row][column];
        }
        x[column] -= sum;
    }
}

/// x ← x − A·values for the square A at the start of some rows.
#[inline]
fn subtract_product<T: Scalar>(rows: &[f64], width: usize, values: [T; SQUARE], x: &mut [T]) {
    let x = &mut x[..SQUARE];
    for row in 0..SQUARE {
        let entries = &rows[row * width..][..SQUARE];
        let mut sums = [values[0] * entries[0], values[1] * entries[1]];
        for pair in 1..SQUARE / 2 {
            for lane in 0..2 {
                sums[lane] += values[2 * pair + lane] * entries[2 * pair + lane];
            }
        }
        x[row] -= sums[0] + sums[1];
    }
}
