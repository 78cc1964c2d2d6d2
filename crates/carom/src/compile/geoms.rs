//! Geoms.

use super::Source;
use super::inertia::Inertials;
use super::report::Report;
use crate::model::{Model, Structure};

/// Fills the structure of geoms.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let _ = (source, structure, report);
}

/// Fills the numbers of geoms.
pub(super) fn numbers(source: Source<'_>, inertials: &Inertials, model: &mut Model) {
    let _ = (source, inertials, model);
}
