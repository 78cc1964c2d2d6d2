//! Training of learned terms, by `carom learn terms`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use carom::parameters::Selection;
use carom::{Error, ErrorKind};
use carom_spec::mjcf::{AssetStorage, write_with};
use carom_spec::output::write_whole;
use carom_spec::weights;
use carom_tasks::identify::stepping_of;
use carom_tasks::learn::{self, Learned, Watch, blueprint};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;

use crate::model::Model;
use crate::recordings::Recordings;
use crate::threads::{self, Attended};
use crate::{errors, identify, output};

/// A blueprint: the path of a file, or a text and what it is called.
#[derive(FromPyObject)]
pub(crate) enum Blueprint {
    Text(String, String),
    File(PathBuf),
}

/// What is asked beside the blueprint.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    #[pyo3(item)]
    free: Vec<String>,
    #[pyo3(item)]
    horizons: Vec<usize>,
    #[pyo3(item)]
    evaluations: Option<u64>,
    #[pyo3(item)]
    checkpoint: Option<PathBuf>,
    #[pyo3(item)]
    resume: bool,
    #[pyo3(item)]
    threads: Option<usize>,
}

/// A model with trained terms.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Trained {
    learned: Learned,
    files: Vec<PathBuf>,
    is_interrupted: bool,
}

/// Passes on how training goes, and stores checkpoints.
struct Teller<'t> {
    tell: &'t (dyn Fn((u64, f64)) + Sync),
    checkpoint: Option<PathBuf>,
    /// The search at work, and evaluations of those before it.
    before: (usize, u64, u64),
}

impl Watch for Teller<'_> {
    fn progress(&mut self, progress: &learn::Progress<'_>) {
        let (search, sum, last) = &mut self.before;
        if *search != progress.search[0] {
            (*search, *sum) = (progress.search[0], *sum + *last);
        }
        *last = progress.evaluations[0];
        (self.tell)((*sum + *last, progress.loss));
    }

    fn wants_checkpoints(&self) -> bool {
        self.checkpoint.is_some()
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(path) = &self.checkpoint else {
            return Ok(());
        };
        Ok(write_whole(path, |out| {
            std::io::Write::write_all(out, bytes)
        })?)
    }
}

/// Trains the terms of a blueprint. `progress` is called with evaluations, the loss and a note.
#[pyfunction]
pub(crate) fn learn_terms(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    recordings: (Py<Recordings>, Option<Py<Recordings>>),
    blueprint: Blueprint,
    asked: Asked,
    progress: Option<Py<PyAny>>,
) -> PyResult<Trained> {
    let wrong = |error: Error| errors::raised(&error);
    let native = model.get();
    let Some(spec) = native.spec() else {
        return Err(errors::not_identified(
            "the model does not come from a file, so terms cannot be added: load it by carom.Model.load or from_string".to_owned(),
        ));
    };
    let (recordings, held_out) = &recordings;
    let (fitted, held_out) = (recordings.get(), held_out.as_ref().map(Py::get));
    let recorded = fitted
        .files
        .iter()
        .chain(held_out.iter().flat_map(|other| &other.files));
    let files: Vec<PathBuf> = native
        .files()
        .into_iter()
        .chain(recorded.cloned())
        .collect();
    output::check(asked.checkpoint.as_deref(), &files)?;
    let blueprint = match blueprint {
        Blueprint::File(path) => blueprint::read(&path),
        Blueprint::Text(name, text) => blueprint::parse(&text, &name),
    };
    let blueprint = blueprint.map_err(wrong)?;
    let mut settings = blueprint.training;
    settings.stepping = stepping_of(None, spec);
    if !asked.horizons.is_empty() {
        settings.horizons.clone_from(&asked.horizons);
    }
    settings.evaluations = asked.evaluations.unwrap_or(settings.evaluations);
    for text in &asked.free {
        let selection: Result<Selection, Error> = text.parse();
        settings.free.push(selection.map_err(wrong)?);
    }
    let resume = resumed(&asked)?;
    // Terms add no coordinates: the recordings fit the model with them, too.
    let load = |_: &carom::Model| {
        let held_out = held_out.map(|other| other.inner.clone());
        Ok((fitted.inner.clone(), held_out))
    };
    let attended = threads::attend(
        py,
        asked.threads,
        |stop, tell: &(dyn Fn((u64, f64)) + Sync)| {
            let mut teller = Teller {
                tell,
                checkpoint: asked.checkpoint.clone(),
                before: (0, 0, 0),
            };
            let watch = (Some(stop), &mut teller as &mut dyn Watch);
            let terms = blueprint.terms.clone();
            let spec = carom_spec::ModelSpec::clone(spec);
            let learned = learn::train(spec, terms, &load, &settings, resume.as_deref(), watch);
            (learned, stop.load(Ordering::Relaxed))
        },
        |py, numbers| identify::hear_numbers(py, progress.as_ref(), numbers),
    )?;
    let Attended { result, raised } = attended;
    let (learned, is_stopped) = result;
    // Ctrl-C keeps the best weights so far.
    let learned = match (learned, raised) {
        (Ok(learned), None) => learned,
        (Ok(learned), Some(raised)) if raised.is_instance_of::<PyKeyboardInterrupt>(py) => learned,
        (_, Some(raised)) => return Err(raised),
        (Err(error), None) => return Err(errors::raised(&error)),
    };
    Ok(Trained {
        is_interrupted: learned.is_stopped || is_stopped,
        learned,
        files,
    })
}

