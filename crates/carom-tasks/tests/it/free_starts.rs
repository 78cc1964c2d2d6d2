//! Starts that the recordings do not tell well: velocities found from positions, coordinates that nothing measures.

use std::fmt::Write as _;
use std::path::PathBuf;

use carom::parameters::Parameters;
use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;
use carom_tasks::evaluate::evaluate;
use carom_tasks::identify::workflow::{Question, WantedChecks, identify};
use carom_tasks::identify::{FREE_STARTS, Free, Identified, Settings, Task, Unwatched};
use carom_tasks::problem::{Starts, Stepping};
use carom_tasks::recording::{self, Mapping, Recordings};

use crate::support::{Folder, model_of};

const SPRING: &str = "<mujoco><compiler angle='radian'/><option timestep='0.002'/><worldbody><body name='arm' pos='0 0 1'>\
    <joint name='hinge' axis='0 1 0' damping='0.01' stiffness='1' springref='-0.5' frictionloss='0.01'/>\
    <geom type='capsule' fromto='0 0 0 0 0 -0.3' size='0.02' mass='0.5'/><site name='imu' pos='0.02 0 -0.2'/></body></worldbody>\
    <sensor><gyro name='gyro' site='imu'/><accelerometer name='accelerometer' site='imu'/></sensor></mujoco>";

/// A model and the same with other numbers.
fn hidden(folder: &Folder, text: &str, names: &[&str], truth: &[f64]) -> (Model, Model) {
    let model = model_of(folder, text);
    let parameters = Parameters::select(&model, names).unwrap();
    let mut theta = parameters.theta0().to_vec();
    for (name, truth) in parameters.names().zip(truth) {
        parameters.set(&mut theta, name, *truth).unwrap();
    }
    let hidden = parameters.apply(&theta).unwrap();
    (model, hidden)
}

/// Motions as tables of time, angle and sensors, with noise.
fn record(
    folder: &Folder,
    hidden: &Model,
    (starts, frames, every): (&[[f64; 2]], usize, usize),
    noise: [f64; 3],
) -> Vec<PathBuf> {
    let mut random = Random::new(3, 0);
    let mut paths = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let mut state = State::reference(hidden);
        (state.qpos[0], state.qvel[0]) = (start[0], start[1]);
        let (input, mut data) = (Input::zeros(hidden), Data::new(hidden));
        let mut text = "t,angle,g0,g1,g2,a0,a1,a2\n".to_owned();
        for _ in 0..frames {
            carom::forward_and_sense(hidden, &state, &input, &mut data);
            let angle = state.qpos[0] + noise[0] * random.normal();
            write!(text, "{},{angle}", state.time).unwrap();
            for (k, value) in data.sensing.values.iter().enumerate() {
                let value = value + noise[1 + k / 3] * random.normal();
                write!(text, ",{value}").unwrap();
            }
            text.push('\n');
            for _ in 0..every {
                carom::step(hidden, &mut state, &input, &mut data);
            }
        }
        paths.push(folder.write(&format!("run{index}.csv"), &text));
    }
    paths
}

fn load(model: &Model, mapping: &str, paths: &[PathBuf]) -> Recordings {
    let mapping = Mapping::parse(mapping, "map.toml").unwrap();
    recording::load(model, &mapping, paths).unwrap()
}

fn settings(names: &[&str], starts: Starts) -> Settings {
    let mut settings = Settings {
        free: (names.iter())
            .map(|name| Free::new(name.parse().unwrap()))
            .collect(),
        confidence: 0.999,
        ..Settings::default()
    };
    settings.problem.starts = starts;
    settings
}

fn holds(found: &Identified, truth: &[f64]) {
    for (one, truth) in found.estimates.iter().zip(truth) {
        let [low, high] = one.interval;
        assert!(low <= *truth && *truth <= high, "{truth}: {one:?}");
    }
}

const FREE: [&str; 4] = [
    "joint.hinge.damping[0]",
    "joint.hinge.stiffness[0]",
    "joint.hinge.springref",
    "joint.hinge.frictionloss",
];
const TRUTH: [f64; 4] = [0.03, 2.5, 0.4, 0.02];
const ANGLES: &str =
    "time.column = 't'\n[[joint]]\nname = 'hinge'\nposition = 'angle'\nnoise = 0.002\n";

