//! Rays and the triangles of a mesh.

use super::triangle::{self, Across};
use super::{Ray, SurfacePoint};
use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::MeshSurface;

/// Where a ray first meets a mesh.
pub(super) fn meet<T: Scalar>(
    vertices: &[Vec3<T>],
    surface: MeshSurface<'_, T>,
    ray: &Ray<T>,
) -> Option<SurfacePoint<T>> {
    let face = first_face(vertices, surface, ray)?;
    let corners = surface.triangles[face as usize].map(|vertex| vertices[vertex as usize]);
    Some(triangle::point(corners, ray))
}

/// The triangle that a ray first meets.
pub(super) fn first_face<T: Scalar>(
    vertices: &[Vec3<T>],
    surface: MeshSurface<'_, T>,
    ray: &Ray<T>,
) -> Option<u32> {
    let seen = ray.values();
    let across = Across::new(seen.direction);
    let inverse = seen.direction.map(f64::recip);
    let nodes = surface.tree.nodes();
    let mut first: Option<(u32, f64)> = None;
    let mut index = 0;
    while let Some(&node) = nodes.get(index) {
        let nearest = first.map_or(f64::INFINITY, |(_, distance)| distance);
        let [low, high] =
            [surface.box_low[index], surface.box_high[index]].map(|corner| corner.map(T::value));
        if !reaches(low, high, seen.origin, inverse, nearest) {
            index = node.next as usize;
            continue;
        }
        for &face in surface.tree.triangles(node) {
            let corners = surface.triangles[face as usize]
                .map(|vertex| vertices[vertex as usize].map(Scalar::value));
            if let Some(distance) = triangle::distance(corners, &seen, &across)
                && first.is_none_or(|(_, nearest)| distance < nearest)
            {
                first = Some((face, distance));
            }
        }
        index += 1;
    }
    first.map(|(face, _)| face)
}

/// Whether a ray enters a box before a distance, by its passage between the three pairs of planes.
fn reaches(low: Vec3, high: Vec3, origin: Vec3, inverse: Vec3, nearest: f64) -> bool {
    let (mut enter, mut leave) = (0.0_f64, nearest);
    for axis in 0..3 {
        // A ray along the faces is between them or never.
        if inverse[axis].is_infinite() {
            if origin[axis] < low[axis] || origin[axis] > high[axis] {
                return false;
            }
            continue;
        }
        let a = (low[axis] - origin[axis]) * inverse[axis];
        let b = (high[axis] - origin[axis]) * inverse[axis];
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    // Room for the rounding of the divisions.
    enter <= leave * (1.0 + 1e-12) + 1e-300
}
