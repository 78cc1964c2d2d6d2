//! The adjoints of the passes over the tree.
//!
//! *Momenta.* With S, A the linear and angular momentum of a subtree about the tree's centre o, c its centre of mass and
//! m its mass, the outputs are v = S/m and h = A − (c − o) × S:
//!
//!   S̄ = v̄/m + S̄(parent) + (c − o) × h̄ + …,   Ā = h̄ + Ā(parent),   m̄ = −v·v̄/m
//!
//! *Accelerations* and *forces between bodies* are recursive Newton–Euler read upwards, as in the bias stage.

use super::backward::Reverse;
use crate::math::{MIN_LENGTH, Spatial, Vec3};

impl Reverse<'_> {
    /// The adjoint of [`subtree_velocities`](super::tree_pass::subtree_velocities).
    pub(super) fn subtree_velocities(&mut self) {
        let (model, kinematics) = (self.model, self.stages.kinematics);
        let bodies = &model.structure.bodies;
        let center = |body: usize| kinematics.subtree_com[bodies.root[body]];
        for body in 0..model.counts().nbody {
            let mass = model.bodies.subtree_mass[body].max(MIN_LENGTH);
            let velocity = self.sensing.subtree_velocity[body];
            let (velocity_bar, angular_bar) = (
                self.bar.subtree_velocity[body],
                self.bar.subtree_angular_momentum[body],
            );
            let momentum = velocity * mass;
            if model.bodies.subtree_mass[body] >= MIN_LENGTH {
                self.bars.model.bodies.subtree_mass[body] -= velocity.dot(velocity_bar) / mass;
            }
            let offset = kinematics.subtree_com[body] - center(body);
            let mut momentum_bar = velocity_bar * mass.recip();
            let mut offset_bar = Vec3::ZERO;
            offset.cross_vjp(momentum, -angular_bar, &mut offset_bar, &mut momentum_bar);
            self.bars.data.kinematics.subtree_com[body] += offset_bar;
            self.bars.data.kinematics.subtree_com[bodies.root[body]] -= offset_bar;
            let mut angular_bar = angular_bar;
            if body > 0 {
                // What is left in the parent's place is the cotangent of its momenta.
                let parent = bodies.parent[body];
                let from_parent = self.bar.subtree_angular_momentum[parent];
                let mut shift_bar = Vec3::ZERO;
                (center(parent) - center(body)).cross_vjp(
                    momentum,
                    -from_parent,
                    &mut shift_bar,
                    &mut momentum_bar,
                );
                self.bars.data.kinematics.subtree_com[bodies.root[parent]] += shift_bar;
                self.bars.data.kinematics.subtree_com[bodies.root[body]] -= shift_bar;
                momentum_bar += self.bar.subtree_velocity[parent];
                angular_bar += from_parent;
            }
            self.bar.subtree_velocity[body] = momentum_bar;
            self.bar.subtree_angular_momentum[body] = angular_bar;
            kinematics.body_inertia[body].mul_motion_vjp(
                self.stages.velocity.body[body],
                Spatial::new(angular_bar, momentum_bar),
                &mut self.bars.data.kinematics.body_inertia[body],
                &mut self.bars.data.velocity.body[body],
            );
        }
    }

    /// The adjoint of [`accelerations`](super::tree_pass::accelerations).
    pub(super) fn accelerations(&mut self) {
        let (model, stages) = (self.model, self.stages);
        let bodies = &model.structure.bodies;
        let bars = &mut *self.bars;
        for body in (1..model.counts().nbody).rev() {
            let bar = self.bar.body_acceleration[body];
            for dof in bodies.dofs[body].clone() {
                let rate_bar = &mut bars.data.velocity.dof_axis_dot[dof];
                *rate_bar = rate_bar.scale_add(bar, self.state.qvel[dof]);
                bars.state.qvel[dof] += stages.velocity.dof_axis_dot[dof].dot(bar);
                let axis_bar = &mut bars.data.kinematics.dof_axis[dof];
                *axis_bar = axis_bar.scale_add(bar, stages.solve.qacc[dof]);
                bars.data.solve.qacc[dof] += stages.kinematics.dof_axis[dof].dot(bar);
            }
            self.bar.body_acceleration[bodies.parent[body]] += bar;
        }
        if !model.settings.disable.gravity {
            bars.model.option.gravity[0] -= self.bar.body_acceleration[0].linear();
        }
    }

    /// The adjoint of [`interaction_forces`](super::tree_pass::interaction_forces) without that of external forces.
    pub(super) fn interaction_forces(&mut self) {
        let (model, stages) = (self.model, self.stages);
        let parents = &model.structure.bodies.parent;
        for body in 1..model.counts().nbody {
            let bar = self.bar.interaction_force[body] + self.bar.interaction_force[parents[body]];
            self.bar.interaction_force[body] = bar;
            self.bar.external_force[body] -= bar;
            let inertia = &stages.kinematics.body_inertia[body];
            let inertia_bar = &mut self.bars.data.kinematics.body_inertia[body];
            let motion = stages.velocity.body[body];
            let motion_bar = &mut self.bars.data.velocity.body[body];
            let mut momentum_bar = Spatial::ZERO;
            let momentum = inertia.mul_motion(motion);
            motion.cross_force_vjp(momentum, bar, motion_bar, &mut momentum_bar);
            inertia.mul_motion_vjp(motion, momentum_bar, inertia_bar, motion_bar);
            inertia.mul_motion_vjp(
                self.sensing.body_acceleration[body],
                bar,
                inertia_bar,
                &mut self.bar.body_acceleration[body],
            );
        }
    }
}
