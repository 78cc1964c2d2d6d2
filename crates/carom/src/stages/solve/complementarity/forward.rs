use super::super::forward::plain;
use super::super::law::Phase;
use super::super::{Solve, SolveReport, SolveStatus};
use super::rows::{LocalProblem, TargetNumbers};
use super::sweep::{self, Island, Iterate, Limits, Progress};
use super::{Complementarity, derivative};
use crate::integrate::euler;
use crate::linalg::tree_ldl;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::acceleration::Acceleration;
use crate::stages::collision::Collision;
use crate::stages::constraint::{Block, BlockKind, Constraint};
use crate::stages::inertia::{self, Inertia};
use crate::state::State;

/// What the impulses of a step depend on.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a, T: Scalar = f64> {
    /// The state at the start of the step.
    pub state: &'a State<T>,
    /// Length of the step (s).
    pub timestep: T,
    /// Inertia and its factor.
    pub inertia: &'a Inertia<T>,
    /// Acceleration without constraints.
    pub acceleration: &'a Acceleration<T>,
    /// Constraint rows.
    pub constraint: &'a Constraint<T>,
    /// Contacts, which name their laws.
    pub collision: &'a Collision<T>,
}

/// Solves for the impulses of a step, and the forces and accelerations that they amount to.
pub fn forward<T: Scalar>(model: &Model<T>, given: Given<'_, T>, out: &mut Solve<T>) {
    let Given {
        acceleration,
        constraint,
        ..
    } = given;
    out.qacc.copy_from_slice(&acceleration.smooth);
    out.force_constraint.fill(T::ZERO);
    out.report = SolveReport::default();
    let (rows, blocks) = (constraint.rows.len(), &constraint.blocks);
    out.residual.resize(rows, T::ZERO);
    out.force.resize(rows, T::ZERO);
    out.phase.resize(blocks.len(), Phase::OFF);
    let together = model.settings.disable.island;
    let columns = &constraint.columns;
    out.islands
        .find(&model.structure, blocks, columns, together);
    let Some(law) = model.structure.laws.of_rows.filter(|_| !blocks.is_empty()) else {
        out.complementarity.impulse.clear();
        out.complementarity.velocity.clear();
        return;
    };
    let work = &mut out.complementarity;
    let regular = work.factor_step_inertia(model, given);
    work.read_rows(model, given, law);
    work.prepare(model, given);
    solve_islands(model, given, law, out);
    if !regular {
        out.report.status = SolveStatus::Singular;
    }
    if T::HAS_DERIVATIVES {
        // Derivatives are those at the impulses they start from: first make these exact.
        derivative::correct(model, given, out);
        derivative::correct(model, given, out);
    }
    write_solution(model, given, out);
}

/// Makes the solution that [`forward`] found as exact as the backward pass needs it; false where it has no derivative.
pub fn refine(model: &Model, given: Given<'_>, out: &mut Solve) -> bool {
    if given.constraint.blocks.is_empty() {
        return true;
    }
    let is_unique = derivative::correct(model, given, out);
    write_solution(model, given, out);
    is_unique
}

/// The law whose numbers hold for a block: the contact's own, or that of all other rows.
fn law_of<T: Scalar>(block: &Block, collision: &Collision<T>, other: usize) -> usize {
    match block.kind {
        BlockKind::FrictionlessContact
        | BlockKind::PyramidalContact
        | BlockKind::EllipticContact => collision.contacts[block.object].law.unwrap_or(other),
        _ => other,
    }
}

impl<T: Scalar> Complementarity<T> {
    /// M̂ and â = M̂⁻¹·τ; false if M̂ is singular.
    fn factor_step_inertia(&mut self, model: &Model<T>, given: Given<'_, T>) -> bool {
        let Given {
            inertia,
            acceleration,
            ..
        } = given;
        let sparsity = &model.structure.inertia;
        let (factor, inverse) = (&mut self.inertia_factor, &mut self.inertia_diagonal_inverse);
        let damped = euler::has_implicit_damping(model);
        factor.clear();
        inverse.clear();
        inverse.extend_from_slice(&inertia.diagonal_inverse);
        self.smooth.clear();
        if !damped {
            factor.extend_from_slice(&inertia.factor);
            self.smooth.extend_from_slice(&acceleration.smooth);
            return true;
        }
        factor.extend_from_slice(&inertia.matrix);
        euler::add_damping(model, given.state, given.timestep, factor);
        let regular = tree_ldl::factor_in_place(sparsity, factor, inverse).is_ok();
        self.smooth.extend_from_slice(&acceleration.force_smooth);
        tree_ldl::solve_in_place(sparsity, factor, inverse, &mut self.smooth);
        regular
    }

