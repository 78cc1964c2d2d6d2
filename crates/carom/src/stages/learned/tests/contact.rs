//! Terms that act on contacts: derivatives under every law, and forces that are known in other ways.

use carom_spec::model_spec::{ActivationKind, FormKind, LearnedTermSpec, TermMode};

use super::{mlp, polynomial};
use crate::data::Data;
use crate::dynamics;
use crate::integrate;
use crate::model::Model;
use crate::state::{Input, State};
use crate::testing::stage_check::{Point, random_point};
use crate::testing::{Random, assert_close, learned_term, model_with_terms, step_check};

/// Bodies of several shapes on a table that slides and on each other, under a law. Laws of forces know sliding alone.
fn scene(option: &str, law: &str, has_all_frictions: bool) -> String {
    let text = r#"<mujoco><option OPTION/><worldbody>
      <body pos="0 0 -1"><joint name="table" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/>
        <geom name="table" type="box" size="2 2 1" friction="0.7 0.02 0.01" euler="0 0 40"/></body>
      <body name="ball" pos="0 0 0.097"><freejoint/><geom name="ball" size="0.1" friction="0.8 0.03 0.02" condim="6"/></body>
      <body pos="0.17 0.02 0.1"><joint axis="0 1 0" pos="0 0 0.3"/><joint type="slide" axis="0 0 1"/>
        <geom name="rod" type="capsule" size="0.08 0.1" quat="1 0.1 1 0" friction="0.9"/></body>
      <body pos="1 0 .018"><freejoint/><geom name="slab" size=".02" condim="4"/><geom size=".02" pos=".1 0 0"/>
        <geom size=".02" pos="0 1 0"/></body></worldbody>
      <custom>LAW</custom></mujoco>"#;
    let text = text.replace("OPTION", option).replace("LAW", law);
    if has_all_frictions {
        return text;
    }
    let text = text.replace(r#"condim="6""#, r#"condim="3""#);
    text.replace(r#"condim="4""#, r#"condim="3""#)
}

/// Terms that read every number of a contact and others, and change every number.
fn terms() -> Vec<LearnedTermSpec> {
    let tanh = ActivationKind::Tanh;
    let multiplying = |name: &str, target: &str, inputs: &[&str], form: FormKind| {
        let mut term = learned_term(name, &[target], inputs, form);
        term.mode = TermMode::Multiply;
        term.form.bound = Some(0.4);
        term
    };
    let all = [
        "place",
        "world_place",
        "normal",
        "world_normal",
        "depth",
        "slip",
        "world_slip",
        "slip_speed",
        "normal_speed",
    ];
    let around = [
        "slip_speed",
        "joint.table.velocity",
        "joint.table.bias_force",
        "joint.table.passive_force",
        "body.ball.linear_velocity",
        "body.ball.up",
        "time",
    ];
    vec![
        multiplying("field", "geom.table.friction", &all, mlp(&[4], tanh)),
        // A second one for most contacts of the first, and for others.
        multiplying(
            "dry",
            "geom.*.friction",
            &["slip_speed", "depth"],
            mlp(&[3], tanh),
        ),
        learned_term("more", &["geom.b*.friction"], &around, polynomial(1, false)),
        multiplying(
            "turning",
            "geom.slab.torsional_friction",
            &["place.x", "slip_speed"],
            mlp(&[3], tanh),
        ),
        multiplying(
            "rolling",
            "geom.ball.rolling_friction",
            &["slip.y", "normal_speed"],
            mlp(&[3], tanh),
        ),
        multiplying(
            "soft",
            "geom.table.solref",
            &["place", "depth"],
            mlp(&[3], tanh),
        ),
    ]
}

const LAWS: [&str; 4] = [
    "",
    r#"<text name="carom/contact" data="law=hunt_crossley; stiffness=3e3; exponent=1.4; dissipation=0.3;
       static_ratio=1.2; viscous=0.1; transition_speed=0.3"/>"#,
    r#"<text name="carom/contact" data="law=kelvin_voigt"/>"#,
    r#"<text name="carom/contact" data="law=complementarity"/>"#,
];

/// Touching bodies that move.
fn touching(text: &str, seed: u64) -> Point {
    let model = model_with_terms(text, terms());
    let mut point = random_point(model, seed);
    point.state = State::reference(&point.model);
    point.state.qvel = Random::new(seed).vector(point.model.counts().nv);
    point.state.time = 0.3;
    dynamics::forward_and_sense(&point.model, &point.state, &point.input, &mut point.data);
    assert!(point.data.collision.contacts.len() > 4);
    point
}

#[test]
fn steps_have_the_adjoint_of_steps_under_every_law() {
    for law in LAWS {
        for option in [
            r#"cone="elliptic""#,
            r#"cone="pyramidal" integrator="implicitfast""#,
            r#"cone="elliptic" integrator="RK4""#,
        ] {
            // Impulses are those of a whole step.
            if law.contains("complementarity") && option.contains("integrator") {
                continue;
            }
            println!("{option} {law}");
            step_check::check(&touching(&scene(option, law, false), 2));
        }
    }
}

/// With torsional and rolling friction, of dual numbers; differences end at the accuracy of the solver there.
#[test]
fn all_frictions_have_the_adjoint_of_dual_numbers() {
    let point = touching(&scene(r#"cone="elliptic""#, "", true), 2);
    if let Err(why) = step_check::examine(&point) {
        assert!(!why.contains("duals"), "{why}");
    }
}

/// What is changed follows from what the model mixes: doing it again is doing it once.
#[test]
fn contacts_are_changed_once() {
    let mut point = touching(&scene("", "", true), 1);
    let once = point.data.collision.contacts.clone();
    dynamics::forward_velocity(&point.model, &point.state, &mut point.data);
    assert_eq!(point.data.collision.contacts, once);
    let mut plain = Data::new(&point.model);
    dynamics::forward_position(&point.model, &point.state, &mut plain);
    let changed = once.iter().zip(&plain.collision.contacts);
    assert!(changed.clone().all(|(a, b)| a.friction != b.friction));
    assert!(changed.clone().any(|(a, b)| a.solref != b.solref));
}

/// The states of some steps, as bits.
fn motion(model: &Model) -> Vec<u64> {
    let mut state = State::reference(model);
    state
        .qvel
        .copy_from_slice(&Random::new(3).vector(model.counts().nv));
    let (input, mut data) = (Input::zeros(model), Data::new(model));
    let mut bits = Vec::new();
    for _ in 0..60 {
        integrate::step(model, &mut state, &input, &mut data);
        bits.extend(state.qpos.iter().chain(&state.qvel).map(|x| x.to_bits()));
    }
    bits
}

#[test]
fn untrained_terms_on_contacts_change_no_bit() {
    for law in LAWS {
        let plain = model_with_terms(&scene("", law, false), Vec::new());
        let mut model = model_with_terms(&scene("", law, false), terms());
        model.learned.weight = model.recipe().unwrap().given.model.learned.weight.clone();
        assert!(motion(&model) == motion(&plain), "{law}");
    }
}

/// A box that slides over a surface comes to rest where a friction μ(x) = μ₀·(1 + c·x) puts it: from ẍ = −g·μ(x),
/// v² = 2·g·μ₀·(x + c·x²/2).
#[test]
fn a_box_stops_where_the_friction_field_puts_it() {
    let (friction, slope, speed) = (0.3, 1.5, 1.2_f64);
    for law in ["", LAWS[3]] {
        let text = format!(
            r#"<mujoco><option timestep=".0005" cone="elliptic" impratio="50"/><worldbody>
              <geom name="table" type="plane" size="5 5 1" friction="{friction}" pos="-.4 0 0"/>
              <body pos="0 0 .02"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
                <geom type="box" size=".001 .001 .02" friction="{friction}"/></body></worldbody>
              <custom>{law}</custom></mujoco>"#
        );
        let mut term = learned_term(
            "field",
            &["geom.table.friction"],
            &["place.x"],
            polynomial(1, false),
        );
        term.mode = TermMode::Multiply;
        // The place is in the frame of the table, which lies 0.4 m behind the start.
        term.weights = vec![slope, -0.4 * slope];
        let mut model = model_with_terms(&text, vec![term.clone()]);
        model.learned.weight.copy_from_slice(&term.weights);
        let mut state = State::reference(&model);
        state.qvel[0] = speed;
        let (input, mut data) = (Input::zeros(&model), Data::new(&model));
        while state.time < 1.5 {
            integrate::step(&model, &mut state, &input, &mut data);
        }
        let needed = speed * speed / (2.0 * 9.81 * friction);
        let expected = ((1.0 + 2.0 * slope * needed).sqrt() - 1.0) / slope;
        assert_close("place of rest", &[state.qpos[0] / expected], &[1.0], 5e-3);
    }
}

/// Reports say when inputs leave the range of training, of contacts and of others.
#[test]
fn steps_outside_of_the_range_are_reported() {
    let mut field = learned_term(
        "field",
        &["geom.table.friction"],
        &["slip_speed"],
        polynomial(1, false),
    );
    let mut damper = learned_term(
        "damper",
        &["joint.table.force"],
        &["velocity", "position"],
        polynomial(1, false),
    );
    let extrapolates = |terms: &[&LearnedTermSpec], velocity: f64| {
        let terms = terms.iter().map(|term| (*term).clone()).collect();
        let model = model_with_terms(&scene("", "", true), terms);
        let mut state = State::reference(&model);
        state.qvel[0] = velocity;
        let mut data = Data::new(&model);
        integrate::step(&model, &mut state, &Input::zeros(&model), &mut data).extrapolates
    };
    assert!(!extrapolates(&[&field, &damper], 2.0));
    field.range = vec![[0.0, 1.0]];
    assert!(extrapolates(&[&field, &damper], 2.0) && !extrapolates(&[&field], 0.5));
    damper.range = vec![[-1.0, 1.5], [-0.1, 0.1]];
    field.range = Vec::new();
    assert!(extrapolates(&[&field, &damper], 2.0) && !extrapolates(&[&damper], 1.2));
}
