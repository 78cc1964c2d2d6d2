//! Volume, centre and inertia of meshes as sums over their triangles, and the adjoint of these sums.
//!
//! With n̂, A, c the normal, area and centre of a triangle, the pyramid over it with its apex at p has volume and first
//! moment
//!
//!   V = (c − p)·n̂·A/3,    V·(¾·c + ¼·p)                                                            (1)
//!
//! and products of inertia about the origin that are quadratic in its corners. Three sums follow each other: the centre
//! of the surface, which is the apex of the second, the centre of the solid, about which the third takes moments. The
//! adjoint goes back through them; each triangle's part of it comes from dual numbers over its corners and that point.

use carom_spec::model_spec::MeshInertia;

use crate::dual::Dual;
use crate::math::Vec3;
use crate::scalar::Scalar;

/// Areas and volumes below this count as zero, as in MuJoCo.
pub(super) const MIN: f64 = 1e-15;

/// Corners of a triangle, as indices of vertices.
pub(super) type Triangle = [u32; 3];

/// Area, unit normal and centre.
pub(super) struct TriangleShape<T> {
    pub(super) area: T,
    normal: Vec3<T>,
    center: Vec3<T>,
}

/// The shape of a triangle.
pub(super) fn triangle<T: Scalar>([a, b, c]: [Vec3<T>; 3]) -> TriangleShape<T> {
    let product = (b - a).cross(c - a);
    let length = product.norm();
    let center = Vec3(std::array::from_fn(|axis| {
        (a[axis] + b[axis] + c[axis]) / 3.0
    }));
    if length.value() < MIN {
        return TriangleShape {
            area: T::ZERO,
            normal: product,
            center,
        };
    }
    let normal = Vec3(product.0.map(|component| component / length));
    TriangleShape {
        area: length * 0.5,
        normal,
        center,
    }
}

/// A triangle's area, and its first moment.
fn surface_term<T: Scalar>(corners: [Vec3<T>; 3]) -> [T; 4] {
    let TriangleShape { area, center, .. } = triangle(corners);
    let Vec3([x, y, z]) = center * area;
    [area, x, y, z]
}

/// A pyramid's volume, and its first moment (1).
fn solid_term<T: Scalar>(is_legacy: bool, corners: [Vec3<T>; 3], apex: Vec3<T>) -> [T; 4] {
    let TriangleShape {
        area,
        normal,
        center,
    } = triangle(corners);
    let signed = (center - apex).dot(normal) * area / 3.0;
    let volume = if is_legacy { signed.abs() } else { signed };
    let Vec3([x, y, z]) = (center * 0.75 + apex * 0.25) * volume;
    [volume, x, y, z]
}

/// A pyramid's volume (or a triangle's area), and its products xx, yy, zz, xy, xz, yz about a centre.
fn second_term<T: Scalar>(inertia: MeshInertia, corners: [Vec3<T>; 3], center: Vec3<T>) -> [T; 7] {
    const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    let divisor = if inertia == MeshInertia::Shell {
        12.0
    } else {
        20.0
    };
    let corners = corners.map(|corner| corner - center);
    let shape = triangle(corners);
    let signed = || shape.center.dot(shape.normal) * shape.area / 3.0;
    let volume = match inertia {
        MeshInertia::Shell => shape.area,
        MeshInertia::Legacy => signed().abs(),
        MeshInertia::Exact | MeshInertia::Convex => signed(),
    };
    let [d, e, f] = corners;
    let products = PAIRS.map(|(i, j)| {
        let squares = d[i] * d[j] + e[i] * e[j] + f[i] * f[j];
        let mixed =
            d[i] * e[j] + d[j] * e[i] + d[i] * f[j] + d[j] * f[i] + e[i] * f[j] + e[j] * f[i];
        volume / divisor * (squares * 2.0 + mixed)
    });
    let [xx, yy, zz, xy, xz, yz] = products;
    [volume, xx, yy, zz, xy, xz, yz]
}

/// Area and centre of the surface.
pub(super) fn surface_center<T: Scalar>(faces: impl Iterator<Item = [Vec3<T>; 3]>) -> (T, Vec3<T>) {
    let [area, x, y, z] = summed(faces.map(surface_term));
    (area, divided(Vec3([x, y, z]), area))
}

