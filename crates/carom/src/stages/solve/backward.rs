//! The adjoint of the solution, at the solution.
//!
//! With cotangents ā of the acceleration, ȳ of the residuals, f̄ of the forces and t̄ of Jᵀ·f, first what does not pass
//! through the equation (2) of the module:
//!
//!   f̄ ← f̄ + J·t̄,   ȳ ← ȳ − K·f̄,   ā ← ā + Jᵀ·ȳ
//!
//! then one solve λ = H⁻¹·ā, and with g = f̄ + J·λ the force cotangent of both,
//!
//!   τ̄ += λ,   M̄ −= λ·aᵀ,   p̄ += (∂f/∂p)ᵀ·g   for the weights and frictions p of the rows
//!   ȳ ← ȳ − K·J·λ,   J̄ += ȳ·aᵀ + f·(λ + t̄)ᵀ,   â̄ −= ȳ
//!
//! Free trees keep their smooth acceleration and pass ā on to it. A piecewise law is differentiated on the piece it is on.

use std::mem::take;

use super::Solve;
use super::complementarity::BackwardWork;
use super::law::{Law, MAX_ROWS, Phase};
use super::noslip;
use crate::cotangent::Cotangents;
use crate::dual::Dual;
use crate::dynamics::At;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::acceleration::Acceleration;
use crate::stages::constraint::{Block, BlockKind, Constraint, ConstraintBar, RowBar};
use crate::stages::inertia;
use crate::terms::length::Row;

/// Cotangent of [`Solve`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SolveBar {
    /// Of the acceleration, nv; λ afterwards, zero on free trees.
    pub qacc: Vec<f64>,
    /// Of the generalised constraint force, nv.
    pub force_constraint: Vec<f64>,
    /// Of the residual of each row.
    pub residual: Vec<f64>,
    /// Of the force of each row.
    pub force: Vec<f64>,
    /// The dofs of one island, in its order.
    island: Vec<f64>,
    /// Room for the complementarity law.
    pub(super) complementarity: BackwardWork,
    /// Room for the sweeps against creep.
    pub(super) noslip: noslip::BackwardWork,
}

/// The minimum of (1) of the module, at which derivatives are taken: also where sweeps have left it since.
#[derive(Clone, Copy)]
pub(super) struct Minimum<'a> {
    pub(super) qacc: &'a [f64],
    pub(super) force_constraint: &'a [f64],
    pub(super) residual: &'a [f64],
    pub(super) force: &'a [f64],
}

impl Solve {
    pub(super) fn minimum(&self, model: &Model) -> Minimum<'_> {
        if model.settings.noslip_iterations == 0 {
            return Minimum {
                qacc: &self.qacc,
                force_constraint: &self.force_constraint,
                residual: &self.residual,
                force: &self.force,
            };
        }
        let reached = &self.work.iterate;
        Minimum {
            qacc: &reached.acceleration,
            force_constraint: &reached.force_constraint,
            residual: &reached.residual,
            force: &reached.force,
        }
    }
}

impl SolveBar {
    /// Room for the cotangents of a model, all zero.
    pub fn zeros(model: &Model) -> Self {
        let nv = model.counts().nv;
        Self {
            qacc: vec![0.0; nv],
            force_constraint: vec![0.0; nv],
            ..Self::default()
        }
    }

    /// Zeros for the rows of a solution; keeps its capacity.
    pub fn set_zero(&mut self, rows: usize) {
        self.qacc.fill(0.0);
        self.force_constraint.fill(0.0);
        for list in [&mut self.residual, &mut self.force] {
            list.clear();
            list.resize(rows, 0.0);
        }
    }
}

