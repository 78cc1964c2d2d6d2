//! Semi-implicit Euler, implicit in joint damping.
//!
//! With B(v) minus the derivative of the forces of [dampers](crate::laws::damper) and laws of joints, a diagonal,
//!
//!   (M + h·B)·â = τ                                                                      (1)
//!
//! and â = a when no joint is damped or implicit damping is switched off.

use super::Integration;
pub(crate) use crate::arrays::add;
use crate::cotangent::Cotangents;
use crate::data::Data;
use crate::dynamics::At;
use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::inertia;
use crate::state::State;
use crate::terms::{self, DofDamper};

/// Finds the acceleration of the step. (1)
pub(super) fn accelerate<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    if !has_implicit_damping(model) {
        let chosen = &mut data.integration.acceleration;
        chosen.copy_from_slice(&data.solve.qacc);
        return;
    }
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
    if T::HAS_DERIVATIVES {
        // The same at the solution, but forces that balance each other cost no digits of the derivatives.
        inertia::mul(model, &data.inertia, &data.solve.qacc, chosen);
    } else {
        for (dof, chosen) in chosen.iter_mut().enumerate() {
            *chosen = data.acceleration.force_smooth[dof] + data.solve.force_constraint[dof];
        }
    }
    tree_ldl::solve_in_place(sparsity, matrix, diagonal_inverse, chosen);
}

/// The adjoint of (1): μ = (M + h·B)⁻¹·â̄ is the cotangent of the forces, and M̄ −= μ·âᵀ, B̄ −= h·μ·âᵀ.
///
/// Uses up the cotangent of â; returns â.
pub(super) fn backward<'a>(at: At<'a>, bar: &mut [f64], bars: &mut Cotangents) -> &'a [f64] {
    let At { model, data, .. } = at;
    let integration = &data.integration;
    let sparsity = &model.structure.inertia;
    let acceleration = &integration.acceleration;
    if has_implicit_damping(model) {
        let (factor, inverse) = (&integration.matrix, &integration.diagonal_inverse);
        tree_ldl::solve_in_place(sparsity, factor, inverse, bar);
    } else {
        inertia::solve(model, &data.inertia, bar);
    }
    let matrix_bar = &mut bars.data.inertia.matrix;
    inertia::subtract_outer_product(model, bar, acceleration, matrix_bar);
    add(&mut bars.data.acceleration.force_smooth, bar);
    add(&mut bars.data.solve.force_constraint, bar);
    let disable = &model.settings.disable;
    if !(disable.eulerdamp || disable.damper) {
        damping_backward(at, |dof| -bar[dof] * acceleration[dof], bars);
    }
    acceleration
}

/// The adjoint of h·B, given the cotangent of the matrix at the diagonal of each dof.
pub(crate) fn damping_backward(
    at: At<'_>,
    matrix_bar: impl Fn(usize) -> f64,
    bars: &mut Cotangents,
) {
    let (state, h) = (at.state, at.input.timestep);
    for (dof, &velocity) in state.qvel.iter().enumerate() {
        bars.input.timestep += terms::dof::damping_vjp::<DofDamper, 3>(
            at.model,
            dof,
            velocity,
            h,
            matrix_bar(dof),
            &mut bars.model,
            &mut bars.state,
        );
    }
    bars.input.timestep += terms::joint_law::damping_vjp(
        at.model,
        [&state.qpos, &state.qvel],
        h,
        matrix_bar,
        &mut bars.model,
        &mut bars.state,
    );
}

/// M + h·B in the work area. (1)
fn assemble<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    let matrix = &mut data.integration.matrix;
    matrix.copy_from_slice(&data.inertia.matrix);
    add_damping(model, state, data.timestep, matrix);
}

/// Adds h·B to a matrix in the pattern of M. (1)
pub(crate) fn add_damping<T: Scalar>(model: &Model<T>, state: &State<T>, h: T, matrix: &mut [T]) {
    terms::dof::subtract_damping::<DofDamper, 3, T>(model, &state.qvel, h, matrix);
    terms::joint_law::subtract_damping(model, &state.qpos, &state.qvel, h, matrix);
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
        || !model.structure.joint_laws.is_empty()
}
