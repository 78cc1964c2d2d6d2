//! Why a command has no answer, and how that is said: text with source lines, or JSON.

use std::process::ExitCode;

use carom::load::ModelProblems;
use carom::{Error, ErrorKind};
use carom_spec::diagnostic::{render_all, to_json};
use carom_spec::output::WriteError;
use carom_spec::source::ReadError;
use carom_spec::{Diagnostic, SourceMap};
use serde_json::{Value, json};

use crate::stdio;

/// The command line is not understood.
pub(crate) const USAGE: &str = "A001";
/// A value does not fit its flag.
pub(crate) const VALUE: &str = "A002";
/// A name that does not exist.
pub(crate) const NAME: &str = "A003";
/// A file cannot be read.
pub(crate) const READ: &str = "A010";
/// A file holds something else than was expected.
pub(crate) const CONTENT: &str = "A011";
/// A file cannot be written.
pub(crate) const WRITE: &str = "A012";
/// The computation could not be carried through.
pub(crate) const COMPUTATION: &str = "A020";

/// Exit code of a question that could not be asked.
const UNASKED: u8 = 2;
/// Exit code of the answer no.
const NO: u8 = 1;

/// Why a command has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What is wrong, one by one.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts that they point into.
    pub sources: SourceMap,
    exit: u8,
}

impl Failure {
    /// The question could not be asked: exit code 2.
    pub(crate) fn unasked(diagnostics: Vec<Diagnostic>, sources: SourceMap) -> Self {
        Self {
            diagnostics,
            sources,
            exit: UNASKED,
        }
    }

    /// The same in a sentence without a place.
    pub(crate) fn sentence(code: &'static str, message: impl Into<String>) -> Self {
        Self::unasked(vec![Diagnostic::error(code, message)], SourceMap::new())
    }

    /// The model file has mistakes: the answer is no.
    pub(crate) fn of_model(problems: &ModelProblems) -> Self {
        Self::unasked(problems.diagnostics.clone(), problems.sources.clone()).answered()
    }

    /// A problem of a text file.
    pub(crate) fn in_text(
        path: &std::path::Path,
        text: &str,
        place: std::ops::Range<usize>,
        diagnostic: Diagnostic,
    ) -> Self {
        let mut sources = SourceMap::new();
        let file = sources.add(path, text, None);
        let span = carom_spec::Span::new(file, place.start, place.end);
        Self::unasked(vec![diagnostic.at(span)], sources)
    }

    /// The answer is no: exit code 1.
    #[must_use]
    pub(crate) fn answered(mut self) -> Self {
        self.exit = NO;
        self
    }

    /// With advice for the last problem.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(last) = self.diagnostics.pop() {
            self.diagnostics.push(last.help(help));
        }
        self
    }

    /// For a terminal.
    pub(crate) fn rendered(&self) -> String {
        render_all(&self.diagnostics, &self.sources)
    }

    /// The document for programs.
    pub(crate) fn to_json(&self) -> Value {
        let errors = self.diagnostics.iter().filter(|one| one.is_error());
        let messages: Vec<&str> = errors.map(|error| error.message.as_str()).collect();
        json!({ "error": messages.first(), "diagnostics": listed(&self.diagnostics, &self.sources) })
    }

    /// Says it and gives the exit code. The text goes to standard error in any case: who reads the log need not read JSON.
    pub(crate) fn report(&self, as_json: bool) -> ExitCode {
        stdio::warn(&self.rendered());
        if as_json {
            stdio::print(&self.to_json().to_string());
        }
        ExitCode::from(self.exit)
    }
}

impl From<Error> for Failure {
    /// The one table of what errors of carom are on the command line: a code, and 1 for the answer no or 2 for a question
    /// that could not be asked.
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error.kind() {
            ErrorKind::Model(problems) => Self::of_model(problems),
            ErrorKind::Read => Self::sentence(READ, message),
            ErrorKind::Write | ErrorKind::Checkpoint => Self::sentence(WRITE, message),
            ErrorKind::Gradient(_) | ErrorKind::Loss | ErrorKind::Description => {
                Self::sentence(COMPUTATION, message).answered()
            }
            ErrorKind::NotIdentifiable { motions } => {
                let record = match motions.as_slice() {
                    [] => "record other motions".to_owned(),
                    motions => format!("record other motions ({})", motions.join(", or ")),
                };
                let help = format!(
                    "hold one of them, give a prior in --settings, {record}, or fit all the same with --anyway"
                );
                Self::sentence(COMPUTATION, message).answered().help(help)
            }
            _ => Self::sentence(CONTENT, message),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::sentence(READ, error.to_string())
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::sentence(WRITE, error.to_string())
    }
}

/// Diagnostics as a JSON list.
pub(crate) fn listed(diagnostics: &[Diagnostic], sources: &SourceMap) -> Value {
    serde_json::from_str(&to_json(diagnostics, sources)).unwrap_or_default()
}

/// Ends a command: says why there is no answer, if so.
pub(crate) fn finish(as_json: bool, outcome: Result<ExitCode, Failure>) -> ExitCode {
    outcome.unwrap_or_else(|failure| failure.report(as_json))
}
