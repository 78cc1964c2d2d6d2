//! Plane and sphere: one point below the centre.

use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// The point of a plane and a sphere.
pub(super) fn collide<T: Scalar>(
    plane: &PosedShape<'_, T>,
    sphere: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let point = contact(
        plane.axis(),
        plane.position,
        sphere.position,
        sphere.size[0],
    );
    out.push_within(point, margin);
}

/// The point of a plane (unit normal and any of its points) and a sphere.
#[inline]
pub(super) fn contact<T: Scalar>(
    normal: Vec3<T>,
    on_plane: Vec3<T>,
    center: Vec3<T>,
    radius: T,
) -> ContactPoint<T> {
    let distance = (center - on_plane).dot(normal) - radius;
    ContactPoint {
        distance,
        position: center - normal * (distance * 0.5 + radius),
        normal,
        tangent: Vec3::ZERO,
    }
}
