//! The scene: what of a model never changes, as JSON for the page.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carom::math::Vec3;
use carom::model::{
    BiasKind, GainKind, GeomKind, GeomShape, JointKind, Look, Model, SensorKind, Transmission,
};
use carom::{Data, State};
use serde_json::{Value, json};

/// Version of the protocol between the page and this crate.
pub const VERSION: u32 = 1;

/// Extent of a model in which nothing has a size (m).
const MIN_EXTENT: f64 = 0.1;

/// Describes a model for the page. `has_gradients` announces gradient arrows in the frames.
pub fn scene(model: &Model, has_gradients: bool) -> Value {
    let (n, structure) = (model.counts(), &*model.structure);
    let (extent, center) = extent(model);
    json!({
        "version": VERSION,
        "name": structure.names.model,
        "timestep": number(model.option.timestep[0]),
        "gravity": vector(&model.option.gravity[0].0),
        "extent": number(extent),
        "center": vector(&center.0),
        "nq": n.nq, "nv": n.nv, "nu": n.nu,
        "bodies": (0..n.nbody).map(|body| json_of_body(model, body)).collect::<Vec<_>>(),
        "geoms": (0..n.ngeom).map(|geom| json_of_geom(model, geom)).collect::<Vec<_>>(),
        "meshes": (0..n.nmesh).map(|mesh| json_of_mesh(model, mesh)).collect::<Vec<_>>(),
        "hfields": (0..n.nheight_field).map(|field| json_of_field(model, field)).collect::<Vec<_>>(),
        "sites": (0..n.nsite).map(|site| json_of_site(model, site)).collect::<Vec<_>>(),
        "joints": (0..n.njoint).map(|joint| json_of_joint(model, joint)).collect::<Vec<_>>(),
        "actuators": (0..n.nu).map(|control| json_of_control(model, control)).collect::<Vec<_>>(),
        "sensors": (0..n.nsensor).map(|sensor| json_of_sensor(model, sensor)).collect::<Vec<_>>(),
        "tendons": (0..n.ntendon).map(|tendon| json_of_tendon(model, tendon)).collect::<Vec<_>>(),
        "keyframes": keyframe_names(model),
        "lights": [],
        "has_gradients": has_gradients,
    })
}

fn json_of_body(model: &Model, body: usize) -> Value {
    json!({
        "name": name(&model.structure.names.bodies, body),
        "parent": model.structure.bodies.parent[body],
        "mass": number(model.bodies.mass[body]),
        "inertial_pos": vector(&model.bodies.inertial_position[body].0),
    })
}

fn json_of_geom(model: &Model, geom: usize) -> Value {
    let geoms = &model.structure.geoms;
    let (mesh, field) = match geoms.shape[geom] {
        GeomShape::Primitive => (None, None),
        GeomShape::Mesh(mesh) => (Some(mesh), None),
        GeomShape::HeightField(field) => (None, Some(field)),
    };
    let look = model.structure.appearance.geoms.get(geom);
    let material = look.and_then(|look| look.material).map(|shine| {
        json!({
            "specular": shine.specular, "shininess": shine.shininess,
            "reflectance": shine.reflectance, "emission": shine.emission,
        })
    });
    json!({
        "name": name(&model.structure.names.geoms, geom),
        "body": geoms.body[geom],
        "kind": kind_name(geoms.kind[geom]),
        "size": vector(&model.geoms.size[geom].0),
        "pos": vector(&model.geoms.position[geom].0),
        "quat": vector(&model.geoms.quat[geom].0),
        "rgba": color(look),
        "group": geoms.group[geom],
        "mesh": mesh, "hfield": field,
        "material": material,
        "collides": geoms.contype[geom] != 0 || geoms.conaffinity[geom] != 0,
    })
}

fn json_of_site(model: &Model, site: usize) -> Value {
    let kind = model.structure.sites.kind[site];
    // A site that is a mesh is drawn as the box around it, which is its size.
    let kind = if kind == GeomKind::Mesh {
        GeomKind::Box
    } else {
        kind
    };
    json!({
        "name": name(&model.structure.names.sites, site),
        "body": model.structure.sites.body[site],
        "kind": kind_name(kind),
        "size": vector(&model.sites.size[site].0),
        "pos": vector(&model.sites.position[site].0),
        "quat": vector(&model.sites.quat[site].0),
        "rgba": color(model.structure.appearance.sites.get(site)),
        "group": model.structure.sites.group[site],
    })
}

