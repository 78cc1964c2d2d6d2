//! `cargo xtask bench`: carom beside a peer, in one run on one machine.
//!
//! Both engines run as servers that time one batch per request, and are asked in turns, so that whatever else the
//! machine does falls on both. Times are CPU times of one thread; minimum and median over all batches are reported.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::Outcome;
use crate::command::{cargo, command, output, root, run};
use crate::python;

/// The engine to compare with.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Peer {
    /// MuJoCo from the package index, through mujoco.rollout.
    Mujoco,
}

/// Steps of one timed batch.
const STEPS: usize = 1000;
/// Ratio that the geometric mean must reach.
const MEAN_BAR: f64 = 1.3;
/// Ratio that every model must reach.
const SINGLE_BAR: f64 = 1.0;
/// Ratio that two threads should reach; shown, not enforced, since it needs two free cores.
const THREAD_BAR: f64 = 1.8;

/// Compares steps without contacts with the peer's; fails when a bar is missed.
pub(crate) fn bench(peer: Peer, rounds: usize, models: &[PathBuf]) -> Outcome {
    let Peer::Mujoco = peer;
    run(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "carom-cli",
    ]))?;
    let carom_program = target_folder().join("release").join("carom");
    let mut carom = Server::start(command(&carom_program).arg("bench"))?;
    let mut peer =
        Server::start(command(python::interpreter()?).arg("xtask/bench/mujoco_peer.py"))?;
    let models = if models.is_empty() {
        default_models()
    } else {
        models.to_vec()
    };
    println!(
        "{:<34} {:>21} {:>21} {:>8}",
        "model", "carom µs min/median", "peer µs min/median", "ratio"
    );
    let mut ratios = Vec::new();
    for model in &models {
        let request = json!({ "model": model, "steps": STEPS, "disable": ["contact"] });
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let (a, b) = (carom.time(&request)?, peer.time(&request)?);
            // The first round warms caches and allocations up.
            if round > 0 {
                ours.push(a);
                theirs.push(b);
            }
        }
        let (ours, theirs) = (Summary::of(ours), Summary::of(theirs));
        let ratio = theirs.median / ours.median;
        ratios.push(ratio);
        println!(
            "{:<34} {:>10.3} {:>10.3} {:>10.3} {:>10.3} {:>8.2}",
            label(model),
            ours.minimum,
            ours.median,
            theirs.minimum,
            theirs.median,
            ratio
        );
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    println!("geometric mean {mean:.2}× (bar {MEAN_BAR}×), least {least:.2}× (bar {SINGLE_BAR}×)");
    let scaling = thread_scaling(&carom_program)?;
    println!(
        "two threads do {scaling:.2}× the work of one on a batch of humanoids (bar {THREAD_BAR}× on two free cores)"
    );
    if mean < MEAN_BAR || least < SINGLE_BAR {
        return Err("carom is slower than its bar".to_owned());
    }
    Ok(())
}

/// How many times the work of one thread two threads do.
fn thread_scaling(carom: &Path) -> Result<f64, String> {
    let time = |threads: &str| -> Result<f64, String> {
        let arguments = [
            "bench",
            "models/humanoid.xml",
            "--steps",
            "300",
            "--batches",
            "5",
            "--json",
            "--threads",
        ];
        let answer = output(command(carom).args(arguments).arg(threads))?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        answer["minimum_us"]
            .as_f64()
            .ok_or_else(|| format!("unexpected answer {answer}"))
    };
    Ok(time("1")? / time("2")?)
}

/// Shipped models, and a few real robots where the shared models are present.
fn default_models() -> Vec<PathBuf> {
    let shipped = [
        "double_pendulum",
        "cartpole",
        "arm7",
        "quadruped",
        "humanoid",
        "hand",
        "muscle_arm",
    ];
    let mut models: Vec<_> = shipped
        .iter()
        .map(|name| root().join("models").join(format!("{name}.xml")))
        .collect();
    let shared =
        std::env::var_os("CAROM_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from);
    let real = [
        "menagerie_panda/scene.xml",
        "menagerie_go1/scene.xml",
        "mj_humanoid/humanoid.xml",
        "menagerie_shadow_hand/scene_right.xml",
        "myo_hand/myohand.xml",
    ];
    let real = real
        .iter()
        .map(|file| shared.join("models").join(file))
        .filter(|path| path.is_file());
    models.extend(real);
    models
}

fn label(model: &Path) -> String {
    let folder = model
        .parent()
        .and_then(Path::file_name)
        .unwrap_or_default()
        .to_string_lossy();
    let file = model.file_stem().unwrap_or_default().to_string_lossy();
    format!("{folder}/{file}")
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Minimum and median of a set of times.
struct Summary {
    minimum: f64,
    median: f64,
}

impl Summary {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self {
            minimum: times[0],
            median: times[times.len() / 2],
        }
    }
}

/// A process that answers one line per request.
struct Server {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    fn start(command: &mut Command) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the engine: {error}"))?;
        let (requests, answers) = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .ok_or("the engine has no standard input and output")?;
        Ok(Self {
            child,
            requests,
            answers: BufReader::new(answers),
        })
    }

    /// CPU microseconds per step of one batch.
    fn time(&mut self, request: &Value) -> Result<f64, String> {
        let fail = |error: std::io::Error| format!("the engine stopped answering: {error}");
        writeln!(self.requests, "{request}").map_err(fail)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(fail)?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|_| format!("the engine could not run {request}"))?;
        answer["microseconds"]
            .as_f64()
            .ok_or_else(|| format!("unexpected answer {answer}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends by itself when its input closes; a kill makes sure that nothing stays behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
