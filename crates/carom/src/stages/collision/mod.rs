//! Which geoms touch, where and how deep.
//!
//! Reads [`Kinematics`](super::kinematics::Kinematics); writes [`Collision`]. The broad phase proposes pairs of geoms
//! that pass the filters and whose bounding volumes overlap; the narrow phase (one file per pair of shapes) finds the
//! points; the driver turns them into contacts with mixed parameters, in MuJoCo's order.
//!
//! The points of a pair come from a formula, a search ([`narrow`]) or a map of the user's own ([`ContactMap`]).
//! Iterative colliders run on values; their result is then re-evaluated over `T` at the features they found (vertex,
//! edge, face, or the smooth point), so that derivatives are those of the solution, never of the iteration.

mod backward;
mod broad;
mod coverage;
mod distance;
mod forward;
mod map;
pub mod narrow;
pub mod parameters;
mod points;
mod surface_velocity;
#[cfg(test)]
pub(crate) mod tests;

pub use backward::{BackwardWork, backward};
pub(crate) use backward::{PairBar, ShapeBar, add_tangent, add_wrench};
pub(crate) use broad::is_within_reach;
pub use broad::{Broad, Candidate};
pub(crate) use coverage::for_each_unfiltered_pair;
pub use coverage::{for_each_possible_pair, unsupported_pairs};
pub use distance::{GeomDistance, distance, distance_backward, shape_distance};
pub(crate) use forward::frame as contact_frame;
pub use forward::{forward, posed_shape};
pub(crate) use map::MappedPair;
pub use map::{ContactMap, MapInput, MapInputBar};
pub use narrow::convex::Workspace;
pub(crate) use narrow::{PairSource, can_touch};

use crate::math::{Mat3, Vec3};
use crate::model::{GeomKind, HullTopology};
use crate::ray::TriangleTree;
use crate::scalar::Scalar;

/// A geom posed in the world: all that a collider needs.
#[derive(Clone, Copy, Debug)]
pub struct PosedShape<'a, T: Scalar = f64> {
    /// Kind of shape.
    pub kind: GeomKind,
    /// World position of the centre (m).
    pub position: Vec3<T>,
    /// World orientation.
    pub rotation: Mat3<T>,
    /// Size parameters as in the model (m).
    pub size: Vec3<T>,
    /// Vertices and hull of a mesh, or samples of a height field; index into the model's arrays.
    pub data: ShapeData<'a, T>,
}

impl<T: Scalar> PosedShape<'_, T> {
    /// The shape's z axis in the world: a plane's normal, the axis of a capsule or cylinder.
    #[inline]
    pub fn axis(&self) -> Vec3<T> {
        self.rotation.column(2)
    }
}

/// What a shape consists of beyond its size.
#[derive(Clone, Copy, Debug)]
pub enum ShapeData<'a, T: Scalar = f64> {
    /// Nothing.
    None,
    /// A box that touches over patches, of so many cells along the side of a face.
    Cells(usize),
    /// A convex mesh.
    Mesh {
        /// Vertices in the geom frame (m).
        vertices: &'a [Vec3<T>],
        /// Triangles of the hull, indices into `vertices`.
        hull: &'a [[u32; 3]],
        /// Vertices, edges and polygons of the hull.
        topology: &'a HullTopology,
        /// Its triangles, convex or not.
        surface: MeshSurface<'a, T>,
    },
    /// A height field.
    HeightField {
        /// Rows and columns.
        grid: [usize; 2],
        /// Half size in x and y, height of 1.0, base thickness (m).
        size: &'a [T; 4],
        /// Normalised elevations, row-major.
        elevation: &'a [T],
    },
}

/// The triangles of a mesh.
#[derive(Clone, Copy, Debug)]
pub struct MeshSurface<'a, T: Scalar = f64> {
    /// Triangles, indices into the mesh's vertices.
    pub triangles: &'a [[u32; 3]],
    /// Which of them are near each other.
    pub tree: &'a TriangleTree,
    /// Lowest corners of the tree's boxes (m).
    pub box_low: &'a [Vec3<T>],
    /// Highest corners of the tree's boxes (m).
    pub box_high: &'a [Vec3<T>],
}

/// One point found by a collider.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ContactPoint<T: Scalar = f64> {
    /// Signed distance, negative in penetration (m).
    pub distance: T,
    /// Midpoint between the two surfaces (m).
    pub position: Vec3<T>,
    /// Unit normal from the first geom to the second.
    pub normal: Vec3<T>,
    /// Preferred first tangent, or zero to let the driver choose.
    pub tangent: Vec3<T>,
}

/// Most points that one pair of geoms gives.
pub const MAX_POINTS: usize = 50;

/// Points of one pair of geoms; lives on the caller's side so that colliders allocate nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifold<T: Scalar = f64> {
    points: [ContactPoint<T>; MAX_POINTS],
    /// What of the shapes each point belongs to, where the collider knows.
    features: [Option<u32>; MAX_POINTS],
    count: usize,
    /// Work area of the convex collider.
    pub convex: Workspace<T>,
}

