//! Forces of the surrounding medium on all bodies, by [`terms::body`](crate::terms::body).

use super::Passive;
use crate::cotangent::Cotangents;
use crate::dynamics::At;
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
pub(super) fn backward(at: At<'_>, own: &mut Passive, bars: &mut Cotangents) {
    let (model, kinematics) = (at.model, &at.data.kinematics);
    let structure = &model.structure;
    body::motions(structure, kinematics, &own.fluid, &mut own.body_force);
    let mut immersed = Immersed::new(at, &mut bars.data, &mut bars.model);
    if body::is_absent(model) {
        for (body, &motion) in own.body_force.iter().enumerate().skip(1) {
            immersed.absent_vjp(body, [motion], 1.0, false);
        }
        return;
    }
    for body in 1..structure.counts.nbody {
        let (_, [force]) = immersed.contract_vjp(body, [own.body_force[body]], 1.0);
        own.body_force[body] = force;
    }
    own.body_force[0] = Spatial::ZERO;
    let axes_bar = &mut bars.data.kinematics.dof_axis;
    body::axes_vjp(structure, &own.fluid, &mut own.body_force, axes_bar);
}
