//! Newton's method with exact line search.
//!
//! The cost is convex, piecewise quadratic but for elliptic cones: as soon as the phases are right, one full step ends
//! at the minimum. A tolerance of zero asks for all that rounding allows.

use super::groups::is_curved;
use super::hessian::Hessian;
use super::law::Phase;
use super::line_search::{Accuracy, Ray, Step};
use super::problem::Island;
use super::start::{Criteria, Progress};
use super::{Iterate, SolveStatus};

/// A line search ends once the slope has fallen to this fraction of its initial value: Newton needs no more.
const MAX_SLOPE_RATIO: f64 = 1e-3;
/// With a tolerance of zero, the gradient may fail to halve so often …
const MAX_STALLS: usize = 2;
/// … once it is below this fraction of the forces it is the difference of: rounding then begins to show.
const GRADIENT_NOISE: f64 = 1e-9;
/// A gradient below this fraction of the forces is rounding alone (some ten ulps).
const GRADIENT_ROUNDING: f64 = 1e-14;
/// Maximum of iterations on given pieces of the laws. Where none is curved, the first one ends at the solution.
const MAX_ITERATIONS_ON_PIECES: usize = 50;
/// Steps along curved pieces are halved down to this length until the gradient falls.
const MIN_STEP_ON_PIECES: f64 = 1e-3;

/// Iterates from the start to the minimum of one island.
pub(super) fn minimize(
    island: &Island,
    criteria: &Criteria,
    iterate: &mut Iterate,
    phase: &mut [Phase],
    hessian: &mut Hessian,
    mut progress: Progress,
) -> Progress {
    if progress.status == SolveStatus::Converged {
        return progress;
    }
    let mut factored = false;
    let mut stalls = 0;
    let tolerance = criteria.tolerance;
    let is_small = |iterate: &Iterate, gradient_norm: f64| {
        tolerance == 0.0 && gradient_norm < GRADIENT_NOISE * force_norm(island, iterate)
    };
    let mut small = is_small(iterate, progress.gradient_norm);
    loop {
        if !progress.gradient_norm.is_finite() {
            progress.status = SolveStatus::NotFinite;
            break;
        }
        if progress.gradient_norm == 0.0 || is_converged(island, iterate, &progress, tolerance) {
            progress.status = SolveStatus::Converged;
            break;
        }
        if progress.iterations == criteria.iterations {
            progress.status = SolveStatus::IterationLimit;
            break;
        }
        if !factored {
            if hessian.factor(island, &iterate.residual, phase).is_err() {
                progress.status = SolveStatus::Singular;
                break;
            }
            factored = true;
        }
        // The Newton direction, and its slope.
        newton_direction(island, iterate, hessian);
        let slope = island.dot(&iterate.gradient, &iterate.direction);
        // The Newton decrement, which the quadratic model promises, is below the tolerance.
        if progress.iterations > 0 && -0.5 * progress.scale * slope < tolerance {
            progress.status = SolveStatus::Converged;
            break;
        }
        // Exact line search along it.
        iterate.aim(island);
        let accuracy = Accuracy {
            slope: line_tolerance(island, iterate, criteria, &progress)
                .max(MAX_SLOPE_RATIO * slope.abs()),
            evaluations: criteria.line_iterations,
        };
        let ray = Ray {
            island: *island,
            smooth: iterate.smooth_derivatives(island),
            residual: &iterate.residual,
            rate: &iterate.rate,
        };
        // Near the minimum of a quadratic a search would measure rounding: the full step ends there.
        let is_last = small && !any_curved(island, phase);
        let step = if is_last {
            Step {
                length: 1.0,
                slope: 0.0,
            }
        } else {
            ray.search(slope, 1.0, accuracy)
        };
        if slope >= 0.0 || step.length <= 0.0 {
            progress.status = SolveStatus::Exhausted;
            break;
        }
        // Move; the factor of H stays right as long as no phase changes and no cone is curved.
        let (cost, changed) = iterate.advance(island, step.length, phase);
        progress.iterations += 1;
        progress.cost = cost;
        factored = !changed && !any_curved(island, phase);
        let before = progress.gradient_norm;
        progress.gradient_norm = island.dot(&iterate.gradient, &iterate.gradient).sqrt();
        // Exact for quadratics: the mean slope times the length.
        let improvement = -0.5 * (slope + step.slope) * step.length;
        if improvement > 0.0 && progress.scale * improvement < tolerance {
            progress.status = SolveStatus::Converged;
            break;
        }
        // Without a tolerance, end where rounding keeps the gradient from falling.
        if tolerance == 0.0 {
            small = is_small(iterate, progress.gradient_norm);
            stalls += usize::from(small && progress.gradient_norm > 0.5 * before);
            let is_exact = is_last
                || factored
                    && step.length == 1.0
                    && progress.gradient_norm < GRADIENT_ROUNDING * force_norm(island, iterate);
            if stalls == MAX_STALLS || is_exact && !changed {
                progress.status = SolveStatus::Exhausted;
                break;
            }
        }
    }
    iterate.factor_is_current[island.index] = factored;
    progress
}

