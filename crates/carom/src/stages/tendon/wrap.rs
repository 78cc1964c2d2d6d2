//! The shortest path of a string over a sphere or cylinder.
//!
//! The problem is solved in a plane: for a sphere the one through its centre and both ends, for a cylinder the one
//! across its axis. The string runs straight to the circle, along an arc, and straight on. A side point tells which
//! way round: the path is the shortest one that winds about the circle like the polyline end → side point → end. A
//! side point inside the geom means *inside* wrapping: the string touches the circle from within, at one point.
//!
//! With ends p, q and the winding angle ∠(a, b) ∈ (−π, π] swept from a to b about the centre,
//!
//!   arc = |∠(p, s) + ∠(s, q) − ∠(p, t) − ∠(u, q)|·radius                                          (1)
//!
//! for side point s and tangent points t, u. The touching point of inside wrapping is where the string makes equal
//! angles φ with the circle on both sides, the root of
//!
//!   f(φ) = asin(A·sin φ) + asin(B·sin φ) − 2φ + γ,   A = radius/|p|,  B = radius/|q|,  γ = ∠ between p and q   (2)

use std::f64::consts::{FRAC_PI_2, PI};

use crate::math::{MIN_LENGTH, Mat3, Vec3};
use crate::scalar::Scalar;

/// A point or direction of the wrapping plane.
type Point<T> = [T; 2];

/// What the string wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Sphere,
    Cylinder,
}

/// The wrapping geom, in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Obstacle<'a, T> {
    pub(crate) shape: Shape,
    pub(crate) center: Vec3<T>,
    pub(crate) rotation: &'a Mat3<T>,
    pub(crate) radius: T,
}

/// The part of the path that lies on the geom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contact<T> {
    /// Length on the geom; zero for inside wrapping.
    pub(crate) length: T,
    /// Where the path meets and leaves the geom, in the world.
    pub(crate) points: [Vec3<T>; 2],
}

/// The same in the wrapping plane.
struct PlanarContact<T> {
    length: T,
    points: [Point<T>; 2],
}

/// Wraps a string from `start` to `end` around the geom; none when it passes straight.
pub(crate) fn wrap<T: Scalar>(
    obstacle: &Obstacle<'_, T>,
    start: Vec3<T>,
    end: Vec3<T>,
    side: Option<Vec3<T>>,
) -> Option<Contact<T>> {
    let into_geom = |point: Vec3<T>| obstacle.rotation.transpose_mul_vec(point - obstacle.center);
    let contact = wrap_local(
        obstacle.shape,
        obstacle.radius,
        [start, end].map(into_geom),
        side.map(into_geom),
    )?;
    let into_world = |point: Vec3<T>| obstacle.rotation.mul_vec(point) + obstacle.center;
    Some(Contact {
        length: contact.length,
        points: contact.points.map(into_world),
    })
}

/// As [`wrap`], everything in the frame of the geom.
pub(super) fn wrap_local<T: Scalar>(
    shape: Shape,
    radius: T,
    [start, end]: [Vec3<T>; 2],
    side: Option<Vec3<T>>,
) -> Option<Contact<T>> {
    if start.norm().value() < MIN_LENGTH || end.norm().value() < MIN_LENGTH {
        return None;
    }
    let axes = match shape {
        Shape::Sphere => plane_through(start, end),
        Shape::Cylinder => [Vec3::X, Vec3::Y],
    };
    let project = |point: Vec3<T>| [point.dot(axes[0]), point.dot(axes[1])];
    let ends = [project(start), project(end)];
    let contact = match side {
        Some(side) if side.norm() < radius => wrap_inside(&ends, radius)?,
        _ => wrap_outside(&ends, side.map(project), radius)?,
    };
    let lift = |point: Point<T>| axes[0] * point[0] + axes[1] * point[1];
    let mut length = contact.length;
    let mut points = contact.points.map(lift);
    if shape == Shape::Cylinder {
        length = climb(&mut points, length, start, end);
    }
    Some(Contact { length, points })
}

