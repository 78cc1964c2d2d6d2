//! Whether the model that a file gives is the one that was found.
//!
//! All numbers are compared. Where vertices of meshes have moved, the compiler has put these meshes into other frames, since it takes
//! those of their inertia, and files have vertices in single precision: then meshes are compared where they are in their bodies, and
//! inertias as matrices.

use carom::Model;
use carom::math::{Pose, SpatialInertia, Vec3};
use carom::model::GeomShape;
use carom::quantity::{Family, Quantity};
use carom::{Error, ErrorKind};

/// Numbers may differ by this part, and by this part of 10⁻⁶ where they are small.
const EXACT: (f64, f64) = (1e-9, 1e-6);
/// The same after single precision.
const SINGLE: (f64, f64) = (1e-5, 1e-2);

/// Compares the model that was found with the one that was read again; what differs is the error.
pub(super) fn check(wanted: &Model, found: &Model, moved_meshes: &[usize]) -> Result<(), Error> {
    if wanted.counts() != found.counts() {
        return Err(differs("it would have other elements"));
    }
    // First, since all else follows from it.
    check_meshes(wanted, found, moved_meshes)?;
    let mut expected = Vec::new();
    wanted.for_each(|_, _, _, number| expected.push(number));
    let precision = if moved_meshes.is_empty() {
        EXACT
    } else {
        SINGLE
    };
    let is_moved = |geom: usize| match wanted.structure.geoms.shape[geom] {
        GeomShape::Mesh(mesh) => moved_meshes.contains(&mesh),
        GeomShape::Primitive | GeomShape::HeightField(_) => false,
    };
    let is_in_another_frame = |quantity: Quantity, element: usize| match quantity {
        Quantity::BodyInertialQuat | Quantity::BodyInertia | Quantity::BodyInertiaProducts => true,
        Quantity::GeomPosition
        | Quantity::GeomQuat
        | Quantity::GeomBoundingBox
        | Quantity::GeomBoundingRadius
        | Quantity::GeomSize => is_moved(element),
        _ => quantity.family() == Family::Meshes,
    };
    let mut index = 0;
    let mut wrong = None;
    found.for_each(|quantity, element, _, number| {
        let other = expected.get(index).copied().unwrap_or(f64::NAN);
        index += 1;
        let is_left_out = !moved_meshes.is_empty() && is_in_another_frame(quantity, element);
        if !is_left_out && !agree(other, number, precision) && wrong.is_none() {
            let row = quantity.row();
            let (field, family) = (row.field, row.family.name());
            wrong = Some(format!(
                "{field} of {family} {element} would be {number}, not {other}"
            ));
        }
    });
    match wrong {
        Some(wrong) => Err(differs(wrong)),
        None if moved_meshes.is_empty() => Ok(()),
        None => check_inertias(wanted, found),
    }
}

fn agree(wanted: f64, found: f64, (part, least): (f64, f64)) -> bool {
    let size = wanted.abs().max(found.abs()).max(least);
    (wanted - found).abs() <= part * size || wanted.to_bits() == found.to_bits()
}

/// Compares vertices in the frames of bodies, and which of them are corners of the hull.
fn check_meshes(wanted: &Model, found: &Model, moved: &[usize]) -> Result<(), Error> {
    let structure = &wanted.structure;
    for (geom, shape) in structure.geoms.shape.iter().enumerate() {
        let GeomShape::Mesh(mesh) = *shape else {
            continue;
        };
        if !moved.contains(&mesh) {
            continue;
        }
        let placed = |model: &Model| -> Vec<Vec3> {
            let pose = Pose::new(model.geoms.position[geom], model.geoms.quat[geom]);
            let vertices = &model.meshes.vertex[structure.meshes.vertices[mesh].clone()];
            vertices
                .iter()
                .map(|&vertex| pose.transform_point(vertex))
                .collect()
        };
        let (before, after) = (placed(wanted), placed(found));
        let name = &structure.names.meshes[mesh];
        for (vertex, (one, other)) in before.iter().zip(&after).enumerate() {
            if !(0..3).all(|axis| agree(one[axis], other[axis], SINGLE)) {
                return Err(differs(format!(
                    "vertex {vertex} of mesh '{name}' would be at {:?}, not {:?}",
                    other.0, one.0
                )));
            }
        }
        let corners = |model: &Model| {
            let mut corners = model.structure.meshes.hull_topology[mesh].vertices.clone();
            corners.sort_unstable();
            corners
        };
        if corners(wanted) != corners(found) {
            return Err(differs(format!(
                "the vertices of mesh '{name}' have left its convex hull or come into it, so that other ones would collide; give them bounds"
            )));
        }
    }
    Ok(())
}

/// Compares inertias of bodies about their frames.
fn check_inertias(wanted: &Model, found: &Model) -> Result<(), Error> {
    for (body, name) in wanted.structure.names.bodies.iter().enumerate() {
        let matrix = |model: &Model| {
            let numbers = &model.bodies;
            let rotation = numbers.inertial_quat[body].to_mat3();
            let (inertia, mass) = (numbers.inertia[body], numbers.mass[body]);
            let offset = numbers.inertial_position[body];
            let mut whole = SpatialInertia::from_body(inertia, &rotation, offset, mass);
            whole.add_products(numbers.inertia_products[body], &rotation);
            whole.0
        };
        let (one, other) = (matrix(wanted), matrix(found));
        let size = one[..3].iter().sum::<f64>();
        let is_other = (one[..6].iter().zip(&other)).any(|(a, b)| (a - b).abs() > SINGLE.0 * size);
        if is_other {
            return Err(differs(format!(
                "the inertia of body '{name}' would be {:?}, not {:?}",
                &other[..6],
                &one[..6]
            )));
        }
    }
    Ok(())
}

/// A description that gives another model.
fn differs(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Description, why)
}
