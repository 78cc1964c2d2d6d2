//! Boxes that touch over a patch: pressure that grows with the depth, sampled by cells.
//!
//! A law with `patch = n` cuts every face into n × n cells. Each cell that is in contact gives one point, at the centre of
//! its part a in contact. With A the area of the cell, and δ the depth there,
//!
//!   distance = −δ·a/A                                                                    (1)
//!
//! so that a linear spring of stiffness k per cell sums up to ∫ (k/A)·δ dA: forces and torques are those of the whole
//! patch, and change continuously where a face is covered in part. A plane is rigid; the depth of a face below it is that
//! of its points, and counts by the share of the face that looks down:
//!
//!   δ = (q − x)·N,   a = b·max(−n·N, 0)   for a part b of the face.                         (2)
//!
//! Between two boxes with least half sizes h₁, h₂ the pressure is proportional to the depth d below the nearest face over
//! h, as in an elastic body whose pressure is zero on the skin and equal at the centres [Elandt 2019]. Bodies meet where their
//! pressures are equal: for a face (outward normal n₁, depth d₁) of the first and one (n₂, d₂) of the second, in the plane
//!
//!   d₁/h₁ = d₂/h₂,   N ∝ n₁/h₁ − n₂/h₂,   δ = d₁ + d₂,                                   (3)
//!
//! as far as both are the nearest faces of their boxes. An edge in a face thus has a patch of two halves that lean to
//! either side, which friction feels.

use crate::math::Vec3;
use crate::model::{GeomKind, Model};
use crate::scalar::Scalar;
use crate::stages::collision::narrow::Collider;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape, ShapeData};

/// Most cells along the side of a face: a whole face fits into a manifold.
pub(crate) const MAX_CELLS: usize = 6;
/// Most corners of a polygon: four of the first square, one more for every cut.
const MAX_CORNERS: usize = 24;
/// Smallest part of a cell that counts: below, its centre is rounding.
const MIN_SHARE: f64 = 1e-9;

/// The collider of two kinds over patches, where there is one.
fn collider<T: Scalar>(first: GeomKind, second: GeomKind) -> Option<Collider<T>> {
    match (first, second) {
        (GeomKind::Plane, GeomKind::Box) => Some(plane_box),
        (GeomKind::Box, GeomKind::Box) => Some(box_box),
        _ => None,
    }
}

/// The collider over patches of two geoms (their kinds in order), and the cells along a side, where their law has them.
pub(crate) fn of_law<T: Scalar, U: Scalar>(
    model: &Model<U>,
    law: Option<usize>,
    geoms: [usize; 2],
) -> Option<(Collider<T>, usize)> {
    let cells = model.structure.laws.cells[law?];
    let [first, second] = geoms.map(|geom| model.structure.geoms.kind[geom]);
    let collider = collider(first, second).filter(|_| cells > 0)?;
    Some((collider, cells))
}

/// The cells along a side that a shape was given.
fn cells<T: Scalar>(shape: &PosedShape<'_, T>) -> usize {
    match shape.data {
        ShapeData::Cells(count) => count.clamp(1, MAX_CELLS),
        _ => 1,
    }
}

/// A face of a box: its outward normal, two sides and their half lengths.
struct Face<T: Scalar> {
    axis: usize,
    normal: Vec3<T>,
    center: Vec3<T>,
    sides: [Vec3<T>; 2],
    half: [T; 2],
}

impl<T: Scalar> Face<T> {
    fn new(cuboid: &PosedShape<'_, T>, index: usize) -> Self {
        let (axis, sign) = (index / 2, if index.is_multiple_of(2) { -1.0 } else { 1.0 });
        let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
        let normal = cuboid.rotation.column(axis) * T::from(sign);
        Self {
            axis,
            normal,
            center: cuboid.position + normal * cuboid.size[axis],
            sides: [cuboid.rotation.column(u), cuboid.rotation.column(v)],
            half: [cuboid.size[u], cuboid.size[v]],
        }
    }

    /// The depth of a point below the face.
    fn depth(&self, point: Vec3<T>) -> T {
        (self.center - point).dot(self.normal)
    }

    fn cell_area(&self, cells: usize) -> T {
        self.half[0] * self.half[1] * (4.0 / (cells * cells) as f64)
    }

    /// Where a cell ends along a side, from the centre of the face.
    fn line(&self, side: usize, index: usize, cells: usize) -> T {
        self.half[side] * (2.0 * index as f64 / cells as f64 - 1.0)
    }

    fn place(&self, u: T, v: T) -> Vec3<T> {
        self.center + self.sides[0] * u + self.sides[1] * v
    }
}

