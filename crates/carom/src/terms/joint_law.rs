//! Laws of joints that files choose by texts: a list of terms, each at one joint that slides or turns.
//!
//!   τ(i) += f(q(i), v(i), p),   D(i, i) += ∂f/∂v
//!
//! The list is read from the model's structure, law by law: which law, where it acts, where its parameters start. A model
//! without such laws has an empty list. They act with the dampers, and are switched off with them.

use super::length::Advance;
use crate::cotangent::StateBar;
use crate::laws::joint as laws;
use crate::linearize::{Layout, Rows};
use crate::model::{JointLaw, Model};
use crate::scalar::Scalar;

/// Position and velocity at a law.
#[inline]
fn inputs<T: Scalar>(law: &JointLaw, qpos: &[T], qvel: &[T]) -> [T; 2] {
    [qpos[law.coordinate], qvel[law.dof]]
}

/// The parameters of a law.
#[inline]
fn parameters<'a, T: Scalar>(model: &'a Model<T>, law: &JointLaw) -> &'a [T] {
    &model.joint_laws.parameter[law.first..]
}

/// Adds the forces.
pub(crate) fn forward<T: Scalar>(model: &Model<T>, qpos: &[T], qvel: &[T], force: &mut [T]) {
    for law in &model.structure.joint_laws {
        let x = inputs(law, qpos, qvel);
        force[law.dof] += laws::value(law.kind, x, parameters(model, law));
    }
}

/// The adjoint of [`forward`].
pub(crate) fn backward(
    model: &Model,
    [qpos, qvel]: [&[f64]; 2],
    bar: &[f64],
    model_bar: &mut Model,
    state_bar: &mut StateBar,
) {
    for law in &model.structure.joint_laws {
        let (x, p, bar) = (
            inputs(law, qpos, qvel),
            parameters(model, law),
            bar[law.dof],
        );
        let p_bar = &mut model_bar.joint_laws.parameter[law.first..];
        laws::by_parameters(law.kind, x, p, |k, slope| p_bar[k] += slope * bar);
        let [by_position, by_velocity] = laws::by_inputs(law.kind, x, p);
        state_bar.qpos[law.dof] += by_position * bar;
        state_bar.qvel[law.dof] += by_velocity * bar;
    }
}

/// matrix ← matrix − h·D, in the pattern of M.
pub(crate) fn subtract_damping<T: Scalar>(
    model: &Model<T>,
    qpos: &[T],
    qvel: &[T],
    h: T,
    matrix: &mut [T],
) {
    let diagonal = &model.structure.inertia.diagonal;
    for law in &model.structure.joint_laws {
        let x = inputs(law, qpos, qvel);
        let derivative = laws::rate_derivative(law.kind, x, parameters(model, law));
        matrix[diagonal[law.dof]] -= derivative * h;
    }
}

/// The adjoint of −h·D, given the cotangent of the matrix at a dof: returns the cotangent of h.
pub(crate) fn damping_vjp(
    model: &Model,
    [qpos, qvel]: [&[f64]; 2],
    h: f64,
    matrix_bar: impl Fn(usize) -> f64,
    model_bar: &mut Model,
    state_bar: &mut StateBar,
) -> f64 {
    let mut h_bar = 0.0;
    for law in &model.structure.joint_laws {
        let (x, p) = (inputs(law, qpos, qvel), parameters(model, law));
        let entry_bar = matrix_bar(law.dof);
        let bar = -h * entry_bar;
        let p_bar = &mut model_bar.joint_laws.parameter[law.first..];
        laws::rate_derivative_by_parameters(law.kind, x, p, |k, slope| p_bar[k] += slope * bar);
        let [by_position, by_velocity] = laws::rate_derivative_by_inputs(law.kind, x, p);
        state_bar.qpos[law.dof] += by_position * bar;
        state_bar.qvel[law.dof] += by_velocity * bar;
        h_bar -= laws::rate_derivative(law.kind, x, p) * entry_bar;
    }
    h_bar
}

/// Adds the columns of ∂τ/∂q and ∂τ/∂v.
pub(crate) fn columns(
    model: &Model,
    [qpos, qvel]: [&[f64]; 2],
    layout: &Layout,
    rows: &mut Rows<'_>,
) {
    for law in &model.structure.joint_laws {
        let x = inputs(law, qpos, qvel);
        let [by_position, by_velocity] = laws::by_inputs(law.kind, x, parameters(model, law));
        rows.row(law.dof)[law.dof] += by_position;
        rows.row(law.dof)[layout.nv + law.dof] += by_velocity;
    }
}

/// Adds the columns of h·dD·ȧ by position and velocity.
pub(crate) fn damping_columns(
    model: &Model,
    [qpos, qvel]: [&[f64]; 2],
    advance: Advance<'_>,
    layout: &Layout,
    rows: &mut Rows<'_>,
) {
    for law in &model.structure.joint_laws {
        let (x, p) = (inputs(law, qpos, qvel), parameters(model, law));
        let scale = advance.h * advance.acceleration[law.dof];
        let [by_position, by_velocity] = laws::rate_derivative_by_inputs(law.kind, x, p);
        rows.row(law.dof)[law.dof] += scale * by_position;
        rows.row(law.dof)[layout.nv + law.dof] += scale * by_velocity;
    }
}

/// What a parameter of a law changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slope {
    /// Where it acts.
    pub(crate) dof: usize,
    /// ∂f/∂p.
    pub(crate) force: f64,
    /// ∂D/∂p.
    pub(crate) damping: f64,
}

/// What a parameter changes, counted over all laws.
pub(crate) fn by_parameter(
    model: &Model,
    [qpos, qvel]: [&[f64]; 2],
    parameter: usize,
) -> Option<Slope> {
    let mut list = model.structure.joint_laws.iter();
    let law = list.find(|law| law.parameters().contains(&parameter))?;
    let (x, p) = (inputs(law, qpos, qvel), parameters(model, law));
    let (mut force, mut damping) = (0.0, 0.0);
    let own = parameter - law.first;
    laws::by_parameters(law.kind, x, p, |k, slope| {
        force += if k == own { slope } else { 0.0 };
    });
    laws::rate_derivative_by_parameters(law.kind, x, p, |k, slope| {
        damping += if k == own { slope } else { 0.0 };
    });
    let dof = law.dof;
    Some(Slope {
        dof,
        force,
        damping,
    })
}
