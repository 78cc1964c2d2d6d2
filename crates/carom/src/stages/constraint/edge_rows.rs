//! The rows as MuJoCo lists them: pyramids by their edges.

use super::{Block, BlockKind, Constraint, Row};
use crate::scalar::Scalar;

/// A row of MuJoCo's list, as a combination of the rows of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeRow<T: Scalar = f64> {
    /// Index of the block.
    pub block: usize,
    /// A row of the block.
    pub row: usize,
    /// Another row, with its factor.
    pub tangent: Option<(usize, T)>,
}

impl<T: Scalar> EdgeRow<T> {
    /// The combination of numbers given per row.
    pub fn combine(&self, number: impl Fn(usize) -> T) -> T {
        let first = number(self.row);
        match self.tangent {
            Some((row, factor)) => first + number(row) * factor,
            None => first,
        }
    }

    /// The row's numbers.
    pub fn numbers(&self, constraint: &Constraint<T>) -> Row<T> {
        Row {
            velocity: self.combine(|row| constraint.rows[row].velocity),
            reference_acceleration: self.combine(|row| constraint.rows[row].reference_acceleration),
            ..constraint.rows[self.row]
        }
    }

    /// Writes the row's Jacobian, nv numbers.
    pub fn jacobian(&self, constraint: &Constraint<T>, dense: &mut [T]) {
        dense.fill(T::ZERO);
        let block = &constraint.blocks[self.block];
        let columns = constraint.block_columns(block);
        let mut add = |row: usize, factor: T| {
            let start = block.value + (row - block.row) * columns.len();
            for (&dof, &value) in columns.iter().zip(&constraint.jacobian[start..]) {
                dense[dof] += value * factor;
            }
        };
        add(self.row, T::ONE);
        if let Some((row, factor)) = self.tangent {
            add(row, factor);
        }
    }
}

/// MuJoCo's rows in their order: the rows of the blocks, and for a pyramid its edges n + μ·t, n − μ·t.
pub fn edge_rows<T: Scalar>(constraint: &Constraint<T>) -> Vec<EdgeRow<T>> {
    let mut edges = Vec::new();
    for (index, block) in constraint.blocks.iter().enumerate() {
        push_block(constraint, index, block, &mut edges);
    }
    edges
}

fn push_block<T: Scalar>(
    constraint: &Constraint<T>,
    index: usize,
    block: &Block,
    edges: &mut Vec<EdgeRow<T>>,
) {
    let edge = |row, tangent| EdgeRow {
        block: index,
        row,
        tangent,
    };
    if block.kind == BlockKind::PyramidalContact {
        let normal = block.row;
        for row in normal + 1..block.rows().end {
            let friction = constraint.rows[row].friction;
            edges.push(edge(normal, Some((row, friction))));
            edges.push(edge(normal, Some((row, -friction))));
        }
    } else {
        edges.extend(block.rows().map(|row| edge(row, None)));
    }
}
