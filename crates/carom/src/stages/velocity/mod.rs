//! Velocities of bodies, motion axes, tendons and actuators.
//!
//! Reads `state.qvel` and the position stages; writes [`Velocity`].
//!
//! From the root to the leaves, dof after dof of a body, with s the motion axes and × the spatial cross product:
//!
//!   ṡ = v × s,   v ← v + s·q̇                                                         (1)
//!
//! The three axes of a ball joint are carried along by the motion before the joint; the translation axes of a free
//! joint are fixed in the world, ṡ = 0. Tendons and actuators move at J·q̇.                (2)

mod backward;
mod forward;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::backward;
pub(crate) use backward::{Moving, backward_of};
pub use forward::forward;

use crate::arrays::arrays;
use crate::math::Spatial;

arrays! {
    /// Results of the velocity stage.
    pub struct Velocity {
        /// Body velocities about the tree's centre of mass (rotation, translation).
        body: [Spatial<T>; nbody],
        /// Time derivatives of the motion axes.
        dof_axis_dot: [Spatial<T>; nv],
        /// Tendon velocities (m/s).
        tendon: [T; ntendon],
        /// Actuator velocities (m/s or rad/s).
        actuator: [T; nout],
    }
}