/// Adds the cotangents of inertia, forces and rows; the factors of H must be those of the solution (see
/// [`factor_at_solution`](super::factor_at_solution)). Those of the solution are used up. Where there were sweeps against
/// creep, their own adjoint comes first and leaves the cotangents of the minimum.
pub fn backward(at: At<'_>, bars: &mut Cotangents) {
    let (model, constraint, solve) = (at.model, &at.data.constraint, &at.data.solve);
    let minimum = solve.minimum(model);
    let solved = |index: usize| Solved::new(constraint, (minimum, solve.phase[index]), index);
    let mut bar = take(&mut bars.data.solve);
    // What passes by the forces and residuals, then the one solve, then the rows.
    for index in 0..constraint.blocks.len() {
        through_forces(&solved(index), &mut bar);
    }
    let acceleration_bar = &mut bars.data.acceleration;
    solve_for_lambda(model, solve, &mut bar, acceleration_bar);
    let matrix_bar = &mut bars.data.inertia.matrix;
    inertia::subtract_outer_product(model, &bar.qacc, minimum.qacc, matrix_bar);
    for (force_bar, &lambda) in acceleration_bar.force_smooth.iter_mut().zip(&bar.qacc) {
        *force_bar += lambda;
    }
    for index in 0..constraint.blocks.len() {
        rows(&solved(index), minimum, &bar, &mut bars.data.constraint);
    }
    bars.data.solve = bar;
}

/// The cotangents of forces and residuals become one of the acceleration.
fn through_forces(solved: &Solved<'_>, bar: &mut SolveBar) {
    let rows = solved.block.rows();
    for (row, index) in rows.clone().enumerate() {
        // f̄ ← f̄ + J·t̄.
        bar.force[index] += solved.row(row).dot(&bar.force_constraint);
    }
    // ȳ ← ȳ − K·f̄.
    let force_bar = &bar.force[rows.clone()];
    if force_bar.iter().any(|&number| number != 0.0) {
        let image = solved.curvature_product(force_bar);
        for (residual_bar, image) in bar.residual[rows.clone()].iter_mut().zip(image) {
            *residual_bar -= image;
        }
    }
    for (row, index) in rows.enumerate() {
        // ā ← ā + Jᵀ·ȳ.
        let residual_bar = bar.residual[index];
        if residual_bar != 0.0 {
            solved.row(row).push(residual_bar, &mut bar.qacc);
        }
    }
}

/// λ on the islands; free trees pass their cotangent on.
fn solve_for_lambda(
    model: &Model,
    solve: &Solve,
    bar: &mut SolveBar,
    acceleration_bar: &mut Acceleration,
) {
    let structure = &*model.structure;
    // Trees without constraints keep their smooth acceleration.
    for (dof, lambda) in bar.qacc.iter_mut().enumerate() {
        if solve.islands.of_tree(structure.dofs.tree[dof]).is_none() {
            acceleration_bar.smooth[dof] += *lambda;
            *lambda = 0.0;
        }
    }
    for island in 0..solve.islands.count() {
        // λ = H⁻¹·ā with the factor that the solver left.
        bar.island.clear();
        let dofs = solve.islands.dof_ranges(structure, island).flatten();
        bar.island.extend(dofs.clone().map(|dof| bar.qacc[dof]));
        solve
            .hessian
            .solve_in_place(structure, &solve.islands, island, &mut bar.island);
        for (dof, &lambda) in dofs.zip(&bar.island) {
            bar.qacc[dof] = lambda;
        }
    }
}

/// Cotangents of the rows of a block.
fn rows(
    solved: &Solved<'_>,
    minimum: Minimum<'_>,
    bar: &SolveBar,
    constraint_bar: &mut ConstraintBar,
) {
    let (block, count) = (solved.block, solved.block.row_count);
    let (mut along, mut force_bar) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
    for row in 0..count {
        // J·λ, and g = f̄ + J·λ.
        along[row] = solved.row(row).dot(&bar.qacc);
        force_bar[row] = bar.force[block.row + row] + along[row];
    }
    solved.law_parameters(&force_bar[..count], &mut constraint_bar.rows[block.rows()]);
    let image = solved.curvature_product(&along[..count]);
    for row in 0..count {
        let residual_bar = bar.residual[block.row + row] - image[row];
        let force = minimum.force[block.row + row];
        constraint_bar.rows[block.row + row].reference_acceleration -= residual_bar;
        // J̄ += ȳ·aᵀ + f·(λ + t̄)ᵀ.
        constraint_bar.add_to_row(solved.constraint, (block, row), 1.0, |dof| {
            let pull = bar.qacc[dof] + bar.force_constraint[dof];
            residual_bar * minimum.qacc[dof] + force * pull
        });
    }
}

/// A block with its law at the solution.
struct Solved<'a> {
    constraint: &'a Constraint,
    block: &'a Block,
    weight: [f64; MAX_ROWS],
    friction: [f64; MAX_ROWS],
    phase: Phase,
    residual: &'a [f64],
}

