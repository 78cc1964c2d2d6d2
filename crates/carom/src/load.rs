//! From a model file to a compiled model, with everything that reader and compiler have to say about it.
//!
//! ```
//! let loaded = carom::load::file("../../models/pendulum.xml".as_ref(), &[]).unwrap();
//! assert_eq!(loaded.model.counts().nv, 1);
//! assert!(loaded.diagnostics.is_empty());
//! ```

use std::path::Path;
use std::sync::Arc;

use carom_spec::diagnostic;
use carom_spec::read::{ReadModel, read_file};
use carom_spec::source::{DEFAULT_SIZE_LIMIT, ReadError, open_regular};
use carom_spec::{Diagnostic, FileId, ModelSpec, SourceMap};

use crate::compile;
use crate::coverage;
use crate::error::{Error, ErrorKind, Place};
use crate::model::Model;

/// Code of warnings about what a model asks for and the engine does not do yet.
const NOT_YET: &str = "E101";

/// A model together with where it comes from.
#[derive(Debug)]
pub struct Loaded {
    /// The compiled model.
    pub model: Model,
    /// What the file says.
    pub spec: ModelSpec,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts that they point into.
    pub sources: SourceMap,
}

/// Why there is no model: all that reader and compiler say.
#[derive(Clone, Debug)]
pub struct ModelProblems {
    /// All problems, warnings too.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts that they point into.
    pub sources: SourceMap,
    /// Why the file itself cannot be read, if that is the problem.
    pub unreadable: Option<ReadError>,
}

impl PartialEq for ModelProblems {
    fn eq(&self, other: &Self) -> bool {
        self.diagnostics == other.diagnostics && self.unreadable == other.unreadable
    }
}

impl From<ModelProblems> for Error {
    /// It reads as all problems with their source lines, and its place is that of the first error.
    fn from(problems: ModelProblems) -> Self {
        let sentence = diagnostic::render_all(&problems.diagnostics, &problems.sources);
        let first = problems.diagnostics.iter().find(|one| one.is_error());
        let place = first.and_then(|first| place_of(first, &problems.sources));
        let error = Self::new(ErrorKind::Model(Arc::new(problems)), sentence);
        match place {
            Some(place) => error.at(place),
            None => error,
        }
    }
}

/// File, line and column of a diagnostic.
fn place_of(diagnostic: &Diagnostic, sources: &SourceMap) -> Option<Place> {
    let span = diagnostic.span?;
    let position = sources.position(span)?;
    Some(Place::Text {
        file: sources.file(span.file)?.path().to_owned(),
        line: position.line,
        column: position.column,
    })
}

/// Reads and compiles a model file (MJCF or URDF). `allow` lists codes of unsupported features to skip with a warning;
/// `all` means every one.
///
/// # Errors
/// When the file cannot be read, or has errors.
pub fn file(path: &Path, allow: &[String]) -> Result<Loaded, Error> {
    let read = read_file(path, allow);
    match open_regular(path, DEFAULT_SIZE_LIMIT) {
        Ok(_) => compiled(read),
        Err(cause) => Err(Error::from(ModelProblems {
            diagnostics: read.diagnostics,
            sources: read.sources,
            unreadable: Some(cause),
        })),
    }
}

/// Compiles what was read.
///
/// A file with errors is compiled all the same, as far as it was understood: one run shows all problems. What the
/// compiler says about a line that already has an error is most likely its consequence, and left out.
///
/// # Errors
/// When reader or compiler found an error.
pub fn compiled(read: ReadModel) -> Result<Loaded, Error> {
    let ReadModel {
        spec,
        mut diagnostics,
        sources,
    } = read;
    let flawed: Vec<_> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .map(|diagnostic| line_of(diagnostic, &sources))
        .collect();
    let (model, found) = compile::compile(&spec);
    let news = found
        .into_iter()
        .filter(|diagnostic| !flawed.contains(&line_of(diagnostic, &sources)));
    diagnostics.extend(news);
    let Some(model) = model.filter(|_| flawed.is_empty()) else {
        return Err(Error::from(ModelProblems {
            diagnostics,
            sources,
            unreadable: None,
        }));
    };
    let gaps = coverage::gaps(&model).into_iter();
    diagnostics.extend(gaps.map(|sentence| Diagnostic::warning(NOT_YET, sentence)));
    Ok(Loaded {
        model,
        spec,
        diagnostics,
        sources,
    })
}

/// File and line of a diagnostic.
fn line_of(diagnostic: &Diagnostic, sources: &SourceMap) -> Option<(FileId, usize)> {
    let span = diagnostic.span?;
    Some((span.file, sources.position(span)?.line))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_error_reads_as_its_problems() {
        let error = super::file("no_such_model.xml".as_ref(), &[]).unwrap_err();
        let text = format!("{error:?}");
        assert_eq!(text, error.to_string());
        assert!(text.starts_with("error") && text.contains("no_such_model.xml"));
    }
}
