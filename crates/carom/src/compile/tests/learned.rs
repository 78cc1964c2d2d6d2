//! Learned terms: which numbers they read and act on, and what is refused.

use super::{assert_refused, model, refusals};
use crate::model::{Signal, Target};

/// Two joints in a row, a free ball and a motor, with custom texts.
fn text(custom: &str) -> String {
    format!(
        r#"<worldbody><body name="upper"><joint name="hip"/><geom size=".1" pos=".2 0 0"/>
            <body name="lower" pos=".4 0 0"><joint name="knee.left" type="slide"/><geom size=".1" pos=".2 0 0"/></body></body>
          <body name="ball"><freejoint name="root"/><geom size=".1"/></body><body name="wall"><geom size=".1"/></body>
          </worldbody><actuator><motor name="m" joint="hip"/></actuator><custom>{custom}</custom>"#
    )
}

fn term(data: &str) -> String {
    text(&format!(r#"<text name="carom/learned/t" data="{data}"/>"#))
}

#[test]
fn patterns_share_one_function_over_elements_that_have_the_site() {
    let shared = model(&term(
        "target=joint.*.force; inputs=velocity; form=mlp; hidden=3",
    ));
    let learned = &shared.structure.learned;
    // The free joint is passed over.
    assert_eq!(learned.places.len(), 2);
    assert_eq!(learned.targets, [Target::Dof(0), Target::Dof(1)]);
    assert_eq!(learned.signals, [Signal::Velocity(0), Signal::Velocity(1)]);
    assert_eq!(shared.counts().nlearned_weight, 3 + 3 + 3 + 1);
    let whole = "target=joint.*.force; inputs=velocity; form=mlp; hidden=3; shared=false";
    let whole = model(&term(whole));
    assert_eq!(whole.structure.learned.places.len(), 1);
    assert_eq!(whole.structure.learned.places[0].outputs, 0..2);
    assert_eq!(whole.counts().nlearned_weight, 2 * 3 + 3 + 3 * 2 + 2);
    let bodies = model(&term(
        "target=body.*.force.x; inputs=linear_velocity; form=mlp",
    ));
    assert_eq!(bodies.structure.learned.places.len(), 3);
    assert_eq!(bodies.structure.learned.frames.len(), 3);
}

#[test]
fn names_may_have_dots() {
    let found = model(&term(
        "target=joint.knee.left.force; inputs=body.ball.up.z; form=mlp",
    ));
    assert_eq!(found.structure.learned.targets, [Target::Dof(1)]);
    assert_eq!(
        found.structure.learned.signals,
        [Signal::BodyRotation(3, 8)]
    );
}

#[test]
fn terms_that_mean_nothing_are_refused() {
    for (data, reason) in [
        (
            "target=joint.hip.force; inputs=geom.0.depth; form=mlp",
            "'geom.0.depth' is not a number of one contact",
        ),
        (
            "target=geom.*.friction; inputs=actuator.m.control; form=mlp",
            "'actuator.m.control' cannot be an input of learned term 't': it is found in the stage 'control', not before the target",
        ),
        (
            "target=geom.*.friction; inputs=place; form=mlp; shared=false",
            "learned term 't' acts on contacts, each by itself",
        ),
        (
            "target=geom.*.friction; inputs=place; form=mlp; mode=replace",
            "'geom.*.friction' has no mode 'replace'",
        ),
        (
            "target=joint.hipp.force; inputs=velocity; form=mlp",
            "no joint is called 'hipp'",
        ),
        (
            "target=joint.hip.torque; inputs=velocity; form=mlp",
            "a joint has no 'torque' that terms know",
        ),
        (
            "target=velocity; inputs=velocity; form=mlp",
            "'velocity' does not say what learned term 't' acts on",
        ),
        (
            "target=joint.hip.velocity; inputs=velocity; form=mlp",
            "terms do not act on 'joint.hip.velocity'",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=mlp; mode=multiply",
            "'joint.hip.force' has no mode 'multiply'",
        ),
        (
            "target=joint.root.force; inputs=time; form=mlp",
            "'joint.root.force': the joint is free or a ball: terms act on its body instead",
        ),
        (
            "target=body.wall.force; inputs=time; form=mlp",
            "'body.wall.force': the body does not move",
        ),
        (
            "target=joint.hip.force; form=mlp",
            "learned term 't' has no inputs",
        ),
        (
            "inputs=velocity; form=mlp",
            "learned term 't' acts on nothing",
        ),
        (
            "target=joint.hip.force; inputs=force; form=mlp",
            "'force' cannot be an input of learned term 't': terms act on it and do not read it",
        ),
        (
            "target=actuator.m.force; inputs=force; form=mlp",
            "'force' cannot be an input of learned term 't': it is found in the stage 'actuation', not before the target",
        ),
        (
            "target=joint.hip.force body.upper.force; inputs=time; form=mlp",
            "'body.upper.force' is not of the same elements as the other targets of learned term 't'",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=mlp; odd=position",
            "'position' is no input of learned term 't'",
        ),
        (
            "target=joint.hip.force; inputs=velocity position; form=mlp; dissipative=position",
            "learned term 't' is not dissipative against these velocities",
        ),
        (
            "target=body.upper.force; inputs=linear_velocity; form=mlp; dissipative=linear_velocity.x",
            "learned term 't' is not dissipative against these velocities",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=mlp; hidden=0",
            "learned term 't': a layer has no neurons, or far too many",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=mlp; hidden=60000 60000",
            "learned term 't': a layer has no neurons, or far too many",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=polynomial; degree=99",
            "learned term 't': a polynomial of degree 99 in 1 inputs",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=table; counts=3",
            "learned term 't': a table with [3] control values over 1 inputs",
        ),
        (
            "target=body.upper.force; inputs=time; form=table; counts=8",
            "learned term 't': a table has one output, not 3",
        ),
        (
            "target=joint.hip.force; inputs=velocity position time; form=friction",
            "learned term 't': friction of 3 inputs and 1 outputs",
        ),
        (
            "target=joint.hip.force; inputs=velocity position; form=drag",
            "learned term 't': drag of 2 inputs and 1 outputs",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=drag; odd=velocity",
            "learned term 't': a law is odd and dissipative by itself",
        ),
        (
            "target=joint.hip.force; inputs=velocity; form=mlp; bound=-1",
            "the bound of learned term 't' is not above zero",
        ),
        (
            "target=joint.hip.force; inputs=actuator.m.activation; form=mlp",
            "'actuator.m.activation': the actuator has no activation",
        ),
    ] {
        assert_refused(&term(data), reason);
    }
    let twice = r#"<text name="carom/learned/a" data="target=actuator.m.force; inputs=control; form=mlp"/>
      <text name="carom/learned/b" data="target=actuator.m.force; inputs=velocity; form=mlp"/>"#;
    assert_eq!(
        refusals(&text(twice)),
        ["a second learned term acts on actuator 'm'"]
    );
}

/// Numbers that files of weights may bring.
#[test]
fn numbers_of_terms_are_checked() {
    use carom_spec::MemorySource;
    use carom_spec::mjcf::{self, ReadSettings};
    let content = term("target=joint.hip.force; inputs=velocity; form=mlp; dissipative=velocity");
    let content = format!("<mujoco>{content}</mujoco>");
    let source = MemorySource::new().with("model.xml", content);
    let mut sources = carom_spec::SourceMap::new();
    let path = std::path::Path::new("model.xml");
    let (spec, _) = mjcf::read(path, &source, &ReadSettings::default(), &mut sources);
    let refused = |weights: &[f64], scales: &[[f64; 2]]| {
        let mut spec = spec.clone();
        spec.learned_terms[0].weights = weights.to_vec();
        spec.learned_terms[0].scales = scales.to_vec();
        let (model, problems) = crate::compile::compile(&spec);
        assert_eq!(model.is_none(), !problems.is_empty());
        problems
            .first()
            .map_or(String::new(), |problem| problem.message.clone())
    };
    assert_eq!(refused(&[1.0, 0.5, 0.2], &[[0.0, 2.0]]), "");
    assert_eq!(
        refused(&[1.0], &[]),
        "learned term 't' needs 3 weights, found 1"
    );
    assert_eq!(
        refused(&[1.0, f64::NAN, 0.0], &[]),
        "weight 1 of learned term 't' is NaN"
    );
    assert_eq!(
        refused(&[1.0, 0.0, -1.0], &[]),
        "weight 2 of learned term 't' is -1, below 0"
    );
    assert_eq!(
        refused(&[], &[[0.0, 1.0]; 2]),
        "learned term 't' has 1 inputs, but scales for 2"
    );
    assert_eq!(
        refused(&[], &[[0.0, -1.0]]),
        "the scale of input 0 of learned term 't' is not above zero"
    );
}
