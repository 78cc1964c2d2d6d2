//! Recordings from files or arrays, bound to a model.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use carom::{Error, ErrorKind};
use carom_tasks::npz::Array;
use carom_tasks::recording::table::Table;
use carom_tasks::recording::{self, Mapping};
use pyo3::prelude::*;

use crate::arrays::{Numbers, slice};
use crate::errors;
use crate::model::Model;
use crate::threads::abandonable;

/// One recording, as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum Given {
    /// What it is called, and its arrays.
    Arrays(String, BTreeMap<String, Numbers>),
    File(PathBuf),
}

/// How arrays are understood.
#[derive(FromPyObject)]
pub(crate) enum Meaning {
    /// A mapping as JSON, in the form of mapping files: what it is called, and its text.
    Json(String, String),
    File(PathBuf),
    /// By the names of the arrays, with standard deviations of their noise.
    Names(BTreeMap<String, f64>),
}

/// Recordings that fit a model.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Recordings {
    pub(crate) inner: recording::Recordings,
    /// The files that were read.
    pub(crate) files: Vec<PathBuf>,
}

/// Arrays by name without anything of Python's.
pub(crate) fn named_arrays(arrays: BTreeMap<String, Numbers>) -> PyResult<Vec<(String, Array)>> {
    let plain = |(name, array): (String, Numbers)| {
        let numbers = slice(&array, &name, array.shape())?.to_vec();
        Ok((name, Array::numbers(array.shape(), numbers)))
    };
    arrays.into_iter().map(plain).collect()
}

/// A recording without anything of Python's.
enum Origin {
    File(PathBuf),
    Table(Table),
}

impl Origin {
    fn new(given: Given, has_axis: bool) -> PyResult<Self> {
        let (label, arrays) = match given {
            Given::File(path) => return Ok(Self::File(path)),
            Given::Arrays(label, arrays) => (label, arrays),
        };
        let arrays = named_arrays(arrays)?;
        Ok(Self::Table(Table::from_arrays(label, arrays, has_axis)))
    }

    fn table(self, mapping: Option<&Mapping>) -> Result<Table, Error> {
        match self {
            Self::File(path) => Table::read(&path, mapping),
            Self::Table(table) => Ok(table),
        }
    }
}

fn mapping_of(meaning: &Meaning) -> PyResult<Option<Mapping>> {
    match meaning {
        Meaning::Names(_) => Ok(None),
        Meaning::File(path) => {
            let mapping = Mapping::read(path).map_err(|error| errors::raised(&error))?;
            Ok(Some(mapping))
        }
        Meaning::Json(name, text) => {
            let mapping: Result<Mapping, _> = serde_json::from_str(text);
            let mut mapping = mapping.map_err(|cause| {
                errors::raised(&Error::new(ErrorKind::Recording, name).because(cause))
            })?;
            name.clone_into(&mut mapping.file);
            Ok(Some(mapping))
        }
    }
}

#[pymethods]
impl Recordings {
    #[new]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, Model>,
        given: Vec<Given>,
        meaning: Meaning,
    ) -> PyResult<Self> {
        let mapping = mapping_of(&meaning)?;
        let files = given.iter().filter_map(|given| match given {
            Given::File(path) => Some(path.clone()),
            Given::Arrays(..) => None,
        });
        let files = files.chain(match &meaning {
            Meaning::File(path) => Some(path.clone()),
            _ => None,
        });
        let files = files.collect();
        let has_axis = mapping
            .as_ref()
            .is_some_and(|mapping| mapping.trajectories.axis);
        let origins: Vec<Origin> = given
            .into_iter()
            .map(|given| Origin::new(given, has_axis))
            .collect::<PyResult<_>>()?;
        let model = Arc::clone(&model.get().inner);
        let inner = abandonable(py, move || {
            let model = &*model;
            if let Some(mapping) = &mapping {
                let tables = origins
                    .into_iter()
                    .map(|origin| origin.table(Some(mapping)));
                return recording::from_tables(model, mapping, tables);
            }
            let mut tables = origins.into_iter().map(|origin| origin.table(None));
            let (mapping, noise) = match meaning {
                Meaning::Names(noise) => (tables.next(), noise),
                _ => (tables.next(), BTreeMap::new()),
            };
            // The names of the first recording speak for all.
            let first: Vec<Table> = mapping.into_iter().collect::<Result<_, _>>()?;
            let mapping = match first.first() {
                Some(table) => Mapping::of_own_arrays(model, table, &noise)?,
                None => Mapping::default(),
            };
            let tables = first.into_iter().map(Ok).chain(tables);
            recording::from_tables(model, &mapping, tables)
        });
        let inner = inner?.map_err(|error| errors::raised(&error))?;
        Ok(Self { inner, files })
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings.clone()
    }

    #[getter]
    fn labels(&self) -> Vec<String> {
        let trajectories = self.inner.trajectories.iter();
        trajectories.map(|one| one.label.clone()).collect()
    }
}
