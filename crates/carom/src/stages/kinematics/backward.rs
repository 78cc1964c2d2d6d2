//! The adjoint of the kinematics.
//!
//! A small motion of a body-fixed frame is a twist, so the cotangents of everything that is fixed to a body add up to
//! one wrench on it: a force F at the frame's origin p and a torque t. With ȳ the cotangent of a point y and R̄ that
//! of a rotation R with columns r,
//!
//!   F += ȳ,   t += (y − p) × ȳ,          t += Σ r × r̄                                    (4̄)
//!
//! From the leaves to the root, through the joints of a body from the last to the first, with T = t + (p − anchor) × F,
//!
//!   slide: x̄ = s·F;   hinge: x̄ = s·T;   ball: x̄ = Rᵀ·T;   free: x̄ = (F, Rᵀ·t)                 (2̄, 3̄)
//!
//! and the parent takes over the wrench, moved to its own origin (1̄). The fixed numbers of the model receive the force or
//! torque in the frame they are given in. No quaternion is differentiated by its components.

use super::{Kinematics, camera};
use crate::cotangent::{Cotangents, DataBar, StateBar, quat_bar};
use crate::dynamics::At;
use crate::math::{BodyInertiaBar, Mat3, Quat, Spatial, Vec3};
use crate::model::{JointKind, Model};
use crate::state::State;

use super::forward::MIN_MASS;

/// Adds the cotangents of the configuration and of the model's poses and masses; those of the kinematics are used up.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let (model, state, kinematics) = (at.model, at.state, &at.data.kinematics);
    let (model_bar, state_bar) = (&mut bar.model, &mut bar.state);
    let DataBar {
        kinematics: bar,
        frame_wrench,
        ..
    } = &mut bar.data;
    camera::backward(model, kinematics, bar, model_bar);
    dof_axes(model, kinematics, bar);
    body_inertias(model, kinematics, bar, model_bar);
    subtree_centers(model, kinematics, bar, model_bar);
    body_wrenches(kinematics, bar, frame_wrench);
    attached_frames(model, kinematics, bar, frame_wrench, model_bar);
    for body in (1..model.counts().nbody).rev() {
        let wrench = frame_wrench[body];
        let mut walk = Walk {
            model,
            state,
            kinematics,
            position: kinematics.body_position[body],
            quat: kinematics.body_quat[body],
            force: wrench.linear(),
            torque: wrench.angular(),
        };
        let mut fixed = true;
        for joint in model.structure.bodies.joints[body].clone().rev() {
            fixed = walk.joint(joint, bar, model_bar, state_bar);
        }
        if fixed {
            walk.parent(body, frame_wrench, model_bar, state_bar);
        }
    }
}

/// The torque that the cotangent of a rotation matrix exerts on it.
#[inline]
pub(crate) fn rotation_torque(rotation: &Mat3, bar: &Mat3) -> Vec3 {
    (0..3).fold(Vec3::ZERO, |sum, k| {
        sum + rotation.column(k).cross(bar.column(k))
    })
}

/// (7̄)
fn dof_axes(model: &Model, kinematics: &Kinematics, bar: &mut Kinematics) {
    let joints = &model.structure.joints;
    for joint in 0..model.counts().njoint {
        let (body, dof) = (joints.body[joint], joints.dof[joint]);
        let root = model.structure.bodies.root[body];
        let offset = kinematics.subtree_com[root] - kinematics.joint_anchor[joint];
        let mut offset_bar = Vec3::ZERO;
        let rotation_dof = match joints.kind[joint] {
            JointKind::Slide => {
                bar.joint_axis[joint] += bar.dof_axis[dof].linear();
                continue;
            }
            JointKind::Hinge => {
                let axis = kinematics.joint_axis[joint];
                bar.joint_axis[joint] +=
                    rotation_axis(axis, offset, bar.dof_axis[dof], &mut offset_bar);
                None
            }
            JointKind::Ball => Some(dof),
            JointKind::Free => Some(dof + 3),
        };
        if let Some(dof) = rotation_dof {
            let rotation = &kinematics.body_rotation[body];
            let columns = [0, 1, 2].map(|k| {
                let axis_bar = bar.dof_axis[dof + k];
                rotation_axis(rotation.column(k), offset, axis_bar, &mut offset_bar)
            });
            bar.body_rotation[body] += Mat3::from_columns(columns[0], columns[1], columns[2]);
        }
        bar.subtree_com[root] += offset_bar;
        bar.joint_anchor[joint] -= offset_bar;
    }
}

/// The cotangent of a rotation axis from that of its motion axis.
#[inline]
fn rotation_axis(axis: Vec3, offset: Vec3, bar: Spatial, offset_bar: &mut Vec3) -> Vec3 {
    *offset_bar += bar.linear().cross(axis);
    bar.angular() + offset.cross(bar.linear())
}

