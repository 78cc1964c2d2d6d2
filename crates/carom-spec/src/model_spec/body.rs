//! Bodies and their inertia.

use super::{CameraSpec, GeomSpec, JointSpec, LightSpec, SiteSpec};
use crate::span::Span;

/// One body of the tree with the elements attached to it.
#[derive(Clone, Debug, PartialEq)]
pub struct BodySpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Index of the parent body; the world is its own parent.
    pub parent: usize,
    /// Position of the body frame in the parent frame (m).
    pub position: [f64; 3],
    /// Orientation of the body frame in the parent frame, unit quaternion (w, x, y, z).
    pub quaternion: [f64; 4],
    /// Inertia as written in the file; `None` when absent.
    pub inertial: Option<InertialSpec>,
    /// Moved by the user rather than by physics.
    pub mocap: bool,
    /// Part of the body's weight that is compensated (1: all).
    pub gravity_compensation: f64,
    /// What the file says about sleeping.
    pub sleep: SleepPolicy,
    /// Allows the short cut for bodies without offset and rotation.
    pub allow_simple: bool,
    /// Allows fusing the body with its parent when it is static.
    pub allow_fuse: bool,
    /// User data.
    pub user: Vec<f64>,
    /// Joints in order.
    pub joints: Vec<JointSpec>,
    /// Geoms in order.
    pub geoms: Vec<GeomSpec>,
    /// Sites in order.
    pub sites: Vec<SiteSpec>,
    /// Cameras in order.
    pub cameras: Vec<CameraSpec>,
    /// Lights in order.
    pub lights: Vec<LightSpec>,
}

impl Default for BodySpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            parent: 0,
            position: [0.0; 3],
            quaternion: [1.0, 0.0, 0.0, 0.0],
            inertial: None,
            mocap: false,
            gravity_compensation: 0.0,
            sleep: SleepPolicy::Auto,
            allow_simple: true,
            allow_fuse: true,
            user: Vec::new(),
            joints: Vec::new(),
            geoms: Vec::new(),
            sites: Vec::new(),
            cameras: Vec::new(),
            lights: Vec::new(),
        }
    }
}

/// Inertial properties of a body as written in its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InertialSpec {
    /// Place of the start tag.
    pub span: Span,
    /// Centre of mass in the body frame (m).
    pub position: [f64; 3],
    /// Mass (kg).
    pub mass: f64,
    /// Rotational inertia about the centre of mass.
    pub inertia: InertiaSpec,
}

/// Rotational inertia (kg·m²), in one of the two notations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InertiaSpec {
    /// Diagonal in a frame rotated by `quaternion` against the body frame.
    Diagonal {
        /// Orientation of the inertial frame, unit quaternion (w, x, y, z).
        quaternion: [f64; 4],
        /// Diagonal entries.
        diagonal: [f64; 3],
    },
    /// The symmetric matrix in body axes: xx, yy, zz, xy, xz, yz.
    Full([f64; 6]),
}

impl Default for InertiaSpec {
    fn default() -> Self {
        Self::Diagonal {
            quaternion: [1.0, 0.0, 0.0, 0.0],
            diagonal: [0.0; 3],
        }
    }
}

/// Whether the tree of a body may sleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SleepPolicy {
    /// Decided by the compiler.
    #[default]
    Auto,
    /// Never sleeps.
    Never,
    /// May sleep.
    Allowed,
    /// Starts asleep.
    Init,
}

/// Every body that has a parent, with its index: all but the world, which comes first.
pub fn with_parents(bodies: &[BodySpec]) -> impl DoubleEndedIterator<Item = (usize, &BodySpec)> {
    (1..bodies.len()).map(|index| (index, &bodies[index]))
}
