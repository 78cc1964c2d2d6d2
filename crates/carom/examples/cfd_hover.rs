//! Experiment: a robot hovers where contacts act from a distance in its motion, and does not where only gradients know of
//! them [Paulus 2025, fig. 7].
//!
//! `cargo run --release -p carom --example cfd_hover` prints a table and writes `target/experiments/cfd_hover/`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

mod common;

use std::error::Error;

use carom::model::{ActsIn, ContactsFromDistance};
use carom::rollout::{Controls, Rollout, RolloutBar, rollout};
use carom::{Data, Model, State, dynamics};
use carom_plot::{Chart, Page, Scale, Series};

/// Steps of the model's 2 ms.
const STEPS: usize = 1500;
/// Whose soles are looked at.
const FEET: [&str; 4] = ["front_left", "front_right", "rear_left", "rear_right"];

/// Heights of the lowest sole over the floor (m) at every step.
fn clearance(model: &Model, motion: &Rollout) -> Result<Vec<[f64; 2]>, String> {
    let names = &model.structure.names.geoms;
    let mut feet = Vec::new();
    for foot in FEET {
        let name = format!("{foot}_foot");
        let found = names.iter().position(|other| *other == name);
        feet.push(found.ok_or_else(|| format!("the robot has no '{name}'"))?);
    }
    let (mut state, mut data) = (State::reference(model), Data::new(model));
    let heights = (0..=motion.steps()).map(|step| {
        state.qpos.copy_from_slice(motion.qpos(step));
        dynamics::forward_position(model, &state, &mut data);
        let sole =
            |&foot: &usize| data.kinematics.geom_position[foot][2] - model.geoms.size[foot][0];
        let lowest = feet.iter().map(sole).fold(f64::INFINITY, f64::min);
        [motion.time(step), 1e3 * lowest]
    });
    Ok(heights.collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let plain = common::model_from_file("models/quadruped.xml")?;
    let foam = |acts_in: ActsIn| ContactsFromDistance {
        near_impedance: 0.9,
        sharpness: 20.0,
        acts_in,
        ..ContactsFromDistance::default()
    };
    let straight = plain
        .clone()
        .with_contacts_from_distance(foam(ActsIn::Gradients))?;
    let naive = plain
        .clone()
        .with_contacts_from_distance(foam(ActsIn::Motions))?;

    let mut start = State::reference(&plain);
    start
        .qpos
        .copy_from_slice(&plain.keyframes.qpos[..plain.counts().nq]);
    let controls = Controls::Constant(plain.keyframes.ctrl[..plain.counts().nu].to_vec());
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    let mut ends = Vec::new();
    for (name, model) in [
        ("off", &plain),
        ("in gradients only (straight through)", &straight),
        ("in the motion (naive)", &naive),
    ] {
        let motion = rollout(model, &start, &controls, STEPS, &mut Data::new(model));
        let heights = clearance(model, &motion)?;
        // The height of the trunk at the end, by its velocity at the start.
        let mut loss = RolloutBar::zeros(&motion);
        loss.qpos_mut(STEPS)[2] = 1.0;
        let gradient = motion.backward(model, &controls, &mut loss)?;
        assert!(gradient.norms.iter().all(|norm| norm.is_finite()));
        let (last, trunk) = (heights[STEPS][1], 1e3 * motion.end.qpos[2]);
        println!("{name:>38}: lowest sole {last:7.2} mm, trunk {trunk:7.2} mm");
        rows.push(vec![
            name.to_owned(),
            format!("{last:.2}"),
            format!("{trunk:.2}"),
        ]);
        curves.push(Series::line(name, heights));
        ends.push((motion.end, last));
    }
    let bits = |state: &State| -> Vec<u64> { state.qpos.iter().map(|x| x.to_bits()).collect() };
    assert_eq!(
        bits(&ends[0].0),
        bits(&ends[1].0),
        "straight through changed the motion"
    );
    assert!(ends[0].1 < 0.0, "the robot does not stand on the floor");
    assert!(ends[2].1 > 5.0, "the robot does not hover");

    let page = Page::new("Contacts from distance: a hovering robot")
        .text("Contacts that act from a distance in the motion carry the robot like a mat of foam. Where only gradients know of them, the motion is the same to the bit as without.")
        .table(&["contacts from distance", "lowest sole (mm)", "trunk (mm)"], &rows)
        .chart(&Chart {
            title: "Lowest sole over the floor",
            x: ("time (s)", Scale::Linear),
            y: ("height (mm)", Scale::Linear),
            series: &curves,
        });
    common::save(&page, "cfd_hover")?;
    Ok(())
}
