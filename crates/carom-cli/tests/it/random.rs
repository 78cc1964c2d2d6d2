//! Command lines made at random from a grammar: half of them almost right, all of them answered in order.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use carom_testing::{Random, by_tier};

use crate::support::{Folder, carom, finish};

/// Command lines of the gate and of the long form; others with `CAROM_FUZZ_RUNS`.
const RUNS: [usize; 2] = [1_500, 10_000];
/// Processes at the same time.
const WORKERS: usize = 4;

const COMMANDS: [&str; 16] = [
    "view",
    "sim",
    "sim",
    "check",
    "gradient",
    "gradient",
    "gradient",
    "parity",
    "bench",
    "completions",
    "evaluate",
    "evaluate",
    "identify",
    "identify",
    "quickstart",
    "frob",
];

const FLAGS: [&str; 48] = [
    "--json",
    "--json",
    "--seconds",
    "--set",
    "--loss",
    "--wrt",
    "--integrator",
    "--adjoint",
    "--cfd",
    "--cfd=",
    "--keyframe",
    "--no-check",
    "--no-timing",
    "--allow",
    "--every",
    "--out",
    "--controls",
    "--tolerance",
    "--threads",
    "--seed",
    "--steps",
    "--batches",
    "--disable",
    "--until",
    "--class",
    "--model",
    "--verbose",
    "--",
    "--mapping",
    "--window",
    "--total",
    "--free",
    "--preset",
    "--settings",
    "--validate",
    "--segments",
    "--free-initial-states",
    "--start-draws",
    "--optimiser",
    "--evaluations",
    "--anyway",
    "--profiles",
    "--folds",
    "--recovery",
    "--report",
    "--checkpoint",
    "--resume",
    "--no-open",
];

/// Values that take no time; none of them asks for a long simulation.
const VALUES: [&str; 69] = [
    "0",
    "1",
    "2",
    "0.01",
    "0.02",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e300",
    "-0",
    "1e-300",
    "0.5",
    "1e-3",
    "18446744073709551615",
    "18446744073709551616",
    "qpos[0]",
    "qvel[0]",
    "qpos[99]",
    "qpos[-1]",
    "qpos[",
    "qpos]",
    "qpos",
    "ctrl[0]",
    "ctrl[0]=1",
    "qpos[0]=0.1",
    "qpos[0]=nan",
    "qpos[0]=",
    "=",
    "[",
    "qvel[0],qpos[0]",
    ",",
    ",,",
    "geom.*.size",
    "geom.cub.size",
    "body.*.mass log",
    "body..mass",
    "joint.",
    ".",
    "*.*.*",
    "state.qpos",
    "tsit5",
    "bosh3",
    "fixed",
    "tsit6",
    "stored",
    "forward",
    "checkpointed=100",
    "checkpointed=-1",
    "continuous=1e-3",
    "backsolve",
    "w_c=0.1",
    "w_c=0.1,d_0=2",
    "pairs=a:b",
    "geoms=",
    "smooth",
    "exact",
    "contact",
    "ü☃\u{301}",
    "joint.pivot.damping[0]",
    "joint.pivot.damping[0] log",
    "joint.pivot.damping[0] bounds(2,1)",
    "contact",
    "lm",
    "adam",
    "nelder-mead",
    "newton",
    "likelihood",
];

const MODELS: [&str; 6] = [
    "models/pendulum.xml",
    "models/cartpole.urdf",
    "models/cube.xml",
    "tests/reference",
    "README.md",
    "",
];

/// A swing of the pendulum, and what its columns are.
const SWING: &str = "time,angle\n0,0.3\n0.005,0.2999\n0.01,0.2996\n0.015,0.2992\n0.02,0.2985\n0.025,0.2977\n0.03,0.2966\n";
const MAPPING: &str =
    "time.column = 'time'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nnoise = 0.001\n";

