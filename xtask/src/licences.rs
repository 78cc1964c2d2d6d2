//! Licences, sources and known vulnerabilities of everything we link, judged by cargo-deny with the rules of `deny.toml`.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::command::{cargo, command, has_cargo_subcommand, output, root, run};
use crate::tally::Tally;

const VERSION: &str = "0.20.2";
const CHECKS: [&str; 4] = ["check", "licenses", "bans", "sources"];

/// The check for advisories, against the database as it was fetched.
const ADVISORIES: [&str; 3] = ["check", "--disable-fetch", "advisories"];

/// Every dependency's licence and origin must be allowed by `deny.toml`, and none may have an advisory against it. Advisories are
/// in a database on the network; where that cannot be had, this is said at the end of the tests.
pub(crate) fn check(tally: &mut Tally) -> Outcome {
    let installed = if has_cargo_subcommand("deny") {
        None
    } else {
        Some(installed()?)
    };
    let deny = || -> Command {
        match &installed {
            None => cargo(&["deny"]),
            Some(program) => command(program),
        }
    };
    run(deny().args(CHECKS))?;
    if let Err(reason) = output(deny().args(["fetch", "db"])) {
        let reason = reason.lines().next().unwrap_or("no reason was given");
        let reason = format!("the advisory database cannot be had: {reason}");
        tally.skip("advisories against dependencies", &reason);
        return Ok(());
    }
    run(deny().args(ADVISORIES))
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
