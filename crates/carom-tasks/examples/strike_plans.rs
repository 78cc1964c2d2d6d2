//! Experiment: strikes planned with maps of collisions. Targets are where random strikes lead. Gradients search for the strike,
//! then CMA-ES with ten times as many evaluations; and CMA-ES does so again where the solver computes the contacts.
//!
//! `cargo run --release -p carom-tasks --example strike_plans` prints a table; `-- --quick` takes one shape and one target. It needs
//! the scenes that `--example strikes -- --write` writes.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

use std::error::Error;
use std::time::Instant;

use carom::{Dynamics, State};
use carom_tasks::plan::Task;
use carom_tasks::plan::decision::{Decided, DecisionSettings, SearchMethod, decide};
use carom_testing::Random;

/// Targets of each shape.
const TARGETS: u64 = 5;
/// Evaluations of gradients, and how many times as many CMA-ES gets.
const EVALUATIONS: usize = 40;
const RATIO: usize = 10;
/// Costs of plans that are equally good for people: a millimetre.
const SAME: f64 = 1e-3;

struct Search {
    found: Decided,
    seconds: f64,
}

fn search(task: &Task, method: SearchMethod, evaluations: usize) -> Result<Search, Box<dyn Error>> {
    let settings = DecisionSettings {
        method,
        evaluations,
    };
    let clock = Instant::now();
    let found = decide(&task.model, &task.control, &task.decisions, &settings, 1)?;
    Ok(Search {
        found,
        seconds: clock.elapsed().as_secs_f64(),
    })
}

/// Where the struck body comes to rest after a strike that is drawn.
fn target(task: &Task, seed: u64) -> Result<State, Box<dyn Error>> {
    let mut random = Random::new(seed);
    let mut state = task.control.start.clone();
    let decisions = &task.decisions;
    let numbers: Vec<f64> = (decisions.iter())
        .map(|one| one.range[0] + (one.range[1] - one.range[0]) * (0.1 + 0.8 * random.unit()))
        .collect();
    let strike = decisions.iter().find_map(|one| one.strike.as_ref());
    let strike = &strike.ok_or("the task has no strike")?.strike;
    strike.place([numbers[0], numbers[1], numbers[2]], &mut state);
    let (mut work, input) = (task.model.work(), task.model.input());
    for _ in 0..task.control.horizon {
        task.model.step(&mut state, &input, &mut work);
    }
    Ok(state)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = carom_testing::root().join("tasks");
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let shapes: &[&str] = if is_quick {
        &["square"]
    } else {
        &["semi_cylinder", "square", "triangle"]
    };
    println!(
        "shape          target  gradient: cost  evaluations  s   CMA-ES: cost  evaluations  s  solver: s"
    );
    let (mut times, mut misses) = ([0.0; 3], 0);
    for shape in shapes {
        let path = folder.join(format!("strike_{shape}.toml"));
        let text = std::fs::read_to_string(&path)?;
        let text = text.replace(".xml\"", "_hybrid.xml\"");
        let task = Task::parse(&text, &path, None, None)?;
        for seed in 0..if is_quick { 1 } else { TARGETS } {
            let q = target(&task, 17 * seed + 3)?.qpos;
            let variant = format!(
                "\n[variants.here]\nbody_pos = {{ target = [{}, {}, {}] }}\nbody_quat = {{ target = [{}, {}, {}, {}] }}\n",
                q[0], q[1], q[2], q[3], q[4], q[5], q[6]
            );
            let text = format!("{text}{variant}");
            let task = Task::parse(&text, &path, None, Some("here"))?;
            let gradient = search(&task, SearchMethod::Gradient, EVALUATIONS)?;
            let many = RATIO * usize::try_from(gradient.found.evaluations)?;
            let cma = search(&task, SearchMethod::Cma, many)?;
            let plain = Task::parse(
                &text.replace("_hybrid.xml", ".xml"),
                &path,
                None,
                Some("here"),
            )?;
            let solver = search(&plain, SearchMethod::Cma, many)?;
            println!(
                "{shape:14} {seed:6} {:15.5} {:12} {:4.1} {:13.5} {:12} {:4.1} {:8.1}",
                gradient.found.cost,
                gradient.found.evaluations,
                gradient.seconds,
                cma.found.cost,
                cma.found.evaluations,
                cma.seconds,
                solver.seconds
            );
            misses += usize::from(gradient.found.cost > cma.found.cost + SAME);
            for (sum, one) in times.iter_mut().zip([&gradient, &cma, &solver]) {
                *sum += one.seconds;
            }
        }
    }
    let [gradient, cma, solver] = times;
    println!(
        "planning: {gradient:.1} s by gradients, {cma:.1} s by CMA-ES, {solver:.1} s with the solver"
    );
    if misses > 0 {
        return Err(format!("CMA-ES found better strikes for {misses} targets").into());
    }
    Ok(())
}
