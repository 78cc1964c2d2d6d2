//! Two boxes: the axis of least overlap, then the points of the features that meet along it.
//!
//! Of the fifteen axes that can separate two boxes (three face normals each, nine cross products of edges) the one of
//! largest separation s = |p·n| − r₁(n) − r₂(n) is taken, where p joins the centres and r is the half extent along n;
//! any s beyond the margin means that the boxes are apart. Faces are preferred when nearly tied, since they give
//! several points and a manifold that does not flicker from step to step.
//!
//! *Face*: the face of the other box that looks most against the normal is clipped by the four sides of the face; each
//! corner left is a point whose distance is its height above the face. *Edges*: one point, halfway between the closest
//! points of the two edges, with the distance measured along the axis.
//!
//! The axis is searched on values; the points are then found over `T` with the features held fixed.

use crate::math::{Mat3, Vec3};
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape};

/// Rounding allowed in a separation, per sum of all half sizes.
const SEPARATION_SLACK: f64 = 1e-13;
/// Squared sine of the angle between two edges below which their cross product means nothing.
const PARALLEL: f64 = 1e-16;
/// Component of the axis below which both edges next to it are equally far along the axis.
const AMBIGUOUS: f64 = 1e-9;
/// Squared distance, relative to the face, below which two clipped corners are one.
const SAME_CORNER: f64 = 1e-14;
/// Share of its separation by which an edge axis must win.
const EDGE_BIAS: f64 = 1e-6;
/// Cosine above which an edge axis repeats the best face normal …
const SAME_AXIS: f64 = 0.99;
/// … unless its overlap is smaller by this share.
const SAME_AXIS_GAIN: f64 = 0.05;
/// Numbers below this are zero.
const TINY: f64 = 1e-15;
/// Corners that a clipped face can have, with room for rounding.
const MAX_CORNERS: usize = 12;

/// The two axes after `axis`, cyclically.
#[inline]
const fn others(axis: usize) -> [usize; 2] {
    [(axis + 1) % 3, (axis + 2) % 3]
}

/// The points of two boxes.
pub(super) fn collide<T: Scalar>(
    first: &PosedShape<'_, T>,
    second: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let boxes = Boxes::new(first, second);
    match boxes.least_overlap(margin.value()) {
        Some(Feature::Edges { edges, tolerance }) => {
            let point = boxes.edge_point(edges);
            if point.distance.value() <= tolerance {
                out.push(ContactPoint {
                    position: first.position + first.rotation.mul_vec(point.position),
                    normal: first.rotation.mul_vec(point.normal),
                    ..point
                });
            }
        }
        Some(Feature::FaceOfFirst(axis)) => {
            let view = FaceView {
                incident: boxes.rotation,
                center: boxes.second_from_first,
                size: first.size,
                incident_size: second.size,
            };
            view.collide(axis, first, T::ONE, margin, out);
        }
        Some(Feature::FaceOfSecond(axis)) => {
            let view = FaceView {
                incident: boxes.rotation.transpose(),
                center: boxes.first_from_second,
                size: second.size,
                incident_size: first.size,
            };
            view.collide(axis, second, -T::ONE, margin, out);
        }
        None => {}
    }
}

/// What meets along the axis of least overlap.
#[derive(Clone, Copy)]
enum Feature {
    /// A face of the first box, across this axis of it.
    FaceOfFirst(usize),
    /// A face of the second box.
    FaceOfSecond(usize),
    /// Edges along these axes of the two boxes.
    Edges {
        /// Axis of the first box, axis of the second.
        edges: [usize; 2],
        /// Distance up to which the point counts.
        tolerance: f64,
    },
}

/// Two boxes seen from each other.
struct Boxes<T: Scalar> {
    /// Columns: axes of the second box in the frame of the first.
    rotation: Mat3<T>,
    /// Centre of the second box in the frame of the first (m).
    second_from_first: Vec3<T>,
    /// Centre of the first box in the frame of the second (m).
    first_from_second: Vec3<T>,
    /// Half sizes (m).
    sizes: [Vec3<T>; 2],
}

impl<T: Scalar> Boxes<T> {
    #[inline]
    fn new(first: &PosedShape<'_, T>, second: &PosedShape<'_, T>) -> Self {
        let between = second.position - first.position;
        Self {
            rotation: first.rotation.transpose().mul(&second.rotation),
            second_from_first: first.rotation.transpose_mul_vec(between),
            first_from_second: second.rotation.transpose_mul_vec(-between),
            sizes: [first.size, second.size],
        }
    }

