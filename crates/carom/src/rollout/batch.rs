//! Batches of trajectories and gradients over threads.

use rayon::prelude::*;

use super::{Adjoint, Controls, EndAndGradient, Loss, Rollout, gradient, rollout};
use crate::state::State;
use crate::system::Dynamics;

/// Simulates a batch, one trajectory for each start state, over the threads of the current rayon pool.
///
/// # Panics
/// When there are not as many controls as start states, or they do not fit the system.
pub fn rollout_batch<D: Dynamics>(
    dynamics: &D,
    starts: &[State],
    controls: &[Controls],
    steps: usize,
) -> Vec<Rollout<D::Trace>> {
    assert_one_each(starts, controls.len(), "set of controls");
    starts
        .par_iter()
        .zip(controls)
        .map_init(
            || dynamics.work(),
            |work, (start, controls)| rollout(dynamics, start, controls, steps, work),
        )
        .collect()
}

/// Ends and gradients of a batch of trajectories, one loss for each, over the threads of the current rayon pool. One
/// that has no gradient does not keep the others from theirs.
///
/// # Panics
/// When there are not as many controls and losses as start states, or controls do not fit the system.
pub fn gradient_batch<D: Dynamics, L: Loss + Send>(
    dynamics: &D,
    starts: &[State],
    controls: &[Controls],
    steps: usize,
    adjoint: Adjoint,
    losses: &mut [L],
) -> Vec<EndAndGradient<D::Bar>> {
    assert_one_each(starts, controls.len(), "set of controls");
    assert_one_each(starts, losses.len(), "loss");
    starts
        .par_iter()
        .zip(controls)
        .zip(losses)
        .map(|((start, controls), loss)| gradient(dynamics, start, controls, steps, adjoint, loss))
        .collect()
}

fn assert_one_each(starts: &[State], count: usize, what: &str) {
    assert_eq!(starts.len(), count, "one {what} for each start state");
}
