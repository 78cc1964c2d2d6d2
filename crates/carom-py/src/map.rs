//! Mappings from names and shapes of recordings, by `carom map`.

use std::sync::Arc;

use carom_tasks::recording::{self, Mapping};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors;
use crate::model::Model;
use crate::recordings::{Given, named_arrays};
use crate::threads::abandonable;

/// The text of a mapping, the same as JSON, whether it is complete and whether it is needless, what is undecided, what is unused, and
/// warnings.
type Proposed = (
    String,
    String,
    (bool, bool),
    Vec<String>,
    Vec<String>,
    Vec<String>,
);

/// Proposes a mapping for a recording.
#[pyfunction]
pub(crate) fn propose(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    given: Given,
) -> PyResult<Proposed> {
    let native = model.get();
    let files = native.files();
    let model_file = files
        .first()
        .map_or_else(|| "the model".to_owned(), |path| path.display().to_string());
    let model = Arc::clone(&native.inner);
    let found = match given {
        Given::File(path) => {
            abandonable(py, move || recording::propose(&model, &model_file, &path))?
        }
        Given::Arrays(label, arrays) => {
            let arrays = named_arrays(arrays)?;
            abandonable(py, move || {
                Ok(recording::propose_for_arrays(
                    &model,
                    &model_file,
                    &label,
                    arrays,
                ))
            })?
        }
    };
    let found = found.map_err(|error| errors::raised(&error))?;
    let tables: Value = Mapping::tables_of(&found.text).map_err(|error| errors::raised(&error))?;
    Ok((
        found.text,
        tables.to_string(),
        (found.is_complete, found.is_needless),
        found.undecided,
        found.unused,
        found.warnings,
    ))
}
