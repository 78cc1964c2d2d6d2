//! The adjoint of contact points that are found by clipping.
//!
//! With m the normal of the face that clips, f a point of it, e the direction of distances and x a node that is left,
//! the contact is d = −h·(m·e), p = x − m·h − e·d/2 with h = (x − f)·m. A node x between a and b was cut where
//! (x − s)·w = 0, with s on the side and w = (s' − s) × m its normal. For its cotangent x̄, with k = x̄·(b − a)/w·(b − a),
//!
//!   x̄ ← x̄ − k·w,    ā += (1 − t)·x̄,   b̄ += t·x̄,   s̄ += k·w,   w̄ −= k·(x − s).
//!
//! Nodes are passed from the last to the first; corners of faces and ends of edges then belong to the shapes.

use super::clip::{Buffers, Cut};
use super::core_shape::{CoreKind, CoreShape};
use super::faces::{BOX_FACES, Candidate, cap_corner};
use super::manifold::{Clip, Parts};
use crate::math::Vec3;
use crate::model::HullTopology;
use crate::stages::collision::ContactPoint;
use crate::stages::collision::backward::{Cotangent, PairBar};

/// Room for cotangents; keeps its capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super::super) struct ClipBar {
    nodes: Vec<Vec3>,
    frame: Vec<Vec3>,
    face_normal: Vec3,
    direction: Vec3,
}

