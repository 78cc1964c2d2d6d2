//! The adjoints of potential and kinetic energy.
//!
//!   spring: x̄ = (k·x + b·x² + c·x³)·Ē,   k̄ = x²/2·Ē,   b̄ = x³/3·Ē,   c̄ = x⁴/4·Ē
//!   weight: x̄ = −m·g·Ē,   m̄ = −g·x·Ē,   ḡ = −Σ m·x·Ē;        kinetic: v̄ = M·v·Ē,   M̄ = ½·v·vᵀ·Ē

use super::backward::Reverse;
use crate::cotangent::turn_bar;
use crate::math::{Quat, Vec3};
use crate::model::JointKind;

impl Reverse<'_, '_> {
    /// The adjoint of [`potential_energy`](super::potential_energy).
    pub(super) fn potential_energy(&mut self, bar: f64) {
        let model = self.model;
        let disable = &model.settings.disable;
        if !disable.gravity {
            let gravity = model.option.gravity[0];
            let mut moment = Vec3::ZERO;
            for body in 1..model.counts().nbody {
                let mass = model.bodies.mass[body];
                let position = self.stages.kinematics.inertial_position[body];
                moment = moment.scale_add(position, mass);
                self.targets.model.bodies.mass[body] -= gravity.dot(position) * bar;
                self.targets.kinematics.inertial_position[body] -= gravity * (mass * bar);
            }
            self.targets.model.option.gravity[0] -= moment * bar;
        }
        if !disable.spring {
            for joint in 0..model.counts().njoint {
                self.joint_spring_energy(joint, bar);
            }
            for tendon in 0..model.counts().ntendon {
                self.tendon_spring_energy(tendon, bar);
            }
        }
    }

    fn joint_spring_energy(&mut self, joint: usize, bar: f64) {
        let model = self.model;
        let joints = &model.structure.joints;
        let (address, dof) = (joints.qpos[joint], joints.dof[joint]);
        let (qpos, rest) = (&self.state.qpos, &model.qpos.spring);
        match joints.kind[joint] {
            JointKind::Slide | JointKind::Hinge => {
                let stretch_bar = self.joint_spring(joint, qpos[address] - rest[address], bar);
                self.targets.state.qpos[dof] += stretch_bar;
                self.targets.model.qpos.spring[address] -= stretch_bar;
            }
            JointKind::Ball => self.turned_spring_energy(joint, address, dof, bar),
            JointKind::Free => {
                let shift: Vec3 = Vec3(std::array::from_fn(|k| {
                    qpos[address + k] - rest[address + k]
                }));
                let length_bar = self.joint_spring(joint, shift.norm(), bar);
                let mut shift_bar = Vec3::ZERO;
                shift.norm_vjp(length_bar, &mut shift_bar);
                for k in 0..3 {
                    self.targets.state.qpos[dof + k] += shift_bar[k];
                    self.targets.model.qpos.spring[address + k] -= shift_bar[k];
                }
                self.turned_spring_energy(joint, address + 3, dof + 3, bar);
            }
        }
    }

    fn turned_spring_energy(&mut self, joint: usize, address: usize, dof: usize, bar: f64) {
        let quat_at = |numbers: &[f64]| Quat(std::array::from_fn(|k| numbers[address + k]));
        let (quat, rest) = (quat_at(&self.state.qpos), quat_at(&self.model.qpos.spring));
        let turn = quat.difference(rest);
        let angle_bar = self.joint_spring(joint, turn.norm(), bar);
        let mut turn_vector_bar = Vec3::ZERO;
        turn.norm_vjp(angle_bar, &mut turn_vector_bar);
        let [mut quat_bar, mut rest_bar] = [Quat::default(); 2];
        quat.difference_vjp(rest, turn_vector_bar, &mut quat_bar, &mut rest_bar);
        let local_bar = turn_bar(quat, quat_bar);
        for k in 0..3 {
            self.targets.state.qpos[dof + k] += local_bar[k];
        }
        for k in 0..4 {
            self.targets.model.qpos.spring[address + k] += rest_bar[k];
        }
    }

    /// The spring of a joint stretched by x: returns the cotangent of x.
    fn joint_spring(&mut self, joint: usize, x: f64, bar: f64) -> f64 {
        let (numbers, numbers_bar) = (&self.model.joints, &mut self.targets.model.joints);
        spring_energy_vjp(
            (numbers.stiffness[joint], numbers.stiffness_poly[joint]),
            x,
            bar,
            (
                &mut numbers_bar.stiffness[joint],
                &mut numbers_bar.stiffness_poly[joint],
            ),
        )
    }

    fn tendon_spring_energy(&mut self, tendon: usize, bar: f64) {
        let (numbers, numbers_bar) = (&self.model.tendons, &mut self.targets.model.tendons);
        let length = self.stages.tendon.length[tendon];
        let range = numbers.spring_length[tendon];
        let side = if length > range[1] {
            1
        } else if length < range[0] {
            0
        } else {
            return;
        };
        let stretch_bar = spring_energy_vjp(
            (numbers.stiffness[tendon], numbers.stiffness_poly[tendon]),
            length - range[side],
            bar,
            (
                &mut numbers_bar.stiffness[tendon],
                &mut numbers_bar.stiffness_poly[tendon],
            ),
        );
        self.targets.tendon.length[tendon] += stretch_bar;
        numbers_bar.spring_length[tendon][side] -= stretch_bar;
    }

    /// The adjoint of [`kinetic_energy`](super::kinetic_energy).
    pub(super) fn kinetic_energy(&mut self, bar: f64) {
        let sparsity = &self.model.structure.inertia;
        let (matrix, qvel) = (&self.stages.inertia.matrix, &self.state.qvel);
        let matrix_bar = &mut self.targets.inertia.matrix;
        let qvel_bar = &mut self.targets.state.qvel;
        for dof in 0..qvel.len() {
            let (start, diagonal) = (sparsity.row_start[dof], sparsity.diagonal[dof]);
            matrix_bar[diagonal] += 0.5 * qvel[dof] * qvel[dof] * bar;
            qvel_bar[dof] += matrix[diagonal] * qvel[dof] * bar;
            for entry in start..diagonal {
                let other = sparsity.columns[entry];
                matrix_bar[entry] += qvel[dof] * qvel[other] * bar;
                qvel_bar[dof] += matrix[entry] * qvel[other] * bar;
                qvel_bar[other] += matrix[entry] * qvel[dof] * bar;
            }
        }
    }
}

/// The twin of the energy of a spring: adds to its coefficients, returns the cotangent of its stretch.
fn spring_energy_vjp(
    (linear, [quadratic, cubic]): (f64, [f64; 2]),
    x: f64,
    bar: f64,
    (linear_bar, higher_bar): (&mut f64, &mut [f64; 2]),
) -> f64 {
    let square = x * x;
    *linear_bar += 0.5 * square * bar;
    higher_bar[0] += square * x / 3.0 * bar;
    higher_bar[1] += 0.25 * square * square * bar;
    (linear + x * (quadratic + x * cubic)) * x * bar
}
