//! Derivatives of another system than the one that moved: the straight-through estimator [Paulus 2025].
//!
//! The motion is that of F. With a surrogate F̃, evaluated at the states at which the integrator evaluated F, the adjoint of a
//! step uses ∂F̃ where it would use ∂F; where positions move with a velocity, the velocity is that of the motion.

use super::advance;
use super::backward::Evaluation;
use crate::data::Data;
use crate::dynamics::{self, At};
use crate::model::Model;
use crate::stages::solve;
use crate::state::{Input, State};

/// A system whose derivatives stand for those of a model.
#[derive(Clone, Debug)]
pub(super) struct Surrogate {
    pub(super) model: Model,
    /// What it makes of the states of the evaluations.
    pub(super) evaluations: Vec<Evaluation>,
    /// Where it would go; nobody follows.
    end: State,
}

impl Surrogate {
    /// The surrogate of a model, solved to rounding whatever the model's own solver settings: its rows are new to it.
    pub(super) fn of(model: &Model, evaluations: &[Evaluation]) -> Option<Box<Self>> {
        let mut surrogate = model.surrogate()?;
        solve::tighten(&mut surrogate);
        Some(Box::new(Self {
            model: surrogate,
            evaluations: evaluations.to_vec(),
            end: State::reference(model),
        }))
    }

    /// Evaluates the surrogate where the model was. Whether its derivatives are unique.
    pub(super) fn follow(&mut self, evaluations: &[Evaluation], input: &Input) -> bool {
        let Self {
            model,
            evaluations: owns,
            end,
        } = self;
        let (mut is_unique, is_single) = (true, owns.len() == 1);
        for (own, Evaluation { state, data }) in owns.iter_mut().zip(evaluations) {
            own.state.copy_from(state);
            own.state.warmstart.copy_from_slice(&data.solve.qacc);
            dynamics::forward(model, &own.state, input, &mut own.data);
            if is_single {
                // Integrators of one evaluation have matrices of their own.
                end.copy_from(&own.state);
                advance(model, end, input, &mut own.data);
            }
            let Data {
                inertia,
                acceleration,
                constraint,
                solve,
                ..
            } = &mut own.data;
            is_unique &= solve::factor_at_solution(model, inertia, acceleration, constraint, solve);
        }
        is_unique
    }
}

/// Where the derivatives of an evaluation at `at` are taken: there, or where the surrogate was evaluated.
pub(super) fn linearized<'a>(
    surrogate: Option<&'a Surrogate>,
    at: At<'a>,
    evaluation: usize,
) -> At<'a> {
    surrogate.map_or(at, |surrogate| {
        let Evaluation { state, data } = &surrogate.evaluations[evaluation];
        At {
            model: &surrogate.model,
            state,
            data,
            ..at
        }
    })
}
