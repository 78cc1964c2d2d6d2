//! Plane and box: up to four corners on the lower side.

use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// Most corners that touch.
const MAX_CORNERS: usize = 4;

/// The points of a plane and a box.
pub(super) fn collide<T: Scalar>(
    plane: &PosedShape<'_, T>,
    cuboid: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let normal = plane.axis();
    let center_distance = (cuboid.position - plane.position).dot(normal);
    let mut found = 0;
    for corner in 0..8 {
        let sign = |axis: usize| if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
        let local = Vec3(std::array::from_fn(|axis| cuboid.size[axis] * sign(axis)));
        let offset = cuboid.rotation.mul_vec(local);
        let below = offset.dot(normal);
        let distance = center_distance + below;
        if distance.value() > margin.value() || below.value() > 0.0 {
            continue;
        }
        let position = offset + cuboid.position - normal * (distance * 0.5);
        out.push_feature(
            corner,
            ContactPoint {
                distance,
                position,
                normal,
                tangent: Vec3::ZERO,
            },
        );
        found += 1;
        if found == MAX_CORNERS {
            return;
        }
    }
}
