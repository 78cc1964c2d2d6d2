//! Configurations as a manifold: q ⊕ h·v and its inverse.

use crate::cotangent::{quat_bar, turn_bar};
use crate::math::{Quat, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;

/// qpos ← qpos ⊕ h·velocity: addition, except that orientations turn with a local angular velocity.
pub fn integrate_positions<T: Scalar>(model: &Model<T>, qpos: &mut [T], velocity: &[T], h: T) {
    let joints = &model.structure.joints;
    (joints.straight()).for_each(|(position, dof)| qpos[position] += velocity[dof] * h);
    for (position, dof) in joints.rotations() {
        let turned = quat_at(qpos, position).integrate(vector_at(velocity, dof), h);
        qpos[position..position + 4].copy_from_slice(&turned.0);
    }
}

/// The quaternion that starts at a place.
#[inline]
pub(crate) fn quat_at<T: Scalar>(numbers: &[T], start: usize) -> Quat<T> {
    Quat(std::array::from_fn(|k| numbers[start + k]))
}

/// The vector that starts at a place.
#[inline]
pub(crate) fn vector_at<T: Scalar>(numbers: &[T], start: usize) -> Vec3<T> {
    Vec3(std::array::from_fn(|k| numbers[start + k]))
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
    joints.straight().for_each(|(_, dof)| {
        qpos_bar[dof] += bar[dof];
        velocity_bar[dof] += bar[dof] * h;
        h_bar += bar[dof] * velocity[dof];
    });
    for (position, dof) in joints.rotations() {
        let quat = quat_at(qpos, position).normalized();
        let omega = vector_at(velocity, dof);
        let (mut start_bar, mut omega_bar) = (Quat::default(), Vec3::ZERO);
        let end_bar = quat_bar(quat.integrate(omega, h), vector_at(bar, dof));
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
    h_bar
}

/// The tangent from one configuration to another: `from` ⊕ result = `to` (quaternions up to sign).
pub fn difference<T: Scalar>(model: &Model<T>, from: &[T], to: &[T], tangent: &mut [T]) {
    let joints = &model.structure.joints;
    (joints.straight()).for_each(|(position, dof)| tangent[dof] = to[position] - from[position]);
    for (position, dof) in joints.rotations() {
        let [from, to] = [from, to].map(|qpos| quat_at(qpos, position).normalized());
        tangent[dof..dof + 3].copy_from_slice(&to.difference(from).0);
    }
}
