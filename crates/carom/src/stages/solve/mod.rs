//! The constrained acceleration: the minimum of a convex function.
//!
//! Reads [`Constraint`](super::constraint::Constraint), the inertia and the smooth acceleration; writes [`Solve`]. With
//! a₀ = M⁻¹·τ the smooth acceleration and s the convex laws of the blocks ([`law`]) [Todorov 2014]:
//!
//!   a = argmin ½·(a − a₀)ᵀ·M·(a − a₀) + s(y),   y = J·a − â                          (1)
//!   M·a − τ − Jᵀ·f = 0,   f = −∇s(y)                                                   (2)
//!
//! Under the complementarity law impulses are solved for instead ([`complementarity`]); `level` chooses.
//!
//! The minimum is unique. Newton's method uses H = M + Jᵀ·K·J with K = ∇²s(y); conjugate gradients are preconditioned
//! by M. Both search along their directions for the exact minimum, start at the better of the warm start and a₀, and
//! treat islands of kinematic trees apart. A model that asks for MuJoCo's PGS gets Newton: it solves the same problem.
//!
//! A model may ask for sweeps over the frictional forces afterwards (`noslip`); they leave the minimum of (1).
//!
//! Differentiating (2) at the solution gives H·da = dτ − dM·a + d(Jᵀ)·f + Jᵀ·df, whatever the iterations were. Over dual
//! numbers the values are solved for, then one Newton correction carries the tangents. The factor of H, the phases of
//! the blocks, residuals and forces stay in [`Solve`] for the backward pass.

mod backward;
pub mod complementarity;
mod conjugate_gradient;
mod forward;
mod groups;
mod hessian;
mod island;
pub mod law;
pub(crate) mod level;
mod line_search;
mod newton;
mod noslip;
mod problem;
mod products;
mod start;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::{SolveBar, backward};
pub(crate) use forward::forward_on;
pub use forward::{at_solution, factor_at_solution, forward, tighten};
pub use hessian::Hessian;
pub use island::Islands;

use complementarity::Complementarity;

use crate::model::Model;
use crate::scalar::Scalar;
pub use law::Phase;

/// How a solution was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// What ended the iterations.
    pub status: SolveStatus,
    /// Iterations of the island that needed most.
    pub iterations: usize,
    /// Sum of the iterations of all islands.
    pub total_iterations: usize,
    /// Sweeps against creep of the island that needed most.
    pub noslip_iterations: usize,
    /// Norm of the gradient of (1) over the trace of M, greatest of all islands.
    pub residual: f64,
    /// Cost (1), summed over islands.
    pub cost: f64,
}

/// What ended the iterations of the solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SolveStatus {
    /// The tolerance was met, or there was nothing to solve.
    #[default]
    Converged,
    /// Rounding allows no further progress.
    Exhausted,
    /// The greatest number of iterations was reached; allow more, or loosen the tolerance.
    IterationLimit,
    /// The Hessian could not be factorised: some moving part lacks inertia.
    Singular,
    /// A number is not finite: look at the state and the inputs of the step.
    NotFinite,
}

/// Results of the solve stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Solve<T: Scalar = f64> {
    /// Acceleration with constraints, nv.
    pub qacc: Vec<T>,
    /// Generalised constraint force Jᵀ·f, nv.
    pub force_constraint: Vec<T>,
    /// y of each row.
    pub residual: Vec<T>,
    /// f of each row.
    pub force: Vec<T>,
    /// Phase of each block.
    pub phase: Vec<Phase>,
    /// How the solution was found.
    pub report: SolveReport,
    /// Groups of trees and blocks.
    pub islands: Islands,
    /// Factors of H; those of the solution after [`factor_at_solution`].
    pub hessian: Hessian,
    /// What the complementarity law keeps; empty under the soft law.
    pub complementarity: Complementarity<T>,
    work: Work,
    /// Gradient and step of the correction that carries derivatives.
    correction: [Vec<T>; 2],
    /// Work area of the sweeps against creep.
    noslip: noslip::Noslip<T>,
}

impl<T: Scalar> Solve<T> {
    /// Room for the results of a model without constraint rows; lists grow with the first steps.
    pub fn new(model: &Model<T>) -> Self {
        let nv = model.counts().nv;
        Self {
            qacc: vec![T::ZERO; nv],
            force_constraint: vec![T::ZERO; nv],
            residual: Vec::new(),
            force: Vec::new(),
            phase: Vec::new(),
            report: SolveReport::default(),
            islands: Islands::default(),
            hessian: Hessian::default(),
            complementarity: Complementarity::default(),
            work: Work::new(nv),
            correction: [Vec::new(), Vec::new()],
            noslip: noslip::Noslip::default(),
        }
    }
}

/// Plain numbers of the iterations.
#[derive(Clone, Debug, Default, PartialEq)]
struct Work {
    /// Values of the problem, where they are not plain already.
    jacobian: Vec<f64>,
    weight: Vec<f64>,
    friction: Vec<f64>,
    reference: Vec<f64>,
    inertia: Vec<f64>,
    inertia_factor: Vec<f64>,
    inertia_diagonal_inverse: Vec<f64>,
    force_smooth: Vec<f64>,
    smooth: Vec<f64>,
    warmstart: Vec<f64>,
    iterate: Iterate,
}

/// The point that a solver has reached, and its room to move.
#[derive(Clone, Debug, Default, PartialEq)]
struct Iterate {
    /// a, M·a, Jᵀ·f, gradient, direction, M·direction: over dofs.
    acceleration: Vec<f64>,
    momentum: Vec<f64>,
    force_constraint: Vec<f64>,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    direction_momentum: Vec<f64>,
    /// Previous gradient and preconditioned gradients, for conjugate directions.
    gradient_before: Vec<f64>,
    preconditioned: Vec<f64>,
    preconditioned_before: Vec<f64>,
    /// y, f, J·direction: over rows.
    residual: Vec<f64>,
    force: Vec<f64>,
    rate: Vec<f64>,
    gather: Vec<f64>,
    /// Whether the factor of H belongs to the phases and residuals reached; by island.
    factor_is_current: Vec<bool>,
}

impl Work {
    fn new(nv: usize) -> Self {
        let zeros = || vec![0.0; nv];
        Self {
            iterate: Iterate {
                acceleration: zeros(),
                momentum: zeros(),
                force_constraint: zeros(),
                gradient: zeros(),
                direction: zeros(),
                direction_momentum: zeros(),
                gradient_before: zeros(),
                preconditioned: zeros(),
                preconditioned_before: zeros(),
                ..Iterate::default()
            },
            ..Self::default()
        }
    }
}
