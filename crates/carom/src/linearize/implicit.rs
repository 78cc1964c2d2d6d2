//! Integrators that are implicit in velocity: (3) of the module.

use std::ops::Range;

use super::rne::Motion;
use super::{Linearization, Rows, armature, medium};
use crate::data::Data;
use crate::dynamics::At;
use crate::integrate::free_body::{self, Block};
use crate::integrate::{euler, implicit};
use crate::linalg::tree_ldl;
use crate::math::{Spatial, Vec3};
use crate::model::{Integrator, Model};
use crate::stages::actuation;
use crate::state::State;
use crate::terms::length::{Advance, Push};
use crate::terms::{self, DofDamper, TendonDamper, Term};

/// What the implicit integrators need.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Implicit {
    /// M − h·D and its factor, in the pattern of M; unit rows for standalone free bodies under implicitfast.
    matrix: Vec<f64>,
    factor: Vec<f64>,
    diagonal_inverse: Vec<f64>,
    /// M − h·D of each standalone free body and its inverse.
    blocks: Vec<FreeBody>,
    /// The acceleration that advances the velocity.
    pub(super) advancing: Vec<f64>,
    /// The acceleration at which inverse dynamics is differentiated, and its difference to the advancing one.
    pub(super) at: Vec<f64>,
    pub(super) difference: Vec<f64>,
}

/// A standalone free body under implicitfast.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FreeBody {
    dof: usize,
    body: usize,
    matrix: Block<f64>,
    inverse: Block<f64>,
}

impl Implicit {
    /// Room for a model.
    pub(super) fn new(model: &Model) -> Self {
        let n = model.counts();
        let free = model.settings.integrator == Integrator::ImplicitFast;
        let bodies = free_body::standalone(model).filter(|_| free);
        Self {
            matrix: vec![0.0; n.ninertia],
            factor: vec![0.0; n.ninertia],
            diagonal_inverse: vec![0.0; n.nv],
            blocks: bodies
                .map(|(dof, body)| FreeBody {
                    dof,
                    body,
                    matrix: [[0.0; 6]; 6],
                    inverse: [[0.0; 6]; 6],
                })
                .collect(),
            advancing: vec![0.0; n.nv],
            at: vec![0.0; n.nv],
            difference: vec![0.0; n.nv],
        }
    }

    /// Whether the integrator of the model solves for another acceleration than that of the dynamics, or would as soon as there is
    /// damping, if damping changes.
    pub(super) fn is_needed(model: &Model, dampens: bool) -> bool {
        match model.settings.integrator {
            Integrator::Euler => {
                euler::has_implicit_damping(model) || dampens && !model.settings.disable.eulerdamp
            }
            _ => true,
        }
    }

    /// Factors M − h·D and finds the advancing acceleration; false where there is none.
    fn prepare(&mut self, model: &Model, state: &State, data: &mut Data) -> bool {
        let sparsity = &model.structure.inertia;
        if model.settings.integrator == Integrator::Euler {
            self.matrix.copy_from_slice(&data.inertia.matrix);
            euler::add_damping(model, state, data.timestep, &mut self.matrix);
        } else {
            implicit::symmetric_part(model, state, data);
            let medium = implicit::sum_medium(model, data);
            for free in &mut self.blocks {
                let place = (free.dof, free.body);
                free.matrix = implicit::free_block(model, state, data, place, medium);
            }
            if medium {
                implicit::subtract_medium(model, data);
            }
            self.matrix.copy_from_slice(&data.integration.matrix);
            for free in &mut self.blocks {
                for column in 0..6 {
                    let mut unit: [f64; 6] =
                        std::array::from_fn(|row| f64::from(u8::from(row == column)));
                    if !free_body::solve(&mut free.matrix.clone(), &mut unit) {
                        return false;
                    }
                    for row in 0..6 {
                        free.inverse[row][column] = unit[row];
                    }
                }
                for dof in free.dof..free.dof + 6 {
                    self.matrix[sparsity.row_range(dof)].fill(0.0);
                    self.matrix[sparsity.diagonal[dof]] = 1.0;
                }
            }
        }
        let factored = tree_ldl::factor(
            sparsity,
            &self.matrix,
            &mut self.factor,
            &mut self.diagonal_inverse,
        );
        self.gather_forces(data);
        for free in &self.blocks {
            let range = free.dof..free.dof + 6;
            let product = multiply(&free.inverse, &self.advancing[range.clone()]);
            self.advancing[range].copy_from_slice(&product);
        }
        tree_ldl::solve_in_place(
            sparsity,
            &self.factor,
            &self.diagonal_inverse,
            &mut self.advancing,
        );
        factored.is_ok()
    }

