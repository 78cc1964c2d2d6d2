//! `cargo xtask bench`: carom beside a peer, in one run on one machine.
//!
//! Both engines run as servers that time one batch per request, and are asked in turns, so that whatever else the
//! machine does falls on both. Times are CPU times of one thread; minimum and median over all batches are reported.

mod against;
mod compile;
mod contacts;
mod figures;
mod gradients;
mod growth;
mod hulls;
mod identify;
mod neuralsim;
mod python;
mod time;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::Outcome;
use crate::command::{carom_program, command, output, root, target_folder};
use crate::python::interpreter;

pub(crate) use against::{Asked, against};

/// The engine to compare with.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Peer {
    /// MuJoCo from the package index, through mujoco.rollout.
    Mujoco,
}

/// What to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Set {
    /// Steps with contacts switched off.
    #[default]
    Smooth,
    /// Steps of scenes that live of their contacts.
    Contacts,
    /// Steps of 10 to 1000 free boxes.
    Growth,
    /// Loading of meshes with wide flat faces, whose hulls take the longest.
    Hulls,
    /// Gradients of trajectories and Jacobians of steps; beside Pinocchio and MJX too.
    Gradients,
    /// Gradients of motions in continuous time; beside differences in C, and MJX under diffrax.
    Time,
    /// Identification of a pendulum and of an arm beside mujoco.sysid.
    Identify,
    /// Gradients by three ways on the cases of a published figure; beside the wheel of Tiny Differentiable Simulator.
    Neuralsim,
    /// Batches of trajectories from Python beside the same from Rust.
    Python,
    /// The first build of the core crates.
    Compile,
}

/// Steps of one timed batch.
const STEPS: usize = 1000;
/// Ratio that two threads must reach; it needs two free cores.
const THREAD_BAR: f64 = 1.8;

/// What a run is to do.
pub(crate) struct Plan {
    pub(crate) peer: Peer,
    /// None: as the first of the names says, or the default.
    pub(crate) set: Option<Set>,
    pub(crate) rounds: usize,
    /// Leave out what takes minutes.
    pub(crate) quick: bool,
    /// A set, if it is not given already, and models instead of the set's own.
    pub(crate) names: Vec<PathBuf>,
}

impl Plan {
    /// The set and the models.
    fn resolve(&self) -> (Set, &[PathBuf]) {
        let named = self.names.first().and_then(|name| name.to_str());
        let named = named.and_then(|name| Set::from_str(name, true).ok());
        match (self.set, named) {
            (None, Some(set)) => (set, &self.names[1..]),
            (set, _) => (set.unwrap_or_default(), &self.names),
        }
    }
}

/// Measures a set beside the peer; fails when a bar is missed.
pub(crate) fn bench(plan: &Plan) -> Outcome {
    let Peer::Mujoco = plan.peer;
    let (rounds, (set, models)) = (plan.rounds.max(1), plan.resolve());
    if set == Set::Compile {
        return compile::bench();
    }
    if set == Set::Neuralsim {
        return neuralsim::bench(rounds);
    }
    let carom_program = carom_program(None)?;
    let carom = Server::start(command(&carom_program).arg("bench"))?;
    if set == Set::Python {
        return python::bench(carom, rounds);
    }
    if set == Set::Identify {
        return identify::bench(carom, rounds);
    }
    let mut engines = Engines {
        carom,
        peer: Server::start(command(interpreter()?).arg("xtask/bench/mujoco_peer.py"))?,
    };
    match set {
        Set::Smooth => {
            smooth(&mut engines, rounds, models)?;
            let (speedup, cost) = thread_scaling(&carom_program)?;
            println!(
                "two threads do {speedup:.2}× the work of one on a batch of humanoids (bar {THREAD_BAR}× on two free cores), at {cost:.2}× the CPU time"
            );
            if speedup < THREAD_BAR {
                return Err("two threads do too little".to_owned());
            }
            Ok(())
        }
        Set::Contacts => contacts::bench(&mut engines, rounds, models),
        Set::Gradients => gradients::bench(&mut engines, rounds, plan.quick),
        Set::Time => time::bench(&mut engines, rounds, plan.quick),
        Set::Growth => growth::bench(&mut engines, rounds),
        Set::Hulls => hulls::bench(&mut engines, rounds),
        Set::Identify | Set::Neuralsim | Set::Python | Set::Compile => Ok(()), // have returned above, without these engines
    }
}

/// Steps without contacts.
fn smooth(engines: &mut Engines, rounds: usize, models: &[PathBuf]) -> Outcome {
    let models = if models.is_empty() {
        default_models()
    } else {
        models.to_vec()
    };
    let mut ratios = Ratios::new();
    for model in &models {
        let request = json!({ "model": model, "steps": STEPS, "disable": ["contact"] });
        let comparison = engines.compare(&request, rounds)?;
        ratios.add(&label(model), &comparison);
    }
    ratios.judge(1.3, 1.0)
}