/// The bytes of a checkpoint to go on from.
fn resumed(asked: &Asked) -> PyResult<Option<Vec<u8>>> {
    let Some(path) = asked.checkpoint.as_deref().filter(|path| path.exists()) else {
        return Ok(None);
    };
    let place = path.display();
    if !asked.resume {
        return Err(errors::not_identified(format!(
            "the checkpoint '{place}' exists and would be overwritten: go on from it with resume=True, or remove it to start anew"
        )));
    }
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|cause| {
        errors::not_identified(format!("cannot read the checkpoint '{place}': {cause}"))
    })?;
    Ok(Some(bytes))
}

#[pymethods]
impl Trained {
    /// All of it as JSON.
    #[getter]
    fn document(&self) -> String {
        let learned = &self.learned;
        let horizons: Vec<_> = (learned.horizons.iter())
            .map(|one| {
                json!({
                    "frames": one.frames,
                    "search": one.search,
                    "evaluations": one.evaluations,
                    "loss_before": one.before,
                    "loss_after": one.after,
                    "validation": one.validation,
                    "end": one.end,
                })
            })
            .collect();
        let terms: Vec<_> = (learned.spec.learned_terms.iter())
            .map(|term| json!({"name": term.name, "weights": term.weights.len()}))
            .collect();
        let parameters: Vec<_> = (learned.parameters.iter())
            .map(|(name, [before, after])| json!({"name": name, "before": before, "after": after}))
            .collect();
        json!({
            "weights": learned.weights,
            "terms": terms,
            "parameters": parameters,
            "held_back": learned.held_back,
            "horizons": horizons,
            "validation": learned.validation.map(|[before, after]| json!({"before": before, "after": after})),
            "interrupted": self.is_interrupted,
        })
        .to_string()
    }

    /// The model with its terms.
    fn model(&self) -> Model {
        let spec = Arc::new(self.learned.spec.clone());
        Model::new(self.learned.model.clone(), Some(spec))
    }

    /// Writes the model, and its weights beside it in a file that ends with .safetensors.
    fn save(&self, path: PathBuf) -> PyResult<PathBuf> {
        let weights_path = path.with_extension("safetensors");
        for target in [&path, &weights_path] {
            output::check(Some(target), &self.files)?;
        }
        let mut spec = self.learned.spec.clone();
        let bytes = weights::write(&learn::weights_of(&spec.learned_terms));
        let file = weights_path.file_name().unwrap_or_default();
        for term in &mut spec.learned_terms {
            term.weights_file = Some(file.to_string_lossy().into_owned());
        }
        let text = write_with(&spec, AssetStorage::Inline);
        for (path, bytes) in [(&weights_path, bytes.as_slice()), (&path, text.as_bytes())] {
            let written = write_whole(path, |out| std::io::Write::write_all(out, bytes));
            written.map_err(|cause| errors::raised(&Error::of(ErrorKind::Write, cause)))?;
        }
        Ok(weights_path)
    }
}
