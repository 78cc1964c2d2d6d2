//! Errors of the engine as exceptions of the Python package.

use carom::parameters::ParameterError;
use carom::rollout::GradientError;
use carom_spec::diagnostic::{Diagnostic, render_all, to_json};
use carom_spec::source::SourceMap;
use carom_tasks::identify::IdentifyError;
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

/// A model that cannot be used, for a reason that is not in a file.
pub(crate) fn refused(message: String) -> PyErr {
    let diagnostic = Diagnostic::error("E100", message);
    model(&[diagnostic], &SourceMap::new())
}

/// Numbers that are not finite.
pub(crate) fn not_finite(message: String) -> PyErr {
    classes::NotFiniteError::new_err((message,))
}

/// Numbers that cannot be parameters.
pub(crate) fn parameter(error: &ParameterError) -> PyErr {
    classes::ParameterError::new_err((error.to_string(),))
}

/// A trajectory without a gradient, by its place in the batch.
pub(crate) fn gradient(error: &GradientError, trajectory: usize) -> PyErr {
    classes::GradientError::new_err((error.to_string(), trajectory))
}

/// A gradient that is refused as a whole.
pub(crate) fn no_gradient(message: String) -> PyErr {
    classes::GradientError::new_err((message,))
}

/// A recording or mapping that cannot be used.
pub(crate) fn recording(error: &impl ToString) -> PyErr {
    classes::RecordingError::new_err((error.to_string(),))
}

/// Why there is no identification.
pub(crate) fn identification(error: &IdentifyError) -> PyErr {
    match error {
        IdentifyError::NotIdentifiable { why, motions } => {
            classes::NotIdentifiableError::new_err((why.clone(), motions.clone()))
        }
        IdentifyError::Parameter(error) => parameter(error),
        error => not_identified(error.to_string()),
    }
}

/// The same in a sentence.
pub(crate) fn not_identified(message: String) -> PyErr {
    classes::IdentificationError::new_err((message,))
}
