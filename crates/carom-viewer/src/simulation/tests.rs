use carom::math::Vec3;
use carom_testing::mutation::{Campaign, mutate};

use super::*;
use crate::testing::{ball_and_pendulum, model, numbers, time};

fn started(model: Arc<Model>) -> Simulation {
    let start = Start::reference(&model);
    Simulation::new(model, start)
}

fn body_position(simulation: &mut Simulation, body: usize) -> Vec3 {
    let frame = simulation.frame().unwrap();
    let pose = &numbers(&frame)[7 * body..];
    Vec3([pose[0], pose[1], pose[2]].map(f64::from))
}

/// The ball is held at rest 0.3 m beside its target; the spring pulls it there, critically damped: it comes near and
/// does not swing over, but for the sag m·g/(m·ω²) = g/625 under its weight.
#[test]
fn a_dragged_body_follows_without_swinging() {
    let mut simulation = started(ball_and_pendulum());
    let drag = Message::Drag {
        body: 1,
        point: Vec3::ZERO,
        target: Vec3([0.3, 0.0, 0.0]),
    };
    simulation.apply(&drag).unwrap();
    let mut farthest = 0.0_f64;
    for _ in 0..1000 {
        simulation.step();
        farthest = farthest.max(simulation.state.qpos[0]);
    }
    let end = body_position(&mut simulation, 1);
    assert!((end[0] - 0.3).abs() < 1e-3, "{end:?}");
    assert!((end[2] + 9.81 / (25.0 * 25.0)).abs() < 1e-3, "{end:?}");
    assert!(farthest < 0.3 + 1e-6, "{farthest}");

    simulation.apply(&Message::Release).unwrap();
    for _ in 0..100 {
        simulation.step();
    }
    let fallen = body_position(&mut simulation, 1);
    let expected = end[2] - 0.5 * 9.81 * 0.04;
    assert!((fallen[2] - expected).abs() < 5e-3, "{fallen:?}");
}

/// A point of a hinged body feels one direction: the spring's rate is the same there.
#[test]
fn dragging_a_hinged_body_is_critically_damped_too() {
    let mut simulation = started(ball_and_pendulum());
    let drag = Message::Drag {
        body: 2,
        point: Vec3([0.0, 0.0, -0.5]),
        target: Vec3([1.1, 0.0, -0.49]),
    };
    simulation.apply(&drag).unwrap();
    let mut farthest = 0.0_f64;
    for _ in 0..1500 {
        simulation.step();
        farthest = farthest.max(simulation.state.qpos[7].abs());
    }
    let angle = simulation.state.qpos[7].abs();
    assert!(angle > 0.1 && angle < 0.21, "{angle}");
    assert!(farthest < angle + 1e-3, "{farthest} {angle}");
}

#[test]
fn a_dragged_mocap_body_goes_where_the_hand_is() {
    let mut simulation = started(model(
        r#"<mujoco><worldbody><body mocap="true" pos="0 0 1"><geom size="0.1"/></body></worldbody></mujoco>"#,
    ));
    let drag = Message::Drag {
        body: 1,
        point: Vec3([0.1, 0.0, 0.0]),
        target: Vec3([1.0, 2.0, 3.0]),
    };
    simulation.apply(&drag).unwrap();
    simulation.step();
    let place = body_position(&mut simulation, 1);
    assert!((place - Vec3([0.9, 2.0, 3.0])).norm() < 1e-6, "{place:?}");
}

/// An arm of two hinges, 0.5 m each, the second within ±1.2, a ball on it that turns, and a box that is free.
const STILL: &str = r#"<mujoco><compiler angle="radian"/><worldbody>
    <body pos="0 0 1"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/>
      <body pos="0.5 0 0"><joint type="hinge" axis="0 1 0" range="-1.2 1.2"/><geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/>
        <body pos="0.5 0 0"><joint type="ball"/><geom size="0.05"/></body></body></body>
    <body pos="0 2 1"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    </worldbody></mujoco>"#;

fn dragged_while_still(body: usize, point: Vec3, target: Vec3) -> Simulation {
    let mut simulation = started(model(STILL));
    simulation.state.qvel.fill(1.0);
    let drag = Message::Drag {
        body,
        point,
        target,
    };
    simulation.apply(&drag).unwrap();
    simulation.follow_hand();
    simulation
}

