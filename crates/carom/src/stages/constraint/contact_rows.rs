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

use super::backward::{ImpedanceBar, Pass, RowInputsBar, add};
use super::forward::Context;
use super::impedance::{MIN_VALUE, floor, least_time_constant};
use super::pair::{self, Directions, PairColumns, Side, SideBar};
use super::{Block, BlockKind, Constraint, Impedance, Row};
use crate::math::Vec3;
use crate::model::{Cone, LawLevel};
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
        // Compliant contacts are forces already, and impacts change velocities within the step.
        let has_rows = matches!(
            laws.level_of(contact.law),
            LawLevel::Acceleration | LawLevel::Impulse
        );
        if contact.excluded || !has_rows {
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
        let side = Side {
            index: side,
            body: bodies[side],
            point: contact.position,
            sign,
        };
        let (model, kinematics) = (context.model, context.sources.kinematics);
        pair::add_side(model, kinematics, columns, side, directions, values);
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
    let reference = context.reference(contact.solref, contact.solimp);
    let distant = model.distant_contacts(contact.geoms, contact.law, contact.adhesion);
    let gap = contact.distance - contact.include_margin;
    let impedance = reference.at_or_from(distant, gap);
    let position = [contact.distance, contact.include_margin];
    let diagonal = normal_diagonal(context, contact, bodies, block, out);
    let velocity = context.velocity(block, 0, out);
    let normal = match distant {
        None => Row::moving(position, velocity, impedance),
        Some(distant) => Row::stretched(position, distant.soften(gap).0, velocity, impedance),
    };
    let regularization = floor((T::ONE - impedance.value) * diagonal / impedance.value);
    if block.kind == BlockKind::FrictionlessContact {
        let normal = normal.with_regularization(regularization);
        out.rows.push(normal.with_adhesion(contact.adhesion));
        return;
    }
    let impratio = floor(model.option.impratio[0]);
    let mu = contact.friction[0] / impratio.sqrt(); // (3)
    let pyramidal = block.kind == BlockKind::PyramidalContact;
    let normal = if pyramidal {
        let edges = 2.0 * (f64::from(contact.dimension) - 1.0);
        normal
            .with_regularization(mu * mu * regularization * 2.0) // (2)
            .with_adhesion(contact.adhesion / edges)
    } else {
        normal
            .with_regularization(regularization)
            .with_adhesion(contact.adhesion)
    };
    out.rows.push(normal.with_friction(mu));
    let damping = if pyramidal {
        impedance.damping
    } else {
        let least = least_time_constant(model, context.sources.timestep);
        let reference = reference.with_friction_solref(least, contact.solreffriction);
        reference.damping()
    };
    let friction_impedance = Impedance {
        stiffness: T::ZERO,
        damping,
        ..impedance
    };
    let tangent = regularization / impratio;
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

/// The adjoint of the rows of one contact.
pub(super) fn backward(pass: &mut Pass<'_>, block: &Block) {
    let contact = &pass.sources.collision.contacts[block.object];
    let geoms = &pass.model.structure.geoms;
    let bodies = contact.geoms.map(|geom| geoms.body[geom]);
    let rates = rows_backward(pass, contact, bodies, block);
    for (row, rate_bar) in rates.into_iter().enumerate().take(block.row_count) {
        pass.velocity(block, row, rate_bar);
    }
    let columns = pair::layout(pass.model, bodies, false, block.column);
    let axes: [Vec3; 3] = std::array::from_fn(|k| contact.frame.row(k));
    let dimension = usize::from(contact.dimension);
    let directions = Directions {
        linear: &axes[..dimension.min(3)],
        angular: &axes[..dimension.saturating_sub(3)],
    };
    let mut sides = SideBar::default();
    for (side, sign) in [-1.0, 1.0].into_iter().enumerate() {
        let side = Side {
            index: side,
            body: bodies[side],
            point: contact.position,
            sign,
        };
        pass.side(block, &columns, side, directions, &mut sides);
    }
    let contact_bar = &mut pass.bars.data.contacts[block.object];
    contact_bar.position += sides.point;
    for axis in 0..3 {
        let bar = sides.linear[axis] + sides.angular[axis];
        for k in 0..3 {
            contact_bar.frame[3 * axis + k] += bar[k];
        }
    }
}

/// The twin of [`push_rows`]; returns the cotangents of the rates J·q̇.
fn rows_backward(
    pass: &mut Pass<'_>,
    contact: &Contact,
    bodies: [usize; 2],
    block: &Block,
) -> [f64; 6] {
    let (rows, bars) = (
        &pass.constraint.rows[block.rows()],
        &pass.bar.rows[block.rows()],
    );
    let contact_bar = &mut pass.bars.data.contacts[block.object];
    let pyramidal = block.kind == BlockKind::PyramidalContact;
    let frictionless = block.kind == BlockKind::FrictionlessContact;
    let (normal, impratio) = (&rows[0], floor(pass.model.option.impratio[0]));
    let mut mu_bar = if frictionless { 0.0 } else { bars[0].friction };
    let (mut normal_bar, mut impratio_bar) = (0.0, 0.0);
    let regularization_bar = |row: usize| -rows[row].weight * rows[row].weight * bars[row].weight;
    let share = if pyramidal {
        2.0 * (f64::from(contact.dimension) - 1.0)
    } else {
        1.0
    };
    // (4) R is the row's own.
    let own_bar = regularization_bar(0) + bars[0].reference_acceleration * contact.adhesion / share;
    contact_bar.adhesion += bars[0].reference_acceleration * normal.regularization / share;
    let mu = normal.friction;
    let mut friction_bar = [0.0; 5];
    let regularization = if pyramidal {
        // (2)
        let edge_bar = (1..rows.len()).fold(own_bar, |sum, row| sum + regularization_bar(row));
        let plain = normal.regularization / (2.0 * mu * mu);
        normal_bar += 2.0 * mu * mu * edge_bar;
        mu_bar += 4.0 * mu * plain * edge_bar;
        plain
    } else {
        // (1)
        normal_bar += own_bar;
        let mut tangent_bar = 0.0;
        for row in 1..rows.len() {
            let bar = regularization_bar(row);
            if row == 1 {
                tangent_bar += bar;
                continue;
            }
            let (first, own) = (contact.friction[0], contact.friction[row - 1]);
            tangent_bar += bar * first * first / (own * own);
            friction_bar[0] += 2.0 * bar * rows[row].regularization / first;
            friction_bar[row - 1] -= 2.0 * bar * rows[row].regularization / own;
        }
        normal_bar += tangent_bar / impratio;
        impratio_bar -= tangent_bar * normal.regularization / (impratio * impratio);
        normal.regularization
    };
    if !frictionless {
        // (3)
        friction_bar[0] += mu_bar / impratio.sqrt();
        impratio_bar -= 0.5 * mu_bar * mu / impratio;
        for row in 1..rows.len() {
            friction_bar[row - 1] += bars[row].friction;
        }
    }
    if pass.model.option.impratio[0] > MIN_VALUE {
        pass.bars.model.option.impratio[0] += impratio_bar;
    }

    let d = normal.impedance.value;
    let diagonal = regularization * d / (1.0 - d);
    let gap = contact.distance - contact.include_margin;
    let distant = (pass.model).distant_contacts(contact.geoms, contact.law, contact.adhesion);
    let spring = distant.map_or((gap, 1.0), |distant| distant.soften(gap));
    let mut inputs = RowInputsBar::new(
        normal,
        spring,
        diagonal,
        regularization,
        bars[0].reference_acceleration,
        normal_bar,
    );
    inputs.impedance.add(bars[0].impedance);
    let mut rates = [0.0; 6];
    rates[0] = inputs.velocity + bars[0].velocity;
    let mut friction_damping_bar = 0.0;
    for row in 1..rows.len() {
        let reference_bar = bars[row].reference_acceleration;
        rates[row] = bars[row].velocity - rows[row].impedance.damping * reference_bar;
        friction_damping_bar -= rows[row].velocity * reference_bar;
        if let Some(surface_bar) = contact_bar.surface_velocity.get_mut(row - 1) {
            *surface_bar += rates[row]; // (5)
        }
    }
    for (total, bar) in contact_bar.friction.iter_mut().zip(friction_bar) {
        *total += bar;
    }
    contact_bar.distance += inputs.position + bars[0].position;
    contact_bar.include_margin += inputs.margin;
    diagonal_backward(pass, contact, bodies, block, inputs.diagonal);
    reference_backward(pass, contact, block, inputs.impedance, friction_damping_bar);
    rates
}

/// The twin of [`normal_diagonal`].
fn diagonal_backward(
    pass: &mut Pass<'_>,
    contact: &Contact,
    bodies: [usize; 2],
    block: &Block,
    bar: f64,
) {
    let pyramidal = block.kind == BlockKind::PyramidalContact;
    let friction = contact.friction[0];
    let edge = [(0, 1.0), (1, friction)];
    let combination = if pyramidal { &edge[..] } else { &edge[..1] };
    let weights = &pass.model.bodies.inverse_weight;
    let translation = weights[bodies[0]][0] + weights[bodies[1]][0];
    if pass.exact_diagonal(block, combination, bar) {
        if pyramidal {
            // The friction leans the edge: A = j·M⁻¹·jᵀ with j = n + μ·t, and M⁻¹·jᵀ is still at hand.
            let lean = pass.along_scratch(block, 1);
            pass.bars.data.contacts[block.object].friction[0] += 2.0 * bar * lean;
        }
        return;
    }
    let mut translation_bar = bar;
    if pyramidal {
        translation_bar += friction * friction * bar;
        pass.bars.data.contacts[block.object].friction[0] += 2.0 * friction * translation * bar;
    }
    for body in bodies {
        pass.bars.model.bodies.inverse_weight[body][0] += translation_bar;
    }
}

/// From stiffness, dampings and impedance to solref, solimp and the distance.
fn reference_backward(
    pass: &mut Pass<'_>,
    contact: &Contact,
    block: &Block,
    mut bar: ImpedanceBar,
    friction_damping_bar: f64,
) {
    let [first, second] = contact.solreffriction;
    let own_friction_reference = block.kind == BlockKind::EllipticContact
        && contact.solreffriction != [0.0; 2]
        && (first > 0.0) == (second > 0.0);
    let piece = pass.constraint.rows[block.row].impedance.piece;
    let place = (contact.distance - contact.include_margin, Some(piece));
    let distant = (pass.model).distant_contacts(contact.geoms, contact.law, contact.adhesion);
    if own_friction_reference {
        let friction_bar = ImpedanceBar {
            damping: friction_damping_bar,
            ..ImpedanceBar::default()
        };
        let reference_bar = pass.reference_or_from(
            distant,
            (contact.solreffriction, contact.solimp),
            place,
            friction_bar,
        );
        let contact_bar = &mut pass.bars.data.contacts[block.object];
        add(&mut contact_bar.solreffriction, reference_bar.solref);
        add(&mut contact_bar.solimp, reference_bar.solimp);
    } else {
        bar.damping += friction_damping_bar;
    }
    let own = (contact.solref, contact.solimp);
    let reference_bar = pass.reference_or_from(distant, own, place, bar);
    let contact_bar = &mut pass.bars.data.contacts[block.object];
    add(&mut contact_bar.solref, reference_bar.solref);
    add(&mut contact_bar.solimp, reference_bar.solimp);
    contact_bar.distance += reference_bar.distance;
    contact_bar.include_margin -= reference_bar.distance;
}
