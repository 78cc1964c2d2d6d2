//! Identification of parameters, by the workflow of `carom identify`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use carom::parameters::Selection;
use carom::{Error, ErrorKind};
use carom_report::{identification_json, identification_page, identification_text, remarks};
use carom_spec::mjcf::{Allow, ReadSettings};
use carom_spec::output::write_whole;
use carom_spec::source::{DiskSource, Overlay};
use carom_spec::{MemorySource, ReadModel};
use carom_tasks::identify::workflow::{self, Event, Profiles, Question, WantedChecks};
use carom_tasks::identify::{
    Excitation, FREE_STARTS, Free, OptimiserKind, Outcome, ResidualKind, Settings, Watch,
    calibrated_at, in_continuous_time, loss_of,
};
use carom_tasks::problem::Starts;
use carom_tasks::recording;
use numpy::PyArrayDyn;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arrays::give;
use crate::model::Model;
use crate::recordings::Recordings;
use crate::threads::{self, Attended};
use crate::{errors, output};

/// What is asked, from JSON that the Python front has made.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// A settings file.
    settings_file: Option<PathBuf>,
    /// Settings of the same form.
    settings: Option<Value>,
    /// Selectors, or tables as [[parameter]] of a settings file has them.
    free: Vec<Value>,
    preset: Option<String>,
    residual: Option<ResidualKind>,
    loss: Option<String>,
    segments: Option<usize>,
    free_initial_states: bool,
    initial_state_draws: Option<usize>,
    tolerance: Option<f64>,
    optimiser: Option<String>,
    evaluations: Option<u64>,
    seconds: Option<f64>,
    seed: Option<u64>,
    anyway: bool,
    /// Profile likelihoods: always, never, or where they are cheap if it is left open.
    profiles: Option<bool>,
    folds: Option<usize>,
    recovery: Option<usize>,
    checkpoint: Option<PathBuf>,
    resume: bool,
}

impl Asked {
    fn settings(&self, recordings: &recording::Recordings) -> PyResult<Settings> {
        let wrong = |error: Error| errors::raised(&error);
        let mut settings = match (&self.settings_file, &self.settings) {
            (Some(path), _) => Settings::read(path).map_err(wrong)?,
            (None, Some(given)) => Settings::deserialize(given, "settings").map_err(wrong)?,
            (None, None) => Settings::default(),
        };
        for given in &self.free {
            match given {
                Value::String(text) => {
                    let selection: Result<Selection, Error> = text.parse();
                    let selection = selection.map_err(|error| errors::raised(&error))?;
                    settings.free.push(Free::new(selection));
                }
                table => {
                    let table = json!({ "parameter": [table] });
                    let one = Settings::deserialize(&table, "free").map_err(wrong)?;
                    settings.free.extend(one.free);
                }
            }
        }
        let sentence = |why: String| errors::not_identified(why);
        if let Some(name) = &self.preset {
            settings
                .add_preset(name)
                .map_err(|cause| wrong(Error::new(ErrorKind::Settings, "preset").because(cause)))?;
        }
        if let Some(name) = &self.optimiser {
            let known = OptimiserKind::ALL.iter().find(|(known, _)| known == name);
            settings.optimiser = known.map(|&(_, kind)| kind).ok_or_else(|| {
                let names: Vec<&str> = OptimiserKind::ALL.iter().map(|&(name, _)| name).collect();
                sentence(format!(
                    "there is no optimiser '{name}'; there are {}",
                    names.join(", ")
                ))
            })?;
        }
        if let Some(name) = &self.loss {
            settings.problem.loss = loss_of(name, recordings.evaluate.size).map_err(wrong)?;
        }
        settings.residual = self.residual.unwrap_or(settings.residual);
        if self.free_initial_states {
            settings.problem.starts = FREE_STARTS;
        }
        if let Some(count) = self.initial_state_draws {
            settings.problem.starts = Starts::Drawn { count };
        }
        if let Some(frames) = self.segments {
            settings.set_segments(frames);
        }
        if let Some(tolerance) = self.tolerance {
            settings.problem.stepping = in_continuous_time(tolerance);
        }
        settings.evaluations = self.evaluations.or(settings.evaluations);
        settings.seconds = self.seconds.or(settings.seconds);
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings.anyway = self.anyway;
        Ok(settings)
    }

    fn checks(&self) -> WantedChecks {
        WantedChecks {
            profiles: match self.profiles {
                Some(true) => Profiles::Always,
                Some(false) => Profiles::Never,
                None => Profiles::WhereCheap,
            },
            folds: self.folds,
            recovery: self.recovery,
            ..WantedChecks::default()
        }
    }

