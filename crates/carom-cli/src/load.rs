//! From a path to a compiled model, with problems rendered for people.

use std::path::Path;

use carom::Model;
use carom_spec::{Diagnostic, SourceMap};

/// Why there is no model.
#[derive(Debug)]
pub(crate) struct Problem {
    /// All diagnostics as text with source lines.
    pub rendered: String,
    /// The same as JSON.
    pub json: String,
    /// Whether the file could not be read at all (as opposed to being invalid).
    pub unreadable: bool,
}

/// A model together with what the reader and compiler had to say.
pub(crate) struct Loaded {
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
pub(crate) fn load(path: &Path, allow: &[String]) -> Result<Loaded, Problem> {
    let loaded = carom::load::file(path, allow).map_err(|error| Problem {
        rendered: carom_spec::diagnostic::render_all(&error.diagnostics, &error.sources),
        json: carom_spec::diagnostic::to_json(&error.diagnostics, &error.sources),
        unreadable: !path.is_file(),
    })?;
    Ok(Loaded {
        warnings: carom_spec::diagnostic::render_all(&loaded.diagnostics, &loaded.sources),
        model: loaded.model,
        diagnostics: loaded.diagnostics,
        sources: loaded.sources,
    })
}

/// As [`load`], without the warnings.
pub(crate) fn model(path: &Path, allow: &[String]) -> Result<Model, Problem> {
    load(path, allow).map(|loaded| loaded.model)
}
