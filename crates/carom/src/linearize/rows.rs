//! Derivatives of single constraint rows: limits, dry friction, joints and tendons that follow others.
//!
//! A row with Jacobian J pushes with Jᵀ·f, f = −∇s(y), y = J·a − â, â = −b·J·v − k·d(ρ)·ρ with ρ = r − margin, and its
//! weight D is proportional to d/(1 − d). At fixed acceleration
//!
//!   df = −K·(dJ·a + b·(dJ·v + J·dv) + k·(d + d′·ρ)·dr) + f·d′/(d·(1 − d))·dr                         (1)
//!   d(Jᵀ·f) = Jᵀ·df + dJᵀ·f,    dr = J·dq                                                          (2)
//!
//! J is constant for limits of hinges, slides and fixed tendons and for dry friction; it depends on q for a ball joint's
//! limit, for polynomial couplings and for spatial tendons (`bends`). Connect and weld have a file of their own (`equality`).

use super::Rows;
use super::bends::Bends;
use super::forces::Context;
use crate::math::Quat;
use crate::model::{EqualityKind, JointKind};
use crate::stages::constraint::{Block, BlockKind, Row, equality_polynomial};
use crate::stages::solve::law::{Curvature, Law, MAX_ROWS, Phase};
use crate::terms::joint::turned_quat;

/// R below which its floor holds, so that it does not depend on the distance.
const LEAST_REGULARIZATION: f64 = 1e-15;

/// Whether R stands at its floor.
pub(super) fn is_floored(row: &Row) -> bool {
    row.regularization <= LEAST_REGULARIZATION
}

/// Derivative of ln D by the row's position: D is proportional to d/(1 − d).
pub(super) fn weight_rate(row: &Row) -> f64 {
    let d = row.impedance.value;
    if is_floored(row) {
        return 0.0;
    }
    row.impedance.slope / (d * (1.0 - d))
}

/// Derivative of k·d(ρ)·ρ by the row's position.
pub(super) fn spring_rate(row: &Row) -> f64 {
    let impedance = &row.impedance;
    let distance = row.position - row.margin;
    impedance.stiffness * (impedance.value + impedance.slope * distance)
}

/// The curvature of a block's law at the solution; false if it is zero.
pub(super) fn curvature(context: &Context<'_>, index: usize, out: &mut Curvature) -> bool {
    let (constraint, solve) = (&context.data.constraint, &context.data.solve);
    let block = &constraint.blocks[index];
    let (mut weight, mut friction) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
    for (place, row) in constraint.block_rows(block).iter().enumerate() {
        (weight[place], friction[place]) = (row.weight, row.friction);
    }
    let law = Law {
        kind: block.kind,
        weight: &weight[..block.row_count],
        friction: &friction[..block.row_count],
    };
    law.curvature(solve.phase[index], &solve.residual[block.rows()], out)
}

/// Adds the derivatives of the force of a block of one row.
pub(super) fn add(context: &Context<'_>, bends: &Bends, index: usize, rows: &mut Rows<'_>) {
    let data = context.data;
    let block = &data.constraint.blocks[index];
    let row = &data.constraint.rows[block.row];
    if data.solve.phase[index] == Phase::OFF {
        return;
    }
    // Sliding friction pushes the same whatever moves.
    if data.solve.phase[index] != Phase::QUADRATIC {
        let change = Change {
            force: data.solve.force[block.row],
            ..Change::default()
        };
        bent(context, bends, block, &change, rows);
        return;
    }
    let change = Change {
        force: data.solve.force[block.row],
        by_position: -row.weight * spring_rate(row)
            + data.solve.force[block.row] * weight_rate(row),
        by_velocity: -row.weight * row.impedance.damping,
        stiffness: row.weight,
    };
    constant(context, block, &change, rows);
    match block.kind {
        BlockKind::JointLimit if block.column_count == 3 => {
            ball_limit(context, block, &change, rows);
        }
        BlockKind::Equality => following(context, block, &change, rows),
        _ => {}
    }
    bent(context, bends, block, &change, rows);
}

/// How the force of a row changes. (1)
#[derive(Default)]
struct Change {
    force: f64,
    by_position: f64,
    by_velocity: f64,
    /// K.
    stiffness: f64,
}

/// The terms of (2) with a constant Jacobian.
fn constant(context: &Context<'_>, block: &Block, change: &Change, rows: &mut Rows<'_>) {
    let constraint = &context.data.constraint;
    let columns = constraint.block_columns(block);
    let values = constraint.block_jacobian(block);
    for (&dof, &value) in columns.iter().zip(values) {
        let row = rows.row(dof);
        for (&other, &entry) in columns.iter().zip(values) {
            row[other] += value * change.by_position * entry;
            row[context.layout.nv + other] += value * change.by_velocity * entry;
        }
    }
}

/// The terms of dJ for `slopes`(i, j) = ∂J(i)/∂q(j), over the columns of a block. (1), (2)
fn varying(
    context: &Context<'_>,
    block: &Block,
    change: &Change,
    slopes: &[[f64; 3]; 3],
    rows: &mut Rows<'_>,
) {
    let (constraint, qacc) = (&context.data.constraint, &context.data.solve.qacc);
    let columns = constraint.block_columns(block);
    let values = constraint.block_jacobian(block);
    for (j, &other) in columns.iter().enumerate() {
        let along = |x: &[f64]| -> f64 {
            let terms = columns.iter().enumerate();
            terms.map(|(i, &dof)| slopes[i][j] * x[dof]).sum()
        };
        let push =
            -change.stiffness * along(qacc) + change.by_velocity * along(&context.state.qvel);
        for (i, &dof) in columns.iter().enumerate() {
            rows.row(dof)[other] += values[i] * push + slopes[i][j] * change.force;
        }
    }
}

