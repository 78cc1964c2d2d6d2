//! Contact laws: how contacts push, for the whole model or for some geoms.
//!
//! MuJoCo knows one law, the soft one. carom has more, chosen in files by custom texts that MuJoCo reads and
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
    /// Where `geom1` touches, or how boxes do.
    pub points: ContactPoints,
}

/// On what level a law acts, and with that what it goes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawLevel {
    /// A force is a function of the state: it joins the smooth forces, under any integrator and beside any other law.
    Force,
    /// Forces follow from the acceleration: rows of a convex problem.
    Acceleration,
    /// Impulses of a whole step follow from the velocity at its end: rows of a complementarity problem.
    Impulse,
    /// Velocities jump at the very time at which bodies meet within a step.
    Impact,
}

/// All that is to say about a kind of law without computing anything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawDescription {
    /// Its name in files.
    pub name: &'static str,
    /// The level on which it acts.
    pub level: LawLevel,
    /// The greatest `condim` that it knows: 1 is a law without friction, 3 one without torsional and rolling friction.
    pub max_condim: u8,
    /// Its numbers, in the order in which they are written.
    pub numbers: &'static [LawNumber],
}

/// A number of a law, or a few that belong together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LawNumber {
    /// Its key in files, and its name as a parameter.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The values that it may have.
    pub range: LawRange,
}

/// The values that a number of a law may have; all are finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawRange {
    /// 0 to 1.
    Share,
    /// Greater than zero.
    Positive,
    /// Zero or greater.
    NotNegative,
    /// 1 or greater.
    AtLeastOne,
    /// Any number.
    Any,
}

impl LawRange {
    /// Whether a value is in the range.
    pub fn contains(self, value: f64) -> bool {
        let is_in = match self {
            Self::Share => (0.0..=1.0).contains(&value),
            Self::Positive => value > 0.0,
            Self::NotNegative => value >= 0.0,
            Self::AtLeastOne => value >= 1.0,
            Self::Any => true,
        };
        is_in && value.is_finite()
    }

    /// The range in words: what a value must be.
    pub fn words(self) -> &'static str {
        match self {
            Self::Share => "0 to 1",
            Self::Positive => "positive",
            Self::NotNegative => "positive or zero",
            Self::AtLeastOne => "at least 1",
            Self::Any => "finite",
        }
    }
}

/// What a number of a law is stored in.
#[derive(Debug, PartialEq)]
pub enum LawValue<'a> {
    /// One or more real numbers, each in the range.
    Numbers(&'a mut [f64]),
    /// A count.
    Count(&'a mut u32),
}

impl<'a> From<&'a mut f64> for LawValue<'a> {
    fn from(number: &'a mut f64) -> Self {
        Self::Numbers(std::slice::from_mut(number))
    }
}

impl<'a, const N: usize> From<&'a mut [f64; N]> for LawValue<'a> {
    fn from(numbers: &'a mut [f64; N]) -> Self {
        Self::Numbers(numbers)
    }
}

impl<'a> From<&'a mut u32> for LawValue<'a> {
    fn from(count: &'a mut u32) -> Self {
        Self::Count(count)
    }
}

