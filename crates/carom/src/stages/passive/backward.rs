//! The adjoint of the passive forces.
//!
//! With displacement x, rate v and the cotangent f̄ of a spring's or damper's force,
//!
//!   x̄ = −(k + 2k₁x + 3k₂x²)·f̄,   k̄ = −x·f̄,   k̄₁ = −x²·f̄,   k̄₂ = −x³·f̄
//!   v̄ = −(d + 2d₁|v| + 3d₂v²)·f̄,   d̄ = −v·f̄,   d̄₁ = −v|v|·f̄,   d̄₂ = −v³·f̄
//!
//! Forces on bodies that become generalised forces τ = Jᵀ·f pass their cotangents in two walks over the tree: the motion
//! that τ̄ gives each body as speeds of the dofs is f̄, from the root to the leaves; the motion axes receive τ̄ times the
//! force on their subtree, from the leaves to the root.

use super::forward::{is_zero, polynomial, quat_at};
use super::{Passive, adhesion, fluid_backward, tendon_damper, tendon_spring};
use crate::cotangent::{StateBar, turn_bar};
use crate::math::{Quat, Spatial, Vec3};
use crate::model::{JointKind, Model, Structure};
use crate::stages::collision::{Collision, Contact};
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::State;

/// Cotangents that the passive forces pass on.
#[derive(Debug)]
pub struct Targets<'a> {
    /// Of the kinematics.
    pub kinematics: &'a mut Kinematics,
    /// Of the tendons.
    pub tendon: &'a mut Tendon,
    /// Of the velocities.
    pub velocity: &'a mut Velocity,
    /// Of the contacts.
    pub contacts: &'a mut [Contact],
    /// Of the model.
    pub model: &'a mut Model,
    /// Of the state.
    pub state: &'a mut StateBar,
    /// Work area, one for each body.
    pub body_work: &'a mut [Spatial],
}

/// Adds the cotangents of everything that passive forces depend on; `bar` is used up.
pub fn backward(
    model: &Model,
    state: &State,
    (kinematics, tendon, velocity, collision): (&Kinematics, &Tendon, &Velocity, &Collision),
    bar: &mut Passive,
    mut targets: Targets<'_>,
) {
    let disable = &model.settings.disable;
    if disable.spring && disable.damper {
        return;
    }
    split_total(&model.structure, bar);
    if !disable.spring {
        joint_springs(model, state, &bar.spring, &mut targets);
    }
    if !disable.damper {
        joint_dampers(model, state, &bar.damper, &mut targets);
    }
    tendon_forces(model, tendon, velocity, bar, &mut targets);
    fluid_backward::backward(model, kinematics, velocity, bar, &mut targets);
    adhesion::backward(model, kinematics, collision, &bar.adhesion, &mut targets);
    gravity_compensation(model, kinematics, bar, &mut targets);
}

/// The total's cotangent goes to all that it sums.
fn split_total(structure: &Structure, bar: &mut Passive) {
    for (dof, &total) in bar.total.iter().enumerate() {
        bar.spring[dof] += total;
        bar.damper[dof] += total;
        bar.fluid[dof] += total;
        bar.adhesion[dof] += total;
        if !structure.joints.actuator_gravcomp[structure.dofs.joint[dof]] {
            bar.gravcomp[dof] += total;
        }
    }
}

/// Derivative of x·(k + k₁x + k₂x²).
#[inline]
fn polynomial_slope(linear: f64, higher: [f64; 2], x: f64) -> f64 {
    linear + x * (2.0 * higher[0] + x * (3.0 * higher[1]))
}

fn joint_springs(model: &Model, state: &State, bar: &[f64], targets: &mut Targets<'_>) {
    let structure = &model.structure.joints;
    for joint in 0..structure.kind.len() {
        let mut spring = Spring {
            stiffness: model.joints.stiffness[joint],
            higher: model.joints.stiffness_poly[joint],
            stiffness_bar: &mut targets.model.joints.stiffness[joint],
            higher_bar: &mut targets.model.joints.stiffness_poly[joint],
        };
        let (qpos, dof) = (structure.qpos[joint], structure.dof[joint]);
        let rest = &model.qpos.spring;
        let force_bar = |dof: usize| Vec3(std::array::from_fn(|i| bar[dof + i]));
        let mut turn = |spring: &mut Spring<'_>, qpos: usize, dof: usize| {
            let quat = quat_at(&state.qpos, qpos).normalized();
            let rest = quat_at(rest, qpos);
            let Some(turned_bar) = spring.pull(quat.difference(rest), force_bar(dof)) else {
                return;
            };
            let [mut quat_bar, mut rest_bar] = [Quat::default(); 2];
            quat.difference_vjp(rest, turned_bar, &mut quat_bar, &mut rest_bar);
            let local_bar = turn_bar(quat, quat_bar);
            for k in 0..3 {
                targets.state.qpos[dof + k] += local_bar[k];
            }
            for k in 0..4 {
                targets.model.qpos.spring[qpos + k] += rest_bar[k];
            }
        };
        match structure.kind[joint] {
            JointKind::Slide | JointKind::Hinge => {
                let displacement = state.qpos[qpos] - rest[qpos];
                let displacement_bar = spring.push(displacement, bar[dof]);
                targets.state.qpos[dof] += displacement_bar;
                targets.model.qpos.spring[qpos] -= displacement_bar;
            }
            JointKind::Ball => turn(&mut spring, qpos, dof),
            JointKind::Free => {
                turn(&mut spring, qpos + 3, dof + 3);
                let offset = std::array::from_fn(|i| state.qpos[qpos + i] - rest[qpos + i]);
                if let Some(offset_bar) = spring.pull(Vec3(offset), force_bar(dof)) {
                    for k in 0..3 {
                        targets.state.qpos[dof + k] += offset_bar[k];
                        targets.model.qpos.spring[qpos + k] -= offset_bar[k];
                    }
                }
            }
        }
    }
}