impl<T: Scalar> Default for Manifold<T> {
    fn default() -> Self {
        Self {
            points: [ContactPoint::default(); MAX_POINTS],
            features: [None; MAX_POINTS],
            count: 0,
            convex: Workspace::default(),
        }
    }
}

impl<T: Scalar> Manifold<T> {
    /// Forgets all points.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a point; beyond [`MAX_POINTS`] it is dropped, as in MuJoCo.
    #[inline]
    pub fn push(&mut self, point: ContactPoint<T>) {
        self.push_of(None, point);
    }

    /// Adds a point of a feature (a corner, an end, …) that keeps its number while the shapes move.
    #[inline]
    pub fn push_feature(&mut self, feature: u32, point: ContactPoint<T>) {
        self.push_of(Some(feature), point);
    }

    #[inline]
    fn push_of(&mut self, feature: Option<u32>, point: ContactPoint<T>) {
        if self.count < MAX_POINTS {
            self.points[self.count] = point;
            self.features[self.count] = feature;
            self.count += 1;
        }
    }

    /// Adds a point that is closer than the margin.
    #[inline]
    pub fn push_within(&mut self, point: ContactPoint<T>, margin: T) {
        if point.distance.value() <= margin.value() {
            self.push(point);
        }
    }

    /// The points, in the order they were found.
    #[inline]
    pub fn points(&self) -> &[ContactPoint<T>] {
        &self.points[..self.count]
    }

    /// The features of the points.
    #[inline]
    pub fn features(&self) -> &[Option<u32>] {
        &self.features[..self.count]
    }

    /// The points, to change.
    #[inline]
    pub fn points_mut(&mut self) -> &mut [ContactPoint<T>] {
        &mut self.points[..self.count]
    }
}

/// A contact with its mixed parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact<T: Scalar = f64> {
    /// The two geoms; the normal points from the first to the second.
    pub geoms: [usize; 2],
    /// What of the geoms touches (a corner, an end, …), where the collider can tell: the same number while they move.
    pub feature: Option<u32>,
    /// Signed distance, negative in penetration (m).
    pub distance: T,
    /// Midpoint between the two surfaces (m).
    pub position: Vec3<T>,
    /// Rows: normal, two tangents.
    pub frame: Mat3<T>,
    /// Contact dimensionality: 1, 3, 4 or 6.
    pub dimension: u8,
    /// Distance below which the contact is part of the constraints (margin less gap, m).
    pub include_margin: T,
    /// Friction: two slide, spin, two roll.
    pub friction: [T; 5],
    /// Reference dynamics, normal direction.
    pub solref: [T; 2],
    /// Reference dynamics, friction directions; zero means as the normal.
    pub solreffriction: [T; 2],
    /// Impedance.
    pub solimp: [T; 5],
    /// Force with which the contact can pull (N).
    pub adhesion: T,
    /// Velocity of the second geom's surface relative to the first's, beyond that of the bodies: along the two tangents
    /// (m/s) and about the normal (rad/s).
    pub surface_velocity: [T; 3],
    /// The contact law; none for MuJoCo's soft one.
    pub law: Option<usize>,
    /// The explicit contact pair that asks for the contact, if one does.
    pub pair: Option<usize>,
    /// Whether the contact is left out of the constraints (in the gap, or without dofs).
    pub excluded: bool,
}

impl<T: Scalar> Contact<T> {
    /// The same contact over another scalar, or with other numbers: every number converted, in declaration order.
    pub fn map<U: Scalar>(&self, mut convert: impl FnMut(T) -> U) -> Contact<U> {
        Contact {
            geoms: self.geoms,
            feature: self.feature,
            distance: convert(self.distance),
            position: self.position.map(&mut convert),
            frame: self.frame.map(&mut convert),
            dimension: self.dimension,
            include_margin: convert(self.include_margin),
            friction: self.friction.map(&mut convert),
            solref: self.solref.map(&mut convert),
            solreffriction: self.solreffriction.map(&mut convert),
            solimp: self.solimp.map(&mut convert),
            adhesion: convert(self.adhesion),
            surface_velocity: self.surface_velocity.map(&mut convert),
            law: self.law,
            pair: self.pair,
            excluded: self.excluded,
        }
    }
}

/// Results of the collision stage. The lists keep their capacity from step to step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collision<T: Scalar = f64> {
    /// All contacts, in MuJoCo's order.
    pub contacts: Vec<Contact<T>>,
    /// Whether a map of collisions moves its two bodies: they have no contacts with each other here, and the table no
    /// friction under the struck one.
    pub is_mapped: bool,
    /// Work area of the broad phase.
    pub broad: Broad,
    /// Work area of the narrow phase.
    pub manifold: Manifold<T>,
}
