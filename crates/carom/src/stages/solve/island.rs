//! Islands: groups of kinematic trees that constraints tie together, solved apart from each other.

use std::ops::Range;

use crate::model::Structure;
use crate::stages::constraint::Block;

/// Which trees and blocks belong together. All lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Islands {
    /// Blocks, island after island, in their order.
    blocks: Vec<usize>,
    block_start: Vec<usize>,
    /// Trees, island after island, increasing.
    trees: Vec<usize>,
    tree_start: Vec<usize>,
    /// Number of dofs of each island.
    sizes: Vec<usize>,
    /// Island of each tree; `NONE` for trees without constraints.
    of_tree: Vec<usize>,
    /// Index of each dof within its island.
    local: Vec<usize>,
    /// Union–find forest over trees, then the first tree of each block.
    parent: Vec<usize>,
    first_tree: Vec<usize>,
}

/// No island.
const NONE: usize = usize::MAX;

impl Islands {
    /// The number of islands.
    #[inline]
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// The blocks of an island.
    #[inline]
    pub fn blocks(&self, island: usize) -> &[usize] {
        &self.blocks[self.block_start[island]..self.block_start[island + 1]]
    }

    /// The trees of an island.
    #[inline]
    pub fn trees(&self, island: usize) -> &[usize] {
        &self.trees[self.tree_start[island]..self.tree_start[island + 1]]
    }

    /// The number of dofs of an island.
    #[inline]
    pub fn size(&self, island: usize) -> usize {
        self.sizes[island]
    }

    /// The island of a tree, if it has constraints.
    #[inline]
    pub fn of_tree(&self, tree: usize) -> Option<usize> {
        match self.of_tree.get(tree) {
            Some(&island) if island != NONE => Some(island),
            _ => None,
        }
    }

    /// The index of a dof within its island.
    #[inline]
    pub fn local(&self) -> &[usize] {
        &self.local
    }

    /// Groups trees by the blocks that touch them; into a single group if `together`.
    pub(super) fn find(
        &mut self,
        structure: &Structure,
        blocks: &[Block],
        columns: &[usize],
        together: bool,
    ) {
        let tree_count = structure.tree_dofs.len();
        self.parent.clear();
        self.parent.extend(0..tree_count);
        self.of_tree.clear();
        self.of_tree.resize(tree_count, NONE);
        self.first_tree.clear();
        let (mut last_columns, mut last_tree, mut anchor) = (NONE, NONE, NONE);
        for block in blocks {
            // Blocks of one pair of bodies share their columns.
            if block.column != last_columns {
                last_columns = block.column;
                last_tree = self.join(structure, &columns[block.columns()]);
                if together && anchor != NONE {
                    self.unite(anchor, last_tree);
                }
                anchor = last_tree;
            }
            self.first_tree.push(last_tree);
        }
        self.number(structure, tree_count);
        self.distribute();
    }

    /// Unites the trees of increasing columns; returns the first.
    fn join(&mut self, structure: &Structure, columns: &[usize]) -> usize {
        let mut rest = columns;
        let mut first = NONE;
        while let Some(&dof) = rest.first() {
            let tree = structure.dofs.tree[dof];
            if first == NONE {
                first = tree;
                self.of_tree[tree] = 0;
            } else {
                self.of_tree[tree] = 0;
                self.unite(first, tree);
            }
            // Columns increase: go on at the first one beyond this tree.
            let end = structure.tree_dofs[tree].end;
            if rest.last().is_some_and(|&last| last < end) {
                break;
            }
            let past = rest.partition_point(|&dof| dof < end);
            rest = &rest[past..];
        }
        first
    }

    fn root(&mut self, mut tree: usize) -> usize {
        while self.parent[tree] != tree {
            self.parent[tree] = self.parent[self.parent[tree]];
            tree = self.parent[tree];
        }
        tree
    }

    /// The smaller tree becomes the root, so that islands are numbered by their first tree.
    fn unite(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }

    /// Numbers the islands in the order of their first trees, and their dofs.
    fn number(&mut self, structure: &Structure, tree_count: usize) {
        self.sizes.clear();
        self.local.resize(structure.counts.nv, 0);
        for tree in 0..tree_count {
            if self.of_tree[tree] == NONE {
                continue;
            }
            let root = self.root(tree);
            if root == tree {
                self.of_tree[tree] = self.sizes.len();
                self.sizes.push(0);
            } else {
                self.of_tree[tree] = self.of_tree[root];
            }
            let size = &mut self.sizes[self.of_tree[tree]];
            for dof in structure.tree_dofs[tree].clone() {
                self.local[dof] = *size;
                *size += 1;
            }
        }
    }

    /// Sorts trees and blocks by island, keeping their order.
    fn distribute(&mut self) {
        let count = self.sizes.len();
        let of_tree = &self.of_tree;
        let islands = of_tree.iter().copied();
        sort_by_island(count, islands, &mut self.tree_start, &mut self.trees);
        let islands = self.first_tree.iter().map(|&tree| of_tree[tree]);
        sort_by_island(count, islands, &mut self.block_start, &mut self.blocks);
    }

    /// The dofs of an island as ranges, one a tree.
    pub fn dof_ranges<'a>(
        &'a self,
        structure: &'a Structure,
        island: usize,
    ) -> impl Iterator<Item = Range<usize>> + Clone + 'a {
        self.trees(island)
            .iter()
            .map(|&tree| structure.tree_dofs[tree].clone())
    }
}

/// Counting sort of the elements by their island; those without island are left out.
fn sort_by_island(
    count: usize,
    islands: impl Iterator<Item = usize> + Clone,
    start: &mut Vec<usize>,
    sorted: &mut Vec<usize>,
) {
    start.clear();
    start.resize(count + 1, 0);
    for island in islands.clone().filter(|&island| island != NONE) {
        start[island + 1] += 1;
    }
    for island in 0..count {
        start[island + 1] += start[island];
    }
    sorted.clear();
    sorted.resize(start[count], 0);
    for (element, island) in islands.enumerate() {
        if island != NONE {
            sorted[start[island]] = element;
            start[island] += 1;
        }
    }
    // Every start has moved to its end, the start of the next.
    start.rotate_right(1);
    start[0] = 0;
}
