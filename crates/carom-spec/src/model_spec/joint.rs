//! Joints.

use super::{DEFAULT_SOLVER_IMPEDANCE, DEFAULT_SOLVER_REFERENCE};
use crate::span::Span;

/// Type of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JointKind {
    /// Six degrees of freedom.
    Free,
    /// Three rotations.
    Ball,
    /// One translation.
    Slide,
    /// One rotation.
    #[default]
    Hinge,
}

impl JointKind {
    /// Number of degrees of freedom.
    pub fn dof_count(self) -> usize {
        match self {
            Self::Free => 6,
            Self::Ball => 3,
            Self::Slide | Self::Hinge => 1,
        }
    }

    /// Number of coordinates: orientations are quaternions.
    pub fn coordinate_count(self) -> usize {
        self.dof_count() + usize::from(matches!(self, Self::Free | Self::Ball))
    }

    /// How many of the coordinates move along straight lines, each with a degree of freedom of its own.
    pub fn straight_count(self) -> usize {
        match self {
            Self::Free => 3,
            Self::Ball => 0,
            Self::Slide | Self::Hinge => 1,
        }
    }
}

/// One joint of a body. Angles are radians.
#[derive(Clone, Debug, PartialEq)]
pub struct JointSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Type.
    pub kind: JointKind,
    /// Group for visualisation.
    pub group: i32,
    /// Anchor in the body frame (m).
    pub position: [f64; 3],
    /// Axis in the body frame, as written (not normalised).
    pub axis: [f64; 3],
    /// Joint value in the initial configuration (rad or m).
    pub reference_value: f64,
    /// Aligns a free joint with the inertial frame; `None` follows the compiler setting.
    pub align: Option<bool>,
    /// Polynomial stiffness: linear, quadratic, cubic coefficient.
    pub stiffness: [f64; 3],
    /// Joint value at which the spring rests (rad or m).
    pub spring_reference: f64,
    /// Plastic yield threshold of the spring; other values than 0 are not supported.
    pub spring_yield: f64,
    /// Time constant and damping ratio from which stiffness and damping are computed; used when both are positive.
    pub spring_damper: [f64; 2],
    /// Whether the joint is limited; `None` infers it from `range`.
    pub limited: Option<bool>,
    /// Limits (rad or m); as written in the file, possibly in degrees, when they do not apply.
    pub range: [f64; 2],
    /// Distance below which the limit becomes active (rad or m).
    pub margin: f64,
    /// Solver reference of the limit.
    pub limit_solver_reference: [f64; 2],
    /// Solver impedance of the limit.
    pub limit_solver_impedance: [f64; 5],
    /// Whether the total actuator force on the joint is clamped; `None` infers it from the range.
    pub actuator_force_limited: Option<bool>,
    /// Range of the total actuator force on the joint (N or N·m).
    pub actuator_force_range: [f64; 2],
    /// Applies gravity compensation as an actuator force.
    pub actuator_gravity_compensation: bool,
    /// Added inertia (kg or kg·m²).
    pub armature: f64,
    /// Polynomial damping: linear, quadratic, cubic coefficient.
    pub damping: [f64; 3],
    /// Dry friction (N or N·m).
    pub friction_loss: f64,
    /// Solver reference of dry friction.
    pub friction_solver_reference: [f64; 2],
    /// Solver impedance of dry friction.
    pub friction_solver_impedance: [f64; 5],
    /// User data.
    pub user: Vec<f64>,
}

impl Default for JointSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: JointKind::Hinge,
            group: 0,
            position: [0.0; 3],
            axis: [0.0, 0.0, 1.0],
            reference_value: 0.0,
            align: None,
            stiffness: [0.0; 3],
            spring_reference: 0.0,
            spring_yield: 0.0,
            spring_damper: [0.0; 2],
            limited: None,
            range: [0.0; 2],
            margin: 0.0,
            limit_solver_reference: DEFAULT_SOLVER_REFERENCE,
            limit_solver_impedance: DEFAULT_SOLVER_IMPEDANCE,
            actuator_force_limited: None,
            actuator_force_range: [0.0; 2],
            actuator_gravity_compensation: false,
            armature: 0.0,
            damping: [0.0; 3],
            friction_loss: 0.0,
            friction_solver_reference: DEFAULT_SOLVER_REFERENCE,
            friction_solver_impedance: DEFAULT_SOLVER_IMPEDANCE,
            user: Vec::new(),
        }
    }
}
