//! What the gradient of a motion in continuous time costs, beside the plain way and beside MJX under diffrax.
//!
//! Each engine follows the motion with the loosest power of ten, as its tolerance, that gets the derivative within a per
//! cent; how far off each is stands in the table. MJX under diffrax is asked at the tolerance of the plain way.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::figures::{Bar, Figures};
use super::gradients::{in_turns, real_or_shipped, start_peer};
use super::{Answer, Engines, Server, Summary};
use crate::Outcome;
use crate::command::{command, output};
use crate::python;

/// CPU time of value and gradient beside the plain way to one derivative.
const PLAIN_BAR: f64 = 0.4;
/// CPU time of the derivatives by all parameters beside that of one.
const ALL_BAR: f64 = 1.5;
/// How many times as fast as MJX under diffrax.
const DIFFRAX_BAR: f64 = 100.0;
/// Part of the derivative that it may be off, in per cent.
const ERROR_BAR: f64 = 1.0;

/// What peers follow the motion with: the plain way is off by more than a per cent with less.
const PEERS_TOLERANCE: f64 = 1e-7;
/// What the plain way is followed with for the plot of errors over times.
const PLAIN_TOLERANCES: [f64; 7] = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];
/// What carom needs for a per cent.
const METHOD: &str = "bosh3";
const TOLERANCE: f64 = 1e-3;
/// What tells how far off a derivative is.
const TRUTH_TOLERANCE: f64 = 1e-11;

/// Everything that the motion of a free cube may depend on.
const PARAMETERS: [&str; 15] = [
    "option.gravity",
    "option.density",
    "option.viscosity",
    "option.impratio",
    "joint.*.damping",
    "joint.*.armature",
    "geom.*.size",
    "geom.*.pos",
    "geom.*.quat",
    "geom.*.mass",
    "geom.*.friction",
    "geom.*.solmix",
    "geom.*.solref",
    "geom.*.solimp",
    "geom.*.margin",
];

/// Start of the toss: height, velocity sideways, velocity upwards (m, m/s).
const START: [f64; 3] = [0.2, -0.1, -2.0];
const SECONDS: f64 = 1.0;

/// Measures all of it; fails when a bar is missed. MJX, which compiles for minutes, is left out if `quick`.
pub(super) fn bench(engines: &mut Engines, rounds: usize, quick: bool) -> Outcome {
    let folder = super::folder()?;
    let mut figures = Figures::default();
    let cube = real_or_shipped("diffmjx_cube/cube.xml", "cube");
    let one = request(&cube, METHOD, TOLERANCE);
    let truth = engines
        .carom
        .time(&request(&cube, "tsit5", TRUTH_TOLERANCE))?;
    let toss = Toss {
        model: &cube,
        one: &one,
        truth: truth.derivative.ok_or(NO_DERIVATIVE)?,
    };
    let clock = Instant::now();
    let found = engines.carom.time(&one)?;
    let first_answer = 1e3 * clock.elapsed().as_secs_f64();
    let names = (
        "error of the derivative",
        "cube toss, beside tolerance 1e-11",
    );
    figures.limit(names, (toss.error_of(&found)?, "per cent"), ERROR_BAR);
    // Nothing is compiled: the file is read again for a new request, and the answer is there.
    figures.remark("first answer from the file, ms", first_answer);
    all_parameters(engines, rounds, &toss, &mut figures)?;
    let mut peers = Peers::default();
    beside_the_plain_way(engines, rounds, &toss, &folder, (&mut figures, &mut peers))?;
    if quick {
        println!("\nbeside MJX and diffrax: left out, as --quick asks");
    } else {
        beside_diffrax(engines, rounds.min(5), &toss, (&mut figures, &mut peers))?;
    }
    peers.save(&folder.join("time_peers.csv"))?;
    figures.conclude(&folder.join("time.json"))
}

const THEIR_ERROR: &str = "its derivative is off by, per cent";
const NO_DERIVATIVE: &str = "an engine gave no derivative";

/// The question that all engines are asked.
struct Toss<'a> {
    model: &'a Path,
    /// As carom is asked for one derivative.
    one: &'a Value,
    /// That derivative.
    truth: f64,
}

impl Toss<'_> {
    /// How far off a derivative is, in per cent.
    fn error_of(&self, answer: &Answer) -> Result<f64, String> {
        let found = answer.derivative.ok_or(NO_DERIVATIVE)?;
        Ok(100.0 * ((found - self.truth) / self.truth).abs())
    }
}

/// What peers take, and how far off they are: for the plot of errors over times (the example `pareto`).
#[derive(Default)]
struct Peers(Vec<String>);

impl Peers {
    fn add(&mut self, name: &str, time: &Summary, error_in_per_cent: f64) {
        let (seconds, error) = (1e-6 * time.median, 0.01 * error_in_per_cent);
        self.0.push(format!("{name},{seconds:e},{error:e}\n"));
    }

    fn save(&self, file: &Path) -> Outcome {
        let text = format!("engine,seconds,error\n{}", self.0.concat());
        std::fs::write(file, text).map_err(|error| super::unwritable(file, &error))
    }
}

/// A question to carom.
fn request(model: &Path, method: &str, tolerance: f64) -> Value {
    let [height, sideways, upwards] = START;
    json!({
        "model": model, "steps": 1, "measure": "motion gradient", "method": method, "tolerance": tolerance,
        "seconds": SECONDS, "loss": 1, "by": 2,
        "qpos": { "2": height }, "qvel": { "1": sideways, "2": upwards },
    })
}

