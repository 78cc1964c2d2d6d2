//! The linearisation of a step, and a regulator (LQR) from it.
//!
//! Claim: the feedback K·x balances the pole of a cart from a tilt of 0.2 rad.
//! `cargo run --release -p carom --example linearize_lqr`, in the folder of the repository.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

use std::error::Error;

// ANCHOR: all
use carom::linearize::{self, Linearization};
use carom::{Data, Input, State, forward, load, step};

const N: usize = 4; // x = (cart, pole, and their velocities)

fn main() -> Result<(), Box<dyn Error>> {
    let model = load::file("models/cartpole.xml".as_ref(), &[])?.model;
    let mut state = State::keyframe(&model, 0).ok_or("no keyframe")?; // upright
    let mut input = Input::zeros(&model);
    let mut data = Data::new(&model);

    forward(&model, &state, &input, &mut data); // the linearisation reads its results
    let mut step_of = Linearization::new(&model);
    linearize::step(&model, &state, &input, &mut data, &mut step_of);
    let gain = riccati(&step_of.a, &step_of.b);
    println!("K = {gain:.3?}");

    state.qpos[1] = 0.2;
    for _ in 0..1000 {
        let x = [state.qpos[0], state.qpos[1], state.qvel[0], state.qvel[1]];
        input.ctrl[0] = -gain.iter().zip(x).map(|(k, x)| k * x).sum::<f64>();
        step(&model, &mut state, &input, &mut data);
    }
    println!("after 10 s: {:.2e?}", state.qpos);
    assert!(state.qpos.iter().all(|q| q.abs() < 1e-3));
    Ok(())
}

/// Gain of the regulator for one control, with the costs xᵀ·x + u², by iterating P ← 1 + Aᵀ·P·(A − B·K).
fn riccati(a: &[f64], b: &[f64]) -> [f64; N] {
    let mut p = [[0.0; N]; N];
    let mut gain = [0.0; N];
    for _ in 0..2000 {
        let pa = p
            .map(|row| std::array::from_fn(|j| (0..N).map(|k| row[k] * a[k * N + j]).sum::<f64>()));
        let pb: [f64; N] = p.map(|row| row.iter().zip(b).map(|(p, b)| p * b).sum());
        let s = 1.0 + (0..N).map(|k| b[k] * pb[k]).sum::<f64>();
        gain = std::array::from_fn(|j| (0..N).map(|k| b[k] * pa[k][j]).sum::<f64>() / s);
        let entry =
            |i: usize, j: usize| (0..N).map(|k| a[k * N + i] * (pa[k][j] - pb[k] * gain[j]));
        p = std::array::from_fn(|i| {
            std::array::from_fn(|j| f64::from(i == j) + entry(i, j).sum::<f64>())
        });
    }
    gain
}
// ANCHOR_END: all
