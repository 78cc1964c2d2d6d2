use super::TransmissionData;
use crate::jacobian::{self, Wrench};
use crate::math::{Mat3, Quat, Spatial, Vec3};
use crate::model::{JointKind, Model, Transmission};
use crate::scalar::Scalar;
use crate::stages::collision::{Collision, Contact};
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::state::State;

/// Computes actuator lengths and moment arms.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    collision: &Collision<T>,
    out: &mut TransmissionData<T>,
) {
    let structure = &model.structure;
    for (actuator, outputs) in structure.actuators.outputs.iter().enumerate() {
        let output = outputs.start;
        let row = structure.actuators.moment.row(output);
        let gear = &model.actuators.gear[actuator];
        let levers = Levers {
            model,
            kinematics,
            actuator,
            output,
        };
        let moment = &mut out.moment;
        out.length[output] = match structure.actuators.transmission[actuator] {
            Transmission::Joint(joint) => {
                joint_moment(model, state, joint, false, gear, &mut moment[row])
            }
            Transmission::JointInParent(joint) => {
                joint_moment(model, state, joint, true, gear, &mut moment[row])
            }
            Transmission::Tendon(id) => {
                let jacobian = &tendon.jacobian[structure.tendons.jacobian.row(id)];
                for (moment, &entry) in moment[row].iter_mut().zip(jacobian) {
                    *moment = entry * gear[0];
                }
                tendon.length[id] * gear[0]
            }
            Transmission::Site {
                site,
                reference: None,
            } => {
                moment[row].fill(T::ZERO);
                levers.site(site, moment);
                T::ZERO
            }
            Transmission::Site {
                site,
                reference: Some(reference),
            } => {
                moment[row].fill(T::ZERO);
                levers.relative_site(site, reference, moment)
            }
            Transmission::SliderCrank { crank, slider } => {
                moment[row].fill(T::ZERO);
                levers.slider_crank(crank, slider, moment)
            }
            Transmission::Body(body) => {
                adhesion_moment(model, kinematics, collision, body, &mut moment[row]);
                T::ZERO
            }
            Transmission::BallOrientation(joint) => {
                // Each force turns about an axis of the child, which is that of a dof.
                moment[row.start..row.start + 3].fill(T::ONE);
                let address = structure.joints.qpos[joint];
                let quat = Quat(std::array::from_fn(|i| state.qpos[address + i]));
                out.length[outputs.clone()].copy_from_slice(&quat.normalized().log().0);
                continue;
            }
            Transmission::SiteOrientation { site, reference } => {
                for (axis, output) in outputs.clone().enumerate() {
                    moment[structure.actuators.moment.row(output)].fill(T::ZERO);
                    let axis = kinematics.site_rotation[site].column(axis);
                    let levers = Levers { output, ..levers };
                    levers.act_between(site, reference, (axis, Vec3::ZERO), moment);
                }
                let turn = levers
                    .site_quat(site)
                    .difference(levers.site_quat(reference));
                out.length[outputs.clone()].copy_from_slice(&turn.0);
                continue;
            }
        };
    }
}

/// Pulls on all contacts of a body, those in the gap included, along their normals and with equal shares.
fn adhesion_moment<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    collision: &Collision<T>,
    body: usize,
    moment: &mut [T],
) {
    moment.fill(T::ZERO);
    let mut count = 0_u32;
    for contact in &collision.contacts {
        let Some([first, second]) = adhering_bodies(model, body, contact) else {
            continue;
        };
        count += 1;
        let normal = contact.frame.row(0);
        for (body, force) in [(first, normal), (second, -normal)] {
            let wrench = Wrench::force(body, contact.position, force);
            jacobian::apply_force(model, kinematics, wrench, moment);
        }
    }
    for moment in moment {
        *moment /= T::from(f64::from(count.max(1)));
    }
}

