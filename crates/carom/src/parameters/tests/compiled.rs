//! Applying parameters is compiling the changed file.

use super::{RICH, SELECTORS, numbers, parameters};
use crate::model::Model;
use crate::testing::model_from_mjcf;

/// Checks that two models have the same numbers up to rounding.
fn assert_same(found: &Model, expected: &Model, about: &str) {
    assert_eq!(found.structure, expected.structure, "{about}");
    for ((name, found), (_, expected)) in numbers(found).into_iter().zip(numbers(expected)) {
        let error = (found - expected).abs();
        let is_same = found.to_bits() == expected.to_bits();
        assert!(
            is_same || error <= 1e-11 * expected.abs().max(1e-3),
            "{about}, {name}: {found} for {expected}"
        );
    }
}

/// Changes one attribute of [`RICH`] in the file and by a parameter.
fn check(selector: &str, values: &[f64], from: &str, to: &str) {
    assert_eq!(RICH.matches(from).count(), 1, "{from}");
    let expected = model_from_mjcf(&RICH.replace(from, to));
    let parameters = parameters(RICH, &[selector]);
    let names: Vec<String> = parameters.names().map(str::to_owned).collect();
    assert_eq!(names.len(), values.len(), "{names:?}");
    let mut theta = parameters.theta0().to_vec();
    for (name, &value) in names.iter().zip(values) {
        parameters.set(&mut theta, name, value).unwrap();
    }
    let found = parameters.apply(&theta).unwrap();
    assert_same(&found, &expected, selector);
}

