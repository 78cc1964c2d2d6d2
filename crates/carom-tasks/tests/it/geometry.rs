//! Recordings that do not fit the geometry of the model are noticed.

use carom_tasks::recording::{self, Mapping};

use crate::support::{Folder, model_of};

const BOX: &str = r#"<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
  <body name="box"><freejoint/><geom name="box" type="box" size="0.2 0.1 0.05" mass="1"/></body></worldbody></mujoco>"#;

type Arrays<'a> = Vec<(&'a str, Vec<usize>, Vec<f64>)>;

fn warnings(model: &str, mapping: &str, arrays: &Arrays<'_>) -> Vec<String> {
    let folder = Folder::new("geometry");
    let model = model_of(&folder, model);
    let arrays: Vec<(&str, &[usize], Vec<f64>)> = (arrays.iter())
        .map(|(name, shape, values)| (*name, &shape[..], values.clone()))
        .collect();
    let path = folder.npz("motion.npz", &arrays);
    let mapping = Mapping::parse(mapping, "map.toml").unwrap();
    recording::load(&model, &mapping, &[path]).unwrap().warnings
}

const POSE: &str = "time.rate = 100\n[[body]]\nname = 'box'\nposition = 'p'\nrotation = 'q'\n";

/// A box that slides over the floor, by its height and quaternion.
fn sliding(height: f64, quat: [f64; 4]) -> Arrays<'static> {
    let frames = 30;
    let positions = (0..frames).flat_map(|k| [0.01 * f64::from(k), 0.0, height]);
    let count = usize::try_from(frames).unwrap();
    vec![
        ("p", vec![count, 3], positions.collect()),
        ("q", vec![count, 4], quat.repeat(count)),
    ]
}

#[test]
fn a_body_inside_the_floor_is_noticed() {
    let flat = [1.0, 0.0, 0.0, 0.0];
    assert_eq!(warnings(BOX, POSE, &sliding(0.05, flat)), [""; 0]);
    assert_eq!(
        warnings(BOX, POSE, &sliding(0.049, flat)),
        [""; 0],
        "soft contacts"
    );
    let [found] = &warnings(BOX, POSE, &sliding(0.012, flat))[..] else {
        panic!()
    };
    let words = [
        "'box' is 38 mm inside of 'floor' in frame 0 of motion.npz",
        "units",
    ];
    assert!(words.iter().all(|words| found.contains(words)), "{found}");
}

/// A quarter turn about x lets the box stand on its side; read in the other order it is turned about another axis.
#[test]
fn the_order_of_quaternions_is_told_by_the_floor() {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    // x y z w of a box that stands on its end.
    let standing = [0.0, half, 0.0, half];
    let right = POSE.replace("rotation = 'q'", "rotation = 'q'\nrotation_format = 'xyzw'");
    assert_eq!(warnings(BOX, &right, &sliding(0.2, standing)), [""; 0]);
    // Flat on the floor, but read as standing.
    let flat = [half, 0.0, half, 0.0];
    assert_eq!(warnings(BOX, POSE, &sliding(0.2, flat)), [""; 0]);
    let lying = [0.0, half, 0.0, half];
    let found = warnings(BOX, POSE, &sliding(0.05, lying));
    assert!(
        found.iter().all(|one| !one.contains("xyzw")),
        "a box on its face both ways: {found:?}"
    );
    let edge = [0.0, 0.0, half, half];
    let found = warnings(BOX, POSE, &sliding(0.05, edge));
    let hint = found.iter().find(|one| one.contains("inside of"));
    assert!(
        hint.is_some_and(|one| one.contains("rotation_format = \"xyzw\"")),
        "{found:?}"
    );
}

/// A body that tumbles, with angular velocities in its own axes.
#[test]
fn rotations_that_do_not_turn_as_recorded_are_noticed() {
    let (rate, count) = (3.0, 50_usize);
    let axis = [0.48, 0.6, 0.64];
    let mut quats = Vec::new();
    let mut other_order = Vec::new();
    for frame in 0..count {
        let (sine, cosine) = (0.5 * rate * 0.01 * frame as f64 + 0.4).sin_cos();
        let [x, y, z] = axis.map(|part| part * sine);
        quats.extend([cosine, x, y, z]);
        other_order.extend([x, y, z, cosine]);
    }
    let arrays = |quats: &[f64]| -> Arrays<'static> {
        vec![
            ("p", vec![count, 3], [0.0, 0.0, 1.0].repeat(count)),
            ("q", vec![count, 4], quats.to_vec()),
            (
                "w",
                vec![count, 3],
                axis.map(|part| part * rate).repeat(count),
            ),
        ]
    };
    let mapping = format!("{POSE}angular_velocity = 'w'\n");
    let told = |found: &[String]| {
        found
            .iter()
            .any(|one| one.contains("rotation_format = \"xyzw\"") && one.contains("one motion"))
    };
    assert!(!told(&warnings(BOX, &mapping, &arrays(&quats))));
    assert!(told(&warnings(BOX, &mapping, &arrays(&other_order))));
}

#[test]
fn joints_outside_of_their_ranges_are_noticed() {
    let model = |angle: &str, range: &str| {
        format!(
            "<mujoco><compiler angle='{angle}'/><worldbody><body><joint name='j' axis='0 1 0' range='{range}'/>\
             <geom size='0.1' pos='0 0 -0.3'/></body></worldbody>\
             <actuator><general name='offset' joint='j' gainprm='0' biastype='affine' biasprm='0.1'/></actuator></mujoco>"
        )
    };
    let mapping = "time.rate = 100\n[[joint]]\nname = 'j'\nposition = 'q'\n";
    let angles: Vec<f64> = (0..40).map(|k| (0.1 * f64::from(k)).sin()).collect();
    let arrays = vec![("q", vec![40], angles)];
    let found = |angle: &str, range: &str| warnings(&model(angle, range), mapping, &arrays);
    // An actuator without gain has no control to map, and is not spoken of.
    assert_eq!(found("radian", "-1.5 1.5"), [""; 0]);
    assert_eq!(found("degree", "-90 90"), [""; 0]);
    let [turns] = &found("radian", "-90 90")[..] else {
        panic!()
    };
    assert!(
        turns.contains("many turns") && turns.contains("angle=\"degree\""),
        "{turns}"
    );
    let [outside] = &found("degree", "-1.5 1.5")[..] else {
        panic!()
    };
    assert!(
        outside.contains("outside of its range") && outside.contains("degrees?"),
        "{outside}"
    );
}
