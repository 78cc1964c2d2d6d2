//! From a path to a compiled model, with problems rendered for people.

use std::path::Path;

use carom::Model;
use carom_spec::{Diagnostic, SourceMap};

/// Why there is no model.
#[derive(Debug)]
pub struct Problem {
    /// All diagnostics as text with source lines.
    pub rendered: String,
    /// The same as JSON.
    pub json: String,
    /// Whether the file could not be read at all (as opposed to being invalid).
    pub unreadable: bool,
}

/// A model together with what the reader and compiler had to say.
pub struct Loaded {
    /// The compiled model.
    pub model: Model,
    /// Warnings as text with source lines; empty when there are none.
    pub warnings: String,
    /// Warnings, one by one.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts the diagnostics point into.
    pub sources: SourceMap,
}

/// Reads and compiles a model file (MJCF or URDF).
pub fn load(path: &Path, allow: &[String]) -> Result<Loaded, Problem> {
    let read = carom_spec::read_file(path, allow);
    let mut diagnostics = read.diagnostics;
    let sources = read.sources;
    let failed = |diagnostics: &[Diagnostic], unreadable| Problem {
        rendered: carom_spec::diagnostic::render_all(diagnostics, &sources),
        json: carom_spec::diagnostic::to_json(diagnostics, &sources),
        unreadable,
    };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(failed(&diagnostics, !path.is_file()));
    }
    let (model, found) = carom::compile::compile(&read.spec);
    diagnostics.extend(found);
    match model {
        Some(model) => Ok(Loaded {
            model,
            warnings: carom_spec::diagnostic::render_all(&diagnostics, &sources),
            diagnostics,
            sources,
        }),
        None => Err(failed(&diagnostics, false)),
    }
}

/// As [`load`], without the warnings.
pub fn model(path: &Path, allow: &[String]) -> Result<Model, Problem> {
    load(path, allow).map(|loaded| loaded.model)
}
