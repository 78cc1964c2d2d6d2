//! `ModelSpec` to [`Model`]: order, check, resolve and derive everything the stages read.
//!
//! The passes, in order:
//! 0. *assets* and *simplify*: meshes and height fields are processed; static bodies are fused and visual elements
//!    dropped where the file asks for it (`ModelSpec` to `ModelSpec`);
//! 1. *lookup*: names to ids;
//! 2. *structure*: every module checks its part of the file and fills its part of [`Structure`] and
//!    its counts. References are resolved and problems reported here, so that one run shows them all;
//! 3. *numbers*: every module copies its part of the given numbers, which become the [`Recipe`] of the model. This pass
//!    runs only when the earlier ones found no error, so it may trust ids and lengths;
//! 4. *derive*: what follows from given numbers: inertia, bounds, reference state, … and, as *constants*, everything that
//!    dynamics at the reference configuration yields (inverse weights, tendon lengths, relative poses, damping ratios);
//! 5. *length ranges* of muscles.

mod actuators;
mod added_mass;
mod appearance;
mod assets;
mod cameras;
mod checks;
mod collision_maps;
mod constants;
mod contact_filter;
pub(crate) mod derive;
mod equalities;
mod geoms;
mod height_field;
mod histories;
mod inertia;
mod joint_laws;
mod joints;
mod keyframes;
mod laws;
mod learned;
mod length_range;
mod lookup;
mod mesh;
mod mesh_moments;
mod options;
mod primitive;
mod principal_frame;
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

use crate::model::{Given, Model, Recipe, SourceNumbers, Structure};
use assets::Assets;
pub use derive::{Singular, derive};
pub(crate) use derive::{geom_mass, inertia_before_alignment};
use lookup::Lookup;
pub(crate) use mesh_moments::MovingMesh;
pub(crate) use primitive::box_between;
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

/// The description that is compiled in place of this one: static bodies are fused and visual elements dropped, where its settings ask for
/// that. Bodies, geoms and sites have the ids of the model, and nothing is left to be fused or dropped.
pub fn simplified(spec: &ModelSpec) -> ModelSpec {
    let mut report = Report::default();
    if !(spec.compiler.fuse_static || spec.compiler.discard_visual)
        || !tree::is_well_formed(spec, &mut report)
    {
        return spec.clone();
    }
    let mut assets = Assets::new(spec, &simplify::needed_meshes(spec), &mut report);
    let mut simplified = simplify::simplify(spec, &mut assets, &mut report).into_owned();
    simplified.compiler.fuse_static = false;
    simplified.compiler.discard_visual = false;
    simplified
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
    let mut recipe = recipe(
        source,
        &inertials,
        Model::zeros(Arc::new(structure), settings),
        report,
    );
    if report.has_errors() {
        return None;
    }
    let mut model = derive::numbers(&recipe, &recipe.given);
    // Checked before dynamics, where one bad number would spread to all.
    if !checks::results_are_finite(source.spec, &model, report) {
        return None;
    }
    model.find_coincidences();
    if let Err(singular) = constants::derive(&recipe, &recipe.given, &mut model) {
        constants::report_singular(source, &model.structure, singular, report);
        return Some(model);
    }
    length_range::derive(source, &mut model, &mut recipe.actuators, report);
    if !report.has_errors() {
        checks::results_are_finite(source.spec, &model, report);
    }
    let lengths = &mut recipe.given.model.actuators.length_range;
    lengths.clone_from(&model.actuators.length_range);
    collision_maps::finish(source, &mut model, report);
    recipe.given.model.strike.clone_from(&model.strike);
    recipe.given.model.structure = Arc::clone(&model.structure);
    model.recipe = Some(Arc::new(recipe));
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
    joint_laws::structure(source, &mut structure, report);
    assets::structure(source, &mut structure);
    geoms::structure(source, &mut structure, report);
    sites::structure(source, &mut structure, report);
    appearance::structure(source, &mut structure);
    cameras::structure(source, &mut structure, report);
    tendons::structure(source, &mut structure, report);
    contact_filter::structure(source, &mut structure, report);
    laws::structure(source, &mut structure, report);
    equalities::structure(source, &mut structure, report);
    actuators::structure(source, &mut structure, report);
    collision_maps::structure(source, &mut structure, report);
    learned::structure(source, &mut structure, report);
    sensors::structure(source, &mut structure, report);
    keyframes::structure(source, &mut structure, report);
    options::check(source, report);
    if !report.has_errors() {
        structure.derive_tables();
    }
    structure
}

/// Pass 3; the structure of `model` is complete and the description free of errors.
fn recipe(
    source: Source<'_>,
    inertials: &inertia::Inertials,
    mut model: Model,
    report: &mut Report,
) -> Recipe {
    let sources = SourceNumbers::zeros(model.counts());
    options::numbers(source, &mut model);
    tree::numbers(source, inertials, &mut model);
    joints::numbers(source, &mut model);
    joint_laws::numbers(source, &mut model);
    assets::numbers(source, &mut model);
    geoms::numbers(source, inertials, &mut model);
    sites::numbers(source, &mut model);
    cameras::numbers(source, &mut model);
    tendons::numbers(source, &mut model);
    contact_filter::numbers(source, &mut model, report);
    laws::numbers(source, &mut model, report);
    equalities::numbers(source, &mut model);
    let actuators = actuators::numbers(source, &mut model);
    collision_maps::numbers(source, &mut model);
    learned::numbers(source, &mut model);
    sensors::numbers(source, &mut model);
    let keyframes = keyframes::numbers(source, &mut model);
    let settings = &source.spec.compiler;
    let mut recipe = Recipe {
        given: Given { model, sources },
        geoms: geoms::recipes(source),
        meshes: assets::recipes(source),
        bodies: inertia::recipes(source, inertials),
        actuators,
        keyframes,
        inertia_bounds: [settings.bound_mass, settings.bound_inertia],
        balance_inertia: settings.balance_inertia,
        total_mass: settings.set_total_mass,
    };
    let sources = &mut recipe.given.sources;
    geoms::sources(source, sources);
    joints::sources(source, sources);
    assets::sources(source, sources);
    recipe
}
