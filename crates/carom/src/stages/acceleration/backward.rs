//! The adjoint of the smooth acceleration: λ = M⁻¹·ā, τ̄ += λ, M̄ −= λ·aᵀ.
//!
//! Afterwards the cotangent of `force_smooth` is τ̄; compliant contacts, a plain term of τ, read theirs there.

use super::Acceleration;
use crate::cotangent::InputBar;
use crate::jacobian;
use crate::math::Spatial;
use crate::model::Model;
use crate::stages::actuation::Actuation;
use crate::stages::bias::Bias;
use crate::stages::inertia::{self, Inertia};
use crate::stages::kinematics::Kinematics;
use crate::stages::passive::Passive;
use crate::state::Input;

/// Cotangents that the smooth acceleration passes on.
#[derive(Debug)]
pub struct Targets<'a> {
    /// Of the kinematics.
    pub kinematics: &'a mut Kinematics,
    /// Of the inertia.
    pub inertia: &'a mut Inertia,
    /// Of the passive forces.
    pub passive: &'a mut Passive,
    /// Of the bias.
    pub bias: &'a mut Bias,
    /// Of the actuator forces.
    pub actuation: &'a mut Actuation,
    /// Of the input.
    pub input: &'a mut InputBar,
}

/// Adds the cotangents of all smooth forces and of the inertia; `bar` is used up.
pub fn backward(
    model: &Model,
    input: &Input,
    (kinematics, inertia): (&Kinematics, &Inertia),
    acceleration: &Acceleration,
    bar: &mut Acceleration,
    targets: Targets<'_>,
) {
    inertia::solve_vjp(
        model,
        inertia,
        &acceleration.smooth,
        &mut bar.smooth,
        &mut targets.inertia.matrix,
    ); // (2̄)
    for dof in 0..model.counts().nv {
        let force_bar = bar.force_smooth[dof] + bar.smooth[dof];
        bar.force_smooth[dof] = force_bar;
        targets.passive.total[dof] += force_bar; // (1̄)
        targets.bias.force[dof] -= force_bar;
        targets.actuation.force[dof] += force_bar;
        targets.input.force[dof] += force_bar;
    }
    let kinematics_bar = targets.kinematics;
    for body in 1..input.body_force.len() {
        let wrench = input.body_force[body];
        // The velocity of the centre of mass when the dofs move at the rate of the cotangent.
        let mut motion = Spatial::ZERO;
        for &dof in jacobian::moving_dofs(model, body) {
            motion = motion.scale_add(kinematics.dof_axis[dof], bar.force_smooth[dof]);
        }
        let center = kinematics.inertial_position[body];
        let offset = jacobian::offset(model, kinematics, body, center);
        targets.input.body_force[body] +=
            Spatial::new(motion.angular(), jacobian::point_velocity(motion, offset));
        if wrench == Spatial::ZERO {
            continue;
        }
        let moment = wrench.angular() + offset.cross(wrench.linear());
        let about_tree = Spatial::new(moment, wrench.linear());
        for &dof in jacobian::moving_dofs(model, body) {
            let axis_bar = &mut kinematics_bar.dof_axis[dof];
            *axis_bar = axis_bar.scale_add(about_tree, bar.force_smooth[dof]);
        }
        let offset_bar = wrench.linear().cross(motion.angular());
        kinematics_bar.inertial_position[body] += offset_bar;
        kinematics_bar.subtree_com[model.structure.bodies.root[body]] -= offset_bar;
    }
}
