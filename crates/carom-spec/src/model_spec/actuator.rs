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
    /// Electric motor with its driver.
    DcMotor,
    /// Servo with set points of position and velocity, integral action and feedforward.
    Pid,
    /// Servo of an orientation.
    Orientation,
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
    /// Current, temperature, bristle deflection and controller of an electric motor.
    DcMotor,
    /// Limited set point and integrated error of a servo.
    Pid,
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
    /// Electric motor.
    DcMotor,
    /// Servo with integral gain; the others are in its affine bias.
    Pid,
    /// Servo of an orientation, with three forces.
    So3,
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
    /// Cogging and friction of an electric motor.
    DcMotor,
    /// Damping of a servo of an orientation.
    So3,
    /// Supplied by the user.
    User,
}

/// Which controls a servo takes, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each input may be there by itself"
)]
pub struct ServoInputs {
    /// A set point of the length.
    pub position: bool,
    /// A set point of the velocity.
    pub velocity: bool,
    /// A force that is added.
    pub feedforward: bool,
    /// The terminal voltage of a motor (V).
    pub voltage: bool,
    /// The pressure in a cylinder; only a label.
    pub pressure: bool,
}

impl ServoInputs {
    /// Words of MJCF, in the order of the controls.
    pub const WORDS: [&'static str; 5] = ["pos", "vel", "ff", "voltage", "pressure"];

    /// The inputs with these flags, in the order of [`Self::WORDS`].
    #[must_use]
    pub const fn from_flags(flags: [bool; 5]) -> Self {
        let [position, velocity, feedforward, voltage, pressure] = flags;
        Self {
            position,
            velocity,
            feedforward,
            voltage,
            pressure,
        }
    }

    /// The flags, in the order of [`Self::WORDS`].
    #[must_use]
    pub const fn flags(self) -> [bool; 5] {
        [
            self.position,
            self.velocity,
            self.feedforward,
            self.voltage,
            self.pressure,
        ]
    }

    /// Whether the controller of a motor takes part.
    #[must_use]
    pub const fn has_controller(self) -> bool {
        self.position || self.velocity || self.feedforward
    }
}

/// Which activation states a motor or servo has, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each state may be there by itself"
)]
pub struct ServoStates {
    /// The first control after its rate was limited.
    pub slew: bool,
    /// The integral of the position error.
    pub integral: bool,
    /// Temperature of the winding above that around it (K).
    pub temperature: bool,
    /// Deflection of the bristles of the friction (rad or m).
    pub bristle: bool,
    /// Current in the winding (A).
    pub current: bool,
}

impl ServoStates {
    /// Most states of an actuator.
    pub const MAX_COUNT: usize = 5;

    /// The flags in the order of the states.
    #[must_use]
    pub const fn flags(self) -> [bool; Self::MAX_COUNT] {
        [
            self.slew,
            self.integral,
            self.temperature,
            self.bristle,
            self.current,
        ]
    }

    /// How many there are.
    #[must_use]
    pub fn count(self) -> usize {
        self.flags().into_iter().map(usize::from).sum()
    }
}

/// What the controls of an actuator are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActuatorInput {
    /// Some of the inputs of a servo; none of them for a passive motor.
    Servo(ServoInputs),
    /// An orientation as rotation vector, three controls (rad).
    RotationVector,
    /// An orientation as quaternion, four controls.
    Quaternion,
}

impl ActuatorInput {
    /// Number of controls.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::RotationVector => 3,
            Self::Quaternion => 4,
            Self::Servo(inputs) => inputs.flags().into_iter().map(usize::from).sum(),
        }
    }

    /// The words of MJCF.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::RotationVector => "expmap".to_owned(),
            Self::Quaternion => "quat".to_owned(),
            Self::Servo(inputs) if inputs == ServoInputs::default() => "none".to_owned(),
            Self::Servo(inputs) => {
                let words = ServoInputs::WORDS.into_iter().zip(inputs.flags());
                let present = words.filter_map(|(word, present)| present.then_some(word));
                present.collect::<Vec<_>>().join(" ")
            }
        }
    }
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
    /// What its controls are; `None` stands for what its gain takes by default.
    pub input: Option<ActuatorInput>,
    /// Whether control is clamped; `None` infers it from the range.
    pub control_limited: Option<bool>,
    /// Range of the control; of each of several, unless they have their own.
    pub control_range: [f64; 2],
    /// Range of the velocity that a servo with several controls is set to; an interval limits it.
    pub velocity_range: [f64; 2],
    /// Range of the force that is fed forward to such a servo (N or N·m); an interval limits it.
    pub feedforward_range: [f64; 2],
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

impl ActuatorSpec {
    /// What the controls of the actuator are, by default those of its gain.
    #[must_use]
    pub fn effective_input(&self) -> ActuatorInput {
        let [position, velocity, voltage] = [0, 1, 3].map(|place| {
            let mut flags = [false; 5];
            flags[place] = true;
            flags
        });
        let both = std::array::from_fn(|k| position[k] || velocity[k]);
        let servo = |flags| ActuatorInput::Servo(ServoInputs::from_flags(flags));
        match (self.gain, self.input) {
            // The words of both lists share their numbers in MuJoCo, so `pos` is a rotation vector.
            (GainKind::So3, Some(ActuatorInput::Quaternion)) => ActuatorInput::Quaternion,
            (GainKind::So3, _) => ActuatorInput::RotationVector,
            (_, Some(input)) => input,
            (GainKind::Pid, None) => servo(both),
            (GainKind::DcMotor, None) => servo(voltage),
            (_, None) => servo(position),
        }
    }

    /// Number of controls. Only motors and servos with set points have other than one.
    #[must_use]
    pub fn control_count(&self) -> usize {
        match self.gain {
            GainKind::DcMotor | GainKind::Pid | GainKind::So3 => self.effective_input().count(),
            _ => 1,
        }
    }

    /// Which states a motor or servo has; none for other actuators.
    #[must_use]
    pub fn servo_states(&self) -> ServoStates {
        let (dynamics, gain) = (&self.dynamics_parameters, &self.gain_parameters);
        match self.dynamics {
            ActuatorDynamics::DcMotor => ServoStates {
                slew: dynamics[7] > 0.0,
                integral: gain[5] > 0.0,
                temperature: dynamics[2] > 0.0,
                bristle: dynamics[5] > 0.0,
                current: dynamics[0] > 0.0,
            },
            ActuatorDynamics::Pid => ServoStates {
                slew: dynamics[1] > 0.0,
                integral: gain[0] > 0.0,
                ..ServoStates::default()
            },
            _ => ServoStates::default(),
        }
    }

    /// Number of activation states that follow from the dynamics.
    #[must_use]
    pub fn natural_state_count(&self) -> usize {
        match self.dynamics {
            ActuatorDynamics::None => 0,
            ActuatorDynamics::DcMotor | ActuatorDynamics::Pid => self.servo_states().count(),
            ActuatorDynamics::Integrator if self.gain == GainKind::So3 => 3,
            _ => 1,
        }
    }
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
            input: None,
            control_limited: None,
            control_range: [0.0; 2],
            velocity_range: [0.0; 2],
            feedforward_range: [0.0; 2],
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
