//! Bodies, their order and the patterns that follow from it.

use carom_spec::ModelSpec;

use super::Source;
use super::inertia::Inertials;
use super::report::Report;
use crate::model::{Model, Structure};

/// Whether the bodies are a tree in depth-first order.
pub(super) fn is_well_formed(spec: &ModelSpec, report: &mut Report) -> bool {
    let _ = (spec, report);
    true
}

/// Fills the structure of bodies.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let _ = (source, structure, report);
}

/// Fills what follows from bodies and joints: dofs, trees and sparsity patterns.
pub(super) fn dof_structure(structure: &mut Structure) {
    let _ = structure;
}

/// Fills the numbers of bodies.
pub(super) fn numbers(source: Source<'_>, inertials: &Inertials, model: &mut Model) {
    let _ = (source, inertials, model);
}
