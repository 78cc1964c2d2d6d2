//! Friction without creep: sweeps over the frictional forces after the solver, as if they were not regularised.
//!
//! The regularisation R of the soft law lets contacts under constant load slide slowly. With all other forces held, each
//! frictional force in turn is set to what its row asks for exactly, within what the law allows:
//!
//!   t ← argmin ½·tᵀ·A·t + t·(r − A·t₀),   A = J·M⁻¹·Jᵀ,  r = J·a − â                   (1)
//!
//! with |t| ≤ loss for dry friction, |t(k)| ≤ μ(k)·2·mean of its two edges for the sides of a pyramid, and
//! Σ (t(k)/μ(k))² ≤ normal² for an elliptic cone, where λ ≥ 0 solves |(A + λ)⁻¹·b| = normal in scaled forces.   (2)
//!
//! Sweeps end when the cost improves by less than the tolerance. The result is no minimum of the soft problem any more:
//! it depends on the number of sweeps, and derivatives are those of exactly these sweeps, each update differentiated at
//! its minimum: `backward`.

mod backward;
mod cone;
#[cfg(test)]
mod tests;

pub(super) use backward::Work as BackwardWork;
pub(super) use backward::backward;

use std::ops::Range;

use super::{Islands, Solve};
use crate::math::MIN_LENGTH;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::acceleration::Acceleration;
use crate::stages::constraint::{Block, BlockKind, Constraint, Row};
use crate::stages::inertia::{self, Inertia};
use cone::{CONE_TOLERANCE, Cone, MAX_FRICTION_ROWS};

/// Smallest diagonal entry of A in a cone (1/kg), so that A stays invertible where a direction cannot move.
const MIN_DIAGONAL: f64 = 1e-10;

/// Work area; lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Noslip<T: Scalar> {
    /// M⁻¹·jᵀ of each frictional row over the dofs of the island, row after row.
    response: Vec<T>,
    /// Maximum force along each frictional row of a pyramid: μ times the sum of its two edges.
    max_force: Vec<T>,
    /// Acceleration of the island's dofs.
    acceleration: Vec<T>,
    /// A vector over all dofs.
    full: Vec<T>,
}

/// What the sweeps read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a, T: Scalar> {
    pub(crate) model: &'a Model<T>,
    pub(crate) inertia: &'a Inertia<T>,
    pub(crate) acceleration: &'a Acceleration<T>,
    pub(crate) constraint: &'a Constraint<T>,
}

/// Sweeps over all islands, then maps the forces to accelerations.
pub(super) fn forward<T: Scalar>(sources: &Sources<'_, T>, out: &mut Solve<T>) {
    let mut work = std::mem::take(&mut out.noslip);
    work.full.resize(sources.model.counts().nv, T::ZERO);
    let soft = Soft {
        islands: &out.islands,
        residual: &out.residual,
        force_constraint: &out.force_constraint,
    };
    for island in 0..out.islands.count() {
        let sweeps = sweep_island(sources, (soft, island), &mut out.force, &mut work, |_| ());
        out.report.noslip_iterations = out.report.noslip_iterations.max(sweeps);
    }
    out.noslip = work;
    finish(sources, out);
}

/// What the solver found.
#[derive(Clone, Copy)]
struct Soft<'a, T: Scalar> {
    islands: &'a Islands,
    residual: &'a [T],
    force_constraint: &'a [T],
}

/// Whether a block has frictional forces, and in which of its rows they start.
fn first_frictional(block: &Block) -> Option<usize> {
    match block.kind {
        BlockKind::DofFriction | BlockKind::TendonFriction => Some(0),
        BlockKind::PyramidalContact | BlockKind::EllipticContact => Some(1),
        _ => None,
    }
}

