//! Height fields.

use carom_spec::model_spec::HeightFieldSpec;

use super::report::Report;

/// A height field with normalised elevations.
pub(super) struct CompiledHeightField {}

impl CompiledHeightField {
    /// Processes a height field; none after an error.
    pub(super) fn new(field: &HeightFieldSpec, report: &mut Report) -> Option<Self> {
        let _ = (field, report);
        Some(Self {})
    }
}
