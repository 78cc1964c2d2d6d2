//! Frames of cameras in all tracking modes.

use super::Kinematics;
use super::backward::rotation_torque;
use super::forward::BodyFrames;
use crate::cotangent::quat_bar;
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

/// The adjoint of [`frames`].
pub(super) fn backward(
    model: &Model,
    kinematics: &Kinematics,
    bar: &mut Kinematics,
    model_bar: &mut Model,
) {
    let (structure, numbers) = (&model.structure.cameras, &model.cameras);
    for camera in 0..model.counts().ncamera {
        let body = structure.body[camera];
        let (position_bar, rotation_bar) =
            (bar.camera_position[camera], bar.camera_rotation[camera]);
        let mut attached_bar = position_bar;
        let target = match (structure.mode[camera], structure.target[camera]) {
            (mode @ (TrackingMode::Track | TrackingMode::TrackCom), _) => {
                model_bar.cameras.rotation_reference[camera] += rotation_bar;
                if mode == TrackingMode::Track {
                    bar.body_position[body] += position_bar;
                    model_bar.cameras.position_from_body[camera] += position_bar;
                } else {
                    bar.subtree_com[body] += position_bar;
                    model_bar.cameras.position_from_com[camera] += position_bar;
                }
                continue;
            }
            (TrackingMode::TargetBody, Some(target)) => Some((
                kinematics.body_position[target],
                &mut bar.body_position[target],
            )),
            (TrackingMode::TargetBodyCom, Some(target)) => {
                Some((kinematics.subtree_com[target], &mut bar.subtree_com[target]))
            }
            _ => None,
        };
        let rotation = &kinematics.body_rotation[body];
        if let Some((target, target_bar)) = target {
            let away_bar = look_at_vjp(kinematics.camera_position[camera] - target, &rotation_bar);
            attached_bar += away_bar;
            *target_bar -= away_bar;
        } else {
            let torque = rotation_torque(&kinematics.camera_rotation[camera], &rotation_bar);
            let turn = kinematics.camera_rotation[camera].transpose_mul_vec(torque);
            model_bar.cameras.quat[camera] += quat_bar(numbers.quat[camera], turn);
            bar.body_rotation[body] += Mat3::skew(torque).mul(rotation).scale(0.5);
        }
        // position = body position + rotation·local
        bar.body_position[body] += attached_bar;
        rotation.mul_vec_vjp(
            numbers.position[camera],
            attached_bar,
            &mut bar.body_rotation[body],
            &mut model_bar.cameras.position[camera],
        );
    }
}

/// The cotangent of `away` = eye − target from that of [`look_at`].
fn look_at_vjp(away: Vec3, bar: &Mat3) -> Vec3 {
    let (z, _) = away.normalized();
    let across = Vec3::Z.cross(z);
    let (x, _) = across.normalized();
    let up = z.cross(x);
    let (mut x_bar, mut z_bar) = (bar.column(0), bar.column(2));
    let (mut up_bar, mut across_bar, mut away_bar) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
    up.normalized_vjp(bar.column(1), 0.0, &mut up_bar);
    z.cross_vjp(x, up_bar, &mut z_bar, &mut x_bar);
    across.normalized_vjp(x_bar, 0.0, &mut across_bar);
    z_bar += across_bar.cross(Vec3::Z);
    away.normalized_vjp(z_bar, 0.0, &mut away_bar);
    away_bar
}
