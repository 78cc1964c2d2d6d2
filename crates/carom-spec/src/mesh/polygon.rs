//! Cuts a face of an OBJ file into triangles, with the choices of the loader MuJoCo uses.
//!
//! - Three corners are kept.
//! - Four corners are cut along the shorter diagonal, along the one between the second and the fourth
//!   corner when both are equal.
//! - More corners: ears are clipped in the coordinate plane most nearly parallel to the first bend. The
//!   orientation test compares a corner's turn with the sign of x₀·y₁ − y₀·x₁ of its first edge, which
//!   depends on where the origin is. So the result need not be a fan, and triangles can be missing; both
//!   are kept, since mass and inertia computed from the faces depend on them.
//!
//! Everything is computed in single precision, as there.

/// Triangles by index of the polygon's corners.
pub(super) fn triangulate(points: &[[f64; 3]]) -> Vec<[usize; 3]> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "vertices are single-precision values"
    )]
    let points: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
    match points.len() {
        0..=2 => Vec::new(),
        3 => vec![[0, 1, 2]],
        4 => {
            let is_02_shorter =
                squared_distance(points[0], points[2]) < squared_distance(points[1], points[3]);
            if is_02_shorter {
                vec![[0, 1, 2], [0, 2, 3]]
            } else {
                vec![[0, 1, 3], [1, 2, 3]]
            }
        }
        _ => clip_ears(&points),
    }
}

fn squared_distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [x, y, z] = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    x * x + y * y + z * z
}

fn clip_ears(points: &[[f32; 3]]) -> Vec<[usize; 3]> {
    let axes = projection_axes(points);
    let flat: Vec<[f32; 2]> = points.iter().map(|p| [p[axes[0]], p[axes[1]]]).collect();
    let mut remaining: Vec<usize> = (0..points.len()).collect();
    let mut triangles = Vec::with_capacity(points.len() - 2);
    let mut guess = 0;
    // Tries left before giving up on a polygon without a further ear.
    let mut tries = remaining.len();
    let mut count_before = remaining.len();
    while remaining.len() > 3 && tries > 0 {
        let count = remaining.len();
        if guess >= count {
            guess -= count;
        }
        if count == count_before {
            tries -= 1;
        } else {
            count_before = count;
            tries = count;
        }
        let corner = |offset: usize| remaining[(guess + offset) % count];
        let ear = [corner(0), corner(1), corner(2)];
        let triangle = ear.map(|index| flat[index]);
        let is_covered = || (3..count).any(|offset| contains(triangle, flat[corner(offset)]));
        if turns_inward(triangle) || is_covered() {
            guess += 1;
            continue;
        }
        triangles.push(ear);
        remaining.remove((guess + 1) % count);
    }
    if let [a, b, c] = remaining[..] {
        triangles.push([a, b, c]);
    }
    triangles
}

/// The two axes to keep, by the first corner that is not straight.
fn projection_axes(points: &[[f32; 3]]) -> [usize; 2] {
    let count = points.len();
    for first in 0..count {
        let [a, b, c] = [0, 1, 2].map(|offset| points[(first + offset) % count]);
        let edge =
            |from: [f32; 3], to: [f32; 3]| [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
        let (e, f) = (edge(a, b), edge(b, c));
        let x = (e[1] * f[2] - e[2] * f[1]).abs();
        let y = (e[2] * f[0] - e[0] * f[2]).abs();
        let z = (e[0] * f[1] - e[1] * f[0]).abs();
        if x > f32::EPSILON || y > f32::EPSILON || z > f32::EPSILON {
            return match (x > y && x > z, z > x && z > y) {
                (true, _) => [1, 2],
                (_, true) => [0, 1],
                _ => [0, 2],
            };
        }
    }
    [1, 2]
}

fn turns_inward([a, b, c]: [[f32; 2]; 3]) -> bool {
    let turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
    let area = (a[0] * b[1] - a[1] * b[0]) * 0.5;
    turn * area < 0.0
}

/// True when a ray from the point crosses the triangle's outline an odd number of times.
fn contains(triangle: [[f32; 2]; 3], [x, y]: [f32; 2]) -> bool {
    let mut is_inside = false;
    for index in 0..3 {
        let (a, b) = (triangle[index], triangle[(index + 2) % 3]);
        if (a[1] > y) != (b[1] > y) && x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0] {
            is_inside = !is_inside;
        }
    }
    is_inside
}

#[cfg(test)]
mod tests {
    use super::triangulate;

    /// A polygon and the triangles MuJoCo 4.0.0 makes of it.
    type Case = (&'static [[f64; 3]], &'static [[usize; 3]]);

    #[test]
    fn triangles_are_those_of_mujoco() {
        let cases: [Case; 5] = [
            (
                &[
                    [3.0, 0.7, 0.6],
                    [2.7, 0.9, 1.0],
                    [2.7, 1.0, 1.0],
                    [4.3, 1.3, 2.0],
                    [3.8, 0.5, 0.4],
                ],
                &[[4, 0, 1]],
            ),
            (
                &[
                    [0.1, -0.4, -0.9],
                    [0.3, -0.5, -0.8],
                    [0.5, -0.5, -0.7],
                    [0.6, -0.5, -0.6],
                    [-0.8, 0.2, -0.6],
                ],
                &[[0, 1, 2], [0, 2, 3], [0, 3, 4]],
            ),
            (
                &[
                    [-2.1, -1.9, -5.0],
                    [-2.3, -2.5, -5.1],
                    [-2.0, -2.0, -4.6],
                    [-1.9, -1.8, -4.3],
                    [-1.7, -1.0, -4.8],
                    [-2.1, -1.7, -5.4],
                ],
                &[[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]],
            ),
            (
                &[
                    [-1.8, 0.2, -3.6],
                    [-1.8, -0.7, -5.2],
                    [-1.8, -0.9, -5.2],
                    [-1.8, -1.5, -4.7],
                    [-1.8, -1.5, -4.6],
                    [-1.8, -1.5, -4.6],
                ],
                &[[0, 1, 2], [0, 2, 3], [3, 4, 5], [0, 3, 5]],
            ),
            (
                &[
                    [3.0, 0.7, 0.6],
                    [2.7, 0.9, 1.0],
                    [2.7, 1.0, 1.0],
                    [4.3, 1.3, 2.0],
                    [3.8, 0.5, 0.4],
                ],
                &[[4, 0, 1]],
            ),
        ];
        for (points, triangles) in cases {
            assert_eq!(triangulate(points), triangles, "{points:?}");
        }
    }
}
