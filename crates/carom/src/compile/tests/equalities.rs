use super::{assert_close, assert_refused, model};
use crate::model::EqualityKind;

fn with(equalities: &str) -> String {
    format!(
        r#"<compiler angle="radian"/>
        <worldbody>
          <body name="a" pos="1 0 0" euler="0.3 0 0"><joint name="hinge"/><geom size=".1"/><site name="s"/>
            <body pos="1 0 0"><joint name="ball" type="ball"/><geom size=".1"/>
              <body name="c" pos="0 0 1" euler="0 .2 .4"><joint name="slide" type="slide"/>
                <geom size=".1"/><site name="t"/></body>
            </body>
          </body>
        </worldbody>
        <tendon><fixed name="sum"><joint joint="hinge" coef="1"/></fixed></tendon>
        <equality>{equalities}</equality>"#
    )
}

/// Sine and cosine of half of a rotation by 0.3, as in body `a`.
const HALF: (f64, f64) = (0.149_438_132_473_599_22, 0.988_771_077_936_042_2);

#[test]
fn second_anchors_and_poses_come_from_the_reference_configuration() {
    let model = model(&with(
        r#"<connect body1="a" anchor="1 2 3"/> <weld body1="a" anchor="1 2 3" torquescale="2"/>
        <weld body1="a" body2="c" relpose="0 0 0 0 0 0 0"/>"#,
    ));
    let equalities = &model.structure.equalities;
    assert_eq!(equalities.object2, [Some(0), Some(0), Some(3)]);
    let (sine, cosine) = 0.3_f64.sin_cos();
    let connect = &model.equalities.data[0];
    assert_close(
        &connect[..6],
        &[
            1.0,
            2.0,
            3.0,
            2.0,
            2.0 * cosine - 3.0 * sine,
            2.0 * sine + 3.0 * cosine,
        ],
    );
    assert_eq!(connect[6..], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    let weld = &model.equalities.data[1];
    assert_close(
        &weld[..6],
        &[
            1.0,
            2.0,
            3.0,
            0.0,
            2.0 * cosine + 3.0 * sine,
            -2.0 * sine + 3.0 * cosine,
        ],
    );
    assert_close(&weld[6..], &[HALF.1, -HALF.0, 0.0, 0.0, 2.0, 1.0]);
    assert_close(&model.equalities.data[2][3..6], &[1.0, 0.0, 1.0]);
}

#[test]
fn the_twelve_numbers_are_laid_out_as_in_mujoco() {
    let model = model(&with(
        r#"<connect site1="s" site2="t"/> <weld site1="s" site2="t" torquescale="3"/>
        <weld body1="a" body2="c" relpose="1 2 3 2 0 0 0"/>
        <joint joint1="hinge" joint2="slide" polycoef="1 2 3 4 5"/> <tendon tendon1="sum" active="false"/>"#,
    ));
    let expected = [
        [0.0; 12],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    ];
    assert_eq!(model.equalities.data, expected);
    let equalities = &model.structure.equalities;
    assert_eq!(equalities.between_sites, [true, true, false, false, false]);
    assert_eq!(
        equalities.object2,
        [Some(1), Some(1), Some(3), Some(2), None]
    );
    assert_eq!(equalities.active, [true, true, true, true, false]);
    assert_eq!(equalities.kind[4], EqualityKind::Tendon);
}

#[test]
fn couplings_without_sense_are_refused() {
    for (equality, reason) in [
        (
            r#"<joint joint1="hinge" joint2="ball"/>"#,
            "equality constraint couples a joint that is neither a slide nor a hinge",
        ),
        (
            r#"<joint joint1="hinge" joint2="hinge"/>"#,
            "equality constraint couples an element with itself",
        ),
        (
            r#"<connect body1="world" anchor="0 0 0"/>"#,
            "equality constraint couples an element with itself",
        ),
        (
            r#"<tendon name="e" tendon1="rope"/>"#,
            "equality constraint 'e' refers to a tendon 'rope' that does not exist",
        ),
    ] {
        assert_refused(&with(equality), reason);
    }
}
