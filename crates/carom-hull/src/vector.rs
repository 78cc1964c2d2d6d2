//! The few operations on points that hulls need.

use super::Point;

pub(crate) fn subtract(p: Point, q: Point) -> Point {
    std::array::from_fn(|axis| p[axis] - q[axis])
}

pub(crate) fn cross([a, b, c]: Point, [x, y, z]: Point) -> Point {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

pub(crate) fn dot(p: Point, q: Point) -> f64 {
    p[0] * q[0] + p[1] * q[1] + p[2] * q[2]
}

pub(crate) fn length_squared(p: Point) -> f64 {
    dot(p, p)
}
