//! The adjoint of the velocities.
//!
//! From the leaves to the root, dofs of a body from the last to the first, with v the motion before the joint:
//!
//!   q̇̄ += s·v̄,   s̄ += q̇·v̄,   v̄ += s ×* ṡ̄,   s̄ −= v ×* ṡ̄                              (1̄)
//!   J̄ += ȳ·q̇ᵀ,   q̇̄ += Jᵀ·ȳ   for tendons and actuators                              (2̄)

use std::mem::take;

use super::Velocity;
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::math::Spatial;
use crate::model::{JointKind, SparsePattern};
use crate::state::State;

/// A motion with the configuration of a state, and perhaps another velocity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving<'a> {
    pub(crate) at: At<'a>,
    pub(crate) state: &'a State,
    pub(crate) velocity: &'a Velocity,
}

impl<'a> Moving<'a> {
    /// That of the state itself.
    pub(crate) fn of(at: At<'a>) -> Self {
        Self {
            at,
            state: at.state,
            velocity: &at.data.velocity,
        }
    }
}

/// Adds the cotangents of velocities, axes, tendon Jacobians and moments; those of the velocities are used up.
pub fn backward(at: At<'_>, bar: &mut Cotangents) {
    let mut own = take(&mut bar.data.velocity);
    backward_of(Moving::of(at), &mut own, bar);
    bar.data.velocity = own;
}

/// [`backward`] for any motion, whose velocities have the cotangents `own`.
pub(crate) fn backward_of(moving: Moving<'_>, own: &mut Velocity, bar: &mut Cotangents) {
    let Moving {
        at,
        state,
        velocity,
    } = moving;
    let (model, tendon, transmission) = (at.model, &at.data.tendon, &at.data.transmission);
    let (data_bar, state_bar) = (&mut bar.data, &mut bar.state);
    let structure = &*model.structure;
    sparse_product(
        (&structure.tendons.jacobian, &tendon.jacobian),
        &state.qvel,
        &own.tendon,
        (&mut data_bar.tendon.jacobian, &mut state_bar.qvel),
    );
    if !model.settings.disable.actuation {
        sparse_product(
            (&structure.actuators.moment, &transmission.moment),
            &state.qvel,
            &own.actuator,
            (&mut data_bar.transmission.moment, &mut state_bar.qvel),
        );
    }
    let (bodies, joints) = (&structure.bodies, &structure.joints);
    for body in (1..structure.counts.nbody).rev() {
        let mut walk = Walk {
            qvel: &state.qvel,
            axes: &at.data.kinematics.dof_axis,
            motion: velocity.body[body],
            motion_bar: own.body[body],
        };
        for joint in bodies.joints[body].clone().rev() {
            let dof = joints.dof[joint];
            let outputs = (
                &mut data_bar.kinematics.dof_axis[..],
                &mut state_bar.qvel[..],
            );
            match joints.kind[joint] {
                JointKind::Hinge | JointKind::Slide => {
                    walk.axes::<1>(dof, &own.dof_axis_dot, outputs);
                }
                JointKind::Ball => walk.axes::<3>(dof, &own.dof_axis_dot, outputs),
                JointKind::Free => {
                    walk.axes::<3>(dof + 3, &own.dof_axis_dot, outputs);
                    for k in 0..3 {
                        state_bar.qvel[dof + k] += walk.motion_bar.0[3 + k];
                        walk.motion.0[3 + k] -= state.qvel[dof + k];
                    }
                }
            }
        }
        own.body[bodies.parent[body]] += walk.motion_bar;
    }
}

/// The way back over the joints of a body: the motion reached so far and its cotangent.
struct Walk<'a> {
    qvel: &'a [f64],
    axes: &'a [Spatial],
    motion: Spatial,
    motion_bar: Spatial,
}

impl Walk<'_> {
    /// Steps back over the N axes of one joint. (1̄)
    #[inline]
    fn axes<const N: usize>(
        &mut self,
        dof: usize,
        rate_bar: &[Spatial],
        (axis_bar, qvel_bar): (&mut [Spatial], &mut [f64]),
    ) {
        let after_bar = self.motion_bar;
        for dof in dof..dof + N {
            self.motion = self.motion.scale_add(self.axes[dof], -self.qvel[dof]);
            qvel_bar[dof] += self.axes[dof].dot(after_bar);
        }
        for dof in dof..dof + N {
            let rate_bar = rate_bar[dof];
            let axis = self.axes[dof];
            self.motion_bar += axis.cross_force(rate_bar);
            axis_bar[dof] += after_bar * self.qvel[dof] - self.motion.cross_force(rate_bar);
        }
    }
}

/// (2̄)
fn sparse_product(
    (pattern, values): (&SparsePattern, &[f64]),
    x: &[f64],
    product_bar: &[f64],
    (values_bar, x_bar): (&mut [f64], &mut [f64]),
) {
    for (row, &bar) in product_bar.iter().enumerate() {
        if bar == 0.0 {
            continue;
        }
        for index in pattern.row(row) {
            let column = pattern.columns[index];
            values_bar[index] += bar * x[column];
            x_bar[column] += bar * values[index];
        }
    }
}