/// Derivatives by every parameter of the model, beside that by one number of the start.
fn all_parameters(
    engines: &mut Engines,
    rounds: usize,
    toss: &Toss,
    figures: &mut Figures,
) -> Outcome {
    let mut all = toss.one.clone();
    all["parameters"] = json!(PARAMETERS);
    let count = engines.carom.time(&all)?.parameters;
    let [all, one] = engines.carom_in_turns([&all, toss.one], rounds)?;
    Figures::head("value and gradient by all parameters beside one", "one µs");
    let names = ("all parameters beside one", "cube toss");
    figures.compare(names, &all, &one, Bar::AtMost(ALL_BAR));
    figures.remark("parameters", count as f64);
    Ok(())
}

/// MuJoCo's acceleration under Dormand–Prince in C, and central differences.
fn beside_the_plain_way(
    engines: &mut Engines,
    rounds: usize,
    toss: &Toss,
    folder: &Path,
    (figures, peers): (&mut Figures, &mut Peers),
) -> Outcome {
    let measure = "gradient beside Dormand–Prince in C and differences";
    let program = match compile_plain_peer(folder) {
        Ok(program) => program,
        Err(why) => {
            figures.not_measured(measure, &why);
            return Ok(());
        }
    };
    for tolerance in PLAIN_TOLERANCES {
        let mut peer = start_plain_peer(&program, toss.model, tolerance)?;
        let error = toss.error_of(&peer.time(toss.one)?)?;
        let times: Result<Vec<f64>, String> = (0..rounds.min(5))
            .map(|_| Ok(peer.time(toss.one)?.microseconds))
            .collect();
        peers.add(
            "MuJoCo under Dormand–Prince in C",
            &Summary::of(times?),
            error,
        );
    }
    let mut peer = start_plain_peer(&program, toss.model, PEERS_TOLERANCE)?;
    let error = toss.error_of(&peer.time(toss.one)?)?;
    let mut servers = [&mut engines.carom, &mut peer];
    let requests = [(0, toss.one), (1, toss.one)];
    let [ours, theirs] = in_turns(&mut servers, requests, rounds)?.0;
    Figures::head(
        "value and gradient beside MuJoCo's acceleration, Dormand–Prince in C and one central difference",
        "C µs",
    );
    let names = (measure, "cube toss");
    figures.compare(names, &ours, &theirs, Bar::AtMost(PLAIN_BAR));
    figures.remark(THEIR_ERROR, error);
    Ok(())
}

/// Compiles the plain peer against the library of MuJoCo's Python package.
fn compile_plain_peer(folder: &Path) -> Result<PathBuf, String> {
    let python = python::interpreter()?;
    let where_is = "import mujoco, pathlib; print(pathlib.Path(mujoco.__file__).parent)";
    let package = PathBuf::from(output(command(python).args(["-c", where_is]))?.trim());
    let library = library_in(&package)?;
    let program = folder.join("adaptive_peer");
    let mut compiler = command("cc");
    compiler
        .args(["-O2", "xtask/bench/adaptive_peer.c", "-I"])
        .arg(package.join("include"))
        .arg(library)
        .arg(format!("-Wl,-rpath,{}", package.display()))
        .args(["-lm", "-o"])
        .arg(&program);
    output(&mut compiler).map_err(|error| format!("no C compiler did its work: {error}"))?;
    Ok(program)
}

fn start_plain_peer(program: &Path, model: &Path, tolerance: f64) -> Result<Server, String> {
    let numbers = [tolerance, SECONDS, START[0], START[1], START[2]];
    Server::start(
        command(program)
            .arg(model)
            .args(numbers.map(|number| number.to_string())),
    )
}

/// MuJoCo's library in its Python package.
fn library_in(package: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(package)
        .map_err(|error| format!("cannot read {}: {error}", package.display()))?;
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("libmujoco."))
    };
    let mut paths = entries.flatten().map(|entry| entry.path());
    paths
        .find(is_library)
        .ok_or_else(|| format!("{} has no library", package.display()))
}

/// MJX under diffrax at a tolerance of 1e-7.
fn beside_diffrax(
    engines: &mut Engines,
    rounds: usize,
    toss: &Toss,
    (figures, peers): (&mut Figures, &mut Peers),
) -> Outcome {
    let measure = "gradient beside MJX and diffrax";
    let mut peer = match start_peer("diffrax", "xtask/bench/diffrax_peer.py") {
        Ok(peer) => peer,
        Err(why) => {
            figures.not_measured(measure, &why);
            return Ok(());
        }
    };
    Figures::head(
        "value and gradient beside MJX and diffrax's Tsit5 on the CPU (which compile for minutes now)",
        "diffrax µs",
    );
    let theirs = request(toss.model, "tsit5", PEERS_TOLERANCE);
    let error = toss.error_of(&peer.time(&theirs)?)?;
    let mut servers = [&mut engines.carom, &mut peer];
    let (times, compilation) = in_turns(&mut servers, [(0, toss.one), (1, &theirs)], rounds)?;
    let [ours, theirs] = times;
    figures.compare(
        (measure, "cube toss"),
        &ours,
        &theirs,
        Bar::AtLeast(DIFFRAX_BAR),
    );
    peers.add("MJX under diffrax", &theirs, error);
    figures.remark(THEIR_ERROR, error);
    figures.remark("its compilation, CPU seconds", compilation);
    Ok(())
}
