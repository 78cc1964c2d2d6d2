//! Arms with recorded torques: base parameters, friction and offsets of a known arm are found, inertias stay physical, and
//! predictions are not given up for torques nor torques for predictions.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use carom::parameters::Parameters;
use carom::{Data, Model, State};
use carom_optimise::random::Random;
use carom_tasks::evaluate::evaluate;
use carom_tasks::identify::workflow::{Question, WantedChecks, identify};
use carom_tasks::identify::{
    Driver, Finding, Free, Outcome, ResidualKind, Settings, Task, Unwatched,
};
use carom_tasks::problem::Stepping;
use carom_tasks::recording::{self, Mapping, Recordings};

use crate::support::{Folder, root};

const JOINTS: usize = 7;
/// Of the measured torques (N·m), and of positions (rad).
const TORQUE_NOISE: f64 = 0.1;
const POSITION_NOISE: f64 = 1e-5;
const RATE: f64 = 200.0;
const FRAMES: usize = 2400;
/// Of the recordings that are predicted too, which takes a simulation for each step of a search.
const PREDICTED_FRAMES: usize = 500;

/// The seven-joint arm with motors whose controls are torques, and with an offset each.
fn arm_text() -> String {
    let text = std::fs::read_to_string(root().join("models/arm7.xml")).unwrap();
    let (head, _) = text.split_once("<actuator>").unwrap();
    let motors: Vec<String> = (1..=JOINTS)
        .map(|k| format!("<general name=\"motor{k}\" joint=\"joint{k}\" biastype=\"affine\"/>"))
        .collect();
    let motors = motors.concat();
    format!("{head}<actuator>{motors}</actuator></mujoco>")
}

fn loaded(folder: &Folder) -> carom::load::Loaded {
    let path = folder.write("arm.xml", &arm_text());
    carom::load::file(&path, &[]).unwrap()
}

const FREE: [&str; 5] = [
    "body.link?.pseudo_inertia",
    "joint.*.frictionloss",
    "joint.*.damping[0]",
    "joint.*.armature",
    "actuator.*.biasprm[0]",
];

/// Another arm of the same shape: inertias a fifth off, friction half as strong again, offsets of some tenths.
fn hidden(arm: &Model) -> Model {
    let parameters = Parameters::select(arm, &FREE).unwrap();
    let mut random = Random::new(5, 0);
    let mut theta = parameters.theta0().to_vec();
    for (name, theta) in parameters.names().zip(&mut theta) {
        let draw = random.normal();
        *theta = match name {
            name if name.contains("biasprm") => 0.4 * draw,
            name if name.contains("frictionloss") || name.contains("damping") => *theta * 1.5,
            name if name.contains("armature") => *theta * 0.9,
            name if name.contains("[t") => *theta + 0.01 * draw,
            name if name.contains("[s") => *theta + 0.005 * draw,
            _ => *theta + 0.1 * draw,
        };
    }
    parameters.bake(&theta).unwrap()
}

/// A joint at a time: position, velocity, acceleration of a sum of sines.
fn excitation(seed: u64, joint: usize, time: f64) -> [f64; 3] {
    let mut random = Random::new(seed, joint as u64);
    let mean = [0.0, 0.4, 0.0, -1.3, 0.0, 0.6, 0.0][joint];
    let mut motion = [mean, 0.0, 0.0];
    for harmonic in 1..=5 {
        let frequency = TAU * f64::from(harmonic) / 12.0 * 1.5;
        let (amplitude, phase) = (0.16 * random.normal(), TAU * random.uniform());
        let (sin, cos) = (frequency * time + phase).sin_cos();
        motion[0] += amplitude * sin;
        motion[1] += amplitude * frequency * cos;
        motion[2] -= amplitude * frequency * frequency * sin;
    }
    motion
}

