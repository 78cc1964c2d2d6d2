//! Where the iterations start, and what all solvers do at every point they reach.

use super::law::{MAX_ROWS, Phase};
use super::problem::Island;
use super::{Iterate, SolveReport, SolveStatus, newton};

/// When iterations end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Criteria {
    pub(super) tolerance: f64,
    pub(super) line_tolerance: f64,
    pub(super) iterations: usize,
    pub(super) line_iterations: usize,
}

/// What a solver knows about an island while iterating.
pub(super) struct Progress {
    pub(super) status: SolveStatus,
    pub(super) iterations: usize,
    /// One over the trace of M: makes costs and gradients comparable between models.
    pub(super) scale: f64,
    pub(super) cost: f64,
    pub(super) gradient_norm: f64,
}

impl Progress {
    /// Adds an island to the report.
    pub(super) fn add_to(&self, report: &mut SolveReport) {
        report.status = report.status.max(self.status);
        report.iterations = report.iterations.max(self.iterations);
        report.total_iterations += self.iterations;
        let residual = self.scale * self.gradient_norm;
        if residual > report.residual || residual.is_nan() {
            report.residual = residual;
        }
        report.cost += self.cost;
    }
}

impl Iterate {
    /// Starts at the better of warm start and smooth acceleration. A warm start within `tolerance` of the least cost
    /// is the solution: nothing else is looked at.
    pub(super) fn start(
        &mut self,
        island: &Island,
        warmstart: Option<&[f64]>,
        tolerance: f64,
        phase: &mut [Phase],
    ) -> Progress {
        let scale = 1.0 / island.inertia_trace();
        let mut cost = f64::INFINITY;
        // The warm start ends the search where it is within the tolerance already.
        if let Some(warmstart) = warmstart {
            cost = self.place(island, warmstart, phase);
            self.update_gradient(island);
            let mut progress = self.progress(island, scale, cost);
            if newton::is_converged(island, self, &progress, tolerance) {
                progress.status = SolveStatus::Converged;
                return progress;
            }
        }
        // Written so that a warm start which is not finite loses.
        let warm_is_better = cost <= self.cost_of_smooth(island);
        if !warm_is_better {
            cost = self.place(island, island.problem.smooth, phase);
            self.update_gradient(island);
        }
        self.progress(island, scale, cost)
    }

    fn progress(&self, island: &Island, scale: f64, cost: f64) -> Progress {
        Progress {
            status: SolveStatus::IterationLimit,
            iterations: 0,
            scale,
            cost,
            gradient_norm: island.dot(&self.gradient, &self.gradient).sqrt(),
        }
    }

    /// The cost of the smooth acceleration: that of its residual alone.
    fn cost_of_smooth(&mut self, island: &Island) -> f64 {
        let smooth = island.problem.smooth;
        island.residual(smooth, &mut self.gather, &mut self.rate);
        let mut cost = 0.0;
        for (_, block) in island.blocks() {
            let mut force = [0.0; MAX_ROWS];
            let y = &self.rate[block.rows()];
            cost += island.law(block).respond(y, &mut force[..y.len()]).1;
        }
        cost
    }

    /// Puts the iterate at an acceleration; returns the cost.
    pub(super) fn place(
        &mut self,
        island: &Island,
        acceleration: &[f64],
        phase: &mut [Phase],
    ) -> f64 {
        for dofs in island.dofs() {
            self.acceleration[dofs.clone()].copy_from_slice(&acceleration[dofs]);
        }
        self.refresh(island, phase).0
    }

    /// Recomputes everything from the acceleration; returns the cost and whether a phase changed.
    pub(super) fn refresh(&mut self, island: &Island, phase: &mut [Phase]) -> (f64, bool) {
        island.mul_inertia(&self.acceleration, &mut self.momentum);
        island.residual(&self.acceleration, &mut self.gather, &mut self.residual);
        self.respond(island, phase)
    }

    /// Recomputes everything from the acceleration, on given pieces of the laws.
    pub(super) fn refresh_on(&mut self, island: &Island, phase: &[Phase]) {
        island.mul_inertia(&self.acceleration, &mut self.momentum);
        island.residual(&self.acceleration, &mut self.gather, &mut self.residual);
        for (index, block) in island.blocks() {
            let (y, force) = (&self.residual[block.rows()], &mut self.force[block.rows()]);
            island.law(block).force_in(phase[index], y, force);
        }
    }

    /// Recomputes forces and phases from the residual; returns the cost and whether a phase changed.
    pub(super) fn respond(&mut self, island: &Island, phase: &mut [Phase]) -> (f64, bool) {
        let (cost, changed) = island.respond(&self.residual, &mut self.force, phase);
        (cost + self.smooth_cost(island), changed)
    }

    /// ½·(a − a₀)ᵀ·(M·a − τ).
    fn smooth_cost(&self, island: &Island) -> f64 {
        let problem = island.problem;
        let mut sum = 0.0;
        for dof in island.dofs().flatten() {
            let force = self.momentum[dof] - problem.force_smooth[dof];
            sum += force * (self.acceleration[dof] - problem.smooth[dof]);
        }
        0.5 * sum
    }

    /// M·a − τ − Jᵀ·f.
    pub(super) fn update_gradient(&mut self, island: &Island) {
        let Self {
            force,
            gather,
            force_constraint,
            gradient,
            momentum,
            ..
        } = self;
        island.mul_jacobian_transposed(force, gather, force_constraint);
        for dof in island.dofs().flatten() {
            gradient[dof] =
                momentum[dof] - island.problem.force_smooth[dof] - force_constraint[dof];
        }
    }

    /// Prepares to move: M·direction and J·direction.
    pub(super) fn aim(&mut self, island: &Island) {
        island.mul_inertia(&self.direction, &mut self.direction_momentum);
        island.mul_jacobian(&self.direction, &mut self.gather, &mut self.rate);
    }

    /// Derivatives of the smooth part of the cost along the direction.
    pub(super) fn smooth_derivatives(&self, island: &Island) -> [f64; 2] {
        let problem = island.problem;
        let (mut slope, mut curvature) = (0.0, 0.0);
        for dof in island.dofs().flatten() {
            let direction = self.direction[dof];
            slope += direction * (self.momentum[dof] - problem.force_smooth[dof]);
            curvature += direction * self.direction_momentum[dof];
        }
        [slope, curvature]
    }

    /// Moves along the direction and updates forces and gradient; returns the cost and whether a phase changed.
    pub(super) fn advance(
        &mut self,
        island: &Island,
        length: f64,
        phase: &mut [Phase],
    ) -> (f64, bool) {
        island.add_scaled(&mut self.acceleration, &self.direction, length);
        island.add_scaled(&mut self.momentum, &self.direction_momentum, length);
        island.add_scaled_rows(&mut self.residual, &self.rate, length);
        let outcome = self.respond(island, phase);
        self.update_gradient(island);
        outcome
    }
}
