//! Identification: known truths are found, what cannot be told is refused, and results do not depend on threads or kills.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use carom::parameters::Parameters;
use carom::{Data, ErrorKind, Input, Model, State};
use carom_optimise::random::Random;
use carom_tasks::evaluate::evaluate;
use carom_tasks::identify::{
    FREE_STARTS, Free, Identified, OptimiserKind, Original, Prior, Settings, Solution, Task,
    Unwatched, Watch, calibrated,
};
use carom_tasks::loss::Loss;
use carom_tasks::problem::{Starts, Stepping};
use carom_tasks::recording::{self, Mapping, Recordings};

use crate::support::{Folder, model, root, shared};

const NOISE: f64 = 0.01;

/// Swings of a pendulum as a camera sees them.
pub(crate) fn swings(pendulum: &Model, seed: u64, has_torque: bool) -> (Recordings, Folder) {
    let folder = Folder::new("swings");
    let mut random = Random::new(seed, 0);
    let mut paths: Vec<PathBuf> = Vec::new();
    for swing in 0..3 {
        let mut state = State::reference(pendulum);
        state.qpos[0] = 0.8 + 0.5 * f64::from(swing);
        let mut input = Input::zeros(pendulum);
        let mut data = Data::new(pendulum);
        let mut text = "t,angle,rate,torque\n".to_owned();
        for frame in 0..150 {
            let torque = if has_torque {
                1.5 * (2.0 * state.time).sin()
            } else {
                0.0
            };
            let angle = state.qpos[0] + NOISE * random.normal();
            let rate = state.qvel[0] + 0.02 * random.normal();
            let time = 0.02 * f64::from(frame);
            writeln!(text, "{time},{angle},{rate},{torque}").unwrap();
            input.ctrl[0] = torque;
            for _ in 0..4 {
                carom::step(pendulum, &mut state, &input, &mut data);
            }
        }
        paths.push(folder.write(&format!("swing{swing}.csv"), &text));
    }
    let mapping = "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nvelocity = 'rate'\n\
        noise = 0.01\nvelocity_noise = 0.02\n[[actuator]]\nname = 'pivot_torque'\ncontrol = 'torque'\n";
    let mapping = Mapping::parse(mapping, "swing.toml").unwrap();
    (recording::load(pendulum, &mapping, &paths).unwrap(), folder)
}

fn free(names: &[&str]) -> Vec<Free> {
    names
        .iter()
        .map(|name| Free::new(name.parse().unwrap()))
        .collect()
}

pub(crate) const FREE: [&str; 2] = ["joint.pivot.damping[0]", "geom.bob.mass log"];
pub(crate) const TRUTH: [f64; 2] = [0.06, 0.8];

/// The pendulum with other damping and mass.
pub(crate) fn hidden() -> (Model, Model) {
    let pendulum = model("models/pendulum.xml");
    let parameters = Parameters::select(&pendulum, &FREE).unwrap();
    let hidden = parameters.apply(&[TRUTH[0], TRUTH[1].ln()]).unwrap();
    (pendulum, hidden)
}

pub(crate) fn settings(names: &[&str]) -> Settings {
    let mut settings = Settings {
        free: free(names),
        confidence: 0.999,
        ..Settings::default()
    };
    settings.problem.starts = FREE_STARTS;
    settings
}

pub(crate) fn solved(task: &Task<'_>) -> Solution {
    task.solve(None, None, &mut Unwatched).unwrap()
}

#[test]
fn known_truths_are_found_within_their_intervals() {
    let (pendulum, hidden) = hidden();
    for seed in 0..5 {
        let (recordings, _folder) = swings(&hidden, seed, true);
        let task = Task::new(&pendulum, &recordings, settings(&FREE)).unwrap();
        let inspection = task.inspect().unwrap();
        assert_eq!((inspection.refusal(), inspection.rank), (None, 2));
        let solution = solved(&task);
        assert!(solution.is_finished, "{}", solution.end);
        assert!(solution.value < 0.1 * inspection.value);
        let found = task.conclude(&solution).unwrap();
        assert!((0.9..1.1).contains(&found.noise), "{}", found.noise);
        for (one, truth) in found.estimates.iter().zip(TRUTH) {
            let [low, high] = one.interval;
            assert!(low <= truth && truth <= high, "seed {seed}: {one:?}");
            // An interval that says nothing would be no answer.
            assert!(high - low < 0.1 * truth, "seed {seed}: {one:?}");
        }
    }
}

