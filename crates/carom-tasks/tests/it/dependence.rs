//! What a model lacks must be named by the residuals of its fit, and nothing where it lacks nothing.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use carom::load::Loaded;
use carom::{Data, Input, State};
use carom_optimise::random::Random;
use carom_tasks::identify::workflow::{self, Profiles, Question, WantedChecks};
use carom_tasks::identify::{Driver, Finding, Free, Outcome, Settings, Unwatched};
use carom_tasks::recording::{self, Mapping, Recordings};

use crate::support::Folder;

/// Noise of recorded angles (rad).
const NOISE: f64 = 5e-4;
/// A servo that swings a mass in a vertical plane.
const ARM: &str = "<mujoco><compiler angle='radian'/><option timestep='0.002' integrator='implicitfast'/><worldbody><body name='arm' pos='0 0 1'>\
    <joint name='hinge' axis='0 1 0' damping='DAMPING' frictionloss='0.05' armature='0.01'/>\
    <geom type='capsule' fromto='0 0 0 0.3 0 0' size='0.02' mass='0.8'/></body></worldbody>\
    <actuator><position name='servo' joint='hinge' kp='25' kv='0.5' HISTORY/></actuator></mujoco>";
/// A delay of 14 ms.
const DELAY: &str = "delay='0.014' nsample='20' interp='linear'";

/// The arm with some damping (N·m·s/rad) and a history of commands.
fn arm(damping: f64, history: &str) -> Loaded {
    let folder = Folder::new("dependence-model");
    let text = ARM.replace("HISTORY", history);
    let path = folder.write("arm.xml", &text.replace("DAMPING", &damping.to_string()));
    carom::load::file(&path, &[]).unwrap()
}

fn command(run: usize, time: f64) -> f64 {
    let phase = 1.3 * run as f64;
    0.7 * (TAU * 0.4 * time + phase).sin() + 0.25 * (TAU * 1.7 * time + 2.0 * phase).sin()
}

/// Two runs of 4 s with a force that the model does not know, as a function of velocity and load.
fn recorded(
    truth: &Loaded,
    model: &Loaded,
    seed: u64,
    hidden: &dyn Fn(f64, f64) -> f64,
) -> Recordings {
    let folder = Folder::new("dependence");
    let truth = &truth.model;
    let mut random = Random::new(seed, 0);
    let mut paths = Vec::new();
    for run in 0..2 {
        let (mut state, mut data) = (State::reference(truth), Data::new(truth));
        let mut input = Input::zeros(truth);
        input.ctrl[0] = command(run, 0.0);
        for history in &mut state.history {
            history.values_mut().fill(command(run, 0.0));
        }
        state.qpos[0] = command(run, 0.0);
        let mut text = "t,q,u\n".to_owned();
        for _ in 0..400 {
            input.ctrl[0] = command(run, state.time);
            let angle = state.qpos[0] + NOISE * random.normal();
            writeln!(text, "{},{angle},{}", state.time, input.ctrl[0]).unwrap();
            for _ in 0..5 {
                carom::forward(truth, &state, &input, &mut data);
                let load = data.actuation.force[0].abs() + data.bias.force[0].abs();
                input.force[0] = hidden(state.qvel[0], load);
                carom::step(truth, &mut state, &input, &mut data);
                input.force[0] = 0.0;
            }
        }
        paths.push(folder.write(&format!("run{run}.csv"), &text));
    }
    let mapping = format!(
        "time.column = 't'\nvelocity.method = 'smooth'\n[[joint]]\nname = 'hinge'\nposition = 'q'\nnoise = {NOISE}\n\
         [[actuator]]\nname = 'servo'\ncontrol = 'u'\n"
    );
    let mapping = Mapping::parse(&mapping, "arm.toml").unwrap();
    recording::load(&model.model, &mapping, &paths).unwrap()
}

