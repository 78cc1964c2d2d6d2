//! `cargo xtask bench --against PROGRAM`: this carom beside an older one, on the same requests in turns.
//!
//! Both answer `carom bench` on standard input, so nothing but that is asked of the other program. By times, the least CPU
//! time of many short batches is compared: neighbours on a shared machine only ever add to it. By instructions, both run
//! under valgrind, whose counts do not depend on neighbours at all.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Server, Summary, contacts, default_models, label, root, shared};
use crate::Outcome;
use crate::command::{carom_program, command};

/// Speed of every case beside the other program's.
const SINGLE_BAR: f64 = 0.97;
/// Geometric mean of all.
const MEAN_BAR: f64 = 1.0;
/// Steps of a timed batch: short ones, so that the two programs take turns often.
const STEPS: usize = 200;
/// Steps under valgrind, which is some fifty times as slow.
const COUNTED_STEPS: usize = 20;
/// A case beyond the bar, to either side, is measured again with so many times the rounds before it counts.
const SECOND_LOOK: usize = 4;

/// Beside which program, and how.
#[derive(clap::Args)]
pub(crate) struct Asked {
    /// Measure beside another carom program instead: smooth, contacts and gradients, old and new in turns
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) against: Option<PathBuf>,
    /// With --against: this program, if it is built already
    #[arg(long, requires = "against")]
    program: Option<PathBuf>,
    /// With --against: count instructions under valgrind instead of taking times, where the machine is busy
    #[arg(long, requires = "against")]
    instructions: bool,
}

/// Measures all cases; fails when a bar is missed.
pub(crate) fn against(asked: &Asked, rounds: usize) -> Outcome {
    let Some(old) = asked.against.as_deref() else {
        return Err("there is no other program: give --against".to_owned());
    };
    let by_instructions = asked.instructions;
    let new = carom_program(asked.program.as_deref())?;
    let programs = [new.as_path(), old];
    let mut times = Times {
        servers: [
            Server::start(command(&new).arg("bench"))?,
            Server::start(command(old).arg("bench"))?,
        ],
        rounds: rounds.max(1),
    };
    println!(
        "{:<58} {:>12} {:>12} {:>7}",
        if by_instructions {
            "instructions"
        } else {
            "µs a step"
        },
        "this",
        "other",
        "ratio"
    );
    let mut ratios: Vec<(f64, String)> = Vec::new();
    for (name, request) in cases() {
        let measured = if by_instructions {
            instructions(programs, &request)
        } else {
            times.measure(&request)
        };
        let [ours, theirs] = match measured {
            Ok(measured) => measured,
            Err(why) => {
                println!("{name:<58} left out: {why}");
                continue;
            }
        };
        let ratio = theirs / ours;
        println!("{name:<58} {ours:>12.3} {theirs:>12.3} {ratio:>7.3}");
        ratios.push((ratio, name));
    }
    judge(&ratios)
}

fn judge(ratios: &[(f64, String)]) -> Outcome {
    let worst = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let (least, name) = worst.ok_or("nothing was measured")?;
    let logarithms: f64 = ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
    let mean = (logarithms / ratios.len() as f64).exp();
    println!(
        "{} cases: geometric mean {mean:.3}× (bar {MEAN_BAR}×), worst {least:.3}× (bar {SINGLE_BAR}×): {name}",
        ratios.len()
    );
    if mean < MEAN_BAR || *least < SINGLE_BAR {
        return Err("this carom is slower than the other one".to_owned());
    }
    Ok(())
}

/// Both programs at work, asked in turns.
struct Times {
    servers: [Server; 2],
    rounds: usize,
}

impl Times {
    /// The least time of each program; over more rounds where they differ, so that a neighbour that slows one of them down
    /// counts neither against it nor for the other.
    fn measure(&mut self, request: &Value) -> Result<[f64; 2], String> {
        let mut times = self.in_turns(request, self.rounds)?;
        let ratio = times[1] / times[0];
        if !(SINGLE_BAR..=1.0 / SINGLE_BAR).contains(&ratio) {
            let again = self.in_turns(request, SECOND_LOOK * self.rounds)?;
            times = [times[0].min(again[0]), times[1].min(again[1])];
        }
        Ok(times)
    }

