//! Recipes of runs: a worker owns the compiled recipe and makes shards by their numbers.

use std::path::PathBuf;

use carom_tasks::scale::manifest::{Manifest, ShardEntry};
use carom_tasks::scale::{self, enter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::raised;

/// A recipe with its model.
#[pyclass(frozen)]
pub(crate) struct Maker(scale::Maker);

fn read<'a, T: serde::Deserialize<'a>>(text: &'a str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|cause| PyValueError::new_err(cause.to_string()))
}

fn written<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|cause| PyValueError::new_err(cause.to_string()))
}

#[pymethods]
impl Maker {
    #[new]
    fn new(recipe: PathBuf) -> PyResult<Self> {
        let maker = scale::Maker::read(&recipe).map_err(|error| raised(&error))?;
        Ok(Self(maker))
    }

    /// The manifest of a folder, as JSON, and the shards that it lacks.
    fn open(&self, folder: PathBuf) -> PyResult<(String, Vec<usize>)> {
        let (manifest, open) = scale::open(&self.0, &folder).map_err(|error| raised(&error))?;
        Ok((written(&manifest)?, open))
    }

    /// Makes one shard; its entry of the manifest, as JSON.
    fn write_shard(&self, py: Python<'_>, folder: PathBuf, index: usize) -> PyResult<String> {
        let made = py.detach(|| self.0.write_shard(&folder, index));
        written(&made.map_err(|error| raised(&error))?)
    }

    /// Adds entries to a manifest and writes it into the folder; the manifest as JSON.
    fn enter(&self, folder: PathBuf, manifest: &str, entries: Vec<String>) -> PyResult<String> {
        let mut manifest: Manifest = read(manifest)?;
        for entry in &entries {
            let entry: ShardEntry = read(entry)?;
            enter(&mut manifest, entry);
        }
        manifest.write(&folder).map_err(|error| raised(&error))?;
        written(&manifest)
    }
}
