//! The native part of the Python package `carom`: the engine over numpy arrays.
//!
//! It is thin. Shapes, names, defaults and documentation are in `python/carom`; here arrays are in C order and of the one
//! shape that is expected, batches come first, and the interpreter is free while the engine works.
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]

mod arrays;
mod backward;
mod batch;
mod diff;
mod errors;
mod evaluate;
mod flow;
mod identify;
mod model;
mod options;
mod output;
mod parameters;
mod readings;
mod recordings;
mod results;
mod sensitivity;
mod tables;
mod tangent;
mod threads;
mod viewer;

use pyo3::prelude::*;

/// What the Python front is made on; no part of the public interface.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::backward::{ModelBar, backward};
    #[pymodule_export]
    use crate::batch::{rollout, step};
    #[pymodule_export]
    use crate::diff::diff;
    #[pymodule_export]
    use crate::evaluate::evaluate;
    #[pymodule_export]
    use crate::flow::{Motions, backward_of_motions, follow};
    #[pymodule_export]
    use crate::identify::{Identification, identify};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::output::write_text;
    #[pymodule_export]
    use crate::parameters::Parameters;
    #[pymodule_export]
    use crate::readings::{Readings, advance_and_read};
    #[pymodule_export]
    use crate::recordings::Recordings;
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::sensitivity::{jvp, linearize_steps};
    #[pymodule_export]
    use crate::viewer::{Viewer, export_html};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
