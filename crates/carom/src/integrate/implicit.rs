//! Implicit in velocity: (M − h·D)·â = τ with D = ∂τ/∂v restricted to the pattern of the kinematic tree.
//!
//! `implicit` takes the derivatives of all smooth forces and an unsymmetric factorisation. `implicitfast` leaves out
//! centripetal and Coriolis forces and takes the symmetric part of the rest, so that LᵀDL serves; standalone free bodies
//! get their full derivative in a system of their own (see [`free_body`](super::free_body)).
//!
//! Dampers, tendons and actuators add multiples of Jᵀ·J, with J a row of their Jacobian. The medium's forces, like the
//! bias force, act on bodies: with Bᶜ the sum of their derivatives over the subtree of the deeper dof,
//!
//!   D(i, k) = s(i)·Bᶜ·s(k)                                                             (1)

use super::Integration;
use super::coriolis::Coriolis;
use super::euler;
use super::free_body::{self, Block};
use crate::data::Data;
use crate::laws::fluid::ForceDerivative;
use crate::linalg::{TreeLu, tree_ldl};
use crate::math::Spatial;
use crate::model::{Integrator, Model};
use crate::scalar::Scalar;
use crate::stages::actuation::{self, ActuatorPlace};
use crate::state::State;
use crate::terms::length::Row;
use crate::terms::{self, TendonDamper, Term};

/// Work area of the implicit integrators.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Work<T: Scalar> {
    /// Full pattern of `implicit`.
    full: Vec<T>,
    pub(super) factor: TreeLu<T>,
    coriolis: Coriolis<T>,
    /// Derivatives of the medium's forces on subtrees; empty without medium.
    medium: Vec<ForceDerivative<T>>,
    /// Matrices of the standalone free bodies under implicitfast, in their order.
    pub(super) free_blocks: Vec<Block<T>>,
}

impl<T: Scalar> Work<T> {
    /// Room for a model.
    pub(super) fn new(model: &Model<T>) -> Self {
        Self {
            full: vec![T::ZERO; model.counts().ndof_pair],
            factor: TreeLu::new(&model.structure.inertia),
            coriolis: Coriolis::new(model),
            medium: vec![ForceDerivative::default(); model.counts().nbody],
            free_blocks: free_body::standalone(model)
                .map(|_| [[T::ZERO; 6]; 6])
                .collect(),
        }
    }
}

/// Advances the state.
pub(super) fn accelerate<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    for (dof, chosen) in data.integration.acceleration.iter_mut().enumerate() {
        *chosen = data.acceleration.force_smooth[dof] + data.solve.force_constraint[dof];
    }
    symmetric_part(model, state, data);
    let medium = sum_medium(model, data);
    if model.settings.integrator == Integrator::Implicit {
        solve_full(model, state, data, medium);
    } else {
        solve_symmetric(model, state, data, medium);
    }
}

/// M − h·D in `matrix`, for the terms of D that are symmetric by themselves.
pub(crate) fn symmetric_part<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>) {
    let h = data.timestep;
    let (structure, disable) = (&model.structure, &model.settings.disable);
    let matrix = &mut data.integration.matrix;
    matrix.copy_from_slice(&data.inertia.matrix);
    if !disable.actuation {
        let pattern = &structure.actuators.moment;
        let place = ActuatorPlace {
            transmission: &data.transmission,
            velocity: &data.velocity,
            timestep: h,
        };
        for actuator in 0..model.counts().nactuator {
            let derivative =
                actuation::velocity_derivative(model, actuator, place, &state.act, &data.actuation);
            for output in structure.actuators.outputs[actuator].clone() {
                Row::of(pattern, &data.transmission.moment, output).subtract_damping(
                    &structure.inertia,
                    derivative * h,
                    matrix,
                );
            }
        }
    }
    if disable.damper {
        return;
    }
    euler::add_damping(model, state, h, matrix);
    let pattern = &structure.tendons.jacobian;
    for (tendon, &rate) in data.velocity.tendon.iter().enumerate() {
        let derivative = TendonDamper::rate_derivative(model, tendon, [rate]);
        Row::of(pattern, &data.tendon.jacobian, tendon).subtract_damping(
            &structure.inertia,
            derivative * h,
            matrix,
        );
    }
}

