//! How a model is to be simulated, in `<custom>`: a text that MuJoCo reads and ignores.
//!
//! ```xml
//! <custom>
//!   <text name="carom/simulation" data="tolerance=1e-06"/>
//! </custom>
//! ```
//!
//! Numbers that were identified in continuous time are those of the motion without errors of time steps. The text says so, and to which
//! tolerance the motion was followed.

use super::codes;
use super::extension::{self, Data, Extension};
use super::write::numbers_text;
use crate::model_spec::ModelSpec;

/// The family of the text.
const FAMILY: &str = "simulation";

impl Extension<'_, '_> {
    /// Reads how the model is to be simulated.
    pub(super) fn read_simulation(&self, spec: &mut ModelSpec) {
        if spec.continuous_time.is_some() {
            let message = format!("two texts are called '{}'", self.name);
            let problems = &self.reader.problems;
            problems.error(codes::REPEATED_NAME, self.place, message);
        }
        self.check_keys("text", &["tolerance"].into_iter());
        let mut tolerance = f64::NAN;
        self.number("tolerance", &mut tolerance);
        if tolerance > 0.0 && tolerance < 1.0 {
            spec.continuous_time = Some(tolerance);
        } else {
            let message = format!("'{}' needs a tolerance", self.name);
            self.refuse(message, "give one above 0 and below 1: tolerance=1e-6");
        }
    }
}

/// Name and text of the element that says the tolerance.
pub fn write(tolerance: f64) -> (String, String) {
    let mut data = Data::default();
    data.push("tolerance", &numbers_text(&[tolerance]));
    (extension::name(FAMILY, ""), data.0)
}
