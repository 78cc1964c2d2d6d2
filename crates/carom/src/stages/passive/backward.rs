//! The adjoint of the passive forces.
//!
//! The forces are those of [`terms`], which pass on the derivatives of their laws.

use std::mem::take;

use super::{Passive, adhesion, fluid};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::laws::lift::{lift, lift_vjp};
use crate::math::Spatial;
use crate::model::Structure;
use crate::terms::length::Row;
use crate::terms::{self, DofDamper, TendonDamper, TendonSpring, Term};

/// Adds the cotangents of everything that passive forces depend on; those of the forces are used up.
pub fn backward(at: At<'_>, bars: &mut Cotangents) {
    let (model, state) = (at.model, at.state);
    let disable = &model.settings.disable;
    if disable.spring && disable.damper {
        return;
    }
    let mut own = take(&mut bars.data.passive);
    split_total(&model.structure, &mut own);
    let (model_bar, state_bar) = (&mut *bars.model, &mut bars.state);
    if !disable.spring {
        terms::joint::backward(model, &state.qpos, &own.spring, model_bar, state_bar);
    }
    if !disable.damper {
        let (qvel, damper_bar) = (&state.qvel, &own.damper);
        terms::dof::backward::<DofDamper, 3>(model, qvel, damper_bar, model_bar, state_bar);
        let x = [&state.qpos[..], qvel];
        terms::joint_law::backward(model, x, damper_bar, model_bar, state_bar);
    }
    tendon_forces(at, &own, bars);
    fluid::backward(at, &mut own, bars);
    adhesion::backward(at, &own.adhesion, bars);
    gravity_compensation(at, &mut own, bars);
    bars.data.passive = own;
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
fn tendon_forces(at: At<'_>, own: &Passive, bars: &mut Cotangents) {
    let (model, tendon) = (at.model, &at.data.tendon);
    let disable = &model.settings.disable;
    let pattern = &model.structure.tendons.jacobian;
    for (id, &length) in tendon.length.iter().enumerate() {
        let row = Row::of(pattern, &tendon.jacobian, id);
        let row_bar = &mut bars.data.tendon.jacobian[pattern.row(id)];
        if !disable.spring {
            let force = TendonSpring::value(model, id, [length]);
            let force_bar = row.push_vjp(force, &own.spring, row_bar);
            let [length_bar] = TendonSpring::vjp(model, id, [length], force_bar, &mut bars.model);
            bars.data.tendon.length[id] += length_bar;
        }
        if !disable.damper {
            let rate = at.data.velocity.tendon[id];
            let force = TendonDamper::value(model, id, [rate]);
            let force_bar = row.push_vjp(force, &own.damper, row_bar);
            let [rate_bar] = TendonDamper::vjp(model, id, [rate], force_bar, &mut bars.model);
            bars.data.velocity.tendon[id] += rate_bar;
        }
    }
}

/// Bodies hold up a fraction of their weight.
fn gravity_compensation(at: At<'_>, own: &mut Passive, bars: &mut Cotangents) {
    let (model, kinematics) = (at.model, &at.data.kinematics);
    let structure = &model.structure;
    if !structure.has_gravcomp || model.settings.disable.gravity {
        return;
    }
    terms::body::motions(structure, kinematics, &own.gravcomp, &mut own.body_force);
    let gravity = model.option.gravity[0];
    let (kinematics_bar, body_work) = (&mut bars.data.kinematics, &mut bars.data.frame_wrench);
    for body in 1..structure.counts.nbody {
        let (mass, fraction) = (model.bodies.mass[body], model.bodies.gravcomp[body]);
        let lift = lift(gravity, mass, fraction);
        let root = structure.bodies.root[body];
        let arm = kinematics.inertial_position[body] - kinematics.subtree_com[root];
        body_work[body] = Spatial::new(arm.cross(lift), lift);

        let motion = own.body_force[body];
        let lift_bar = motion.linear() + motion.angular().cross(arm);
        let arm_bar = lift.cross(motion.angular());
        kinematics_bar.inertial_position[body] += arm_bar;
        kinematics_bar.subtree_com[root] -= arm_bar;
        let (gravity_bar, mass_bar, fraction_bar) = lift_vjp(gravity, mass, fraction, lift_bar);
        bars.model.bodies.mass[body] += mass_bar;
        bars.model.bodies.gravcomp[body] += fraction_bar;
        bars.model.option.gravity[0] += gravity_bar;
    }
    let axes_bar = &mut kinematics_bar.dof_axis;
    terms::body::axes_vjp(structure, &own.gravcomp, body_work, axes_bar);
}
