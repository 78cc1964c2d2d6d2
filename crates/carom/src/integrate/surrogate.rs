//! The surrogate of a model at the places where an integrator evaluated the model.
//!
//! The adjoint of a step uses ∂F̃ where it would use ∂F; where positions move with a velocity, the velocity is that of the
//! motion.

use super::advance;
use super::backward::Evaluation;
use crate::data::Data;
use crate::dynamics::{At, Surrogate};
use crate::model::Model;
use crate::state::{Input, State};

/// A surrogate and what it makes of the states of a step.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    surrogate: Surrogate,
    evaluations: Vec<Evaluation>,
    /// Where it would go; nobody follows.
    end: State,
    /// Whether it differed from the model in the last step.
    acts: bool,
}

impl Followed {
    /// Room for the surrogate of a model, if it has one.
    pub(super) fn new(model: &Model, evaluations: &[Evaluation]) -> Option<Box<Self>> {
        Some(Box::new(Self {
            surrogate: Surrogate::of(model)?,
            evaluations: evaluations.to_vec(),
            end: State::reference(model),
            acts: false,
        }))
    }

    /// Evaluates the surrogate where the model was. None where it is the same; otherwise whether it has derivatives.
    pub(super) fn follow(&mut self, evaluations: &[Evaluation], input: &Input) -> Option<bool> {
        let Self {
            surrogate,
            evaluations: own,
            end,
            acts,
        } = self;
        *acts = (evaluations.iter()).any(|other| surrogate.acts(&other.data.kinematics));
        if !*acts {
            return None;
        }
        let (mut is_unique, is_single) = (true, own.len() == 1);
        for (Evaluation { state, data }, other) in own.iter_mut().zip(evaluations) {
            state.copy_from(&other.state);
            state.warmstart.copy_from_slice(&other.data.solve.qacc);
            is_unique &= surrogate.evaluate(state, input, data);
            if is_single {
                // Integrators of one evaluation have matrices of their own.
                end.copy_from(state);
                advance(&surrogate.model, end, input, data);
            }
        }
        Some(is_unique)
    }

    /// What the surrogate makes of the start of the step, where it differs from the model.
    pub(super) fn first(&self) -> Option<&Data> {
        (self.acts).then(|| &self.evaluations[0].data)
    }

    /// The surrogate and its first evaluation, where it differs from the model.
    pub(super) fn first_mut(&mut self) -> Option<(&Model, &mut Evaluation)> {
        (self.acts).then(|| (&self.surrogate.model, &mut self.evaluations[0]))
    }
}

/// Where the derivatives of an evaluation at `at` are taken: there, or where the surrogate was evaluated.
pub(super) fn linearized<'a>(
    followed: Option<&'a Followed>,
    at: At<'a>,
    evaluation: usize,
) -> At<'a> {
    let Some(followed) = followed.filter(|followed| followed.acts) else {
        return at;
    };
    let Evaluation { state, data } = &followed.evaluations[evaluation];
    At {
        model: &followed.surrogate.model,
        state,
        data,
        ..at
    }
}
