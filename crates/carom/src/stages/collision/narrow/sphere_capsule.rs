//! Sphere and capsule: the sphere against the nearest sphere of the capsule.

use super::sphere_sphere;
use crate::scalar::Scalar;
use crate::stages::collision::{Manifold, PosedShape};

/// The point of a sphere and a capsule.
pub(super) fn collide<T: Scalar>(
    sphere: &PosedShape<'_, T>,
    capsule: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let (axis, half) = (capsule.axis(), capsule.size[1]);
    let along = (sphere.position - capsule.position)
        .dot(axis)
        .clamp(-half, half);
    let nearest = capsule.position + axis * along;
    let point = sphere_sphere::contact(
        [sphere.position, nearest],
        [sphere.size[0], capsule.size[0]],
        [sphere.axis(), axis],
    );
    out.push_within(point, margin);
}
