//! What a contact sensor looks for and reports.

use carom_spec::model_spec::ContactFields;

use super::{ContactMatch, ContactReport};

/// A sensor of contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactSensor {
    /// What one side of a contact must belong to; the reported normal points away from it.
    pub first: ContactMatch,
    /// What the other side must belong to.
    pub second: ContactMatch,
    /// What is reported, of how many and which of the matching contacts.
    pub report: ContactReport,
}

impl ContactSensor {
    /// Number of fields.
    pub const FIELDS: usize = ContactFields::SIZES.len();

    /// Values per contact.
    pub fn slot_size(&self) -> usize {
        self.report.fields.size(ContactFields::SIZES)
    }

    /// Whether force or torque is reported.
    pub fn reads_force(&self) -> bool {
        let fields = &self.report.fields.0;
        fields[1] || fields[2]
    }

    /// Whether a velocity is reported.
    pub fn reads_velocity(&self) -> bool {
        let fields = &self.report.fields.0;
        fields[7] || fields[8]
    }
}
