//! What the tests of all crates share. Depends on nothing; only tests depend on it.
//!
//! - [`skip`]: a test that cannot do all of what it says writes that down, and the test command prints it.
//! - [`at_most`], [`at_least`]: ratchets. A measured number may get better, never worse.
//! - [`by_tier`]: a quick form for the gate, a long one for `cargo xtask test --long`.
//! - [`mutation`]: damaged inputs for readers, and what these must survive.
//! - [`Random`]: numbers without a pattern, the same in every run.
#![allow(
    clippy::print_stdout,
    reason = "tests say what they measure and what they leave out"
)]

pub mod mutation;
mod random;
mod ratchet;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

pub use random::Random;
pub use ratchet::{at_least, at_most};

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file or folder of those that are shared between projects, which `CAROM_SHARED` names; otherwise none, and a skip.
#[track_caller]
pub fn shared(path: &str) -> Option<PathBuf> {
    let folder =
        std::env::var_os("CAROM_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let path = folder.join(path);
    if path.exists() {
        return Some(path);
    }
    let missing = path.strip_prefix(&folder).unwrap_or(&path);
    skip(format_args!("CAROM_SHARED has no {}", missing.display()));
    None
}

/// The model files that ship, by name, except parts that others include.
///
/// # Panics
/// When they are missing.
pub fn shipped_models() -> Vec<(String, PathBuf)> {
    let mut models = Vec::new();
    for folder in ["models", "models/features"] {
        let entries = std::fs::read_dir(root().join(folder)).into_iter().flatten();
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| {
            path.extension()
                .is_some_and(|end| end == "xml" || end == "urdf")
        });
        paths.sort();
        models.extend(paths.into_iter().filter_map(|path| {
            let name = path.file_stem()?.to_string_lossy().into_owned();
            Some((name, path))
        }));
    }
    assert!(models.len() > 15, "the shipped models are missing");
    models
}

/// Main files of the shared models, by their manifest; none, and a skip, if they are not there.
#[track_caller]
pub fn shared_models() -> Vec<(String, PathBuf)> {
    let Some(manifest) = shared("models/manifest.json") else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(&manifest).unwrap_or_default();
    // A list of objects with "name" and "file" lines: no parser is needed for two keys.
    let value = |line: &str, key: &str| -> Option<String> {
        let rest = line.trim().strip_prefix(key)?;
        rest.split('"').nth(1).map(str::to_owned)
    };
    let (mut name, mut models) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(found) = value(line, r#""name":"#) {
            name = found;
        } else if let Some(file) = value(line, r#""file":"#) {
            let path = manifest.with_file_name(&name).join(file);
            models.push((name.clone(), path));
        }
    }
    models
}

/// Writes down that the test does not do all of what it says, and why. `cargo xtask test` prints it at its end.
#[track_caller]
pub fn skip(reason: impl Display) {
    note("skipped", &reason);
}

/// Whether tests take their long form.
pub fn is_long() -> bool {
    std::env::var_os("CAROM_LONG").is_some()
}

/// What the gate takes, or `cargo xtask test --long`.
pub fn by_tier<T>(gate: T, long: T) -> T {
    if is_long() { long } else { gate }
}

/// A line for the one who reads the end of the test command: `kind<TAB>test<TAB>text`.
#[track_caller]
fn note(kind: &str, text: &dyn Display) {
    println!("{kind}: {text}");
    let Some(file) = std::env::var_os("CAROM_NOTES") else {
        return;
    };
    let place = std::panic::Location::caller();
    let thread = std::thread::current();
    // The test harness names threads by their test, unless there is only one thread.
    let test = match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => format!("{}:{}", place.file(), place.line()),
    };
    let line = format!("{kind}\t{test}\t{text}\n");
    // One write for each line, so that those of programs side by side do not mix.
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        println!("the note could not be written: {error}");
    }
}
