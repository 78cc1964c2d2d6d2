//! The adjoint of the sweeps: the same sweeps from the last update to the first.
//!
//! At the end, from the forces f of all rows, t = Jᵀ·f, a = a₀ + M⁻¹·t and y = J·a − â. Their cotangents give
//!
//!   ā += Jᵀ·ȳ,   ā₀ += ā,   p = M⁻¹·ā,   M̄ −= p·(a − a₀)ᵀ,   t̄ += p,   f̄ += J·t̄,   J̄ += ȳ·aᵀ + f·t̄ᵀ,   â̄ −= ȳ        (1̄)
//!
//! An update sets the forces t of a block to F(r, A, μ, …) with r = j·a − â and lets a follow, a ← a + Σ z·(t − t₀), where
//! z = M⁻¹·jᵀ and A = j·z. So
//!
//!   t̄ += z·ā,   z̄ += ā·(t − t₀)ᵀ;   r̄, Ā, μ̄, … from F;   ā += jᵀ·r̄,   j̄ += r̄·aᵀ + Ā·z,   z̄ += Āᵀ·j                    (2̄)
//!
//! Forces before each update are those of the same sweeps, made again. Before the first, a = a₀ + M⁻¹·t of the soft
//! solution, whose forces, residuals and t receive what is left.

use super::{
    BlockKind, CONE_TOLERANCE, Cone, Friction, MAX_FRICTION_ROWS, MIN_DIAGONAL, MIN_LENGTH, Noslip,
    Soft, Sources, first_frictional, sweep_island,
};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::integrate::euler;
use crate::stages::inertia;

/// Room for the backward pass. All lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Work {
    sweeps: Noslip<f64>,
    /// Forces of all rows, as they were at the update at hand.
    force: Vec<f64>,
    /// Forces of each block before each of its updates, one after another.
    trail: Vec<f64>,
    /// ā over the island's dofs.
    acceleration_bar: Vec<f64>,
    /// z̄ of each frictional row over the island's dofs.
    response_bar: Vec<f64>,
    /// Of the greatest force along each frictional row of a pyramid.
    max_force_bar: Vec<f64>,
    /// Block and cursor of everything that has frictional rows.
    members: Vec<(usize, usize)>,
    /// Vectors over all dofs.
    full: Vec<f64>,
    full_bar: Vec<f64>,
}

/// From the cotangents of the sweeps' results to those of the soft solution, both in `bars.data.solve`; adds to those of
/// inertia, smooth acceleration and rows.
pub(in super::super) fn backward(at: At<'_>, bars: &mut Cotangents) {
    let solve = &at.data.solve;
    let mut work = std::mem::take(&mut bars.data.solve.noslip);
    let mut reverse = Reverse { at, bars };
    reverse.finish(&mut work);
    work.force.clear();
    work.force.extend_from_slice(solve.minimum(at.model).force);
    for island in 0..solve.islands.count() {
        reverse.island(island, &mut work);
    }
    bars.data.solve.noslip = work;
}

/// What the pass reads and writes.
struct Reverse<'a> {
    at: At<'a>,
    bars: &'a mut Cotangents,
}

