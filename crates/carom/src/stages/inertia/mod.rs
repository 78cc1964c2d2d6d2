//! The joint-space inertia M and its factorisation M = LᵀDL over the kinematic tree.
//!
//! Reads [`Kinematics`](super::kinematics::Kinematics) and [`Tendon`](super::tendon::Tendon) (armature of tendons);
//! writes [`Inertia`].
//!
//! With I the body inertias and s the motion axes, all about the centre of mass of the kinematic tree, so that they
//! add without being moved [Featherstone 2008, §6.2]:
//!
//!   composite(b) = I(b) + Σ composite(children of b)                                 (1)
//!   M(i, j) = s(j)·composite(body of i)·s(i) + armature(i)·δ(i, j),  j an ancestor of i or i itself   (2)
//!   M ← M + Σ over tendons of armature·JᵀJ                                           (3)
//!
//! A tendon couples dofs of different branches too; like MuJoCo, (3) keeps only the entries of the tree pattern, so
//! that factorising fills in nothing.

mod backward;
mod forward;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::{backward, solve_vjp};
pub(crate) use backward::{outer_product_vjp, subtract_outer_product, subtract_scaled_square};
pub(crate) use forward::add_outer_product;
pub use forward::{forward, mul, solve};

use crate::arrays::arrays;
use crate::math::SpatialInertia;

arrays! {
    /// Results of the inertia stage.
    pub struct Inertia {
        /// Inertia of each body together with its descendants, about the tree's centre of mass.
        composite: [SpatialInertia<T>; nbody],
        /// Entries of M in the pattern `structure.inertia`, armature included.
        matrix: [T; ninertia],
        /// Entries of L (unit lower triangle) in the same pattern; the diagonal holds D.
        factor: [T; ninertia],
        /// 1/D.
        diagonal_inverse: [T; nv],
    }
}