    /// What multiplies D and its changes.
    fn advance<'a>(&'a self, model: &'a Model, h: f64) -> Advance<'a> {
        Advance {
            h,
            acceleration: &self.advancing,
            sparsity: &model.structure.inertia,
        }
    }

    /// Where the solution for the advancing acceleration starts.
    fn gather_forces(&mut self, data: &Data) {
        for (dof, sum) in self.advancing.iter_mut().enumerate() {
            *sum = data.acceleration.force_smooth[dof] + data.solve.force_constraint[dof];
        }
    }
}

fn multiply(matrix: &Block<f64>, x: &[f64]) -> [f64; 6] {
    matrix.map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum())
}

impl Linearization {
    /// Factors M − h·D and finds the advancing acceleration; false where there is none.
    pub(super) fn prepare_implicit(
        &mut self,
        model: &Model,
        state: &State,
        data: &mut Data,
    ) -> bool {
        let Some(full) = &mut self.full_implicit else {
            return self.implicit.prepare(model, state, data);
        };
        let factored = full.prepare(model, state, data);
        self.implicit.gather_forces(data);
        full.solve(model, &mut self.implicit.advancing);
        factored
    }

    /// (3) of the module: the rows become derivatives of the advancing acceleration.
    pub(super) fn advance_implicitly(&mut self, at: At<'_>) {
        let (model, state, data) = (at.model, at.state, at.data);
        let islands = &data.solve.islands;
        self.extra.fill(0.0);
        if islands.count() > 0 {
            self.tree.add_inertia_change(
                model,
                &Motion::of(state, data),
                &self.implicit.difference,
                &self.layout,
                &mut self.extra,
            );
            let mut rows = Rows {
                values: &mut self.extra,
                width: self.layout.width,
            };
            let difference = (&*self.implicit.difference, 1.0);
            armature::add_inertia_change(model, data, &self.bends, difference, &mut rows);
            let difference = (&*self.implicit.difference, &self.layout);
            (self.numbers).add_inertia_change((model, data), &self.tree, difference, &mut rows);
        }
        self.add_damping_change(model, state, data);
        self.add_bias_change(model, state, data);
        let advance = self.implicit.advance(model, data.timestep);
        let mut rows = Rows {
            values: &mut self.extra,
            width: self.layout.width,
        };
        let numbers = &self.numbers;
        numbers.add_damping_change(at, advance, &self.layout, &mut rows);
        let width = self.layout.width;
        for (tree, dofs) in model.structure.tree_dofs.iter().enumerate() {
            if islands.of_tree(tree).is_none() {
                let range = dofs.start * width..dofs.end * width;
                for (extra, row) in self.extra[range.clone()]
                    .iter_mut()
                    .zip(&mut self.rows[range])
                {
                    *extra += *row;
                    *row = 0.0;
                }
            } else {
                self.add_damped_change(model, data, dofs.clone());
            }
        }
        self.solve_implicit(model, data);
        for (row, &extra) in self.rows.iter_mut().zip(&self.extra) {
            *row += extra;
        }
    }

