//! Constants that dynamics at the reference configuration yields.

use super::Source;
use super::report::Report;
use crate::model::Model;

/// Derives all such constants.
pub(super) fn derive(source: Source<'_>, model: &mut Model, report: &mut Report) {
    let _ = (source, model, report);
}
