//! CPU time that the core crates take to compile from scratch, with all they depend on.

use std::fs;

use crate::Outcome;
use crate::command::{cargo, command, output, target_folder};
use crate::python;

/// Seconds of CPU time that a first build may take.
const BAR: f64 = 30.0;

/// Runs what follows and prints the CPU time of it and its children.
const TIMER: &str = "import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)";

/// Builds the core crates into an empty folder; fails when that takes too long.
pub(super) fn bench() -> Outcome {
    let folder = target_folder().join("bench").join("compile");
    // A build that was interrupted may have left some of it.
    let _ = fs::remove_dir_all(&folder);
    let build = cargo(&["build", "--quiet", "--locked", "--package", "carom"]);
    let mut timer = command(python::interpreter()?);
    timer.args(["-c", TIMER]).arg(build.get_program());
    timer
        .args(build.get_args())
        .env("CARGO_TARGET_DIR", &folder);
    let printed = output(&mut timer)?;
    let seconds: f64 = (printed.trim().parse())
        .map_err(|_| format!("the timer printed {printed:?} instead of seconds"))?;
    fs::remove_dir_all(&folder).map_err(|error| format!("cannot tidy up: {error}"))?;
    println!("core crates compile from scratch in {seconds:.1} CPU seconds (bar {BAR})");
    if seconds > BAR {
        return Err("the core crates take too long to compile".to_owned());
    }
    Ok(())
}
