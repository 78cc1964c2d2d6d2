//! The adjoint of the impulses, at the solution.
//!
//! With f = λ/h the results are a = M⁻¹·(τ + Jᵀ·f), Jᵀ·f, f and u. From their cotangents, p = M⁻¹·ā and t̄ ← t̄ + p give
//!
//!   τ̄ += p,   M̄ −= p·aᵀ,   J̄ += f·t̄ᵀ,   λ̄ = (f̄ + J·t̄)/h                                    (1̄)
//!
//! With what every block does held fixed, λ solves the equations e(λ, u, μ) = 0 of the [active set](super::active_set)
//! and u = v⁻ − t + J·w + R·λ, w = M̂⁻¹·(h·τ + Jᵀ·λ). One transposed system of the active rows leads past the solution,
//!
//!   (de/dλ)ᵀ·ε = −(λ̄ + (∂u/∂λ)ᵀ·ū),   ū ← ū + (∂e/∂u)ᵀ·ε,   μ̄ += (∂e/∂μ)ᵀ·ε                   (2̄)
//!
//! and with g = M̂⁻¹·Jᵀ·ū the rest is
//!
//!   τ̄ += h·g,   M̂̄ −= g·wᵀ,   J̄ += ū·wᵀ + λ·gᵀ,   R̄ += ū·λ,   v̄⁻ += ū,   t̄ −= ū               (3̄)
//!
//! Impulses at the bounds of friction loss are ±h·η: η̄ and h̄ receive λ̄ + R·ū + J·g. The targets t are small functions
//! whose derivatives come from dual numbers.

use super::super::law::Phase;
use super::Complementarity;
use super::active_set::{self, ActiveSet, Point};
use super::rows;
use super::sweep::Island;
use crate::cotangent::Cotangents;
use crate::dual::Dual;
use crate::dynamics::At;
use crate::integrate::euler;
use crate::linalg::tree_ldl;
use crate::stages::constraint::{Block, BlockKind};
use crate::stages::inertia;

/// Room for the backward pass. All lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    active: ActiveSet,
    /// p, then g.
    dof_bar: Vec<f64>,
    /// w.
    rise: Vec<f64>,
    /// λ̄.
    impulse: Vec<f64>,
    /// ε.
    equation: Vec<f64>,
    scratch: Vec<f64>,
}

/// Adds the cotangents of inertia, forces, rows, state and model; `bar.data.solve` is used up.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    if at.data.constraint.blocks.is_empty() {
        euler::add(&mut bar.data.acceleration.smooth, &bar.data.solve.qacc);
        return;
    }
    let mut work = std::mem::take(&mut bar.data.solve.complementarity);
    work.through_forces(at, bar); // (1̄)
    work.spread(at, &bar.data.solve.residual);
    work.through_solution(at, bar); // (2̄)
    work.spread(at, &bar.data.solve.residual);
    work.find_rise(at);
    work.through_velocities(at, bar); // (3̄)
    for (index, block) in at.data.constraint.blocks.iter().enumerate() {
        for row in 0..block.row_count {
            work.row(at, (index, block, row), bar);
        }
    }
    bar.data.solve.complementarity = work;
}

impl Work {
    /// From a and f to λ. (1̄)
    fn through_forces(&mut self, at: At<'_>, bar: &mut Cotangents) {
        let (constraint, solve) = (&at.data.constraint, &at.data.solve);
        let solve_bar = &mut bar.data.solve;
        // p = M⁻¹·ā, to inertia and forces.
        inertia::solve(at.model, &at.data.inertia, &mut solve_bar.qacc);
        inertia::subtract_outer_product(
            at.model,
            &solve_bar.qacc,
            &solve.qacc,
            &mut bar.data.inertia.matrix,
        );
        euler::add(&mut bar.data.acceleration.force_smooth, &solve_bar.qacc);
        euler::add(&mut solve_bar.force_constraint, &solve_bar.qacc);
        // f̄ + J·t̄ of every row, over h: λ̄.
        let rate = at.input.timestep.recip();
        self.impulse.clear();
        for block in &constraint.blocks {
            for (row, place) in block.rows().enumerate() {
                let pull = &solve_bar.force_constraint;
                let force_bar =
                    solve_bar.force[place] + constraint.jacobian_row(block, row).dot(pull);
                self.impulse.push(force_bar * rate);
                bar.input.timestep -= force_bar * solve.force[place] * rate;
                let (scale, rows_bar) = (solve.force[place], &mut bar.data.constraint);
                rows_bar.add_to_row(constraint, (block, row), scale, |dof| pull[dof]);
            }
        }
    }

