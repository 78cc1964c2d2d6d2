//! The Python package: built as `pip install .` builds it, then its tests, examples and types.
//!
//! It is compiled as the tests are, which shares most of the work with them, and put into a folder of its own: no
//! environment of the user is changed.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::command::{command, root, run};
use crate::python::{LEARNING, PACKAGE};
use crate::tally::Tally;

/// Where the package is put, from the root.
const FOLDER: &str = "target/package";

/// The settings of the tests' profile, under the name of another: what is compiled already is used, and `cargo rustc`, which
/// maturin calls, would take the name `test` for a wish to build tests.
const AS_TESTS: &str = "--profile=dev --config=profile.dev.opt-level=1 \
    --config=profile.dev.package.carom-spec.opt-level=0 --locked";

/// Build the package and check it.
pub(crate) fn check(tally: &mut Tally) -> Outcome {
    let python = PACKAGE.interpreter()?;
    build(&python)?;
    let checks: [&[&str]; 4] = [
        &["-m", "pytest", "--quiet", "-rs", "python/tests"],
        &[
            "-m",
            "pytest",
            "--quiet",
            "--doctest-modules",
            "--doctest-ignore-import-errors",
            "--pyargs",
            "carom",
        ],
        &[
            "-m",
            "mypy",
            "--strict",
            "python/carom",
            "python/tests",
            "python/examples",
        ],
        &[
            "-m",
            "mypy.stubtest",
            "carom",
            "--mypy-config-file=pyproject.toml",
            "--allowlist=xtask/package/stubtest.txt",
            "--ignore-unused-allowlist",
        ],
    ];
    let checks = checks.map(|arguments| {
        let mut check = with_package(&python);
        check.args(arguments);
        check
    });
    let outcomes = [tally.run_side_by_side(checks.into()), check_learning(tally)];
    let failed: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("\n"))
    }
}

/// The bridge to PyTorch, and a short training by Stable-Baselines3. The package index has PyTorch for Linux in a form of
/// several gigabytes alone, so these tests are run with a system's PyTorch, where it has one.
fn check_learning(tally: &mut Tally) -> Outcome {
    if !LEARNING.is_possible() {
        tally.skip(
            "the bridge to PyTorch and a training by Stable-Baselines3",
            "no Python here has PyTorch; Debian's package is python3-torch",
        );
        return Ok(());
    }
    let python = LEARNING.with_module("stable_baselines3")?;
    let tests = ["-m", "pytest", "--quiet", "-rs", "-m", "torch"];
    let files = ["bridges", "examples", "gym"].map(|name| format!("python/tests/test_{name}.py"));
    tally.run(with_package(&python).args(tests).args(files))?;
    let examples = ["-m", "pytest", "--quiet", "--doctest-modules", "--pyargs"];
    tally.run(
        with_package(&python)
            .args(examples)
            .args(["carom.torch", "carom.gym.sb3"]),
    )
}

/// What `pip install .` does, into our folder.
fn build(python: &Path) -> Outcome {
    let folder = root().join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot empty {FOLDER}: {error}"))?;
    }
    let mut install = command(python);
    install.args(["-m", "pip", "install", "--quiet"]);
    install.args(["--disable-pip-version-check", "--no-build-isolation"]);
    install.args(["--no-deps", "--target", FOLDER, "."]);
    install.env("MATURIN_PEP517_ARGS", AS_TESTS);
    // The package's programs, of which maturin is one, are beside its interpreter.
    if let Some(programs) = python.parent() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let rest = std::env::split_paths(&path);
        let joined = std::env::join_paths(std::iter::once(programs.to_path_buf()).chain(rest));
        install.env("PATH", joined.map_err(|error| error.to_string())?);
    }
    run(&mut install)
}

/// An interpreter that finds the package.
fn with_package(python: &Path) -> Command {
    let mut command = command(python);
    command.env("PYTHONPATH", FOLDER).env("MYPYPATH", FOLDER);
    command
}
