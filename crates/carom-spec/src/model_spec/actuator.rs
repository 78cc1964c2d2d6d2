//! Actuators in their general form.

use super::Reference;
use crate::span::Span;

/// The element with which an actuator was written. The parameters are already those of the
/// general form; the element only matters where the compile step still has to finish its work
/// (damping ratios, inherited ranges).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActuatorElement {
    /// All parameters by hand.
    #[default]
    General,
    /// Direct force.
    Motor,
    /// Position servo.
    Position,
    /// Velocity servo.
    Velocity,
    /// Position servo with integrated velocity input.
    IntegratedVelocity,
    /// Active damper.
    Damper,
    /// Pneumatic or hydraulic cylinder.
    Cylinder,
    /// Muscle.
    Muscle,
    /// Adhesion between the geoms of a body and others.
    Adhesion,
}

/// How an activation state evolves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ActuatorDynamics {
    /// No state: control acts directly.
    #[default]
    None,
    /// ȧ = u.
    Integrator,
    /// ȧ = (u − a)/τ.
    Filter,
    /// As `Filter`, integrated exactly.
    FilterExact,
    /// Muscle activation.
    Muscle,
    /// Supplied by the user.
    User,
}

/// How the gain of an actuator depends on the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GainKind {
    /// Constant.
    #[default]
    Fixed,
    /// Affine in length and velocity.
    Affine,
    /// Muscle force–length–velocity curve.
    Muscle,
    /// Supplied by the user.
    User,
}

/// How the bias of an actuator depends on the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BiasKind {
    /// None.
    #[default]
    None,
    /// Affine in length and velocity.
    Affine,
    /// Passive muscle force.
    Muscle,
    /// Supplied by the user.
    User,
}

/// Where an actuator acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmission {
    /// On a joint.
    Joint(Reference),
    /// On a ball or free joint with axes of the parent frame.
    JointInParent(Reference),
    /// On a tendon.
    Tendon(Reference),
    /// At a site, by the wrench `gear`.
    Site {
        /// The site.
        site: Reference,
        /// Site in whose frame position and wrench are measured.
        reference_site: Option<Reference>,
    },
    /// Through a slider-crank linkage.
    SliderCrank {
        /// Site of the crank.
        crank_site: Reference,
        /// Site of the slider.
        slider_site: Reference,
    },
    /// At the contacts of a body.
    Body(Reference),
}

/// Interpolation of a history buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Zero-order hold.
    #[default]
    Hold,
    /// Linear.
    Linear,
    /// Cubic.
    Cubic,
}

/// History buffer of an actuator or sensor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistorySpec {
    /// Number of samples kept.
    pub samples: u32,
    /// Interpolation between samples.
    pub interpolation: Interpolation,
    /// Delay (s).
    pub delay: f64,
    /// Sampling period and phase (s); sensors only.
    pub interval: [f64; 2],
}

/// One actuator.
#[derive(Clone, Debug, PartialEq)]
pub struct ActuatorSpec {
    /// Name; empty when unnamed.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Element it was written with.
    pub element: ActuatorElement,
    /// Group, for visualisation and for switching off.
    pub group: i32,
    /// Where it acts; `None` only after an error.
    pub transmission: Option<Transmission>,
    /// Scale of length and force, or wrench direction.
    pub gear: [f64; 6],
    /// Length of the connecting rod of a slider-crank (m).
    pub crank_length: f64,
    /// Activation dynamics.
    pub dynamics: ActuatorDynamics,
    /// Parameters of the dynamics.
    pub dynamics_parameters: [f64; 10],
    /// Number of activation variables; `None` infers it from the dynamics.
    pub activation_count: Option<u32>,
    /// Uses the next activation for the force.
    pub activation_early: bool,
    /// Gain.
    pub gain: GainKind,
    /// Parameters of the gain.
    pub gain_parameters: [f64; 10],
    /// Bias.
    pub bias: BiasKind,
    /// Parameters of the bias. A positive entry 2 of a position-like servo (fixed gain k, affine
    /// bias with entry 1 equal to −k) is a damping ratio that the compile step turns into damping.
    pub bias_parameters: [f64; 10],
    /// Whether control is clamped; `None` infers it from the range.
    pub control_limited: Option<bool>,
    /// Range of the control.
    pub control_range: [f64; 2],
    /// Whether force is clamped; `None` infers it from the range.
    pub force_limited: Option<bool>,
    /// Range of the force (N or N·m).
    pub force_range: [f64; 2],
    /// Whether activation is clamped; `None` infers it from the range.
    pub activation_limited: Option<bool>,
    /// Range of the activation.
    pub activation_range: [f64; 2],
    /// Range of the length; equal values mean it is to be computed where needed.
    pub length_range: [f64; 2],
    /// Takes the control range (position) or activation range (integrated velocity) from the
    /// target's range, scaled about its middle by this factor; 0 does not.
    pub inherit_range: f64,
    /// Polynomial damping of the actuator: linear, quadratic, cubic coefficient.
    pub damping: [f64; 3],
    /// Inertia of the actuator.
    pub armature: f64,
    /// History buffer.
    pub history: HistorySpec,
    /// User data.
    pub user: Vec<f64>,
}

impl Default for ActuatorSpec {
    fn default() -> Self {
        let mut one_first = [0.0; 10];
        one_first[0] = 1.0;
        Self {
            name: String::new(),
            span: Span::default(),
            element: ActuatorElement::General,
            group: 0,
            transmission: None,
            gear: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            crank_length: 0.0,
            dynamics: ActuatorDynamics::None,
            dynamics_parameters: one_first,
            activation_count: None,
            activation_early: false,
            gain: GainKind::Fixed,
            gain_parameters: one_first,
            bias: BiasKind::None,
            bias_parameters: [0.0; 10],
            control_limited: None,
            control_range: [0.0; 2],
            force_limited: None,
            force_range: [0.0; 2],
            activation_limited: None,
            activation_range: [0.0; 2],
            length_range: [0.0; 2],
            inherit_range: 0.0,
            damping: [0.0; 3],
            armature: 0.0,
            history: HistorySpec::default(),
            user: Vec::new(),
        }
    }
}
