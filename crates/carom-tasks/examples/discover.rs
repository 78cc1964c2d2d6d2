//! Does `carom discover` find which inputs hidden laws have? Systems with laws that their models lack, over seeds and noise.
//!
//! `cargo run --release -p carom-tasks --example discover -- --seeds 20`; `--law NAME`, `--system NAME` and `--runs N` choose.

#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "hidden/mod.rs"]
mod hidden;

use std::fmt::Write as _;

use carom_tasks::discover::{Settings, discover};
use hidden::{LAWS, Plan, expected, model, recordings};

/// A double pendulum that hangs, and an arm of three joints with motors.
const SYSTEMS: [&str; 2] = ["pendulum", "arm"];

fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

fn main() -> Result<(), carom::Error> {
    let seeds: u64 = option("--seeds")
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    let runs: usize = option("--runs")
        .and_then(|text| text.parse().ok())
        .unwrap_or(10);
    let is_loud = std::env::args().any(|argument| argument == "--loud");
    let noises = [[0.0, 0.0], [2e-4, 2e-3], [2e-3, 2e-2]];
    for system in SYSTEMS {
        if option("--system").is_some_and(|name| name != system) {
            continue;
        }
        let model = model(system)?;
        for law in &LAWS {
            if option("--law").is_some_and(|name| name != law.name) {
                continue;
            }
            let mut line = format!("{system:<10} {:<20}", law.name);
            for noise in noises {
                let mut right = 0;
                for seed in 0..seeds {
                    let plan = Plan {
                        runs,
                        frames: 160,
                        gap: 0.01,
                        noise,
                        seed,
                    };
                    let recordings = recordings(&model, law, &plan)?;
                    let found = discover(
                        &model,
                        &recordings,
                        &Settings::default(),
                        (None, &mut |_, _| ()),
                    )?;
                    let mut terms: Vec<(String, Vec<String>)> = (found.terms.iter())
                        .map(|term| {
                            let mut inputs = term.inputs.clone();
                            inputs.sort();
                            (term.target.clone(), inputs)
                        })
                        .collect();
                    terms.sort();
                    let is_right = terms == expected(law, model.counts().nv);
                    right += u64::from(is_right);
                    if !is_right || is_loud {
                        println!(
                            "  {} seed {seed} noise {noise:?} errors {:?}: {}",
                            if is_right { "right" } else { "WRONG" },
                            found.residuals,
                            found.words()
                        );
                    }
                }
                let _ = write!(line, "  {right}/{seeds}");
            }
            println!("{line}");
        }
    }
    Ok(())
}
