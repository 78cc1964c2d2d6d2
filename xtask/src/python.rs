//! Python environments with pinned packages: MuJoCo for the tests, more peers for some benchmarks.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{command, root, run};

/// An environment, made in a folder of the workspace when absent or out of date.
pub(crate) struct Environment {
    folder: &'static str,
    requirements: &'static str,
    /// Names an interpreter with the packages that the user already has; no environment is made then.
    variable: &'static str,
    purpose: &'static str,
}

/// What the tests need: MuJoCo.
const REFERENCE: Environment = Environment {
    folder: ".venv",
    requirements: "xtask/reference/requirements.txt",
    variable: "CAROM_PYTHON",
    purpose: "The tests against MuJoCo",
};

/// The peers that compute gradients: Pinocchio, MJX, and diffrax with it.
pub(crate) const PEERS: Environment = Environment {
    folder: ".venv-peers",
    requirements: "xtask/bench/requirements.txt",
    variable: "CAROM_PEERS_PYTHON",
    purpose: "The benchmarks beside Pinocchio and MJX",
};

/// MuJoCo with its toolbox for identification.
pub(crate) const SYSID: Environment = Environment {
    folder: ".venv-sysid",
    requirements: "xtask/bench/requirements-sysid.txt",
    variable: "CAROM_SYSID_PYTHON",
    purpose: "The benchmark beside mujoco.sysid",
};

/// What builds and tests the Python package.
pub(crate) const PACKAGE: Environment = Environment {
    folder: ".venv-package",
    requirements: "xtask/package/requirements.txt",
    variable: "CAROM_PACKAGE_PYTHON",
    purpose: "The Python package and its tests",
};

/// The interpreter that the tests use.
pub(crate) fn interpreter() -> Result<PathBuf, String> {
    REFERENCE.interpreter()
}

impl Environment {
    /// The interpreter that has the packages.
    pub(crate) fn interpreter(&self) -> Result<PathBuf, String> {
        if let Some(python) = std::env::var_os(self.variable) {
            return Ok(PathBuf::from(python));
        }
        let environment = root().join(self.folder);
        let stamp = environment.join("requirements.txt");
        let python = executable(&environment);
        let wanted = fs::read_to_string(root().join(self.requirements))
            .map_err(|error| format!("cannot read {}: {error}", self.requirements))?;
        let installed = fs::read_to_string(&stamp).is_ok_and(|present| present == wanted);
        if !(installed && python.exists()) {
            self.create(&environment, &python)
                .map_err(|error| format!("{error}\n{}", self.advice()))?;
            fs::write(&stamp, wanted)
                .map_err(|error| format!("cannot write to {}: {error}", self.folder))?;
        }
        Ok(python)
    }

    /// The interpreter, if it can import a module; otherwise how to get there.
    pub(crate) fn with_module(&self, module: &str) -> Result<PathBuf, String> {
        let python = self.interpreter()?;
        let mut attempt = command(&python);
        attempt.args(["-c", &format!("import {module}")]);
        crate::command::output(&mut attempt).map_err(|_| {
            let advice = self.advice();
            format!("{} cannot import {module}.\n{advice}", python.display())
        })?;
        Ok(python)
    }

    fn advice(&self) -> String {
        let Self {
            requirements,
            variable,
            purpose,
            ..
        } = self;
        format!(
            "{purpose} need Python 3 with venv and access to its package index once; or set {variable} to an interpreter \
             that has them: pip install -r {requirements}"
        )
    }

    fn create(&self, environment: &Path, python: &Path) -> crate::Outcome {
        println!(
            "creating {} with the packages of {}",
            self.folder, self.requirements
        );
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
        run(command(python)
            .args(install)
            .args(["-r", self.requirements]))
    }
}

/// The Python of the system, to make environments with.
pub(crate) fn system_python() -> &'static str {
    if cfg!(windows) { "python" } else { "python3" }
}

/// The interpreter of an environment.
pub(crate) fn executable(environment: &Path) -> PathBuf {
    if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    }
}
