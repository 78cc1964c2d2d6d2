//! The adjoint of the passive forces.
//!
//! The forces are those of [`terms`], which pass on the derivatives of their laws.

use super::{Passive, adhesion, fluid};
use crate::cotangent::StateBar;
use crate::laws::lift::{lift, lift_vjp};
use crate::math::Spatial;
use crate::model::{Model, Structure};
use crate::stages::collision::{Collision, Contact};
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::State;
use crate::terms::length::Row;
use crate::terms::{self, DofDamper, TendonDamper, TendonSpring, Term};

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
        let (qpos, bar) = (&state.qpos, &bar.spring);
        terms::joint::backward(model, qpos, bar, targets.model, targets.state);
    }
    if !disable.damper {
        let (qvel, bar) = (&state.qvel, &bar.damper);
        terms::dof::backward::<DofDamper, 3>(model, qvel, bar, targets.model, targets.state);
    }
    tendon_forces(model, tendon, velocity, bar, &mut targets);
    fluid::backward(model, kinematics, velocity, bar, &mut targets);
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

/// Springs and dampers along tendons.
fn tendon_forces(
    model: &Model,
    tendon: &Tendon,
    velocity: &Velocity,
    bar: &Passive,
    targets: &mut Targets<'_>,
) {
    let disable = &model.settings.disable;
    let pattern = &model.structure.tendons.jacobian;
    for (id, &length) in tendon.length.iter().enumerate() {
        let row = Row::of(pattern, &tendon.jacobian, id);
        let row_bar = &mut targets.tendon.jacobian[pattern.row(id)];
        if !disable.spring {
            let force = TendonSpring::value(model, id, [length]);
            let force_bar = row.push_vjp(force, &bar.spring, row_bar);
            let [length_bar] = TendonSpring::vjp(model, id, [length], force_bar, targets.model);
            targets.tendon.length[id] += length_bar;
        }
        if !disable.damper {
            let rate = velocity.tendon[id];
            let force = TendonDamper::value(model, id, [rate]);
            let force_bar = row.push_vjp(force, &bar.damper, row_bar);
            let [rate_bar] = TendonDamper::vjp(model, id, [rate], force_bar, targets.model);
            targets.velocity.tendon[id] += rate_bar;
        }
    }
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
    terms::body::motions(structure, kinematics, &bar.gravcomp, &mut bar.body_force);
    let gravity = model.option.gravity[0];
    for body in 1..structure.counts.nbody {
        let (mass, fraction) = (model.bodies.mass[body], model.bodies.gravcomp[body]);
        let lift = lift(gravity, mass, fraction);
        let root = structure.bodies.root[body];
        let arm = kinematics.inertial_position[body] - kinematics.subtree_com[root];
        targets.body_work[body] = Spatial::new(arm.cross(lift), lift);

        let motion = bar.body_force[body];
        let lift_bar = motion.linear() + motion.angular().cross(arm);
        let arm_bar = lift.cross(motion.angular());
        targets.kinematics.inertial_position[body] += arm_bar;
        targets.kinematics.subtree_com[root] -= arm_bar;
        let (gravity_bar, mass_bar, fraction_bar) = lift_vjp(gravity, mass, fraction, lift_bar);
        targets.model.bodies.mass[body] += mass_bar;
        targets.model.bodies.gravcomp[body] += fraction_bar;
        targets.model.option.gravity[0] += gravity_bar;
    }
    let axes_bar = &mut targets.kinematics.dof_axis;
    terms::body::axes_vjp(structure, &bar.gravcomp, targets.body_work, axes_bar);
}
