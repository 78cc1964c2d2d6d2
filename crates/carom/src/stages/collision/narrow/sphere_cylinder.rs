//! Sphere and cylinder: against the side, a cap or the rim, whichever region the centre is in.

use super::{plane_sphere, sphere_sphere};
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// The point of a sphere and a cylinder.
pub(super) fn collide<T: Scalar>(
    sphere: &PosedShape<'_, T>,
    cylinder: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let axis = cylinder.axis();
    let (radius, half) = (cylinder.size[0], cylinder.size[1]);
    let offset = sphere.position - cylinder.position;
    let along = offset.dot(axis);
    let across = offset - axis * along;
    let off_axis = across.norm_squared();
    let mut side = along.value().abs() < half.value();
    let mut cap = off_axis.value() < radius.value() * radius.value();
    if side && cap {
        // Inside: the nearer surface.
        let to_cap = half.value() - along.value().abs();
        let to_side = radius.value() - off_axis.value().sqrt();
        side = to_cap >= to_side;
        cap = !side;
    }
    let against = |center, rim_radius| {
        sphere_sphere::contact(
            [sphere.position, center],
            [sphere.size[0], rim_radius],
            [sphere.axis(), axis],
        )
    };
    let end = if along.value() > 0.0 { axis } else { -axis };
    let point = if side {
        against(cylinder.position + axis * along, radius)
    } else if cap {
        let on_cap = cylinder.position + end * half;
        let point = plane_sphere::contact(end, on_cap, sphere.position, sphere.size[0]);
        ContactPoint {
            normal: -point.normal,
            ..point
        }
    } else {
        let on_rim = across * (radius / off_axis.sqrt());
        against(cylinder.position + end * half + on_rim, T::ZERO)
    };
    out.push_within(point, margin);
}
