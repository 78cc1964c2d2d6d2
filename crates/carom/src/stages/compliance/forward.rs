use super::Compliance;
use crate::jacobian::{self, Wrench};
use crate::laws::{self, force::Touch};
use crate::math::Vec3;
use crate::model::{LawLevel, Model};
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
    if !model.structure.laws.acts_on(LawLevel::Force) {
        return;
    }
    out.force.clear();
    out.force.resize(model.counts().nv, T::ZERO);
    out.contact_force.clear();
    for contact in &collision.contacts {
        let force = compliant_law(model, contact).map_or(Vec3::ZERO, |law| {
            let velocity = relative_velocity(model, kinematics, velocity, contact);
            let kind = model.structure.laws.kind[law];
            laws::contact_force(kind, (&model.laws, law), &touch(contact, velocity)) // (1)
        });
        out.contact_force.push(force);
        if T::HAS_DERIVATIVES || force != Vec3::ZERO {
            apply(model, kinematics, contact, force, &mut out.force); // (2)
        }
    }
}

/// The law of a contact that gives way.
pub(super) fn compliant_law<T: Scalar>(model: &Model<T>, contact: &Contact<T>) -> Option<usize> {
    let kinds = &model.structure.laws.kind;
    contact
        .law
        .filter(|&law| kinds[law].level() == LawLevel::Force && !contact.excluded)
}

/// Velocity of the second body's surface relative to the first one's, in the contact frame.
pub(crate) fn relative_velocity<T: Scalar>(
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

/// What the force of a contact depends on, besides its law.
pub(super) fn touch<T: Scalar>(contact: &Contact<T>, velocity: Vec3<T>) -> Touch<T> {
    Touch {
        distance: contact.distance,
        friction: [contact.friction[0], contact.friction[1]],
        velocity,
        has_friction: contact.dimension > 1,
    }
}

/// Adds the generalised force of a contact on both bodies.
fn apply<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    contact: &Contact<T>,
    force: Vec3<T>,
    generalized: &mut [T],
) {
    let force = contact.frame.transpose_mul_vec(force);
    let bodies = contact.geoms.map(|geom| model.structure.geoms.body[geom]);
    for (body, force) in bodies.into_iter().zip([-force, force]) {
        let wrench = Wrench::force(body, contact.position, force);
        jacobian::apply_force(model, kinematics, wrench, generalized);
    }
}