#[test]
fn optimisers_agree() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 7, true);
    let value = |optimiser: OptimiserKind| {
        let mut settings = settings(&FREE);
        settings.problem.starts = Starts::Recorded;
        settings.optimiser = optimiser;
        let task = Task::new(&pendulum, &recordings, settings).unwrap();
        assert_eq!(
            task.optimiser() == OptimiserKind::Lm,
            optimiser == OptimiserKind::Auto
        );
        solved(&task).value
    };
    let best = value(OptimiserKind::Auto);
    for (_, optimiser) in OptimiserKind::ALL {
        let allowed = match optimiser {
            // The first two are the reference; the last draws from the whole range, which has no bounds here.
            OptimiserKind::Auto | OptimiserKind::Lm | OptimiserKind::Cem => continue,
            // Ends after a number of steps, whatever is left to gain.
            OptimiserKind::Adam => 0.05,
            _ => 1e-6,
        };
        let other = value(optimiser);
        assert!(
            (other / best - 1.0).abs() < allowed,
            "{optimiser:?}: {other} {best}"
        );
    }
}

#[test]
fn what_cannot_be_told_apart_is_named() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 1, false);
    // Without a torque, masses and damping can all be doubled, and nothing changes.
    let names = ["geom.bob.mass", "geom.rod.mass", "joint.pivot.damping[0]"];
    let task = Task::new(&pendulum, &recordings, settings(&names)).unwrap();
    let inspection = task.inspect().unwrap();
    assert!(inspection.rank < 3, "{inspection:?}");
    let refusal = inspection.refusal().unwrap();
    assert!(refusal.contains("trade off"), "{refusal}");
    assert!(refusal.contains("geom.bob.mass"), "{refusal}");
    // A prior tells what the recordings do not.
    let mut with_prior = settings(&names);
    for (free, mean) in with_prior.free.iter_mut().zip([1.0, 0.15]) {
        free.prior = Some(Prior { mean, sd: 0.001 });
    }
    let task = Task::new(&pendulum, &recordings, with_prior).unwrap();
    assert_eq!(task.inspect().unwrap().refusal(), None);
}

#[test]
fn parameters_without_effect_are_named() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 1, true);
    let names = ["joint.pivot.damping[0]", "body.pendulum.inertia"];
    let task = Task::new(&pendulum, &recordings, settings(&names)).unwrap();
    let inspection = task.inspect().unwrap();
    // A hinge turns about one axis: two of the three moments do not matter.
    assert_eq!(inspection.silent.len(), 2, "{inspection:?}");
    let refusal = inspection.refusal().unwrap();
    assert!(
        refusal.starts_with("body.pendulum.inertia[") && refusal.contains("has no effect: "),
        "{refusal}"
    );
    let names = ["geom.floor.friction[0]"];
    let task = Task::new(&pendulum, &recordings, settings(&names)).unwrap();
    let refusal = task.inspect().unwrap().refusal().unwrap();
    assert!(refusal.contains("contact"), "{refusal}");
}

