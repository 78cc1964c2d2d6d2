//! A step as a linear map: A = ∂x⁺/∂x and B = ∂x⁺/∂u, with x = (q, v, w) in tangent space and u the controls.
//!
//! The acceleration a of a step solves, with ID inverse dynamics, τ the smooth forces and f the constraint forces,
//!
//!   r(q, v, w, u; a) = ID(q, v, a) − τ(q, v, w, u) − Jᵀ·f(J·a − â) = 0                              (1)
//!
//! and H = ∂r/∂a = M + Jᵀ·K·J is what the solver has factorised last. So the derivatives of a are one solve with many
//! right-hand sides,
//!
//!   H·da = −∂r/∂q·dq − ∂r/∂v·dv − ∂r/∂w·dw − ∂r/∂u·du                                             (2)
//!
//! assembled from inverse dynamics (`rne`), forces (`forces`, `bends`, `levers`), the medium (`medium`), numbers of the model that change (`numbers`), armature of tendons (`armature`), limits and other single rows (`rows`), equalities (`equality`) and contacts
//! (`contact`), and solved in `step`. Integrators that are implicit in velocity, (M − h·D)·ȧ = M·a, add
//!
//!   dȧ = da + (M − h·D)⁻¹·(h·D·da + dM·(a − ȧ) + h·dD·ȧ)                                            (3)
//!
//! (`implicit`, `full_implicit`) or, where no constraint acts on a tree, simply (1) at ȧ instead of a. Then dv⁺ = dv + h·dȧ, and positions follow on
//! the manifold (`update`, `rotation`). RK4 chains (2) over its stages (`runge_kutta`). What these formulas do not cover (see `coverage`) is differentiated by dual numbers through
//! the whole step (`forward_mode`), which is exact for everything, and slower.
//!
//! Past controls and sensor values are given numbers here, as the time is: x⁺ depends on a delayed control later, not in this
//! step, and its column of B is zero. MuJoCo's finite differences refuse such models. [`ForwardMode::jvp`] has the
//! derivatives by the past too.
//!
//! Where a step has no derivative (a contact begins, a limit engages), that of the branch taken is returned.

mod acceleration;
mod armature;
mod bends;
mod contact;
mod coverage;
mod equality;
mod forces;
mod forward_mode;
mod full_implicit;
mod geometry;
mod implicit;
mod levers;
mod medium;
mod numbers;
mod rne;
mod rotation;
mod rows;
mod runge_kutta;
mod step;
#[cfg(test)]
mod tests;
mod update;

pub use acceleration::{AccelerationDerivative, acceleration};
pub(crate) use bends::Bend;
pub(crate) use forward_mode::turn;
pub use forward_mode::{ForwardMode, Tangent};
pub use step::{covers, step, step_by_formulas};

use std::ops::Range;

use crate::model::{Integrator, Model};
use bends::Bends;
use contact::ContactDerivative;
use equality::EqualityDerivative;
use forces::ForceDerivative;
use forward_mode::Number;
use full_implicit::FullImplicit;
use implicit::Implicit;
use medium::MediumDerivative;
use numbers::Numbers;
use rne::TreeDerivative;
use runge_kutta::Stages;

/// Where columns are: configuration, velocity, activation, control, directions of the model's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) nv: usize,
    na: usize,
    /// Controls and directions.
    inputs: usize,
    /// All of them.
    width: usize,
}

impl Layout {
    fn new(model: &Model, directions: usize) -> Self {
        let n = model.counts();
        let inputs = n.nu + directions;
        Self {
            nv: n.nv,
            na: n.na,
            inputs,
            width: 2 * n.nv + n.na + inputs,
        }
    }

    /// The first column of the activations.
    pub(crate) fn activation(&self) -> usize {
        2 * self.nv
    }

    /// The first column of the controls; also the length of a state's tangent.
    pub(crate) fn control(&self) -> usize {
        2 * self.nv + self.na
    }
}

/// Changes of generalised force or acceleration: one row a dof, one column an input.
pub(crate) struct Rows<'a> {
    values: &'a mut [f64],
    width: usize,
}