/// What a torque sensor records while an arm follows an excitation.
fn recordings(arm: &Model, (seed, frames): (u64, usize), folder: &Folder) -> Recordings {
    let mut random = Random::new(seed, 99);
    let (mut q, mut dq, mut tau) = (Vec::new(), Vec::new(), Vec::new());
    let mut data = Data::new(arm);
    let mut state = State::reference(arm);
    let mut force = vec![0.0; JOINTS];
    for frame in 0..frames {
        let motion: Vec<[f64; 3]> = (0..JOINTS)
            .map(|joint| excitation(seed, joint, frame as f64 / RATE))
            .collect();
        for (joint, motion) in motion.iter().enumerate() {
            (state.qpos[joint], state.qvel[joint]) = (motion[0], motion[1]);
        }
        let acceleration: Vec<f64> = motion.iter().map(|motion| motion[2]).collect();
        carom::inverse::forward(arm, &state, &acceleration, &mut data, &mut force);
        for joint in 0..JOINTS {
            let friction = arm.dofs.frictionloss[joint] * (state.qvel[joint] / 0.02).tanh();
            let offset = arm.actuators.bias[joint][0];
            tau.push(force[joint] + friction - offset + TORQUE_NOISE * random.normal());
            q.push(state.qpos[joint] + POSITION_NOISE * random.normal());
            dq.push(state.qvel[joint] + 1e-3 * random.normal());
        }
    }
    let shape: &[usize] = &[frames, JOINTS];
    let path = folder.npz(
        &format!("run{seed}.npz"),
        &[("q", shape, q), ("dq", shape, dq), ("tau", shape, tau)],
    );
    recording::load(arm, &mapping("[torque]\n"), &[path]).unwrap()
}

fn mapping(torque: &str) -> Mapping {
    let mut text = format!("[time]\nrate = {RATE}\n{torque}");
    for joint in 0..JOINTS {
        let name = joint + 1;
        write!(
            text,
            "[[joint]]\nname = 'joint{name}'\nposition = 'q[{joint}]'\nvelocity = 'dq[{joint}]'\nnoise = 1e-3\nvelocity_noise = 1e-2\n\
             [[actuator]]\nname = 'motor{name}'\ncontrol = 'tau[{joint}]'\n"
        )
        .unwrap();
    }
    Mapping::parse(&text, "arm.toml").unwrap()
}

fn settings(residual: ResidualKind, free: &[&str]) -> Settings {
    let free = free.iter().map(|name| Free::new(name.parse().unwrap()));
    let mut settings = Settings {
        free: free.collect(),
        residual,
        ..Settings::default()
    };
    settings.set_segments(21);
    settings
}

fn identified(
    residual: ResidualKind,
    free: &[&str],
    frames: usize,
) -> (Model, Outcome, Recordings) {
    checked(residual, free, frames, WantedChecks::NONE)
}

fn checked(
    residual: ResidualKind,
    free: &[&str],
    frames: usize,
    checks: WantedChecks,
) -> (Model, Outcome, Recordings) {
    let folder = Folder::new("torques");
    let nominal = loaded(&folder);
    let truth = hidden(&nominal.model);
    let (train, others) = (
        recordings(&truth, (1, frames), &folder),
        recordings(&truth, (2, frames), &folder),
    );
    let question = Question {
        model: &nominal.model,
        spec: &nominal.spec,
        original: None,
        recordings: &train,
        held_out: Some(&others),
        settings: settings(residual, free),
        checks,
        resume: None,
    };
    let outcome = identify(&question, None, &mut Unwatched).unwrap();
    (truth, outcome, others)
}

/// Whether a body of these moments could exist.
fn is_physical(model: &Model, body: usize) -> bool {
    let [a, b, c] = model.bodies.inertia[body].0;
    let rounding = 1e-9 * (a + b + c);
    model.bodies.mass[body] > 0.0
        && a.min(b).min(c) > 0.0
        && a + b > c - rounding
        && a + c > b - rounding
        && b + c > a - rounding
}

/// What is named of torques where some parameters are held at wrong values.
fn named_of_torques(held: &[&str]) -> Vec<Finding> {
    let checks = WantedChecks {
        dependences: true,
        ..WantedChecks::NONE
    };
    let free: Vec<&str> = FREE.into_iter().filter(|one| !held.contains(one)).collect();
    let (_, outcome, _) = checked(ResidualKind::Torque, &free, FRAMES, checks);
    let found = outcome.dependences.unwrap();
    println!("{:#?}", found.findings);
    found.findings
}

/// Dry friction is half as strong again as in the model.
#[test]
fn dry_frictions_of_an_arm_are_named_by_its_torques() {
    let dry = named_of_torques(&["joint.*.frictionloss"]);
    let is_right = |finding: &&Finding| {
        let (_, joint) = finding.element.split_once(' ').unwrap();
        let advice = format!("free joint.{joint}.frictionloss");
        finding.driver == Driver::Direction && finding.words.contains(&advice)
    };
    let right = dry.iter().filter(is_right).count();
    carom_testing::at_least("dry frictions that torques name", right);
}

