//! Rows on a given piece of the curve of their impedance.
//!
//! An impedance goes from one power function to another at its midpoint and its width, and what is smooth to follow is one of
//! them. With d and d′ the impedances where the distance puts the row and on the given piece, (1) and (2) of the module give
//!
//!   R′ = R·(1 − d′)/d′·d/(1 − d),   â′ = â − k·(d′ − d)·(r − m)                            (1)

use super::single::spring_of;
use super::{Block, BlockKind, Constraint, Piece, Reference};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::Contact;

/// The spring-damper of a block whose impedance has pieces; none for other kinds.
pub(crate) fn reference_of<T: Scalar>(
    model: &Model<T>,
    contacts: &[Contact<T>],
    block: &Block,
) -> Option<Reference<T>> {
    let (solref, solimp) = match block.kind {
        BlockKind::Equality | BlockKind::DofFriction | BlockKind::TendonFriction => return None,
        _ => spring_of(model, block).unwrap_or_else(|| {
            let contact = &contacts[block.object];
            (contact.solref, contact.solimp)
        }),
    };
    // The curve of the impedance has nothing of the time step, which only limits the time constant.
    Some(Reference::unlimited(solref, solimp))
}

impl<T: Scalar> Constraint<T> {
    /// Puts the rows of a block on a piece of its impedance, also beyond the piece's end. (1)
    pub(crate) fn put_on(
        &mut self,
        block: &Block,
        piece: Piece,
        model: &Model<T>,
        contacts: &[Contact<T>],
    ) {
        let normal = self.rows[block.row];
        if normal.impedance.piece == piece {
            return;
        }
        let Some(reference) = reference_of(model, contacts, block) else {
            return;
        };
        let gap = normal.position - normal.margin;
        let impedance = reference.on(piece, gap);
        let (before, after) = (normal.impedance.value, impedance.value);
        let factor = (T::ONE - after) / after * (before / (T::ONE - before));
        for row in &mut self.rows[block.rows()] {
            row.regularization *= factor;
            row.weight = row.regularization.recip();
            row.reference_acceleration -= row.impedance.stiffness * (after - before) * gap;
            row.impedance.value = after;
            row.impedance.slope = impedance.slope;
            row.impedance.piece = piece;
        }
    }
}
