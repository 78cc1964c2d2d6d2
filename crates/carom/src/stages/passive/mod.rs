//! Passive forces: springs, dampers, gravity compensation, the surrounding medium and adhesion.
//!
//! Reads state, position and velocity stages and the contacts; writes [`Passive`]. With displacement x from rest and rate v, stiffness
//! k + k₁x + k₂x² and damping d + d₁|v| + d₂v²,
//!
//!   spring = −x·(k + k₁x + k₂x²)        damper = −v·(d + d₁|v| + d₂v²)
//!
//! For ball and free joints x is the length of the displacement or rotation vector, and the force is along it. A
//! tendon is at rest in a range of lengths; x is the distance to it.

mod adhesion;
mod backward;
pub(crate) mod fluid;
mod fluid_backward;
pub(crate) mod fluid_derivative;
pub(crate) mod fluid_derivative_backward;
mod forward;

pub use backward::{Targets, backward};
pub(crate) use backward::{tendon_damper_vjp, tendon_spring_vjp};
pub use forward::forward;
pub(crate) use forward::{tendon_damper, tendon_spring};

use crate::arrays::arrays;
use crate::math::Spatial;

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
