//! Motions as pages, and models in the browser.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use carom::rollout::StateRow;
use carom_viewer::recording::FRAME_RATE;
use carom_viewer::{Recording, Server, Settings, Source, Start, Trajectory};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{Numbers, slice};
use crate::model::{MOCAP, Model};
use crate::tables;

/// A motion: its name, the model, states (n, width), poses of the mocap bodies, controls (1 or n − 1, nu) and ∂loss/∂qvel of
/// the first states.
type Motion<'py> = (
    String,
    Bound<'py, Model>,
    Numbers,
    Numbers,
    Numbers,
    Option<Numbers>,
);

/// A motion as the viewer takes it, with memory of its own.
struct Columns {
    name: String,
    model: Arc<carom::Model>,
    time: Vec<f64>,
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    act: Vec<f64>,
    ctrl: Vec<f64>,
    mocap_position: Vec<f64>,
    mocap_quat: Vec<f64>,
    gradient: Vec<f64>,
}

impl Columns {
    fn new((name, model, rows, mocap, controls, gradient): &Motion<'_>) -> PyResult<Self> {
        let native = model.get();
        let [width, mocap_width] = native.widths();
        let n = native.inner.counts();
        let count = tables::first(rows);
        let states = slice(rows, "states", &[count, width])?;
        let mocap = slice(mocap, "mocap", &[mocap_width])?;
        let sets = tables::first(controls);
        let controls = slice(controls, "controls", &[sets, n.nu])?;
        let gradient = match gradient {
            Some(gradient) => slice(gradient, "gradient", &[tables::first(gradient), n.nv])?,
            None => &[],
        };
        let layout = StateRow::new(&native.inner);
        let column = |range: Range<usize>| {
            let rows = states.chunks_exact(width.max(1));
            rows.flat_map(|row| row[range.clone()].iter().copied())
                .collect::<Vec<f64>>()
        };
        // Controls are of steps; the last state has those of the step that led to it.
        let control = |state: usize| {
            let set = state.min(sets.saturating_sub(1));
            controls.get(set * n.nu..(set + 1) * n.nu)
        };
        let ctrl = (0..count).filter_map(control).flatten().copied();
        let poses = mocap.chunks_exact(MOCAP);
        let positions: Vec<f64> = poses.clone().flat_map(|pose| &pose[..3]).copied().collect();
        let quats: Vec<f64> = poses.flat_map(|pose| &pose[3..]).copied().collect();
        Ok(Self {
            name: name.clone(),
            model: Arc::clone(&native.inner),
            time: column(0..1),
            qpos: column(layout.qpos()),
            qvel: column(layout.qvel()),
            act: column(layout.act()),
            ctrl: ctrl.collect(),
            mocap_position: positions.repeat(count),
            mocap_quat: quats.repeat(count),
            gradient: gradient.to_vec(),
        })
    }

    fn recording(&self) -> Result<Recording, String> {
        let motion = Trajectory {
            time: &self.time,
            qpos: &self.qpos,
            qvel: &self.qvel,
            act: &self.act,
            ctrl: &self.ctrl,
            mocap_position: &self.mocap_position,
            mocap_quat: &self.mocap_quat,
            gradient: &self.gradient,
        };
        Recording::new(&self.name, &self.model, &motion, Some(FRAME_RATE))
            .map_err(|cause| cause.to_string())
    }
}

/// A page that shows motions of a model, the second as a ghost.
#[pyfunction]
pub(crate) fn export_html(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    motions: Vec<Motion<'_>>,
) -> PyResult<String> {
    let model = Arc::clone(&model.get().inner);
    let columns: Vec<Columns> = motions
        .iter()
        .map(Columns::new)
        .collect::<PyResult<Vec<Columns>>>()?;
    let page = py.detach(|| {
        let bodies = model.counts().nbody;
        if let Some(other) = columns
            .iter()
            .find(|one| one.model.counts().nbody != bodies)
        {
            let count = other.model.counts().nbody;
            return Err(format!(
                "'{}' is a motion of {count} bodies, the model has {bodies}",
                other.name
            ));
        }
        let recordings: Result<Vec<Recording>, String> =
            columns.iter().map(Columns::recording).collect();
        Ok(carom_viewer::export_html(&model, &recordings?))
    });
    page.map_err(PyValueError::new_err)
}

/// A server that simulates a model for the browser.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Viewer {
    url: String,
    server: Mutex<Option<Server>>,
}

#[pymethods]
impl Viewer {
    /// Starts at a state, on the loopback interface.
    #[new]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, Model>,
        state: Numbers,
        mocap: Numbers,
        controls: Numbers,
        port: u16,
        paused: bool,
    ) -> PyResult<Self> {
        let native = model.get();
        let [width, mocap_width] = native.widths();
        let row = slice(&state, "state", &[width])?;
        let mocap = slice(&mocap, "mocap", &[mocap_width])?;
        let nu = native.inner.counts().nu;
        let start = Start {
            state: native.state(row, mocap),
            ctrl: slice(&controls, "controls", &[nu])?.to_vec(),
        };
        let source = Source::Live {
            model: Arc::clone(&native.inner),
            start,
            paused,
        };
        let settings = Settings {
            port,
            in_notebooks: true,
            ..Settings::default()
        };
        let server = py
            .detach(|| Server::start(source, &settings))
            .map_err(|cause| PyOSError::new_err(cause.to_string()))?;
        Ok(Self {
            url: server.url().to_owned(),
            server: Mutex::new(Some(server)),
        })
    }

    /// The address to open.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// A file that leads to the address, which only this user can read; none once it has ended.
    fn doorway(&self) -> PyResult<Option<PathBuf>> {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        let path = server.as_mut().map(Server::doorway).transpose()?;
        Ok(path.map(Path::to_path_buf))
    }

    /// Whether it still serves.
    #[getter]
    fn is_running(&self) -> bool {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        server.is_some()
    }

    /// Ends it.
    fn stop(&self, py: Python<'_>) {
        let server = self
            .server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        py.detach(|| drop(server));
    }
}
