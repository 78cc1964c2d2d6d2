//! The adjoint of the external forces on bodies: applied ones, those of constraints and of spatial tendons.
//!
//! A wrench at a point p of a body counts about the tree's centre o. With ē the cotangent of the sum on the body, a
//! motion, the wrench receives the motion at p, and p and o receive what the lever arm does: p̄ = −ō = f × ē's rotation.

use super::backward::Reverse;
use super::constraint_force;
use super::tree_pass::tension;
use crate::contact_force::block_force;
use crate::math::{Spatial, Vec3};
use crate::model::{EqualityKind, Transmission, Wrap};
use crate::stages::bias::{PathBar, path_acceleration, path_acceleration_vjp};
use crate::stages::constraint::{
    Block, BlockKind, PointWrench, equality_wrenches, equality_wrenches_vjp,
};
use crate::stages::tendon::PULLEY;
use crate::terms::{TendonDamper, TendonSpring, Term};

impl Reverse<'_> {
    /// The adjoint of external forces.
    pub(super) fn external_forces(&mut self) {
        let (model, kinematics) = (self.model, self.stages.kinematics);
        for tendon in 0..model.counts().ntendon {
            if model.structure.tendons.spatial[tendon] {
                self.tendon(tendon);
            }
        }
        for block in &self.stages.constraint.blocks {
            self.block(block);
        }
        for body in 1..model.counts().nbody {
            let root = model.structure.bodies.root[body];
            let offset = kinematics.subtree_com[root] - kinematics.inertial_position[body];
            let mut offset_bar = Vec3::ZERO;
            self.input.body_force[body].shift_force_vjp(
                offset,
                self.bar.external_force[body],
                &mut self.bars.input.body_force[body],
                &mut offset_bar,
            );
            self.bars.data.kinematics.subtree_com[root] += offset_bar;
            self.bars.data.kinematics.inertial_position[body] -= offset_bar;
        }
    }

    /// A wrench on a body: returns its cotangent and that of the point.
    fn push_body(&mut self, on: PointWrench<f64>) -> (Spatial, Vec3) {
        let (mut wrench_bar, mut offset_bar) = (Spatial::ZERO, Vec3::ZERO);
        if on.body != 0 {
            let root = self.model.structure.bodies.root[on.body];
            let offset = self.stages.kinematics.subtree_com[root] - on.point;
            let bar = self.bar.external_force[on.body];
            on.wrench
                .shift_force_vjp(offset, bar, &mut wrench_bar, &mut offset_bar);
            self.bars.data.kinematics.subtree_com[root] += offset_bar;
        }
        (wrench_bar, -offset_bar)
    }

    /// The forces of one constraint on bodies.
    fn block(&mut self, block: &Block) {
        let kinds = &self.model.structure.equalities.kind;
        match block.kind {
            BlockKind::Equality
                if matches!(
                    kinds[block.object],
                    EqualityKind::Connect | EqualityKind::Weld
                ) =>
            {
                self.equality(block);
            }
            BlockKind::FrictionlessContact
            | BlockKind::PyramidalContact
            | BlockKind::EllipticContact => self.contact(block),
            _ => {}
        }
    }

    fn contact(&mut self, block: &Block) {
        let contact = &self.stages.collision.contacts[block.object];
        let local = block_force(self.stages.collision, self.stages.solve, block);
        let world = local.to_world(&contact.frame);
        let bodies = contact
            .geoms
            .map(|geom| self.model.structure.geoms.body[geom]);
        let (mut wrench_bar, mut point_bar) = (Spatial::ZERO, Vec3::ZERO);
        for (body, sign) in bodies.into_iter().zip([-1.0, 1.0]) {
            let (bar, point) = self.push_body(PointWrench {
                body,
                point: contact.position,
                wrench: Spatial::new(world.torque, world.force) * sign,
            });
            wrench_bar = wrench_bar.scale_add(bar, sign);
            point_bar += point;
        }
        let contact_bar = &mut self.bars.data.contacts[block.object];
        contact_bar.position += point_bar;
        let [mut force_bar, mut torque_bar] = [Vec3::ZERO; 2];
        let frame_bar = &mut contact_bar.frame;
        let frame = &contact.frame;
        frame.transpose_mul_vec_vjp(local.force, wrench_bar.linear(), frame_bar, &mut force_bar);
        frame.transpose_mul_vec_vjp(
            local.torque,
            wrench_bar.angular(),
            frame_bar,
            &mut torque_bar,
        );
        contact_bar.adhesion -= force_bar[0];
        let rows = &mut self.bars.data.solve.force[block.rows()];
        for (row, bar) in rows.iter_mut().zip(force_bar.0.iter().chain(&torque_bar.0)) {
            *row += bar;
        }
    }

    fn equality(&mut self, block: &Block) {
        let forces = &self.stages.solve.force[block.rows()];
        let (model, kinematics) = (self.model, self.stages.kinematics);
        let Some(sides) = equality_wrenches(model, kinematics, block.object, forces) else {
            return;
        };
        let [first, second] = sides.map(|side| self.push_body(side));
        let (wrench_bar, point_bars) = (first.0 - second.0, [first.1, second.1]);
        equality_wrenches_vjp(self.stages, model, block, wrench_bar, point_bars, self.bars);
    }

    /// The pull of a tendon on the bodies along its path.
    fn tendon(&mut self, tendon: usize) {
        let accelerations = &self.sensing.body_acceleration;
        let force = tension(self.model, self.stages, tendon, accelerations);
        let force_bar = self.pull_path(tendon, force);
        self.tension(tendon, force_bar);
    }

    /// Returns the cotangent of the force along the tendon.
    fn pull_path(&mut self, tendon: usize, force: f64) -> f64 {
        let (structure, path) = (&self.model.structure, self.stages.tendon);
        let wraps = structure.tendons.wraps[tendon].clone();
        let mut pulleys = wraps.filter(|&wrap| structure.tendons.path[wrap] == Wrap::Pulley);
        let mut pulley = None;
        let mut force_bar = 0.0;
        let points = path.path_start[tendon]..path.path_start[tendon] + path.path_length[tendon];
        for end in points.clone() {
            if path.path_body[end] == PULLEY {
                pulley = pulleys.next().or(pulley);
                continue;
            }
            let is_first = end == points.start || path.path_body[end - 1] == PULLEY;
            if is_first || path.path_body[end] == path.path_body[end - 1] {
                continue;
            }
            let divisor = pulley.map_or(1.0, |wrap| self.model.wraps.coefficient[wrap]);
            let between = path.path_point[end] - path.path_point[end - 1];
            let (direction, _) = between.normalized();
            let mut pull_bar = Vec3::ZERO;
            for (point, sign) in [(end, 1.0), (end - 1, -1.0)] {
                let (wrench_bar, point_bar) = self.push_body(PointWrench {
                    body: path.path_body[point],
                    point: path.path_point[point],
                    wrench: Spatial::new(Vec3::ZERO, direction * (sign * force / divisor)),
                });
                pull_bar = pull_bar.scale_add(wrench_bar.linear(), sign);
                self.bars.data.tendon.path_point[point] += point_bar;
            }
            let divided_bar = pull_bar.dot(direction);
            force_bar += divided_bar / divisor;
            if let Some(wrap) = pulley {
                self.bars.model.wraps.coefficient[wrap] -=
                    divided_bar * force / (divisor * divisor);
            }
            let mut between_bar = Vec3::ZERO;
            between.normalized_vjp(pull_bar * (force / divisor), 0.0, &mut between_bar);
            self.bars.data.tendon.path_point[end] += between_bar;
            self.bars.data.tendon.path_point[end - 1] -= between_bar;
        }
        force_bar
    }

    /// The force along a tendon: actuators, constraints, spring, damper and inertia.
    fn tension(&mut self, tendon: usize, bar: f64) {
        let (model, stages) = (self.model, self.stages);
        let disable = &model.settings.disable;
        let bars = &mut *self.bars;
        constraint_force::tension_vjp(model, stages, tendon, bar, bars);
        let transmissions = &model.structure.actuators.transmission;
        for (actuator, transmission) in transmissions.iter().enumerate() {
            if *transmission == Transmission::Tendon(tendon) {
                let output = model.structure.actuators.outputs[actuator].start;
                let force = stages.actuation.actuator_force[output];
                bars.model.actuators.gear[actuator][0] += force * bar;
                let gear = model.actuators.gear[actuator][0];
                bars.data.actuation.actuator_force[output] += gear * bar;
            }
        }
        if !disable.spring {
            let length = stages.tendon.length[tendon];
            let [length_bar] = TendonSpring::vjp(model, tendon, [length], bar, &mut bars.model);
            bars.data.tendon.length[tendon] += length_bar;
        }
        if !disable.damper {
            let rate = stages.velocity.tendon[tendon];
            let [rate_bar] = TendonDamper::vjp(model, tendon, [rate], bar, &mut bars.model);
            bars.data.velocity.tendon[tendon] += rate_bar;
        }
        let (kinematics, velocity) = (stages.kinematics, stages.velocity);
        let accelerations = &self.sensing.body_acceleration[..];
        let along = path_acceleration(model, tendon, kinematics, velocity, accelerations);
        bars.model.tendons.armature[tendon] -= along * bar;
        let along_bar = -model.tendons.armature[tendon] * bar;
        if along_bar != 0.0 {
            let cotangents = PathBar {
                kinematics: &mut bars.data.kinematics,
                velocity: &mut bars.data.velocity,
                accelerations: &mut self.bar.body_acceleration,
                coefficient: &mut bars.model.wraps.coefficient,
            };
            let motion = (kinematics, velocity, accelerations);
            path_acceleration_vjp(model, tendon, motion, along_bar, cotangents);
        }
    }
}
