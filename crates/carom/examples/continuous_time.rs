//! A motion followed to a tolerance, and the derivative of the motion itself.
//!
//! Claim: the derivative of a bounce under MuJoCo's default contact agrees with a difference quotient of the motion in
//! continuous time, and is off by several times itself through steps of 1 ms.
//! `cargo run --release -p carom --example continuous_time`.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]
mod common;

use std::error::Error;

use carom::Model;
use carom::rollout::rollout;
use common::toss;

// ANCHOR: all
use carom::flow::{Flow, FlowSettings, Motion, Tolerances};
use carom::rollout::{Controls, RolloutBar};
use carom::{Data, State};

fn follow(flow: &Flow, start: &State) -> Motion {
    flow.run(start, &Controls::Zero, 1.0, 1) // one interval of a second
}

fn compare(model: &Model, start: &State) -> Result<[f64; 3], Box<dyn Error>> {
    let settings = FlowSettings {
        tolerances: Tolerances::all(1e-9),
        ..FlowSettings::default()
    };
    let flow = Flow::new(model, settings)?;
    let motion = follow(&flow, start);
    println!("{} steps: {}", motion.steps(), motion.status());
    for onset in motion.onsets() {
        println!("{:.4} s: begins {}", onset.time, onset.begins);
    }
    let mut sideways = common::LastPosition {
        coordinate: toss::SIDEWAYS,
        steps: 1,
    };
    let gradient = motion.backward(&flow, &Controls::Zero, &mut sideways)?;
    // ANCHOR_END: all

    let [up, down] = [1e-3, -1e-3].map(|change| {
        let mut start = start.clone();
        start.qvel[toss::DOWN] += change;
        follow(&flow, &start).end().qpos[toss::SIDEWAYS]
    });
    let steps = 1000;
    let unrolled = rollout(model, start, &Controls::Zero, steps, &mut Data::new(model));
    let mut loss = RolloutBar::zeros(&unrolled);
    loss.qpos_mut(steps)[toss::SIDEWAYS] = 1.0;
    let of_steps = unrolled.backward(model, &Controls::Zero, &mut loss)?;
    let derivatives = [&gradient, &of_steps].map(|gradient| gradient.start.qvel[toss::DOWN]);
    Ok([derivatives[0], (up - down) / 2e-3, derivatives[1]])
}

fn main() -> Result<(), Box<dyn Error>> {
    let (_, ball) = toss::SHAPES[0];
    let (_, default_contact) = toss::CONTACTS[1];
    let model = toss::model(ball, default_contact, 1e-3)?;
    let [motion, quotient, steps] = compare(&model, &toss::start(&model, -2.0))?;
    println!(
        "continuous time {motion:.5}, difference quotient {quotient:.5}, steps of 1 ms {steps:.5}"
    );
    assert!((motion - quotient).abs() < 0.01 * quotient.abs());
    assert!((steps - quotient).abs() > quotient.abs());
    Ok(())
}