#[test]
fn changed_attributes_give_the_model_of_the_changed_file() {
    check(
        "geom.hull.size log",
        &[0.12, 0.14, 0.23],
        r#"size="0.1 0.15 0.2""#,
        r#"size="0.12 0.14 0.23""#,
    );
    check(
        "geom.nose.size",
        &[0.05, 0.12],
        r#"size="0.04 0.1""#,
        r#"size="0.05 0.12""#,
    );
    check("geom.nose.mass", &[0.7], r#"mass="0.3""#, r#"mass="0.7""#);
    check(
        "geom.hull.density",
        &[900.0],
        r#"density="700""#,
        r#"density="900""#,
    );
    check(
        "geom.hull.pos",
        &[0.03, 0.01, 0.05],
        r#"pos="0.01 0.02 0""#,
        r#"pos="0.03 0.01 0.05""#,
    );
    check(
        "geom.shin.size",
        &[0.05, 0.2],
        r#"size="0.03 0.1""#,
        r#"size="0.05 0.2""#,
    );
    check(
        "geom.ball.size",
        &[0.06],
        r#"type="sphere" size="0.03""#,
        r#"type="sphere" size="0.06""#,
    );
    check(
        "geom.egg.size",
        &[0.04, 0.08, 0.06],
        r#"size="0.05 0.06 0.07""#,
        r#"size="0.04 0.08 0.06""#,
    );
    check(
        "geom.sole.pos",
        &[0.03, 0.1, 0.2],
        r#"pos="0.01 0 0" euler="0 20 10""#,
        r#"pos="0.03 0.1 0.2" euler="0 20 10""#,
    );
    check(
        "body.thigh.pos",
        &[0.1, 0.2, -0.3],
        r#"pos="0 0.15 -0.15""#,
        r#"pos="0.1 0.2 -0.3""#,
    );
    check(
        "body.trunk.pos",
        &[0.1, 0.2, 0.7],
        r#"pos="0 0 0.6""#,
        r#"pos="0.1 0.2 0.7""#,
    );
    check(
        "body.thigh.mass",
        &[1.1],
        r#"mass="0.8" fullinertia="0.01 0.012 0.004 0.0005 0.0003 -0.0002""#,
        r#"mass="1.1" fullinertia="0.01375 0.0165 0.0055 0.0006875 0.0004125 -0.000275""#,
    );
    check(
        "body.thigh.mass_only",
        &[1.1],
        r#"mass="0.8""#,
        r#"mass="1.1""#,
    );
    check(
        "body.thigh.ipos",
        &[0.02, 0.01, -0.2],
        r#"pos="0.01 0 -0.1""#,
        r#"pos="0.02 0.01 -0.2""#,
    );
    check(
        "joint.knee.axis",
        &[0.6, 0.0, 0.8],
        r#"axis="0 1 0.2""#,
        r#"axis="0.6 0 0.8""#,
    );
    check(
        "joint.knee.armature",
        &[0.05],
        r#"armature="0.01""#,
        r#"armature="0.05""#,
    );
    check(
        "joint.ankle.springdamper",
        &[0.3, 0.5],
        r#"springdamper="0.2 0.9""#,
        r#"springdamper="0.3 0.5""#,
    );
    check(
        "joint.knee.damping[0]",
        &[0.6],
        r#"damping="0.3""#,
        r#"damping="0.6""#,
    );
    check(
        "site.hook.pos",
        &[0.1, 0.2, 0.3],
        r#"pos="0 0 0.1""#,
        r#"pos="0.1 0.2 0.3""#,
    );
    check(
        "equality.tie.anchor",
        &[0.3, 0.2, 0.1],
        r#"anchor="0.1 0 0.2""#,
        r#"anchor="0.3 0.2 0.1""#,
    );
    check("actuator.servo.kp", &[33.0], r#"kp="20""#, r#"kp="33""#);
    check(
        "actuator.servo.dampratio",
        &[0.4],
        r#"dampratio="0.7""#,
        r#"dampratio="0.4""#,
    );
    check(
        "actuator.servo.gear",
        &[0.8],
        r#"gear="1.5""#,
        r#"gear="0.8""#,
    );
    check(
        "actuator.servo.damping[0]",
        &[0.07],
        r#"damping="0.02""#,
        r#"damping="0.07""#,
    );
    check(
        "actuator.servo.armature",
        &[0.01],
        r#"armature="0.003""#,
        r#"armature="0.01""#,
    );
    check(
        "tendon.sum.armature",
        &[0.05],
        r#"armature="0.02""#,
        r#"armature="0.05""#,
    );
    check(
        "tendon.sum.coef",
        &[0.9, 0.3],
        r#"coef="0.7"/><joint joint="ankle" coef="-0.4""#,
        r#"coef="0.9"/><joint joint="ankle" coef="0.3""#,
    );
    check(
        "option.gravity",
        &[1.0, 2.0, -3.0],
        r#"wind="0.5 0.1 0""#,
        r#"wind="0.5 0.1 0" gravity="1 2 -3""#,
    );
}

#[test]
fn aligned_bodies_follow_their_inertia() {
    let text = |size: f64| {
        format!(
            r#"<mujoco><compiler alignfree="true"/><worldbody><body pos="0 0 1" euler="10 0 0"><freejoint/>
            <geom name="a" type="box" size="0.1 0.2 0.3"/><geom name="b" type="sphere" size="{size}" pos="0.3 0.1 0"/>
            <site name="s" pos="0.1 0 0"/></body></worldbody><keyframe><key/></keyframe></mujoco>"#
        )
    };
    let parameters = parameters(&text(0.1), &["geom.b.size"]);
    let found = parameters.apply(&[0.15]).unwrap();
    assert_same(&found, &model_from_mjcf(&text(0.15)), "aligned");
}

#[test]
fn the_start_gives_the_model_itself() {
    let model = model_from_mjcf(RICH);
    for selector in SELECTORS {
        let parameters = parameters(RICH, &[selector]);
        let found = parameters.apply(parameters.theta0()).unwrap();
        for ((name, found), (_, expected)) in numbers(&found).into_iter().zip(numbers(&model)) {
            let error = (found - expected).abs();
            assert!(
                error <= 1e-12 * expected.abs().max(1e-3) || found.to_bits() == expected.to_bits(),
                "{selector}: {name} is {found}, was {expected}"
            );
        }
    }
}

#[test]
fn a_baked_model_can_be_selected_from_again() {
    let parameters = parameters(RICH, &["geom.hull.size"]);
    let baked = parameters.bake(&[0.2, 0.1, 0.3]).unwrap();
    let again = super::Parameters::select(&baked, &["geom.hull.size", "geom.nose.mass"]).unwrap();
    assert_eq!(again.theta0(), [0.2, 0.1, 0.3, 0.3]);
    assert_same(&again.apply(again.theta0()).unwrap(), &baked, "baked");
}

#[test]
fn numbers_changed_by_hand_are_kept_or_refused() {
    let mut model = model_from_mjcf(RICH);
    model.geoms.friction[0].0[0] = 0.123;
    let parameters = super::Parameters::select(&model, &["geom.hull.size"]).unwrap();
    let found = parameters.apply(parameters.theta0()).unwrap();
    assert_eq!(found.geoms.friction[0][0], 0.123);
    model.bodies.subtree_mass[1] = 3.0;
    let error = super::Parameters::select(&model, &["geom.hull.size"]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("bodies.subtree_mass of element 1 was changed"),
        "{error}"
    );
}

#[test]
fn a_mass_scales_the_moments_that_are_not_selected_themselves() {
    let all = parameters(RICH, &["body.thigh.mass"]);
    let one = parameters(RICH, &["body.thigh.inertia[1]", "body.thigh.mass"]);
    let before = all.base().bodies.inertia[2];
    let [mass, moment] = [all.theta0()[0], one.theta0()[0]];
    let scaled = all.apply(&[2.0 * mass]).unwrap().bodies.inertia[2];
    let held = one.apply(&[moment, 2.0 * mass]).unwrap().bodies.inertia[2];
    for k in 0..3 {
        assert!((scaled[k] - 2.0 * before[k]).abs() < 1e-15, "{scaled:?}");
        let expected = if k == 1 { before[k] } else { 2.0 * before[k] };
        assert!((held[k] - expected).abs() < 1e-15, "{held:?}");
    }
    // One parameter for several bodies: each keeps its own shape.
    let ratio = parameters(RICH, &["body.*.mass tied-ratio"]);
    let models = [
        ratio.base().clone(),
        ratio.apply(&[3.0 * ratio.theta0()[0]]).unwrap(),
    ];
    let numbers = models.each_ref().map(|model| &model.bodies);
    for body in 1..numbers[0].mass.len() {
        for k in 0..3 {
            let [before, after] = numbers.map(|of| of.inertia[body][k]);
            assert!((after - 3.0 * before).abs() < 1e-12 * before, "body {body}");
        }
    }
}

#[test]
fn the_mass_of_a_body_with_one_geom_is_that_of_the_geom() {
    let text = r#"<mujoco><worldbody><body name="b" pos="0 0 1"><freejoint/>
      <geom name="brick" type="box" size="0.1 0.2 0.3" mass="2"/></body></worldbody></mujoco>"#;
    let apply = |name: &str| parameters(text, &[name]).apply(&[5.0]).unwrap();
    assert_same(&apply("body.b.mass"), &apply("geom.brick.mass"), "mass");
}
