//! A tree of boxes around the triangles of a mesh.
//!
//! Triangles are split in two halves along the longest side of the box of their centres, until few are left. Nodes
//! are stored in the order of a depth-first walk; each knows where the walk goes on when a ray misses its box, so
//! that rays need no stack. The tree is discrete; the boxes are numbers of the model that follow its vertices.

use crate::math::Vec3;
use crate::model::Model;
use crate::scalar::Scalar;

/// Most triangles of a leaf.
const LEAF: usize = 4;

/// A node of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// The next node when this one is missed or a leaf.
    pub(super) next: u32,
    /// Triangles of a leaf in the tree's order.
    start: u32,
    /// How many; zero for inner nodes.
    count: u32,
}

/// Which triangles of a mesh are near each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriangleTree {
    nodes: Vec<Node>,
    order: Vec<u32>,
}

impl TriangleTree {
    /// Arranges the triangles of a mesh.
    pub(crate) fn new(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let center = |triangle: &[u32; 3]| {
            let [a, b, c] = triangle.map(|vertex| vertices[vertex as usize]);
            a + b + c
        };
        let centers: Vec<Vec3> = triangles.iter().map(center).collect();
        let mut tree = Self {
            nodes: Vec::new(),
            order: (0..narrow(triangles.len())).collect(),
        };
        if !triangles.is_empty() {
            tree.split(&centers, 0, triangles.len());
        }
        tree
    }

    /// Number of nodes, and of boxes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds the nodes of a part of the order.
    fn split(&mut self, centers: &[Vec3], start: usize, end: usize) {
        let node = self.nodes.len();
        self.nodes.push(Node {
            next: 0,
            start: narrow(start),
            count: 0,
        });
        if end - start <= LEAF {
            self.nodes[node].count = narrow(end - start);
        } else {
            let part = &mut self.order[start..end];
            let (low, high) = bounds(part.iter().map(|&index| centers[index as usize]));
            let sides = high - low;
            let longest = (0..3).fold(0, |best, axis| {
                if sides[axis] > sides[best] {
                    axis
                } else {
                    best
                }
            });
            let middle = (end - start) / 2;
            part.select_nth_unstable_by(middle, |&a, &b| {
                let along = |index: u32| centers[index as usize][longest];
                along(a).total_cmp(&along(b)).then(a.cmp(&b))
            });
            self.split(centers, start, start + middle);
            self.split(centers, start + middle, end);
        }
        self.nodes[node].next = narrow(self.nodes.len());
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Triangles of a leaf; empty for inner nodes.
    pub(super) fn triangles(&self, node: Node) -> &[u32] {
        &self.order[node.start as usize..][..node.count as usize]
    }

    /// The boxes of all nodes around the vertices of their triangles.
    fn boxes<T: Scalar>(
        &self,
        vertices: &[Vec3<T>],
        triangles: &[[u32; 3]],
        [low, high]: [&mut [Vec3<T>]; 2],
    ) {
        // Children come after their parents.
        for (index, &node) in self.nodes.iter().enumerate().rev() {
            let corners = self.triangles(node).iter().flat_map(|&triangle| {
                triangles[triangle as usize].map(|vertex| vertices[vertex as usize])
            });
            (low[index], high[index]) = if node.count > 0 {
                bounds(corners)
            } else {
                let (first, second) = (index + 1, self.nodes[index + 1].next as usize);
                bounds([low[first], high[first], low[second], high[second]].into_iter())
            };
        }
    }
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Lowest and highest coordinates.
fn bounds<T: Scalar>(points: impl Iterator<Item = Vec3<T>>) -> (Vec3<T>, Vec3<T>) {
    let infinite = |sign: f64| Vec3([T::from(sign * f64::INFINITY); 3]);
    let pick = |a: Vec3<T>, b: Vec3<T>, choose: fn(T, T) -> T| {
        Vec3(std::array::from_fn(|axis| choose(a[axis], b[axis])))
    };
    points.fold((infinite(1.0), infinite(-1.0)), |(low, high), point| {
        (pick(low, point, T::min), pick(high, point, T::max))
    })
}

/// Lets the boxes of all meshes follow their vertices.
pub(crate) fn refit<T: Scalar>(model: &mut Model<T>) {
    let structure = std::sync::Arc::clone(&model.structure);
    let meshes = &structure.meshes;
    let numbers = &mut model.meshes;
    for (mesh, tree) in meshes.tree.iter().enumerate() {
        let boxes = meshes.boxes[mesh].clone();
        tree.boxes(
            &numbers.vertex[meshes.vertices[mesh].clone()],
            &meshes.face[meshes.faces[mesh].clone()],
            [
                &mut numbers.box_low[boxes.clone()],
                &mut numbers.box_high[boxes],
            ],
        );
    }
}