    fn in_turns(&mut self, request: &Value, rounds: usize) -> Result<[f64; 2], String> {
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..=rounds {
            // Who is first alternates; the first round warms caches up.
            for turn in 0..2 {
                let program = (round + turn) % 2;
                let time = self.servers[program].time(request)?.microseconds;
                if round > 0 {
                    times[program].push(time);
                }
            }
        }
        Ok(times.map(|times| Summary::of(times).minimum))
    }
}

/// Instructions of one batch in each program: what three batches take more than one, halved, so that loading does not count.
fn instructions(programs: [&Path; 2], request: &Value) -> Result<[f64; 2], String> {
    let mut request = request.clone();
    request["steps"] = json!(COUNTED_STEPS);
    let mut counts = [0.0; 2];
    for (count, program) in counts.iter_mut().zip(programs) {
        let [once, thrice] = [
            counted(program, &request, 1)?,
            counted(program, &request, 3)?,
        ];
        *count = 0.5 * (thrice - once);
    }
    Ok(counts)
}

fn counted(program: &Path, request: &Value, times: usize) -> Result<f64, String> {
    let mut valgrind = command("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let piped = valgrind.arg(program).arg("bench").stdin(Stdio::piped());
    let piped = piped.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = piped
        .spawn()
        .map_err(|error| format!("cannot start valgrind: {error}"))?;
    if let Some(mut requests) = child.stdin.take() {
        for _ in 0..times {
            writeln!(requests, "{request}").map_err(|error| error.to_string())?;
        }
    }
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    collected
        .and_then(|(_, number)| number.trim().parse().ok())
        .ok_or_else(|| "valgrind counted nothing".to_owned())
}

/// What is measured: steps without contacts, steps with them, gradients and Jacobians.
fn cases() -> Vec<(String, Value)> {
    let mut cases = Vec::new();
    for model in default_models() {
        let request = json!({ "model": model, "steps": STEPS, "disable": ["contact"] });
        cases.push((format!("smooth, {}", label(&model)), request));
    }
    let shipped = |name: &str| root().join("models").join(format!("{name}.xml"));
    let with_contacts = ["cube", "billiard", "humanoid", "quadruped", "hand"].map(shipped);
    for model in &with_contacts {
        let request = json!({ "model": model, "steps": STEPS });
        cases.push((format!("contacts, {}", label(model)), request));
    }
    for (name, mut request) in contacts::scenes(&[]) {
        let file = shared().join(request["model"].as_str().unwrap_or_default());
        if file.is_file() {
            request["model"] = json!(file);
            cases.push((format!("contacts, {name}"), request));
        }
    }
    let derivatives = ["backward", "gradient", "linearize", "linearize after step"];
    let real = ["mj_humanoid/humanoid.xml", "menagerie_go1/scene.xml"];
    let real = real.map(|file| shared().join("models").join(file));
    let present: Vec<PathBuf> = with_contacts
        .into_iter()
        .chain(["arm7", "muscle_arm", "double_pendulum"].map(shipped))
        .chain(real.into_iter().filter(|file| file.is_file()))
        .collect();
    for model in &present {
        for measure in derivatives {
            let steps = if measure.starts_with("linearize") {
                20
            } else {
                STEPS
            };
            let request = json!({ "model": model, "steps": steps, "measure": measure });
            cases.push((format!("{measure}, {}", label(model)), request));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::{cases, judge};

    #[test]
    fn bars_are_those_of_the_worst_and_of_the_mean() {
        let ratios = |numbers: &[f64]| -> Vec<(f64, String)> {
            numbers
                .iter()
                .map(|&ratio| (ratio, String::new()))
                .collect()
        };
        assert!(judge(&ratios(&[0.98, 1.1])).is_ok());
        assert!(judge(&ratios(&[0.96, 1.2])).is_err());
        assert!(judge(&ratios(&[0.98, 0.99])).is_err());
        assert!(judge(&[]).is_err());
    }

    #[test]
    fn cases_have_names_of_their_own() {
        let mut names: Vec<String> = cases().into_iter().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