#[test]
fn what_torques_depend_on_is_named_until_it_is_free() {
    let constant = named_of_torques(&["actuator.*.biasprm[0]"]);
    assert!(
        constant.iter().any(|one| one.driver == Driver::Constant),
        "{constant:?}"
    );
    let false_alarms = named_of_torques(&[]).len();
    carom_testing::at_most("torques named where nothing is missing", false_alarms);
}

#[test]
fn a_seven_joint_arm_is_found_from_its_torques() {
    let (truth, outcome, others) = identified(ResidualKind::Torque, &FREE, FRAMES);
    let found = &outcome.identified.model;
    // Torques of another motion: noise below the cutoff is a fifth of the whole, or less.
    let [before, after] = outcome.held_out.as_ref().unwrap();
    let errors = |report: &carom_tasks::evaluate::Report| report.total_of("torque").unwrap();
    let least = errors(&evaluate(&truth, &others, Stepping::Fixed).unwrap());
    assert!(least < 0.35 * TORQUE_NOISE, "{least}");
    assert!(errors(before) > 10.0 * least, "{} {least}", errors(before));
    assert!(errors(after) < 1.3 * least, "{} {least}", errors(after));
    // Friction and offsets are identifiable one by one.
    for joint in 0..JOINTS {
        let pairs = [
            (
                found.dofs.frictionloss[joint],
                truth.dofs.frictionloss[joint],
                0.02,
            ),
            (found.dofs.damping[joint], truth.dofs.damping[joint], 0.05),
            (
                found.actuators.bias[joint][0],
                truth.actuators.bias[joint][0],
                0.05,
            ),
        ];
        for (found, truth, tolerance) in pairs {
            assert!(
                (found - truth).abs() < tolerance,
                "joint {joint}: {found} for {truth}"
            );
        }
    }
    assert!(
        (1..found.bodies.mass.len())
            .filter(|&body| found.bodies.mass[body] > 0.0)
            .all(|body| is_physical(found, body))
    );
    assert!(
        outcome.objections().is_empty(),
        "{:?}",
        outcome.objections()
    );
}

#[test]
fn the_joint_space_inertia_is_that_of_the_truth() {
    // Ten numbers a link are not identifiable, but the inertia that joints move is.
    let (truth, outcome, _) = identified(ResidualKind::Torque, &FREE, FRAMES);
    let inertia = |model: &Model, joint: usize| {
        let mut state = State::reference(model);
        state
            .qpos
            .copy_from_slice(&[0.3, 0.5, -0.2, -1.1, 0.4, 0.7, 0.1]);
        let (mut data, mut rest, mut moved) =
            (Data::new(model), vec![0.0; JOINTS], vec![0.0; JOINTS]);
        let acceleration: Vec<f64> = (0..JOINTS)
            .map(|k| f64::from(u8::from(k == joint)))
            .collect();
        carom::inverse::forward(model, &state, &[0.0; JOINTS], &mut data, &mut rest);
        carom::inverse::forward(model, &state, &acceleration, &mut data, &mut moved);
        moved[joint] - rest[joint]
    };
    for joint in 0..JOINTS {
        let (found, truth) = (
            inertia(&outcome.identified.model, joint),
            inertia(&truth, joint),
        );
        assert!(
            (found - truth).abs() < 0.05 * truth + 2e-3,
            "joint {joint}: {found} for {truth}"
        );
    }
}

#[test]
fn neither_torques_nor_predictions_are_given_up() {
    // Without inertias: their seventy parameters are the business of the tests above.
    let [_, free @ ..] = FREE;
    let (_, alone, _) = identified(ResidualKind::Torque, &free, PREDICTED_FRAMES);
    let (_, both, _) = identified(ResidualKind::Both, &free, PREDICTED_FRAMES);
    let error = |outcome: &Outcome, name: &str| {
        outcome.held_out.as_ref().unwrap()[1]
            .total_of(name)
            .unwrap()
    };
    assert!(error(&both, "torque") < 1.5 * error(&alone, "torque"));
    let [before, after] = both.held_out.as_ref().unwrap();
    assert!(after.total_of("mse q") < before.total_of("mse q"));
}

