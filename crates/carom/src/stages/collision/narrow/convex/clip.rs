//! Clipping of one polygon, or edge, against the sides of another.
//!
//! Regular polygons give quadrilaterals of equal area, of which rounding chooses one. The order of operations is
//! therefore that of MuJoCo, so that the same points are chosen.

use crate::math::Vec3;
use crate::scalar::Scalar;

/// Distance by which a point may be outside of a side and still count as inside (m).
const INSIDE: f64 = 1e-15;
/// Most points that are kept of a polygon.
pub(super) const MOST_POINTS: usize = 4;

/// Room for polygons; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Buffers<T: Scalar> {
    /// The polygon that clips.
    pub(super) frame: Vec<Vec3<T>>,
    /// The polygon or edge that is clipped.
    pub(super) outline: Vec<Vec3<T>>,
    /// The corners of the outline, then the points where sides cut it.
    pub(super) nodes: Vec<Node<T>>,
    /// What is left: numbers of nodes.
    polygon: Vec<u32>,
    clipped: Vec<u32>,
}

/// A corner of a polygon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node<T: Scalar> {
    /// Where it is (m).
    pub(super) point: Vec3<T>,
    /// What made it; none for a corner of the outline.
    pub(super) cut: Option<Cut>,
}

/// A side of the frame cuts the edge between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The nodes, from and to.
    pub(super) nodes: [u32; 2],
    /// The side.
    pub(super) side: usize,
}

impl<T: Scalar> Buffers<T> {
    /// Clips the outline to the prism over `frame`, whose outward normal is `normal`, and drops what is farther than
    /// `margin` above it.
    pub(super) fn clip(&mut self, normal: Vec3<T>, margin: T) {
        let corners = self.outline.iter();
        self.nodes.clear();
        self.nodes
            .extend(corners.map(|&point| Node { point, cut: None }));
        self.polygon.clear();
        self.polygon
            .extend((0..).zip(&self.nodes).map(|(node, _)| node));
        for side in 0..self.frame.len() {
            let (start, inward) = self.side(side, normal);
            self.clip_side(side, start, inward.normalized().0);
            if self.polygon.is_empty() {
                return;
            }
        }
        let Some(&on_face) = self.frame.first() else {
            self.polygon.clear();
            return;
        };
        let nodes = &self.nodes;
        self.polygon.retain(|&node| {
            (nodes[node as usize].point - on_face).dot(normal).value() <= margin.value()
        });
    }

    /// Where a side of the frame starts, and its normal, which points inward: frames run clockwise as seen from outside.
    pub(super) fn side(&self, side: usize, normal: Vec3<T>) -> (Vec3<T>, Vec3<T>) {
        let (start, end) = (self.frame[side], self.frame[(side + 1) % self.frame.len()]);
        (start, (end - start).cross((start + normal) - start))
    }

    fn clip_side(&mut self, side: usize, start: Vec3<T>, inward: Vec3<T>) {
        let height = |point: Vec3<T>| (point - start).dot(inward);
        self.clipped.clear();
        let count = self.polygon.len();
        for index in 0..count {
            let ends = [self.polygon[index], self.polygon[(index + 1) % count]];
            let [from, to] = ends.map(|node| self.nodes[node as usize].point);
            let (height1, height2) = (height(from), height(to));
            let is_inside = [height1, height2].map(|height| height.value() > -INSIDE);
            if is_inside == [false, false] {
                continue;
            }
            if is_inside[0] != is_inside[1] {
                let t = (height1 / (height1 - height2)).clamp(T::ZERO, T::ONE);
                let cut = Cut { nodes: ends, side };
                #[allow(clippy::cast_possible_truncation, reason = "polygons are small")]
                self.clipped.push(self.nodes.len() as u32);
                self.nodes.push(Node {
                    point: from + (to - from) * t,
                    cut: Some(cut),
                });
            }
            if is_inside[1] {
                self.clipped.push(ends[1]);
            }
        }
        std::mem::swap(&mut self.polygon, &mut self.clipped);
    }

    /// The nodes to keep: the ends of what was an edge, else at most four that span a large area.
    pub(super) fn reduced(&self, was_edge: bool) -> ([usize; MOST_POINTS], usize) {
        let mut nodes = [0; MOST_POINTS];
        let polygon = &self.polygon;
        let mut keep = |places: &[usize]| {
            for (node, &place) in nodes.iter_mut().zip(places) {
                *node = polygon[place] as usize;
            }
        };
        let count = polygon.len();
        let point = |place: usize| self.nodes[polygon[place] as usize].point.value();
        if was_edge && count > 2 {
            keep(&farthest_two(count, point));
            (nodes, 2)
        } else if count > MOST_POINTS {
            keep(&large_quadrilateral(count, point));
            (nodes, MOST_POINTS)
        } else {
            keep(&[0, 1, 2, 3][..count]);
            (nodes, count)
        }
    }
}

fn farthest_two(count: usize, point: impl Fn(usize) -> Vec3) -> [usize; 2] {
    let (mut best, mut most) = ([0, 1], 0.0);
    for i in 0..count {
        for j in i + 1..count {
            let distance = (point(i) - point(j)).norm_squared();
            if distance > most {
                (best, most) = ([i, j], distance);
            }
        }
    }
    best
}

/// Corners of a large quadrilateral in a convex polygon of more than four corners: each corner in turn is advanced
/// while the area grows.
fn large_quadrilateral(count: usize, point: impl Fn(usize) -> Vec3) -> [usize; 4] {
    let area = |corners: [usize; 4]| area(corners.map(&point));
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

fn area([a, b, c, d]: [Vec3; 4]) -> f64 {
    0.5 * (a - c).cross(b - d).norm()
}
