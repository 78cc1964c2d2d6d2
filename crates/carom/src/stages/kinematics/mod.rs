//! Where everything is: frames of bodies, joints, geoms, sites and cameras, centres of mass, motion axes.
//!
//! Reads `state.qpos` and the mocap poses; writes [`Kinematics`].

mod forward;

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
