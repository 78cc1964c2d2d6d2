//! Sparse Cholesky factorisation A = Uᵀ·U of a symmetric matrix made of dense blocks.
//!
//! Rows and columns are grouped in nodes; A has a block for every node and for every edge between two nodes. Nodes are
//! eliminated in the order of least degree, which keeps the fill small. The row of a node holds its diagonal block and
//! the blocks of its later neighbours, side by side, so eliminating it works on contiguous rows:
//!
//!   U(k, ·) = chol(A(k, k))⁻ᵀ·A(k, ·);   A(i, j) ← A(i, j) − U(k, i)ᵀ·U(k, j)  for later neighbours i, j of k     (1)
//!
//! The pattern may change from one use to the next: all lists keep their capacity, and an unchanged pattern is not
//! analysed again.

use std::ops::Range;

use super::PivotError;
use super::panel::subtract_rows;
use crate::scalar::Scalar;

/// Where a block of A is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Index of the first entry.
    pub start: usize,
    /// Distance between its rows.
    pub stride: usize,
    /// Whether the transposed block is stored.
    pub transposed: bool,
}

/// A symmetric block matrix, then its factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockCholesky {
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
    /// Neighbours as bits while ordering: one row of words a node.
    adjacency: Vec<u64>,
    degree: Vec<u32>,
    runs: Vec<Run>,
}

/// Columns that stand side by side in two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    source: usize,
    target: usize,
    length: usize,
}

