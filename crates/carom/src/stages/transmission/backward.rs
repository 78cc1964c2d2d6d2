//! The adjoint of actuator lengths and moment arms.
//!
//! A length ℓ = g·x with moment m = g·J passes x̄ = g·ℓ̄, J̄ = g·m̄ and ḡ = x·ℓ̄ + J·m̄. Where the moment is that of a
//! wrench at a site, the cotangents of its entries, taken as speeds of the dofs, give the site a motion, which is the
//! cotangent of the wrench; see [`apply_force_vjp`]. The law of a slider-crank's rod is differentiated by dual numbers.

use super::TransmissionData;
use super::forward::{Rod, adhering_bodies, angular_gear, linear_gear};
use crate::cotangent::{StateBar, quat_bar, turn_bar};
use crate::dual::Dual;
use crate::jacobian::{WrenchBar, apply_force_vjp};
use crate::math::{Mat3, Quat, Vec3};
use crate::model::{JointKind, Model, Transmission};
use crate::stages::collision::{Collision, Contact};
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::state::State;

/// Cotangents that the transmission passes on.
#[derive(Debug)]
pub struct Targets<'a> {
    /// Of the kinematics.
    pub kinematics: &'a mut Kinematics,
    /// Of the tendons.
    pub tendon: &'a mut Tendon,
    /// Of the contacts.
    pub contacts: &'a mut [Contact],
    /// Of the model.
    pub model: &'a mut Model,
    /// Of the state.
    pub state: &'a mut StateBar,
}

/// Adds the cotangents of gears, joints, tendons, sites and adhering contacts.
pub fn backward(
    model: &Model,
    state: &State,
    (kinematics, tendon, collision): (&Kinematics, &Tendon, &Collision),
    bar: &TransmissionData,
    mut targets: Targets<'_>,
) {
    let structure = &model.structure;
    for (actuator, &length_bar) in bar.length.iter().enumerate() {
        let row = structure.actuators.moment.row(actuator);
        let moment_bar = &bar.moment[row];
        let levers = Levers {
            model,
            kinematics,
            actuator,
            length_bar,
            moment_bar: &bar.moment,
        };
        match structure.actuators.transmission[actuator] {
            Transmission::Joint(joint) => {
                let bars = (length_bar, moment_bar);
                joint_moment(model, state, actuator, (joint, false), bars, &mut targets);
            }
            Transmission::JointInParent(joint) => {
                let bars = (length_bar, moment_bar);
                joint_moment(model, state, actuator, (joint, true), bars, &mut targets);
            }
            Transmission::Tendon(id) => {
                let gear = model.actuators.gear[actuator][0];
                let mut gear_bar = tendon.length[id] * length_bar;
                targets.tendon.length[id] += gear * length_bar;
                let row = structure.tendons.jacobian.row(id);
                let entries = (tendon.jacobian[row.clone()].iter())
                    .zip(&mut targets.tendon.jacobian[row])
                    .zip(moment_bar);
                for ((&entry, entry_bar), &bar) in entries {
                    *entry_bar += gear * bar;
                    gear_bar += entry * bar;
                }
                targets.model.actuators.gear[actuator][0] += gear_bar;
            }
            Transmission::Site {
                site,
                reference: None,
            } => levers.site(site, &mut targets),
            Transmission::Site {
                site,
                reference: Some(reference),
            } => levers.relative_site(site, reference, &mut targets),
            Transmission::SliderCrank { crank, slider } => {
                levers.slider_crank(crank, slider, &mut targets);
            }
            Transmission::Body(body) => {
                adhesion_moment(model, kinematics, collision, body, moment_bar, &mut targets);
            }
        }
    }
}

