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
        let reference = context.reference(dofs.solref[dof], dofs.solimp[dof]);
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
        let solimp = tendons.solimp_friction[tendon];
        let reference = context.reference(tendons.solref_friction[tendon], solimp);
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
    let (model, object) = (pass.model, block.object);
    let friction_bar = pass.bar.rows[block.row].friction;
    let mut inputs = pass.plain_row(block.row);
    inputs.impedance.stiffness = 0.0;
    let exact = pass.exact_diagonal(block, &[(0, 1.0)], inputs.diagonal);
    let diagonal_bar = if exact { 0.0 } else { inputs.diagonal };
    pass.velocity(block, 0, inputs.velocity);
    let on_dof = block.kind == BlockKind::DofFriction;
    let (solref, solimp) = if on_dof {
        (model.dofs.solref[object], model.dofs.solimp[object])
    } else {
        let tendons = &model.tendons;
        (
            tendons.solref_friction[object],
            tendons.solimp_friction[object],
        )
    };
    let reference = pass.reference(solref, solimp, (0.0, None), inputs.impedance);
    let (solref_bar, solimp_bar) = if on_dof {
        let dofs = &mut pass.bars.model.dofs;
        dofs.inverse_weight[object] += diagonal_bar;
        dofs.frictionloss[object] += friction_bar;
        (&mut dofs.solref[object], &mut dofs.solimp[object])
    } else {
        let tendons = &mut pass.bars.model.tendons;
        tendons.inverse_weight[object] += diagonal_bar;
        tendons.frictionloss[object] += friction_bar;
        let range = model.structure.tendons.jacobian.row(object);
        let entries = &pass.bar.jacobian[block.values()];
        for (total, &bar) in pass.bars.data.tendon.jacobian[range]
            .iter_mut()
            .zip(entries)
        {
            *total += bar;
        }
        (
            &mut tendons.solref_friction[object],
            &mut tendons.solimp_friction[object],
        )
    };
    super::backward::add(solref_bar, reference.solref);
    super::backward::add(solimp_bar, reference.solimp);
}