    /// The bytes of a checkpoint to go on from.
    fn resumed(&self) -> PyResult<Option<Vec<u8>>> {
        let Some(path) = self.checkpoint.as_deref().filter(|path| path.exists()) else {
            return Ok(None);
        };
        let place = path.display();
        if !self.resume {
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
}

/// What the search tells on its way.
enum Message {
    Progress(u64, f64),
    Note(String),
}

/// Passes on what the workflow tells, and stores checkpoints.
struct Teller<'t> {
    tell: &'t (dyn Fn(Message) + Sync),
    checkpoint: Option<&'t Path>,
}

impl Watch for Teller<'_> {
    fn progress(&mut self, evaluations: u64, lowest: f64) {
        (self.tell)(Message::Progress(evaluations, lowest));
    }

    fn event(&mut self, event: Event<'_>) {
        let note = match event {
            Event::InitialStatesFreed => {
                "the recordings do not give all of the initial states: they are estimated too"
                    .to_owned()
            }
            Event::Suggested(motions) if !motions.is_empty() => {
                let words: Vec<String> = motions.iter().map(Excitation::words).collect();
                format!(
                    "the recordings tell some parameters badly; what to record next: {}",
                    words.join("; ")
                )
            }
            Event::Suggested(_) | Event::Inspected(_) | Event::SearchBegins | Event::SearchEnds => {
                return;
            }
        };
        (self.tell)(Message::Note(note));
    }

    fn wants_checkpoints(&self) -> bool {
        self.checkpoint.is_some()
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(path) = self.checkpoint else {
            return Ok(());
        };
        Ok(write_whole(path, |out| out.write_all(bytes))?)
    }
}

/// What an identification found.
#[pyclass(frozen, module = "carom._core")]
pub(crate) struct Identification {
    outcome: Outcome,
    /// Recordings whose motion the report shows.
    shown: Py<Recordings>,
    warnings: Vec<String>,
    /// Of the model file, as JSON.
    diagnostics: String,
    /// The files that it was made from.
    files: Vec<PathBuf>,
    is_interrupted: bool,
    /// The file that the model comes from.
    path: PathBuf,
}

/// Name, unit, start, value, standard error, ends of the interval, and whether it lies at a bound.
type Estimate = (String, String, f64, f64, f64, (f64, f64), bool);

/// Identifies parameters of a model. `progress` is called with evaluations, the lowest loss and a note.
#[pyfunction]
pub(crate) fn identify(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    recordings: Py<Recordings>,
    held_out: Option<Py<Recordings>>,
    asked: &str,
    progress: Option<Py<PyAny>>,
    threads: Option<usize>,
) -> PyResult<Identification> {
    let asked: Asked = serde_json::from_str(asked)
        .map_err(|cause| errors::not_identified(format!("what is asked: {cause}")))?;
    let native = model.get();
    let Some(spec) = native.spec() else {
        return Err(errors::not_identified(
            "the model does not come from a file, so a calibrated one cannot be written: load it by carom.Model.load or from_string".to_owned(),
        ));
    };
    let fitted = recordings.get();
    let held_out_files = held_out.iter().flat_map(|one| &one.get().files);
    let recorded = fitted.files.iter().chain(held_out_files);
    let recorded = recorded.chain(&asked.settings_file).cloned();
    let files: Vec<PathBuf> = native.files().into_iter().chain(recorded).collect();
    output::check(asked.checkpoint.as_deref(), &files)?;
    let question = Question {
        model: &native.inner,
        spec,
        original: native.original(),
        recordings: &fitted.inner,
        held_out: held_out.as_ref().map(|held_out| &held_out.get().inner),
        settings: asked.settings(&fitted.inner)?,
        checks: asked.checks(),
        resume: None,
    };
    let resume = asked.resumed()?;
    let question = &Question {
        resume: resume.as_deref(),
        ..question
    };
    let checkpoint = asked.checkpoint.as_deref();
    let attended = threads::attend(
        py,
        threads,
        |stop, tell: &(dyn Fn(Message) + Sync)| {
            let mut teller = Teller { tell, checkpoint };
            let outcome = workflow::identify(question, Some(stop), &mut teller);
            (outcome, stop.load(Ordering::Relaxed))
        },
        |py, message| hear(py, progress.as_ref(), message),
    )?;
    let Attended { result, raised } = attended;
    let (outcome, is_stopped) = result;
    // Ctrl-C keeps what was found; any other exception, or nothing to keep, is the caller's.
    let outcome = match (outcome, raised) {
        (Ok(outcome), None) => outcome,
        (Ok(outcome), Some(raised)) if raised.is_instance_of::<PyKeyboardInterrupt>(py) => outcome,
        (_, Some(raised)) => return Err(raised),
        (Err(error), None) => return Err(errors::raised(&error)),
    };
    let mut warnings = fitted.inner.warnings.clone();
    for other in held_out
        .iter()
        .flat_map(|other| &other.get().inner.warnings)
    {
        if !warnings.contains(other) {
            warnings.push(other.clone());
        }
    }
    let path = native.original().map(|original| original.path().to_owned());
    Ok(Identification {
        path: path.unwrap_or_default(),
        is_interrupted: outcome.solution.is_stopped || is_stopped,
        outcome,
        warnings,
        diagnostics: native.diagnostics().to_owned(),
        files,
        shown: held_out.unwrap_or(recordings),
    })
}

