//! What is looked at beyond the search: profiles, folds, recovery, motions to record next, replays.

use carom::Model;
use carom::parameters::Parameters;
use carom_tasks::evaluate::{Metric, Report, TrajectoryErrors};
use carom_tasks::identify::{ProfileEnd, Settings, Task, replay_objections};
use carom_tasks::loss::Average;
use carom_tasks::problem::Starts;

use crate::identify::{FREE, TRUTH, hidden, settings, solved, swings};
use crate::support::model;

fn asked(names: &[&str]) -> Settings {
    Settings {
        confidence: 0.95,
        ..settings(names)
    }
}

#[test]
fn profiles_of_a_parabola_are_the_intervals() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 11, true);
    let profiles = |threads: usize| {
        let mut asked = asked(&FREE);
        asked.threads = Some(threads);
        let task = Task::new(&pendulum, &recordings, asked).unwrap();
        assert!(task.profiles_are_cheap());
        let solution = solved(&task);
        let found = task.conclude(&solution).unwrap();
        let profiles = task.profiles(&solution, &found, None).unwrap();
        (found, profiles)
    };
    let (found, all) = profiles(1);
    assert_eq!(all, profiles(2).1, "threads change nothing");
    assert_eq!(all.len(), 2);
    for (one, profile) in found.estimates.iter().zip(&all) {
        assert_eq!(one.name, profile.name);
        let width = one.interval[1] - one.interval[0];
        for (end, expected) in profile.ends.into_iter().zip(one.interval) {
            assert!(matches!(end, ProfileEnd::At(_)), "{profile:?}");
            assert!(
                (end.value() - expected).abs() < 0.02 * width,
                "{one:?} {:?}",
                profile.ends
            );
        }
        assert_eq!(profile.words, Vec::<String>::new());
        assert_eq!(profile.lower_loss, None);
        // The least loss is at the estimate, and the curve goes through the fits.
        let least = profile
            .points
            .iter()
            .find(|point| point.rise == 0.0)
            .unwrap();
        assert!((least.value / one.value - 1.0).abs() < 1e-12);
        assert!(profile.curve.len() > profile.points.len());
        for point in &profile.points {
            assert!(
                (point.rise - point.parabola).abs() < 0.05 * (1.0 + point.rise),
                "{point:?}"
            );
        }
    }
}

#[test]
fn profiles_that_are_flat_are_named() {
    let (pendulum, hidden) = hidden();
    let (mut recordings, _folder) = swings(&hidden, 12, true);
    // A tenth of a second tells next to nothing of the damping.
    for trajectory in &mut recordings.trajectories {
        trajectory.times.truncate(6);
    }
    let mut asked = asked(&FREE[..1]);
    asked.free[0].bounds = Some([0.0, 0.1]);
    let task = Task::new(&pendulum, &recordings, asked).unwrap();
    let solution = solved(&task);
    let found = task.conclude(&solution).unwrap();
    let profile = task.profiles(&solution, &found, None).unwrap().remove(0);
    let ends = profile.ends;
    assert!(
        matches!(ends, [ProfileEnd::Bound(0.0), ProfileEnd::Bound(high)] if high == 0.1),
        "{profile:?}"
    );
    let words = profile.words.join("; ");
    assert!(
        words.contains("the recordings do not bound joint.pivot.damping[0] from"),
        "{words}"
    );
}

#[test]
fn folds_agree_where_the_model_is_right() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 13, true);
    let task = Task::new(&pendulum, &recordings, asked(&FREE)).unwrap();
    let found = task.conclude(&solved(&task)).unwrap();
    let folds = task.cross_validate(3, &found, None).unwrap();
    assert_eq!(folds.folds.len(), 3);
    let held_out: Vec<&str> = (folds.folds.iter())
        .flat_map(|fold| fold.held_out.iter().map(String::as_str))
        .collect();
    assert_eq!(held_out, ["swing0.csv", "swing1.csv", "swing2.csv"]);
    for fold in &folds.folds {
        for (value, truth) in fold.values.iter().zip(TRUTH) {
            assert!((value / truth - 1.0).abs() < 0.05, "{fold:?}");
        }
    }
    assert!(
        folds.ratios().iter().all(|ratio| *ratio < 1.5),
        "{:?}",
        folds.ratios()
    );
    assert!(
        folds.words[0].contains("about as well"),
        "{:?}",
        folds.words
    );
    for wrong in [0, 1, 4] {
        let error = task.cross_validate(wrong, &found, None).unwrap_err();
        assert!(
            error.to_string().contains("which make 2 to 3 folds"),
            "{error}"
        );
    }
}

