//! Constraint rows: what the constrained acceleration should be, and how firmly.
//!
//! Reads the position and velocity stages and the contacts; writes [`Constraint`]. Rows come in blocks, in MuJoCo's
//! order: equalities, dry friction of dofs and tendons, limits of joints and tendons, contacts. With r the position of
//! a row (distance, violation), margin m, Jacobian J and diagonal A ≈ J·M⁻¹·Jᵀ:
//!
//!   d = impedance(|r − m|),  R = (1 − d)/d·A,  D = 1/R                                  (1)
//!   â = −b·J·v − k·d·(r − m) − J̇·v                                                 (2)
//!
//! with stiffness k and damping b from the time constant and damping ratio; J̇·v enters for connect and weld only. The
//! solver then minimises over accelerations a a sum of convex functions of J·a − â, weighted by D; see
//! [`solve`](super::solve).
//!
//! A contact has one row per direction of its frame (normal, two tangents, spin, two rolls) whatever its cone. The edges
//! of a pyramid, MuJoCo's rows, are n ± μ·t of these, with one common D; [`edge_rows`] lists them. This keeps the blocks
//! small and gives all cones one shape: cost, force and curvature of a block depend on its few rows only.

mod backward;
mod contact_rows;
mod dry_friction;
mod edge_rows;
mod equality;
mod equality_backward;
mod forward;
mod horizon;
mod impedance;
mod limit;
mod pair;
mod piece;
mod single;
#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

pub use backward::{ConstraintBar, ImpedanceBar, RowBar, backward};
pub use edge_rows::{EdgeRow, edge_rows};
pub(crate) use equality::{
    Anchor, End, Errors, PointWrench, anchors as equality_anchors,
    polynomial as equality_polynomial, wrenches as equality_wrenches,
};
pub(crate) use equality_backward::{
    polynomial_vjp as equality_polynomial_vjp, wrenches_vjp as equality_wrenches_vjp,
};
pub use forward::{Sources, forward};
pub use impedance::{Impedance, Piece, Reference, impedance_curve};
pub(crate) use piece::reference_of;
pub(crate) use single::{Held, held};

use crate::scalar::Scalar;
use crate::terms::length;

/// What a block of rows expresses; in MuJoCo's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockKind {
    /// An equality constraint.
    Equality,
    /// Dry friction of a dof.
    DofFriction,
    /// Dry friction of a tendon.
    TendonFriction,
    /// A joint limit.
    JointLimit,
    /// A tendon limit.
    TendonLimit,
    /// A contact without friction.
    FrictionlessContact,
    /// A contact with a friction pyramid.
    PyramidalContact,
    /// A contact with an elliptic friction cone.
    EllipticContact,
}

/// Rows that belong together: one equality, limit or contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// What the block expresses.
    pub kind: BlockKind,
    /// Equality, dof, tendon, joint or contact.
    pub object: usize,
    /// First row.
    pub row: usize,
    /// Number of rows.
    pub row_count: usize,
    /// Where the block's columns start in [`Constraint::columns`].
    pub column: usize,
    /// Number of columns.
    pub column_count: usize,
    /// Where the block's values start in [`Constraint::jacobian`].
    pub value: usize,
}

impl Block {
    /// The rows.
    #[inline]
    pub fn rows(&self) -> Range<usize> {
        self.row..self.row + self.row_count
    }

    /// Where the columns are.
    #[inline]
    pub fn columns(&self) -> Range<usize> {
        self.column..self.column + self.column_count
    }

    /// Where the values are.
    #[inline]
    pub fn values(&self) -> Range<usize> {
        self.value..self.value + self.row_count * self.column_count
    }
}

/// The numbers of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row<T: Scalar = f64> {
    /// Distance or violation (m or rad).
    pub position: T,
    /// Distance below which the row acts (m or rad).
    pub margin: T,
    /// J·v.
    pub velocity: T,
    /// Acceleration the row asks for. (2)
    pub reference_acceleration: T,
    /// Approximate inverse inertia along the row, such that R = (1 − d)/d·A.
    pub diagonal: T,
    /// R of (1); for a pyramid the one of its edges.
    pub regularization: T,
    /// D = 1/R.
    pub weight: T,
    /// Stiffness, damping and impedance.
    pub impedance: Impedance<T>,
    /// Friction loss of a dry-friction row. In a contact: the coefficient of the direction, and in the first row μ of
    /// the regularised cone.
    pub friction: T,
}

