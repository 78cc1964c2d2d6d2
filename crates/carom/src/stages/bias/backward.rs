//! The adjoint of recursive Newton–Euler: forces from the root to the leaves, then accelerations back.
//!
//!   f̄(b) = f̄(parent) + Σ c̄(i)·s(i),   s̄(i) += c̄(i)·f(b)                                 (2̄)
//!   Ī += f̄ ⊗ a + …,   v̄ += …   by the twins of I·a and v ×* I·v,   ā(b) += I·f̄           (1̄)
//!   ṡ̄ += q̇·ā,   q̇̄ += ṡ·ā,   ā(parent) += ā(b),   ḡ −= translation of ā(world)

use std::mem::take;

use super::{Bias, tendon_bias};
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::math::Spatial;
use crate::stages::velocity::{Moving, Velocity};

/// Adds the cotangents of axes, inertias, velocities and gravity; those of the bias are used up.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let mut own = take(&mut bar.data.bias);
    let mut velocity_bar = take(&mut bar.data.velocity);
    tendon_bias::backward(at, &mut own, &mut velocity_bar, bar);
    let found = (Moving::of(at), &at.data.bias);
    newton_euler_backward(found, &mut own, &mut velocity_bar, bar);
    bar.data.bias = own;
    bar.data.velocity = velocity_bar;
}

/// The adjoint of [`recursive_newton_euler`](super::recursive_newton_euler) without accelerations; `own` and
/// `velocity_bar` are the cotangents of its forces and velocities.
pub(crate) fn newton_euler_backward(
    (moving, bias): (Moving<'_>, &Bias),
    own: &mut Bias,
    velocity_bar: &mut Velocity,
    bar: &mut Cotangents,
) {
    let Moving {
        at,
        state,
        velocity,
    } = moving;
    let (model, kinematics) = (at.model, &at.data.kinematics);
    let kinematics_bar = &mut bar.data.kinematics;
    let bodies = &model.structure.bodies;
    for body in 1..model.counts().nbody {
        let mut force_bar = own.body_force[body];
        if bodies.parent[body] > 0 {
            force_bar += own.body_force[bodies.parent[body]];
        }
        for dof in bodies.dofs[body].clone() {
            let along = own.force[dof];
            let axis_bar = &mut kinematics_bar.dof_axis[dof];
            *axis_bar = axis_bar.scale_add(bias.body_force[body], along);
            force_bar = force_bar.scale_add(kinematics.dof_axis[dof], along);
        }
        own.body_force[body] = force_bar;
        if bodies.tree[body].is_none() {
            continue;
        }
        let (inertia, motion) = (&kinematics.body_inertia[body], velocity.body[body]);
        let inertia_bar = &mut kinematics_bar.body_inertia[body];
        let mut momentum_bar = Spatial::ZERO;
        let motion_bar = &mut velocity_bar.body[body];
        let momentum = inertia.mul_motion(motion);
        motion.cross_force_vjp(momentum, force_bar, motion_bar, &mut momentum_bar);
        inertia.mul_motion_vjp(motion, momentum_bar, inertia_bar, motion_bar);
        inertia.mul_motion_vjp(
            bias.body_acceleration[body],
            force_bar,
            inertia_bar,
            &mut own.body_acceleration[body],
        );
    }
    for body in (1..model.counts().nbody).rev() {
        let acceleration_bar = own.body_acceleration[body];
        for dof in bodies.dofs[body].clone() {
            let rate_bar = &mut velocity_bar.dof_axis_dot[dof];
            *rate_bar = rate_bar.scale_add(acceleration_bar, state.qvel[dof]);
            bar.state.qvel[dof] += velocity.dof_axis_dot[dof].dot(acceleration_bar);
        }
        own.body_acceleration[bodies.parent[body]] += acceleration_bar;
    }
    if !model.settings.disable.gravity {
        bar.model.option.gravity[0] -= own.body_acceleration[0].linear();
    }
}
