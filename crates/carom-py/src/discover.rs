//! Forces that a model lacks, by the search of `carom discover`.

use carom_report::{discovery_json, discovery_text};
use carom_tasks::discover::{Settings, discover as search};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::model::Model;
use crate::recordings::Recordings;
use crate::threads::{self, Attended};
use crate::{errors, identify};

/// What is asked.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    #[pyo3(item)]
    targets: Vec<String>,
    #[pyo3(item)]
    inputs: Vec<String>,
    /// Most transitions between frames that are looked at.
    #[pyo3(item)]
    samples: Option<usize>,
    #[pyo3(item)]
    threads: Option<usize>,
}

/// What `carom discover` prints, as JSON and as text. `progress` is called with steps, the share of errors that is left, and a note.
#[pyfunction]
pub(crate) fn discover(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    recordings: &Bound<'_, Recordings>,
    asked: Asked,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    let model = &*model.get().inner;
    let recordings = &recordings.get().inner;
    let settings = Settings {
        targets: asked.targets,
        inputs: asked.inputs,
        most_intervals: asked.samples.unwrap_or(Settings::default().most_intervals),
    };
    let attended = threads::attend(
        py,
        asked.threads,
        |stop, tell: &(dyn Fn((usize, f64)) + Sync)| {
            let mut hear = |step: usize, left: f64| tell((step, left));
            let asked = (Some(stop), &mut hear as &mut dyn FnMut(usize, f64));
            search(model, recordings, &settings, asked)
        },
        |py, (step, left)| identify::hear_numbers(py, progress.as_ref(), (step as u64, left)),
    )?;
    let Attended { result, raised } = attended;
    // Ctrl-C keeps what was found until then.
    let found = match (result, raised) {
        (Ok(found), None) => found,
        (Ok(found), Some(raised)) if raised.is_instance_of::<PyKeyboardInterrupt>(py) => found,
        (_, Some(raised)) => return Err(raised),
        (Err(error), None) => return Err(errors::raised(&error)),
    };
    Ok((discovery_json(&found).to_string(), discovery_text(&found)))
}
