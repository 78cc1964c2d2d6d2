//! The compiled model.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use carom::load::{self, Loaded};
use carom::rollout::StateRow;
use carom::{Data, State};
use carom_spec::diagnostic::{render_all, to_json};
use carom_spec::mjcf::{Allow, AssetStorage, ReadSettings, write_with};
use carom_spec::model_spec::ProcessedMesh;
use carom_spec::source::{DiskSource, Overlay};
use carom_spec::{MemorySource, ModelSpec, ReadModel, SourceMap};
use carom_tasks::identify::Original;
use numpy::PyArrayDyn;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Numbers, give, slice};
use crate::threads::abandonable;
use crate::{errors, options, tables};

/// Work areas that are kept at most.
const KEPT: usize = 64;

/// A compiled model.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Model {
    pub(crate) inner: Arc<carom::Model>,
    /// What the file says; none for models that do not come from one.
    spec: Option<Arc<ModelSpec>>,
    /// The files that it comes from: what they say, and their texts.
    files: Option<(Arc<ModelSpec>, Arc<SourceMap>)>,
    /// Warnings, as text and as JSON.
    warnings: (String, String),
    /// Work areas that are not in use.
    areas: Arc<Mutex<Vec<Data>>>,
}

/// The hull of a mesh: vertices, neighbours, triangles, polygons, and polygons around vertices.
type Hull = (
    Vec<u32>,
    Vec<Vec<u32>>,
    Vec<[u32; 3]>,
    Vec<Vec<u32>>,
    Vec<Vec<u32>>,
);

/// Numbers per mocap body: position and orientation.
pub(crate) const MOCAP: usize = 7;

/// A work area that goes back to its model.
pub(crate) struct Area {
    data: Option<Data>,
    home: Arc<Mutex<Vec<Data>>>,
}

impl Area {
    pub(crate) fn data(&mut self, model: &carom::Model) -> &mut Data {
        self.data.get_or_insert_with(|| Data::new(model))
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        let mut areas = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if areas.len() < KEPT {
            areas.extend(self.data.take());
        }
    }
}

impl Model {
    pub(crate) fn new(inner: carom::Model, spec: Option<Arc<ModelSpec>>) -> Self {
        Self {
            inner: Arc::new(inner),
            spec,
            files: None,
            warnings: (String::new(), "[]".to_owned()),
            areas: Arc::default(),
        }
    }

    fn loaded(result: Result<Loaded, carom::Error>) -> PyResult<Self> {
        let loaded = result.map_err(|error| errors::raised(&error))?;
        let spec = Arc::new(loaded.spec);
        Ok(Self {
            warnings: (
                render_all(&loaded.diagnostics, &loaded.sources),
                to_json(&loaded.diagnostics, &loaded.sources),
            ),
            files: Some((Arc::clone(&spec), Arc::new(loaded.sources))),
            ..Self::new(loaded.model, Some(spec))
        })
    }

    /// This model with other numbers or options.
    pub(crate) fn changed(&self, inner: carom::Model, spec: Option<Arc<ModelSpec>>) -> Self {
        Self {
            files: self.files.clone(),
            ..Self::new(inner, spec)
        }
    }

    /// A model with the files that say the same.
    pub(crate) fn of_files(inner: carom::Model, read: ReadModel) -> Self {
        let spec = Arc::new(read.spec);
        Self {
            files: Some((Arc::clone(&spec), Arc::new(read.sources))),
            ..Self::new(inner, Some(spec))
        }
    }

    /// The files that it comes from.
    pub(crate) fn original(&self) -> Option<Original<'_>> {
        let (spec, sources) = self.files.as_ref()?;
        Some(Original { spec, sources })
    }

    /// What the file says; none for models that do not come from one.
    pub(crate) fn spec(&self) -> Option<&Arc<ModelSpec>> {
        self.spec.as_ref()
    }

    /// Warnings as JSON.
    pub(crate) fn diagnostics(&self) -> &str {
        &self.warnings.1
    }

    /// A work area.
    pub(crate) fn area(&self) -> Area {
        let mut areas = self.areas.lock().unwrap_or_else(PoisonError::into_inner);
        Area {
            data: areas.pop(),
            home: Arc::clone(&self.areas),
        }
    }

    /// The state that a row and the poses of the mocap bodies stand for.
    pub(crate) fn state(&self, row: &[f64], mocap: &[f64]) -> State {
        let model = &*self.inner;
        let mut state = State::reference(model);
        StateRow::new(model).read(row, &mut state);
        for (body, pose) in mocap.chunks_exact(MOCAP).enumerate() {
            state.mocap_position[body].0.copy_from_slice(&pose[..3]);
            state.mocap_quat[body].0.copy_from_slice(&pose[3..]);
        }
        state
    }

    /// Writes a state into a row, except for the poses of the mocap bodies.
    pub(crate) fn write(&self, state: &State, row: &mut [f64]) {
        StateRow::new(&self.inner).write(state, row);
    }

    /// Numbers of a row of a state, and of the poses of the mocap bodies.
    pub(crate) fn widths(&self) -> [usize; 2] {
        let row = StateRow::new(&self.inner);
        [row.width(), MOCAP * self.inner.counts().nmocap]
    }
}

