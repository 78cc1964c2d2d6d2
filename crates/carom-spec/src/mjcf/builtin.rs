//! Meshes made from a formula: sphere, hemisphere, cone, supersphere and supertorus.
//!
//! The shapes have unit size. Vertices come in MuJoCo's order, so that compiled meshes compare one
//! to one. With c(w, m) = sign(cos w)·|cos w|ᵐ and s(w, m) likewise of the sine:
//!
//! - supersphere: (c(v, n)·c(u, e), c(v, n)·s(u, e), s(v, n)),
//! - supertorus:  ((1 + r·c(v, s))·c(u, t), (1 + r·c(v, s))·s(u, t), r·s(v, s)).

use std::collections::BTreeMap;
use std::f64::consts::PI;

use crate::mesh::RawMesh;
use crate::model_spec::{MeshBuiltin, MeshBuiltinKind};

/// Largest resolution that is accepted: the number of vertices grows with its square.
const MAX_RESOLUTION: f64 = 1000.0;

/// Makes a mesh; the reason when its parameters are wrong, `None` when the kind is not supported.
pub(super) fn make(builtin: &MeshBuiltin) -> Option<Result<RawMesh, String>> {
    let parameters = &builtin.parameters[..];
    Some(match builtin.kind {
        MeshBuiltinKind::Sphere => with(parameters, |[subdivisions]| {
            Ok(sphere(count(subdivisions, "the subdivision", 0.0, 4.0)?))
        }),
        MeshBuiltinKind::Hemisphere => with(parameters, |[resolution]| {
            Ok(hemisphere(count(resolution, "the resolution", 0.0, 10.0)?))
        }),
        MeshBuiltinKind::Cone => with(parameters, |[edges, radius]| {
            let edges = count(edges, "the number of vertices", 3.0, MAX_RESOLUTION)?;
            Ok(cone(edges, within(radius, "the radius", 0.0, 1.0)?))
        }),
        MeshBuiltinKind::Supersphere => with(parameters, |[resolution, e, n]| {
            let resolution = count(resolution, "the resolution", 3.0, MAX_RESOLUTION)?;
            let exponent = |value| within(value, "an exponent", 0.0, f64::MAX);
            Ok(supersphere(resolution, exponent(e)?, exponent(n)?))
        }),
        MeshBuiltinKind::Supertorus => with(parameters, |[resolution, radius, s, t]| {
            let resolution = count(resolution, "the resolution", 3.0, MAX_RESOLUTION)?;
            let radius = within(radius, "the radius", f64::MIN_POSITIVE, 1.0)?;
            let exponent = |value| within(value, "an exponent", f64::MIN_POSITIVE, f64::MAX);
            Ok(supertorus(resolution, radius, exponent(s)?, exponent(t)?))
        }),
        _ => return None,
    })
}

/// Calls `make` with exactly as many parameters as it takes.
fn with<const N: usize>(
    parameters: &[f64],
    make: impl Fn([f64; N]) -> Result<RawMesh, String>,
) -> Result<RawMesh, String> {
    match <[f64; N]>::try_from(parameters) {
        Ok(parameters) => make(parameters),
        Err(_) => Err(format!(
            "{N} parameters are needed, found {}",
            parameters.len()
        )),
    }
}

fn within(value: f64, what: &str, least: f64, most: f64) -> Result<f64, String> {
    if value >= least && value <= most {
        return Ok(value);
    }
    let range = match (least, most) {
        (least, f64::MAX) if least > 0.0 => "positive".to_owned(),
        (_, f64::MAX) => "zero or more".to_owned(),
        (least, most) if least == f64::MIN_POSITIVE => format!("in (0, {most}]"),
        (least, most) => format!("in [{least}, {most}]"),
    };
    Err(format!("{what} must be {range}"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range was checked"
)]
fn count(value: f64, what: &str, least: f64, most: f64) -> Result<u32, String> {
    within(value.trunc(), what, least, most).map(|value| value as u32)
}

/// Rounds to single precision, as all meshes are.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what is wanted"
)]
fn single(vertex: [f64; 3]) -> [f64; 3] {
    vertex.map(|entry| f64::from(entry as f32))
}

fn mesh(vertices: Vec<[f64; 3]>, faces: Vec<[u32; 3]>) -> RawMesh {
    RawMesh {
        vertices,
        faces,
        ..RawMesh::default()
    }
}

