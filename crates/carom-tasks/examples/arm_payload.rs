//! Experiment: do intervals hold the truth, whichever way the mass of a payload is freed? An arm of three joints with position servos carries a
//! payload of unknown mass; damping, dry friction and gains of all joints and the delays of their commands are unknown too.
//!
//! `cargo run --release -p carom-tasks --example arm_payload` identifies all 13 parameters from 4 runs of 5 s, for 12 seeds and every way to free
//! a mass; with `-- 3 6` for seeds 3 to 5, with `-- --quick` from runs of 2 s and for 1 seed. It fails if fewer than 92 % of the intervals at 95 % hold the truth for one of the ways, or if a run is
//! graded a success although its residuals exceed twice the noise, an error of a held-out run rose or a value is implausible. A pseudo-inertia has
//! ten numbers, of which an arm does not tell all: nine are held near the model's by `inertia_sd`, and the mass is counted.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;
mod motions;

use std::error::Error;
use std::f64::consts::TAU;
use std::path::PathBuf;

use carom::load::Loaded;
use carom::parameters::Parameters;
use carom::{Data, Input, Model, State};
use carom_tasks::identify::workflow::{self, Question, WantedChecks};
use carom_tasks::identify::{Estimate, Grade, Outcome, Settings, Unwatched};
use carom_tasks::recording::{self, Mapping, Recordings};
use motions::Motion;

/// Ways to free the mass of the payload.
const MASSES: [&str; 3] = [
    "geom.payload.mass",
    "body.payload.mass",
    "body.payload.pseudo_inertia",
];
/// The number of a pseudo-inertia that is half of the logarithm of the mass.
const HALF_LOG_MASS: &str = "body.payload.pseudo_inertia[alpha]";
/// The mass of the payload as it is believed to be, and in truth (kg).
const PAYLOAD: [f64; 2] = [0.1, 0.35];
/// Truth of each joint: damping (N·m·s/rad), dry friction (N·m), gain (N·m/rad).
const JOINTS: [(&str, [f64; 3]); 3] = [
    ("joint.j{}.damping[0]", [0.5, 0.4, 0.25]),
    ("joint.j{}.frictionloss", [0.2, 0.15, 0.1]),
    ("actuator.s{}.kp", [42.0, 35.0, 25.0]),
];
/// True delay of all commands (s); the model has none.
const DELAY: f64 = 0.012;
/// Noise of the recorded angles (rad).
const NOISE: f64 = 5e-4;
/// Runs of the fit; one more is held out.
const RUNS: u64 = 4;
/// Frames of a run, 10 ms apart, and in the quick form.
const FRAMES: [usize; 2] = [500, 200];
/// Seeds of the noise, and in the quick form.
const SEEDS: [u64; 2] = [12, 1];
/// Share of intervals at 95 % that must hold the truth.
const MIN_COVERAGE: f64 = 0.92;
/// Estimates further from the truth than this share of it are wrong, whatever their intervals say.
const MAX_ERROR_OF_SUCCESS: f64 = 0.3;

/// The arm as it is believed to be, without delays.
const ARM: &str = r#"<mujoco model="arm"><option timestep="0.002" integrator="implicitfast"/>
  <default><joint axis="0 1 0" damping="0.1" frictionloss="0.05" armature="0.02"/><position kp="30" kv="1"/></default>
  <worldbody><body name="link0" pos="0 0 0.5"><joint name="j0" axis="0 0 1"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.1" size="0.03" mass="1.2"/>
    <body name="link1" pos="0 0 0.1"><joint name="j1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.025" mass="0.8"/>
      <body name="link2" pos="0.3 0 0"><joint name="j2"/><geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.5"/>
        <body name="payload" pos="0.29 0 0"><geom name="payload" type="box" size="0.04 0.03 0.02" mass="0.1"/></body>
  </body></body></body></worldbody>
  <actuator><position name="s0" joint="j0"/><position name="s1" joint="j1"/><position name="s2" joint="j2"/></actuator>
</mujoco>"#;

