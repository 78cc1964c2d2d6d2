//! Tendons.

use super::{DEFAULT_SOLVER_IMPEDANCE, DEFAULT_SOLVER_REFERENCE, Reference};
use crate::span::Span;

/// One element of the path of a spatial tendon.
#[derive(Clone, Debug, PartialEq)]
pub enum WrapSpec {
    /// Passes through a site.
    Site {
        /// The site.
        site: Reference,
        /// Place of the start tag.
        span: Span,
    },
    /// Wraps around a sphere or cylinder geom.
    Geom {
        /// The geom.
        geom: Reference,
        /// Site that selects the side, or makes the tendon pass inside.
        side_site: Option<Reference>,
        /// Place of the start tag.
        span: Span,
    },
    /// Starts a new branch.
    Pulley {
        /// The length and force of the branch are divided by it.
        divisor: f64,
        /// Place of the start tag.
        span: Span,
    },
}

/// What the length of a tendon is.
#[derive(Clone, Debug, PartialEq)]
pub enum TendonPath {
    /// Sum of joint values with coefficients.
    Fixed(Vec<(Reference, f64)>),
    /// Length of a path in space.
    Spatial(Vec<WrapSpec>),
}

/// One tendon.
#[derive(Clone, Debug, PartialEq)]
pub struct TendonSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Path.
    pub path: TendonPath,
    /// Group for visualisation.
    pub group: i32,
    /// Polynomial stiffness: linear, quadratic, cubic coefficient.
    pub stiffness: [f64; 3],
    /// Range of lengths without spring force (m); `None` uses the initial length.
    pub spring_length: Option<[f64; 2]>,
    /// Plastic yield threshold of the spring; other values than 0 are not supported.
    pub spring_yield: f64,
    /// Polynomial damping: linear, quadratic, cubic coefficient.
    pub damping: [f64; 3],
    /// Dry friction (N).
    pub friction_loss: f64,
    /// Solver reference of dry friction.
    pub friction_solver_reference: [f64; 2],
    /// Solver impedance of dry friction.
    pub friction_solver_impedance: [f64; 5],
    /// Inertia of changes of length (kg).
    pub armature: f64,
    /// Whether the length is limited; `None` infers it from `range`.
    pub limited: Option<bool>,
    /// Limits of the length (m).
    pub range: [f64; 2],
    /// Distance below which the limit becomes active (m).
    pub margin: f64,
    /// Solver reference of the limit.
    pub limit_solver_reference: [f64; 2],
    /// Solver impedance of the limit.
    pub limit_solver_impedance: [f64; 5],
    /// Whether the total actuator force is clamped; `None` infers it from the range.
    pub actuator_force_limited: Option<bool>,
    /// Range of the total actuator force (N).
    pub actuator_force_range: [f64; 2],
    /// Material for the viewer.
    pub material: Option<Reference>,
    /// Radius for the viewer (m).
    pub width: f64,
    /// Colour when there is no material.
    pub rgba: [f64; 4],
    /// User data.
    pub user: Vec<f64>,
}

impl Default for TendonSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            path: TendonPath::Spatial(Vec::new()),
            group: 0,
            stiffness: [0.0; 3],
            spring_length: None,
            spring_yield: 0.0,
            damping: [0.0; 3],
            friction_loss: 0.0,
            friction_solver_reference: DEFAULT_SOLVER_REFERENCE,
            friction_solver_impedance: DEFAULT_SOLVER_IMPEDANCE,
            armature: 0.0,
            limited: None,
            range: [0.0; 2],
            margin: 0.0,
            limit_solver_reference: DEFAULT_SOLVER_REFERENCE,
            limit_solver_impedance: DEFAULT_SOLVER_IMPEDANCE,
            actuator_force_limited: None,
            actuator_force_range: [0.0; 2],
            material: None,
            width: 0.003,
            rgba: [0.5, 0.5, 0.5, 1.0],
            user: Vec::new(),
        }
    }
}