/// Sums the derivatives of the medium's forces over subtrees; false if there is no medium.
pub(crate) fn sum_medium<T: Scalar>(model: &Model<T>, data: &mut Data<T>) -> bool {
    let (density, viscosity) = (model.option.density[0], model.option.viscosity[0]);
    let absent = density.value() <= 0.0 && viscosity.value() <= 0.0 && !T::HAS_DERIVATIVES;
    let absent = absent || density.vanishes() && viscosity.vanishes();
    if absent || model.settings.disable.spring && model.settings.disable.damper {
        return false;
    }
    let medium = &mut data.integration.implicit.medium;
    for (body, derivative) in medium.iter_mut().enumerate() {
        *derivative = terms::body::derivative(model, &data.kinematics, &data.velocity, body);
    }
    for body in (1..medium.len()).rev() {
        let derivative = medium[body];
        let parent = model.structure.bodies.parent[body];
        if parent > 0 {
            medium[parent].add(&derivative);
        }
    }
    true
}

/// The full matrix of `implicit`.
fn assemble_full<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>, medium: bool) {
    let h = data.timestep;
    let (structure, nbody) = (&model.structure, model.counts().nbody);
    let (matrix, work) = (&data.integration.matrix, &mut data.integration.implicit);
    work.coriolis.prepare(
        model,
        (0, nbody),
        &data.kinematics,
        &data.velocity,
        &state.qvel,
    );
    let axes = &data.kinematics.dof_axis;
    for (dof, &body) in structure.dofs.body.iter().enumerate() {
        let pair = work.coriolis.pair(body, dof, axes[dof], &data.inertia);
        let (mut above, mut below) = (pair.force, Spatial::ZERO);
        if medium {
            above -= work.medium[body].mul(axes[dof]);
            below = work.medium[body].transpose_mul(axes[dof]);
        }
        for entry in structure.inertia.row_range(dof) {
            let ancestor = structure.inertia.columns[entry];
            let axis = axes[ancestor];
            let change = work.coriolis.below(&pair, ancestor, axis) - below.dot(axis);
            work.full[structure.dof_pairs.lower[entry]] = matrix[entry] + change * h;
            // On the diagonal the two agree.
            work.full[structure.dof_pairs.upper[entry]] = matrix[entry] + axis.dot(above) * h;
        }
    }
}

/// M − h·D of `implicit`, in the pattern of pairs of dofs.
pub(crate) fn full_matrix<'a, T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    data: &'a mut Data<T>,
) -> &'a [T] {
    symmetric_part(model, state, data);
    let medium = sum_medium(model, data);
    assemble_full(model, state, data, medium);
    &data.integration.implicit.full
}

/// `implicit`: the full matrix and its unsymmetric factorisation.
fn solve_full<T: Scalar>(model: &Model<T>, state: &State<T>, data: &mut Data<T>, medium: bool) {
    assemble_full(model, state, data, medium);
    let structure = &model.structure;
    let Integration {
        acceleration,
        implicit: work,
        ..
    } = &mut data.integration;
    let factored = work
        .factor
        .factor(&structure.inertia, &structure.dof_pairs, &work.full);
    if factored.is_err() {
        acceleration.fill(T::from(f64::NAN));
        return;
    }
    work.factor.solve_in_place(&structure.inertia, acceleration);
}

/// Subtracts the symmetric part of the medium's derivatives. (1)
pub(crate) fn subtract_medium<T: Scalar>(model: &Model<T>, data: &mut Data<T>) {
    let (sparsity, axes) = (&model.structure.inertia, &data.kinematics.dof_axis);
    let half_step = data.timestep * 0.5;
    let (matrix, work) = (&mut data.integration.matrix, &data.integration.implicit);
    for (dof, &body) in model.structure.dofs.body.iter().enumerate() {
        let derivative = &work.medium[body];
        let twice = derivative.mul(axes[dof]) + derivative.transpose_mul(axes[dof]);
        for entry in sparsity.row_range(dof) {
            matrix[entry] -= axes[sparsity.columns[entry]].dot(twice) * half_step;
        }
    }
}

