use std::collections::HashSet;

use super::{OrderedHull, Point, built, ordered_hull};
use crate::random::Random;

fn hull(points: &[Point]) -> OrderedHull {
    ordered_hull(points, None).unwrap()
}

/// Corners of the unit cube, x fastest.
fn cube() -> Vec<Point> {
    (0..8)
        .map(|i| [0, 1, 2].map(|axis| f64::from(i >> axis & 1)))
        .collect()
}

/// Checks that the triangles close up, and that no point is outside by more than rounding.
fn check(points: &[Point], hull: &OrderedHull) {
    assert_eq!(
        hull.triangles.len(),
        2 * hull.vertices.len() - 4,
        "Euler's formula"
    );
    let mut edges = HashSet::new();
    for triangle in &hull.triangles {
        for corner in 0..3 {
            let edge = (triangle[corner], triangle[(corner + 1) % 3]);
            assert!(edges.insert(edge), "an edge twice in one direction");
        }
        let [a, b, c] = triangle.map(|vertex| points[vertex as usize]);
        let [u, w] = [b, c].map(|p| [0, 1, 2].map(|axis| p[axis] - a[axis]));
        let normal = [
            u[1] * w[2] - u[2] * w[1],
            u[2] * w[0] - u[0] * w[2],
            u[0] * w[1] - u[1] * w[0],
        ];
        for point in points {
            let height: f64 = (0..3)
                .map(|axis| normal[axis] * (point[axis] - a[axis]))
                .sum();
            assert!(height < 1e-12, "a point is {height:e} outside");
        }
    }
    assert!(
        edges
            .iter()
            .all(|&(start, end)| edges.contains(&(end, start)))
    );
    let listed: HashSet<(u32, u32)> = hull
        .vertices
        .iter()
        .zip(&hull.neighbors)
        .flat_map(|(&vertex, around)| around.iter().map(move |&other| (vertex, other)))
        .collect();
    assert_eq!(listed, edges, "neighbours are the ends of edges");
}

// The orders below are those of MuJoCo 4.0.0 (`mjModel.mesh_graph`) for the same points.

#[test]
fn a_tetrahedron_is_listed_against_its_first_corner() {
    let points = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let hull = hull(&points);
    check(&points, &hull);
    assert_eq!(hull.vertices, [3, 2, 1, 0]);
    assert_eq!(hull.triangles, [[2, 1, 0], [1, 3, 0], [3, 2, 0], [2, 3, 1]]);
    assert_eq!(hull.neighbors, [[1, 0, 2], [1, 0, 3], [2, 0, 3], [2, 1, 3]]);
}

#[test]
fn squares_of_a_cube_are_fans_from_their_newest_corners() {
    let points = cube();
    let hull = hull(&points);
    check(&points, &hull);
    assert_eq!(hull.vertices, [3, 2, 0, 1, 5, 4, 7, 6]);
    assert_eq!(
        hull.triangles,
        [
            [2, 3, 0],
            [3, 1, 0],
            [1, 5, 0],
            [5, 4, 0],
            [3, 5, 1],
            [5, 3, 7],
            [6, 2, 0],
            [4, 6, 0],
            [6, 3, 2],
            [3, 6, 7],
            [5, 6, 4],
            [6, 5, 7]
        ]
    );
    assert_eq!(hull.neighbors[0], [2, 0, 1, 5, 7, 6]);
    assert_eq!(hull.neighbors[7], [2, 0, 4, 3, 7, 5]);
}

#[test]
fn points_within_edges_and_faces_are_left_out() {
    let mut points = Vec::new();
    for z in 0..2 {
        for y in 0..3 {
            for x in 0..3 {
                points.push([x, y, z].map(f64::from));
            }
        }
    }
    let hull = hull(&points);
    check(&points, &hull);
    assert_eq!(hull.vertices, [8, 6, 0, 2, 11, 9, 17, 15]);
    assert_eq!(hull.triangles[..3], [[6, 8, 0], [8, 2, 0], [2, 11, 0]]);
    assert_eq!(
        hull.triangles[9..],
        [[8, 15, 17], [11, 15, 9], [15, 11, 17]]
    );
}