/// Vertices are in the frame of the geoms that use them; a mesh without faces shows its hull.
fn json_of_mesh(model: &Model, mesh: usize) -> Value {
    let meshes = &model.structure.meshes;
    let vertices = model.meshes.vertex[meshes.vertices[mesh].clone()].iter();
    let faces = &meshes.face[meshes.faces[mesh].clone()];
    let faces = if faces.is_empty() {
        &meshes.hull_face[meshes.hull_faces[mesh].clone()]
    } else {
        faces
    };
    let (places, corners) = welded(vertices.map(|vertex| vertex.0.map(single)), faces);
    json!({
        "name": name(&model.structure.names.meshes, mesh),
        "vertices": base64_of(places.into_iter().flatten().flatten()),
        "faces": base64_of(corners.into_iter().flatten().flat_map(u32::to_le_bytes)),
    })
}

/// A point in single precision, by its bytes.
type Point = [[u8; 4]; 3];

/// Vertices at one place become one: many files repeat them for every face.
fn welded(
    vertices: impl Iterator<Item = Point>,
    faces: &[[u32; 3]],
) -> (Vec<Point>, Vec<[u32; 3]>) {
    let (mut places, mut known) = (Vec::new(), BTreeMap::new());
    let mut index = Vec::new();
    for vertex in vertices {
        let next = u32::try_from(places.len()).unwrap_or(u32::MAX);
        let at = *known.entry(vertex).or_insert(next);
        if at == next {
            places.push(vertex);
        }
        index.push(at);
    }
    let corner = |corner: u32| index.get(corner as usize).copied().unwrap_or(0);
    (places, faces.iter().map(|face| face.map(corner)).collect())
}

fn json_of_field(model: &Model, field: usize) -> Value {
    let fields = &model.structure.height_fields;
    let [rows, columns] = fields.size[field];
    let values = model.height_fields.elevation[fields.values[field].clone()].iter();
    json!({
        "rows": rows, "columns": columns,
        "size": vector(&model.height_fields.size[field]),
        "values": base64_of(values.copied().flat_map(single)),
    })
}

fn json_of_joint(model: &Model, joint: usize) -> Value {
    let joints = &model.structure.joints;
    let kind = match joints.kind[joint] {
        JointKind::Free => "free",
        JointKind::Ball => "ball",
        JointKind::Slide => "slide",
        JointKind::Hinge => "hinge",
    };
    let range = joints.limited[joint].then(|| vector(&model.joints.range[joint]));
    json!({
        "name": name(&model.structure.names.joints, joint),
        "kind": kind,
        "body": joints.body[joint],
        "pos": vector(&model.joints.position[joint].0),
        "axis": vector(&model.joints.axis[joint].0),
        "range": range,
        "qpos": joints.qpos[joint],
        "dof": joints.dof[joint],
    })
}

fn json_of_control(model: &Model, control: usize) -> Value {
    json!({
        "name": name(&model.structure.control_names(), control),
        "range": model.control_range(control).map(|range| vector(&range)),
        "unit": control_unit(model, model.structure.actuators.control_owner[control]),
    })
}

/// The unit of a control where it is plain: forces of motors, set points of servos. Empty for all others.
fn control_unit(model: &Model, actuator: usize) -> &'static str {
    let actuators = &model.structure.actuators;
    let is_turn = match actuators.transmission[actuator] {
        Transmission::Joint(joint) => match model.structure.joints.kind[joint] {
            JointKind::Hinge => true,
            JointKind::Slide => false,
            JointKind::Ball | JointKind::Free => return "",
        },
        // Lengths of others are mixtures of what their joints have.
        Transmission::Tendon(tendon) if model.structure.tendons.spatial[tendon] => false,
        _ => return "",
    };
    let (gain, bias) = (
        &model.actuators.gain[actuator],
        &model.actuators.bias[actuator],
    );
    let units = match (actuators.gain[actuator], actuators.bias[actuator]) {
        (GainKind::Fixed, BiasKind::None)
            if gain[0] == 1.0 && model.actuators.gear[actuator][0] == 1.0 =>
        {
            ["N", "N·m"]
        }
        (GainKind::Fixed, BiasKind::Affine) if gain[0] == -bias[1] => ["m", "rad"],
        (GainKind::Fixed, BiasKind::Affine) if bias[1] == 0.0 && gain[0] == -bias[2] => {
            ["m/s", "rad/s"]
        }
        _ => return "",
    };
    units[usize::from(is_turn)]
}

