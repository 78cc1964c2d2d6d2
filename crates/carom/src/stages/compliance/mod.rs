//! Forces of contacts that give way: laws on the level of forces.
//!
//! Reads the contacts, the configuration and the velocities; writes [`Compliance`]. For a contact of depth δ = −r with
//! unit normal n (from the first body to the second), tangents t, relative velocity u of the second body's point and its part ut along the tangents,
//!
//!   (f, F) = the force of the contact's law, [`laws::force`](crate::laws::force)           (1)
//!   τ = Σ Jᵀ·(n·f + Σ t(j)·F(j))                                                        (2)
//!
//! τ is a smooth force: it joins the others in the
//! acceleration stage. Contacts of other laws, and those that do not touch, have no force here.

mod backward;
mod forward;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::backward;
pub(crate) use backward::relative_velocity_vjp;
pub use forward::forward;
pub(crate) use forward::relative_velocity;

use crate::math::Vec3;
use crate::scalar::Scalar;

/// Results of the compliance stage. The list of contacts keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compliance<T: Scalar = f64> {
    /// Generalised force of all compliant contacts, nv.
    pub force: Vec<T>,
    /// Force of each contact in its own frame (normal, two tangents), on the second body (N); empty for a model
    /// without compliant contacts.
    pub contact_force: Vec<Vec3<T>>,
}