/// The two bodies of a contact of `body` that can move.
pub(super) fn adhering_bodies<T: Scalar>(
    model: &Model<T>,
    body: usize,
    contact: &Contact<T>,
) -> Option<[usize; 2]> {
    let pair = contact.geoms.map(|geom| model.structure.geoms.body[geom]);
    let moves = |body: usize| !jacobian::moving_dofs(model, body).is_empty();
    (pair.contains(&body) && pair.into_iter().any(moves)).then_some(pair)
}

/// The first three gears as a vector.
pub(crate) fn linear_gear<T: Scalar>(gear: &[T; 6]) -> Vec3<T> {
    Vec3([gear[0], gear[1], gear[2]])
}

/// The last three gears as a vector.
pub(crate) fn angular_gear<T: Scalar>(gear: &[T; 6]) -> Vec3<T> {
    Vec3([gear[3], gear[4], gear[5]])
}

/// Acts on a joint; `in_parent` gives the rotational gear in the parent's frame instead of the child's.
fn joint_moment<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    joint: usize,
    in_parent: bool,
    gear: &[T; 6],
    moment: &mut [T],
) -> T {
    let joints = &model.structure.joints;
    let address = joints.qpos[joint];
    let quat = |start: usize| {
        let [w, x, y, z] = std::array::from_fn(|i| state.qpos[start + i]);
        Quat::new(w, x, y, z).normalized()
    };
    match joints.kind[joint] {
        JointKind::Slide | JointKind::Hinge => {
            moment[0] = gear[0];
            state.qpos[address] * gear[0]
        }
        JointKind::Ball => {
            let (length, axis) = turning(quat(address), linear_gear(gear), in_parent);
            moment.copy_from_slice(&axis.0);
            length
        }
        JointKind::Free => {
            let (_, axis) = turning(quat(address + 3), angular_gear(gear), in_parent);
            moment[..3].copy_from_slice(&gear[..3]);
            moment[3..].copy_from_slice(&axis.0);
            // A wrench on a free body measures no length.
            T::ZERO
        }
    }
}

/// What turns a ball or free joint about a gear: the angle along it, and the axis in the child's frame.
pub(crate) fn turning<T: Scalar>(quat: Quat<T>, gear: Vec3<T>, in_parent: bool) -> (T, Vec3<T>) {
    let axis = if in_parent {
        quat.rotate_inverse(gear)
    } else {
        gear
    };
    (quat.log().dot(axis), axis)
}

/// Pose of a frame relative to a reference along the gear, in the reference's axes; force and torque that act along it.
pub(crate) fn relative_wrench<T: Scalar>(
    gear: &[T; 6],
    reference: &Mat3<T>,
    offset: Vec3<T>,
    [quat, reference_quat]: [Quat<T>; 2],
) -> (T, Vec3<T>, Vec3<T>) {
    let (linear, angular) = (linear_gear(gear), angular_gear(gear));
    let turn = quat.difference(reference_quat);
    let length = reference.transpose_mul_vec(offset).dot(linear) + turn.dot(angular);
    (
        length,
        reference.mul_vec(linear),
        reference.mul_vec(angular),
    )
}

/// The rod of a slider-crank.
pub(crate) struct Rod<T> {
    /// Direction of the slider, a.
    pub(crate) axis: Vec3<T>,
    /// From the slider site to the crank's pin, v.
    pub(crate) offset: Vec3<T>,
    /// Length of the rod, r.
    pub(crate) length: T,
    pub(crate) gear: T,
}

impl<T: Scalar> Rod<T> {
    /// The actuator's length gear·(a·v − √d),  d = (a·v)² + r² − v·v, with force on the pin and torque on the slider
    /// that do the power of its rate.
    pub(crate) fn act(&self) -> (T, Vec3<T>, Vec3<T>) {
        let Rod {
            axis,
            offset,
            length: rod,
            gear,
        } = *self;
        let along = axis.dot(offset);
        let determinant = along * along + rod * rod - offset.norm_squared();
        // Derivatives by offset and by axis; out of reach the rod stays perpendicular to the axis.
        let (length, by_offset, by_axis) = if determinant.value() <= 0.0 {
            (along, axis, offset)
        } else {
            let root = determinant.sqrt();
            let slope = -along / root + 1.0;
            (
                along - root,
                axis * slope + offset * root.recip(),
                offset * slope,
            )
        };
        (length * gear, by_offset * gear, axis.cross(by_axis) * gear)
    }
}

