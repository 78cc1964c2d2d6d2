//! Points, segments, triangles and tetrahedra of the difference of two shapes.
//!
//! The difference A ⊖ B of two convex sets holds the origin where the sets overlap. A simplex spans some of its
//! points; the one nearest to the origin is Σ λᵢ·wᵢ with weights λ by signed volumes [Montanari 2017].

use super::core_shape::CoreShape;
use crate::math::Vec3;
use crate::scalar::Scalar;

/// Volume below which a tetrahedron is flat, relative to the product of its edges.
const FLAT: f64 = 1e-12;

/// A vertex of the difference, with the points of the two shapes it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Vertex {
    /// First point less second point (m).
    pub(super) difference: Vec3,
    /// The point of each shape (m).
    pub(super) on: [Vec3; 2],
    /// Number of the point of each shape.
    pub(super) index: [u32; 2],
}

/// Two cores and the numbers of the points found last.
pub(super) struct Pair<'a, 'b, T: Scalar> {
    pub(super) shapes: [&'b CoreShape<'a, T>; 2],
    hints: [u32; 2],
}

impl<'a, 'b, T: Scalar> Pair<'a, 'b, T> {
    pub(super) fn new(shapes: [&'b CoreShape<'a, T>; 2]) -> Self {
        Self {
            shapes,
            hints: [u32::MAX; 2],
        }
    }

    /// The vertex of the difference farthest along a unit direction.
    #[inline]
    pub(super) fn support(&mut self, direction: Vec3) -> Vertex {
        let (first, index1) = self.shapes[0].support(direction, self.hints[0]);
        let (second, index2) = self.shapes[1].support(-direction, self.hints[1]);
        self.hints = [index1, index2];
        Vertex {
            difference: first - second,
            on: [first, second],
            index: [index1, index2],
        }
    }

    /// Whether some surface is curved, so that the search only approaches the solution.
    pub(super) fn is_curved(&self) -> bool {
        self.shapes.iter().any(|shape| shape.is_curved())
    }
}

/// Up to four vertices with weights.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Simplex {
    pub(super) vertices: [Vertex; 4],
    pub(super) weights: [f64; 4],
    pub(super) count: usize,
}

impl Simplex {
    /// The vertices in use.
    pub(super) fn vertices(&self) -> &[Vertex] {
        &self.vertices[..self.count]
    }

    /// Whether a vertex made of the same corners is there already.
    pub(super) fn contains(&self, index: [u32; 2]) -> bool {
        self.vertices().iter().any(|vertex| vertex.index == index)
    }

    /// Adds a vertex; a full simplex stays as it is.
    pub(super) fn push(&mut self, vertex: Vertex) {
        if self.count < 4 {
            self.vertices[self.count] = vertex;
            self.count += 1;
        }
    }

    /// Keeps the vertices that span the point nearest to the origin and returns that point.
    pub(super) fn reduce(&mut self) -> Vec3 {
        let w = self.vertices.map(|vertex| vertex.difference);
        let weights = match self.count {
            0 | 1 => [1.0, 0.0, 0.0, 0.0],
            2 => segment([w[0], w[1]]).spread([0, 1]),
            3 => triangle([w[0], w[1], w[2]]).spread([0, 1, 2]),
            _ => tetrahedron(w),
        };
        let (mut kept, mut nearest) = (0, Vec3::ZERO);
        for index in 0..self.count {
            if weights[index] > 0.0 {
                self.vertices[kept] = self.vertices[index];
                self.weights[kept] = weights[index];
                nearest += w[index] * weights[index];
                kept += 1;
            }
        }
        self.count = kept;
        nearest
    }

    /// The points of the two shapes that the weights give.
    pub(super) fn witness(&self) -> [Vec3; 2] {
        let mut points = [Vec3::ZERO; 2];
        for (vertex, &weight) in self.vertices().iter().zip(&self.weights) {
            points[0] += vertex.on[0] * weight;
            points[1] += vertex.on[1] * weight;
        }
        points
    }
}

/// Weights of some of the four vertices.
struct Weights<const N: usize>([f64; N]);

impl<const N: usize> Weights<N> {
    fn spread(self, places: [usize; N]) -> [f64; 4] {
        let mut all = [0.0; 4];
        for (weight, place) in self.0.into_iter().zip(places) {
            all[place] = weight;
        }
        all
    }
}

/// The better of two choices of weights, by the distance of the point they give.
fn nearer(best: &mut Option<([f64; 4], f64)>, weights: [f64; 4], w: [Vec3; 4]) {
    let mut point = Vec3::ZERO;
    for index in 0..4 {
        point += w[index] * weights[index];
    }
    let distance = point.norm_squared();
    if best.is_none_or(|(_, least)| distance < least) {
        *best = Some((weights, distance));
    }
}

fn segment([a, b]: [Vec3; 2]) -> Weights<2> {
    let along = b - a;
    let length = along.norm_squared();
    let t = -a.dot(along);
    if t <= 0.0 || length <= 0.0 {
        Weights(if a.norm_squared() <= b.norm_squared() {
            [1.0, 0.0]
        } else {
            [0.0, 1.0]
        })
    } else if t >= length {
        Weights([0.0, 1.0])
    } else {
        Weights([1.0 - t / length, t / length])
    }
}

fn triangle([a, b, c]: [Vec3; 3]) -> Weights<3> {
    let normal = (b - a).cross(c - a);
    let area = normal.norm_squared();
    let mut outside = [true; 3];
    if area > 0.0 {
        // Signed areas of the triangles that the projected origin forms with the edges.
        let projected = normal * (a.dot(normal) / area);
        let part = |p: Vec3, q: Vec3| (p - projected).cross(q - projected).dot(normal);
        let parts = [part(b, c), part(c, a), part(a, b)];
        outside = parts.map(|part| part <= 0.0);
        if outside == [false; 3] {
            let sum = parts[0] + parts[1] + parts[2];
            return Weights(parts.map(|part| part / sum));
        }
    }
    let w = [a, b, c, Vec3::ZERO];
    let mut best = None;
    for (opposite, [i, j]) in [[1, 2], [2, 0], [0, 1]].into_iter().enumerate() {
        if outside[opposite] {
            nearer(&mut best, segment([w[i], w[j]]).spread([i, j]), w);
        }
    }
    let [x, y, z, _] = best.map_or([1.0, 0.0, 0.0, 0.0], |(weights, _)| weights);
    Weights([x, y, z])
}

fn tetrahedron(w: [Vec3; 4]) -> [f64; 4] {
    let [a, b, c, d] = w;
    let volume = (b - a).dot((c - a).cross(d - a));
    let size = (b - a).norm() * (c - a).norm() * (d - a).norm();
    // Signed volumes with one vertex replaced by the origin.
    let parts = [
        b.dot(c.cross(d)),
        -a.dot(c.cross(d)),
        a.dot(b.cross(d)),
        -a.dot(b.cross(c)),
    ];
    // Without volume nothing is inside.
    let is_flat = volume.abs() <= FLAT * size;
    let outside = parts.map(|part| is_flat || part * volume <= 0.0);
    if outside == [false; 4] {
        let sum = parts[0] + parts[1] + parts[2] + parts[3];
        return parts.map(|part| part / sum);
    }
    let mut best = None;
    for (opposite, [i, j, k]) in [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
        .into_iter()
        .enumerate()
    {
        if outside[opposite] {
            nearer(&mut best, triangle([w[i], w[j], w[k]]).spread([i, j, k]), w);
        }
    }
    best.map_or([0.0, 0.0, 0.0, 1.0], |(weights, _)| weights)
}