/// Volume and centre by pyramids over the faces.
pub(super) fn solid_center<T: Scalar>(
    faces: impl Iterator<Item = [Vec3<T>; 3]>,
    apex: Vec3<T>,
    is_legacy: bool,
) -> (T, Vec3<T>) {
    let [volume, x, y, z] = summed(faces.map(|face| solid_term(is_legacy, face, apex)));
    (volume, divided(Vec3([x, y, z]), volume))
}

/// Volume (or surface) and inertia about a centre for unit density: xx, yy, zz, xy, xz, yz.
pub(super) fn second_moments<T: Scalar>(
    inertia: MeshInertia,
    faces: impl Iterator<Item = [Vec3<T>; 3]>,
    center: Vec3<T>,
) -> (T, [T; 6]) {
    let sums = summed(faces.map(|face| second_term(inertia, face, center)));
    let [volume, xx, yy, zz, xy, xz, yz] = sums;
    (volume, [yy + zz, xx + zz, xx + yy, -xy, -xz, -yz])
}

fn summed<T: Scalar, const N: usize>(terms: impl Iterator<Item = [T; N]>) -> [T; N] {
    terms.fold([T::ZERO; N], |mut sums, term| {
        for (sum, number) in sums.iter_mut().zip(term) {
            *sum += number;
        }
        sums
    })
}

fn divided<T: Scalar>(sum: Vec3<T>, total: T) -> Vec3<T> {
    if total.value() >= MIN {
        Vec3(sum.0.map(|component| component / total))
    } else {
        sum
    }
}

/// A mesh whose vertices may move.
#[derive(Clone, Copy)]
pub(crate) struct MovingMesh<'a> {
    /// What its mass is spread over.
    pub(crate) inertia: MeshInertia,
    /// All its faces.
    pub(crate) faces: &'a [Triangle],
    /// The faces around its mass: of the mesh or of its hull.
    pub(crate) solid: &'a [Triangle],
}

impl MovingMesh<'_> {
    /// Volume (or surface), centre, and inertia xx, yy, zz, xy, xz, yz about it for unit density.
    pub(crate) fn moments<T: Scalar>(self, vertices: &[Vec3<T>]) -> [T; 10] {
        let (_, _, center) = self.centers(vertices);
        let solid = self.solid.iter().map(|face| corners(vertices, face));
        let (volume, [xx, yy, zz, xy, xz, yz]) = second_moments(self.inertia, solid, center);
        let Vec3([x, y, z]) = center;
        [volume, x, y, z, xx, yy, zz, xy, xz, yz]
    }

    /// Area and centre of the surface with its sums, and the centre of mass.
    fn centers<T: Scalar>(self, vertices: &[Vec3<T>]) -> (T, Vec3<T>, Vec3<T>) {
        let faces = self.faces.iter().map(|face| corners(vertices, face));
        let (area, middle) = surface_center(faces);
        if self.inertia == MeshInertia::Shell {
            return (area, middle, middle);
        }
        let solid = self.solid.iter().map(|face| corners(vertices, face));
        let is_legacy = self.inertia == MeshInertia::Legacy;
        (area, middle, solid_center(solid, middle, is_legacy).1)
    }

    /// The twin of [`moments`](Self::moments): adds to the cotangents of the vertices.
    pub(crate) fn moments_vjp(self, vertices: &[Vec3], bar: &[f64; 10], vertices_bar: &mut [Vec3]) {
        let (area, middle, center) = self.centers(vertices);
        let [volume_bar, cx, cy, cz, xx, yy, zz, xy, xz, yz] = *bar;
        // From moments to products.
        let second_bar = [volume_bar, yy + zz, xx + zz, xx + yy, -xy, -xz, -yz];
        let mut center_bar = Vec3([cx, cy, cz]);
        for face in self.solid {
            let term = |corners, point| second_term(self.inertia, corners, point);
            let point = (center, &mut center_bar);
            triangle_vjp(face, vertices, point, term, &second_bar, vertices_bar);
        }
        let middle_bar = if self.inertia == MeshInertia::Shell {
            center_bar
        } else {
            let is_legacy = self.inertia == MeshInertia::Legacy;
            let solid = self.solid.iter().map(|face| corners(vertices, face));
            let (volume, _) = solid_center(solid, middle, is_legacy);
            let sums_bar = mean_vjp(volume, center, center_bar);
            let mut apex_bar = Vec3::ZERO;
            for face in self.solid {
                let term = |corners, point| solid_term(is_legacy, corners, point);
                let point = (middle, &mut apex_bar);
                triangle_vjp(face, vertices, point, term, &sums_bar, vertices_bar);
            }
            apex_bar
        };
        let sums_bar = mean_vjp(area, middle, middle_bar);
        let mut unused = Vec3::ZERO;
        for face in self.faces {
            let term = |corners, _: Vec3<Dual<12>>| surface_term(corners);
            let point = (middle, &mut unused);
            triangle_vjp(face, vertices, point, term, &sums_bar, vertices_bar);
        }
    }
}

