//! Laws of joints: forces that MuJoCo has no words for, at joints that slide or turn.
//!
//! Files choose them by custom texts that MuJoCo reads and ignores; see
//! [`mjcf::joint_law`](crate::mjcf::joint_law) for the notation.

use super::{LawRange, Reference};
use crate::span::Span;

/// A law at one joint, with its numbers. A joint may have several.
#[derive(Clone, Debug, PartialEq)]
pub struct JointLawSpec {
    /// Label, unique among the laws of joints.
    pub name: String,
    /// Place of the start tag.
    pub span: Span,
    /// Which law it is.
    pub kind: JointLawKind,
    /// The joint that it acts on.
    pub joint: Reference,
    /// Its numbers, in the order of their description.
    pub numbers: Vec<f64>,
}

/// All that is to say about a kind of law without computing anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointLawDescription {
    /// Its name in files.
    pub name: &'static str,
    /// Its numbers, in the order in which they are written.
    pub numbers: &'static [JointLawNumber],
}

/// A number of a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointLawNumber {
    /// Its key in files, and its name as a parameter of the joint.
    pub name: &'static str,
    /// Its unit; "a or b" for joints that slide, or turn.
    pub unit: &'static str,
    /// The value that holds where a file gives none.
    pub default: f64,
    /// The values that it may have.
    pub range: LawRange,
}

/// Declares the laws of joints. Reading, writing, checks, compiling, parameters by name and calibrated files all go by
/// this declaration: a law appears nowhere else in this crate.
macro_rules! joint_laws {
    ($(
        $(#[$doc:meta])*
        $kind:ident = $name:literal {
            $( $(#[doc = $about:literal])* $number:ident = $default:expr, $unit:literal, $range:ident; )*
        }
    )*) => {
        /// Which law acts on a joint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum JointLawKind {
            $( $(#[$doc])* $kind, )*
        }

        impl JointLawKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$( Self::$kind, )*];

            /// All that is to say about the kind.
            pub const fn description(self) -> &'static JointLawDescription {
                match self {
                    $( Self::$kind => &JointLawDescription {
                        name: $name,
                        numbers: &[$( JointLawNumber {
                            name: stringify!($number),
                            unit: $unit,
                            default: $default,
                            range: LawRange::$range,
                        }, )*],
                    }, )*
                }
            }
        }
    };
}

joint_laws! {
    /// The torque of magnets and teeth, which turns its sign from tooth to tooth: τ = −A·sin(n·q + φ).
    Cogging = "cogging" {
        /// Amplitude A.
        cogging = 0.0, "N or N·m", NotNegative;
        /// Number n of periods in a metre or radian.
        cogging_periods = 1.0, "1/m or 1/rad", Positive;
        /// Phase φ.
        cogging_phase = 0.0, "rad", Any;
    }

    /// Dry friction that falls from its static to its sliding value as the joint begins to move, and a viscous part:
    /// `τ = −(F_c + (F_s − F_c)·exp(−(v/v_s)²))·tanh(v/v_t) − b·v`.
    Stribeck = "stribeck" {
        /// Coulomb friction F_c, of fast motion.
        coulomb_friction = 0.1, "N or N·m", NotNegative;
        /// Static friction F_s, of slow motion.
        static_friction = 0.15, "N or N·m", NotNegative;
        /// Stribeck speed v_s, at which friction is near its sliding value.
        stribeck_speed = 0.1, "m/s or rad/s", Positive;
        /// Smoothing speed v_t, which replaces the jump at rest.
        smoothing_speed = 0.01, "m/s or rad/s", Positive;
        /// Viscous friction b.
        viscous_friction = 0.0, "N·s/m or N·m·s/rad", NotNegative;
    }
}

impl JointLawKind {
    /// Its numbers where a file gives none.
    pub fn defaults(self) -> Vec<f64> {
        let numbers = self.description().numbers.iter();
        numbers.map(|number| number.default).collect()
    }
}