/// Subdivides an icosahedron; every step is rounded to single precision.
fn sphere(subdivisions: u32) -> RawMesh {
    const FACES: [[u32; 3]; 20] = [
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the golden ratio in single precision"
    )]
    let golden = f64::midpoint(1.0, 5.0_f64.sqrt()) as f32;
    let length = (1.0 + f64::from(golden * golden)).sqrt();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding is what is wanted"
    )]
    let scaled = |entry: f32| (f64::from(entry) / length) as f32;
    let (one, long) = (scaled(1.0), scaled(golden));
    // Three golden rectangles, each by its corners (−, +), (+, +), (−, −), (+, −).
    let mut vertices: Vec<[f32; 3]> = Vec::new();
    for shift in 0..3 {
        for (first, second) in [(-one, long), (one, long), (-one, -long), (one, -long)] {
            let mut vertex = [first, second, 0.0];
            vertex.rotate_right(shift);
            vertices.push(vertex);
        }
    }
    let mut faces = FACES.to_vec();
    for _ in 0..subdivisions {
        let mut midpoints: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut midpoint = |a: u32, b: u32| {
            *midpoints.entry((a.min(b), a.max(b))).or_insert_with(|| {
                let (p, q) = (vertices[a as usize], vertices[b as usize]);
                let middle: [f32; 3] = std::array::from_fn(|i| f32::midpoint(p[i], q[i]));
                let length = middle.iter().map(|entry| entry * entry).sum::<f32>().sqrt();
                vertices.push(middle.map(|entry| entry / length));
                u32::try_from(vertices.len() - 1).unwrap_or(u32::MAX)
            })
        };
        let mut finer = Vec::with_capacity(4 * faces.len());
        for [a, b, c] in faces {
            let (ab, bc, ca) = (midpoint(a, b), midpoint(b, c), midpoint(c, a));
            finer.extend([[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]);
        }
        faces = finer;
    }
    let vertices = vertices
        .into_iter()
        .map(|vertex| vertex.map(f64::from))
        .collect();
    mesh(vertices, faces)
}

/// The upper half of an octahedron, subdivided and projected onto the sphere, with a flat bottom.
fn hemisphere(resolution: u32) -> RawMesh {
    let corner = |side: u32| -> [f64; 3] {
        [
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0, -1.0, 0.0],
        ][(side % 4) as usize]
    };
    let pole = [0.0, 0.0, 1.0];
    let mut vertices = vec![pole];
    // Row k is a square of 4k edges.
    for row in 1..=resolution + 1 {
        let factor = f64::from(row) / f64::from(resolution + 1);
        let on_row = |side: u32| -> [f64; 3] {
            std::array::from_fn(|i| pole[i] + factor * (corner(side)[i] - pole[i]))
        };
        for side in 0..4 {
            let (start, end) = (on_row(side), on_row(side + 1));
            for step in 0..row {
                let point: [f64; 3] = std::array::from_fn(|i| {
                    start[i] + f64::from(step) * ((end[i] - start[i]) / f64::from(row))
                });
                let length = point.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
                vertices.push(single(point.map(|entry| entry / length)));
            }
        }
    }
    let center = u32::try_from(vertices.len()).unwrap_or(u32::MAX);
    vertices.push([0.0; 3]);

    let mut faces = vec![[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]];
    let start_of = |row: u32| 2 * row * (row - 1) + 1;
    for row in 1..=resolution {
        let (inner, outer) = (start_of(row), start_of(row + 1));
        let on_inner = |index: u32| inner + index % (4 * row);
        let on_outer = |index: u32| outer + index % (4 * (row + 1));
        for side in 0..4 {
            for step in 0..=row {
                let (near, far) = (step + row * side, step + (row + 1) * side);
                faces.push([on_inner(near), on_outer(far), on_outer(far + 1)]);
                if step < row {
                    faces.push([on_inner(near), on_outer(far + 1), on_inner(near + 1)]);
                }
            }
        }
    }
    let (start, around) = (start_of(resolution + 1), 4 * (resolution + 1));
    faces.extend((0..around).map(|i| [start + i, center, start + (i + 1) % around]));
    mesh(vertices, faces)
}

/// Two regular polygons, or a polygon and a tip; the faces are those of the convex hull.
fn cone(edges: u32, radius: f64) -> RawMesh {
    let on_circle = |index: u32, radius: f64, height: f64| {
        let angle = f64::from(2 * index) * PI / f64::from(edges);
        single([radius * angle.cos(), radius * angle.sin(), height])
    };
    let mut vertices: Vec<[f64; 3]> = (0..edges).map(|i| on_circle(i, 1.0, -1.0)).collect();
    if radius > 0.0 {
        vertices.extend((edges..2 * edges).map(|i| on_circle(i, radius, 1.0)));
    } else {
        vertices.push([0.0, 0.0, 1.0]);
    }
    mesh(vertices, Vec::new())
}

/// sign(x)·|x|ᵐ.
fn signed_power(x: f64, exponent: f64) -> f64 {
    if x == 0.0 {
        0.0
    } else {
        x.signum() * x.abs().powf(exponent)
    }
}

