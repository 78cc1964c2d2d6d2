//! Experiment: collisions from ten strikes. Maps are learned from the first ten strikes of six recorded sets; the other hundred
//! of each say how well strikes are predicted.
//!
//! `cargo run --release -p carom-tasks --example strikes` prints a table. It needs the recordings `clash_strikes`; `-- --quick`
//! takes one set.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

use std::error::Error;

use carom_tasks::collision_map::{self, Score, StrikeMapping};

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

fn main() -> Result<(), Box<dyn Error>> {
    let folder = carom_testing::root().join("datasets");
    let mapping = StrikeMapping::read(&folder.join("clash_strikes.toml"))?;
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let sets = if is_quick { &SETS[5..] } else { &SETS[..] };
    let mut accuracy = Vec::new();
    println!("set                          accuracy 0.05  0.1   median  position (m)  yaw (rad)");
    for &(shape, setting, reported) in sets {
        let name = format!("data/clash_strikes/{shape}-{setting}.npz");
        let Some(file) = carom_testing::shared(&name) else {
            println!("{shape} {setting}: skipped, no recording");
            continue;
        };
        let model = carom::load::file(&folder.join(format!("clash_{shape}.xml")), &[])?.model;
        let recorded = collision_map::read(&file, &mapping)?;
        let bodies = collision_map::bodies(&model, &mapping, recorded.mass)?;
        let (shots, test) = recorded.strikes.split_at(SHOTS);
        let learned = collision_map::learn(bodies, shots)?;
        let gyration = learned.map.bodies.struck.gyration;
        let score = Score::of(&learned.map.predict(test), test, gyration);
        println!(
            "{:28} {:8.2} {:9.2} {:8.4} {:10.4} {:10.3}",
            format!("{shape} {setting}"),
            score.accuracy(0.05),
            score.accuracy(0.1),
            score.median(),
            score.position,
            score.yaw
        );
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
