//! Geom shapes, masses and body inertias.

use super::Source;
use super::report::Report;

/// Inertial properties of all bodies, and poses and sizes of all geoms.
pub(super) struct Inertials {}

/// Computes geoms and inertias of all bodies.
pub(super) fn compute(source: Source<'_>, report: &mut Report) -> Inertials {
    let _ = (source, report);
    Inertials {}
}