/// How many times the work of one thread two threads do, and how much CPU time a step costs them more.
fn thread_scaling(carom: &Path) -> Result<(f64, f64), String> {
    let arguments = ["bench", "models/humanoid.xml", "--threads", "1,2"];
    let sizes = ["--steps", "500", "--batches", "25", "--json"];
    let answer = output(command(carom).args(arguments).args(sizes))?;
    let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    let number = |name: &str| answer["threads"][1][name].as_f64();
    number("speedup")
        .zip(number("cpu_cost"))
        .ok_or_else(|| format!("unexpected answer {answer}"))
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
    let shared = shared();
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

/// The folder of shared models.
fn shared() -> PathBuf {
    std::env::var_os("CAROM_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
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

/// The folder of what benchmarks write.
fn folder() -> Result<PathBuf, String> {
    let folder = target_folder().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    Ok(folder)
}

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

fn relative(file: &Path) -> &Path {
    file.strip_prefix(root()).unwrap_or(file)
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

/// Both engines on one request.
struct Comparison {
    ours: Summary,
    theirs: Summary,
    /// Contacts after the last step: carom's, the peer's.
    contacts: [u64; 2],
}

impl Comparison {
    /// By the least times and by the medians. The first is judged: neighbours on a shared machine only ever add time, and
    /// on a busy one they add it to more than half of the batches.
    fn ratios(&self) -> [f64; 2] {
        let Self { ours, theirs, .. } = self;
        [theirs.minimum / ours.minimum, theirs.median / ours.median]
    }
}

/// The two engines, asked in turns.
struct Engines {
    carom: Server,
    peer: Server,
}

impl Engines {
    /// carom's time of a step, where the peer would take too long.
    fn carom_alone(&mut self, request: &Value, rounds: usize) -> Result<Summary, String> {
        self.carom.time(request)?;
        let times: Result<Vec<f64>, String> = (0..rounds)
            .map(|_| Ok(self.carom.time(request)?.microseconds))
            .collect();
        Ok(Summary::of(times?))
    }

    fn compare(&mut self, request: &Value, rounds: usize) -> Result<Comparison, String> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut contacts = [0; 2];
        for round in 0..=rounds {
            let (a, b) = (self.carom.time(request)?, self.peer.time(request)?);
            contacts = [a.contacts, b.contacts];
            // The first round warms caches and allocations up.
            if round > 0 {
                ours.push(a.microseconds);
                theirs.push(b.microseconds);
            }
        }
        Ok(Comparison {
            ours: Summary::of(ours),
            theirs: Summary::of(theirs),
            contacts,
        })
    }
}

/// The table of ratios as it grows.
struct Ratios(Vec<f64>);

impl Ratios {
    fn new() -> Self {
        println!(
            "{:<34} {:>21} {:>21} {:>13} {:>11}",
            "model", "carom µs min/median", "peer µs min/median", "ratios", "contacts"
        );
        Self(Vec::new())
    }

    fn add(&mut self, name: &str, comparison: &Comparison) {
        let Comparison {
            ours,
            theirs,
            contacts,
        } = comparison;
        let [ratio, of_medians] = comparison.ratios();
        println!(
            "{name:<34} {:>10.3} {:>10.3} {:>10.3} {:>10.3} {ratio:>6.2} {of_medians:>6.2} {:>5} {:>5}",
            ours.minimum, ours.median, theirs.minimum, theirs.median, contacts[0], contacts[1]
        );
        self.0.push(ratio);
    }

    /// Prints geometric mean and least ratio; fails below either bar.
    fn judge(&self, mean_bar: f64, single_bar: f64) -> Outcome {
        if self.0.is_empty() {
            return Err("no model to compare".to_owned());
        }
        let logarithms: f64 = self.0.iter().map(|ratio| ratio.ln()).sum();
        let mean = (logarithms / self.0.len() as f64).exp();
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "by least times: geometric mean {mean:.2}× (bar {mean_bar}×), least {least:.2}× (bar {single_bar}×)"
        );
        if mean < mean_bar || least < single_bar {
            return Err("carom is slower than its bar".to_owned());
        }
        Ok(())
    }
}

/// What an engine says about one batch.
struct Answer {
    /// CPU time per step.
    microseconds: f64,
    /// Contacts after the last step.
    contacts: u64,
    /// CPU time that the engine spent on compilation before.
    compile_seconds: f64,
    /// A derivative, where one was asked for.
    derivative: Option<f64>,
    /// Parameters by which there were derivatives.
    parameters: u64,
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

    /// The answer to a request.
    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let fail = |error: std::io::Error| format!("the engine stopped answering: {error}");
        writeln!(self.requests, "{request}").map_err(fail)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(fail)?;
        serde_json::from_str(&line).map_err(|_| format!("the engine could not run {request}"))
    }

    /// Times one batch.
    fn time(&mut self, request: &Value) -> Result<Answer, String> {
        let answer = self.ask(request)?;
        let microseconds = answer["microseconds"].as_f64();
        let contacts = answer["contacts"].as_u64();
        match (microseconds, contacts) {
            (Some(microseconds), Some(contacts)) => Ok(Answer {
                microseconds,
                contacts,
                compile_seconds: answer["compile_seconds"].as_f64().unwrap_or(0.0),
                derivative: answer["derivative"].as_f64(),
                parameters: answer["parameters"].as_u64().unwrap_or(0),
            }),
            _ => Err(format!("unexpected answer {answer}")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends by itself when its input closes; a kill makes sure that nothing stays behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{Peer, Plan, Set};

    #[test]
    fn a_set_is_named_by_option_or_by_place() {
        let plan = |set: Option<Set>, names: &[&str]| Plan {
            peer: Peer::Mujoco,
            set,
            rounds: 1,
            quick: false,
            names: names.iter().map(Into::into).collect(),
        };
        let resolved = |plan: &Plan| {
            let (set, models) = plan.resolve();
            (set, models.len())
        };
        assert_eq!(resolved(&plan(None, &["gradients"])), (Set::Gradients, 0));
        assert_eq!(
            resolved(&plan(None, &["contacts", "a.xml"])),
            (Set::Contacts, 1)
        );
        assert_eq!(resolved(&plan(None, &["a.xml"])), (Set::Smooth, 1));
        assert_eq!(
            resolved(&plan(Some(Set::Growth), &["a.xml"])),
            (Set::Growth, 1)
        );
        assert_eq!(resolved(&plan(None, &[])), (Set::Smooth, 0));
    }
}
