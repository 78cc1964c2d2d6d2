//! Two spheres: one point on the line of centres.

use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// The point of two spheres.
pub(super) fn collide<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let radii = [first.size[0], second.size[0]];
    let point = contact(
        [first.position, second.position],
        radii,
        [first.axis(), second.axis()],
    );
    out.push_within(point, margin);
}

/// The point of two spheres. Concentric spheres separate along the common perpendicular of the shapes' axes.
#[inline]
pub(super) fn contact<T: Scalar>(
    [center1, center2]: [Vec3<T>; 2],
    [radius1, radius2]: [T; 2],
    [axis1, axis2]: [Vec3<T>; 2],
) -> ContactPoint<T> {
    let (direction, length) = (center2 - center1).normalized();
    let normal = if length.value() < 1e-15 {
        axis1.cross(axis2).normalized().0
    } else {
        direction
    };
    let distance = length - radius1 - radius2;
    ContactPoint {
        distance,
        position: center1 + normal * (radius1 + distance * 0.5),
        normal,
        tangent: Vec3::ZERO,
    }
}
