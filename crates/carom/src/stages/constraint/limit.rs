//! Limits of joints and tendons.

use super::backward::{Pass, add};
use super::forward::Context;
use super::{Block, BlockKind, Constraint, Row};
use crate::cotangent::turn_bar;
use crate::math::{Quat, Vec3};
use crate::model::JointKind;
use crate::scalar::Scalar;

/// Appends the limits that are closer than their margin.
pub(super) fn push<T: Scalar>(context: &Context<T>, out: &mut Constraint<T>) {
    push_joints(context, out);
    push_tendons(context, out);
}

/// Distances to the lower and the upper end of a range, each with the sign of the Jacobian.
fn sides<T: Scalar>([low, high]: [T; 2], value: T) -> [(T, f64); 2] {
    [(value - low, 1.0), (high - value, -1.0)]
}

fn push_joints<T: Scalar>(context: &Context<T>, out: &mut Constraint<T>) {
    let (model, qpos) = (context.model, &context.state.qpos);
    let joints = &model.structure.joints;
    for (joint, &limited) in joints.limited.iter().enumerate() {
        if !limited {
            continue;
        }
        let (range, margin) = (model.joints.range[joint], model.joints.margin[joint]);
        let position = joints.qpos[joint];
        match joints.kind[joint] {
            JointKind::Hinge | JointKind::Slide => {
                for (distance, sign) in sides(range, qpos[position]) {
                    if distance < margin {
                        push_joint(context, joint, distance, &[T::from(sign)], out);
                    }
                }
            }
            JointKind::Ball => {
                let quat = Quat(std::array::from_fn(|k| qpos[position + k]));
                let (axis, angle) = quat.normalized().log().normalized();
                let distance = range[0].max(range[1]) - angle;
                if distance < margin {
                    push_joint(context, joint, distance, &(-axis).0, out);
                }
            }
            JointKind::Free => {}
        }
    }
}

fn push_joint<T: Scalar>(
    context: &Context<T>,
    joint: usize,
    distance: T,
    jacobian: &[T],
    out: &mut Constraint<T>,
) {
    let (model, start) = (context.model, out.columns.len());
    let dof = model.structure.joints.dof[joint];
    out.columns.extend(dof..dof + jacobian.len());
    let columns = start..out.columns.len();
    let block = out.open(BlockKind::JointLimit, joint, columns, 1);
    out.jacobian[block.values()].copy_from_slice(jacobian);
    let diagonal = context.diagonal(model.dofs.inverse_weight[dof], &block, 0, out);
    let (numbers, margin) = (&model.joints, model.joints.margin[joint]);
    let reference = context.reference(numbers.solref[joint], numbers.solimp[joint]);
    let velocity = context.velocity(&block, 0, out);
    let impedance = reference.at(distance - margin);
    out.rows
        .push(Row::new([distance, margin], velocity, diagonal, impedance));
}

fn push_tendons<T: Scalar>(context: &Context<T>, out: &mut Constraint<T>) {
    let (model, tendons) = (context.model, &context.model.tendons);
    for (tendon, &limited) in model.structure.tendons.limited.iter().enumerate() {
        if !limited {
            continue;
        }
        let length = context.sources.tendon.length[tendon];
        for (distance, sign) in sides(tendons.range[tendon], length) {
            if distance < tendons.margin[tendon] {
                push_tendon(context, tendon, distance, sign, out);
            }
        }
    }
}

fn push_tendon<T: Scalar>(
    context: &Context<T>,
    tendon: usize,
    distance: T,
    sign: f64,
    out: &mut Constraint<T>,
) {
    let (model, start) = (context.model, out.columns.len());
    let pattern = &model.structure.tendons.jacobian;
    out.columns.extend_from_slice(pattern.columns(tendon));
    let columns = start..out.columns.len();
    let block = out.open(BlockKind::TendonLimit, tendon, columns, 1);
    let source = &context.sources.tendon.jacobian[pattern.row(tendon)];
    for (value, &entry) in out.jacobian[block.values()].iter_mut().zip(source) {
        *value = entry * sign;
    }
    if context.is_empty(&block, out) {
        out.discard_last_block();
        return;
    }
    let (numbers, margin) = (&model.tendons, model.tendons.margin[tendon]);
    let diagonal = context.diagonal(numbers.inverse_weight[tendon], &block, 0, out);
    let solimp = numbers.solimp_limit[tendon];
    let reference = context.reference(numbers.solref_limit[tendon], solimp);
    let velocity = context.velocity(&block, 0, out);
    let impedance = reference.at(distance - margin);
    out.rows
        .push(Row::new([distance, margin], velocity, diagonal, impedance));
}

