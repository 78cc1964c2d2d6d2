//! Convex shapes as the search sees them: cores with support functions.
//!
//! A sphere is a point and a capsule a segment, each inflated by a radius. The search runs on the cores and the radii
//! are added at the end: it converges in a few iterations, and most penetrations are shallower than the radius, so
//! that the cores are apart.

use crate::math::{Mat3, Vec3};
use crate::model::{GeomKind, HullTopology};
use crate::scalar::Scalar;
use crate::stages::collision::{PosedShape, ShapeData};

/// Hulls with at most this many vertices are searched exhaustively, larger ones by climbing along edges.
const SMALL_HULL: usize = 12;

/// What a core consists of; sizes are those of the geom.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum CoreKind<'a, T: Scalar> {
    /// The centre of a sphere.
    Point,
    /// The axis of a capsule.
    Segment,
    /// An ellipsoid.
    Ellipsoid,
    /// A cylinder.
    Cylinder,
    /// A box.
    Box,
    /// The hull of a mesh.
    Mesh(&'a [Vec3<T>], &'a HullTopology),
    /// The hull of a few points.
    Points(&'a [Vec3<T>]),
}

/// A core in its place.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct CoreShape<'a, T: Scalar> {
    pub(super) kind: CoreKind<'a, T>,
    /// Position, orientation and size with derivatives.
    pub(super) posed: Posed<T>,
    /// The same without.
    pub(super) plain: Posed<f64>,
    /// What is added around the core (m).
    pub(super) radius: T,
}

/// Where a core is and how large.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posed<T: Scalar> {
    pub(super) position: Vec3<T>,
    pub(super) rotation: Mat3<T>,
    pub(super) size: Vec3<T>,
}

impl<T: Scalar> Posed<T> {
    /// A point of the shape's frame in the world.
    #[inline]
    pub(super) fn to_world(self, local: Vec3<T>) -> Vec3<T> {
        self.position + self.rotation.mul_vec(local)
    }

    /// A world direction in the shape's frame.
    #[inline]
    pub(super) fn to_local(self, direction: Vec3<T>) -> Vec3<T> {
        self.rotation.transpose_mul_vec(direction)
    }
}

impl<'a, T: Scalar> CoreShape<'a, T> {
    /// The core of a shape, as seen from `origin`; none for planes and height fields, which are not convex bodies.
    pub(in super::super) fn new(shape: &PosedShape<'a, T>, origin: Vec3<T>) -> Option<Self> {
        let (kind, radius) = match (shape.kind, shape.data) {
            (GeomKind::Sphere, _) => (CoreKind::Point, shape.size[0]),
            (GeomKind::Capsule, _) => (CoreKind::Segment, shape.size[0]),
            (GeomKind::Ellipsoid, _) => (CoreKind::Ellipsoid, T::ZERO),
            (GeomKind::Cylinder, _) => (CoreKind::Cylinder, T::ZERO),
            (GeomKind::Box, _) => (CoreKind::Box, T::ZERO),
            (
                GeomKind::Mesh,
                ShapeData::Mesh {
                    vertices, topology, ..
                },
            ) if !topology.vertices.is_empty() => (CoreKind::Mesh(vertices, topology), T::ZERO),
            _ => return None,
        };
        let posed = Posed {
            position: shape.position - origin,
            rotation: shape.rotation,
            size: shape.size,
        };
        Some(Self::posed(kind, posed, radius))
    }

    /// The hull of points in a frame at `position`; none without points.
    pub(in super::super) fn from_points(
        points: &'a [Vec3<T>],
        position: Vec3<T>,
        rotation: Mat3<T>,
    ) -> Option<Self> {
        let posed = Posed {
            position,
            rotation,
            size: Vec3::ZERO,
        };
        (!points.is_empty()).then(|| Self::posed(CoreKind::Points(points), posed, T::ZERO))
    }

    fn posed(kind: CoreKind<'a, T>, posed: Posed<T>, radius: T) -> Self {
        let plain = Posed {
            position: posed.position.value(),
            rotation: posed.rotation.value(),
            size: posed.size.value(),
        };
        Self {
            kind,
            posed,
            plain,
            radius,
        }
    }

    /// Whether the core is curved somewhere.
    #[inline]
    pub(super) fn is_curved(&self) -> bool {
        matches!(self.kind, CoreKind::Ellipsoid | CoreKind::Cylinder)
    }

    /// A point inside, where the search starts.
    #[inline]
    pub(super) fn center(&self) -> Vec3 {
        match self.kind {
            CoreKind::Points(points) => {
                let sum = points.iter().fold(Vec3::ZERO, |sum, p| sum + p.value());
                self.plain.to_world(sum * (points.len() as f64).recip())
            }
            _ => self.plain.position,
        }
    }

