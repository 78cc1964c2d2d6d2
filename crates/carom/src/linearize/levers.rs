//! How lengths and moments of actuators on ball joints, free joints and sites change with the configuration.
//!
//! Between two sites an actuator pulls with wrenches w = (t + p × f, f) at p, one at each, and has the moment J(i) = s(i)·w
//! by those dofs that move the site. Force, torque and length follow from the poses of both sites; their derivatives by
//! the twelve motions of these come from dual numbers. With dw the change of a wrench by dof j,
//!
//!   B(i, j) = s(i)·(dw(j) − s(j) ×* w) for i beyond j,   s(i)·dw(j) otherwise                               (1)
//!
//! What is in force along the length of other transmissions, ∂length/∂q = J, does not hold here: a site by itself and a
//! free joint have no length, relative poses are measured in axes that turn, and the logarithm of a rotation bends.

use super::forces::Context;
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{Mat3, Quat, Spatial, Vec3};
use crate::model::{JointKind, Model, Transmission};
use crate::stages::transmission::{Rod, angular_gear, linear_gear, relative_wrench};
use crate::terms::joint::turned_quat;

/// Whether the length of an actuator has another derivative than its moment.
pub(super) fn has_own_length(model: &Model, actuator: usize) -> bool {
    let kinds = &model.structure.joints.kind;
    match model.structure.actuators.transmission[actuator] {
        Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
            matches!(kinds[joint], JointKind::Ball | JointKind::Free)
        }
        Transmission::Site { .. } | Transmission::SliderCrank { .. } => true,
        Transmission::Tendon(_)
        | Transmission::Body(_)
        | Transmission::BallOrientation(_)
        | Transmission::SiteOrientation { .. } => false,
    }
}

/// Finds B and ∂length/∂q of an actuator of which [`has_own_length`] says so, sites by themselves aside.
pub(super) fn find(context: &Context<'_>, actuator: usize, bend: &mut [f64], length: &mut [f64]) {
    bend.fill(0.0);
    length.fill(0.0);
    match context.model.structure.actuators.transmission[actuator] {
        Transmission::Joint(joint) => of_joint(context, actuator, (joint, false), bend, length),
        Transmission::JointInParent(joint) => {
            of_joint(context, actuator, (joint, true), bend, length);
        }
        Transmission::Site {
            site,
            reference: Some(reference),
        } => {
            let pull = relative_pull(context, actuator, [site, reference]);
            pull.spread(context, actuator, bend, length);
        }
        Transmission::SliderCrank { crank, slider } => {
            let pull = rod_pull(context, actuator, [crank, slider]);
            pull.spread(context, actuator, bend, length);
        }
        Transmission::Site { .. }
        | Transmission::Tendon(_)
        | Transmission::Body(_)
        | Transmission::BallOrientation(_)
        | Transmission::SiteOrientation { .. } => {}
    }
}

/// Ball and free joints.
fn of_joint(
    context: &Context<'_>,
    actuator: usize,
    (joint, in_parent): (usize, bool),
    bend: &mut [f64],
    length: &mut [f64],
) {
    let (joints, gear) = (
        &context.model.structure.joints,
        &context.model.actuators.gear[actuator],
    );
    let (first, gear) = match joints.kind[joint] {
        JointKind::Ball => (0, linear_gear(gear)),
        JointKind::Free => (3, angular_gear(gear)),
        JointKind::Hinge | JointKind::Slide => return,
    };
    let address = joints.qpos[joint] + first;
    let quat = Quat(std::array::from_fn(|k| context.state.qpos[address + k]));
    let turned = turned_quat(quat.normalized());
    let mut axis = gear.map(Dual::constant);
    if in_parent {
        axis = turned.rotate_inverse(axis);
    }
    let size = length.len();
    for row in 0..3 {
        let entries = &mut bend[(first + row) * size + first..][..3];
        entries.copy_from_slice(&axis[row].tangent);
    }
    if joints.kind[joint] == JointKind::Ball {
        length.copy_from_slice(&turned.log().dot(axis).tangent);
    }
}

/// Translation and turn of the first site, then of the second, in world axes.
const MOTIONS: usize = 12;
type Number = Dual<MOTIONS>;

/// A site as it moves by three translations and three turns, of which the first is variable `first`.
struct Pose {
    position: Vec3<Number>,
    rotation: Mat3<Number>,
    quat: Quat<Number>,
}

