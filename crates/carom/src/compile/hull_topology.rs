//! Edges and polygons of a convex hull.
//!
//! Triangles are one polygon when they are connected and their normals fall into the same cell of a grid of spherical
//! angles, 0.01 rad wide: MuJoCo's rule, which decides which contact points a face gives.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

use crate::math::Vec3;
use crate::model::HullTopology;

/// Width of the cells of normals (rad).
const CELL: f64 = 0.01;
/// Normals this near to ±z have no azimuth.
const POLE: f64 = 1e-7;
/// Triangles with a smaller double area belong to no polygon.
const MIN_AREA: f64 = 1e-15;

/// A directed edge between hull vertices.
type Edge = (u32, u32);

/// The topology of a hull whose triangles are anticlockwise from outside.
pub(super) fn hull_topology(points: &[Vec3], triangles: &[[u32; 3]]) -> HullTopology {
    let used: BTreeSet<u32> = triangles.iter().flatten().copied().collect();
    let vertices: Vec<u32> = used.into_iter().collect();
    let renumber = |vertex: u32| {
        let place = vertices.binary_search(&vertex).unwrap_or_default();
        u32::try_from(place).unwrap_or(u32::MAX)
    };
    let hull: Vec<[u32; 3]> = triangles.iter().map(|face| face.map(renumber)).collect();
    let mut neighbors = vec![BTreeSet::new(); vertices.len()];
    for (start, end) in hull.iter().flat_map(edges) {
        neighbors[start as usize].insert(end);
    }
    let normals = triangles.iter().map(|face| {
        let [a, b, c] = face.map(|vertex| points[vertex as usize]);
        (b - a).cross(c - a)
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
        neighbors: neighbors.into_iter().collect(),
        polygons: polygons.into_iter().collect(),
        polygons_around: around.into_iter().collect(),
    }
}

fn edges(&[a, b, c]: &[u32; 3]) -> [Edge; 3] {
    [(a, b), (b, c), (c, a)]
}

/// The cell of a normal; none for a vanishing one.
fn cell(normal: Vec3) -> Option<[i32; 2]> {
    let length = normal.norm();
    if length < MIN_AREA {
        return None;
    }
    let [x, y, z] = (normal * length.recip()).0.map(|component| component + 0.0);
    #[allow(clippy::cast_possible_truncation, reason = "at most π over the width")]
    let index = |angle: f64| (angle / CELL).round() as i32;
    if z.abs() > 1.0 - POLE {
        return Some([0, if z < 0.0 { index(PI) } else { 0 }]);
    }
    Some([index(y.atan2(x)), index(z.acos())])
}

/// Outlines of connected triangles of the same cell, in the order of their first triangles.
fn polygons(hull: &[[u32; 3]], cells: &[Option<[i32; 2]>]) -> Vec<Vec<u32>> {
    let owner: BTreeMap<Edge, usize> = hull
        .iter()
        .enumerate()
        .flat_map(|(face, triangle)| edges(triangle).map(|edge| (edge, face)))
        .collect();
    let mut is_taken: Vec<bool> = cells.iter().map(Option::is_none).collect();
    let mut outlines = Vec::new();
    for first in 0..hull.len() {
        if is_taken[first] {
            continue;
        }
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
        outlines.extend(trace(hull[first], &rim));
    }
    outlines
}

/// Follows the rim of a patch once around; starts at the first corner of the first triangle that is on it.
fn trace(first: [u32; 3], rim: &BTreeMap<u32, u32>) -> Option<Vec<u32>> {
    let start = first
        .into_iter()
        .find(|vertex| rim.contains_key(vertex))
        .or_else(|| rim.keys().next().copied())?;
    let mut outline = vec![start];
    let mut vertex = *rim.get(&start)?;
    while vertex != start && outline.len() <= rim.len() {
        outline.push(vertex);
        vertex = *rim.get(&vertex)?;
    }
    (outline.len() >= 3).then_some(outline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::hull::convex_hull;

    fn topology(points: &[[f64; 3]]) -> HullTopology {
        let triangles = convex_hull(points, None).unwrap();
        let points: Vec<Vec3> = points.iter().copied().map(Vec3).collect();
        hull_topology(&points, &triangles)
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
            let at = |i: usize| Vec3(points[hull.vertices[outline[i] as usize] as usize]);
            let normal = (at(1) - at(0)).cross(at(2) - at(0));
            assert!(
                normal.dot(at(0) - Vec3([0.5; 3])) > 0.0,
                "anticlockwise from outside"
            );
        }
    }

    #[test]
    fn a_tetrahedron_keeps_its_triangles() {
        let hull = topology(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(hull.polygons.len(), 4);
        assert!(hull.neighbors.iter().all(|list| list.len() == 3));
    }
}
