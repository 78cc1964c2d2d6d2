//! What steps: the seam between systems and everything that runs them.
//!
//! [`Dynamics`] is something that advances a [`State`] and has derivatives. A [`Model`](crate::Model) is one: it takes the fixed steps
//! of its integrator. A [`Flow`](crate::flow::Flow) is one: its step is an interval of continuous motion. A user's own
//! type may be one too, outside of this crate. [Rollouts](crate::rollout) and their gradients, losses, identification
//! and recordings are written against this trait and know nothing else.
//!
//! With x the state, u the input and p the system's own numbers, a step is
//!
//!   x⁺ = f(x, u, p),   y = g(x, u, p)                                                    (1)
//!
//! with y what its sensors read at the start of the step, and its adjoint
//!
//!   x̄ = (∂f/∂x)ᵀ·x̄⁺ + (∂g/∂x)ᵀ·ȳ,   ū and p̄ likewise                                     (1̄)
//!
//! Configurations q may live on a manifold: cotangents and linear maps have a tangent of nv numbers for its nq, and
//! [`Dynamics::add`] and [`Dynamics::difference`] are ⊕ and ⊖ between both.

mod continuous;
mod fixed;

pub use fixed::Reverse;

use std::fmt;
use std::ops::AddAssign;

use crate::cotangent::{InputBar, StateBar};
use crate::dynamics::backward::Observer;
use crate::error::Error;
use crate::report::{NotFinite, StepReport};
use crate::rollout::{self, Controls, Course, Gradient, Loss, Rollout};
use crate::state::{Input, State};

/// Sizes of what a system takes and gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Numbers of a configuration.
    pub nq: usize,
    /// Numbers of a velocity, and of a tangent of a configuration.
    pub nv: usize,
    /// Activations.
    pub na: usize,
    /// Controls.
    pub nu: usize,
    /// Sensor values.
    pub sensors: usize,
}

impl Shape {
    /// Numbers of a tangent of a state: configuration, velocity, activations.
    pub fn tangent(&self) -> usize {
        2 * self.nv + self.na
    }
}

/// Why a step has no derivative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDerivative {
    /// Its equations have no unique solution.
    NotUnique,
    /// For a reason given in a sentence.
    Because(String),
}

impl fmt::Display for NoDerivative {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUnique => out.write_str("the equations of the step have no unique solution"),
            Self::Because(why) => out.write_str(why),
        }
    }
}

impl std::error::Error for NoDerivative {}

/// A step that was taken, for its backward pass.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Which of a trajectory's.
    pub step: usize,
    /// The state before it.
    pub state: &'a State,
    /// Its input.
    pub input: &'a Input,
    /// What the step left in [`State::warmstart`]: the acceleration that the solver of a model found.
    pub warmstart: &'a [f64],
}

/// What a backward pass of a step is given.
pub struct Passing<'a> {
    /// Cotangent of the state after the step.
    pub next: &'a StateBar,
    /// The loss: asked for its derivatives with respect to the step's sensors, and results if the system has some.
    pub loss: &'a mut dyn Loss,
    /// Who looks on, stage by stage, if the system has stages.
    pub observer: &'a mut dyn Observer,
}

impl fmt::Debug for Passing<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = out.debug_struct("Passing");
        fields.field("next", self.next).finish_non_exhaustive()
    }
}

/// Cotangents of what a step was given.
#[derive(Clone, Debug, PartialEq)]
pub struct StepBar {
    /// Of the state before the step.
    pub state: StateBar,
    /// Of the input.
    pub input: InputBar,
}

impl StepBar {
    /// All zero.
    pub fn zeros(state: &State, input: &Input) -> Self {
        Self {
            state: StateBar::like(state),
            input: InputBar::like(input),
        }
    }
}

/// A step as a linear map: dx⁺ = A·dx + B·du, with the tangent x = (q, v, act).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Linear {
    /// A, square of side [`Shape::tangent`], row by row.
    pub a: Vec<f64>,
    /// B, nu columns, row by row.
    pub b: Vec<f64>,
}

/// Something that advances a state and has derivatives; see the [module](self) documentation.
///
/// A system of its own needs `shape`, `parameters`, `reference`, `input`, `work`, `step`, and for derivatives `reverse`, `backward` and
/// `take_bar`; the rest follows from these.
pub trait Dynamics: Sync {
    /// Memory of a thread for steps.
    type Work: Send;
    /// Memory of a thread for backward passes, with the cotangent of the system's own numbers so far.
    type Reverse: Send;
    /// Cotangent of the system's own numbers.
    type Bar: Clone + Send + Sync + for<'a> AddAssign<&'a Self::Bar>;
    /// What is kept of a trajectory beyond its states; `()` for most.
    type Trace: Clone + Default + Send + Sync;

    /// Sizes of what it takes and gives.
    fn shape(&self) -> Shape;