/// A command line.
fn arguments(random: &mut Random, folder: &Folder) -> Vec<String> {
    let mut list = Vec::new();
    let command = random.pick(&COMMANDS);
    if !random.once_in(30) {
        list.push(command.to_owned());
    }
    let file = |random: &mut Random| {
        let names = [
            "run.npz",
            "run.csv",
            "new.npz",
            "missing/run.npz",
            "garbage.npz",
            "broken.xml",
            "motion.csv",
            "map.toml",
            ".",
            "run.txt",
        ];
        folder
            .path(random.pick(&names))
            .to_string_lossy()
            .into_owned()
    };
    let named = |name: &str| folder.path(name).to_string_lossy().into_owned();
    match command {
        // Where nothing can be written it ends at once.
        "quickstart" => list.extend(["--out".to_owned(), named("garbage.npz")]),
        "evaluate" | "identify" if !random.once_in(8) => {
            list.extend(["models/pendulum.xml".to_owned(), named("motion.csv")]);
        }
        "parity" if !random.once_in(4) => list.push("tests/reference".to_owned()),
        "completions" => list.push(random.pick(&["bash", "zsh", "fish", "tcsh"]).to_owned()),
        _ if !random.once_in(8) => list.push(random.pick(&MODELS[..3]).to_owned()),
        _ => list.push(random.pick(&MODELS).to_owned()),
    }
    // Almost right: what is required is there, and nothing takes long.
    let fixed = match command {
        "sim" => "--seconds 0.02",
        "check" => "--no-timing",
        "gradient" => "--seconds 0.02 --loss qpos[0] --wrt qvel[0]",
        "parity" => "--until smooth --model slider_crank",
        "bench" => "--steps 2 --batches 1",
        "identify" => "--evaluations 2 --threads 1 --free joint.pivot.damping[0]",
        _ => "",
    };
    if !random.once_in(5) || command == "parity" {
        list.extend(fixed.split_whitespace().map(str::to_owned));
    }
    if ["evaluate", "identify"].contains(&command) && !random.once_in(8) {
        list.extend(["--mapping".to_owned(), named("map.toml")]);
    }
    if command == "view" {
        let page = folder.path("page.html").to_string_lossy().into_owned();
        list.extend(["--seconds", "0.02", "--export", &page].map(str::to_owned));
    }
    for _ in 0..random.below(4) {
        let flag = random.pick(&FLAGS);
        let value = match flag {
            "--out" | "--controls" | "--mapping" | "--settings" | "--validate" | "--report"
            | "--checkpoint" => file(random),
            _ if random.once_in(10) => file(random),
            _ => random.pick(&VALUES).to_owned(),
        };
        match random.below(4) {
            0 => list.push(flag.to_owned()),
            1 => list.push(format!("{flag}={value}")),
            _ => list.extend([flag.to_owned(), value]),
        }
    }
    if random.once_in(20) {
        let index = random.below(list.len());
        list.remove(index);
    }
    list
}

/// Whether a line asks for something that takes long on purpose: all references, stages timed for half a second, or a whole
/// identification.
fn is_long(list: &[String]) -> bool {
    let has = |word: &str| list.iter().any(|other| other == word);
    let is = |word: &str| list.first().is_some_and(|first| first == word);
    (is("parity") && !(has("slider_crank") && has("smooth")))
        || (is("check") && !has("--no-timing"))
        || (is("bench") && !has("2"))
        || (has("sim") && !has("0.02"))
        || (has("view") && !(has("0.02") && has("--export")))
        || (has("gradient") && !has("0.02"))
        || (has("quickstart") && !list.iter().any(|word| word.ends_with("garbage.npz")))
        || (has("identify") && !(has("--evaluations") && has("2")))
}

#[test]
fn random_command_lines_are_answered_in_order() {
    let folder = Folder::new("random");
    folder.with("garbage.npz", [7; 300]);
    folder.with(
        "broken.xml",
        "<mujoco><worldbody><body><geom/></body></worldbody>",
    );
    let runs = std::env::var("CAROM_FUZZ_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let runs = runs.unwrap_or_else(|| by_tier(RUNS[0], RUNS[1]));
    folder.with("motion.csv", SWING);
    folder.with("map.toml", MAPPING);
    let mut random = Random::new(1);
    let mut lines = Vec::new();
    while lines.len() < runs {
        let line = arguments(&mut random, &folder);
        if !is_long(&line) {
            lines.push(line);
        }
    }
    let (next, counts) = (AtomicUsize::new(0), Mutex::new([0usize; 4]));
    let begin = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let code = check(line);
                    counts.lock().unwrap()[code] += 1;
                }
            });
        }
    });
    let counts = counts.into_inner().unwrap();
    eprintln!(
        "{runs} command lines in {:.1} s: exit codes {counts:?}",
        begin.elapsed().as_secs_f64()
    );
    // The grammar reaches both sides.
    assert!(counts[0] > runs / 20 && counts[2] > runs / 20, "{counts:?}");
    let left: Vec<String> = folder.names();
    assert!(
        left.iter().all(|name| !name.ends_with(".partial")),
        "{left:?}"
    );
    assert!(fs::read(folder.path("garbage.npz")).is_ok());
}

/// Runs a line; its exit code.
fn check(line: &[String]) -> usize {
    let outcome = finish(carom().args(line));
    outcome.is_in_order();
    let code = usize::try_from(outcome.code.unwrap()).unwrap();
    let is_flag = |word: &&String| *word != "--";
    let wants_json = line.iter().take_while(is_flag).any(|word| word == "--json");
    if code == 3 {
        let is_doubtful = outcome.stdout.contains("doubtful");
        assert!(is_doubtful, "{}: {outcome:#?}", outcome.what());
    }
    if matches!(code, 0 | 3) {
        return code;
    }
    // Every message says what is wrong, with a code, or is the help.
    let is_help = outcome.stderr.contains("Usage: carom");
    assert!(
        is_help || outcome.stderr.contains("error["),
        "{}: {outcome:#?}",
        outcome.what()
    );
    let serves = line.first().is_some_and(|first| first == "bench");
    if wants_json && !is_help && !serves {
        let document = outcome.json();
        assert!(document["error"].is_string(), "{document}");
        assert!(
            document["diagnostics"].is_array() || document["models"].is_array(),
            "{document}"
        );
    }
    code
}
