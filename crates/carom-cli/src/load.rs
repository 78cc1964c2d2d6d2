//! From a path to a compiled model, with problems rendered for people.

use std::path::Path;

use carom::Model;
use carom_spec::source::{DEFAULT_SIZE_LIMIT, open_regular};
use carom_spec::{Diagnostic, SourceMap};
use serde_json::Value;

use crate::failure::{self, Failure};

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

impl Loaded {
    /// The warnings as a JSON list.
    pub(crate) fn listed(&self) -> Value {
        failure::listed(&self.diagnostics, &self.sources)
    }
}

/// Reads and compiles a model file (MJCF or URDF). A file that cannot be read is a question that cannot be asked; one with
/// mistakes is the answer no.
pub(crate) fn load(path: &Path, allow: &[String]) -> Result<Loaded, Failure> {
    let loaded = carom::load::file(path, allow).map_err(|error| {
        let was_read = open_regular(path, DEFAULT_SIZE_LIMIT).is_ok();
        let failure = Failure::unasked(error.diagnostics, error.sources);
        if was_read {
            failure.answered()
        } else {
            failure
        }
    })?;
    Ok(Loaded {
        warnings: carom_spec::diagnostic::render_all(&loaded.diagnostics, &loaded.sources),
        model: loaded.model,
        diagnostics: loaded.diagnostics,
        sources: loaded.sources,
    })
}

/// As [`load`], without the warnings.
pub(crate) fn model(path: &Path, allow: &[String]) -> Result<Model, Failure> {
    load(path, allow).map(|loaded| loaded.model)
}
