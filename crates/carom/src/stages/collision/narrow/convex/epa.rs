//! The penetration depth of two cores that overlap: a polytope inside of their difference is expanded until a face
//! of it lies on the surface [Van den Bergen 2001].
//!
//! With n the outward normal of the face nearest to the origin, δ its distance and w the vertex of the difference
//! farthest along n,
//!
//!   δ ≤ depth ≤ w·n                                                                                  (1)
//!
//! Every expansion adds one vertex; capacity bounds their number, so the search ends whatever the shapes are. Faces know
//! their neighbours, so those that a new vertex sees are found by walking from the nearest one, and the edges around
//! them come one after the other.

use super::simplex::{Pair, Simplex, Vertex};
use crate::math::Vec3;
use crate::scalar::Scalar;

/// Most vertices of the polytope.
const MAX_VERTICES: usize = 200;
/// Fraction of the size at which the two sides of (1) count as equal.
const EXACT: f64 = 1e-14;
/// Sine below which directions count as parallel while the first tetrahedron is built.
const FLAT: f64 = 1e-10;

/// Length below which an edge has no direction (m).
const MIN_SIDE: f64 = 1e-14;
/// Sine below which a triangle is too thin for a normal.
const NEEDLE: f64 = 1e-11;

/// Face and side beyond each side of the faces of the first tetrahedron.
const TETRAHEDRON: [[[u16; 2]; 3]; 4] = [
    [[1, 2], [3, 2], [2, 0]],
    [[2, 2], [3, 0], [0, 0]],
    [[0, 2], [3, 1], [1, 0]],
    [[1, 1], [2, 1], [0, 1]],
];

/// A triangle of the polytope, anticlockwise from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Face {
    vertices: [u16; 3],
    /// What lies beyond the edge from each vertex to the next.
    beyond: [Edge; 3],
    normal: Vec3,
    distance: f64,
}

/// An edge of a face, by the number of its first vertex within the face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Edge {
    face: u16,
    side: u16,
}

/// Room for the polytope; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Polytope {
    vertices: Vec<Vertex>,
    faces: Vec<Face>,
    /// Distance of each face again, infinite where a face has been removed.
    distances: Vec<f64>,
    /// Faces that have been removed; new ones take their places.
    free: Vec<u16>,
    /// Edges of the faces around those that the new vertex sees.
    rim: Vec<Edge>,
    /// Edges still to cross on the walk over the faces that the new vertex sees.
    walk: Vec<Edge>,
}

/// How two cores penetrate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Penetration {
    /// The face of the difference nearest to the origin, with the weights of the nearest point.
    pub(super) simplex: Simplex,
    /// Unit vector along which the second core leaves the first.
    pub(super) normal: Vec3,
    /// Upper bound of the depth along the normal (m).
    pub(super) upper: f64,
}

impl Polytope {
    /// Searches the depth from a simplex that holds the origin; stops once the gap of (1) is below `gap` times the
    /// size.
    pub(super) fn search<T: Scalar>(
        &mut self,
        pair: &mut Pair<'_, '_, T>,
        simplex: &Simplex,
        gap: f64,
    ) -> Penetration {
        self.reserve();
        if let Err(normal) = self.start(pair, simplex) {
            return self.flat(pair, simplex, normal);
        }
        let is_curved = pair.is_curved();
        let scale = self.scale();
        let tolerance = gap.max(EXACT) * scale;
        // The face whose normal gives the least upper bound, should the expansion fail.
        let mut best: Option<(Face, f64)> = None;
        loop {
            let nearest = self.nearest_face();
            let face = self.faces[nearest];
            let vertex = pair.support(face.normal);
            let upper = face.normal.dot(vertex.difference);
            if best.is_none_or(|(_, least)| upper < least) {
                best = Some((face, upper));
            }
            if upper - face.distance <= tolerance || !is_curved && self.holds(vertex) {
                return self.penetration(face, upper);
            }
            if self.vertices.len() >= MAX_VERTICES || !self.expand(vertex, nearest, EXACT * scale) {
                let (face, upper) = best.unwrap_or((face, upper));
                return self.penetration(face, upper);
            }
        }
    }

    fn reserve(&mut self) {
        self.vertices.clear();
        self.faces.clear();
        self.distances.clear();
        self.free.clear();
        self.vertices.reserve(MAX_VERTICES);
        // A closed surface of triangles has fewer than two faces and three edges a vertex.
        self.faces.reserve(2 * MAX_VERTICES);
        self.distances.reserve(2 * MAX_VERTICES);
        self.free.reserve(2 * MAX_VERTICES);
        self.rim.reserve(3 * MAX_VERTICES);
        self.walk.reserve(6 * MAX_VERTICES);
    }

    /// Whether a vertex between corners is there already.
    fn holds(&self, vertex: Vertex) -> bool {
        let mut known = self.vertices.iter();
        known.any(|known| known.index == vertex.index)
    }

