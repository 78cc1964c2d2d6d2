//! Experiment: derivatives from a distance need steps of their own [Paulus 2025, fig. S3].
//!
//! Two balls without table or gravity. Where the first one misses the second, the motion is straight and its steps are as
//! long as they may be. Contacts from distance act in the derivatives alone, so unrolling those steps samples them at a few
//! places and the gradient is scattered, whatever the tolerance of the motion. An adjoint that chooses its own steps is not.
//!
//! `cargo run --release -p carom --example cfd_adjoints` prints a table and writes `target/experiments/cfd_adjoints/`;
//! with `-- --quick` for fewer pushes.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

mod common;

use std::error::Error;

use carom::cotangent::StateBar;
use carom::flow::{Adjoint, Flow, FlowSettings, Tolerances};
use carom::model::ContactsFromDistance;
use carom::rollout::{Controls, Loss};
use carom::{Model, State};
use carom_plot::{Chart, Page, Scale, Series};

const DURATION: f64 = 3.0;
/// Pushes over ±5 N, for 10 ms on 0.17 kg; every so many of those to one side in the quick form.
const PUSHES: usize = 81;
const QUICK_EVERY: usize = 2;
const VELOCITY_PER_FORCE: f64 = 0.01 / 0.17;
/// Tolerance of the motion and of the adjoint.
const TOLERANCE: f64 = 1e-4;
/// Longest step of the motion (s); with longer ones it would not see all hits.
const LONGEST_STEP: f64 = 0.15;
/// Where the black ball is in qpos, and its place at the start (m).
const BLACK: usize = 2;
const BLACK_START: f64 = -0.2;

/// Squared distance of the black ball from the origin, at the end.
struct Distance(usize);

impl Loss for Distance {
    fn by_state(&mut self, step: usize, state: &State, bar: &mut StateBar) {
        if step == self.0 {
            let [x, y] = black(state);
            bar.qpos[BLACK] += 2.0 * x;
            bar.qpos[BLACK + 1] += 2.0 * y;
        }
    }
}

fn black(state: &State) -> [f64; 2] {
    [state.qpos[BLACK] + BLACK_START, state.qpos[BLACK + 1]]
}

fn flow(model: &Model, longest_step: f64, adjoint: Adjoint) -> Result<Flow, Box<dyn Error>> {
    let settings = FlowSettings {
        tolerances: Tolerances::all(TOLERANCE),
        longest_step,
        adjoint,
        ..FlowSettings::default()
    };
    Ok(Flow::new(model, settings)?)
}

/// dL/du, the motion's steps, its end.
fn derivative(flow: &Flow, start: &State) -> Result<(f64, usize, State), Box<dyn Error>> {
    let motion = flow.run(start, &Controls::Zero, DURATION, 1);
    let gradient = motion.backward(flow, &Controls::Zero, &mut Distance(1))?;
    let by_force = gradient.start.qvel[1] * VELOCITY_PER_FORCE;
    Ok((by_force, motion.steps(), motion.end().clone()))
}

/// How much a curve turns up and down: the sum of its second differences over that of another one.
fn roughness(curve: &[[f64; 2]], smooth: &[[f64; 2]]) -> f64 {
    let bends = |curve: &[[f64; 2]]| -> f64 {
        let second = |run: &[[f64; 2]]| (run[0][1] - 2.0 * run[1][1] + run[2][1]).abs();
        curve.windows(3).map(second).sum()
    };
    bends(curve) / bends(smooth)
}

