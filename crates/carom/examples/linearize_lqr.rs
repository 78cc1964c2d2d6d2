//! The linearisation of a step, and a regulator (LQR) from it.
//!
//! Claim: the feedback K·x balances the pole of a cart from a tilt of 0.2 rad.
//! `cargo run --release -p carom --example linearize_lqr`, in the folder of the repository.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

// ANCHOR: all
use std::array::from_fn;
use std::error::Error;

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
    println!("after 10 s: {:.6?}", state.qpos);
    assert!(state.qpos.iter().all(|q| q.abs() < 1e-3));
    Ok(())
}

/// Gain of the regulator for one control, with the costs xᵀ·x + u², by iterating P ← 1 + Aᵀ·P·(A − B·K).
fn riccati(a: &[f64], b: &[f64]) -> [f64; N] {
    let sum = |term: &dyn Fn(usize) -> f64| (0..N).map(term).sum::<f64>();
    let (mut p, mut gain) = ([[0.0; N]; N], [0.0; N]);
    for _ in 0..2000 {
        let pa: [[f64; N]; N] = p.map(|row| from_fn(|j| sum(&|k| row[k] * a[k * N + j])));
        let pb: [f64; N] = p.map(|row| sum(&|k| row[k] * b[k]));
        let s = 1.0 + sum(&|k| b[k] * pb[k]);
        gain = from_fn(|j| sum(&|k| b[k] * pa[k][j]) / s);
        let entry = |i: usize, j: usize| sum(&|k| a[k * N + i] * (pa[k][j] - pb[k] * gain[j]));
        p = from_fn(|i| from_fn(|j| f64::from(i == j) + entry(i, j)));
    }
    gain
}
// ANCHOR_END: all