fn json_of_sensor(model: &Model, sensor: usize) -> Value {
    let sensors = &model.structure.sensors;
    json!({
        "name": name(&model.structure.names.sensors, sensor),
        "kind": sensor_words(sensors.list[sensor].kind),
        "start": sensors.address[sensor],
        "dim": sensors.dimension[sensor],
    })
}

/// `FrameLinearVelocity` becomes `frame linear velocity`.
fn sensor_words(kind: SensorKind) -> String {
    let text = format!("{kind:?}");
    let variant = text.split([' ', '(', '{']).next().unwrap_or_default();
    let mut words = String::new();
    for character in variant.chars() {
        if character.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(character.to_lowercase());
    }
    words
}

fn json_of_tendon(model: &Model, tendon: usize) -> Value {
    let appearance = &model.structure.appearance;
    let width = appearance.tendon_width.get(tendon);
    json!({
        "name": name(&model.structure.names.tendons, tendon),
        "rgba": color(appearance.tendons.get(tendon)),
        "width": width.copied().map(number),
    })
}

/// Names of the keyframes; those without one get their number.
fn keyframe_names(model: &Model) -> Vec<String> {
    let names = &model.structure.names.keyframes;
    let named = |index: usize| match name(names, index) {
        "" => format!("{index}"),
        name => name.to_owned(),
    };
    (0..model.counts().nkeyframe).map(named).collect()
}

fn name(names: &[String], index: usize) -> &str {
    names.get(index).map_or("", String::as_str)
}

fn kind_name(kind: GeomKind) -> &'static str {
    match kind {
        GeomKind::Plane => "plane",
        GeomKind::HeightField => "hfield",
        GeomKind::Sphere => "sphere",
        GeomKind::Capsule => "capsule",
        GeomKind::Ellipsoid => "ellipsoid",
        GeomKind::Cylinder => "cylinder",
        GeomKind::Box => "box",
        GeomKind::Mesh => "mesh",
    }
}

fn color(look: Option<&Look>) -> Value {
    vector(look.map_or(&[0.5, 0.5, 0.5, 1.0], |look| &look.rgba))
}

/// Size and centre of the model at its start: as the file says, else of the box around all geoms that end somewhere.
fn extent(model: &Model) -> (f64, Vec3) {
    let mut data = Data::new(model);
    carom::forward(
        model,
        &State::reference(model),
        &carom::Input::zeros(model),
        &mut data,
    );
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let mut include = |center: Vec3, radius: f64| {
        for axis in 0..3 {
            if center[axis].is_finite() && radius.is_finite() {
                low[axis] = low[axis].min(center[axis] - radius);
                high[axis] = high[axis].max(center[axis] + radius);
            }
        }
    };
    let kinematics = &data.kinematics;
    for (geom, &center) in kinematics.geom_position.iter().enumerate() {
        if model.structure.geoms.kind[geom] != GeomKind::Plane {
            include(center, model.geoms.bounding_radius[geom]);
        }
    }
    for &center in &kinematics.body_position[1..] {
        include(center, 0.0);
    }
    for &center in &kinematics.site_position {
        include(center, 0.0);
    }
    if low[0] > high[0] {
        (low, high) = ([-1.0; 3], [1.0; 3]);
    }
    let middle = Vec3(std::array::from_fn(|axis| 0.5 * (low[axis] + high[axis])));
    let sides = (0..3).map(|axis| high[axis] - low[axis]);
    let size = sides.fold(MIN_EXTENT, f64::max);
    let appearance = &model.structure.appearance;
    (
        appearance.extent.unwrap_or(size),
        appearance.center.map_or(middle, Vec3),
    )
}

/// A number that JSON can hold; others become zero.
fn number(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

fn vector(numbers: &[f64]) -> Value {
    numbers.iter().copied().map(number).collect()
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the page draws in single precision"
)]
fn single(number: f64) -> [u8; 4] {
    (number as f32).to_le_bytes()
}

fn base64_of(bytes: impl Iterator<Item = u8>) -> String {
    STANDARD.encode(bytes.collect::<Vec<u8>>())
}
