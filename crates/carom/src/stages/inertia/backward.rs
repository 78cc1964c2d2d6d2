//! The adjoint of the joint-space inertia.
//!
//!   w(i) = Σ M̄(i, j)·s(j),   s̄(j) += M̄(i, j)·C·s(i),   s̄(i) += C·w(i),   C̄ += w(i) ⊗ s(i)   (2̄)
//!   Ī(b) = C̄(b) + C̄(parents of b)                                                        (1̄)
//!   m̄ += Σ M̄(i, j)·J(i)·J(j),   J̄(i) += m·M̄(i, j)·J(j), and the same for j               (3̄)
//!
//! with C the composite inertia of the body of i. The stored half of M stands for both; so does its cotangent.

use std::mem::take;

use super::Inertia;
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::linalg::{TreeSparsity, tree_ldl};
use crate::math::Spatial;
use crate::model::Model;

/// Adds the cotangents of inertias, axes, armature and tendon Jacobians; those of the inertia are used up.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let mut own = take(&mut bar.data.inertia);
    tendon_armature(at, &own.matrix, bar);
    let (model, inertia) = (at.model, &at.data.inertia);
    let (kinematics_bar, model_bar) = (&mut bar.data.kinematics, &mut bar.model);
    let (sparsity, axes) = (&model.structure.inertia, &at.data.kinematics.dof_axis[..]);
    for (dof, &body) in model.structure.dofs.body.iter().enumerate() {
        let row = sparsity.row_range(dof);
        let entries = &own.matrix[row.clone()];
        let momentum = inertia.composite[body].mul_motion(axes[dof]);
        let mut along = Spatial::ZERO;
        for (&entry, &ancestor) in entries.iter().zip(&sparsity.columns[row]) {
            along = along.scale_add(axes[ancestor], entry);
            kinematics_bar.dof_axis[ancestor] =
                kinematics_bar.dof_axis[ancestor].scale_add(momentum, entry);
        }
        inertia.composite[body].mul_motion_vjp(
            axes[dof],
            along,
            &mut own.composite[body],
            &mut kinematics_bar.dof_axis[dof],
        );
        if let Some(&diagonal) = entries.last() {
            model_bar.dofs.armature[dof] += diagonal;
        }
    }
    let parents = &model.structure.bodies.parent;
    for body in 1..own.composite.len() {
        if parents[body] > 0 {
            let from_parent = own.composite[parents[body]];
            own.composite[body] += from_parent;
        }
        kinematics_bar.body_inertia[body] += own.composite[body];
    }
    kinematics_bar.body_inertia[0] += own.composite[0];
    bar.data.inertia = own;
}

/// (3̄)
fn tendon_armature(at: At<'_>, matrix_bar: &[f64], bar: &mut Cotangents) {
    let (model, tendon) = (at.model, &at.data.tendon);
    let (sparsity, pattern) = (&model.structure.inertia, &model.structure.tendons.jacobian);
    for (index, &armature) in model.tendons.armature.iter().enumerate() {
        let range = pattern.row(index);
        let row = (
            &pattern.columns[range.clone()],
            &tendon.jacobian[range.clone()],
        );
        let armature_bar = outer_product_vjp(
            sparsity,
            row,
            armature,
            matrix_bar,
            &mut bar.data.tendon.jacobian[range],
        );
        bar.model.tendons.armature[index] += armature_bar;
    }
}

/// The twin of [`add_outer_product`](super::add_outer_product): adds to the cotangents of the values; returns that of the
/// factor.
pub(crate) fn outer_product_vjp(
    sparsity: &TreeSparsity,
    (columns, values): (&[usize], &[f64]),
    factor: f64,
    matrix_bar: &[f64],
    values_bar: &mut [f64],
) -> f64 {
    let mut factor_bar = 0.0;
    for (i, &dof) in columns.iter().enumerate() {
        let row = sparsity.row_range(dof);
        let mut j = 0;
        for (&ancestor, &entry) in sparsity.columns[row.clone()].iter().zip(&matrix_bar[row]) {
            while j < columns.len() && columns[j] < ancestor {
                j += 1;
            }
            if j < columns.len() && columns[j] == ancestor {
                factor_bar += entry * values[i] * values[j];
                values_bar[i] += factor * entry * values[j];
                values_bar[j] += factor * entry * values[i];
            }
        }
    }
    factor_bar
}

/// The adjoint of x = M⁻¹·y: `bar` comes in as x̄ and leaves as ȳ = M⁻¹·x̄; M̄ −= ȳ·xᵀ, both halves in one.
pub fn solve_vjp(
    model: &Model,
    inertia: &Inertia,
    x: &[f64],
    bar: &mut [f64],
    matrix_bar: &mut [f64],
) {
    let sparsity = &model.structure.inertia;
    tree_ldl::solve_in_place(sparsity, &inertia.factor, &inertia.diagonal_inverse, bar);
    subtract_outer_product(model, bar, x, matrix_bar);
}

/// M̄ −= λ·xᵀ + x·λᵀ on the stored half, once on the diagonal: the cotangent of λᵀ·M·x taken negative.
pub(crate) fn subtract_outer_product(
    model: &Model,
    lambda: &[f64],
    x: &[f64],
    matrix_bar: &mut [f64],
) {
    let sparsity = &model.structure.inertia;
    for dof in 0..lambda.len() {
        let row = sparsity.row_range(dof);
        let (lambda_i, x_i) = (lambda[dof], x[dof]);
        for (entry, &ancestor) in matrix_bar[row.clone()]
            .iter_mut()
            .zip(&sparsity.columns[row])
        {
            *entry -= lambda_i * x[ancestor];
            if ancestor != dof {
                *entry -= x_i * lambda[ancestor];
            }
        }
    }
}

/// M̄ −= factor·x·xᵀ, both halves in one.
pub(crate) fn subtract_scaled_square(
    model: &Model,
    x: &[f64],
    factor: f64,
    matrix_bar: &mut [f64],
) {
    let sparsity = &model.structure.inertia;
    for dof in 0..x.len() {
        let row = sparsity.row_range(dof);
        let entries = matrix_bar[row.clone()].iter_mut();
        for (entry, &ancestor) in entries.zip(&sparsity.columns[row]) {
            let both = if ancestor == dof { 1.0 } else { 2.0 };
            *entry -= both * factor * x[dof] * x[ancestor];
        }
    }
}
