//! Load a model file, simulate it step by step, read states, results and sensors by name.
//!
//! Claim: a tossed cube comes to rest on the floor, and the contacts then carry its weight.
//! `cargo run --release -p carom --example load_and_simulate`, in the folder of the repository.
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

// ANCHOR: all
use std::error::Error;

use carom::{Data, Input, State, load, step};

fn main() -> Result<(), Box<dyn Error>> {
    let loaded = load::file("models/cube.xml".as_ref(), &[])?;
    let model = &loaded.model;
    let names = &model.structure.names;
    let place = |names: &[String], name: &str| names.iter().position(|n| n == name);
    let cube = place(&names.bodies, "cube").ok_or("no such body")?;
    let toss = place(&names.keyframes, "toss").ok_or("no such keyframe")?;

    let mut state = State::keyframe(model, toss).ok_or("no such keyframe")?;
    let input = Input::zeros(model); // controls and forces from outside
    let mut data = Data::new(model); // results of all stages, and all memory that steps need
    while state.time < 2.0 {
        let report = step(model, &mut state, &input, &mut data);
        for warning in report.warnings() {
            println!("{:.3} s: {warning}", state.time);
        }
    }

    let height = data.kinematics.body_position[cube].0[2];
    let push = data.solve.force_constraint[2];
    let weight = -model.bodies.mass[cube] * model.option.gravity[0].0[2];
    println!("after {:.3} s the cube is at {height:.4} m", state.time);
    println!("the floor pushes with {push:.4} N, it weighs {weight:.4} N");
    println!("sensors: {:.3?}", data.sensing.values);
    assert!((height - 0.05).abs() < 1e-3);
    assert!((push - weight).abs() < 1e-3);
    Ok(())
}
// ANCHOR_END: all
