use super::{assert_refused, model};
use crate::model::Wrap;

/// A chain of a hinge, a ball and a slide, with a tendon of the given element, attributes and path.
fn with_tendon(kind: &str, attributes: &str, path: &str) -> String {
    format!(
        r#"<worldbody>
          <site name="ground"/> <geom name="block" type="box" size="1 1 1"/>
          <body><joint name="hinge"/><geom name="ball" size=".1"/><site name="a"/>
            <body pos="1 0 0"><joint name="ball" type="ball"/>
              <geom name="roll" type="cylinder" size=".1 .1"/><site name="b"/>
              <body pos="0 0 1"><joint name="slide" type="slide"/><geom size=".1"/><site name="c"/></body>
            </body>
          </body>
          <body pos="3 0 0"><joint type="slide"/><geom size=".1"/></body>
        </worldbody>
        <tendon><{kind} name="t" {attributes}>{path}</{kind}></tendon>"#
    )
}

const STRAIGHT: &str = r#"<site site="a"/><site site="c"/>"#;

#[test]
fn paths_keep_order_sides_and_coefficients() {
    let path = r#"<site site="a"/><geom geom="ball" sidesite="b"/><site site="b"/><geom geom="roll"/>
        <site site="c"/><pulley divisor="2"/><site site="ground"/><site site="c"/>"#;
    let model = model(&with_tendon("spatial", "", path));
    let tendons = &model.structure.tendons;
    let expected = [
        Wrap::Site(1),
        Wrap::Sphere {
            geom: 1,
            side: Some(2),
        },
        Wrap::Site(2),
        Wrap::Cylinder {
            geom: 2,
            side: None,
        },
        Wrap::Site(3),
        Wrap::Pulley,
        Wrap::Site(0),
        Wrap::Site(3),
    ];
    assert_eq!(tendons.path, expected);
    assert_eq!(
        model.wraps.coefficient,
        [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0]
    );
    // The last body is not on the path.
    assert_eq!(tendons.jacobian.columns(0), [0, 1, 2, 3, 4]);
}

#[test]
fn fixed_tendons_combine_scalar_joints() {
    let joints = r#"<joint joint="slide" coef="-2"/><joint joint="hinge" coef="3"/>"#;
    let text = with_tendon(
        "fixed",
        r#"armature="0.5" damping="1 2 3" stiffness="4""#,
        joints,
    );
    let compiled = model(&text);
    let tendons = &compiled.structure.tendons;
    assert_eq!(tendons.path, [Wrap::Joint(2), Wrap::Joint(0)]);
    assert_eq!(compiled.wraps.coefficient, [-2.0, 3.0]);
    assert_eq!(tendons.jacobian.columns(0), [0, 4]);
    assert!(compiled.structure.has_tendon_armature);
    assert_eq!(compiled.tendons.damping_poly[0], [2.0, 3.0]);

    let refused = |joints: &str, reason| {
        assert_refused(&with_tendon("fixed", "", joints), reason);
    };
    refused("", "tendon 't' has no joints");
    refused(
        r#"<joint joint="ball" coef="1"/>"#,
        "joint 'ball' of tendon 't' is neither a slide nor a hinge",
    );
    refused(
        r#"<joint joint="hinge" coef="1"/><joint joint="hinge" coef="1"/>"#,
        "joint 'hinge' of tendon 't' is repeated",
    );
}

#[test]
fn broken_paths_are_refused() {
    let cases = [
        (
            "<site site='a'/>",
            "path of tendon 't' has fewer than two elements",
        ),
        (
            "<site site='a'/><site site='a'/>",
            "path of tendon 't' passes the same site twice in a row",
        ),
        (
            "<site site='a'/><geom geom='block'/><site site='b'/>",
            "geom 'block' of tendon 't' is neither a sphere nor a cylinder",
        ),
        (
            "<geom geom='ball'/><site site='b'/>",
            "path of tendon 't' has a geom that is not between two sites",
        ),
        (
            "<site site='a'/><site site='b'/><pulley divisor='0'/><site site='a'/><site site='c'/>",
            "pulley divisor 0 of tendon 't' is not positive",
        ),
        (
            "<site site='a'/><site site='b'/><pulley divisor='1'/>",
            "path of tendon 't' ends with a pulley",
        ),
        (
            "<site site='a'/><site site='b'/><pulley divisor='1'/><site site='c'/>",
            "path of tendon 't' has a branch with a single site",
        ),
        (
            "<site site='a'/><geom geom='ball' sidesite='d'/><site site='b'/>",
            "tendon 't' refers to a site 'd' that does not exist",
        ),
    ];
    for (path, reason) in cases {
        assert_refused(&with_tendon("spatial", "", path), reason);
    }
}

#[test]
fn attributes_are_checked_and_springs_rest_where_they_are() {
    let cases = [
        ("width='0'", "width of tendon 't' is not positive"),
        ("armature='-1'", "armature of tendon 't' is negative"),
        (
            "springlength='2 1'",
            "springlength of tendon 't' has a lower bound above the upper one",
        ),
        (
            "actuatorfrcrange='1 2'",
            "actuatorfrcrange 1 2 of tendon 't' does not hold zero",
        ),
    ];
    for (attributes, reason) in cases {
        assert_refused(&with_tendon("spatial", attributes, STRAIGHT), reason);
    }
    let resting = model(&with_tendon("spatial", "range='0 3'", STRAIGHT));
    let length = 2.0_f64.sqrt();
    assert_eq!(resting.tendons.spring_length[0], [length; 2]);
    assert!(resting.structure.tendons.limited[0]);
    let given = model(&with_tendon("spatial", "springlength='-1 3'", STRAIGHT));
    assert_eq!(given.tendons.spring_length[0], [-1.0, 3.0]);
}
