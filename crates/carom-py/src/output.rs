//! Result files, by the one writer of all fronts.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use carom_spec::output::{WriteError, check_distinct, write_whole};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError};
use pyo3::prelude::*;

/// Writes a text whole or not at all, and never over a file that it was made from.
#[pyfunction]
pub(crate) fn write_text(
    py: Python<'_>,
    path: PathBuf,
    text: &str,
    inputs: Vec<PathBuf>,
) -> PyResult<()> {
    let written = py.detach(|| {
        check_distinct(&[&path], inputs.iter().map(PathBuf::as_path))?;
        write_whole(&path, |out| out.write_all(text.as_bytes()))
    });
    written.map_err(refused)
}

/// Refuses a file that will be written while these are read.
pub(crate) fn check(output: Option<&Path>, inputs: &[PathBuf]) -> PyResult<()> {
    let outputs: Vec<&Path> = output.into_iter().collect();
    check_distinct(&outputs, inputs.iter().map(PathBuf::as_path)).map_err(refused)
}

fn refused(error: WriteError) -> PyErr {
    let folder = error.path.parent();
    if folder.is_some_and(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        return PyFileNotFoundError::new_err(error.to_string());
    }
    PyOSError::new_err(error.to_string())
}
