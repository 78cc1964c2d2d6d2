//! The adjoint of actuator lengths and moment arms.
//!
//! A length ℓ = g·x with moment m = g·J passes x̄ = g·ℓ̄, J̄ = g·m̄ and ḡ = x·ℓ̄ + J·m̄. Where the moment is that of a
//! wrench at a site, the cotangents of its entries, taken as speeds of the dofs, give the site a motion, which is the
//! cotangent of the wrench; see [`apply_force_vjp`]. The law of a slider-crank's rod is differentiated by dual numbers.

use std::mem::take;

use super::forward::{Rod, adhering_bodies, angular_gear, linear_gear, turning};
use crate::cotangent::{Cotangents, quat_bar, turn_bar};
use crate::dual::Dual;
use crate::dynamics::At;
use crate::jacobian::{Wrench, WrenchBar, apply_force_vjp};
use crate::math::{Mat3, Quat, Vec3};
use crate::model::{JointKind, Model, Transmission};
use crate::stages::collision::{Contact, add_tangent};
use crate::stages::kinematics::Kinematics;
use crate::terms::joint::turned_quat;

/// Adds the cotangents of gears, joints, tendons, sites and adhering contacts.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let (model, tendon) = (at.model, &at.data.tendon);
    let structure = &model.structure;
    let own = take(&mut bar.data.transmission);
    for (actuator, outputs) in structure.actuators.outputs.iter().enumerate() {
        let output = outputs.start;
        let length_bar = own.length[output];
        let row = structure.actuators.moment.row(output);
        let moment_bar = &own.moment[row];
        let levers = Levers {
            model,
            kinematics: &at.data.kinematics,
            actuator,
            output,
            length_bar,
            moment_bar: &own.moment,
        };
        let mut on_joint = |joint: usize, in_parent: bool| {
            let lengths = (length_bar, moment_bar);
            joint_backward(at, actuator, (joint, in_parent), lengths, bar);
        };
        match structure.actuators.transmission[actuator] {
            Transmission::Joint(joint) => on_joint(joint, false),
            Transmission::JointInParent(joint) => on_joint(joint, true),
            Transmission::Tendon(id) => {
                let gear = model.actuators.gear[actuator][0];
                let mut gear_bar = tendon.length[id] * length_bar;
                let tendon_bar = &mut bar.data.tendon;
                tendon_bar.length[id] += gear * length_bar;
                let row = structure.tendons.jacobian.row(id);
                let entries = (tendon.jacobian[row.clone()].iter())
                    .zip(&mut tendon_bar.jacobian[row])
                    .zip(moment_bar);
                for ((&entry, entry_bar), &moment_bar) in entries {
                    *entry_bar += gear * moment_bar;
                    gear_bar += entry * moment_bar;
                }
                bar.model.actuators.gear[actuator][0] += gear_bar;
            }
            Transmission::Site {
                site,
                reference: None,
            } => levers.site(site, bar),
            Transmission::Site {
                site,
                reference: Some(reference),
            } => levers.relative_site(site, reference, bar),
            Transmission::SliderCrank { crank, slider } => levers.slider_crank(crank, slider, bar),
            Transmission::Body(body) => adhesion_moment(at, body, moment_bar, bar),
            Transmission::BallOrientation(joint) => {
                let (address, dof) = (structure.joints.qpos[joint], structure.joints.dof[joint]);
                let qpos = &at.state.qpos[address..];
                let quat = Quat(std::array::from_fn(|i| qpos[i])).normalized();
                let mut quat_bar = Quat::default();
                quat.log_vjp(three(&own.length[output..]), &mut quat_bar);
                let turn = turn_bar(quat, quat_bar);
                for k in 0..3 {
                    bar.state.qpos[dof + k] += turn[k];
                }
            }
            Transmission::SiteOrientation { site, reference } => {
                for (axis, output) in outputs.clone().enumerate() {
                    let levers = Levers { output, ..levers };
                    let torque = at.data.kinematics.site_rotation[site].column(axis);
                    let wrench = [torque, Vec3::ZERO];
                    let [torque_bar, _] = levers.act_between(site, reference, wrench, bar);
                    for k in 0..3 {
                        let rotation_bar = &mut bar.data.kinematics.site_rotation[site];
                        rotation_bar[3 * k + axis] += torque_bar[k];
                    }
                }
                levers.turn_bar(site, reference, three(&own.length[output..]), bar);
            }
        }
    }
    bar.data.transmission = own;
}

