//! Parameters that are often freed together, with ranges that make sense.

use carom::parameters::{Selection, Tie};
use carom::{Error, ErrorKind};

use super::Free;

/// Names of the presets: contact parameters of all geoms, or of all explicit pairs, one of each for all of them.
pub const PRESETS: [&str; 2] = ["contact", "contact-pairs"];

/// Contact parameters with least and greatest value [Huang 2026, table II].
const CONTACT: [(&str, [f64; 2]); 8] = [
    ("friction[0]", [0.0, 1.0]),
    ("solimp[0]", [0.9, 0.95]),
    ("solimp[1]", [0.95, 0.99]),
    ("solimp[2]", [1e-4, 1e-2]),
    ("solimp[3]", [0.001, 0.1]),
    ("solimp[4]", [1.0, 5.0]),
    ("solref[0]", [0.001, 0.1]),
    ("solref[1]", [0.1, 10.0]),
];

/// The parameters of a preset. A model whose own values are outside of the ranges starts at the nearest value within.
///
/// # Errors
/// When there is none of this name.
pub fn preset(name: &str) -> Result<Vec<Free>, Error> {
    let family = match name {
        "contact" => "geom",
        "contact-pairs" => "pair",
        _ => {
            return Err(
                Error::new(ErrorKind::Name, format!("there is no preset '{name}'"))
                    .remedy(format!("there are: {}", PRESETS.join(", "))),
            );
        }
    };
    let free = |(attribute, bounds): (&str, [f64; 2])| Free {
        bounds: Some(bounds),
        moves_start: true,
        ..Free::new(Selection {
            tie: Tie::Equal,
            ..Selection::new(format!("{family}.*.{attribute}"))
        })
    };
    Ok(CONTACT.into_iter().map(free).collect())
}
