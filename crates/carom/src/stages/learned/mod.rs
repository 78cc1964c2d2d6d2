//! Forces of learned terms: functions with weights that stand for laws nobody has written down.
//!
//! Reads state, input and everything before the acceleration; writes [`Learned`]. A term acts at one or more places. With x
//! the inputs of a place and w the weights of its term,
//!
//!   y = f(x, w)                                                                            (1)
//!   τ(i) = Σ y   over the outputs that act on dof i                                        (2)
//!
//! Motions of bodies enter, and wrenches on bodies come out, at their centres of mass c, in the axes R of the body or of the
//! world. With V the motion of the body about the centre of mass o of its tree,
//!
//!   m = Rᵀ·(V about c),   F = R·(wrench at c) about o                                      (3)
//!   τ(i) += s(i)·Σ F   over the subtree of dof i                                           (4)
//!
//! Outputs that act on actuators change their forces in the [`actuation`](super::actuation) stage, before limits. So these
//! terms come before that stage ([`forward_actuators`]) and all others after it ([`forward`]): they may read what
//! actuators do. Integrators that are implicit in velocity take terms as they take applied forces: D has no part of theirs.
//!
//! Terms that act on contacts come first of all ([`forward_contacts`]), see `contact.rs`.
//!
//! A term whose weights are untrained gives zero and changes no bit of a motion.

mod backward;
mod contact;
mod forward;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::{backward, backward_actuators, backward_contacts};
pub use forward::{Sources, forward, forward_actuators, forward_contacts};

use crate::arrays::arrays;
use crate::math::Spatial;
use crate::model::{LearnedTerm, Model};
use crate::scalar::Scalar;
use carom_form::Numbers;

arrays! {
    /// Results of the learned terms.
    pub struct Learned {
        /// Inputs of all places.
        input: [T; nlearned_input],
        /// Outputs of all places.
        output: [T; nlearned_output],
        /// Motion of each frame (rotation, translation).
        motion: [Spatial<T>; nlearned_frame],
        /// Wrench on each frame (torque, force).
        wrench: [Spatial<T>; nlearned_frame],
        /// Generalised force of all terms but those that act on actuators.
        force: [T; nlearned_dof],
        /// How far an input of a term on contacts lies outside of its training range, at the worst contact.
        contact_excess: [T; nlearned_contact],
        /// Work area: inputs of a term at a contact, and their cotangents.
        contact_input: [T; nlearned_contact_input],
        /// Work area: outputs of a term at a contact.
        contact_output: [T; nlearned_contact_output],
        /// Work area: forces on the bodies about their tree's centre of mass.
        body_force: [Spatial<T>; nlearned_body],
        /// Work area of the forms.
        room: [T; nlearned_room],
    }
}

/// Whether an input of a term lies outside of the range that it was trained on.
pub(crate) fn extrapolates<T: Scalar>(model: &Model<T>, learned: &Learned<T>) -> bool {
    if model.learned.range.is_empty() {
        return false;
    }
    let structure = &model.structure.learned;
    let is_far = |excess: &T| excess.value() > 0.0;
    if learned.contact_excess.iter().any(is_far) {
        return true;
    }
    structure.places.iter().any(|place| {
        let ranges = &model.learned.range[structure.terms[place.term].ranges.clone()];
        let inputs = &learned.input[place.inputs.clone()];
        let mut each = inputs.iter().zip(ranges);
        each.any(|(x, [low, high])| x.value() < low.value() || x.value() > high.value())
    })
}

/// The numbers of a term.
#[inline]
fn numbers<'a, T: Scalar>(model: &'a Model<T>, term: &LearnedTerm) -> Numbers<'a, T> {
    Numbers {
        weights: &model.learned.weight[term.weights.clone()],
        constants: &model.learned.constant[term.constants.clone()],
    }
}
