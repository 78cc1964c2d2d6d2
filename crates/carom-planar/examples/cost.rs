//! Experiment: what a step of a strike costs, in it and after it.
//!
//! `cargo run --release -p carom-planar --example cost`
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

use std::f64::consts::PI;
use std::time::Instant;

use carom_planar::{Approach, Arm, Bodies, Command, Course, Laws, Moving, Outline, Standing};

fn circle(radius: f64, from: f64, to: f64) -> Vec<[f64; 2]> {
    let point = |k: u32| {
        let (sin, cos) = (from + (to - from) * f64::from(k) / 48.0).sin_cos();
        [radius * cos, radius * sin]
    };
    (0..=48).map(point).collect()
}

fn main() {
    let mut bar = circle(0.015, -PI / 2.0, PI / 2.0);
    bar.extend([[-0.035, 0.015], [-0.035, -0.015]]);
    let half: Vec<[f64; 2]> = circle(0.045, -PI / 2.0, PI / 2.0);
    let half = half.iter().map(|[x, y]| [x - 0.0191, *y]).collect();
    let square = vec![[0.03, -0.03], [0.03, 0.03], [-0.03, 0.03], [-0.03, -0.03]];
    let numbers = [
        17.0, 0.8, 0.25, 0.6, 5.0, -3.5, -5.0, 1.0, 0.35, 0.02, 0.08, 0.05, -0.01, -0.02, 0.7, 1.5,
    ];
    let laws: Laws = Laws::of(&numbers);
    for (name, shape) in [("semi-cylinder", half), ("square", square)] {
        let (Some(outline), Some(striker)) = (Outline::of_points(&shape), Outline::of_points(&bar))
        else {
            continue;
        };
        let struck = Standing {
            outline,
            mass: 0.15,
            gyration: 0.025,
            height: 0.02,
            gravity: 9.81,
        };
        let arm = Arm {
            delay: 0.006,
            brake: 12.0,
            retreat: 0.25,
            travel: 0.06,
        };
        let approach = Approach {
            point: 0.01,
            speed: 0.6,
            deflection: 0.2,
        };
        let (pose, rate) = approach.place(&struck.outline, &striker, 1e-3);
        let bodies = Bodies::new(struck, striker, arm, 0.0025);
        let mut room = bodies.room();
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..200 {
            let mut course = Course {
                body: Moving {
                    pose: [0.0; 3],
                    rate: [0.0; 3],
                },
                held: Moving { pose, rate },
                command: Command::none(),
            };
            for step in 0..60 {
                let clock = Instant::now();
                bodies.advance(&laws, &mut course, 1e-3, &mut room);
                times[usize::from(step >= 10)].push((step, clock.elapsed().as_secs_f64()));
            }
        }
        // Medians over repetitions, step by step: a busy machine stretches means.
        let [near, after] = times.map(|times| {
            let steps: Vec<usize> = times.iter().map(|one| one.0).collect();
            let (first, last) = (steps[0], steps.iter().copied().max().unwrap_or_default());
            let median = |step: usize| {
                let own = times.iter().filter(|one| one.0 == step);
                let mut own: Vec<f64> = own.map(|one| one.1).collect();
                own.sort_by(f64::total_cmp);
                own[own.len() / 2]
            };
            let sum: f64 = (first..=last).map(median).sum();
            1e6 * sum / (last + 1 - first) as f64
        });
        println!("{name}: {near:.1} µs a step of 1 ms around the impact, {after:.1} µs after it");
    }
}
