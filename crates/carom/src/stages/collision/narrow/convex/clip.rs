//! Clipping of one polygon, or edge, against the sides of another.
//!
//! Regular polygons give quadrilaterals of equal area, of which rounding chooses one. The order of operations is
//! therefore that of MuJoCo, so that the same points are chosen.

use crate::math::Vec3;
use crate::scalar::Scalar;

/// Distance by which a point may be outside of a side and still count as inside (m).
const INSIDE: f64 = 1e-15;
/// Relative difference below which areas are equal.
const TIE: f64 = 1e-12;
/// Most corners of a polygon whose largest quadrilateral is searched exhaustively.
const MOST_EXHAUSTIVE: usize = 16;
/// Most points that are kept of a polygon.
pub(super) const MOST_POINTS: usize = 4;

/// Room for polygons; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Buffers<T: Scalar> {
    /// The polygon that clips.
    pub(super) frame: Vec<Vec3<T>>,
    /// The polygon or edge that is clipped, and the result.
    pub(super) polygon: Vec<Vec3<T>>,
    clipped: Vec<Vec3<T>>,
}

impl<T: Scalar> Buffers<T> {
    /// Clips `polygon` to the prism over `frame`, whose outward normal is `normal`, and drops what is farther than
    /// `margin` above it.
    pub(super) fn clip(&mut self, normal: Vec3<T>, margin: T) {
        let sides = self.frame.len();
        for side in 0..sides {
            let (start, end) = (self.frame[side], self.frame[(side + 1) % sides]);
            // Frames run clockwise as seen from outside, so that this points inward.
            let inward = (end - start).cross((start + normal) - start);
            self.clip_side(start, inward.normalized().0);
            if self.polygon.is_empty() {
                return;
            }
        }
        let Some(&on_face) = self.frame.first() else {
            self.polygon.clear();
            return;
        };
        self.polygon
            .retain(|&point| (point - on_face).dot(normal).value() <= margin.value());
    }

    fn clip_side(&mut self, start: Vec3<T>, inward: Vec3<T>) {
        let height = |point: Vec3<T>| (point - start).dot(inward);
        self.clipped.clear();
        let count = self.polygon.len();
        for index in 0..count {
            let (from, to) = (self.polygon[index], self.polygon[(index + 1) % count]);
            let (height1, height2) = (height(from), height(to));
            let is_inside = [height1, height2].map(|height| height.value() > -INSIDE);
            if is_inside == [false, false] {
                continue;
            }
            if is_inside[0] != is_inside[1] {
                let t = (height1 / (height1 - height2)).clamp(T::ZERO, T::ONE);
                self.clipped.push(from + (to - from) * t);
            }
            if is_inside[1] {
                self.clipped.push(to);
            }
        }
        std::mem::swap(&mut self.polygon, &mut self.clipped);
    }

    /// The points to keep: the ends of what was an edge, else at most four that span the largest area.
    ///
    /// The corners of MuJoCo's polygons of boxes and cylinders have a known order (`in_order`), so that the same four
    /// are found; those of meshes have none, and the largest area of all is the best guess.
    pub(super) fn reduced(
        &self,
        was_edge: bool,
        in_order: bool,
    ) -> ([Vec3<T>; MOST_POINTS], usize) {
        let mut points = [Vec3::ZERO; MOST_POINTS];
        let polygon = &self.polygon;
        let mut keep = |places: &[usize]| {
            for (point, &place) in points.iter_mut().zip(places) {
                *point = polygon[place];
            }
        };
        let count = polygon.len();
        if was_edge && count > 2 {
            keep(&farthest_two(polygon));
            (points, 2)
        } else if count > MOST_POINTS {
            keep(&if in_order || count > MOST_EXHAUSTIVE {
                large_quadrilateral(polygon)
            } else {
                largest_quadrilateral(polygon)
            });
            (points, MOST_POINTS)
        } else {
            keep(&[0, 1, 2, 3][..count]);
            (points, count)
        }
    }
}

fn farthest_two<T: Scalar>(points: &[Vec3<T>]) -> [usize; 2] {
    let (mut best, mut most) = ([0, 1], 0.0);
    for (i, p) in points.iter().enumerate() {
        for (j, q) in points.iter().enumerate().skip(i + 1) {
            // every pair once
            let distance = (p.value() - q.value()).norm_squared();
            if distance > most {
                (best, most) = ([i, j], distance);
            }
        }
    }
    best
}

/// Corners of a large quadrilateral in a convex polygon of more than four corners: each corner in turn is advanced
/// while the area grows.
fn large_quadrilateral<T: Scalar>(points: &[Vec3<T>]) -> [usize; 4] {
    let count = points.len();
    let area = |corners: [usize; 4]| area(points, corners);
    let mut corners = [0, 1, 2, 3];
    let mut best = (corners, area(corners));
    // Advances one corner while the area grows; true if it moved.
    let advance = |corners: &mut [usize; 4], best: &mut ([usize; 4], f64), place: usize| {
        let mut next = *corners;
        next[place] = (next[place] + 1) % count;
        let grown = area(next);
        let grows = grown > best.1;
        if grows {
            *corners = next;
            *best = (next, grown);
        }
        grows
    };
    for first in 0..count {
        corners[0] = first;
        while advance(&mut corners, &mut best, 3) {
            while advance(&mut corners, &mut best, 2) {}
            while advance(&mut corners, &mut best, 1) {}
        }
        // Corners that the first one has caught up with move on.
        for place in 1..4 {
            if corners[place] != corners[place - 1] {
                break;
            }
            corners[place] = (corners[place] + 1) % count;
        }
    }
    best.0
}

fn area<T: Scalar>(points: &[Vec3<T>], corners: [usize; 4]) -> f64 {
    let [a, b, c, d] = corners.map(|corner| points[corner].value());
    0.5 * (a - c).cross(b - d).norm()
}

/// Corners of the largest quadrilateral in a convex polygon: for every diagonal, the farthest corner on each side.
fn largest_quadrilateral<T: Scalar>(points: &[Vec3<T>]) -> [usize; 4] {
    let count = points.len();
    let (mut best, mut most) = ([0, 1, 2, 3], 0.0);
    for a in 0..count {
        for c in a + 2..count {
            let farthest = |side: std::ops::Range<usize>| {
                let reach = |&corner: &usize| area(points, [a, corner % count, c, a]);
                side.max_by(|p, q| reach(p).total_cmp(&reach(q)))
                    .map(|corner| corner % count)
            };
            let (Some(b), Some(d)) = (farthest(a + 1..c), farthest(c + 1..a + count)) else {
                continue;
            };
            let found = area(points, [a, b, c, d]);
            if found > most * (1.0 + TIE) {
                (best, most) = ([a, b, c, d], found);
            }
        }
    }
    best
}
