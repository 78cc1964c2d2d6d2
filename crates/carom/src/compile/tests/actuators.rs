use super::{assert_close, assert_refused, model};
use crate::model::Transmission;

/// A chain with a free body beside it and the given actuators.
fn with(actuators: &str) -> String {
    format!(
        r#"<compiler angle="radian"/>
        <worldbody>
          <site name="ground"/>
          <body name="arm"><joint name="hinge" range="-1 2" damping="0.5 0.25" armature="0.125"/>
            <geom name="ball" size=".1"/><site name="a"/>
            <body pos="1 0 0"><joint name="ball" type="ball"/><geom size=".1"/><site name="b"/>
              <body pos="0 0 1"><joint name="slide" type="slide"/><geom size=".1"/><site name="c"/></body>
            </body>
          </body>
          <body pos="3 3 3"><freejoint name="free"/><geom size=".1"/></body>
        </worldbody>
        <tendon>
          <fixed name="sum" range="1 5" damping="2"><joint joint="hinge" coef="1"/></fixed>
          <spatial name="wrapped"><site site="ground"/><geom geom="ball"/><site site="c"/></spatial>
        </tendon>
        <actuator>{actuators}</actuator>"#
    )
}

#[test]
fn transmissions_are_resolved_with_the_dofs_they_act_on() {
    let model = model(&with(
        r#"<motor joint="ball"/> <motor jointinparent="free"/> <motor tendon="wrapped"/>
        <motor site="b"/> <motor site="c" refsite="a"/>
        <motor cranksite="a" slidersite="c" cranklength="1"/> <adhesion body="arm" ctrlrange="0 1"/>"#,
    ));
    let actuators = &model.structure.actuators;
    let expected: [(Transmission, &[usize]); 7] = [
        (Transmission::Joint(1), &[1, 2, 3]),
        (Transmission::JointInParent(3), &[5, 6, 7, 8, 9, 10]),
        (Transmission::Tendon(1), &[0, 1, 2, 3, 4]),
        (
            Transmission::Site {
                site: 2,
                reference: None,
            },
            &[0, 1, 2, 3],
        ),
        (
            Transmission::Site {
                site: 3,
                reference: Some(1),
            },
            &[1, 2, 3, 4],
        ),
        (
            Transmission::SliderCrank {
                crank: 1,
                slider: 3,
            },
            &[1, 2, 3, 4],
        ),
        (Transmission::Body(1), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ];
    for (id, (transmission, dofs)) in expected.into_iter().enumerate() {
        assert_eq!(actuators.transmission[id], transmission);
        assert_eq!(actuators.moment.columns(id), dofs);
    }
}

#[test]
fn servos_inherit_the_range_of_their_target() {
    let model = model(&with(
        r#"<position joint="hinge" inheritrange="0.5"/> <position tendon="sum" inheritrange="1"/>
        <intvelocity joint="hinge" inheritrange="2"/> <position joint="hinge" ctrlrange="1 -1"/>"#,
    ));
    let numbers = &model.actuators;
    assert_eq!(numbers.control_range[0], [-0.25, 1.25]);
    assert_eq!(numbers.control_range[1], [1.0, 5.0]);
    assert_eq!(numbers.activation_range[2], [-2.5, 3.5]);
    let actuators = &model.structure.actuators;
    assert_eq!(actuators.control_limited, [true, true, false, false]);
    assert_eq!(actuators.activation_limited, [false, false, true, false]);

    for (actuator, reason) in [
        (
            r#"<position joint="slide" inheritrange="1"/>"#,
            "finds no range at its joint or tendon",
        ),
        (
            r#"<position joint="ball" inheritrange="1"/>"#,
            "needs a slide or hinge joint",
        ),
        (
            r#"<position jointinparent="hinge" inheritrange="1"/>"#,
            "needs a joint or tendon transmission",
        ),
    ] {
        assert_refused(
            &with(actuator),
            &format!("inheritrange of actuator {reason}"),
        );
    }
}

#[test]
fn activation_states_are_counted_in_order() {
    let model = model(&with(
        r#"<general joint="hinge" dyntype="user" actdim="2"/> <motor joint="hinge"/>
        <general joint="hinge" dyntype="filter" actearly="true"/> <muscle joint="hinge" lengthrange="0 1"/>"#,
    ));
    let actuators = &model.structure.actuators;
    assert_eq!(actuators.activations, [0..2, 2..2, 2..3, 3..4]);
    assert_eq!(actuators.activation_early, [false, false, true, false]);
    assert_eq!((model.counts().na, model.counts().nu), (4, 4));

    for (attributes, reason) in [
        (
            "dyntype='integrator' actdim='2'",
            "actdim 2 of actuator: only user dynamics have several states",
        ),
        (
            "actdim='1'",
            "actdim 1 of actuator: an actuator without dynamics has no state",
        ),
        (
            "dyntype='integrator' actdim='0'",
            "actdim 0 of actuator: an actuator with dynamics needs a state",
        ),
        (
            "dyntype='user' actdim='2000000000'",
            "actuator brings the activation states to 2000000000, too many to hold",
        ),
        (
            "actrange='0 1'",
            "actuator has an actrange but no activation dynamics",
        ),
        (
            "ctrllimited='true'",
            "ctrlrange of actuator is empty: 0 to 0",
        ),
    ] {
        let actuator = format!("<general joint='hinge' {attributes}/>");
        assert_refused(&with(&actuator), reason);
    }
}

#[test]
fn motors_and_servos_have_controls_states_and_forces_as_they_need() {
    let model = model(&with(
        r#"<pid joint="hinge" kp="3" ki="2" slewmax="1" input="pos vel ff" velrange="-2 2"/>
        <orientation joint="ball" input="quat" forcerange="0 2"/>
        <dcmotor joint="hinge" motorconst=".1 .4" resistance="2" thermal="1 2" input="none"/>
        <general joint="ball" gaintype="so3" biastype="so3" dyntype="integrator" biasprm="0 -1"/>"#,
    ));
    let actuators = &model.structure.actuators;
    assert_eq!(actuators.controls, [0..3, 3..7, 7..7, 7..10]);
    assert_eq!(actuators.outputs, [0..1, 1..4, 4..5, 5..8]);
    assert_eq!(actuators.activations, [0..2, 2..2, 2..3, 3..6]);
    let n = model.counts();
    assert_eq!((n.nactuator, n.nu, n.nout, n.na), (4, 10, 8, 6));
    let limits: Vec<_> = (0..3).map(|control| model.control_range(control)).collect();
    assert_eq!(limits, [None, Some([-2.0, 2.0]), None]);
    assert_close(&model.actuators.gain[2][..2], &[2.0, 0.2]);

    let general = "gaintype='pid' biastype='affine'";
    for (actuator, reason) in [
        (
            "<orientation joint='hinge'/>".to_owned(),
            "actuator turns something: give it a ball joint, or a site with 'refsite'",
        ),
        (
            "<orientation joint='ball' forcerange='-1 1'/>".to_owned(),
            "actuator: forcerange bounds the size of the torque, so it starts at 0",
        ),
        (
            "<general joint='ball' gaintype='so3'/>".to_owned(),
            "actuator: gaintype and biastype 'so3' go together; write both",
        ),
        (
            "<pid joint='hinge' input='voltage'/>".to_owned(),
            "actuator: inputs are some of pos, vel and ff",
        ),
        (
            "<pid joint='hinge' ki='1' input='vel'/>".to_owned(),
            "actuator: integral action and a greatest rate need the input pos",
        ),
        (
            "<pid joint='hinge' nsample='3' delay='.01'/>".to_owned(),
            "actuator has 2 controls; 'nsample' and 'delay' are for one, split it up",
        ),
        (
            format!("<general joint='hinge' {general} dyntype='pid' gainprm='0'/>"),
            "actuator: dyntype 'pid' needs an integral gain (gainprm) or a greatest rate (the second of dynprm)",
        ),
        (
            format!("<general joint='hinge' {general}/>"),
            "actuator: an integral gain (gainprm) needs dyntype 'pid'",
        ),
        (
            "<general joint='hinge' gaintype='dcmotor' actearly='true'/>".to_owned(),
            "actuator: dyntype, gaintype and biastype 'dcmotor' go together; write all three",
        ),
        (
            "<dcmotor joint='hinge' motorconst='1' resistance='1' controller='1'/>".to_owned(),
            "actuator: the numbers of 'controller' need an input pos, vel or ff",
        ),
        (
            "<general joint='hinge' input='pos vel'/>".to_owned(),
            "actuator: fixed and affine gains take one input, pos, vel or pressure",
        ),
    ] {
        assert_refused(&with(&actuator), reason);
    }
}

#[test]
fn damping_and_armature_go_to_joint_and_tendon_through_the_gear() {
    let model = model(&with(
        r#"<motor joint="hinge" gear="3" damping="1 2 3" armature="0.5"/>
        <motor joint="hinge" gear="-2" damping="1" armature="0.25"/>
        <motor joint="ball" gear="1 2 3" armature="0.5"/>
        <motor tendon="sum" gear="2" damping="1 2 3" armature="0.5"/>"#,
    ));
    assert_eq!(model.dofs.damping[0], 0.5 + 9.0 + 4.0);
    assert_eq!(model.dofs.damping_poly[0], [0.25 + 18.0, 27.0]);
    assert_eq!(model.dofs.armature[..4], [0.125 + 4.5 + 1.0, 0.5, 0.5, 0.5]);
    assert_eq!(model.tendons.damping[0], 2.0 + 4.0);
    assert_eq!(model.tendons.damping_poly[0], [8.0, 12.0]);
    assert_eq!(model.tendons.armature[0], 2.0);
    assert!(model.structure.has_tendon_armature);
    // What the file says of the actuator stays with it.
    assert_eq!(model.actuators.armature, [0.5, 0.25, 0.5, 0.5]);

    for (actuator, reason) in [
        (
            r#"<motor site="a" damping="1"/>"#,
            "damping of actuator needs a joint or a tendon to act on",
        ),
        (
            r#"<motor site="a" armature="1"/>"#,
            "armature of actuator needs a joint or a tendon to act on",
        ),
        (
            r#"<motor tendon="wrapped" armature="1"/>"#,
            "actuator has armature and acts on a tendon that wraps around a geom",
        ),
    ] {
        assert_refused(&with(actuator), reason);
    }
}

#[test]
fn damping_ratios_are_resolved_whatever_the_kind_of_bias() {
    let model = model(&with(
        r#"<position joint="slide" kp="4" dampratio="1"/> <position joint="slide" kp="4" kv="3"/>
        <general joint="slide" biastype="affine" biasprm="0 -2 1"/>"#,
    ));
    // Not a servo in the last case: the gain is not minus the stiffness.
    assert_eq!(model.actuators.bias[1][..3], [0.0, -4.0, -3.0]);
    assert_eq!(model.actuators.bias[2][..3], [0.0, -2.0, 1.0]);
    let mass = 1.0 / model.actuators.acceleration_reference[0];
    assert_close(&[model.actuators.bias[0][2]], &[-2.0 * (4.0 * mass).sqrt()]);
}

#[test]
fn muscles_need_sensible_curves() {
    for (attributes, reason) in [
        ("range='1 0'", "range is not an interval"),
        ("lmin='1'", "lmin < 1 < lmax does not hold"),
        (
            "vmax='0'",
            "scale, vmax, fpmax and fvmax are not all positive",
        ),
    ] {
        let actuator = format!("<muscle joint='hinge' {attributes}/>");
        assert_refused(&with(&actuator), &format!("muscle actuator: {reason}"));
    }
}

#[test]
fn broken_transmissions_are_refused() {
    for (actuator, reason) in [
        (
            r#"<motor joint="hing"/>"#,
            "actuator refers to a joint 'hing' that does not exist",
        ),
        (
            r#"<motor site="a" refsite="z"/>"#,
            "actuator refers to a site 'z' that does not exist",
        ),
    ] {
        assert_refused(&with(actuator), reason);
    }
}
