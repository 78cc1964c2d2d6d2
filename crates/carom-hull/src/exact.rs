//! Convex hulls by quickhull with exact signs.
//!
//! Points are added one at a time, the farthest of a face first. The faces that the new point sees are removed and
//! the rim of the hole is joined to the point. Faces whose plane holds the point are removed as well: so no face is
//! ever degenerate, points inside of faces and edges never remain vertices, and the hull of n extreme points has
//! exactly 2·n − 4 triangles, for any input. The result depends on the points and their order alone.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::orientation::side_of_plane;
use super::vector::{cross, dot, length_squared, subtract};
use super::{FlatPoints, Point};

/// A triangle of the hull under construction.
struct Face {
    /// Vertices, anticlockwise from outside.
    vertices: [usize; 3],
    /// The face across the edge from vertex i to vertex i + 1.
    neighbors: [usize; 3],
    /// Points that see this face.
    outside: Vec<usize>,
    /// Whether the face is part of the hull still.
    is_alive: bool,
}

/// Triangles of the convex hull, anticlockwise from outside; stops at `max_vertices` vertices when given.
pub(super) fn convex_hull(
    points: &[Point],
    max_vertices: Option<usize>,
) -> Result<Vec<[u32; 3]>, FlatPoints> {
    let simplex = initial_simplex(points)?;
    let mut hull = Builder::new(points, simplex);
    let mut budget = max_vertices.map_or(usize::MAX, |most| most.saturating_sub(4));
    while budget > 0 {
        let next = if max_vertices.is_some() {
            hull.farthest_overall()
        } else {
            hull.next_face()
        };
        let Some(face) = next else {
            break;
        };
        hull.add_farthest(face);
        budget -= 1;
    }
    Ok(hull.triangles())
}

/// Four points that span a volume, the first three anticlockwise from outside.
fn initial_simplex(points: &[Point]) -> Result<[usize; 4], FlatPoints> {
    let order = |&i: &usize, &j: &usize| compare(points[i], points[j]);
    let first = (0..points.len())
        .min_by(order)
        .ok_or(FlatPoints::Coincident)?;
    let second = (0..points.len())
        .max_by(order)
        .ok_or(FlatPoints::Coincident)?;
    if points[first] == points[second] {
        return Err(FlatPoints::Coincident);
    }
    let along = subtract(points[second], points[first]);
    let off_line = |i: usize| length_squared(cross(along, subtract(points[i], points[first])));
    let third = farthest(points.len(), off_line);
    if off_line(third) <= 0.0 {
        return Err(FlatPoints::Collinear);
    }
    let normal = cross(along, subtract(points[third], points[first]));
    let height = |i: usize| dot(normal, subtract(points[i], points[first])).abs();
    let side = |i: usize| side_of_plane(points[first], points[second], points[third], points[i]);
    // Rounding may hide a point just off the plane: then any point that is exactly off will do.
    let best = farthest(points.len(), height);
    let fourth = if side(best) == Ordering::Equal {
        (0..points.len())
            .find(|&i| side(i) != Ordering::Equal)
            .ok_or(FlatPoints::Coplanar)?
    } else {
        best
    };
    Ok(match side(fourth) {
        // The fourth point must be behind the first face.
        Ordering::Greater => [first, third, second, fourth],
        _ => [first, second, third, fourth],
    })
}

/// Lexicographic order.
fn compare(p: Point, q: Point) -> Ordering {
    let by_axis = |axis: usize| p[axis].total_cmp(&q[axis]);
    by_axis(0).then_with(|| by_axis(1)).then_with(|| by_axis(2))
}

/// The first index with the largest measure.
fn farthest(count: usize, measure: impl Fn(usize) -> f64) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for index in 0..count {
        let value = measure(index);
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0
}

