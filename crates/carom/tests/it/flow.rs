//! Motions against closed forms, differences and published figures.

use carom::cotangent::StateBar;
use carom::flow::{Flow, FlowSettings, Method, Motion, Status, Tolerances};
use carom::rollout::{Controls, Loss};
use carom::{Model, State};

use crate::models;

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

/// At the end of an interval.
struct AtEnd(Last, usize);

impl Loss for AtEnd {
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
    let model = models::from_text(
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
            .backward(&flow, &Controls::Zero, &mut AtEnd(last, 1))
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

/// A second of a toss, followed at a tolerance.
fn follow_toss(model: &Model, tolerance: f64, u0: f64) -> (Flow, Motion) {
    follow_toss_with(model, settings(tolerance), u0)
}

fn follow_toss_with(model: &Model, settings: FlowSettings, u0: f64) -> (Flow, Motion) {
    let flow = Flow::new(model, settings).unwrap();
    let mut start = State::reference(model);
    (start.qpos[2], start.qvel[1], start.qvel[2]) = (0.2, -0.1, u0);
    let motion = flow.run(&start, &Controls::Zero, 1.0, 1);
    (flow, motion)
}

/// The derivative of the last position by the first velocity, by the backward pass.
fn derivative(flow: &Flow, motion: &Motion) -> f64 {
    let gradient = motion.backward(flow, &Controls::Zero, &mut AtEnd(Last::Position(1), 1));
    gradient.unwrap().start.qvel[2]
}

fn tossed(contact: &str, geom: &str) -> Model {
    models::from_text(&format!(
        r#"<mujoco><option gravity="0 0 -2" timestep="0.01"><flag refsafe="disable"/></option>
          <default><geom {contact}/></default><worldbody><geom type="plane" size="5 5 1"/>
          <body pos="0 0 0.1"><freejoint/><geom density="100" {geom}/></body></worldbody></mujoco>"#
    ))
}

/// Contacts whose force begins with and without a jump, and others that are given directly, bouncy, or with a wide curve.
const CONTACTS: [&str; 8] = [
    r#"solref="0.005 1" solimp="0 0.95 0.001 0.5 2""#,
    "",
    r#"solref="-2000 -20""#,
    r#"solref="0.02 0.4" solimp="0.5 0.99 0.01 0.5 2""#,
    // The curve of the impedance has a corner, which is passed in a tenth of a millisecond.
    r#"solref="0.006 0.35" solimp="0.5 0.99 0.0002 0.5 1""#,
    // A straight curve that contacts leave again under force.
    r#"solref="-26700 -312" solimp="0 0.95 0.0058 0.8 1""#,
    // Its curvature jumps, within a tenth of a millimetre.
    r#"solref="0.014 1.2" solimp="0 0.95 0.0001 0.6 3""#,
    // Its curvature has poles.
    r#"solref="0.026 0.5" solimp="0 0.95 0.00014 0.8 1.5""#,
];

#[test]
fn tosses_have_the_gradients_of_the_motion() {
    let usual = FlowSettings::default().tolerances.position.absolute;
    let [
        hard,
        jumping,
        direct,
        bouncy,
        cornered,
        straight,
        narrow,
        poles,
    ] = CONTACTS;
    for (contact, geom) in [
        (jumping, r#"type="sphere" size="0.05""#),
        (direct, r#"type="sphere" size="0.05""#),
        (bouncy, r#"type="capsule" size="0.03 0.05" euler="30 20 0""#),
        (
            jumping,
            r#"type="box" size="0.05 0.05 0.05" euler="30 20 0""#,
        ),
        (hard, r#"type="box" size="0.05 0.05 0.05" euler="60 0 0""#),
        (
            jumping,
            r#"type="cylinder" size="0.04 0.05" euler="70 10 0""#,
        ),
        (
            bouncy,
            r#"type="ellipsoid" size="0.05 0.05 0.1" euler="80 10 0""#,
        ),
        (
            cornered,
            r#"type="ellipsoid" size="0.05 0.05 0.1" euler="80 10 0""#,
        ),
        (
            straight,
            r#"type="ellipsoid" size="0.05 0.05 0.1" euler="60 0 0""#,
        ),
        (narrow, r#"type="box" size="0.05 0.05 0.05" euler="60 0 0""#),
        (poles, r#"type="capsule" size="0.03 0.05" euler="30 20 0""#),
    ] {
        let model = tossed(contact, geom);
        let at = |u0: f64| follow_toss(&model, 1e-10, u0).1.end().qpos[1];
        let difference = |step: f64| (at(-2.0 + step) - at(-2.0 - step)) / (2.0 * step);
        let (coarse, fine) = (difference(2e-4), difference(1e-4));
        let expected = fine + (fine - coarse) / 3.0;
        for (tolerance, allowed) in [(1e-9, 1e-3), (usual, 1e-2)] {
            let (flow, motion) = follow_toss(&model, tolerance, -2.0);
            let found = derivative(&flow, &motion);
            assert!(
                (found - expected).abs() < 1e-6 + allowed * expected.abs(),
                "{geom} {contact} at {tolerance}: {found} instead of {expected}"
            );
        }
    }
}

/// An ellipsoid that rolls onto its long side bounces ever faster; the limit of that is a motion on the floor.
#[test]
fn chattering_contacts_are_held() {
    let model = tossed(
        "",
        r#"type="ellipsoid" size="0.05 0.05 0.1" euler="80 0 0""#,
    );
    let (flow, motion) = follow_toss(&model, 1e-7, -1.2);
    assert!(
        matches!(motion.status(), Status::Held { .. }),
        "{}",
        motion.status()
    );
    assert!(motion.evaluations() < 200_000, "{}", motion.evaluations());
    // When the motion is held moves from bounce to bounce, and with it what the bounces before add to the derivative.
    let at = |u0: f64| follow_toss(&model, 1e-7, u0).1.end().qpos[1];
    let expected = (at(-1.2 + 1e-3) - at(-1.2 - 1e-3)) / 2e-3;
    let found = derivative(&flow, &motion);
    assert!(
        (found - expected).abs() < 0.02 * expected.abs(),
        "{found} instead of {expected}"
    );
}

/// Between its steps a motion is where it is when steps end there.
#[test]
fn states_between_steps_are_on_the_motion() {
    let [hard, ..] = CONTACTS;
    let model = tossed(hard, r#"type="box" size="0.05 0.05 0.05" euler="60 10 0""#);
    for (method, allowed) in [(Method::Tsit5, 1e-7), (Method::Bosh3, 1e-6)] {
        let flow = Flow::new(
            &model,
            FlowSettings {
                method,
                ..settings(1e-8)
            },
        )
        .unwrap();
        let mut start = State::reference(&model);
        (start.qpos[2], start.qvel[1], start.qvel[2]) = (0.2, -0.1, -2.0);
        let motion = flow.run(&start, &Controls::Zero, 0.3, 1);
        let stops = flow.run(&start, &Controls::Zero, 0.01, 30);
        assert!(motion.steps() < stops.steps());
        for expected in stops.states() {
            let found = motion
                .state_at(&flow, expected.time.min(motion.end().time))
                .unwrap();
            for (found, expected) in found.qpos.iter().zip(&expected.qpos) {
                assert!(
                    (found - expected).abs() < allowed,
                    "{found} instead of {expected}"
                );
            }
        }
        for time in [-0.01, 0.31, f64::NAN] {
            assert_eq!(motion.state_at(&flow, time), None);
        }
    }
}

/// Steps end at onsets and kinks, so that a per cent is had for little.
#[test]
fn loose_tolerances_give_a_per_cent() {
    let [hard, ..] = CONTACTS;
    let model = tossed(hard, r#"type="box" size="0.05 0.05 0.05" euler="60 0 0""#);
    let (flow, motion) = follow_toss(&model, 1e-10, -2.0);
    let expected = derivative(&flow, &motion);
    let loose = FlowSettings {
        method: Method::Bosh3,
        ..settings(1e-3)
    };
    let (flow, motion) = follow_toss_with(&model, loose, -2.0);
    let found = derivative(&flow, &motion);
    assert!(
        (found - expected).abs() < 0.01 * expected.abs(),
        "{found} instead of {expected}"
    );
    assert!(motion.evaluations() < 1500, "{}", motion.evaluations());
}

/// A point of a published truth: start velocity, derivative and its error, last state.
struct Point {
    u0: f64,
    derivative: f64,
    error: f64,
    end: Vec<f64>,
}

/// Reads the points of a file of truths by their keys; a JSON parser is not needed for that.
fn read_points(text: &str, shape: &str) -> Vec<Point> {
    let number = |text: &str, key: &str| -> f64 {
        let rest = &text[text.find(key).unwrap() + key.len()..];
        rest[..rest.find([',', '}', '\n']).unwrap()]
            .trim()
            .parse()
            .unwrap()
    };
    let shape = &text[text.find(&format!("\"{shape}\": {{")).unwrap()..];
    let points = &shape[shape.find("\"points\": [").unwrap()..];
    let last = ["\"sweep\"", "\"skipped_u0\"", "\"model\""].map(|key| points.find(key));
    let points = &points[..last.into_iter().flatten().min().unwrap_or(points.len())];
    let parts: Vec<_> = points.split("\"u0\":").collect();
    (parts[1..].iter())
        .map(|part| {
            let end = &part[part.find("\"final_state\": [").unwrap() + 16..];
            let end = end[..end.find(']').unwrap()].split(',');
            Point {
                u0: part[..part.find(',').unwrap()].trim().parse().unwrap(),
                derivative: number(part, "\"dL_du0\":"),
                error: number(part, "\"dL_err_est\":"),
                end: end.map(|number| number.trim().parse().unwrap()).collect(),
            }
        })
        .collect()
}

/// Tosses of five shapes against a truth integrated around another engine's acceleration: every third point.
#[test]
fn shared_tosses_meet_their_truth() {
    for (file, is_default) in [("toss.json", false), ("toss_default_contact.json", true)] {
        let Some(truth) = carom_testing::shared(&format!("bench/ground_truth/{file}")) else {
            continue;
        };
        let text = std::fs::read_to_string(&truth).unwrap();
        for shape in ["ball", "capsule", "cylinder", "ellipsoid", "cube"] {
            let model = format!("models/diffmjx_{shape}/{shape}.xml");
            let Some(path) = carom_testing::shared(&model) else {
                continue;
            };
            let mut model = models::load(&path);
            if is_default {
                model.geoms.solref.fill([0.02, 1.0]);
                model.geoms.solimp.fill([0.9, 0.95, 0.001, 0.5, 2.0]);
            }
            for point in &read_points(&text, shape) {
                // Where the truth does not know its own derivative there is none.
                if point.error > 1e-4 * (1.0 + point.derivative.abs()) {
                    continue;
                }
                check_point(&model, point, &format!("{file} {shape} {}", point.u0));
            }
        }
    }
}

fn check_point(model: &Model, point: &Point, what: &str) {
    let (flow, motion) = follow_toss(model, 1e-9, point.u0);
    let (end, state) = (motion.end(), &point.end);
    let turned = (end.qpos[3] * state[3] + end.qpos[4] * state[4]).signum();
    for (k, &expected) in state.iter().enumerate() {
        let found = match k {
            0..3 => end.qpos[k],
            3..7 => turned * end.qpos[k],
            _ => end.qvel[k - 7],
        };
        let error = (found - expected).abs();
        assert!(error < 1e-6, "{what}: {found} instead of {expected}");
    }
    let usual = follow_toss_with(model, FlowSettings::default(), point.u0);
    for ((flow, motion), allowed) in [((flow, motion), 1e-3), (usual, 1e-2)] {
        let (found, expected) = (derivative(&flow, &motion), point.derivative);
        let error = (found - expected).abs();
        assert!(
            error < allowed * expected.abs() || error < 1e-6,
            "{what}: derivative {found} instead of {expected}, to {allowed}"
        );
    }
}

#[test]
fn all_methods_follow_a_pendulum() {
    let model = models::from_text(
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

/// A cube that lies and rocks: between the ends of a long step fewer of its corners touch than at its end.
#[test]
fn contacts_within_a_step_are_not_those_of_its_end() {
    let model = models::from_text(
        r#"<mujoco><default><geom friction="0.4 0.01 0.1" solref="0.02 1" solimp="0.05 0.95 0.01 0.5 2"/></default>
          <worldbody><geom type="plane" size="1 1 0.1"/>
          <body><freejoint/><geom type="box" size="0.0515 0.0515 0.0515" mass="0.37"/></body></worldbody></mujoco>"#,
    );
    let flow = Flow::new(&model, settings(1e-5)).unwrap();
    let mut start = State::reference(&model);
    (start.qpos).copy_from_slice(&[0.0, 0.0, 0.0517, 0.955, 0.0019, -0.0038, 0.2965]);
    (start.qvel).copy_from_slice(&[0.062, -0.065, -0.03, 0.57, 0.344, 0.0]);
    let motion = flow.run(&start, &Controls::Zero, 1.0 / 148.0, 1);
    assert!(motion.status().is_done(), "{}", motion.status());
    let exact = Flow::new(&model, settings(1e-11)).unwrap();
    let exact = exact.run(&start, &Controls::Zero, 1.0 / 148.0, 1);
    for (found, expected) in motion.end().qpos.iter().zip(&exact.end().qpos) {
        assert!(
            (found - expected).abs() < 1e-5,
            "{found} instead of {expected}"
        );
    }
}

/// The ends of intervals are met, and cost nothing but the steps that end there; new controls are a new start.
#[test]
fn intervals_of_the_same_controls_are_one_motion() {
    let model = models::from_text(
        r#"<mujoco><worldbody><body><joint name="hinge" axis="0 1 0"/><geom size="0.05" pos="0 0 -0.5"/></body></worldbody>
          <actuator><motor joint="hinge"/></actuator></mujoco>"#,
    );
    let flow = Flow::new(&model, settings(1e-6)).unwrap();
    let mut start = State::reference(&model);
    start.qvel[0] = 1.0;
    let run = |controls: &Controls| flow.run(&start, controls, 0.005, 20);
    let same = run(&Controls::Constant(vec![0.1]));
    let again = run(&Controls::PerStep(vec![0.1; 20]));
    let other = run(&Controls::PerStep(
        (0..20).map(|k| 0.1 + 1e-9 * f64::from(k)).collect(),
    ));
    assert_eq!(same, again);
    assert_eq!(same.states().len(), 21);
    assert_eq!((same.steps(), other.steps()), (20, 20));
    // An evaluation of the new start, and one for the length of the first step.
    assert_eq!(other.evaluations() - same.evaluations(), 2 * 19);
    let exact = Flow::new(&model, settings(1e-12)).unwrap();
    let exact = exact.run(&start, &Controls::Constant(vec![0.1]), 0.1, 1);
    for motion in [&same, &other] {
        assert!((motion.end().qpos[0] - exact.end().qpos[0]).abs() < 1e-6);
    }
}
