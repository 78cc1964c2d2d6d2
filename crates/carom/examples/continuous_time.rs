//! A motion followed to a tolerance, and the derivative of the motion itself.
//!
//! Claim: the derivative of a bounce under MuJoCo's default contact agrees with a difference quotient of the motion in
//! continuous time, and is off by more than itself through steps of 1 ms.
//! `cargo run --release -p carom --example continuous_time`.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

// ANCHOR: all
use std::error::Error;

use carom::flow::{Flow, FlowSettings, Tolerances};
use carom::rollout::{Controls, RolloutBar, rollout};
use carom::{Data, State, load};
use carom_spec::{MemorySource, mjcf::ReadSettings, read};

const BALL: &str = r#"<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"/></body></worldbody></mujoco>"#;

fn main() -> Result<(), Box<dyn Error>> {
    let files = MemorySource::new().with("ball.xml", BALL);
    let read = read::read("ball.xml".as_ref(), &files, &ReadSettings::default());
    let model = load::compiled(read)?.model;
    let mut start = State::reference(&model);
    (start.qvel[0], start.qvel[2]) = (1.0, -2.0);

    // In steps of the model
    let (zero, mut data) = (Controls::Zero, Data::new(&model));
    let unrolled = rollout(&model, &start, &zero, 1000, &mut data);
    let mut loss = RolloutBar::zeros(&unrolled);
    loss.qpos_mut(1000)[0] = 1.0; // how far sideways it gets
    let of_steps = unrolled.backward(&model, &zero, &mut loss)?;

    // In continuous time, with states every millisecond, so that the loss is the same
    let settings = FlowSettings {
        tolerances: Tolerances::all(1e-9),
        ..FlowSettings::default()
    };
    let flow = Flow::new(&model, settings)?;
    let motion = flow.run(&start, &zero, 0.001, 1000);
    for onset in motion.onsets() {
        let what = if onset.begins { "begins" } else { "ends" };
        println!("{:.4} s: a contact {what}", onset.time);
    }
    let gradient = motion.backward(&flow, &zero, &mut loss)?;
    // ANCHOR_END: all

    let [faster, slower] = [1e-3, -1e-3].map(|change| {
        let mut start = start.clone();
        start.qvel[2] += change;
        flow.run(&start, &zero, 1.0, 1).end().qpos[0]
    });
    let quotient = (faster - slower) / 2e-3;
    let (motion, steps) = (gradient.start.qvel[2], of_steps.start.qvel[2]);
    println!("continuous time {motion:.5}, quotient {quotient:.5}, steps of 1 ms {steps:.5}");
    assert!((motion - quotient).abs() < 0.01 * quotient.abs());
    assert!((steps - quotient).abs() > quotient.abs());
    Ok(())
}
