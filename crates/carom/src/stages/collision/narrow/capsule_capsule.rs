//! Two capsules: spheres at the closest points of the two segments, two pairs of them when the axes are parallel.
//!
//! With segments a + s·u and c + t·w (s, t in 0…1), d = a − c and n = u × w, the closest points of the lines are at
//! s = n·(w × d)/|n|²; the cross products avoid the cancellation of the determinant near parallel axes.

use super::sphere_sphere;
use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::{Manifold, PosedShape};

/// Squared sine of the angle between the axes below which they count as parallel.
const PARALLEL: f64 = 1e-8;
/// Squared length below which a segment is a point.
const POINT: f64 = 1e-15;

/// The points of two capsules.
pub(super) fn collide<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let axes = [first.axis(), second.axis()];
    let half = [axes[0] * first.size[1], axes[1] * second.size[1]];
    let start = [first.position - half[0], second.position - half[1]];
    let along = [half[0] * 2.0, half[1] * 2.0];
    let (weights, count) = closest_weights(start, along);
    for [s, t] in weights.into_iter().take(count) {
        let centers = [start[0] + along[0] * s, start[1] + along[1] * t];
        let point = sphere_sphere::contact(centers, [first.size[0], second.size[0]], axes);
        out.push_within(point, margin);
    }
}

/// Weights (s, t) of the closest points and how many pairs there are.
fn closest_weights<T: Scalar>([a, c]: [Vec3<T>; 2], [u, w]: [Vec3<T>; 2]) -> ([[T; 2]; 2], usize) {
    let none = [T::ZERO; 2];
    let unit = |weight: T| weight.clamp(T::ZERO, T::ONE);
    let d = a - c;
    let (uu, ww, uw) = (u.norm_squared(), w.norm_squared(), u.dot(w));
    let (ud, wd) = (u.dot(d), w.dot(d));
    match (uu.value() <= POINT, ww.value() <= POINT) {
        (true, true) => return ([none; 2], 1),
        (true, false) => return ([[T::ZERO, unit(wd / ww)], none], 1),
        (false, true) => return ([[unit(-ud / uu), T::ZERO], none], 1),
        (false, false) => {}
    }
    // Where t leaves its segment, s is the projection of that end.
    let within = |s: T, t: T| {
        if t.value() < 0.0 {
            [unit(-ud / uu), T::ZERO]
        } else if t.value() > 1.0 {
            [unit((uw - ud) / uu), T::ONE]
        } else {
            [s, t]
        }
    };
    let normal = u.cross(w);
    let determinant = normal.norm_squared();
    if determinant.value() > PARALLEL * uu.value() * ww.value() {
        let s = unit(normal.dot(w.cross(d)) / determinant);
        return ([within(s, (uw * s + wd) / ww), none], 1);
    }
    (
        [within(T::ZERO, wd / ww), within(T::ONE, (uw + wd) / ww)],
        2,
    )
}
