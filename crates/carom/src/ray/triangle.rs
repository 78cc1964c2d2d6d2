//! Rays and triangles.
//!
//! Seen along the ray, the corners q₀, q₁, q₂ are points of a plane, and the ray passes through the triangle when the
//! origin is a convex combination of them: with barycentric t, t₀·(q₀ − q₂) + t₁·(q₁ − q₂) = −q₂.

use super::{Ray, SurfacePoint};
use crate::math::{MIN_LENGTH, Vec3};
use crate::scalar::Scalar;

/// Two directions across a ray that, with it, are orthogonal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Across([Vec3; 2]);

impl Across {
    pub(super) fn new(direction: Vec3) -> Self {
        let sizes = direction.0.map(f64::abs);
        let mut start = Vec3([1.0; 3]);
        let largest = if sizes[0] >= sizes[1] && sizes[0] >= sizes[2] {
            0
        } else if sizes[1] >= sizes[2] {
            1
        } else {
            2
        };
        start[largest] = 0.0;
        let along = direction.dot(start) / direction.norm_squared();
        let (second, _) = (start - direction * along).normalized();
        let (first, _) = second.cross(direction).normalized();
        Self([first, second])
    }
}

/// Distance at which a ray passes through a triangle.
pub(super) fn distance(corners: [Vec3; 3], ray: &Ray, across: &Across) -> Option<f64> {
    let seen = corners.map(|corner| across.0.map(|axis| axis.dot(corner - ray.origin)));
    for axis in 0..2 {
        let side = |corner: [f64; 2]| corner[axis];
        if seen.iter().all(|&corner| side(corner) > 0.0)
            || seen.iter().all(|&corner| side(corner) < 0.0)
        {
            return None;
        }
    }
    let [[x0, y0], [x1, y1], [x2, y2]] = seen;
    let determinant = (x0 - x2) * (y1 - y2) - (x1 - x2) * (y0 - y2);
    if determinant.abs() < MIN_LENGTH {
        return None;
    }
    let t0 = ((x1 - x2) * y2 - (y1 - y2) * x2) / determinant;
    let t1 = ((y0 - y2) * x2 - (x0 - x2) * y2) / determinant;
    if t0 < 0.0 || t1 < 0.0 || t0 + t1 > 1.0 {
        return None;
    }
    let normal = (corners[0] - corners[2]).cross(corners[1] - corners[2]);
    let rate = ray.direction.dot(normal);
    if rate.abs() < MIN_LENGTH {
        return None;
    }
    let distance = (corners[2] - ray.origin).dot(normal) / rate;
    (distance >= 0.0).then_some(distance)
}

/// Where a ray meets the plane of a triangle that it is known to pass through.
pub(super) fn point<T: Scalar>(corners: [Vec3<T>; 3], ray: &Ray<T>) -> SurfacePoint<T> {
    let [a, b, c] = corners;
    let normal = (a - c).cross(b - c);
    SurfacePoint {
        distance: (c - ray.origin).dot(normal) / ray.direction.dot(normal),
        normal: normal.normalized().0,
    }
}

/// The twin of [`point`]: cotangents of the ray and of the corners.
pub(super) fn point_vjp([a, b, c]: [Vec3; 3], ray: &Ray, bar: &SurfacePoint) -> (Ray, [Vec3; 3]) {
    let (along_a, along_b) = (a - c, b - c);
    let normal = along_a.cross(along_b);
    let rate = ray.direction.dot(normal);
    let distance = (c - ray.origin).dot(normal) / rate;
    let scale = bar.distance / rate;
    let mut normal_bar = (c - ray.at(distance)) * scale;
    normal.normalized_vjp(bar.normal, 0.0, &mut normal_bar);
    let (mut a_bar, mut b_bar) = (Vec3::ZERO, Vec3::ZERO);
    along_a.cross_vjp(along_b, normal_bar, &mut a_bar, &mut b_bar);
    let ray_bar = Ray {
        origin: normal * -scale,
        direction: normal * (-scale * distance),
    };
    (ray_bar, [a_bar, b_bar, normal * scale - a_bar - b_bar])
}
