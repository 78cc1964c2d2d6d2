use super::{Passive, adhesion, fluid};
use crate::math::{Quat, Spatial, Vec3};
use crate::model::{JointKind, Model, Structure};
use crate::scalar::Scalar;
use crate::stages::collision::Collision;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::State;

/// Computes all passive forces.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    kinematics: &Kinematics<T>,
    tendon: &Tendon<T>,
    velocity: &Velocity<T>,
    collision: &Collision<T>,
    out: &mut Passive<T>,
) {
    let disable = &model.settings.disable;
    out.spring.fill(T::ZERO);
    out.damper.fill(T::ZERO);
    // Both switched off switches off everything passive.
    if disable.spring && disable.damper {
        out.gravcomp.fill(T::ZERO);
        out.fluid.fill(T::ZERO);
        out.adhesion.fill(T::ZERO);
        out.total.fill(T::ZERO);
        return;
    }
    if !disable.spring {
        joint_springs(model, state, &mut out.spring);
    }
    if !disable.damper {
        joint_dampers(model, state, &mut out.damper);
    }
    tendon_forces(model, tendon, velocity, out);
    for ((total, &spring), &damper) in out.total.iter_mut().zip(&out.spring).zip(&out.damper) {
        *total = spring + damper;
    }
    if fluid::forward(model, kinematics, velocity, out) {
        add(&mut out.total, &out.fluid);
    }
    if adhesion::forward(model, kinematics, collision, out) {
        add(&mut out.total, &out.adhesion);
    }
    if gravity_compensation(model, kinematics, out) {
        let structure = &model.structure;
        for (dof, total) in out.total.iter_mut().enumerate() {
            if !structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
                *total += out.gravcomp[dof];
            }
        }
    }
}

fn add<T: Scalar>(sum: &mut [T], terms: &[T]) {
    for (sum, &term) in sum.iter_mut().zip(terms) {
        *sum += term;
    }
}

/// k + k₁x + k₂x².
#[inline]
pub(super) fn polynomial<T: Scalar>(linear: T, higher: [T; 2], x: T) -> T {
    linear + x * (higher[0] + x * higher[1])
}

/// Whether a spring or damper can be left out: it has no strength, nor a derivative to carry.
#[inline]
pub(super) fn is_zero<T: Scalar>(linear: T, higher: [T; 2]) -> bool {
    !T::HAS_DERIVATIVES && linear == T::ZERO && higher == [T::ZERO; 2]
}

fn joint_springs<T: Scalar>(model: &Model<T>, state: &State<T>, spring: &mut [T]) {
    let structure = &model.structure.joints;
    for joint in 0..structure.kind.len() {
        let stiffness = model.joints.stiffness[joint];
        let higher = model.joints.stiffness_poly[joint];
        if is_zero(stiffness, higher) {
            continue;
        }
        let (qpos, dof) = (structure.qpos[joint], structure.dof[joint]);
        let rest = &model.qpos.spring;
        let mut pull = |displacement: Vec3<T>, dof: usize| {
            let coefficient = polynomial(stiffness, higher, displacement.norm());
            for axis in 0..3 {
                spring[dof + axis] = -displacement[axis] * coefficient;
            }
        };
        match structure.kind[joint] {
            JointKind::Slide | JointKind::Hinge => {
                let displacement = state.qpos[qpos] - rest[qpos];
                spring[dof] = -displacement * polynomial(stiffness, higher, displacement);
            }
            JointKind::Ball => {
                let turn = quat_at(&state.qpos, qpos).normalized();
                pull(turn.difference(quat_at(rest, qpos)), dof);
            }
            JointKind::Free => {
                let offset = std::array::from_fn(|i| state.qpos[qpos + i] - rest[qpos + i]);
                pull(Vec3(offset), dof);
                let turn = quat_at(&state.qpos, qpos + 3).normalized();
                pull(turn.difference(quat_at(rest, qpos + 3)), dof + 3);
            }
        }
    }
}

pub(super) fn quat_at<T: Scalar>(qpos: &[T], start: usize) -> Quat<T> {
    Quat(std::array::from_fn(|i| qpos[start + i]))
}

