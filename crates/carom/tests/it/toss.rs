//! Objects tossed onto the ground with steps of 10 ms and hard contact: the derivative of where they end by the speed with
//! which they are thrown down is that of the very map that the steps are.
//!
//! The start is one tenth of a metre above the ground, y turns with −0.1 m/s, the vertical speed u₀ varies; after a second
//! of bounces and slides y is looked at.

use carom::rollout::{Controls, RolloutBar, rollout};
use carom::{Data, Model, State};

use crate::models;

/// One second.
const STEPS: usize = 100;
const SPEEDS: [f64; 5] = [-3.0, -2.5, -2.0, -1.5, -1.0];

/// A tossed object that stands on no face, hard contact without margin, few and tight iterations.
fn tossed(geom: &str) -> Model {
    models::from_text(&format!(
        r#"<mujoco><option gravity="0 0 -2" timestep="0.01" iterations="4" ls_iterations="10">
            <flag refsafe="disable" eulerdamp="disable"/></option>
          <default><geom solimp="0 0.95 0.001" solref="0.005 1"/></default>
          <worldbody><geom type="plane" size="20 20 0.1"/>
            <body pos="0 0 0.1"><freejoint/><geom {geom} density="100"/></body></worldbody></mujoco>"#
    ))
}

fn start(model: &Model, speed: f64) -> State {
    let mut state = State::reference(model);
    (state.qpos[2], state.qvel[1], state.qvel[2]) = (0.2, -0.1, speed);
    state
}

fn final_y(model: &Model, speed: f64) -> f64 {
    let start = start(model, speed);
    let run = rollout(model, &start, &Controls::Zero, STEPS, &mut Data::new(model));
    run.qpos(STEPS)[1]
}

fn by_speed(model: &Model, speed: f64) -> f64 {
    let start = start(model, speed);
    let run = rollout(model, &start, &Controls::Zero, STEPS, &mut Data::new(model));
    let mut loss = RolloutBar::zeros(&run);
    loss.qpos_mut(STEPS)[1] = 1.0;
    let gradient = run.backward(model, &Controls::Zero, &mut loss).unwrap();
    gradient.start.qvel[2]
}

/// The difference quotient of the step size that agrees best with its half, and how well they agree.
fn quotient(model: &Model, speed: f64) -> (f64, f64) {
    let central =
        |step: f64| (final_y(model, speed + step) - final_y(model, speed - step)) / (2.0 * step);
    let pairs = [1e-4, 1e-5, 1e-6, 1e-7].map(|step| [central(step), central(0.5 * step)]);
    let estimates =
        pairs.map(|[coarse, fine]| ((4.0 * fine - coarse) / 3.0, (fine - coarse).abs()));
    let best = estimates.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    best.unwrap_or_default()
}

/// Compares at all speeds; returns the greatest derivative.
fn check(name: &str, model: &Model) -> f64 {
    let mut greatest = 0.0_f64;
    for speed in SPEEDS {
        let found = by_speed(model, speed);
        let (expected, uncertain) = quotient(model, speed);
        let error = (found - expected).abs() / expected.abs().max(1e-2);
        println!(
            "{name}, {speed} m/s: {found:.9}, relative error {error:.1e}, differences agree to {uncertain:.0e}"
        );
        assert!(
            error < 1e-6,
            "{name}, {speed} m/s: {found} instead of {expected}"
        );
        greatest = greatest.max(found.abs());
    }
    greatest
}

#[test]
fn the_derivative_of_a_toss_is_that_of_its_steps() {
    for geom in [
        r#"type="box" size="0.05 0.05 0.05" euler="60 0 0""#,
        r#"type="sphere" size="0.05""#,
        r#"type="capsule" size="0.03 0.05" euler="60 0 0""#,
        r#"type="cylinder" size="0.03 0.05" euler="60 0 0""#,
        r#"type="ellipsoid" size="0.03 0.05 0.07" euler="60 0 0""#,
    ] {
        let greatest = check(geom, &tossed(geom));
        assert!(greatest > 0.05, "{geom}: nothing depends on the toss");
    }
}

#[test]
fn the_derivatives_of_the_shared_tosses_are_those_of_their_steps() {
    for path in models::shared() {
        let name = path.display().to_string();
        let tossed = [
            "ball.xml",
            "capsule.xml",
            "cylinder.xml",
            "ellipsoid.xml",
            "cube.xml",
        ];
        if name.contains("diffmjx") && tossed.iter().any(|file| name.ends_with(file)) {
            check(&name, &models::load(&path));
        }
    }
}
