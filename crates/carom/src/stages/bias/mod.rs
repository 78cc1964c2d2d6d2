//! Bias force c(q, v): Coriolis, centrifugal and gravity, by recursive Newton–Euler.
//!
//! Reads position and velocity stages; writes [`Bias`].

mod forward;

pub use forward::{forward, recursive_newton_euler};

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
