//! H = M + Jᵀ·K·J of each island, and its factor.
//!
//! Constraints that act along one way to the root, such as contacts with the ground and limits, leave H the sparsity of
//! M: a single tree with only such blocks is factorised like M, without fill. Other small islands are dense, larger ones
//! sparse with a node per kinematic tree. The factor stays for the backward pass, which solves with H at the solution.

use std::ops::Range;

use super::groups::Groups;
use super::island::Islands;
use super::law::Phase;
use super::problem::Island;
use crate::linalg::{
    BlockCholesky, BlockPlace, PivotError, TreeSparsity, cholesky, many, tree_ldl,
};
use crate::model::Structure;
use crate::scalar::Scalar;
use crate::stages::constraint::Block;

/// Islands of more dofs than six free bodies are factorised sparsely.
const MAX_DENSE_DOFS: usize = 36;

/// Number of dofs of a free body.
const FREE_DOFS: usize = 6;

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
    groups: Groups,
    /// Where the blocks of the sums go, for each sparse factor.
    pieces: Vec<Vec<Piece>>,
}

/// A block of a group's sum, and its place in the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    /// The group, counted within the island.
    group: usize,
    /// Where the columns of its rows and of its columns stand among those of the group, and how many there are.
    rows: [usize; 2],
    columns: [usize; 2],
    place: BlockPlace,
    /// Whether both sides are free bodies.
    is_free: bool,
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
        self.groups.clear(islands.count(), problem.blocks.len());
        self.sparse_count = 0;
        self.node.resize(structure.tree_dofs.len(), 0);
        let mut start = 0;
        for island in 0..islands.count() {
            let (size, trees) = (islands.size(island), islands.trees(island));
            if trees.len() == 1 && size > 1 && problem.are_chains(structure, islands.blocks(island))
            {
                self.factors.push(Factor::Tree);
            } else if size <= MAX_DENSE_DOFS || trees.len() == 1 {
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
            self.pieces.resize_with(self.sparse_count, Vec::new);
        }
    }

    /// Finds the groups of an island, and the pattern of its matrix.
    fn analyze(&mut self, island: &Island) {
        self.groups.find(island);
        let Factor::Sparse(index) = self.factors[island.index] else {
            return;
        };
        let (problem, structure) = (island.problem, island.problem.structure);
        let trees = &structure.dofs.tree;
        self.edges.clear();
        // Trees that a group couples fill each other's blocks.
        for group in self.groups.of(island.index) {
            let columns = &problem.columns[group.columns.clone()];
            for (run, start) in runs(columns, trees) {
                for (other, _) in runs(&columns[start + run.len()..], trees) {
                    let nodes = [run[0], other[0]].map(|dof| self.node[trees[dof]]);
                    self.edges
                        .push(nodes.map(|node| u32::try_from(node).unwrap_or(u32::MAX)));
                }
            }
        }
        // Order and pattern of the factor.
        let sizes = island.dofs().map(|dofs| dofs.len());
        let matrix = &mut self.sparse[index];
        matrix.analyze(sizes, &mut self.edges);
        matrix.invalidate();
        // Where every block of a group's sum goes, so that filling takes no search.
        let pieces = &mut self.pieces[index];
        pieces.clear();
        for (group, found) in self.groups.of(island.index).iter().enumerate() {
            let columns = &problem.columns[found.columns.clone()];
            for (run, start) in runs(columns, trees) {
                for (other, other_start) in runs(&columns[..start + run.len()], trees) {
                    let nodes = [other[0], run[0]].map(|dof| self.node[trees[dof]]);
                    // The row of the earlier column holds the entry of a diagonal block.
                    let Some(place) = matrix.place_of(nodes[0], nodes[1]) else {
                        continue;
                    };
                    pieces.push(Piece {
                        group,
                        rows: [start, run.len()],
                        columns: [other_start, other.len()],
                        place,
                        is_free: is_free(structure, run) && is_free(structure, other),
                    });
                }
            }
        }
    }

    /// Computes H at the given phases and residuals, and factorises it. What the last call for the same island has
    /// computed is used again where it still holds; see [`Self::invalidate`].
    pub(super) fn factor(
        &mut self,
        island: &Island,
        residual: &[f64],
        phase: &[Phase],
    ) -> Result<(), PivotError> {
        if !self.groups.are_found(island.index) {
            self.analyze(island);
        }
        let Self {
            dense,
            tree,
            tree_diagonal_inverse,
            factors,
            sparse,
            node,
            groups,
            pieces,
            ..
        } = self;
        let (size, all_columns) = (island.size(), island.problem.columns);
        let sparsity = &island.problem.structure.inertia;
        match factors[island.index] {
            Factor::Tree => {
                let dofs = island.dofs().next().unwrap_or_default();
                let entries = sparsity.row_start[dofs.start]..sparsity.row_start[dofs.end];
                tree[entries.clone()].copy_from_slice(&island.problem.inertia[entries]);
                groups.update(island, residual, phase, |_| ());
                for (columns, sums) in groups.sums(island.index) {
                    add_tree(sparsity, tree, &all_columns[columns], sums);
                }
                tree_ldl::factor_trees(sparsity, dofs, tree, tree_diagonal_inverse)
            }
            Factor::Dense(start) => {
                let matrix = &mut dense[start..start + size * size];
                matrix.fill(0.0);
                add_dense_inertia(island, matrix);
                let local = island.islands.local();
                groups.update(island, residual, phase, |_| ());
                for (columns, sums) in groups.sums(island.index) {
                    add_dense(matrix, size, local, &all_columns[columns], sums);
                }
                cholesky::factor(matrix, size)
            }
            Factor::Sparse(index) => {
                let (matrix, trees) = (&mut sparse[index], &island.problem.structure.dofs.tree);
                // Nodes whose sums change are factorised anew, and so are those that depend on them.
                groups.update(island, residual, phase, |columns| {
                    for (run, _) in runs(columns, trees) {
                        matrix.invalidate_node(node[trees[run[0]]]);
                    }
                });
                matrix.clear();
                add_sparse_inertia(island, node, matrix);
                add_sparse(island, groups, &pieces[index], matrix);
                matrix.factor()
            }
        }
    }

    /// Says that the numbers of an island may not be those of the last factorisation.
    pub(super) fn invalidate(&mut self, island: usize) {
        self.groups.invalidate(island);
        if let Factor::Sparse(index) = self.factors[island] {
            self.sparse[index].invalidate();
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
    /// X ← H⁻¹·X for many right-hand sides over the dofs of an island, stored row by row, `width` numbers each.
    ///
    /// `room` is a work area.
    pub(crate) fn solve_many(
        &self,
        structure: &Structure,
        islands: &Islands,
        (island, width): (usize, usize),
        room: &mut Vec<f64>,
        x: &mut [f64],
    ) {
        let size = islands.size(island);
        match self.factors[island] {
            Factor::Tree => {
                let dofs = islands.dof_ranges(structure, island).next();
                let (sparsity, inverse) = (&structure.inertia, &self.tree_diagonal_inverse);
                many::solve_trees(
                    sparsity,
                    &self.tree,
                    inverse,
                    dofs.unwrap_or_default(),
                    width,
                    x,
                );
            }
            Factor::Dense(start) => {
                many::solve_dense(&self.dense[start..start + size * size], size, width, x);
            }
            Factor::Sparse(index) => self.sparse[index].solve_many(width, room, x),
        }
    }

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

/// Writes M to the rows that are filled anew.
fn add_sparse_inertia(island: &Island, node: &[usize], matrix: &mut BlockCholesky) {
    let structure = island.problem.structure;
    for &tree in island.islands.trees(island.index) {
        let place = matrix.place_of(node[tree], node[tree]);
        let Some(place) = place.filter(|place| matrix.is_stale(place)) else {
            continue;
        };
        let dofs = structure.tree_dofs[tree].clone();
        let values = matrix.values_mut();
        for dof in dofs.clone() {
            let range = structure.inertia.row_range(dof);
            let entries = structure.inertia.columns[range.clone()]
                .iter()
                .zip(&island.problem.inertia[range]);
            for (&column, &entry) in entries {
                let row = place.start + (column - dofs.start) * place.stride;
                values[row + dof - dofs.start] = entry;
            }
        }
    }
}

/// Adds the sums of all groups to the rows that are filled anew.
fn add_sparse(island: &Island, groups: &Groups, pieces: &[Piece], matrix: &mut BlockCholesky) {
    let found = groups.of(island.index);
    for piece in pieces {
        let group = &found[piece.group];
        if !group.is_active() || !matrix.is_stale(&piece.place) {
            continue;
        }
        let columns = &island.problem.columns[group.columns.clone()];
        let (sum, values) = (groups.sum(group), matrix.values_mut());
        if piece.is_free {
            piece.add_free(columns.len(), sum, values);
        } else {
            piece.add(island.problem.structure, columns, sum, values);
        }
    }
}

/// Whether columns are all the dofs of a tree that has as many as a free body.
fn is_free(structure: &Structure, run: &[usize]) -> bool {
    run.len() == FREE_DOFS && structure.tree_dofs[structure.dofs.tree[run[0]]].len() == FREE_DOFS
}

impl Piece {
    /// Adds a block between two free bodies, or of one with itself.
    fn add_free(&self, width: usize, sum: &[f64], values: &mut [f64]) {
        let ([first, _], [from, _]) = (self.rows, self.columns);
        let BlockPlace { start, stride, .. } = self.place;
        let sum = &sum[first * width + from..];
        for i in 0..FREE_DOFS {
            let target = &mut values[start + i * stride..][..FREE_DOFS];
            if self.place.transposed {
                for (target, &sum) in target.iter_mut().zip(&sum[i * width..][..FREE_DOFS]) {
                    *target += sum;
                }
            } else {
                // What this adds beyond the triangle of a diagonal block does not matter.
                let column = &sum[i..][..=(FREE_DOFS - 1) * width];
                for j in 0..FREE_DOFS {
                    target[j] += column[j * width];
                }
            }
        }
    }

    /// Adds a block of any dofs of its trees.
    fn add(&self, structure: &Structure, columns: &[usize], sum: &[f64], values: &mut [f64]) {
        let within = |dof: usize| dof - structure.tree_dofs[structure.dofs.tree[dof]].start;
        let ([first, count], [from, length]) = (self.rows, self.columns);
        let (row_step, column_step) = if self.place.transposed {
            (1, self.place.stride)
        } else {
            (self.place.stride, 1)
        };
        for i in first..first + count {
            let row = &sum[i * columns.len()..][..=i];
            let column = self.place.start + within(columns[i]) * column_step;
            for (&dof, &sum) in columns[from..from + length].iter().zip(&row[from..]) {
                values[column + within(dof) * row_step] += sum;
            }
        }
    }
}