/// Only what is true of all motions, from start to end, is a reason: a cube that meets the floor late, at frames of uneven times,
/// or in the last of many recordings, did have a contact.
#[test]
fn reasons_are_those_of_whole_motions() {
    let cube = model("datasets/contactnets_cube.xml");
    let folder = Folder::new("reasons");
    let mapping = "time.column = 't'\n[[body]]\nname = 'cube'\nposition = 'qpos[0:3]'\nrotation = 'qpos[3:7]'\n\
        linear_velocity = 'qvel[0:3]'\nangular_velocity = 'qvel[3:6]'\n";
    let mapping = Mapping::parse(mapping, "cube.toml").unwrap();
    let fall = |name: &str, height: f64, jitter: f64| {
        let mut start = State::reference(&cube);
        start.qpos[2] = height;
        start.qvel[0] = 1.0;
        let text = crate::support::simulate(&cube, &start, (50, 1), &|_| 0.0);
        let lines = text.lines().enumerate().map(|(k, line)| {
            let (time, rest) = line.split_once(',').unwrap();
            match time.parse::<f64>() {
                Ok(time) => format!("{},{rest}\n", time + jitter * (k as f64).sin()),
                Err(_) => format!("{line}\n"),
            }
        });
        folder.write(name, &lines.collect::<String>())
    };
    let reason = |paths: &[PathBuf], segments: Option<usize>| {
        let recordings = recording::load(&cube, &mapping, paths).unwrap();
        // Contacts of the cube have no friction about their normal.
        let mut settings = settings(&["geom.cube.friction[1]"]);
        settings.problem.starts = carom_tasks::problem::Starts::Recorded;
        if let Some(frames) = segments {
            settings.set_segments(frames);
        }
        let task = Task::new(&cube, &recordings, settings).unwrap();
        task.inspect().unwrap().silent.remove(0).reason
    };
    let flights: Vec<PathBuf> = (0..4)
        .map(|k| fall(&format!("flight{k}.csv"), 5.0, 0.0))
        .collect();
    let hits = [fall("even.csv", 0.2, 0.0), fall("uneven.csv", 0.2, 1e-4)];
    let words = "fewer friction directions";
    for hit in &hits {
        let found = reason(std::slice::from_ref(hit), None);
        assert!(found.contains(words), "{}: {found}", hit.display());
        let found = reason(std::slice::from_ref(hit), Some(5));
        assert!(found.contains(words), "{}: {found}", hit.display());
    }
    let found = reason(&[&flights[..], &hits[..1]].concat(), None);
    assert!(found.contains(words), "{found}");
    let found = reason(&flights[..1], None);
    assert_eq!(found, "no contact happened in this motion");
    let found = reason(&flights, None);
    assert_eq!(found, "no contact happened in any of these motions");
}

#[test]
fn starts_at_bounds_do_not_stall() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 2, true);
    let found = |bounds: [f64; 2], start: f64| {
        let mut settings = settings(&FREE);
        settings.free[0].bounds = Some(bounds);
        settings.free[0].start = Some(start);
        let task = Task::new(&pendulum, &recordings, settings).unwrap();
        assert_eq!(task.inspect().unwrap().refusal(), None);
        task.conclude(&solved(&task)).unwrap().estimates.remove(0)
    };
    let inside = found([0.0, 1.0], 0.01);
    for start in [0.0, 1.0] {
        let one = found([0.0, 1.0], start);
        assert!(
            (one.value / inside.value - 1.0).abs() < 1e-4,
            "{one:?} {inside:?}"
        );
        assert!(!one.is_at_bound);
    }
    // The truth is outside: the nearest bound is found, and said to be one.
    let one = found([0.0, 0.03], 0.0);
    assert_eq!((one.value, one.is_at_bound), (0.03, true));
    let mut outside = settings(&FREE);
    outside.free[0].bounds = Some([0.5, 1.0]);
    let error = Task::new(&pendulum, &recordings, outside).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("joint.pivot.damping[0] starts at 0.01, outside"),
        "{error}"
    );
}

/// Keeps all checkpoints, and asks to stop after some of them.
struct Keeper<'a> {
    checkpoints: Vec<Vec<u8>>,
    stop: &'a AtomicBool,
    after: usize,
}

