//! Derivatives of the acceleration alone, before any integrator: ∂a/∂q, ∂a/∂v, ∂a/∂w, ∂a/∂u, and by generalised forces
//!
//!   ∂a/∂τ = H⁻¹                                                                               (1)
//!
//! which is M⁻¹ where no constraint acts.

use super::{Layout, Linearization, coverage};
use crate::data::Data;
use crate::linalg::many;
use crate::model::Model;
use crate::state::{Input, State};

/// Derivatives of the acceleration, one row a dof; found by [`acceleration`].
#[derive(Clone, Copy, Debug)]
pub struct AccelerationDerivative<'a> {
    rows: &'a [f64],
    layout: Layout,
    /// By generalised forces: a symmetric matrix of nv × nv numbers.
    pub by_force: &'a [f64],
}

impl<'a> AccelerationDerivative<'a> {
    /// By the configuration, in tangent space.
    pub fn by_qpos(&self, dof: usize) -> &'a [f64] {
        &self.row(dof)[..self.layout.nv]
    }

    /// By the velocity.
    pub fn by_qvel(&self, dof: usize) -> &'a [f64] {
        &self.row(dof)[self.layout.nv..2 * self.layout.nv]
    }

    /// By the activations.
    pub fn by_act(&self, dof: usize) -> &'a [f64] {
        &self.row(dof)[self.layout.activation()..self.layout.control()]
    }

    /// By the controls.
    pub fn by_ctrl(&self, dof: usize) -> &'a [f64] {
        &self.row(dof)[self.layout.control()..]
    }

    fn row(&self, dof: usize) -> &'a [f64] {
        &self.rows[dof * self.layout.width..(dof + 1) * self.layout.width]
    }
}

/// The derivatives of the acceleration in a state, for which `data` holds the results of
/// [`dynamics::forward`](crate::dynamics::forward); none where [`covers`](super::covers) says no, or where equations
/// have no unique solution.
///
/// Nothing is allocated after the first call.
pub fn acceleration<'a>(
    model: &Model,
    state: &State,
    input: &Input,
    data: &mut Data,
    out: &'a mut Linearization,
) -> Option<AccelerationDerivative<'a>> {
    let covered = coverage::of_dynamics(model) && coverage::of_state(model, data);
    if !(covered && out.differentiate_acceleration(model, state, input, data, false)) {
        return None;
    }
    out.invert(model, data);
    Some(AccelerationDerivative {
        rows: &out.rows,
        layout: out.layout,
        by_force: &out.inverse,
    })
}

impl Linearization {
    /// (1): unit forces are right-hand sides like others.
    fn invert(&mut self, model: &Model, data: &Data) {
        let (structure, islands) = (&*model.structure, &data.solve.islands);
        let nv = self.layout.nv;
        self.inverse.clear();
        self.inverse.resize(nv * nv, 0.0);
        for island in 0..islands.count() {
            let size = islands.size(island);
            let block = &mut self.island[..size * size];
            set_unit(block, size);
            let (place, room) = ((island, size), &mut self.room);
            let block = &mut self.island[..size * size];
            (data.solve.hessian).solve_many(structure, islands, place, room, block);
            let ranges = islands.dof_ranges(structure, island);
            for (dof, row) in ranges.clone().flatten().zip(block.chunks_exact(size)) {
                let target = &mut self.inverse[dof * nv..(dof + 1) * nv];
                for (other, &entry) in ranges.clone().flatten().zip(row) {
                    target[other] = entry;
                }
            }
        }
        let (factor, inverse) = (&data.inertia.factor, &data.inertia.diagonal_inverse);
        for (tree, dofs) in structure.tree_dofs.iter().enumerate() {
            if islands.of_tree(tree).is_some() {
                continue;
            }
            let size = dofs.len();
            let block = &mut self.island[..size * size];
            set_unit(block, size);
            let sparsity = &structure.inertia;
            many::solve_trees(sparsity, factor, inverse, dofs.clone(), size, block);
            for (dof, row) in dofs.clone().zip(block.chunks_exact(size)) {
                self.inverse[dof * nv..][dofs.clone()].copy_from_slice(row);
            }
        }
    }
}

/// The unit matrix.
fn set_unit(matrix: &mut [f64], size: usize) {
    matrix.fill(0.0);
    for entry in matrix.iter_mut().step_by(size + 1) {
        *entry = 1.0;
    }
}
