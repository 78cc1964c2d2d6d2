//! Where a striker begins that is to touch a body at a point.

use carom_scalar::scalar::Scalar;

use crate::outline::Outline;

/// Sides whose directions differ by less than this are parts of a curve (cosine).
const SMOOTH: f64 = 0.96;

/// How a striker is to touch a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approach<T: Scalar = f64> {
    /// Where: along the outline, counter-clockwise from where it meets the x axis of the body (m).
    pub point: T,
    /// How fast (m/s).
    pub speed: T,
    /// From where: turn of the direction against the inward normal there, counter-clockwise (rad).
    pub deflection: T,
}

impl<T: Scalar> Approach<T> {
    /// Pose and velocity of the striker, which looks where it goes, so far before it touches (m), in the frame of the body.
    pub fn place(&self, struck: &Outline, striker: &Outline, before: f64) -> ([T; 3], [T; 3]) {
        let (point, normal) = struck.at(self.point);
        let (sin, cos) = self.deflection.sin_cos();
        let direction = [
            -(cos * normal[0]) + sin * normal[1],
            -(sin * normal[0]) - cos * normal[1],
        ];
        // How far the striker reaches against the normal.
        let reach = striker.corners.iter().map(|[x, y]| {
            let along = direction[0] * *x - direction[1] * *y;
            let across = direction[1] * *x + direction[0] * *y;
            -(along * normal[0]) - across * normal[1]
        });
        let reach = reach.fold(T::from(f64::NEG_INFINITY), T::max);
        let back = T::from(before);
        let place = [0, 1].map(|k| point[k] + normal[k] * reach - direction[k] * back);
        let heading = direction[1].atan2(direction[0]);
        (
            [place[0], place[1], heading],
            [
                direction[0] * self.speed,
                direction[1] * self.speed,
                T::ZERO,
            ],
        )
    }
}

impl Outline {
    /// The point so far along the outline, counter-clockwise from where it meets the x axis, and the outward normal there.
    /// Normals turn evenly along sides that approximate a curve.
    pub fn at<T: Scalar>(&self, along: T) -> ([T; 2], [T; 2]) {
        let count = self.corners.len();
        let length = |side: usize| {
            let ([x, y], [u, v]) = (self.corners[side], self.corners[(side + 1) % count]);
            (u - x).hypot(v - y)
        };
        // Where the outline meets the x axis.
        let meets = |side: usize| {
            let ([x, y], [u, v]) = (self.corners[side], self.corners[(side + 1) % count]);
            let part = y / (y - v);
            (y <= 0.0 && v > 0.0 && x + part * (u - x) > 0.0).then_some((side, part))
        };
        let (mut side, part) = (0..count).find_map(meets).unwrap_or((0, 0.5));
        let around: f64 = (0..count).map(length).sum();
        let mut left = along + part * length(side);
        let turns = (left.value() / around).floor();
        left = left - turns * around;
        for _ in 0..count {
            if left.value() <= length(side) {
                break;
            }
            left = left - length(side);
            side = (side + 1) % count;
        }
        let part = left / length(side);
        let (from, to) = (self.corners[side], self.corners[(side + 1) % count]);
        let point = [0, 1].map(|k| part * (to[k] - from[k]) + from[k]);
        let own = self.sides[side].normal;
        let corner = |other: usize| {
            let next = self.sides[other].normal;
            let cosine = own[0] * next[0] + own[1] * next[1];
            let sum = [own[0] + next[0], own[1] + next[1]];
            let size = sum[0].hypot(sum[1]);
            if cosine > SMOOTH {
                sum.map(|part| part / size)
            } else {
                own
            }
        };
        let (first, last) = (
            corner((side + count - 1) % count),
            corner((side + 1) % count),
        );
        let normal = [0, 1].map(|k| part * (last[k] - first[k]) + first[k]);
        let size = (normal[0] * normal[0] + normal[1] * normal[1]).sqrt();
        (point, normal.map(|number| number / size))
    }
}
