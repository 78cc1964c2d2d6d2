//! Plane and ellipsoid: the ellipsoid's support point against the normal.
//!
//! With s the radii and n the normal in the ellipsoid's frame, the support point is −s∘(s∘n)/|s∘n|.

use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// The point of a plane and an ellipsoid.
pub(super) fn collide<T: Scalar>(
    plane: &PosedShape<'_, T>,
    ellipsoid: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let normal = plane.axis();
    let size = ellipsoid.size;
    let local = ellipsoid.rotation.transpose_mul_vec(normal);
    let scaled = |v: Vec3<T>| Vec3([v[0] * size[0], v[1] * size[1], v[2] * size[2]]);
    let (direction, _) = scaled(local).normalized();
    let support = ellipsoid.position - ellipsoid.rotation.mul_vec(scaled(direction));
    let distance = (support - plane.position).dot(normal);
    let position = support - normal * (distance * 0.5);
    out.push_within(
        ContactPoint {
            distance,
            position,
            normal,
            tangent: Vec3::ZERO,
        },
        margin,
    );
}
