//! Plane and convex mesh: the deepest corner, then up to three more of the side that faces the plane.
//!
//! Of the sides around the deepest corner, the one whose normal is most opposed to the plane's is taken. A side with
//! more than four corners is thinned to the quadrilateral of (locally) greatest area that holds the deepest corner:
//! its other corners advance around the side in turn while the area grows [Boyce 1985]. Corners above the centre of
//! the mesh or beyond the margin give no contact.

use crate::math::Vec3;
use crate::model::HullTopology;
use crate::scalar::Scalar;
use crate::stages::collision::{ContactPoint, Manifold, PosedShape, ShapeData};

/// Meshes with fewer vertices are searched one by one, as in MuJoCo: where several are deepest, the first counts.
const MIN_CLIMBED: usize = 10;

/// The hull of a mesh in its own frame.
#[derive(Clone, Copy)]
struct Hull<'a, T: Scalar> {
    /// Vertices of the mesh.
    vertices: &'a [Vec3<T>],
    topology: &'a HullTopology,
}

/// The points of a plane and a convex mesh.
pub(super) fn collide<T: Scalar>(
    plane: &PosedShape<'_, T>,
    mesh: &PosedShape<'_, T>,
    margin: T,
    out: &mut Manifold<T>,
) {
    let ShapeData::Mesh { vertices, .. } = mesh.data else {
        return;
    };
    let normal = plane.axis();
    for vertex in corners(plane, mesh, margin.value()).into_iter().flatten() {
        let offset = mesh.rotation.mul_vec(vertices[vertex as usize]);
        let corner = mesh.position + offset;
        let distance = (corner - plane.position).dot(normal);
        out.push_feature(
            vertex,
            ContactPoint {
                distance,
                position: corner - normal * (distance * 0.5),
                normal,
                tangent: Vec3::ZERO,
            },
        );
    }
}

/// The mesh vertices that touch, in the order of their points.
pub(in super::super) fn corners<T: Scalar>(
    plane: &PosedShape<'_, T>,
    mesh: &PosedShape<'_, T>,
    margin: f64,
) -> [Option<u32>; 4] {
    let mut corners = [None; 4];
    let ShapeData::Mesh {
        vertices, topology, ..
    } = mesh.data
    else {
        return corners;
    };
    let hull = Hull { vertices, topology };
    let (normal, rotation) = (plane.axis().value(), mesh.rotation.value());
    let (center, on_plane) = (mesh.position.value(), plane.position.value());
    // Height above the centre of the mesh, and whether the plane is close enough.
    let touch = |vertex: u32| {
        let offset = rotation.mul_vec(vertices[vertex as usize].value());
        let distance = (center + offset - on_plane).dot(normal);
        (offset.dot(normal), distance <= margin)
    };
    let up = rotation.transpose_mul_vec(normal);
    let deepest = hull.farthest(-up).filter(|&vertex| touch(vertex).1);
    corners[0] = deepest;
    // A vertex inside of a flat side is no corner, and stays alone.
    let corner = deepest.and_then(|deepest| topology.vertices.binary_search(&deepest).ok());
    if let Some(corner) = corner {
        let others = hull.other_corners(corner, up).into_iter();
        for (slot, other) in corners[1..].iter_mut().zip(others) {
            *slot = other.filter(|&vertex| {
                let (height, is_close) = touch(vertex);
                height <= 0.0 && is_close
            });
        }
    }
    corners
}

impl<T: Scalar> Hull<'_, T> {
    /// Mesh vertex of a hull vertex.
    fn vertex(&self, corner: u32) -> u32 {
        self.topology.vertices[corner as usize]
    }

    /// Position of a hull vertex.
    fn position(&self, corner: u32) -> Vec3 {
        self.vertices[self.vertex(corner) as usize].map(Scalar::value)
    }

    /// The mesh vertex farthest along a direction.
    fn farthest(&self, direction: Vec3) -> Option<u32> {
        if self.vertices.len() < MIN_CLIMBED || self.topology.vertices.is_empty() {
            let mut best = None;
            let mut most = f64::NEG_INFINITY;
            for (id, vertex) in (0..).zip(self.vertices) {
                let along = direction.dot(vertex.map(Scalar::value));
                if along > most {
                    (best, most) = (Some(id), along);
                }
            }
            return best;
        }
        // On a convex hull a corner without better neighbours is the best of all.
        let mut best = 0;
        let mut most = direction.dot(self.position(best));
        loop {
            let previous = best;
            for &neighbor in self.topology.neighbors.get(previous as usize) {
                let along = direction.dot(self.position(neighbor));
                if along > most {
                    (best, most) = (neighbor, along);
                }
            }
            if best == previous {
                return Some(self.vertex(best));
            }
        }
    }

    /// Up to three more vertices of the side around a corner that is most opposed to a direction.
    fn other_corners(&self, corner: usize, up: Vec3) -> [Option<u32>; 3] {
        let mut opposed: &[u32] = &[];
        let mut least = 1.0;
        for &side in self.topology.polygons_around.get(corner) {
            let corners = self.topology.polygons.get(side as usize);
            let cosine = self.normal(corners).dot(up);
            if cosine < least {
                (opposed, least) = (corners, cosine);
            }
        }
        let anchor = opposed.iter().position(|&other| other as usize == corner);
        match anchor {
            Some(anchor) => self.widest(opposed, anchor),
            None => [None; 3],
        }
    }

    /// Unit normal of a polygon by Newell's method.
    fn normal(&self, corners: &[u32]) -> Vec3 {
        let mut sum = Vec3::ZERO;
        for (index, &corner) in corners.iter().enumerate() {
            let (here, next) = (corner, corners[(index + 1) % corners.len()]);
            let (here, next) = (self.position(here), self.position(next));
            for axis in 0..3 {
                let (i, j) = ((axis + 1) % 3, (axis + 2) % 3);
                sum[axis] += (here[i] - next[i]) * (here[j] + next[j]);
            }
        }
        sum.normalized().0
    }

    /// Mesh vertices of up to three corners of a side beside the anchor, in order around the side.
    fn widest(&self, corners: &[u32], anchor: usize) -> [Option<u32>; 3] {
        let count = corners.len();
        let at = |step: usize| corners[(anchor + step) % count];
        if count <= 4 {
            return std::array::from_fn(|index| {
                (index + 1 < count).then(|| self.vertex(at(index + 1)))
            });
        }
        let place = |step: usize| self.position(at(step));
        let first = place(0);
        // Twice the area of the quadrilateral of the anchor and three more corners.
        let area = |[b, c, d]: [usize; 3]| (first - place(c)).cross(place(b) - place(d)).norm();
        let mut steps = [1, 2, 3];
        let mut most = area(steps);
        let mut advance = |steps: &mut [usize; 3], which: usize| {
            let mut next = *steps;
            next[which] += 1;
            let grown = area(next);
            let grows = grown > most;
            if grows {
                (*steps, most) = (next, grown);
            }
            grows
        };
        while advance(&mut steps, 2) {
            while advance(&mut steps, 1) {}
            while advance(&mut steps, 0) {}
        }
        steps.map(|step| Some(self.vertex(at(step))))
    }
}