/// `implicitfast`: the symmetric part and LᵀDL, free bodies by themselves.
fn solve_symmetric<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    data: &mut Data<T>,
    medium: bool,
) {
    for (index, (dof, body)) in free_body::standalone(model).enumerate() {
        let mut block = free_block(model, state, data, (dof, body), medium);
        data.integration.implicit.free_blocks[index] = block;
        let mut x = std::array::from_fn(|i| data.integration.acceleration[dof + i]);
        if !free_body::solve(&mut block, &mut x) {
            // As if the body were integrated explicitly.
            x = std::array::from_fn(|i| data.solve.qacc[dof + i]);
        }
        data.integration.acceleration[dof..dof + 6].copy_from_slice(&x);
    }
    if medium {
        subtract_medium(model, data);
    }
    let sparsity = &model.structure.inertia;
    let Integration {
        acceleration,
        matrix,
        diagonal_inverse,
        ..
    } = &mut data.integration;
    // The rows of free bodies are solved already: unit rows keep their result.
    for (first, _) in free_body::standalone(model) {
        for dof in first..first + 6 {
            matrix[sparsity.row_range(dof)].fill(T::ZERO);
            matrix[sparsity.diagonal[dof]] = T::ONE;
        }
    }
    if tree_ldl::factor_in_place(sparsity, matrix, diagonal_inverse).is_err() {
        diagonal_inverse.fill(T::from(f64::NAN));
    }
    tree_ldl::solve_in_place(sparsity, matrix, diagonal_inverse, acceleration);
}

/// product ← (M − h·D)·vector.
pub(super) fn multiply<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    vector: &[T],
    data: &mut Data<T>,
    product: &mut [T],
) {
    symmetric_part(model, state, data);
    let medium = sum_medium(model, data);
    if model.settings.integrator == Integrator::Implicit {
        assemble_full(model, state, data, medium);
        let (pattern, full) = (&model.structure.dof_pairs, &data.integration.implicit.full);
        for (dof, product) in product.iter_mut().enumerate() {
            let entries = pattern.row_range(dof);
            let row = pattern.columns[entries.clone()].iter().zip(&full[entries]);
            *product = row.fold(T::ZERO, |sum, (&column, &entry)| {
                sum + entry * vector[column]
            });
        }
        return;
    }
    let mut rows = [T::ZERO; 6];
    for (dof, body) in free_body::standalone(model) {
        let block = free_block(model, state, data, (dof, body), medium);
        for (row, block) in rows.iter_mut().zip(&block) {
            let terms = block.iter().zip(&vector[dof..]);
            *row = terms.fold(T::ZERO, |sum, (&entry, &x)| sum + entry * x);
        }
        data.integration.acceleration[dof..dof + 6].copy_from_slice(&rows);
    }
    if medium {
        subtract_medium(model, data);
    }
    let matrix = &data.integration.matrix;
    tree_ldl::mul_vec(&model.structure.inertia, matrix, vector, product);
    for (dof, _) in free_body::standalone(model) {
        product[dof..dof + 6].copy_from_slice(&data.integration.acceleration[dof..dof + 6]);
    }
}

/// M − h·D of a free body with the derivatives of the bias force and of the medium in full.
pub(crate) fn free_block<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    data: &mut Data<T>,
    (first, body): (usize, usize),
    medium: bool,
) -> Block<T> {
    let h = data.timestep;
    let sparsity = &model.structure.inertia;
    let work = &mut data.integration.implicit;
    let subtree = (body, model.structure.bodies.subtree_end[body]);
    work.coriolis.prepare(
        model,
        subtree,
        &data.kinematics,
        &data.velocity,
        &state.qvel,
    );
    let axes = &data.kinematics.dof_axis;
    let mut block = [[T::ZERO; 6]; 6];
    for row in 0..6 {
        let dof = first + row;
        let pair = work.coriolis.pair(body, dof, axes[dof], &data.inertia);
        for entry in sparsity.row_range(dof) {
            let ancestor = sparsity.columns[entry];
            let column = ancestor - first;
            let symmetric = data.integration.matrix[entry];
            block[row][column] =
                symmetric + work.coriolis.below(&pair, ancestor, axes[ancestor]) * h;
            block[column][row] = symmetric + axes[ancestor].dot(pair.force) * h;
        }
    }
    if medium {
        for column in 0..6 {
            let change = work.medium[body].mul(axes[first + column]);
            for row in 0..6 {
                block[row][column] -= axes[first + row].dot(change) * h; // (1)
            }
        }
    }
    block
}
