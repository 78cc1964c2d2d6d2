//! Errors of models, and what they are compared with.

use std::fmt::Write as _;

use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;
use carom_tasks::evaluate::{
    Predictor, StartNoise, evaluate, evaluate_by, evaluate_or_windows, noise_floor, window_of,
};
use carom_tasks::problem::Stepping;
use carom_tasks::recording::Recordings;

use crate::support::{Folder, load, model};

const MAPPING: &str =
    "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nvelocity = 'rate'\n";

/// Angles and rates of the pendulum from a start, every 10 ms.
fn swing(model: &Model, angle: f64, frames: usize) -> Vec<[f64; 2]> {
    let (mut state, mut data) = (State::reference(model), Data::new(model));
    let input = Input::zeros(model);
    state.qpos[0] = angle;
    let frame = |_| {
        let now = [state.qpos[0], state.qvel[0]];
        for _ in 0..2 {
            carom::step(model, &mut state, &input, &mut data);
        }
        now
    };
    (0..frames).map(frame).collect()
}

fn recorded(model: &Model, motion: &[[f64; 2]], mapping: &str) -> Recordings {
    let folder = Folder::new("evaluate");
    let mut text = "t,angle,rate\n".to_owned();
    for (frame, [angle, rate]) in motion.iter().enumerate() {
        writeln!(text, "{},{angle},{rate}", 0.01 * frame as f64).unwrap();
    }
    load(model, mapping, &folder.write("swing.csv", &text)).unwrap()
}

#[test]
fn whole_turns_of_hinges_count() {
    let model = model("models/pendulum.xml");
    let mut motion = swing(&model, 0.5, 50);
    // The recording goes on by more than a turn; the prediction does not.
    for frame in &mut motion[1..] {
        frame[0] += 8.6;
    }
    let report = evaluate(&model, &recorded(&model, &motion, MAPPING), Stepping::Fixed).unwrap();
    let expected = 8.6 * 49.0 / 50.0;
    for (metric, factor) in [
        ("angle", 1.0),
        ("angle_degrees", 180.0 / std::f64::consts::PI),
    ] {
        let found = report.total_of(metric).unwrap();
        assert!(
            (found - factor * expected).abs() < 1e-9 * found,
            "{metric}: {found}"
        );
    }
}

#[test]
fn naive_predictors_hold_still_or_go_on() {
    let model = model("models/pendulum.xml");
    // An angle that grows steadily.
    let motion: Vec<[f64; 2]> = (0..100)
        .map(|frame| [0.01 * f64::from(frame), 1.0])
        .collect();
    let recordings = recorded(&model, &motion, MAPPING);
    let error = |predictor| {
        let measured = evaluate_by(predictor, &model, &recordings, Stepping::Fixed).unwrap();
        measured.report.total_of("angle").unwrap()
    };
    assert!(error(Predictor::ConstantVelocity) < 1e-12);
    assert!((error(Predictor::HoldStill) - 0.495).abs() < 1e-12);
}

#[test]
fn windows_are_measured_where_whole_runs_diverge() {
    let model = model("models/pendulum.xml");
    let upright = std::f64::consts::PI;
    let mut motion = swing(&model, upright + 1e-3, 600);
    // Measured on the other side at first: the prediction falls to the other side.
    for frame in &mut motion[..2] {
        *frame = [2.0 * upright - frame[0], -frame[1]];
    }
    let recordings = recorded(&model, &motion, MAPPING);
    let (report, windows) = evaluate_or_windows(&model, &recordings, Stepping::Fixed).unwrap();
    let windows = windows.unwrap();
    assert_eq!(
        (windows.frames, windows.every, windows.diverged),
        (50, 50, [1, 1])
    );
    assert!(windows.words().contains("1 of 1 whole runs diverge"));
    assert_eq!(report.trajectories[0].windows, 11);
    let whole = evaluate(&model, &recordings, Stepping::Fixed).unwrap();
    assert!(report.total_of("angle").unwrap() < 0.1 * whole.total_of("angle").unwrap());
    // Whoever says what to measure gets it.
    let mut asked = recordings.clone();
    asked.evaluate.window = Some(599);
    let (report, windows) = evaluate_or_windows(&model, &asked, Stepping::Fixed).unwrap();
    assert_eq!((windows, report.trajectories[0].windows), (None, 1));
    // A model that is right all the way is measured all the way.
    let good = recorded(&model, &swing(&model, 1.0, 600), MAPPING);
    let (_, windows) = evaluate_or_windows(&model, &good, Stepping::Fixed).unwrap();
    assert_eq!(windows, None);
    assert_eq!(window_of(&good, 0.25), 25);
    assert_eq!(window_of(&good, 100.0), 299);
}

#[test]
fn a_true_model_scores_its_noise_floor() {
    let model = model("models/pendulum.xml");
    let noise = [0.004, 0.03];
    let mut random = Random::new(5, 0);
    let mut motion = swing(&model, 0.8, 400);
    for frame in &mut motion {
        for (number, noise) in frame.iter_mut().zip(noise) {
            *number += noise * random.normal();
        }
    }
    let stated = format!(
        "{MAPPING}noise = {}\nvelocity_noise = {}\n",
        noise[0], noise[1]
    );
    for (mapping, is_stated) in [(stated.as_str(), true), (MAPPING, false)] {
        let recordings = recorded(&model, &motion, mapping);
        let floor = noise_floor(&model, &recordings, Stepping::Fixed, StartNoise::Measured);
        let floor = floor.unwrap().unwrap();
        assert_eq!(floor.is_stated, is_stated);
        let report = evaluate(&model, &recordings, Stepping::Fixed).unwrap();
        for ((metric, error), floor) in report.metrics.iter().zip(&report.total).zip(&floor.errors)
        {
            // One start against the mean over three draws of it.
            let ratio = error / floor;
            assert!(
                (0.2..5.0).contains(&ratio),
                "{}: {error} for {floor}",
                metric.name
            );
        }
        // From a start that is known, only the noise of the measurements is left.
        let known = noise_floor(&model, &recordings, Stepping::Fixed, StartNoise::Estimated);
        let known = known.unwrap().unwrap().errors[0];
        let expected = noise[0] * (2.0 / std::f64::consts::PI).sqrt();
        // The median of 400 differences, each of which shares frames with six others, is known to a tenth or two.
        let most = if is_stated { 0.1 } else { 0.5 };
        assert!(
            (known / expected - 1.0).abs() < most,
            "{known} for {expected}"
        );
    }
}

#[test]
fn encoders_that_round_have_the_noise_of_their_steps() {
    let model = model("models/pendulum.xml");
    let step = std::f64::consts::TAU / 256.0;
    let mut motion = swing(&model, 0.05, 400);
    for [angle, _] in &mut motion {
        *angle = (*angle / step).round() * step;
    }
    let mapping = "time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\n";
    let recordings = recorded(&model, &motion, mapping);
    let floor = noise_floor(&model, &recordings, Stepping::Fixed, StartNoise::Estimated);
    let floor = floor.unwrap().unwrap().errors[0];
    let expected = step / 12.0_f64.sqrt() * (2.0 / std::f64::consts::PI).sqrt();
    assert!(
        (floor / expected - 1.0).abs() < 0.1,
        "{floor} for {expected}"
    );
}
