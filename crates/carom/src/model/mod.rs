//! The compiled model: what never changes while simulating.
//!
//! A [`Model`] is made by [`compile`](crate::compile) and split in three:
//! - [`Structure`]: everything discrete (tree, ids, kinds, names, sparsity), shared by all copies of the model;
//! - [`Settings`]: discrete choices of how to simulate (integrator, solver, switches);
//! - the numbers, one struct of flat arrays per family of elements, generic over the [`Scalar`].
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
mod numbers;
mod recipe;
mod settings;
mod structure;
mod tables;

use std::ops::Range;
use std::sync::Arc;

pub use appearance::{Appearance, Look, Shine};
pub use carom_hull::{HullTopology, Lists};
pub use coincidence::{Coincidence, Coincidences};
pub use contact_sensor::ContactSensor;
pub use from_distance::{ActsIn, Attracting, ContactsFromDistance, FromDistanceError};
pub use laws::{ImpulsePair, LawKind, LawLevel, LawStructure};
pub use numbers::{
    ActuatorNumbers, BodyNumbers, CameraNumbers, ContactPointNumbers, DofNumbers, EqualityNumbers,
    GeomNumbers, HeightFieldNumbers, JointNumbers, KeyframeNumbers, LawNumbers, MeshNumbers,
    OptionNumbers, PairNumbers, QposNumbers, SensorNumbers, SiteNumbers, TendonNumbers,
    WrapNumbers,
};
pub use recipe::{
    ActuatorRecipe, BodyRecipe, GeomRecipe, Given, KeyframeRecipe, MassSource, MeshRecipe, Recipe,
    SourceNumbers,
};
pub use settings::{Cone, Disable, Enable, Integrator, JacobianKind, Settings, SolverKind};
pub use structure::{
    ActuatorDynamics, ActuatorStructure, BiasKind, BodyStructure, CameraStructure, ContactFilter,
    ContactMatch, ContactReduction, Counts, DofStructure, EqualityKind, EqualityStructure,
    FrameObject, GainKind, GeomKind, GeomShape, GeomStructure, HeightFieldStructure, HistoryShape,
    Interpolation, JointKind, JointStructure, MeshStructure, Names, PairStructure, SensorGeoms,
    SensorKind, SensorStructure, SiteStructure, SparsePattern, Structure, TendonStructure,
    TrackingMode, Transmission, Wrap,
};

pub use tables::{RelativeDofs, SensorNeeds};

use crate::scalar::Scalar;
use crate::stages::collision::MappedPair;

/// A compiled model over the scalar `T`.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<T: Scalar = f64> {
    /// Everything discrete; shared between copies.
    pub structure: Arc<Structure>,
    /// How to simulate.
    pub settings: Settings,
    /// Contacts that act from a distance, if any do; see [`Self::with_contacts_from_distance`].
    pub(crate) from_distance: Option<Arc<ContactsFromDistance>>,
    /// Pairs of geoms whose contacts come from maps, if there are any; see [`Self::with_contact_map`].
    pub(crate) mapped_pairs: Option<Arc<[MappedPair]>>,
    /// How the derived numbers follow from the given ones; none in models that were not compiled.
    pub(crate) recipe: Option<Arc<Recipe>>,
    /// Physical constants and tolerances.
    pub option: OptionNumbers<T>,
    /// Reference configurations.
    pub qpos: QposNumbers<T>,
    /// Bodies.
    pub bodies: BodyNumbers<T>,
    /// Joints.
    pub joints: JointNumbers<T>,
    /// Degrees of freedom.
    pub dofs: DofNumbers<T>,
    /// Geoms.
    pub geoms: GeomNumbers<T>,
    /// Sites.
    pub sites: SiteNumbers<T>,
    /// Cameras.
    pub cameras: CameraNumbers<T>,
    /// Meshes.
    pub meshes: MeshNumbers<T>,
    /// Height fields.
    pub height_fields: HeightFieldNumbers<T>,
    /// Explicit contact pairs.
    pub pairs: PairNumbers<T>,
    /// Contact laws.
    pub laws: LawNumbers<T>,
    /// Contact points that laws give to geoms.
    pub contact_points: ContactPointNumbers<T>,
    /// Equality constraints.
    pub equalities: EqualityNumbers<T>,
    /// Tendons.
    pub tendons: TendonNumbers<T>,
    /// Elements of tendon paths.
    pub wraps: WrapNumbers<T>,
    /// Actuators.
    pub actuators: ActuatorNumbers<T>,
    /// Sensors.
    pub sensors: SensorNumbers<T>,
    /// Keyframes.
    pub keyframes: KeyframeNumbers<T>,
}

