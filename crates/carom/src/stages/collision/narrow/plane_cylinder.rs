//! Plane and cylinder: the lowest points of both rims, then two more of the lower rim.
//!
//! With the axis a turned towards the plane and r the direction from the axis to the lowest side (scaled by the
//! radius), the points are c + r ± a and, a third of the way round the lower rim, c + a − r/2 ± t·√3/2.

use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// Below this the disk is parallel to the plane and its lowest side is undefined.
const PARALLEL: f64 = 1e-12;

/// The points of a plane and a cylinder.
pub(super) fn collide<T: Scalar>(
    plane: &PosedShape<'_, T>,
    cylinder: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let normal = plane.axis();
    let (radius, half) = (cylinder.size[0], cylinder.size[1]);
    let axis = cylinder.axis();
    // The lower end.
    let end = u32::from(axis.dot(normal).value() > 0.0);
    let down = if end == 1 { -axis } else { axis };
    let along = down.dot(normal);
    let outward = down * along - normal;
    let side = if outward.norm_squared().value() < PARALLEL {
        cylinder.rotation.column(0) * radius
    } else {
        outward * (radius / outward.norm())
    };
    let cap = down * half;
    let mut touch = |feature: u32, offset: Vec3<T>| {
        let on_rim = cylinder.position + offset;
        let distance = (on_rim - plane.position).dot(normal);
        let within = distance.value() <= margin.value();
        if within {
            let position = on_rim - normal * (distance * 0.5);
            out.push_feature(
                feature,
                ContactPoint {
                    distance,
                    position,
                    normal,
                    tangent: Vec3::ZERO,
                },
            );
        }
        within
    };
    // The lowest point decides whether there is any contact.
    if !touch(end, side + cap) {
        return;
    }
    touch(1 - end, side - cap);
    let (across, _) = side.cross(cap).normalized();
    let across = across * (radius * (3.0f64.sqrt() * 0.5));
    touch(2 + 2 * end, across + cap - side * 0.5);
    touch(3 + 2 * end, cap - across - side * 0.5);
}
