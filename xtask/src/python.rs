//! The Python environment that holds the pinned MuJoCo.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{command, root, run};

/// An interpreter with MuJoCo that the user already has; no environment is made then.
const OVERRIDE: &str = "CAROM_PYTHON";
const REQUIREMENTS: &str = "xtask/reference/requirements.txt";

/// The interpreter that has the packages of `requirements.txt`, made in `.venv` when absent or out of date.
pub(crate) fn interpreter() -> Result<PathBuf, String> {
    if let Some(python) = std::env::var_os(OVERRIDE) {
        return Ok(PathBuf::from(python));
    }
    let environment = root().join(".venv");
    let stamp = environment.join("requirements.txt");
    let python = executable(&environment);
    let wanted = fs::read_to_string(root().join(REQUIREMENTS))
        .map_err(|error| format!("cannot read {REQUIREMENTS}: {error}"))?;
    let installed = fs::read_to_string(&stamp).is_ok_and(|present| present == wanted);
    if !(installed && python.exists()) {
        create(&environment, &python).map_err(|error| {
            format!(
                "{error}\nThe tests against MuJoCo need Python 3 with venv and access to its package index once; \
                 or set {OVERRIDE} to an interpreter that has the packages of {REQUIREMENTS}."
            )
        })?;
        fs::write(&stamp, wanted).map_err(|error| format!("cannot write to .venv: {error}"))?;
    }
    Ok(python)
}

fn create(environment: &Path, python: &Path) -> crate::Outcome {
    println!("creating .venv with the packages of {REQUIREMENTS}");
    run(command(system_python())
        .args(["-m", "venv"])
        .arg(environment))?;
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    run(command(python).args(install).args(["-r", REQUIREMENTS]))
}

fn system_python() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}

fn executable(environment: &Path) -> PathBuf {
    if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    }
}