    /// Targets, velocities without impulses, and R.
    fn read_rows(&mut self, model: &Model<T>, given: Given<'_, T>, other: usize) {
        let Given {
            timestep: h,
            constraint,
            collision,
            ..
        } = given;
        self.target.clear();
        self.free.clear();
        self.law.clear();
        self.mixing.clear();
        self.friction.clear();
        let coefficients = constraint.rows.iter().map(|row| row.friction.value());
        self.friction.extend(coefficients);
        for block in &constraint.blocks {
            let law = law_of(block, collision, other);
            self.law.push(law);
            self.mixing.push(model.laws.mixing[law].value());
            for (index, row) in constraint.block_rows(block).iter().enumerate() {
                let target = TargetNumbers::new(model, law, row, h).target(block.kind, index == 0);
                let rise = constraint.jacobian_row(block, index).dot(&self.smooth);
                self.target.push(target);
                self.free.push((row.velocity + rise * h - target).value());
            }
        }
    }

    /// Y, the problems of the blocks, and impulses of zero.
    fn prepare(&mut self, model: &Model<T>, given: Given<'_, T>) {
        let constraint = given.constraint;
        let factor = (
            plain(&self.inertia_factor, &mut self.plain_factor),
            plain(
                &self.inertia_diagonal_inverse,
                &mut self.plain_diagonal_inverse,
            ),
        );
        let blocks = &constraint.blocks;
        let jacobian = plain(&constraint.jacobian, &mut self.plain_jacobian);
        let rows = (&constraint.columns[..], jacobian);
        self.response
            .compute(&model.structure, factor, blocks, rows);
        let h = given.timestep.value();
        self.local.clear();
        for (index, block) in blocks.iter().enumerate() {
            let response = self.response.block(index, block.row_count);
            let friction = |row: usize| constraint.rows[block.row + row].friction.value();
            let mixing = self.mixing[index];
            self.local
                .push(LocalProblem::new(block, &response, mixing, friction, h));
        }
        self.impulse.clear();
        self.impulse.resize(constraint.rows.len(), 0.0);
        self.velocity.clear();
        self.velocity.resize(constraint.rows.len(), 0.0);
        self.momentum.clear();
        self.momentum.resize(model.counts().nv, 0.0);
    }
}

fn solve_islands<T: Scalar>(model: &Model<T>, given: Given<'_, T>, law: usize, out: &mut Solve<T>) {
    let constraint = given.constraint;
    let Complementarity {
        response,
        free,
        mixing,
        friction,
        local,
        impulse,
        momentum,
        velocity,
        interior,
        place,
        ..
    } = &mut out.complementarity;
    // Velocities of ordinary size are meant; greater ones cannot be more exact than rounding.
    let speed = free.iter().fold(1.0_f64, |most, &u| most.max(u.abs()));
    let limits = Limits {
        tolerance: model.laws.tolerance[law].value() * speed,
        iterations: model.structure.laws.iterations[law],
    };
    for index in 0..out.islands.count() {
        let island = Island {
            blocks: &constraint.blocks,
            members: out.islands.blocks(index),
            response,
            free,
            mixing,
            friction,
            timestep: given.timestep.value(),
        };
        let mut iterate = Iterate {
            local,
            impulse,
            momentum,
            phase: &mut out.phase,
        };
        let progress = sweep::solve(&island, limits, (interior, place), &mut iterate);
        add_to_report(progress, &mut out.report);
        island.velocities(impulse, momentum, velocity);
    }
}

fn add_to_report(progress: Progress, report: &mut SolveReport) {
    let status = if progress.converged {
        SolveStatus::Converged
    } else if progress.residual.is_nan() {
        SolveStatus::NotFinite
    } else {
        SolveStatus::IterationLimit
    };
    report.status = report.status.max(status);
    report.iterations = report.iterations.max(progress.iterations);
    report.total_iterations += progress.iterations;
    report.residual = report.residual.max(progress.residual);
}

/// Forces f = λ/h, their generalised force, and M·a = τ + Jᵀ·f.
fn write_solution<T: Scalar>(model: &Model<T>, given: Given<'_, T>, out: &mut Solve<T>) {
    let constraint = given.constraint;
    let rate = given.timestep.recip();
    out.force_constraint.fill(T::ZERO);
    if !T::HAS_DERIVATIVES {
        for (force, &impulse) in out.force.iter_mut().zip(&out.complementarity.impulse) {
            *force = rate * impulse;
        }
        for (residual, &velocity) in out.residual.iter_mut().zip(&out.complementarity.velocity) {
            *residual = T::from(velocity);
        }
    }
    for block in &constraint.blocks {
        for (row, &force) in out.force[block.rows()].iter().enumerate() {
            if T::HAS_DERIVATIVES || force != T::ZERO {
                (constraint.jacobian_row(block, row)).push(force, &mut out.force_constraint);
            }
        }
    }
    for (dof, qacc) in out.qacc.iter_mut().enumerate() {
        *qacc = given.acceleration.force_smooth[dof] + out.force_constraint[dof];
    }
    inertia::solve(model, given.inertia, &mut out.qacc);
}