/// An actuator on a joint; the flag says whether its rotational gear is in the parent's frame.
fn joint_moment(
    model: &Model,
    state: &State,
    actuator: usize,
    (joint, in_parent): (usize, bool),
    (length_bar, moment_bar): (f64, &[f64]),
    targets: &mut Targets<'_>,
) {
    let joints = &model.structure.joints;
    let (address, dof) = (joints.qpos[joint], joints.dof[joint]);
    let gear = &model.actuators.gear[actuator];
    let gear_bar = &mut targets.model.actuators.gear[actuator];
    let vector = |first: usize| Vec3(std::array::from_fn(|i| moment_bar[first + i]));
    // The rotational gear in the child's frame has the cotangent `axis_bar`.
    let mut turn = |address: usize, dof: usize, gear: Vec3, axis_bar: Vec3, mut quat_bar: Quat| {
        let quat = Quat(std::array::from_fn(|i| state.qpos[address + i])).normalized();
        let mut gear_bar = axis_bar;
        if in_parent {
            gear_bar = Vec3::ZERO;
            quat.rotate_inverse_vjp(gear, axis_bar, &mut quat_bar, &mut gear_bar);
        }
        let turn = turn_bar(quat, quat_bar);
        for k in 0..3 {
            targets.state.qpos[dof + k] += turn[k];
        }
        gear_bar
    };
    match joints.kind[joint] {
        JointKind::Slide | JointKind::Hinge => {
            gear_bar[0] += moment_bar[0] + state.qpos[address] * length_bar;
            targets.state.qpos[dof] += gear[0] * length_bar;
        }
        JointKind::Ball => {
            let quat = Quat(std::array::from_fn(|i| state.qpos[address + i])).normalized();
            let mut axis = linear_gear(gear);
            if in_parent {
                axis = quat.rotate_inverse(axis);
            }
            let mut quat_bar = Quat::default();
            quat.log_vjp(axis * length_bar, &mut quat_bar);
            let axis_bar = vector(0).scale_add(quat.log(), length_bar);
            let bar = turn(address, dof, linear_gear(gear), axis_bar, quat_bar);
            for k in 0..3 {
                gear_bar[k] += bar[k];
            }
        }
        JointKind::Free => {
            let bar = turn(
                address + 3,
                dof + 3,
                angular_gear(gear),
                vector(3),
                Quat::default(),
            );
            for k in 0..3 {
                gear_bar[k] += moment_bar[k];
                gear_bar[3 + k] += bar[k];
            }
        }
    }
}