/// Declares the contact laws beside the soft one. Reading, writing, checks, compiling and parameters by name all go by
/// this declaration: a law appears nowhere else in this crate.
macro_rules! contact_laws {
    ($(
        $(#[$doc:meta])*
        $kind:ident($spec:ident) = $name:literal, $level:ident, condim <= $max_condim:literal {
            $( $(#[$number_doc:meta])* $number:ident: $type:ty = $default:expr, $unit:literal, $range:ident; )*
        }
    )*) => {
        /// How contacts push: a law with its numbers.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub enum ContactLaw {
            /// MuJoCo's convex law, with the parameters of the geoms.
            #[default]
            Soft,
            $( $(#[$doc])* $kind($spec), )*
        }

        /// How contacts push: a law without its numbers.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum LawKind {
            /// MuJoCo's convex law, with the parameters of the geoms.
            #[default]
            Soft,
            $( $(#[$doc])* $kind, )*
        }

        $(
            #[doc = concat!("Numbers of the law `", $name, "`.")]
            #[derive(Clone, Copy, Debug, PartialEq)]
            pub struct $spec {
                $( $(#[$number_doc])* #[doc = concat!("Unit: ", $unit, ".")] pub $number: $type, )*
            }

            impl Default for $spec {
                fn default() -> Self {
                    Self { $( $number: $default, )* }
                }
            }
        )*

        impl LawKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[Self::Soft, $( Self::$kind, )*];

            /// All that is to say about the kind.
            #[inline]
            pub const fn description(self) -> &'static LawDescription {
                match self {
                    Self::Soft => &LawDescription {
                        name: "soft",
                        level: LawLevel::Acceleration,
                        max_condim: 6,
                        numbers: &[],
                    },
                    $( Self::$kind => &LawDescription {
                        name: $name,
                        level: LawLevel::$level,
                        max_condim: $max_condim,
                        numbers: &[$( LawNumber {
                            name: stringify!($number),
                            unit: $unit,
                            range: LawRange::$range,
                        }, )*],
                    }, )*
                }
            }
        }

        impl ContactLaw {
            /// A law with the numbers that hold where a file gives none.
            pub fn new(kind: LawKind) -> Self {
                match kind {
                    LawKind::Soft => Self::Soft,
                    $( LawKind::$kind => Self::$kind($spec::default()), )*
                }
            }

            /// Which law it is.
            pub fn kind(&self) -> LawKind {
                match self {
                    Self::Soft => LawKind::Soft,
                    $( Self::$kind(_) => LawKind::$kind, )*
                }
            }

            /// Its numbers, in the order of their description.
            pub fn values(&mut self) -> Vec<(&'static LawNumber, LawValue<'_>)> {
                let numbers = self.kind().description().numbers.iter();
                let values: Vec<LawValue<'_>> = match self {
                    Self::Soft => Vec::new(),
                    $( Self::$kind(law) => vec![$( (&mut law.$number).into(), )*], )*
                };
                numbers.zip(values).collect()
            }
        }
    };
}

contact_laws! {
    /// Rigid contact: impulses that keep bodies from entering each other, with Coulomb friction.
    Complementarity(ComplementaritySpec) = "complementarity", Impulse, condim <= 6 {
        /// Coefficient of restitution.
        restitution: f64 = 0.0, "1", Share;
        /// Approach speed below which contacts do not bounce.
        restitution_speed: f64 = 0.0, "m/s", NotNegative;
        /// Share of a penetration that is corrected in one step (α), and share of a gap that may close in one step (β).
        baumgarte: [f64; 2] = [0.2, 1.0], "1", Share;
        /// Constraint-force mixing: velocity that an impulse gives way by.
        mixing: f64 = 1e-6, "1/kg", NotNegative;
        /// Greatest violation of the law that ends the iterations.
        tolerance: f64 = 1e-10, "m/s", NotNegative;
        /// Greatest number of iterations.
        iterations: u32 = 2000, "1", AtLeastOne;
    }

    /// A nonlinear spring and damper at every contact point, with smooth friction.
    HuntCrossley(HuntCrossleySpec) = "hunt_crossley", Force, condim <= 3 {
        /// Stiffness k of f = k·δⁿ·(1 + c·δ̇).
        stiffness: f64 = 1e5, "N/mⁿ", Positive;
        /// Exponent n.
        exponent: f64 = 1.5, "1", AtLeastOne;
        /// Dissipation c.
        dissipation: f64 = 0.5, "s/m", NotNegative;
        /// Speed at which friction has nearly reached its full size.
        transition_speed: f64 = 0.01, "m/s", Positive;
        /// Ratio of the greatest static to the sliding friction.
        static_ratio: f64 = 1.0, "1", AtLeastOne;
        /// Viscous friction.
        viscous: f64 = 0.0, "N·s/m", NotNegative;
        /// Normal force above which viscous friction acts in full.
        viscous_force: f64 = 1.0, "N", Positive;
    }

    /// Ideal impacts without friction: velocities jump at the very time at which bodies meet within a step.
    Impulse(ImpulseSpec) = "impulse", Impact, condim <= 1 {
        /// Coefficient of restitution; 1 is ideally elastic.
        restitution: f64 = 1.0, "1", Share;
        /// Greatest number of impacts in one step.
        impacts: u32 = 100, "1", AtLeastOne;
    }

    /// A linear spring and damper at every contact point, with regularised Coulomb friction.
    KelvinVoigt(KelvinVoigtSpec) = "kelvin_voigt", Force, condim <= 3 {
        /// Stiffness k of f = k·δ + d·δ̇.
        stiffness: f64 = 1e4, "N/m", Positive;
        /// Damping d.
        viscous: f64 = 50.0, "N·s/m", NotNegative;
        /// Sliding speed at which friction has 0.7 of its full size.
        transition_speed: f64 = 0.01, "m/s", Positive;
    }
}

impl LawKind {
    /// The kind with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|kind| kind.description().name == name)
    }

    /// The level on which it acts.
    #[inline]
    pub const fn level(self) -> LawLevel {
        self.description().level
    }
}

impl ContactLaw {
    /// One of its real numbers by name; `component` counts where several have one name.
    pub fn number_mut(&mut self, name: &str, component: usize) -> Option<&mut f64> {
        let mut values = self.values().into_iter();
        match values.find(|(number, _)| number.name == name)?.1 {
            LawValue::Numbers(numbers) => numbers.get_mut(component),
            LawValue::Count(_) => None,
        }
    }
}

/// Where the geoms of a law touch.
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
    /// Boxes touch planes and each other over patches.
    Patch {
        /// Cells along the side of a face.
        cells: u32,
    },
}
