//! Faces and edges of cores around the feature that touches.
//!
//! MuJoCo's rules: a corner belongs to all faces and edges around it, two corners to the faces and the edge they
//! share, three to one face. The side of a cylinder and the axis of a capsule count as edges, a cap as a regular
//! polygon of sixteen corners.

use super::core_shape::{CoreKind, CoreShape, box_corner, rim_offset};
use super::feature::Feature;
use crate::math::Vec3;
use crate::model::HullTopology;
use crate::scalar::Scalar;

/// Cosine and sine, as MuJoCo rounds them, of the angle (about 0.089 rad) within which faces and edges count as
/// parallel.
pub(super) const PARALLEL: (f64, f64) = (0.996, 0.0888);
/// Cosine and sine of the corners of a quarter of a cap, with the digits that MuJoCo has.
#[expect(
    clippy::approx_constant,
    reason = "the last digits decide between contacts that tie"
)]
const CAP_QUARTER: [[f64; 2]; 4] = [
    [1.0, 0.0],
    [0.923_879_532_511_287, 0.382_683_432_365_09],
    [0.707_106_781_186_548, 0.707_106_781_186_547],
    [0.382_683_432_365_09, 0.923_879_532_511_287],
];
/// Corners of a cap.
const CAP_CORNERS: usize = 4 * CAP_QUARTER.len();
/// Corners of the faces +x, −x, +y, −y, +z, −z of a box, clockwise from outside.
pub(super) const BOX_FACES: [[u32; 4]; 6] = [
    [7, 3, 1, 5],
    [2, 6, 4, 0],
    [2, 3, 7, 6],
    [4, 5, 1, 0],
    [6, 7, 5, 4],
    [3, 2, 0, 1],
];

/// A face or edge: its number or far end, and its unit normal or direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate<T: Scalar> {
    /// Number of a face.
    pub(super) face: u32,
    /// Outward normal of a face, direction of an edge.
    pub(super) direction: Vec3<T>,
    /// Ends of an edge (m).
    pub(super) ends: [Vec3<T>; 2],
    /// Corners at the ends of an edge.
    pub(super) corners: [u32; 2],
}

impl<T: Scalar> Candidate<T> {
    fn face(face: u32, direction: Vec3<T>) -> Self {
        Self {
            face,
            direction,
            ends: [Vec3::ZERO; 2],
            corners: [0; 2],
        }
    }

    fn edge(corners: [u32; 2], ends: [Vec3<T>; 2]) -> Self {
        Self {
            face: 0,
            direction: (ends[1] - ends[0]).normalized().0,
            ends,
            corners,
        }
    }
}

/// How many dimensions the found vertices span, plus one.
pub(super) fn rank<T: Scalar>(shape: &CoreShape<'_, T>, feature: Feature) -> usize {
    match feature {
        Feature::Corners(_, count) if !matches!(shape.kind, CoreKind::Segment) => count,
        Feature::Side => 2,
        _ => 1,
    }
}

/// Whether a shape has faces that more points can be found on.
pub(super) fn has_faces<T: Scalar>(shape: &CoreShape<'_, T>) -> bool {
    matches!(
        shape.kind,
        CoreKind::Box | CoreKind::Cylinder | CoreKind::Mesh(..)
    )
}

/// Collects the faces at a feature. `outward` is the contact normal as seen from the shape.
pub(super) fn faces<T: Scalar>(
    shape: &CoreShape<'_, T>,
    feature: Feature,
    outward: Vec3,
    out: &mut Vec<Candidate<T>>,
) {
    out.clear();
    let rotation = shape.posed.rotation;
    match (shape.kind, feature) {
        (CoreKind::Box, Feature::Corners(corners, count)) => {
            let mut found = box_faces(&corners[..count]);
            if found.0 == 0 {
                found = facing_box_face(shape.plain.to_local(outward));
            }
            for &face in &found.1[..found.0] {
                out.push(Candidate::face(face, rotation.mul_vec(box_normal(face))));
            }
        }
        (CoreKind::Mesh(vertices, topology), Feature::Corners(corners, count)) => {
            let around = |corner: u32| topology.polygons_around.get(corner as usize);
            let rest = &corners[1..count];
            let shared = around(corners[0])
                .iter()
                .filter(|face| rest.iter().all(|&corner| around(corner).contains(face)));
            let most = [usize::MAX, 2, 1][count - 1];
            for &face in shared.take(most) {
                let normal = polygon_normal(vertices, topology, face);
                out.push(Candidate::face(face, rotation.mul_vec(normal)));
            }
        }
        (CoreKind::Cylinder, Feature::Rim(cap) | Feature::Cap(cap)) => {
            let axis = rotation.column(2);
            out.push(Candidate::face(cap, if cap == 0 { axis } else { -axis }));
        }
        _ => {}
    }
}