/// The first three numbers of a list.
fn three(numbers: &[f64]) -> Vec3 {
    Vec3(std::array::from_fn(|k| numbers[k]))
}

/// An actuator on a joint, whose rotational gear may be in the parent's frame. What turns is differentiated by dual
/// numbers: three turns of the joint, three gears.
fn joint_backward(
    at: At<'_>,
    actuator: usize,
    (joint, in_parent): (usize, bool),
    (length_bar, moment_bar): (f64, &[f64]),
    bar: &mut Cotangents,
) {
    let (joints, qpos) = (&at.model.structure.joints, &at.state.qpos);
    let (address, dof) = (joints.qpos[joint], joints.dof[joint]);
    let gear = &at.model.actuators.gear[actuator];
    let gear_bar = &mut bar.model.actuators.gear[actuator];
    let (first, length_bar) = match joints.kind[joint] {
        JointKind::Slide | JointKind::Hinge => {
            gear_bar[0] += moment_bar[0] + qpos[address] * length_bar;
            bar.state.qpos[dof] += gear[0] * length_bar;
            return;
        }
        JointKind::Ball => (0, length_bar),
        JointKind::Free => {
            for k in 0..3 {
                gear_bar[k] += moment_bar[k];
            }
            (3, 0.0)
        }
    };
    let quat = Quat(std::array::from_fn(|k| qpos[address + first + k])).normalized();
    let gear = Vec3(std::array::from_fn(|k| {
        Dual::<6>::variable(gear[first + k], 3 + k)
    }));
    let (length, axis) = turning(turned_quat(quat), gear, in_parent);
    let mut sums = [0.0; 6];
    add_tangent(&mut sums, length, length_bar);
    for k in 0..3 {
        add_tangent(&mut sums, axis[k], moment_bar[first + k]);
    }
    for k in 0..3 {
        bar.state.qpos[dof + first + k] += sums[k];
        gear_bar[first + k] += sums[3 + k];
    }
}

/// Adhesion pulls on all contacts of a body with equal shares.
fn adhesion_moment(at: At<'_>, body: usize, moment_bar: &[f64], bar: &mut Cotangents) {
    let model = at.model;
    let contacts = at.data.collision.contacts.iter();
    let adhering = |contact: &&Contact| adhering_bodies(model, body, contact).is_some();
    let count = contacts.clone().filter(adhering).count();
    let share = 1.0 / count.max(1) as f64;
    for (contact, contact_bar) in contacts.zip(&mut bar.data.contacts) {
        let Some([first, second]) = adhering_bodies(model, body, contact) else {
            continue;
        };
        let normal = contact.frame.row(0);
        let mut normal_bar = Vec3::ZERO;
        for (body, sign) in [(first, 1.0), (second, -1.0)] {
            let dofs = crate::jacobian::moving_dofs(model, body);
            let wrench = Wrench::force(body, contact.position, normal * sign);
            let wrench_bar = apply_force_vjp(
                model,
                &at.data.kinematics,
                wrench,
                dofs.iter().map(|&dof| (dof, moment_bar[dof] * share)),
                &mut bar.data.kinematics,
            );
            normal_bar = normal_bar.scale_add(wrench_bar.force, sign);
            contact_bar.position += wrench_bar.point;
        }
        for k in 0..3 {
            contact_bar.frame[k] += normal_bar[k];
        }
    }
}