fn joint_dampers<T: Scalar>(model: &Model<T>, state: &State<T>, damper: &mut [T]) {
    let dofs = &model.dofs;
    for (dof, force) in damper.iter_mut().enumerate() {
        let v = state.qvel[dof];
        *force = -v * polynomial(dofs.damping[dof], dofs.damping_poly[dof], v.abs());
    }
}

/// Springs and dampers along tendons.
fn tendon_forces<T: Scalar>(
    model: &Model<T>,
    tendon: &Tendon<T>,
    velocity: &Velocity<T>,
    out: &mut Passive<T>,
) {
    let numbers = &model.tendons;
    let disable = &model.settings.disable;
    let pattern = &model.structure.tendons.jacobian;
    for id in 0..tendon.length.len() {
        let (row, dofs) = (pattern.row(id), pattern.columns(id));
        if !disable.spring && !is_zero(numbers.stiffness[id], numbers.stiffness_poly[id]) {
            let force = tendon_spring(model, id, tendon.length[id]);
            for (&entry, &dof) in tendon.jacobian[row.clone()].iter().zip(dofs) {
                out.spring[dof] += entry * force;
            }
        }
        if !disable.damper && !is_zero(numbers.damping[id], numbers.damping_poly[id]) {
            let force = tendon_damper(model, id, velocity.tendon[id]);
            for (&entry, &dof) in tendon.jacobian[row].iter().zip(dofs) {
                out.damper[dof] += entry * force;
            }
        }
    }
}

/// Spring force along a tendon; none within the range of rest lengths.
pub(crate) fn tendon_spring<T: Scalar>(model: &Model<T>, tendon: usize, length: T) -> T {
    let numbers = &model.tendons;
    let displacement = beyond_range(length, numbers.spring_length[tendon]);
    let (linear, higher) = (numbers.stiffness[tendon], numbers.stiffness_poly[tendon]);
    -displacement * polynomial(linear, higher, displacement)
}

/// Damper force along a tendon.
pub(crate) fn tendon_damper<T: Scalar>(model: &Model<T>, tendon: usize, velocity: T) -> T {
    let numbers = &model.tendons;
    let (linear, higher) = (numbers.damping[tendon], numbers.damping_poly[tendon]);
    -velocity * polynomial(linear, higher, velocity.abs())
}

/// Signed distance of a length to a range; zero within. A range of a single length has nothing within: the slope at this
/// length, where springs start at rest, is that of its sides.
fn beyond_range<T: Scalar>(length: T, [low, high]: [T; 2]) -> T {
    if length > high {
        length - high
    } else if length < low || low == high {
        length - low
    } else {
        T::ZERO
    }
}

/// Holds up the compensated fraction of each body's weight; returns whether there is any.
fn gravity_compensation<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    out: &mut Passive<T>,
) -> bool {
    let structure = &model.structure;
    let gravity = model.option.gravity[0];
    out.gravcomp.fill(T::ZERO);
    let weightless = !T::HAS_DERIVATIVES && gravity == Vec3::ZERO;
    if !structure.has_gravcomp || model.settings.disable.gravity || weightless {
        return false;
    }
    for (body, force) in out.body_force.iter_mut().enumerate() {
        let lift = gravity * -(model.bodies.mass[body] * model.bodies.gravcomp[body]);
        let root = structure.bodies.root[body];
        let arm = kinematics.inertial_position[body] - kinematics.subtree_com[root];
        *force = Spatial::new(arm.cross(lift), lift);
    }
    project_body_forces(
        structure,
        kinematics,
        &mut out.body_force,
        &mut out.gravcomp,
    );
    true
}

/// Generalised force of forces on all bodies (about their tree's centre of mass), by one pass from leaves to root.
/// The body forces become those of whole subtrees.
pub(super) fn project_body_forces<T: Scalar>(
    structure: &Structure,
    kinematics: &Kinematics<T>,
    body_force: &mut [Spatial<T>],
    generalized: &mut [T],
) {
    let bodies = &structure.bodies;
    for body in (1..body_force.len()).rev() {
        let force = body_force[body];
        for dof in bodies.dofs[body].clone() {
            generalized[dof] = kinematics.dof_axis[dof].dot(force);
        }
        let parent = bodies.parent[body];
        if parent != 0 {
            body_force[parent] += force;
        }
    }
}
