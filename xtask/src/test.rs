//! `cargo xtask test`: every check that must pass before a change lands, in one command.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::command::{
    cargo, command, has_cargo_subcommand, root, run as run_command, target_folder,
};
use crate::{Outcome, licences, package, page, python, reference, tidy};

struct Step {
    name: &'static str,
    run: fn() -> Outcome,
}

/// Cheap checks first: a misplaced space should not cost a build.
const STEPS: [Step; 14] = [
    Step {
        name: "format",
        run: format,
    },
    Step {
        name: "tidy",
        run: tidy::run,
    },
    Step {
        name: "licences",
        run: licences::check,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "docs",
        run: docs,
    },
    Step {
        name: "tests",
        run: tests,
    },
    Step {
        name: "doctests",
        run: doctests,
    },
    Step {
        name: "experiments",
        run: experiments,
    },
    Step {
        name: "python",
        run: environment,
    },
    Step {
        name: "package",
        run: package::check,
    },
    Step {
        name: "page",
        run: page::check,
    },
    Step {
        name: "models",
        run: reference::check_models,
    },
    Step {
        name: "reference",
        run: references_are_fresh,
    },
    Step {
        name: "parity",
        run: parity,
    },
];

/// Run the steps, all of them even after a failure, and print what each took.
pub(crate) fn run(only: &[String]) -> Outcome {
    if let Some(unknown) = only
        .iter()
        .find(|name| STEPS.iter().all(|step| step.name != **name))
    {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!(
            "no step `{unknown}`; the steps are {}",
            names.join(", ")
        ));
    }
    let mut results = Vec::new();
    for step in STEPS
        .iter()
        .filter(|step| only.is_empty() || only.iter().any(|name| name == step.name))
    {
        println!("\n── {} ──", step.name);
        let start = Instant::now();
        let outcome = (step.run)();
        if let Err(message) = &outcome {
            println!("{message}");
        }
        results.push((step.name, outcome.is_ok(), start.elapsed()));
    }
    summarise(&results)
}

fn summarise(results: &[(&str, bool, Duration)]) -> Outcome {
    println!();
    for (name, passed, time) in results {
        let verdict = if *passed { "ok" } else { "FAILED" };
        println!("{name:<12} {verdict:<8} {:7.1} s", time.as_secs_f64());
    }
    let failed: Vec<_> = results
        .iter()
        .filter(|(_, passed, _)| !passed)
        .map(|(name, _, _)| *name)
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("failed: {}", failed.join(", ")))
    }
}

fn format() -> Outcome {
    run_command(&mut cargo(&["fmt", "--all", "--check"]))
}

fn clippy() -> Outcome {
    run_command(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))
}

fn docs() -> Outcome {
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    run_command(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Time that the test of damaged model files takes here (s); without this variable it is shorter.
const MUTATION_SECONDS: (&str, &str) = ("CAROM_MUTATION_SECONDS", "60");

fn tests() -> Outcome {
    let mut command = if has_cargo_subcommand("nextest") {
        cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "--no-fail-fast",
        ])
    } else {
        cargo(&[
            "test",
            "--workspace",
            "--lib",
            "--bins",
            "--tests",
            "--locked",
            "--no-fail-fast",
        ])
    };
    let (variable, seconds) = MUTATION_SECONDS;
    if std::env::var_os(variable).is_none() {
        command.env(variable, seconds);
    }
    run_command(&mut command)
}

fn doctests() -> Outcome {
    run_command(&mut cargo(&["test", "--workspace", "--doc", "--locked"]))
}

/// Examples that fail when what they claim does not hold.
const EXPERIMENTS: [&str; 13] = [
    "point_mass",
    "tosses",
    "pareto",
    "cfd_adjoints",
    "cfd_billiard",
    "cfd_hover",
    "cube_side",
    "cube_contact",
    "pendulum_lengths",
    "known_truth",
    "joint_chirp",
    "few_shot",
    "public_sets",
];

/// Examples of the book, one topic each; they assert what they claim, too.
const TOPICS: [&str; 6] = [
    "load_and_simulate",
    "gradient_through_contact",
    "fit_a_parameter",
    "linearize_lqr",
    "batch_rollouts",
    "continuous_time",
];

/// The topics, and the experiments in their quick form, in the profile of the tests, with which they have been built already.
fn experiments() -> Outcome {
    run_command(&mut cargo(&[
        "build",
        "--quiet",
        "--workspace",
        "--examples",
        "--locked",
        "--profile=test",
    ]))?;
    let folder = target_folder().join("debug").join("examples");
    for name in TOPICS {
        run_command(&mut command(folder.join(name)))?;
    }
    for name in EXPERIMENTS {
        run_command(command(folder.join(name)).arg("--quick"))?;
    }
    Ok(())
}

fn environment() -> Outcome {
    python::interpreter().map(drop)
}

fn references_are_fresh() -> Outcome {
    reference::run(&root().join(reference::DIRECTORY), &[], true)
}

/// Compare carom with MuJoCo on the shipped models, and on shared ones where they are present.
fn parity() -> Outcome {
    compare_with_mujoco(Path::new(reference::DIRECTORY))?;
    let shared = shared_models();
    if shared.join("manifest.json").exists() {
        compare_with_mujoco(&shared)
    } else {
        println!("skipped: no shared models (set CAROM_SHARED to the folder that holds models/)");
        Ok(())
    }
}

/// All models as far as they are smooth, and those that must agree to rounding through every contact and step.
fn compare_with_mujoco(directory: &Path) -> Outcome {
    for arguments in [["--until", "smooth"], ["--class", "exact"]] {
        let mut command = cargo(&[
            "run",
            "--quiet",
            "--locked",
            // As the tests are: optimised.
            "--profile=test",
            "--package",
            "carom-cli",
            "--",
            "parity",
        ]);
        run_command(command.arg(directory).args(arguments))?;
    }
    Ok(())
}

fn shared_models() -> PathBuf {
    let shared =
        std::env::var_os("CAROM_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    shared.join("models")
}
