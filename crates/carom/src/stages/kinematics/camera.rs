//! Frames of cameras in all tracking modes.

use super::Kinematics;
use super::forward::BodyFrames;
use crate::math::{Mat3, Vec3};
use crate::model::{Coincidence, Model, TrackingMode};
use crate::scalar::Scalar;

/// Frames of all cameras.
pub(super) fn frames<T: Scalar>(model: &Model<T>, out: &mut Kinematics<T>) {
    for camera in 0..model.counts().ncamera {
        let (position, rotation) = frame(model, camera, out);
        out.camera_position[camera] = position;
        out.camera_rotation[camera] = rotation;
    }
}

/// Frame of one camera.
fn frame<T: Scalar>(model: &Model<T>, camera: usize, out: &Kinematics<T>) -> (Vec3<T>, Mat3<T>) {
    let (structure, numbers) = (&model.structure.cameras, &model.cameras);
    let body = structure.body[camera];
    let (mut position, mut rotation) = (Vec3::ZERO, Mat3::ZERO);
    let local = (&numbers.position[camera], &numbers.quat[camera]);
    let place = (body, Coincidence::None);
    BodyFrames::of(out).place(place, local, &mut position, &mut rotation);
    let looking_at = |target: Vec3<T>| (position, look_at(position, target));
    match (structure.mode[camera], structure.target[camera]) {
        (TrackingMode::Track, _) => (
            out.body_position[body] + numbers.position_from_body[camera],
            numbers.rotation_reference[camera],
        ),
        (TrackingMode::TrackCom, _) => (
            out.subtree_com[body] + numbers.position_from_com[camera],
            numbers.rotation_reference[camera],
        ),
        (TrackingMode::TargetBody, Some(target)) => looking_at(out.body_position[target]),
        (TrackingMode::TargetBodyCom, Some(target)) => looking_at(out.subtree_com[target]),
        _ => (position, rotation),
    }
}

/// The upright camera orientation at `eye` that looks at `target` along its negative z axis.
fn look_at<T: Scalar>(eye: Vec3<T>, target: Vec3<T>) -> Mat3<T> {
    let (z, _) = (eye - target).normalized();
    let (x, _) = Vec3::Z.cross(z).normalized();
    let (y, _) = z.cross(x).normalized();
    Mat3::from_columns(x, y, z)
}