#[test]
fn velocities_that_differences_give_are_not_believed_too_much() {
    let folder = Folder::new("found");
    let (model, hidden) = hidden(&folder, SPRING, &FREE, &TRUTH);
    let starts = [[-1.0, 2.0], [0.9, 0.0], [1.5, -3.0]];
    // Frames are so far apart that differences miss the velocity by a tenth of what it becomes.
    let paths = record(&folder, &hidden, (&starts, 150, 10), [0.002, 0.0, 0.0]);
    for velocity in ["", "[velocity]\nmethod = 'smooth'\n"] {
        let recordings = load(&model, &format!("{ANGLES}{velocity}"), &paths);
        let task = Task::new(&model, &recordings, settings(&FREE, FREE_STARTS)).unwrap();
        let solution = task.solve(None, None, &mut Unwatched).unwrap();
        let found = task.conclude(&solution).unwrap();
        assert!((0.9..1.1).contains(&found.noise), "{}", found.noise);
        holds(&found, &TRUTH);
        // A replay begins where the fit does.
        let begun = task.with_found_starts(&solution.x).unwrap();
        let error = |recordings: &Recordings| {
            let errors = evaluate(&found.model, recordings, Stepping::Fixed).unwrap();
            errors.total_of("angle").unwrap()
        };
        assert!(error(&begun) < 0.002, "{}", error(&begun));
        assert!(error(&begun) < 0.5 * error(&recordings));
    }
}

#[test]
fn recorded_starts_that_explain_too_little_become_unknowns() {
    let folder = Folder::new("freed");
    let (model, hidden) = hidden(&folder, SPRING, &FREE, &TRUTH);
    let starts = [[-1.0, 2.0], [0.9, 0.0], [1.5, -3.0]];
    let paths = record(&folder, &hidden, (&starts, 150, 10), [0.002, 0.0, 0.0]);
    let recordings = load(&model, ANGLES, &paths);
    let answer = |settings: Settings| {
        let mut task = Task::new(&model, &recordings, settings).unwrap();
        task.warm_up(None).unwrap();
        let solution = task.solve(None, None, &mut Unwatched).unwrap();
        let found = task.conclude(&solution).unwrap();
        (task, found)
    };
    let (task, found) = answer(settings(&FREE, Starts::Recorded));
    assert!(found.noise > 3.0, "{}", found.noise);
    let freed = task.with_free_starts(&found).unwrap().unwrap();
    let solution = freed.solve(None, None, &mut Unwatched).unwrap();
    let better = freed.conclude(&solution).unwrap();
    assert!((0.9..1.1).contains(&better.noise), "{}", better.noise);
    holds(&better, &TRUTH);
    assert_eq!(better.estimates[1].start, 1.0);
    // Not where someone said how starts are, and not where they explain the recordings.
    assert!(freed.with_free_starts(&better).unwrap().is_none());
    let mut asked = settings(&FREE, Starts::Recorded);
    asked.frees_starts = false;
    let (task, found) = answer(asked);
    assert!(task.with_free_starts(&found).unwrap().is_none());
}

#[test]
fn a_joint_that_only_an_imu_sees_starts_where_the_imu_says() {
    let folder = Folder::new("imu");
    let names = [
        "joint.hinge.damping[0]",
        "site.imu.pos[0]",
        "site.imu.pos[2]",
    ];
    let truth = [0.03, -0.01, -0.25];
    // Without its spring it hangs at rest.
    let text = SPRING.replace("stiffness='1'", "stiffness='0'");
    let (model, hidden) = hidden(&folder, &text, &names, &truth);
    let paths = record(
        &folder,
        &hidden,
        (&[[1.1, -0.4]], 300, 5),
        [0.0, 0.005, 0.05],
    );
    let mapping = "time.column = 't'\n[[sensor]]\nname = 'gyro'\nvalues = ['g0', 'g1', 'g2']\nnoise = 0.005\n\
        [[sensor]]\nname = 'accelerometer'\nvalues = ['a0', 'a1', 'a2']\nnoise = 0.05\n";
    let recordings = load(&model, mapping, &paths);
    // From there nothing moves, and nothing could be said.
    let mut task = Task::new(&model, &recordings, settings(&names, Starts::Recorded)).unwrap();
    assert!(task.inspect().unwrap().refusal().is_some());
    assert!(task.free_unmeasured_starts().unwrap());
    task.find_starts(None).unwrap();
    assert_eq!(task.inspect().unwrap().refusal(), None);
    let solution = task.solve(None, None, &mut Unwatched).unwrap();
    let [angle, speed] = [solution.x[3], solution.x[4]];
    assert!((angle - 1.1).abs() < 0.01, "{angle}");
    assert!((speed + 0.4).abs() < 0.02, "{speed}");
    let found = task.conclude(&solution).unwrap();
    assert!((0.9..1.1).contains(&found.noise), "{}", found.noise);
    holds(&found, &truth);
}

