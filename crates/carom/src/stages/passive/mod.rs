//! Passive forces: springs, dampers, gravity compensation, the surrounding medium and adhesion.
//!
//! Reads state, position and velocity stages and the contacts; writes [`Passive`]. Springs and dampers are laws
//! (`laws::spring`, `laws::damper`) that act on joints and along tendons by `terms`.

mod adhesion;
mod backward;
mod fluid;
mod forward;

pub use backward::backward;
pub use forward::forward;

use crate::arrays::arrays;
use crate::math::Spatial;

arrays! {
    /// Results of the passive stage, generalised forces.
    pub struct Passive {
        /// Springs of joints and tendons.
        spring: [T; nv],
        /// Dampers of joints and tendons, and laws of joints.
        damper: [T; nv],
        /// Gravity compensation, all of it; joints with `actuator_gravcomp` receive theirs in the actuation stage.
        gravcomp: [T; nv],
        /// Drag, lift, added mass and viscosity of the medium.
        fluid: [T; nv],
        /// Attraction of adhesive contacts.
        adhesion: [T; nv],
        /// Sum of what acts as a passive force.
        total: [T; nv],
        /// Work area: forces on the bodies about their tree's centre of mass.
        body_force: [Spatial<T>; nbody],
    }
}

#[cfg(test)]
pub(crate) mod tests;