impl Watch for Keeper<'_> {
    fn wants_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), carom::Error> {
        self.checkpoints.push(bytes.to_vec());
        if self.checkpoints.len() == self.after {
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn kills_and_threads_do_not_change_a_bit() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 3, true);
    for (_, optimiser) in OptimiserKind::ALL {
        let evaluations = match optimiser {
            OptimiserKind::Auto => continue, // one of the others
            OptimiserKind::Cem => 400,
            OptimiserKind::MultiStart => 300,
            _ => 120,
        };
        let mut asked = settings(&FREE);
        asked.optimiser = optimiser;
        asked.evaluations = Some(evaluations);
        asked.threads = Some(1);
        match optimiser {
            OptimiserKind::Lm => {}
            OptimiserKind::Cmaes => asked.problem.starts = Starts::Drawn { count: 3 },
            _ => asked.problem.starts = Starts::Recorded,
        }
        let one = Task::new(&pendulum, &recordings, asked.clone()).unwrap();
        let whole = solved(&one);
        asked.threads = Some(2);
        let two = Task::new(&pendulum, &recordings, asked.clone()).unwrap();
        assert_eq!(whole, solved(&two), "{optimiser:?}");
        let inspections = [one.inspect().unwrap(), two.inspect().unwrap()];
        assert_eq!(inspections[0], inspections[1]);
        let stop = AtomicBool::new(false);
        let mut keeper = Keeper {
            checkpoints: Vec::new(),
            stop: &stop,
            after: 3,
        };
        let part = one.solve(None, Some(&stop), &mut keeper).unwrap();
        assert!(part.is_stopped && part.history.len() < whole.history.len());
        let last = keeper.checkpoints.last().unwrap();
        let resumed = two.solve(Some(last), None, &mut Unwatched).unwrap();
        assert_eq!(whole, resumed, "{optimiser:?}");
        // Of another question.
        asked.seed = 9;
        let other = Task::new(&pendulum, &recordings, asked).unwrap();
        let error = other.solve(Some(last), None, &mut Unwatched).unwrap_err();
        assert!(
            error.kind() == &ErrorKind::Checkpoint
                && error.to_string().contains("another question")
        );
        let error = one
            .solve(Some(&last[..20]), None, &mut Unwatched)
            .unwrap_err();
        assert!(error.kind() == &ErrorKind::Checkpoint);
    }
}

fn original(loaded: &carom::load::Loaded) -> Original<'_> {
    Original {
        spec: &loaded.spec,
        sources: &loaded.sources,
    }
}

#[test]
fn calibrated_models_are_written_as_they_were_found() {
    let cases: [(&str, &[&str]); 8] = [
        (
            "models/arm7.xml",
            &["body.link3.pseudo_inertia", "actuator.*.kp"],
        ),
        (
            "models/hand.xml",
            &["tendon.*.stiffness", "geom.*.size", "actuator.*.forcerange"],
        ),
        (
            "models/humanoid.xml",
            &["geom.*.pos", "geom.*.size", "body.*.mass"],
        ),
        (
            "models/muscle_arm.xml",
            &["tendon.*.damping", "site.*.pos", "actuator.*.dynprm"],
        ),
        (
            "models/cube.xml",
            &[
                "geom.*.friction[0] tied",
                "geom.cube.size tied",
                "geom.*.solref[0] tied",
                "option.gravity[2]",
            ],
        ),
        (
            "models/pendulum.xml",
            &[
                "joint.pivot.damping[0]",
                "geom.bob.mass",
                "body.pendulum.pos",
                "actuator.*.gear[0]",
            ],
        ),
        (
            "models/double_pendulum.xml",
            &["body.*.mass", "joint.*.armature"],
        ),
        (
            "models/arm7.xml",
            &["joint.*.damping", "joint.*.frictionloss"],
        ),
    ];
    for (path, names) in cases {
        let loaded = carom::load::file(&root().join(path), &[]).unwrap();
        let parameters = match Parameters::select(&loaded.model, names) {
            Ok(parameters) => parameters,
            Err(error) => panic!("{path}: {error}"),
        };
        let theta: Vec<f64> = (parameters.theta0().iter().enumerate())
            .map(|(k, theta)| theta * (1.01 + 0.001 * k as f64) + 1e-4)
            .collect();
        // It reads its text again and compares every number itself.
        let text = calibrated(
            &loaded.model,
            &loaded.spec,
            Some(original(&loaded)),
            &parameters,
            &theta,
        );
        let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(text.contains("<mujoco"), "{path}");
    }
}