#[test]
fn while_time_stands_still_a_free_body_is_moved_and_not_turned() {
    let (point, target) = (Vec3([0.1, 0.05, 0.1]), Vec3([1.0, 1.5, 0.3]));
    let mut simulation = dragged_while_still(4, point, target);
    let place = body_position(&mut simulation, 4);
    assert!((place - (target - point)).norm() < 1e-6, "{place:?}");
    assert_eq!(simulation.state.qpos[9..], [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(simulation.state.qvel[..5], [1.0; 5]);
    assert_eq!(simulation.state.qvel[5..], [0.0; 6]);
    assert_eq!(simulation.state.time, 0.0);
}

#[test]
fn while_time_stands_still_an_arm_reaches_as_far_as_its_joints_let_it() {
    let target = Vec3([0.3, 0.0, 1.8]);
    let mut simulation = dragged_while_still(3, Vec3::ZERO, target);
    let place = body_position(&mut simulation, 3);
    assert!((place - target).norm() < 1e-6, "{place:?}");
    assert_eq!(simulation.state.qvel[..5], [0.0; 5]);
    // The stretched arm has no way inwards: it stays, and moves when the hand leaves the line.
    let mut simulation = dragged_while_still(3, Vec3::ZERO, Vec3([0.95, 0.0, 1.0]));
    let place = body_position(&mut simulation, 3);
    assert!((place - Vec3([1.0, 0.0, 1.0])).norm() < 1e-6, "{place:?}");
    // Beyond reach it is stretched, and too near bent to the limit, towards the hand in both.
    let mut simulation = dragged_while_still(3, Vec3::ZERO, Vec3([0.0, 0.5, 3.0]));
    let place = body_position(&mut simulation, 3);
    assert!((place - Vec3([0.0, 0.0, 2.0])).norm() < 1e-3, "{place:?}");
    let mut simulation = dragged_while_still(3, Vec3::ZERO, Vec3([0.3, 0.0, 1.6]));
    assert_eq!(simulation.state.qpos[1].abs(), 1.2);
    let reach = (0.5 + 0.5 * 1.2_f64.cos()).sqrt();
    let nearest = Vec3([0.3, 0.0, 0.6]).normalized().0 * reach + Vec3([0.0, 0.0, 1.0]);
    let place = body_position(&mut simulation, 3);
    assert!((place - nearest).norm() < 1e-3, "{place:?}");
}

#[test]
fn the_world_cannot_be_dragged() {
    let mut simulation = started(ball_and_pendulum());
    let drag = Message::Drag {
        body: 0,
        point: Vec3::ZERO,
        target: Vec3([1.0, 0.0, 0.0]),
    };
    simulation.apply(&drag).unwrap();
    simulation.step();
    assert_eq!(simulation.error(), None);
    assert_eq!(body_position(&mut simulation, 0), Vec3::ZERO);
}

#[test]
fn sliders_keyframes_and_reset() {
    let mut simulation = started(ball_and_pendulum());
    let control = Message::Control {
        index: 0,
        value: 0.5,
    };
    simulation.apply(&control).unwrap();
    assert_eq!(simulation.input.ctrl, [0.5]);
    let joint = Message::Qpos {
        index: 7,
        value: 0.4,
    };
    simulation.state.qvel[6] = 3.0;
    simulation.apply(&joint).unwrap();
    assert_eq!(
        (simulation.state.qpos[7], simulation.state.qvel[6]),
        (0.4, 0.0)
    );
    simulation.apply(&Message::Keyframe(0)).unwrap();
    assert_eq!(simulation.state.qpos[7], 3.1);
    assert_eq!(simulation.input.ctrl, [0.25]);
    simulation.step();
    simulation.apply(&Message::Reset).unwrap();
    let frame = simulation.frame().unwrap();
    assert_eq!((time(&frame), simulation.state.qpos[7]), (0.0, 0.0));
    assert_eq!(simulation.input.ctrl, [0.0]);
}

#[test]
fn refusals_say_why() {
    let mut simulation = started(ball_and_pendulum());
    let examples = [
        (
            Message::Keyframe(3),
            "there is no keyframe 3; the model has 1",
        ),
        (
            Message::Control {
                index: 9,
                value: 0.0,
            },
            "there is no control 9; the model has 1",
        ),
        (
            Message::Qpos {
                index: 3,
                value: 0.0,
            },
            "coordinate 3 is not that of a hinge or slide, so it cannot be set alone",
        ),
        (
            Message::Drag {
                body: 77,
                point: Vec3::ZERO,
                target: Vec3::ZERO,
            },
            "there is no body 77; the model has 3",
        ),
    ];
    for (message, expected) in examples {
        assert_eq!(simulation.apply(&message), Err(expected.to_owned()));
    }
}

#[test]
fn numbers_that_are_not_finite_stop_it_until_it_is_reset() {
    let mut simulation = started(ball_and_pendulum());
    // The square of this is not finite.
    simulation.state.qvel[6] = 1e200;
    simulation.step();
    let error = simulation.error().unwrap().to_owned();
    assert!(error.contains("reset"), "{error}");
    assert!(simulation.frame().is_none());
    let joint = Message::Qpos {
        index: 7,
        value: 0.0,
    };
    assert!(simulation.apply(&joint).is_err());
    simulation.apply(&Message::Reset).unwrap();
    simulation.step();
    assert_eq!(simulation.error(), None);
    assert!(simulation.frame().is_some());
}

/// Whatever a page sends, the simulation goes on with finite numbers, or stops and says why.
#[test]
fn damaged_messages_are_refused_in_good_order() {
    let originals = [
        r#"{"type":"step","count":5}"#,
        r#"{"type":"keyframe","index":2}"#,
        r#"{"type":"speed","value":0.5}"#,
        r#"{"type":"control","index":1,"value":-2}"#,
        r#"{"type":"qpos","index":7,"value":0.5}"#,
        r#"{"type":"drag","body":2,"point":[0,0,-0.5],"target":[1.1,0,-0.49]}"#,
        r#"{"type":"release"}"#,
        r#"{"type":"shown","frame":17}"#,
    ];
    let mut simulation = started(ball_and_pendulum());
    let campaign = Campaign {
        count: 100_000,
        seconds: 1,
    };
    campaign.run(|random| {
        let mut bytes = random.pick(&originals).as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            mutate(&mut bytes, random);
        }
        let message = String::from_utf8_lossy(&bytes).into_owned();
        if let Ok(message) = Message::parse(&message) {
            // A refusal is an answer too.
            let _ = simulation.apply(&message);
        }
        simulation.step();
        let mut numbers = simulation.state.qpos.iter().chain(&simulation.state.qvel);
        if simulation.error().is_some() {
            simulation.apply(&Message::Reset)
        } else if numbers.all(|number| number.is_finite()) {
            Ok(())
        } else {
            Err(format!("{message}: not finite, and no word"))
        }
    });
}
