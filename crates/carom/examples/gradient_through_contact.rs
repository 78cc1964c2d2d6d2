//! The derivative of a toss by its start and by numbers of the model, in one backward pass.
//!
//! Claim: it is the derivative of the steps, through bouncing and sliding: central differences agree to 1e-5.
//! `cargo run --release -p carom --example gradient_through_contact`, in the folder of the repository.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

// ANCHOR: all
use std::error::Error;

use carom::parameters::Parameters;
use carom::rollout::{Controls, RolloutBar, rollout};
use carom::{Data, Model, State, load};

const STEPS: usize = 250; // half a second

fn main() -> Result<(), Box<dyn Error>> {
    let model = load::file("models/cube.xml".as_ref(), &[])?.model;
    let start = State::keyframe(&model, 0).ok_or("no keyframe")?;

    let trajectory = rollout(
        &model,
        &start,
        &Controls::Zero,
        STEPS,
        &mut Data::new(&model),
    );
    let mut loss = RolloutBar::zeros(&trajectory);
    loss.qpos_mut(STEPS)[0] = 1.0; // ∂loss/∂qpos: the loss is how far it gets
    let gradient = trajectory.backward(&model, &Controls::Zero, &mut loss)?;

    let parameters = Parameters::select(&model, &["geom.*.friction[0] tied"])?;
    let theta = parameters.theta0();
    let by_friction = parameters.pull_back(theta, &gradient)?[0];
    println!("by start velocity: {:.4?}", gradient.start.qvel);
    println!("by friction: {by_friction:.4}");
    // ANCHOR_END: all

    let (h, mut faster, mut slower) = (1e-6, start.clone(), start.clone());
    faster.qvel[0] += h;
    slower.qvel[0] -= h;
    let by_speed = (distance(&model, &faster) - distance(&model, &slower)) / (2.0 * h);
    assert!((gradient.start.qvel[0] - by_speed).abs() < 1e-5);

    let [rough, smooth] = [h, -h].map(|h| parameters.apply(&[theta[0] + h]));
    let difference = (distance(&rough?, &start) - distance(&smooth?, &start)) / (2.0 * h);
    assert!((by_friction - difference).abs() < 1e-5);
    Ok(())
}

/// How far the cube gets.
fn distance(model: &Model, start: &State) -> f64 {
    let trajectory = rollout(model, start, &Controls::Zero, STEPS, &mut Data::new(model));
    trajectory.qpos(STEPS)[0]
}
