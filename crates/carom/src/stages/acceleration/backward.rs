//! The adjoint of the smooth acceleration: λ = M⁻¹·ā, τ̄ += λ, M̄ −= λ·aᵀ.
//!
//! Afterwards the cotangent of `force_smooth` is τ̄; compliant contacts, a plain term of τ, read theirs there.

use std::mem::take;

use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::jacobian;
use crate::math::Spatial;
use crate::stages::inertia;

/// Adds the cotangents of all smooth forces and of the inertia; those of the acceleration are used up.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let (model, kinematics) = (at.model, &at.data.kinematics);
    let mut own = take(&mut bar.data.acceleration);
    inertia::solve_vjp(
        model,
        &at.data.inertia,
        &at.data.acceleration.smooth,
        &mut own.smooth,
        &mut bar.data.inertia.matrix,
    ); // (2̄)
    for dof in 0..model.counts().nv {
        let force_bar = own.force_smooth[dof] + own.smooth[dof];
        own.force_smooth[dof] = force_bar;
        bar.data.passive.total[dof] += force_bar; // (1̄)
        bar.data.bias.force[dof] -= force_bar;
        bar.data.actuation.force[dof] += force_bar;
        bar.input.force[dof] += force_bar;
    }
    if !model.structure.learned.is_empty() {
        let force_bars = bar.data.learned.force.iter_mut().zip(&own.force_smooth);
        force_bars.for_each(|(learned_bar, force_bar)| *learned_bar += force_bar);
    }
    let kinematics_bar = &mut bar.data.kinematics;
    for body in 1..at.input.body_force.len() {
        let wrench = at.input.body_force[body];
        // The velocity of the centre of mass when the dofs move at the rate of the cotangent.
        let mut motion = Spatial::ZERO;
        for &dof in jacobian::moving_dofs(model, body) {
            motion = motion.scale_add(kinematics.dof_axis[dof], own.force_smooth[dof]);
        }
        let center = kinematics.inertial_position[body];
        let offset = jacobian::offset(model, kinematics, body, center);
        bar.input.body_force[body] +=
            Spatial::new(motion.angular(), jacobian::point_velocity(motion, offset));
        if wrench == Spatial::ZERO {
            continue;
        }
        let moment = wrench.angular() + offset.cross(wrench.linear());
        let about_tree = Spatial::new(moment, wrench.linear());
        for &dof in jacobian::moving_dofs(model, body) {
            let axis_bar = &mut kinematics_bar.dof_axis[dof];
            *axis_bar = axis_bar.scale_add(about_tree, own.force_smooth[dof]);
        }
        let offset_bar = wrench.linear().cross(motion.angular());
        kinematics_bar.inertial_position[body] += offset_bar;
        kinematics_bar.subtree_com[model.structure.bodies.root[body]] -= offset_bar;
    }
    bar.data.acceleration = own;
}
