//! Edges and polygons of a convex hull.
//!
//! Triangles are one polygon when they are connected and their normals fall into the same cell of a grid of spherical
//! angles, 0.01 rad wide: MuJoCo's rule, which decides which contact points a face gives. The outline of a polygon
//! starts with the first edge, in the order of the triangles, that is on its rim: where contacts tie, those that come
//! first are kept.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use super::polygon_order::listed;
use super::quickhull::OrderedHull;
use super::vector::{cross, length_squared, subtract};
use super::{Lists, Point};

/// Width of the cells of normals (rad).
const NORMAL_CELL_WIDTH: f64 = 0.01;
/// Normals this near to ±z have no azimuth.
const MIN_POLE_DISTANCE: f64 = 1e-7;
/// Triangles with a smaller double area belong to no polygon.
const MIN_AREA: f64 = 1e-15;

/// A directed edge between hull vertices.
type Edge = (u32, u32);

/// Vertices, edges and polygons of a convex hull. Vertices are numbered anew from 0 (*hull vertices*).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HullTopology {
    /// Mesh vertex of each hull vertex.
    pub vertices: Vec<u32>,
    /// Hull vertices that share an edge with a hull vertex.
    pub neighbors: Lists,
    /// Outlines of the polygons of (nearly) coplanar triangles, hull vertices anticlockwise from outside.
    pub polygons: Lists,
    /// Polygons around a hull vertex.
    pub polygons_around: Lists,
}

impl HullTopology {
    /// Reverses the outlines, which keep their first corners: for the hull of mirrored points.
    pub fn turn_inside_out(&mut self) {
        let reversed = self.polygons.iter().map(|outline| {
            let mut outline = outline.to_vec();
            if let Some(rest) = outline.get_mut(1..) {
                rest.reverse();
            }
            outline
        });
        self.polygons = reversed.collect();
    }
}

/// The topology of a hull.
pub(super) fn of_hull(points: &[Point], hull: &OrderedHull) -> HullTopology {
    let mut order: Vec<usize> = (0..hull.vertices.len()).collect();
    order.sort_unstable_by_key(|&place| hull.vertices[place]);
    let vertices: Vec<u32> = order.iter().map(|&place| hull.vertices[place]).collect();
    let renumber = |vertex: u32| {
        let place = vertices.binary_search(&vertex).unwrap_or_default();
        u32::try_from(place).unwrap_or(u32::MAX)
    };
    let neighbors = order.iter().map(|&place| {
        let neighbors = hull.neighbors[place].iter();
        neighbors.map(|&vertex| renumber(vertex))
    });
    let neighbors = neighbors.collect();
    let triangles = &hull.triangles;
    let hull: Vec<[u32; 3]> = triangles.iter().map(|face| face.map(renumber)).collect();
    let normals = triangles.iter().map(|face| {
        let [a, b, c] = face.map(|vertex| points[vertex as usize]);
        cross(subtract(b, a), subtract(c, a))
    });
    let cells: Vec<_> = normals.map(cell).collect();
    let polygons = polygons(&hull, &cells);
    let mut around = vec![Vec::new(); vertices.len()];
    for (polygon, outline) in (0..).zip(&polygons) {
        for &vertex in outline {
            around[vertex as usize].push(polygon);
        }
    }
    HullTopology {
        vertices,
        neighbors,
        polygons: polygons.into_iter().collect(),
        polygons_around: around.into_iter().collect(),
    }
}

fn edges(&[a, b, c]: &[u32; 3]) -> [Edge; 3] {
    [(a, b), (b, c), (c, a)]
}

/// The cell of a normal; none for a vanishing one.
fn cell(normal: Point) -> Option<[i32; 2]> {
    let length = length_squared(normal).sqrt();
    if length < MIN_AREA {
        return None;
    }
    // Adding zero makes −0 positive: both have the azimuth 0.
    let inverse = length.recip();
    let [x, y, z] = normal.map(|component| component * inverse + 0.0);
    #[allow(clippy::cast_possible_truncation, reason = "at most π over the width")]
    let index = |angle: f64| (angle / NORMAL_CELL_WIDTH).round() as i32;
    if z.abs() > 1.0 - MIN_POLE_DISTANCE {
        return Some([0, if z < 0.0 { index(PI) } else { 0 }]);
    }
    Some([index(y.atan2(x)), index(z.acos())])
}