/// Cotangents of a total and of first moments from that of their mean.
fn mean_vjp(total: f64, mean: Vec3, mean_bar: Vec3) -> [f64; 4] {
    let [x, y, z] = mean_bar.0.map(|bar| bar / total);
    [-mean.dot(mean_bar) / total, x, y, z]
}

fn corners<T: Scalar>(vertices: &[Vec3<T>], face: &Triangle) -> [Vec3<T>; 3] {
    face.map(|vertex| vertices[vertex as usize])
}

/// The adjoint of one triangle's term: to its corners, and to the point that all terms share.
fn triangle_vjp<const N: usize>(
    face: &Triangle,
    vertices: &[Vec3],
    (point, point_bar): (Vec3, &mut Vec3),
    term: impl Fn([Vec3<Dual<12>>; 3], Vec3<Dual<12>>) -> [Dual<12>; N],
    bar: &[f64; N],
    vertices_bar: &mut [Vec3],
) {
    let variable = |vector: Vec3, first: usize| {
        Vec3(std::array::from_fn(|axis| {
            Dual::variable(vector[axis], first + axis)
        }))
    };
    let [a, b, c] = corners(vertices, face);
    let inputs = [variable(a, 0), variable(b, 3), variable(c, 6)];
    let outputs = term(inputs, variable(point, 9));
    let mut sums = [0.0; 12];
    for (output, bar) in outputs.iter().zip(bar) {
        for (sum, tangent) in sums.iter_mut().zip(output.tangent) {
            *sum += bar * tangent;
        }
    }
    let part = |first: usize| Vec3([sums[first], sums[first + 1], sums[first + 2]]);
    for (corner, &vertex) in face.iter().enumerate() {
        vertices_bar[vertex as usize] += part(3 * corner);
    }
    *point_bar += part(9);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn adjoint_of_moments_is_that_of_differences() {
        let mut random = Random::new(2);
        let mut vertices: Vec<Vec3> = (0..4).map(|_| random.vec3()).collect();
        let mut faces = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        let [a, b, c, d] = [0, 1, 2, 3].map(|vertex| vertices[vertex]);
        if (b - a).cross(c - a).dot(d - a) < 0.0 {
            for face in &mut faces {
                face.swap(0, 1);
            }
        }
        for inertia in [
            MeshInertia::Exact,
            MeshInertia::Legacy,
            MeshInertia::Shell,
            MeshInertia::Convex,
        ] {
            let mesh = MovingMesh {
                inertia,
                faces: &faces,
                solid: &faces,
            };
            let bar: [f64; 10] = random.numbers();
            let mut vertices_bar = vec![Vec3::ZERO; 4];
            mesh.moments_vjp(&vertices, &bar, &mut vertices_bar);
            for vertex in 0..4 {
                for axis in 0..3 {
                    let step = 1e-6;
                    let ends = [step, -2.0 * step].map(|step| {
                        vertices[vertex].0[axis] += step;
                        let moments = mesh.moments(&vertices);
                        let terms = moments.iter().zip(bar);
                        terms.map(|(moment, bar)| moment * bar).sum::<f64>()
                    });
                    vertices[vertex].0[axis] += step;
                    let expected = (ends[0] - ends[1]) / (2.0 * step);
                    let found = vertices_bar[vertex][axis];
                    let error = (found - expected).abs();
                    assert!(
                        error < 1e-8,
                        "{inertia:?} {vertex} {axis}: {found} for {expected}"
                    );
                }
            }
        }
    }
}
