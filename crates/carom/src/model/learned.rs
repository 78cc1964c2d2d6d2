//! What learned terms read and act on, number by number.
//!
//! A [term](LearnedTerm) is a function. It acts at one or more [places](LearnedPlace), each with inputs and outputs of its own:
//! ranges of [`LearnedStructure::signals`] and [`LearnedStructure::targets`]. Its weights and constants are numbers of the model.

use std::ops::Range;

use carom_form::Form;
pub use carom_spec::model_spec::TermMode;
use carom_spec::model_spec::{JointKind, SiteOwner, TermSite};

use super::Structure;

/// A function with weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedTerm {
    /// Which function.
    pub form: Form,
    /// Its weights among those of all terms.
    pub weights: Range<usize>,
    /// Its constants among those of all terms.
    pub constants: Range<usize>,
    /// The ranges of its inputs among those of all terms; empty where they are not known.
    pub ranges: Range<usize>,
    /// Where it acts.
    pub places: Range<usize>,
}

/// Where a term acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedPlace {
    /// The term.
    pub term: usize,
    /// Its inputs among [`LearnedStructure::signals`].
    pub inputs: Range<usize>,
    /// Its outputs among [`LearnedStructure::targets`].
    pub outputs: Range<usize>,
}

/// A number that goes into a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Position of a joint that slides or turns.
    Position {
        /// Its coordinate.
        coordinate: usize,
        /// Its dof.
        dof: usize,
        /// What is taken of it.
        of: Angle,
    },
    /// Velocity of a dof.
    Velocity(usize),
    /// Passive force at a dof.
    PassiveForce(usize),
    /// Bias force at a dof.
    BiasForce(usize),
    /// Force of all actuators at a dof.
    ActuationForce(usize),
    /// A component of a body frame's position.
    BodyPosition(usize, usize),
    /// An entry of a body's rotation matrix, row by row.
    BodyRotation(usize, usize),
    /// A component of the motion of a [frame](LearnedStructure::frames), rotation first.
    Motion(usize, usize),
    /// A control.
    Control(usize),
    /// An activation.
    Activation(usize),
    /// Length of an actuator's output.
    Length(usize),
    /// Velocity of an actuator's output.
    Rate(usize),
    /// Force of an actuator's output.
    ActuatorForce(usize),
    /// One of the [numbers](ContactSignal) of the contact that the term acts on.
    Contact(ContactSignal),
    /// The time.
    Time,
}

/// What terms read of the contact that they act on, as one of its two geoms has it; vectors have a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactSignal {
    /// Where it is, in the frame of the geom.
    Place(usize),
    /// Where it is in the world.
    WorldPlace(usize),
    /// Its normal out of the geom, in the frame of the geom.
    Normal(usize),
    /// Its normal out of the geom, in the world.
    WorldNormal(usize),
    /// Velocity at which the other geom slides over this one, in the frame of the geom.
    Slip(usize),
    /// Velocity at which the other geom slides over this one, in the world.
    WorldSlip(usize),
    /// Size of the sliding velocity.
    SlipSpeed,
    /// Velocity at which both geoms part.
    NormalSpeed,
    /// How deep they are in each other.
    Depth,
}

/// What terms change of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactNumber {
    /// Friction against sliding, along both tangents.
    Sliding,
    /// Friction against turning about the normal.
    Torsional,
    /// Friction against rolling, about both tangents.
    Rolling,
    /// The first number of the reference.
    Stiffness,
    /// The second number of the reference.
    Damping,
}

impl ContactNumber {
    /// How many there are.
    pub const COUNT: usize = 5;
}

impl Signal {
    /// The same, where frames have other numbers.
    pub(crate) fn in_frames(self, frames: &[usize]) -> Self {
        match self {
            Self::Motion(frame, component) => Self::Motion(frames[frame], component),
            other => other,
        }
    }
}

/// What is taken of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Angle {
    /// The position itself.
    Plain,
    /// Its sine.
    Sine,
    /// Its cosine.
    Cosine,
}

/// What a number that comes out of a term does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Adds to the generalised force of a dof.
    Dof(usize),
    /// Adds to a component of the wrench on a [frame](LearnedStructure::frames), torque first.
    Wrench(usize, usize),
    /// Changes the force of an actuator.
    Actuator {
        /// The actuator.
        actuator: usize,
        /// Its output.
        output: usize,
        /// How.
        mode: TermMode,
    },
    /// Changes a number of a contact.
    Contact(ContactNumber),
}