#[test]
fn a_hexagonal_prism_has_a_known_order() {
    let rim = [[4, 0], [2, 2], [-2, 2], [-4, 0], [-2, -2], [2, -2]];
    let points: Vec<Point> = [-1, 1]
        .into_iter()
        .flat_map(|z| rim.map(|[x, y]| [x, y, z].map(f64::from)))
        .collect();
    let hull = hull(&points);
    check(&points, &hull);
    assert_eq!(hull.vertices, [2, 5, 0, 4, 3, 1, 10, 9, 7, 6, 11, 8]);
    assert_eq!(
        hull.triangles,
        [
            [5, 2, 0],
            [2, 4, 3],
            [2, 1, 0],
            [2, 5, 4],
            [4, 10, 3],
            [10, 9, 3],
            [1, 7, 0],
            [7, 6, 0],
            [11, 5, 0],
            [6, 11, 0],
            [5, 11, 4],
            [11, 10, 4],
            [10, 8, 9],
            [7, 8, 6],
            [8, 11, 6],
            [11, 8, 10],
            [8, 2, 3],
            [9, 8, 3],
            [2, 8, 1],
            [8, 7, 1]
        ]
    );
}

#[test]
fn random_points_in_a_box_and_on_a_sphere() {
    let mut random = Random(1);
    let inside: Vec<Point> = (0..300).map(|_| random.point()).collect();
    check(&inside, &hull(&inside));
    let on_sphere: Vec<Point> = inside
        .iter()
        .map(|&p| {
            let length = p.iter().map(|x| x * x).sum::<f64>().sqrt();
            p.map(|x| x / length)
        })
        .collect();
    let hull = hull(&on_sphere);
    check(&on_sphere, &hull);
    assert_eq!(hull.vertices.len(), 300);
}

#[test]
fn lattice_points_are_full_of_ties_and_need_merges() {
    let mut random = Random(7);
    for round in 0..300 {
        let count = 5 + round % 40;
        let points: Vec<Point> = (0..count)
            .map(|_| random.point().map(|x| (x * 2.0).round()))
            .collect();
        check(&points, &hull(&points));
    }
}

#[test]
fn near_duplicates_do_not_break_the_hull() {
    let mut random = Random(5);
    for _ in 0..100 {
        let mut points = cube();
        for i in 0..8 {
            let shift = random.point();
            points.push([0, 1, 2].map(|axis| points[i][axis] + 1e-9 * shift[axis]));
        }
        check(&points, &hull(&points));
    }
}

#[test]
fn vertices_are_limited_to_the_farthest() {
    let mut random = Random(3);
    let points: Vec<Point> = (0..100).map(|_| random.point()).collect();
    let hull = ordered_hull(&points, Some(10)).unwrap();
    assert_eq!(hull.vertices.len(), 10);
    assert_eq!(ordered_hull(&points, Some(4)).unwrap().vertices.len(), 4);
}

#[test]
fn flat_few_or_infinite_points_have_no_order() {
    assert_eq!(ordered_hull(&[], None), None);
    assert_eq!(ordered_hull(&[[1.0; 3]; 9], None), None);
    let plane: Vec<Point> = (0..9)
        .map(|i| [f64::from(i % 3), f64::from(i / 3), 1.0])
        .collect();
    assert_eq!(ordered_hull(&plane, None), None);
    let mut points = cube();
    points[3][1] = f64::NAN;
    assert_eq!(ordered_hull(&points, None), None);
}

#[test]
fn an_exact_hull_is_listed_by_number() {
    let triangles = vec![[2, 1, 0], [1, 3, 0], [3, 2, 0], [2, 3, 1]];
    let hull = OrderedHull::from_triangles(triangles);
    assert_eq!(hull.vertices, [0, 1, 2, 3]);
    assert_eq!(hull.neighbors, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]);
}

#[test]
fn memory_is_that_of_the_largest_hull_not_of_all_facets_there_ever_were() {
    let mut random = Random(11);
    let on_sphere = |_| {
        let point = random.point();
        let length = point.iter().map(|x| x * x).sum::<f64>().sqrt();
        point.map(|x| x / length)
    };
    let points: Vec<Point> = (0..3000).map(on_sphere).collect();
    let hull = built(&points, None).unwrap();
    // All points are vertices, so that the last hull is the largest; each new point has some facets before it takes others away.
    let (facets, last) = (hull.facets.len(), hull.all_facets().len());
    assert_eq!(last, 2 * points.len() - 4);
    assert!(facets < last + 200, "{facets} facets for a hull of {last}");
}
