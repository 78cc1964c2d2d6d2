//! Forces of the surrounding medium on all bodies, by [`terms::body`](crate::terms::body).

use super::Passive;
use super::backward::Targets;
use crate::math::Spatial;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;
use crate::terms::body::{self, Immersed};

/// Computes the forces of the medium; returns whether there are any.
pub(super) fn forward<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    out: &mut Passive<T>,
) -> bool {
    out.fluid.fill(T::ZERO);
    let medium = body::medium(model);
    if medium.density.vanishes() && medium.viscosity.vanishes() {
        return false;
    }
    for (index, force) in out.body_force.iter_mut().enumerate() {
        *force = body::force(model, kinematics, velocity, index);
    }
    let structure = &model.structure;
    body::project(structure, kinematics, &mut out.body_force, &mut out.fluid);
    true
}

/// Adds the cotangents of frames, velocities, masses, geoms and the medium.
pub(super) fn backward(
    model: &Model,
    kinematics: &Kinematics,
    velocity: &Velocity,
    bar: &mut Passive,
    targets: &mut Targets<'_>,
) {
    let structure = &model.structure;
    body::motions(structure, kinematics, &bar.fluid, &mut bar.body_force);
    let mut immersed = Immersed {
        model,
        kinematics,
        velocity,
        kinematics_bar: targets.kinematics,
        velocity_bar: targets.velocity,
        model_bar: targets.model,
    };
    targets.body_work.fill(Spatial::ZERO);
    for body in 1..structure.counts.nbody {
        let (_, [force]) = immersed.contract_vjp(body, [bar.body_force[body]], 1.0);
        targets.body_work[body] = force;
    }
    if !body::is_absent(model) {
        let axes_bar = &mut targets.kinematics.dof_axis;
        body::axes_vjp(structure, &bar.fluid, targets.body_work, axes_bar);
    }
}
