//! The penetration depth of two cores that overlap: a polytope inside of their difference is expanded until a face
//! of it lies on the surface [Van den Bergen 2001].
//!
//! With n the outward normal of the face nearest to the origin, δ its distance and w the vertex of the difference
//! farthest along n,
//!
//!   δ ≤ depth ≤ w·n                                                                                  (1)
//!
//! Every expansion adds one vertex; capacity bounds their number, so the search ends whatever the shapes are.

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

/// A triangle of the polytope, anticlockwise from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Face {
    vertices: [u16; 3],
    normal: Vec3,
    distance: f64,
}

/// Room for the polytope; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Polytope {
    vertices: Vec<Vertex>,
    faces: Vec<Face>,
    /// Edges around the faces that the new vertex sees.
    rim: Vec<[u16; 2]>,
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
            let is_known = !is_curved
                && self
                    .vertices
                    .iter()
                    .any(|known| known.index == vertex.index);
            if is_known || upper - face.distance <= tolerance {
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
        self.rim.clear();
        self.vertices.reserve(MAX_VERTICES);
        self.faces.reserve(2 * MAX_VERTICES);
        self.rim.reserve(6 * MAX_VERTICES);
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
        for face in [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]] {
            self.attach(face);
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

    /// Adds a face; false when it is too thin to have a normal.
    fn attach(&mut self, vertices: [u16; 3]) -> bool {
        let [a, b, c] = vertices.map(|vertex| self.vertices[usize::from(vertex)].difference);
        // Unit edges, since on curved shapes faces become tiny.
        let [(u, side1), (w, side2)] = [b - a, c - a].map(Vec3::normalized);
        let (normal, sine) = u.cross(w).normalized();
        // The corner nearest to the origin loses the fewest digits.
        let nearest = [a, b, c]
            .into_iter()
            .min_by(|p, q| p.norm_squared().total_cmp(&q.norm_squared()))
            .unwrap_or(a);
        let distance = normal.dot(nearest);
        self.faces.push(Face {
            vertices,
            normal,
            distance,
        });
        sine > NEEDLE && side1 > MIN_SIDE && side2 > MIN_SIDE && distance.is_finite()
    }

    fn nearest_face(&self) -> usize {
        let mut best = (0, f64::INFINITY);
        for (index, face) in self.faces.iter().enumerate() {
            if face.distance < best.1 {
                best = (index, face.distance);
            }
        }
        best.0
    }

    /// Replaces all faces that the vertex sees; false, with the polytope unusable, when rounding spoils it.
    fn expand(&mut self, vertex: Vertex, nearest: usize, tolerance: f64) -> bool {
        self.rim.clear();
        let mut index = 0;
        let first = self.faces[nearest].vertices;
        while index < self.faces.len() {
            let face = self.faces[index];
            let height = face.normal.dot(vertex.difference) - face.distance;
            if height > tolerance || face.vertices == first {
                self.faces.swap_remove(index);
                let [a, b, c] = face.vertices;
                for edge in [[a, b], [b, c], [c, a]] {
                    self.toggle_rim(edge);
                }
            } else {
                index += 1;
            }
        }
        if !self.rim_is_loop() {
            return false;
        }
        let Ok(added) = u16::try_from(self.vertices.len()) else {
            return false;
        };
        self.vertices.push(vertex);
        for index in 0..self.rim.len() {
            let [start, end] = self.rim[index];
            if !self.attach([start, end, added]) {
                return false;
            }
        }
        true
    }

    /// An edge between two removed faces is not on the rim.
    fn toggle_rim(&mut self, [start, end]: [u16; 2]) {
        match self.rim.iter().position(|&edge| edge == [end, start]) {
            Some(place) => {
                self.rim.swap_remove(place);
            }
            None => self.rim.push([start, end]),
        }
    }

    /// Whether the rim is one closed line; sorts its edges one after the other.
    fn rim_is_loop(&mut self) -> bool {
        let count = self.rim.len();
        for index in 1..count {
            let end = self.rim[index - 1][1];
            let Some(next) = (index..count).find(|&next| self.rim[next][0] == end) else {
                return false;
            };
            self.rim.swap(index, next);
        }
        count >= 3 && self.rim[count - 1][1] == self.rim[0][0]
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
