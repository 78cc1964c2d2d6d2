//! The adjoint of compliant contacts.
//!
//! The motion that τ̄ gives the dofs moves the second body's point relative to the first one's by ũ. With the frame C
//! of the contact, its force f and its relative velocity u = C·Δ,
//!
//!   f̄ = C·ũ,   (δ̄, μ̄, ū, p̄) = (∂f/∂(δ, μ, u, p))ᵀ·f̄,   Δ̄ = Cᵀ·ū,   C̄ += f·ũᵀ + ū·Δᵀ
//!
//! for the numbers p of the law; the derivatives of f come from dual numbers. Positions, motion axes and velocities of
//! the bodies receive what [`apply_force_vjp`](jacobian::apply_force_vjp) and the velocity of a point leave them.

use super::forward;
use crate::cotangent::{Cotangents, DataBar};
use crate::dynamics::At;
use crate::jacobian;
use crate::laws;
use crate::math::{Spatial, Vec3};
use crate::model::LawLevel;

/// Adds the cotangents of everything that the forces depend on. After the adjoint of the acceleration, the cotangent of
/// the smooth force is that of each of its terms.
pub fn backward(at: At<'_>, bars: &mut Cotangents) {
    if !at.model.structure.laws.acts_on(LawLevel::Force) {
        return;
    }
    for (index, contact) in at.data.collision.contacts.iter().enumerate() {
        if let Some(law) = forward::compliant_law(at.model, contact) {
            one_contact(at, index, law, bars);
        }
    }
}

fn one_contact(at: At<'_>, index: usize, law: usize, bars: &mut Cotangents) {
    let (model, contact) = (at.model, &at.data.collision.contacts[index]);
    let (kinematics, velocity) = (&at.data.kinematics, &at.data.velocity);
    let (data_bar, model_bar) = (&mut bars.data, &mut bars.model);
    let speed = forward::relative_velocity(model, kinematics, velocity, contact);
    let (kind, numbers) = (model.structure.laws.kind[law], (&model.laws, law));
    let touch = forward::touch(contact, speed);
    let force = laws::contact_force(kind, numbers, &touch);
    let contact_bar = &mut data_bar.contacts[index];

    // f̄ from the points that the force acts at.
    let world = contact.frame.transpose_mul_vec(force);
    let bodies = contact.geoms.map(|geom| model.structure.geoms.body[geom]);
    let mut world_bar = Vec3::ZERO;
    for (body, sign) in bodies.into_iter().zip([-1.0, 1.0]) {
        let dofs = jacobian::moving_dofs(model, body).iter();
        let bar = jacobian::apply_force_vjp(
            model,
            kinematics,
            jacobian::Wrench::force(body, contact.position, world * sign),
            dofs.map(|&dof| (dof, data_bar.acceleration.force_smooth[dof])),
            &mut data_bar.kinematics,
        );
        world_bar = world_bar.scale_add(bar.force, sign);
        contact_bar.position += bar.point;
    }
    let local_bar = contact.frame.mul_vec(world_bar);
    let slopes = laws::contact_force_vjp(kind, numbers, &touch, local_bar, &mut model_bar.laws);
    contact_bar.distance += slopes.distance;
    for j in 0..2 {
        contact_bar.friction[j] += slopes.friction[j];
    }
    for i in 0..3 {
        for j in 0..3 {
            contact_bar.frame[3 * i + j] += force[i] * world_bar[j];
        }
    }
    relative_velocity_vjp(at, index, (speed, slopes.velocity), data_bar);
}

/// The adjoint of [`relative_velocity`](forward::relative_velocity) for a contact, whose velocity u and its cotangent are given.
pub(crate) fn relative_velocity_vjp(
    at: At<'_>,
    index: usize,
    (speed, speed_bar): (Vec3, Vec3),
    data_bar: &mut DataBar,
) {
    let (model, contact) = (at.model, &at.data.collision.contacts[index]);
    let (kinematics, velocity) = (&at.data.kinematics, &at.data.velocity);
    let contact_bar = &mut data_bar.contacts[index];
    let surface = contact.surface_velocity;
    let moving = speed - Vec3([0.0, surface[0], surface[1]]);
    let difference = contact.frame.transpose_mul_vec(moving);
    let difference_bar = contact.frame.transpose_mul_vec(speed_bar);
    for j in 0..2 {
        contact_bar.surface_velocity[j] += speed_bar[j + 1];
    }
    for i in 0..3 {
        for j in 0..3 {
            contact_bar.frame[3 * i + j] += speed_bar[i] * difference[j];
        }
    }
    let bodies = contact.geoms.map(|geom| model.structure.geoms.body[geom]);
    for (body, sign) in bodies.into_iter().zip([-1.0, 1.0]) {
        let (bar, motion) = (difference_bar * sign, velocity.body[body]);
        let offset = jacobian::offset(model, kinematics, body, contact.position);
        // v + ω × r
        data_bar.velocity.body[body] += Spatial::new(offset.cross(bar), bar);
        let offset_bar = bar.cross(motion.angular());
        contact_bar.position += offset_bar;
        data_bar.kinematics.subtree_com[model.structure.bodies.root[body]] -= offset_bar;
    }
}
