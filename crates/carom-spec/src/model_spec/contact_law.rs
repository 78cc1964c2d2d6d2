//! Contact laws: how contacts push, for the whole model or for some geoms.
//!
//! MuJoCo knows one law, the soft one. carom has three more, chosen in files by custom texts that MuJoCo reads and
//! ignores; see [`mjcf::contact_law`](crate::mjcf::contact_law) for the notation.

use super::Reference;
use crate::span::Span;

/// A law and the contacts it holds for: all of the model, those of one geom, or those of a pair of geoms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactLawSpec {
    /// Label, unique among the laws; empty for the law of the whole model.
    pub label: String,
    /// Place of the start tag.
    pub span: Span,
    /// The law with its numbers.
    pub law: ContactLaw,
    /// The geom whose contacts follow the law; none for all geoms.
    pub geom1: Option<Reference>,
    /// Restricts the law to contacts of `geom1` with this geom.
    pub geom2: Option<Reference>,
    /// Where `geom1` touches.
    pub points: ContactPoints,
}

/// How contacts push.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ContactLaw {
    /// MuJoCo's convex law, with the parameters of the geoms.
    #[default]
    Soft,
    /// Rigid contact: impulses that keep bodies from entering each other, with Coulomb friction.
    Complementarity(ComplementaritySpec),
    /// A nonlinear spring and damper at every contact point, with smooth friction.
    HuntCrossley(HuntCrossleySpec),
    /// Ideal impacts without friction: velocities jump at the very time at which bodies meet within a step.
    Impulse(ImpulseSpec),
}

/// Numbers of the complementarity law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComplementaritySpec {
    /// Coefficient of restitution, 0 to 1.
    pub restitution: f64,
    /// Approach speed below which contacts do not bounce (m/s).
    pub restitution_speed: f64,
    /// Share of a penetration that is corrected in one step (α), and share of a gap that may close in one step (β).
    pub baumgarte: [f64; 2],
    /// Constraint-force mixing: velocity that an impulse gives way by (1/kg).
    pub mixing: f64,
    /// Greatest violation of the law that ends the iterations (m/s).
    pub tolerance: f64,
    /// Greatest number of iterations.
    pub iterations: u32,
}

impl Default for ComplementaritySpec {
    fn default() -> Self {
        Self {
            restitution: 0.0,
            restitution_speed: 0.0,
            baumgarte: [0.2, 1.0],
            mixing: 1e-6,
            tolerance: 1e-10,
            iterations: 2000,
        }
    }
}

/// Numbers of the Hunt–Crossley law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HuntCrossleySpec {
    /// Stiffness k of f = k·δⁿ·(1 + c·δ̇) (N/mⁿ).
    pub stiffness: f64,
    /// Exponent n.
    pub exponent: f64,
    /// Dissipation c (s/m).
    pub dissipation: f64,
    /// Speed at which friction has nearly reached its full size (m/s).
    pub transition_speed: f64,
    /// Ratio of the greatest static to the sliding friction.
    pub static_ratio: f64,
    /// Viscous friction (N·s/m).
    pub viscous: f64,
    /// Normal force above which viscous friction acts in full (N).
    pub viscous_force: f64,
}

impl Default for HuntCrossleySpec {
    fn default() -> Self {
        Self {
            stiffness: 1e5,
            exponent: 1.5,
            dissipation: 0.5,
            transition_speed: 0.01,
            static_ratio: 1.0,
            viscous: 0.0,
            viscous_force: 1.0,
        }
    }
}

/// Numbers of the impulse law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImpulseSpec {
    /// Coefficient of restitution, 0 to 1; 1 is ideally elastic.
    pub restitution: f64,
    /// Greatest number of impacts in one step.
    pub impacts: u32,
}

impl Default for ImpulseSpec {
    fn default() -> Self {
        Self {
            restitution: 1.0,
            impacts: 100,
        }
    }
}

/// Where the first geom of a law touches.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ContactPoints {
    /// Wherever the shapes meet.
    #[default]
    Shape,
    /// At given points only, in the frame of the geom (m).
    List(Vec<[f64; 3]>),
    /// On a uniform grid over the faces of a box.
    Grid {
        /// Greatest distance of neighbours (m).
        spacing: f64,
        /// Which faces: −x, +x, −y, +y, −z, +z.
        faces: [bool; 6],
    },
}
