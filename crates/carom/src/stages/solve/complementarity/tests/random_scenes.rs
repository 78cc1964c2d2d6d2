//! Heaps of bodies of all shapes, drawn by proptest: one step must satisfy every condition.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{SolveStatus, violation};
use crate::data::Data;
use crate::dynamics;
use crate::state::{Input, State};
use crate::testing::{Constrained, model_from_mjcf};

/// One body of a heap.
#[derive(Clone, Debug)]
struct Body {
    shape: usize,
    place: [f64; 3],
    turn: [f64; 3],
    velocity: [f64; 6],
    condim: u8,
    friction: f64,
    mass: f64,
}

/// Bodies near each other and the plane; a third of them lie flat.
fn body() -> impl Strategy<Value = Body> {
    (
        0..5_usize,
        prop::array::uniform3(-1.0..1.0),
        prop_oneof![
            Just([0.0; 3]),
            prop::array::uniform3(-3.0..3.0),
            prop::array::uniform3(-3.0..3.0)
        ],
        prop::array::uniform6(-1.0..1.0),
        prop_oneof![Just(1_u8), Just(3), Just(4), Just(6)],
        0.05..1.5,
        -1.0..1.0,
    )
        .prop_map(
            |(shape, place, turn, velocity, condim, friction, exponent)| Body {
                shape,
                place,
                turn,
                velocity,
                condim,
                friction,
                mass: 10_f64.powf(exponent),
            },
        )
}

fn heap(bodies: &[Body], mixing: f64, restitution: f64) -> Constrained {
    let mut text = String::new();
    for body in bodies {
        let (kind, size) = [
            ("sphere", "0.08"),
            ("capsule", "0.05 0.08"),
            ("box", "0.06 0.08 0.05"),
            ("cylinder", "0.07 0.05"),
            ("ellipsoid", "0.06 0.08 0.05"),
        ][body.shape];
        let ([x, y, z], [a, b, c]) = (body.place, body.turn);
        let _ = write!(
            text,
            r#"<body pos="{} {} {}" euler="{a} {b} {c}"><freejoint/><geom type="{kind}" size="{size}"
              condim="{}" friction="{} 0.01 0.002" mass="{}"/></body>"#,
            0.25 * x,
            0.25 * y,
            0.05 + 0.06 * (z + 1.0),
            body.condim,
            body.friction,
            body.mass
        );
    }
    let model = model_from_mjcf(&format!(
        r#"<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="2 2 1"/>{text}</worldbody>
          <custom><text name="carom/contact" data="law=complementarity; mixing={mixing}; restitution={restitution}"/>
          </custom></mujoco>"#
    ));
    let mut state = State::reference(&model);
    for (velocity, body) in state.qvel.chunks_exact_mut(6).zip(bodies) {
        velocity.copy_from_slice(&body.velocity);
    }
    Constrained {
        input: Input::zeros(&model),
        state,
        contacts: Vec::new(),
        model,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        max_global_rejects: 20_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn impulses_of_heaps_complement_velocities(
        bodies in prop::collection::vec(body(), 1..8),
        mixing in prop_oneof![Just(1e-6), Just(1e-4), Just(1e-2)],
        restitution in 0.0..0.9,
    ) {
        let scene = heap(&bodies, mixing, restitution);
        let mut data = Data::new(&scene.model);
        dynamics::forward(&scene.model, &scene.state, &scene.input, &mut data);
        // Bodies deep inside each other may ask for speeds that no impulse can give all contacts at once.
        let contacts = &data.collision.contacts;
        prop_assume!(contacts.iter().all(|contact| contact.geoms[0] == 0 || contact.distance > -5e-3));
        let report = &data.solve.report;
        prop_assert_eq!(report.status, SolveStatus::Converged, "{:?}", report);
        let worst = violation(&scene, &data);
        prop_assert!(worst < 1e-8, "{:e}", worst);
    }
}
