//! Rays and primitive shapes, in the frame of the shape.
//!
//! Quadrics |S·(p + x·v)|² = r² are met at the roots of a·x² + 2·b·x + c = 0; flat faces where one coordinate takes
//! the value of the face and the others are within it.

use super::{Ray, SurfacePoint};
use crate::math::{MIN_LENGTH, Vec3};
use crate::model::GeomKind;
use crate::scalar::Scalar;

/// Both roots of a·x² + 2·b·x + c = 0, the smaller first; none if there are no real ones or the equation is not
/// quadratic.
fn roots<T: Scalar>(a: T, b: T, c: T) -> Option<[T; 2]> {
    let discriminant = b * b - a * c;
    if discriminant.value() < 0.0 || a.value() < MIN_LENGTH {
        return None;
    }
    let root = discriminant.sqrt();
    Some([(-b - root) / a, (-b + root) / a])
}

/// The smallest root that is not negative.
fn first_root<T: Scalar>(a: T, b: T, c: T) -> Option<T> {
    roots(a, b, c)?.into_iter().find(|x| x.value() >= 0.0)
}

/// Keeps the nearer of two places.
fn keep_nearer<T: Scalar>(best: &mut Option<SurfacePoint<T>>, distance: T, normal: Vec3<T>) {
    if best.is_none_or(|best| distance.value() < best.distance.value()) {
        *best = Some(SurfacePoint { distance, normal });
    }
}

fn axis_vector<T: Scalar>(axis: usize, length: f64) -> Vec3<T> {
    let mut vector = Vec3::ZERO;
    vector[axis] = T::from(length);
    vector
}

/// Where a ray first meets a shape that is given by its size.
pub(super) fn meet<T: Scalar>(
    kind: GeomKind,
    size: Vec3<T>,
    ray: &Ray<T>,
) -> Option<SurfacePoint<T>> {
    match kind {
        GeomKind::Plane => plane(size, ray),
        GeomKind::Sphere => sphere(size[0], ray),
        GeomKind::Capsule => capsule(size, ray),
        GeomKind::Ellipsoid => ellipsoid(size, ray),
        GeomKind::Cylinder => cylinder(size, ray),
        GeomKind::Box => cuboid(size, ray),
        GeomKind::Mesh | GeomKind::HeightField => None,
    }
}

/// A plane, from its front side and within its rectangle.
fn plane<T: Scalar>(size: Vec3<T>, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    if ray.direction[2].value() > -MIN_LENGTH {
        return None;
    }
    let distance = -ray.origin[2] / ray.direction[2];
    let place = ray.at(distance);
    let within =
        |axis: usize| size[axis].value() <= 0.0 || place[axis].value().abs() <= size[axis].value();
    (distance.value() >= 0.0 && within(0) && within(1)).then(|| SurfacePoint {
        distance,
        normal: axis_vector(2, 1.0),
    })
}

/// A sphere.
fn sphere<T: Scalar>(radius: T, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    let distance = first_root(
        ray.direction.norm_squared(),
        ray.direction.dot(ray.origin),
        ray.origin.norm_squared() - radius * radius,
    )?;
    let (normal, _) = ray.at(distance).normalized();
    Some(SurfacePoint { distance, normal })
}

/// The round side of a capsule or cylinder.
fn round_side<T: Scalar>(radius: T, half: T, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    let ([px, py, _], [vx, vy, _]) = (ray.origin.0, ray.direction.0);
    let distance = first_root(
        vx * vx + vy * vy,
        vx * px + vy * py,
        px * px + py * py - radius * radius,
    )?;
    let [x, y, z] = ray.at(distance).0;
    (z.value().abs() <= half.value()).then(|| SurfacePoint {
        distance,
        normal: Vec3([x, y, T::ZERO]).normalized().0,
    })
}

/// A capsule: the round side, and half a sphere at each end.
fn capsule<T: Scalar>(size: Vec3<T>, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    let (radius, half) = (size[0], size[1]);
    let mut best = round_side(radius, half, ray);
    for end in [1.0, -1.0] {
        let center = axis_vector::<T>(2, end) * half;
        let offset = ray.origin - center;
        let Some(roots) = roots(
            ray.direction.norm_squared(),
            ray.direction.dot(offset),
            offset.norm_squared() - radius * radius,
        ) else {
            continue;
        };
        for distance in roots {
            let place = ray.at(distance);
            if distance.value() >= 0.0 && end * place[2].value() >= half.value() {
                keep_nearer(&mut best, distance, (place - center).normalized().0);
            }
        }
    }
    best
}

/// An ellipsoid.
fn ellipsoid<T: Scalar>(size: Vec3<T>, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    let weight = size.map(|radius| (radius * radius).recip());
    let distance = first_root(
        ray.direction.component_mul(weight).dot(ray.direction),
        ray.direction.component_mul(weight).dot(ray.origin),
        ray.origin.component_mul(weight).dot(ray.origin) - T::ONE,
    )?;
    let (normal, _) = ray.at(distance).component_mul(weight).normalized();
    Some(SurfacePoint { distance, normal })
}

/// A cylinder.
fn cylinder<T: Scalar>(size: Vec3<T>, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    let (radius, half) = (size[0], size[1]);
    let mut best = None;
    if ray.direction[2].value().abs() > MIN_LENGTH {
        for end in [-1.0, 1.0] {
            let distance = (half * end - ray.origin[2]) / ray.direction[2];
            let [x, y, _] = ray.at(distance).0;
            let within = (x * x + y * y).value() <= (radius * radius).value();
            if distance.value() >= 0.0 && within {
                keep_nearer(&mut best, distance, axis_vector(2, end));
            }
        }
    }
    if let Some(side) = round_side(radius, half, ray) {
        keep_nearer(&mut best, side.distance, side.normal);
    }
    best
}

/// A box.
pub(super) fn cuboid<T: Scalar>(size: Vec3<T>, ray: &Ray<T>) -> Option<SurfacePoint<T>> {
    let mut best = None;
    for (face, distance) in cuboid_faces(size, ray).into_iter().enumerate() {
        if let Some(distance) = distance {
            let outward = if face % 2 == 1 { 1.0 } else { -1.0 };
            keep_nearer(&mut best, distance, axis_vector(face / 2, outward));
        }
    }
    best
}

/// Where a ray meets each face of a box, in the order −x, +x, −y, +y, −z, +z.
pub(super) fn cuboid_faces<T: Scalar>(size: Vec3<T>, ray: &Ray<T>) -> [Option<T>; 6] {
    std::array::from_fn(|face| {
        let (axis, outward) = (face / 2, if face % 2 == 1 { 1.0 } else { -1.0 });
        if ray.direction[axis].value().abs() <= MIN_LENGTH {
            return None;
        }
        let distance = (size[axis] * outward - ray.origin[axis]) / ray.direction[axis];
        let place = ray.at(distance);
        let within =
            |other: usize| other == axis || place[other].value().abs() <= size[other].value();
        (distance.value() >= 0.0 && (0..3).all(within)).then_some(distance)
    })
}
