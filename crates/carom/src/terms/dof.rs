//! Laws over the velocity of a dof: dampers.
//!
//!   τ(i) = f(v(i), p),   D(i, i) = ∂f/∂v
//!
//! All functions hold for one term and every dof; who calls them knows whether the term is switched on.

use super::Term;
use super::length::Advance;
use crate::cotangent::StateBar;
use crate::linearize::{Layout, Rows};
use crate::model::Model;
use crate::scalar::Scalar;

/// Sets the forces.
pub(crate) fn forward<L: Term<1, K>, const K: usize, T: Scalar>(
    model: &Model<T>,
    qvel: &[T],
    force: &mut [T],
) {
    for (dof, (force, &v)) in force.iter_mut().zip(qvel).enumerate() {
        *force = L::value(model, dof, [v]);
    }
}

/// The adjoint of [`forward`].
pub(crate) fn backward<L: Term<1, K>, const K: usize>(
    model: &Model,
    qvel: &[f64],
    bar: &[f64],
    model_bar: &mut Model,
    state_bar: &mut StateBar,
) {
    for (dof, (&bar, &v)) in bar.iter().zip(qvel).enumerate() {
        let [rate_bar] = L::vjp(model, dof, [v], bar, model_bar);
        state_bar.qvel[dof] += rate_bar;
    }
}

/// matrix ← matrix − h·D, in the pattern of M.
pub(crate) fn subtract_damping<L: Term<1, K>, const K: usize, T: Scalar>(
    model: &Model<T>,
    qvel: &[T],
    h: T,
    matrix: &mut [T],
) {
    for (dof, &diagonal) in model.structure.inertia.diagonal.iter().enumerate() {
        matrix[diagonal] -= L::rate_derivative(model, dof, [qvel[dof]]) * h;
    }
}

/// The adjoint of −h·D at one dof: returns the cotangent of h.
#[inline]
pub(crate) fn damping_vjp<L: Term<1, K>, const K: usize>(
    model: &Model,
    dof: usize,
    v: f64,
    h: f64,
    bar: f64,
    model_bar: &mut Model,
    state_bar: &mut StateBar,
) -> f64 {
    let [rate_bar] = L::rate_derivative_vjp(model, dof, [v], -h * bar, model_bar);
    state_bar.qvel[dof] += rate_bar;
    -L::rate_derivative(model, dof, [v]) * bar
}

/// Adds the columns of ∂τ/∂v.
pub(crate) fn columns<L: Term<1, K>, const K: usize>(
    model: &Model,
    qvel: &[f64],
    layout: &Layout,
    rows: &mut Rows<'_>,
) {
    for (dof, &v) in qvel.iter().enumerate() {
        rows.row(dof)[layout.nv + dof] += L::by_inputs(model, dof, [v])[0];
    }
}

/// Adds the columns of h·dD·ȧ by the velocity.
pub(crate) fn damping_columns<L: Term<1, K>, const K: usize>(
    model: &Model,
    qvel: &[f64],
    advance: Advance<'_>,
    layout: &Layout,
    rows: &mut Rows<'_>,
) {
    for (dof, &v) in qvel.iter().enumerate() {
        let [change] = L::rate_derivative_by_inputs(model, dof, [v]);
        rows.row(dof)[layout.nv + dof] += advance.h * change * advance.acceleration[dof];
    }
}
