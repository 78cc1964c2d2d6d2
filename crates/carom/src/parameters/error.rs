//! Why numbers cannot be parameters.

use crate::error::{Error, ErrorKind};

/// Why numbers cannot be parameters; the sentence of the [`Error`] says what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterProblem {
    /// A selector that is not of the form `family.name.attribute[components] modifiers`.
    Syntax,
    /// A family, attribute or element that does not exist.
    Unknown,
    /// A number without a derivative, or without an effect.
    Refused,
    /// Two selections that contradict each other.
    Conflict,
    /// A value that a transform or the physics does not admit.
    Value,
    /// A model whose numbers do not follow from a recipe.
    Model,
}

impl ParameterProblem {
    /// The error, in a sentence.
    pub(crate) fn error(self, sentence: impl Into<String>) -> Error {
        Error::new(ErrorKind::Parameter(self), sentence)
    }
}
