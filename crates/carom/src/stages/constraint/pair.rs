//! Jacobians of the relative motion of two bodies.
//!
//! Along a direction n the relative velocity of two points is Σ ±n·(v(i) + ω(i) × (p − o))·q̇(i), that of two rotations
//! Σ ±n·ω(i)·q̇(i), with the motion axes (ω, v) about the centre of mass o of the body's tree. The dofs on the way to
//! the root are increasing, and those of two bodies agree up to where their branches part.

use std::ops::Range;

use super::backward::Pass;
use super::{Block, Constraint};
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
    let pair = layout(model, bodies, with_common, out.columns.len());
    let [first, second] = bodies.map(|body| jacobian::moving_dofs(model, body));
    if with_common {
        out.columns.extend_from_slice(&first[..pair.common]);
    }
    let (first, second) = (&first[pair.common..], &second[pair.common..]);
    let ordered = if pair.own[0] <= pair.own[1] {
        [first, second]
    } else {
        [second, first]
    };
    for dofs in ordered {
        out.columns.extend_from_slice(dofs);
    }
    pair
}

/// Where the columns of two bodies are when they begin at `start`.
pub(super) fn layout<T: Scalar>(
    model: &Model<T>,
    bodies: [usize; 2],
    with_common: bool,
    start: usize,
) -> PairColumns {
    let [first, second] = bodies.map(|body| jacobian::moving_dofs(model, body));
    let pairs = first.iter().zip(second);
    let common = pairs.take_while(|(first, second)| first == second).count();
    let (first, second) = (&first[common..], &second[common..]);
    let first_is_lower = match (first.first(), second.first()) {
        (Some(first), Some(second)) => first < second,
        _ => true,
    };
    let shared = if with_common { common } else { 0 };
    let own = if first_is_lower {
        [shared, shared + first.len()]
    } else {
        [shared + second.len(), shared]
    };
    PairColumns {
        start,
        count: shared + first.len() + second.len(),
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

/// One side of a pair: a point of a body, whose motion counts with a sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<T: Scalar = f64> {
    /// Which of the two it is: 0 or 1.
    pub(super) index: usize,
    pub(super) body: usize,
    pub(super) point: Vec3<T>,
    pub(super) sign: f64,
}

/// Adds one side of the pair to a block's Jacobian: the velocity of a point of the body, times its sign.
pub(super) fn add_side<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    columns: &PairColumns,
    side: Side<T>,
    directions: Directions<T>,
    values: &mut [T],
) {
    let Side {
        index,
        body,
        point,
        sign,
    } = side;
    let dofs = jacobian::moving_dofs(model, body);
    let motion = Motion {
        kinematics,
        offset: jacobian::offset(model, kinematics, body, point),
        sign,
    };
    let (common, own) = dofs.split_at(columns.common);
    if columns.with_common {
        motion.add(common, directions, columns.count, values);
    }
    let values = &mut values[columns.own[index]..];
    match (directions.linear, directions.angular) {
        (&[normal, first, second], []) => {
            motion.add_point(own, [normal, first, second], columns.count, values);
        }
        _ => motion.add(own, directions, columns.count, values),
    }
}

/// The motion of a body's point, times a sign.
struct Motion<'a, T: Scalar> {
    kinematics: &'a Kinematics<T>,
    offset: Vec3<T>,
    sign: f64,
}

impl<T: Scalar> Motion<'_, T> {
    /// Adds all rows for some dofs, whose columns start with `values`; rows are `stride` apart.
    fn add(&self, dofs: &[usize], directions: Directions<T>, stride: usize, values: &mut [T]) {
        let Directions { linear, angular } = directions;
        for (column, &dof) in dofs.iter().enumerate() {
            let axis = self.kinematics.dof_axis[dof];
            let velocity = jacobian::point_velocity(axis, self.offset);
            let linear = linear.iter().map(|direction| direction.dot(velocity));
            let angular = angular
                .iter()
                .map(|direction| direction.dot(axis.angular()));
            for (row, entry) in linear.chain(angular).enumerate() {
                values[row * stride + column] += entry * self.sign;
            }
        }
    }

    /// The same for the three translations of most contacts, which take the largest part of all time spent on rows.
    fn add_point(&self, dofs: &[usize], directions: [Vec3<T>; 3], stride: usize, values: &mut [T]) {
        let [normal, first, second] = directions.map(|direction| direction.scale(self.sign));
        let (row0, rest) = values.split_at_mut(stride);
        let (row1, row2) = rest.split_at_mut(stride);
        let rows = row0.iter_mut().zip(row1).zip(row2);
        for (&dof, ((value0, value1), value2)) in dofs.iter().zip(rows) {
            let velocity = jacobian::point_velocity(self.kinematics.dof_axis[dof], self.offset);
            *value0 += normal.dot(velocity);
            *value1 += first.dot(velocity);
            *value2 += second.dot(velocity);
        }
    }
}

/// What [`Pass::side`] finds out: cotangents of the directions and of the point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SideBar {
    pub(super) linear: [Vec3; 3],
    pub(super) angular: [Vec3; 3],
    pub(super) point: Vec3,
}

impl Pass<'_> {
    /// The twin of [`add_side`] for a block's Jacobian: adds the cotangents of directions and point to `out`, those of
    /// motion axes and of the tree's centre of mass to the kinematics.
    pub(super) fn side(
        &mut self,
        block: &Block,
        columns: &PairColumns,
        side: Side,
        directions: Directions<f64>,
        out: &mut SideBar,
    ) {
        let (model, kinematics) = (self.model, self.sources.kinematics);
        let kinematics_bar = &mut self.bars.data.kinematics;
        let values_bar = &self.bar.jacobian[block.values()];
        let Side {
            index: own,
            body,
            point,
            sign,
        } = side;
        let dofs = jacobian::moving_dofs(model, body);
        let offset = jacobian::offset(model, kinematics, body, point);
        let linear_count = directions.linear.len();
        let mut offset_bar = Vec3::ZERO;
        for (index, row_bar) in values_bar.chunks_exact(columns.count).enumerate() {
            let wrench = if index < linear_count {
                let direction = directions.linear[index].scale(sign);
                Spatial::new(offset.cross(direction), direction)
            } else {
                Spatial::new(
                    directions.angular[index - linear_count].scale(sign),
                    Vec3::ZERO,
                )
            };
            let mut wrench_bar = Spatial::ZERO;
            let mut entry = |bar: f64, dof: usize| {
                wrench_bar = wrench_bar.scale_add(kinematics.dof_axis[dof], bar);
                let axis_bar = &mut kinematics_bar.dof_axis[dof];
                *axis_bar = axis_bar.scale_add(wrench, bar);
            };
            if columns.with_common {
                for (&bar, &dof) in row_bar.iter().zip(&dofs[..columns.common]) {
                    entry(bar, dof);
                }
            }
            for (&bar, &dof) in (row_bar[columns.own[own]..].iter()).zip(&dofs[columns.common..]) {
                entry(bar, dof);
            }
            let (turn, shift) = (wrench_bar.angular(), wrench_bar.linear());
            if index < linear_count {
                out.linear[index] += (shift + turn.cross(offset)).scale(sign);
                offset_bar += directions.linear[index].cross(turn).scale(sign);
            } else {
                out.angular[index - linear_count] += turn.scale(sign);
            }
        }
        out.point += offset_bar;
        kinematics_bar.subtree_com[model.structure.bodies.root[body]] -= offset_bar;
    }
}
