//! From a path to a compiled model, with problems rendered for people.

use std::path::Path;

use carom::Model;
use carom_spec::{Diagnostic, SourceMap};

/// Code of warnings about what a model asks for and the engine does not do yet.
const NOT_YET: &str = "E101";

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
    let read = carom_spec::read_file(path, allow);
    let mut diagnostics = read.diagnostics;
    let sources = read.sources;
    let failed = |diagnostics: &[Diagnostic], unreadable| Problem {
        rendered: carom_spec::diagnostic::render_all(diagnostics, &sources),
        json: carom_spec::diagnostic::to_json(diagnostics, &sources),
        unreadable,
    };
    let unreadable = !path.is_file();
    if unreadable {
        return Err(failed(&diagnostics, unreadable));
    }
    // A file with errors is compiled all the same, as far as it was understood: one run shows all problems. What the
    // compiler says about a line that already has an error is most likely its consequence.
    let flawed: Vec<_> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|diagnostic| line_of(diagnostic, &sources))
        .collect();
    let (model, found) = carom::compile::compile(&read.spec);
    let news = found
        .into_iter()
        .filter(|diagnostic| !flawed.contains(&line_of(diagnostic, &sources)));
    diagnostics.extend(news);
    match model.filter(|_| flawed.is_empty()) {
        Some(model) => {
            let gaps = carom::coverage::gaps(&model).into_iter();
            diagnostics.extend(gaps.map(|sentence| Diagnostic::warning(NOT_YET, sentence)));
            Ok(Loaded {
                model,
                warnings: carom_spec::diagnostic::render_all(&diagnostics, &sources),
                diagnostics,
                sources,
            })
        }
        None => Err(failed(&diagnostics, false)),
    }
}

/// File and line of a diagnostic.
fn line_of(diagnostic: &Diagnostic, sources: &SourceMap) -> Option<(carom_spec::FileId, usize)> {
    let span = diagnostic.span?;
    Some((span.file, sources.position(span)?.line))
}

/// As [`load`], without the warnings.
pub(crate) fn model(path: &Path, allow: &[String]) -> Result<Model, Problem> {
    load(path, allow).map(|loaded| loaded.model)
}
