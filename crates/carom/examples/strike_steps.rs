//! Experiment: what a step around an impact costs with a map of collisions, beside one of the solver; and a gradient through it.
//!
//! `cargo run --release -p carom --example strike_steps`
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use carom::cotangent::StateBar;
use carom::system::{Passing, Seen, StepBar};
use carom::{Dynamics, Model, State, plan_view};
use carom_planar::{Approach, Arm, Bodies};
use carom_spec::model_spec::{CollisionMapSpec, Reference};
use carom_spec::span::Span;

/// Laws as recordings of strikes give them.
const LAWS: [f64; 16] = [
    16.95, 0.81, 0.23, 0.5, 5.2, -3.45, -5.0, 1.0, 0.35, 0.02, 0.08, 0.05, -0.01, -0.02, 0.7, 1.7,
];
/// Way before the impact (m), and steps around it.
const WAY: f64 = 5e-3;
const STEPS: usize = 20;
/// Repetitions, of which medians are taken step by step.
const REPETITIONS: usize = 200;

fn reference(name: &str) -> Reference {
    Reference {
        name: name.to_owned(),
        span: Span::default(),
    }
}

/// The scene with and without a map.
fn models(shape: &str) -> Result<[Model; 2], Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let loaded = carom::load::file(&root.join(format!("datasets/clash_{shape}.xml")), &[])?;
    let arm = [0.006, 12.0, 0.25, 0.06];
    let [delay, brake, retreat, travel] = arm;
    let bodies = Bodies::new(
        plan_view::standing(&loaded.model, "prism")?,
        plan_view::held(&loaded.model, "block")?,
        Arm {
            delay,
            brake,
            retreat,
            travel,
        },
        0.0025,
    );
    let mut spec = loaded.spec;
    spec.collision_maps.push(CollisionMapSpec {
        name: "block_prism".to_owned(),
        span: Span::default(),
        struck: reference("prism"),
        striker: reference("block"),
        table: reference("table"),
        arm,
        quiet: 0.0025,
        numbers: LAWS.to_vec(),
        limits: vec![2.0, 2.0, 80.0, 2e-3],
        fingerprint: bodies.fingerprint(),
        weights_file: String::new(),
    });
    let (mapped, problems) = carom::compile::compile(&spec);
    let mapped = mapped.ok_or_else(|| format!("{problems:?}"))?;
    Ok([mapped, loaded.model])
}

/// The prism at rest, and the bar on its way to it.
fn start(model: &Model) -> Result<State, Box<dyn Error>> {
    let mut state = State::reference(model);
    let (mut work, input) = (model.work(), model.input());
    state.qpos[7] = 0.5;
    for _ in 0..200 {
        model.step(&mut state, &input, &mut work);
    }
    let approach = Approach {
        point: 0.01,
        speed: 0.6,
        deflection: 0.2,
    };
    let struck = plan_view::standing(model, "prism")?.outline;
    let (pose, rate) = approach.place(&struck, &plan_view::held(model, "block")?, WAY);
    state.qvel.fill(0.0);
    state.qpos[7..10].copy_from_slice(&pose);
    state.qvel[6..9].copy_from_slice(&rate);
    Ok(state)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Microseconds of a step, and of its backward pass.
fn times(model: &Model) -> Result<[f64; 2], Box<dyn Error>> {
    let start = start(model)?;
    let (mut work, input, mut reverse) = (model.work(), model.input(), model.reverse());
    let mut all = vec![[const { Vec::new() }; 2]; STEPS];
    let mut next = StateBar::zeros(model);
    next.qpos.fill(1.0);
    next.qvel.fill(1.0);
    for _ in 0..REPETITIONS {
        let mut state = start.clone();
        for own in &mut all {
            let before = state.clone();
            let clock = Instant::now();
            model.step(&mut state, &input, &mut work);
            own[0].push(1e6 * clock.elapsed().as_secs_f64());
            let seen = Seen {
                step: 0,
                state: &before,
                input: &input,
                warmstart: &state.warmstart,
            };
            let passing = Passing {
                next: &next,
                loss: &mut carom::rollout::Nothing,
                observer: &mut (),
            };
            let mut bar = StepBar::zeros(&before, &input);
            let clock = Instant::now();
            model.backward(seen, passing, &mut bar, &mut reverse)?;
            own[1].push(1e6 * clock.elapsed().as_secs_f64());
        }
    }
    let mut sums = [0.0; 2];
    for [steps, passes] in all {
        sums[0] += median(steps) / STEPS as f64;
        sums[1] += median(passes) / STEPS as f64;
    }
    Ok(sums)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("shape            map: step  backward   solver: step  backward (µs)   ratio");
    for shape in ["semi_cylinder", "square", "triangle"] {
        let [mapped, solver] = models(shape)?;
        let ([step, back], [other, other_back]) = (times(&mapped)?, times(&solver)?);
        println!(
            "{shape:14} {step:10.1} {back:9.1} {other:14.1} {other_back:9.1} {:12.2}",
            step / other
        );
    }
    Ok(())
}