/// Outlines of connected triangles of the same cell. Cells come in MuJoCo's order, and the outlines of a cell in the
/// order of their first triangles.
fn polygons(hull: &[[u32; 3]], cells: &[Option<[i32; 2]>]) -> Vec<Vec<u32>> {
    let owner: BTreeMap<Edge, usize> = hull
        .iter()
        .enumerate()
        .flat_map(|(face, triangle)| edges(triangle).map(|edge| (edge, face)))
        .collect();
    let mut is_taken: Vec<bool> = cells.iter().map(Option::is_none).collect();
    let mut known: Vec<[i32; 2]> = Vec::new();
    let mut numbers: BTreeMap<[i32; 2], usize> = BTreeMap::new();
    let mut outlines = Vec::new();
    for first in 0..hull.len() {
        let Some(cell) = cells[first].filter(|_| !is_taken[first]) else {
            continue;
        };
        let number = *numbers.entry(cell).or_insert_with(|| {
            known.push(cell);
            known.len() - 1
        });
        is_taken[first] = true;
        let mut patch = vec![first];
        let mut rim = BTreeMap::new();
        let mut next = 0;
        while let Some(&face) = patch.get(next) {
            next += 1;
            for (start, end) in edges(&hull[face]) {
                match owner.get(&(end, start)) {
                    Some(&other) if cells[other] == cells[first] => {
                        if !is_taken[other] {
                            is_taken[other] = true;
                            patch.push(other);
                        }
                    }
                    _ => {
                        rim.insert(start, end);
                    }
                }
            }
        }
        patch.sort_unstable();
        let outline = trace(patch.iter().map(|&face| hull[face]), &rim);
        outlines.extend(outline.map(|outline| (number, outline)));
    }
    let mut ranks = vec![0; known.len()];
    for (rank, number) in listed(&known).into_iter().enumerate() {
        ranks[number] = rank;
    }
    outlines.sort_by_key(|&(number, _)| ranks[number]);
    outlines.into_iter().map(|(_, outline)| outline).collect()
}

/// Follows the rim of a patch once around; starts with the first edge of its triangles that is on it.
fn trace(patch: impl Iterator<Item = [u32; 3]>, rim: &BTreeMap<u32, u32>) -> Option<Vec<u32>> {
    let (start, mut vertex) = patch
        .flat_map(|triangle| edges(&triangle))
        .find(|(start, end)| rim.get(start) == Some(end))?;
    let mut outline = vec![start];
    while vertex != start && outline.len() <= rim.len() {
        outline.push(vertex);
        vertex = *rim.get(&vertex)?;
    }
    (outline.len() >= 3).then_some(outline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quickhull::ordered_hull;
    use crate::vector::dot;

    fn topology(points: &[Point]) -> HullTopology {
        of_hull(points, &ordered_hull(points, None).unwrap())
    }

    #[test]
    fn a_cube_has_six_squares_and_three_at_each_corner() {
        let corner = |i: u32, axis: u32| f64::from(i >> axis & 1);
        let points: Vec<_> = (0..8)
            .map(|i| [corner(i, 0), corner(i, 1), corner(i, 2)])
            .collect();
        let hull = topology(&points);
        assert_eq!(hull.vertices.len(), 8);
        assert_eq!(hull.polygons.len(), 6);
        assert!(hull.polygons.iter().all(|outline| outline.len() == 4));
        assert!(
            hull.polygons_around
                .iter()
                .all(|polygons| polygons.len() == 3)
        );
        assert!(
            hull.neighbors
                .iter()
                .all(|list| (3..=6).contains(&list.len()))
        );
        for outline in hull.polygons.iter() {
            let at = |i: usize| points[hull.vertices[outline[i] as usize] as usize];
            let normal = cross(subtract(at(1), at(0)), subtract(at(2), at(0)));
            assert!(
                dot(normal, subtract(at(0), [0.5; 3])) > 0.0,
                "anticlockwise from outside"
            );
        }
    }

    /// Polygons of mesh vertices.
    fn outlines(points: &[Point]) -> Vec<Vec<u32>> {
        let hull = topology(points);
        let polygons = hull.polygons.iter();
        polygons
            .map(|outline| outline.iter().map(|&v| hull.vertices[v as usize]).collect())
            .collect()
    }

    // The orders below are those of MuJoCo 4.0.0 (`mjModel.mesh_polyvert`) for the same points.

    #[test]
    fn squares_of_a_cube_have_a_known_order_and_first_corner() {
        let corner = |i: u32, axis: u32| f64::from(i >> axis & 1);
        let points: Vec<_> = (0..8)
            .map(|i| [corner(i, 0), corner(i, 1), corner(i, 2)])
            .collect();
        assert_eq!(
            outlines(&points),
            [
                [6, 4, 5, 7],
                [6, 2, 0, 4],
                [3, 2, 6, 7],
                [5, 1, 3, 7],
                [1, 5, 4, 0],
                [2, 3, 1, 0]
            ]
        );
    }

    #[test]
    fn a_roof_has_a_known_order() {
        let points = [
            [0.0, 0.0, 0.0],
            [4.0, 0.0, 0.0],
            [4.0, 2.0, 0.0],
            [0.0, 2.0, 0.0],
            [1.0, 1.0, 1.0],
            [3.0, 1.0, 1.0],
        ];
        assert_eq!(
            outlines(&points),
            [
                vec![5, 2, 3, 4],
                vec![3, 2, 1, 0],
                vec![2, 5, 1],
                vec![1, 5, 4, 0],
                vec![4, 3, 0]
            ]
        );
    }

    #[test]
    fn mirrored_polygons_keep_their_first_corners() {
        let points = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut hull = topology(&points);
        assert_eq!(hull.polygons.get(0), [3, 2, 0]);
        hull.turn_inside_out();
        assert_eq!(hull.polygons.get(0), [3, 0, 2]);
    }

    #[test]
    fn a_tetrahedron_keeps_its_triangles() {
        let hull = topology(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(hull.polygons.len(), 4);
        assert!(hull.neighbors.iter().all(|list| list.len() == 3));
    }
}
