//! Graphs for a network: rows of features, links, and what is needed to go back.

use super::{
    Body, Contacts, EDGE_FEATURES, FACE_FEATURES, Heading, MESH_FEATURES, MESH_PUSH,
    OBJECT_FEATURES, OBJECT_PUSH, Place, Scene, Setting, edge_features, face_features,
    mesh_features, object_features, push,
};
use crate::network::{Features, Real, Topology};

/// Features of each kind of row.
pub(crate) const COUNTS: [usize; 4] =
    [MESH_FEATURES, OBJECT_FEATURES, EDGE_FEATURES, FACE_FEATURES];

/// Means and scales of features, and sizes of what the network says.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalizer {
    /// Mean and reciprocal of the standard deviation of each feature of a kind; a scale of zero leaves a feature out that never
    /// changed in training.
    pub features: [Vec<[f64; 2]>; 4],
    /// What one is worth in accelerations and in changes of velocity (m a step).
    pub outputs: [f64; 2],
}

impl Normalizer {
    /// Leaves everything as it is.
    pub fn identity() -> Self {
        Self {
            features: COUNTS.map(|count| vec![[0.0, 1.0]; count]),
            outputs: [1.0, 1.0],
        }
    }
}

/// Graphs beside each other, in numbers as they are (unscaled).
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Links of all graphs.
    pub topology: Topology,
    /// Rows of features as they are.
    pub raw: [Vec<f64>; 4],
    /// How much each face edge counts.
    pub cut: Vec<f64>,
    /// Which contact each face edge belongs to, and towards which side.
    pub edges: Vec<(usize, usize)>,
    /// The part of its pair that each face edge has in pushes.
    pub(crate) parts: Vec<f64>,
    /// Nearest points of the graph that was added last.
    pub contacts: Contacts,
    headings: Vec<Heading>,
}

impl Batch {
    /// Forgets all graphs, and keeps the memory.
    pub fn clear(&mut self) {
        let Topology {
            rows,
            send,
            send_object,
            receive,
            receive_object,
            owner,
            mean,
        } = &mut self.topology;
        *rows = [0; 4];
        for links in [send, send_object, receive, receive_object, owner, mean] {
            links.0.clear();
        }
        self.raw.iter_mut().for_each(Vec::clear);
        self.cut.clear();
        self.edges.clear();
        self.parts.clear();
    }

    /// Adds the graph of a scene; `quarter_turns` turns the frames of its bodies.
    pub fn add(
        &mut self,
        scene: &Scene,
        bodies: &[Body],
        quarter_turns: &[usize],
        setting: &Setting,
    ) {
        let [mesh, object, ..] = self.topology.rows;
        self.contacts.find(scene, bodies, setting.threshold);
        self.headings.clear();
        let mut first_node = mesh;
        for (index, solid) in scene.solids.iter().enumerate() {
            let turns = quarter_turns.get(index).copied().unwrap_or(0);
            let (body, heading) = (&bodies[index], Heading::of(&bodies[index].rotation, turns));
            let row = grow(&mut self.raw[1], OBJECT_FEATURES);
            object_features(solid, body, &heading, setting.step, row);
            if !solid.is_static() {
                for (place, &vertex) in solid.vertices.iter().enumerate() {
                    let row = grow(&mut self.raw[0], MESH_FEATURES);
                    mesh_features(body, vertex, &heading, setting.step, row);
                    let row = grow(&mut self.raw[2], EDGE_FEATURES);
                    edge_features(body, vertex, &heading, setting.step, row);
                    let node = first_node + place;
                    self.topology.owner.push(node, object + index, 1.0);
                    let part = 1.0 / solid.vertices.len() as f64;
                    self.topology.mean.push(object + index, node, part);
                }
                first_node += solid.vertices.len();
            }
            self.headings.push(heading);
        }
        self.faces(scene, bodies, [mesh, object], setting);
        let count = first_node - mesh;
        self.topology.rows[0] += count;
        self.topology.rows[1] += scene.solids.len();
        self.topology.rows[2] += count;
    }