/// Moment arms of what acts between two sites.
struct Levers<'a, T: Scalar> {
    model: &'a Model<T>,
    kinematics: &'a Kinematics<T>,
    actuator: usize,
    /// The moment row.
    output: usize,
}

impl<T: Scalar> Levers<'_, T> {
    /// A wrench in the axes of the site.
    fn site(&self, site: usize, moment: &mut [T]) {
        let gear = &self.model.actuators.gear[self.actuator];
        let rotation = &self.kinematics.site_rotation[site];
        let force = rotation.mul_vec(linear_gear(gear));
        let torque = rotation.mul_vec(angular_gear(gear));
        let lever = &self.model.structure.actuators.lever;
        self.act(lever.first(self.output), site, torque, force, moment);
    }

    /// A wrench between two sites in the axes of the second, and the first's pose relative to the second along it.
    fn relative_site(&self, site: usize, reference: usize, moment: &mut [T]) -> T {
        let kinematics = self.kinematics;
        let gear = &self.model.actuators.gear[self.actuator];
        let rotation = &kinematics.site_rotation[reference];
        let offset = kinematics.site_position[site] - kinematics.site_position[reference];
        let quats = [site, reference].map(|site| self.site_quat(site));
        let (length, force, torque) = relative_wrench(gear, rotation, offset, quats);
        self.act_between(site, reference, (torque, force), moment);
        length
    }

    /// A torque and a force on a site, and their opposites on another.
    fn act_between(
        &self,
        site: usize,
        reference: usize,
        (torque, force): (Vec3<T>, Vec3<T>),
        moment: &mut [T],
    ) {
        let lever = &self.model.structure.actuators.lever;
        let [first, second] = [lever.first(self.output), lever.second(self.output)];
        self.act(first, site, torque, force, moment);
        self.act(second, reference, -torque, -force, moment);
    }

    /// A rod from the crank's pin to a slider on the axis through the slider site.
    fn slider_crank(&self, crank: usize, slider: usize, moment: &mut [T]) -> T {
        let kinematics = self.kinematics;
        let rod = Rod {
            axis: kinematics.site_rotation[slider].column(2),
            offset: kinematics.site_position[crank] - kinematics.site_position[slider],
            length: self.model.actuators.crank_length[self.actuator],
            gear: self.model.actuators.gear[self.actuator][0],
        };
        let (length, force, torque) = rod.act();
        let lever = &self.model.structure.actuators.lever;
        self.act(lever.first(self.output), crank, Vec3::ZERO, force, moment);
        self.act(lever.second(self.output), slider, torque, -force, moment);
        length
    }

    /// Adds the generalised force of a wrench at a site to the moment's entries.
    fn act(
        &self,
        entries: &[[u32; 2]],
        site: usize,
        torque: Vec3<T>,
        force: Vec3<T>,
        moment: &mut [T],
    ) {
        let bodies = &self.model.structure.bodies;
        let root = bodies.root[self.model.structure.sites.body[site]];
        let arm = self.kinematics.site_position[site] - self.kinematics.subtree_com[root];
        let wrench = Spatial::new(torque + arm.cross(force), force);
        for &[dof, entry] in entries {
            moment[entry as usize] += self.kinematics.dof_axis[dof as usize].dot(wrench);
        }
    }

    /// Orientation of a site in the world.
    fn site_quat(&self, site: usize) -> Quat<T> {
        let body = self.model.structure.sites.body[site];
        self.kinematics.body_quat[body].mul(self.model.site_quat(site))
    }
}
