//! Smooth acceleration: M·a = passive − bias + actuation + applied forces.
//!
//! Reads all earlier stages and the applied forces of the input; writes [`Acceleration`].
//!
//!   τ = passive − c + applied + actuation + learned + compliant contacts + Σ Jᵀ·(torque, force) at the centres of mass   (1)
//!   a = M⁻¹·τ                                                                          (2)
//!
//! Constraints change the acceleration in the [`solve`](super::solve) stage.

mod backward;
mod forward;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::backward;
#[cfg(test)]
pub(crate) use forward::apply_body_forces;
pub use forward::forward;

use crate::arrays::arrays;

arrays! {
    /// Results of the acceleration stage.
    pub struct Acceleration {
        /// Sum of all smooth generalised forces.
        force_smooth: [T; nv],
        /// Acceleration without constraints.
        smooth: [T; nv],
    }
}
