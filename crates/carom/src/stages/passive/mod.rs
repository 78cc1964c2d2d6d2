//! Passive forces: springs, dampers, gravity compensation and the surrounding medium.
//!
//! Reads state, position and velocity stages; writes [`Passive`].

mod fluid;
mod forward;

pub use forward::forward;

use crate::arrays::arrays;

arrays! {
    /// Results of the passive stage, generalised forces.
    pub struct Passive {
        /// Springs of joints and tendons.
        spring: [T; nv],
        /// Dampers of joints and tendons.
        damper: [T; nv],
        /// Gravity compensation, all of it; joints with `actuator_gravcomp` receive theirs in the actuation stage.
        gravcomp: [T; nv],
        /// Drag, lift, added mass and viscosity of the medium.
        fluid: [T; nv],
        /// Sum of what acts as a passive force.
        total: [T; nv],
    }
}