impl Rows<'_> {
    #[inline]
    pub(crate) fn row(&mut self, dof: usize) -> &mut [f64] {
        &mut self.values[dof * self.width..(dof + 1) * self.width]
    }
}

/// The derivatives of a step, and the work area in which they are found.
#[derive(Clone, Debug)]
pub struct Linearization {
    /// ∂x⁺/∂x, square of side [`Self::size`], row by row; x = (q, v, act), q in tangent space.
    pub a: Vec<f64>,
    /// ∂x⁺/∂u, [`Self::size`] × nu, row by row; after the controls in each row, the directions of [`Self::along`].
    pub b: Vec<f64>,
    layout: Layout,
    /// Right-hand sides of (2), then the derivatives of the acceleration.
    rows: Vec<f64>,
    /// The same for (3).
    extra: Vec<f64>,
    /// Rows and columns of one island.
    island: Vec<f64>,
    /// Columns of one island.
    columns: Vec<Range<usize>>,
    room: Vec<f64>,
    /// H⁻¹, only made where the acceleration alone is asked for.
    inverse: Vec<f64>,
    tree: TreeDerivative,
    bends: Bends,
    forces: ForceDerivative,
    numbers: Numbers,
    medium: MediumDerivative,
    contacts: ContactDerivative,
    equalities: EqualityDerivative,
    implicit: Implicit,
    full_implicit: Option<Box<FullImplicit>>,
    /// Whether what happens in one tree never depends on another, constraints aside.
    trees_are_separate: bool,
    runge_kutta: Option<Box<Stages>>,
    /// For what the formulas do not cover; none while that has not occurred.
    forward: Option<Box<ForwardMode>>,
}

impl Linearization {
    /// Room for the derivatives of a model.
    ///
    /// A model with features that only dual numbers cover gets their work area now; where this depends on the state,
    /// it is made when first needed.
    pub fn new(model: &Model) -> Self {
        Self::with_numbers(model, Numbers::default(), 0)
    }

    /// Room for the derivatives by directions of the model's numbers too, `count` in all: those of models over dual numbers,
    /// [`LANES`](crate::dual::LANES) in each. None where the formulas do not cover the model, or what changes of it.
    pub fn along(model: &Model, varied: &[Model<Number>], count: usize) -> Option<Self> {
        let numbers = Numbers::new(model, varied, count)?;
        coverage::of_model(model).then(|| Self::with_numbers(model, numbers, count))
    }

    fn with_numbers(model: &Model, numbers: Numbers, directions: usize) -> Self {
        let layout = Layout::new(model, directions);
        let (size, nv) = (layout.control(), layout.nv);
        Self {
            a: vec![0.0; size * size],
            b: vec![0.0; size * layout.inputs],
            layout,
            rows: vec![0.0; nv * layout.width],
            extra: vec![0.0; nv * layout.width],
            island: vec![0.0; nv * layout.width],
            columns: Vec::with_capacity(2 * model.counts().ntree + 1),
            room: Vec::with_capacity(6 * layout.width),
            inverse: Vec::new(),
            tree: TreeDerivative::new(model),
            bends: Bends::new(model),
            forces: ForceDerivative::new(model),
            numbers,
            medium: MediumDerivative::new(model),
            contacts: ContactDerivative::new(model),
            equalities: EqualityDerivative::default(),
            implicit: Implicit::new(model),
            full_implicit: FullImplicit::new(model),
            runge_kutta: (model.settings.integrator == Integrator::RungeKutta4)
                .then(|| Box::new(Stages::new(model, layout))),
            trees_are_separate: coverage::trees_are_separate(model),
            forward: (!coverage::of_model(model)).then(|| Box::new(ForwardMode::new(model))),
        }
    }

    /// Columns of [`Self::b`]: controls and directions.
    pub fn inputs(&self) -> usize {
        self.layout.inputs
    }

    /// Length of the tangent of a state: 2·nv + na.
    pub fn size(&self) -> usize {
        self.layout.control()
    }
}
