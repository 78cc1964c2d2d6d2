//! Same inputs, same bits, for any number of threads.

use carom::cotangent::StateBar;
use carom::rollout::{Adjoint, Controls, Loss, Rollout, gradient_batch, rollout_batch};
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

/// The height of the first body at the end.
struct EndHeight(usize);

impl Loss for EndHeight {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == self.0 {
            bar.qpos[2] = 1.0;
        }
    }
}

#[test]
fn gradients_of_batches_are_the_same_bits_for_any_number_of_threads() {
    for name in ["cube", "humanoid"] {
        let path = models::shipped()
            .into_iter()
            .find(|path| path.ends_with(format!("{name}.xml")));
        let model = models::load(&path.unwrap());
        let starts = starts(&model, 12);
        let controls = vec![Controls::Zero; starts.len()];
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let mut losses: Vec<_> = starts.iter().map(|_| EndHeight(40)).collect();
            pool.build().unwrap().install(|| {
                gradient_batch(&model, &starts, &controls, 40, Adjoint::Stored, &mut losses)
            })
        };
        let one = with(1);
        assert!(one.iter().all(Result::is_ok));
        for threads in [2, 8] {
            assert_eq!(with(threads), one, "{name} with {threads} threads");
        }
    }
}
