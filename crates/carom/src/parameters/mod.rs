//! Parameters: numbers of a model, chosen by name, as a vector θ with a gradient.
//!
//! A parameter is a function θ → model. [`Parameters::select`] chooses numbers by selectors that bear the file format's
//! names, [`Parameters::apply`] sets them and derives everything that follows from them, as compiling the changed file
//! would: the side of a box changes mass, inertia, inverse weights, bounds, …. [`Parameters::backward`] is its adjoint
//!
//!   θ̄ = (∂model/∂θ)ᵀ·model̄ + (∂state/∂θ)ᵀ·statē
//!
//! for the cotangents that a backward pass has collected: by dual numbers, `dual::LANES` directions at a time, for
//! parameters from which other numbers follow, and read off directly for all others. Once per gradient, not once per step.
//!
//! ```
//! # let spec = carom_spec::read_file("../../models/cube.xml".as_ref(), &[]).spec;
//! # let model = carom::compile::compile(&spec).0.unwrap();
//! use carom::parameters::Parameters;
//!
//! let parameters = Parameters::select(&model, &["geom.cube.size log tied", "geom.*.friction[0]", "option.gravity[2]"])?;
//! let mut theta = parameters.theta0().to_vec();
//! parameters.set(&mut theta, "option.gravity[2]", -1.62)?;
//! let on_the_moon = parameters.apply(&theta)?;
//! assert_eq!(on_the_moon.option.gravity[0][2], -1.62);
//!
//! // A loss that is the inertia of the cube: the gradient reaches its side, of which it is a square.
//! let mut model_bar = carom::Model::zeros(on_the_moon.structure.clone(), on_the_moon.settings);
//! model_bar.bodies.inertia[1].0[0] = 1.0;
//! let gradient = parameters.backward(&theta, &model_bar, None)?;
//! assert!((gradient[0] - 2.0 * on_the_moon.bodies.inertia[1][0]).abs() < 1e-12);
//! println!("{}", parameters.describe(&theta));
//! # Ok::<(), carom::Error>(())
//! ```
//!
//! What is different from compiling again:
//! - length ranges of muscles that the compiler found by simulation are kept, as if the file gave them;
//! - the mass, centre or inertia of a body whose geoms give them, once selected, is the body's own: its geoms no longer
//!   count;
//! - the topology of convex hulls stays when vertices move.
//!
//! Selectors, transforms and what is refused are described in [`Selection`], [`Transform`] and [`Error`].
//! A wrong selector is an error that says what would be right; so is a number without a derivative.
//! [`Parameters::self_check`] finds parameters that nothing depends on in a given motion.

mod apply;
mod backward;
mod catalogue;
mod describe;
mod error;
mod inertia;
mod layout;
mod resolve;
mod select;
mod selector;
mod self_check;
#[cfg(test)]
mod tests;
mod transform;
mod units;

pub use error::ParameterProblem;
pub(crate) use selector::matches_pattern;
pub use selector::{Selection, Tie};
pub use self_check::{Finding, Motion};
pub use transform::Transform;

use std::sync::Arc;

use crate::error::Error;
use crate::model::{Model, Recipe};
use crate::quantity::Range;
use crate::scalar::Scalar;
use layout::{Layout, Light, Place};
use resolve::Target;

/// One number of θ.
#[derive(Clone, Debug)]
struct Entry {
    /// Its full name.
    name: String,
    unit: &'static str,
    transform: Transform,
    scale: f64,
    /// Which numbers make sense.
    range: Range,
    /// The numbers that follow it; none for those of a pseudo-inertia.
    targets: Vec<Target>,
    /// Whether no other number of the model depends on them.
    direct: bool,
}

impl Entry {
    /// The number that θ stands for.
    fn value<T: Scalar>(&self, theta: T) -> T {
        self.transform.apply(theta) * self.scale
    }
}

/// A body whose inertia is given by ten consecutive numbers of θ.
#[derive(Clone, Copy, Debug)]
struct PseudoInertia {
    body: usize,
    /// Where they start in θ.
    start: usize,
}

/// A unit vector or quaternion of which some numbers are selected.
#[derive(Clone, Debug)]
struct Unit {
    /// Where it starts.
    place: Place,
    /// Its numbers at the start.
    base: Vec<f64>,
    /// The parameter, and the factor of its value, that replaces each number.
    sources: Vec<Option<(usize, f64)>>,
}

