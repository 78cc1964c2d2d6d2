//! Jacobians of the relative motion of two bodies.
//!
//! Along a direction n the relative velocity of two points, or of two bodies' rotations, is Σ ±s(i)·w·q̇(i), with s the
//! motion axes and w = ((p − o) × n, n) or (n, 0) about the centre of mass o of the body's tree. The dofs on the way to
//! the root are increasing, and those of two bodies agree up to where their branches part.

use std::ops::Range;

use super::Constraint;
use crate::jacobian;
use crate::math::{Spatial, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// The columns of two bodies: those of both first, then those of one body, then those of the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairColumns {
    start: usize,
    count: usize,
    /// How many leading dofs the bodies have in common.
    common: usize,
    /// Where each body's own columns start.
    own: [usize; 2],
    /// Whether the common dofs have columns.
    with_common: bool,
}

impl PairColumns {
    /// The columns in [`Constraint::columns`].
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.count
    }

    /// Whether no dof moves the bodies.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Appends the columns of two bodies. Common dofs are left out where only relative motion at one point counts.
pub(super) fn push_columns<T: Scalar>(
    model: &Model<T>,
    bodies: [usize; 2],
    with_common: bool,
    out: &mut Constraint<T>,
) -> PairColumns {
    let [first, second] = bodies.map(|body| jacobian::moving_dofs(model, body));
    let common = first
        .iter()
        .zip(second)
        .take_while(|(first, second)| first == second)
        .count();
    let start = out.columns.len();
    if with_common {
        out.columns.extend_from_slice(&first[..common]);
    }
    let (first, second) = (&first[common..], &second[common..]);
    let first_is_lower = match (first.first(), second.first()) {
        (Some(first), Some(second)) => first < second,
        _ => true,
    };
    let shared = out.columns.len() - start;
    let own = if first_is_lower {
        out.columns.extend_from_slice(first);
        out.columns.extend_from_slice(second);
        [shared, shared + first.len()]
    } else {
        out.columns.extend_from_slice(second);
        out.columns.extend_from_slice(first);
        [shared + second.len(), shared]
    };
    PairColumns {
        start,
        count: out.columns.len() - start,
        common,
        own,
        with_common,
    }
}

/// Which rows a block has: translations along directions, then rotations about directions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Directions<'a, T: Scalar> {
    pub(super) linear: &'a [Vec3<T>],
    pub(super) angular: &'a [Vec3<T>],
}

/// Adds one side of the pair to a block's Jacobian: the velocity of a point of the body, times `sign`.
pub(super) fn add_side<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    (columns, side): (&PairColumns, usize),
    (body, point, sign): (usize, Vec3<T>, f64),
    directions: Directions<T>,
    values: &mut [T],
) {
    let dofs = jacobian::moving_dofs(model, body);
    let offset = jacobian::offset(model, kinematics, body, point);
    let linear = directions.linear.iter().map(|&direction| {
        let direction = direction.scale(sign);
        Spatial::new(offset.cross(direction), direction)
    });
    let angular = directions
        .angular
        .iter()
        .map(|direction| Spatial::new(direction.scale(sign), Vec3::ZERO));
    let rows = values.chunks_exact_mut(columns.count);
    for (row, wrench) in rows.zip(linear.chain(angular)) {
        if columns.with_common {
            for (value, &dof) in row.iter_mut().zip(&dofs[..columns.common]) {
                *value += kinematics.dof_axis[dof].dot(wrench);
            }
        }
        let own = &mut row[columns.own[side]..];
        for (value, &dof) in own.iter_mut().zip(&dofs[columns.common..]) {
            *value = kinematics.dof_axis[dof].dot(wrench);
        }
    }
}
