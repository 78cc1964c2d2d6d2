//! Another system whose derivatives stand for those of a model: the straight-through estimator [Paulus 2025].
//!
//! Motions are those of F. Gradients use ∂F̃, the derivatives of the system with contacts from distance, at the same
//! states. Far from everything that attracts both are the same, and F̃ is not evaluated at all.

use crate::data::Data;
use crate::dynamics;
use crate::model::{Attracting, Model};
use crate::stages::kinematics::Kinematics;
use crate::stages::{collision, solve};
use crate::state::{Input, State};

/// Improvement of the solver's cost below which its search ends: derivatives ask for no more.
const TOLERANCE: f64 = 1e-13;

/// A system whose derivatives stand for those of a model.
#[derive(Clone, Debug)]
pub(crate) struct Surrogate {
    pub(crate) model: Model,
}

impl Surrogate {
    /// The surrogate of a model, if its derivatives are not its own. It is solved closely whatever the settings of the
    /// model's solver, for which its rows are new.
    pub(crate) fn of(model: &Model) -> Option<Self> {
        let mut model = model.surrogate()?;
        solve::tighten(&mut model);
        model.option.tolerance[0] = TOLERANCE;
        Some(Self { model })
    }

    /// Whether it can differ from the model where the bodies are at these places.
    pub(crate) fn acts(&self, kinematics: &Kinematics) -> bool {
        match self.model.distant().map(|distant| &distant.attracting) {
            Some(Attracting::Pairs(pairs)) => pairs
                .iter()
                .any(|&pair| collision::is_within_reach(&self.model, kinematics, pair)),
            Some(_) => true,
            None => false,
        }
    }

    /// Evaluates it in a state that is near its solution by the warm start. False where it has no derivative.
    pub(crate) fn evaluate(&self, state: &State, input: &Input, data: &mut Data) -> bool {
        let model = &self.model;
        dynamics::forward(model, state, input, data);
        let (inertia, smooth, rows) = (&data.inertia, &data.acceleration, &data.constraint);
        solve::factor_at_solution(model, inertia, smooth, rows, &mut data.solve)
    }
}