/// Sweeps over an island, whose forces are those that the solver found; returns how often. `before` is shown the forces
/// of each block before they are renewed.
fn sweep_island<T: Scalar>(
    sources: &Sources<'_, T>,
    (soft, island): (Soft<'_, T>, usize),
    force: &mut [T],
    work: &mut Noslip<T>,
    mut before: impl FnMut(&[T]),
) -> usize {
    let scale = prepare(sources, (soft, island), work);
    let tolerance = sources.model.option.noslip_tolerance[0].value();
    let constraint = sources.constraint;
    let max_sweeps = sources.model.settings.noslip_iterations;
    let mut improvement = regularization_cost(constraint, soft.islands.blocks(island), work, force);
    for sweep in 1..=max_sweeps {
        // One sweep: every block takes its best friction, given all others.
        for friction in Friction::of_island(constraint, soft.islands, island) {
            let forces = &mut force[friction.block.rows()];
            before(forces);
            improvement -= friction.renew(forces, work);
        }
        if improvement * scale < tolerance {
            return sweep;
        }
        improvement = 0.0;
    }
    max_sweeps
}

/// Responses to all frictional forces and the acceleration; returns one over the trace of the island's inertia.
fn prepare<T: Scalar>(
    sources: &Sources<'_, T>,
    (soft, island): (Soft<'_, T>, usize),
    work: &mut Noslip<T>,
) -> f64 {
    let &Sources {
        model,
        inertia,
        constraint,
        ..
    } = sources;
    let dofs = soft.islands.dof_ranges(&model.structure, island).flatten();
    let Noslip {
        response,
        max_force,
        acceleration,
        full,
    } = work;
    response.clear();
    max_force.clear();
    for Friction { block, first, .. } in Friction::of_island(constraint, soft.islands, island) {
        for row in first..block.row_count {
            // M⁻¹·jᵀ, one solve per frictional row.
            full.fill(T::ZERO);
            constraint.jacobian_row(block, row).copy_to(full);
            inertia::solve(model, inertia, full);
            response.extend(dofs.clone().map(|dof| full[dof]));
            max_force.push(if block.kind == BlockKind::PyramidalContact {
                sum_of_edges(constraint, soft.residual, block, row)
                    * constraint.rows[block.row + row].friction
            } else {
                T::ZERO
            });
        }
    }
    // The solver's acceleration is that of its forces only as far as it has converged.
    full.copy_from_slice(soft.force_constraint);
    inertia::solve(model, inertia, full);
    acceleration.clear();
    let smooth = &sources.acceleration.smooth;
    acceleration.extend(dofs.clone().map(|dof| smooth[dof] + full[dof]));
    let diagonal = &model.structure.inertia.diagonal;
    let trace: f64 = dofs.map(|dof| inertia.matrix[diagonal[dof]].value()).sum();
    1.0 / trace
}

/// The sum of the forces of the two edges of a pyramid along one of its directions.
fn sum_of_edges<T: Scalar>(
    constraint: &Constraint<T>,
    residual: &[T],
    block: &Block,
    row: usize,
) -> T {
    let rows = &constraint.rows[block.rows()];
    let residual = &residual[block.rows()];
    let tilt = residual[row] * rows[row].friction;
    let edge = |y: T| rows[0].weight * (-y).max(T::ZERO);
    edge(residual[0] + tilt) + edge(residual[0] - tilt)
}

/// ½·fᵀ·R·f, which the sweeps no longer count.
fn regularization_cost<T: Scalar>(
    constraint: &Constraint<T>,
    blocks: &[usize],
    work: &Noslip<T>,
    force: &[T],
) -> f64 {
    let mut total = 0.0;
    let mut cursor = 0;
    for &index in blocks {
        let block = &constraint.blocks[index];
        let forces = &force[block.rows()];
        let rows = constraint.block_rows(block);
        if block.kind == BlockKind::PyramidalContact {
            // The edges of one direction are (max_force ± force)/2μ.
            for (row, force) in rows[1..].iter().zip(&forces[1..]) {
                let [max_force, force] = [work.max_force[cursor], *force].map(T::value);
                let twice = 2.0 * row.friction.value();
                let squares = 2.0 * (max_force * max_force + force * force) / (twice * twice);
                total += 0.5 * squares * row.regularization.value();
                cursor += 1;
            }
            continue;
        }
        cursor += first_frictional(block).map_or(0, |first| block.row_count - first);
        for (row, force) in rows.iter().zip(forces) {
            total += 0.5 * (*force * *force * row.regularization).value();
        }
    }
    total
}

/// The frictional rows of one block.
#[derive(Clone, Copy)]
struct Friction<'a, T: Scalar> {
    constraint: &'a Constraint<T>,
    block: &'a Block,
    index: usize,
    /// Index of each dof within the island.
    local: &'a [usize],
    /// First frictional row of the block.
    first: usize,
    /// Where its frictional rows start among those of the island.
    cursor: usize,
}

impl<'a, T: Scalar> Friction<'a, T> {
    /// The blocks of an island that have frictional rows, in their order.
    fn of_island(
        constraint: &'a Constraint<T>,
        islands: &'a Islands,
        island: usize,
    ) -> impl Iterator<Item = Self> + use<'a, T> {
        let mut cursor = 0;
        islands.blocks(island).iter().filter_map(move |&index| {
            let block = &constraint.blocks[index];
            let friction = Self {
                constraint,
                block,
                index,
                local: islands.local(),
                first: first_frictional(block)?,
                cursor,
            };
            cursor += friction.count();
            Some(friction)
        })
    }

    fn count(&self) -> usize {
        self.block.row_count - self.first
    }

    fn row(&self, row: usize) -> &Row<T> {
        &self.constraint.rows[self.block.row + self.first + row]
    }

    /// Where the response to a frictional row is.
    fn range(&self, row: usize, work: &Noslip<T>) -> Range<usize> {
        let size = work.acceleration.len();
        (self.cursor + row) * size..(self.cursor + row + 1) * size
    }

    /// M⁻¹·jᵀ of a frictional row.
    fn response<'w>(&self, row: usize, work: &'w Noslip<T>) -> &'w [T] {
        &work.response[self.range(row, work)]
    }

    /// The maximum force along a row of a pyramid or of dry friction.
    fn max_force(&self, row: usize, work: &Noslip<T>) -> T {
        if self.block.kind == BlockKind::PyramidalContact {
            work.max_force[self.cursor + row]
        } else {
            self.row(row).friction
        }
    }

    /// j·x of a frictional row.
    fn along(&self, row: usize, x: &[T]) -> T {
        let columns = self.constraint.block_columns(self.block);
        let values = self.constraint.block_jacobian(self.block);
        let values = &values[(self.first + row) * columns.len()..];
        let mut sum = T::ZERO;
        for (&dof, &value) in columns.iter().zip(values) {
            sum += value * x[self.local[dof]];
        }
        sum
    }

    /// r of (1).
    fn residual(&self, row: usize, work: &Noslip<T>) -> T {
        self.along(row, &work.acceleration) - self.row(row).reference_acceleration
    }

    /// Lets the acceleration follow a change of force.
    fn push(&self, row: usize, change: T, work: &mut Noslip<T>) {
        let response = self.range(row, work);
        let response = &work.response[response];
        for (acceleration, &response) in work.acceleration.iter_mut().zip(response) {
            *acceleration += response * change;
        }
    }

    /// Renews the frictional forces of the block; returns by how much the cost changed.
    fn renew(&self, forces: &mut [T], work: &mut Noslip<T>) -> f64 {
        let Some((normal, sides)) = forces.split_first_mut() else {
            return 0.0;
        };
        match self.block.kind {
            BlockKind::EllipticContact => self.renew_cone(*normal, sides, work),
            BlockKind::PyramidalContact => {
                let sides = sides.iter_mut().enumerate();
                sides
                    .map(|(row, side)| self.renew_side(row, side, work))
                    .sum()
            }
            _ => self.renew_side(0, normal, work),
        }
    }

    /// Renews a force within its bounds.
    fn renew_side(&self, row: usize, force: &mut T, work: &mut Noslip<T>) -> f64 {
        let max_force = self.max_force(row, work);
        let residual = self.residual(row, work);
        let stiffness = self.along(row, self.response(row, work));
        let old = *force;
        // The minimum of the parabola along the row, clamped to its bounds. (1)
        *force = if stiffness.value() < MIN_LENGTH {
            T::ZERO
        } else {
            (old - residual / stiffness).clamp(-max_force, max_force)
        };
        let change = *force - old;
        self.push(row, change, work);
        (change * change * stiffness * 0.5 + change * residual).value()
    }

    /// The problem of an elliptic cone's section at its forces, and r.
    fn cone(&self, forces: &[T], work: &Noslip<T>) -> (Cone<T>, [T; MAX_FRICTION_ROWS]) {
        let count = forces.len();
        let mut cone = Cone {
            count,
            matrix: [[T::ZERO; MAX_FRICTION_ROWS]; MAX_FRICTION_ROWS],
            linear: [T::ZERO; MAX_FRICTION_ROWS],
            friction: [T::ONE; MAX_FRICTION_ROWS],
        };
        let mut residual = [T::ZERO; MAX_FRICTION_ROWS];
        for row in 0..count {
            residual[row] = self.residual(row, work);
            cone.linear[row] = residual[row];
            cone.friction[row] = self.row(row).friction;
            for (other, &force) in forces.iter().enumerate() {
                let mut entry = self.along(row, self.response(other, work));
                if row == other {
                    entry = entry.max(T::from(MIN_DIAGONAL));
                }
                cone.matrix[row][other] = entry;
                cone.linear[row] -= entry * force;
            }
        }
        (cone, residual)
    }

    /// Renews the forces within the section of an elliptic cone.
    fn renew_cone(&self, normal: T, forces: &mut [T], work: &mut Noslip<T>) -> f64 {
        let (cone, residual) = self.cone(forces, work);
        let (renewed, cost) = cone.renew(normal, forces, &residual);
        // A cost that rises is rounding: leave the forces.
        if cost > CONE_TOLERANCE {
            return 0.0;
        }
        for (row, force) in forces.iter_mut().enumerate() {
            let change = renewed[row] - *force;
            *force = renewed[row];
            self.push(row, change, work);
        }
        cost
    }
}

/// Generalised forces, accelerations and residuals of the renewed forces.
fn finish<T: Scalar>(sources: &Sources<'_, T>, out: &mut Solve<T>) {
    let &Sources {
        model,
        inertia,
        acceleration,
        constraint,
    } = sources;
    out.force_constraint.fill(T::ZERO);
    constraint.push(&out.force, &mut out.force_constraint);
    // a = a₀ + M⁻¹·Jᵀ·f, then the residuals there.
    out.qacc.copy_from_slice(&out.force_constraint);
    inertia::solve(model, inertia, &mut out.qacc);
    for (qacc, &smooth) in out.qacc.iter_mut().zip(&acceleration.smooth) {
        *qacc += smooth;
    }
    for block in &constraint.blocks {
        for (row, place) in block.rows().enumerate() {
            let start = -constraint.rows[place].reference_acceleration;
            out.residual[place] = constraint
                .jacobian_row(block, row)
                .dot_from(start, &out.qacc);
        }
    }
}
