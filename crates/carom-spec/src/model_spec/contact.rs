//! Explicit contact pairs and exclusions.

use super::{DEFAULT_SOLVER_IMPEDANCE, DEFAULT_SOLVER_REFERENCE, Reference};
use crate::span::Span;

/// A pair of geoms that is always checked for contact, with its own parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// First geom.
    pub geom1: Reference,
    /// Second geom.
    pub geom2: Reference,
    /// Dimension of the contact space: 1, 3, 4 or 6.
    pub contact_dimension: u8,
    /// Friction coefficients: tangent 1, tangent 2, torsional, rolling 1, rolling 2.
    pub friction: [f64; 5],
    /// Solver reference along the normal.
    pub solver_reference: [f64; 2],
    /// Solver reference of friction; zeros use that of the normal.
    pub friction_solver_reference: [f64; 2],
    /// Solver impedance.
    pub solver_impedance: [f64; 5],
    /// Distance below which contacts are found (m).
    pub margin: f64,
    /// Part of the margin in which contacts are found but not active (m).
    pub gap: f64,
    /// Adhesive force; other values than 0 are not supported.
    pub adhesion: f64,
}

impl Default for PairSpec {
    fn default() -> Self {
        Self {
            name: String::new(),
            span: Span::default(),
            geom1: Reference::default(),
            geom2: Reference::default(),
            contact_dimension: 3,
            friction: [1.0, 1.0, 0.005, 0.0001, 0.0001],
            solver_reference: DEFAULT_SOLVER_REFERENCE,
            friction_solver_reference: [0.0; 2],
            solver_impedance: DEFAULT_SOLVER_IMPEDANCE,
            margin: 0.0,
            gap: 0.0,
            adhesion: 0.0,
        }
    }
}

/// A pair of bodies whose geoms never touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludeSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// First body.
    pub body1: Reference,
    /// Second body.
    pub body2: Reference,
}
