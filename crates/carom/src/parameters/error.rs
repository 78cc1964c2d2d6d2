//! Why numbers cannot be parameters.

use std::fmt;

/// Why numbers cannot be parameters; the text says what is wrong and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// A selector that is not of the form `family.name.attribute[components] modifiers`.
    Syntax(String),
    /// A family, attribute or element that does not exist.
    Unknown(String),
    /// A number without a derivative, or without an effect.
    Refused(String),
    /// Two selections that contradict each other.
    Conflict(String),
    /// A value that a transform or the physics does not admit.
    Value(String),
    /// A model whose numbers do not follow from a recipe.
    Model(String),
}

impl ParameterError {
    /// The sentence.
    pub fn message(&self) -> &str {
        match self {
            Self::Syntax(text)
            | Self::Unknown(text)
            | Self::Refused(text)
            | Self::Conflict(text)
            | Self::Value(text)
            | Self::Model(text) => text,
        }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.message())
    }
}

impl std::error::Error for ParameterError {}