fn identified(model: &Loaded, recordings: &Recordings, names: &[&str]) -> Outcome {
    let question = Question {
        model: &model.model,
        spec: &model.spec,
        original: None,
        recordings,
        held_out: None,
        settings: Settings {
            free: (names.iter())
                .map(|name| Free::new(name.parse().unwrap()))
                .collect(),
            ..Settings::default()
        },
        checks: WantedChecks {
            suggestions: false,
            profiles: Profiles::Never,
            ..WantedChecks::default()
        },
        resume: None,
    };
    workflow::identify(&question, None, &mut Unwatched).unwrap()
}

/// What is named where the truth is another arm, or has a force that the model does not know.
fn named(
    names: &[&str],
    truth: &Loaded,
    seed: u64,
    hidden: &dyn Fn(f64, f64) -> f64,
) -> Vec<Finding> {
    let model = arm(0.1, "");
    let recordings = recorded(truth, &model, seed, hidden);
    let outcome = identified(&model, &recordings, names);
    let found = outcome.dependences.unwrap();
    for row in &found.rows {
        println!("{row:?}");
    }
    println!("{:?} {:?}", outcome.identified.noise, found.findings);
    let is_named = found.rows.iter().any(|row| row.is_significant);
    assert_eq!(is_named, !found.findings.is_empty());
    found.findings
}

const KP: &str = "actuator.servo.kp";
const DAMPING: &str = "joint.hinge.damping[0]";
const DRY: &str = "joint.hinge.frictionloss";

fn nothing(_: f64, _: f64) -> f64 {
    0.0
}

#[test]
fn where_nothing_is_missing_nothing_is_named() {
    for seed in 0..carom_testing::by_tier(2, 40) {
        assert_eq!(
            named(&[KP, DAMPING, DRY], &arm(0.1, ""), seed, &nothing),
            []
        );
    }
}

#[test]
fn a_hidden_delay_is_named_until_it_is_free() {
    let found = named(&[KP, DAMPING, DRY], &arm(0.1, DELAY), 1, &nothing);
    let [finding] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(finding.driver, Driver::ControlChange);
    assert!(finding.share > 0.5, "{finding:?}");
    assert!(
        finding.words.contains("--free actuator.servo.delay"),
        "{}",
        finding.words
    );
    assert_eq!(
        named(
            &[KP, DAMPING, DRY, "actuator.*.delay"],
            &arm(0.1, DELAY),
            1,
            &nothing
        ),
        []
    );
}

#[test]
fn hidden_viscous_friction_is_named_until_it_is_free() {
    // Of the model's own kind, since integrators take damping at the end of a step and applied forces at its beginning.
    let truth = arm(0.25, "");
    let found = named(&[KP, DRY], &truth, 2, &nothing);
    let [finding] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(finding.driver, Driver::Velocity);
    assert!(
        finding.words.contains("free joint.hinge.damping[0]"),
        "{}",
        finding.words
    );
    assert_eq!(named(&[KP, DRY, DAMPING], &truth, 2, &nothing), []);
}

#[test]
fn hidden_dry_friction_is_named_until_it_is_free() {
    let dry = |velocity: f64, _: f64| -0.1 * (velocity / 0.01).tanh();
    let found = named(&[KP, DAMPING], &arm(0.1, ""), 3, &dry);
    let [finding] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(finding.driver, Driver::Direction);
    assert!(
        finding.words.contains("free joint.hinge.frictionloss"),
        "{}",
        finding.words
    );
}

#[test]
fn friction_that_grows_with_the_load_is_named() {
    let by_load = |velocity: f64, load: f64| -0.1 * load * (velocity / 0.02).tanh();
    let found = named(&[KP, DAMPING, DRY], &arm(0.1, ""), 4, &by_load);
    let [finding] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(finding.driver, Driver::Load);
    assert!(
        finding.words.contains("load-dependent friction"),
        "{}",
        finding.words
    );
}

/// A body that a thruster holds up, with 1 mm and 2 mrad of noise.
const FLYER: &str = "<mujoco><option timestep='0.005' integrator='implicitfast'/><worldbody><body name='flyer' pos='0 0 1'>\
    <freejoint name='free'/><geom type='box' size='0.1 0.08 0.03' mass='0.5'/><site name='top'/></body></worldbody>\
    <actuator><motor name='thrust' site='top' gear='0 0 1 0 0 0'/></actuator></mujoco>";
