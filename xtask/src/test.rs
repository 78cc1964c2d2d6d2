//! `cargo xtask test`: every check that must pass before a change lands, in one command.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::command::{
    cargo, command, has_cargo_subcommand, is_long, root, run as run_command, take_long,
    target_folder,
};
use crate::tally::Tally;
use crate::{Outcome, licences, package, page, python, reference, tidy};

struct Step {
    name: &'static str,
    run: fn(&mut Tally) -> Outcome,
}

/// Cheap checks first: a misplaced space should not cost a build.
const STEPS: [Step; 14] = [
    Step {
        name: "format",
        run: |_| format(),
    },
    Step {
        name: "tidy",
        run: |_| tidy::run(false),
    },
    Step {
        name: "licences",
        run: licences::check,
    },
    Step {
        name: "clippy",
        run: |_| clippy(),
    },
    Step {
        name: "docs",
        run: |_| docs(),
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
        run: |_| environment(),
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
        run: |_| reference::check_models(),
    },
    Step {
        name: "reference",
        run: |_| references_are_fresh(),
    },
    Step {
        name: "parity",
        run: parity,
    },
];

/// What of the test command to run.
pub(crate) struct Plan {
    /// Only these steps; all if there is none.
    pub(crate) only: Vec<String>,
    /// Tests in their long form: soaks, all seeds, large numbers of random scenes.
    pub(crate) long: bool,
}

/// Run the steps, all of them even after a failure, and print what each took and how many tests passed.
pub(crate) fn run(Plan { only, long }: &Plan) -> Outcome {
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
    if *long {
        take_long();
    }
    let mut tally = Tally::new();
    let mut results = Vec::new();
    for step in STEPS
        .iter()
        .filter(|step| only.is_empty() || only.iter().any(|name| name == step.name))
    {
        println!("\n── {} ──", step.name);
        let start = Instant::now();
        let before = [tally.passed, tally.failed];
        let outcome = (step.run)(&mut tally);
        if let Err(message) = &outcome {
            println!("{message}");
        }
        // A step without tests of its own counts as one.
        match outcome {
            Ok(()) if tally.passed == before[0] => tally.passed += 1,
            Err(_) if tally.failed == before[1] => tally.failed += 1,
            _ => {}
        }
        results.push((step.name, outcome.is_ok(), start.elapsed()));
    }
    let outcome = summarise(&results);
    tally.conclude();
    outcome
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

/// Variables that say how many seconds tests of a viewer at work take, in the gate and in the long form.
const SECONDS: [(&str, [&str; 2]); 1] = [("CAROM_SOAK_SECONDS", ["10", "600"])];

fn tests(tally: &mut Tally) -> Outcome {
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
    for (variable, seconds) in SECONDS {
        if std::env::var_os(variable).is_none() {
            command.env(variable, seconds[usize::from(is_long())]);
        }
    }
    tally.run(&mut command)
}

fn doctests(tally: &mut Tally) -> Outcome {
    tally.run(&mut cargo(&["test", "--workspace", "--doc", "--locked"]))
}

/// Examples that fail when what they claim does not hold.
const EXPERIMENTS: [&str; 16] = [
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
    "arm_payload",
    "few_shot",
    "public_sets",
    "learned_terms",
    "strikes",
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
fn experiments(tally: &mut Tally) -> Outcome {
    run_command(&mut cargo(&[
        "build",
        "--quiet",
        "--workspace",
        "--examples",
        "--locked",
        "--profile=test",
    ]))?;
    let folder = target_folder().join("debug").join("examples");
    let topics = TOPICS.map(|name| command(folder.join(name)));
    let experiments = EXPERIMENTS.map(|name| {
        let mut experiment = command(folder.join(name));
        experiment.arg("--quick");
        experiment
    });
    tally.run_side_by_side(experiments.into_iter().chain(topics).collect())
}

fn environment() -> Outcome {
    python::interpreter().map(drop)
}

fn references_are_fresh() -> Outcome {
    reference::run(&root().join(reference::DIRECTORY), &[], true)
}

/// Compare carom with MuJoCo on the shipped models, and on shared ones where they are present.
fn parity(tally: &mut Tally) -> Outcome {
    compare_with_mujoco(Path::new(reference::DIRECTORY))?;
    let shared = shared_models();
    if shared.join("manifest.json").exists() {
        compare_with_mujoco(&shared)
    } else {
        let reason = "CAROM_SHARED names no folder that holds models/";
        tally.skip("parity of the shared models", reason);
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