#[test]
fn what_torques_do_not_tell_is_refused_by_name() {
    let folder = Folder::new("torques-refused");
    let arm = loaded(&folder).model;
    let train = recordings(&arm, (1, FRAMES), &folder);
    let task = |names: &[&str], recordings: &Recordings| {
        let mut settings = settings(ResidualKind::Torque, &FREE);
        settings.free = names
            .iter()
            .map(|name| Free::new(name.parse().unwrap()))
            .collect();
        Task::new(&arm, recordings, settings)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let why = task(&["joint.joint1.damping[0]", "body.link4.pos[1]"], &train).unwrap_err();
    assert!(
        why.contains("body.link4.pos[1] is not identified from torques"),
        "{why}"
    );
    let silent = Recordings {
        torque: None,
        ..train.clone()
    };
    let why = task(&["joint.joint1.damping[0]"], &silent).unwrap_err();
    assert!(why.contains("[torque]"), "{why}");
    let mut still = train.clone();
    still.trajectories[0].controls.fill(0.0);
    let why = task(&["joint.joint1.damping[0]"], &still).unwrap_err();
    assert!(
        why.contains("no joint has a recorded position and motors"),
        "{why}"
    );
    let mut short = train;
    short.torque.as_mut().unwrap().cutoff = Some(0.1);
    let why = task(&["joint.joint1.damping[0]"], &short).unwrap_err();
    assert!(why.contains("long enough"), "{why}");
    short.torque.as_mut().unwrap().cutoff = Some(-1.0);
    let why = task(&["joint.joint1.damping[0]"], &short).unwrap_err();
    assert!(why.contains("above 0"), "{why}");
}

/// The delay of the motor (s): six steps.
const DELAY: f64 = 0.012;

#[test]
fn a_delay_is_found_that_the_model_file_does_not_know() {
    let folder = Folder::new("delay");
    let text = "<mujoco><option timestep='0.002'/><worldbody><body><joint name='hinge' axis='0 1 0' damping='0.05'/>
        <geom size='0.05' pos='0 0 -0.3' mass='0.5'/></body></worldbody>
        <actuator><motor name='drive' joint='hinge'/></actuator></mujoco>";
    let path = folder.write("pendulum.xml", text);
    let pendulum = carom::load::file(&path, &[]).unwrap();
    let model = &pendulum.model;
    let wanted = |step: i32| {
        if step < 0 {
            0.4
        } else {
            0.4 * (11.0 * 0.002 * f64::from(step)).sin().signum()
        }
    };
    let (mut data, mut state, mut input) = (
        Data::new(model),
        State::reference(model),
        carom::Input::zeros(model),
    );
    let mut random = Random::new(3, 0);
    let (mut angle, mut control) = (Vec::new(), Vec::new());
    for step in 0..1500 {
        if step % 5 == 0 {
            angle.push(state.qpos[0] + 5e-4 * random.normal());
            control.push(wanted(step));
        }
        // The recorder holds a control for five steps; the motor gets it six steps later.
        input.ctrl[0] = wanted((step - 6).div_euclid(5) * 5);
        carom::step(model, &mut state, &input, &mut data);
    }
    let frames = angle.len();
    let path = folder.npz(
        "run.npz",
        &[("angle", &[frames], angle), ("control", &[frames], control)],
    );
    let mapping = "time.dt = 0.01\n[velocity]\nmethod = 'smooth'\n[[joint]]\nname = 'hinge'\nposition = 'angle'\nnoise = 5e-4\n\
        [[actuator]]\nname = 'drive'\ncontrol = 'control'\n";
    let mapping = Mapping::parse(mapping, "pendulum.toml").unwrap();
    let recordings = recording::load(model, &mapping, &[path]).unwrap();
    let free = ["actuator.*.delay", "joint.hinge.damping[0]"];
    let question = Question {
        model,
        spec: &pendulum.spec,
        original: None,
        recordings: &recordings,
        held_out: None,
        settings: Settings {
            free: free
                .iter()
                .map(|name| Free::new(name.parse().unwrap()))
                .collect(),
            ..Settings::default()
        },
        checks: WantedChecks::NONE,
        resume: None,
    };
    let outcome = identify(&question, None, &mut Unwatched).unwrap();
    let found = &outcome.identified.estimates[0];
    assert!((found.value - DELAY).abs() < 1e-3, "{found:?}");
    assert_eq!(found.name, "actuator.drive.delay");
    let text = outcome.description.as_ref().unwrap();
    assert!(
        text.contains("nsample=") && text.contains("delay="),
        "{text}"
    );
}