    /// Largest coordinate distance of the shapes' points: the size that tolerances refer to.
    fn scale(&self) -> f64 {
        let largest = |vertex: &Vertex| vertex.on[0].norm().max(vertex.on[1].norm());
        self.vertices
            .iter()
            .map(largest)
            .fold(f64::MIN_POSITIVE, f64::max)
    }

    /// Completes the simplex to a tetrahedron; the direction in which the difference is flat if there is none.
    fn start<T: Scalar>(
        &mut self,
        pair: &mut Pair<'_, '_, T>,
        simplex: &Simplex,
    ) -> Result<(), Vec3> {
        // Vertices that add no dimension are left out; the expansion finds them again.
        for &vertex in simplex.vertices() {
            if self.vertices.is_empty() || self.widening(vertex.difference) > FLAT {
                self.vertices.push(vertex);
            }
        }
        if self.vertices.is_empty() {
            self.vertices.push(pair.support(Vec3::X));
        }
        while self.vertices.len() < 4 {
            self.widen(pair)?;
        }
        let w = |index: usize| self.vertices[index].difference;
        if (w(1) - w(0)).cross(w(2) - w(0)).dot(w(3) - w(0)) > 0.0 {
            self.vertices.swap(0, 1);
        }
        for (face, vertices) in [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]
            .into_iter()
            .enumerate()
        {
            self.attach(vertices);
            self.faces[face].beyond = TETRAHEDRON[face].map(|[face, side]| Edge { face, side });
        }
        Ok(())
    }

    /// Adds the vertex that widens the simplex most, by one dimension; the flat direction when there is none.
    fn widen<T: Scalar>(&mut self, pair: &mut Pair<'_, '_, T>) -> Result<(), Vec3> {
        let w = |index: usize| self.vertices[index].difference;
        let directions = match self.vertices.len() {
            1 => [Vec3::X, Vec3::Y, Vec3::Z],
            2 => {
                let along = (w(1) - w(0)).normalized().0;
                let across = perpendicular(along);
                let other = along.cross(across);
                // Thirds of a turn around the edge.
                [
                    across,
                    across * -0.5 + other * 0.75_f64.sqrt(),
                    across * -0.5 - other * 0.75_f64.sqrt(),
                ]
            }
            _ => {
                let normal = (w(1) - w(0)).cross(w(2) - w(0)).normalized().0;
                [normal, normal, normal]
            }
        };
        let mut best: Option<(Vertex, f64)> = None;
        for direction in directions.into_iter().flat_map(|d| [d, -d]) {
            let vertex = pair.support(direction);
            let reach = self.widening(vertex.difference);
            if best.is_none_or(|(_, most)| reach > most) {
                best = Some((vertex, reach));
            }
        }
        match best {
            Some((vertex, reach)) if reach > FLAT => {
                self.vertices.push(vertex);
                Ok(())
            }
            _ => Err(directions[0]),
        }
    }

    /// How far a point is from the span of the simplex, relative to the sizes involved.
    fn widening(&self, point: Vec3) -> f64 {
        let w = |index: usize| self.vertices[index].difference;
        let offset = point - w(0);
        let scale = self.scale();
        match self.vertices.len() {
            1 => offset.norm() / scale,
            2 => (w(1) - w(0)).normalized().0.cross(offset).norm() / scale,
            _ => {
                let normal = (w(1) - w(0)).cross(w(2) - w(0)).normalized().0;
                normal.dot(offset).abs() / scale
            }
        }
    }

    /// Without volume the shapes separate along the flat direction.
    fn flat<T: Scalar>(
        &self,
        pair: &mut Pair<'_, '_, T>,
        simplex: &Simplex,
        normal: Vec3,
    ) -> Penetration {
        let upper = pair.support(normal).difference.dot(normal);
        let mut simplex = if simplex.count == 0 {
            let mut single = Simplex::default();
            single.push(self.vertices[0]);
            single
        } else {
            *simplex
        };
        simplex.count = simplex.count.min(3);
        simplex.reduce();
        Penetration {
            simplex,
            normal,
            upper,
        }
    }

    /// Adds a face, and says where; none when it is too thin to have a normal.
    fn attach(&mut self, vertices: [u16; 3]) -> Option<u16> {
        let [a, b, c] = vertices.map(|vertex| self.vertices[usize::from(vertex)].difference);
        let (u, w) = (b - a, c - a);
        let cross = u.cross(w);
        let [area, side1, side2] = [cross, u, w].map(Vec3::norm_squared);
        let normal = if area > 0.0 {
            cross * area.sqrt().recip()
        } else {
            Vec3::X
        };
        // The corner nearest to the origin loses the fewest digits.
        let [near_a, near_b, near_c] = [a, b, c].map(Vec3::norm_squared);
        let nearest = if near_a <= near_b && near_a <= near_c {
            a
        } else if near_b <= near_c {
            b
        } else {
            c
        };
        let distance = normal.dot(nearest);
        let is_sound = area > NEEDLE * NEEDLE * side1 * side2
            && side1.min(side2) > MIN_SIDE * MIN_SIDE
            && distance.is_finite();
        let face = Face {
            vertices,
            normal,
            distance,
            ..Face::default()
        };
        let place = if let Some(place) = self.free.pop() {
            self.faces[usize::from(place)] = face;
            self.distances[usize::from(place)] = distance;
            place
        } else {
            self.faces.push(face);
            self.distances.push(distance);
            u16::try_from(self.faces.len() - 1).ok()?
        };
        is_sound.then_some(place)
    }