/// Frames and scales of meshes are those of whoever drew them: where vertices are in the body must not depend on it.
#[test]
fn moved_vertices_are_written_into_the_frame_of_the_file() {
    let folder = Folder::new("vertices");
    let corners =
        "0.06 0 0.01  -0.05 0.01 0  0 0.05 -0.01  0.01 -0.06 0  0 0.01 0.05  0.01 0 -0.045";
    let faces = "4 0 2  4 2 1  4 1 3  4 3 0  5 2 0  5 1 2  5 3 1  5 0 3";
    for (mesh, geom) in [
        (String::new(), "density='900'"),
        (
            "refpos='0.1 -0.2 0.3' refquat='0.8 0.1 -0.5 0.3' scale='2 1 -0.5'".to_owned(),
            "mass='0.3'",
        ),
        (
            format!("inertia='exact' face='{faces}'"),
            "pos='0.1 0 0' quat='0.3 0.5 0.1 0.9'",
        ),
        (
            format!("inertia='shell' face='{faces}' scale='0.5 0.5 0.5'"),
            "",
        ),
        ("inertia='convex'".to_owned(), "type='box'"),
    ] {
        let kind = if geom.contains("type") {
            ""
        } else {
            "type='mesh'"
        };
        let text = format!(
            "<mujoco><asset><mesh name='stone' vertex='{corners}' {mesh}/></asset><worldbody><geom type='plane' size='1 1 1'/>
             <body pos='0 0 0.2'><freejoint/><geom {kind} mesh='stone' {geom}/></body></worldbody></mujoco>"
        );
        let loaded = carom::load::file(&folder.write("stone.xml", &text), &[]).unwrap();
        let selected = Parameters::select(&loaded.model, &["mesh.stone.vertex"]);
        if kind.is_empty() {
            // A box that was fitted to the mesh once does not follow its vertices.
            let written = selected.map(|it| {
                calibrated(
                    &loaded.model,
                    &loaded.spec,
                    Some(original(&loaded)),
                    &it,
                    &moved(&it),
                )
                .is_err()
            });
            assert!(written.unwrap_or(true), "{geom}");
            continue;
        }
        let parameters = selected.unwrap();
        let theta = moved(&parameters);
        let text = calibrated(
            &loaded.model,
            &loaded.spec,
            Some(original(&loaded)),
            &parameters,
            &theta,
        );
        let text = text.unwrap_or_else(|error| panic!("{mesh} {geom}: {error}"));
        // The same fall and impact.
        let again = carom::load::file(&folder.write("again.xml", &text), &[]).unwrap();
        let ends = [parameters.bake(&theta).unwrap(), again.model].map(|model| {
            let (mut state, input) = (State::reference(&model), Input::zeros(&model));
            let mut data = Data::new(&model);
            for _ in 0..120 {
                carom::step(&model, &mut state, &input, &mut data);
            }
            state.qpos
        });
        let apart = ends[0].iter().zip(&ends[1]).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-4, "{mesh} {geom}: {ends:?}");
    }
}

/// Every vertex a little elsewhere.
fn moved(parameters: &Parameters) -> Vec<f64> {
    let shift = |k: usize| 2e-3 * (7.0 * k as f64).sin();
    let theta = parameters.theta0().iter().enumerate();
    theta.map(|(k, theta)| theta + shift(k)).collect()
}

#[test]
fn vertices_that_leave_the_hull_are_not_written() {
    let folder = Folder::new("hull");
    let text = "<mujoco><asset><mesh name='stone' vertex='1 0 0  -1 0 0  0 1 0  0 -1 0  0 0 1  0 0 -1'/></asset>
        <worldbody><body><freejoint/><geom type='mesh' mesh='stone'/></body></worldbody></mujoco>";
    let loaded = carom::load::file(&folder.write("stone.xml", text), &[]).unwrap();
    let parameters = Parameters::select(&loaded.model, &["mesh.stone.vertex"]).unwrap();
    let mut theta = parameters.theta0().to_vec();
    for coordinate in &mut theta[..3] {
        *coordinate *= -0.1;
    }
    let error = calibrated(
        &loaded.model,
        &loaded.spec,
        Some(original(&loaded)),
        &parameters,
        &theta,
    )
    .unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("convex hull") && error.contains("bounds"),
        "{error}"
    );
}

