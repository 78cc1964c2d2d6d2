use super::Compliance;
use crate::jacobian;
use crate::laws::brown_mcphee::BrownMcPhee;
use crate::laws::hunt_crossley::HuntCrossley;
use crate::math::Vec3;
use crate::model::{LawKind, Model};
use crate::scalar::Scalar;
use crate::stages::collision::{Collision, Contact};
use crate::stages::kinematics::Kinematics;
use crate::stages::velocity::Velocity;

/// Sums the forces of all compliant contacts.
pub fn forward<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    collision: &Collision<T>,
    velocity: &Velocity<T>,
    out: &mut Compliance<T>,
) {
    let laws = &model.structure.laws;
    if !laws.has_hunt_crossley {
        return;
    }
    out.force.clear();
    out.force.resize(model.counts().nv, T::ZERO);
    out.contact_force.clear();
    for contact in &collision.contacts {
        let law = contact
            .law
            .filter(|&law| laws.kind[law] == LawKind::HuntCrossley && !contact.excluded);
        let force = law.map_or(Vec3::ZERO, |law| {
            let velocity = relative_velocity(model, kinematics, velocity, contact);
            contact_force(model, law, contact, velocity)
        });
        out.contact_force.push(force);
        if T::HAS_DERIVATIVES || force != Vec3::ZERO {
            apply(model, kinematics, contact, force, &mut out.force); // (2)
        }
    }
}

/// Velocity of the second body's surface relative to the first one's, in the contact frame.
fn relative_velocity<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    velocity: &Velocity<T>,
    contact: &Contact<T>,
) -> Vec3<T> {
    let [first, second] = contact.geoms.map(|geom| {
        let body = model.structure.geoms.body[geom];
        let offset = jacobian::offset(model, kinematics, body, contact.position);
        jacobian::point_velocity(velocity.body[body], offset)
    });
    let [surface1, surface2, _] = contact.surface_velocity;
    contact.frame.mul_vec(second - first) + Vec3([T::ZERO, surface1, surface2])
}

/// Normal force and friction of one contact. (1)
fn contact_force<T: Scalar>(
    model: &Model<T>,
    law: usize,
    contact: &Contact<T>,
    velocity: Vec3<T>,
) -> Vec3<T> {
    let numbers = &model.laws;
    let spring = HuntCrossley {
        stiffness: numbers.stiffness[law],
        exponent: numbers.exponent[law],
        dissipation: numbers.dissipation[law],
    };
    let normal = spring.force(-contact.distance, -velocity[0]);
    if normal <= T::ZERO || contact.dimension == 1 {
        return Vec3([normal, T::ZERO, T::ZERO]);
    }
    let friction = BrownMcPhee {
        transition_speed: numbers.transition_speed[law],
        static_ratio: numbers.static_ratio[law],
        viscous: numbers.viscous[law],
        viscous_force: numbers.viscous_force[law],
    };
    let speed_squared = velocity[1] * velocity[1] + velocity[2] * velocity[2];
    let dry = normal * friction.per_speed(speed_squared);
    let viscous = friction.viscous_per_speed(normal);
    let tangent = |j: usize| -(dry * contact.friction[j - 1] + viscous) * velocity[j];
    Vec3([normal, tangent(1), tangent(2)])
}

/// Adds the generalised force of a contact on both bodies.
fn apply<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    contact: &Contact<T>,
    force: Vec3<T>,
    generalised: &mut [T],
) {
    let force = contact.frame.transpose_mul_vec(force);
    let bodies = contact.geoms.map(|geom| model.structure.geoms.body[geom]);
    for (body, force) in bodies.into_iter().zip([-force, force]) {
        let wrench = (Vec3::ZERO, force);
        let point = contact.position;
        jacobian::apply_force(model, kinematics, body, point, wrench, generalised);
    }
}
