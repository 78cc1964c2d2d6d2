//! A friction coefficient from a recorded motion, by the derivative of the simulation.
//!
//! Claim: from 0.6 and noise-free positions of a sliding cube, a few steps of Gauss–Newton find 0.3 to 1e-6.
//! `cargo run --release -p carom --example fit_a_parameter`, in the folder of the repository.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

// ANCHOR: all
use std::error::Error;

use carom::parameters::Parameters;
use carom::rollout::{Controls, Rollout, RolloutBar, rollout};
use carom::{Data, Model, State, load};

const STEPS: usize = 150; // 0.3 s

fn slide(model: &Model) -> Result<Rollout, Box<dyn Error>> {
    let start = State::keyframe(model, 2).ok_or("no keyframe")?;
    let mut data = Data::new(model);
    Ok(rollout(model, &start, &Controls::Zero, STEPS, &mut data))
}

fn main() -> Result<(), Box<dyn Error>> {
    let truth = load::file("models/cube.xml".as_ref(), &[])?.model;
    let recorded = slide(&truth)?.qpos(STEPS)[0]; // where it was seen in the end

    // One coefficient for floor and cube, always positive. A fit is over θ, here its logarithm.
    let parameters = Parameters::select(&truth, &["geom.*.friction[0] log tied"])?;
    let mut theta = vec![0.6_f64.ln()];
    for iteration in 0..8 {
        let model = parameters.apply(&theta)?; // with all that follows from the numbers
        let trajectory = slide(&model)?;
        let error = trajectory.qpos(STEPS)[0] - recorded;

        let mut last = RolloutBar::zeros(&trajectory);
        last.qpos_mut(STEPS)[0] = 1.0;
        let gradient = trajectory.backward(&model, &Controls::Zero, &mut last)?;
        let slope = parameters.pull_back(&theta, &gradient)?[0];
        println!("{iteration}: {:.9}, error {error:+.1e} m", theta[0].exp());
        theta[0] -= error / slope; // Gauss–Newton for one number
    }
    assert!((theta[0].exp() - 0.3).abs() < 1e-6);
    Ok(())
}
// ANCHOR_END: all
