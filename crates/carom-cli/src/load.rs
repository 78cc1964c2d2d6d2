//! From a path to a compiled model, with problems rendered for people.

use std::path::{Path, PathBuf};

use carom::{ErrorKind, Model};
use carom_spec::diagnostic::nearest_name;
use carom_spec::mjcf::ReadSettings;
use carom_spec::read::read;
use carom_spec::source::{MemorySource, ReadError, ReadErrorKind};
use carom_spec::{Diagnostic, SourceMap};
use carom_tasks::identify::Original;
use serde_json::Value;

use crate::command_line::CommandLine;
use crate::failure::{self, Failure, READ};

/// A model together with what the reader and compiler had to say.
pub(crate) struct Loaded {
    /// The compiled model.
    pub model: Model,
    /// What the file says.
    pub spec: carom_spec::ModelSpec,
    /// Warnings as text with source lines; empty when there are none.
    pub warnings: String,
    /// Warnings, one by one.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts the diagnostics point into.
    pub sources: SourceMap,
}

impl Loaded {
    /// The files, which a calibrated model is a patch of.
    pub(crate) fn original(&self) -> Original<'_> {
        Original {
            spec: &self.spec,
            sources: &self.sources,
        }
    }

    /// The warnings as a JSON list.
    pub(crate) fn listed(&self) -> Value {
        failure::listed(&self.diagnostics, &self.sources)
    }
}

/// Reads and compiles a model file (MJCF or URDF). A file that cannot be read is a question that cannot be asked; one with
/// mistakes is the answer no.
pub(crate) fn load(path: &Path, allow: &[String]) -> Result<Loaded, Failure> {
    known(carom::load::file(path, allow))
}

/// As [`load`], for the text of a model file that needs no other.
pub(crate) fn of_text(text: &str) -> Result<Loaded, Failure> {
    const NAME: &str = "scene.xml";
    let files = MemorySource::new().with(NAME, text);
    let read = read(NAME.as_ref(), &files, &ReadSettings::default());
    known(carom::load::compiled(read))
}

fn known(loaded: Result<carom::load::Loaded, carom::Error>) -> Result<Loaded, Failure> {
    let loaded = loaded.map_err(|error| {
        let ErrorKind::Model(problems) = error.kind() else {
            return Failure::sentence(READ, error.to_string());
        };
        match &problems.unreadable {
            Some(cause) => unreadable(cause),
            None => Failure::of_model(problems),
        }
    })?;
    Ok(Loaded {
        warnings: carom_spec::diagnostic::render_all(&loaded.diagnostics, &loaded.sources),
        model: loaded.model,
        spec: loaded.spec,
        diagnostics: loaded.diagnostics,
        sources: loaded.sources,
    })
}

/// The file cannot be read: where it was asked for, and which one may have been meant.
fn unreadable(cause: &ReadError) -> Failure {
    let mut diagnostic = Diagnostic::error(READ, cause.to_string());
    if let (ReadErrorKind::NotFound, Some(near)) = (&cause.kind, nearest_file(&cause.path)) {
        diagnostic = diagnostic.help(format!("did you mean '{}'?", near.display()));
    }
    let line = CommandLine::of_process();
    match line.find("", &cause.path.to_string_lossy()) {
        Some(place) => line.refuse(place, diagnostic),
        None => Failure::unasked(vec![diagnostic], SourceMap::new()),
    }
}

/// Files of a folder that are looked at.
const MAX_FILES: usize = 10_000;

/// The file in the same folder whose name is most alike.
fn nearest_file(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let listed = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let entries = std::fs::read_dir(listed).ok()?.take(MAX_FILES);
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let near = nearest_name(
        path.file_name()?.to_str()?,
        names.iter().map(String::as_str),
    )?;
    Some(folder.join(near))
}

/// As [`load`], without the warnings.
pub(crate) fn model(path: &Path, allow: &[String]) -> Result<Model, Failure> {
    load(path, allow).map(|loaded| loaded.model)
}
