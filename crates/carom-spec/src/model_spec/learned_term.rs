//! Learned terms: functions with weights that act on named quantities of the engine, and the table of these quantities.
//!
//! A term has targets, inputs and a form. A target is a [site](TermSite) of some elements, `joint.elbow.force` or
//! `body.link*.force.x`. A pattern stands for all elements that fit: they share one function, each with its own inputs, or
//! are the outputs of one function together if the term is not shared. An input is a site of the target's own element,
//! `velocity`, or of named ones, `joint.*.velocity`.

use super::Reference;
use crate::span::Span;

/// A function that acts on quantities of the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedTermSpec {
    /// Name, unique among the terms.
    pub name: String,
    /// Where it is described.
    pub span: Span,
    /// What its outputs are.
    pub targets: Vec<Reference>,
    /// What its inputs are.
    pub inputs: Vec<Reference>,
    /// What becomes of the target.
    pub mode: TermMode,
    /// Whether each element that the targets name has the function for itself.
    pub is_shared: bool,
    /// Which function it is.
    pub form: FormSpec,
    /// Centre and scale of each number that goes in; empty where they go in as they are.
    pub scales: Vec<[f64; 2]>,
    /// Lowest and highest value of each number that went in while it was trained; empty where nobody noted them.
    pub range: Vec<[f64; 2]>,
    /// The weights; empty where the term is not trained.
    pub weights: Vec<f64>,
    /// The file that they are in, as the model names it.
    pub weights_file: Option<String>,
    /// Chooses the weights that training starts from.
    pub seed: u64,
}

/// What becomes of a target x with the output y of a term. A term whose weights are untrained has the output zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TermMode {
    /// x + y.
    #[default]
    Add,
    /// x·(1 + y).
    Multiply,
    /// y.
    Replace,
}

impl TermMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Add, Self::Multiply, Self::Replace];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Multiply => "multiply",
            Self::Replace => "replace",
        }
    }
}

/// A function of inputs and weights.
#[derive(Clone, Debug, PartialEq)]
pub struct FormSpec {
    /// What is learned of it.
    pub kind: FormKind,
    /// Inputs that it is odd in: the output turns its sign with theirs.
    pub odd: Vec<Reference>,
    /// Inputs that are velocities, one for each output, against which the outputs act: the term takes out energy.
    pub dissipative: Vec<Reference>,
    /// The largest size of an output.
    pub bound: Option<f64>,
}

/// What is learned of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormKind {
    /// A network of dense layers.
    Mlp {
        /// Neurons of each hidden layer.
        hidden: Vec<usize>,
        /// What they do with their sums.
        activation: ActivationKind,
    },
    /// A polynomial of all inputs, or a quotient of two.
    Polynomial {
        /// The highest degree of its monomials.
        degree: usize,
        /// Whether it has a constant.
        constant: bool,
        /// Whether it is a quotient.
        is_quotient: bool,
    },
    /// A spline over one or two inputs, with so many control values along each.
    Table {
        /// Control values along each input.
        counts: Vec<usize>,
    },
    /// Friction of a joint over its velocity and, as a second input, its load.
    Friction,
    /// Linear and quadratic drag along each input.
    Drag,
}

/// What the hidden layers of a network do with their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the functions")]
pub enum ActivationKind {
    Tanh,
    Elu,
    Softplus,
    Silu,
}

impl ActivationKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tanh, Self::Elu, Self::Softplus, Self::Silu];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tanh => "tanh",
            Self::Elu => "elu",
            Self::Softplus => "softplus",
            Self::Silu => "silu",
        }
    }
}

/// Whose quantity it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteOwner {
    /// A joint that slides or turns about one axis.
    Joint,
    /// A body.
    Body,
    /// An actuator with one force.
    Actuator,
    /// A geom, at each of its contacts.
    Geom,
    /// The whole model.
    Model,
}

impl SiteOwner {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Joint => "joint",
            Self::Body => "body",
            Self::Actuator => "actuator",
            Self::Geom => "geom",
            Self::Model => "model",
        }
    }
}