#[test]
fn folds_that_contradict_each_other_are_named() {
    let (pendulum, hidden) = hidden();
    let parameters = Parameters::select(&pendulum, &FREE).unwrap();
    let other = parameters.apply(&[0.2, 1.1_f64.ln()]).unwrap();
    let (mut recordings, _folder) = swings(&hidden, 14, true);
    let (others, _other_folder) = swings(&other, 14, true);
    recordings.trajectories.truncate(1);
    recordings
        .trajectories
        .extend(others.trajectories.into_iter().take(1));
    let task = Task::new(&pendulum, &recordings, asked(&FREE)).unwrap();
    let found = task.conclude(&solved(&task)).unwrap();
    let folds = task.cross_validate(2, &found, None).unwrap();
    let words = folds.words.join("; ");
    assert!(words.contains("far above those on fitted ones"), "{words}");
    assert!(
        words.contains("joint.pivot.damping[0] lies between"),
        "{words}"
    );
    assert!(folds.deviations[0] > 0.05, "{folds:?}");
}

#[test]
fn a_known_truth_is_recovered_only_where_the_setting_allows_it() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 15, true);
    let recovery = |starts: Starts, average: Average, threads: usize| {
        let mut asked = asked(&FREE);
        asked.problem.starts = starts;
        asked.problem.loss.average = average;
        asked.threads = Some(threads);
        let task = Task::new(&pendulum, &recordings, asked).unwrap();
        let found = task.conclude(&solved(&task)).unwrap();
        let recovery = task.recover(6, &found, None).unwrap();
        for (one, estimate) in recovery.parameters.iter().zip(&found.estimates) {
            assert_eq!((&one.name, one.truth), (&estimate.name, estimate.value));
            assert_eq!(one.values.len(), 6);
        }
        recovery
    };
    let right = recovery(carom_tasks::identify::FREE_STARTS, Average::Sum, 1);
    assert!(right.is_passed, "{right:?}");
    let again = recovery(carom_tasks::identify::FREE_STARTS, Average::Sum, 2);
    assert_eq!(right, again);
    assert!(
        right.words[0].starts_with("a known truth is recovered: "),
        "{right:?}"
    );
    // Starts that are taken as recorded bring their noise into the parameters, which intervals count in.
    let counted = recovery(Starts::Recorded, Average::Sum, 1);
    assert!(counted.is_passed, "{counted:?}");
    // They cannot where residuals are not in units of the noise.
    let wrong = recovery(Starts::Recorded, Average::Frames, 1);
    assert!(!wrong.is_passed, "{wrong:?}");
    let words = wrong.words.join("; ");
    assert!(words.contains("recovery failed: "), "{words}");
}

#[test]
fn noise_that_is_not_stated_is_taken_from_the_residuals() {
    let (pendulum, hidden) = hidden();
    let (mut recordings, _folder) = swings(&hidden, 16, true);
    for channel in &mut recordings.channels {
        channel.noise = None;
    }
    let mut asked = asked(&FREE);
    asked.problem.starts = Starts::Recorded;
    let task = Task::new(&pendulum, &recordings, asked).unwrap();
    let found = task.conclude(&solved(&task)).unwrap();
    let recovery = task.recover(2, &found, None).unwrap();
    let words = recovery.words.join("; ");
    assert!(
        words.contains("states no noise of joint pivot position, joint pivot velocity"),
        "{words}"
    );
    // It is about the noise that there is: estimates scatter, but not far.
    for one in &recovery.parameters {
        for value in &one.values {
            let part = (value / one.truth - 1.0).abs();
            assert!(part > 1e-6 && part < 0.2, "{one:?}");
        }
    }
}