    /// The axis of largest separation, or none when the boxes are farther apart than the margin.
    #[inline]
    fn least_overlap(&self, margin: f64) -> Option<Feature> {
        let rotation = self.rotation.value();
        let sizes = self.sizes.map(Vec3::value);
        let extent: f64 = sizes.iter().flat_map(|size| size.0).sum();
        let tolerance = margin + SEPARATION_SLACK * extent;
        let (face, face_separation) = self.best_face(&rotation, sizes, tolerance)?;
        let centers = self.second_from_first.value();
        let mut best = face_separation;
        let mut edges = None;
        for i in 0..3 {
            for j in 0..3 {
                let Some(axis) = edge_axis(&rotation, i, j) else {
                    continue;
                };
                let separation = edge_separation(&rotation, sizes, centers, [i, j], axis);
                if separation > tolerance {
                    return None;
                }
                let biased = separation - EDGE_BIAS * separation.abs();
                if biased > best && separation > face_separation {
                    best = separation;
                    edges = Some([i, j]);
                }
            }
        }
        let gain = SAME_AXIS_GAIN * face_separation.abs() + TINY;
        match edges {
            Some(edges)
                if best >= face_separation + gain || !repeats_face(&rotation, edges, face) =>
            {
                Some(Feature::Edges { edges, tolerance })
            }
            _ => Some(face),
        }
    }

    /// The face normal of largest separation, with that separation.
    #[inline]
    fn best_face(
        &self,
        rotation: &Mat3,
        [size1, size2]: [Vec3; 2],
        tolerance: f64,
    ) -> Option<(Feature, f64)> {
        let absolute = rotation.map(f64::abs);
        let along1 = self.second_from_first.value().map(f64::abs) - size1 - absolute.mul_vec(size2);
        let along2 = self.first_from_second.value().map(f64::abs)
            - size2
            - absolute.transpose_mul_vec(size1);
        let mut best = f64::NEG_INFINITY;
        let mut feature = None;
        for axis in 0..3 {
            if along1[axis] > tolerance || along2[axis] > tolerance {
                return None;
            }
            if along1[axis] > best {
                best = along1[axis];
                feature = Some(Feature::FaceOfFirst(axis));
            }
        }
        for axis in 0..3 {
            if along2[axis] > best {
                best = along2[axis];
                feature = Some(Feature::FaceOfSecond(axis));
            }
        }
        feature.map(|feature| (feature, best))
    }

    /// The point of two edges, in the frame of the first box.
    fn edge_point(&self, [i, j]: [usize; 2]) -> ContactPoint<T> {
        let [size1, size2] = self.sizes;
        let ([i1, i2], [j1, j2]) = (others(i), others(j));
        let along = self.rotation.column(j);
        let mut axis = Vec3::ZERO;
        axis[i1] = -along[i2];
        axis[i2] = along[i1];
        let (mut axis, _) = axis.normalized();
        if axis.dot(self.second_from_first).value() < 0.0 {
            axis = -axis;
        }
        let axis2 = self.rotation.transpose_mul_vec(axis);
        let ambiguous = |axis: Vec3<T>, components: [usize; 2]| {
            components
                .into_iter()
                .find(|&component| axis[component].value().abs() < AMBIGUOUS)
        };
        let (flip1, flip2) = (ambiguous(axis, [i1, i2]), ambiguous(axis2, [j1, j2]));

        // Where a sign means nothing, both edges are tried and the closer pair is kept.
        let start1 = support_edge(axis, size1, i);
        let start2 = -support_edge(axis2, size2, j);
        let mut least = f64::INFINITY;
        let mut witnesses = [Vec3::ZERO; 2];
        for start1 in [
            Some(start1),
            flip1.map(|component| flipped(start1, component)),
        ] {
            for start2 in [
                Some(start2),
                flip2.map(|component| flipped(start2, component)),
            ] {
                let (Some(start1), Some(start2)) = (start1, start2) else {
                    continue;
                };
                let start2 = self.rotation.mul_vec(start2) + self.second_from_first;
                let pair = closest_on_edges(start1, start2, along, i, [size1[i], size2[j]]);
                let gap = (pair[1] - pair[0]).norm_squared().value();
                if gap < least {
                    least = gap;
                    witnesses = pair;
                }
            }
        }
        ContactPoint {
            distance: (witnesses[1] - witnesses[0]).dot(axis),
            position: (witnesses[0] + witnesses[1]) * 0.5,
            normal: axis,
            tangent: Vec3::ZERO,
        }
    }
}

