//! CPU time of gradients.

use std::path::Path;
use std::time::Duration;

use carom::cotangent::StateBar;
use carom::rollout::{Adjoint, Controls, Loss, gradient, rollout};
use carom::{Data, State};
use cpu_time::ThreadTime;

use super::Case;
use crate::load;

/// The sum of all positions of the last state.
struct LastPosition(usize);

impl Loss for LastPosition {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == self.0 {
            bar.qpos.iter_mut().for_each(|number| *number += 1.0);
        }
    }
}

/// Microseconds a step of the backward pass over a recorded trajectory.
pub(super) fn backward(case: &mut Case) -> Result<f64, String> {
    let controls = Controls::PerStep(case.controls.clone());
    let run = rollout(
        &case.model,
        &case.start,
        &controls,
        case.steps,
        &mut case.data,
    );
    let begin = ThreadTime::now();
    run.backward(&case.model, &controls, &mut LastPosition(case.steps))
        .map_err(|error| error.to_string())?;
    Ok(per_step(begin, case.steps))
}

/// CPU time over which short trajectories are repeated, so that caches are in the state that an optimiser finds them in.
const SPAN: Duration = Duration::from_millis(100);

/// Microseconds a step of a trajectory with its gradient.
pub(super) fn whole(case: &mut Case, adjoint: Adjoint) -> Result<f64, String> {
    let controls = Controls::PerStep(case.controls.clone());
    let mut loss = LastPosition(case.steps);
    let mut steps = 0;
    let begin = ThreadTime::now();
    while steps == 0 || begin.elapsed() < SPAN {
        gradient(
            &case.model,
            &case.start,
            &controls,
            case.steps,
            adjoint,
            &mut loss,
        )
        .map_err(|error| error.to_string())?;
        steps += case.steps;
    }
    Ok(per_step(begin, steps))
}

/// Microseconds from the model file to the gradient of one step.
pub(super) fn first(path: &Path) -> Result<f64, String> {
    let begin = ThreadTime::now();
    let model = load::model(path, &[]).map_err(|failure| failure.rendered())?;
    let start = State::reference(&model);
    let run = rollout(&model, &start, &Controls::Zero, 1, &mut Data::new(&model));
    run.backward(&model, &Controls::Zero, &mut LastPosition(1))
        .map_err(|error| error.to_string())?;
    Ok(per_step(begin, 1))
}

fn per_step(begin: ThreadTime, steps: usize) -> f64 {
    begin.elapsed().as_secs_f64() / steps as f64 * 1e6
}