    /// The farthest point along a unit direction and its number (corner, end, cap or hull vertex). `hint` is the
    /// number found last.
    #[inline]
    pub(super) fn support(&self, direction: Vec3, hint: u32) -> (Vec3, u32) {
        let Posed { position, size, .. } = self.plain;
        let local = self.plain.to_local(direction);
        let (point, index) = match self.kind {
            CoreKind::Point => return (position, 0),
            CoreKind::Segment => end_of_axis(local, size[1]),
            CoreKind::Ellipsoid => (ellipsoid_point(local, size), 0),
            CoreKind::Cylinder => {
                let (end, cap) = end_of_axis(local, size[1]);
                (end + rim_offset(local, size[0]), cap)
            }
            CoreKind::Box => {
                let index = (0..3).fold(0, |index, axis| {
                    index | u32::from(local[axis] >= 0.0) << axis
                });
                (box_corner(index, size), index)
            }
            CoreKind::Mesh(vertices, topology) => {
                let index = mesh_support(vertices, topology, local, hint);
                let vertex = topology.vertices[index as usize];
                (vertices[vertex as usize].value(), index)
            }
            CoreKind::Points(points) => {
                let index = farthest(points.iter().map(|point| point.value()), local);
                (points[index as usize].value(), index)
            }
        };
        (self.plain.to_world(point), index)
    }

    /// How far the shape around the core reaches along a unit direction.
    pub(in super::super) fn extent(&self, direction: Vec3) -> f64 {
        self.support(direction, 0).0.dot(direction) + self.radius.value()
    }

    /// A numbered corner in the shape's frame; none for curved shapes.
    #[inline]
    pub(super) fn corner(&self, index: u32) -> Vec3<T> {
        match self.kind {
            CoreKind::Box => box_corner(index, self.posed.size),
            CoreKind::Segment => {
                let half = self.posed.size[1];
                Vec3([T::ZERO, T::ZERO, if index == 0 { half } else { -half }])
            }
            CoreKind::Mesh(vertices, topology) => {
                vertices[topology.vertices[index as usize] as usize]
            }
            CoreKind::Points(points) => points[index as usize],
            CoreKind::Point | CoreKind::Ellipsoid | CoreKind::Cylinder => Vec3::ZERO,
        }
    }
}

/// Upper end (0) or lower end (1) of an axis along z.
#[inline]
fn end_of_axis(local: Vec3, half: f64) -> (Vec3, u32) {
    if local[2] >= 0.0 {
        (Vec3::new(0.0, 0.0, half), 0)
    } else {
        (Vec3::new(0.0, 0.0, -half), 1)
    }
}

/// S²·n/|S·n|: the point of an ellipsoid with normal n.
#[inline]
pub(super) fn ellipsoid_point<T: Scalar>(normal: Vec3<T>, size: Vec3<T>) -> Vec3<T> {
    let scaled = normal.component_mul(size);
    let length = scaled.norm();
    if length.value() < f64::MIN_POSITIVE {
        return Vec3::ZERO;
    }
    scaled.component_mul(size) * length.recip()
}

/// The point of a circle around z that is farthest along a direction.
#[inline]
pub(super) fn rim_offset<T: Scalar>(direction: Vec3<T>, radius: T) -> Vec3<T> {
    let length = (direction[0] * direction[0] + direction[1] * direction[1]).sqrt();
    if length.value() < f64::MIN_POSITIVE {
        return Vec3::ZERO;
    }
    let scale = radius / length;
    Vec3([direction[0] * scale, direction[1] * scale, T::ZERO])
}

/// A corner of a box: bit i of the index tells whether it is on the positive side of axis i.
#[inline]
pub(super) fn box_corner<T: Scalar>(index: u32, size: Vec3<T>) -> Vec3<T> {
    Vec3(std::array::from_fn(|axis| {
        if index >> axis & 1 == 1 {
            size[axis]
        } else {
            -size[axis]
        }
    }))
}

fn farthest(points: impl Iterator<Item = Vec3>, direction: Vec3) -> u32 {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, point) in (0..).zip(points) {
        let height = point.dot(direction);
        if height > best.1 {
            best = (index, height);
        }
    }
    best.0
}

/// The hull vertex farthest along a direction: a local maximum on a convex hull is the global one.
#[inline]
fn mesh_support<T: Scalar>(
    vertices: &[Vec3<T>],
    topology: &HullTopology,
    direction: Vec3,
    hint: u32,
) -> u32 {
    let hull = &topology.vertices;
    let at = |index: u32| vertices[hull[index as usize] as usize].value();
    if hull.len() <= SMALL_HULL {
        return farthest((0..).zip(hull).map(|(index, _)| at(index)), direction);
    }
    let mut best = if (hint as usize) < hull.len() {
        hint
    } else {
        0
    };
    let mut height = at(best).dot(direction);
    loop {
        let from = best;
        for &neighbor in topology.neighbors.get(from as usize) {
            let other = at(neighbor).dot(direction);
            if other > height {
                (best, height) = (neighbor, other);
            }
        }
        if best == from {
            return best;
        }
    }
}
