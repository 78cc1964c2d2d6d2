//! Licences and sources of everything we link, judged by cargo-deny with the rules of `deny.toml`.

use std::path::PathBuf;

use crate::Outcome;
use crate::command::{cargo, command, has_cargo_subcommand, root, run};

const VERSION: &str = "0.20.2";
const CHECKS: [&str; 4] = ["check", "licenses", "bans", "sources"];

/// Every dependency's licence and origin must be allowed by `deny.toml`.
pub(crate) fn check() -> Outcome {
    if has_cargo_subcommand("deny") {
        return run(cargo(&["deny"]).args(CHECKS));
    }
    run(command(installed()?).args(CHECKS))
}

/// A cargo-deny of our own inside the build folder, built once where the machine has none.
///
/// It is built without optimisation: it runs for a second and would compile for minutes.
fn installed() -> Result<PathBuf, String> {
    let folder = root().join("target").join("tools");
    let program = folder
        .join("bin")
        .join("cargo-deny")
        .with_extension(std::env::consts::EXE_EXTENSION);
    if !program.exists() {
        println!("building cargo-deny {VERSION} into target/tools");
        let mut install = cargo(&["install", "cargo-deny", "--version", VERSION]);
        install.args(["--locked", "--debug", "--quiet", "--no-default-features"]);
        run(install.arg("--root").arg(&folder))?;
    }
    Ok(program)
}