/// Applies `$action!(family)` to every family of numbers, in order.
macro_rules! for_families {
    ($action:ident) => {
        $action!(option);
        $action!(qpos);
        $action!(bodies);
        $action!(joints);
        $action!(dofs);
        $action!(geoms);
        $action!(sites);
        $action!(cameras);
        $action!(meshes);
        $action!(height_fields);
        $action!(pairs);
        $action!(laws);
        $action!(contact_points);
        $action!(equalities);
        $action!(tendons);
        $action!(wraps);
        $action!(actuators);
        $action!(sensors);
        $action!(keyframes);
    };
}

impl<T: Scalar> Model<T> {
    /// A model of the given structure with every number zero: the start of a compilation or of a cotangent.
    pub fn zeros(structure: Arc<Structure>, settings: Settings) -> Self {
        let n = &structure.counts;
        Self {
            option: OptionNumbers::zeros(n),
            qpos: QposNumbers::zeros(n),
            bodies: BodyNumbers::zeros(n),
            joints: JointNumbers::zeros(n),
            dofs: DofNumbers::zeros(n),
            geoms: GeomNumbers::zeros(n),
            sites: SiteNumbers::zeros(n),
            cameras: CameraNumbers::zeros(n),
            meshes: MeshNumbers::zeros(n),
            height_fields: HeightFieldNumbers::zeros(n),
            pairs: PairNumbers::zeros(n),
            laws: LawNumbers::zeros(n),
            contact_points: ContactPointNumbers::zeros(n),
            equalities: EqualityNumbers::zeros(n),
            tendons: TendonNumbers::zeros(n),
            wraps: WrapNumbers::zeros(n),
            actuators: ActuatorNumbers::zeros(n),
            sensors: SensorNumbers::zeros(n),
            keyframes: KeyframeNumbers::zeros(n),
            settings,
            structure,
            from_distance: None,
            mapped_pairs: None,
            recipe: None,
        }
    }

    /// The same model over another scalar, e.g. dual numbers.
    pub fn map<U: Scalar>(&self, mut convert: impl FnMut(T) -> U) -> Model<U> {
        Model {
            structure: Arc::clone(&self.structure),
            settings: self.settings,
            from_distance: self.from_distance.clone(),
            mapped_pairs: self.mapped_pairs.clone(),
            recipe: self.recipe.clone(),
            option: self.option.map(&mut convert),
            qpos: self.qpos.map(&mut convert),
            bodies: self.bodies.map(&mut convert),
            joints: self.joints.map(&mut convert),
            dofs: self.dofs.map(&mut convert),
            geoms: self.geoms.map(&mut convert),
            sites: self.sites.map(&mut convert),
            cameras: self.cameras.map(&mut convert),
            meshes: self.meshes.map(&mut convert),
            height_fields: self.height_fields.map(&mut convert),
            pairs: self.pairs.map(&mut convert),
            laws: self.laws.map(&mut convert),
            contact_points: self.contact_points.map(&mut convert),
            equalities: self.equalities.map(&mut convert),
            tendons: self.tendons.map(&mut convert),
            wraps: self.wraps.map(&mut convert),
            actuators: self.actuators.map(&mut convert),
            sensors: self.sensors.map(&mut convert),
            keyframes: self.keyframes.map(&mut convert),
        }
    }

    /// Calls `visit(family, field, element, component, number)` for every number of the model.
    pub fn for_each(&self, mut visit: impl FnMut(&'static str, &'static str, usize, usize, T)) {
        macro_rules! walk {
            ($family:ident) => {
                self.$family.for_each(|field, element, component, number| {
                    visit(stringify!($family), field, element, component, number);
                });
            };
        }
        for_families!(walk);
    }

    /// As [`Self::for_each`], with the number by mutable reference.
    pub fn for_each_mut(
        &mut self,
        mut visit: impl FnMut(&'static str, &'static str, usize, usize, &mut T),
    ) {
        macro_rules! walk {
            ($family:ident) => {
                self.$family
                    .for_each_mut(|field, element, component, number| {
                        visit(stringify!($family), field, element, component, number);
                    });
            };
        }
        for_families!(walk);
    }

    /// Calls `visit` for the numbers in a range, counted in the order of [`Self::for_each`], without walking over others.
    pub fn for_range(&self, range: &Range<usize>, mut visit: impl FnMut(T)) {
        let mut start = 0;
        macro_rules! walk {
            ($family:ident) => {
                start = self.$family.for_range(start, range, &mut visit);
            };
        }
        for_families!(walk);
        let _ = start;
    }

    /// As [`Self::for_range`], with the number by mutable reference.
    pub fn for_range_mut(&mut self, range: &Range<usize>, mut visit: impl FnMut(&mut T)) {
        let mut start = 0;
        macro_rules! walk {
            ($family:ident) => {
                start = self.$family.for_range_mut(start, range, &mut visit);
            };
        }
        for_families!(walk);
        let _ = start;
    }

    /// Sizes of all arrays.
    #[inline]
    pub fn counts(&self) -> &Counts {
        &self.structure.counts
    }
}