/// Orthonormal axes of the plane through the origin and two points, the first towards `start`.
fn plane_through<T: Scalar>(start: Vec3<T>, end: Vec3<T>) -> [Vec3<T>; 2] {
    let (first, _) = start.normalized();
    let (mut normal, sine) = start.cross(end).normalized();
    if sine.value() < MIN_LENGTH {
        // All three on a line: any plane will do. Cross with (1, 1, 1) less its part along the largest component.
        let [x, y, z] = first.0.map(|component| component.value().abs());
        let largest = if z > x && z > y {
            2
        } else {
            usize::from(y > x && y > z)
        };
        let mut other = Vec3([T::ONE; 3]);
        other[largest] = T::ZERO;
        (normal, _) = first.cross(other).normalized();
    }
    [first, normal.cross(first).normalized().0]
}

/// Gives the points on a cylinder their heights, for a constant slope along the path; returns the length on the helix.
fn climb<T: Scalar>(points: &mut [Vec3<T>; 2], arc: T, start: Vec3<T>, end: Vec3<T>) -> T {
    let across = |a: Vec3<T>, b: Vec3<T>| {
        let (dx, dy) = (a[0] - b[0], a[1] - b[1]);
        (dx * dx + dy * dy).sqrt()
    };
    let before = across(start, points[0]);
    let after = across(end, points[1]);
    let slope = (end[2] - start[2]) / (before + arc + after);
    points[0][2] = start[2] + slope * before;
    points[1][2] = start[2] + slope * (before + arc);
    let height = points[1][2] - points[0][2];
    (arc * arc + height * height).sqrt()
}

fn dot<T: Scalar>(a: Point<T>, b: Point<T>) -> T {
    a[0] * b[0] + a[1] * b[1]
}

fn cross<T: Scalar>(a: Point<T>, b: Point<T>) -> T {
    a[0] * b[1] - a[1] * b[0]
}

fn sub<T: Scalar>(a: Point<T>, b: Point<T>) -> Point<T> {
    [a[0] - b[0], a[1] - b[1]]
}

/// The angle swept from `a` to `b` about the origin, in (−π, π].
fn winding<T: Scalar>(a: Point<T>, b: Point<T>) -> T {
    cross(a, b).atan2(dot(a, b))
}

/// The point of the segment that is nearest to the origin, and the squared length of the segment.
fn nearest_on_segment<T: Scalar>(ends: &[Point<T>; 2]) -> (Point<T>, T, f64) {
    let along = sub(ends[1], ends[0]);
    let square = dot(along, along);
    let fraction = -dot(along, ends[0]) / square;
    let clamped = fraction.clamp(T::ZERO, T::ONE);
    let nearest = [
        ends[0][0] + along[0] * clamped,
        ends[0][1] + along[1] * clamped,
    ];
    (nearest, square, fraction.value())
}

/// Wraps around the circle from outside.
fn wrap_outside<T: Scalar>(
    ends: &[Point<T>; 2],
    side: Option<Point<T>>,
    radius: T,
) -> Option<PlanarContact<T>> {
    let squares = [dot(ends[0], ends[0]), dot(ends[1], ends[1])];
    let radius_square = radius * radius;
    if squares[0] < radius_square || squares[1] < radius_square || radius.value() < MIN_LENGTH {
        return None;
    }
    let (nearest, length_square, _) = nearest_on_segment(ends);
    if length_square.value() < MIN_LENGTH {
        return None;
    }
    let clear = dot(nearest, nearest) > radius_square;
    let Some(side) = side else {
        return if clear {
            None
        } else {
            shorter_way(ends, &squares, radius)
        };
    };
    // Only the direction of the side point matters; at the centre it has none and the first axis takes its place.
    let distance = dot(side, side).sqrt();
    let side = if distance.value() < MIN_LENGTH {
        [radius, T::ZERO]
    } else {
        side.map(|component| component * distance.recip() * radius)
    };
    if clear && same_winding(ends, side) {
        return None;
    }
    let turn = winding(ends[0], side) + winding(side, ends[1]);
    let points = tangent_points(ends, &squares, radius, turn.value() > 0.0);
    if segments_cross([ends[0], points[0]], [ends[1], points[1]]) {
        return None;
    }
    let arc = turn - winding(ends[0], points[0]) - winding(points[1], ends[1]); // (1)
    Some(PlanarContact {
        length: radius * arc.abs(),
        points,
    })
}