/// The cells of a box that are below a plane. (2)
fn plane_box<T: Scalar>(
    plane: &PosedShape<'_, T>,
    cuboid: &PosedShape<'_, T>,
    _margin: T,
    out: &mut Manifold<T>,
) {
    let (normal, cells) = (plane.axis(), cells(cuboid));
    for index in 0..6 {
        let face = Face::new(cuboid, index);
        let down = -face.normal.dot(normal);
        if down.value() <= 0.0 {
            continue;
        }
        let depth = |point: Vec3<T>| (plane.position - point).dot(normal);
        let corner = |i: usize| {
            let sign = |bit: usize| T::from(if i >> bit & 1 == 1 { 1.0 } else { -1.0 });
            face.place(face.half[0] * sign(0), face.half[1] * sign(1))
        };
        let below = (0..4).filter(|&i| depth(corner(i)).value() > 0.0).count();
        if below == 0 {
            continue;
        }
        let area = face.cell_area(cells);
        for cell in 0..cells * cells {
            let (part, center) = if below == 4 {
                let middle = |side: usize, i: usize| {
                    (face.line(side, i, cells) + face.line(side, i + 1, cells)) * 0.5
                };
                let center = face.place(middle(0, cell / cells), middle(1, cell % cells));
                (T::ONE, center)
            } else {
                let mut polygon = Polygon::cell(&face, [cell / cells, cell % cells], cells);
                polygon.clip(depth);
                let (part, center) = polygon.measure(face.normal);
                (part / area, center)
            };
            push(out, (part * down, depth(center), center, normal), 0.5);
        }
    }
}

/// The cells of the plane between two faces, for all pairs of faces of two boxes. (3)
fn box_box<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    _margin: T,
    out: &mut Manifold<T>,
) {
    let least = |cuboid: &PosedShape<'_, T>| {
        let [x, y, z] = cuboid.size.0;
        x.min(y).min(z)
    };
    let (h1, h2, cells) = (least(first), least(second), cells(second));
    let faces1: [Face<T>; 6] = std::array::from_fn(|index| Face::new(first, index));
    let faces2: [Face<T>; 6] = std::array::from_fn(|index| Face::new(second, index));
    let reach = first.size.norm() * 2.0;
    for face1 in &faces1 {
        for face2 in &faces2 {
            if face1.normal.dot(face2.normal).value() >= 0.0 {
                continue;
            }
            // Along d₁/h₁ − d₂/h₂ = 0.
            let (along, slope) =
                (face1.normal * h1.recip() - face2.normal * h2.recip()).normalized();
            let offset = |x: Vec3<T>| face1.depth(x) / h1 - face2.depth(x) / h2;
            let center = first.position + along * (offset(first.position) / slope);
            let mut patch = Polygon::square(center, along, reach);
            patch.clip(|x| face1.depth(x));
            patch.clip(|x| face2.depth(x));
            for (face, faces) in [(face1, &faces1), (face2, &faces2)] {
                for other in faces.iter().filter(|other| other.axis != face.axis) {
                    patch.clip(|x| other.depth(x) - face.depth(x));
                }
            }
            if patch.count < 3 {
                continue;
            }
            // The smaller box has the finer cells.
            let grid = if h1.value() <= h2.value() {
                face1
            } else {
                face2
            };
            let depth = |x: Vec3<T>| face1.depth(x) + face2.depth(x);
            patch.split((grid, along), cells, |part, center| {
                push(out, (part, depth(center), center, along), 0.0);
            });
        }
    }
}

/// Adds the point of a part of a cell, by a share of its depth above its centre. (1)
fn push<T: Scalar>(
    out: &mut Manifold<T>,
    (part, depth, center, normal): (T, T, Vec3<T>, Vec3<T>),
    above: f64,
) {
    if part.value() > MIN_SHARE && depth.value() > 0.0 {
        out.push(ContactPoint {
            distance: -(part * depth),
            position: center + normal * (depth * above),
            normal,
            tangent: Vec3::ZERO,
        });
    }
}

/// A convex polygon in space.
#[derive(Clone, Copy)]
struct Polygon<T: Scalar> {
    corners: [Vec3<T>; MAX_CORNERS],
    count: usize,
}

impl<T: Scalar> Polygon<T> {
    fn of(four: [Vec3<T>; 4]) -> Self {
        let mut corners = [Vec3::ZERO; MAX_CORNERS];
        corners[..4].copy_from_slice(&four);
        Self { corners, count: 4 }
    }

    /// A large square about a point, across a direction.
    fn square(center: Vec3<T>, normal: Vec3<T>, half: T) -> Self {
        let along = if normal[1].value().abs() < 0.5 {
            Vec3::Y
        } else {
            Vec3::Z
        };
        let u = normal.cross(along).normalized().0;
        let (u, v) = (u * half, normal.cross(u) * half);
        Self::of([
            center - u - v,
            center + u - v,
            center + u + v,
            center - u + v,
        ])
    }

