//! What gradients cost beside the steps they belong to.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Engines, Summary, label, root, shared};
use crate::Outcome;

/// A backward pass may take so many times as long as the forward one.
const BACKWARD_BAR: f64 = 3.0;
/// Time from the model file of a humanoid to the first gradient (ms).
const FIRST_GRADIENT_BAR: f64 = 50.0;
/// Steps and bytes of the trajectory that must fit, and the time it may take relative to unlimited memory.
const LONG_STEPS: usize = 10_000;
const LONG_BYTES: usize = 64 << 20;
const LONG_BAR: f64 = 2.2;

/// Measures all of it; fails when a bar is missed.
pub(super) fn bench(engines: &mut Engines, rounds: usize) -> Outcome {
    let mut missed = Vec::new();
    println!(
        "{:<34} {:>10} {:>10} {:>7}",
        "backward over forward, µs a step", "forward", "backward", "ratio"
    );
    for (model, steps) in trajectories() {
        let forward = json!({ "model": model, "steps": steps });
        let backward = json!({ "model": model, "steps": steps, "measure": "backward" });
        let [forward, backward] = in_turns(engines, [&forward, &backward], rounds)?;
        let ratio = backward.minimum / forward.minimum;
        println!(
            "{:<34} {:>10.2} {:>10.2} {ratio:>7.2}",
            label(&model),
            forward.minimum,
            backward.minimum
        );
        if ratio > BACKWARD_BAR {
            missed.push(format!("backward of {}", label(&model)));
        }
    }
    let humanoid = root().join("models/humanoid.xml");
    let first = json!({ "model": humanoid, "steps": 1, "measure": "first gradient" });
    let first = engines.carom_alone(&first, rounds)?.minimum / 1000.0;
    println!(
        "humanoid, from the file to the first gradient: {first:.1} ms (bar {FIRST_GRADIENT_BAR})"
    );
    if first > FIRST_GRADIENT_BAR {
        missed.push("first gradient".to_owned());
    }
    let long = |bytes: Option<usize>| json!({ "model": humanoid, "steps": LONG_STEPS, "measure": "gradient", "bytes": bytes });
    // A tenth of the budget as well: there states have to be simulated again.
    let requests = [None, Some(LONG_BYTES), Some(LONG_BYTES / 100)].map(long);
    let [stored, within, scarce] = in_turns(engines, requests.each_ref(), rounds.min(3))?;
    let [within, scarce] = [within, scarce].map(|time| time.minimum / stored.minimum);
    println!(
        "gradient of {LONG_STEPS} steps: {:.1} µs a step, {within:.2} times that within 64 MB (bar {LONG_BAR}), {scarce:.2} times within 0.64 MB",
        stored.minimum
    );
    if within > LONG_BAR {
        missed.push("memory budget".to_owned());
    }
    if missed.is_empty() {
        Ok(())
    } else {
        Err(format!("above their bars: {}", missed.join(", ")))
    }
}

/// Models and the steps of a trajectory of each.
fn trajectories() -> Vec<(PathBuf, usize)> {
    let shipped = ["humanoid", "quadruped", "hand", "cube"];
    let shipped = shipped.map(|name| root().join("models").join(name).with_extension("xml"));
    let real = [
        "models/mj_humanoid/humanoid.xml",
        "models/menagerie_go1/scene.xml",
        "models/menagerie_shadow_hand/scene_right.xml",
    ];
    let real = real.map(|file| shared().join(file));
    (shipped.into_iter().chain(real))
        .filter(|path| path.is_file())
        .map(|path| (path, 500))
        .collect()
}

/// Times of some requests, asked in turns.
fn in_turns<const N: usize>(
    engines: &mut Engines,
    requests: [&Value; N],
    rounds: usize,
) -> Result<[Summary; N], String> {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..=rounds {
        for (times, request) in times.iter_mut().zip(requests) {
            let answer = engines.carom.time(request)?;
            if round > 0 {
                times.push(answer.microseconds);
            }
        }
    }
    Ok(times.map(Summary::of))
}