/// The adjoint of a limit.
pub(super) fn backward(pass: &mut Pass<'_>, block: &Block) {
    let (model, object) = (pass.model, block.object);
    let inputs = pass.plain_row(block.row);
    let exact = pass.exact_diagonal(block, &[(0, 1.0)], inputs.diagonal);
    let diagonal_bar = if exact { 0.0 } else { inputs.diagonal };
    pass.velocity(block, 0, inputs.velocity);
    let row = &pass.constraint.rows[block.row];
    let on_joint = block.kind == BlockKind::JointLimit;
    let (solref, solimp) = if on_joint {
        (model.joints.solref[object], model.joints.solimp[object])
    } else {
        let tendons = &model.tendons;
        (tendons.solref_limit[object], tendons.solimp_limit[object])
    };
    let place = (row.position - row.margin, Some(row.impedance.piece));
    let reference = pass.reference(solref, solimp, place, inputs.impedance);
    let distance_bar = inputs.position + reference.distance;
    let margin_bar = inputs.margin - reference.distance;
    if on_joint {
        let joints = &mut pass.bars.model.joints;
        add(&mut joints.solref[object], reference.solref);
        add(&mut joints.solimp[object], reference.solimp);
        joints.margin[object] += margin_bar;
        let dof = model.structure.joints.dof[object];
        pass.bars.model.dofs.inverse_weight[dof] += diagonal_bar;
        joint_backward(pass, block, distance_bar);
    } else {
        let tendons = &mut pass.bars.model.tendons;
        add(&mut tendons.solref_limit[object], reference.solref);
        add(&mut tendons.solimp_limit[object], reference.solimp);
        tendons.margin[object] += margin_bar;
        tendons.inverse_weight[object] += diagonal_bar;
        tendon_backward(pass, block, distance_bar);
    }
}

fn joint_backward(pass: &mut Pass<'_>, block: &Block, distance_bar: f64) {
    let (model, joint) = (pass.model, block.object);
    let joints = &model.structure.joints;
    let (dof, address) = (joints.dof[joint], joints.qpos[joint]);
    let range = &mut pass.bars.model.joints.range[joint];
    let qpos_bar = &mut pass.bars.state.qpos;
    if joints.kind[joint] == JointKind::Ball {
        let [low, high] = model.joints.range[joint];
        range[usize::from(high > low)] += distance_bar;
        let qpos = &pass.state.qpos;
        let quat = Quat(std::array::from_fn(|k| qpos[address + k])).normalized();
        let axis_bar = Vec3(std::array::from_fn(|k| -pass.bar.jacobian[block.value + k]));
        let (mut turn, mut quat_bar) = (Vec3::ZERO, Quat::default());
        quat.log()
            .normalized_vjp(axis_bar, -distance_bar, &mut turn);
        quat.log_vjp(turn, &mut quat_bar);
        let bar = turn_bar(quat, quat_bar);
        for k in 0..3 {
            qpos_bar[dof + k] += bar[k];
        }
        return;
    }
    let lower = pass.constraint.jacobian[block.value] > 0.0;
    let sign = if lower { 1.0 } else { -1.0 };
    qpos_bar[dof] += sign * distance_bar;
    range[usize::from(!lower)] -= sign * distance_bar;
}

fn tendon_backward(pass: &mut Pass<'_>, block: &Block, distance_bar: f64) {
    let (model, tendon) = (pass.model, block.object);
    let length = pass.sources.tendon.length[tendon];
    // Both ends of a range are computed alike: the distance tells which one this is.
    let lower = pass.constraint.rows[block.row].position == length - model.tendons.range[tendon][0];
    let sign = if lower { 1.0 } else { -1.0 };
    let tendon_bar = &mut pass.bars.data.tendon;
    tendon_bar.length[tendon] += sign * distance_bar;
    pass.bars.model.tendons.range[tendon][usize::from(!lower)] -= sign * distance_bar;
    let range = model.structure.tendons.jacobian.row(tendon);
    let entries = &pass.bar.jacobian[block.values()];
    for (total, &bar) in tendon_bar.jacobian[range].iter_mut().zip(entries) {
        *total += sign * bar;
    }
}
