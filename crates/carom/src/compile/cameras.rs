//! Sites and cameras.

use super::Source;
use super::report::Report;
use crate::model::{Model, Structure};

/// Fills the structure of sites and cameras.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let _ = (source, structure, report);
}

/// Fills the numbers of sites and cameras.
pub(super) fn numbers(source: Source<'_>, model: &mut Model, report: &mut Report) {
    let _ = (source, model, report);
}
