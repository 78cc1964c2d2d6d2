//! Batches of trajectories from Python beside the same from Rust.

use serde_json::json;

use super::{Engines, Outcome, Ratios, Server, folder, label};
use crate::command::{command, root, run};
use crate::{python, wheel};

/// Python must be at least so fast, as a part of Rust.
const BAR: f64 = 0.95;
/// Trajectories of a batch, and steps of each.
const SIZES: [usize; 2] = [64, 200];
/// From steps that take a microsecond to those that take a hundred.
const MODELS: [&str; 4] = ["cartpole", "cube", "quadruped", "humanoid"];

/// The package, built with all optimisations, as a server.
fn package() -> Result<Server, String> {
    let place = folder()?.join("python");
    wheel::remove(&place)?;
    let interpreter = python::PACKAGE.interpreter()?;
    let quietly = ["install", "--quiet", "--disable-pip-version-check"];
    let mut install = command(&interpreter);
    install.args(["-m", "pip"]).args(quietly);
    install.args(["--no-deps", "--target"]).arg(&place);
    run(install.arg(wheel::build()?))?;
    let mut server = command(&interpreter);
    Server::start(
        server
            .arg("xtask/bench/python_peer.py")
            .env("PYTHONPATH", &place),
    )
}

/// Measures batches of shipped models on one thread and on two; fails when Python is too slow.
pub(super) fn bench(rust: Server, rounds: usize) -> Outcome {
    let mut engines = Engines {
        carom: package()?,
        peer: rust,
    };
    let [trajectories, steps] = SIZES;
    println!(
        "{trajectories} trajectories of {steps} steps: carom is the Python package, the peer is Rust"
    );
    let mut ratios = Ratios::new();
    for threads in [1, 2] {
        for name in MODELS {
            let model = root().join("models").join(format!("{name}.xml"));
            let request = json!({
                "model": model, "steps": steps, "measure": "batch",
                "trajectories": trajectories, "threads": threads,
            });
            let comparison = engines.compare(&request, rounds)?;
            ratios.add(
                &format!("{}, {threads} threads", label(&model)),
                &comparison,
            );
        }
    }
    ratios.judge(BAR, BAR)
}
