//! Pose, velocity and acceleration of whatever carries a frame.

use super::Sensed;
use crate::math::{Mat3, Quat, Spatial, Vec3};
use crate::model::{FrameObject, Model};
use crate::scalar::Scalar;

/// A frame in the world, carried by a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a, T: Scalar> {
    pub(super) body: usize,
    pub(super) position: Vec3<T>,
    pub(super) rotation: &'a Mat3<T>,
    /// From the centre of mass of the body's tree to the frame.
    pub(super) offset: Vec3<T>,
}

impl<'a, T: Scalar> Frame<'a, T> {
    pub(super) fn new(model: &Model<T>, stages: &Sensed<'a, T>, object: FrameObject) -> Self {
        let (structure, kinematics) = (&model.structure, stages.kinematics);
        let (body, position, rotation) = match object {
            FrameObject::Inertial(body) => (
                body,
                kinematics.inertial_position[body],
                &kinematics.inertial_rotation[body],
            ),
            FrameObject::Body(body) => (
                body,
                kinematics.body_position[body],
                &kinematics.body_rotation[body],
            ),
            FrameObject::Geom(geom) => (
                structure.geoms.body[geom],
                kinematics.geom_position[geom],
                &kinematics.geom_rotation[geom],
            ),
            FrameObject::Site(site) => (
                structure.sites.body[site],
                kinematics.site_position[site],
                &kinematics.site_rotation[site],
            ),
            FrameObject::Camera(camera) => (
                structure.cameras.body[camera],
                kinematics.camera_position[camera],
                &kinematics.camera_rotation[camera],
            ),
        };
        let center = kinematics.subtree_com[structure.bodies.root[body]];
        Frame {
            body,
            position,
            rotation,
            offset: position - center,
        }
    }

    /// Velocity in world axes about the frame's origin, given that of all bodies.
    pub(super) fn velocity(&self, stages: &Sensed<'_, T>) -> Spatial<T> {
        stages.velocity.body[self.body].shift_motion(self.offset)
    }

    /// Acceleration of the frame and its origin in world axes; the world itself accelerates against gravity.
    pub(super) fn acceleration(
        &self,
        stages: &Sensed<'_, T>,
        body_acceleration: &[Spatial<T>],
    ) -> Spatial<T> {
        let velocity = self.velocity(stages);
        let spatial = body_acceleration[self.body].shift_motion(self.offset);
        // The spatial acceleration is that of whichever point passes by; the body-fixed one also turns with the body.
        let turning = velocity.angular().cross(velocity.linear());
        Spatial::new(spatial.angular(), spatial.linear() + turning)
    }

    /// A force about the tree's centre of mass as a force at the frame's origin, in the frame's axes.
    pub(super) fn local_force(&self, force: Spatial<T>) -> Spatial<T> {
        force
            .shift_force(self.offset)
            .into_local_axes(self.rotation)
    }
}

/// Orientation of an object in the world.
pub(super) fn quat<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    object: FrameObject,
) -> Quat<T> {
    let structure = &model.structure;
    let (body, local) = match object {
        FrameObject::Body(body) => return stages.kinematics.body_quat[body],
        FrameObject::Inertial(body) => (body, model.inertial_quat(body)),
        FrameObject::Geom(geom) => (structure.geoms.body[geom], model.geom_quat(geom)),
        FrameObject::Site(site) => (structure.sites.body[site], model.site_quat(site)),
        FrameObject::Camera(camera) => (structure.cameras.body[camera], model.cameras.quat[camera]),
    };
    stages.kinematics.body_quat[body].mul(local)
}
