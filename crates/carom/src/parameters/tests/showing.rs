//! Parameters that show, and those that do not.

use super::{RICH, parameters};
use crate::parameters::Motion;
use crate::rollout::Controls;
use crate::state::State;

/// The parameters that nothing depends on in a fall.
fn findings(text: &str, selectors: &[&str], steps: usize) -> Vec<String> {
    let parameters = parameters(text, selectors);
    let motion = Motion {
        start: &State::reference(parameters.base()),
        controls: &Controls::Zero,
        steps,
    };
    let findings = parameters.self_check(parameters.theta0(), &motion).unwrap();
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn parameters_without_effect_are_named_with_a_reason() {
    let found = findings(
        RICH,
        &[
            "geom.ball.friction[0]",
            "joint.knee.range",
            "body.thigh.mass",
            "geom.hull.size",
            "option.magnetic[0]",
            "body.trunk.gravcomp",
        ],
        3,
    );
    assert_eq!(
        found,
        [
            "geom.ball.friction[0] moves nothing: no contact happened in this motion",
            "joint.knee.range[0] moves nothing: the limit was not reached in this motion",
            "joint.knee.range[1] moves nothing: the limit was not reached in this motion",
            "option.magnetic[0] moves nothing: there is no magnetometer",
        ]
    );
}

#[test]
fn ties_share_one_number() {
    let parameters = parameters(
        RICH,
        &["geom.hull.size tied-ratio", "joint.*.armature tied"],
    );
    assert_eq!(parameters.len(), 2);
    let mut theta = parameters.theta0().to_vec();
    theta[0] *= 2.0;
    theta[1] = 0.5;
    let model = parameters.apply(&theta).unwrap();
    for (found, expected) in model.geoms.size[1].0.iter().zip([0.2, 0.3, 0.4]) {
        assert!((found - expected).abs() < 1e-15, "{found}");
    }
    // The knee's armature is what its actuator adds, and the common number.
    assert_eq!(model.dofs.armature[0], 0.5);
    assert!((model.dofs.armature[6] - (0.5 + 0.003 * 1.5 * 1.5)).abs() < 1e-15);
}

#[test]
fn values_are_set_and_read_by_name() {
    let parameters = parameters(
        RICH,
        &["joint.knee.damping[0] log", "option.gravity scale(10)"],
    );
    let mut theta = parameters.theta0().to_vec();
    parameters
        .set(&mut theta, "joint.knee.damping[0]", 0.9)
        .unwrap();
    assert!((parameters.get(&theta, "joint.knee.damping[0]").unwrap() - 0.9).abs() < 1e-15);
    assert!((theta[3] - -0.981).abs() < 1e-15);
    assert_eq!(
        parameters.names().collect::<Vec<_>>()[3],
        "option.gravity[2]"
    );
    let error = parameters.get(&theta, "option.gravity[4]").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("did you mean 'option.gravity[0]'"),
        "{error}"
    );
    let error = parameters.apply(&theta[1..]).unwrap_err();
    assert_eq!(error.to_string(), "θ has 3 numbers, there are 4 parameters");
    assert_eq!(parameters.bounds().len(), 4);
}

#[test]
fn bounds_end_where_numbers_mean_something_else() {
    let text = "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' solref='-1000 -10' friction='0 0.005 0.0001'/>\
         <body><joint name='hinge' frictionloss='0.1'/><geom name='ball' size='0.1' solref='0.02 1' friction='1 0.005 0.0001'/></body>\
         </worldbody></mujoco>";
    let names = [
        "geom.*.solref",
        "geom.*.friction[0]",
        "joint.hinge.frictionloss",
        "joint.hinge.damping",
    ];
    let parameters = parameters(text, &names);
    let infinity = f64::INFINITY;
    let expected = [
        [-infinity, 0.0],
        [-infinity, 0.0],
        [1e-6, infinity],
        [1e-6, infinity],
        [0.0, infinity],
        [1e-5, infinity],
        [1e-9, infinity],
        [0.0, infinity],
        [-infinity, infinity],
        [-infinity, infinity],
    ];
    assert_eq!(parameters.bounds(), expected);
}
