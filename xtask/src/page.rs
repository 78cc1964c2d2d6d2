//! The viewer's page: that the built file is that of its sources, its types and tests, and the page in a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::command::{cargo, command, root, run, target_folder};
use crate::tally::Tally;

/// The page's project, from the root.
const FOLDER: &str = "crates/carom-viewer/web";

/// Names of the browser, as systems install it.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Check the page as far as this machine has what that takes; what is left out is printed.
pub(crate) fn check(tally: &mut Tally) -> Outcome {
    if !answers("node") {
        tally.skip(
            "the viewer's page",
            "no Node.js, so it is used as it was built",
        );
        return Ok(());
    }
    run(in_folder("node").arg("check-fresh.mjs"))?;
    if !answers("npm") {
        tally.skip("types and tests of the viewer's page", "no npm");
        return Ok(());
    }
    if !root().join(FOLDER).join("node_modules").exists() {
        // Not `npm ci`: it wants the bundler's programs for all systems in the lock file, which it keeps to otherwise.
        run(in_folder("npm").args(["install", "--no-save", "--silent", "--ignore-scripts"]))?;
    }
    run(in_folder("npm").args(["run", "--silent", "check"]))?;
    let Some(browser) = browser() else {
        tally.skip(
            "the viewer's page in a browser",
            "no Chromium; set CHROMIUM to it",
        );
        return Ok(());
    };
    in_browser(&browser)
}

/// The page in a browser: alone, and in front of the program.
fn in_browser(browser: &Path) -> Outcome {
    // As the tests are: it has been built already.
    let arguments = ["build", "--quiet", "--locked", "--profile=test"];
    run(cargo(&arguments).args(["--package", "carom-cli"]))?;
    let program = target_folder().join("debug").join("carom");
    let mut tests = in_folder("npm");
    tests.args(["run", "--silent", "test:browser"]);
    run(tests.env("CHROMIUM", browser).env("CAROM_BIN", program))
}

fn in_folder(program: &str) -> Command {
    let mut command = command(program);
    command.current_dir(root().join(FOLDER));
    command
}

/// Whether a program is there.
fn answers(program: &str) -> bool {
    let mut command = command(program);
    command.arg("--version").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let places = BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.into_iter().find(|place| place.is_file())
}
