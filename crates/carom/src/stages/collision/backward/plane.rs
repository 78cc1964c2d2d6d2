//! Planes and shapes with corners or round ends.
//!
//! A point x fixed to the shape, inside of it by the radius r, is above the plane (point q, unit normal n) by
//!
//!   d = (x − q)·n − r,     p = x − n·(d/2 + r).
//!
//! With D = d̄ − ½·p̄·n:   x̄ = p̄ + D·n,   q̄ = −D·n,   r̄ = −D − p̄·n,   and n̄ grows by D·(x − q) − p̄·(d/2 + r).

use super::{Cotangent, PairBar};
use crate::math::Vec3;
use crate::model::GeomKind;
use crate::stages::collision::narrow::plane_mesh;
use crate::stages::collision::{PosedShape, ShapeData};

pub(super) fn backward(
    [plane, shape]: [&PosedShape<'_>; 2],
    reach: f64,
    points: &[Cotangent],
    out: &mut PairBar<'_>,
) {
    let corners = match (shape.kind, shape.data) {
        (GeomKind::Mesh, ShapeData::Mesh { .. }) => plane_mesh::corners(plane, shape, reach),
        _ => [None; 4],
    };
    let mut corners = corners.into_iter().flatten();
    for cotangent in points {
        let (x, x_bar, radius_bar) = point(plane, shape, cotangent, out);
        let arm = x - shape.position;
        out.shapes[1].add_point(arm, x_bar);
        let local = |v: Vec3| shape.rotation.transpose_mul_vec(v);
        let size_bar = &mut out.shapes[1].size;
        match shape.kind {
            GeomKind::Sphere => size_bar[0] += radius_bar,
            GeomKind::Capsule => {
                let axis = shape.axis();
                size_bar[0] += radius_bar;
                size_bar[1] += side(arm.dot(axis)) * axis.dot(x_bar);
                out.shapes[1].add_direction(axis, cotangent.bar.tangent);
            }
            GeomKind::Mesh => {
                if let Some(corner) = corners.next() {
                    out.add_vertex(1, corner as usize, local(x_bar));
                }
            }
            _ => {
                let (place, bar) = (local(arm), local(x_bar));
                for axis in 0..3 {
                    size_bar[axis] += side(place[axis]) * bar[axis];
                }
            }
        }
    }
}

/// The point x with its cotangent and that of the radius; the plane takes its share.
fn point(
    plane: &PosedShape<'_>,
    shape: &PosedShape<'_>,
    Cotangent { point, bar }: &Cotangent,
    out: &mut PairBar<'_>,
) -> (Vec3, Vec3, f64) {
    let radius = match shape.kind {
        GeomKind::Sphere | GeomKind::Capsule => shape.size[0],
        _ => 0.0,
    };
    let normal = point.normal;
    let depth = point.distance * 0.5 + radius;
    let x = point.position + normal * depth;
    let along = bar.position.dot(normal);
    let height_bar = bar.distance - 0.5 * along;
    let normal_bar = bar.normal + (x - plane.position) * height_bar - bar.position * depth;
    let plane_bar = &mut out.shapes[0];
    plane_bar.force -= normal * height_bar;
    plane_bar.add_direction(normal, normal_bar);
    (x, bar.position + normal * height_bar, -height_bar - along)
}

/// On which side of zero a coordinate is.
fn side(coordinate: f64) -> f64 {
    if coordinate >= 0.0 { 1.0 } else { -1.0 }
}
