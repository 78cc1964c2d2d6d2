//! H = M + Jᵀ·K·J of each island, and its factor.
//!
//! Constraints that act along one way to the root, such as contacts with the ground and limits, leave H the sparsity of
//! M: a single tree with only such blocks is factorised like M, without fill. Other small islands are dense, larger ones
//! sparse with a node per kinematic tree. The factor stays for the backward pass, which solves with H at the solution.

use std::ops::Range;

use super::island::Islands;
use super::law::{Curvature, MAX_ROWS, Phase};
use super::problem::Island;
use crate::linalg::{BlockCholesky, PivotError, TreeSparsity, cholesky, tree_ldl};
use crate::model::Structure;
use crate::scalar::Scalar;
use crate::stages::constraint::{Block, BlockKind};

/// Islands of more dofs are sparse.
const DENSE_LIMIT: usize = 36;

/// Factors of H, one an island.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hessian {
    dense: Vec<f64>,
    /// Entries and inverse diagonal in the layout of M, for islands that have its sparsity.
    tree: Vec<f64>,
    tree_diagonal_inverse: Vec<f64>,
    factors: Vec<Factor>,
    sparse: Vec<BlockCholesky>,
    sparse_count: usize,
    /// Index of each tree within its island.
    node: Vec<usize>,
    edges: Vec<[u32; 2]>,
    /// The sum of Jᵀ·K·J over blocks with the same columns.
    sums: Vec<f64>,
}

/// Where the factor of an island is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    /// In the layout of M.
    Tree,
    /// Start among the dense entries.
    Dense(usize),
    /// Index of the sparse factor.
    Sparse(usize),
}

impl Hessian {
    /// Chooses a layout for each island and makes room.
    pub(super) fn prepare(&mut self, structure: &Structure, problem: Rows<'_>, islands: &Islands) {
        self.tree.resize(structure.inertia.entry_count(), 0.0);
        self.tree_diagonal_inverse.resize(structure.counts.nv, 0.0);
        self.factors.clear();
        self.sparse_count = 0;
        self.node.resize(structure.tree_dofs.len(), 0);
        let mut start = 0;
        for island in 0..islands.count() {
            let (size, trees) = (islands.size(island), islands.trees(island));
            if trees.len() == 1 && size > 1 && problem.are_chains(structure, islands.blocks(island))
            {
                self.factors.push(Factor::Tree);
            } else if size <= DENSE_LIMIT || trees.len() == 1 {
                self.factors.push(Factor::Dense(start));
                start += size * size;
            } else {
                for (node, &tree) in trees.iter().enumerate() {
                    self.node[tree] = node;
                }
                self.factors.push(Factor::Sparse(self.sparse_count));
                self.sparse_count += 1;
            }
        }
        self.dense.resize(start.max(self.dense.len()), 0.0);
        if self.sparse.len() < self.sparse_count {
            self.sparse
                .resize_with(self.sparse_count, BlockCholesky::default);
        }
    }

    /// Finds the pattern of an island's matrix.
    pub(super) fn analyze(&mut self, island: &Island) {
        let Factor::Sparse(index) = self.factors[island.index] else {
            return;
        };
        let (problem, trees) = (island.problem, &island.problem.structure.dofs.tree);
        self.edges.clear();
        let mut last = usize::MAX;
        for (_, block) in island.blocks() {
            if block.column == last {
                continue;
            }
            last = block.column;
            let columns = &problem.columns[block.columns()];
            for (run, start) in runs(columns, trees) {
                for (other, _) in runs(&columns[start + run.len()..], trees) {
                    let nodes = [run[0], other[0]].map(|dof| self.node[trees[dof]]);
                    self.edges
                        .push(nodes.map(|node| u32::try_from(node).unwrap_or(u32::MAX)));
                }
            }
        }
        let sizes = island.dofs().map(|dofs| dofs.len());
        self.sparse[index].analyze(sizes, &mut self.edges);
    }