    fn faces(
        &mut self,
        scene: &Scene,
        bodies: &[Body],
        [mesh, object]: [usize; 2],
        setting: &Setting,
    ) {
        let Self {
            topology,
            raw,
            cut,
            edges,
            parts,
            contacts,
            headings,
        } = self;
        let first_edge = parts.len();
        for (index, contact) in contacts.found.iter().enumerate() {
            let near = contact.solids.map(|solid| &bodies[solid]);
            let frames = contact.solids.map(|solid| &headings[solid]);
            for to in 0..2 {
                if scene.solids[contact.solids[to]].is_static() {
                    continue;
                }
                let row = grow(&mut raw[3], FACE_FEATURES);
                let counts = face_features((scene, contact), near, frames, (to, setting), row);
                cut.push(counts);
                edges.push((index, to));
                let (_, closes) = push((scene, contact), near, frames[to], (to, setting));
                parts.push(f64::from(u8::from(closes)));
                let edge = topology.rows[3];
                topology.rows[3] += 1;
                let [receiver, sender] = [to, 1 - to].map(|side| contact.solids[side]);
                (topology.receive_object).push(edge, object + receiver, 1.0);
                topology.send_object.push(edge, object + sender, 1.0);
                link(
                    scene,
                    (receiver, contact.places[to]),
                    mesh,
                    |node, weight| {
                        topology.receive.push(edge, node, weight);
                    },
                );
                link(
                    scene,
                    (sender, contact.places[1 - to]),
                    mesh,
                    |node, weight| topology.send.push(edge, node, weight),
                );
            }
        }
        share(contacts, &edges[first_edge..], &mut parts[first_edge..]);
        for edge in first_edge..edges.len() {
            let (index, to) = edges[edge];
            let contact = &contacts.found[index];
            let near = contact.solids.map(|solid| &bodies[solid]);
            let receiver = contact.solids[to];
            let frame = &headings[receiver];
            let (twist, _) = push((scene, contact), near, frame, (to, setting));
            let [linear, angular] = [twist.linear, twist.angular].map(|part| part * parts[edge]);
            let row = &mut raw[1][(object + receiver) * OBJECT_FEATURES..][OBJECT_PUSH..];
            for axis in 0..3 {
                row[axis] += linear[axis];
                row[3 + axis] += angular[axis];
            }
            let before = scene.solids[..receiver].iter();
            let first = mesh + before.map(|solid| solid.vertices.len()).sum::<usize>();
            for (place, &vertex) in scene.solids[receiver].vertices.iter().enumerate() {
                let from_center = frame.see(bodies[receiver].rotation.mul_vec(vertex));
                let change = linear + angular.cross(from_center);
                let row = &mut raw[0][(first + place) * MESH_FEATURES..][MESH_PUSH..];
                for axis in 0..3 {
                    row[axis] += change[axis];
                }
            }
        }
    }

    /// The features as the network takes them.
    pub fn scaled<F: Real>(&self, normalizer: &Normalizer, out: &mut Features<F>) {
        for kind in 0..4 {
            let scales = &normalizer.features[kind];
            out.rows[kind].clear();
            for row in self.raw[kind].chunks_exact(scales.len()) {
                let scaled = row.iter().zip(scales);
                out.rows[kind].extend(scaled.map(|(x, [mean, scale])| F::of((x - mean) * scale)));
            }
        }
        out.cut.clear();
        out.cut.extend(self.cut.iter().map(|&cut| F::of(cut)));
    }
}

/// Pushes of the contacts of a pair share its work: each has one over the number of those that close.
fn share(contacts: &Contacts, edges: &[(usize, usize)], parts: &mut [f64]) {
    let pair = |edge: usize| {
        let (index, to) = edges[edge];
        let solids = contacts.found[index].solids;
        (solids[to], solids[1 - to])
    };
    // Contacts of a pair stand side by side, so that the pairs of edges are few and near.
    let mut begin = 0;
    while begin < edges.len() {
        let unordered = |edge: usize| {
            let (one, two) = pair(edge);
            (one.min(two), one.max(two))
        };
        let mut end = begin + 1;
        while end < edges.len() && unordered(end) == unordered(begin) {
            end += 1;
        }
        for side in 0..2 {
            let (one, two) = unordered(begin);
            let receiver = if side == 0 { one } else { two };
            let own = (begin..end).filter(|&edge| pair(edge).0 == receiver);
            let closing: f64 = own.clone().map(|edge| parts[edge]).sum();
            let part = 1.0 / closing.max(1.0);
            own.for_each(|edge| parts[edge] = part);
        }
        begin = end;
    }
}

/// The nodes of a place on a solid, with their weights.
fn link(
    scene: &Scene,
    (solid, place): (usize, Place),
    mesh: usize,
    mut push: impl FnMut(usize, f64),
) {
    if scene.solids[solid].is_static() {
        return;
    }
    let before = scene.solids[..solid].iter();
    let first = mesh + before.map(|solid| solid.vertices.len()).sum::<usize>();
    match place {
        Place::Vertex(vertex) => push(first + vertex, 1.0),
        Place::Edge(ends) => ends.iter().for_each(|&end| push(first + end, 0.5)),
        Place::Face(face) => {
            let corners = &scene.solids[solid].faces[face].corners;
            let part = 1.0 / corners.len() as f64;
            for &corner in corners {
                push(first + corner, part);
            }
        }
    }
}

/// Another row of zeros at the end.
fn grow(rows: &mut Vec<f64>, count: usize) -> &mut [f64] {
    let start = rows.len();
    rows.resize(start + count, 0.0);
    &mut rows[start..]
}
