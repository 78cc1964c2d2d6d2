//! The table of quantities: what is known of every real number of a model, in one place.
//!
//! The declaration of the model's arrays (`model/numbers.rs`) gives each field a [`Quantity`] and a [`Row`]: its unit, the
//! attribute of the file format that sets it, which values make sense, whether it is given or follows from others, and
//! MuJoCo's name. Parameters, units, calibrated files, comparisons with MuJoCo and the glossary read this table; nothing
//! compares names of fields.
//!
//! ```
//! use carom::quantity::{Family, Quantity};
//!
//! let damping = Quantity::DofDamping;
//! assert_eq!((damping.name(), damping.family()), ("dofs.damping", Family::Dofs));
//! assert_eq!(damping.row().unit, "N·s/m or N·m·s/rad");
//! assert_eq!(damping.row().mujoco_name(), Some("dof_damping"));
//! ```

mod declare;
#[cfg(test)]
mod tests;

pub(crate) use declare::quantities;

pub use crate::model::{Family, Quantity};

use crate::model::{Counts, Names};

/// Friction is raised to this value, so that there is no derivative below.
pub const LEAST_FRICTION: f64 = 1e-5;
/// Dry friction of zero is none, so that nothing tells how more of it would act (N or N·m).
pub const LEAST_DRY_FRICTION: f64 = 1e-9;
/// Least size of numbers that keep their sign.
const LEAST_SIZE: f64 = 1e-6;

/// What is known of a quantity.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Which numbers of a model it belongs to.
    pub family: Family,
    /// Name of the field.
    pub field: &'static str,
    /// Family and field, e.g. `dofs.damping`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Units of the components; the last one holds for all that follow. "a or b": for what slides, or turns.
    pub unit: &'static str,
    /// Numbers of an element.
    pub width: usize,
    /// Name of the [count](crate::model::Counts) of elements.
    pub count: &'static str,
    /// Letter in equations; empty if it has none.
    pub symbol: &'static str,
    /// What sets it in a file, if anything does.
    pub attribute: Option<Attribute>,
    /// Which values make sense.
    pub range: Range,
    /// Whether it is given or follows.
    pub role: Role,
    /// What it is for.
    pub purpose: Purpose,
    /// Name in MuJoCo, and what that is good for.
    pub mujoco: Option<(&'static str, Exchange)>,
    /// Whether the numbers of an element are a unit vector or a unit quaternion.
    pub is_unit_vector: bool,
    /// Whether infinity is a value.
    pub may_be_infinite: bool,
}

/// The attribute of the file format that sets a quantity.
#[derive(Clone, Copy, Debug)]
pub struct Attribute {
    /// The element that has the attribute.
    pub element: ElementKind,
    /// Its name. Quantities of the same attribute follow each other in it.
    pub name: &'static str,
    /// Other names, beside that of the field.
    pub aliases: &'static [&'static str],
    /// Which elements of the field belong to an element of the file.
    pub over: Over,
    /// First component of the attribute, and their number; all if none.
    pub components: Option<(usize, usize)>,
}

/// Declares the kinds of elements with their words, names and counts.
macro_rules! element_kinds {
    ($($kind:ident $words:expr, $($list:ident)?, $count:expr;)*) => {
        /// Kinds of elements that selectors name, and the initial state.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "words of the file format")]
        pub enum ElementKind {
            $($kind,)*
        }

        impl ElementKind {
            /// All, in the order of the file format.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Its name in selectors, and other words for it.
            pub fn words(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &$words,)*
                }
            }

            /// How many elements a model has.
            pub fn count(self, counts: &Counts) -> usize {
                let count: fn(&Counts) -> usize = match self {
                    $(Self::$kind => $count,)*
                };
                count(counts)
            }

            /// Names of the elements; none where they have no names, or these are labels of contact laws.
            pub fn names(self, names: &Names) -> Option<&Vec<String>> {
                match self {
                    $($(Self::$kind => Some(&names.$list),)?)*
                    _ => None,
                }
            }

            /// As [`Self::names`], to change.
            pub fn names_mut(self, names: &mut Names) -> Option<&mut Vec<String>> {
                match self {
                    $($(Self::$kind => Some(&mut names.$list),)?)*
                    _ => None,
                }
            }
        }
    };
}

