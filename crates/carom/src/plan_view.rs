//! Bodies that stand upright on a table, from above: convex outlines about their centres of mass.

use carom_planar::{Outline, Standing};

use crate::error::{Error, ErrorKind};
use crate::math::{Quat, Vec3};
use crate::model::{GeomKind, GeomShape, JointKind, Model};

/// Corners of the polygon that stands for a circle.
const CIRCLE: usize = 96;

/// The body of that name, with the corners of its geoms.
///
/// # Errors
/// When there is none, or its geoms have shapes that have no outline here.
pub fn standing(model: &Model, name: &str) -> Result<Standing, Error> {
    let body = body(model, name)?;
    let points = corners(model, body)?;
    let centre = model.bodies.inertial_position[body].0;
    let low = points.iter().fold(f64::INFINITY, |low, p| low.min(p[2]));
    let mass = model.bodies.mass[body];
    let axis = model.bodies.inertial_quat[body];
    let up = axis.conjugate().rotate(Vec3([0.0, 0.0, 1.0])).0;
    let inertia = model.bodies.inertia[body].0;
    let about: f64 = (0..3).map(|i| inertia[i] * up[i] * up[i]).sum();
    Ok(Standing {
        outline: outline(&points, [centre[0], centre[1]])?,
        mass,
        gyration: (about / mass).sqrt(),
        height: centre[2] - low,
        gravity: model.option.gravity[0].0[2].abs(),
    })
}

/// The outline of a held body about the origin of its frame, as recordings have its pose.
///
/// # Errors
/// As [`standing`].
pub fn held(model: &Model, name: &str) -> Result<Outline, Error> {
    outline(&corners(model, body(model, name)?)?, [0.0; 2])
}

/// The id of the body of that name.
///
/// # Errors
/// When there is none.
pub fn body(model: &Model, name: &str) -> Result<usize, Error> {
    let names = &model.structure.names.bodies;
    names.iter().position(|known| known == name).ok_or_else(|| {
        let why = format!("there is no body '{name}' in the model");
        let known = names.get(1..).unwrap_or_default().join(", ");
        Error::new(ErrorKind::Name, why).remedy(format!("its bodies are {known}"))
    })
}

fn outline(points: &[[f64; 3]], about: [f64; 2]) -> Result<Outline, Error> {
    let plan: Vec<[f64; 2]> = (points.iter())
        .map(|p| [p[0] - about[0], p[1] - about[1]])
        .collect();
    Outline::of_points(&plan).ok_or_else(|| {
        let why = "the outline of a body spans no area on the table";
        Error::new(ErrorKind::Unsupported, why)
            .remedy("give the body geoms with a volume: meshes, boxes, cylinders")
    })
}

/// Corners of the geoms of a body, in its frame.
pub(crate) fn corners(model: &Model, body: usize) -> Result<Vec<[f64; 3]>, Error> {
    let structure = &*model.structure;
    let mut points: Vec<[f64; 3]> = Vec::new();
    for geom in structure.bodies.geoms[body].clone() {
        let (place, turn) = (model.geoms.position[geom], model.geoms.quat[geom]);
        let size = model.geoms.size[geom].0;
        let local: Vec<[f64; 3]> = match (structure.geoms.kind[geom], structure.geoms.shape[geom]) {
            (_, GeomShape::Mesh(mesh)) => {
                let range = structure.meshes.vertices[mesh].clone();
                model.meshes.vertex[range].iter().map(|v| v.0).collect()
            }
            (GeomKind::Box, _) => (0..8)
                .map(|k| [0, 1, 2].map(|i| if k >> i & 1 == 1 { size[i] } else { -size[i] }))
                .collect(),
            (GeomKind::Cylinder, _) => (0..2 * CIRCLE)
                .map(|k| {
                    let angle = std::f64::consts::TAU * (k / 2) as f64 / CIRCLE as f64;
                    let end = if k % 2 == 0 { size[1] } else { -size[1] };
                    [size[0] * angle.cos(), size[0] * angle.sin(), end]
                })
                .collect(),
            _ => {
                let name = &structure.names.bodies[body];
                let why = format!("a geom of body '{name}' is no mesh, box or cylinder");
                return Err(Error::new(ErrorKind::Unsupported, why)
                    .remedy("give the body a mesh: its outline is read from the corners"));
            }
        };
        points.extend(
            local
                .iter()
                .map(|&point| (place + turn.rotate(Vec3(point))).0),
        );
    }
    Ok(points)
}

/// First coordinate and first dof of a body that has a free joint.
pub fn free_joint(model: &Model, body: usize) -> Option<[usize; 2]> {
    let joints = &model.structure.joints;
    let joint = model.structure.bodies.joints[body].clone().next()?;
    (joints.kind[joint] == JointKind::Free).then(|| [joints.qpos[joint], joints.dof[joint]])
}

/// Coordinates and dofs of a body that moves in the plane of the world: slides along x and y, then a hinge about z.
pub fn held_joints(model: &Model, body: usize) -> Option<[[usize; 2]; 3]> {
    let (bodies, joints) = (&model.structure.bodies, &model.structure.joints);
    let own = bodies.joints[body].clone();
    if own.len() != 3 || bodies.parent[body] != 0 || model.bodies.quat[body] != Quat::identity() {
        return None;
    }
    let wanted = [
        (JointKind::Slide, [1.0, 0.0, 0.0]),
        (JointKind::Slide, [0.0, 1.0, 0.0]),
        (JointKind::Hinge, [0.0, 0.0, 1.0]),
    ];
    let mut found = [[0; 2]; 3];
    for ((joint, (kind, axis)), target) in own.zip(wanted).zip(&mut found) {
        let numbers = &model.joints;
        let is_at_origin = kind == JointKind::Slide || numbers.position[joint] == Vec3::ZERO;
        let is_zero_based = model.qpos.reference[joints.qpos[joint]] == 0.0;
        if joints.kind[joint] != kind
            || numbers.axis[joint] != Vec3(axis)
            || !is_at_origin
            || !is_zero_based
        {
            return None;
        }
        *target = [joints.qpos[joint], joints.dof[joint]];
    }
    Some(found)
}
