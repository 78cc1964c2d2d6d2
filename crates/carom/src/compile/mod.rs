//! `ModelSpec` to [`Model`]: order, check, resolve and derive everything the stages read.
//!
//! The passes, in order:
//! 0. *assets* and *simplify*: meshes and height fields are processed; static bodies are fused and visual elements
//!    dropped where the file asks for it (`ModelSpec` to `ModelSpec`);
//! 1. *lookup*: names to ids;
//! 2. *structure*: every module checks its part of the file and fills its part of [`Structure`] and
//!    its counts. References are resolved and problems reported here, so that one run shows them all;
//! 3. *numbers*: every module copies or computes its part of the [`Model`]'s numbers. This pass runs only when the
//!    earlier ones found no error, so it may trust ids and lengths;
//! 4. *constants*: everything that dynamics at the reference configuration yields (inverse weights, tendon
//!    lengths, relative poses, damping ratios, length ranges).

mod actuators;
mod added_mass;
mod assets;
mod cameras;
mod checks;
mod constants;
mod contact_filter;
mod equalities;
mod geoms;
mod height_field;
mod histories;
mod hull;
mod hull_topology;
mod inertia;
mod joints;
mod keyframes;
mod laws;
mod length_range;
mod lookup;
mod mesh;
mod options;
mod orientation;
mod polygon_order;
mod primitive;
mod principal_frame;
mod quickhull;
mod report;
mod sensors;
mod simplify;
mod sites;
mod tendons;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;

use carom_spec::ModelSpec;
use carom_spec::diagnostic::Diagnostic;

use crate::model::{Model, Structure};
use assets::Assets;
use lookup::Lookup;
use report::Report;

/// What the structure and numbers passes read.
#[derive(Clone, Copy)]
struct Source<'a> {
    /// The description after simplification.
    spec: &'a ModelSpec,
    /// Names to ids.
    lookup: &'a Lookup,
    /// Processed meshes and height fields.
    assets: &'a Assets,
}

/// Compiles a description; without a model when any of the diagnostics is an error.
pub fn compile(spec: &ModelSpec) -> (Option<Model>, Vec<Diagnostic>) {
    let mut report = Report::default();
    let model = run_passes(spec, &mut report);
    let model = model.filter(|_| !report.has_errors());
    (model, report.into_diagnostics())
}

/// Runs all passes; none when one of them found an error after which the next cannot go on.
fn run_passes(spec: &ModelSpec, report: &mut Report) -> Option<Model> {
    if !tree::is_well_formed(spec, report) {
        return None;
    }
    let mut assets = Assets::new(spec, &simplify::needed_meshes(spec), report);
    let spec = simplify::simplify(spec, &mut assets, report);
    let lookup = Lookup::new(&spec, report);
    let source = Source {
        spec: &spec,
        lookup: &lookup,
        assets: &assets,
    };

    let structure = build_structure(source, report);
    let inertials = inertia::compute(source, report);
    if report.has_errors() {
        return None;
    }
    let settings = options::settings(source.spec);
    let mut model = Model::zeros(Arc::new(structure), settings);
    fill_numbers(source, &inertials, &mut model, report);
    // Checked before dynamics, where one bad number would spread to all.
    if report.has_errors() || !checks::results_are_finite(source.spec, &model, report) {
        return None;
    }
    model.find_coincidences();
    constants::derive(source, &mut model, report);
    if !report.has_errors() {
        checks::results_are_finite(source.spec, &model, report);
    }
    Some(model)
}

/// Pass 2; later modules read what earlier ones filled.
fn build_structure(source: Source<'_>, report: &mut Report) -> Structure {
    let mut structure = Structure::default();
    structure.counts.one = 1;
    structure.names.model.clone_from(&source.spec.name);
    source.lookup.fill_names(&mut structure.names);
    source.lookup.check_passive_references(source.spec, report);
    tree::structure(source, &mut structure, report);
    joints::structure(source, &mut structure, report);
    if !tree::dof_structure(&mut structure, report) {
        return structure;
    }
    assets::structure(source, &mut structure);
    geoms::structure(source, &mut structure, report);
    sites::structure(source, &mut structure, report);
    cameras::structure(source, &mut structure, report);
    tendons::structure(source, &mut structure, report);
    contact_filter::structure(source, &mut structure, report);
    laws::structure(source, &mut structure, report);
    equalities::structure(source, &mut structure, report);
    actuators::structure(source, &mut structure, report);
    sensors::structure(source, &mut structure, report);
    keyframes::structure(source, &mut structure, report);
    options::structure(source, &mut structure, report);
    if !report.has_errors() {
        structure.derive_tables();
    }
    structure
}

/// Pass 3; `structure` is complete and the description free of errors.
fn fill_numbers(
    source: Source<'_>,
    inertials: &inertia::Inertials,
    model: &mut Model,
    report: &mut Report,
) {
    options::numbers(source, model, report);
    tree::numbers(source, inertials, model);
    joints::numbers(source, model);
    assets::numbers(source, model);
    geoms::numbers(source, inertials, model);
    sites::numbers(source, model);
    cameras::numbers(source, model, report);
    tree::align_attached(inertials, model);
    tendons::numbers(source, model, report);
    contact_filter::numbers(source, model, report);
    laws::numbers(source, model, report);
    equalities::numbers(source, model, report);
    actuators::numbers(source, model, report);
    sensors::numbers(source, model, report);
    keyframes::numbers(source, model, report);
}