#[test]
fn numbers_of_fused_links_are_written() {
    let folder = Folder::new("fused");
    let link = |name: &str, mass: f64| {
        format!(
            "<link name='{name}'><inertial><origin xyz='0.01 0 0.1'/><mass value='{mass}'/>\
             <inertia ixx='0.01' iyy='0.01' izz='0.004' ixy='0' ixz='0' iyz='0'/></inertial></link>"
        )
    };
    let joint = |name: &str, kind: &str, ends: [&str; 2]| {
        let [parent, child] = ends;
        format!(
            "<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><origin xyz='0 0 0.2'/>\
             <axis xyz='0 1 0'/><dynamics damping='0.1' friction='0.05'/></joint>"
        )
    };
    // A fixed link between joints, so that ids of links and of bodies differ, and a payload at the end.
    let text = format!(
        "<robot name='arm'><link name='base'/>{}{}{}{}{}{}{}{}</robot>",
        link("upper", 1.0),
        link("flange", 0.2),
        link("lower", 0.7),
        link("payload", 0.3),
        joint("shoulder", "continuous", ["base", "upper"]),
        joint("mount", "fixed", ["upper", "flange"]),
        joint("elbow", "continuous", ["flange", "lower"]),
        joint("grip", "fixed", ["lower", "payload"]),
    );
    let path = folder.write("arm.urdf", &text);
    let loaded = carom::load::file(&path, &[]).unwrap();
    let names = ["body.*.mass", "body.lower.ipos", "joint.*.damping[0]"];
    let parameters = Parameters::select(&loaded.model, &names).unwrap();
    let theta: Vec<f64> = (parameters.theta0().iter())
        .map(|theta| 1.1 * theta + 1e-3)
        .collect();
    let text = calibrated(
        &loaded.model,
        &loaded.spec,
        Some(original(&loaded)),
        &parameters,
        &theta,
    )
    .unwrap();
    assert!(
        text.contains("lower") && !text.contains("payload"),
        "{text}"
    );
}

#[test]
fn laws_are_named_by_their_labels_and_written() {
    let folder = Folder::new("laws");
    let path = folder.write(
        "laws.xml",
        r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
          <body name="ball"><freejoint/><geom name="ball" size="0.1"/></body>
          <body name="brick"><freejoint/><geom name="brick" type="box" size="0.1 0.1 0.1"/></body></worldbody>
          <custom><text name="carom/contact" data="law=complementarity; restitution=0.5; baumgarte=0.2 0.5"/>
          <text name="carom/contact/rubber" data="law=hunt_crossley; geom1=ball; dissipation=0.3; viscous=0.1"/></custom></mujoco>"#,
    );
    let loaded = carom::load::file(&path, &[]).unwrap();
    let names = [
        "law.0.restitution",
        "law.0.baumgarte",
        "law.rubber.dissipation",
        "law.rubber.stiffness",
        "law.rubber.exponent",
        "law.rubber.transition_speed",
        "law.rubber.static_ratio",
        "law.rubber.viscous",
    ];
    let parameters = Parameters::select(&loaded.model, &names).unwrap();
    let theta: Vec<f64> = (parameters.theta0().iter())
        .map(|theta| 1.01 * theta)
        .collect();
    let text = calibrated(
        &loaded.model,
        &loaded.spec,
        Some(original(&loaded)),
        &parameters,
        &theta,
    )
    .unwrap();
    assert!(text.contains("restitution=0.505"), "{text}");
    assert!(text.contains("dissipation=0.303"), "{text}");
    let error = Parameters::select(&loaded.model, &["law.rubber.restitution"]).unwrap_err();
    assert!(error.to_string().contains("another law"), "{error}");
}

