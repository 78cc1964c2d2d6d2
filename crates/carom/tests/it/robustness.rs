//! Random scenes, most of them absurd: no panic, no hang, and no number that is not finite without a report of it.
//!
//! Deep penetrations, coincident centres, sizes and masses over many orders of magnitude, flat and repeated mesh
//! vertices, extreme contact parameters, and states, controls and forces that are not finite. A scene that the compiler
//! refuses must be refused with a sentence.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use carom::report::NotFinite;
use carom::stages::solve::SolveStatus;
use carom::{Data, Input, Model, State, StepReport};
use carom_testing::{Random, by_tier};
use rayon::prelude::*;

use crate::models;

/// Mechanisms in the gate and in the long form, and placements of each: together the scenes, 10⁵ in the long form.
const MECHANISMS: [u64; 2] = [4_000, 25_000];
const PLACEMENTS: usize = 4;
const STEPS: usize = 2;

/// Three numbers in (−1, 1), as text.
fn vector(random: &mut Random, scale: f64) -> String {
    let [x, y, z] = random.numbers().map(|number: f64| scale * number);
    format!("{x} {y} {z}")
}

/// Vertices of a mesh: scattered, on a plane (nearly or exactly), on a line, or repeated.
fn mesh_vertices(random: &mut Random) -> String {
    let count = 4 + random.bits() % 9;
    let thickness = match random.bits() % 40 {
        0 => 0.0,
        1..=5 => 1e-6,
        6..=10 => 1e-3,
        _ => 1.0,
    };
    let width = if random.chance(0.02) { 0.0 } else { 1.0 };
    let scale = random.magnitude(1e-3, 3.0);
    let lattice = random.chance(0.3);
    let mut points: Vec<String> = Vec::new();
    for _ in 0..count {
        let mut number = || {
            let value = random.between(-1.0, 1.0);
            scale * if lattice { value.round() } else { value }
        };
        let point = [number(), width * number(), thickness * number()];
        points.push(format!("{} {} {}", point[0], point[1], point[2]));
    }
    for _ in 0..random.bits() % 4 {
        let again = points[random.below(points.len())].clone();
        points.push(again);
    }
    points.join(" ")
}

