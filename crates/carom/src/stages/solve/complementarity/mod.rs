//! Rigid contact: impulses that complement velocities, for one step of Euler's method.
//!
//! With M̂ the inertia of the step (M, and implicit damping), τ the smooth forces, λ the impulses of all rows,
//!
//!   v⁺ = v + M̂⁻¹·(h·τ + Jᵀ·λ),   u = J·v⁺ + R·λ − t                                     (1)
//!
//! and for each block of rows, with r its position and v⁻ = J·v,
//!
//!   equality: u = 0, t = −α·r/h                                                        (2)
//!   friction loss: |λ| ≤ h·η, and u = 0 or λ against u, t = 0                            (3)
//!   limit, contact normal: 0 ≤ λ ⟂ u ≥ 0, t = max(−α·r/h for r < 0, −β·r/h for r > 0, −e·v⁻)   (4)
//!   contact: Coulomb's cone, elliptic where coefficients differ; [`cone`](crate::laws::cone)   (5)
//!
//! α and β are Baumgarte's terms: the share of a penetration that one step corrects, and the share of a gap that it
//! may close. R is the mixing of forces into the constraint (CFM), e the coefficient of restitution, which acts on
//! contacts that close in this step [Heiden 2021]. As v⁺ enters, there is no energy from friction; a bounce e ≤ 1
//! returns no more than came in, and α > 0 pushes bodies out of each other at the price of some energy.
//!
//! Projected Gauss–Seidel solves block by block, each exactly, forth and back over the blocks of an island. With
//! M̂ = Lᵀ·D·L and Y = D^(−½)·L⁻ᵀ·Jᵀ, whose columns reach from the bodies to the root only, a sweep needs one matrix:
//! velocities are Yᵀ·z for z = Y·λ.  (6)
//! A few sweeps settle contacts that do not share loads. From where they got, an interior-point method
//! finds the impulses of the others. An island has converged when no block would change a velocity by more than the
//! tolerance, in the units μ·u of tangents, which are m/s for all of them.
//!
//! The phases, impulses and velocities at the solution stay for the backward pass: they are what (1) to (5) are
//! differentiated at, never the sweeps. Dual numbers get their tangents so: `derivative`.

mod active_set;
mod backward;
mod derivative;
mod forward;
mod interior;
mod response;
mod rows;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::{Work as BackwardWork, backward};
pub use forward::{Given, forward, refine};

use crate::scalar::Scalar;
use active_set::ActiveSet;
use interior::Interior;
use response::Response;
use rows::LocalProblem;

/// What the complementarity law keeps from a step. All lists keep their capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Complementarity<T: Scalar = f64> {
    /// Impulse λ of each row (N·s or N·m·s).
    pub impulse: Vec<f64>,
    /// u of each row at the solution, without targets taken off: J·v⁺ + R·λ − t of (1).
    pub velocity: Vec<f64>,
    /// Law whose numbers hold for each block.
    pub law: Vec<usize>,
    /// R of each block (1/kg).
    pub mixing: Vec<f64>,
    /// The inertia of the step, factored, and the inverse of its diagonal.
    pub inertia_factor: Vec<T>,
    /// Inverse diagonal of the factor, nv.
    pub inertia_diagonal_inverse: Vec<T>,
    /// Friction coefficient of each row of a contact.
    friction: Vec<f64>,
    /// Targets t of each row.
    target: Vec<T>,
    /// J·(v + h·M̂⁻¹·τ) − t of each row.
    free: Vec<f64>,
    /// Acceleration without impulses, â = M̂⁻¹·τ.
    smooth: Vec<T>,
    plain_factor: Vec<f64>,
    plain_diagonal_inverse: Vec<f64>,
    plain_jacobian: Vec<f64>,
    /// Y.
    response: Response,
    /// The problem of each block.
    local: Vec<LocalProblem>,
    /// z = Y·λ, nv.
    momentum: Vec<f64>,
    /// The system of the active rows.
    active: ActiveSet,
    interior: Interior,
    /// Index of each dof within its island.
    place: Vec<usize>,
    correction: derivative::Work<T>,
}
