//! The adjoint of a ray that meets a shape, with the piece of surface held fixed.
//!
//! In the frame of the shape, primitives run once over dual numbers; triangles and walls have formulas. A rigid motion
//! of ray and shape leaves the distance and turns the normal n, so the wrench on the shape (centre c) follows from the
//! cotangents of the ray (origin o, direction v):
//!
//!   F = −ō,     T = n × n̄ − (o − c) × ō − v × v̄.

use super::height_field::Piece;
use super::{Ray, SurfacePoint, height_field, mesh, primitive, triangle};
use crate::dual::Dual;
use crate::math::Vec3;
use crate::model::{GeomKind, Model};
use crate::stages::collision::{PairBar, PosedShape, ShapeData, add_tangent, posed_shape};
use crate::stages::kinematics::Kinematics;

/// Adds the cotangents of the pose and the shape of a geom that a ray meets, and returns those of the ray.
pub(crate) fn meet_backward(
    model: &Model,
    kinematics: &Kinematics,
    (geom, ray): (usize, &Ray),
    bar: &SurfacePoint,
    (kinematics_bar, model_bar): (&mut Kinematics, &mut Model),
) -> Ray {
    let shape = posed_shape(model, kinematics, geom);
    let local = ray.seen_from(&shape);
    let local_bar = SurfacePoint {
        distance: bar.distance,
        normal: shape.rotation.transpose_mul_vec(bar.normal),
    };
    // The geom is the first of the pair; the ray takes the place of the second.
    let mut pair = PairBar::new([geom; 2], model_bar);
    let (local_bar, normal) = local_backward(&shape, &local, &local_bar, &mut pair);
    let ray_bar = Ray {
        origin: shape.rotation.mul_vec(local_bar.origin),
        direction: shape.rotation.mul_vec(local_bar.direction),
    };
    let sum = &mut pair.shapes[0];
    sum.add_point(ray.origin - shape.position, -ray_bar.origin);
    sum.add_direction(ray.direction, -ray_bar.direction);
    sum.add_direction(shape.rotation.mul_vec(normal), bar.normal);
    pair.finish(kinematics, kinematics_bar);
    ray_bar
}

/// In the frame of the shape: cotangents of the ray and the normal itself; those of sizes and corners are added.
fn local_backward(
    shape: &PosedShape<'_>,
    ray: &Ray,
    bar: &SurfacePoint,
    out: &mut PairBar<'_>,
) -> (Ray, Vec3) {
    let missed = (Ray::ZERO, Vec3::ZERO);
    match (shape.kind, shape.data) {
        (
            GeomKind::Mesh,
            ShapeData::Mesh {
                vertices, surface, ..
            },
        ) => {
            let Some(face) = mesh::first_face(vertices, surface, ray) else {
                return missed;
            };
            let ids = surface.triangles[face as usize];
            let corners = ids.map(|vertex| vertices[vertex as usize]);
            let (ray_bar, corners_bar) = triangle::point_vjp(corners, ray, bar);
            for (vertex, bar) in ids.into_iter().zip(corners_bar) {
                out.add_vertex(0, vertex as usize, bar);
            }
            (ray_bar, triangle::point(corners, ray).normal)
        }
        (
            GeomKind::HeightField,
            ShapeData::HeightField {
                grid,
                size,
                elevation,
            },
        ) => {
            let Some((point, piece)) = height_field::first(grid, size, elevation, ray) else {
                return missed;
            };
            let ray_bar = match piece {
                Piece::Triangle(id) => field_triangle(grid, size, elevation, (id, ray), bar, out),
                Piece::Flat => flat(&point, ray, bar, out),
            };
            (ray_bar, point.normal)
        }
        (kind, _) => primitive_backward(kind, shape.size, ray, bar, out).unwrap_or(missed),
    }
}

fn primitive_backward(
    kind: GeomKind,
    size: Vec3,
    ray: &Ray,
    bar: &SurfacePoint,
    out: &mut PairBar<'_>,
) -> Option<(Ray, Vec3)> {
    let seeded = |numbers: Vec3, start: usize| {
        Vec3(std::array::from_fn(|axis| {
            Dual::<9>::variable(numbers[axis], start + axis)
        }))
    };
    let lifted = Ray {
        origin: seeded(ray.origin, 0),
        direction: seeded(ray.direction, 3),
    };
    let point = primitive::meet(kind, seeded(size, 6), &lifted)?;
    let mut sums = [0.0; 9];
    add_tangent(&mut sums, point.distance, bar.distance);
    for axis in 0..3 {
        add_tangent(&mut sums, point.normal[axis], bar.normal[axis]);
    }
    let [x, y, z, u, v, w, rest @ ..] = sums;
    out.shapes[0].size += Vec3(rest);
    let ray_bar = Ray {
        origin: Vec3([x, y, z]),
        direction: Vec3([u, v, w]),
    };
    Some((ray_bar, point.normal.value()))
}

/// A triangle on top of a height field.
fn field_triangle(
    grid: [usize; 2],
    size: &[f64; 4],
    elevation: &[f64],
    (id, ray): ([usize; 3], &Ray),
    bar: &SurfacePoint,
    out: &mut PairBar<'_>,
) -> Ray {
    let [rows, columns] = grid;
    let samples = height_field::triangle_samples(id);
    let along = |index: usize, count: usize| 2.0 * index as f64 / (count - 1) as f64 - 1.0;
    let corners = samples.map(|[row, column]| {
        let height = elevation[row * columns + column] * size[2];
        Vec3([
            size[0] * along(column, columns),
            size[1] * along(row, rows),
            height,
        ])
    });
    let (ray_bar, corners_bar) = triangle::point_vjp(corners, ray, bar);
    for ([row, column], bar) in samples.into_iter().zip(corners_bar) {
        let sample = row * columns + column;
        out.add_field_size(0, 0, bar[0] * along(column, columns));
        out.add_field_size(0, 1, bar[1] * along(row, rows));
        out.add_field_size(0, 2, bar[2] * elevation[sample]);
        out.add_elevation(0, sample, bar[2] * size[2]);
    }
    ray_bar
}

/// A wall or the base of a height field: t = (±s − oₖ)/vₖ.
fn flat(point: &SurfacePoint, ray: &Ray, bar: &SurfacePoint, out: &mut PairBar<'_>) -> Ray {
    let normal = point.normal;
    let axis = (0..3).find(|&axis| normal[axis] != 0.0).unwrap_or(0);
    let rate = bar.distance / ray.direction[axis];
    // The upper side of the base is at zero.
    match (axis, normal[axis] > 0.0) {
        (2, true) => {}
        (2, false) => out.add_field_size(0, 3, -rate),
        (_, is_upper) => out.add_field_size(0, axis, if is_upper { rate } else { -rate }),
    }
    let mut ray_bar = Ray::ZERO;
    ray_bar.origin[axis] = -rate;
    ray_bar.direction[axis] = -rate * point.distance;
    ray_bar
}
