//! Bias force c(q, v): Coriolis, centrifugal and gravity, by recursive Newton–Euler.
//!
//! Reads position and velocity stages; writes [`Bias`].
//!
//! With s, ṡ the motion axes and their rates, v the body velocities, I the body inertias, all about the centre of mass
//! of the tree, and a fictitious acceleration −g of the world [Featherstone 2008, §5.3]:
//!
//!   a(b) = a(parent) + Σ ṡ·q̇ (+ Σ s·q̈),   f(b) = I·a + v ×* I·v                        (1)
//!   f(parent) ← f(parent) + f(b),          c(i) = s(i)·f(body of i)                     (2)
//!
//! The armature m of a spatial tendon of length ℓ(q) adds m·Jᵀ·(J̇·q̇)                        (3)
//! with J̇·q̇ from the accelerations of the path points; see `tendon_bias`.

mod backward;
mod forward;
mod tendon_bias;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::backward;
pub(crate) use backward::newton_euler_backward;
pub use forward::{forward, recursive_newton_euler};
pub(crate) use tendon_bias::{PathBar, path_acceleration, path_acceleration_vjp, stretching};

use crate::arrays::arrays;
use crate::math::Spatial;

arrays! {
    /// Results of the bias stage.
    pub struct Bias {
        /// Generalised bias force.
        force: [T; nv],
        /// Body accelerations of the recursion, gravity included (about the tree's centre of mass).
        body_acceleration: [Spatial<T>; nbody],
        /// Body forces of the recursion.
        body_force: [Spatial<T>; nbody],
    }
}
