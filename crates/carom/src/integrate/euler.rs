//! Semi-implicit Euler, implicit in joint damping.
//!
//! With B(v) the derivative of the joint damping force b·v + b₂·v·|v| + b₃·v³,
//!
//!   (M + h·B)·â = τ,   B = diag(b + 2·b₂·|v| + 3·b₃·v²)                                 (1)
//!
//! and â = a when no joint is damped or implicit damping is switched off.

use super::{Integration, Rates, update_state};
use crate::cotangent::Cotangents;
use crate::data::Data;
use crate::dynamics::At;
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
    let chosen = if damped {
        &data.integration.acceleration
    } else {
        &data.solve.qacc
    };
    state.warmstart.copy_from_slice(&data.solve.qacc);
    let rates = Rates {
        activation: &data.actuation.activation_dot,
        acceleration: chosen,
        position: None,
    };
    update_state(model, state, &data.transmission, rates, data.timestep);
}

/// The adjoint of (1): μ = (M + h·B)⁻¹·â̄ is the cotangent of the forces, and M̄ −= μ·âᵀ, B̄ −= h·μ·âᵀ.
///
/// Uses up the cotangent of â; returns â.
pub(super) fn backward<'a>(at: At<'a>, bar: &mut [f64], bars: &mut Cotangents) -> &'a [f64] {
    let At { model, data, .. } = at;
    let integration = &data.integration;
    let sparsity = &model.structure.inertia;
    let acceleration = if has_implicit_damping(model) {
        let (factor, inverse) = (&integration.matrix, &integration.diagonal_inverse);
        tree_ldl::solve_in_place(sparsity, factor, inverse, bar);
        &integration.acceleration
    } else {
        inertia::solve(model, &data.inertia, bar);
        &data.solve.qacc
    };
    let matrix_bar = &mut bars.data.inertia.matrix;
    inertia::subtract_outer_product(model, bar, acceleration, matrix_bar);
    add(&mut bars.data.acceleration.force_smooth, bar);
    add(&mut bars.data.solve.force_constraint, bar);
    let disable = &model.settings.disable;
    if !(disable.eulerdamp || disable.damper) {
        for dof in 0..bar.len() {
            let product = -bar[dof] * acceleration[dof];
            damping_derivative_vjp(at, dof, product, bars);
        }
    }
    acceleration
}

/// sum ← sum + terms.
pub(crate) fn add(sum: &mut [f64], terms: &[f64]) {
    for (sum, term) in sum.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// The twin of h times [`damping_derivative`].
pub(crate) fn damping_derivative_vjp(at: At<'_>, dof: usize, bar: f64, bars: &mut Cotangents) {
    let (model, velocity, h) = (at.model, at.state.qvel[dof], at.input.timestep);
    bars.input.timestep += damping_derivative(model, dof, velocity) * bar;
    let numbers = &mut bars.model.dofs;
    let poly = model.dofs.damping_poly[dof];
    bars.state.qvel[dof] += polynomial_derivative_vjp(
        poly,
        velocity,
        h * bar,
        (&mut numbers.damping[dof], &mut numbers.damping_poly[dof]),
    );
}

/// The twin of [`polynomial_derivative`]; returns the cotangent of the velocity.
pub(crate) fn polynomial_derivative_vjp(
    [quadratic, cubic]: [f64; 2],
    velocity: f64,
    bar: f64,
    (linear_bar, poly_bar): (&mut f64, &mut [f64; 2]),
) -> f64 {
    *linear_bar += bar;
    poly_bar[0] += 2.0 * velocity.abs() * bar;
    poly_bar[1] += 3.0 * velocity * velocity * bar;
    let slope = if velocity == 0.0 {
        0.0
    } else {
        velocity.signum()
    };
    (2.0 * quadratic * slope + 6.0 * cubic * velocity) * bar
}

/// M + h·B in the work area. (1)
fn assemble<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    let matrix = &mut data.integration.matrix;
    matrix.copy_from_slice(&data.inertia.matrix);
    add_damping(model, &state.qvel, data.timestep, matrix);
}

/// Adds h·B to a matrix in the pattern of M. (1)
pub(crate) fn add_damping<T: Scalar>(model: &Model<T>, qvel: &[T], h: T, matrix: &mut [T]) {
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
pub(crate) fn polynomial_derivative<T: Scalar>(
    linear: T,
    [quadratic, cubic]: [T; 2],
    velocity: T,
) -> T {
    linear + quadratic * velocity.abs() * 2.0 + cubic * velocity * velocity * 3.0
}