/// Adhesion pulls on all contacts of a body with equal shares.
fn adhesion_moment(
    model: &Model,
    kinematics: &Kinematics,
    collision: &Collision,
    body: usize,
    moment_bar: &[f64],
    targets: &mut Targets<'_>,
) {
    let contacts = collision.contacts.iter();
    let adhering = |contact: &&Contact| adhering_bodies(model, body, contact).is_some();
    let count = contacts.clone().filter(adhering).count();
    let share = 1.0 / count.max(1) as f64;
    for (contact, contact_bar) in contacts.zip(targets.contacts.iter_mut()) {
        let Some([first, second]) = adhering_bodies(model, body, contact) else {
            continue;
        };
        let normal = contact.frame.row(0);
        let mut normal_bar = Vec3::ZERO;
        for (body, sign) in [(first, 1.0), (second, -1.0)] {
            let dofs = crate::jacobian::moving_dofs(model, body);
            let bar = apply_force_vjp(
                model,
                kinematics,
                (body, contact.position),
                (Vec3::ZERO, normal * sign),
                dofs.iter().map(|&dof| (dof, moment_bar[dof] * share)),
                targets.kinematics,
            );
            normal_bar = normal_bar.scale_add(bar.force, sign);
            contact_bar.position += bar.point;
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
    length_bar: f64,
    moment_bar: &'a [f64],
}

impl Levers<'_> {
    /// A wrench in the axes of the site.
    fn site(&self, site: usize, targets: &mut Targets<'_>) {
        let entries = (self.model.structure.actuators.lever).first(self.actuator);
        let [torque, force] = self.wrench(site);
        let bar = self.act(entries, site, (torque, force), targets);
        self.wrench_bar(site, bar.torque, bar.force, targets);
    }

    /// A wrench between two sites in the axes of the second, and the first's pose relative to the second along it.
    fn relative_site(&self, site: usize, reference: usize, targets: &mut Targets<'_>) {
        let lever = &self.model.structure.actuators.lever;
        let [torque, force] = self.wrench(reference);
        let first = self.act(lever.first(self.actuator), site, (torque, force), targets);
        let entries = lever.second(self.actuator);
        let second = self.act(entries, reference, (-torque, -force), targets);
        let (torque_bar, force_bar) = (first.torque - second.torque, first.force - second.force);

        // length = offset·force + turn·(angular gear).
        let positions = &self.kinematics.site_position;
        let offset = positions[site] - positions[reference];
        let offset_bar = force * self.length_bar;
        targets.kinematics.site_position[site] += offset_bar;
        targets.kinematics.site_position[reference] -= offset_bar;
        let force_bar = force_bar.scale_add(offset, self.length_bar);
        self.wrench_bar(reference, torque_bar, force_bar, targets);

        let angular = angular_gear(&self.model.actuators.gear[self.actuator]);
        let quats = [site, reference].map(|site| self.site_quat(site));
        let turn = quats[0].difference(quats[1]);
        for k in 0..3 {
            targets.model.actuators.gear[self.actuator][3 + k] += turn[k] * self.length_bar;
        }
        let [mut site_bar, mut reference_bar] = [Quat::default(); 2];
        quats[0].difference_vjp(
            quats[1],
            angular * self.length_bar,
            &mut site_bar,
            &mut reference_bar,
        );
        self.site_quat_bar(site, site_bar, targets);
        self.site_quat_bar(reference, reference_bar, targets);
    }

    fn slider_crank(&self, crank: usize, slider: usize, targets: &mut Targets<'_>) {
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
        let (first, second) = (lever.first(self.actuator), lever.second(self.actuator));
        let pull = force.value();
        let crank_bar = self.act(first, crank, (Vec3::ZERO, pull), targets);
        let slider_bar = self.act(second, slider, (torque.value(), -pull), targets);
        let (force_bar, torque_bar) = (crank_bar.force - slider_bar.force, slider_bar.torque);
        let inputs_bar: [f64; 8] = std::array::from_fn(|input| {
            let along = |outputs: Vec3<Dual<8>>, bar: Vec3| {
                outputs.map(|output| output.tangent[input]).dot(bar)
            };
            self.length_bar * length.tangent[input]
                + along(force, force_bar)
                + along(torque, torque_bar)
        });
        let [x, y, z, ox, oy, oz, rod_bar, gear_bar] = inputs_bar;
        let (axis_bar, offset_bar) = (Vec3([x, y, z]), Vec3([ox, oy, oz]));
        for k in 0..3 {
            targets.kinematics.site_rotation[slider][3 * k + 2] += axis_bar[k];
        }
        targets.kinematics.site_position[crank] += offset_bar;
        targets.kinematics.site_position[slider] -= offset_bar;
        targets.model.actuators.crank_length[self.actuator] += rod_bar;
        targets.model.actuators.gear[self.actuator][0] += gear_bar;
    }

    /// Torque and force along the gear in the axes of a site.
    fn wrench(&self, site: usize) -> [Vec3; 2] {
        let gear = &self.model.actuators.gear[self.actuator];
        let rotation = &self.kinematics.site_rotation[site];
        [angular_gear(gear), linear_gear(gear)].map(|gear| rotation.mul_vec(gear))
    }

    /// The twin of [`Self::wrench`].
    fn wrench_bar(
        &self,
        site: usize,
        torque_bar: Vec3,
        force_bar: Vec3,
        targets: &mut Targets<'_>,
    ) {
        let gear = &self.model.actuators.gear[self.actuator];
        let rotation: &Mat3 = &self.kinematics.site_rotation[site];
        let rotation_bar = &mut targets.kinematics.site_rotation[site];
        let gear_bar = &mut targets.model.actuators.gear[self.actuator];
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
        wrench: (Vec3, Vec3),
        targets: &mut Targets<'_>,
    ) -> WrenchBar {
        let body = self.model.structure.sites.body[site];
        let bar = apply_force_vjp(
            self.model,
            self.kinematics,
            (body, self.kinematics.site_position[site]),
            wrench,
            (entries.iter()).map(|&[dof, entry]| (dof as usize, self.moment_bar[entry as usize])),
            targets.kinematics,
        );
        targets.kinematics.site_position[site] += bar.point;
        bar
    }

    /// Orientation of a site in the world.
    fn site_quat(&self, site: usize) -> Quat {
        let body = self.model.structure.sites.body[site];
        self.kinematics.body_quat[body].mul(self.model.site_quat(site))
    }

    /// The twin of [`Self::site_quat`].
    fn site_quat_bar(&self, site: usize, bar: Quat, targets: &mut Targets<'_>) {
        let body = self.model.structure.sites.body[site];
        let local = self.model.site_quat(site);
        let mut local_bar = Quat::default();
        self.kinematics.body_quat[body].mul_vjp(
            local,
            bar,
            &mut targets.kinematics.body_quat[body],
            &mut local_bar,
        );
        targets.model.sites.quat[site] += quat_bar(local, turn_bar(local, local_bar));
    }
}