/// Where files go.
fn folder() -> Result<PathBuf, Box<dyn Error>> {
    let folder = common::root().join("target/experiments/arm_payload");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn loaded(text: &str) -> Result<Loaded, Box<dyn Error>> {
    let path = folder()?.join(format!("arm-{}.xml", std::process::id()));
    std::fs::write(&path, text)?;
    let loaded = carom::load::file(&path, &[])?;
    std::fs::remove_file(&path)?;
    Ok(loaded)
}

/// Parameters of all joints with their truth.
fn of_joints() -> Vec<(String, f64)> {
    let each = JOINTS.into_iter().flat_map(|(name, truth)| {
        let named = truth.into_iter().enumerate();
        named.map(move |(joint, truth)| (name.replace("{}", &joint.to_string()), truth))
    });
    each.collect()
}

/// The arm as it is in truth.
fn truth() -> Result<Model, Box<dyn Error>> {
    let delayed = format!(r#"kv="1" delay="{DELAY}" nsample="20" interp="linear""#);
    let arm = loaded(&ARM.replace(r#"kv="1""#, &delayed))?.model;
    let mut known = of_joints();
    known.push(("geom.payload.mass".to_owned(), PAYLOAD[1]));
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<f64> = known.iter().map(|(_, truth)| *truth).collect();
    Ok(Parameters::select(&arm, &names)?.apply(&values)?)
}

/// The truth of an estimate; none of the numbers of a pseudo-inertia that are held near the model's.
fn truth_of(one: &Estimate) -> Option<f64> {
    let of_joint = of_joints().into_iter().find(|(name, _)| *name == one.name);
    match (one.name.as_str(), one.name.rsplit('.').next()) {
        (_, Some("delay")) => Some(DELAY),
        (_, Some("mass")) => Some(PAYLOAD[1]),
        (HALF_LOG_MASS, _) => Some(one.start + 0.5 * (PAYLOAD[1] / PAYLOAD[0]).ln()),
        _ => of_joint.map(|(_, truth)| truth),
    }
}

/// Commands of a run: two sines a joint about a posture.
fn commands(run: u64, time: f64) -> Vec<f64> {
    let wave = |(joint, posture): (usize, f64)| {
        let joint = joint as f64;
        let phase = 0.7 * run as f64 + 1.9 * joint;
        let slow = 0.35 * (TAU * (0.35 + 0.07 * joint) * time + phase).sin();
        let fast = 0.12 * (TAU * (1.3 + 0.31 * joint) * time + 2.0 * phase).sin();
        posture + slow + fast
    };
    let postures = [0.0, -0.5, 0.6].into_iter().enumerate();
    postures.map(wave).collect()
}

/// The arm where its first command holds it.
fn settled(truth: &Model, run: u64) -> State {
    let (mut state, mut data) = (State::reference(truth), Data::new(truth));
    let mut input = Input::zeros(truth);
    input.ctrl.copy_from_slice(&commands(run, 0.0));
    for _ in 0..2000 {
        carom::step(truth, &mut state, &input, &mut data);
    }
    // Histories have times: the first command was held for long before the run.
    let mut start = State::reference(truth);
    (start.qpos, start.qvel) = (state.qpos, state.qvel);
    for (history, control) in start.history.iter_mut().zip(&input.ctrl) {
        history.values_mut().fill(*control);
    }
    start
}

/// Runs of the truth, for the model.
fn recorded(
    truth: &Model,
    model: &Model,
    seed: u64,
    runs: std::ops::Range<u64>,
) -> Result<Recordings, Box<dyn Error>> {
    let mapping = |joint: usize| {
        format!(
            "[[joint]]\nname = \"j{joint}\"\nposition = \"q[{joint}]\"\nnoise = {NOISE}\n\
             [[actuator]]\nname = \"s{joint}\"\ncontrol = \"u[{joint}]\"\n"
        )
    };
    let time = "[time]\ncolumn = \"t\"\n[velocity]\nmethod = \"smooth\"\nframes = 4\n".to_owned();
    let mapping: String = std::iter::once(time).chain((0..3).map(mapping)).collect();
    let folder = folder()?;
    let mut paths = Vec::new();
    for run in runs {
        let motion = Motion {
            start: settled(truth, run),
            frames: FRAMES[usize::from(common::is_quick())],
            every: 5,
            control: &|time| commands(run, time),
            noise: [NOISE, 0.0],
            seed: (RUNS + 1) * seed + run,
        };
        let path = folder.join(format!("run{run}-{seed}-{}.csv", std::process::id()));
        std::fs::write(&path, motion.table(truth)?)?;
        paths.push(path);
    }
    let mapping = Mapping::parse(&mapping, "arm.toml")?;
    let recordings = recording::load(model, &mapping, &paths)?;
    paths.iter().try_for_each(std::fs::remove_file)?;
    Ok(recordings)
}

fn identified(mass: &str, [fit, others]: &[Recordings; 2]) -> Result<Outcome, Box<dyn Error>> {
    let loaded = loaded(ARM)?;
    let joints = of_joints();
    let mut names = vec![mass];
    names.extend(joints.iter().map(|(name, _)| name.as_str()));
    names.push("actuator.*.delay");
    let question = Question {
        model: &loaded.model,
        spec: &loaded.spec,
        original: None,
        recordings: fit,
        held_out: Some(others),
        settings: Settings {
            free: motions::free(&names)?,
            inertia_sd: mass.ends_with("pseudo_inertia").then_some(0.5),
            ..Settings::default()
        },
        checks: WantedChecks::NONE,
        resume: None,
    };
    Ok(workflow::identify(&question, None, &mut Unwatched)?)
}

/// What speaks against the grade of a success, measured here anew.
fn is_wrong(outcome: &Outcome, pairs: &[(&Estimate, f64)]) -> bool {
    let is_far = pairs
        .iter()
        .any(|(one, truth)| (one.value / truth - 1.0).abs() > MAX_ERROR_OF_SUCCESS);
    let has_risen = outcome.held_out.as_ref().is_some_and(|[before, after]| {
        let mut totals = before.total.iter().zip(&after.total);
        totals.any(|(before, after)| after > before)
    });
    outcome.identified.noise > 2.0 || has_risen || is_far
}

/// What was counted for one way to free the mass.
#[derive(Clone, Copy, Default)]
struct Count {
    held: usize,
    asked: usize,
    successes: usize,
    runs: usize,
}

impl Count {
    /// Identifies from the recordings of a seed, counts, and says what is wrong.
    fn add(
        &mut self,
        mass: &str,
        seed: u64,
        recordings: &[Recordings; 2],
    ) -> Result<Option<String>, Box<dyn Error>> {
        let outcome = identified(mass, recordings)?;
        let estimates = outcome.identified.estimates.iter();
        let pairs: Vec<(&Estimate, f64)> = estimates
            .filter_map(|one| Some((one, truth_of(one)?)))
            .collect();
        let is_outside = |(one, truth): &&(&Estimate, f64)| !motions::holds(one, *truth);
        let outside: Vec<_> = pairs.iter().filter(is_outside).collect();
        let verdict = outcome.verdict();
        println!(
            "{mass}, seed {seed}: {} of {} intervals hold the truth; residuals {:.3} times the noise; {:.1} s; {}",
            pairs.len() - outside.len(),
            pairs.len(),
            outcome.identified.noise,
            outcome.seconds,
            verdict.grade
        );
        for reason in &verdict.reasons {
            println!("    {}: {}", reason.grade, reason.words);
        }
        for (one, truth) in &outside {
            println!("    outside: {}", motions::row(one, *truth).join("  "));
        }
        let is_success = verdict.grade == Grade::Success;
        self.held += pairs.len() - outside.len();
        self.asked += pairs.len();
        self.successes += usize::from(is_success);
        self.runs += 1;
        let is_green = is_success && is_wrong(&outcome, &pairs);
        Ok(is_green.then(|| format!("{mass}, seed {seed}: a wrong answer is graded a success")))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (model, truth) = (loaded(ARM)?.model, truth()?);
    let mut failures = Vec::new();
    let mut counts = [Count::default(); MASSES.len()];
    let numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let seeds = match numbers.collect::<Vec<u64>>()[..] {
        [first, end] => first..end,
        _ => 0..SEEDS[usize::from(common::is_quick())],
    };
    for seed in seeds {
        let runs_of = |runs| recorded(&truth, &model, seed, runs);
        let recordings = [runs_of(0..RUNS)?, runs_of(RUNS..RUNS + 1)?];
        for (mass, count) in MASSES.into_iter().zip(&mut counts) {
            failures.extend(count.add(mass, seed, &recordings)?);
        }
    }
    for (mass, count) in MASSES.into_iter().zip(counts) {
        let Count {
            held,
            asked,
            successes,
            runs,
        } = count;
        println!(
            "{mass}: {held} of {asked} intervals hold the truth; {successes} of {runs} runs are a success"
        );
        if (held as f64) < MIN_COVERAGE * asked as f64 {
            failures.push(format!(
                "{mass}: {held} of {asked} intervals hold the truth"
            ));
        }
        if successes < runs {
            failures.push(format!("{mass}: a right answer is doubted"));
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.join("\n").into())
}