/// Components of the unit axis across edge `i` of the first box and edge `j` of the second, in the two directions
/// after `i`; none for parallel edges.
#[inline]
fn edge_axis(rotation: &Mat3, i: usize, j: usize) -> Option<[f64; 2]> {
    let [i1, i2] = others(i);
    let (u, w) = (-rotation.0[3 * i2 + j], rotation.0[3 * i1 + j]);
    let squared = u * u + w * w;
    if squared < PARALLEL {
        return None;
    }
    let scale = squared.sqrt().recip();
    Some([u * scale, w * scale])
}

/// Separation of the boxes along the axis across two edges.
#[inline]
fn edge_separation(
    rotation: &Mat3,
    [size1, size2]: [Vec3; 2],
    centers: Vec3,
    [i, j]: [usize; 2],
    [u, w]: [f64; 2],
) -> f64 {
    let ([i1, i2], [j1, j2]) = (others(i), others(j));
    let in_second = |axis: usize| u * rotation.0[3 * i1 + axis] + w * rotation.0[3 * i2 + axis];
    let radius1 = size1[i1] * u.abs() + size1[i2] * w.abs();
    let radius2 = size2[j1] * in_second(j1).abs() + size2[j2] * in_second(j2).abs();
    (u * centers[i1] + w * centers[i2]).abs() - radius1 - radius2
}

/// Whether the axis across two edges is nearly the normal of a face.
fn repeats_face(rotation: &Mat3, [i, j]: [usize; 2], face: Feature) -> bool {
    let Some([u, w]) = edge_axis(rotation, i, j) else {
        return true;
    };
    let mut axis = Vec3::ZERO;
    let [i1, i2] = others(i);
    axis[i1] = u;
    axis[i2] = w;
    let cosine = match face {
        Feature::FaceOfFirst(face) => axis[face],
        Feature::FaceOfSecond(face) => axis.dot(rotation.column(face)),
        Feature::Edges { .. } => return false,
    };
    cosine.abs() > SAME_AXIS
}

/// Middle of the edge along `edge` that lies farthest in a direction, in the frame of its box.
#[inline]
fn support_edge<T: Scalar>(direction: Vec3<T>, size: Vec3<T>, edge: usize) -> Vec3<T> {
    let mut middle = Vec3::ZERO;
    for axis in others(edge) {
        middle[axis] = if direction[axis].value() >= 0.0 {
            size[axis]
        } else {
            -size[axis]
        };
    }
    middle
}

fn flipped<T: Scalar>(mut point: Vec3<T>, component: usize) -> Vec3<T> {
    point[component] = -point[component];
    point
}

/// Closest points of the edge along axis `i` through `start1` and the edge along `direction` through `start2`, with
/// their half lengths; each clamp lets the other parameter follow.
fn closest_on_edges<T: Scalar>(
    start1: Vec3<T>,
    start2: Vec3<T>,
    direction: Vec3<T>,
    i: usize,
    [half1, half2]: [T; 2],
) -> [Vec3<T>; 2] {
    let between = start2 - start1;
    let cosine = direction[i];
    let (along1, along2) = (between[i], direction.dot(between));
    let determinant = T::ONE - cosine * cosine;
    let free = if determinant.value() < TINY {
        T::ZERO
    } else {
        (along1 - cosine * along2) / determinant
    };
    let s = free.clamp(-half1, half1);
    let t = (cosine * s - along2).clamp(-half2, half2);
    let s = (along1 + cosine * t).clamp(-half1, half1);
    let mut point1 = start1;
    point1[i] += s;
    [point1, start2 + direction * t]
}

/// A box with a reference face, and the other (incident) box in its frame.
struct FaceView<T: Scalar> {
    /// Columns: axes of the incident box.
    incident: Mat3<T>,
    /// Centre of the incident box (m).
    center: Vec3<T>,
    /// Half size of the reference box (m).
    size: Vec3<T>,
    /// Half size of the incident box (m).
    incident_size: Vec3<T>,
}