#[test]
fn drawn_starts_find_the_truth_and_count_no_measurement_twice() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 3, true);
    let with = |starts: Starts, threads: usize| {
        let mut settings = settings(&FREE);
        settings.problem.starts = starts;
        settings.threads = Some(threads);
        let task = Task::new(&pendulum, &recordings, settings).unwrap();
        let solution = solved(&task);
        let found = task.conclude(&solution).unwrap();
        (solution, found)
    };
    let (_, recorded) = with(Starts::Recorded, 2);
    let (solution, drawn) = with(Starts::Drawn { count: 5 }, 2);
    assert_eq!(recorded.degrees, drawn.degrees);
    assert_eq!(recorded.frames.len(), drawn.frames.len());
    for (one, truth) in drawn.estimates.iter().zip(TRUTH) {
        assert!((one.value - truth).abs() < 0.1 * truth, "{one:?}");
    }
    // Five starts are five times the simulations, but no more knowledge than one.
    // Errors by residuals are compared: those of recorded starts also count in their noise.
    let errors = |found: &Identified| -> Vec<f64> {
        let unit = found.unit_errors.iter();
        unit.map(|error| error * found.noise).collect()
    };
    for (one, other) in errors(&drawn).into_iter().zip(errors(&recorded)) {
        assert!(one > 0.7 * other, "{one:?}, {other:?}");
    }
    assert_eq!(with(Starts::Drawn { count: 5 }, 1).0, solution);
}

/// The model has no damping and no dry friction: a search can begin elsewhere, also where its transform has no zero.
#[test]
fn a_start_holds_where_the_model_has_zero() {
    let folder = Folder::new("zero");
    let text = |joint: &str| {
        format!(
            "<mujoco><worldbody><body pos='0 0 1'><joint name='pivot' axis='0 1 0' {joint}/>\
             <geom name='bob' size='0.05' pos='0 0 -0.5' mass='1'/></body></worldbody></mujoco>"
        )
    };
    let truth = crate::support::model_of(&folder, &text("damping='0.1' frictionloss='0.05'"));
    let mut start = State::reference(&truth);
    start.qpos[0] = 1.0;
    let table = crate::support::simulate(&truth, &start, (1500, 10), &|_| 0.0);
    let mapping = "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'qpos[0]'\nvelocity = 'qvel[0]'\nnoise = 1e-4\nvelocity_noise = 1e-3\n";
    let loaded = carom::load::file(&folder.write("zero.xml", &text("")), &[]).unwrap();
    let recordings =
        crate::support::load(&loaded.model, mapping, &folder.write("swing.csv", &table)).unwrap();
    let settings = "[[parameter]]\nselect = 'joint.pivot.damping[0]'\ntransform = 'log'\nstart = 0.04\n\
        [[parameter]]\nselect = 'joint.*.frictionloss'\ntransform = 'log'\nstart = 0.02\n";
    let settings = Settings::parse(settings, "identify.toml").unwrap();
    let task = Task::new(&loaded.model, &recordings, settings).unwrap();
    let values = task.parameters().values(task.start_theta());
    assert!(
        (values[0] - 0.04).abs() < 1e-12 && (values[1] - 0.02).abs() < 1e-12,
        "{values:?}"
    );
    // The start alone is no number of the file yet.
    let text = calibrated(
        &loaded.model,
        &loaded.spec,
        Some(original(&loaded)),
        task.parameters(),
        task.start_theta(),
    );
    let text = text.unwrap();
    assert!(
        text.contains("damping=\"0.04") && text.contains("frictionloss=\"0.02"),
        "{text}"
    );
    let found = task.conclude(&solved(&task)).unwrap();
    for (one, truth) in found.estimates.iter().zip([0.1, 0.05]) {
        assert!((one.value - truth).abs() < 0.02 * truth, "{one:?}");
    }
    // Without one there is still nothing to begin at.
    let settings =
        Settings::parse("free = ['joint.pivot.damping[0] log']", "identify.toml").unwrap();
    let error = Task::new(&loaded.model, &recordings, settings).unwrap_err();
    assert!(error.to_string().contains("above 0"), "{error}");
}

