//! Python environments with pinned packages: MuJoCo for the tests, more peers for some benchmarks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::command::{command, root, run};

/// An environment, made in a folder of the workspace when absent or out of date.
pub(crate) struct Environment {
    folder: &'static str,
    requirements: &'static str,
    /// Names an interpreter with the packages that the user already has; no environment is made then.
    variable: &'static str,
    purpose: &'static str,
    base: Base,
}

/// What an environment is made from.
enum Base {
    /// Any Python 3. What the requirements require in turn is installed as well.
    Any,
    /// A Python of the system that has this module, too large to be installed here. The requirements name all the rest.
    With(&'static str),
}

/// What the tests need: MuJoCo.
const REFERENCE: Environment = Environment {
    folder: ".venv",
    requirements: "xtask/reference/requirements.txt",
    variable: "CAROM_PYTHON",
    purpose: "The tests against MuJoCo",
    base: Base::Any,
};

/// The peers that compute gradients: Pinocchio, MJX, and diffrax with it.
pub(crate) const PEERS: Environment = Environment {
    folder: ".venv-peers",
    requirements: "xtask/bench/requirements.txt",
    variable: "CAROM_PEERS_PYTHON",
    purpose: "The benchmarks beside Pinocchio and MJX",
    base: Base::Any,
};

/// MuJoCo with its toolbox for identification.
pub(crate) const SYSID: Environment = Environment {
    folder: ".venv-sysid",
    requirements: "xtask/bench/requirements-sysid.txt",
    variable: "CAROM_SYSID_PYTHON",
    purpose: "The benchmark beside mujoco.sysid",
    base: Base::Any,
};

/// Tiny Differentiable Simulator's wheel.
pub(crate) const TDS: Environment = Environment {
    folder: ".venv-tds",
    requirements: "xtask/bench/requirements-tds.txt",
    variable: "CAROM_TDS_PYTHON",
    purpose: "The benchmark beside Tiny Differentiable Simulator",
    base: Base::Any,
};

/// What builds and tests the Python package.
pub(crate) const PACKAGE: Environment = Environment {
    folder: ".venv-package",
    requirements: "xtask/package/requirements.txt",
    variable: "CAROM_PACKAGE_PYTHON",
    purpose: "The Python package and its tests",
    base: Base::Any,
};

/// What tries the Python package with PyTorch and Stable-Baselines3.
pub(crate) const LEARNING: Environment = Environment {
    folder: ".venv-learning",
    requirements: "xtask/package/learning.txt",
    variable: "CAROM_LEARNING_PYTHON",
    purpose: "The tests with PyTorch and Stable-Baselines3",
    base: Base::With("torch"),
};

/// The interpreter that the tests use.
pub(crate) fn interpreter() -> Result<PathBuf, String> {
    REFERENCE.interpreter()
}

impl Environment {
    /// Whether this machine has what the environment is made from.
    pub(crate) fn is_possible(&self) -> bool {
        std::env::var_os(self.variable).is_some() || self.base().is_some()
    }

    /// The Python to make it from.
    fn base(&self) -> Option<&'static str> {
        let pythons = system_pythons();
        match self.base {
            Base::Any => pythons.first().copied(),
            Base::With(module) => pythons.iter().copied().find(|python| has(python, module)),
        }
    }

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
        let base = self.base().ok_or("no Python has what it is made from")?;
        let mut make = command(base);
        make.args(["-m", "venv"]).arg(environment);
        let mut install = command(python);
        install.args(["-m", "pip", "install", "--quiet"]);
        install.args(["--disable-pip-version-check", "-r", self.requirements]);
        if let Base::With(_) = self.base {
            make.arg("--system-site-packages");
            install.arg("--no-deps");
        }
        run(&mut make)?;
        run(&mut install)
    }
}

/// The Python of the system, to make environments with.
pub(crate) fn system_python() -> &'static str {
    system_pythons()[0]
}

/// The Python that the user calls, and the system's own, whose packages come with the system's.
fn system_pythons() -> &'static [&'static str] {
    if cfg!(windows) {
        &["python"]
    } else {
        &["python3", "/usr/bin/python3"]
    }
}

/// Whether a Python is there and has a module.
fn has(python: &str, module: &str) -> bool {
    let mut attempt = command(python);
    attempt.args(["-c", &format!("import {module}")]);
    attempt.stdout(Stdio::null()).stderr(Stdio::null());
    attempt.status().is_ok_and(|status| status.success())
}

/// The interpreter of an environment.
pub(crate) fn executable(environment: &Path) -> PathBuf {
    if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    }
}
