//! What a contact sensor looks for and reports.

use super::{ContactMatch, ContactReduction};

/// A sensor of contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactSensor {
    /// What one side of a contact must belong to; the reported normal points away from it.
    pub first: ContactMatch,
    /// What the other side must belong to.
    pub second: ContactMatch,
    /// Fields to report: found, force, torque, distance, position, normal, tangent, linear and angular velocity.
    pub fields: [bool; Self::FIELDS],
    /// Which of the matching contacts are reported.
    pub reduction: ContactReduction,
    /// Number of contacts to report.
    pub slots: u32,
}

impl ContactSensor {
    /// Number of fields.
    pub const FIELDS: usize = 9;
    const FIELD_SIZES: [usize; Self::FIELDS] = [1, 3, 3, 1, 3, 3, 3, 3, 3];

    /// Values per contact.
    pub fn slot_size(&self) -> usize {
        let sizes = self.fields.iter().zip(Self::FIELD_SIZES);
        sizes
            .map(|(&chosen, size)| usize::from(chosen) * size)
            .sum()
    }

    /// Values in all.
    pub fn size(&self) -> usize {
        (self.slots as usize).saturating_mul(self.slot_size())
    }

    /// Whether force or torque is reported.
    pub fn reads_force(&self) -> bool {
        self.fields[1] || self.fields[2]
    }

    /// Whether a velocity is reported.
    pub fn reads_velocity(&self) -> bool {
        self.fields[7] || self.fields[8]
    }
}