    /// How many numbers of its own it has.
    fn parameters(&self) -> usize;

    /// The state to start from where nobody says otherwise.
    fn reference(&self) -> State;

    /// No controls, over a step of the system's own length.
    fn input(&self) -> Input;

    /// Memory for steps.
    fn work(&self) -> Self::Work;

    /// Advances a state by a step of the input's length. Allocates nothing.
    fn step(&self, state: &mut State, input: &Input, work: &mut Self::Work) -> StepReport;

    /// What the sensors read at the start of the step that was taken last.
    fn sensors<'w>(&self, work: &'w Self::Work) -> &'w [f64] {
        let _ = work;
        &[]
    }

    /// Memory for backward passes.
    fn reverse(&self) -> Self::Reverse;

    /// The adjoint of a step (1̄): writes the cotangent of the state to `bar.state`, adds to those of the input in `bar.input`,
    /// and of the system's own numbers in `reverse`.
    ///
    /// # Errors
    /// When there is no derivative, with the reason.
    fn backward(
        &self,
        seen: Seen<'_>,
        passing: Passing<'_>,
        bar: &mut StepBar,
        reverse: &mut Self::Reverse,
    ) -> Result<(), NoDerivative>;

    /// Takes out the cotangent of the system's own numbers, which is zero afterwards. `timestep` is that of the length of the
    /// steps where they had the system's own length, for systems that count it among their numbers.
    fn take_bar(&self, reverse: &mut Self::Reverse, timestep: f64) -> Self::Bar;

    /// A step as a linear map; by as many backward passes as a tangent has numbers, unless a system knows better.
    ///
    /// # Errors
    /// When there is no derivative, with the reason.
    fn linearize(
        &self,
        seen: Seen<'_>,
        out: &mut Linear,
        reverse: &mut Self::Reverse,
    ) -> Result<(), NoDerivative> {
        let Shape { nv, nu, .. } = self.shape();
        let mut next = StateBar::like(seen.state);
        let mut bar = StepBar::zeros(seen.state, seen.input);
        out.a.clear();
        out.b.clear();
        for row in 0..self.shape().tangent() {
            next.set_zero();
            match row {
                row if row < nv => next.qpos[row] = 1.0,
                row if row < 2 * nv => next.qvel[row - nv] = 1.0,
                row => next.act[row - 2 * nv] = 1.0,
            }
            bar.input.set_zero();
            let passing = Passing {
                next: &next,
                loss: &mut rollout::Nothing,
                observer: &mut (),
            };
            self.backward(seen, passing, &mut bar, reverse)?;
            let StateBar {
                qpos, qvel, act, ..
            } = &bar.state;
            out.a.extend(qpos.iter().chain(qvel).chain(act));
            out.b.extend(&bar.input.ctrl[..nu]);
        }
        let _ = self.take_bar(reverse, 0.0);
        Ok(())
    }

    /// q ← q ⊕ factor·tangent; a sum unless a system has other configurations.
    fn add(&self, qpos: &mut [f64], tangent: &[f64], factor: f64) {
        for (position, change) in qpos.iter_mut().zip(tangent) {
            *position += factor * change;
        }
    }

    /// tangent ← to ⊖ from.
    fn difference(&self, from: &[f64], to: &[f64], tangent: &mut [f64]) {
        for ((change, from), to) in tangent.iter_mut().zip(from).zip(to) {
            *change = to - from;
        }
    }

    /// What a number that is not finite belongs to, in words.
    fn describe(&self, place: NotFinite) -> String {
        place.to_string()
    }

    /// Follows a trajectory, step by step.
    ///
    /// # Panics
    /// When the controls do not fit the system.
    fn rollout(
        &self,
        start: &State,
        course: &Course<'_>,
        work: &mut Self::Work,
    ) -> Rollout<Self::Trace>
    where
        Self: Sized,
    {
        rollout::follow(self, start, course, work)
    }

    /// The first step of a trajectory that did not come to its end, and why; none if all did.
    fn stopped(&self, rollout: &Rollout<Self::Trace>) -> Option<(usize, String)> {
        let (step, place) = rollout.not_finite?;
        Some((step, self.describe(place)))
    }

    /// The gradient of a loss over a trajectory that [`Self::rollout`] followed with these controls.
    ///
    /// # Errors
    /// When the trajectory did not come to its end or has no derivative.
    ///
    /// # Panics
    /// When the controls do not fit the system.
    fn gradient(
        &self,
        rollout: &Rollout<Self::Trace>,
        controls: &Controls,
        loss: &mut dyn Loss,
        observer: &mut dyn Observer,
    ) -> Result<Gradient<Self::Bar>, Error>
    where
        Self: Sized,
    {
        rollout::read_backwards(self, rollout, controls, loss, observer)
    }
}
