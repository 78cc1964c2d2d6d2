//! Nonlinear conjugate gradients, preconditioned by M, with the direction update of [Hager 2005].

use super::law::Phase;
use super::line_search::{Accuracy, Ray};
use super::newton::{inverse_inertia_norm, line_tolerance};
use super::problem::Island;
use super::start::{Criteria, Progress};
use super::{Iterate, SolveStatus};

/// A line search ends once the slope has fallen to this fraction of its initial value: conjugacy needs exact searches.
const MAX_SLOPE_RATIO: f64 = 1e-8;
/// η of [Hager 2005]: bounds the update from below, which keeps directions from becoming orthogonal to the gradient.
const MAX_TRUNCATION_GRADIENT: f64 = 0.01;
/// Smallest curvature that the update divides by.
const MIN_CURVATURE: f64 = 1e-15;

/// Iterates from the start to the minimum of one island.
pub(super) fn minimize(
    island: &Island,
    criteria: &Criteria,
    iterate: &mut Iterate,
    phase: &mut [Phase],
    mut progress: Progress,
) -> Progress {
    let tolerance = criteria.tolerance;
    let mut norm = inverse_inertia_norm(island, iterate);
    let mut conjugacy = 0.0;
    iterate.factor_is_current[island.index] = false;
    progress.status = loop {
        if !progress.gradient_norm.is_finite() {
            break SolveStatus::NotFinite;
        }
        // ½·gᵀ·M⁻¹·g bounds the distance to the lowest cost.
        let gap = 0.5 * progress.scale * norm;
        if progress.gradient_norm == 0.0 || gap < tolerance {
            break SolveStatus::Converged;
        }
        if progress.iterations == criteria.iterations {
            break SolveStatus::IterationLimit;
        }
        update_direction(island, iterate, conjugacy);
        let mut slope = island.dot(&iterate.gradient, &iterate.direction);
        // No descent: restart with the preconditioned gradient.
        if slope >= 0.0 {
            update_direction(island, iterate, 0.0);
            slope = -norm;
        }
        iterate.aim(island);
        let ray = Ray {
            island: *island,
            smooth: iterate.smooth_derivatives(island),
            residual: &iterate.residual,
            rate: &iterate.rate,
        };
        // Exact line search from the minimum of the local quadratic.
        let (_, curvature) = ray.derivatives(0.0);
        let accuracy = Accuracy {
            slope: line_tolerance(island, iterate, criteria, &progress)
                .max(MAX_SLOPE_RATIO * slope.abs()),
            evaluations: criteria.line_iterations,
        };
        let step = ray.search(slope, -slope / curvature, accuracy);
        if step.length <= 0.0 {
            break SolveStatus::Exhausted;
        }
        // The update needs the gradients of both ends of the step.
        for dofs in island.dofs() {
            let (from, to) = (&iterate.gradient, &mut iterate.gradient_before);
            to[dofs.clone()].copy_from_slice(&from[dofs.clone()]);
            let (from, to) = (&iterate.preconditioned, &mut iterate.preconditioned_before);
            to[dofs.clone()].copy_from_slice(&from[dofs]);
        }
        progress.cost = iterate.advance(island, step.length, phase).0;
        progress.iterations += 1;
        let before = progress.gradient_norm;
        progress.gradient_norm = island.dot(&iterate.gradient, &iterate.gradient).sqrt();
        norm = inverse_inertia_norm(island, iterate);
        // Exact for quadratics: the mean slope times the length.
        let improvement = -0.5 * (slope + step.slope) * step.length;
        let small = improvement > 0.0 && progress.scale * improvement < tolerance;
        if small || progress.scale * progress.gradient_norm < tolerance {
            break SolveStatus::Converged;
        }
        if tolerance == 0.0 && improvement <= 0.0 && progress.gradient_norm >= before {
            break SolveStatus::Exhausted;
        }
        conjugacy = hager_zhang(island, iterate);
    };
    progress
}

/// direction ← −M⁻¹·gradient + conjugacy·direction.
fn update_direction(island: &Island, iterate: &mut Iterate, conjugacy: f64) {
    for dof in island.dofs().flatten() {
        let carried = if conjugacy == 0.0 {
            0.0
        } else {
            conjugacy * iterate.direction[dof]
        };
        iterate.direction[dof] = carried - iterate.preconditioned[dof];
    }
}

/// The factor of the last direction in the next.
fn hager_zhang(island: &Island, iterate: &Iterate) -> f64 {
    let mut along = 0.0;
    let (mut change_square, mut change_gradient) = (0.0, 0.0);
    for dof in island.dofs().flatten() {
        let change = iterate.gradient[dof] - iterate.gradient_before[dof];
        let preconditioned_change =
            iterate.preconditioned[dof] - iterate.preconditioned_before[dof];
        along += iterate.direction[dof] * change;
        change_square += change * preconditioned_change;
        change_gradient += change * iterate.preconditioned[dof];
    }
    if along < MIN_CURVATURE {
        return 0.0;
    }
    let slope = island.dot(&iterate.direction, &iterate.gradient);
    let factor = (change_gradient - 2.0 * change_square / along * slope) / along;
    let norm = |vector: &[f64]| island.dot(vector, vector).sqrt();
    let bound = norm(&iterate.direction) * norm(&iterate.gradient).min(MAX_TRUNCATION_GRADIENT);
    factor.max(-1.0 / bound.max(MIN_CURVATURE))
}