fn supersphere(resolution: u32, e: f64, n: f64) -> RawMesh {
    let mut vertices = vec![[0.0, 0.0, -1.0]];
    for ring in 1..resolution {
        let v = -PI / 2.0 + f64::from(ring) * PI / f64::from(resolution);
        let radius = signed_power(v.cos(), n);
        for step in 0..resolution {
            let u = -PI + f64::from(2 * step) * PI / f64::from(resolution);
            vertices.push(single([
                radius * signed_power(u.cos(), e),
                radius * signed_power(u.sin(), e),
                signed_power(v.sin(), n),
            ]));
        }
    }
    vertices.push([0.0, 0.0, 1.0]);
    let on_ring = |ring: u32, step: u32| 1 + ring * resolution + step % resolution;
    let (last, north) = (resolution - 2, 1 + (resolution - 1) * resolution);
    let steps = 0..resolution;
    let mut faces: Vec<[u32; 3]> = steps
        .clone()
        .map(|j| [0, on_ring(0, j + 1), on_ring(0, j)])
        .collect();
    for ring in 0..last {
        for j in steps.clone() {
            let (near, next) = (on_ring(ring, j), on_ring(ring, j + 1));
            let (above, above_next) = (on_ring(ring + 1, j), on_ring(ring + 1, j + 1));
            faces.extend([[near, next, above], [next, above_next, above]]);
        }
    }
    faces.extend(steps.map(|j| [on_ring(last, j), on_ring(last, j + 1), north]));
    mesh(vertices, faces)
}

fn supertorus(resolution: u32, radius: f64, s: f64, t: f64) -> RawMesh {
    let angle = |index: u32| 2.0 * PI * f64::from(index) / f64::from(resolution);
    let (mut vertices, mut faces) = (Vec::new(), Vec::new());
    let at = |i: u32, j: u32| (i % resolution) * resolution + j % resolution;
    for i in 0..resolution {
        let u = angle(i);
        for j in 0..resolution {
            let v = angle(j);
            let distance = 1.0 + radius * signed_power(v.cos(), s);
            vertices.push(single([
                distance * signed_power(u.cos(), t),
                distance * signed_power(u.sin(), t),
                radius * signed_power(v.sin(), s),
            ]));
            faces.extend([
                [at(i, j), at(i + 1, j), at(i, j + 1)],
                [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)],
            ]);
        }
    }
    mesh(vertices, faces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(kind: MeshBuiltinKind, parameters: &[f64]) -> RawMesh {
        let builtin = MeshBuiltin {
            kind,
            parameters: parameters.to_vec(),
        };
        make(&builtin)
            .expect("supported")
            .expect("parameters are right")
    }

    /// Volume inside a closed surface, positive when its faces turn outwards.
    fn volume(mesh: &RawMesh) -> f64 {
        let triple = |face: &[u32; 3]| {
            let [a, b, c] = face.map(|corner| mesh.vertices[corner as usize]);
            a[0] * (b[1] * c[2] - b[2] * c[1])
                + a[1] * (b[2] * c[0] - b[0] * c[2])
                + a[2] * (b[0] * c[1] - b[1] * c[0])
        };
        mesh.faces.iter().map(triple).sum::<f64>() / 6.0
    }

    fn is_closed(mesh: &RawMesh) -> bool {
        let edge = |face: &[u32; 3], i: usize| (face[i], face[(i + 1) % 3]);
        let mut edges: Vec<(u32, u32)> = mesh
            .faces
            .iter()
            .flat_map(|face| (0..3).map(move |i| edge(face, i)))
            .collect();
        edges.sort_unstable();
        edges
            .iter()
            .all(|(a, b)| edges.binary_search(&(*b, *a)).is_ok())
    }

    #[test]
    fn shapes_are_closed_and_have_their_volume() {
        let sphere = made(MeshBuiltinKind::Sphere, &[4.0]);
        assert_eq!((sphere.vertices.len(), sphere.faces.len()), (2562, 5120));
        let half = made(MeshBuiltinKind::Hemisphere, &[10.0]);
        assert_eq!((half.vertices.len(), half.faces.len()), (266, 528));
        let round = made(MeshBuiltinKind::Supersphere, &[60.0, 1.0, 1.0]);
        let torus = made(MeshBuiltinKind::Supertorus, &[80.0, 0.5, 1.0, 1.0]);
        for (mesh, exact) in [
            (&sphere, 4.0 / 3.0 * PI),
            (&half, 2.0 / 3.0 * PI),
            (&round, 4.0 / 3.0 * PI),
            (&torus, 2.0 * PI * PI * 0.25),
        ] {
            assert!(is_closed(mesh));
            let error = (volume(mesh) / exact - 1.0).abs();
            assert!(error < 0.02, "volume is off by {error}");
        }
        assert_eq!(made(MeshBuiltinKind::Cone, &[5.0, 0.0]).vertices.len(), 6);
        assert_eq!(made(MeshBuiltinKind::Cone, &[5.0, 0.5]).vertices.len(), 10);
    }

    #[test]
    fn wrong_parameters_are_refused() {
        for (kind, parameters) in [
            (MeshBuiltinKind::Sphere, &[5.0][..]),
            (MeshBuiltinKind::Sphere, &[]),
            (MeshBuiltinKind::Cone, &[2.0, 0.5]),
            (MeshBuiltinKind::Cone, &[4.0, 2.0]),
            (MeshBuiltinKind::Supersphere, &[1e9, 1.0, 1.0]),
            (MeshBuiltinKind::Supertorus, &[10.0, 0.0, 1.0, 1.0]),
        ] {
            let builtin = MeshBuiltin {
                kind,
                parameters: parameters.to_vec(),
            };
            assert!(
                matches!(make(&builtin), Some(Err(_))),
                "{kind:?} {parameters:?}"
            );
        }
    }
}