/// Moment arms of what acts between two sites.
struct Levers<'a> {
    model: &'a Model,
    kinematics: &'a Kinematics,
    actuator: usize,
    /// The moment row.
    output: usize,
    length_bar: f64,
    moment_bar: &'a [f64],
}

impl Levers<'_> {
    /// A wrench in the axes of the site.
    fn site(&self, site: usize, bars: &mut Cotangents) {
        let entries = (self.model.structure.actuators.lever).first(self.output);
        let [torque, force] = self.wrench(site);
        let bar = self.act(entries, site, [torque, force], bars);
        self.wrench_bar(site, bar.torque, bar.force, bars);
    }

    /// A wrench between two sites in the axes of the second, and the first's pose relative to the second along it.
    fn relative_site(&self, site: usize, reference: usize, bars: &mut Cotangents) {
        let [torque, force] = self.wrench(reference);
        let [torque_bar, force_bar] = self.act_between(site, reference, [torque, force], bars);

        // length = offset·force + turn·(angular gear).
        let positions = &self.kinematics.site_position;
        let offset = positions[site] - positions[reference];
        let offset_bar = force * self.length_bar;
        bars.data.kinematics.site_position[site] += offset_bar;
        bars.data.kinematics.site_position[reference] -= offset_bar;
        let force_bar = force_bar.scale_add(offset, self.length_bar);
        self.wrench_bar(reference, torque_bar, force_bar, bars);

        let angular = angular_gear(&self.model.actuators.gear[self.actuator]);
        let quats = [site, reference].map(|site| self.site_quat(site));
        let turn = quats[0].difference(quats[1]);
        for k in 0..3 {
            bars.model.actuators.gear[self.actuator][3 + k] += turn[k] * self.length_bar;
        }
        self.turn_bar(site, reference, angular * self.length_bar, bars);
    }

    /// The twin of the turn from one site to another.
    fn turn_bar(&self, site: usize, reference: usize, bar: Vec3, bars: &mut Cotangents) {
        let quats = [site, reference].map(|site| self.site_quat(site));
        let [mut site_bar, mut reference_bar] = [Quat::default(); 2];
        quats[0].difference_vjp(quats[1], bar, &mut site_bar, &mut reference_bar);
        self.site_quat_bar(site, site_bar, bars);
        self.site_quat_bar(reference, reference_bar, bars);
    }

    /// A torque and a force on a site and their opposites on another: their cotangents.
    fn act_between(
        &self,
        site: usize,
        reference: usize,
        [torque, force]: [Vec3; 2],
        bars: &mut Cotangents,
    ) -> [Vec3; 2] {
        let lever = &self.model.structure.actuators.lever;
        let first = self.act(lever.first(self.output), site, [torque, force], bars);
        let entries = lever.second(self.output);
        let second = self.act(entries, reference, [-torque, -force], bars);
        [first.torque - second.torque, first.force - second.force]
    }

    fn slider_crank(&self, crank: usize, slider: usize, bars: &mut Cotangents) {
        let kinematics = self.kinematics;
        let axis = kinematics.site_rotation[slider].column(2);
        let offset = kinematics.site_position[crank] - kinematics.site_position[slider];
        let rod = self.model.actuators.crank_length[self.actuator];
        let gear = self.model.actuators.gear[self.actuator][0];
        let (length, force, torque) = Rod {
            axis: Vec3(std::array::from_fn(|i| Dual::<8>::variable(axis[i], i))),
            offset: Vec3(std::array::from_fn(|i| Dual::variable(offset[i], 3 + i))),
            length: Dual::variable(rod, 6),
            gear: Dual::variable(gear, 7),
        }
        .act();
        let lever = &self.model.structure.actuators.lever;
        let (first, second) = (lever.first(self.output), lever.second(self.output));
        let pull = force.value();
        let crank_bar = self.act(first, crank, [Vec3::ZERO, pull], bars);
        let slider_bar = self.act(second, slider, [torque.value(), -pull], bars);
        let (force_bar, torque_bar) = (crank_bar.force - slider_bar.force, slider_bar.torque);
        let mut inputs_bar = [0.0; 8];
        add_tangent(&mut inputs_bar, length, self.length_bar);
        for k in 0..3 {
            add_tangent(&mut inputs_bar, force[k], force_bar[k]);
            add_tangent(&mut inputs_bar, torque[k], torque_bar[k]);
        }
        let [x, y, z, ox, oy, oz, rod_bar, gear_bar] = inputs_bar;
        let (axis_bar, offset_bar) = (Vec3([x, y, z]), Vec3([ox, oy, oz]));
        for k in 0..3 {
            bars.data.kinematics.site_rotation[slider][3 * k + 2] += axis_bar[k];
        }
        bars.data.kinematics.site_position[crank] += offset_bar;
        bars.data.kinematics.site_position[slider] -= offset_bar;
        bars.model.actuators.crank_length[self.actuator] += rod_bar;
        bars.model.actuators.gear[self.actuator][0] += gear_bar;
    }

    /// Torque and force along the gear in the axes of a site.
    fn wrench(&self, site: usize) -> [Vec3; 2] {
        let gear = &self.model.actuators.gear[self.actuator];
        let rotation = &self.kinematics.site_rotation[site];
        [angular_gear(gear), linear_gear(gear)].map(|gear| rotation.mul_vec(gear))
    }

    /// The twin of [`Self::wrench`].
    fn wrench_bar(&self, site: usize, torque_bar: Vec3, force_bar: Vec3, bars: &mut Cotangents) {
        let gear = &self.model.actuators.gear[self.actuator];
        let rotation: &Mat3 = &self.kinematics.site_rotation[site];
        let rotation_bar = &mut bars.data.kinematics.site_rotation[site];
        let gear_bar = &mut bars.model.actuators.gear[self.actuator];
        let parts = [
            (0, linear_gear(gear), force_bar),
            (3, angular_gear(gear), torque_bar),
        ];
        for (first, gear, bar) in parts {
            let mut local_bar = Vec3::ZERO;
            rotation.mul_vec_vjp(gear, bar, rotation_bar, &mut local_bar);
            for k in 0..3 {
                gear_bar[first + k] += local_bar[k];
            }
        }
    }

    /// The generalised force of a wrench at a site; the site takes over the cotangent of the lever arm.
    fn act(
        &self,
        entries: &[[u32; 2]],
        site: usize,
        [torque, force]: [Vec3; 2],
        bars: &mut Cotangents,
    ) -> WrenchBar {
        let wrench = Wrench {
            body: self.model.structure.sites.body[site],
            point: self.kinematics.site_position[site],
            torque,
            force,
        };
        let bar = apply_force_vjp(
            self.model,
            self.kinematics,
            wrench,
            (entries.iter()).map(|&[dof, entry]| (dof as usize, self.moment_bar[entry as usize])),
            &mut bars.data.kinematics,
        );
        bars.data.kinematics.site_position[site] += bar.point;
        bar
    }

    /// Orientation of a site in the world.
    fn site_quat(&self, site: usize) -> Quat {
        let body = self.model.structure.sites.body[site];
        self.kinematics.body_quat[body].mul(self.model.site_quat(site))
    }

    /// The twin of [`Self::site_quat`].
    fn site_quat_bar(&self, site: usize, bar: Quat, bars: &mut Cotangents) {
        let body = self.model.structure.sites.body[site];
        let local = self.model.site_quat(site);
        let mut local_bar = Quat::default();
        self.kinematics.body_quat[body].mul_vjp(
            local,
            bar,
            &mut bars.data.kinematics.body_quat[body],
            &mut local_bar,
        );
        bars.model.sites.quat[site] += quat_bar(local, turn_bar(local, local_bar));
    }
}
