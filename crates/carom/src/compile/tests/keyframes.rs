use super::{assert_refused, model};
use crate::math::{Quat, Vec3};

fn with(size: &str, keyframes: &str) -> String {
    format!(
        r#"{size}<worldbody>
          <body mocap="true" pos="1 2 3"><geom size=".1"/></body>
          <body mocap="true" pos="4 5 6" quat="0 0 1 0"><geom size=".1"/></body>
          <body><freejoint/><geom size=".1"/></body>
          <body pos="7 8 9"><joint type="ball"/><geom size=".1"/></body>
        </worldbody>
        <keyframe>{keyframes}</keyframe>"#
    )
}

#[test]
fn short_vectors_are_completed_and_quaternions_normalised() {
    let model = model(&with(
        r#"<size nkey="4"/>"#,
        r#"<key name="near" time="2" qpos="1 2 3 0 4" qvel="5"/>
        <key mpos="1 1 1 8" mquat="0 0 3 0" qpos="0 0 0 0 0 0 0"/> <key mquat="0 0 0 0"/>"#,
    ));
    assert_eq!(model.structure.names.keyframes, ["near", "", "", ""]);
    let keys = &model.keyframes;
    assert_eq!(keys.time, [2.0, 0.0, 0.0, 0.0]);
    let near = [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    assert_eq!(keys.qpos[..11], near);
    assert_eq!(keys.qvel[..3], [5.0, 0.0, 0.0]);
    // A zero quaternion in qpos is no rotation, one of a mocap body stays zero, as in MuJoCo.
    assert_eq!(
        keys.qpos[11..22],
        [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    );
    assert_eq!(keys.mocap_quat[4], Quat([0.0; 4]));
    // Incomplete groups of numbers are dropped.
    let second = Vec3([4.0, 5.0, 6.0]);
    assert_eq!(keys.mocap_position[2..4], [Vec3([1.0; 3]), second]);
    assert_eq!(
        keys.mocap_quat[2..4],
        [Quat([0.0, 0.0, 1.0, 0.0]), Quat([0.0, 0.0, 1.0, 0.0])]
    );
    assert_eq!(keys.mocap_position[6..], [Vec3([1.0, 2.0, 3.0]), second]);
}

#[test]
fn vectors_longer_than_the_model_are_refused() {
    for (attribute, count, expected) in [
        ("qpos", 12, 11),
        ("qvel", 10, 9),
        ("act", 1, 0),
        ("ctrl", 1, 0),
        ("mpos", 7, 6),
        ("mquat", 9, 8),
    ] {
        let numbers = "1 ".repeat(count);
        let keyframe = format!("<key name='k' {attribute}='{numbers}'/>");
        let reason =
            format!("{attribute} of keyframe 'k' has {count} numbers, the model has {expected}");
        assert_refused(&with("", &keyframe), &reason);
    }
    assert_refused(
        &with(r#"<size nkey="100000000"/>"#, ""),
        "100000000 keyframes are too many to hold",
    );
}
