//! Velocities of bodies, motion axes, tendons and actuators.
//!
//! Reads `state.qvel` and the position stages; writes [`Velocity`].

mod forward;

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
        actuator: [T; nactuator],
    }
}
