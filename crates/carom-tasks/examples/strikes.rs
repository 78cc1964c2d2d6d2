//! Experiment: collisions from ten strikes. Maps are learned from the first ten strikes of six recorded sets; the other hundred
//! of each say how well strikes are predicted.
//!
//! `cargo run --release -p carom-tasks --example strikes` prints a table, with the errors of the map on its own and, below, in the
//! engine. It needs the recordings `clash_strikes`; `-- --quick` takes one set, `-- --write` writes scenes with
//! maps, one of each shape, as `datasets/clash_*_hybrid.xml`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

use std::error::Error;
use std::path::Path;

use carom::Model;
use carom_spec::ModelSpec;
use carom_spec::mjcf::{AssetStorage, write_with};
use carom_tasks::collision_map::{
    self, CollisionMap, Engine, Score, StrikeMapping, Strikes, store,
};

/// Sets by shape and setting, and the lowest error of the angle at rest (rad) that the makers of the recordings report.
const SETS: [(&str, &str, f64); 6] = [
    ("semi_cylinder", "resin_fine", 0.69),
    ("semi_cylinder", "resin_coarse", 0.27),
    ("semi_cylinder", "nylon_fine", 0.92),
    ("semi_cylinder", "nylon_coarse", 0.37),
    ("square", "resin_fine", 0.86),
    ("triangle", "nylon_coarse", 0.45),
];
/// Strikes that teach.
const SHOTS: usize = 10;
/// What is claimed of every set: median relative error, mean distance at rest (m), mean error of the angle at rest as a part
/// of the reported one. And of the mean accuracy at 0.1.
const MEDIAN: f64 = 0.06;
const POSITION: f64 = 0.010;
const YAW: f64 = 0.8;
const ACCURACY: f64 = 0.85;
/// Sets whose scenes are written, one of each shape.
const WRITTEN: [(&str, &str); 3] = [
    ("semi_cylinder", "resin_fine"),
    ("square", "resin_fine"),
    ("triangle", "nylon_coarse"),
];

fn print(name: &str, score: &Score) {
    println!(
        "{name:28} {:8.2} {:9.2} {:8.4} {:10.4} {:10.3}",
        score.accuracy(0.05),
        score.accuracy(0.1),
        score.median(),
        score.position,
        score.yaw
    );
}

fn compiled(spec: &ModelSpec) -> Result<Model, Box<dyn Error>> {
    let (model, problems) = carom::compile::compile(spec);
    Ok(model.ok_or_else(|| format!("{problems:?}"))?)
}

/// The scene with the recorded mass.
fn weighed(
    spec: &ModelSpec,
    mapping: &StrikeMapping,
    recorded: &Strikes,
) -> Result<(ModelSpec, Model), Box<dyn Error>> {
    let mut spec = spec.clone();
    if let Some(mass) = recorded.mass {
        let own = collision_map::bodies(&compiled(&spec)?, mapping, None)?;
        store::weigh(&mut spec, &mapping.scene.struck, mass / own.struck.mass);
    }
    let model = compiled(&spec)?;
    Ok((spec, model))
}

fn write(
    path: &Path,
    spec: &ModelSpec,
    mapping: &StrikeMapping,
    map: &CollisionMap,
) -> Result<(), Box<dyn Error>> {
    let scene = write_with(spec, AssetStorage::Inline);
    std::fs::write(path.with_extension("xml"), scene)?;
    let bytes = store::write(&mapping.scene.pair, map);
    std::fs::write(path.with_extension("safetensors"), bytes)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = carom_testing::root().join("datasets");
    let mapping = StrikeMapping::read(&folder.join("clash_strikes.toml"))?;
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let is_written = std::env::args().any(|argument| argument == "--write");
    let sets = if is_quick { &SETS[5..] } else { &SETS[..] };
    let mut accuracy = Vec::new();
    println!("set                          accuracy 0.05  0.1   median  position (m)  yaw (rad)");
    for &(shape, setting, reported) in sets {
        let name = format!("data/clash_strikes/{shape}-{setting}.npz");
        let Some(file) = carom_testing::shared(&name) else {
            println!("{shape} {setting}: skipped, no recording");
            continue;
        };
        let loaded = carom::load::file(&folder.join(format!("clash_{shape}.xml")), &[])?;
        let recorded = collision_map::read(&file, &mapping)?;
        let (scene, model) = weighed(&loaded.spec, &mapping, &recorded)?;
        let bodies = collision_map::bodies(&model, &mapping, None)?;
        let (shots, test) = recorded.strikes.split_at(SHOTS);
        let learned = collision_map::learn(bodies, shots)?;
        let gyration = learned.map.bodies.struck.gyration;
        let score = Score::of(&learned.map.predict(test), test, gyration);
        print(&format!("{shape} {setting}"), &score);
        let name = format!("clash_{shape}_hybrid");
        let file = format!("{name}.safetensors");
        let spec = store::scene(scene, &mapping, &learned.map, &file)?;
        let hybrid = compiled(&spec)?;
        let engine = Engine::new(&hybrid, &mapping, &learned.map)?;
        let in_engine = Score::of(&engine.predict(test), test, gyration);
        print("  in the engine", &in_engine);
        if is_written && WRITTEN.contains(&(shape, setting)) {
            write(&folder.join(&name), &spec, &mapping, &learned.map)?;
        }
        let is_off = in_engine.position > POSITION || in_engine.yaw > YAW * reported;
        if in_engine.median() > MEDIAN || is_off {
            return Err(format!("the engine predicts {shape} {setting} worse than claimed").into());
        }
        let is_far = score.position > POSITION || score.yaw > YAW * reported;
        if score.median() > MEDIAN || is_far {
            return Err(format!("{shape} {setting} is predicted worse than claimed").into());
        }
        accuracy.push(score.accuracy(0.1));
    }
    let mean = accuracy.iter().sum::<f64>() / accuracy.len() as f64;
    if mean < ACCURACY {
        return Err(format!("the mean accuracy at 0.1 is {mean:.2}").into());
    }
    Ok(())
}
