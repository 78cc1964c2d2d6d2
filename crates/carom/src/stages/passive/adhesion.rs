//! The pull of adhesive contacts.
//!
//! A contact that may pull with up to δ has its friction cone moved down the normal by δ. Split exactly into a constant
//! attraction δ along the normal, which is passive, and a contact that only pushes but whose reference acceleration
//! rises by R·δ: what it pushes less δ is the force between the geoms.

use super::Passive;
use crate::cotangent::Cotangents;
use crate::dynamics::At;
use crate::jacobian::{self, Wrench};
use crate::math::Vec3;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::Collision;
use crate::stages::kinematics::Kinematics;

/// Sums the attraction of all contacts; false when there can be none.
pub(super) fn forward<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    collision: &Collision<T>,
    out: &mut Passive<T>,
) -> bool {
    out.adhesion.fill(T::ZERO);
    if !model.structure.has_adhesion {
        return false;
    }
    let bodies = &model.structure.geoms.body;
    for contact in &collision.contacts {
        if !T::HAS_DERIVATIVES && contact.adhesion == T::ZERO {
            continue;
        }
        let pull = contact.frame.row(0) * contact.adhesion;
        let [first, second] = contact.geoms.map(|geom| bodies[geom]);
        for (body, force) in [(first, pull), (second, -pull)] {
            let wrench = Wrench::force(body, contact.position, force);
            jacobian::apply_force(model, kinematics, wrench, &mut out.adhesion);
        }
    }
    true
}

/// The adjoint of [`forward`].
pub(super) fn backward(at: At<'_>, adhesion_bar: &[f64], bars: &mut Cotangents) {
    let (model, kinematics) = (at.model, &at.data.kinematics);
    if !model.structure.has_adhesion {
        return;
    }
    let bodies = &model.structure.geoms.body;
    let contacts = at.data.collision.contacts.iter();
    for (contact, contact_bar) in contacts.zip(&mut bars.data.contacts) {
        let normal = contact.frame.row(0);
        let mut pull_bar = Vec3::ZERO;
        for (geom, sign) in contact.geoms.into_iter().zip([1.0, -1.0]) {
            let body = bodies[geom];
            let dofs = jacobian::moving_dofs(model, body).iter();
            let bar = jacobian::apply_force_vjp(
                model,
                kinematics,
                Wrench::force(body, contact.position, normal * (contact.adhesion * sign)),
                dofs.map(|&dof| (dof, adhesion_bar[dof])),
                &mut bars.data.kinematics,
            );
            pull_bar = pull_bar.scale_add(bar.force, sign);
            contact_bar.position += bar.point;
        }
        contact_bar.adhesion += normal.dot(pull_bar);
        for k in 0..3 {
            contact_bar.frame[k] += pull_bar[k] * contact.adhesion;
        }
    }
}