    /// g = M̂⁻¹·Jᵀ·ū.
    fn spread(&mut self, at: At<'_>, velocity_bar: &[f64]) {
        let constraint = &at.data.constraint;
        self.dof_bar.clear();
        self.dof_bar.resize(at.model.counts().nv, 0.0);
        constraint.push(velocity_bar, &mut self.dof_bar);
        at.data
            .solve
            .complementarity
            .solve_step_inertia(at, &mut self.dof_bar);
    }

    /// w = M̂⁻¹·(h·τ + Jᵀ·λ).
    fn find_rise(&mut self, at: At<'_>) {
        let h = at.input.timestep;
        let solved = &at.data.solve.complementarity;
        self.rise.clear();
        let forces = at.data.acceleration.force_smooth.iter();
        self.rise.extend(forces.map(|force| h * force));
        at.data.constraint.push(&solved.impulse, &mut self.rise);
        solved.solve_step_inertia(at, &mut self.rise);
    }

    /// Past the equations of the active rows. (2̄)
    fn through_solution(&mut self, at: At<'_>, bar: &mut Cotangents) {
        let (constraint, solve) = (&at.data.constraint, &at.data.solve);
        let solved = &solve.complementarity;
        let point = Point {
            impulse: &solved.impulse,
            velocity: &solved.velocity,
            friction: &solved.friction,
        };
        for index in 0..solve.islands.count() {
            let island = Island {
                blocks: &constraint.blocks,
                members: solve.islands.blocks(index),
                response: &solved.response,
                free: &solved.free,
                mixing: &solved.mixing,
                friction: &solved.friction,
                timestep: at.input.timestep,
            };
            self.active.collect(&island, &solve.phase);
            self.equation.clear();
            for (index, block) in island.members() {
                if !active_set::is_active(block, solve.phase[index]) {
                    continue;
                }
                for (row, place) in block.rows().enumerate() {
                    let velocity_bar = bar.data.solve.residual[place];
                    let total = self.impulse[place]
                        + solved.mixing[index] * velocity_bar
                        + constraint.jacobian_row(block, row).dot(&self.dof_bar);
                    self.equation.push(-total);
                }
            }
            // One transposed solve over the active rows: ε. (2̄)
            self.active.factor(&island, &solve.phase, point);
            self.active
                .solve_transposed(&mut self.equation, &mut self.scratch);
            // ε goes on to velocities and friction coefficients.
            let mut rest = &self.equation[..];
            for (index, block) in island.members() {
                let phase = solve.phase[index];
                if !active_set::is_active(block, phase) {
                    continue;
                }
                let (own, others) = rest.split_at(block.row_count);
                rest = others;
                through_equations(
                    block,
                    active_set::is_sliding(block, phase),
                    (point, own),
                    bar,
                );
            }
        }
    }

    /// From u to forces, inertia and time step. (3̄)
    fn through_velocities(&self, at: At<'_>, bar: &mut Cotangents) {
        let h = at.input.timestep;
        let matrix_bar = &mut bar.data.inertia.matrix;
        inertia::subtract_outer_product(at.model, &self.dof_bar, &self.rise, matrix_bar);
        let disable = &at.model.settings.disable;
        if !(disable.eulerdamp || disable.damper) {
            let (g, w) = (&self.dof_bar, &self.rise);
            euler::damping_backward(at, |dof| -g[dof] * w[dof], bar);
        }
        for (dof, &g) in self.dof_bar.iter().enumerate() {
            bar.input.timestep += g * at.data.acceleration.force_smooth[dof];
            bar.data.acceleration.force_smooth[dof] += h * g;
        }
    }

