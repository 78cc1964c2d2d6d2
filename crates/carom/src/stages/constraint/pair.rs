//! Jacobians of the relative motion of two bodies.
//!
//! Along a direction n the relative velocity of two points is Σ ±n·(v(i) + ω(i) × (p − o))·q̇(i), that of two rotations
//! Σ ±n·ω(i)·q̇(i), with the motion axes (ω, v) about the centre of mass o of the body's tree. The dofs on the way to
//! the root are increasing, and those of two bodies agree up to where their branches part.

use std::ops::Range;

use super::Constraint;
use crate::jacobian;
use crate::math::Vec3;
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
    let mut add = |dof: usize, column: usize| {
        let axis = kinematics.dof_axis[dof];
        let velocity = jacobian::point_velocity(axis, offset).scale(sign);
        let (linear, angular) = values.split_at_mut(directions.linear.len() * columns.count);
        for (row, &direction) in directions.linear.iter().enumerate() {
            linear[row * columns.count + column] += direction.dot(velocity);
        }
        for (row, &direction) in directions.angular.iter().enumerate() {
            angular[row * columns.count + column] += direction.dot(axis.angular()) * sign;
        }
    };
    if columns.with_common {
        for (column, &dof) in dofs[..columns.common].iter().enumerate() {
            add(dof, column);
        }
    }
    for (column, &dof) in dofs[columns.common..].iter().enumerate() {
        add(dof, columns.own[side] + column);
    }
}
