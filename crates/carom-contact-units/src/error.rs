//! Why numbers do not make a contact.

use carom::{Error, ErrorKind};

/// The value, if it is positive and finite.
pub(super) fn positive(quantity: &'static str, value: f64) -> Result<f64, Error> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    let message = format!("the {quantity} must be a positive number, found {value}");
    Err(Error::new(ErrorKind::Value, message))
}

/// A restitution outside of (0, 1].
pub(super) fn no_restitution(value: f64) -> Error {
    let message =
        format!("the coefficient of restitution must be above 0 and at most 1, found {value}");
    Error::new(ErrorKind::Value, message)
}

/// An impedance outside of the range 0.0001 … 0.9999.
pub(super) fn no_impedance(value: f64) -> Error {
    let message = format!("the impedance must be between 0.0001 and 0.9999, found {value}");
    Error::new(ErrorKind::Value, message)
}
