//! Names to ids.

use carom_spec::ModelSpec;

use super::report::Report;

/// Ids of all named elements, in the order of the compiled arrays.
pub(super) struct Lookup {}

impl Lookup {
    /// Reads all names; reports those that occur twice in a family.
    pub(super) fn new(spec: &ModelSpec, report: &mut Report) -> Self {
        let _ = (spec, report);
        Self {}
    }
}