/// Whether the polyline end → side → end winds about the origin like the straight segment between the ends.
///
/// Both windings agree modulo a full turn, so the signs of the three sectors decide: they differ only when both parts
/// of the polyline turn one way and the segment the other.
fn same_winding<T: Scalar>(ends: &[Point<T>; 2], side: Point<T>) -> bool {
    let before = cross(ends[0], side).value();
    let after = cross(side, ends[1]).value();
    let direct = cross(ends[0], ends[1]).value();
    if before == 0.0 || after == 0.0 || direct == 0.0 {
        // Half turns have either sign: leave it to the angles.
        let turn = winding(ends[0], side) + winding(side, ends[1]);
        return (turn - winding(ends[0], ends[1])).value().abs() < PI;
    }
    !(before > 0.0 && after > 0.0 && direct < 0.0 || before < 0.0 && after < 0.0 && direct > 0.0)
}

/// Where the tangents from both ends touch the circle, for a path that turns counterclockwise or clockwise.
fn tangent_points<T: Scalar>(
    ends: &[Point<T>; 2],
    squares: &[T; 2],
    radius: T,
    counterclockwise: bool,
) -> [Point<T>; 2] {
    let along = radius * radius;
    let tangent = |end: Point<T>, square: T, sign: f64| {
        let (across, root) = (radius * sign, (square - along).sqrt());
        [
            (end[0] * along - across * end[1] * root) / square,
            (end[1] * along + across * end[0] * root) / square,
        ]
    };
    let sign = if counterclockwise { 1.0 } else { -1.0 };
    [
        tangent(ends[0], squares[0], sign),
        tangent(ends[1], squares[1], -sign),
    ]
}

/// Wraps the way round that brings the tangent points closer together.
fn shorter_way<T: Scalar>(
    ends: &[Point<T>; 2],
    squares: &[T; 2],
    radius: T,
) -> Option<PlanarContact<T>> {
    let ways = [false, true].map(|way| {
        let points = tangent_points(ends, squares, radius, way);
        let crossed = segments_cross([ends[0], points[0]], [ends[1], points[1]]);
        let chord = sub(points[0], points[1]);
        let cost = if crossed {
            f64::MAX
        } else {
            dot(chord, chord).value()
        };
        (points, cost)
    });
    let counterclockwise = ways[0].1 >= ways[1].1;
    let (points, cost) = ways[usize::from(counterclockwise)];
    if cost == f64::MAX {
        return None;
    }
    let turn = cross(points[0], points[1]);
    let mut angle = turn.abs().atan2(dot(points[0], points[1]));
    // The long way round, unless the turn is nothing but rounding at the onset of contact.
    let backwards = if counterclockwise {
        turn.value() < 0.0
    } else {
        turn.value() > 0.0
    };
    if backwards && angle.value() > ONSET_ANGLE {
        angle = -angle + 2.0 * PI;
    }
    Some(PlanarContact {
        length: radius * angle,
        points,
    })
}

/// Arcs below this angle (rad) are never taken for full turns.
const ONSET_ANGLE: f64 = 1e-6;

/// Whether two segments cross.
fn segments_cross<T: Scalar>([a, b]: [Point<T>; 2], [c, d]: [Point<T>; 2]) -> bool {
    let value = |point: Point<T>| point.map(T::value);
    let (a, b, c, d) = (value(a), value(b), value(c), value(d));
    let (along, other) = (sub(b, a), sub(d, c));
    let determinant = cross(along, other);
    if determinant.abs() < MIN_LENGTH {
        return false;
    }
    let sign = determinant.signum();
    let (starts, tips) = (sub(a, c), sub(b, d));
    cross(other, starts) * sign >= 0.0
        && cross(other, tips) * sign < 0.0
        && cross(along, starts) * sign >= 0.0
        && cross(along, tips) * sign < 0.0
}

/// Newton iterations for (2).
const INSIDE_ITERATIONS: usize = 20;
/// Accepted residual of (2).
const INSIDE_TOLERANCE: f64 = 1e-6;

