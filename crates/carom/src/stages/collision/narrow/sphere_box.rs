//! Sphere and box: the box point nearest to the centre or, with the centre inside, the nearest face.

use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// The point of a sphere and a box.
pub(super) fn collide<T: Scalar>(
    sphere: &PosedShape<'_, T>,
    cuboid: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let center = cuboid
        .rotation
        .transpose_mul_vec(sphere.position - cuboid.position);
    out.push_within(contact(center, sphere.size[0], cuboid), margin);
}

/// The point of a box and a sphere whose centre is given in the frame of the box.
pub(super) fn contact<T: Scalar>(
    center: Vec3<T>,
    radius: T,
    cuboid: &PosedShape<'_, T>,
) -> ContactPoint<T> {
    let nearest = Vec3(std::array::from_fn(|axis| {
        center[axis].clamp(-cuboid.size[axis], cuboid.size[axis])
    }));
    let (direction, gap) = (nearest - center).normalized();
    let (distance, position, normal) = if gap.value() <= 1e-15 {
        let (normal, depth) = nearest_face(center, cuboid.size);
        (
            -depth - radius,
            center + normal * ((radius - depth) * 0.5),
            normal,
        )
    } else {
        let deepest = center + direction * radius;
        (gap - radius, (nearest + deepest) * 0.5, direction)
    };
    ContactPoint {
        distance,
        position: cuboid.position + cuboid.rotation.mul_vec(position),
        normal: cuboid.rotation.mul_vec(normal),
        tangent: Vec3::ZERO,
    }
}

/// Inward normal and depth of the face nearest to a point inside.
fn nearest_face<T: Scalar>(center: Vec3<T>, size: Vec3<T>) -> (Vec3<T>, T) {
    let mut best: Option<(Vec3<T>, T)> = None;
    for face in 0..6 {
        let (axis, outward) = (face / 2, if face % 2 == 1 { 1.0 } else { -1.0 });
        let depth = (size[axis] * outward - center[axis]).abs();
        if best.is_none_or(|(_, least)| depth.value() < least.value()) {
            let mut normal = Vec3::ZERO;
            normal[axis] = T::from(-outward);
            best = Some((normal, depth));
        }
    }
    best.unwrap_or_default()
}