/// Stages of the engine that sites belong to, in their order: what a term reads is of an earlier stage than what it acts on.
pub const SITE_STAGES: &[&str] = &[
    "input",
    "kinematics",
    "collision",
    "transmission",
    "velocity",
    "passive",
    "bias",
    "contact",
    "control",
    "actuation",
    "acceleration",
];

/// What a quantity is to terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteRow {
    /// Whose it is.
    pub owner: SiteOwner,
    /// Its name in files.
    pub name: &'static str,
    /// The stage that computes it.
    pub stage: &'static str,
    /// Its numbers.
    pub width: usize,
    /// Their unit; "a or b" for what slides, or turns.
    pub unit: &'static str,
    /// The axes of vectors; empty for others.
    pub frame: &'static str,
    /// Whether terms may read it.
    pub is_input: bool,
    /// How terms may act on it.
    pub modes: &'static [TermMode],
    /// What it is.
    pub about: &'static str,
}

impl SiteRow {
    /// The place of its stage among those of all sites.
    pub fn rank(&self) -> usize {
        let place = SITE_STAGES.iter().position(|&stage| stage == self.stage);
        place.unwrap_or(SITE_STAGES.len())
    }

    /// Whether a term that acts on it may read another site.
    pub fn may_read(&self, other: &Self) -> bool {
        // A contact is there for a moment: its numbers are for terms that act on it.
        let is_within_reach = other.owner != SiteOwner::Geom || self.owner == SiteOwner::Geom;
        other.is_input && is_within_reach && other.rank() < self.rank()
    }
}

