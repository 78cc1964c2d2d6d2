//! Scenes and frames of every model.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carom::{Data, Input, Model, State};
use carom_viewer::frame::{self, Moment};
use serde_json::Value;

use crate::client::{self, Frame};
use crate::models;

#[test]
fn every_shipped_model_has_a_scene_and_frames() {
    for path in models::shipped() {
        check(&path);
    }
}

#[test]
fn every_shared_model_has_a_scene_and_frames() {
    for path in models::shared() {
        check(&path);
    }
}

fn check(path: &std::path::Path) {
    let allow = ["all".to_owned()];
    let loaded = carom::load::file(path, &allow);
    let loaded = loaded.unwrap_or_else(|error| panic!("{}: {error:?}", path.display()));
    let model = &loaded.model;
    check_scene(model, &carom_viewer::scene(model, false));
    let (mut state, input, mut data) = (
        State::reference(model),
        Input::zeros(model),
        Data::new(model),
    );
    for steps in [0, 1, 50] {
        for _ in 0..steps {
            carom::step(model, &mut state, &input, &mut data);
        }
        carom::forward_and_sense(model, &state, &input, &mut data);
        let moment = Moment {
            model,
            state: &state,
            input: &input,
            data: &data,
        };
        let mut bytes = Vec::new();
        frame::write(&mut bytes, 7, &moment, None);
        check_frame(&moment, &Frame::read(&bytes), path);
    }
}

fn check_scene(model: &Model, scene: &Value) {
    let n = model.counts();
    let lists = [
        ("bodies", n.nbody),
        ("geoms", n.ngeom),
        ("meshes", n.nmesh),
        ("hfields", n.nheight_field),
        ("sites", n.nsite),
        ("joints", n.njoint),
        ("actuators", n.nu),
        ("sensors", n.nsensor),
        ("tendons", n.ntendon),
        ("keyframes", n.nkeyframe),
    ];
    for (name, count) in lists {
        assert_eq!(scene[name].as_array().unwrap().len(), count, "{name}");
    }
    assert_eq!(scene["version"], 1);
    assert!(scene["extent"].as_f64().unwrap() > 0.0);
    // JSON has no number that is not finite: one would have become null.
    let text = scene.to_string();
    assert!(!text.contains("[null") && !text.contains("null]"), "{text}");
    for (index, mesh) in scene["meshes"].as_array().unwrap().iter().enumerate() {
        let bytes = |key: &str| STANDARD.decode(mesh[key].as_str().unwrap()).unwrap();
        let (vertices, faces) = (bytes("vertices"), bytes("faces"));
        // Vertices at one place are one.
        let count = model.structure.meshes.vertices[index].len();
        assert!(!vertices.is_empty() && vertices.len() <= 12 * count);
        let (places, _) = vertices.as_chunks::<12>();
        let distinct: std::collections::BTreeSet<_> = places.iter().collect();
        assert_eq!(distinct.len(), places.len());
        assert!(!faces.is_empty() && faces.len() % 12 == 0);
        let (corners, _) = faces.as_chunks::<4>();
        let mut corners = corners
            .iter()
            .map(|corner| u32::from_le_bytes(*corner) as usize);
        assert!(corners.all(|corner| corner < vertices.len() / 12));
        let (numbers, _) = vertices.as_chunks::<4>();
        assert!(
            numbers
                .iter()
                .all(|number| f32::from_le_bytes(*number).is_finite())
        );
    }
    for field in scene["hfields"].as_array().unwrap() {
        let values = STANDARD.decode(field["values"].as_str().unwrap()).unwrap();
        let cells = field["rows"].as_u64().unwrap() * field["columns"].as_u64().unwrap();
        assert_eq!(values.len() as u64, 4 * cells);
    }
    for geom in scene["geoms"].as_array().unwrap() {
        assert_eq!(geom["kind"] == "mesh", geom["mesh"].is_u64(), "{geom}");
        assert_eq!(geom["kind"] == "hfield", geom["hfield"].is_u64(), "{geom}");
        let rgba = geom["rgba"].as_array().unwrap();
        let in_range = |part: &Value| (0.0..=1.0).contains(&part.as_f64().unwrap());
        assert!(rgba.len() == 4 && rgba.iter().all(in_range));
    }
}

/// Single precision of a number of this size.
fn close(found: f32, exact: f64) -> bool {
    (f64::from(found) - exact).abs() <= 1e-5 * exact.abs().max(1.0)
}

