//! Experiment: do intervals hold the truth, whichever way the mass of a payload is freed? An arm of three joints with position servos carries a
//! payload of unknown mass; damping, dry friction and gains of all joints and the delays of their commands are unknown too.
//!
//! `cargo run --release -p carom-tasks --example arm_payload` identifies all 13 parameters from 4 runs of 5 s, for 12 seeds and every way to free
//! a mass. It fails if fewer than 92 % of the intervals at 95 % hold the truth, or if a run is not graded a success.
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
use carom_tasks::identify::{Grade, Outcome, Settings, Unwatched};
use carom_tasks::recording::{self, Mapping, Recordings};
use motions::Motion;

/// Ways to free the mass of the payload (kg), with the factor from its mass.
const MASSES: [(&str, f64); 3] = [
    ("geom.payload.mass", 1.0),
    ("body.payload.mass", 1.0),
    // Of a box of 8 × 6 × 4 cm.
    ("geom.payload.density", 1.0 / (0.08 * 0.06 * 0.04)),
];
/// The true mass of the payload (kg).
const PAYLOAD: f64 = 0.35;
/// Truth of each joint: damping (N·m·s/rad), dry friction (N·m), gain (N·m/rad), delay (s).
const JOINTS: [(&str, [f64; 3]); 4] = [
    ("joint.j{}.damping[0]", [0.5, 0.4, 0.25]),
    ("joint.j{}.frictionloss", [0.2, 0.15, 0.1]),
    ("actuator.s{}.kp", [42.0, 35.0, 25.0]),
    ("actuator.s{}.delay", [0.012; 3]),
];
/// Noise of the recorded angles (rad).
const NOISE: f64 = 5e-4;
const RUNS: u64 = 4;
/// Frames of a run, 10 ms apart.
const FRAMES: usize = 500;
/// Seeds of the noise, and in the quick form.
const SEEDS: [u64; 2] = [12, 1];
/// Share of intervals at 95 % that must hold the truth.
const MIN_COVERAGE: f64 = 0.92;

/// The arm as it is believed to be.
const ARM: &str = r#"<mujoco model="arm"><option timestep="0.002" integrator="implicitfast"/>
  <default><joint axis="0 1 0" damping="0.1" frictionloss="0.05" armature="0.02"/>
    <position kp="30" kv="1" delay="0.004" nsample="20" interp="linear"/></default>
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

fn loaded() -> Result<Loaded, Box<dyn Error>> {
    let path = folder()?.join(format!("arm-{}.xml", std::process::id()));
    std::fs::write(&path, ARM)?;
    let loaded = carom::load::file(&path, &[])?;
    std::fs::remove_file(&path)?;
    Ok(loaded)
}

/// All parameters with their truth, the mass first.
fn unknown(mass: (&str, f64)) -> Vec<(String, f64)> {
    let mut all = vec![(mass.0.to_owned(), PAYLOAD * mass.1)];
    for (name, truth) in JOINTS {
        let named = truth.into_iter().enumerate();
        all.extend(named.map(|(joint, truth)| (name.replace("{}", &joint.to_string()), truth)));
    }
    all
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
    state.time = 0.0;
    state
}

fn recorded(truth: &Model, model: &Model, seed: u64) -> Result<Recordings, Box<dyn Error>> {
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
    for run in 0..RUNS {
        let motion = Motion {
            start: settled(truth, run),
            frames: FRAMES,
            every: 5,
            control: &|time| commands(run, time),
            noise: [NOISE, 0.0],
            seed: RUNS * seed + run,
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

fn identified(recordings: &Recordings, names: &[&str]) -> Result<Outcome, Box<dyn Error>> {
    let loaded = loaded()?;
    let question = Question {
        model: &loaded.model,
        spec: &loaded.spec,
        original: None,
        recordings,
        held_out: None,
        settings: Settings {
            free: motions::free(names)?,
            ..Settings::default()
        },
        checks: WantedChecks::NONE,
        resume: None,
    };
    Ok(workflow::identify(&question, None, &mut Unwatched)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = loaded()?.model;
    let (mut held, mut asked, mut successes, mut runs) = (0, 0, 0, 0);
    for seed in 0..SEEDS[usize::from(common::is_quick())] {
        for mass in MASSES {
            let unknown = unknown(mass);
            let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
            let parameters = Parameters::select(&model, &names)?;
            let values: Vec<f64> = unknown.iter().map(|(_, truth)| *truth).collect();
            let truth = parameters.apply(&values)?;
            let recordings = recorded(&truth, &model, seed)?;
            let outcome = identified(&recordings, &names)?;
            let estimates = &outcome.identified.estimates;
            let pairs = || estimates.iter().zip(&values);
            let inside = pairs()
                .filter(|(one, truth)| motions::holds(one, **truth))
                .count();
            let verdict = outcome.verdict();
            println!(
                "seed {seed}, {}: {inside} of {} intervals hold the truth; residuals {:.3} times the noise; {}",
                mass.0,
                values.len(),
                outcome.identified.noise,
                verdict.grade
            );
            for reason in &verdict.reasons {
                println!("    {}: {}", reason.grade, reason.words);
            }
            for (one, truth) in pairs().filter(|(one, truth)| !motions::holds(one, **truth)) {
                println!("    outside: {}", motions::row(one, *truth).join("  "));
            }
            held += inside;
            asked += values.len();
            successes += usize::from(verdict.grade == Grade::Success);
            runs += 1;
        }
    }
    println!(
        "{held} of {asked} intervals hold the truth; {successes} of {runs} runs are a success"
    );
    if (held as f64) < MIN_COVERAGE * asked as f64 || successes < runs {
        return Err(
            "intervals do not hold the truth as often as they say, or a right answer is doubted"
                .into(),
        );
    }
    Ok(())
}
