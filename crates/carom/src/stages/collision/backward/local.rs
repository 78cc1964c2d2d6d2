//! Pairs with a formula: the collider runs once more over dual numbers.
//!
//! Directions are those of one shape's pose (a turn ω takes R to R + ω × R) and of the sizes of both.

use super::{Cotangent, PairBar};
use crate::dual::Dual;
use crate::math::{Mat3, Vec3};
use crate::stages::collision::narrow::Collider;
use crate::stages::collision::{Manifold, PosedShape, ShapeData};

/// A sphere moves, and does not turn.
pub(super) fn spheres(
    collider: Collider<Dual<7>>,
    shapes: [&PosedShape<'_>; 2],
    reach: f64,
    points: &[Cotangent],
    work: &mut Manifold<Dual<7>>,
    out: &mut PairBar<'_>,
) {
    let [mut sphere, mut other] = shapes.map(constant);
    for axis in 0..3 {
        sphere.position[axis].tangent[axis] = 1.0;
        other.size[axis].tangent[4 + axis] = 1.0;
    }
    sphere.size[0].tangent[3] = 1.0;
    let [x, y, z, radius, rest @ ..] = contracted(collider, [&sphere, &other], reach, points, work);
    out.shapes[0].force += Vec3([x, y, z]);
    out.shapes[0].size[0] += radius;
    out.shapes[1].size += Vec3(rest);
    out.complete(0, shapes, points);
}

/// The second shape moves and turns.
pub(super) fn shapes(
    collider: Collider<Dual<12>>,
    shapes: [&PosedShape<'_>; 2],
    reach: f64,
    points: &[Cotangent],
    work: &mut Manifold<Dual<12>>,
    out: &mut PairBar<'_>,
) {
    let [mut first, mut second] = shapes.map(constant);
    turn(&mut second.rotation, 3);
    for axis in 0..3 {
        second.position[axis].tangent[axis] = 1.0;
        first.size[axis].tangent[6 + axis] = 1.0;
        second.size[axis].tangent[9 + axis] = 1.0;
    }
    let [x, y, z, u, v, w, a, b, c, rest @ ..] =
        contracted(collider, [&first, &second], reach, points, work);
    out.shapes[1].force += Vec3([x, y, z]);
    out.shapes[1].torque += Vec3([u, v, w]);
    out.shapes[0].size += Vec3([a, b, c]);
    out.shapes[1].size += Vec3(rest);
    out.complete(1, shapes, points);
}

/// A shape that does not move.
fn constant<const N: usize>(shape: &PosedShape<'_>) -> PosedShape<'static, Dual<N>> {
    PosedShape {
        kind: shape.kind,
        position: shape.position.map(Dual::constant),
        rotation: shape.rotation.map(Dual::constant),
        size: shape.size.map(Dual::constant),
        data: match shape.data {
            ShapeData::Cells(cells) => ShapeData::Cells(cells),
            _ => ShapeData::None,
        },
    }
}

/// Lets a rotation turn about the axes of the world, along three directions from `start`.
pub(in super::super) fn turn<const N: usize>(rotation: &mut Mat3<Dual<N>>, start: usize) {
    for column in 0..3 {
        let [x, y, z] = rotation.column(column).value().0;
        for (row, rates) in [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
            .into_iter()
            .enumerate()
        {
            rotation.0[3 * row + column].tangent[start..start + 3].copy_from_slice(&rates);
        }
    }
}

/// Σ ȳ·∂y over all points.
fn contracted<const N: usize>(
    collider: Collider<Dual<N>>,
    shapes: [&PosedShape<'_, Dual<N>>; 2],
    reach: f64,
    points: &[Cotangent],
    work: &mut Manifold<Dual<N>>,
) -> [f64; N] {
    work.clear();
    collider(shapes[0], shapes[1], Dual::constant(reach), work);
    let mut sum = [0.0; N];
    for (found, Cotangent { bar, .. }) in work.points().iter().zip(points) {
        add(&mut sum, found.distance, bar.distance);
        for axis in 0..3 {
            add(&mut sum, found.position[axis], bar.position[axis]);
            add(&mut sum, found.normal[axis], bar.normal[axis]);
        }
    }
    sum
}

/// Adds ȳ·∂y of one number. Tangents that are not finite, where there is no derivative, pass nothing on.
#[inline]
pub(crate) fn add<const N: usize>(sum: &mut [f64; N], number: Dual<N>, bar: f64) {
    if bar != 0.0 {
        for (sum, tangent) in sum.iter_mut().zip(number.tangent) {
            if tangent.is_finite() {
                *sum += tangent * bar;
            }
        }
    }
}