impl Reverse<'_> {
    /// (1̄); the cotangents of force, generalised force and residual are those before it afterwards.
    fn finish(&mut self, work: &mut Work) {
        let (constraint, solve) = (&self.at.data.constraint, &self.at.data.solve);
        let (bar, constraint_bar) = (&mut self.bars.data.solve, &mut self.bars.data.constraint);
        constraint.push(&bar.residual, &mut bar.qacc);
        for block in &constraint.blocks {
            for (row, place) in block.rows().enumerate() {
                let residual_bar = std::mem::take(&mut bar.residual[place]);
                constraint_bar.rows[place].reference_acceleration -= residual_bar;
                let acceleration = |dof: usize| solve.qacc[dof];
                constraint_bar.add_to_row(constraint, (block, row), residual_bar, acceleration);
            }
        }
        let rise = solve.qacc.iter().zip(&self.at.data.acceleration.smooth);
        work.full.clear();
        work.full.extend(rise.map(|(total, smooth)| total - smooth));
        self.through_inertia(work);
        let (bar, constraint_bar) = (&mut self.bars.data.solve, &mut self.bars.data.constraint);
        for block in &constraint.blocks {
            for (row, place) in block.rows().enumerate() {
                bar.force[place] += constraint
                    .jacobian_row(block, row)
                    .dot(&bar.force_constraint);
                let (force, pull) = (solve.force[place], |dof: usize| bar.force_constraint[dof]);
                constraint_bar.add_to_row(constraint, (block, row), force, pull);
            }
        }
        bar.force_constraint.fill(0.0);
    }

    /// Past a = a₀ + M⁻¹·t: uses up the cotangent ā in `bar.qacc`; `work.full` holds M⁻¹·t.
    fn through_inertia(&mut self, work: &mut Work) {
        let (model, data_bar) = (self.at.model, &mut self.bars.data);
        let bar = &mut data_bar.solve;
        euler::add(&mut data_bar.acceleration.smooth, &bar.qacc);
        inertia::solve(model, &self.at.data.inertia, &mut bar.qacc);
        let matrix_bar = &mut data_bar.inertia.matrix;
        inertia::subtract_outer_product(model, &bar.qacc, &work.full, matrix_bar);
        euler::add(&mut bar.force_constraint, &bar.qacc);
        bar.qacc.fill(0.0);
    }

    /// The sweeps of an island, made again and then read backwards.
    fn island(&mut self, island: usize, work: &mut Work) {
        let (model, data) = (self.at.model, self.at.data);
        let (constraint, islands) = (&data.constraint, &data.solve.islands);
        let found = data.solve.minimum(model);
        let soft = Soft {
            islands,
            residual: found.residual,
            force_constraint: found.force_constraint,
        };
        let Work {
            sweeps,
            force,
            trail,
            members,
            ..
        } = work;
        sweeps.full.resize(model.counts().nv, 0.0);
        trail.clear();
        let record = |forces: &[f64]| trail.extend_from_slice(forces);
        // Forward once more, with the forces before every update on the trail.
        let sources = Sources {
            model,
            inertia: &data.inertia,
            acceleration: &data.acceleration,
            constraint,
        };
        let count = sweep_island(&sources, (soft, island), force, sweeps, record);
        members.clear();
        let blocks = Friction::of_island(constraint, islands, island);
        members.extend(blocks.map(|friction| (friction.index, friction.cursor)));
        work.start();
        let friction = |(index, cursor): (usize, usize)| {
            let block = &constraint.blocks[index];
            Friction {
                constraint,
                block,
                index,
                local: islands.local(),
                first: first_frictional(block).unwrap_or_default(),
                cursor,
            }
        };
        // Updates, last first, each at its own minimum. (2̄)
        for place in (0..count * work.members.len()).rev() {
            let member = work.members[place % work.members.len()];
            self.update(&friction(member), work);
        }
        for member in 0..work.members.len() {
            let friction = friction(work.members[member]);
            self.limits(&friction, work);
            self.responses(&friction, island, work);
        }
        self.beginning(island, work);
    }

    /// An update of a block. (2̄)
    fn update(&mut self, friction: &Friction<'_, f64>, work: &mut Work) {
        let start = work.trail.len() - friction.block.row_count + friction.first;
        let mut old = [0.0; MAX_FRICTION_ROWS];
        let count = friction.count();
        old[..count].copy_from_slice(&work.trail[start..]);
        work.trail.truncate(start - friction.first);
        if friction.block.kind == BlockKind::EllipticContact {
            self.renew_cone(friction, &old[..count], work);
            return;
        }
        for row in (0..count).rev() {
            self.renew_side(friction, (row, old[row]), work);
        }
    }

    /// Takes a change of force back: the acceleration and the force are what they were before. Returns the cotangent of
    /// the new force, and that of the old one as far as the change goes.
    fn take_back(
        &mut self,
        friction: &Friction<'_, f64>,
        (row, old): (usize, f64),
        work: &mut Work,
    ) -> (f64, f64) {
        let place = friction.block.row + friction.first + row;
        let change = std::mem::replace(&mut work.force[place], old) - old;
        friction.push(row, -change, &mut work.sweeps);
        let mut pull = 0.0;
        let response_bar = friction.range(row, &work.sweeps);
        let pairs = friction.response(row, &work.sweeps).iter();
        let pairs = pairs.zip(&work.acceleration_bar);
        for (bar, (&response, &acceleration_bar)) in
            work.response_bar[response_bar].iter_mut().zip(pairs)
        {
            pull += response * acceleration_bar;
            *bar += change * acceleration_bar;
        }
        (
            std::mem::take(&mut self.bars.data.solve.force[place]) + pull,
            -pull,
        )
    }

    fn renew_side(
        &mut self,
        friction: &Friction<'_, f64>,
        (row, old): (usize, f64),
        work: &mut Work,
    ) {
        let place = friction.block.row + friction.first + row;
        let (bar, mut old_bar) = self.take_back(friction, (row, old), work);
        let residual = friction.residual(row, &work.sweeps);
        let stiffness = friction.along(row, friction.response(row, &work.sweeps));
        let max_force = friction.max_force(row, &work.sweeps);
        if stiffness >= MIN_LENGTH {
            let wanted = old - residual / stiffness;
            if wanted.abs() > max_force {
                let max_force_bar = bar * wanted.signum();
                if friction.block.kind == BlockKind::PyramidalContact {
                    work.max_force_bar[friction.cursor + row] += max_force_bar;
                } else {
                    self.bars.data.constraint.rows[place].friction += max_force_bar;
                }
            } else {
                old_bar += bar;
                self.through_residual(friction, row, -bar / stiffness, work);
                let stiffness_bar = bar * residual / (stiffness * stiffness);
                self.through_matrix(friction, [row, row], stiffness_bar, work);
            }
        }
        self.bars.data.solve.force[place] = old_bar;
    }

    fn renew_cone(&mut self, friction: &Friction<'_, f64>, old: &[f64], work: &mut Work) {
        let normal = work.force[friction.block.row];
        let (mut bar, mut old_bar) = ([0.0; MAX_FRICTION_ROWS], [0.0; MAX_FRICTION_ROWS]);
        for (row, &old) in old.iter().enumerate() {
            (bar[row], old_bar[row]) = self.take_back(friction, (row, old), work);
        }
        let (cone, residual) = friction.cone(old, &work.sweeps);
        let (_, cost) = cone.renew(normal, old, &residual);
        if cost > CONE_TOLERANCE {
            // The forces were left as they were.
            for (old_bar, bar) in old_bar.iter_mut().zip(bar) {
                *old_bar += bar;
            }
        } else if normal >= MIN_LENGTH {
            let (cone_bar, normal_bar) = cone.minimize_vjp(normal, &bar[..old.len()]);
            self.bars.data.solve.force[friction.block.row] += normal_bar;
            self.through_cone(friction, (&cone, &cone_bar), (old, &mut old_bar), work);
        }
        let first = friction.block.row + friction.first;
        self.bars.data.solve.force[first..first + old.len()].copy_from_slice(&old_bar[..old.len()]);
    }

    /// From the problem of a section to what it is made from.
    fn through_cone(
        &mut self,
        friction: &Friction<'_, f64>,
        (cone, bar): (&Cone<f64>, &Cone<f64>),
        (old, old_bar): (&[f64], &mut [f64]),
        work: &mut Work,
    ) {
        for row in 0..old.len() {
            let place = friction.block.row + friction.first + row;
            self.bars.data.constraint.rows[place].friction += bar.friction[row];
            let residual_bar = bar.linear[row];
            self.through_residual(friction, row, residual_bar, work);
            for other in 0..old.len() {
                let entry = cone.matrix[row][other];
                old_bar[other] -= entry * residual_bar;
                if row != other || entry > MIN_DIAGONAL {
                    let entry_bar = bar.matrix[row][other] - residual_bar * old[other];
                    self.through_matrix(friction, [row, other], entry_bar, work);
                }
            }
        }
    }

    /// Past r = j·a − â.
    fn through_residual(
        &mut self,
        friction: &Friction<'_, f64>,
        row: usize,
        residual_bar: f64,
        work: &mut Work,
    ) {
        let (constraint, block) = (friction.constraint, friction.block);
        let row = friction.first + row;
        let constraint_bar = &mut self.bars.data.constraint;
        constraint_bar.rows[block.row + row].reference_acceleration -= residual_bar;
        for (dof, value) in constraint.jacobian_row(block, row).entries() {
            work.acceleration_bar[friction.local[dof]] += value * residual_bar;
        }
        let acceleration = |dof: usize| work.sweeps.acceleration[friction.local[dof]];
        constraint_bar.add_to_row(constraint, (block, row), residual_bar, acceleration);
    }

    /// Past the entry j·z of A for two rows.
    fn through_matrix(
        &mut self,
        friction: &Friction<'_, f64>,
        [row, other]: [usize; 2],
        entry_bar: f64,
        work: &mut Work,
    ) {
        let (constraint, block) = (friction.constraint, friction.block);
        let row = friction.first + row;
        let response_bar = &mut work.response_bar[friction.range(other, &work.sweeps)];
        for (dof, value) in constraint.jacobian_row(block, row).entries() {
            response_bar[friction.local[dof]] += value * entry_bar;
        }
        let response = friction.response(other, &work.sweeps);
        let response = |dof: usize| response[friction.local[dof]];
        let constraint_bar = &mut self.bars.data.constraint;
        constraint_bar.add_to_row(constraint, (block, row), entry_bar, response);
    }

    /// From the maximum forces along the sides of a pyramid to the residuals and weights of its edges.
    fn limits(&mut self, friction: &Friction<'_, f64>, work: &Work) {
        let (constraint, block) = (friction.constraint, friction.block);
        if block.kind != BlockKind::PyramidalContact {
            return;
        }
        let residual = &self.at.data.solve.minimum(self.at.model).residual[block.rows()];
        let rows = &constraint.rows[block.rows()];
        let weight = rows[0].weight;
        for row in 1..block.row_count {
            let max_force_bar = work.max_force_bar[friction.cursor + row - 1];
            let coefficient = rows[row].friction;
            let mut friction_bar = 0.0;
            for sign in [1.0, -1.0] {
                let edge = residual[0] + sign * coefficient * residual[row];
                if edge >= 0.0 {
                    continue;
                }
                friction_bar -= weight * edge * max_force_bar;
                self.bars.data.constraint.rows[block.row].weight -=
                    edge * coefficient * max_force_bar;
                let edge_bar = -weight * coefficient * max_force_bar;
                self.bars.data.solve.residual[block.row] += edge_bar;
                self.bars.data.solve.residual[block.row + row] += sign * coefficient * edge_bar;
                friction_bar += sign * residual[row] * edge_bar;
            }
            self.bars.data.constraint.rows[block.row + row].friction += friction_bar;
        }
    }

    /// Past z = M⁻¹·jᵀ.
    fn responses(&mut self, friction: &Friction<'_, f64>, island: usize, work: &mut Work) {
        let (model, data) = (self.at.model, self.at.data);
        for row in 0..friction.count() {
            let range = friction.range(row, &work.sweeps);
            let dofs = data.solve.islands.dof_ranges(&model.structure, island);
            for list in [&mut work.full, &mut work.full_bar] {
                list.clear();
                list.resize(model.counts().nv, 0.0);
            }
            for (dof, place) in dofs.flatten().zip(range) {
                work.full[dof] = work.sweeps.response[place];
                work.full_bar[dof] = work.response_bar[place];
            }
            inertia::solve(model, &data.inertia, &mut work.full_bar);
            let data_bar = &mut self.bars.data;
            let matrix_bar = &mut data_bar.inertia.matrix;
            inertia::subtract_outer_product(model, &work.full_bar, &work.full, matrix_bar);
            let place = (friction.block, friction.first + row);
            (data_bar.constraint)
                .add_to_row(&data.constraint, place, 1.0, |dof| work.full_bar[dof]);
        }
    }

    /// Past the acceleration with which the sweeps begin.
    fn beginning(&mut self, island: usize, work: &mut Work) {
        let (model, data) = (self.at.model, self.at.data);
        work.full.clear();
        work.full.resize(model.counts().nv, 0.0);
        let dofs = (data.solve.islands.dof_ranges(&model.structure, island)).flatten();
        for (place, dof) in dofs.enumerate() {
            work.full[dof] = work.sweeps.acceleration[place] - data.acceleration.smooth[dof];
            self.bars.data.solve.qacc[dof] = work.acceleration_bar[place];
        }
        self.through_inertia(work);
    }
}

impl Work {
    /// No cotangents yet, for the sweeps of an island.
    fn start(&mut self) {
        for (bars, numbers) in [
            (&mut self.acceleration_bar, &self.sweeps.acceleration),
            (&mut self.response_bar, &self.sweeps.response),
            (&mut self.max_force_bar, &self.sweeps.max_force),
        ] {
            bars.clear();
            bars.resize(numbers.len(), 0.0);
        }
    }
}