fn hear(py: Python<'_>, progress: Option<&Py<PyAny>>, message: Message) -> PyResult<()> {
    match (message, progress) {
        (Message::Progress(evaluations, lowest), progress) => {
            hear_numbers(py, progress, (evaluations, lowest))
        }
        (Message::Note(note), Some(progress)) => {
            progress.call1(py, (0, f64::NAN, note)).map(|_| ())
        }
        (Message::Note(_), None) => Ok(()),
    }
}

/// Tells how far a search is, and how good.
pub(crate) fn hear_numbers(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    (evaluations, lowest): (u64, f64),
) -> PyResult<()> {
    match progress {
        Some(progress) => progress.call1(py, (evaluations, lowest, "")).map(|_| ()),
        None => Ok(()),
    }
}

#[pymethods]
impl Identification {
    #[getter]
    fn estimates(&self) -> Vec<Estimate> {
        let estimates = self.outcome.identified.estimates.iter();
        let of = |one: &carom_tasks::identify::Estimate| {
            let [low, high] = one.interval;
            (
                one.name.clone(),
                one.unit.clone(),
                one.start,
                one.value,
                one.error,
                (low, high),
                one.is_at_bound,
            )
        };
        estimates.map(of).collect()
    }

    /// Covariance of θ.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let covariance = &self.outcome.identified.covariance;
        let rows = covariance.rows();
        let numbers = (0..rows).flat_map(|row| covariance.row(row).to_vec());
        give(py, numbers.collect(), &[rows, rows])
    }

    /// As `carom identify --json` prints it.
    #[getter]
    fn document(&self) -> String {
        let mut document = identification_json(&self.outcome);
        document["diagnostics"] = serde_json::from_str(&self.diagnostics).unwrap_or_default();
        document["warnings"] = json!(self.warnings);
        if let (Some(why), false) = (self.outcome.refusal(), self.is_interrupted) {
            document["error"] = json!(why);
        }
        document.to_string()
    }

    /// As `carom identify` prints it.
    #[getter]
    fn text(&self) -> String {
        identification_text(&self.outcome)
    }

    /// What the recordings do not tell, and how far the numbers can be trusted.
    #[getter]
    fn remarks(&self) -> Vec<String> {
        remarks(&self.outcome)
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Why the answer is no.
    #[getter]
    fn refusal(&self) -> Option<String> {
        self.outcome.refusal()
    }

    #[getter]
    fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// The files that it was made from.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    /// The calibrated model.
    fn model(&self) -> Model {
        let model = self.outcome.identified.model.clone();
        match &self.outcome.description {
            Ok(text) => Model::of_files(model, self.read(text)),
            Err(_) => Model::new(model, None),
        }
    }

    /// The calibrated model as a file at a path, or beside the one it comes from.
    fn mjcf(&self, path: Option<PathBuf>) -> PyResult<String> {
        let text = self.outcome.description.clone();
        let placed = text.and_then(|text| match path {
            Some(path) => calibrated_at(&text, &self.path, &path),
            None => Ok(text),
        });
        placed.map_err(|error| errors::raised(&error))
    }

    /// The report.
    fn page(&self, py: Python<'_>) -> String {
        let shown = &self.shown.get().inner;
        py.detach(|| identification_page(&self.outcome, shown))
    }
}

impl Identification {
    /// The description that a calibrated model is written as, in the folder of the original.
    fn read(&self, text: &str) -> ReadModel {
        let memory = MemorySource::new().with(&self.path, text.to_owned());
        let files = Overlay::new(memory, DiskSource::default());
        let settings = ReadSettings {
            allow: Allow::Everything,
        };
        carom_spec::read::read(&self.path, &files, &settings)
    }
}