/// A spring and the cotangents of its coefficients.
struct Spring<'a> {
    stiffness: f64,
    higher: [f64; 2],
    stiffness_bar: &'a mut f64,
    higher_bar: &'a mut [f64; 2],
}

impl Spring<'_> {
    /// One dimension: returns the cotangent of the displacement.
    fn push(&mut self, x: f64, force_bar: f64) -> f64 {
        *self.stiffness_bar -= x * force_bar;
        self.higher_bar[0] -= x * x * force_bar;
        self.higher_bar[1] -= x * x * x * force_bar;
        -polynomial_slope(self.stiffness, self.higher, x) * force_bar
    }

    /// Three dimensions: returns the cotangent of the displacement, none when it must be zero.
    fn pull(&mut self, displacement: Vec3, force_bar: Vec3) -> Option<Vec3> {
        let length = displacement.norm();
        let coefficient_bar = -displacement.dot(force_bar);
        *self.stiffness_bar += coefficient_bar;
        self.higher_bar[0] += coefficient_bar * length;
        self.higher_bar[1] += coefficient_bar * length * length;
        if is_zero(self.stiffness, self.higher) {
            return None;
        }
        let coefficient = polynomial(self.stiffness, self.higher, length);
        let length_bar = coefficient_bar * (self.higher[0] + 2.0 * self.higher[1] * length);
        let mut displacement_bar = force_bar * -coefficient;
        displacement.norm_vjp(length_bar, &mut displacement_bar);
        Some(displacement_bar)
    }
}

/// The cotangents of a damper's rate, of its linear and of its higher coefficients.
fn damper(linear: f64, higher: [f64; 2], v: f64, force_bar: f64) -> (f64, f64, [f64; 2]) {
    let speed = v.abs();
    let rate_bar = -polynomial_slope(linear, higher, speed) * force_bar;
    let linear_bar = -v * force_bar;
    let higher_bar = [linear_bar * speed, linear_bar * v * v];
    (rate_bar, linear_bar, higher_bar)
}

fn add_pair(sum: &mut [f64; 2], term: [f64; 2]) {
    sum[0] += term[0];
    sum[1] += term[1];
}

fn joint_dampers(model: &Model, state: &State, bar: &[f64], targets: &mut Targets<'_>) {
    let (dofs, dofs_bar) = (&model.dofs, &mut targets.model.dofs);
    for (dof, &force_bar) in bar.iter().enumerate() {
        let (linear, higher) = (dofs.damping[dof], dofs.damping_poly[dof]);
        let (rate_bar, linear_bar, higher_bar) = damper(linear, higher, state.qvel[dof], force_bar);
        targets.state.qvel[dof] += rate_bar;
        dofs_bar.damping[dof] += linear_bar;
        add_pair(&mut dofs_bar.damping_poly[dof], higher_bar);
    }
}

/// Springs and dampers along tendons.
fn tendon_forces(
    model: &Model,
    tendon: &Tendon,
    velocity: &Velocity,
    bar: &Passive,
    targets: &mut Targets<'_>,
) {
    let disable = &model.settings.disable;
    for id in 0..tendon.length.len() {
        if !disable.spring {
            let length = tendon.length[id];
            let force = tendon_spring(model, id, length);
            let force_bar = along_tendon(model, tendon, id, force, &bar.spring, targets);
            targets.tendon.length[id] +=
                tendon_spring_vjp(model, id, length, force_bar, targets.model);
        }
        if !disable.damper {
            let rate = velocity.tendon[id];
            let force = tendon_damper(model, id, rate);
            let force_bar = along_tendon(model, tendon, id, force, &bar.damper, targets);
            targets.velocity.tendon[id] +=
                tendon_damper_vjp(model, id, rate, force_bar, targets.model);
        }
    }
}

