//! Many trajectories over threads, and their gradients.
//!
//! Claim: results are the same to the last bit for one thread and for many.
//! `cargo run --release -p carom --example batch_rollouts`, in the folder of the repository.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

// ANCHOR: all
use std::error::Error;

use carom::cotangent::StateBar;
use carom::rollout::{Adjoint, Controls, Loss, gradient_batch, rollout_batch};
use carom::{State, load};

const STEPS: usize = 100;

/// The loss is how high the torso is in the end.
#[derive(Clone)]
struct Height;

impl Loss for Height {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == STEPS {
            bar.qpos[2] += 1.0;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = load::file("models/humanoid.xml".as_ref(), &[])?.model;
    let starts: Vec<State> = (0..16)
        .map(|index| {
            let mut start = State::reference(&model);
            start.qvel[0] = 0.1 * f64::from(index);
            start
        })
        .collect();
    let controls = vec![Controls::Constant(vec![0.1; model.counts().nu]); starts.len()];

    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let one = alone.install(|| rollout_batch(&model, &starts, &controls, STEPS));
    let many = rollout_batch(&model, &starts, &controls, STEPS); // all cores
    assert!(one == many);

    let adjoint = Adjoint::Checkpointed { bytes: 20_000 }; // a budget of memory, the same result
    let mut losses = vec![Height; starts.len()];
    let found = gradient_batch(&model, &starts, &controls, STEPS, adjoint, &mut losses);
    for (start, found) in starts.iter().zip(found) {
        let (end, gradient) = found?;
        let slope = gradient.start.qvel[0];
        println!(
            "{:.1} m/s: ends at {:.3} m, slope {slope:+.3}",
            start.qvel[0], end.qpos[2]
        );
    }
    Ok(())
}
// ANCHOR_END: all
