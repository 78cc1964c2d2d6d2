//! How lengths and moments of actuators on ball joints, free joints and sites change with the configuration.
//!
//! What acts at some points p of bodies, with forces f and torques t there, exerts wrenches w = (t + p × f, f) and has the
//! moment J(i) = s(i)·w by those dofs that move the body. With dw the change of a wrench by dof j,
//!
//!   B(i, j) = s(i)·(dw(j) − s(j) ×* w) for i beyond j,   s(i)·dw(j) otherwise                               (1)
//!
//! Between two sites, force, torque and length follow from the poses of both; their derivatives by the twelve motions of
//! these come from dual numbers. At one site the wrench turns with it.
//!
//! What is in force along the length of other transmissions, ∂length/∂q = J, does not hold here: a site by itself and a
//! free joint have no length, relative poses are measured in axes that turn, and the logarithm of a rotation bends.

use super::forces::Context;
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{Mat3, Quat, Spatial, Vec3};
use crate::model::{JointKind, Model, SparsePattern, Transmission};
use crate::stages::transmission::{Rod, angular_gear, linear_gear, relative_wrench, turning};
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

/// What acts at a point of a body, and on which entries of J.
pub(super) struct Attachment<'a> {
    pub(super) body: usize,
    pub(super) point: Vec3,
    pub(super) torque: Vec3,
    pub(super) force: Vec3,
    pub(super) entries: &'a [[u32; 2]],
}

/// How it changes by a dof.
#[derive(Clone, Copy, Default)]
pub(super) struct Change {
    pub(super) point: Vec3,
    pub(super) torque: Vec3,
    pub(super) force: Vec3,
}

/// The motion of some points by a dof.
pub(super) struct Motion<const N: usize> {
    /// Number of the dof's column.
    column: usize,
    pub(super) dof: usize,
    axis: Spatial,
    /// None where the dof does not move the body.
    pub(super) points: [Option<Vec3>; N],
}

/// The velocity of a point of a body by a dof; none if it does not move the body.
pub(super) fn moved(context: &Context<'_>, body: usize, point: Vec3, dof: usize) -> Option<Vec3> {
    let (model, kinematics) = (context.model, &context.data.kinematics);
    let moving = jacobian::moving_dofs(model, body);
    let offset = jacobian::offset(model, kinematics, body, point);
    let moves = moving.binary_search(&dof).is_ok();
    moves.then(|| jacobian::point_velocity(kinematics.dof_axis[dof], offset))
}

/// The block of B that belongs to a row of J.
pub(super) struct Target<'a> {
    columns: &'a [usize],
    /// Number of the first entry of the row.
    first: usize,
    bend: &'a mut [f64],
}

impl<'a> Target<'a> {
    /// Nothing yet.
    pub(super) fn new(pattern: &'a SparsePattern, row: usize, bend: &'a mut [f64]) -> Self {
        bend.fill(0.0);
        Self {
            columns: pattern.columns(row),
            first: pattern.row(row).start,
            bend,
        }
    }

