//! Parameters that are often freed together, with ranges that make sense.

use carom::parameters::{Selection, Tie, Transform};
use carom::{Error, ErrorKind};

use super::{FREE_STARTS, Free, Settings};
use crate::problem::Starts;

/// Names of the presets. `contact` is what a few throws tell of a contact: sliding friction, time constant and damping ratio of all geoms,
/// one of each; `contact-pairs` that of all explicit pairs. `contact-all` and `contact-pairs-all` free the impedance too.
pub const PRESETS: [&str; 4] = [
    "contact",
    "contact-pairs",
    "contact-all",
    "contact-pairs-all",
];

/// What a few throws tell of a contact, with least and greatest value: from ice to rubber, from stiff to soft, from bouncing to creeping.
const CONTACT: [(&str, [f64; 2]); 3] = [
    ("friction[0]", [0.01, 3.0]),
    ("solref[0]", [0.002, 0.2]),
    ("solref[1]", [0.05, 5.0]),
];

/// Contact parameters with least and greatest value [Huang 2026, table II].
const CONTACT_ALL: [(&str, [f64; 2]); 8] = [
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
    let (family, parameters, transform) = match name {
        "contact" => ("geom", CONTACT.as_slice(), Transform::Log),
        "contact-pairs" => ("pair", CONTACT.as_slice(), Transform::Log),
        "contact-all" => ("geom", CONTACT_ALL.as_slice(), Transform::Identity),
        "contact-pairs-all" => ("pair", CONTACT_ALL.as_slice(), Transform::Identity),
        _ => {
            return Err(
                Error::new(ErrorKind::Name, format!("there is no preset '{name}'"))
                    .remedy(format!("there are: {}", PRESETS.join(", "))),
            );
        }
    };
    let free = |&(attribute, bounds): &(&str, [f64; 2])| Free {
        bounds: Some(bounds),
        moves_start: true,
        ..Free::new(Selection {
            tie: Tie::Equal,
            transform,
            ..Selection::new(format!("{family}.*.{attribute}"))
        })
    };
    Ok(parameters.iter().map(free).collect())
}

impl Settings {
    /// Frees the parameters of a preset. `contact` and `contact-pairs` also leave segments and initial states to a horizon that
    /// [grows](Self::grows), unless these are said elsewhere.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn add_preset(&mut self, name: &str) -> Result<(), Error> {
        self.free.extend(preset(name)?);
        if matches!(name, "contact" | "contact-pairs") && self.frees_starts {
            self.grows = true;
            if self.problem.starts == Starts::Recorded {
                self.problem.starts = FREE_STARTS;
            }
        }
        Ok(())
    }
}