/// Declares the sites.
macro_rules! sites {
    ($(
        $(#[doc = $about:literal])*
        $site:ident = $owner:ident $name:literal: $stage:literal [$width:literal] $unit:literal
            $(in $frame:literal)?, $(reads $is_input:ident)? $(acts $($mode:ident)+)?;
    )*) => {
        /// A quantity that terms read or act on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum TermSite {
            $( $(#[doc = $about])* $site, )*
        }

        impl TermSite {
            /// All of them.
            pub const ALL: &'static [Self] = &[$( Self::$site, )*];

            /// What it is.
            pub const fn row(self) -> &'static SiteRow {
                match self {
                    $( Self::$site => &SiteRow {
                        owner: SiteOwner::$owner,
                        name: $name,
                        stage: $stage,
                        width: $width,
                        unit: $unit,
                        frame: concat!($($frame)?),
                        is_input: sites!(@ reads $($is_input)?),
                        modes: &[$( $(TermMode::$mode),+ )?],
                        about: concat!($($about),*),
                    }, )*
                }
            }
        }
    };
    (@ reads yes) => { true };
    (@ reads) => { false };
}

sites! {
    /// Position.
    JointPosition = Joint "position": "input" [1] "m or rad", reads yes;
    /// Sine of the position.
    JointSine = Joint "sin_position": "input" [1] "1", reads yes;
    /// Cosine of the position.
    JointCosine = Joint "cos_position": "input" [1] "1", reads yes;
    /// Velocity.
    JointVelocity = Joint "velocity": "input" [1] "m/s or rad/s", reads yes;
    /// Force of springs, dampers, the medium and gravity compensation.
    JointPassiveForce = Joint "passive_force": "passive" [1] "N or N·m", reads yes;
    /// Force that gravity and motion take: Coriolis, centrifugal and gravity.
    JointBiasForce = Joint "bias_force": "bias" [1] "N or N·m", reads yes;
    /// Force of all actuators at the joint.
    JointActuatorForce = Joint "actuator_force": "actuation" [1] "N or N·m", reads yes;
    /// Generalised force.
    JointForce = Joint "force": "acceleration" [1] "N or N·m", acts Add;
    /// Position of the body frame.
    BodyPosition = Body "position": "kinematics" [3] "m" in "world", reads yes;
    /// Orientation: rows of the matrix from body to world axes.
    BodyRotation = Body "rotation": "kinematics" [9] "1" in "world", reads yes;
    /// The world's z axis.
    BodyUp = Body "up": "kinematics" [3] "1" in "body", reads yes;
    /// Velocity of the centre of mass.
    BodyLinearVelocity = Body "linear_velocity": "velocity" [3] "m/s" in "body", reads yes;
    /// Angular velocity.
    BodyAngularVelocity = Body "angular_velocity": "velocity" [3] "rad/s" in "body", reads yes;
    /// Velocity of the centre of mass.
    BodyWorldLinearVelocity = Body "world_linear_velocity": "velocity" [3] "m/s" in "world", reads yes;
    /// Angular velocity.
    BodyWorldAngularVelocity = Body "world_angular_velocity": "velocity" [3] "rad/s" in "world", reads yes;
    /// Force at the centre of mass.
    BodyForce = Body "force": "acceleration" [3] "N" in "body", acts Add;
    /// Torque.
    BodyTorque = Body "torque": "acceleration" [3] "N·m" in "body", acts Add;
    /// Force at the centre of mass.
    BodyWorldForce = Body "world_force": "acceleration" [3] "N" in "world", acts Add;
    /// Torque.
    BodyWorldTorque = Body "world_torque": "acceleration" [3] "N·m" in "world", acts Add;
    /// Control as it arrives: delayed where the actuator delays it, before its limits.
    ActuatorControl = Actuator "control": "control" [1] "by kind", reads yes;
    /// Activation, the last one of several.
    ActuatorActivation = Actuator "activation": "input" [1] "by kind", reads yes;
    /// Length of the transmission.
    ActuatorLength = Actuator "length": "transmission" [1] "m or rad", reads yes;
    /// Velocity of the transmission.
    ActuatorVelocity = Actuator "velocity": "velocity" [1] "m/s or rad/s", reads yes;
    /// Force, before limits where a term acts on it, after them where one reads it.
    ActuatorForce = Actuator "force": "actuation" [1] "N or N·m", reads yes acts Add Multiply Replace;
    /// Where a contact is.
    ContactPlace = Geom "place": "collision" [3] "m" in "geom", reads yes;
    /// Where a contact is.
    ContactWorldPlace = Geom "world_place": "collision" [3] "m" in "world", reads yes;
    /// Unit normal of a contact, out of the geom.
    ContactNormal = Geom "normal": "collision" [3] "1" in "geom", reads yes;
    /// Unit normal of a contact, out of the geom.
    ContactWorldNormal = Geom "world_normal": "collision" [3] "1" in "world", reads yes;
    /// How deep the two geoms of a contact are in each other.
    ContactDepth = Geom "depth": "collision" [1] "m", reads yes;
    /// Velocity at which the other geom of a contact slides over this one.
    ContactSlip = Geom "slip": "velocity" [3] "m/s" in "geom", reads yes;
    /// Velocity at which the other geom of a contact slides over this one.
    ContactWorldSlip = Geom "world_slip": "velocity" [3] "m/s" in "world", reads yes;
    /// Size of the sliding velocity.
    ContactSlipSpeed = Geom "slip_speed": "velocity" [1] "m/s", reads yes;
    /// Velocity at which the geoms of a contact part.
    ContactNormalSpeed = Geom "normal_speed": "velocity" [1] "m/s", reads yes;
    /// Coefficient of sliding friction of a contact.
    ContactFriction = Geom "friction": "contact" [1] "1", acts Add Multiply;
    /// Coefficient of friction against turning about the normal of a contact.
    ContactTorsionalFriction = Geom "torsional_friction": "contact" [1] "m", acts Add Multiply;
    /// Coefficient of friction against rolling.
    ContactRollingFriction = Geom "rolling_friction": "contact" [1] "m", acts Add Multiply;
    /// Both numbers of a contact's reference: time constant and damping ratio, or stiffness and damping.
    ContactSolref = Geom "solref": "contact" [2] "s, 1", acts Multiply;
    /// Time.
    Time = Model "time": "input" [1] "s", reads yes;
}

impl TermSite {
    /// The site of an owner by its name.
    pub fn called(owner: SiteOwner, name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|site| site.row().owner == owner && site.row().name == name)
    }

    /// The component of a site that a suffix names: x, y or z of a vector.
    pub fn component(self, suffix: &str) -> Option<usize> {
        let place = ["x", "y", "z"].iter().position(|&axis| axis == suffix)?;
        (self.row().width == 3).then_some(place)
    }
}