    /// Computes H at the given phases and residuals, and factorises it.
    pub(super) fn factor(
        &mut self,
        island: &Island,
        residual: &[f64],
        phase: &[Phase],
    ) -> Result<(), PivotError> {
        let Self {
            dense,
            tree,
            tree_diagonal_inverse,
            factors,
            sparse,
            node,
            sums,
            ..
        } = self;
        let size = island.size();
        let sparsity = &island.problem.structure.inertia;
        match factors[island.index] {
            Factor::Tree => {
                let dofs = island.dofs().next().unwrap_or_default();
                let entries = sparsity.row_start[dofs.start]..sparsity.row_start[dofs.end];
                tree[entries.clone()].copy_from_slice(&island.problem.inertia[entries]);
                for_each_group(island, residual, phase, sums, |columns, sums| {
                    add_tree(sparsity, tree, columns, sums);
                });
                tree_ldl::factor_trees(sparsity, dofs, tree, tree_diagonal_inverse)
            }
            Factor::Dense(start) => {
                let matrix = &mut dense[start..start + size * size];
                matrix.fill(0.0);
                add_dense_inertia(island, matrix);
                let local = island.islands.local();
                for_each_group(island, residual, phase, sums, |columns, sums| {
                    add_dense(matrix, size, local, columns, sums);
                });
                cholesky::factor(matrix, size)
            }
            Factor::Sparse(index) => {
                let matrix = &mut sparse[index];
                matrix.clear();
                add_sparse_inertia(island, node, matrix);
                for_each_group(island, residual, phase, sums, |columns, sums| {
                    add_sparse(island, node, matrix, columns, sums);
                });
                matrix.factor()
            }
        }
    }

    /// direction ← −H⁻¹·gradient over the dofs of an island. `gather` holds its dofs meanwhile.
    pub(super) fn descend(
        &self,
        island: &Island,
        gradient: &[f64],
        gather: &mut Vec<f64>,
        direction: &mut [f64],
    ) {
        if self.factors[island.index] == Factor::Tree {
            let sparsity = &island.problem.structure.inertia;
            for dofs in island.dofs() {
                for dof in dofs.clone() {
                    direction[dof] = -gradient[dof];
                }
                let inverse = &self.tree_diagonal_inverse;
                tree_ldl::solve_trees(sparsity, &self.tree, inverse, dofs, direction);
            }
            return;
        }
        gather.clear();
        for dofs in island.dofs() {
            gather.extend(gradient[dofs].iter().map(|&number| -number));
        }
        let structure = island.problem.structure;
        self.solve_in_place(structure, island.islands, island.index, gather);
        let mut start = 0;
        for dofs in island.dofs() {
            let length = dofs.len();
            direction[dofs].copy_from_slice(&gather[start..start + length]);
            start += length;
        }
    }

    /// x ← H⁻¹·x for a vector over the dofs of an island, in their order.
    pub fn solve_in_place<T: Scalar>(
        &self,
        structure: &Structure,
        islands: &Islands,
        island: usize,
        x: &mut [T],
    ) {
        let size = islands.size(island);
        match self.factors[island] {
            Factor::Tree => {
                for dofs in islands.dof_ranges(structure, island) {
                    self.solve_tree(structure, dofs, x);
                }
            }
            Factor::Dense(start) => {
                cholesky::solve_in_place(&self.dense[start..start + size * size], size, x);
            }
            Factor::Sparse(index) => self.sparse[index].solve_in_place(x),
        }
    }
}

impl Hessian {
    /// x ← L⁻¹·D⁻¹·L⁻ᵀ·x over the dofs of one tree, row by row.
    fn solve_tree<T: Scalar>(&self, structure: &Structure, dofs: Range<usize>, x: &mut [T]) {
        let (sparsity, first) = (&structure.inertia, dofs.start);
        let row = |dof: usize| {
            let entries = &self.tree[sparsity.row_range(dof)];
            sparsity.ancestors(dof).iter().zip(entries)
        };
        for dof in dofs.clone().rev() {
            let value = x[dof - first];
            for (&ancestor, &entry) in row(dof) {
                x[ancestor - first] -= value * entry;
            }
        }
        for dof in dofs {
            let mut value = x[dof - first] * self.tree_diagonal_inverse[dof];
            for (&ancestor, &entry) in row(dof) {
                value -= x[ancestor - first] * entry;
            }
            x[dof - first] = value;
        }
    }
}