/// Results of the constraint stage. The lists keep their capacity from step to step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraint<T: Scalar = f64> {
    /// Blocks of rows.
    pub blocks: Vec<Block>,
    /// Dofs of all blocks, increasing within a block; blocks of one pair of bodies share them.
    pub columns: Vec<usize>,
    /// Jacobians of all blocks, each dense over its columns and row by row.
    pub jacobian: Vec<T>,
    /// Rows.
    pub rows: Vec<Row<T>>,
    /// Index of the first contact block.
    pub first_contact: usize,
    /// A dense vector, nv, zero between uses.
    scratch: Vec<T>,
}

impl<T: Scalar> Constraint<T> {
    /// The columns of a block.
    #[inline]
    pub fn block_columns(&self, block: &Block) -> &[usize] {
        &self.columns[block.columns()]
    }

    /// The Jacobian of a block, row by row.
    #[inline]
    pub fn block_jacobian(&self, block: &Block) -> &[T] {
        &self.jacobian[block.values()]
    }

    /// sum += Jᵀ·y.
    pub(crate) fn push(&self, y: &[T], sum: &mut [T]) {
        for block in &self.blocks {
            for (row, &y) in y[block.rows()].iter().enumerate() {
                self.jacobian_row(block, row).push(y, sum);
            }
        }
    }

    /// One row of a block's Jacobian.
    #[inline]
    pub(crate) fn jacobian_row(&self, block: &Block, row: usize) -> length::Row<'_, T> {
        let columns = self.block_columns(block);
        let start = block.value + row * columns.len();
        length::Row {
            columns,
            values: &self.jacobian[start..start + columns.len()],
        }
    }

    /// The rows of a block.
    #[inline]
    pub fn block_rows(&self, block: &Block) -> &[Row<T>] {
        &self.rows[block.rows()]
    }

    /// The blocks of contacts; their `object` is the contact.
    #[inline]
    pub fn contact_blocks(&self) -> &[Block] {
        &self.blocks[self.first_contact..]
    }

    /// The same rows over another scalar, each number that the solver reads combined with its change.
    #[cfg(test)]
    pub(crate) fn along<U: Scalar>(
        &self,
        change: &ConstraintBar,
        combine: impl Fn(T, f64) -> U,
    ) -> Constraint<U> {
        let jacobian = self.jacobian.iter().zip(&change.jacobian);
        let rows = self.rows.iter().zip(&change.rows);
        Constraint {
            blocks: self.blocks.clone(),
            columns: self.columns.clone(),
            jacobian: jacobian
                .map(|(&entry, &change)| combine(entry, change))
                .collect(),
            rows: rows
                .map(|(row, change)| Row {
                    weight: combine(row.weight, change.weight),
                    friction: combine(row.friction, change.friction),
                    reference_acceleration: combine(
                        row.reference_acceleration,
                        change.reference_acceleration,
                    ),
                    position: combine(row.position, change.position + change.distance),
                    margin: combine(row.margin, 0.0),
                    velocity: combine(row.velocity, change.velocity),
                    ..Row::default()
                })
                .collect(),
            first_contact: self.first_contact,
            scratch: Vec::new(),
        }
    }

    /// Forgets all rows.
    fn clear(&mut self) {
        self.blocks.clear();
        self.columns.clear();
        self.jacobian.clear();
        self.rows.clear();
        self.first_contact = 0;
    }

    /// Opens a block over `columns`, with a zero Jacobian and rows still to be pushed.
    fn open(
        &mut self,
        kind: BlockKind,
        object: usize,
        columns: Range<usize>,
        row_count: usize,
    ) -> Block {
        let value = self.jacobian.len();
        self.jacobian
            .resize(value + row_count * columns.len(), T::ZERO);
        let block = Block {
            kind,
            object,
            row: self.rows.len(),
            row_count,
            column: columns.start,
            column_count: columns.len(),
            value,
        };
        self.blocks.push(block);
        block
    }

    /// Keeps the blocks for which `keep` says so; the others lose their rows.
    pub(crate) fn retain_blocks(&mut self, mut keep: impl FnMut(&Self, &Block) -> bool) {
        let mut index = 0;
        while let Some(&block) = self.blocks.get(index) {
            if keep(self, &block) {
                index += 1;
                continue;
            }
            self.blocks.remove(index);
            self.rows.drain(block.rows());
            self.jacobian.drain(block.values());
            for later in &mut self.blocks[index..] {
                later.row -= block.row_count;
                later.value -= block.row_count * block.column_count;
            }
            self.first_contact -= usize::from(index < self.first_contact);
        }
    }

    /// Takes the last block back; its rows must not have been pushed yet.
    fn discard_last_block(&mut self) {
        if let Some(block) = self.blocks.pop() {
            self.jacobian.truncate(block.value);
        }
    }
}
