//! Jᵀ·K·J summed over the blocks that share their columns.
//!
//! The contacts of a pair of bodies share their columns, so their products are added up in one small matrix before they
//! go to H. From one iteration to the next few blocks change their phase, and only then, or on the surface of an
//! elliptic cone, does K change: the sums of all other groups are kept.

use std::ops::Range;

use super::law::{Curvature, MAX_ROWS, Phase};
use super::problem::Island;
use crate::stages::constraint::{Block, BlockKind};

/// Consecutive blocks of an island that share their columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Where the columns are in the constraint's list.
    pub(super) columns: Range<usize>,
    /// Where the blocks are in the island's list.
    blocks: Range<usize>,
    /// Where the sum starts.
    sum: usize,
    /// Whether the sum belongs to the recorded phases.
    is_current: bool,
    /// Whether the sum may differ from zero.
    is_active: bool,
}

impl Group {
    /// Whether the sum may differ from zero.
    pub(super) fn is_active(&self) -> bool {
        self.is_active
    }
}

/// The groups of all islands that have been looked at, and their sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Groups {
    all: Vec<Group>,
    /// Where the groups of each island are; empty until they are found.
    of_island: Vec<Range<usize>>,
    /// Square matrices, of which the lower triangle counts.
    sums: Vec<f64>,
    /// The phase of each block when its group was last summed.
    phase: Vec<Phase>,
}

impl Groups {
    /// Forgets all groups, and makes room for so many islands and blocks.
    pub(super) fn clear(&mut self, islands: usize, blocks: usize) {
        self.all.clear();
        self.sums.clear();
        self.of_island.clear();
        self.of_island.resize(islands, 0..0);
        self.phase.resize(blocks, Phase::OFF);
    }

    /// Whether the groups of an island have been found.
    pub(super) fn are_found(&self, island: usize) -> bool {
        !self.of_island[island].is_empty()
    }

    /// Finds the groups of an island.
    pub(super) fn find(&mut self, island: &Island) {
        let first = self.all.len();
        let mut sum = self.sums.len();
        for (position, (_, block)) in island.blocks().enumerate() {
            match self.all[first..].last_mut() {
                Some(group) if group.columns.start == block.column => {
                    group.blocks.end = position + 1;
                }
                _ => {
                    self.all.push(Group {
                        columns: block.columns(),
                        blocks: position..position + 1,
                        sum,
                        is_current: false,
                        is_active: false,
                    });
                    sum += block.column_count * block.column_count;
                }
            }
        }
        self.sums.resize(sum, 0.0);
        self.of_island[island.index] = first..self.all.len();
    }

    /// The groups of an island.
    pub(super) fn of(&self, island: usize) -> &[Group] {
        &self.all[self.of_island[island].clone()]
    }

    /// The columns and sums of an island's groups, without those that are zero.
    pub(super) fn sums(&self, island: usize) -> impl Iterator<Item = (Range<usize>, &[f64])> {
        let active = self.of(island).iter().filter(|group| group.is_active);
        active.map(|group| (group.columns.clone(), self.sum(group)))
    }

    /// The sum of a group.
    pub(super) fn sum(&self, group: &Group) -> &[f64] {
        let columns = group.columns.len();
        &self.sums[group.sum..group.sum + columns * columns]
    }

    /// Says that the numbers of an island may have changed.
    pub(super) fn invalidate(&mut self, island: usize) {
        for group in &mut self.all[self.of_island[island].clone()] {
            group.is_current = false;
        }
    }

    /// Computes the sums whose blocks have a new curvature; calls `visit` with the columns of each of these groups.
    pub(super) fn update(
        &mut self,
        island: &Island,
        residual: &[f64],
        phase: &[Phase],
        mut visit: impl FnMut(&[usize]),
    ) {
        let blocks = island.islands.blocks(island.index);
        for index in self.of_island[island.index].clone() {
            let group = &self.all[index];
            let blocks = &blocks[group.blocks.clone()];
            // K is constant on a phase, except on the surface of an elliptic cone.
            let is_same = |&block: &usize| {
                phase[block] == self.phase[block]
                    && !is_curved(island.problem.blocks[block].kind, phase[block])
            };
            if !group.is_current || !blocks.iter().all(is_same) {
                visit(&island.problem.columns[group.columns.clone()]);
                self.add_up(index, island, blocks, residual, phase);
            }
        }
    }

    /// Sums Jᵀ·K·J over the blocks of a group.
    fn add_up(
        &mut self,
        index: usize,
        island: &Island,
        blocks: &[usize],
        residual: &[f64],
        phase: &[Phase],
    ) {
        let group = &mut self.all[index];
        let columns = group.columns.len();
        let sums = &mut self.sums[group.sum..group.sum + columns * columns];
        let mut curvature: Curvature = [[0.0; MAX_ROWS]; MAX_ROWS];
        group.is_current = true;
        group.is_active = false;
        for &index in blocks {
            self.phase[index] = phase[index];
            let block = &island.problem.blocks[index];
            let law = island.law(block);
            if !law.curvature(phase[index], &residual[block.rows()], &mut curvature) {
                continue;
            }
            // The sum is cleared by the first block that pushes; groups without one are skipped.
            if !group.is_active {
                group.is_active = true;
                sums.fill(0.0);
            }
            let jacobian = &island.problem.jacobian[block.values()];
            add_block(block, jacobian, &curvature, sums);
        }
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

/// Whether the curvature of a block changes with the residual, and not only with the phase.
pub(super) fn is_curved(kind: BlockKind, phase: Phase) -> bool {
    kind == BlockKind::EllipticContact && phase == Phase::CONE
}
