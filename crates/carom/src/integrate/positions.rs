//! Configurations as a manifold: q ⊕ h·v and its inverse.

use crate::cotangent::{quat_bar, turn_bar};
use crate::math::{Quat, Vec3};
use crate::model::{JointKind, Model};
use crate::scalar::Scalar;

/// qpos ← qpos ⊕ h·velocity: addition, except that orientations turn with a local angular velocity.
pub fn integrate_positions<T: Scalar>(model: &Model<T>, qpos: &mut [T], velocity: &[T], h: T) {
    let joints = &model.structure.joints;
    for joint in 0..model.counts().njoint {
        let (position, dof) = (joints.qpos[joint], joints.dof[joint]);
        match joints.kind[joint] {
            JointKind::Hinge | JointKind::Slide => qpos[position] += velocity[dof] * h,
            JointKind::Ball => turn(&mut qpos[position..], &velocity[dof..], h),
            JointKind::Free => {
                for k in 0..3 {
                    qpos[position + k] += velocity[dof + k] * h;
                }
                turn(&mut qpos[position + 3..], &velocity[dof + 3..], h);
            }
        }
    }
}

/// Turns the quaternion at the start of `qpos`.
#[inline]
fn turn<T: Scalar>(qpos: &mut [T], velocity: &[T], h: T) {
    let quat = Quat([qpos[0], qpos[1], qpos[2], qpos[3]]);
    let turned = quat.integrate(Vec3([velocity[0], velocity[1], velocity[2]]), h);
    qpos[..4].copy_from_slice(&turned.0);
}

/// The twin of [`integrate_positions`]: from the cotangent of the end, adds to those of start and velocity, positions' in
/// tangent space; returns that of the step.
pub(crate) fn integrate_positions_vjp(
    model: &Model,
    qpos: &[f64],
    (velocity, h): (&[f64], f64),
    (bar, qpos_bar): (&[f64], &mut [f64]),
    velocity_bar: &mut [f64],
) -> f64 {
    let joints = &model.structure.joints;
    let mut h_bar = 0.0;
    for joint in 0..model.counts().njoint {
        let (position, dof) = (joints.qpos[joint], joints.dof[joint]);
        let (straight, rotation) = match joints.kind[joint] {
            JointKind::Hinge | JointKind::Slide => (dof..dof + 1, None),
            JointKind::Ball => (dof..dof, Some((position, dof))),
            JointKind::Free => (dof..dof + 3, Some((position + 3, dof + 3))),
        };
        for dof in straight {
            qpos_bar[dof] += bar[dof];
            velocity_bar[dof] += bar[dof] * h;
            h_bar += bar[dof] * velocity[dof];
        }
        if let Some((position, dof)) = rotation {
            let vector = |values: &[f64]| Vec3([values[dof], values[dof + 1], values[dof + 2]]);
            let quat = Quat(std::array::from_fn(|i| qpos[position + i])).normalized();
            let omega = vector(velocity);
            let (mut start_bar, mut omega_bar) = (Quat::default(), Vec3::ZERO);
            let end_bar = quat_bar(quat.integrate(omega, h), vector(bar));
            quat.integrate_vjp(
                omega,
                h,
                end_bar,
                &mut start_bar,
                &mut omega_bar,
                &mut h_bar,
            );
            let start_bar = turn_bar(quat, start_bar);
            for i in 0..3 {
                qpos_bar[dof + i] += start_bar[i];
                velocity_bar[dof + i] += omega_bar[i];
            }
        }
    }
    h_bar
}

/// The tangent from one configuration to another: `from` ⊕ result = `to` (quaternions up to sign).
pub fn difference<T: Scalar>(model: &Model<T>, from: &[T], to: &[T], tangent: &mut [T]) {
    let joints = &model.structure.joints;
    for joint in 0..model.counts().njoint {
        let (position, dof) = (joints.qpos[joint], joints.dof[joint]);
        match joints.kind[joint] {
            JointKind::Hinge | JointKind::Slide => tangent[dof] = to[position] - from[position],
            JointKind::Ball => turned(&from[position..], &to[position..], &mut tangent[dof..]),
            JointKind::Free => {
                for k in 0..3 {
                    tangent[dof + k] = to[position + k] - from[position + k];
                }
                let (from, to) = (&from[position + 3..], &to[position + 3..]);
                turned(from, to, &mut tangent[dof + 3..]);
            }
        }
    }
}

/// The rotation vector between the quaternions at the starts of `from` and `to`.
#[inline]
fn turned<T: Scalar>(from: &[T], to: &[T], tangent: &mut [T]) {
    let quat = |q: &[T]| Quat([q[0], q[1], q[2], q[3]]).normalized();
    tangent[..3].copy_from_slice(&quat(to).difference(quat(from)).0);
}
