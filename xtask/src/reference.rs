//! `cargo xtask reference`: what MuJoCo computes, as files that tests can read without MuJoCo.

use std::path::Path;

use crate::command::{self, command};
use crate::{Outcome, python};

/// Where the references of the shipped models are.
pub(crate) const DIRECTORY: &str = "tests/reference";
const GENERATOR: &str = "xtask/reference/make_reference.py";
const MODEL_CHECK: &str = "xtask/reference/check_models.py";

/// Run the generator on a folder with a manifest.
pub(crate) fn run(directory: &Path, names: &[String], check: bool) -> Outcome {
    // A folder that the user can see from where they stand; otherwise it is meant from the workspace's root.
    let directory = directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_path_buf());
    let mut generator = command(python::interpreter()?);
    generator
        .arg("-B")
        .arg(GENERATOR)
        .arg(directory)
        .args(names);
    if check {
        generator.arg("--check");
    }
    command::run(&mut generator)
}

/// Every shipped model loads in MuJoCo and runs there for some seconds from every keyframe.
pub(crate) fn check_models() -> Outcome {
    let mut check = command(python::interpreter()?);
    command::run(check.arg("-B").arg(MODEL_CHECK).arg(DIRECTORY))
}