    /// From u and λ of a row to what the row is made from. (3̄)
    fn row(&self, at: At<'_>, (index, block, row): (usize, &Block, usize), bar: &mut Cotangents) {
        let (constraint, solve) = (&at.data.constraint, &at.data.solve);
        let solved = &solve.complementarity;
        let (place, law) = (block.row + row, solved.law[index]);
        let (impulse, velocity_bar) = (solved.impulse[place], bar.data.solve.residual[place]);
        let rows_bar = &mut bar.data.constraint;
        rows_bar.add_to_row(constraint, (block, row), velocity_bar, |dof| self.rise[dof]);
        rows_bar.add_to_row(constraint, (block, row), impulse, |dof| self.dof_bar[dof]);
        bar.model.laws.mixing[law] += velocity_bar * impulse;
        let row_bar = &mut bar.data.constraint.rows[place];
        row_bar.velocity += velocity_bar;
        if matches!(
            block.kind,
            BlockKind::DofFriction | BlockKind::TendonFriction
        ) {
            let sign = match solve.phase[index] {
                Phase::SLIDING_DOWN => 1.0,
                Phase::SLIDING_UP => -1.0,
                _ => return,
            };
            let total = self.impulse[place]
                + solved.mixing[index] * velocity_bar
                + constraint.jacobian_row(block, row).dot(&self.dof_bar);
            row_bar.friction += sign * at.input.timestep * total;
            bar.input.timestep += sign * solved.friction[place] * total;
            return;
        }
        target_backward(at, (block, row, law), -velocity_bar, bar);
    }
}

/// From e to u and μ of a block. (2̄)
fn through_equations(
    block: &Block,
    slides: bool,
    (point, equation_bar): (Point<'_>, &[f64]),
    bar: &mut Cotangents,
) {
    let velocity_bar = &mut bar.data.solve.residual[block.rows()];
    let stopped = if slides { 1 } else { block.row_count };
    for (bar, own) in velocity_bar.iter_mut().zip(equation_bar).take(stopped) {
        *bar += own;
    }
    if !slides {
        return;
    }
    let [impulse, velocity, friction] =
        [point.impulse, point.velocity, point.friction].map(|list| &list[block.rows()]);
    let (mut square, mut along) = (0.0, 0.0);
    for row in 1..block.row_count {
        square += (friction[row] * velocity[row]).powi(2);
        along += equation_bar[row] * impulse[row] / impulse[0];
    }
    // Where nothing slides the direction has no derivative.
    let speed_bar = along / square.sqrt().max(f64::MIN_POSITIVE);
    for row in 1..block.row_count {
        let (mu, u, own) = (friction[row], velocity[row], equation_bar[row]);
        velocity_bar[row] += mu * mu * (own + speed_bar * u);
        bar.data.constraint.rows[block.row + row].friction += mu * u * (2.0 * own + speed_bar * u);
    }
}

/// From the target of a row to its position and rate, and to the numbers of the law.
fn target_backward(
    at: At<'_>,
    (block, row, law): (&Block, usize, usize),
    target_bar: f64,
    bar: &mut Cotangents,
) {
    type Number = Dual<7>;
    let (model, numbers) = (at.model, &at.data.constraint.rows[block.row + row]);
    let laws = &model.laws;
    let [correction, approach] = laws.baumgarte[law];
    let target = rows::TargetNumbers {
        timestep: Number::variable(at.input.timestep, 0),
        baumgarte: [
            Number::variable(correction, 1),
            Number::variable(approach, 2),
        ],
        restitution: Number::variable(laws.restitution[law], 3),
        restitution_speed: Number::variable(laws.restitution_speed[law], 4),
        position: Number::variable(numbers.position, 5),
        velocity: Number::variable(numbers.velocity, 6),
    }
    .target(block.kind, row == 0);
    // ∂t of every argument, times the cotangent of t.
    let slope = |place: usize| target.tangent[place] * target_bar;
    bar.input.timestep += slope(0);
    let laws_bar = &mut bar.model.laws;
    laws_bar.baumgarte[law][0] += slope(1);
    laws_bar.baumgarte[law][1] += slope(2);
    laws_bar.restitution[law] += slope(3);
    laws_bar.restitution_speed[law] += slope(4);
    let row_bar = &mut bar.data.constraint.rows[block.row + row];
    row_bar.position += slope(5);
    row_bar.velocity += slope(6);
}

impl Complementarity {
    fn solve_step_inertia(&self, at: At<'_>, x: &mut [f64]) {
        let (factor, inverse) = (&self.inertia_factor, &self.inertia_diagonal_inverse);
        tree_ldl::solve_in_place(&at.model.structure.inertia, factor, inverse, x);
    }
}
