//! Dry friction of dofs and tendons: a force of bounded size that opposes motion.

use super::backward::Pass;
use super::forward::Context;
use super::{Block, BlockKind, Constraint, Impedance, Reference, Row};
use crate::scalar::Scalar;

/// Appends the friction of all dofs and tendons that have some.
pub(super) fn push<T: Scalar>(context: &Context<T>, out: &mut Constraint<T>) {
    push_dofs(context, out);
    push_tendons(context, out);
}

fn push_dofs<T: Scalar>(context: &Context<T>, out: &mut Constraint<T>) {
    let dofs = &context.model.dofs;
    for (dof, &loss) in dofs.frictionloss.iter().enumerate() {
        if loss == T::ZERO {
            continue;
        }
        let start = out.columns.len();
        out.columns.push(dof);
        let block = out.open(BlockKind::DofFriction, dof, start..start + 1, 1);
        out.jacobian[block.value] = T::ONE;
        let diagonal = context.diagonal(dofs.inverse_weight[dof], &block, 0, out);
        let reference = context.spring(&block);
        let velocity = context.state.qvel[dof];
        out.rows
            .push(friction_row(velocity, diagonal, &reference, loss));
    }
}

fn push_tendons<T: Scalar>(context: &Context<T>, out: &mut Constraint<T>) {
    let (tendons, pattern) = (
        &context.model.tendons,
        &context.model.structure.tendons.jacobian,
    );
    for (tendon, &loss) in tendons.frictionloss.iter().enumerate() {
        if loss <= T::ZERO {
            continue;
        }
        let start = out.columns.len();
        out.columns.extend_from_slice(pattern.columns(tendon));
        let columns = start..out.columns.len();
        let block = out.open(BlockKind::TendonFriction, tendon, columns, 1);
        out.jacobian[block.values()]
            .copy_from_slice(&context.sources.tendon.jacobian[pattern.row(tendon)]);
        if context.is_empty(&block, out) {
            out.discard_last_block();
            continue;
        }
        let diagonal = context.diagonal(tendons.inverse_weight[tendon], &block, 0, out);
        let reference = context.spring(&block);
        let velocity = context.velocity(&block, 0, out);
        out.rows
            .push(friction_row(velocity, diagonal, &reference, loss));
    }
}

/// A row without position: only the damper acts.
fn friction_row<T: Scalar>(velocity: T, diagonal: T, reference: &Reference<T>, loss: T) -> Row<T> {
    let impedance = Impedance {
        stiffness: T::ZERO,
        ..reference.at(T::ZERO)
    };
    Row::new([T::ZERO; 2], velocity, diagonal, impedance).with_friction(loss)
}

/// The adjoint of a friction row.
pub(super) fn backward(pass: &mut Pass<'_>, block: &Block) {
    let friction_bar = pass.bar.rows[block.row].friction;
    pass.single(block);
    if block.kind == BlockKind::DofFriction {
        pass.bars.model.dofs.frictionloss[block.object] += friction_bar;
    } else {
        pass.bars.model.tendons.frictionloss[block.object] += friction_bar;
        pass.tendon_row(block, block.object, 1.0);
    }
}
