//! Running other programs from the workspace's root.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Outcome;
use crate::tally::notes_file;

/// Whether tests take their long form; `CAROM_LONG` tells them.
static IS_LONG: AtomicBool = AtomicBool::new(false);

/// From now on, tests take their long form.
pub(crate) fn take_long() {
    IS_LONG.store(true, Ordering::Relaxed);
}

/// Whether tests take their long form.
pub(crate) fn is_long() -> bool {
    IS_LONG.load(Ordering::Relaxed) || std::env::var_os("CAROM_LONG").is_some()
}

/// The workspace's root: the folder above this crate.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder that cargo builds into.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A command that will run in the workspace's root.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command.env("CAROM_NOTES", notes_file());
    if is_long() {
        command.env("CAROM_LONG", "1");
    }
    command
}

/// The cargo that started us, with these arguments.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Run to the end; anything but success is an error that names the command.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command
        .status()
        .map_err(|error| unstartable(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(command, status))
    }
}

/// The sentence about a command that could not be started.
pub(crate) fn unstartable(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", describe(command))
}

/// The sentence about a command that failed.
pub(crate) fn failed(command: &Command, status: ExitStatus) -> String {
    format!("{} ended with {status}", describe(command))
}

/// Run to the end and return what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| unstartable(command, &error))?;
    if !output.status.success() {
        return Err(failed(command, output.status));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("{} printed what is not UTF-8", describe(command)))
}

/// The carom program: one that is built already, or else that of these sources, built for speed.
pub(crate) fn carom_program(built: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(program) = built {
        return Ok(program.to_path_buf());
    }
    run(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "carom-cli",
    ]))?;
    Ok(target_folder().join("release").join("carom"))
}

/// Whether `cargo NAME` exists on this machine.
pub(crate) fn has_cargo_subcommand(name: &str) -> bool {
    cargo(&[name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Program and arguments, with a program inside the workspace named from its root.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.strip_prefix(root()).map_or_else(
        |_| program.file_name().map(PathBuf::from).unwrap_or_default(),
        Path::to_path_buf,
    );
    let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    format!("`{} {}`", name.display(), arguments.join(" "))
}