#[test]
fn a_logarithm_whose_best_value_is_zero_does_not_hide_the_others() {
    let folder = Folder::new("zero");
    // Dry friction that the motion has none of, beside damping that it has.
    let truth = [0.03, 2.5, 0.4, 1e-12];
    let (model, hidden) = hidden(&folder, SPRING, &FREE, &truth);
    let starts = [[-1.0, 2.0], [1.5, -3.0]];
    let paths = record(&folder, &hidden, (&starts, 150, 10), [0.002, 0.0, 0.0]);
    let recordings = load(&model, ANGLES, &paths);
    let logarithms = FREE.map(|name| match name {
        "joint.hinge.springref" => name.to_owned(),
        name => format!("{name} log"),
    });
    let logarithms = logarithms.each_ref().map(String::as_str);
    let task = Task::new(&model, &recordings, settings(&logarithms, FREE_STARTS)).unwrap();
    let solution = task.solve(None, None, &mut Unwatched).unwrap();
    let found = task.conclude(&solution).unwrap();
    assert!((0.9..1.1).contains(&found.noise), "{}", found.noise);
    holds(&found, &truth[..3]);
    let friction = &found.estimates[3];
    assert!(friction.value < 1e-3, "{friction:?}");
}

/// A joint that forgets its initial state soon.
const DAMPED: &str = "<mujoco><compiler angle='radian'/><option timestep='0.002'/><worldbody><body name='arm' pos='0 0 1'>\
    <joint name='hinge' axis='0 1 0' damping='0.05' stiffness='1.5' springref='0.1'/>\
    <geom type='capsule' fromto='0 0 0 0 0 -0.3' size='0.02' mass='0.5'/></body></worldbody></mujoco>";

/// Sets of recordings that intervals are counted over.
const SETS: u64 = 24;

/// A known defect: 95 % intervals of a joint that forgets its initial state hold the truth in 66 of 72 cases with estimated initial states, and in 64
/// with recorded ones whose noise intervals count in; at least 92 % are wanted. Coverage is a ratchet.
#[test]
fn known_defect_intervals_with_noisy_starts_hold_the_truth_too_seldom() {
    let names = [
        "joint.hinge.damping[0]",
        "joint.hinge.stiffness[0]",
        "joint.hinge.springref",
    ];
    let truth = [0.1, 2.0, 0.3];
    let folder = Folder::new("start-noise");
    let (model, hidden) = hidden(&folder, DAMPED, &names, &truth);
    let path = folder.write("model.xml", DAMPED);
    let spec = carom::load::file(&path, &[]).unwrap().spec;
    let mapping = "time.column = 't'\nvelocity.method = 'smooth'\n[[joint]]\nname = 'hinge'\nposition = 'angle'\nnoise = 0.005\n";
    let (mut held, mut asked, mut freed) = ([0, 0], 0, 0);
    for seed in 0..SETS {
        let mut random = Random::new(seed, 1);
        let mut paths = Vec::new();
        for (run, start) in [[-0.9, 0.0], [1.0, 2.0]].into_iter().enumerate() {
            let mut state = State::reference(&hidden);
            (state.qpos[0], state.qvel[0]) = (start[0], start[1]);
            let (input, mut data) = (Input::zeros(&hidden), Data::new(&hidden));
            let mut text = "t,angle\n".to_owned();
            for _ in 0..120 {
                let angle = state.qpos[0] + 0.005 * random.normal();
                writeln!(text, "{},{angle}", state.time).unwrap();
                for _ in 0..5 {
                    carom::step(&hidden, &mut state, &input, &mut data);
                }
            }
            paths.push(folder.write(&format!("damped{run}.csv"), &text));
        }
        let recordings = load(&model, mapping, &paths);
        for (way, may_free) in [true, false].into_iter().enumerate() {
            let mut settings = settings(&names, Starts::Recorded);
            settings.confidence = 0.95;
            settings.frees_starts = may_free;
            let question = Question {
                model: &model,
                spec: &spec,
                original: None,
                recordings: &recordings,
                held_out: None,
                settings,
                checks: WantedChecks::NONE,
                resume: None,
            };
            let outcome = identify(&question, None, &mut Unwatched).unwrap();
            let found = &outcome.identified;
            if may_free {
                freed += usize::from(outcome.has_free_starts());
            } else {
                // The noise of the starts moves something, and the answer says how noisy they are.
                assert!(found.start_shares.iter().any(|share| *share > 0.3));
                let velocity = outcome.start_noise.iter().find(|one| one.is_found).unwrap();
                assert!(velocity.deviation > 0.05, "{velocity:?}");
            }
            let pairs = found.estimates.iter().zip(truth);
            held[way] += pairs
                .filter(|(one, truth)| one.interval[0] <= *truth && *truth <= one.interval[1])
                .count();
        }
        asked += truth.len();
    }
    println!("{held:?} of {asked}, {freed} with free starts");
    assert!(freed > 0);
    let names = ["estimated", "recorded"].into_iter().zip(held);
    for (starts, held) in names {
        carom_testing::at_least(
            &format!("intervals with {starts} noisy starts that hold the truth, of 72"),
            held,
        );
    }
}
