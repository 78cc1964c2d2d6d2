//! The compiled model: what never changes while simulating.
//!
//! A [`Model`] is made by [`compile`](crate::compile) and split in three:
//! - [`Structure`]: everything discrete (tree, ids, kinds, names, sparsity), shared by all copies of the model;
//! - [`Settings`]: discrete choices of how to simulate (integrator, solver, switches);
//! - the numbers, one struct of flat arrays per family of elements, generic over the [`Scalar`]; each field of them is a
//!   [`Quantity`].
//!
//! Every real number of the model is in the last group. A cotangent of the model is therefore a `Model` of the same
//! structure, and a model over dual numbers is `model.map(Dual::constant)`.
//!
//! Ids are plain indices in MuJoCo's order (depth-first order of the file), so arrays compare one to one.

mod appearance;
mod coincidence;
mod contact_sensor;
mod from_distance;
mod laws;
mod learned;
mod numbers;
mod recipe;
mod settings;
mod strike_map;
mod structure;
mod tables;
mod tangent;

pub use appearance::{Appearance, Look, Shine};
pub use carom_hull::{HullTopology, Lists};
pub use coincidence::{Coincidence, Coincidences};
pub use contact_sensor::ContactSensor;
pub use from_distance::{ActsIn, Attracting, ContactsFromDistance};
pub(crate) use laws::joint_law_parameter;
pub use laws::{ImpulsePair, JointLaw, JointLawKind, LawKind, LawLevel, LawStructure};
pub use learned::{
    Angle, ContactNumber, ContactSignal, LearnedContact, LearnedFrame, LearnedPlace,
    LearnedStructure, LearnedTerm, Signal, Target, TermMode,
};
pub use numbers::{
    ActuatorNumbers, BodyNumbers, CameraNumbers, ContactPointNumbers, DofNumbers, EqualityNumbers,
    Family, GeomNumbers, HeightFieldNumbers, JointLawNumbers, JointNumbers, KeyframeNumbers,
    LawNumbers, LearnedNumbers, MeshNumbers, Model, OptionNumbers, PairNumbers, QposNumbers,
    Quantity, SensorNumbers, SiteNumbers, SourceNumbers, StrikeNumbers, TendonNumbers, WrapNumbers,
};
pub use recipe::{
    ActuatorRecipe, BodyRecipe, GeomRecipe, Given, KeyframeRecipe, MassSource, MeshRecipe, Recipe,
};
pub use settings::{Cone, Disable, Enable, Integrator, JacobianKind, Settings, SolverKind};
pub use strike_map::{STRIKE_MEMORY, StrikeMap};
pub use structure::{
    ActuatorDynamics, ActuatorInput, ActuatorStructure, BiasKind, BodyStructure, CameraStructure,
    ContactFilter, ContactMatch, ContactReduction, ContactReport, ControlLimit, Counts,
    DofStructure, EqualityKind, EqualityStructure, FrameObject, GainKind, GeomKind, GeomShape,
    GeomStructure, HeightFieldStructure, HistoryShape, Interpolation, JointKind, JointStructure,
    MeshStructure, Names, ObjectKind, PairStructure, Sensor, SensorGeoms, SensorKind, SensorObject,
    SensorStructure, ServoInputs, ServoStates, SiteStructure, SparsePattern, Structure,
    TendonStructure, TrackingMode, Transmission, Wrap,
};

pub use tables::{RelativeDofs, SensorNeeds};

use crate::scalar::Scalar;

impl<T: Scalar> Model<T> {
    /// The limits of a control; none if it has none.
    #[inline]
    pub fn control_range(&self, control: usize) -> Option<[T; 2]> {
        let (structure, numbers) = (&self.structure.actuators, &self.actuators);
        let (limited, ranges) = match structure.control_role(control) {
            ControlLimit::Control => (&structure.control_limited, &numbers.control_range),
            ControlLimit::Velocity => (&structure.velocity_limited, &numbers.velocity_range),
            ControlLimit::Feedforward => {
                (&structure.feedforward_limited, &numbers.feedforward_range)
            }
        };
        let owner = structure.control_owner[control];
        limited[owner].then(|| ranges[owner])
    }

    /// Sizes of all arrays.
    #[inline]
    pub fn counts(&self) -> &Counts {
        &self.structure.counts
    }
}

impl<T: Scalar> ActuatorNumbers<T> {
    /// Where the limits of a control are; none if it has none.
    pub fn control_range_mut(
        &mut self,
        structure: &ActuatorStructure,
        control: usize,
    ) -> Option<&mut [T; 2]> {
        let ranges = match structure.control_limit(control)? {
            ControlLimit::Control => &mut self.control_range,
            ControlLimit::Velocity => &mut self.velocity_range,
            ControlLimit::Feedforward => &mut self.feedforward_range,
        };
        Some(&mut ranges[structure.control_owner[control]])
    }
}
