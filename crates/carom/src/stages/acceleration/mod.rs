//! Smooth acceleration: M·a = passive − bias + actuation + applied forces.
//!
//! Reads all earlier stages and the applied forces of the input; writes [`Acceleration`].

mod forward;

pub use forward::forward;

use crate::arrays::arrays;

arrays! {
    /// Results of the acceleration stage.
    pub struct Acceleration {
        /// Sum of all smooth generalised forces.
        force_smooth: [T; nv],
        /// Acceleration without constraints.
        smooth: [T; nv],
        /// Acceleration with constraints.
        qacc: [T; nv],
        /// Generalised constraint force.
        force_constraint: [T; nv],
    }
}
