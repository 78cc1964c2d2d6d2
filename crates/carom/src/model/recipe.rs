//! How the derived numbers of a model follow from those that its description gives.
//!
//! A compiled [`Model`] holds both kinds: a geom's size is given, the mass of its body follows. The [`Recipe`] keeps the
//! given numbers as they were before anything was derived, and the discrete facts that say what follows from what.
//! [`derive`](crate::compile::derive()) turns them into the model again, over any [`Scalar`]: this is how
//! [`parameters`](crate::parameters) change one number and everything that hangs on it.

use std::sync::Arc;

use carom_spec::model_spec::MeshInertia;

use super::{Model, Names, Quantity, SourceNumbers};
use crate::scalar::Scalar;

/// The numbers that a description gives.
///
/// In the model, numbers that are always derived are zero, poses are those of the description (before frames of meshes
/// and of aligned bodies are taken into account), and damping and armature are without what actuators add.
#[derive(Clone, Debug, PartialEq)]
pub struct Given<T: Scalar = f64> {
    /// Numbers that are also in the compiled model.
    pub model: Model<T>,
    /// The others.
    pub sources: SourceNumbers<T>,
}

impl<T: Scalar> Given<T> {
    /// The same numbers over another scalar.
    pub fn map<U: Scalar>(&self, mut convert: impl FnMut(T) -> U) -> Given<U> {
        Given {
            model: self.model.map(&mut convert),
            sources: self.sources.map(&mut convert),
        }
    }

    /// Calls `visit(quantity, element, component, number)` for every number.
    pub fn for_each(&self, mut visit: impl FnMut(Quantity, usize, usize, T)) {
        self.model.for_each(&mut visit);
        self.sources.for_each_quantity(visit);
    }

    /// As [`Self::for_each`], with the number by mutable reference.
    pub fn for_each_mut(&mut self, mut visit: impl FnMut(Quantity, usize, usize, &mut T)) {
        self.model.for_each_mut(&mut visit);
        self.sources.for_each_quantity_mut(visit);
    }
}

/// What gives a geom its mass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MassSource {
    /// Nothing: it does not count for the inertia of its body.
    #[default]
    None,
    /// Its mass is given.
    Mass,
    /// Its density is given.
    Density,
}

/// What follows for a geom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeomRecipe {
    /// What gives its mass.
    pub mass: MassSource,
    /// Whether mass is on the surface alone.
    pub shell: bool,
    /// Whether a primitive was fitted to a mesh: then its sizes and its pose are final.
    pub fitted: bool,
}

/// What follows for a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyRecipe {
    /// Whether geoms give the inertia.
    pub inertia_from_geoms: bool,
    /// Whether the body frame is moved to the inertial frame.
    pub aligned: bool,
    /// Whether the short formula for sliding bodies may be used.
    pub allow_simple: bool,
}

/// What follows for a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeshRecipe {
    /// What mass is spread over.
    pub inertia: MeshInertia,
    /// Whether vertices are parameters: then mass and inertia follow from the moments in [`SourceNumbers`].
    pub moves: bool,
}

/// What follows for an actuator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActuatorRecipe {
    /// The part of its target's range that it inherits, if it does.
    pub inherits: Option<f64>,
    /// Whether it is the activation that inherits it, rather than the control.
    pub inherits_activation: bool,
    /// Whether its length range is the range of its target.
    pub length_from_limits: bool,
    /// Whether its length range was found by simulation, and is kept.
    pub length_simulated: bool,
}

/// How many numbers of a keyframe are given; the rest is the reference state's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyframeRecipe {
    /// Of qpos.
    pub qpos: usize,
    /// Positions of mocap bodies.
    pub mocap_position: usize,
    /// Orientations of mocap bodies.
    pub mocap_quat: usize,
}

/// How a model follows from given numbers.
///
/// A compiled [`Model`] holds given and derived numbers: a geom's size is given, the mass of its body follows. The recipe
/// keeps the given ones as they were before anything was derived, and the discrete facts that say what follows from
/// what. [`derive`](crate::compile::derive()) makes the model from them again, over any [`Scalar`].
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The given numbers.
    pub given: Given,
    /// Geoms.
    pub geoms: Vec<GeomRecipe>,
    /// Meshes.
    pub meshes: Vec<MeshRecipe>,
    /// Bodies.
    pub bodies: Vec<BodyRecipe>,
    /// Actuators.
    pub actuators: Vec<ActuatorRecipe>,
    /// Keyframes.
    pub keyframes: Vec<KeyframeRecipe>,
    /// Lower bounds of mass (kg) and moments of inertia (kg·m²).
    pub inertia_bounds: [f64; 2],
    /// Whether impossible moments of inertia are replaced by their mean.
    pub balance_inertia: bool,
    /// Total mass to which all masses are scaled (kg).
    pub total_mass: Option<f64>,
}

impl<T: Scalar> Model<T> {
    /// How the model follows from given numbers; none for models that were not compiled.
    pub fn recipe(&self) -> Option<&Arc<Recipe>> {
        self.recipe.as_ref()
    }
}

impl Model {
    /// The same model with other names.
    #[must_use]
    pub fn with_names(mut self, names: Names) -> Self {
        Arc::make_mut(&mut self.structure).names = names;
        if let Some(recipe) = &mut self.recipe {
            Arc::make_mut(recipe).given.model.structure = Arc::clone(&self.structure);
        }
        self
    }
}