const FLYER_NOISE: [f64; 2] = [1e-3, 2e-3];

/// What is named of flights under forces in the world and torques about the body's axes that the model does not know, as functions of the
/// velocities.
fn flown(seed: u64, hidden: &dyn Fn(&[f64]) -> [f64; 6]) -> Vec<Finding> {
    let folder = Folder::new("flights");
    let loaded = carom::load::file(&folder.write("flyer.xml", FLYER), &[]).unwrap();
    let truth = &loaded.model;
    let mut random = Random::new(seed, 1);
    let mut paths = Vec::new();
    for run in 0..4 {
        let (mut state, mut data) = (State::reference(truth), Data::new(truth));
        let mut input = Input::zeros(truth);
        for (k, velocity) in state.qvel.iter_mut().enumerate() {
            *velocity = if k < 3 { 1.5 } else { 1.0 } * random.normal();
        }
        let mut text = "t,x,y,z,a,b,c,d,u\n".to_owned();
        for _ in 0..100 {
            input.ctrl[0] = 0.5 * 9.81 * (1.02 + 0.3 * (5.0 * state.time + f64::from(run)).sin());
            let mut pose = state.qpos.clone();
            for (k, number) in pose.iter_mut().enumerate() {
                // A quaternion turns by twice as much as its numbers change.
                *number += if k < 3 {
                    FLYER_NOISE[0]
                } else {
                    0.5 * FLYER_NOISE[1]
                } * random.normal();
            }
            let pose: Vec<String> = pose.iter().map(f64::to_string).collect();
            writeln!(text, "{},{},{}", state.time, pose.join(","), input.ctrl[0]).unwrap();
            for _ in 0..2 {
                input.force.copy_from_slice(&hidden(&state.qvel));
                carom::step(truth, &mut state, &input, &mut data);
            }
        }
        paths.push(folder.write(&format!("flight{run}.csv"), &text));
    }
    let mapping = format!(
        "time.column = 't'\nvelocity.method = 'smooth'\n[[body]]\nname = 'flyer'\nposition = ['x', 'y', 'z']\n\
         rotation = ['a', 'b', 'c', 'd']\nnoise.position = {}\nnoise.rotation = {}\n\
         [[actuator]]\nname = 'thrust'\ncontrol = 'u'\n",
        FLYER_NOISE[0], FLYER_NOISE[1]
    );
    let mapping = Mapping::parse(&mapping, "flyer.toml").unwrap();
    let recordings = recording::load(truth, &mapping, &paths).unwrap();
    let outcome = identified(&loaded, &recordings, &["actuator.thrust.gainprm[0]"]);
    let found = outcome.dependences.unwrap();
    println!("{} {:#?}", outcome.identified.noise, found.findings);
    found.findings
}

#[test]
fn drag_and_constant_forces_of_free_bodies_are_named() {
    assert_eq!(flown(5, &|_| [0.0; 6]), []);
    let drag = flown(6, &|v| {
        [-0.2 * v[0], -0.2 * v[1], -0.2 * v[2], 0.0, 0.0, 0.0]
    });
    assert!(
        drag.iter().any(|one| one.driver == Driver::Velocity
            && one.element.starts_with("translation")
            && one.words.contains("more drag")),
        "{drag:?}"
    );
    let wind = flown(7, &|_| [0.0, 0.1, 0.0, 0.0, 0.0, 0.0]);
    let first = &wind[0];
    assert_eq!(first.driver, Driver::Constant, "{wind:?}");
    assert!(first.element.contains("world's y"), "{first:?}");
    let force = first.words.split_whitespace().nth(2);
    let force: f64 = force.and_then(|number| number.parse().ok()).unwrap();
    assert!((force - 0.1).abs() < 0.005, "{first:?}");
    let spin = flown(8, &|v| [0.0, 0.0, 0.0, 0.0, 0.0, -5e-4 * v[5]]);
    assert!(
        spin.iter().any(|one| one.driver == Driver::Velocity
            && one.element.contains("rotation about the body's z")),
        "{spin:?}"
    );
}
