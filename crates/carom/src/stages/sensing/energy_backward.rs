//! The adjoints of potential and kinetic energy.
//!
//!   weight: x̄ = −m·g·Ē,   m̄ = −g·x·Ē,   ḡ = −Σ m·x·Ē;        kinetic: v̄ = M·v·Ē,   M̄ = ½·v·vᵀ·Ē

use super::backward::Reverse;
use crate::laws::spring;
use crate::math::Vec3;
use crate::terms::joint::PartKind;
use crate::terms::{self, TendonSpring, Term};

impl Reverse<'_> {
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
                self.bars.model.bodies.mass[body] -= gravity.dot(position) * bar;
                self.bars.data.kinematics.inertial_position[body] -= gravity * (mass * bar);
            }
            self.bars.model.option.gravity[0] -= moment * bar;
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
        let (model, qpos) = (self.model, &self.state.qpos);
        let (rest, strength) = (&model.qpos.spring, terms::joint::strength(model, joint));
        let (model_bar, state_bar) = (&mut self.bars.model, &mut self.bars.state);
        for part in terms::joint::parts(&model.structure, joint) {
            let displacement = match part.kind {
                PartKind::Single => Vec3([qpos[part.address] - rest[part.address], 0.0, 0.0]),
                PartKind::Shift => part.vector(qpos) - part.vector(rest),
                PartKind::Turn => part.quat(qpos).difference(part.quat(rest)),
            };
            let is_single = part.kind == PartKind::Single;
            let x = if is_single {
                displacement[0]
            } else {
                displacement.norm()
            };
            let (slope, parameters) = spring::energy_gradient(strength, x);
            let joints_bar = &mut model_bar.joints;
            joints_bar.stiffness[joint] += parameters[0] * bar;
            joints_bar.stiffness_poly[joint][0] += parameters[1] * bar;
            joints_bar.stiffness_poly[joint][1] += parameters[2] * bar;
            if is_single {
                state_bar.qpos[part.dof] += slope * bar;
                model_bar.qpos.spring[part.address] -= slope * bar;
            } else {
                let mut displacement_bar = Vec3::ZERO;
                displacement.norm_vjp(slope * bar, &mut displacement_bar);
                part.displacement_vjp(qpos, displacement_bar, model, model_bar, state_bar);
            }
        }
    }

    fn tendon_spring_energy(&mut self, tendon: usize, bar: f64) {
        let length = self.stages.tendon.length[tendon];
        let [k, k1, k2, low, high] = TendonSpring::parameters(self.model, tendon);
        let Some(end) = spring::nearest_end(length, [low, high]) else {
            return;
        };
        let x = length - [low, high][end];
        let (slope, parameters) = spring::energy_gradient([k, k1, k2], x);
        let [by_k, by_k1, by_k2] = parameters.map(|slope| slope * bar);
        let length_bar = slope * bar;
        let mut parameters_bar = [by_k, by_k1, by_k2, 0.0, 0.0];
        parameters_bar[3 + end] = -length_bar;
        TendonSpring::add_parameters(&mut self.bars.model, tendon, parameters_bar);
        self.bars.data.tendon.length[tendon] += length_bar;
    }

    /// The adjoint of [`kinetic_energy`](super::kinetic_energy).
    pub(super) fn kinetic_energy(&mut self, bar: f64) {
        let sparsity = &self.model.structure.inertia;
        let (matrix, qvel) = (&self.stages.inertia.matrix, &self.state.qvel);
        let matrix_bar = &mut self.bars.data.inertia.matrix;
        let qvel_bar = &mut self.bars.state.qvel;
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
