//! Where everything is: frames of bodies, joints, geoms, sites and cameras, centres of mass, motion axes.
//!
//! Reads `state.qpos` and the mocap poses; writes [`Kinematics`].
//!
//! From the root to the leaves, with (p, q) the frame of a body, a joint's anchor a and axis s in the body frame:
//!
//!   p = p' + R'·x,   q = q' ⊗ y   from the parent's frame (p', q') and the fixed pose (x, y) in it   (1)
//!   slide: p ← p + R·s·(x − x₀);   hinge, ball: q ← q ⊗ turn, p ← anchor − R·a                (2)
//!   free: (p, q) = coordinates                                                              (3)
//!   geoms, sites, inertias, cameras fixed at (x, Y):  position p + R·x, rotation R·Y           (4)
//!
//! Then, with m the masses, o the centre of mass of the kinematic tree (that of its root's subtree):
//!
//!   `subtree_com(b)` = Σ m·x / Σ m over the subtree of b                                       (5)
//!   `body_inertia` = spatial inertia about o                                                  (6)
//!   `dof_axis` = (s, s × (o − anchor)) for rotations, (0, s) for translations                  (7)
//!
//! Quaternions of the state are normalised on reading. A ball joint turns about the axes of the body frame after
//! all joints of the body, which assumes that it is the last of them to rotate.

mod backward;
mod camera;
mod forward;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::backward;
pub use forward::forward;

use crate::arrays::arrays;
use crate::math::{Mat3, Quat, Spatial, SpatialInertia, Vec3};

arrays! {
    /// Results of the kinematics stage; all in world axes.
    pub struct Kinematics {
        /// Body frame positions (m).
        body_position: [Vec3<T>; nbody],
        /// Body frame orientations.
        body_quat: [Quat<T>; nbody],
        /// Body frame orientations as matrices.
        body_rotation: [Mat3<T>; nbody],
        /// Centres of mass (m).
        inertial_position: [Vec3<T>; nbody],
        /// Principal axes of inertia.
        inertial_rotation: [Mat3<T>; nbody],
        /// Joint anchors (m).
        joint_anchor: [Vec3<T>; njoint],
        /// Joint axes (unit).
        joint_axis: [Vec3<T>; njoint],
        /// Geom positions (m).
        geom_position: [Vec3<T>; ngeom],
        /// Geom orientations.
        geom_rotation: [Mat3<T>; ngeom],
        /// Site positions (m).
        site_position: [Vec3<T>; nsite],
        /// Site orientations.
        site_rotation: [Mat3<T>; nsite],
        /// Camera positions (m).
        camera_position: [Vec3<T>; ncamera],
        /// Camera orientations.
        camera_rotation: [Mat3<T>; ncamera],
        /// Centre of mass of each body's subtree (m).
        subtree_com: [Vec3<T>; nbody],
        /// Body inertia about the centre of mass of its kinematic tree (the root's `subtree_com`).
        body_inertia: [SpatialInertia<T>; nbody],
        /// Motion axis of each dof about the centre of mass of its kinematic tree.
        dof_axis: [Spatial<T>; nv],
    }
}
