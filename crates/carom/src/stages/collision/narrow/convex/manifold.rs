//! More than one point where faces, or a face and an edge, are nearly parallel.
//!
//! The faces around the touching features are compared; the pair that faces each other best is clipped against each
//! other. Without such a pair, an edge of one shape that is nearly parallel to a face of the other is clipped. All
//! points share one normal, that of the second shape's face, or of the face against an edge.

use super::clip::{Buffers, MOST_POINTS};
use super::core_shape::{CoreKind, CoreShape};
use super::faces::{self, Candidate, PARALLEL};
use super::{Found, Manifold, Workspace};
use crate::math::Vec3;
use crate::scalar::Scalar;
use crate::stages::collision::ContactPoint;

/// What is clipped against what.
pub(super) struct Clip<T: Scalar> {
    /// Outward normal of the face that clips.
    pub(super) face_normal: Vec3<T>,
    /// Direction along which distances are measured.
    pub(super) direction: Vec3<T>,
    /// Contact normal.
    pub(super) normal: Vec3<T>,
    /// What clips and what is clipped.
    pub(super) parts: Parts<T>,
    /// The nodes that are left.
    pub(super) kept: [Option<usize>; MOST_POINTS],
}

/// Which features are parallel.
pub(super) enum Parts<T: Scalar> {
    /// Faces of the first and of the second shape; the second is clipped.
    Faces([u32; 2]),
    /// An edge of one of the shapes is clipped by a face of the other.
    Edge {
        /// The shape with the edge.
        side: usize,
        edge: Candidate<T>,
        /// Face of the other shape.
        face: u32,
    },
}

/// Adds the points of parallel features; false when there are none and the single point is all.
pub(super) fn add<T: Scalar>(
    shapes: [&CoreShape<'_, T>; 2],
    found: &Found<'_, '_, T>,
    margin: T,
    out: &mut Manifold<T>,
) -> bool {
    let Some(clip) = clipped(shapes, found, margin, &mut out.convex) else {
        return false;
    };
    let on_face = out.convex.clip.frame[0];
    for node in clip.kept.into_iter().flatten() {
        let point = out.convex.clip.nodes[node].point;
        let height = (point - on_face).dot(clip.face_normal);
        let projected = point - clip.face_normal * height;
        let distance = (projected - point).dot(clip.direction);
        out.push(ContactPoint {
            distance,
            position: projected - clip.direction * (distance * 0.5),
            normal: clip.normal,
            tangent: Vec3::ZERO,
        });
    }
    true
}

/// Clips the features that are parallel; none when there are none, or nothing is left of them.
pub(super) fn clipped<T: Scalar>(
    shapes: [&CoreShape<'_, T>; 2],
    found: &Found<'_, '_, T>,
    margin: T,
    work: &mut Workspace<T>,
) -> Option<Clip<T>> {
    let [has_faces1, has_faces2] = shapes.map(|shape| faces::has_faces(shape));
    let [is_edge1, is_edge2] = shapes.map(|shape| matches!(shape.kind, CoreKind::Segment));
    if !(has_faces1 && (has_faces2 || is_edge2) || is_edge1 && has_faces2) {
        return None;
    }
    let mut clip = prepare(shapes, found, &mut work.faces, &mut work.clip)?;
    work.clip.clip(clip.face_normal, margin);
    let is_edge = matches!(clip.parts, Parts::Edge { .. });
    let (nodes, count) = work.clip.reduced(is_edge);
    clip.kept = std::array::from_fn(|place| (place < count).then_some(nodes[place]));
    (count > 0 && !work.clip.frame.is_empty()).then_some(clip)
}

/// Finds the two features and writes them to the buffers.
fn prepare<T: Scalar>(
    shapes: [&CoreShape<'_, T>; 2],
    found: &Found<'_, '_, T>,
    candidates: &mut [Vec<Candidate<T>>; 2],
    buffers: &mut Buffers<T>,
) -> Option<Clip<T>> {
    let features = found.features.features();
    let normal = found.touch.normal;
    let outward = [normal, -normal];
    for side in 0..2 {
        let facing = outward[side].value();
        faces::faces(shapes[side], features[side], facing, &mut candidates[side]);
    }
    if let Some([i, j]) = facing_faces(candidates, normal.value()) {
        let (first, second) = (candidates[0][i], candidates[1][j]);
        faces::outline(shapes[0], first.face, &mut buffers.frame);
        faces::outline(shapes[1], second.face, &mut buffers.outline);
        return Some(Clip {
            face_normal: first.direction,
            direction: second.direction,
            normal: -second.direction,
            parts: Parts::Faces([first.face, second.face]),
            kept: [None; MOST_POINTS],
        });
    }
    let [rank1, rank2] = [0, 1].map(|side| faces::rank(shapes[side], features[side]));
    let [count1, count2] = [0, 1].map(|side: usize| candidates[side].len());
    let first_may_lie = rank1 < 3 && count2 > 0 && (rank1 <= rank2 || count1 == 0);
    for (edge_side, may_lie) in [(0, first_may_lie), (1, rank2 < 3)] {
        if !may_lie {
            continue;
        }
        let face_side = 1 - edge_side;
        for (side, outward) in outward.into_iter().enumerate() {
            let (shape, feature, list) = (shapes[side], features[side], &mut candidates[side]);
            if side == edge_side {
                faces::edges(shape, feature, outward, list);
            } else {
                faces::faces(shape, feature, outward.value(), list);
            }
        }
        let facing = outward[face_side].value();
        let found = edge_along_face(&candidates[edge_side], &candidates[face_side], facing);
        if let Some((edge, face)) = found {
            faces::outline(shapes[face_side], face.face, &mut buffers.frame);
            buffers.outline.clear();
            buffers.outline.extend(edge.ends);
            return Some(Clip {
                face_normal: face.direction,
                direction: -face.direction,
                normal: if face_side == 0 {
                    face.direction
                } else {
                    -face.direction
                },
                parts: Parts::Edge {
                    side: edge_side,
                    edge,
                    face: face.face,
                },
                kept: [None; MOST_POINTS],
            });
        }
    }
    None
}

/// The two faces whose normals are most opposite, among those that look along the contact normal.
fn facing_faces<T: Scalar>(
    candidates: &[Vec<Candidate<T>>; 2],
    normal: Vec3,
) -> Option<[usize; 2]> {
    let (cosine, sine) = PARALLEL;
    let (mut best, mut found) = (-cosine, None);
    for (i, first) in candidates[0].iter().enumerate() {
        let first = first.direction.value();
        if first.dot(normal) <= sine {
            continue;
        }
        for (j, second) in candidates[1].iter().enumerate() {
            let second = second.direction.value();
            if second.dot(normal) >= -sine {
                continue;
            }
            let cosine = first.dot(second);
            if cosine < best {
                best = cosine;
                found = Some([i, j]);
            }
        }
    }
    found
}

/// The first face that looks along the contact and the first edge that is parallel to it.
fn edge_along_face<T: Scalar>(
    edges: &[Candidate<T>],
    faces: &[Candidate<T>],
    outward: Vec3,
) -> Option<(Candidate<T>, Candidate<T>)> {
    let facing = |face: &&Candidate<T>| face.direction.value().dot(outward) > f64::EPSILON;
    faces.iter().filter(facing).find_map(|face| {
        let normal = face.direction.value();
        let parallel = |edge: &&Candidate<T>| edge.direction.value().dot(normal).abs() < PARALLEL.1;
        edges.iter().find(parallel).map(|edge| (*edge, *face))
    })
}