struct Builder<'a> {
    points: &'a [Point],
    faces: Vec<Face>,
    /// Faces that may have points outside; the last is treated next.
    pending: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn new(points: &'a [Point], [a, b, c, d]: [usize; 4]) -> Self {
        let mut builder = Self {
            points,
            faces: Vec::new(),
            pending: Vec::new(),
        };
        // The tetrahedron; neighbour i is across the edge from vertex i to vertex i + 1.
        for (vertices, neighbors) in [
            ([a, b, c], [1, 2, 3]),
            ([b, a, d], [0, 3, 2]),
            ([c, b, d], [0, 1, 3]),
            ([a, c, d], [0, 2, 1]),
        ] {
            builder.faces.push(Face {
                vertices,
                neighbors,
                outside: Vec::new(),
                is_alive: true,
            });
        }
        let candidates: Vec<usize> = (0..points.len()).collect();
        builder.distribute(&candidates, &[0, 1, 2, 3]);
        builder
    }

    /// Gives each point to the first of the faces that it sees; points that see none are inside.
    fn distribute(&mut self, candidates: &[usize], faces: &[usize]) {
        for &point in candidates {
            let seen = faces
                .iter()
                .find(|&&face| self.side(face, point) == Ordering::Greater);
            if let Some(&face) = seen {
                self.faces[face].outside.push(point);
            }
        }
        self.pending.extend(
            faces
                .iter()
                .filter(|&&face| !self.faces[face].outside.is_empty()),
        );
    }

    fn side(&self, face: usize, point: usize) -> Ordering {
        let [a, b, c] = self.faces[face].vertices.map(|vertex| self.points[vertex]);
        side_of_plane(a, b, c, self.points[point])
    }

    /// A measure of the height of a point over a face, comparable within the face.
    fn height(&self, face: usize, point: usize) -> f64 {
        let [a, b, c] = self.faces[face].vertices.map(|vertex| self.points[vertex]);
        dot(
            cross(subtract(b, a), subtract(c, a)),
            subtract(self.points[point], a),
        )
    }

    /// A face with points outside.
    fn next_face(&mut self) -> Option<usize> {
        while let Some(face) = self.pending.pop() {
            if self.faces[face].is_alive && !self.faces[face].outside.is_empty() {
                return Some(face);
            }
        }
        None
    }

    /// The face over which the farthest point of all stands.
    fn farthest_overall(&self) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (id, face) in self
            .faces
            .iter()
            .enumerate()
            .filter(|(_, face)| face.is_alive)
        {
            let [a, b, c] = face.vertices.map(|vertex| self.points[vertex]);
            let area = length_squared(cross(subtract(b, a), subtract(c, a))).sqrt();
            for &point in &face.outside {
                let distance = self.height(id, point) / area;
                if best.is_none_or(|(_, most)| distance > most) {
                    best = Some((id, distance));
                }
            }
        }
        best.map(|(id, _)| id)
    }

    /// Adds the farthest of the points outside of a face.
    fn add_farthest(&mut self, face: usize) {
        let outside = &self.faces[face].outside;
        let index = farthest(outside.len(), |i| self.height(face, outside[i]));
        let Some(&point) = outside.get(index) else {
            return;
        };
        let (removed, rim) = self.seen_from(point, face);
        let mut orphans = Vec::new();
        for face in removed {
            self.faces[face].is_alive = false;
            orphans.append(&mut self.faces[face].outside);
        }
        orphans.retain(|&orphan| orphan != point);
        // Deterministic whatever the order in which faces were removed.
        orphans.sort_unstable();
        let added = self.close(point, &rim);
        self.distribute(&orphans, &added);
    }

    /// The faces that a point sees or whose plane holds it, found from one that it sees, and the rim around them: pairs
    /// of a face that stays and the index of its edge.
    fn seen_from(&self, point: usize, start: usize) -> (Vec<usize>, Vec<(usize, usize)>) {
        let mut is_seen: HashMap<usize, bool> = HashMap::from([(start, true)]);
        let mut seen = vec![start];
        let mut next = 0;
        while let Some(&face) = seen.get(next) {
            next += 1;
            for neighbor in self.faces[face].neighbors {
                if let std::collections::hash_map::Entry::Vacant(entry) = is_seen.entry(neighbor) {
                    let visible = self.side(neighbor, point) != Ordering::Less;
                    entry.insert(visible);
                    if visible {
                        seen.push(neighbor);
                    }
                }
            }
        }
        let mut rim = Vec::new();
        for &face in &seen {
            for (edge, neighbor) in self.faces[face].neighbors.into_iter().enumerate() {
                if is_seen.get(&neighbor) == Some(&false) {
                    let end = self.faces[face].vertices[(edge + 1) % 3];
                    let theirs = self.faces[neighbor].vertices.iter().position(|&v| v == end);
                    rim.extend(theirs.map(|theirs| (neighbor, theirs)));
                }
            }
        }
        (seen, rim)
    }

    /// Joins the edges of the rim to a point.
    fn close(&mut self, point: usize, rim: &[(usize, usize)]) -> Vec<usize> {
        let first = self.faces.len();
        // Where the new face starts that leaves a vertex of the rim.
        let mut leaving = HashMap::new();
        for (offset, &(neighbor, edge)) in rim.iter().enumerate() {
            let face = first + offset;
            let vertices = self.faces[neighbor].vertices;
            let (end, start) = (vertices[edge], vertices[(edge + 1) % 3]);
            self.faces[neighbor].neighbors[edge] = face;
            self.faces.push(Face {
                vertices: [start, end, point],
                neighbors: [neighbor, usize::MAX, usize::MAX],
                outside: Vec::new(),
                is_alive: true,
            });
            leaving.insert(start, face);
        }
        for face in first..self.faces.len() {
            let end = self.faces[face].vertices[1];
            if let Some(&next) = leaving.get(&end) {
                self.faces[face].neighbors[1] = next;
                self.faces[next].neighbors[2] = face;
            }
        }
        (first..self.faces.len()).collect()
    }

    fn triangles(&self) -> Vec<[u32; 3]> {
        let narrow = |vertex: usize| u32::try_from(vertex).unwrap_or(u32::MAX);
        let alive = self.faces.iter().filter(|face| face.is_alive);
        alive.map(|face| face.vertices.map(narrow)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::HashSet;

    /// Checks convexity, closedness and that every point is inside; returns the number of vertices.
    fn check(points: &[Point], triangles: &[[u32; 3]]) -> usize {
        let vertices: HashSet<u32> = triangles.iter().flatten().copied().collect();
        assert_eq!(triangles.len(), 2 * vertices.len() - 4, "Euler's formula");
        let mut edges = HashSet::new();
        for triangle in triangles {
            for corner in 0..3 {
                let edge = (triangle[corner], triangle[(corner + 1) % 3]);
                assert!(
                    edges.insert(edge),
                    "an edge occurs twice in the same direction"
                );
            }
            let [a, b, c] = triangle.map(|vertex| points[vertex as usize]);
            for &point in points {
                assert_ne!(
                    side_of_plane(a, b, c, point),
                    Ordering::Greater,
                    "a point is outside"
                );
            }
        }
        assert!(
            edges
                .iter()
                .all(|&(start, end)| edges.contains(&(end, start))),
            "not closed"
        );
        vertices.len()
    }

    #[test]
    fn random_points_in_a_ball_and_on_a_sphere() {
        let mut random = Random(1);
        let inside: Vec<Point> = (0..300).map(|_| random.point()).collect();
        let triangles = convex_hull(&inside, None).unwrap();
        check(&inside, &triangles);
        let on_sphere: Vec<Point> = inside
            .iter()
            .map(|&p| p.map(|x| x / length_squared(p).sqrt()))
            .collect();
        let triangles = convex_hull(&on_sphere, None).unwrap();
        assert_eq!(check(&on_sphere, &triangles), 300);
    }

    #[test]
    fn only_corners_of_a_grid_remain() {
        let mut points = Vec::new();
        for x in 0..5 {
            for y in 0..4 {
                for z in 0..3 {
                    points.push([f64::from(x), f64::from(y), f64::from(z)].map(|c| c * 0.1));
                }
            }
        }
        let triangles = convex_hull(&points, None).unwrap();
        assert_eq!(check(&points, &triangles), 8);
    }

    #[test]
    fn repeated_and_collinear_points_do_not_matter() {
        let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut points = Vec::new();
        for a in corners {
            for b in corners {
                points.push(a);
                points.push(std::array::from_fn(|axis| f64::midpoint(a[axis], b[axis])));
            }
        }
        let triangles = convex_hull(&points, None).unwrap();
        assert_eq!(check(&points, &triangles), 4);
    }

    #[test]
    fn random_lattice_points_are_full_of_degeneracies() {
        let mut random = Random(7);
        for round in 0..200 {
            let count = 5 + round % 40;
            let points: Vec<Point> = (0..count)
                .map(|_| random.point().map(|x| (x * 2.0).round()))
                .collect();
            check(&points, &convex_hull(&points, None).unwrap());
        }
    }

    #[test]
    fn flat_points_are_named() {
        let flat = |points: &[Point]| convex_hull(points, None).unwrap_err();
        assert_eq!(flat(&[]), FlatPoints::Coincident);
        assert_eq!(flat(&[[1.0; 3]; 5]), FlatPoints::Coincident);
        let line: Vec<Point> = (0..5).map(|i| [f64::from(i), 0.0, 0.0]).collect();
        assert_eq!(flat(&line), FlatPoints::Collinear);
        let plane: Vec<Point> = (0..9)
            .map(|i| [f64::from(i % 3), f64::from(i / 3), 1.0])
            .collect();
        assert_eq!(flat(&plane), FlatPoints::Coplanar);
    }

    #[test]
    fn vertices_are_limited() {
        let mut random = Random(3);
        let points: Vec<Point> = (0..100).map(|_| random.point()).collect();
        let triangles = convex_hull(&points, Some(10)).unwrap();
        let vertices: HashSet<u32> = triangles.iter().flatten().copied().collect();
        assert!(vertices.len() <= 10);
    }
}
