//! The adjoint of contact sensors: which contacts match and their order stay as they are.

use super::backward::Reverse;
use super::contact::{Fields, Match};
use super::measure::Reader;
use crate::math::{Spatial, Vec3};
use crate::model::{ContactReduction, ContactSensor};

impl<'a> Reverse<'a> {
    /// What the forward pass read from.
    fn reader(&self) -> Reader<'a, f64> {
        Reader {
            model: self.model,
            state: self.state,
            stages: self.stages,
            sensing: self.sensing,
        }
    }

    /// The adjoint of [`Reader::contacts`].
    pub(super) fn contacts(&mut self, sensor: &ContactSensor, bars: &[f64]) {
        let reader = self.reader();
        let size = sensor.slot_size();
        if sensor.report.reduction == ContactReduction::NetForce {
            self.net_force(sensor, &Fields::read(sensor, &bars[..size]));
            return;
        }
        let mut last = None;
        for bars in bars.chunks_exact(size) {
            let Some(found) = reader.next_match(sensor, last) else {
                break;
            };
            self.report(found, &Fields::read(sensor, bars));
            last = Some(found);
        }
    }

    /// The fields of one contact.
    fn report(&mut self, found: Match, bar: &Fields<f64>) {
        let turned = |vector: Vec3| if found.flipped { -vector } else { vector };
        let mirrored = |Vec3([x, y, z]): Vec3| Vec3([x, y, if found.flipped { -z } else { z }]);
        let contact_bar = &mut self.bars.data.contacts[found.contact];
        contact_bar.distance += bar.distance;
        contact_bar.position += bar.position;
        let (normal_bar, tangent_bar) = (turned(bar.normal), turned(bar.tangent));
        for k in 0..3 {
            contact_bar.frame[k] += normal_bar[k];
            contact_bar.frame[3 + k] += tangent_bar[k];
        }
        self.contact_force(found.contact, mirrored(bar.force), mirrored(bar.torque));
        let slip_bar = Spatial::new(
            mirrored(bar.angular_velocity),
            mirrored(bar.linear_velocity),
        );
        if slip_bar != Spatial::ZERO {
            self.slip(found.contact, slip_bar);
        }
    }

    /// Force and torque in the contact's frame: rows of its block, less adhesion.
    fn contact_force(&mut self, contact: usize, force_bar: Vec3, torque_bar: Vec3) {
        let blocks = self.stages.constraint.contact_blocks();
        let Ok(place) = blocks.binary_search_by_key(&contact, |block| block.object) else {
            return;
        };
        let rows = &mut self.bars.data.solve.force[blocks[place].rows()];
        for (row, bar) in rows.iter_mut().zip(force_bar.0.iter().chain(&torque_bar.0)) {
            *row += bar;
        }
        self.bars.data.contacts[contact].adhesion -= force_bar[0];
    }

    /// Velocity of the second body relative to the first at the contact point, in the contact's frame.
    fn slip(&mut self, index: usize, bar: Spatial) {
        let contact = &self.stages.collision.contacts[index];
        let world = self.reader().world_slip(contact);
        let contact_bar = &mut self.bars.data.contacts[index];
        let [mut angular_bar, mut linear_bar] = [Vec3::ZERO; 2];
        let (frame, frame_bar) = (&contact.frame, &mut contact_bar.frame);
        frame.mul_vec_vjp(world.angular(), bar.angular(), frame_bar, &mut angular_bar);
        frame.mul_vec_vjp(world.linear(), bar.linear(), frame_bar, &mut linear_bar);
        let world_bar = Spatial::new(angular_bar, linear_bar);
        let structure = &self.model.structure;
        for (geom, sign) in contact.geoms.into_iter().zip([-1.0, 1.0]) {
            let body = structure.geoms.body[geom];
            let root = structure.bodies.root[body];
            let mut offset_bar = Vec3::ZERO;
            self.stages.velocity.body[body].shift_motion_vjp(
                contact.position - self.stages.kinematics.subtree_com[root],
                world_bar * sign,
                &mut self.bars.data.velocity.body[body],
                &mut offset_bar,
            );
            contact_bar.position += offset_bar;
            self.bars.data.kinematics.subtree_com[root] -= offset_bar;
        }
    }

    /// All matching contacts together. With strengths s, their sum W and the centre c = Σ s·p/W, force f = Σ fᵢ and
    /// torque t = Σ tᵢ + (pᵢ − c) × fᵢ:
    ///
    ///   c̄ ← c̄ − f × t̄,   p̄ᵢ = s·c̄/W + fᵢ × t̄,   s̄ᵢ = c̄·(pᵢ − c)/W,   f̄ᵢ = f̄ + t̄ × (pᵢ − c),   t̄ᵢ = t̄
    fn net_force(&mut self, sensor: &ContactSensor, bar: &Fields<f64>) {
        let reader = self.reader();
        let contacts = &self.stages.collision.contacts;
        let (center, weight) = reader.center_of_force(sensor);
        let world_force = |found: &Match| {
            let contact = &contacts[found.contact];
            let sign = if found.flipped { -1.0 } else { 1.0 };
            let force = reader.contact_force(found.contact).to_world(&contact.frame);
            (force.force * sign, sign)
        };
        let mut center_bar = bar.position;
        for found in reader.matches(sensor) {
            center_bar -= world_force(&found).0.cross(bar.torque);
        }
        for found in reader.matches(sensor) {
            let contact = &contacts[found.contact];
            let local = reader.contact_force(found.contact);
            let strength = local.force.norm();
            let (force, sign) = world_force(&found);
            let arm = contact.position - center;
            let contact_bar = &mut self.bars.data.contacts[found.contact];
            contact_bar.position += center_bar * (strength / weight) + force.cross(bar.torque);
            let force_bar = bar.force + bar.torque.cross(arm);
            let [mut local_force_bar, mut local_torque_bar] = [Vec3::ZERO; 2];
            (local.force).norm_vjp(center_bar.dot(arm) / weight, &mut local_force_bar);
            contact.frame.transpose_mul_vec_vjp(
                local.force,
                force_bar * sign,
                &mut contact_bar.frame,
                &mut local_force_bar,
            );
            contact.frame.transpose_mul_vec_vjp(
                local.torque,
                bar.torque * sign,
                &mut contact_bar.frame,
                &mut local_torque_bar,
            );
            self.contact_force(found.contact, local_force_bar, local_torque_bar);
        }
    }
}