/// A geom of any kind and size.
fn geom(random: &mut Random, meshes: usize, is_static: bool) -> String {
    let kinds: &[&str] = if is_static {
        &["plane", "hfield", "box", "mesh", "sphere"]
    } else {
        &["sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"]
    };
    let kind = random.pick(kinds);
    let tiny = random.chance(0.1);
    let mut size = || {
        if tiny {
            random.magnitude(1e-9, 1e-3)
        } else {
            random.magnitude(0.02, 2.0)
        }
    };
    let shape = match kind {
        "plane" => r#"size="1 1 1""#.to_owned(),
        "hfield" => r#"hfield="field""#.to_owned(),
        "mesh" => format!(r#"mesh="mesh{}""#, random.below(meshes)),
        _ => format!(r#"size="{} {} {}""#, size(), size(), size()),
    };
    let mut text = format!(
        r#"<geom type="{kind}" {shape} quat="1 {}""#,
        vector(random, 1.0)
    );
    if !is_static {
        let _ = write!(text, r#" mass="{}""#, random.magnitude(1e-3, 1e3));
    }
    if random.chance(0.3) {
        let margin = random.magnitude(1e-6, 1.0);
        let _ = write!(
            text,
            r#" margin="{margin}" gap="{}""#,
            margin * random.unit()
        );
    }
    if random.chance(0.5) {
        let friction = random.magnitude(1e-8, 1e4);
        let _ = write!(
            text,
            r#" condim="{}" friction="{friction} {} {}""#,
            random.pick(&["1", "3", "4", "6"]),
            random.unit(),
            random.unit()
        );
    }
    if random.chance(0.2) {
        let reference = random.pick(&["0.001 1", "0.02 0", "-1e6 -10", "-1e-3 -1e3", "1 5"]);
        let impedance = random.pick(&["0 0.99 0.1", "0.9999 0.9999 1e-9", "0 1 1 0.5 6"]);
        let _ = write!(text, r#" solref="{reference}" solimp="{impedance}""#);
    }
    text + "/>"
}

fn body(random: &mut Random, meshes: usize, spread: f64, depth: usize) -> String {
    let joint = random.pick(&[
        "<freejoint/>",
        r#"<joint type="ball"/>"#,
        r#"<joint axis="0 1 0" range="-10 10"/>"#,
        r#"<joint name="NAME" axis="0 1 0" damping="1"/>"#,
        r#"<joint type="slide" axis="1 1 1" frictionloss="1"/>"#,
    ]);
    let joint = if depth > 0 && joint == "<freejoint/>" {
        "<joint/>"
    } else {
        joint
    };
    let mut text = format!(
        r#"<body pos="{}" quat="1 {}">{joint}{}"#,
        vector(random, spread),
        vector(random, 0.5),
        geom(random, meshes, false)
    );
    if random.chance(0.2) {
        text += &geom(random, meshes, false);
    }
    if depth < 2 && random.chance(0.3) {
        text += &body(random, meshes, spread, depth + 1);
    }
    text + "</body>"
}

/// A scene of few bodies.
pub(crate) fn scene(random: &mut Random) -> String {
    let meshes = 1;
    // Exactly coincident centres, a heap, or scattered.
    let spread = random.pick(&[0.0, 1e-9, 0.1, 0.5, 0.5, 2.0]);
    let option = format!(
        r#"<option timestep="{}" integrator="{}" solver="{}" cone="{}" iterations="10" ls_iterations="20"/>"#,
        random.pick(&["0.002", "0.002", "1e-5", "0.1"]),
        random.pick(&["Euler", "Euler", "implicit", "implicitfast", "RK4"]),
        random.pick(&["Newton", "Newton", "CG", "PGS"]),
        random.pick(&["pyramidal", "elliptic"]),
    );
    let mut assets = String::new();
    for id in 0..meshes {
        let vertices = mesh_vertices(random);
        let _ = write!(assets, r#"<mesh name="mesh{id}" vertex="{vertices}"/>"#);
    }
    let heights: Vec<String> = (0..12).map(|_| random.unit().to_string()).collect();
    let _ = write!(
        assets,
        r#"<hfield name="field" nrow="3" ncol="4" size="1 1 0.5 0.1" elevation="{}"/>"#,
        heights.join(" ")
    );
    let mut bodies = geom(random, meshes, true);
    for _ in 0..=random.bits() % 2 {
        bodies += &body(random, meshes, spread, 0);
    }
    let (bodies, actuators) = driven(random, &bodies);
    format!(
        "<mujoco>{option}<asset>{assets}</asset><worldbody>{bodies}</worldbody><actuator>{actuators}</actuator></mujoco>"
    )
}

/// Names the joints that are to be driven, and an actuator of any kind for each.
fn driven(random: &mut Random, bodies: &str) -> (String, String) {
    let (mut named, mut actuators) = (String::new(), String::new());
    for (index, part) in bodies.split("NAME").enumerate() {
        if index > 0 {
            let joint = format!("driven{index}");
            let kind = random.pick(&[
                r#"<motor ctrlrange="-1 1" ctrllimited="true""#,
                r#"<motor gear="1e6""#,
                r#"<position kp="1e4" timeconst="1e-3""#,
                r#"<velocity kv="1e3""#,
                r#"<general dyntype="integrator" actlimited="true" actrange="-1 1""#,
                r#"<damper kv="10" ctrlrange="0 1""#,
            ]);
            let _ = write!(actuators, r#"{kind} joint="{joint}"/>"#);
            named += &joint;
        }
        named += part;
    }
    (named, actuators)
}

/// Spoils some number of a state or of an input.
fn spoil(random: &mut Random, state: &mut State, input: &mut Input) {
    let value = random.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e200]);
    let index = random.below(usize::MAX);
    let list: &mut [f64] = match random.bits() % 6 {
        0 => &mut state.qpos,
        1 => &mut state.qvel,
        2 => &mut state.warmstart,
        3 => &mut state.act,
        4 => &mut input.force,
        _ => &mut input.ctrl,
    };
    let length = list.len().max(1);
    if let Some(number) = list.get_mut(index % length) {
        *number = value;
    }
}

/// What came of a scene.
#[derive(Default)]
struct Tally {
    refused: AtomicUsize,
    steps: AtomicUsize,
    contacts: AtomicUsize,
    not_finite: AtomicUsize,
    given: AtomicUsize,
    large: AtomicUsize,
    unsolved: AtomicUsize,
}

fn run(seed: u64, tally: &Tally) {
    let mut random = Random(seed);
    let text = scene(&mut random);
    let model = match models::try_from_text(&text) {
        Ok(model) => model,
        Err(explained) => {
            assert!(
                explained,
                "mechanism {seed} is refused without a word:\n{text}"
            );
            tally.refused.fetch_add(PLACEMENTS, Relaxed);
            return;
        }
    };
    let mut data = Data::new(&model);
    for placement in 0..PLACEMENTS {
        if let Err(step) = simulate(&model, &mut random, &mut data, tally) {
            panic!(
                "step {step} of placement {placement} of mechanism {seed} does not report what is not finite:\n{text}"
            );
        }
    }
}

/// Steps from a random state; an error is a step that hides what is not finite.
fn simulate(
    model: &Model,
    random: &mut Random,
    data: &mut Data,
    tally: &Tally,
) -> Result<(), usize> {
    let (mut state, mut input) = (State::reference(model), Input::zeros(model));
    let fast = random.magnitude(1e-3, 1e3);
    for velocity in &mut state.qvel {
        *velocity = fast * random.between(-1.0, 1.0);
    }
    // As modelled, moved a little, or with quaternions of zero.
    let spread = random.pick(&[0.0, 1e-9, 0.3, 1.0]);
    for position in &mut state.qpos {
        *position += spread * random.between(-1.0, 1.0);
    }
    if random.chance(0.02) {
        state.qpos.fill(0.0);
    }
    let push = random.magnitude(1e-3, 1e6);
    input.ctrl.fill_with(|| push * random.between(-1.0, 1.0));
    if random.chance(0.1) {
        spoil(random, &mut state, &mut input);
    }
    for step in 0..STEPS {
        let report = carom::step(model, &mut state, &input, data);
        let lists = [&state.qpos, &state.qvel, &state.act, &data.solve.qacc];
        let is_finite = lists.iter().all(|list| list.iter().all(|x| x.is_finite()))
            && report.solve.status != SolveStatus::NotFinite;
        if !is_finite && report.not_finite.is_none() {
            return Err(step);
        }
        tally.add(&report);
        if let Some(place) = report.not_finite {
            assert!(!place.value.is_finite() && !place.describe(model).is_empty());
            break;
        }
    }
    Ok(())
}

impl Tally {
    fn add(&self, report: &StepReport) {
        use SolveStatus::{Converged, Exhausted, IterationLimit};
        let unsolved = !matches!(report.solve.status, Converged | Exhausted | IterationLimit);
        let given = |place: NotFinite| matches!(place.stage, "state" | "input");
        for (count, amount) in [
            (&self.steps, 1),
            (&self.contacts, report.contacts),
            (&self.large, usize::from(report.large.is_some())),
            (&self.unsolved, usize::from(unsolved)),
            (
                &self.given,
                usize::from(report.not_finite.is_some_and(given)),
            ),
            (&self.not_finite, usize::from(report.not_finite.is_some())),
        ] {
            count.fetch_add(amount, Relaxed);
        }
    }
}

#[test]
fn absurd_scenes_never_panic_and_never_hide_what_is_not_finite() {
    let tally = Tally::default();
    let mechanisms = by_tier(MECHANISMS[0], MECHANISMS[1]);
    (0..mechanisms)
        .into_par_iter()
        .for_each(|seed| run(seed, &tally));
    let scenes = usize::try_from(mechanisms).unwrap() * PLACEMENTS;
    let count = |count: &AtomicUsize| count.load(Relaxed);
    println!(
        "{scenes} scenes: {} refused, {} steps, {} contacts, {} with a number that is not finite ({} of them given), \
         {} steps beyond all measure, {} without a solution",
        count(&tally.refused),
        count(&tally.steps),
        count(&tally.contacts),
        count(&tally.not_finite),
        count(&tally.given),
        count(&tally.large),
        count(&tally.unsolved),
    );
    // The generator must keep making scenes that do something.
    assert!(count(&tally.refused) < scenes / 4 && count(&tally.contacts) > scenes);
    assert!(count(&tally.not_finite) > scenes / 100);
}
