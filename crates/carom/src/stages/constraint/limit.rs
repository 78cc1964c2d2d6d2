//! Limits of joints and tendons.

use super::forward::Context;
use super::{BlockKind, Constraint, Reference, Row};
use crate::math::Quat;
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
    let reference = Reference::new(model, numbers.solref[joint], numbers.solimp[joint]);
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
    let reference = Reference::new(model, numbers.solref_limit[tendon], solimp);
    let velocity = context.velocity(&block, 0, out);
    let impedance = reference.at(distance - margin);
    out.rows
        .push(Row::new([distance, margin], velocity, diagonal, impedance));
}
