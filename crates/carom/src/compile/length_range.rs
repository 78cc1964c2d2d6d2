//! Length ranges of actuators.

use super::Source;
use super::report::Report;
use crate::model::Model;

/// Computes the length ranges that muscles need and the file does not give.
pub(super) fn derive(source: Source<'_>, model: &mut Model, report: &mut Report) {
    let _ = (source, model, report);
}