/// The terms of dJ for the tendons of a row.
fn bent(context: &Context<'_>, bends: &Bends, block: &Block, change: &Change, rows: &mut Rows<'_>) {
    let (model, constraint) = (context.model, &context.data.constraint);
    let equalities = &model.structure.equalities;
    let values = constraint.block_jacobian(block);
    let tendons: [Option<(usize, f64)>; 2] = match block.kind {
        BlockKind::TendonFriction => [Some((block.object, 1.0)), None],
        BlockKind::TendonLimit => {
            // Both ends of a range are computed alike: the distance tells which one this is.
            let length = context.data.tendon.length[block.object];
            let [low, _] = model.tendons.range[block.object];
            let lower = constraint.rows[block.row].position == length - low;
            [Some((block.object, if lower { 1.0 } else { -1.0 })), None]
        }
        BlockKind::Equality if equalities.kind[block.object] == EqualityKind::Tendon => {
            let displacement = |tendon: usize| {
                context.data.tendon.length[tendon] - model.tendons.length_reference[tendon]
            };
            let first = equalities.object1[block.object];
            let second = equalities.object2[block.object];
            let data = &model.equalities.data[block.object];
            let x = second.map(displacement);
            let (_, slope) = equality_polynomial(data, displacement(first), x);
            [Some((first, 1.0)), second.map(|second| (second, -slope))]
        }
        _ => [None, None],
    };
    for (tendon, factor) in tendons.into_iter().flatten() {
        let Some(bend) = bends.of_tendon(model, tendon) else {
            continue;
        };
        bend.entries(|dof, other, entry| rows.row(dof)[other] += factor * change.force * entry);
        let columns = constraint.block_columns(block);
        let parts = [
            (&context.data.solve.qacc, -change.stiffness),
            (&context.state.qvel, change.by_velocity),
        ];
        for (x, slope) in parts {
            bend.along(x, |other, rate| {
                for (&dof, &value) in columns.iter().zip(values) {
                    rows.row(dof)[other] += value * slope * factor * rate;
                }
            });
        }
    }
}

/// The axis of a ball joint's limit turns with the joint.
fn ball_limit(context: &Context<'_>, block: &Block, change: &Change, rows: &mut Rows<'_>) {
    let joints = &context.model.structure.joints;
    if joints.kind[block.object] != JointKind::Ball {
        return;
    }
    let address = joints.qpos[block.object];
    let quat = Quat(std::array::from_fn(|k| context.state.qpos[address + k]));
    let (axis, _) = turned_quat(quat.normalized()).log().normalized();
    let slopes = axis
        .0
        .map(|component| component.tangent.map(|tangent| -tangent));
    varying(context, block, change, &slopes, rows);
}

/// The Jacobian J₁ − p′(x)·J₂ of a polynomial coupling changes with x: dJ = −p″(x)·J₂·(J₂·dq).
fn following(context: &Context<'_>, block: &Block, change: &Change, rows: &mut Rows<'_>) {
    let (model, equality) = (context.model, block.object);
    let structure = &*model.structure;
    let (joints, equalities) = (&structure.joints, &structure.equalities);
    let Some(second) = equalities.object2[equality] else {
        return;
    };
    let tendons = &structure.tendons.jacobian;
    let one = [joints.dof.get(second).copied().unwrap_or_default()];
    let (x, leader, values): (f64, &[usize], &[f64]) = match equalities.kind[equality] {
        EqualityKind::Joint => {
            let address = joints.qpos[second];
            let x = context.state.qpos[address] - model.qpos.reference[address];
            (x, &one, &[1.0])
        }
        EqualityKind::Tendon => {
            let tendon = &context.data.tendon;
            let x = tendon.length[second] - model.tendons.length_reference[second];
            let values = &tendon.jacobian[tendons.row(second)];
            (x, tendons.columns(second), values)
        }
        EqualityKind::Connect | EqualityKind::Weld => return,
    };
    let [_, _, c2, c3, c4, ..] = model.equalities.data[equality];
    let bend = 2.0 * c2 + x * (6.0 * c3 + 12.0 * c4 * x);
    if bend == 0.0 {
        return;
    }
    let (constraint, qacc) = (&context.data.constraint, &context.data.solve.qacc);
    let along = |x: &[f64]| -> f64 {
        let terms = leader.iter().zip(values);
        terms.map(|(&dof, &value)| value * x[dof]).sum()
    };
    let push =
        bend * (change.stiffness * along(qacc) - change.by_velocity * along(&context.state.qvel));
    let columns = constraint.block_columns(block);
    for (&dof, &value) in columns.iter().zip(constraint.block_jacobian(block)) {
        let row = rows.row(dof);
        for (&other, &entry) in leader.iter().zip(values) {
            row[other] += value * push * entry;
        }
    }
    for (&dof, &value) in leader.iter().zip(values) {
        let row = rows.row(dof);
        for (&other, &entry) in leader.iter().zip(values) {
            row[other] -= bend * change.force * value * entry;
        }
    }
}
