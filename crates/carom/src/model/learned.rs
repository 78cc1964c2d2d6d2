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
    /// The time.
    Time,
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
    /// Whether a term acts on a frame.
    pub has_wrenches: bool,
}

impl LearnedStructure {
    /// Whether there are no terms.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
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
            SiteOwner::Model => None,
        }
    }
}