    fn cell(face: &Face<T>, [i, j]: [usize; 2], cells: usize) -> Self {
        let [u1, u2] = [i, i + 1].map(|i| face.line(0, i, cells));
        let [v1, v2] = [j, j + 1].map(|j| face.line(1, j, cells));
        Self::of([
            face.place(u1, v1),
            face.place(u2, v1),
            face.place(u2, v2),
            face.place(u1, v2),
        ])
    }

    /// Keeps where a linear function is positive.
    fn clip(&mut self, inside: impl Fn(Vec3<T>) -> T) {
        let count = self.count;
        if count == 0 {
            return;
        }
        let mut values = [T::ZERO; MAX_CORNERS];
        for (value, corner) in values.iter_mut().zip(&self.corners[..count]) {
            *value = inside(*corner);
        }
        if values[..count].iter().all(|value| value.value() >= 0.0) {
            return;
        }
        let mut kept = [Vec3::ZERO; MAX_CORNERS];
        let mut found = 0;
        let mut keep = |corner: Vec3<T>| {
            if found < MAX_CORNERS {
                kept[found] = corner;
                found += 1;
            }
        };
        for i in 0..count {
            let next = (i + 1) % count;
            let (here, there) = (values[i], values[next]);
            let [a, b] = [self.corners[i], self.corners[next]];
            if here.value() >= 0.0 {
                keep(a);
            }
            if (here.value() >= 0.0) != (there.value() >= 0.0) {
                keep(a + (b - a) * (here / (here - there)));
            }
        }
        (self.corners, self.count) = (kept, found);
    }

    /// Area seen along a normal, and centre.
    fn measure(&self, normal: Vec3<T>) -> (T, Vec3<T>) {
        let origin = self.corners[0];
        let (mut area, mut moment) = (T::ZERO, Vec3::ZERO);
        for pair in self.corners[..self.count].windows(2).skip(1) {
            let [a, b] = [pair[0] - origin, pair[1] - origin];
            let part = a.cross(b).dot(normal) * 0.5;
            area += part;
            moment += (a + b) * part;
        }
        let size = area.abs();
        if self.count < 3 || size.value() < f64::MIN_POSITIVE.sqrt() {
            return (T::ZERO, origin);
        }
        (size, origin + moment * (area * 3.0).recip())
    }

