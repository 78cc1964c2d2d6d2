//! Errors of the engine as exceptions of the Python package.

use carom::{Error, ErrorKind};
use carom_spec::diagnostic::{Diagnostic, render_all, to_json};
use carom_spec::source::SourceMap;
use pyo3::PyErr;

/// The exceptions are written in Python: one place for their documentation and types.
mod classes {
    pyo3::import_exception!(carom.errors, GradientError);
    pyo3::import_exception!(carom.errors, IdentificationError);
    pyo3::import_exception!(carom.errors, ModelError);
    pyo3::import_exception!(carom.errors, NotFiniteError);
    pyo3::import_exception!(carom.errors, NotIdentifiableError);
    pyo3::import_exception!(carom.errors, ParameterError);
    pyo3::import_exception!(carom.errors, RecordingError);
}

/// A model that cannot be used: the text for people, and the diagnostics as JSON.
pub(crate) fn model(diagnostics: &[Diagnostic], sources: &SourceMap) -> PyErr {
    classes::ModelError::new_err((
        render_all(diagnostics, sources),
        to_json(diagnostics, sources),
    ))
}

/// The one table of what errors of carom are in Python.
pub(crate) fn raised(error: &Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Model(problems) => model(&problems.diagnostics, &problems.sources),
        ErrorKind::Parameter(_) => classes::ParameterError::new_err((text,)),
        ErrorKind::Gradient(_) => no_gradient(text),
        ErrorKind::Recording | ErrorKind::Read => classes::RecordingError::new_err((text,)),
        ErrorKind::NotIdentifiable { motions } => {
            classes::NotIdentifiableError::new_err((text, motions.clone()))
        }
        ErrorKind::Settings
        | ErrorKind::Loss
        | ErrorKind::Checkpoint
        | ErrorKind::Description
        | ErrorKind::Write => not_identified(text),
        _ => refused(text),
    }
}

/// A model that cannot be used, for a reason that is not in a file.
pub(crate) fn refused(message: String) -> PyErr {
    let diagnostic = Diagnostic::error("E100", message);
    model(&[diagnostic], &SourceMap::new())
}

/// Numbers that are not finite.
pub(crate) fn not_finite(message: String) -> PyErr {
    classes::NotFiniteError::new_err((message,))
}

/// A trajectory without a gradient, by its place in the batch.
pub(crate) fn gradient(error: &Error, trajectory: usize) -> PyErr {
    classes::GradientError::new_err((error.to_string(), trajectory))
}

/// A gradient that is refused as a whole.
pub(crate) fn no_gradient(message: String) -> PyErr {
    classes::GradientError::new_err((message,))
}

/// Parameters that cannot be identified as asked, in a sentence.
pub(crate) fn not_identified(message: String) -> PyErr {
    classes::IdentificationError::new_err((message,))
}