/// (6̄)
fn body_inertias(
    model: &Model,
    kinematics: &Kinematics,
    bar: &mut Kinematics,
    model_bar: &mut Model,
) {
    let (bodies, root) = (&model.bodies, &model.structure.bodies.root);
    for body in 1..model.counts().nbody {
        let mut offset_bar = Vec3::ZERO;
        crate::math::SpatialInertia::from_body_vjp(
            bodies.inertia[body],
            &kinematics.inertial_rotation[body],
            kinematics.inertial_position[body] - kinematics.subtree_com[root[body]],
            bodies.mass[body],
            bar.body_inertia[body],
            &mut BodyInertiaBar {
                inertia: &mut model_bar.bodies.inertia[body],
                rotation: &mut bar.inertial_rotation[body],
                offset: &mut offset_bar,
                mass: &mut model_bar.bodies.mass[body],
            },
        );
        model_bar.bodies.inertia_products[body] += crate::math::SpatialInertia::products_vjp(
            &kinematics.inertial_rotation[body],
            bar.body_inertia[body],
        );
        bar.inertial_position[body] += offset_bar;
        bar.subtree_com[root[body]] -= offset_bar;
    }
}

/// (5̄) The cotangent of a subtree's first moment reaches every body in it.
fn subtree_centers(
    model: &Model,
    kinematics: &Kinematics,
    bar: &mut Kinematics,
    model_bar: &mut Model,
) {
    let numbers = &model.bodies;
    for body in 0..model.counts().nbody {
        let mass = numbers.subtree_mass[body];
        let center_bar = bar.subtree_com[body];
        // From here on `subtree_com` holds the cotangent of the first moment.
        let mut moment_bar = Vec3::ZERO;
        if mass < MIN_MASS {
            bar.inertial_position[body] += center_bar;
        } else {
            moment_bar = center_bar * mass.recip();
            model_bar.bodies.subtree_mass[body] -= moment_bar.dot(kinematics.subtree_com[body]);
        }
        if body > 0 {
            moment_bar += bar.subtree_com[model.structure.bodies.parent[body]];
        }
        bar.subtree_com[body] = moment_bar;
        bar.inertial_position[body] += moment_bar * numbers.mass[body];
        model_bar.bodies.mass[body] += moment_bar.dot(kinematics.inertial_position[body]);
    }
}

/// What the cotangents of the body frames themselves exert on them.
fn body_wrenches(kinematics: &Kinematics, bar: &Kinematics, frame_wrench: &mut [Spatial]) {
    for (body, wrench) in frame_wrench.iter_mut().enumerate() {
        let quat = kinematics.body_quat[body];
        let turned = bar.body_quat[body].mul(quat.conjugate()).parts().1;
        let torque = rotation_torque(&kinematics.body_rotation[body], &bar.body_rotation[body]);
        *wrench = Spatial::new(torque + turned.scale(0.5), bar.body_position[body]);
    }
}

/// Inertial frames, geoms and sites. (4̄)
fn attached_frames(
    model: &Model,
    kinematics: &Kinematics,
    bar: &Kinematics,
    frame_wrench: &mut [Spatial],
    model_bar: &mut Model,
) {
    let structure = &*model.structure;
    let mut attach =
        |body: usize,
         (position, rotation): (Vec3, &Mat3),
         (position_bar, rotation_bar): (Vec3, &Mat3),
         local_quat: Quat,
         (local_position_bar, local_quat_bar): (&mut Vec3, &mut Quat)| {
            let torque = rotation_torque(rotation, rotation_bar);
            let arm = position - kinematics.body_position[body];
            frame_wrench[body] += Spatial::new(torque + arm.cross(position_bar), position_bar);
            *local_position_bar += kinematics.body_rotation[body].transpose_mul_vec(position_bar);
            *local_quat_bar += quat_bar(local_quat, rotation.transpose_mul_vec(torque));
        };
    let (numbers, numbers_bar) = (&model.bodies, &mut model_bar.bodies);
    for body in 1..structure.counts.nbody {
        attach(
            body,
            (
                kinematics.inertial_position[body],
                &kinematics.inertial_rotation[body],
            ),
            (bar.inertial_position[body], &bar.inertial_rotation[body]),
            numbers.inertial_quat[body],
            (
                &mut numbers_bar.inertial_position[body],
                &mut numbers_bar.inertial_quat[body],
            ),
        );
    }
    for (geom, &body) in structure.geoms.body.iter().enumerate() {
        attach(
            body,
            (
                kinematics.geom_position[geom],
                &kinematics.geom_rotation[geom],
            ),
            (bar.geom_position[geom], &bar.geom_rotation[geom]),
            model.geoms.quat[geom],
            (
                &mut model_bar.geoms.position[geom],
                &mut model_bar.geoms.quat[geom],
            ),
        );
    }
    for (site, &body) in structure.sites.body.iter().enumerate() {
        attach(
            body,
            (
                kinematics.site_position[site],
                &kinematics.site_rotation[site],
            ),
            (bar.site_position[site], &bar.site_rotation[site]),
            model.sites.quat[site],
            (
                &mut model_bar.sites.position[site],
                &mut model_bar.sites.quat[site],
            ),
        );
    }
}

/// The way from a body's frame back through its joints: the frame reached so far and the wrench on it.
struct Walk<'a> {
    model: &'a Model,
    state: &'a State,
    kinematics: &'a Kinematics,
    position: Vec3,
    quat: Quat,
    force: Vec3,
    torque: Vec3,
}

