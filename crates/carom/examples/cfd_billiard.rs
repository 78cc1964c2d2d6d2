//! Experiment: a push that misses has a gradient all the same [Paulus 2025, fig. 8].
//!
//! One ball is pushed by a force (4 N, u) for 10 ms; the loss is the squared distance of another ball from the middle of the
//! table after 3 s. Where the balls miss, the loss is flat. Contacts from distance leave the motion as it is to the bit
//! and give a gradient that points to the hit; Adam then finds the push that sends the ball to the middle.
//!
//! `cargo run --release -p carom --example cfd_billiard` prints a table and writes `target/experiments/cfd_billiard/`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use carom::cotangent::StateBar;
use carom::model::ContactsFromDistance;
use carom::rollout::{Adjoint, Controls, Loss, gradient_batch};
use carom::{Model, State, compile};
use carom_plot::{Chart, Page, Scale, Series};

/// Time step (s), steps of the push and of the motion.
const STEP: f64 = 0.002;
const PUSH: usize = 5;
const STEPS: usize = 1500;
/// Pushes of the sweep, over ±5 N.
const SWEEP: usize = 200;
/// Starts of the optimisation, most steps of each, the loss that counts as solved.
const STARTS: usize = 20;
const MOST_STEPS: usize = 30;
const SOLVED: f64 = 1e-3;

/// Squared distance of the black ball from the middle, at the end.
#[derive(Clone, Default)]
struct Distance {
    value: f64,
    /// How far the ball has moved.
    moved: f64,
}

/// Where the position of the black ball begins in qpos and in qvel.
const BLACK: [usize; 2] = [7, 6];
const BLACK_START: f64 = -0.2;

impl Loss for Distance {
    fn by_state(&mut self, step: usize, state: &State, bar: &mut StateBar) {
        if step == STEPS {
            let position = &state.qpos[BLACK[0]..][..3];
            self.value = position.iter().map(|x| x * x).sum();
            self.moved = (position[0] - BLACK_START).hypot(position[1]);
            for (k, x) in position.iter().enumerate() {
                bar.qpos[BLACK[1] + k] += 2.0 * x;
            }
        }
    }
}

/// What a push leads to.
struct Shot {
    loss: f64,
    hits: bool,
    gradient: [f64; 2],
}

/// Pushes, over the threads of the machine.
fn shoot(model: &Model, pushes: &[[f64; 2]]) -> Result<Vec<Shot>, Box<dyn Error>> {
    let starts = vec![State::reference(model); pushes.len()];
    let controls: Vec<_> = (pushes.iter())
        .map(|push| Controls::PerStep([push.repeat(PUSH), vec![0.0; 2]].concat()))
        .collect();
    let mut losses = vec![Distance::default(); pushes.len()];
    let found = gradient_batch(
        model,
        &starts,
        &controls,
        STEPS,
        Adjoint::Stored,
        &mut losses,
    );
    let mut shots = Vec::with_capacity(pushes.len());
    for (found, loss) in found.into_iter().zip(losses) {
        let (_, by) = found?;
        let along = |axis: usize| (0..PUSH).map(|step| by.controls[2 * step + axis]).sum();
        shots.push(Shot {
            loss: loss.value,
            hits: loss.moved > 1e-6,
            gradient: [along(0), along(1)],
        });
    }
    Ok(shots)
}

/// Adam for one push, with a learning rate that decays.
struct Adam {
    push: [f64; 2],
    moments: [[f64; 2]; 2],
    losses: Vec<f64>,
}

const RATE: f64 = 0.7;
const DECAY: f64 = 0.9;
const BETAS: [f64; 2] = [0.7, 0.9];

impl Adam {
    fn from(push: [f64; 2]) -> Self {
        Self {
            push,
            moments: [[0.0; 2]; 2],
            losses: Vec::new(),
        }
    }

    fn is_solved(&self) -> bool {
        self.losses.last().is_some_and(|&loss| loss < SOLVED)
    }

    fn step(&mut self, shot: &Shot) {
        self.losses.push(shot.loss);
        if self.is_solved() {
            return;
        }
        let time = self.losses.len() as f64;
        for axis in 0..2 {
            let mut scaled = [0.0; 2];
            for (order, beta) in BETAS.into_iter().enumerate() {
                let power = shot.gradient[axis].powf(1.0 + order as f64);
                let moment = &mut self.moments[order][axis];
                *moment = beta * *moment + (1.0 - beta) * power;
                scaled[order] = *moment / (1.0 - beta.powf(time));
            }
            let rate = RATE * DECAY.powf(time - 1.0);
            self.push[axis] -= rate * scaled[0] / (scaled[1].sqrt() + 1e-12);
        }
    }
}

/// A number in [0, 1) for an index: multiples of the golden ratio are spread evenly.
fn spread(index: usize) -> f64 {
    (0.5 + index as f64 * 0.618_033_988_749_895).fract()
}