/// Nodes and edges are numbered with 32 bits.
fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl BlockCholesky {
    /// Prepares for a matrix with nodes of these sizes and blocks at these edges, in any order and with repetitions.
    /// `edges` is sorted.
    pub fn analyze(&mut self, sizes: impl Iterator<Item = usize>, edges: &mut Vec<[u32; 2]>) {
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

    /// The number of rows.
    pub fn size(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// The number of stored entries.
    pub fn entry_count(&self) -> usize {
        self.values.len()
    }

    /// Eliminates nodes symbolically, least degree first.
    fn order_nodes(&mut self) {
        let count = self.sizes.len();
        let words = count.div_ceil(64);
        self.adjacency.clear();
        self.adjacency.resize(count * words, 0);
        for &[a, b] in &self.edges {
            let (a, b) = (a as usize, b as usize);
            if a != b {
                self.adjacency[a * words + b / 64] |= 1 << (b % 64);
                self.adjacency[b * words + a / 64] |= 1 << (a % 64);
            }
        }
        self.degree.clear();
        for node in 0..count {
            self.degree
                .push(ones(&self.adjacency[node * words..][..words]));
        }
        self.order.clear();
        self.place.clear();
        self.place.resize(count, u32::MAX);
        self.later_start.clear();
        self.later_start.push(0);
        self.later.clear();
        for step in 0..count {
            let node = self.least_degree();
            self.place[node] = index(step);
            self.order.push(index(node));
            self.eliminate_symbolically(node, words);
        }
        for step in 0..count {
            let range = self.later_start[step]..self.later_start[step + 1];
            self.later[range].sort_unstable_by_key(|&node| self.place[node as usize]);
        }
    }

    /// The remaining node of least degree, the first of them.
    fn least_degree(&self) -> usize {
        let remaining = (0..self.sizes.len()).filter(|&node| self.place[node] == u32::MAX);
        remaining.min_by_key(|&node| self.degree[node]).unwrap_or(0)
    }

    /// Connects all neighbours of a node with each other and removes the node.
    fn eliminate_symbolically(&mut self, node: usize, words: usize) {
        let first = self.later.len();
        for word in 0..words {
            let mut bits = self.adjacency[node * words + word];
            while bits != 0 {
                self.later.push(index(word * 64) + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        self.later_start.push(self.later.len());
        for position in first..self.later.len() {
            let other = self.later[position] as usize;
            for word in 0..words {
                let bits = self.adjacency[node * words + word];
                self.adjacency[other * words + word] |= bits;
            }
            let row = &mut self.adjacency[other * words..][..words];
            row[node / 64] &= !(1 << (node % 64));
            row[other / 64] &= !(1 << (other % 64));
            self.degree[other] = ones(row);
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
        self.values.clear();
        self.values.resize(start, 0.0);
    }

    /// Sets all entries to zero.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// The entries; [`Self::place_of`] tells where a block is.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Where the block of two nodes is. Only the upper triangle of a diagonal block matters.
    pub fn place_of(&self, row: usize, column: usize) -> Option<BlockPlace> {
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
    /// positive. (1)
    pub fn factor(&mut self) -> Result<(), PivotError> {
        for step in 0..self.order.len() {
            let node = self.order[step] as usize;
            let (size, width) = (self.sizes[node], self.width[step]);
            let range = self.row_range(step);
            factor_row(&mut self.values[range], size, width).map_err(|row| PivotError {
                index: self.offset[node] + row,
            })?;
            let mut column = size;
            for position in self.later_start[step]..self.later_start[step + 1] {
                let neighbour = self.later[position] as usize;
                self.subtract_from(step, position, column);
                column += self.sizes[neighbour];
            }
        }
        Ok(())
    }

    /// Subtracts the products of a node's row from the row of one of its later neighbours, whose columns start at
    /// `column`.
    fn subtract_from(&mut self, step: usize, position: usize, column: usize) {
        let neighbour = self.later[position] as usize;
        let target_step = self.place[neighbour] as usize;
        self.find_runs(step, position, column);
        let source_size = self.sizes[self.order[step] as usize];
        let (width, target_width) = (self.width[step], self.width[target_step]);
        let (source_start, target_start) = (self.row_start[step], self.row_start[target_step]);
        let (before, targets) = self.values.split_at_mut(target_start);
        let source = &before[source_start..source_start + source_size * width];
        for row in 0..self.sizes[neighbour] {
            let target = &mut targets[row * target_width..][..target_width];
            for run in &self.runs {
                let target = &mut target[run.target..run.target + run.length];
                subtract_products(source, width, column + row, run.source, target);
            }
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
    pub fn solve_in_place<T: Scalar>(&self, x: &mut [T]) {
        let steps = 0..self.order.len();
        for step in steps.clone() {
            self.for_each_row(step, |row, entries, columns| {
                let value = x[row] * entries[0];
                x[row] = value;
                for (dof, &entry) in columns.zip(&entries[1..]) {
                    x[dof] -= value * entry;
                }
            });
        }
        for step in steps.rev() {
            let size = self.sizes[self.order[step] as usize];
            for row in (0..size).rev() {
                let (index, entries, columns) = self.row_of(step, row);
                let mut sum = x[index];
                for (dof, &entry) in columns.zip(&entries[1..]) {
                    sum -= x[dof] * entry;
                }
                x[index] = sum * entries[0];
            }
        }
    }

    fn for_each_row<'a>(
        &'a self,
        step: usize,
        mut visit: impl FnMut(usize, &'a [f64], Columns<'a>),
    ) {
        for row in 0..self.sizes[self.order[step] as usize] {
            let (index, entries, columns) = self.row_of(step, row);
            visit(index, entries, columns);
        }
    }

    /// Row `row` of a node: its index, its entries from the diagonal on, the indices of those after the diagonal.
    fn row_of(&self, step: usize, row: usize) -> (usize, &[f64], Columns<'_>) {
        let node = self.order[step] as usize;
        let (size, width, offset) = (self.sizes[node], self.width[step], self.offset[node]);
        let start = self.row_start[step] + row * width;
        let columns = Columns {
            factor: self,
            range: offset + row + 1..offset + size,
            later: self.later_of(step).iter(),
        };
        (
            offset + row,
            &self.values[start + row..start + width],
            columns,
        )
    }
}

/// Indices of the entries of a row.
struct Columns<'a> {
    factor: &'a BlockCholesky,
    range: Range<usize>,
    later: std::slice::Iter<'a, u32>,
}

impl Iterator for Columns<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            if let Some(index) = self.range.next() {
                return Some(index);
            }
            let node = *self.later.next()? as usize;
            let offset = self.factor.offset[node];
            self.range = offset..offset + self.factor.sizes[node];
        }
    }
}

/// The number of bits that are set.
fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// Factors the leading square of some rows and applies it to the rest of them; fails with the row of the pivot.
fn factor_row(rows: &mut [f64], size: usize, width: usize) -> Result<(), usize> {
    for row in 0..size {
        let (done, below) = rows.split_at_mut((row + 1) * width);
        let source = &mut done[row * width + row..];
        let pivot = source[0];
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(row);
        }
        let inverse = 1.0 / pivot.sqrt();
        source[0] = inverse;
        for entry in &mut source[1..] {
            *entry *= inverse;
        }
        for (other, target) in below.chunks_exact_mut(width).enumerate() {
            let skip = other + 1;
            let target = &mut target[row + skip..];
            subtract_rows(target, [&source[skip..]], [source[skip]]);
        }
    }
    Ok(())
}

/// target ← target − Σ source(q, column)·source(q, from…) over the rows q of the source.
#[inline]
fn subtract_products(source: &[f64], width: usize, column: usize, from: usize, target: &mut [f64]) {
    let mut rows = source.chunks_exact(width);
    while rows.len() >= 6 {
        subtract_chunk::<6>(&mut rows, column, from, target);
    }
    if rows.len() >= 3 {
        subtract_chunk::<3>(&mut rows, column, from, target);
    }
    while rows.len() > 0 {
        subtract_chunk::<1>(&mut rows, column, from, target);
    }
}

#[inline]
fn subtract_chunk<const P: usize>(
    rows: &mut std::slice::ChunksExact<'_, f64>,
    column: usize,
    from: usize,
    target: &mut [f64],
) {
    let mut parts: [&[f64]; P] = [&[]; P];
    let mut coefficients = [0.0; P];
    for (part, coefficient) in parts.iter_mut().zip(&mut coefficients) {
        let Some(row) = rows.next() else { return };
        *coefficient = row[column];
        *part = &row[from..from + target.len()];
    }
    subtract_rows(target, parts, coefficients);
}
