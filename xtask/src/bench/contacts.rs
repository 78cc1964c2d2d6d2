//! Scenes that live of their contacts, with the solver settings that the models ask for.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Engines, Outcome, Ratios, label, shared};

/// Ratio that the geometric mean must reach.
const MEAN_BAR: f64 = 1.2;
/// Ratio that every scene must reach.
const SINGLE_BAR: f64 = 0.9;

/// Compares steps with contacts with the peer's; fails when a bar is missed.
pub(super) fn bench(engines: &mut Engines, rounds: usize, models: &[PathBuf]) -> Outcome {
    let mut ratios = Ratios::new();
    for (name, mut request) in scenes(models) {
        let path = shared().join(request["model"].as_str().unwrap_or_default());
        if !path.is_file() {
            println!("{name:<34} skipped: {} is not there", path.display());
            continue;
        }
        request["model"] = json!(path);
        let comparison = engines.compare(&request, rounds)?;
        ratios.add(&name, &comparison);
    }
    ratios.judge(MEAN_BAR, SINGLE_BAR)
}

/// About one simulated second of each scene; the files are given relative to the shared folder.
pub(super) fn scenes(models: &[PathBuf]) -> Vec<(String, Value)> {
    if !models.is_empty() {
        let request = |model: &PathBuf| (label(model), json!({ "model": model, "steps": 500 }));
        return models.iter().map(request).collect();
    }
    let cube = json!({
        "model": "models/diffmjx_cube/cube.xml", "steps": 1000, "timestep": 0.001,
        "qpos": { "2": 0.2 }, "qvel": { "1": -0.1, "2": -2.0 },
    });
    let billiard = json!({
        "model": "models/diffmjx_billiard/billiard.xml", "steps": 1000, "qvel": { "0": 2.0 },
    });
    let plain = |model: &str, steps: usize| json!({ "model": model, "steps": steps });
    let settled = |model: &str| json!({ "model": model, "steps": 500, "settle": 500 });
    [
        ("cube toss, 1 ms", cube),
        ("billiard", billiard),
        ("ant", plain("models/gym_ant/ant.xml", 100)),
        ("humanoid", plain("models/mj_humanoid/humanoid.xml", 200)),
        ("go1", plain("models/menagerie_go1/scene.xml", 500)),
        (
            "shadow hand",
            plain("models/menagerie_shadow_hand/scene_right.xml", 500),
        ),
        (
            "tower of 10 boxes",
            plain("bench/peers/models/tower10.xml", 500),
        ),
        ("pile of 48 boxes", settled("bench/peers/models/pile48.xml")),
        (
            "pile of 100 boxes",
            settled("bench/peers/models/pile100.xml"),
        ),
    ]
    .map(|(name, request)| (name.to_owned(), request))
    .to_vec()
}
