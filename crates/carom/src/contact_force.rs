//! Forces of contacts, one at a time: in the axes of the contact or of the world.

use crate::data::Data;
use crate::math::{Mat3, Vec3};
use crate::scalar::Scalar;
use crate::stages::collision::Collision;
use crate::stages::constraint::{Block, Constraint};
use crate::stages::solve::Solve;

/// Force and torque that the first geom of a contact exerts on the second, at the contact point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactForce<T: Scalar = f64> {
    /// Force (N). In the contact's frame: along the normal and the two tangents.
    pub force: Vec3<T>,
    /// Torque (N·m). In the contact's frame: spin about the normal, then the two rolls.
    pub torque: Vec3<T>,
}

impl<T: Scalar> ContactForce<T> {
    /// No force, as of contacts that are not part of the constraints.
    pub const ZERO: Self = Self {
        force: Vec3::ZERO,
        torque: Vec3::ZERO,
    };

    /// The same in world axes, given the contact's frame (rows: normal, two tangents).
    #[must_use]
    pub fn to_world(&self, frame: &Mat3<T>) -> Self {
        Self {
            force: frame.transpose_mul_vec(self.force),
            torque: frame.transpose_mul_vec(self.torque),
        }
    }
}

impl<T: Scalar> Data<T> {
    /// Force and torque of a contact in the contact's frame; zero for a contact that is not part of the constraints.
    pub fn contact_force(&self, contact: usize) -> ContactForce<T> {
        contact_force(&self.collision, &self.constraint, &self.solve, contact)
    }

    /// Force and torque of a contact in world axes, on the body of its second geom; the first feels the opposite.
    pub fn contact_force_world(&self, contact: usize) -> ContactForce<T> {
        match self.collision.contacts.get(contact) {
            Some(place) => self.contact_force(contact).to_world(&place.frame),
            None => ContactForce::ZERO,
        }
    }
}

/// Force and torque of a contact in its frame, from the rows of its block.
pub(crate) fn contact_force<T: Scalar>(
    collision: &Collision<T>,
    constraint: &Constraint<T>,
    solve: &Solve<T>,
    contact: usize,
) -> ContactForce<T> {
    // Blocks come in the order of the contacts.
    let blocks = constraint.contact_blocks();
    match blocks.binary_search_by_key(&contact, |block| block.object) {
        Ok(found) => block_force(collision, solve, &blocks[found]),
        Err(_) => ContactForce::ZERO,
    }
}

/// Force and torque of the contact of a block: what its rows push, less what adhesion pulls.
pub(crate) fn block_force<T: Scalar>(
    collision: &Collision<T>,
    solve: &Solve<T>,
    block: &Block,
) -> ContactForce<T> {
    let rows = &solve.force[block.rows()];
    let row = |index: usize| rows.get(index).copied().unwrap_or_default();
    let adhesion = collision.contacts[block.object].adhesion;
    ContactForce {
        force: Vec3([row(0) - adhesion, row(1), row(2)]),
        torque: Vec3([row(3), row(4), row(5)]),
    }
}
