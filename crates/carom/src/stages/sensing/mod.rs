//! Sensors and energies.
//!
//! Reads everything; writes [`Sensing`]. Quantities that only sensors read (velocities and momenta of subtrees, body
//! accelerations, forces between bodies) are computed when one of the model's sensors needs them.

mod backward;
mod camera;
mod constraint_force;
mod contact;
mod contact_backward;
mod distance;
mod energy;
mod energy_backward;
mod external_backward;
mod forward;
mod frame;
mod inside;
mod joint_torque;
mod measure;
mod rangefinder;
mod rangefinder_backward;
mod touch;
mod tree_backward;
mod tree_pass;

pub use backward::backward;
pub use distance::measure_distances;
pub use energy::{kinetic_energy, potential_energy};
pub use forward::{delay, forward};

use crate::arrays::arrays;
use crate::math::{Spatial, Vec3};
use crate::scalar::Scalar;
use crate::stages::acceleration::Acceleration;
use crate::stages::actuation::Actuation;
use crate::stages::collision::Collision;
use crate::stages::constraint::Constraint;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::solve::Solve;
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::stages::velocity::Velocity;

/// The stages that sensors read.
#[derive(Clone, Copy, Debug)]
#[allow(
    missing_docs,
    reason = "each field is the result of the stage it names"
)]
pub struct Sensed<'a, T: Scalar> {
    pub kinematics: &'a Kinematics<T>,
    pub tendon: &'a Tendon<T>,
    pub inertia: &'a Inertia<T>,
    pub transmission: &'a TransmissionData<T>,
    pub velocity: &'a Velocity<T>,
    pub actuation: &'a Actuation<T>,
    pub acceleration: &'a Acceleration<T>,
    pub collision: &'a Collision<T>,
    pub constraint: &'a Constraint<T>,
    pub solve: &'a Solve<T>,
}

arrays! {
    /// Results of the sensing stage.
    pub struct Sensing {
        /// Sensor outputs.
        values: [T; nsensor_value],
        /// Fresh values of all sensors, for those that report others later; only where the model has histories.
        measured: [T; nsensor_value],
        /// Potential and kinetic energy (J); computed when energies are enabled.
        energy: [[T; 2]; one],
        /// Linear velocity of each subtree's centre of mass (m/s); computed when a sensor needs it.
        subtree_velocity: [Vec3<T>; nbody],
        /// Angular momentum of each subtree about its centre of mass; computed when a sensor needs it.
        subtree_angular_momentum: [Vec3<T>; nbody],
        /// Body accelerations with constraints; computed when a sensor needs them.
        body_acceleration: [Spatial<T>; nbody],
        /// Forces between each body and its parent; computed when a sensor needs them.
        interaction_force: [Spatial<T>; nbody],
        /// External forces on each body, about the tree's centre of mass; computed when a sensor needs them.
        external_force: [Spatial<T>; nbody],
    }
}

#[cfg(test)]
pub(crate) mod tests;