    /// extra ← extra + h·D·da for the dofs of a tree.
    fn add_damped_change(&mut self, model: &Model, data: &Data, dofs: Range<usize>) {
        let sparsity = &model.structure.inertia;
        let width = self.layout.width;
        if let Some(full) = &self.full_implicit {
            let target = (&mut *self.extra, &*self.rows, width);
            full.add_damped(model, data, dofs, target);
            return;
        }
        if let Some(free) = self
            .implicit
            .blocks
            .iter()
            .find(|free| free.dof == dofs.start)
        {
            for row in 0..6 {
                for column in 0..6 {
                    let (high, low) = (row.max(column), row.min(column));
                    let entry = sparsity.row_start[free.dof + high] + low;
                    let factor = data.inertia.matrix[entry] - free.matrix[row][column];
                    let place = [row, column].map(|k| (free.dof + k) * width);
                    add_row(
                        &mut self.extra,
                        place[0],
                        &self.rows,
                        place[1],
                        width,
                        factor,
                    );
                }
            }
            return;
        }
        for dof in dofs {
            for entry in sparsity.row_range(dof) {
                let factor = data.inertia.matrix[entry] - self.implicit.matrix[entry];
                if factor == 0.0 {
                    continue;
                }
                let (own, other) = (dof * width, sparsity.columns[entry] * width);
                add_row(&mut self.extra, own, &self.rows, other, width, factor);
                if own != other {
                    add_row(&mut self.extra, other, &self.rows, own, width, factor);
                }
            }
        }
    }

    /// extra ← extra + h·dD·ȧ.
    fn add_damping_change(&mut self, model: &Model, state: &State, data: &Data) {
        let h = data.timestep;
        let (layout, qvel) = (&self.layout, &state.qvel);
        let advance = self.implicit.advance(model, data.timestep);
        let mut rows = Rows {
            values: &mut self.extra,
            width: layout.width,
        };
        let disable = &model.settings.disable;
        if !disable.damper {
            terms::dof::damping_columns::<DofDamper, 3>(model, qvel, advance, layout, &mut rows);
            let x = [&state.qpos[..], qvel];
            terms::joint_law::damping_columns(model, x, advance, layout, &mut rows);
        }
        if model.settings.integrator == Integrator::Euler {
            return;
        }
        if !disable.damper {
            for (tendon, &rate) in data.velocity.tendon.iter().enumerate() {
                let damping = TendonDamper::rate_derivative(model, tendon, [rate]);
                let [by_rate] = TendonDamper::rate_derivative_by_inputs(model, tendon, [rate]);
                let change = Push {
                    by_rate,
                    ..Push::default()
                };
                let place = self.bends.tendon(model, data, tendon);
                place.damping_columns(damping, change, advance, qvel, layout, &mut rows);
            }
        }
        if !disable.actuation {
            for (actuator, found) in self.forces.actuators.iter().enumerate() {
                let (at, act) = (actuation::ActuatorPlace::of(data), &state.act);
                let damping =
                    actuation::velocity_derivative(model, actuator, at, act, &data.actuation);
                let by_inputs = &found.damping;
                let change = Push {
                    by_length: by_inputs.length,
                    by_rate: by_inputs.velocity,
                    ..Push::default()
                };
                let place = (self.bends).actuator(model, data, actuator, &self.forces.open);
                place.damping_columns(damping, change, advance, qvel, layout, &mut rows);
                let states = model.structure.actuators.activations[actuator].clone();
                if let Some(last) = states.last() {
                    let column = layout.activation() + last;
                    place.damping_column(column, by_inputs.activation, advance, &mut rows);
                }
                let column = layout.control() + actuator;
                place.damping_column(column, by_inputs.control, advance, &mut rows);
            }
        }
        if medium::is_present(model) {
            let Self {
                tree,
                layout,
                extra,
                ..
            } = self;
            let advancing = &self.implicit.advancing;
            tree.descend(model, &Motion::of(state, data), advancing, false);
            self.medium
                .add_product(model, data, tree, (layout, h), extra);
        }
        for index in 0..self.implicit.blocks.len() {
            let FreeBody { dof, body, .. } = self.implicit.blocks[index];
            self.add_spin_change(model, data, (dof, body), h);
        }
    }

