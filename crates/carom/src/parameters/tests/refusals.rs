//! What cannot be selected, and what is said about it.

use super::RICH;
use crate::Model;
use crate::cotangent::StateBar;
use crate::error::{Error, ErrorKind};
use crate::parameters::{ParameterProblem, Parameters};
use crate::testing::model_from_mjcf;

fn refusal(selector: &str) -> Error {
    let model = model_from_mjcf(RICH);
    match Parameters::select(&model, &[selector]) {
        Ok(_) => panic!("'{selector}' was accepted"),
        Err(error) => error,
    }
}

#[test]
fn every_refusal_says_what_is_wrong_and_what_is_right() {
    for (selector, words) in [
        ("goem.hull.size", "no family 'goem': did you mean 'geom'?"),
        (
            "geom.hull.sise",
            "geom has no attribute 'sise': did you mean 'size'?",
        ),
        (
            "geom.hul.size",
            "no geom is called 'hul': did you mean 'hull'?",
        ),
        ("geom.hull", "geom has no attribute 'hull'"),
        ("geom.hull.size[3]", "has 3 components"),
        ("geom.ball.size[1]", "has 1 components"),
        ("geom.floor.size", "is a plane, whose size is only drawn"),
        ("geom.sole.size", "select mesh.vertex"),
        ("geom.hull.condim", "is a choice, not a real number"),
        (
            "geom.shin.density",
            "the inertia of its body is given otherwise",
        ),
        ("option.tolerance", "ends an iteration"),
        ("body.trunk.subtree_mass", "follows from masses"),
        ("body.world.pos", "is the world"),
        ("joint.root.axis", "has no axis"),
        ("joint.ankle.stiffness", "gives springdamper"),
        (
            "joint.rail.frictionloss",
            "start from a positive frictionloss",
        ),
        ("joint.turn.range", "has no limits"),
        ("actuator.servo.kv", "select dampratio"),
        ("actuator.servo.ctrlrange", "inherits the range"),
        ("actuator.pull.bias", "has no bias"),
        ("actuator.pull.delay", "has no history"),
        ("equality.glue.relpose", "reference configuration"),
        ("sensor.0.noise", "no reading depends on it"),
        ("mesh.wedge.scale", "folded into the vertices"),
        ("key.home.qpos", "select state.qpos"),
        ("geom.hull.friction[0] logg", "modifier 'logg'"),
        (
            "option.gravity log",
            "option.gravity[0]: log needs a number above 0, found 0",
        ),
        ("body.trunk.pseudo_inertia log", "is a transform already"),
        ("state.root.qpos[3]", "select all four numbers"),
    ] {
        let error = refusal(selector);
        assert!(error.to_string().contains(words), "{selector}: {error}");
    }
}

#[test]
fn contradictions_are_refused() {
    let model = model_from_mjcf(RICH);
    let conflict = |selectors: &[&str], words: &str| {
        let error = Parameters::select(&model, selectors).unwrap_err();
        let conflict = ErrorKind::Parameter(ParameterProblem::Conflict);
        assert_eq!(error.kind(), &conflict);
        assert!(error.to_string().contains(words), "{error}");
    };
    conflict(
        &["geom.hull.size", "geom.h*.size[1]"],
        "select the same number",
    );
    conflict(
        &["geom.hull.density", "body.trunk.mass"],
        "choose one of them",
    );
}

#[test]
fn patterns_leave_out_what_has_no_such_numbers() {
    let model = model_from_mjcf(RICH);
    let parameters = Parameters::select(&model, &["geom.*.size"]).unwrap();
    let skipped: Vec<&str> = parameters
        .skipped()
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(skipped, ["geom.floor.size", "geom.sole.size"]);
    let table = parameters.describe(parameters.theta0());
    assert!(
        table.contains("left out geom.floor.size: it is a plane"),
        "{table}"
    );
    assert!(table.contains("geom.hull.size[2]"), "{table}");
}

#[test]
fn gradients_of_other_models_are_refused() {
    let model = model_from_mjcf(RICH);
    let other = model_from_mjcf(
        "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>",
    );
    let bar_of = |model: &Model| Model::zeros(model.structure.clone(), model.settings);
    for selector in ["geom.hull.size", "state.qvel"] {
        let parameters = Parameters::select(&model, &[selector]).unwrap();
        let theta = parameters.theta0();
        let (own, strange) = (StateBar::zeros(&model), StateBar::zeros(&other));
        for (model_bar, state_bar) in [(&model, &strange), (&other, &own), (&other, &strange)] {
            let found = parameters.backward(theta, &bar_of(model_bar), Some(state_bar));
            let message = found.unwrap_err().to_string();
            assert!(message.contains("that of another model"), "{message}");
        }
        let found = parameters.backward(theta, &bar_of(&model), Some(&own));
        assert!(found.is_ok());
    }
}