#[test]
fn settings_are_read_and_mistakes_are_placed() {
    let text = "free = ['joint.pivot.damping[0] bounds(0,1)']\n[[parameter]]\nselect = 'geom.bob.mass'\ntransform = 'log'\n\
        prior = { mean = 1.0, sd = 0.2 }\nbounds = [0.1, 5]\n[loss]\nhuber = 2\nframes = 5\n[initial_states]\nfree = true\n\
        [optimiser]\nkind = 'cmaes'\nseed = 4\nconfidence = 0.9\n";
    let settings = Settings::parse(text, "identify.toml").unwrap();
    assert_eq!(settings.free.len(), 2);
    assert_eq!(settings.free[0].bounds, Some([0.0, 1.0]));
    assert_eq!(settings.free[1].prior, Some(Prior { mean: 1.0, sd: 0.2 }));
    assert_eq!(
        (settings.optimiser, settings.seed, settings.confidence),
        (OptimiserKind::Cmaes, 4, 0.9)
    );
    for (text, words) in [
        ("fre = []", "line 1"),
        ("[optimiser]\nkind = 'newton'", "line 2"),
        ("[loss]\nkind = 'l1'", "there is no loss 'l1'"),
        ("[loss]\nkind = 'distance_and_angle'", "width"),
        ("[loss]\nhuber = -1", "above 0"),
        ("[loss]\nevery = 3", "goes with frames"),
        ("[simulation]\ntolerance = 2", "below 1"),
        ("[initial_states]\nfree = true\nposition = 0", "above 0"),
        ("[initial_states]\ndraws = 0", "1 or more"),
        (
            "[initial_states]\ndraws = 4\nfree = true",
            "either free or drawn",
        ),
        ("[optimiser]\nconfidence = 95", "between 0 and 1"),
        (
            "[[parameter]]\nselect = 'a.b'\nbounds = [2, 1]",
            "lower one first",
        ),
        (
            "[[parameter]]\nselect = 'a.b'\ntransform = 'exp'",
            "none of identity, log, softplus",
        ),
        (
            "[[parameter]]\nselect = 'a.b'\nprior = { mean = 0, sd = 0 }",
            "sd above 0",
        ),
        ("free = ['geom.a.size huge']", "modifier"),
    ] {
        let error = Settings::parse(text, "identify.toml")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("settings 'identify.toml': "), "{error}");
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn real_tosses_are_predicted_better_after_a_fit() {
    let Some(folder) = shared("data/contactnets_cube") else {
        return;
    };
    let cube = model("datasets/contactnets_cube.xml");
    let mapping = Mapping::read(&root().join("datasets/contactnets_cube.toml")).unwrap();
    let tosses = |name: &str, count: usize| {
        let mut all = recording::load(&cube, &mapping, &[folder.join(name)]).unwrap();
        all.trajectories.truncate(count);
        all
    };
    let (train, held_out) = (tosses("train.npz", 12), tosses("val.npz", 12));
    let mut asked = Settings {
        free: free(&[
            "geom.*.friction[0] tied",
            "geom.cube.size tied",
            "option.gravity[2]",
        ]),
        evaluations: Some(30),
        ..Settings::default()
    };
    asked.problem.loss = Loss::distance_and_angle(0.1048);
    let task = Task::new(&cube, &train, asked).unwrap();
    assert_eq!(task.inspect().unwrap().refusal(), None);
    let found = task.conclude(&solved(&task)).unwrap();
    let error = |model: &Model| {
        let report = evaluate(model, &held_out, Stepping::Fixed).unwrap();
        report.total_of("position_percent").unwrap()
    };
    let (before, after) = (error(&cube), error(&found.model));
    assert!(after < before, "{before} {after}");
}

#[test]
fn names_of_the_version_before_still_hold() {
    let settings = |table: &str| {
        let text = format!("free = ['joint.pivot.damping[0]']\n[{table}]\ndraws = 3\n");
        format!("{:?}", Settings::parse(&text, "settings.toml").unwrap())
    };
    assert_eq!(settings("starts"), settings("initial_states"));
    let mapping = |gap: &str, frames: &str| {
        let text = format!("[trajectories]\n{gap} = 0.5\n{frames} = 7\n");
        Mapping::parse(&text, "map.toml").unwrap().trajectories
    };
    let old = mapping("longest_gap", "least_frames");
    assert_eq!((old.max_gap, old.min_frames), (Some(0.5), Some(7)));
    let new = mapping("max_gap", "min_frames");
    assert_eq!((new.max_gap, new.min_frames), (Some(0.5), Some(7)));
}
