//! The one error of carom: what kind of thing is wrong, where, for what cause, and what helps.
//!
//! All crates of carom return it, so that a caller matches once, a front (command, Python) has one table of exit codes or
//! exceptions, and a reason is never reduced to text on its way up. What a caller decides by is in [`ErrorKind`]; sentences are
//! for people and may change.
//!
//! ```
//! use carom::{Error, ErrorKind, Model, parameters::{ParameterProblem, Parameters}};
//!
//! let model = carom::load::file("../../models/pendulum.xml".as_ref(), &[])?.model;
//! let error = Parameters::select(&model, &["body.arm.mass"]).unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::Parameter(ParameterProblem::Unknown)));
//!
//! // Who adds a system of their own says what is wrong in the same way.
//! let own = Error::new(ErrorKind::Value, "a spring pulls back").remedy("take a positive stiffness");
//! assert_eq!(own.to_string(), "a spring pulls back; take a positive stiffness");
//! # Ok::<(), Error>(())
//! ```

use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use carom_spec::output::WriteError;
use carom_spec::source::ReadError;

use crate::load::ModelProblems;
use crate::parameters::ParameterProblem;
use crate::rollout::NoGradient;

/// Why carom could not do what it was asked to.
///
/// It reads as `sentence: cause; remedy`, and so it does where `main` returns it.
#[derive(Clone)]
pub struct Error(Box<Parts>);

#[derive(Clone)]
struct Parts {
    kind: ErrorKind,
    sentence: String,
    place: Option<Place>,
    cause: Option<Arc<dyn StdError + Send + Sync>>,
    remedy: Option<String>,
}

/// What kind of thing is wrong.
///
/// Kinds that only tasks know (recordings, identification) stand here too: the fronts have one list to match.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be opened or read.
    Read,
    /// A file cannot be written.
    Write,
    /// A model file has errors; the diagnostics say which, and where.
    Model(Arc<ModelProblems>),
    /// The model, its contact law or a method does not admit what is asked.
    Unsupported,
    /// There is nothing of that name or number.
    Name,
    /// A value is out of its range, or there are too few or too many.
    Value,
    /// A number of the model cannot be a parameter as asked.
    Parameter(ParameterProblem),
    /// A trajectory has no gradient.
    Gradient(NoGradient),
    /// A recording or its mapping cannot be used.
    Recording,
    /// Settings, parameters and recordings do not go together.
    Settings,
    /// The loss cannot be computed: the model cannot be simulated or linearised.
    Loss,
    /// A checkpoint cannot be used or stored.
    Checkpoint,
    /// The calibrated model cannot be written as a description.
    Description,
    /// The recordings do not identify the parameters.
    NotIdentifiable {
        /// Motions that would.
        motions: Vec<String>,
    },
}

/// Where it is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A file as a whole.
    File(PathBuf),
    /// A place in a text file.
    Text {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// An element of the model, as in `geom 'box'`.
    Element(String),
    /// A recording, or a part of it.
    Recording {
        /// Its name, mostly that of its file.
        recording: String,
        /// The column.
        column: Option<String>,
        /// The frame, from 0.
        frame: Option<usize>,
    },
    /// A step of a trajectory, from 0.
    Step(usize),
}

impl Error {
    /// An error of a kind, with a sentence that says what is wrong.
    pub fn new(kind: ErrorKind, sentence: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            sentence: sentence.into(),
            place: None,
            cause: None,
            remedy: None,
        }))
    }

    /// An error of a kind that reads as its cause.
    pub fn of(kind: ErrorKind, cause: impl StdError + Send + Sync + 'static) -> Self {
        Self::new(kind, "").because(cause)
    }

    /// With its place.
    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.0.place = Some(place);
        self
    }

    /// With its cause.
    #[must_use]
    pub fn because(mut self, cause: impl StdError + Send + Sync + 'static) -> Self {
        self.0.cause = Some(Arc::new(cause));
        self
    }

    /// With what helps.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// What kind of thing is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where; that of the cause, if only that has one.
    pub fn place(&self) -> Option<&Place> {
        let of_cause = || self.cause()?.place();
        self.0.place.as_ref().or_else(of_cause)
    }

    /// What helps; that of the cause, if only that has one.
    pub fn help(&self) -> Option<&str> {
        let of_cause = || self.cause()?.help();
        self.0.remedy.as_deref().or_else(of_cause)
    }

    /// The cause, if that is an error of carom too.
    fn cause(&self) -> Option<&Self> {
        self.source()?.downcast_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.sentence)?;
        if let Some(cause) = &self.0.cause {
            let colon = if self.0.sentence.is_empty() { "" } else { ": " };
            write!(out, "{colon}{cause}")?;
        }
        match &self.0.remedy {
            Some(remedy) => write!(out, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    /// As it reads: `main` shows errors that it returns so.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(self.0.cause.as_deref()? as _)
    }
}

impl PartialEq for Error {
    /// The same kind of thing, at the same place, in the same words.
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
            && self.place() == other.place()
            && self.to_string() == other.to_string()
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        Self::new(ErrorKind::Read, error.to_string()).at(Place::File(error.path))
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        Self::new(ErrorKind::Write, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, ErrorKind, Place};

    #[test]
    fn an_error_reads_as_sentence_cause_and_remedy() {
        let cause = Error::new(ErrorKind::Value, "the mass is negative")
            .at(Place::Step(3))
            .remedy("bound it");
        let error = Error::new(ErrorKind::Loss, "the loss cannot be computed").because(cause);
        assert_eq!(
            error.to_string(),
            "the loss cannot be computed: the mass is negative; bound it"
        );
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(error.kind(), &ErrorKind::Loss);
        assert_eq!(error.place(), Some(&Place::Step(3)));
        assert_eq!(error.help(), Some("bound it"));
    }

    #[test]
    fn causes_keep_their_type() {
        let read = carom_spec::read_file("no_such.xml".as_ref(), &[]);
        let problems = crate::load::compiled(read).unwrap_err();
        let error = Error::new(ErrorKind::Description, "it cannot be written").because(problems);
        let cause =
            std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<Error>());
        assert!(matches!(cause.map(Error::kind), Some(ErrorKind::Model(_))));
    }
}