impl Pose {
    fn new(context: &Context<'_>, site: usize, first: usize) -> Self {
        let (model, kinematics) = (context.model, &context.data.kinematics);
        let position = kinematics.site_position[site];
        let turn = Vec3(std::array::from_fn(|k| {
            Number::variable(0.0, first + 3 + k)
        }));
        let rotation = kinematics.site_rotation[site].map(Number::constant);
        let body = model.structure.sites.body[site];
        let quat = kinematics.body_quat[body].mul(model.site_quat(site));
        Self {
            position: Vec3(std::array::from_fn(|k| {
                Number::variable(position[k], first + k)
            })),
            rotation: rotation + Mat3::skew(turn).mul(&rotation),
            quat: Quat::from_parts(Number::constant(1.0), turn * 0.5)
                .mul(quat.map(Number::constant)),
        }
    }
}

/// What acts between two sites.
struct Pull {
    sites: [usize; 2],
    length: Number,
    /// Torque and force at each.
    wrenches: [[Vec3<Number>; 2]; 2],
}

fn poses(context: &Context<'_>, sites: [usize; 2]) -> [Pose; 2] {
    [0, 1].map(|end| Pose::new(context, sites[end], 6 * end))
}

fn relative_pull(context: &Context<'_>, actuator: usize, sites: [usize; 2]) -> Pull {
    let [own, reference] = poses(context, sites);
    let gear = context.model.actuators.gear[actuator].map(Number::constant);
    let offset = own.position - reference.position;
    let quats = [own.quat, reference.quat];
    let (length, force, torque) = relative_wrench(&gear, &reference.rotation, offset, quats);
    Pull {
        sites,
        length,
        wrenches: [[torque, force], [-torque, -force]],
    }
}

fn rod_pull(context: &Context<'_>, actuator: usize, sites: [usize; 2]) -> Pull {
    let [crank, slider] = poses(context, sites);
    let numbers = &context.model.actuators;
    let rod = Rod {
        axis: slider.rotation.column(2),
        offset: crank.position - slider.position,
        length: Number::constant(numbers.crank_length[actuator]),
        gear: Number::constant(numbers.gear[actuator][0]),
    };
    let (length, force, torque) = rod.act();
    Pull {
        sites,
        length,
        wrenches: [[Vec3::ZERO, force], [torque, -force]],
    }
}

impl Pull {
    /// From motions of the sites to dofs. (1)
    fn spread(&self, context: &Context<'_>, actuator: usize, bend: &mut [f64], length: &mut [f64]) {
        let (model, kinematics) = (context.model, &context.data.kinematics);
        let actuators = &model.structure.actuators;
        let start = actuators.moment.row(actuator).start;
        let levers = [
            actuators.lever.first(actuator),
            actuators.lever.second(actuator),
        ];
        let bodies = self.sites.map(|site| model.structure.sites.body[site]);
        let arms: [Vec3; 2] = std::array::from_fn(|end| {
            let position = kinematics.site_position[self.sites[end]];
            jacobian::offset(model, kinematics, bodies[end], position)
        });
        let columns = actuators.moment.columns(actuator);
        for (j, &other) in columns.iter().enumerate() {
            let axis = kinematics.dof_axis[other];
            let moves = bodies.map(|body| {
                let moving = jacobian::moving_dofs(model, body);
                moving.binary_search(&other).is_ok()
            });
            let mut motions = [0.0; MOTIONS];
            for end in 0..2 {
                if moves[end] {
                    let point = jacobian::point_velocity(axis, arms[end]);
                    motions[6 * end..][..3].copy_from_slice(&point.0);
                    motions[6 * end + 3..][..3].copy_from_slice(&axis.angular().0);
                }
            }
            length[j] = along(self.length, &motions);
            for end in 0..2 {
                let [torque, force] = self.wrenches[end].map(Vec3::value);
                let [torque_rate, force_rate] =
                    self.wrenches[end].map(|vector| vector.map(|number| along(number, &motions)));
                let moved = Vec3(std::array::from_fn(|k| motions[6 * end + k]));
                let arm = arms[end];
                let wrench = Spatial::new(torque + arm.cross(force), force);
                let moment = torque_rate + moved.cross(force) + arm.cross(force_rate);
                let before = Spatial::new(moment, force_rate);
                let beyond = before - axis.cross_force(wrench);
                for &[dof, entry] in levers[end] {
                    let (dof, row) = (dof as usize, entry as usize - start);
                    let change = if moves[end] && dof >= context.turn_start[other] {
                        beyond
                    } else {
                        before
                    };
                    bend[row * columns.len() + j] += kinematics.dof_axis[dof].dot(change);
                }
            }
        }
    }
}

/// The change of a number as the sites move.
fn along(number: Number, motions: &[f64; MOTIONS]) -> f64 {
    let terms = number.tangent.iter().zip(motions);
    terms.map(|(slope, motion)| slope * motion).sum()
}