/// Collects the edges at a feature.
pub(super) fn edges<T: Scalar>(
    shape: &CoreShape<'_, T>,
    feature: Feature,
    outward: Vec3<T>,
    out: &mut Vec<Candidate<T>>,
) {
    out.clear();
    let world = |corner: u32| shape.posed.to_world(shape.corner(corner));
    let edge = |start: u32, end: u32| Candidate::edge([start, end], [world(start), world(end)]);
    match (shape.kind, feature) {
        (CoreKind::Segment, _) => {
            // The line of the surface that is nearest to the contact: on a rounded end, the normal's part along the
            // axis does not shift the line.
            let axis = shape.posed.rotation.column(2);
            let surface = (outward - axis * axis.dot(outward)) * shape.radius;
            out.push(Candidate::edge(
                [1, 0],
                [world(1) + surface, world(0) + surface],
            ));
        }
        (CoreKind::Cylinder, Feature::Rim(_) | Feature::Side) => {
            let size = shape.posed.size;
            let rim = rim_offset(shape.posed.to_local(outward), size[0]);
            let caps = if let Feature::Rim(1) = feature {
                [1, 0]
            } else {
                [0, 1]
            };
            let ends = caps.map(|cap: u32| {
                let height = if cap == 0 { size[1] } else { -size[1] };
                shape.posed.to_world(rim + Vec3([T::ZERO, T::ZERO, height]))
            });
            out.push(Candidate::edge(caps, ends));
        }
        (CoreKind::Box | CoreKind::Mesh(..), Feature::Corners(corners, 2)) => {
            out.push(edge(corners[0], corners[1]));
        }
        (CoreKind::Box, Feature::Corners(corners, 1)) => {
            out.extend((0..3).map(|axis| edge(corners[0], corners[0] ^ 1 << axis)));
        }
        (CoreKind::Mesh(_, topology), Feature::Corners(corners, 1)) => {
            for &polygon in topology.polygons_around.get(corners[0] as usize) {
                let outline = topology.polygons.get(polygon as usize);
                if let Some(place) = outline.iter().position(|&vertex| vertex == corners[0]) {
                    let before = outline[(place + outline.len() - 1) % outline.len()];
                    out.push(edge(corners[0], before));
                }
            }
        }
        _ => {}
    }
}

/// Writes the corners of a face, clockwise from outside.
pub(super) fn outline<T: Scalar>(shape: &CoreShape<'_, T>, face: u32, out: &mut Vec<Vec3<T>>) {
    out.clear();
    let posed = &shape.posed;
    match shape.kind {
        CoreKind::Box => {
            let corners = BOX_FACES[face as usize % 6];
            out.extend(corners.map(|corner| posed.to_world(box_corner(corner, posed.size))));
        }
        CoreKind::Mesh(_, topology) => {
            let outline = topology.polygons.get(face as usize).iter().rev();
            out.extend(outline.map(|&vertex| posed.to_world(shape.corner(vertex))));
        }
        CoreKind::Cylinder => {
            let (radius, half) = (posed.size[0], posed.size[1]);
            out.extend((0..CAP_CORNERS).map(|index| {
                let [x, y, z] = cap_corner(face, index);
                posed.to_world(Vec3([radius * x, radius * y, half * z]))
            }));
        }
        _ => {}
    }
}

/// A corner of a cap of a cylinder, in units of its radius and half height.
pub(super) fn cap_corner(cap: u32, index: usize) -> [f64; 3] {
    let [cos, sin] = CAP_QUARTER[index % CAP_QUARTER.len()];
    let [cos, sin] = match index / CAP_QUARTER.len() {
        0 => [cos, sin],
        1 => [-sin, cos],
        2 => [-cos, -sin],
        _ => [sin, -cos],
    };
    let side = if cap == 0 { 1.0 } else { -1.0 };
    [cos, -(side * sin), side]
}

/// Faces that hold all given corners of a box.
fn box_faces(corners: &[u32]) -> (usize, [u32; 3]) {
    let (mut count, mut faces) = (0, [0; 3]);
    for axis in 0..3 {
        let ups = corners.iter().filter(|&corner| corner >> axis & 1 == 1);
        let ups = ups.count();
        if ups == 0 || ups == corners.len() {
            faces[count] = 2 * axis + u32::from(ups == 0);
            count += 1;
        }
    }
    (count, faces)
}

/// The face of a box that looks almost along a direction of its frame.
fn facing_box_face(local: Vec3) -> (usize, [u32; 3]) {
    let face = (0..6).find(|&face| local.dot(box_normal(face)) > PARALLEL.0);
    face.map_or((0, [0; 3]), |face| (1, [face, 0, 0]))
}

fn box_normal<T: Scalar>(face: u32) -> Vec3<T> {
    let mut normal = Vec3::ZERO;
    normal[face as usize / 2] = T::from(if face.is_multiple_of(2) { 1.0 } else { -1.0 });
    normal
}

/// Unit normal of a polygon from its whole outline (Newell's sum of cross products).
fn polygon_normal<T: Scalar>(
    vertices: &[Vec3<T>],
    topology: &HullTopology,
    polygon: u32,
) -> Vec3<T> {
    let outline = topology.polygons.get(polygon as usize);
    let at = |vertex: u32| vertices[topology.vertices[vertex as usize] as usize];
    let Some(&first) = outline.first() else {
        return Vec3::X;
    };
    // Relative to the first corner no digits are lost for a small face far from the centre.
    let origin = at(first);
    let mut sum = Vec3::ZERO;
    for pair in outline[1..].windows(2) {
        sum += (at(pair[0]) - origin).cross(at(pair[1]) - origin);
    }
    sum.normalized().0
}
