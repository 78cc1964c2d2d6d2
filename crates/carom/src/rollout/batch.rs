//! Batches of trajectories and gradients over threads.

use rayon::prelude::*;

use super::{Adjoint, Controls, Gradient, GradientError, Loss, Rollout, gradient, rollout};
use crate::data::Data;
use crate::model::Model;
use crate::state::State;

/// Simulates a batch, one trajectory for each start state, over the threads of the current rayon pool.
///
/// # Panics
/// When there are not as many controls as start states, or they do not fit the model.
pub fn rollout_batch(
    model: &Model,
    starts: &[State],
    controls: &[Controls],
    steps: usize,
) -> Vec<Rollout> {
    assert_one_each(starts, controls.len(), "set of controls");
    starts
        .par_iter()
        .zip(controls)
        .map_init(
            || Data::new(model),
            |data, (start, controls)| rollout(model, start, controls, steps, data),
        )
        .collect()
}

/// Ends and gradients of a batch of trajectories, one loss for each, over the threads of the current rayon pool. One
/// that has no gradient does not keep the others from theirs.
///
/// # Panics
/// When there are not as many controls and losses as start states, or controls do not fit the model.
pub fn gradient_batch<L: Loss + Send>(
    model: &Model,
    starts: &[State],
    controls: &[Controls],
    steps: usize,
    adjoint: Adjoint,
    losses: &mut [L],
) -> Vec<Result<(State, Gradient), GradientError>> {
    assert_one_each(starts, controls.len(), "set of controls");
    assert_one_each(starts, losses.len(), "loss");
    starts
        .par_iter()
        .zip(controls)
        .zip(losses)
        .map(|((start, controls), loss)| gradient(model, start, controls, steps, adjoint, loss))
        .collect()
}

fn assert_one_each(starts: &[State], count: usize, what: &str) {
    assert_eq!(starts.len(), count, "one {what} for each start state");
}
