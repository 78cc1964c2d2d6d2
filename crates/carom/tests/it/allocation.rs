//! Stepping allocates nothing.

use std::fmt::Write as _;

use carom::cotangent::Cotangents;
use carom::linearize::{self, Linearization};
use carom::stages::collision;
use carom::{Data, Input, Model, State, dynamics};

use crate::models;

/// Boxes that fall onto each other: contacts come and go, and islands merge.
fn pile(count: i32, custom: &str) -> Model {
    let mut bodies = String::new();
    for index in 0..count {
        let (layer, place) = (index / 16, index % 16);
        let along = |step: i32| f64::from(step) * 0.12 + f64::from(index % 5) * 0.01;
        let _ = write!(
            bodies,
            r#"<body pos="{} {} {}" euler="{} 0 {}"><freejoint/><geom type="box" size=".05 .04 .06"/></body>"#,
            along(place / 4),
            along(place % 4),
            0.1 + 0.15 * f64::from(layer),
            index * 7,
            index * 11
        );
    }
    models::from_text(&format!(
        r#"<mujoco><worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody>{custom}</mujoco>"#
    ))
}

/// Runs 200 steps twice and counts in the second run; the greatest number of contacts.
#[track_caller]
fn assert_warm_steps_allocate_nothing(model: &Model) -> usize {
    let start = State::reference(model);
    let mut state = start.clone();
    let input = Input::zeros(model);
    let mut data = Data::new(model);
    let mut contacts = 0;
    let mut run = || {
        state.copy_from(&start);
        for _ in 0..200 {
            carom::step(model, &mut state, &input, &mut data);
            contacts = contacts.max(data.collision.contacts.len());
        }
    };
    run();
    let counted = allocation_counter::measure(&mut run);
    assert_eq!(counted.count_total, 0);
    contacts
}

#[test]
fn a_falling_pile_allocates_nothing_once_warm() {
    let contacts = assert_warm_steps_allocate_nothing(&pile(48, ""));
    assert!(contacts > 100, "{contacts}");
}

#[test]
fn other_contact_laws_allocate_nothing_once_warm() {
    for law in ["complementarity", "hunt_crossley"] {
        let custom = format!(r#"<custom><text name="carom/contact" data="law={law}"/></custom>"#);
        let contacts = assert_warm_steps_allocate_nothing(&pile(6, &custom));
        assert!(contacts > 6, "{law}: {contacts}");
    }
}

#[test]
fn impacts_allocate_nothing_once_warm() {
    let body = |x: f64, geom: &str| {
        format!(
            r#"<body pos="{x} 0 0.3" euler="10 20 30"><freejoint/><geom {geom} condim="1"/></body>"#
        )
    };
    let bodies = [
        body(0.0, r#"type="box" size=".05 .04 .06""#),
        body(0.15, r#"size="0.05""#),
        body(0.3, r#"type="capsule" size="0.04 0.05""#),
    ];
    let model = models::from_text(&format!(
        r#"<mujoco><worldbody><geom type="plane" size="5 5 1" condim="1"/>{}</worldbody>
          <custom><text name="carom/contact" data="law=impulse"/></custom></mujoco>"#,
        bodies.concat()
    ));
    assert_warm_steps_allocate_nothing(&model);
}

/// A chain that swings under networks on its joints, drag on its bodies and a learned motor.
#[test]
fn learned_terms_allocate_nothing_once_warm() {
    let text = r#"<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
        <body name="b" pos=".6 0 0"><joint name="k" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></body></worldbody>
      <actuator><motor name="m" joint="k"/></actuator><custom>
      <text name="carom/learned/friction" data="target=joint.*.force; inputs=position velocity; form=mlp; hidden=16 16"/>
      <text name="carom/learned/drag" data="target=body.*.force; inputs=linear_velocity; form=drag"/>
      <text name="carom/learned/motor" data="target=actuator.m.force; inputs=velocity control; form=polynomial; degree=2"/>
      </custom></mujoco>"#;
    let mut model = models::from_text(text);
    assert_eq!(model.counts().nlearned, 3);
    model.learned.weight.fill(0.1);
    assert_warm_steps_allocate_nothing(&model);
}

#[test]
fn stepping_allocates_nothing_once_warm() {
    for path in models::shipped().into_iter().chain(models::shared()) {
        let model = models::load(&path);
        let start = State::keyframe(&model, 0).unwrap_or_else(|| State::reference(&model));
        let mut state = start.clone();
        let mut input = Input::zeros(&model);
        let mut data = Data::new(&model);
        let mut run = || {
            state.copy_from(&start);
            for step in 0..40 {
                input.ctrl.fill((f64::from(step) * 0.1).sin() * 0.1);
                carom::step(&model, &mut state, &input, &mut data);
            }
        };
        // Lists of contacts and constraints grow to their size in the first run.
        run();
        let counted = allocation_counter::measure(run);
        assert_eq!(counted.count_total, 0, "{} allocates", path.display());
    }
}

#[test]
fn contacts_are_differentiated_without_allocation() {
    for path in models::shipped().into_iter().chain(models::shared()) {
        let model = models::load(&path);
        let (mut state, input) = (State::reference(&model), Input::zeros(&model));
        let (mut data, mut bar) = (Data::new(&model), Cotangents::zeros(&model));
        for _ in 0..40 {
            carom::step(&model, &mut state, &input, &mut data);
        }
        bar.data.start(&data);
        for contact in &mut bar.data.contacts {
            *contact = contact.map(|_| 1.0);
        }
        let at = dynamics::At {
            model: &model,
            state: &state,
            input: &input,
            data: &data,
        };
        let mut run = || collision::backward(at, &mut bar);
        // The two polygons of the clipper change places, so that both have grown only after some runs.
        for _ in 0..3 {
            run();
        }
        let counted = allocation_counter::measure(run);
        assert_eq!(counted.count_total, 0, "{} allocates", path.display());
    }
}

#[test]
fn linearisation_allocates_nothing_once_warm() {
    let shipped = models::shipped()
        .into_iter()
        .map(|path| models::load(&path));
    for model in shipped.chain([pile(6, "")]) {
        let start = State::reference(&model);
        let mut state = start.clone();
        let input = Input::zeros(&model);
        let (mut data, mut out) = (Data::new(&model), Linearization::new(&model));
        let mut run = || {
            state.copy_from(&start);
            for step in 0..60 {
                if step % 20 == 0 {
                    dynamics::forward(&model, &state, &input, &mut data);
                    linearize::step(&model, &state, &input, &mut data, &mut out);
                }
                carom::step(&model, &mut state, &input, &mut data);
            }
        };
        run();
        let counted = allocation_counter::measure(&mut run);
        assert_eq!(counted.count_total, 0);
    }
}