/// Iterates to where the gradient of one island is zero with every block on a given piece of its law, also beyond its end.
pub(super) fn settle_on(
    island: &Island,
    start: &[f64],
    iterate: &mut Iterate,
    phase: &[Phase],
    hessian: &mut Hessian,
) -> Progress {
    let is_curved = any_curved(island, phase);
    let mut progress = Progress {
        status: SolveStatus::IterationLimit,
        iterations: 0,
        scale: 1.0 / island.inertia_trace(),
        cost: 0.0,
        gradient_norm: f64::INFINITY,
    };
    iterate.factor_is_current[island.index] = false;
    for dofs in island.dofs() {
        iterate.acceleration[dofs.clone()].copy_from_slice(&start[dofs]);
    }
    let mut length = 1.0;
    while progress.iterations < MAX_ITERATIONS_ON_PIECES {
        // Forces and gradient on the given pieces.
        iterate.refresh_on(island, phase);
        iterate.update_gradient(island);
        let before = progress.gradient_norm;
        let gradient_norm = island.dot(&iterate.gradient, &iterate.gradient).sqrt();
        // The last step was too long for a curved piece: take half of it back.
        if is_curved && gradient_norm > before && length > MIN_STEP_ON_PIECES {
            length *= 0.5;
            island.add_scaled(&mut iterate.acceleration, &iterate.direction, -length);
            progress.iterations += 1;
            continue;
        }
        length = 1.0;
        progress.gradient_norm = gradient_norm;
        if !progress.gradient_norm.is_finite() {
            progress.status = SolveStatus::NotFinite;
            break;
        }
        // H changes along curved pieces only.
        if progress.iterations == 0 || is_curved {
            hessian.invalidate(island.index);
            if hessian.factor(island, &iterate.residual, phase).is_err() {
                progress.status = SolveStatus::Singular;
                break;
            }
        }
        // End where rounding keeps the gradient from falling.
        let size = force_norm(island, iterate);
        let stalls =
            progress.gradient_norm > 0.5 * before && progress.gradient_norm < GRADIENT_NOISE * size;
        if stalls || progress.gradient_norm <= GRADIENT_ROUNDING * size {
            progress.status = SolveStatus::Exhausted;
            iterate.factor_is_current[island.index] = true;
            break;
        }
        newton_direction(island, iterate, hessian);
        island.add_scaled(&mut iterate.acceleration, &iterate.direction, 1.0);
        progress.iterations += 1;
    }
    progress
}

/// MuJoCo's criterion on the gradient. Before the first iteration the bound ½·gᵀ·M⁻¹·g of the distance to the least cost
/// must be small as well.
pub(super) fn is_converged(
    island: &Island,
    iterate: &mut Iterate,
    progress: &Progress,
    tolerance: f64,
) -> bool {
    if progress.scale * progress.gradient_norm >= tolerance {
        return false;
    }
    progress.iterations > 0
        || 0.5 * progress.scale * inverse_inertia_norm(island, iterate) < tolerance
}

/// gᵀ·M⁻¹·g.
pub(super) fn inverse_inertia_norm(island: &Island, iterate: &mut Iterate) -> f64 {
    let Iterate {
        gradient,
        preconditioned,
        ..
    } = iterate;
    for dofs in island.dofs() {
        preconditioned[dofs.clone()].copy_from_slice(&gradient[dofs]);
    }
    island.solve_inertia(preconditioned);
    island.dot(gradient, preconditioned)
}

/// direction ← −H⁻¹·gradient.
fn newton_direction(island: &Island, iterate: &mut Iterate, hessian: &Hessian) {
    let Iterate {
        gradient,
        direction,
        gather,
        ..
    } = iterate;
    hessian.descend(island, gradient, gather, direction);
}

/// MuJoCo's criterion on the slope of a line search.
pub(super) fn line_tolerance(
    island: &Island,
    iterate: &Iterate,
    criteria: &Criteria,
    progress: &Progress,
) -> f64 {
    let norm = island.dot(&iterate.direction, &iterate.direction).sqrt();
    criteria.tolerance * criteria.line_tolerance * norm / progress.scale
}

/// |τ| + |Jᵀ·f|.
fn force_norm(island: &Island, iterate: &Iterate) -> f64 {
    let smooth = island.problem.force_smooth;
    let constraint = &iterate.force_constraint;
    island.dot(smooth, smooth).sqrt() + island.dot(constraint, constraint).sqrt()
}

fn any_curved(island: &Island, phase: &[Phase]) -> bool {
    island
        .blocks()
        .any(|(index, block)| is_curved(block.kind, phase[index]))
}
