//! Defects that are planted must be seen by the verdict, and what is right must be a success.

use std::fmt::Write as _;

use carom::load::Loaded;
use carom_optimise::random::Random;
use carom_tasks::identify::workflow::{self, Question, WantedChecks};
use carom_tasks::identify::{Free, Grade, Outcome, Settings, Unwatched};
use carom_tasks::problem::{Horizon, Starts};
use carom_tasks::recording::Recordings;

use crate::support::{Folder, load, root};

/// Noise of recorded angles (rad).
const NOISE: f64 = 2e-3;

fn pendulum(damping: f64) -> Loaded {
    let text = std::fs::read_to_string(root().join("models/pendulum.xml")).unwrap();
    let folder = Folder::new("verdict-model");
    let text = text.replace(
        "damping=\"0.01\"",
        &format!("damping=\"{damping}\" armature=\"0.01\""),
    );
    let path = folder.write("pendulum.xml", &text);
    carom::load::file(&path, &[]).unwrap()
}

/// Three seconds of a pendulum, with noise, read with the noise that is stated.
fn swing(truth: &Loaded, seed: u64, stated: f64) -> Recordings {
    let model = &truth.model;
    let mut state = carom::State::reference(model);
    state.qpos[0] = 1.2;
    let angles = (0..=300).map(|frame| {
        if frame > 0 {
            let mut data = carom::Data::new(model);
            let input = carom::Input::zeros(model);
            // Of 5 ms.
            (0..2).for_each(|_| {
                carom::step(model, &mut state, &input, &mut data);
            });
        }
        state.qpos[0]
    });
    let mut random = Random::new(seed, 0);
    let noisy: Vec<f64> = angles
        .map(|angle| angle + NOISE * random.normal())
        .collect();
    recorded(truth, &noisy, stated)
}

/// Angles every 10 ms.
fn recorded(model: &Loaded, angles: &[f64], stated: f64) -> Recordings {
    let folder = Folder::new("verdict");
    let mut text = "t,angle\n".to_owned();
    for (frame, angle) in angles.iter().enumerate() {
        writeln!(text, "{},{angle}", 0.01 * frame as f64).unwrap();
    }
    let path = folder.write("swing.csv", &text);
    let mapping = format!(
        "time.column = 't'\nvelocity.method = 'smooth'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\nnoise = {stated}\n"
    );
    load(&model.model, &mapping, &path).unwrap()
}

fn settings(free: &str) -> Settings {
    let mut settings = Settings {
        free: vec![Free::new(free.parse().unwrap())],
        ..Settings::default()
    };
    settings.problem.starts = Starts::Free {
        position: 1e-2,
        velocity: 1e-1,
    };
    settings
}

fn found(
    model: &Loaded,
    recordings: &Recordings,
    held_out: Option<&Recordings>,
    settings: Settings,
) -> Outcome {
    let question = Question {
        model: &model.model,
        spec: &model.spec,
        original: None,
        recordings,
        held_out,
        settings,
        checks: WantedChecks::NONE,
        resume: None,
    };
    workflow::identify(&question, None, &mut Unwatched).unwrap()
}

/// The grade, and whether a rule is among the reasons.
#[track_caller]
fn is_graded(outcome: &Outcome, grade: Grade, rule: &str) {
    let verdict = outcome.verdict();
    assert_eq!(verdict.grade, grade, "{verdict:#?}");
    let mut rules = verdict.reasons.iter().map(|reason| reason.rule);
    assert!(rules.any(|one| one == rule), "{verdict:#?}");
    assert_eq!(outcome.refusal().is_some(), grade == Grade::NoSuccess);
}

