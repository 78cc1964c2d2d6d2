//! Plane and capsule: the spheres at both ends, with the first tangent along the capsule.

use super::plane_sphere;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// The points of a plane and a capsule.
pub(super) fn collide<T: Scalar>(
    plane: &PosedShape<'_, T>,
    capsule: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let axis = capsule.axis();
    let half = axis * capsule.size[1];
    for (end, center) in [(0, capsule.position + half), (1, capsule.position - half)] {
        let point = plane_sphere::contact(plane.axis(), plane.position, center, capsule.size[0]);
        if point.distance.value() <= margin.value() {
            let point = ContactPoint {
                tangent: axis,
                ..point
            };
            out.push_feature(end, point);
        }
    }
}