#[cfg(test)]
mod tests {
    use crate::state::State;
    use crate::testing::model_from_mjcf;
    use crate::{Data, dynamics};

    /// Distances and positions of MuJoCo 4.0.0 for a heptagonal prism: on its base, then on a rectangular side.
    #[test]
    fn a_prism_touches_as_in_mujoco() {
        let model = model_from_mjcf(
            r#"<mujoco>
              <asset><mesh name="prism" vertex="0.3 0 -0.1 0.3 0 0.1 0.187 0.156 -0.1 0.187 0.156 0.1
                -0.067 0.195 -0.1 -0.067 0.195 0.1 -0.27 0.087 -0.1 -0.27 0.087 0.1 -0.27 -0.087 -0.1
                -0.27 -0.087 0.1 -0.067 -0.195 -0.1 -0.067 -0.195 0.1 0.187 -0.156 -0.1 0.187 -0.156 0.1"/></asset>
              <worldbody>
                <geom type="plane" size="1 1 1" margin="0.02"/>
                <body><freejoint/><geom type="mesh" mesh="prism"/></body>
              </worldbody>
            </mujoco>"#,
        );
        let on_base = (
            [0.0, 0.0, 0.09, 1.0, 0.05, 0.03, 0.2],
            [
                [
                    -0.033_262_413_330_996_735,
                    0.224_028_373_692_936_32,
                    -0.062_631_206_916_917_33,
                ],
                [
                    -0.027_711_328_909_083_19,
                    0.004_780_327_006_791_987,
                    -0.196_558_361_725_280_4,
                ],
                [
                    -0.008_336_209_260_156_477,
                    -0.223_397_559_581_562_6,
                    -0.175_762_701_486_540_88,
                ],
                [
                    0.014_151_809_290_866_332,
                    -0.143_609_546_791_243_35,
                    0.161_670_492_300_001_9,
                ],
            ],
        );
        let on_side = (
            [0.0, 0.0, 0.2, 0.6, 0.3, 0.5, 0.2],
            [
                [
                    -0.047_459_464_682_257_62,
                    -0.069_513_514_335_581_12,
                    0.056_891_893_125_827_24,
                ],
                [
                    -0.002_702_709_046_712_326,
                    -0.032_432_431_807_879_046,
                    0.240_540_547_863_815_98,
                ],
                [
                    0.013_513_507_411_144_404,
                    0.162_162_165_686_401_74,
                    0.197_297_303_976_198_02,
                ],
                [
                    -0.031_243_248_224_400_86,
                    0.125_081_083_158_699_67,
                    0.013_648_649_238_209_276,
                ],
            ],
        );
        let mut data = Data::new(&model);
        for (qpos, expected) in [on_base, on_side] {
            let mut state = State::reference(&model);
            state.qpos.copy_from_slice(&qpos);
            dynamics::forward_position(&model, &state, &mut data);
            assert_eq!(data.collision.contacts.len(), expected.len());
            for (contact, [distance, x, y]) in data.collision.contacts.iter().zip(expected) {
                // Half of the depth below the plane.
                let found = [
                    contact.distance,
                    contact.position[0],
                    contact.position[1],
                    contact.position[2],
                ];
                for (found, expected) in found.iter().zip([distance, x, y, 0.5 * distance]) {
                    assert!(
                        (found - expected).abs() < 1e-14,
                        "{found} instead of {expected}"
                    );
                }
            }
        }
    }
}