#[test]
fn what_is_right_is_a_success_near_its_noise_floor() {
    let model = pendulum(0.01);
    let truth = pendulum(0.03);
    let [fit, other] = [1, 2].map(|seed| swing(&truth, seed, NOISE));
    let outcome = found(
        &model,
        &fit,
        Some(&other),
        settings("joint.pivot.damping[0]"),
    );
    let verdict = outcome.verdict();
    assert_eq!(
        (verdict.grade, verdict.reasons),
        (Grade::Success, Vec::new())
    );
    assert!((outcome.over_noise.unwrap() - 1.0).abs() < 0.2);
    // From estimated initial states only the noise of 300 frames is left; from a measured one, which is a single draw of its noise, the error
    // may be as small as luck has it.
    let pairs = [&outcome.fitted, outcome.held_out.as_ref().unwrap()];
    let least = [0.8, 0.0];
    for (([_, after], floor), least) in pairs.into_iter().zip(&outcome.floors).zip(least) {
        let floor = floor.as_ref().unwrap();
        assert!(floor.is_stated);
        let ratio = after.total[0] / floor.errors[0];
        assert!((least..3.0).contains(&ratio), "{ratio}");
    }
    assert_eq!(outcome.naive.len(), 2);
}

#[test]
fn noise_that_is_stated_too_small_is_doubtful() {
    let fit = swing(&pendulum(0.03), 1, 0.2 * NOISE);
    let outcome = found(
        &pendulum(0.01),
        &fit,
        None,
        settings("joint.pivot.damping[0]"),
    );
    is_graded(&outcome, Grade::Doubtful, "residuals");
    // Without units of the noise in the loss, the replay tells.
    let mut plain = settings("joint.pivot.damping[0]");
    plain.problem.loss.by_noise = false;
    let outcome = found(&pendulum(0.01), &fit, None, plain);
    is_graded(&outcome, Grade::Doubtful, "residuals");
}

#[test]
fn a_held_out_error_that_rose_is_no_success() {
    let (model, truth) = (pendulum(0.01), pendulum(0.03));
    let fit = swing(&truth, 1, NOISE);
    let other = swing(&model, 2, NOISE);
    let outcome = found(
        &model,
        &fit,
        Some(&other),
        settings("joint.pivot.damping[0]"),
    );
    is_graded(&outcome, Grade::NoSuccess, "replay");
}

#[test]
fn a_value_at_its_bound_is_doubtful() {
    let fit = swing(&pendulum(0.03), 1, NOISE);
    let free = "joint.pivot.damping[0] bounds(0.005,0.0285)";
    let outcome = found(&pendulum(0.01), &fit, None, settings(free));
    is_graded(&outcome, Grade::Doubtful, "bounds");
}

#[test]
fn a_joint_that_is_frozen_by_its_armature_is_no_success() {
    let model = pendulum(0.01);
    let mut random = Random::new(3, 0);
    // The brake was on.
    let still: Vec<f64> = (0..200).map(|_| 0.4 + NOISE * random.normal()).collect();
    let fit = recorded(&model, &still, NOISE);
    let settings = settings("joint.pivot.armature log");
    let outcome = found(&model, &fit, None, settings);
    is_graded(&outcome, Grade::NoSuccess, "plausibility");
}

#[test]
fn holding_still_that_predicts_better_is_no_success() {
    let model = pendulum(0.01);
    let mut random = Random::new(3, 0);
    let still: Vec<f64> = (0..200).map(|_| 0.4 + NOISE * random.normal()).collect();
    let fit = recorded(&model, &still, NOISE);
    let mut settings = settings("joint.pivot.damping[0] log");
    settings.problem.starts = Starts::Recorded;
    settings.frees_starts = false;
    settings.free[0].bounds = Some([1e-3, 1.0]);
    let outcome = found(&model, &fit, None, settings);
    is_graded(&outcome, Grade::NoSuccess, "naive");
}

#[test]
fn the_gate_replays_what_the_loss_compares() {
    let model = pendulum(0.01);
    let fit = swing(&pendulum(0.03), 1, NOISE);
    let mut segments = settings("joint.pivot.damping[0]");
    segments.problem.horizon = Horizon::Segments {
        frames: 51,
        every: 50,
    };
    let outcome = found(&model, &fit, Some(&fit), segments);
    for [before, after] in [&outcome.fitted, outcome.held_out.as_ref().unwrap()] {
        assert_eq!(before.trajectories[0].windows, 6);
        assert_eq!(after.trajectories[0].windows, 6);
    }
    // What the mapping says goes before.
    let mut windowed = fit.clone();
    windowed.evaluate.window = Some(100);
    let outcome = found(&model, &windowed, None, settings("joint.pivot.damping[0]"));
    assert_eq!(outcome.fitted[1].trajectories[0].windows, 3);
}
