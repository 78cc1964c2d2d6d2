//! Limits of joints and tendons.

use super::backward::Pass;
use super::forward::Context;
use super::{Block, BlockKind, Constraint};
use crate::math::Quat;
use crate::model::JointKind;
use crate::scalar::Scalar;
use crate::stages::collision::add_tangent;
use crate::terms::joint::turned_quat;

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
    let position = [distance, model.joints.margin[joint]];
    context.push_single(&block, model.dofs.inverse_weight[dof], position, out);
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
    let position = [distance, model.tendons.margin[tendon]];
    context.push_single(&block, model.tendons.inverse_weight[tendon], position, out);
}

/// The adjoint of a limit.
pub(super) fn backward(pass: &mut Pass<'_>, block: &Block) {
    let [distance_bar, margin_bar] = pass.single(block);
    if block.kind == BlockKind::JointLimit {
        pass.bars.model.joints.margin[block.object] += margin_bar;
        joint_backward(pass, block, distance_bar);
    } else {
        pass.bars.model.tendons.margin[block.object] += margin_bar;
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
        let (axis, angle) = turned_quat::<3>(quat).log().normalized();
        let mut turn_bar = [0.0; 3];
        add_tangent(&mut turn_bar, angle, -distance_bar);
        for k in 0..3 {
            add_tangent(&mut turn_bar, axis[k], -pass.bar.jacobian[block.value + k]);
        }
        for k in 0..3 {
            qpos_bar[dof + k] += turn_bar[k];
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
    pass.bars.data.tendon.length[tendon] += sign * distance_bar;
    pass.bars.model.tendons.range[tendon][usize::from(!lower)] -= sign * distance_bar;
    pass.tendon_row(block, tendon, sign);
}