#[test]
fn motions_are_suggested_that_tell_what_recordings_do_not() {
    let (pendulum, hidden) = hidden();
    let (recordings, _folder) = swings(&hidden, 17, false);
    let names = [
        "geom.bob.mass log",
        "geom.rod.mass log",
        "joint.pivot.damping[0] log",
    ];
    let task = Task::new(&pendulum, &recordings, asked(&names)).unwrap();
    assert!(task.inspect().unwrap().refusal().is_some());
    let found = task.suggest(task.start_theta(), 1.0).unwrap();
    let first = &found[0];
    // Without a torque nothing tells masses from damping: the motor must be driven.
    assert!(first.motion.contains("pivot_torque"), "{first:?}");
    let told = |name: &str| first.tells.iter().find(|told| told.parameter == name);
    let mass = told("geom.bob.mass").unwrap();
    assert!(mass.before > 0.3 && mass.after < 0.1, "{mass:?}");
    assert!(
        first.words().contains("geom.bob.mass would be known to ±"),
        "{}",
        first.words()
    );
    // What is known needs no other motion.
    let (driven, _driven_folder) = swings(&hidden, 17, true);
    let task = Task::new(&pendulum, &driven, asked(&FREE)).unwrap();
    assert_eq!(task.suggest(task.start_theta(), 1.0).unwrap(), []);
}

#[test]
fn throws_are_suggested_where_nothing_touches() {
    let folder = crate::support::Folder::new("flight");
    let cube = model("models/cube.xml");
    let recordings = flight(&folder, &cube);
    let task = Task::new(&cube, &recordings, asked(&["geom.*.friction[0] tied"])).unwrap();
    let inspection = task.inspect().unwrap();
    assert_eq!(inspection.silent.len(), 1, "{inspection:?}");
    let found = task.suggest(task.start_theta(), 1.0).unwrap();
    let first = &found[0];
    assert!(first.motion.contains("cube"), "{first:?}");
    assert!(
        first.tells[0].before > 0.99 && first.tells[0].after < 0.5,
        "{first:?}"
    );
    assert!(
        first.words().contains("instead of not at all"),
        "{}",
        first.words()
    );
}

/// A cube in flight, seen from high above the floor until it nearly lands.
fn flight(folder: &crate::support::Folder, cube: &Model) -> carom_tasks::recording::Recordings {
    let mut start = carom::State::reference(cube);
    start.qpos[2] = 0.6;
    let table = crate::support::simulate(cube, &start, (150, 5), &|_| 0.0);
    let path = folder.write("flight.csv", &table);
    let mapping = "time.column = 't'\n[[body]]\nname = 'cube'\nposition = 'qpos[0:3]'\nrotation = 'qpos[3:7]'\n\
        linear_velocity = 'qvel[0:3]'\nangular_velocity = 'qvel[3:6]'\n\
        noise = { position = 0.001, rotation = 0.01, linear_velocity = 0.05, angular_velocity = 0.2 }\n";
    crate::support::load(cube, mapping, &path).unwrap()
}

/// A report of one metric for two trajectories.
fn report(errors: [f64; 2], failed: bool) -> Report {
    let failures = [None, failed.then(|| "it fell off the table".to_owned())];
    let trajectories = errors.into_iter().zip(failures).enumerate();
    let trajectories: Vec<TrajectoryErrors> = trajectories
        .map(|(index, (error, failure))| TrajectoryErrors {
            label: format!("toss {index}"),
            frames: 10,
            windows: 1,
            extrapolating: 0,
            errors: vec![error],
            failure,
        })
        .collect();
    Report {
        metrics: vec![Metric {
            name: "position".to_owned(),
            unit: "m",
        }],
        total: vec![0.5 * (errors[0] + errors[1])],
        trajectories,
    }
}

#[test]
fn replays_that_are_worse_are_no_success() {
    let better = [report([0.2, 0.3], false), report([0.1, 0.3], false)];
    let worse = [report([0.2, 0.3], false), report([0.2, 0.4], false)];
    let lost = [report([0.2, 0.3], false), report([0.1, 0.1], true)];
    let none: [String; 0] = [];
    assert_eq!(replay_objections([2.0, 1.0], &better, Some(&better)), none);
    assert_eq!(replay_objections([2.0, 1.0], &better, None), none);
    assert_eq!(
        replay_objections([2.0, 2.0], &better, None),
        ["the search found nothing better than the start: the loss did not fall"]
    );
    assert_eq!(
        replay_objections([2.0, 1.0], &worse, None),
        [
            "on the recordings of the fit, the calibrated model is worse than the one at the start (position)"
        ]
    );
    assert_eq!(
        replay_objections([2.0, 1.0], &better, Some(&worse)),
        [
            "on held-out recordings, the calibrated model is worse than the one at the start (position)"
        ]
    );
    assert_eq!(
        replay_objections([2.0, 1.0], &better, Some(&lost)),
        [
            "on held-out recordings, 1 trajectories that the model at the start simulates cannot be simulated by the calibrated one, such as toss 1"
        ]
    );
}