/// The blocks and their columns.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) columns: &'a [usize],
}

impl Rows<'_> {
    /// Whether the columns of each of these blocks are an unbroken stretch of the way to the root.
    fn are_chains(&self, structure: &Structure, blocks: &[usize]) -> bool {
        let mut last = usize::MAX;
        blocks.iter().all(|&block| {
            let block = &self.blocks[block];
            if block.column == last {
                return true;
            }
            last = block.column;
            let columns = &self.columns[block.columns()];
            columns
                .windows(2)
                .all(|pair| structure.dofs.parent[pair[1]] == Some(pair[0]))
        })
    }
}

/// Adds a lower triangle over an unbroken chain of dofs to the layout of M, where it stands in contiguous parts of rows.
fn add_tree(sparsity: &TreeSparsity, matrix: &mut [f64], columns: &[usize], sums: &[f64]) {
    let skipped = sparsity.ancestor_count(columns[0]);
    for (i, &dof) in columns.iter().enumerate() {
        let row = &mut matrix[sparsity.row_start[dof] + skipped..][..=i];
        for (entry, &sum) in row.iter_mut().zip(&sums[i * columns.len()..]) {
            *entry += sum;
        }
    }
}

/// Cuts increasing columns where the tree changes; each run comes with its start.
fn runs<'a>(
    columns: &'a [usize],
    trees: &'a [usize],
) -> impl Iterator<Item = (&'a [usize], usize)> + 'a {
    let mut start = 0;
    std::iter::from_fn(move || {
        let tree = trees[*columns.get(start)?];
        let rest = &columns[start..];
        let length = rest.iter().take_while(|&&dof| trees[dof] == tree).count();
        let run = (&rest[..length], start);
        start += length;
        Some(run)
    })
}

/// Calls `visit` with the columns and the lower triangle of the sum of Jᵀ·K·J for every group of blocks that share their
/// columns.
fn for_each_group(
    island: &Island,
    residual: &[f64],
    phase: &[Phase],
    sums: &mut Vec<f64>,
    mut visit: impl FnMut(&[usize], &[f64]),
) {
    let mut curvature: Curvature = [[0.0; MAX_ROWS]; MAX_ROWS];
    let mut group: Option<&Block> = None;
    for (index, block) in island.blocks() {
        let law = island.law(block);
        if !law.curvature(phase[index], &residual[block.rows()], &mut curvature) {
            continue;
        }
        if group.is_none_or(|group| group.column != block.column) {
            if let Some(group) = group {
                visit(&island.problem.columns[group.columns()], sums);
            }
            sums.clear();
            sums.resize(block.column_count * block.column_count, 0.0);
            group = Some(block);
        }
        let jacobian = &island.problem.jacobian[block.values()];
        add_block(block, jacobian, &curvature, sums);
    }
    if let Some(group) = group {
        visit(&island.problem.columns[group.columns()], sums);
    }
}

/// Adds Jᵀ·K·J of a block to a lower triangle.
#[inline]
fn add_block(block: &Block, jacobian: &[f64], curvature: &Curvature, sums: &mut [f64]) {
    let columns = block.column_count;
    match block.row_count {
        1 => add_products::<1>(jacobian, columns, curvature, sums),
        3 => add_products::<3>(jacobian, columns, curvature, sums),
        4 => add_products::<4>(jacobian, columns, curvature, sums),
        _ => add_products::<6>(jacobian, columns, curvature, sums),
    }
}

#[inline]
fn add_products<const R: usize>(
    jacobian: &[f64],
    columns: usize,
    curvature: &Curvature,
    sums: &mut [f64],
) {
    let rows: [&[f64]; R] = std::array::from_fn(|row| &jacobian[row * columns..][..columns]);
    let factors = |column: usize| -> [f64; R] {
        std::array::from_fn(|row| {
            let products = (0..R).map(|other| curvature[row][other] * rows[other][column]);
            products.sum()
        })
    };
    // Two rows of the sum at a time, so that each entry of the Jacobian is loaded once for both. What falls beyond the
    // diagonal is not read.
    let mut pairs = sums.chunks_exact_mut(2 * columns);
    for (pair, targets) in pairs.by_ref().enumerate() {
        let i = 2 * pair;
        let factors = [factors(i), factors(i + 1)];
        let (first, second) = targets.split_at_mut(columns);
        let (first, second) = (&mut first[..i + 2], &mut second[..i + 2]);
        let rows = rows.map(|row| &row[..i + 2]);
        for j in 0..i + 2 {
            for row in 0..R {
                first[j] += factors[0][row] * rows[row][j];
                second[j] += factors[1][row] * rows[row][j];
            }
        }
    }
    let last = pairs.into_remainder();
    if !last.is_empty() {
        let factors = factors(columns - 1);
        for (j, target) in last.iter_mut().enumerate() {
            for row in 0..R {
                *target += factors[row] * rows[row][j];
            }
        }
    }
}

fn add_dense_inertia(island: &Island, matrix: &mut [f64]) {
    let (sparsity, local) = (&island.problem.structure.inertia, island.islands.local());
    let size = island.size();
    for dof in island.dofs().flatten() {
        let range = sparsity.row_range(dof);
        let row = &mut matrix[local[dof] * size..][..size];
        let entries = sparsity.columns[range.clone()]
            .iter()
            .zip(&island.problem.inertia[range]);
        for (&column, &entry) in entries {
            row[local[column]] = entry;
        }
    }
}

fn add_dense(matrix: &mut [f64], size: usize, local: &[usize], columns: &[usize], sums: &[f64]) {
    for (i, &dof) in columns.iter().enumerate() {
        let row = &mut matrix[local[dof] * size..][..size];
        let sums = &sums[i * columns.len()..];
        for (&column, &sum) in columns[..=i].iter().zip(sums) {
            row[local[column]] += sum;
        }
    }
}

fn add_sparse_inertia(island: &Island, node: &[usize], matrix: &mut BlockCholesky) {
    let structure = island.problem.structure;
    for &tree in island.islands.trees(island.index) {
        let Some(place) = matrix.place_of(node[tree], node[tree]) else {
            continue;
        };
        let dofs = structure.tree_dofs[tree].clone();
        for dof in dofs.clone() {
            let range = structure.inertia.row_range(dof);
            let entries = structure.inertia.columns[range.clone()]
                .iter()
                .zip(&island.problem.inertia[range]);
            for (&column, &entry) in entries {
                let row = place.start + (column - dofs.start) * place.stride;
                matrix.values_mut()[row + dof - dofs.start] = entry;
            }
        }
    }
}

fn add_sparse(
    island: &Island,
    node: &[usize],
    matrix: &mut BlockCholesky,
    columns: &[usize],
    sums: &[f64],
) {
    let structure = island.problem.structure;
    let trees = &structure.dofs.tree;
    for (run, start) in runs(columns, trees) {
        let tree = trees[run[0]];
        let first = structure.tree_dofs[tree].start;
        for (other, other_start) in runs(&columns[..start + run.len()], trees) {
            let other_tree = trees[other[0]];
            let other_first = structure.tree_dofs[other_tree].start;
            // The row of the earlier column holds the entry of a diagonal block.
            let Some(place) = matrix.place_of(node[other_tree], node[tree]) else {
                continue;
            };
            let values = matrix.values_mut();
            let (row_step, column_step) = if place.transposed {
                (1, place.stride)
            } else {
                (place.stride, 1)
            };
            for (i, &dof) in run.iter().enumerate() {
                let sums = &sums[(start + i) * columns.len()..][..=start + i];
                let column = place.start + (dof - first) * column_step;
                for (&row, &sum) in other.iter().zip(&sums[other_start..]) {
                    values[column + (row - other_first) * row_step] += sum;
                }
            }
        }
    }
}

/// Whether the curvature of a block changes with the residual, and not only with the phase.
pub(super) fn is_curved(kind: BlockKind, phase: Phase) -> bool {
    kind == BlockKind::EllipticContact && phase == Phase::CONE
}