/// Touches the circle from inside, at one point.
fn wrap_inside<T: Scalar>(ends: &[Point<T>; 2], radius: T) -> Option<PlanarContact<T>> {
    let lengths = ends.map(|end| dot(end, end).sqrt());
    let shortest = lengths[0].value().min(lengths[1].value());
    if shortest <= radius.value() || radius.value() < MIN_LENGTH || shortest < MIN_LENGTH {
        return None;
    }
    let (nearest, length_square, fraction) = nearest_on_segment(ends);
    let interior = length_square.value() > MIN_LENGTH && fraction > 0.0 && fraction < 1.0;
    if interior && dot(nearest, nearest).sqrt() <= radius {
        return None;
    }
    let cosine = (lengths[0] * lengths[0] + lengths[1] * lengths[1] - length_square)
        / (lengths[0] * lengths[1] * 2.0);
    if cosine.value() < -1.0 + MIN_LENGTH {
        return None;
    }
    let point = if cosine.value() > 1.0 - MIN_LENGTH {
        None
    } else {
        touching_point(ends, lengths, cosine.acos(), radius)
    };
    let point = point.unwrap_or_else(|| midway_point(ends, radius));
    Some(PlanarContact {
        length: T::ZERO,
        points: [point; 2],
    })
}

/// The point of the circle halfway between the ends: what is left when (2) cannot be solved.
fn midway_point<T: Scalar>(ends: &[Point<T>; 2], radius: T) -> Point<T> {
    let sum = [ends[0][0] + ends[1][0], ends[0][1] + ends[1][1]];
    let length = dot(sum, sum).sqrt();
    if length.value() < MIN_LENGTH {
        return [radius, T::ZERO];
    }
    sum.map(|component| component * radius / length)
}

/// The point where the string makes equal angles with the circle, by the root of (2).
fn touching_point<T: Scalar>(
    ends: &[Point<T>; 2],
    lengths: [T; 2],
    between: T,
    radius: T,
) -> Option<Point<T>> {
    let ratios = lengths.map(|length| radius / length);
    let root = equal_angle(ratios.map(T::value), between.value())?;
    // The root was found on values; one implicit step carries the derivatives (its own change is zero).
    let sine = root.sin();
    let residual = (ratios[0] * sine).asin() + (ratios[1] * sine).asin() + between;
    let slope = equal_angle_slope(ratios.map(T::value), root);
    let angle = -(residual - residual.value()) / slope + root;
    let ratio_angle = |ratio: T| (ratio * angle.sin()).asin();
    let counterclockwise = cross(ends[0], ends[1]).value() > 0.0;
    let (end, length, turn) = if counterclockwise {
        (ends[0], lengths[0], angle - ratio_angle(ratios[0]))
    } else {
        (ends[1], lengths[1], angle - ratio_angle(ratios[1]))
    };
    let (sin, cos) = turn.sin_cos();
    let scale = radius / length;
    Some([
        (cos * end[0] - sin * end[1]) * scale,
        (sin * end[0] + cos * end[1]) * scale,
    ])
}

/// df/dφ of (2).
fn equal_angle_slope(ratios: [f64; 2], angle: f64) -> f64 {
    let sine = angle.sin();
    let part = |ratio: f64| {
        let cosine = (1.0 - sine * sine * ratio * ratio).sqrt();
        ratio / cosine.max(MIN_LENGTH)
    };
    angle.cos() * (part(ratios[0]) + part(ratios[1])) - 2.0
}

/// The root of (2) by Newton's method from φ = π/2, where f is negative and decreasing; none if it fails.
fn equal_angle(ratios: [f64; 2], between: f64) -> Option<f64> {
    let residual = |angle: f64| {
        let sine = angle.sin();
        (ratios[0] * sine).asin() + (ratios[1] * sine).asin() - 2.0 * angle + between
    };
    let mut angle = FRAC_PI_2;
    let mut error = residual(angle);
    if error > 0.0 {
        return None;
    }
    for _ in 0..INSIDE_ITERATIONS {
        if error.abs() <= INSIDE_TOLERANCE {
            return Some(angle);
        }
        let slope = equal_angle_slope(ratios, angle);
        let next = angle - error / slope;
        if slope > -MIN_LENGTH || next > angle {
            return None;
        }
        angle = next;
        error = residual(angle);
        if error > INSIDE_TOLERANCE {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests;