fn main() -> Result<(), Box<dyn Error>> {
    let pushes: Vec<usize> = if common::is_quick() {
        (PUSHES / 2 + 1..PUSHES).step_by(QUICK_EVERY).collect()
    } else {
        (0..PUSHES).collect()
    };
    let plain = common::model_from_file("crates/carom/examples/models/free_push.xml")?;
    let distant = (plain.clone()).with_contacts_from_distance(ContactsFromDistance::default())?;
    let own_steps = Adjoint::Continuous {
        tolerance: TOLERANCE,
    };
    let without = flow(&plain, LONGEST_STEP, Adjoint::Stored)?;
    let long = flow(&distant, LONGEST_STEP, Adjoint::Stored)?;
    let continuous = flow(&distant, LONGEST_STEP, own_steps)?;
    let short = flow(&distant, 5e-3, Adjoint::Stored)?;

    let names = [
        "without",
        "unrolled",
        "continuous adjoint",
        "unrolled, steps of 5 ms",
    ];
    let mut curves = [const { Vec::new() }; 4];
    let mut losses = Vec::new();
    let (mut misses, mut steps) = (0_usize, 0);
    for &index in &pushes {
        let force = -5.0 + 10.0 * index as f64 / (PUSHES - 1) as f64;
        let mut start = State::reference(&plain);
        start.qvel[0] = 4.0 * VELOCITY_PER_FORCE;
        start.qvel[1] = force * VELOCITY_PER_FORCE;
        let (none, _, end) = derivative(&without, &start)?;
        let (scattered, taken, same) = derivative(&long, &start)?;
        assert_eq!(end, same, "contacts from distance changed the motion");
        let (fine, _, _) = derivative(&short, &start)?;
        let (adjoint, _, _) = derivative(&continuous, &start)?;
        let [x, y] = black(&end);
        losses.push([force, x * x + y * y]);
        for (curve, gradient) in curves.iter_mut().zip([none, scattered, adjoint, fine]) {
            curve.push([force, gradient]);
        }
        if (x - BLACK_START).hypot(y) < 1e-9 {
            misses += 1;
            assert!(none.abs() < 1e-12, "at {force} N a miss has no gradient");
            assert!(
                adjoint * force > 0.0,
                "at {force} N the adjoint does not point to the hit"
            );
            steps += taken;
        }
    }
    // Misses only: elsewhere the steps of the motion know of the contact.
    let missed = |curve: &[[f64; 2]]| -> Vec<[f64; 2]> {
        (curve.iter().zip(&curves[0]))
            .filter(|(_, without)| without[1] == 0.0 && without[0] > 0.0)
            .map(|(point, _)| *point)
            .collect()
    };
    let error = |curve: &[[f64; 2]]| -> f64 {
        let pairs = curve.iter().zip(&curves[3]);
        let missed =
            pairs.filter(|(point, _)| curves[0].iter().any(|p| p[0] == point[0] && p[1] == 0.0));
        missed.map(|(a, b)| (a[1] - b[1]).abs()).fold(0.0, f64::max)
    };
    let smooth = missed(&curves[3]);
    let greatest = smooth
        .iter()
        .map(|point| point[1].abs())
        .fold(0.0, f64::max);
    let rows: Vec<Vec<String>> = (1..3)
        .map(|k| {
            vec![
                names[k].to_owned(),
                format!("{:.2e}", error(&curves[k]) / greatest),
                format!("{:.2}", roughness(&missed(&curves[k]), &smooth)),
            ]
        })
        .collect();
    println!(
        "{misses} of {} pushes miss, with {:.1} steps of the motion each",
        pushes.len(),
        steps as f64 / misses as f64
    );
    for row in &rows {
        println!(
            "{:>20}: greatest error {} of the greatest gradient, bends {} times as much",
            row[0], row[1], row[2]
        );
    }
    let series: Vec<Series> = (names.iter().zip(&curves))
        .map(|(name, curve)| Series::line(*name, curve.clone()))
        .collect();
    let force = ("u (N)", Scale::Linear);
    let gradient = ("dL/du (m²/N)", Scale::Linear);
    let page = Page::new("Contacts from distance: steps of their own")
        .text("Without table and gravity a motion that misses is straight, and its steps are long. Unrolled, they sample the contacts from distance at a few places only. The continuous adjoint chooses its own steps and agrees with short ones.")
        .table(&["misses", "error / greatest gradient", "bends, relative"], &rows)
        .chart(&Chart { title: "Loss", x: force, y: ("squared distance (m²)", Scale::Linear), series: &[Series::line("loss", losses)] })
        .chart(&Chart { title: "Without contacts from distance", x: force, y: gradient, series: &series[..1] })
        .chart(&Chart { title: "Unrolled", x: force, y: gradient, series: &series[1..2] })
        .chart(&Chart { title: "Continuous adjoint and short steps", x: force, y: gradient, series: &series[2..] });
    common::save(&page, "cfd_adjoints")?;
    // Fewer pushes miss the worst.
    let far_off = if common::is_quick() { 0.05 } else { 0.1 };
    assert!(
        error(&curves[1]) > far_off * greatest,
        "unrolling long steps should be far off"
    );
    assert!(
        error(&curves[2]) < 0.01 * greatest,
        "the continuous adjoint is off"
    );
    Ok(())
}
