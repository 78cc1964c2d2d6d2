//! Strikes in the plane: a held body touches another one that stands on a table, and both move.
//!
//! [`Bodies`] are the two outlines and the arm behind the striker, [`Laws`] the sixteen numbers that recordings identify:
//! a [`ContactLaw`] (pressure along the outline, dissipation, friction, the arm that yields) and a [`TableLaw`] (friction
//! over the whole face, with its rise at low speed, ploughing, grain, and pressure that leans forward). [`Bodies::advance`]
//! moves both for a while, over plain or dual numbers, and [`Bodies::strike`] follows a strike until all is at rest.

mod approach;
mod contact;
mod limits;
mod motion;
mod outline;
mod strike;
mod table;
#[cfg(test)]
mod tests;

pub use approach::Approach;
pub use contact::{Arm, CONTACT_NUMBERS, Command, ContactLaw};
pub use limits::Limits;
pub use motion::{Bodies, Course, Moving, Room};
pub use outline::{Outline, Side, Standing};
pub use strike::{Planar, Strike};
pub use table::{Patch, TABLE_NUMBERS, TableLaw};

use carom_scalar::scalar::Scalar;

/// How many numbers the laws have.
pub const NUMBERS: usize = CONTACT_NUMBERS + TABLE_NUMBERS;

/// The laws of contact and table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laws<T: Scalar = f64> {
    /// What happens between the bodies, and behind the striker.
    pub contact: ContactLaw<T>,
    /// What happens on the table.
    pub table: TableLaw<T>,
}

impl<T: Scalar> Laws<T> {
    /// The numbers in order.
    pub fn numbers(&self) -> [T; NUMBERS] {
        let (contact, table) = (self.contact.numbers(), self.table.numbers());
        std::array::from_fn(|k| match k.checked_sub(CONTACT_NUMBERS) {
            None => contact[k],
            Some(k) => table[k],
        })
    }

    /// The laws of numbers in order.
    pub fn of(numbers: &[T; NUMBERS]) -> Self {
        let (contact, table) = numbers.split_at(CONTACT_NUMBERS);
        Self {
            contact: ContactLaw::of(contact),
            table: TableLaw::of(table),
        }
    }
}
