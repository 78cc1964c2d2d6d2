//! The adjoint of compliant contacts.
//!
//! The motion that τ̄ gives the dofs moves the second body's point relative to the first one's by ũ. With the frame C
//! of the contact, its force f and its relative velocity u = C·Δ,
//!
//!   f̄ = C·ũ,   (δ̄, μ̄, ū, p̄) = (∂f/∂(δ, μ, u, p))ᵀ·f̄,   Δ̄ = Cᵀ·ū,   C̄ += f·ũᵀ + ū·Δᵀ
//!
//! for the numbers p of the law; the derivatives of f come from dual numbers. Positions, motion axes and velocities of
//! the bodies receive what [`apply_force_vjp`](jacobian::apply_force_vjp) and the velocity of a point leave them.

use super::forward::{self, ContactNumbers, LAW_NUMBERS};
use crate::dual::Dual;
use crate::jacobian;
use crate::math::{Spatial, Vec3};
use crate::model::Model;
use crate::stages::collision::{Collision, Contact};
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Cotangents that compliant contacts pass on.
#[derive(Debug)]
#[allow(missing_docs, reason = "each field is the cotangent of what it names")]
pub struct Targets<'a> {
    pub kinematics: &'a mut Kinematics,
    pub velocity: &'a mut Velocity,
    pub contacts: &'a mut [Contact],
    pub model: &'a mut Model,
}

/// Adds the cotangents of everything that the forces depend on, given that of their generalised force, nv.
pub fn backward(
    model: &Model,
    (kinematics, collision, velocity): (&Kinematics, &Collision, &Velocity),
    force_bar: &[f64],
    mut targets: Targets<'_>,
) {
    if !model.structure.laws.has_hunt_crossley {
        return;
    }
    for (index, contact) in collision.contacts.iter().enumerate() {
        if let Some(law) = forward::compliant_law(model, contact) {
            let sources = (kinematics, velocity);
            one_contact(
                model,
                sources,
                (index, contact, law),
                force_bar,
                &mut targets,
            );
        }
    }
}

fn one_contact(
    model: &Model,
    (kinematics, velocity): (&Kinematics, &Velocity),
    (index, contact, law): (usize, &Contact, usize),
    force_bar: &[f64],
    targets: &mut Targets<'_>,
) {
    let speed = forward::relative_velocity(model, kinematics, velocity, contact);
    let numbers = forward::law_numbers(model, law);
    let force = ContactNumbers::new(contact, speed).force(numbers, contact.dimension);
    let contact_bar = &mut targets.contacts[index];

    // f̄ from the points that the force acts at.
    let world = contact.frame.transpose_mul_vec(force);
    let bodies = contact.geoms.map(|geom| model.structure.geoms.body[geom]);
    let mut world_bar = Vec3::ZERO;
    for (body, sign) in bodies.into_iter().zip([-1.0, 1.0]) {
        let dofs = jacobian::moving_dofs(model, body).iter();
        let bar = jacobian::apply_force_vjp(
            model,
            kinematics,
            (body, contact.position),
            (Vec3::ZERO, world * sign),
            dofs.map(|&dof| (dof, force_bar[dof])),
            targets.kinematics,
        );
        world_bar = world_bar.scale_add(bar.force, sign);
        contact_bar.position += bar.point;
    }
    let slopes = Slopes::new(contact, speed, numbers, contact.frame.mul_vec(world_bar));
    contact_bar.distance += slopes.distance;
    for j in 0..2 {
        contact_bar.friction[j] += slopes.friction[j];
        contact_bar.surface_velocity[j] += slopes.velocity[j + 1];
    }
    slopes.add_to_law(law, targets.model);

    // u from the velocities of both bodies.
    let surface = contact.surface_velocity;
    let moving = speed - Vec3([0.0, surface[0], surface[1]]);
    let difference = contact.frame.transpose_mul_vec(moving);
    let difference_bar = contact.frame.transpose_mul_vec(slopes.velocity);
    for i in 0..3 {
        for j in 0..3 {
            contact_bar.frame[3 * i + j] +=
                force[i] * world_bar[j] + slopes.velocity[i] * difference[j];
        }
    }
    for (body, sign) in bodies.into_iter().zip([-1.0, 1.0]) {
        let (bar, motion) = (difference_bar * sign, velocity.body[body]);
        let offset = jacobian::offset(model, kinematics, body, contact.position);
        // v + ω × r
        targets.velocity.body[body] += Spatial::new(offset.cross(bar), bar);
        let offset_bar = bar.cross(motion.angular());
        contact_bar.position += offset_bar;
        targets.kinematics.subtree_com[model.structure.bodies.root[body]] -= offset_bar;
    }
}

/// Cotangents of what the force of a contact depends on.
struct Slopes {
    distance: f64,
    friction: [f64; 2],
    velocity: Vec3,
    law: [f64; LAW_NUMBERS],
}

impl Slopes {
    fn new(contact: &Contact, speed: Vec3, numbers: [f64; LAW_NUMBERS], force_bar: Vec3) -> Self {
        type Number = Dual<{ 6 + LAW_NUMBERS }>;
        let [first, second] = [0, 1].map(|j| Number::variable(contact.friction[j], 1 + j));
        let at = ContactNumbers {
            distance: Number::variable(contact.distance, 0),
            friction: [first, second],
            velocity: Vec3(std::array::from_fn(|i| Number::variable(speed[i], 3 + i))),
        };
        let law = std::array::from_fn(|i| Number::variable(numbers[i], 6 + i));
        let force = at.force(law, contact.dimension);
        let slope =
            |place: usize| (0..3).fold(0.0, |sum, i| sum + force[i].tangent[place] * force_bar[i]);
        Self {
            distance: slope(0),
            friction: [slope(1), slope(2)],
            velocity: Vec3(std::array::from_fn(|i| slope(3 + i))),
            law: std::array::from_fn(|i| slope(6 + i)),
        }
    }

    fn add_to_law(&self, law: usize, model_bar: &mut Model) {
        let numbers = &mut model_bar.laws;
        let lists = [
            &mut numbers.stiffness,
            &mut numbers.exponent,
            &mut numbers.dissipation,
            &mut numbers.transition_speed,
            &mut numbers.static_ratio,
            &mut numbers.viscous,
            &mut numbers.viscous_force,
        ];
        for (list, slope) in lists.into_iter().zip(self.law) {
            list[law] += slope;
        }
    }
}