fn sweep(plain: &Model, distant: &Model, page: Page) -> Result<Page, Box<dyn Error>> {
    let forces: Vec<f64> = (0..SWEEP)
        .map(|index| -5.0 + 10.0 * index as f64 / (SWEEP - 1) as f64)
        .collect();
    let pushes: Vec<_> = forces.iter().map(|&force| [4.0, force]).collect();
    let without = shoot(plain, &pushes)?;
    let with = shoot(distant, &pushes)?;
    let mut misses = 0;
    for ((&force, without), with) in forces.iter().zip(&without).zip(&with) {
        assert_eq!(
            without.loss.to_bits(),
            with.loss.to_bits(),
            "the motion changed"
        );
        if !without.hits {
            misses += 1;
            assert!(
                without.gradient[1].abs() < 1e-12,
                "at {force} N a miss has no gradient"
            );
            assert!(
                with.gradient[1] * force > 0.0,
                "at {force} N it does not point to the hit"
            );
        }
    }
    println!("{misses} of {SWEEP} pushes miss: each has a gradient that points to the hit");
    assert!(misses > SWEEP / 4);
    let points = |shots: &[Shot], number: &dyn Fn(&Shot) -> f64| -> Vec<[f64; 2]> {
        let shots = forces.iter().zip(shots);
        shots.map(|(&force, shot)| [force, number(shot)]).collect()
    };
    let loss = [Series::line("loss", points(&without, &|shot| shot.loss))];
    let gradients = [
        Series::line("without", points(&without, &|shot| shot.gradient[1])),
        Series::line(
            "with contacts from distance",
            points(&with, &|shot| shot.gradient[1]),
        ),
    ];
    let force = ("u (N)", Scale::Linear);
    Ok(page
        .heading("Loss and gradient over the push")
        .text("Where the balls miss, the loss is flat and its gradient zero. With contacts from distance the motion is the same to the bit, and the gradient points to the hit.")
        .chart(&Chart { title: "Loss", x: force, y: ("squared distance (m²)", Scale::Linear), series: &loss })
        .chart(&Chart { title: "Gradient", x: force, y: ("dL/du (m²/N)", Scale::Linear), series: &gradients }))
}

fn optimise(model: &Model, page: Page) -> Result<Page, Box<dyn Error>> {
    let clock = Instant::now();
    let mut searches: Vec<_> = (0..STARTS)
        .map(|index| Adam::from([4.0, -5.0 + 10.0 * spread(index)]))
        .collect();
    let starts: Vec<_> = searches.iter().map(|search| search.push).collect();
    for _ in 0..MOST_STEPS {
        let mut active: Vec<_> = (searches.iter_mut())
            .filter(|search| !search.is_solved())
            .collect();
        let pushes: Vec<_> = active.iter().map(|search| search.push).collect();
        for (search, shot) in active.iter_mut().zip(shoot(model, &pushes)?) {
            search.step(&shot);
        }
    }
    let seconds = clock.elapsed().as_secs_f64();
    let solved = searches.iter().filter(|search| search.is_solved()).count();
    let gradients: usize = searches.iter().map(|search| search.losses.len()).sum();
    let line = format!(
        "{solved} of {STARTS} starts reach a loss below {SOLVED} in at most {MOST_STEPS} steps of Adam: {gradients} gradients of {STEPS} steps in {seconds:.2} s"
    );
    println!("{line}");
    let rows: Vec<Vec<String>> = (searches.iter().zip(starts))
        .map(|(search, start)| {
            let last = search.losses.last().copied().unwrap_or(f64::NAN);
            vec![
                format!("{:.2}", start[1]),
                search.losses.len().to_string(),
                format!("({:.2}, {:.2})", search.push[0], search.push[1]),
                format!("{last:.6}"),
            ]
        })
        .collect();
    for row in &rows {
        println!(
            "  start {:>6} N  steps {:>2}  push {:>14} N  loss {}",
            row[0], row[1], row[2], row[3]
        );
    }
    let curves: Vec<Series> = (searches.iter().zip(&rows).take(6))
        .map(|(search, row)| {
            let losses = search.losses.iter().enumerate();
            let points = losses.map(|(step, &loss)| [step as f64, loss]).collect();
            Series::marked(format!("from {} N", row[0]), points)
        })
        .collect();
    assert!(
        solved as f64 >= 0.95 * STARTS as f64,
        "only {solved} of {STARTS} are solved"
    );
    Ok(page
        .heading("Optimisation of the push")
        .text(&line)
        .chart(&Chart {
            title: "Loss while optimising",
            x: ("step of Adam", Scale::Linear),
            y: ("squared distance (m²)", Scale::Logarithmic),
            series: &curves,
        })
        .table(&["start u (N)", "steps", "push (N)", "loss (m²)"], &rows))
}

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = carom_spec::read_file(&root.join("examples/models/push.xml"), &[]);
    let (plain, problems) = compile::compile(&read.spec);
    let mut plain = plain.ok_or_else(|| format!("{problems:?}"))?;
    plain.option.timestep[0] = STEP;
    let balls = ContactsFromDistance::default().of_pairs(&plain, &[["white", "black"]])?;
    let distant = plain.clone().with_contacts_from_distance(balls)?;
    let page = sweep(
        &plain,
        &distant,
        Page::new("Contacts from distance: a push at billiards"),
    )?;
    let page = optimise(&distant, page)?;
    let folder = root.join("../../target/experiments/cfd_billiard");
    println!("page: {}", page.save(&folder)?.display());
    Ok(())
}
