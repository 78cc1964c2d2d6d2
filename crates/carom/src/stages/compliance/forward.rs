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
    if !model.structure.laws.has_hunt_crossley {
        return;
    }
    out.force.clear();
    out.force.resize(model.counts().nv, T::ZERO);
    out.contact_force.clear();
    for contact in &collision.contacts {
        let force = compliant_law(model, contact).map_or(Vec3::ZERO, |law| {
            let velocity = relative_velocity(model, kinematics, velocity, contact);
            ContactNumbers::new(contact, velocity).force(law_numbers(model, law), contact.dimension)
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
        .filter(|&law| kinds[law] == LawKind::HuntCrossley && !contact.excluded)
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

/// How many numbers a law has.
pub(super) const LAW_NUMBERS: usize = 7;

/// The numbers of a law.
pub(super) fn law_numbers<T: Scalar>(model: &Model<T>, law: usize) -> [T; LAW_NUMBERS] {
    let laws = &model.laws;
    [
        laws.stiffness[law],
        laws.exponent[law],
        laws.dissipation[law],
        laws.transition_speed[law],
        laws.static_ratio[law],
        laws.viscous[law],
        laws.viscous_force[law],
    ]
}

/// What the force of a contact depends on, besides its law.
pub(super) struct ContactNumbers<T: Scalar> {
    pub(super) distance: T,
    pub(super) friction: [T; 2],
    pub(super) velocity: Vec3<T>,
}

impl<T: Scalar> ContactNumbers<T> {
    pub(super) fn new(contact: &Contact<T>, velocity: Vec3<T>) -> Self {
        Self {
            distance: contact.distance,
            friction: [contact.friction[0], contact.friction[1]],
            velocity,
        }
    }

    /// Normal force and friction. (1)
    pub(super) fn force(&self, numbers: [T; LAW_NUMBERS], dimension: u8) -> Vec3<T> {
        let [stiffness, exponent, dissipation, ..] = numbers;
        let [.., transition_speed, static_ratio, viscous, viscous_force] = numbers;
        let spring = HuntCrossley {
            stiffness,
            exponent,
            dissipation,
        };
        let velocity = self.velocity;
        let normal = spring.force(-self.distance, -velocity[0]);
        if normal <= T::ZERO || dimension == 1 {
            return Vec3([normal, T::ZERO, T::ZERO]);
        }
        let friction = BrownMcPhee {
            transition_speed,
            static_ratio,
            viscous,
            viscous_force,
        };
        let speed_squared = velocity[1] * velocity[1] + velocity[2] * velocity[2];
        let dry = normal * friction.per_speed(speed_squared);
        let viscous = friction.viscous_per_speed(normal);
        let tangent = |j: usize| -(dry * self.friction[j - 1] + viscous) * velocity[j];
        Vec3([normal, tangent(1), tangent(2)])
    }
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