impl<T: Scalar> FaceView<T> {
    /// The points on the face across `axis` of the reference box; `direction` is 1 when the normal leaves that box.
    fn collide(
        &self,
        axis: usize,
        reference: &PosedShape<'_, T>,
        direction: T,
        margin: T,
        out: &mut Manifold<T>,
    ) {
        let [x, y] = others(axis);
        let side = T::from(if self.center[axis].value() >= 0.0 {
            1.0
        } else {
            -1.0
        });
        let clipped = self.clipped_face(axis, side);
        let same =
            SAME_CORNER * (self.size[x] * self.size[x] + self.size[y] * self.size[y]).value();
        let normal = reference.rotation.column(axis) * (side * direction);
        let corners = clipped.corners();
        let mut kept = [0; MAX_CORNERS];
        let mut count = 0;
        for (index, corner) in corners.iter().enumerate() {
            let repeats = |&other: &usize| {
                let (dx, dy) = (corners[other][0] - corner[0], corners[other][1] - corner[1]);
                (dx * dx + dy * dy).value() < same
            };
            if corner[2].value() > margin.value() || kept[..count].iter().any(repeats) {
                continue;
            }
            kept[count] = index;
            count += 1;
            let mut position = Vec3::ZERO;
            position[x] = corner[0];
            position[y] = corner[1];
            position[axis] = side * (self.size[axis] + corner[2] * 0.5);
            out.push(ContactPoint {
                distance: corner[2],
                position: reference.position + reference.rotation.mul_vec(position),
                normal,
                tangent: Vec3::ZERO,
            });
        }
    }

    /// The face of the incident box that looks most against the reference face, clipped by the sides of the latter.
    /// Corners are given by their two coordinates in the face and their height above it.
    #[inline]
    fn clipped_face(&self, axis: usize, side: T) -> Polygon<T> {
        let [x, y] = others(axis);
        let along = |k: usize| self.incident.0[3 * axis + k];
        let mut face = 0;
        for k in 1..3 {
            if along(k).value().abs() > along(face).value().abs() {
                face = k;
            }
        }
        let against = if (side * along(face)).value() > 0.0 {
            -1.0
        } else {
            1.0
        };
        let [u, w] = others(face);
        let view = |v: Vec3<T>| Vec3([v[x], v[y], side * v[axis]]);
        let half = |k: usize| self.incident.column(k) * self.incident_size[k];
        let mut center = view(self.center + half(face) * against);
        center[2] -= self.size[axis];
        let (half_u, half_w) = (view(half(u)), view(half(w)));
        let mut polygon = Polygon::new([
            center + half_u + half_w,
            center - half_u + half_w,
            center - half_u - half_w,
            center + half_u - half_w,
        ]);
        for (coordinate, limit) in [(0, self.size[x]), (1, self.size[y])] {
            polygon.clip(coordinate, 1.0, limit);
            polygon.clip(coordinate, -1.0, limit);
        }
        polygon
    }
}

/// A convex polygon.
struct Polygon<T: Scalar> {
    vertices: [Vec3<T>; MAX_CORNERS],
    count: usize,
}

impl<T: Scalar> Polygon<T> {
    #[inline]
    fn new(corners: [Vec3<T>; 4]) -> Self {
        let mut vertices = [Vec3::ZERO; MAX_CORNERS];
        vertices[..4].copy_from_slice(&corners);
        Self { vertices, count: 4 }
    }

    #[inline]
    fn corners(&self) -> &[Vec3<T>] {
        &self.vertices[..self.count]
    }

    /// Keeps what satisfies `sign`·v[`coordinate`] ≤ `limit`.
    #[inline]
    fn clip(&mut self, coordinate: usize, sign: f64, limit: T) {
        let beyond = |vertex: &Vec3<T>| vertex[coordinate] * sign - limit;
        if self
            .corners()
            .iter()
            .any(|vertex| beyond(vertex).value() > 0.0)
        {
            self.clip_crossing(beyond);
        }
    }

    /// Keeps the vertices where `beyond` is not positive, and the points of edges where it is zero.
    fn clip_crossing(&mut self, beyond: impl Fn(&Vec3<T>) -> T) {
        let crosses = |a: f64, b: f64| (a < 0.0 && b > 0.0) || (a > 0.0 && b < 0.0);
        let mut kept = Self {
            vertices: [Vec3::ZERO; MAX_CORNERS],
            count: 0,
        };
        for (index, vertex) in self.corners().iter().enumerate() {
            let next = &self.vertices[if index + 1 == self.count {
                0
            } else {
                index + 1
            }];
            let (here, there) = (beyond(vertex), beyond(next));
            if here.value() <= 0.0 {
                kept.push(*vertex);
            }
            if crosses(here.value(), there.value()) {
                kept.push(*vertex + (*next - *vertex) * (here / (here - there)));
            }
        }
        *self = kept;
    }

    #[inline]
    fn push(&mut self, vertex: Vec3<T>) {
        if self.count < MAX_CORNERS {
            self.vertices[self.count] = vertex;
            self.count += 1;
        }
    }
}
