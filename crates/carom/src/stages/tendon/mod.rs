//! Tendon lengths and their Jacobians: fixed combinations of joints, and spatial paths through sites, pulleys and
//! around spheres and cylinders.
//!
//! Reads `state.qpos` and [`Kinematics`](super::kinematics::Kinematics); writes [`Tendon`].

mod backward;
mod forward;
mod path;
mod wrap;

pub use backward::backward;
pub(crate) use forward::PULLEY;
pub use forward::forward;
pub(crate) use path::{Leg, Step, steps};
pub(crate) use wrap::{Obstacle, wrap};

use crate::arrays::arrays;
use crate::math::Vec3;

arrays! {
    /// Results of the tendon stage.
    pub struct Tendon {
        /// Lengths (m; a mixture for fixed tendons).
        length: [T; ntendon],
        /// Rows of ∂length/∂q in the pattern `structure.tendons.jacobian`.
        jacobian: [T; ntendon_jacobian],
        /// Points of the spatial paths in the world (m), tendon after tendon; a wrapped geom gives two.
        path_point: [Vec3<T>; nwrap * 2],
        @plain
        /// First path point of each tendon.
        path_start: [usize; ntendon],
        /// Number of path points of each tendon.
        path_length: [usize; ntendon],
        /// For each path point the body it is fixed to, or `usize::MAX` for a pulley break.
        path_body: [usize; nwrap * 2],
    }
}

#[cfg(test)]
pub(crate) mod tests;
