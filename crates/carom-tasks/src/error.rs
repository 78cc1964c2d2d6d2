//! The one error of carom, with the sentences that several tasks share.

use carom::{Error, ErrorKind, Place};
use carom_optimise::SpaceError;
use carom_optimise::statistics::InformationError;

/// A recording or its mapping cannot be used.
pub(crate) fn recording(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Recording, why)
}

/// The same, of one file.
pub(crate) fn in_recording(file: &str, why: impl std::fmt::Display) -> Error {
    recording(format!("'{file}': {why}")).at(Place::Recording {
        recording: file.to_owned(),
        column: None,
        frame: None,
    })
}

/// Settings, parameters and recordings do not go together.
pub(crate) fn settings(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Settings, why)
}

/// The model cannot be simulated or linearised.
pub(crate) fn no_loss(cause: Error) -> Error {
    Error::new(ErrorKind::Loss, "the loss cannot be computed").because(cause)
}

/// The same in a sentence, as the end of the one of [`no_loss`].
pub(crate) fn simulation(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Loss, why)
}

/// Bounds, starts or scales of a search that do not go together.
pub(crate) fn space(cause: SpaceError) -> Error {
    Error::of(ErrorKind::Settings, cause)
}

/// A Jacobian that tells nothing.
pub(crate) fn information(cause: InformationError) -> Error {
    Error::of(ErrorKind::Loss, cause)
}
