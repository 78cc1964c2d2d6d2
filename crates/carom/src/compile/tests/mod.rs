//! Whole models through reader and compiler. The expected numbers are MuJoCo 4.0.0's.
#![allow(clippy::unreadable_literal, reason = "numbers as MuJoCo prints them")]

mod actuators;
mod cameras;
mod constants;
mod contacts;
mod derive;
mod equalities;
mod geoms;
mod hostile;
mod inertia;
mod joints;
mod keyframes;
mod laws;
mod learned;
mod sensors;
mod simplify;
mod tendons;

use std::path::Path;

use carom_spec::mjcf::{self, ReadSettings};
use carom_spec::{Diagnostic, MemorySource, SourceMap};

use crate::model::Model;

/// Reads and compiles the content of a `<mujoco>` element; the problems are those of the compiler alone.
fn run(content: &str) -> (Option<Model>, Vec<Diagnostic>) {
    let text = format!("<mujoco>{content}</mujoco>");
    let source = MemorySource::new().with("model.xml", text);
    let settings = ReadSettings::default();
    let mut sources = SourceMap::new();
    let path = Path::new("model.xml");
    let (spec, _) = mjcf::read(path, &source, &settings, &mut sources);
    super::compile(&spec)
}

/// The model of a description that must compile.
fn model(content: &str) -> Model {
    let (model, diagnostics) = run(content);
    model.unwrap_or_else(|| panic!("refused: {diagnostics:?}"))
}

/// The messages of a description that must be refused by the compiler.
fn refusals(content: &str) -> Vec<String> {
    let (model, diagnostics) = run(content);
    assert!(model.is_none(), "accepted: {content}");
    let errors = diagnostics.into_iter().filter(Diagnostic::is_error);
    errors.map(|error| error.message).collect()
}

#[test]
fn numbers_that_are_none_are_refused() {
    let mut spec = carom_spec::ModelSpec::default();
    spec.option.viscosity = f64::NAN;
    let (model, problems) = super::compile(&spec);
    assert!(model.is_none());
    assert_eq!(problems[0].message, "viscosity of option is not finite");
}

/// Checks that a description is refused for one reason.
fn assert_refused(content: &str, reason: &str) {
    assert_eq!(refusals(content), [reason], "{content}");
}

/// Checks numbers up to a few roundings.
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found_number, expected_number) in found.iter().zip(expected) {
        let error = (found_number - expected_number).abs();
        let scale = expected_number.abs().max(1.0);
        assert!(error <= 1e-12 * scale, "{found:?} is not {expected:?}");
    }
}
