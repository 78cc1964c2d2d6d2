//! Why numbers do not make a contact.

use std::fmt;

/// Why numbers do not make a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnitsError {
    /// A quantity that must be positive and finite is not.
    NotPositive {
        /// What it is.
        quantity: &'static str,
        /// Its value.
        value: f64,
    },
    /// A restitution outside of (0, 1].
    Restitution(f64),
    /// An impedance outside of the range 0.0001 … 0.9999.
    Impedance(f64),
}

impl fmt::Display for UnitsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPositive { quantity, value } => {
                write!(
                    out,
                    "the {quantity} must be a positive number, found {value}"
                )
            }
            Self::Restitution(value) => write!(
                out,
                "the coefficient of restitution must be above 0 and at most 1, found {value}"
            ),
            Self::Impedance(value) => write!(
                out,
                "the impedance must be between 0.0001 and 0.9999, found {value}"
            ),
        }
    }
}

impl std::error::Error for UnitsError {}

/// The value, if it is positive and finite.
pub(super) fn positive(quantity: &'static str, value: f64) -> Result<f64, UnitsError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(UnitsError::NotPositive { quantity, value })
    }
}
