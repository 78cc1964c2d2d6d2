//! The adjoint of recursive Newton–Euler: forces from the root to the leaves, then accelerations back.
//!
//!   f̄(b) = f̄(parent) + Σ c̄(i)·s(i),   s̄(i) += c̄(i)·f(b)                                 (2̄)
//!   Ī += f̄ ⊗ a + …,   v̄ += …   by the twins of I·a and v ×* I·v,   ā(b) += I·f̄           (1̄)
//!   ṡ̄ += q̇·ā,   q̇̄ += ṡ·ā,   ā(parent) += ā(b),   ḡ −= translation of ā(world)

use super::{Bias, tendon_bias};
use crate::cotangent::StateBar;
use crate::math::Spatial;
use crate::model::Model;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::velocity::Velocity;
use crate::state::State;

/// Cotangents that the bias passes on.
#[derive(Debug)]
pub struct Targets<'a> {
    /// Of the kinematics.
    pub kinematics: &'a mut Kinematics,
    /// Of the tendons.
    pub tendon: &'a mut Tendon,
    /// Of the velocities.
    pub velocity: &'a mut Velocity,
    /// Of the model.
    pub model: &'a mut Model,
    /// Of the state.
    pub state: &'a mut StateBar,
}

/// Adds the cotangents of axes, inertias, velocities and gravity; `bar` is used up.
pub fn backward(
    model: &Model,
    state: &State,
    (kinematics, tendon, velocity): (&Kinematics, &Tendon, &Velocity),
    bias: &Bias,
    bar: &mut Bias,
    mut targets: Targets<'_>,
) {
    let sources = (kinematics, tendon, velocity);
    tendon_bias::backward(model, sources, bias, bar, &mut targets);
    newton_euler_backward(
        model,
        state,
        (kinematics, velocity),
        bias,
        bar,
        &mut targets,
    );
}

/// The adjoint of [`recursive_newton_euler`](super::recursive_newton_euler) without accelerations.
pub(crate) fn newton_euler_backward(
    model: &Model,
    state: &State,
    (kinematics, velocity): (&Kinematics, &Velocity),
    bias: &Bias,
    bar: &mut Bias,
    targets: &mut Targets<'_>,
) {
    let bodies = &model.structure.bodies;
    for body in 1..model.counts().nbody {
        let mut force_bar = bar.body_force[body];
        if bodies.parent[body] > 0 {
            force_bar += bar.body_force[bodies.parent[body]];
        }
        for dof in bodies.dofs[body].clone() {
            let along = bar.force[dof];
            let axis_bar = &mut targets.kinematics.dof_axis[dof];
            *axis_bar = axis_bar.scale_add(bias.body_force[body], along);
            force_bar = force_bar.scale_add(kinematics.dof_axis[dof], along);
        }
        bar.body_force[body] = force_bar;
        if bodies.tree[body].is_none() {
            continue;
        }
        let (inertia, motion) = (&kinematics.body_inertia[body], velocity.body[body]);
        let inertia_bar = &mut targets.kinematics.body_inertia[body];
        let mut momentum_bar = Spatial::ZERO;
        let motion_bar = &mut targets.velocity.body[body];
        let momentum = inertia.mul_motion(motion);
        motion.cross_force_vjp(momentum, force_bar, motion_bar, &mut momentum_bar);
        inertia.mul_motion_vjp(motion, momentum_bar, inertia_bar, motion_bar);
        inertia.mul_motion_vjp(
            bias.body_acceleration[body],
            force_bar,
            inertia_bar,
            &mut bar.body_acceleration[body],
        );
    }
    for body in (1..model.counts().nbody).rev() {
        let acceleration_bar = bar.body_acceleration[body];
        for dof in bodies.dofs[body].clone() {
            let rate_bar = &mut targets.velocity.dof_axis_dot[dof];
            *rate_bar = rate_bar.scale_add(acceleration_bar, state.qvel[dof]);
            targets.state.qvel[dof] += velocity.dof_axis_dot[dof].dot(acceleration_bar);
        }
        bar.body_acceleration[bodies.parent[body]] += acceleration_bar;
    }
    if !model.settings.disable.gravity {
        targets.model.option.gravity[0] -= bar.body_acceleration[0].linear();
    }
}