fn check_frame(moment: &Moment<'_>, frame: &Frame, path: &std::path::Path) {
    let (n, data, name) = (moment.model.counts(), moment.data, path.display());
    assert_eq!(frame.number, 7);
    assert_eq!(frame.time, moment.state.time);
    assert!(
        frame.energy.iter().all(|energy| energy.is_finite()),
        "{name}"
    );
    assert_eq!(frame.poses.len(), n.nbody);
    for (body, pose) in frame.poses.iter().enumerate() {
        let position = data.kinematics.body_position[body].0;
        let quat = data.kinematics.body_quat[body].0;
        let exact = position.into_iter().chain(quat);
        let is_close = pose
            .iter()
            .zip(exact)
            .all(|(found, exact)| close(*found, exact));
        assert!(is_close, "{name}: body {body}: {pose:?}");
    }
    let counted = data
        .collision
        .contacts
        .iter()
        .filter(|contact| !contact.excluded);
    assert_eq!(frame.contacts.len(), counted.count(), "{name}");
    let is_finite = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
    assert!(
        frame.contacts.iter().all(|contact| is_finite(contact)),
        "{name}"
    );
    let points: usize = data.tendon.path_length.iter().sum();
    assert_eq!(frame.tendons.len(), points, "{name}");
    for point in &frame.tendons {
        // The first number may say that the path is interrupted.
        assert!(is_finite(&point[1..]), "{name}");
    }
    let arrays = [
        (&frame.qpos, &moment.state.qpos),
        (&frame.ctrl, &moment.input.ctrl),
        (&frame.sensors, &data.sensing.values),
    ];
    for (found, exact) in arrays {
        assert_eq!(found.len(), exact.len());
        let mut pairs = found.iter().zip(exact);
        assert!(pairs.all(|(found, exact)| close(*found, *exact)), "{name}");
    }
}

/// A cube at rest: the forces of its contacts carry its weight, upwards, on the cube.
#[test]
fn contact_forces_carry_the_weight() {
    let model = client::load("cube.xml");
    let (mut state, input, mut data) = (
        State::reference(&model),
        Input::zeros(&model),
        Data::new(&model),
    );
    for _ in 0..3000 {
        carom::step(&model, &mut state, &input, &mut data);
    }
    carom::forward_and_sense(&model, &state, &input, &mut data);
    let moment = Moment {
        model: &model,
        state: &state,
        input: &input,
        data: &data,
    };
    let mut bytes = Vec::new();
    frame::write(&mut bytes, 1, &moment, None);
    let frame = Frame::read(&bytes);
    assert!(frame.contacts.len() >= 3, "{:?}", frame.contacts);
    let lift: f32 = frame.contacts.iter().map(|contact| contact[8]).sum();
    let weight = model.bodies.mass.iter().sum::<f64>() * -model.option.gravity[0][2];
    assert!(
        (f64::from(lift) - weight).abs() < 1e-3 * weight,
        "{lift} {weight}"
    );
    for contact in &frame.contacts {
        assert!((contact[5] - 1.0).abs() < 1e-6, "{contact:?}");
    }
}

/// Tendons over a pulley are in pieces, and those around geoms have a point where they leave them.
#[test]
fn tendon_paths_have_their_pieces() {
    let model = client::load("features/pulley.xml");
    let (state, input, mut data) = (
        State::reference(&model),
        Input::zeros(&model),
        Data::new(&model),
    );
    carom::forward_and_sense(&model, &state, &input, &mut data);
    let moment = Moment {
        model: &model,
        state: &state,
        input: &input,
        data: &data,
    };
    let mut bytes = Vec::new();
    frame::write(&mut bytes, 1, &moment, None);
    let frame = Frame::read(&bytes);
    assert!(frame.tendons.len() > 3);
    assert!(frame.tendons.iter().any(|point| point[0].is_nan()));
}

/// Colours come from the file: the geom's own, else its material's.
#[test]
fn colours_are_those_of_the_file() {
    let text = r#"<mujoco>
      <asset>
        <texture name="checks" type="2d" builtin="checker" rgb1="1 1 1" rgb2="0 0 0" width="8" height="8"/>
        <material name="steel" rgba="0.1 0.2 0.3 1" reflectance="0.25"/>
        <material name="floor" texture="checks"/>
      </asset>
      <statistic extent="3" center="0 0 1"/>
      <worldbody>
        <geom type="plane" size="1 1 1" material="floor"/>
        <geom size="0.1" material="steel"/>
        <geom size="0.1" material="steel" rgba="0.9 0 0 0.5"/>
        <geom size="0.1"/>
        <site name="tip" rgba="0 1 0 1"/>
      </worldbody>
    </mujoco>"#;
    let files = carom_spec::MemorySource::new().with("model.xml", text);
    let settings = carom_spec::mjcf::ReadSettings::default();
    let read = carom_spec::read::read("model.xml".as_ref(), &files, &settings);
    let model = carom::load::compiled(read).unwrap().model;
    let scene = carom_viewer::scene(&model, true);
    let color = |index: usize| scene["geoms"][index]["rgba"].to_string();
    assert_eq!(color(0), "[0.5,0.5,0.5,1.0]");
    assert_eq!(color(1), "[0.1,0.2,0.3,1.0]");
    assert_eq!(color(2), "[0.9,0.0,0.0,0.5]");
    assert_eq!(color(3), "[0.5,0.5,0.5,1.0]");
    assert_eq!(scene["geoms"][1]["material"]["reflectance"], 0.25);
    assert!(scene["geoms"][3]["material"].is_null());
    assert_eq!(scene["sites"][0]["rgba"].to_string(), "[0.0,1.0,0.0,1.0]");
    assert_eq!(
        (&scene["extent"], &scene["center"][2]),
        (&Value::from(3.0), &Value::from(1.0))
    );
    assert_eq!(scene["has_gradients"], true);
}
