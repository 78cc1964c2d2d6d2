//! Motions against closed forms, differences and published figures.

mod from_distance;

use super::{Flow, FlowSettings, Method, Motion, Tolerances};
use crate::cotangent::StateBar;
use crate::rollout::{Controls, Loss};
use crate::state::State;
use crate::testing::model_from_mjcf;

fn settings(tolerance: f64) -> FlowSettings {
    FlowSettings {
        tolerances: Tolerances::all(tolerance),
        ..FlowSettings::default()
    }
}

/// A loss that is one number of the last state.
enum Last {
    Position(usize),
    Velocity(usize),
}

impl Loss for (Last, usize) {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == self.1 {
            match self.0 {
                Last::Position(dof) => bar.qpos[dof] += 1.0,
                Last::Velocity(dof) => bar.qvel[dof] += 1.0,
            }
        }
    }
}

/// The unit mass of a well-known example: a contact whose force jumps from zero, and an unrolled gradient that is wrong
/// however small its steps.
#[test]
fn a_point_mass_meets_a_wall_with_the_right_gradient() {
    let model = model_from_mjcf(
        r#"<mujoco><option gravity="0 0 0" timestep="0.001"><flag refsafe="disable"/></option><worldbody>
          <body><joint type="slide" axis="0 0 1" limited="true" range="0 10" solreflimit="0.02 1"
            solimplimit="0.9 0.95 0.001 0.5 2"/><geom size="0.1" mass="1"/></body></worldbody></mujoco>"#,
    );
    let flow = Flow::new(&model, settings(1e-12)).unwrap();
    let mut start = State::reference(&model);
    (start.qpos[0], start.qvel[0]) = (0.05, -1.0);
    let motion = flow.run(&start, &Controls::Zero, 0.15, 1);
    assert!(motion.onsets()[0].begins, "{:?}", motion.onsets());
    let gradient = |last: Last| {
        let found = motion
            .backward(&flow, &Controls::Zero, &mut (last, 1))
            .unwrap();
        (found.start.qpos[0], found.start.qvel[0])
    };
    let shifted = |dq: f64, dv: f64| {
        let mut start = start.clone();
        start.qpos[0] += dq;
        start.qvel[0] += dv;
        let motion = flow.run(&start, &Controls::Zero, 0.15, 1);
        [motion.end().qpos[0], motion.end().qvel[0]]
    };
    let difference = |dq: f64, dv: f64| {
        let (after, before) = (shifted(dq, dv), shifted(-dq, -dv));
        [0, 1].map(|k| (after[k] - before[k]) / (2.0 * (dq + dv)))
    };
    let (by_q, by_v) = (difference(1e-4, 0.0), difference(0.0, 1e-4));
    let position = gradient(Last::Position(0));
    let velocity = gradient(Last::Velocity(0));
    for (found, expected) in [
        (position.0, by_q[0]),
        (velocity.0, by_q[1]),
        (position.1, by_v[0]),
        (velocity.1, by_v[1]),
    ] {
        assert!(
            (found - expected).abs() < 1e-5,
            "{found} instead of {expected}"
        );
    }
    assert!((position.0 + 0.1357).abs() < 1e-3, "{}", position.0);
    assert!(velocity.0.abs() < 1e-2, "{}", velocity.0);
}

fn toss(tolerance: f64, u0: f64, contact: &str, geom: &str) -> (Flow, Motion) {
    let model = model_from_mjcf(&format!(
        r#"<mujoco><option gravity="0 0 -2" timestep="0.01"><flag refsafe="disable"/></option>
          <default><geom {contact}/></default><worldbody><geom type="plane" size="5 5 1"/>
          <body pos="0 0 0.1"><freejoint/><geom density="1" {geom}/></body></worldbody></mujoco>"#
    ));
    let flow = Flow::new(&model, settings(tolerance)).unwrap();
    let mut start = State::reference(&model);
    (start.qpos[2], start.qvel[1], start.qvel[2]) = (0.2, -0.1, u0);
    let motion = flow.run(&start, &Controls::Zero, 1.0, 1);
    (flow, motion)
}

#[test]
fn tosses_have_the_gradients_of_the_motion() {
    let hard = r#"solref="0.005 1" solimp="0 0.95 0.001 0.5 2""#;
    let default = "";
    for (contact, geom) in [
        (hard, r#"type="sphere" size="0.05""#),
        (default, r#"type="sphere" size="0.05""#),
        (hard, r#"type="capsule" size="0.03 0.05" euler="30 20 0""#),
        (
            default,
            r#"type="box" size="0.05 0.05 0.05" euler="30 20 0""#,
        ),
        (
            default,
            r#"type="cylinder" size="0.04 0.06" euler="30 20 0""#,
        ),
    ] {
        let (flow, motion) = toss(1e-12, -2.0, contact, geom);
        let gradient = motion
            .backward(&flow, &Controls::Zero, &mut (Last::Position(1), 1))
            .unwrap();
        let at = |u0: f64| toss(1e-12, u0, contact, geom).1.end().qpos[1];
        let difference = |step: f64| (at(-2.0 + step) - at(-2.0 - step)) / (2.0 * step);
        let (coarse, fine) = (difference(2e-4), difference(1e-4));
        let expected = fine + (fine - coarse) / 3.0;
        let found = gradient.start.qvel[2];
        println!("{geom} {contact}: {found} {expected} {coarse}");
        assert!(
            (found - expected).abs() < 1e-6 + 1e-3 * expected.abs(),
            "{geom} {contact}: {found} instead of {expected}"
        );
    }
}

#[test]
fn all_methods_follow_a_pendulum() {
    let model = model_from_mjcf(
        r#"<mujoco><worldbody><body><joint axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5"/>
          </body></worldbody></mujoco>"#,
    );
    let mut start = State::reference(&model);
    start.qpos[0] = 1.0;
    let end = |method: Method, tolerance: f64| {
        let flow = Flow::new(
            &model,
            FlowSettings {
                method,
                ..settings(tolerance)
            },
        );
        let motion = flow.unwrap().run(&start, &Controls::Zero, 0.5, 2);
        assert_eq!(motion.states().len(), 3);
        motion.end().qpos[0]
    };
    let truth = end(Method::Dopri5, 1e-13);
    for (name, method) in Method::ALL {
        let error = (end(method, 1e-8) - truth).abs();
        assert!(error < 1e-6, "{name}: {error}");
    }
}