/// A state as its row and the poses of the mocap bodies.
type Rows<'py> = (Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>);

/// The same with controls.
type KeyframeRows<'py> = (
    Bound<'py, PyArrayDyn<f64>>,
    Bound<'py, PyArrayDyn<f64>>,
    Bound<'py, PyArrayDyn<f64>>,
);

fn rows<'py>(py: Python<'py>, model: &carom::Model, state: &State) -> PyResult<Rows<'py>> {
    let layout = StateRow::new(model);
    let mut row = vec![0.0; layout.width()];
    layout.write(state, &mut row);
    let poses = state.mocap_position.iter().zip(&state.mocap_quat);
    let mocap: Vec<f64> = poses
        .flat_map(|(position, quat)| position.0.into_iter().chain(quat.0))
        .collect();
    let bodies = mocap.len() / MOCAP;
    let row = give(py, row, &[layout.width()])?;
    Ok((row, give(py, mocap, &[bodies, MOCAP])?))
}

fn allow(codes: Vec<String>) -> Allow {
    match codes {
        codes if codes.is_empty() => Allow::Nothing,
        codes if codes.iter().any(|code| code == "all") => Allow::Everything,
        codes => Allow::Codes(codes),
    }
}

#[pymethods]
impl Model {
    /// Reads a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, allow: Vec<String>) -> PyResult<Self> {
        abandonable(py, move || Self::loaded(load::file(&path, &allow)))?
    }

    /// Reads a text; other files come from memory or from a folder.
    #[staticmethod]
    fn from_string(
        py: Python<'_>,
        text: String,
        directory: PathBuf,
        assets: BTreeMap<PathBuf, Vec<u8>>,
        allow_codes: Vec<String>,
    ) -> PyResult<Self> {
        abandonable(py, move || {
            let path = directory.join("<string>");
            let mut memory = MemorySource::new().with(&path, text);
            for (name, bytes) in assets {
                memory = memory.with(directory.join(name), bytes);
            }
            let source = Overlay::new(memory, DiskSource::default());
            let settings = ReadSettings {
                allow: allow(allow_codes),
            };
            Self::loaded(load::compiled(carom_spec::read::read(
                &path, &source, &settings,
            )))
        })?
    }

    /// Takes over a model that MuJoCo has compiled: its description without what is processed already, the hulls of its
    /// meshes, its numbers by its names for them, and its names.
    #[staticmethod]
    fn adopt(
        py: Python<'_>,
        text: String,
        meshes: Vec<Hull>,
        numbers: BTreeMap<String, Numbers>,
        names: BTreeMap<String, Vec<String>>,
    ) -> PyResult<Self> {
        let path = PathBuf::from("<MjModel>");
        let source = MemorySource::new().with(&path, text);
        let mut read = carom_spec::read::read(&path, &source, &ReadSettings::default());
        for (mesh, hull) in read.spec.meshes.iter_mut().zip(meshes) {
            let (vertices, neighbors, faces, polygons, polygons_around) = hull;
            mesh.processed = Some(ProcessedMesh {
                vertices,
                neighbors,
                faces,
                polygons,
                polygons_around,
            });
        }
        let loaded = py.detach(|| load::compiled(read));
        let loaded = loaded.map_err(|error| errors::raised(&error))?;
        let mut by_name = carom_mujoco::Numbers::new();
        for (quantity, name) in carom_mujoco::adopted() {
            if let Some(array) = numbers.get(name) {
                by_name.insert(quantity, slice(array, name, array.shape())?);
            }
        }
        let names = tables::renamed(&loaded.model, &names);
        let model = carom_mujoco::adopt(loaded.model, &by_name, names)
            .map_err(|error| errors::raised(&error))?;
        Ok(Self {
            warnings: (
                render_all(&loaded.diagnostics, &loaded.sources),
                to_json(&loaded.diagnostics, &loaded.sources),
            ),
            ..Self::new(model, None)
        })
    }

    /// MuJoCo's names of the arrays that [`Self::adopt`] takes.
    #[staticmethod]
    fn adopted_arrays() -> Vec<&'static str> {
        carom_mujoco::adopted().map(|(_, name)| name).collect()
    }

    /// The same model with other options.
    fn with_options(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let changes = options::Changes::from_dict(options)?;
        py.detach(|| {
            let (model, spec) = changes.apply(&self.inner, self.spec.as_deref())?;
            Ok(self.changed(model, spec.map(Arc::new)))
        })
    }

    /// Writes the description that the model was compiled from as MJCF.
    fn to_mjcf(&self) -> Option<String> {
        self.spec.as_deref().map(carom_spec::mjcf::write)
    }

    /// A text from which the same model is read, to the bit; none where no text says all of it.
    fn portable(&self, py: Python<'_>) -> Option<String> {
        let spec = self.spec.as_deref()?;
        py.detach(|| {
            let text = write_with(spec, AssetStorage::Inline);
            let path = PathBuf::from("<model>");
            let source = MemorySource::new().with(&path, text.clone());
            let settings = ReadSettings {
                allow: Allow::Everything,
            };
            let read = carom_spec::read::read(&path, &source, &settings);
            let again = load::compiled(read).ok()?.model;
            let bits = |model: &carom::Model| -> Vec<u64> {
                model.flat().into_iter().map(f64::to_bits).collect()
            };
            let is_same =
                again.settings == self.inner.settings && bits(&again) == bits(&self.inner);
            is_same.then_some(text)
        })
    }

    /// The generalised forces under which states accelerate so, a row each.
    fn inverse<'py>(
        &self,
        py: Python<'py>,
        rows: (Numbers, Numbers),
        accelerations: Numbers,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let nv = self.inner.counts().nv;
        let [width, poses] = self.widths();
        let (states, mocap) = rows;
        let rows = slice(&states, "state", states.shape())?;
        let mocap = slice(&mocap, "mocap", mocap.shape())?;
        let accelerations = slice(&accelerations, "qacc", accelerations.shape())?;
        let count = rows.len() / width.max(1);
        let forces = py.detach(|| {
            let mut area = self.area();
            let data = area.data(&self.inner);
            let mut forces = vec![0.0; count * nv];
            for (index, force) in forces.chunks_exact_mut(nv.max(1)).enumerate() {
                let state = self.state(
                    &rows[index * width..][..width],
                    &mocap[index * poses..][..poses],
                );
                let acceleration = &accelerations[index * nv..][..nv];
                carom::inverse::forward(&self.inner, &state, acceleration, data, force);
            }
            forces
        });
        give(py, forces, &[count, nv])
    }

    /// Warnings, as text and as JSON.
    #[getter]
    fn warnings(&self) -> (&str, &str) {
        (&self.warnings.0, &self.warnings.1)
    }

    /// The files that it was read from.
    #[getter]
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let paths = self.files.iter().flat_map(|(_, sources)| sources.paths());
        paths.map(Path::to_owned).collect()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.structure.names.model
    }

    /// Sizes, by MuJoCo's names.
    #[getter]
    fn counts(&self) -> HashMap<&'static str, usize> {
        tables::counts(&self.inner).into_iter().collect()
    }

    /// How to simulate.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        options::describe(py, &self.inner)
    }

    /// Where the parts of a state are in its row.
    #[getter]
    fn layout(&self) -> HashMap<&'static str, (usize, usize)> {
        let row = StateRow::new(&self.inner);
        let parts = [
            ("qpos", row.qpos()),
            ("qvel", row.qvel()),
            ("act", row.act()),
            ("warmstart", row.warmstart()),
            ("history", row.history()),
        ];
        let parts = parts.map(|(name, range)| (name, (range.start, range.end)));
        parts.into_iter().collect()
    }

    /// Names of the elements of a family.
    fn names(&self, family: &str) -> PyResult<Vec<String>> {
        let names = tables::names(&self.inner, family);
        let names = names.ok_or_else(|| PyKeyError::new_err(family.to_owned()))?;
        Ok(names.to_vec())
    }

    /// An array of the model, by MuJoCo's name, flat.
    fn constant<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let constant = carom_mujoco::constant(name);
        let constant = constant.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let numbers = constant.get(&self.inner);
        let count = numbers.len();
        give(py, numbers, &[count])
    }

    /// The default state.
    fn reference<'py>(&self, py: Python<'py>) -> PyResult<Rows<'py>> {
        rows(py, &self.inner, &State::reference(&self.inner))
    }

    /// The state of a keyframe, and its controls.
    fn keyframe<'py>(&self, py: Python<'py>, index: usize) -> PyResult<KeyframeRows<'py>> {
        let state = State::keyframe(&self.inner, index)
            .ok_or_else(|| PyValueError::new_err(format!("there is no keyframe {index}")))?;
        let (row, mocap) = rows(py, &self.inner, &state)?;
        let nu = self.inner.counts().nu;
        let controls = self.inner.keyframes.ctrl[index * nu..][..nu].to_vec();
        Ok((row, mocap, give(py, controls, &[nu])?))
    }

    /// Moves configurations along tangents: qpos ⊕ tangent.
    fn integrate<'py>(
        &self,
        py: Python<'py>,
        qpos: Numbers,
        tangent: Numbers,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        tables::integrate(py, &self.inner, &qpos, &tangent)
    }

    /// Tangents from configurations to others.
    fn difference<'py>(
        &self,
        py: Python<'py>,
        from: Numbers,
        to: Numbers,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        tables::difference(py, &self.inner, &from, &to)
    }
}