impl ClipBar {
    /// Adds the cotangents of the shapes, and returns that of the normal of the single contact, on which the surface lines
    /// of capsules and cylinders depend and which is given.
    pub(super) fn add(
        &mut self,
        shapes: [&CoreShape<'_, f64>; 2],
        normal: Vec3,
        clip: &Clip<f64>,
        points: &[Cotangent],
        buffers: &Buffers<f64>,
        out: &mut PairBar<'_>,
    ) -> Vec3 {
        self.start(buffers);
        let nodes = clip.kept;
        for (node, Cotangent { bar, .. }) in nodes.into_iter().flatten().zip(points) {
            self.point(buffers, clip, node, bar);
        }
        self.cuts(buffers, clip.face_normal);
        let corners = &self.nodes[..buffers.outline.len()];
        match &clip.parts {
            Parts::Faces([first, second]) => {
                outline_vjp(shapes, 0, *first, (&buffers.frame, &self.frame), out);
                outline_vjp(shapes, 1, *second, (&buffers.outline, corners), out);
                normal_vjp(shapes, 0, *first, (clip.face_normal, self.face_normal), out);
                normal_vjp(shapes, 1, *second, (clip.direction, self.direction), out);
                Vec3::ZERO
            }
            Parts::Edge { side, edge, face } => {
                let face_side = 1 - side;
                let face_bar = self.face_normal - self.direction;
                outline_vjp(shapes, face_side, *face, (&buffers.frame, &self.frame), out);
                normal_vjp(shapes, face_side, *face, (clip.face_normal, face_bar), out);
                let sign = if *side == 0 { 1.0 } else { -1.0 };
                let outward = normal * sign;
                let ends = [0, 1].map(|end: usize| corners.get(end).copied().unwrap_or_default());
                edge_vjp(shapes, *side, edge, outward, ends, out) * sign
            }
        }
    }

    fn start(&mut self, buffers: &Buffers<f64>) {
        self.nodes.clear();
        self.nodes.resize(buffers.nodes.len(), Vec3::ZERO);
        self.frame.clear();
        self.frame.resize(buffers.frame.len(), Vec3::ZERO);
        (self.face_normal, self.direction) = (Vec3::ZERO, Vec3::ZERO);
    }

    /// From a contact point to its node, the face and the direction.
    fn point(&mut self, buffers: &Buffers<f64>, clip: &Clip<f64>, node: usize, bar: &ContactPoint) {
        let (normal, direction) = (clip.face_normal, clip.direction);
        let offset = buffers.nodes[node].point - buffers.frame[0];
        let (height, cosine) = (offset.dot(normal), normal.dot(direction));
        let distance_bar = bar.distance - 0.5 * bar.position.dot(direction);
        let height_bar = -cosine * distance_bar - bar.position.dot(normal);
        let cosine_bar = -height * distance_bar;
        self.direction += bar.position * (0.5 * height * cosine) + normal * cosine_bar;
        self.face_normal += direction * cosine_bar - bar.position * height + offset * height_bar;
        self.nodes[node] += bar.position + normal * height_bar;
        self.frame[0] -= normal * height_bar;
        match &clip.parts {
            Parts::Faces(_) => self.direction -= bar.normal,
            Parts::Edge { side: 0, .. } => self.face_normal -= bar.normal,
            Parts::Edge { .. } => self.face_normal += bar.normal,
        }
    }

    /// From nodes that were cut to the corners.
    fn cuts(&mut self, buffers: &Buffers<f64>, normal: Vec3) {
        for index in (0..buffers.nodes.len()).rev() {
            let node = &buffers.nodes[index];
            let (Some(Cut { nodes, side }), mut bar) = (node.cut, self.nodes[index]) else {
                continue;
            };
            if bar == Vec3::ZERO {
                continue;
            }
            let [from, to] = nodes.map(|node| buffers.nodes[node as usize].point);
            let (start, inward) = buffers.side(side, normal);
            let [height1, height2] = [from, to].map(|point| (point - start).dot(inward));
            let along = to - from;
            let place = height1 / (height1 - height2);
            let slope = inward.dot(along);
            let shift = bar.dot(along) / slope;
            // An edge along the side has no point of intersection.
            if (0.0..=1.0).contains(&place) && shift.is_finite() {
                bar -= inward * shift;
                self.side(
                    buffers,
                    side,
                    normal,
                    inward * shift,
                    (start - node.point) * shift,
                );
            }
            let place = if place.is_nan() {
                0.0
            } else {
                place.clamp(0.0, 1.0)
            };
            self.nodes[nodes[0] as usize] += bar * (1.0 - place);
            self.nodes[nodes[1] as usize] += bar * place;
        }
    }

    /// Cotangents of where a side starts and of its normal.
    fn side(
        &mut self,
        buffers: &Buffers<f64>,
        side: usize,
        normal: Vec3,
        start_bar: Vec3,
        inward_bar: Vec3,
    ) {
        let next = (side + 1) % buffers.frame.len();
        let along = buffers.frame[next] - buffers.frame[side];
        let along_bar = normal.cross(inward_bar);
        self.face_normal += inward_bar.cross(along);
        self.frame[side] += start_bar - along_bar;
        self.frame[next] += along_bar;
    }
}

/// From the corners of a face, with their cotangents, to the shape.
fn outline_vjp(
    shapes: [&CoreShape<'_, f64>; 2],
    side: usize,
    face: u32,
    (corners, bars): (&[Vec3], &[Vec3]),
    out: &mut PairBar<'_>,
) {
    let shape = shapes[side];
    for (index, (&corner, &bar)) in corners.iter().zip(bars).enumerate() {
        if bar == Vec3::ZERO {
            continue;
        }
        match shape.kind {
            CoreKind::Box => corner_vjp(
                shape,
                side,
                BOX_FACES[face as usize % 6][index % 4],
                bar,
                out,
            ),
            CoreKind::Mesh(_, topology) => {
                let outline = topology.polygons.get(face as usize);
                corner_vjp(shape, side, outline[outline.len() - 1 - index], bar, out);
            }
            _ => {
                let [x, y, z] = cap_corner(face, index);
                let local = shape.plain.to_local(bar);
                let sum = &mut out.shapes[side];
                sum.add_point(corner - shape.plain.position, bar);
                sum.size[0] += x * local[0] + y * local[1];
                sum.size[1] += z * local[2];
            }
        }
    }
}

/// From the world position of a corner to the shape.
fn corner_vjp(
    shape: &CoreShape<'_, f64>,
    side: usize,
    corner: u32,
    bar: Vec3,
    out: &mut PairBar<'_>,
) {
    let arm = shape.plain.rotation.mul_vec(shape.corner(corner));
    out.shapes[side].add_point(arm, bar);
    let local = shape.plain.to_local(bar);
    match shape.kind {
        CoreKind::Box => {
            for axis in 0..3 {
                let sign = if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
                out.shapes[side].size[axis] += sign * local[axis];
            }
        }
        CoreKind::Segment => {
            out.shapes[side].size[1] += if corner == 0 { local[2] } else { -local[2] };
        }
        CoreKind::Mesh(_, topology) => {
            out.add_vertex(side, topology.vertices[corner as usize] as usize, local);
        }
        _ => {}
    }
}

/// From the normal of a face to the shape.
fn normal_vjp(
    shapes: [&CoreShape<'_, f64>; 2],
    side: usize,
    face: u32,
    (normal, bar): (Vec3, Vec3),
    out: &mut PairBar<'_>,
) {
    let shape = shapes[side];
    out.shapes[side].add_direction(normal, bar);
    if let CoreKind::Mesh(vertices, topology) = shape.kind {
        polygon_normal_vjp(
            vertices,
            topology,
            face,
            shape.plain.to_local(bar),
            |vertex, bar| {
                out.add_vertex(side, vertex as usize, bar);
            },
        );
    }
}

/// The twin of the sum of cross products over a polygon, normalised.
fn polygon_normal_vjp(
    vertices: &[Vec3],
    topology: &HullTopology,
    polygon: u32,
    bar: Vec3,
    mut add: impl FnMut(u32, Vec3),
) {
    let outline = topology.polygons.get(polygon as usize);
    let vertex = |corner: u32| topology.vertices[corner as usize];
    let at = |corner: u32| vertices[vertex(corner) as usize];
    let Some(&first) = outline.first() else {
        return;
    };
    let origin = at(first);
    let edges = || outline[1..].windows(2).map(|pair| [pair[0], pair[1]]);
    let sum = edges().fold(Vec3::ZERO, |sum, [a, b]| {
        sum + (at(a) - origin).cross(at(b) - origin)
    });
    let mut sum_bar = Vec3::ZERO;
    sum.normalized_vjp(bar, 0.0, &mut sum_bar);
    for [a, b] in edges() {
        let a_bar = (at(b) - origin).cross(sum_bar);
        let b_bar = sum_bar.cross(at(a) - origin);
        add(vertex(a), a_bar);
        add(vertex(b), b_bar);
        add(vertex(first), -a_bar - b_bar);
    }
}

/// From the ends of an edge to the shape; returns the cotangent of the contact normal as seen from the shape.
fn edge_vjp(
    shapes: [&CoreShape<'_, f64>; 2],
    side: usize,
    edge: &Candidate<f64>,
    outward: Vec3,
    bars: [Vec3; 2],
    out: &mut PairBar<'_>,
) -> Vec3 {
    let shape = shapes[side];
    let radius = shape.plain.size[0];
    let both = bars[0] + bars[1];
    match shape.kind {
        CoreKind::Segment => {
            for (corner, bar) in edge.corners.into_iter().zip(bars) {
                corner_vjp(shape, side, corner, bar, out);
            }
            // The surface is (n − a·(a·n))·r away from the axis a.
            let axis = shape.plain.rotation.column(2);
            let (cosine, along) = (axis.dot(outward), axis.dot(both));
            let sum = &mut out.shapes[side];
            sum.size[0] += both.dot(outward) - along * cosine;
            sum.add_direction(axis, (both * cosine + outward * along) * -radius);
            (both - axis * along) * radius
        }
        CoreKind::Cylinder => {
            let sum = &mut out.shapes[side];
            for ((cap, end), bar) in edge.corners.into_iter().zip(edge.ends).zip(bars) {
                let local = shape.plain.to_local(bar);
                sum.add_point(end - shape.plain.position, bar);
                sum.size[1] += if cap == 0 { local[2] } else { -local[2] };
            }
            // The line is r·u away from the axis, with u the normal across it.
            let across = |v: Vec3| Vec3([v[0], v[1], 0.0]);
            let (unit, length) = across(shape.plain.to_local(outward)).normalized();
            if length < f64::MIN_POSITIVE {
                return Vec3::ZERO;
            }
            let local = across(shape.plain.to_local(both));
            sum.size[0] += unit.dot(local);
            let turned = (local - unit * unit.dot(local)) * (radius / length);
            let turned = shape.plain.rotation.mul_vec(turned);
            sum.torque -= outward.cross(turned);
            turned
        }
        _ => {
            for (corner, bar) in edge.corners.into_iter().zip(bars) {
                corner_vjp(shape, side, corner, bar, out);
            }
            Vec3::ZERO
        }
    }
}
