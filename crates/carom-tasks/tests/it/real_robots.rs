//! Models of real robots, identified from recordings for training as `datasets/README.md` says, predict recordings for validation as well as they did.

use std::path::PathBuf;

use carom_tasks::identify::workflow::{Question, WantedChecks, identify};
use carom_tasks::identify::{Grade, Outcome, Settings, Unwatched};
use carom_tasks::recording::{self, Mapping};

use crate::support::root;

/// Identifies a set from its recordings for training, and judges by those for validation; none, and a skip, if they are not there. The model is that of
/// `datasets/` or that of the recordings.
fn identified(set: &str, model: Option<&str>) -> Option<Outcome> {
    let data = |name: &str| carom_testing::shared(&format!("data/{set}/{name}"));
    let of = |ending: &str| root().join(format!("datasets/{set}{ending}"));
    let path = match model {
        Some(name) => data(name)?,
        None => of(".xml"),
    };
    let files: [PathBuf; 2] = [data("train.npz")?, data("val.npz")?];
    let robot = carom::load::file(&path, &[]).unwrap();
    let mapping = Mapping::read(&of(".toml")).unwrap();
    let [train, others] =
        files.map(|path| recording::load(&robot.model, &mapping, &[path]).unwrap());
    let question = Question {
        model: &robot.model,
        spec: &robot.spec,
        original: None,
        recordings: &train,
        held_out: Some(&others),
        settings: Settings::read(&of("_identify.toml")).unwrap(),
        checks: WantedChecks::NONE,
        resume: None,
    };
    let outcome = identify(&question, None, &mut Unwatched).unwrap();
    println!("{set}: {:.1} s, {:?}", outcome.seconds, outcome.verdict());
    Some(outcome)
}

/// Errors on recordings for validation must be at most these.
fn holds(outcome: &Outcome, bars: &[(&str, f64)]) {
    let report = &outcome.held_out.as_ref().unwrap()[1];
    for (name, bar) in bars {
        let error = report.total_of(name).unwrap();
        println!("{name} {error}, at most {bar}");
        assert!(error <= *bar, "{name}: {error}, above {bar}");
    }
}

/// Whether the long tier is asked for, which takes minutes; a skip if not.
fn is_long() -> bool {
    let is_long = carom_testing::by_tier(false, true);
    if !is_long {
        carom_testing::skip("minutes of searches: in the long tier");
    }
    is_long
}

#[test]
fn a_hobby_servo_with_the_friction_of_mjcf() {
    let Some(outcome) = identified("servo_xl330", None) else {
        return;
    };
    holds(&outcome, &[("angle", 0.20)]);
    // Its friction grows with the load, which MJCF cannot say: residuals stay far above the noise.
    assert_eq!(outcome.verdict().grade, Grade::Doubtful);
}

#[test]
fn a_nano_quadrotor_after_half_a_second() {
    if !is_long() {
        return;
    }
    let Some(outcome) = identified("nanodrone_flights", Some("nanodrone_air.xml")) else {
        return;
    };
    let bars = [
        ("position_end", 0.090),
        ("velocity_end", 0.40),
        ("rotation_end", 0.17),
        ("rate_end", 0.52),
    ];
    holds(&outcome, &bars);
    assert_eq!(outcome.verdict().grade, Grade::Success);
}

#[test]
fn an_arm_keeps_torques_and_predictions() {
    if !is_long() {
        return;
    }
    let Some(outcome) = identified("panda_excitation", None) else {
        return;
    };
    holds(&outcome, &[("torque", 0.16), ("angle_end", 0.020)]);
    // Every inertia is that of a body.
    let bodies = &outcome.identified.model.bodies;
    for (mass, moments) in bodies.mass.iter().zip(&bodies.inertia).skip(1) {
        let [a, b, c] = moments.0;
        let sum = a + b + c;
        let is_body = 2.0 * a.max(b).max(c) <= sum * (1.0 + 1e-9) && a.min(b).min(c) > 0.0;
        assert!(*mass > 0.0 && is_body, "{mass} {moments:?}");
    }
}
