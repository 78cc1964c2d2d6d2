//! What constraints do to bodies and tendons.

use super::Sensed;
use super::tree_pass::push_body;
use crate::contact_force::{ContactForce, block_force};
use crate::cotangent::Cotangents;
use crate::math::Spatial;
use crate::model::{EqualityKind, Model};
use crate::scalar::Scalar;
use crate::stages::constraint::{
    Block, BlockKind, PointWrench, equality_polynomial, equality_polynomial_vjp, equality_wrenches,
};

/// A limit that is closer than its margin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ActiveLimit<T> {
    /// Distance to the limit, less the margin (m or rad).
    pub(super) distance: T,
    /// Rate of change of the distance.
    pub(super) velocity: T,
    /// Force that keeps from the limit.
    pub(super) force: T,
}

impl<T: Scalar> ActiveLimit<T> {
    /// The active limit of a joint or tendon, the lower one first; zero when there is none.
    pub(super) fn find(stages: &Sensed<'_, T>, kind: BlockKind, object: usize) -> Self {
        let Some(index) = Self::row(stages, kind, object) else {
            return Self::default();
        };
        let row = &stages.constraint.rows[index];
        Self {
            distance: row.position - row.margin,
            velocity: row.velocity,
            force: stages.solve.force[index],
        }
    }

    /// The row of that limit.
    pub(super) fn row(stages: &Sensed<'_, T>, kind: BlockKind, object: usize) -> Option<usize> {
        let mut blocks = stages.constraint.blocks.iter();
        let block = blocks.find(|block| block.kind == kind && block.object == object)?;
        Some(block.row)
    }
}

/// Adds the forces of contacts, connect and weld constraints to what acts on the bodies.
pub(super) fn push_bodies<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    external_force: &mut [Spatial<T>],
) {
    for block in &stages.constraint.blocks {
        let forces = &stages.solve.force[block.rows()];
        let sides = match block.kind {
            BlockKind::Equality => {
                let kinematics = stages.kinematics;
                let is_wrench = matches!(
                    model.structure.equalities.kind[block.object],
                    EqualityKind::Connect | EqualityKind::Weld
                );
                let wrenches =
                    is_wrench.then(|| equality_wrenches(model, kinematics, block.object, forces));
                wrenches.flatten()
            }
            BlockKind::FrictionlessContact
            | BlockKind::PyramidalContact
            | BlockKind::EllipticContact => Some(contact_wrenches(model, stages, block)),
            _ => None,
        };
        for side in sides.into_iter().flatten() {
            push_body(model, stages, side, external_force);
        }
    }
}

/// Torque and force of a contact on both bodies, at the contact point.
fn contact_wrenches<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    block: &Block,
) -> [PointWrench<T>; 2] {
    let contact = &stages.collision.contacts[block.object];
    let ContactForce { force, torque } =
        block_force(stages.collision, stages.solve, block).to_world(&contact.frame);
    let [first, second] = contact.geoms.map(|geom| model.structure.geoms.body[geom]);
    let wrench = Spatial::new(torque, force);
    [(first, -wrench), (second, wrench)].map(|(body, wrench)| PointWrench {
        body,
        point: contact.position,
        wrench,
    })
}

/// The force of constraints along a tendon: limits, dry friction and equalities.
pub(super) fn tension<T: Scalar>(model: &Model<T>, stages: &Sensed<'_, T>, tendon: usize) -> T {
    let mut total = T::ZERO;
    for block in &stages.constraint.blocks {
        let force = stages
            .solve
            .force
            .get(block.row)
            .copied()
            .unwrap_or_default();
        match block.kind {
            BlockKind::TendonFriction if block.object == tendon => total += force,
            BlockKind::TendonLimit if block.object == tendon => {
                let length = stages.tendon.length[tendon];
                let [low, high] = model.tendons.range[tendon];
                // The lower limit pushes towards greater length.
                total += if length - low < high - length {
                    force
                } else {
                    -force
                };
            }
            BlockKind::Equality
                if model.structure.equalities.kind[block.object] == EqualityKind::Tendon =>
            {
                total += equality_share(model, stages, block.object, tendon) * force;
            }
            _ => {}
        }
    }
    total
}

/// How much of a tendon equality's force acts along a tendon.
fn equality_share<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    equality: usize,
    tendon: usize,
) -> T {
    let equalities = &model.structure.equalities;
    let (first, second) = (equalities.object1[equality], equalities.object2[equality]);
    let displacement =
        |index: usize| stages.tendon.length[index] - model.tendons.length_reference[index];
    let mut share = T::ZERO;
    if first == tendon {
        share += T::ONE;
    }
    if second == Some(tendon) {
        let data = &model.equalities.data[equality];
        let (_, slope) = equality_polynomial(data, displacement(first), second.map(displacement));
        share -= slope;
    }
    share
}

/// The twin of [`tension`].
pub(super) fn tension_vjp(
    model: &Model,
    stages: &Sensed<'_, f64>,
    tendon: usize,
    bar: f64,
    bars: &mut Cotangents,
) {
    for block in &stages.constraint.blocks {
        let Some(force_bar) = bars.data.solve.force.get_mut(block.row) else {
            continue;
        };
        match block.kind {
            BlockKind::TendonFriction if block.object == tendon => *force_bar += bar,
            BlockKind::TendonLimit if block.object == tendon => {
                let length = stages.tendon.length[tendon];
                let [low, high] = model.tendons.range[tendon];
                *force_bar += if length - low < high - length {
                    bar
                } else {
                    -bar
                };
            }
            BlockKind::Equality
                if model.structure.equalities.kind[block.object] == EqualityKind::Tendon =>
            {
                *force_bar += equality_share(model, stages, block.object, tendon) * bar;
                let share_bar = stages.solve.force[block.row] * bar;
                equality_share_vjp(model, stages, (block.object, tendon), share_bar, bars);
            }
            _ => {}
        }
    }
}

/// The twin of [`equality_share`].
fn equality_share_vjp(
    model: &Model,
    stages: &Sensed<'_, f64>,
    (equality, tendon): (usize, usize),
    bar: f64,
    bars: &mut Cotangents,
) {
    let equalities = &model.structure.equalities;
    if equalities.object2[equality] != Some(tendon) {
        return;
    }
    let x = stages.tendon.length[tendon] - model.tendons.length_reference[tendon];
    let (_, x_bar) = equality_polynomial_vjp(
        &model.equalities.data[equality],
        Some(x),
        (0.0, -bar),
        &mut bars.model.equalities.data[equality],
    );
    bars.data.tendon.length[tendon] += x_bar;
    bars.model.tendons.length_reference[tendon] -= x_bar;
}
