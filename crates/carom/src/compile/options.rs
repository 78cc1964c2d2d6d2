//! Options and settings.

use carom_spec::ModelSpec;

use super::Source;
use super::report::Report;
use crate::model::{Disable, Enable, Model, Settings, Structure};

/// How to simulate.
pub(super) fn settings(spec: &ModelSpec) -> Settings {
    let option = &spec.option;
    Settings {
        integrator: option.integrator,
        cone: option.cone,
        jacobian: option.jacobian,
        solver: option.solver,
        iterations: option.iterations as usize,
        ls_iterations: option.line_search_iterations as usize,
        noslip_iterations: option.noslip_iterations as usize,
        ccd_iterations: option.ccd_iterations as usize,
        disable: Disable::default(),
        enable: Enable::default(),
        disabled_actuator_groups: option.disabled_actuator_groups,
    }
}

/// Checks the options and sets the flags of the structure that depend on them.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    let _ = (source, structure, report);
}

/// Fills the numbers of the options.
pub(super) fn numbers(source: Source<'_>, model: &mut Model, report: &mut Report) {
    let _ = (source, model, report);
}