impl<'a> Solved<'a> {
    fn new(
        constraint: &'a Constraint,
        (minimum, phase): (Minimum<'a>, Phase),
        index: usize,
    ) -> Self {
        let block = &constraint.blocks[index];
        let (mut weight, mut friction) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        for (index, row) in constraint.block_rows(block).iter().enumerate() {
            (weight[index], friction[index]) = (row.weight, row.friction);
        }
        Self {
            constraint,
            block,
            weight,
            friction,
            phase,
            residual: &minimum.residual[block.rows()],
        }
    }

    fn law(&self) -> Law<'_> {
        let count = self.block.row_count;
        Law {
            kind: self.block.kind,
            weight: &self.weight[..count],
            friction: &self.friction[..count],
        }
    }

    fn row(&self, row: usize) -> Row<'a> {
        self.constraint.jacobian_row(self.block, row)
    }

    /// K·x.
    fn curvature_product(&self, x: &[f64]) -> [f64; MAX_ROWS] {
        let (mut curvature, mut image) = ([[0.0; MAX_ROWS]; MAX_ROWS], [0.0; MAX_ROWS]);
        let law = self.law();
        if law.curvature(self.phase, self.residual, &mut curvature) {
            for (row, image) in image.iter_mut().enumerate().take(x.len()) {
                *image = (curvature[row].iter().zip(x)).map(|(k, x)| k * x).sum();
            }
        }
        image
    }

    /// (∂f/∂p)ᵀ·g for the weights and frictions of the rows.
    fn law_parameters(&self, g: &[f64], bars: &mut [RowBar]) {
        let (y, weight, friction) = (self.residual, &self.weight, &self.friction);
        let quadratic = |bars: &mut [RowBar]| {
            for ((bar, &y), &g) in bars.iter_mut().zip(y).zip(g) {
                bar.weight -= y * g;
            }
        };
        match (self.block.kind, self.phase) {
            (BlockKind::PyramidalContact, phase) => {
                for j in 1..y.len() {
                    for (shift, sign) in [(2 * j - 2, 1.0), (2 * j - 1, -1.0)] {
                        if phase.0 >> shift & 1 == 0 {
                            continue;
                        }
                        // An edge pushes with −D·e along the normal and ±μ of it along the tangent.
                        let edge = y[0] + sign * friction[j] * y[j];
                        let push_bar = g[0] + sign * friction[j] * g[j];
                        bars[0].weight -= edge * push_bar;
                        bars[j].friction -= sign * weight[0] * (edge * g[j] + y[j] * push_bar);
                    }
                }
            }
            (BlockKind::EllipticContact, Phase::CONE) => self.cone_parameters(g, bars),
            (BlockKind::DofFriction | BlockKind::TendonFriction, Phase::SLIDING_DOWN) => {
                bars[0].friction += g[0];
            }
            (BlockKind::DofFriction | BlockKind::TendonFriction, Phase::SLIDING_UP) => {
                bars[0].friction -= g[0];
            }
            (_, Phase::QUADRATIC) => quadratic(bars),
            _ => {}
        }
    }

    /// On the surface of the cone the force depends on the normal's weight and on all frictions.
    fn cone_parameters(&self, g: &[f64], bars: &mut [RowBar]) {
        type Number = Dual<{ MAX_ROWS + 1 }>;
        let count = g.len();
        let (mut weight, mut friction) = ([Number::ZERO; MAX_ROWS], [Number::ZERO; MAX_ROWS]);
        let (mut y, mut force) = ([Number::ZERO; MAX_ROWS], [Number::ZERO; MAX_ROWS]);
        for row in 0..count {
            weight[row] = Number::constant(self.weight[row]);
            friction[row] = Number::variable(self.friction[row], row);
            y[row] = Number::constant(self.residual[row]);
        }
        weight[0] = Number::variable(self.weight[0], MAX_ROWS);
        let law = Law {
            kind: self.block.kind,
            weight: &weight[..count],
            friction: &friction[..count],
        };
        law.respond(&y[..count], &mut force[..count]);
        for (force, &g) in force.iter().zip(g) {
            for (row, bar) in bars.iter_mut().enumerate() {
                bar.friction += force.tangent[row] * g;
            }
            bars[0].weight += force.tangent[MAX_ROWS] * g;
        }
    }
}
