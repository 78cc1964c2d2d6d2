//! The joint-space inertia M and its factorisation M = LᵀDL over the kinematic tree.
//!
//! Reads [`Kinematics`](super::kinematics::Kinematics) and [`Tendon`](super::tendon::Tendon) (armature of tendons);
//! writes [`Inertia`].

mod forward;

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