element_kinds! {
    Option ["option"], , |_| 1;
    Body ["body", "bodies"], bodies, |n| n.nbody;
    Joint ["joint", "joints", "dof", "jnt"], joints, |n| n.njoint;
    Geom ["geom", "geoms"], geoms, |n| n.ngeom;
    Site ["site", "sites"], sites, |n| n.nsite;
    Camera ["camera", "cameras", "cam"], cameras, |n| n.ncamera;
    Mesh ["mesh", "meshes"], meshes, |n| n.nmesh;
    HeightField ["hfield", "height_field"], height_fields, |n| n.nheight_field;
    Pair ["pair", "pairs"], pairs, |n| n.npair;
    Law ["law", "laws"], , |n| n.nlaw;
    Learned ["learned", "term", "terms"], learned, |n| n.nlearned;
    Equality ["equality", "eq", "equalities"], equalities, |n| n.nequality;
    Tendon ["tendon", "tendons"], tendons, |n| n.ntendon;
    Actuator ["actuator", "actuators"], actuators, |n| n.nactuator;
    Sensor ["sensor", "sensors"], sensors, |n| n.nsensor;
    Key ["key", "keyframe"], keyframes, |n| n.nkeyframe;
    State ["state"], , |_| 0;
}

impl ElementKind {
    /// Its name in selectors.
    pub fn name(self) -> &'static str {
        self.words()[0]
    }

    /// The kind that a word means.
    pub fn called(word: &str) -> Option<Self> {
        (Self::ALL.iter().copied()).find(|kind| kind.words().contains(&word))
    }
}

/// Which elements of a field belong to an element of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The one of the same id.
    Element,
    /// All degrees of freedom of the joint, with one parameter.
    Dofs,
    /// The coordinate of a sliding or turning joint.
    Coordinate,
    /// The vertices of the mesh.
    Vertices,
    /// The elevations of the height field.
    Elevations,
    /// The elements of the tendon's path that have a coefficient.
    Wraps,
    /// The weights of the learned term.
    Weights,
}

/// Whether a quantity is given or follows from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Given, and others may follow from it.
    Given,
    /// Given, reaches the model as it is, and no other number of the model follows from it.
    Direct,
    /// Follows from others: from which.
    Derived(&'static str),
    /// Says how to compute rather than what.
    Setting,
    /// Given, but nothing can be differentiated by it: why.
    Refused(&'static str),
}

/// What a quantity is for, where that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Anything else.
    Other,
    /// Weight of bodies.
    Gravity,
    /// Springs of joints and tendons.
    Spring,
    /// Dampers of joints and tendons.
    Damper,
    /// Dry friction of joints and tendons.
    DryFriction,
    /// Limits of joints and tendons.
    Limit,
    /// How stiff, dissipative and rough contacts are.
    Contact,
    /// The same for all contacts at once.
    ContactOverride,
    /// Equality constraints.
    Equality,
    /// Drag of the medium.
    Medium,
}

/// What MuJoCo's array of the same name is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// It has the same numbers.
    Same,
    /// It is the same thing, but signs of quaternions and the order of axes may differ.
    Frame,
    /// It is compared with ours, but not taken over.
    Compared,
    /// It is taken over, but not compared.
    Adopted,
    /// It is but the name.
    Name,
}

/// Which values of a quantity make sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// All.
    Any,
    /// From this one upwards.
    From(f64),
    /// Those of the sign that it has: another sign means something else.
    OneSign,
}

impl Range {
    /// Lowest and highest value, where one is known to be possible.
    pub fn around(self, known: f64) -> [f64; 2] {
        match self {
            Self::From(least) => [least.min(known), f64::INFINITY],
            Self::OneSign if known > 0.0 => [LEAST_SIZE.min(known), f64::INFINITY],
            Self::OneSign if known < 0.0 => [f64::NEG_INFINITY, 0.0],
            Self::Any | Self::OneSign => [f64::NEG_INFINITY, f64::INFINITY],
        }
    }
}

impl Quantity {
    /// What is known of it.
    pub fn row(self) -> &'static Row {
        &Self::TABLE[self as usize]
    }

    /// The family it belongs to.
    pub fn family(self) -> Family {
        self.row().family
    }

    /// Family and field, e.g. `dofs.damping`.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

impl Row {
    /// MuJoCo's name for it.
    pub fn mujoco_name(&self) -> Option<&'static str> {
        self.mujoco.map(|(name, _)| name)
    }

    /// A field of which nothing but name and unit is known.
    pub(crate) const fn new(
        family: Family,
        [field, name, about, unit]: [&'static str; 4],
        (width, count): (usize, &'static str),
    ) -> Self {
        Self {
            family,
            field,
            name,
            about,
            unit,
            width,
            count,
            symbol: "",
            attribute: None,
            range: Range::Any,
            role: Role::Given,
            purpose: Purpose::Other,
            mujoco: None,
            is_unit_vector: false,
            may_be_infinite: false,
        }
    }
}

/// The unit of a component in a list of them; the last one holds for all that follow.
pub fn unit_of_component(units: &'static str, component: usize) -> &'static str {
    let last = units.rsplit(", ").next().unwrap_or(units);
    units.split(", ").nth(component).unwrap_or(last)
}
