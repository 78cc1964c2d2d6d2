use super::{assert_close, assert_refused, model};
use crate::model::TrackingMode;

fn with(attributes: &str) -> String {
    format!(
        r#"<worldbody><body name="a" pos="1 2 3" euler="0 0 90"><joint/><geom size=".1"/>
          <body pos="2 0 0"><geom size=".1"/></body>
          <camera name="c" {attributes}/></body></worldbody>"#
    )
}

#[test]
fn tracking_cameras_remember_the_reference_configuration() {
    let model = model(&with(r#"mode="targetbody" target="a" pos="0 1 0""#));
    let cameras = &model.cameras;
    assert_eq!(model.structure.cameras.mode, [TrackingMode::TargetBody]);
    assert_eq!(model.structure.cameras.target, [Some(1)]);
    assert_close(&cameras.position_from_body[0].0, &[-1.0, 0.0, 0.0]);
    assert_close(&cameras.position_from_com[0].0, &[-1.0, -1.0, 0.0]);
    let quarter_turn = [0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    assert_close(&cameras.rotation_reference[0].0, &quarter_turn);
}

#[test]
fn intrinsics_are_kept_in_single_precision() {
    let plain = model(&with("fovy='30'"));
    assert_eq!(plain.cameras.fovy, [30.0]);
    let near = f64::from(0.01_f32);
    assert_eq!(plain.cameras.intrinsic[0], [near, near, 0.0, 0.0]);
    let pixels = model(&with(
        "sensorsize='1 1' focalpixel='30 40' principalpixel='3 4' principal='.5 .5' resolution='100 200'",
    ));
    let expected = [0.3_f32, 0.2, 0.03, 0.02].map(f64::from);
    assert_eq!(pixels.cameras.intrinsic[0], expected);
    assert!((pixels.cameras.fovy[0] - 136.397_184).abs() < 1e-5);
    assert_eq!(pixels.structure.cameras.resolution, [[100, 200]]);
}

#[test]
fn impossible_cameras_are_refused() {
    for (attributes, reason) in [
        ("fovy='180'", "camera 'c' has a fovy of 180 or more"),
        (
            "focal='1 1'",
            "camera 'c' has focal or principal without sensorsize",
        ),
        (
            "sensorsize='1 .5' resolution='0 0' focal='1 1'",
            "camera 'c' has sensorsize without a positive resolution",
        ),
        (
            "mode='targetbody' target='b'",
            "camera 'c' refers to a body 'b' that does not exist",
        ),
    ] {
        assert_refused(&with(attributes), reason);
    }
}