    /// Adds what acts at some points and changes with their motion. (1)
    pub(super) fn spread<const N: usize>(
        &mut self,
        context: &Context<'_>,
        attached: &[Attachment<'_>; N],
        mut change: impl FnMut(&Motion<N>) -> [Change; N],
    ) {
        let (model, kinematics) = (context.model, &context.data.kinematics);
        let arms = attached
            .each_ref()
            .map(|at| jacobian::offset(model, kinematics, at.body, at.point));
        for (column, &other) in self.columns.iter().enumerate() {
            let axis = kinematics.dof_axis[other];
            let motion = Motion {
                column,
                dof: other,
                axis,
                points: (attached.each_ref()).map(|at| moved(context, at.body, at.point, other)),
            };
            let changes = change(&motion);
            for (end, (at, change)) in attached.iter().zip(changes).enumerate() {
                let (arm, moves) = (arms[end], motion.points[end].is_some());
                let moment = change.torque + change.point.cross(at.force) + arm.cross(change.force);
                let before = Spatial::new(moment, change.force);
                let wrench = Spatial::new(at.torque + arm.cross(at.force), at.force);
                let beyond = before - axis.cross_force(wrench);
                for &[dof, entry] in at.entries {
                    let (dof, row) = (dof as usize, entry as usize - self.first);
                    let is_beyond = moves && dof >= context.turn_start[other];
                    let change = if is_beyond { beyond } else { before };
                    self.bend[row * self.columns.len() + column] +=
                        kinematics.dof_axis[dof].dot(change);
                }
            }
        }
    }
}

/// Finds B and ∂length/∂q of an actuator of which [`has_own_length`] says so.
pub(super) fn find(
    context: &Context<'_>,
    actuator: usize,
    mut target: Target<'_>,
    length: &mut [f64],
) {
    length.fill(0.0);
    match context.model.structure.actuators.transmission[actuator] {
        Transmission::Joint(joint) => {
            of_joint(context, actuator, (joint, false), &mut target, length);
        }
        Transmission::JointInParent(joint) => {
            of_joint(context, actuator, (joint, true), &mut target, length);
        }
        Transmission::Site {
            site,
            reference: None,
        } => at_site(context, actuator, site, &mut target),
        Transmission::Site {
            site,
            reference: Some(reference),
        } => {
            let pull = relative_pull(context, actuator, [site, reference]);
            pull.spread(context, actuator, &mut target, length);
        }
        Transmission::SliderCrank { crank, slider } => {
            let pull = rod_pull(context, actuator, [crank, slider]);
            pull.spread(context, actuator, &mut target, length);
        }
        Transmission::Tendon(_)
        | Transmission::Body(_)
        | Transmission::BallOrientation(_)
        | Transmission::SiteOrientation { .. } => {}
    }
}

/// A wrench that turns with a site.
fn at_site(context: &Context<'_>, actuator: usize, site: usize, target: &mut Target<'_>) {
    let (model, kinematics) = (context.model, &context.data.kinematics);
    let gear = &model.actuators.gear[actuator];
    let rotation = &kinematics.site_rotation[site];
    let attached = Attachment {
        body: model.structure.sites.body[site],
        point: kinematics.site_position[site],
        torque: rotation.mul_vec(angular_gear(gear)),
        force: rotation.mul_vec(linear_gear(gear)),
        entries: model.structure.actuators.lever.first(actuator),
    };
    let (torque, force) = (attached.torque, attached.force);
    target.spread(context, &[attached], |motion| {
        let turn = motion.axis.angular();
        motion.points.map(|point| {
            point.map_or(Change::default(), |point| Change {
                point,
                torque: turn.cross(torque),
                force: turn.cross(force),
            })
        })
    });
}

/// Ball and free joints.
fn of_joint(
    context: &Context<'_>,
    actuator: usize,
    (joint, in_parent): (usize, bool),
    target: &mut Target<'_>,
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
    let turned = turned_quat::<3>(quat.normalized());
    let (angle, axis) = turning(turned, gear.map(Dual::constant), in_parent);
    let size = length.len();
    for row in 0..3 {
        let entries = &mut target.bend[(first + row) * size + first..][..3];
        entries.copy_from_slice(&axis[row].tangent);
    }
    if joints.kind[joint] == JointKind::Ball {
        length.copy_from_slice(&angle.tangent);
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
    /// From motions of the sites to dofs.
    fn spread(
        &self,
        context: &Context<'_>,
        actuator: usize,
        target: &mut Target<'_>,
        length: &mut [f64],
    ) {
        let structure = &*context.model.structure;
        let lever = &structure.actuators.lever;
        let entries = [lever.first(actuator), lever.second(actuator)];
        let attached = [0, 1].map(|end| {
            let [torque, force] = self.wrenches[end].map(Vec3::value);
            Attachment {
                body: structure.sites.body[self.sites[end]],
                point: context.data.kinematics.site_position[self.sites[end]],
                torque,
                force,
                entries: entries[end],
            }
        });
        target.spread(context, &attached, |motion| {
            let mut motions = [0.0; MOTIONS];
            for (part, point) in motions.chunks_exact_mut(6).zip(motion.points) {
                if let Some(point) = point {
                    part[..3].copy_from_slice(&point.0);
                    part[3..].copy_from_slice(&motion.axis.angular().0);
                }
            }
            length[motion.column] = along(self.length, &motions);
            [0, 1].map(|end| {
                let rates = self.wrenches[end];
                let [torque, force] = rates.map(|v| v.map(|number| along(number, &motions)));
                Change {
                    point: motion.points[end].unwrap_or_default(),
                    torque,
                    force,
                }
            })
        });
    }
}

/// The change of a number as the sites move.
fn along(number: Number, motions: &[f64; MOTIONS]) -> f64 {
    let terms = number.tangent.iter().zip(motions);
    terms.map(|(slope, motion)| slope * motion).sum()
}