/// A term that acts on contacts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedContact {
    /// The term.
    pub term: usize,
    /// Which geoms it is for.
    pub geoms: Vec<bool>,
    /// Its inputs.
    pub signals: Vec<Signal>,
    /// Its outputs.
    pub numbers: Vec<ContactNumber>,
    /// What becomes of the numbers.
    pub mode: TermMode,
}

impl LearnedContact {
    /// Which of the geoms of a contact the term sees it from: the first one that it is for.
    #[inline]
    pub(crate) fn side(&self, geoms: [usize; 2]) -> Option<usize> {
        geoms.into_iter().position(|geom| self.geoms[geom])
    }
}

/// Axes at the centre of mass of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearnedFrame {
    /// The body.
    pub body: usize,
    /// Whether the axes are those of the body rather than of the world.
    pub is_local: bool,
}

/// The learned terms of a model; empty for a model without any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LearnedStructure {
    /// Terms in the order of the file; their names are with those of all elements.
    pub terms: Vec<LearnedTerm>,
    /// Places of all terms: first of those that act on actuators.
    pub places: Vec<LearnedPlace>,
    /// How many places act on actuators: they are evaluated before the actuators, all others after them.
    pub on_actuators: usize,
    /// Inputs of all places.
    pub signals: Vec<Signal>,
    /// Outputs of all places.
    pub targets: Vec<Target>,
    /// Where motions are read and wrenches act.
    pub frames: Vec<LearnedFrame>,
    /// Terms that act on contacts.
    pub contacts: Vec<LearnedContact>,
    /// Whether a term acts on a frame.
    pub has_wrenches: bool,
}

impl LearnedStructure {
    /// Whether there are no terms.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.contacts.is_empty()
    }

    /// Places that are evaluated before the actuators, or those after them.
    #[inline]
    pub(crate) fn places(&self, before_actuators: bool) -> &[LearnedPlace] {
        let (before, after) = self.places.split_at(self.on_actuators);
        if before_actuators { before } else { after }
    }

    /// Whether a term takes the place of an actuator's law.
    pub(crate) fn replaces(&self, actuator: usize) -> bool {
        let outputs = self
            .places(true)
            .last()
            .map_or(0, |place| place.outputs.end);
        self.targets[..outputs].iter().any(|target| match *target {
            Target::Actuator {
                actuator: own,
                mode,
                ..
            } => own == actuator && mode == TermMode::Replace,
            _ => false,
        })
    }
}

impl Structure {
    /// Why terms cannot read or act on a site of an element; none if they can.
    pub fn lacks_site(&self, site: TermSite, element: usize) -> Option<&'static str> {
        let (bodies, actuators) = (&self.bodies, &self.actuators);
        let row = site.row();
        match row.owner {
            SiteOwner::Joint => {
                let kind = self.joints.kind[element];
                let is_scalar = matches!(kind, JointKind::Hinge | JointKind::Slide);
                (!is_scalar).then_some("is free or a ball: terms act on its body instead")
            }
            SiteOwner::Body => {
                let is_fixed = !row.is_input && bodies.tree[element].is_none();
                (is_fixed || element == 0).then_some("does not move")
            }
            SiteOwner::Actuator if actuators.outputs[element].len() != 1 => {
                Some("has several forces, which terms do not know yet")
            }
            SiteOwner::Actuator => match site {
                TermSite::ActuatorControl if actuators.controls[element].len() != 1 => {
                    Some("has several controls, which terms do not know yet")
                }
                TermSite::ActuatorActivation if actuators.activations[element].is_empty() => {
                    Some("has no activation")
                }
                _ => None,
            },
            SiteOwner::Geom => {
                let (geoms, pairs) = (&self.geoms, &self.pairs);
                let is_masked = geoms.contype[element] == 0 && geoms.conaffinity[element] == 0;
                let mut paired = pairs.geom1.iter().chain(&pairs.geom2);
                let is_apart = is_masked && !paired.any(|&geom| geom == element);
                is_apart.then_some("touches nothing: its contype and conaffinity are zero")
            }
            SiteOwner::Model => None,
        }
    }
}