impl Walk<'_> {
    /// Steps back over one joint; false for a free joint, before which there is nothing.
    fn joint(
        &mut self,
        joint: usize,
        bar: &Kinematics,
        model_bar: &mut Model,
        state_bar: &mut StateBar,
    ) -> bool {
        let joints = &self.model.structure.joints;
        let (dof, address) = (joints.dof[joint], joints.qpos[joint]);
        let qpos = &self.state.qpos;
        match joints.kind[joint] {
            JointKind::Free => {
                let force = self.force + bar.joint_anchor[joint];
                let turn = self.quat.rotate_inverse(self.torque);
                for k in 0..3 {
                    state_bar.qpos[dof + k] += force[k];
                    state_bar.qpos[dof + 3 + k] += turn[k];
                }
                model_bar.joints.axis[joint] += bar.joint_axis[joint];
                return false;
            }
            JointKind::Slide => {
                let axis = self.kinematics.joint_axis[joint];
                let travel = qpos[address] - self.model.qpos.reference[address];
                let along = axis.dot(self.force);
                state_bar.qpos[dof] += along;
                model_bar.qpos.reference[address] -= along;
                model_bar.joints.axis[joint] += self.quat.rotate_inverse(self.force) * travel;
                self.move_to(self.position - axis * travel);
            }
            JointKind::Hinge => {
                let axis = self.model.joints.axis[joint];
                let angle = qpos[address] - self.model.qpos.reference[address];
                let turn = Quat::from_axis_angle(axis, angle);
                let torque = self.step_back_over_rotation(joint, turn, model_bar);
                let about = axis.dot(torque);
                state_bar.qpos[dof] += about;
                model_bar.qpos.reference[address] -= about;
                // Turning the axis turns the frame by sin·δ + (1 − cos)·axis × δ.
                let (sin, cos) = angle.sin_cos();
                model_bar.joints.axis[joint] += torque * sin + torque.cross(axis) * (1.0 - cos);
            }
            JointKind::Ball => {
                let turn = Quat(std::array::from_fn(|i| qpos[address + i])).normalized();
                let torque = self.step_back_over_rotation(joint, turn, model_bar);
                let local = turn.rotate_inverse(torque);
                for k in 0..3 {
                    state_bar.qpos[dof + k] += local[k];
                }
            }
        }
        self.add_anchor_and_axis(joint, bar, model_bar);
        true
    }

    /// Undoes a rotation about the joint's anchor; returns the torque about it in the axes before the rotation.
    fn step_back_over_rotation(&mut self, joint: usize, turn: Quat, model_bar: &mut Model) -> Vec3 {
        let anchor_local = self.model.joints.position[joint];
        let anchor = self.kinematics.joint_anchor[joint];
        let force_after = self.quat.rotate_inverse(self.force);
        self.quat = self.quat.mul(turn.conjugate());
        let torque = self.torque + (self.position - anchor).cross(self.force);
        model_bar.joints.position[joint] += self.quat.rotate_inverse(self.force) - force_after;
        self.move_to(anchor - self.quat.rotate(anchor_local));
        self.quat.rotate_inverse(torque)
    }

    /// Moves the point at which the wrench acts.
    fn move_to(&mut self, position: Vec3) {
        self.torque += (self.position - position).cross(self.force);
        self.position = position;
    }

    /// A joint's anchor and axis are fixed in the frame before it.
    fn add_anchor_and_axis(&mut self, joint: usize, bar: &Kinematics, model_bar: &mut Model) {
        let (anchor, axis) = (
            self.kinematics.joint_anchor[joint],
            self.kinematics.joint_axis[joint],
        );
        let (anchor_bar, axis_bar) = (bar.joint_anchor[joint], bar.joint_axis[joint]);
        self.force += anchor_bar;
        self.torque += (anchor - self.position).cross(anchor_bar) + axis.cross(axis_bar);
        model_bar.joints.position[joint] += self.quat.rotate_inverse(anchor_bar);
        model_bar.joints.axis[joint] += self.quat.rotate_inverse(axis_bar);
    }

    /// Hands the wrench on to the parent and to the pose in it. (1̄)
    fn parent(
        &self,
        body: usize,
        frame_wrench: &mut [Spatial],
        model_bar: &mut Model,
        state_bar: &mut StateBar,
    ) {
        let bodies = &self.model.structure.bodies;
        let parent = bodies.parent[body];
        let position_bar = self.kinematics.body_rotation[parent].transpose_mul_vec(self.force);
        let turn_bar = self.quat.rotate_inverse(self.torque);
        if let Some(mocap) = bodies.mocap[body] {
            state_bar.mocap_position[mocap] += position_bar;
            state_bar.mocap_rotation[mocap] += turn_bar;
        } else {
            model_bar.bodies.position[body] += position_bar;
            model_bar.bodies.quat[body] += quat_bar(self.model.bodies.quat[body], turn_bar);
        }
        let arm = self.position - self.kinematics.body_position[parent];
        frame_wrench[parent] += Spatial::new(self.torque + arm.cross(self.force), self.force);
    }
}