/// The twin of [`tendon_spring`]: returns the cotangent of the length.
pub(crate) fn tendon_spring_vjp(
    model: &Model,
    tendon: usize,
    length: f64,
    force_bar: f64,
    model_bar: &mut Model,
) -> f64 {
    let (numbers, numbers_bar) = (&model.tendons, &mut model_bar.tendons);
    let range = numbers.spring_length[tendon];
    // Within the range of rest nothing moves the force; a single length has nothing within.
    let side = if length > range[1] {
        1
    } else if length < range[0] || range[0] == range[1] {
        0
    } else {
        return 0.0;
    };
    let mut spring = Spring {
        stiffness: numbers.stiffness[tendon],
        higher: numbers.stiffness_poly[tendon],
        stiffness_bar: &mut numbers_bar.stiffness[tendon],
        higher_bar: &mut numbers_bar.stiffness_poly[tendon],
    };
    let length_bar = spring.push(length - range[side], force_bar);
    numbers_bar.spring_length[tendon][side] -= length_bar;
    length_bar
}

/// The twin of [`tendon_damper`]: returns the cotangent of the rate.
pub(crate) fn tendon_damper_vjp(
    model: &Model,
    tendon: usize,
    rate: f64,
    force_bar: f64,
    model_bar: &mut Model,
) -> f64 {
    let (linear, higher) = (
        model.tendons.damping[tendon],
        model.tendons.damping_poly[tendon],
    );
    let (rate_bar, linear_bar, higher_bar) = damper(linear, higher, rate, force_bar);
    model_bar.tendons.damping[tendon] += linear_bar;
    add_pair(&mut model_bar.tendons.damping_poly[tendon], higher_bar);
    rate_bar
}

/// τ = Jᵀ·force of one tendon: adds to the Jacobian's cotangent, returns the force's.
fn along_tendon(
    model: &Model,
    tendon: &Tendon,
    id: usize,
    force: f64,
    bar: &[f64],
    targets: &mut Targets<'_>,
) -> f64 {
    let pattern = &model.structure.tendons.jacobian;
    let mut force_bar = 0.0;
    for (entry, &dof) in pattern.row(id).zip(pattern.columns(id)) {
        force_bar += tendon.jacobian[entry] * bar[dof];
        targets.tendon.jacobian[entry] += force * bar[dof];
    }
    force_bar
}

/// Bodies hold up a fraction of their weight.
fn gravity_compensation(
    model: &Model,
    kinematics: &Kinematics,
    bar: &mut Passive,
    targets: &mut Targets<'_>,
) {
    let structure = &model.structure;
    if !structure.has_gravcomp || model.settings.disable.gravity {
        return;
    }
    body_motions(structure, kinematics, &bar.gravcomp, &mut bar.body_force);
    let gravity = model.option.gravity[0];
    for body in 1..structure.counts.nbody {
        let (mass, fraction) = (model.bodies.mass[body], model.bodies.gravcomp[body]);
        let lift = gravity * -(mass * fraction);
        let root = structure.bodies.root[body];
        let arm = kinematics.inertial_position[body] - kinematics.subtree_com[root];
        targets.body_work[body] = Spatial::new(arm.cross(lift), lift);

        let motion = bar.body_force[body];
        let lift_bar = motion.linear() + motion.angular().cross(arm);
        let arm_bar = lift.cross(motion.angular());
        targets.kinematics.inertial_position[body] += arm_bar;
        targets.kinematics.subtree_com[root] -= arm_bar;
        let numbers_bar = &mut targets.model.bodies;
        let weight_bar = -gravity.dot(lift_bar);
        numbers_bar.mass[body] += weight_bar * fraction;
        numbers_bar.gravcomp[body] += weight_bar * mass;
        targets.model.option.gravity[0] -= lift_bar * (mass * fraction);
    }
    subtree_forces(structure, &bar.gravcomp, targets);
}

/// The motion of each body when every dof moves at the cotangent of its force.
pub(super) fn body_motions(
    structure: &Structure,
    kinematics: &Kinematics,
    generalized_bar: &[f64],
    motion: &mut [Spatial],
) {
    let bodies = &structure.bodies;
    motion[0] = Spatial::ZERO;
    for body in 1..motion.len() {
        let mut sum = motion[bodies.parent[body]];
        for dof in bodies.dofs[body].clone() {
            sum = sum.scale_add(kinematics.dof_axis[dof], generalized_bar[dof]);
        }
        motion[body] = sum;
    }
}

/// Hands the forces on subtrees to the motion axes; `targets.body_work` holds those on bodies and is used up.
pub(super) fn subtree_forces(
    structure: &Structure,
    generalized_bar: &[f64],
    targets: &mut Targets<'_>,
) {
    let bodies = &structure.bodies;
    for body in (1..targets.body_work.len()).rev() {
        let force = targets.body_work[body];
        for dof in bodies.dofs[body].clone() {
            let axis_bar = &mut targets.kinematics.dof_axis[dof];
            *axis_bar = axis_bar.scale_add(force, generalized_bar[dof]);
        }
        targets.body_work[bodies.parent[body]] += force;
    }
}