    /// The derivative of the velocity derivative of a free body's bias force, times the advancing acceleration.
    ///
    /// With r from the origin to the centre of mass, ω the spin, α its rate, m and C mass and inertia about the centre,
    /// in world axes: the bias force is f = m·ω × (ω × r) and the moment r × f + ω × C·ω, so its derivative along α is
    ///
    ///   z = m·(α × (ω × r) + ω × (α × r)),   r × z + α × C·ω + ω × C·α,
    ///
    /// linear in ω; as the body turns, z turns with it and the moment is constant in the body's axes.
    fn add_spin_change(
        &mut self,
        model: &Model,
        data: &Data,
        (first, body): (usize, usize),
        h: f64,
    ) {
        let (nv, width) = (self.layout.nv, self.layout.width);
        let kinematics = &data.kinematics;
        let rotation = &kinematics.body_rotation[body];
        let root = model.structure.bodies.root[body];
        let arm = kinematics.subtree_com[root] - kinematics.body_position[body];
        let composite = &data.inertia.composite[body];
        let (mass, advancing) = (composite.mass(), &self.implicit.advancing);
        let spin_rate = rotation.mul_vec(Vec3(std::array::from_fn(|k| advancing[first + 3 + k])));
        let turn = |spin: Vec3| {
            let momentum = composite.mul_motion(Spatial::new(spin, Vec3::ZERO));
            momentum.angular()
        };
        let response = |spin: Vec3| {
            let force = spin_rate.cross(spin.cross(arm)) + spin.cross(spin_rate.cross(arm));
            let force = force * mass;
            let moment =
                arm.cross(force) + spin_rate.cross(turn(spin)) + spin.cross(turn(spin_rate));
            (force, moment)
        };
        let spin = data.velocity.body[body].angular();
        let (force, _) = response(spin);
        for k in 0..3 {
            let axis = rotation.column(k);
            let turned = axis.cross(force);
            let (pushed, twisted) = response(axis);
            let twisted = rotation.transpose_mul_vec(twisted);
            for row in 0..3 {
                let own = (first + row) * width;
                self.extra[own + first + 3 + k] -= h * turned[row];
                self.extra[own + nv + first + 3 + k] -= h * pushed[row];
                let own = (first + 3 + row) * width;
                self.extra[own + nv + first + 3 + k] -= h * twisted[row];
            }
        }
    }

    /// extra ← (M − h·D)⁻¹·extra.
    fn solve_implicit(&mut self, model: &Model, data: &Data) {
        let width = self.layout.width;
        if let Some(full) = &self.full_implicit {
            full.solve_many(model, width, &mut self.extra);
            return;
        }
        for index in 0..self.implicit.blocks.len() {
            let FreeBody { dof, inverse, .. } = self.implicit.blocks[index];
            self.room.clear();
            self.room
                .extend_from_slice(&self.extra[dof * width..(dof + 6) * width]);
            self.extra[dof * width..(dof + 6) * width].fill(0.0);
            for (row, entries) in inverse.iter().enumerate() {
                for (column, &entry) in entries.iter().enumerate() {
                    let own = (dof + row) * width;
                    add_row(
                        &mut self.extra,
                        own,
                        &self.room,
                        column * width,
                        width,
                        entry,
                    );
                }
            }
        }
        let factor = std::mem::take(&mut self.implicit.factor);
        let inverse = std::mem::take(&mut self.implicit.diagonal_inverse);
        let (structure, islands) = (&*model.structure, &data.solve.islands);
        for (tree, dofs) in structure.tree_dofs.iter().enumerate() {
            let free = |free: &FreeBody| free.dof == dofs.start;
            if self.implicit.blocks.iter().any(free) {
                continue;
            }
            let solver = (&*factor, &*inverse);
            if let Some(island) = islands.of_tree(tree) {
                let columns = islands.dof_ranges(structure, island);
                self.solve_tree(model, dofs.clone(), &columns, solver, true);
            } else {
                let columns = std::iter::once(dofs.clone());
                self.solve_tree(model, dofs.clone(), &columns, solver, true);
            }
        }
        self.implicit.factor = factor;
        self.implicit.diagonal_inverse = inverse;
    }
}

/// target row ← target row + factor·source row.
#[inline]
pub(super) fn add_row(
    target: &mut [f64],
    to: usize,
    source: &[f64],
    from: usize,
    width: usize,
    factor: f64,
) {
    let target = &mut target[to..to + width];
    for (target, &source) in target.iter_mut().zip(&source[from..from + width]) {
        *target += factor * source;
    }
}
