//! Same inputs, same bits, for any number of threads.

use carom::rollout::{Controls, Rollout, rollout_batch};
use carom::{Model, State};

use crate::models;

/// Starts that differ a little from each other.
fn starts(model: &Model, count: usize) -> Vec<State> {
    (0..count)
        .map(|index| {
            let mut state = State::reference(model);
            for (dof, velocity) in state.qvel.iter_mut().enumerate() {
                *velocity = 0.1 * ((index * 31 + dof * 7) as f64).sin();
            }
            state
        })
        .collect()
}

fn batch(model: &Model, threads: usize) -> Vec<Rollout> {
    let starts = starts(model, 24);
    let controls: Vec<_> = (0..starts.len())
        .map(|index| Controls::Constant(vec![0.05 * index as f64; model.counts().nu]))
        .collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| rollout_batch(model, &starts, &controls, 50))
}

#[test]
fn batches_are_the_same_bits_for_any_number_of_threads() {
    for path in models::shipped() {
        let model = models::load(&path);
        let one = batch(&model, 1);
        for threads in [2, 8] {
            let many = batch(&model, threads);
            for (index, (a, b)) in one.iter().zip(&many).enumerate() {
                for step in 0..=a.steps() {
                    let bits = |values: &[f64]| {
                        values
                            .iter()
                            .map(|value| value.to_bits())
                            .collect::<Vec<_>>()
                    };
                    assert_eq!(
                        (bits(a.qpos(step)), bits(a.qvel(step)), bits(a.act(step))),
                        (bits(b.qpos(step)), bits(b.qvel(step)), bits(b.act(step))),
                        "{}: trajectory {index} differs at step {step} with {threads} threads",
                        path.display()
                    );
                }
            }
        }
    }
}
