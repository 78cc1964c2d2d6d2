//! Passes over the tree that only sensors need.

use super::{Sensed, Sensing, constraint_force};
use crate::math::{MIN_LENGTH, Spatial, Vec3};
use crate::model::{Model, Transmission, Wrap};
use crate::scalar::Scalar;
use crate::stages::bias::path_acceleration;
use crate::stages::constraint::PointWrench;
use crate::stages::tendon::PULLEY;
use crate::state::{Input, State};
use crate::terms::{TendonDamper, TendonSpring, Term};

/// Velocity of the centre of mass of each subtree, and its angular momentum about it.
///
/// Momenta about the centre of mass of the tree add up; about the subtree's own centre of mass c moving with v and mass
/// m the angular momentum is less by (c − o) × m·v.
pub(super) fn subtree_velocities<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    out: &mut Sensing<T>,
) {
    let (bodies, kinematics) = (&model.structure.bodies, stages.kinematics);
    let center = |body: usize| kinematics.subtree_com[bodies.root[body]];
    let count = out.subtree_velocity.len();
    for body in 0..count {
        let momentum = kinematics.body_inertia[body].mul_motion(stages.velocity.body[body]);
        out.subtree_velocity[body] = momentum.linear();
        out.subtree_angular_momentum[body] = momentum.angular();
    }
    for body in (0..count).rev() {
        let linear = out.subtree_velocity[body];
        let angular = out.subtree_angular_momentum[body];
        if body > 0 {
            let parent = bodies.parent[body];
            // Within a tree the centre is the same; the world's is another.
            let shift = center(parent) - center(body);
            out.subtree_velocity[parent] += linear;
            out.subtree_angular_momentum[parent] += angular - shift.cross(linear);
        }
        let mass = model.bodies.subtree_mass[body].max(T::from(MIN_LENGTH));
        let offset = kinematics.subtree_com[body] - center(body);
        out.subtree_velocity[body] = linear * mass.recip();
        out.subtree_angular_momentum[body] = angular - offset.cross(linear);
    }
}

/// Accelerations of all bodies with constraints; the world accelerates against gravity.
pub(super) fn accelerations<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    stages: &Sensed<'_, T>,
    out: &mut Sensing<T>,
) {
    let gravity = if model.settings.disable.gravity {
        Vec3::ZERO
    } else {
        model.option.gravity[0]
    };
    let bodies = &model.structure.bodies;
    let acceleration = &mut out.body_acceleration;
    acceleration[0] = Spatial::new(Vec3::ZERO, -gravity);
    for body in 1..acceleration.len() {
        let mut total = acceleration[bodies.parent[body]];
        for dof in bodies.dofs[body].clone() {
            total += stages.velocity.dof_axis_dot[dof] * state.qvel[dof];
            total += stages.kinematics.dof_axis[dof] * stages.solve.qacc[dof];
        }
        acceleration[body] = total;
    }
}

/// Forces between each body and its parent: what is left of inertia times acceleration after the external forces, summed
/// over the subtree.
pub(super) fn interaction_forces<T: Scalar>(
    model: &Model<T>,
    input: &Input<T>,
    stages: &Sensed<'_, T>,
    out: &mut Sensing<T>,
) {
    external_forces(model, input, stages, out);
    let bodies = &model.structure.bodies;
    out.interaction_force[0] = Spatial::ZERO;
    for body in 1..out.interaction_force.len() {
        let inertia = &stages.kinematics.body_inertia[body];
        let motion = stages.velocity.body[body];
        let needed = inertia.mul_motion(out.body_acceleration[body])
            + motion.cross_force(inertia.mul_motion(motion));
        out.interaction_force[body] = needed - out.external_force[body];
    }
    for body in (1..out.interaction_force.len()).rev() {
        let force = out.interaction_force[body];
        out.interaction_force[bodies.parent[body]] += force;
    }
}