/// Numbers of a model as a vector θ; see the [module](self) documentation.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// How the model follows from the numbers at the start.
    recipe: Arc<Recipe>,
    /// The model at the start.
    base: Model,
    layout: Layout,
    /// The given numbers without those that are many and from which nothing follows.
    light: Light,
    entries: Vec<Entry>,
    /// Which of the selections each entry belongs to.
    selections_of: Vec<usize>,
    pseudo_inertias: Vec<PseudoInertia>,
    units: Vec<Unit>,
    /// Meshes whose vertices are selected.
    meshes: Vec<usize>,
    theta0: Vec<f64>,
    /// Elements that patterns passed over, and why.
    skipped: Vec<(String, String)>,
}

impl Parameters {
    /// Chooses numbers of a compiled model by selectors with modifiers, such as `geom.foot*.friction[0] log tied`.
    ///
    /// # Errors
    ///
    /// For selectors that mean nothing, or numbers without a derivative.
    pub fn select(model: &Model, selectors: &[&str]) -> Result<Self, Error> {
        let selections: Result<Vec<Selection>, _> =
            selectors.iter().map(|text| text.parse()).collect();
        Self::new(model, &selections?)
    }

    /// Chooses numbers of a compiled model.
    ///
    /// # Errors
    ///
    /// For selectors that mean nothing, or numbers without a derivative.
    pub fn new(model: &Model, selections: &[Selection]) -> Result<Self, Error> {
        select::select(model, selections)
    }

    /// How many numbers θ has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether θ is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The θ that gives the model as it was.
    pub fn theta0(&self) -> &[f64] {
        &self.theta0
    }

    /// The model for θ₀.
    pub fn base(&self) -> &Model {
        &self.base
    }

    /// The name of each number of θ.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Which of the selections that were given each number of θ belongs to.
    pub fn selections_of(&self) -> &[usize] {
        &self.selections_of
    }

    /// The unit of each parameter's value.
    pub fn units(&self) -> impl ExactSizeIterator<Item = &'static str> {
        self.entries.iter().map(|entry| entry.unit)
    }

    /// Elements that patterns passed over, and why.
    pub fn skipped(&self) -> &[(String, String)] {
        &self.skipped
    }

    /// What each number of θ stands for, in the units of the model.
    pub fn values(&self, theta: &[f64]) -> Vec<f64> {
        let entries = self.entries.iter().zip(theta);
        entries.map(|(entry, &theta)| entry.value(theta)).collect()
    }

    /// Lowest and highest sensible value of each number of θ.
    ///
    /// Transforms already keep numbers in their range, so only numbers without one have bounds here.
    pub fn bounds(&self) -> Vec<[f64; 2]> {
        let bounds = |(entry, &theta): (&Entry, &f64)| {
            if entry.transform != Transform::Identity {
                return [f64::NEG_INFINITY, f64::INFINITY];
            }
            let [low, high] = entry
                .range
                .around(entry.value(theta))
                .map(|end| end / entry.scale);
            [low.min(high), low.max(high)]
        };
        self.entries.iter().zip(&self.theta0).map(bounds).collect()
    }

    /// Which number of θ a name means.
    ///
    /// # Errors
    ///
    /// When there is none, with the nearest name.
    pub fn index(&self, name: &str) -> Result<usize, Error> {
        let found = self.names().position(|known| known == name);
        found.ok_or_else(|| {
            let help = selector::suggestion(name, self.names());
            ParameterProblem::Unknown.error(format!("no parameter is called '{name}': {help}"))
        })
    }

    /// The value of a parameter, in the units of the model.
    ///
    /// # Errors
    ///
    /// When there is no parameter of this name.
    pub fn get(&self, theta: &[f64], name: &str) -> Result<f64, Error> {
        let index = self.index(name)?;
        self.check_length(theta.len())?;
        Ok(self.entries[index].value(theta[index]))
    }

    /// Sets θ such that a parameter has a value, in the units of the model.
    ///
    /// # Errors
    ///
    /// When there is no parameter of this name, or its transform does not admit the value.
    pub fn set(&self, theta: &mut [f64], name: &str, value: f64) -> Result<(), Error> {
        let index = self.index(name)?;
        self.check_length(theta.len())?;
        let entry = &self.entries[index];
        theta[index] = entry.transform.invert(value / entry.scale)?;
        Ok(())
    }

    fn check_length(&self, length: usize) -> Result<(), Error> {
        if length == self.len() {
            return Ok(());
        }
        let message = format!(
            "θ has {length} numbers, there are {} parameters",
            self.len()
        );
        Err(ParameterProblem::Value.error(message))
    }
}
