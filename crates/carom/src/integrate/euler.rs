//! Semi-implicit Euler, implicit in joint damping.
//!
//! With B(v) the derivative of the joint damping force b·v + b₂·v·|v| + b₃·v³,
//!
//!   (M + h·B)·â = τ,   B = diag(b + 2·b₂·|v| + 3·b₃·v²)                                 (1)
//!
//! and â = a when no joint is damped or implicit damping is switched off.

use super::{Integration, update_state};
use crate::data::Data;
use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::inertia;
use crate::state::State;

/// Advances the state.
pub(super) fn advance<T: Scalar>(model: &Model<T>, state: &mut State<T>, data: &mut Data<T>) {
    let damped = has_implicit_damping(model);
    if damped {
        assemble(model, state, data);
        let Integration {
            acceleration: chosen,
            matrix,
            diagonal_inverse,
            ..
        } = &mut data.integration;
        let sparsity = &model.structure.inertia;
        if tree_ldl::factor_in_place(sparsity, matrix, diagonal_inverse).is_err() {
            diagonal_inverse.fill(T::from(f64::NAN));
        }
        for (dof, chosen) in chosen.iter_mut().enumerate() {
            *chosen = data.acceleration.force_smooth[dof] + data.solve.force_constraint[dof];
        }
        tree_ldl::solve_in_place(sparsity, matrix, diagonal_inverse, chosen);
    }
    let chosen = if damped {
        &data.integration.acceleration
    } else {
        &data.solve.qacc
    };
    state.warmstart.copy_from_slice(&data.solve.qacc);
    update_state(
        model,
        state,
        &data.transmission,
        &data.actuation.activation_dot,
        chosen,
        None,
    );
}

/// M + h·B in the work area. (1)
fn assemble<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    let matrix = &mut data.integration.matrix;
    matrix.copy_from_slice(&data.inertia.matrix);
    add_damping(model, &state.qvel, matrix);
}

/// Adds h·B to a matrix in the pattern of M. (1)
pub(crate) fn add_damping<T: Scalar>(model: &Model<T>, qvel: &[T], matrix: &mut [T]) {
    let h = model.option.timestep[0];
    for (dof, &diagonal) in model.structure.inertia.diagonal.iter().enumerate() {
        matrix[diagonal] += damping_derivative(model, dof, qvel[dof]) * h;
    }
}

/// product ← (M + h·B)·vector, or M·vector when nothing is damped.
pub(super) fn multiply<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    vector: &[T],
    data: &mut Data<T>,
    product: &mut [T],
) {
    if has_implicit_damping(model) {
        assemble(model, state, data);
        let matrix = &data.integration.matrix;
        tree_ldl::mul_vec(&model.structure.inertia, matrix, vector, product);
    } else {
        inertia::mul(model, &data.inertia, vector, product);
    }
}

/// Whether damping takes part in the step at all.
pub(crate) fn has_implicit_damping<T: Scalar>(model: &Model<T>) -> bool {
    let disable = &model.settings.disable;
    if disable.eulerdamp || disable.damper {
        return false;
    }
    let dofs = &model.dofs;
    T::HAS_DERIVATIVES
        || dofs.damping.iter().any(|&damping| damping > T::ZERO)
        || dofs.damping_poly.iter().any(|&poly| poly != [T::ZERO; 2])
}

/// The derivative of a dof's damping force with respect to its velocity, without its minus sign.
#[inline]
pub(super) fn damping_derivative<T: Scalar>(model: &Model<T>, dof: usize, velocity: T) -> T {
    let dofs = &model.dofs;
    polynomial_derivative(dofs.damping[dof], dofs.damping_poly[dof], velocity)
}

/// d/dv of b·v + b₂·v·|v| + b₃·v³.
#[inline]
pub(super) fn polynomial_derivative<T: Scalar>(
    linear: T,
    [quadratic, cubic]: [T; 2],
    velocity: T,
) -> T {
    linear + quadratic * velocity.abs() * 2.0 + cubic * velocity * velocity * 3.0
}
