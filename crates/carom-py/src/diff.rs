//! What differs between two models.

use carom_report::{diff_json, diff_text};
use pyo3::prelude::*;

use crate::model::Model;

/// As `carom diff` prints it, and as `carom diff --json` does.
#[pyfunction]
pub(crate) fn diff(first: &Bound<'_, Model>, second: &Bound<'_, Model>) -> (String, String) {
    let found = carom_tasks::diff::diff(&first.get().inner, &second.get().inner);
    (diff_text(&found), diff_json(&found).to_string())
}
