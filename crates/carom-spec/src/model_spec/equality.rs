//! Equality constraints.

use super::{DEFAULT_SOLVER_IMPEDANCE, DEFAULT_SOLVER_REFERENCE, Reference};
use crate::span::Span;

/// The two frames that a connect or weld constraint joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EqualityObjects {
    /// Two bodies; the second is the world when absent.
    Bodies {
        /// First body.
        first: Reference,
        /// Second body.
        second: Option<Reference>,
    },
    /// Two sites.
    Sites {
        /// First site.
        first: Reference,
        /// Second site.
        second: Reference,
    },
}

/// What an equality constraint couples.
#[derive(Clone, Debug, PartialEq)]
pub enum EqualityKind {
    /// Two points coincide.
    Connect {
        /// Bodies or sites.
        objects: EqualityObjects,
        /// Point in the frame of the first body (m); not used with sites.
        anchor: [f64; 3],
    },
    /// Two frames keep their relative pose.
    Weld {
        /// Bodies or sites.
        objects: EqualityObjects,
        /// Point in the frame of the second body about which the constraint acts (m); not used with sites.
        anchor: [f64; 3],
        /// Position and quaternion of the second body in the first; `None` keeps the initial pose.
        relative_pose: Option<[f64; 7]>,
        /// Length that scales the rotational error against the translational one (m).
        torque_scale: f64,
    },
    /// A joint follows a polynomial of another one, or of nothing.
    Joint {
        /// Dependent joint.
        first: Reference,
        /// Independent joint.
        second: Option<Reference>,
        /// Coefficients of degree 0 to 4.
        polynomial: [f64; 5],
    },
    /// A tendon length follows a polynomial of another one, or of nothing.
    Tendon {
        /// Dependent tendon.
        first: Reference,
        /// Independent tendon.
        second: Option<Reference>,
        /// Coefficients of degree 0 to 4.
        polynomial: [f64; 5],
    },
}

/// One equality constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct EqualitySpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// What it couples.
    pub kind: EqualityKind,
    /// Active at the start.
    pub active: bool,
    /// Solver reference.
    pub solver_reference: [f64; 2],
    /// Solver impedance.
    pub solver_impedance: [f64; 5],
}

impl Default for EqualitySpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            kind: EqualityKind::Connect {
                objects: EqualityObjects::Bodies {
                    first: Reference::default(),
                    second: None,
                },
                anchor: [0.0; 3],
            },
            active: true,
            solver_reference: DEFAULT_SOLVER_REFERENCE,
            solver_impedance: DEFAULT_SOLVER_IMPEDANCE,
        }
    }
}