/// Applied forces, those of contacts, connections and spatial tendons, about the centre of mass of each body's tree.
fn external_forces<T: Scalar>(
    model: &Model<T>,
    input: &Input<T>,
    stages: &Sensed<'_, T>,
    out: &mut Sensing<T>,
) {
    let (bodies, kinematics) = (&model.structure.bodies, stages.kinematics);
    out.external_force[0] = Spatial::ZERO;
    for body in 1..out.external_force.len() {
        let center = kinematics.subtree_com[bodies.root[body]];
        let offset = center - kinematics.inertial_position[body];
        out.external_force[body] = input.body_force[body].shift_force(offset);
    }
    constraint_force::push_bodies(model, stages, &mut out.external_force);
    for tendon in 0..stages.tendon.length.len() {
        if model.structure.tendons.spatial[tendon] {
            let force = tension(model, stages, tendon, &out.body_acceleration);
            pull_path(model, stages, tendon, force, &mut out.external_force);
        }
    }
}

/// The force along a tendon: actuators, constraints, spring, damper and inertia.
pub(super) fn tension<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    tendon: usize,
    accelerations: &[Spatial<T>],
) -> T {
    let disable = &model.settings.disable;
    let mut force = constraint_force::tension(model, stages, tendon);
    let transmissions = &model.structure.actuators.transmission;
    for (actuator, transmission) in transmissions.iter().enumerate() {
        if *transmission == Transmission::Tendon(tendon) {
            let gear = model.actuators.gear[actuator][0];
            let output = model.structure.actuators.outputs[actuator].start;
            force += stages.actuation.actuator_force[output] * gear;
        }
    }
    if !disable.spring {
        force += TendonSpring::value(model, tendon, [stages.tendon.length[tendon]]);
    }
    if !disable.damper {
        force += TendonDamper::value(model, tendon, [stages.velocity.tendon[tendon]]);
    }
    let armature = model.tendons.armature[tendon];
    if T::HAS_DERIVATIVES || armature != T::ZERO {
        let (kinematics, velocity) = (stages.kinematics, stages.velocity);
        let acceleration = path_acceleration(model, tendon, kinematics, velocity, accelerations);
        force -= armature * acceleration;
    }
    force
}

/// Adds a torque and force at a point to what acts on a body; the world feels nothing.
pub(super) fn push_body<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    on: PointWrench<T>,
    external_force: &mut [Spatial<T>],
) {
    if on.body != 0 {
        let root = model.structure.bodies.root[on.body];
        let offset = stages.kinematics.subtree_com[root] - on.point;
        external_force[on.body] += on.wrench.shift_force(offset);
    }
}

/// Pulls the bodies along a tendon's path apart with a force that pulleys divide.
fn pull_path<T: Scalar>(
    model: &Model<T>,
    stages: &Sensed<'_, T>,
    tendon: usize,
    force: T,
    external_force: &mut [Spatial<T>],
) {
    let (structure, path) = (&model.structure, stages.tendon);
    let wraps = structure.tendons.wraps[tendon].clone();
    let mut pulleys = wraps.filter(|&wrap| structure.tendons.path[wrap] == Wrap::Pulley);
    let mut divided = force;
    let points = path.path_start[tendon]..path.path_start[tendon] + path.path_length[tendon];
    for end in points.clone() {
        if path.path_body[end] == PULLEY {
            if let Some(wrap) = pulleys.next() {
                divided = force / model.wraps.coefficient[wrap];
            }
            continue;
        }
        let is_first = end == points.start || path.path_body[end - 1] == PULLEY;
        if is_first || path.path_body[end] == path.path_body[end - 1] {
            continue;
        }
        let (direction, _) = (path.path_point[end] - path.path_point[end - 1]).normalized();
        for (point, force) in [(end, direction * divided), (end - 1, direction * -divided)] {
            let pull = PointWrench {
                body: path.path_body[point],
                point: path.path_point[point],
                wrench: Spatial::new(Vec3::ZERO, force),
            };
            push_body(model, stages, pull, external_force);
        }
    }
}
