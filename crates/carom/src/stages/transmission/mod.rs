//! Actuator lengths and moment arms.
//!
//! Reads `state.qpos`, [`Kinematics`](super::kinematics::Kinematics), [`Tendon`](super::tendon::Tendon) and, for the
//! adhesion of a body, [`Collision`](super::collision::Collision); writes [`TransmissionData`].

mod backward;
mod forward;

pub use backward::backward;
pub use forward::forward;
pub(crate) use forward::{Rod, angular_gear, linear_gear, relative_wrench, turning};

use crate::arrays::arrays;

arrays! {
    /// Results of the transmission stage.
    pub struct TransmissionData {
        /// Actuator lengths (m or rad); three for the orientation of a servo, its rotation vector.
        length: [T; nout],
        /// Rows of the moment arms in the pattern `structure.actuators.moment`.
        moment: [T; nmoment],
    }
}

#[cfg(test)]
pub(crate) mod tests;
