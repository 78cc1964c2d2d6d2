//! Rows of contacts: normal, tangents, spin and rolls of the relative motion at the contact point.
//!
//! With A the inverse inertia along the normal (of a pyramid: along its first edge) and ρ the ratio of frictional to
//! normal impedance,
//!
//!   elliptic: R(0) = (1 − d)/d·A,  R(1) = R(0)/ρ,  R(j) = R(1)·μ(1)²/μ(j)²               (1)
//!   pyramidal: R = 2·μ²·(1 − d)/d·A for all edges                                        (2)
//!   μ = μ(1)/√ρ of the regularised cone                                                  (3)
//!
//! An adhesive contact that may pull with δ also has a passive attraction δ; its normal's reference acceleration rises by
//! R·δ, shared by the edges of a pyramid. (4) Moving surfaces add to the velocity along tangents and spin. (5)

use super::forward::Context;
use super::impedance::floor;
use super::pair::{self, Directions, PairColumns};
use super::{Block, BlockKind, Constraint, Impedance, Reference, Row};
use crate::math::Vec3;
use crate::model::{Cone, LawKind};
use crate::scalar::Scalar;
use crate::stages::collision::Contact;

/// Appends all contacts that take part.
pub(super) fn push<T: Scalar>(context: &Context<T>, out: &mut Constraint<T>) {
    let (geoms, laws) = (
        &context.model.structure.geoms,
        &context.model.structure.laws,
    );
    // Contacts of one pair of bodies mostly follow each other: they share their columns.
    let mut last: Option<([usize; 2], PairColumns)> = None;
    for (index, contact) in context.sources.collision.contacts.iter().enumerate() {
        // Compliant contacts are forces already.
        if contact.excluded || laws.kind_of(contact.law) == LawKind::HuntCrossley {
            continue;
        }
        let bodies = contact.geoms.map(|geom| geoms.body[geom]);
        let columns = match last {
            Some((pair, columns)) if pair == bodies => columns,
            _ => pair::push_columns(context.model, bodies, false, out),
        };
        last = Some((bodies, columns));
        if !columns.is_empty() {
            push_contact(context, (index, contact), (bodies, &columns), out);
        }
    }
}

fn push_contact<T: Scalar>(
    context: &Context<T>,
    (index, contact): (usize, &Contact<T>),
    (bodies, columns): ([usize; 2], &PairColumns),
    out: &mut Constraint<T>,
) {
    let kind = match (contact.dimension, context.model.settings.cone) {
        (1, _) => BlockKind::FrictionlessContact,
        (_, Cone::Pyramidal) => BlockKind::PyramidalContact,
        (_, Cone::Elliptic) => BlockKind::EllipticContact,
    };
    let dimension = usize::from(contact.dimension);
    let block = out.open(kind, index, columns.range(), dimension);
    let axes: [Vec3<T>; 3] = std::array::from_fn(|k| contact.frame.row(k));
    let directions = Directions {
        linear: &axes[..dimension.min(3)],
        angular: &axes[..dimension.saturating_sub(3)],
    };
    let values = &mut out.jacobian[block.values()];
    for (side, sign) in [-1.0, 1.0].into_iter().enumerate() {
        let motion = (bodies[side], contact.position, sign);
        let (model, kinematics) = (context.model, context.sources.kinematics);
        pair::add_side(
            model,
            kinematics,
            (columns, side),
            motion,
            directions,
            values,
        );
    }
    push_rows(context, contact, bodies, &block, out);
}

fn push_rows<T: Scalar>(
    context: &Context<T>,
    contact: &Contact<T>,
    bodies: [usize; 2],
    block: &Block,
    out: &mut Constraint<T>,
) {
    let model = context.model;
    let reference = Reference::new(model, contact.solref, contact.solimp);
    let impedance = reference.at(contact.distance - contact.include_margin);
    let position = [contact.distance, contact.include_margin];
    let diagonal = normal_diagonal(context, contact, bodies, block, out);
    let velocity = context.velocity(block, 0, out);
    let normal = Row::new(position, velocity, diagonal, impedance);
    if block.kind == BlockKind::FrictionlessContact {
        out.rows.push(normal.with_adhesion(contact.adhesion));
        return;
    }
    let impratio = floor(model.option.impratio[0]);
    let mu = contact.friction[0] / impratio.sqrt(); // (3)
    let pyramidal = block.kind == BlockKind::PyramidalContact;
    let edge = mu * mu * normal.regularization * 2.0; // (2)
    let tangent = normal.regularization / impratio;
    let reference = if pyramidal {
        reference
    } else {
        reference.with_friction_solref(model, contact.solreffriction)
    };
    let normal = if pyramidal {
        let edges = 2.0 * (f64::from(contact.dimension) - 1.0);
        normal
            .with_regularization(edge)
            .with_adhesion(contact.adhesion / edges)
    } else {
        normal.with_adhesion(contact.adhesion)
    };
    out.rows.push(normal.with_friction(mu));
    let friction_impedance = Impedance {
        stiffness: T::ZERO,
        damping: reference.damping(),
        ..impedance
    };
    for row in 1..block.row_count {
        let friction = contact.friction[row - 1];
        let surface = contact.surface_velocity.get(row - 1);
        let surface = surface.copied().unwrap_or_default();
        let velocity = context.velocity(block, row, out) + surface; // (5)
        let moving = Row::moving([T::ZERO; 2], velocity, friction_impedance);
        let weighted = if pyramidal {
            moving.weighted_like(&normal) // (2)
        } else if row == 1 {
            moving.with_regularization(tangent)
        } else {
            let ratio = contact.friction[0] * contact.friction[0] / (friction * friction);
            moving.with_regularization(tangent * ratio) // (1)
        };
        out.rows.push(weighted.with_friction(friction));
    }
}

/// Inverse inertia along the normal, or along the first edge of a pyramid.
fn normal_diagonal<T: Scalar>(
    context: &Context<T>,
    contact: &Contact<T>,
    bodies: [usize; 2],
    block: &Block,
    out: &mut Constraint<T>,
) -> T {
    let pyramidal = block.kind == BlockKind::PyramidalContact;
    let friction = contact.friction[0];
    if context.model.settings.enable.diagexact {
        let edge = [(0, T::ONE), (1, friction)];
        let combination = if pyramidal { &edge[..] } else { &edge[..1] };
        return context.exact_diagonal(block, combination, out);
    }
    let [first, second] = bodies.map(|body| context.model.bodies.inverse_weight[body][0]);
    let translation = first + second;
    if pyramidal {
        translation + friction * friction * translation
    } else {
        translation
    }
}