    fn nearest_face(&self) -> usize {
        let mut best = (0, f64::INFINITY);
        for (index, &distance) in self.distances.iter().enumerate() {
            if distance < best.1 {
                best = (index, distance);
            }
        }
        best.0
    }

    /// Replaces the faces that the vertex sees; false, with the polytope unusable, when rounding spoils it.
    fn expand(&mut self, vertex: Vertex, nearest: usize, tolerance: f64) -> bool {
        self.remove_seen(vertex.difference, nearest, tolerance);
        let Ok(added) = u16::try_from(self.vertices.len()) else {
            return false;
        };
        self.vertices.push(vertex);
        // The faces of the rim, and the new one beyond each.
        let [mut first, mut before] = [None; 2];
        for index in 0..self.rim.len() {
            let outer = self.rim[index];
            let [end, start] = self.ends(outer);
            let next = self.rim[(index + 1) % self.rim.len()];
            // One closed line around one group of faces.
            if self.ends(next)[1] != end {
                return false;
            }
            let Some(face) = self.attach([start, end, added]) else {
                return false;
            };
            self.join(Edge { face, side: 0 }, outer);
            if let Some(before) = before {
                self.join(
                    Edge { face, side: 2 },
                    Edge {
                        face: before,
                        side: 1,
                    },
                );
            }
            first = first.or(Some(face));
            before = Some(face);
        }
        let (Some(first), Some(last)) = (first, before) else {
            return false;
        };
        self.join(
            Edge {
                face: first,
                side: 2,
            },
            Edge {
                face: last,
                side: 1,
            },
        );
        self.rim.len() >= 3
    }

    /// Removes the nearest face and all that a point sees and that are connected with it; lists the edges around them
    /// in order.
    fn remove_seen(&mut self, point: Vec3, nearest: usize, tolerance: f64) {
        self.rim.clear();
        self.walk.clear();
        let beyond = self.faces[nearest].beyond;
        self.remove(nearest);
        self.walk.extend(beyond.into_iter().rev());
        while let Some(edge) = self.walk.pop() {
            let index = usize::from(edge.face);
            if self.distances[index].is_infinite() {
                continue;
            }
            let Face {
                normal,
                distance,
                beyond,
                ..
            } = self.faces[index];
            if normal.dot(point) - distance > tolerance {
                self.remove(index);
                // Its other edges, that after the one crossed first.
                let side = usize::from(edge.side);
                self.walk.push(beyond[(side + 2) % 3]);
                self.walk.push(beyond[(side + 1) % 3]);
            } else {
                self.rim.push(edge);
            }
        }
    }

    fn remove(&mut self, index: usize) {
        self.distances[index] = f64::INFINITY;
        self.free.extend(u16::try_from(index));
    }

    /// The vertices at the start and end of an edge.
    fn ends(&self, Edge { face, side }: Edge) -> [u16; 2] {
        let (vertices, side) = (self.faces[usize::from(face)].vertices, usize::from(side));
        [vertices[side], vertices[(side + 1) % 3]]
    }

    /// Makes two edges face each other.
    fn join(&mut self, one: Edge, other: Edge) {
        self.faces[usize::from(one.face)].beyond[usize::from(one.side)] = other;
        self.faces[usize::from(other.face)].beyond[usize::from(other.side)] = one;
    }

    fn penetration(&self, face: Face, upper: f64) -> Penetration {
        let mut simplex = Simplex::default();
        for vertex in face.vertices {
            simplex.push(self.vertices[usize::from(vertex)]);
        }
        let [a, b, c] = [0, 1, 2].map(|index: usize| simplex.vertices[index].difference);
        // Weights of the projected origin, which rounding may put a little outside.
        let projected = face.normal * face.distance;
        let part = |p: Vec3, q: Vec3| (p - projected).cross(q - projected).dot(face.normal);
        let parts = [part(b, c), part(c, a), part(a, b)].map(|part| part.max(0.0));
        let sum = parts[0] + parts[1] + parts[2];
        simplex.weights = if sum > 0.0 {
            [parts[0] / sum, parts[1] / sum, parts[2] / sum, 0.0]
        } else {
            [1.0, 0.0, 0.0, 0.0]
        };
        Penetration {
            simplex,
            normal: face.normal,
            upper,
        }
    }
}

/// A unit vector across another one.
pub(super) fn perpendicular(vector: Vec3) -> Vec3 {
    let smallest = (0..3)
        .min_by(|&i, &j| vector[i].abs().total_cmp(&vector[j].abs()))
        .unwrap_or(0);
    let mut axis = Vec3::ZERO;
    axis[smallest] = 1.0;
    vector.cross(axis).normalized().0
}