    /// Shares of the cells of a face that the polygon (with its unit normal) covers, and their centres.
    fn split(
        self,
        (face, normal): (&Face<T>, Vec3<T>),
        cells: usize,
        mut found: impl FnMut(T, Vec3<T>),
    ) {
        let area = face.cell_area(cells).recip();
        let along = |side: usize, x: Vec3<T>| (x - face.center).dot(face.sides[side]);
        for i in 0..cells {
            let mut strip = self;
            strip.clip(|x| along(0, x) - face.line(0, i, cells));
            strip.clip(|x| face.line(0, i + 1, cells) - along(0, x));
            if strip.count < 3 {
                continue;
            }
            for j in 0..cells {
                let mut cell = strip;
                cell.clip(|x| along(1, x) - face.line(1, j, cells));
                cell.clip(|x| face.line(1, j + 1, cells) - along(1, x));
                if cell.count < 3 {
                    continue;
                }
                let (part, center) = cell.measure(normal);
                found(part * area, center);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Mat3;

    fn shape(kind: GeomKind, position: [f64; 3], yaw: f64, half: f64) -> PosedShape<'static> {
        let (sine, cosine) = yaw.sin_cos();
        PosedShape {
            kind,
            position: Vec3(position),
            rotation: Mat3([cosine, -sine, 0.0, sine, cosine, 0.0, 0.0, 0.0, 1.0]),
            size: Vec3([half; 3]),
            data: ShapeData::Cells(4),
        }
    }

    fn tilted(height: f64, angle: f64) -> PosedShape<'static> {
        let (sine, cosine) = angle.sin_cos();
        PosedShape {
            rotation: Mat3([cosine, 0.0, sine, 0.0, 1.0, 0.0, -sine, 0.0, cosine]),
            ..shape(GeomKind::Box, [0.0, 0.0, height], 0.0, 0.5)
        }
    }

    /// Sums of distances, and of their torques about a point.
    fn totals(points: &[ContactPoint], about: Vec3) -> (f64, Vec3, Vec3) {
        let mut sums = (0.0, Vec3::ZERO, Vec3::ZERO);
        for point in points {
            let force = point.normal * -point.distance;
            sums.0 -= point.distance;
            sums.1 += force;
            sums.2 += (point.position - about).cross(force);
        }
        sums
    }

    fn found(collide: Collider<f64>, first: &PosedShape<'_>, second: &PosedShape<'_>) -> Manifold {
        let mut out = Manifold::default();
        collide(first, second, 0.0, &mut out);
        out
    }

    /// The force of a plane is the volume below it, whatever the tilt, and acts above its centre.
    #[test]
    fn a_plane_carries_the_volume_below_it() {
        let plane = shape(GeomKind::Plane, [0.0; 3], 0.0, 1.0);
        let flat = found(plane_box, &plane, &tilted(0.49, 0.0));
        assert_eq!(flat.points().len(), 16);
        // 16 cells of a sixteenth of 1 m², 1 cm deep.
        let (sum, _, torque) = totals(flat.points(), Vec3::ZERO);
        assert!((sum - 16.0 * 0.01).abs() < 1e-12 && torque.norm() < 1e-12);
        for angle in [0.01_f64, 0.3, 0.7] {
            // A wedge along y: the lower edge is 0.02 below the plane.
            let (sine, cosine) = angle.sin_cos();
            let height = 0.5 * (sine + cosine) - 0.02;
            let wedge = found(plane_box, &plane, &tilted(height, angle));
            let (sum, force, torque) = totals(wedge.points(), Vec3::ZERO);
            let depth: f64 = 0.02;
            // The triangle of the edge, as far as the faces reach.
            let width = depth / sine;
            let cut = (width - 1.0).max(0.0) / width;
            let volume = 0.5 * depth * depth / (sine * cosine) * (1.0 - cut * cut);
            let found = sum / 16.0;
            assert!(
                (found - volume).abs() < 0.02 * volume,
                "{angle}: {found}, {volume}"
            );
            assert!(force[2] > 0.0 && torque[0].abs() < 1e-12);
        }
    }

    /// Faces that cover each other in part, and edges in faces: forces are those of the overlap, opposite and without a
    /// torque on the pair, the same from both sides and for any number of cells.
    #[test]
    fn boxes_push_by_the_volume_of_their_overlap() {
        let first = shape(GeomKind::Box, [0.0; 3], 0.0, 0.5);
        for (x, y, yaw) in [
            (0.99, 0.0, 0.0),
            (0.99, 0.63, 0.0),
            (1.19, 0.2, 0.785),
            (1.0, 0.1, 0.05),
        ] {
            let second = shape(GeomKind::Box, [x, y, 0.0], yaw, 0.5);
            let one = found(box_box, &first, &second);
            let (sum, force, torque) = totals(one.points(), Vec3::ZERO);
            assert!(sum > 0.0, "{x} {y} {yaw}");
            let other = found(box_box, &second, &first);
            let (_, back, twist) = totals(other.points(), Vec3::ZERO);
            assert!(
                (force + back).norm() < 0.02 * force.norm(),
                "{force:?} {back:?}"
            );
            assert!((torque + twist).norm() < 0.05 * force.norm());
            // By numbers: ∫ of the pressure gradient over what is nearer to the skin of the first one.
            let slope = volume(&first, &second);
            assert!(
                (force[0] / 16.0 - slope[0]).abs() < 0.03 * slope[0]
                    && (force[1] / 16.0 - slope[1]).abs() < 0.03 * slope[0],
                "{x} {y} {yaw}: {:?} {slope:?}",
                force * (1.0 / 16.0)
            );
        }
    }

    /// ∫ 2·p·n dA over the surface of equal depth, by summation over columns along x (z does not matter).
    fn volume(first: &PosedShape<'_>, second: &PosedShape<'_>) -> Vec3 {
        let depth = |shape: &PosedShape<'_>, x: f64, y: f64| {
            let local = shape
                .rotation
                .transpose_mul_vec(Vec3([x, y, 0.0]) - shape.position);
            0.5 - local[0].abs().max(local[1].abs())
        };
        // ∮ p·n = ∫ ∇p over the part in which the first one's depth is the smaller one.
        let (n, h) = (1500, 1e-6);
        let mut sum = Vec3::ZERO;
        for i in 0..n {
            for j in 0..n {
                let x = 0.35 + 0.3 * (f64::from(i) + 0.5) / f64::from(n);
                let y = -0.75 + 1.5 * (f64::from(j) + 0.5) / f64::from(n);
                let [a, b] = [first, second].map(|shape| depth(shape, x, y));
                if a > 0.0 && b > 0.0 && a < b {
                    let slope = |dx: f64, dy: f64| {
                        (depth(first, x + dx, y + dy) - depth(first, x - dx, y - dy)) / (2.0 * h)
                    };
                    sum -= Vec3([slope(h, 0.0), slope(0.0, h), 0.0]);
                }
            }
        }
        sum * (2.0 * 0.3 * 1.5 / f64::from(n * n))
    }
}
