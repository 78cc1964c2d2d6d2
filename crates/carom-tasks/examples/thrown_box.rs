//! Experiment: the contact of a box from five throws, with nothing chosen by hand. Motion capture recorded poses alone at 100 Hz, with 1 mm
//! and 0.5° of noise; the model starts at another friction, time constant and damping ratio. The preset `contact` has to find them again.
//!
//! `cargo run --release -p carom-tasks --example thrown_box` prints a table over twenty seeds and fails unless the intervals hold the truth
//! and the values are near it; `-- 20 40` does so for other seeds, `-- 20 30 0.04 0.03 0.05 1 5` for another box, thrown otherwise: half
//! sides (m), speed (m/s) and spin (rad/s).
#![allow(
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the figures are what the experiment is for; seeds are small numbers"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;
mod throws;

use std::error::Error;
use std::time::Instant;

use carom_tasks::identify::workflow::{self, Question, WantedChecks};
use carom_tasks::identify::{Outcome, Settings, Unwatched};
use carom_tasks::recording::{self, Mapping};
use cpu_time::ProcessTime;
use throws::{MAPPING, Thrown};

/// Sliding friction, time constant (s) and damping ratio, as they are and as the model has them.
const TRUTH: [f64; 3] = [0.35, 0.012, 0.5];
const START: [f64; 3] = [0.8, 0.02, 1.0];
/// How far an estimate may be from the truth, relative.
const MAX_ERROR: f64 = 0.15;
/// Of twenty seeds, as many must have all three parameters within their intervals and near the truth.
const MIN_GOOD: f64 = 17.0 / 20.0;
/// Part of all intervals that must hold the truth.
const MIN_COVERAGE: f64 = 0.92;

fn identified(thrown: Thrown, seed: u64) -> Result<Outcome, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("carom-throws-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let hidden = common::model_from_text(thrown.mjcf())?;
    let paths = thrown.record(&hidden, &folder, seed)?;
    let path = folder.join("box.xml");
    let started = Thrown {
        contact: START,
        ..thrown
    };
    std::fs::write(&path, started.mjcf())?;
    let loaded = carom::load::file(&path, &[])?;
    let mapping = Mapping::parse(MAPPING, "mapping.toml")?;
    let recordings = recording::load(&loaded.model, &mapping, &paths)?;
    std::fs::remove_dir_all(&folder)?;
    let mut settings = Settings::default();
    settings.add_preset("contact")?;
    let question = Question {
        model: &loaded.model,
        spec: &loaded.spec,
        original: None,
        recordings: &recordings,
        held_out: None,
        settings,
        checks: WantedChecks::default(),
        resume: None,
    };
    Ok(workflow::identify(&question, None, &mut Unwatched)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<f64> = (std::env::args().skip(1))
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let mut thrown = Thrown {
        size: [0.06, 0.045, 0.03],
        contact: TRUTH,
        speeds: [1.5, 8.0],
        throws: 5,
        frames: 100,
    };
    let mut seeds = 0..20;
    if common::is_quick() {
        (seeds, thrown.throws, thrown.frames) = (0..1, 3, 45);
    }
    if let [first, last, rest @ ..] = numbers.as_slice() {
        seeds = *first as u64..*last as u64;
        if let [a, b, c, speed, spin] = rest {
            (thrown.size, thrown.speeds) = ([*a, *b, *c], [*speed, *spin]);
        }
    }
    let (mut good, mut held, mut count) = (0, 0, 0);
    let tried = seeds.end - seeds.start;
    for seed in seeds {
        let (clock, wall) = (ProcessTime::now(), Instant::now());
        let outcome = identified(thrown, seed)?;
        let found = &outcome.identified;
        let (time, wall) = (clock.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
        println!(
            "seed {seed}: {}, residuals {:.3} of the noise, {} runs, errors {:.1} times those by derivatives, {time:.0} s of one core, {wall:.0} s",
            outcome.verdict().grade,
            found.noise,
            outcome.runs,
            found.repetitions.as_ref().map_or(1.0, |one| one.factor)
        );
        let mut is_good = true;
        for (one, truth) in found.estimates.iter().zip(TRUTH) {
            let [low, high] = one.interval;
            let holds = low <= truth && truth <= high;
            is_good &= holds && (one.value / truth - 1.0).abs() < MAX_ERROR;
            (held, count) = (held + u32::from(holds), count + 1);
            let word = if holds { "holds" } else { "misses" };
            println!(
                "  {:24} {:.5} ± {:.5}  {low:.5} … {high:.5}  {word} {truth}",
                one.name, one.value, one.error
            );
        }
        good += u32::from(is_good);
    }
    println!("{good} of {tried} seeds are good, {held} of {count} intervals hold the truth");
    let is_covered = f64::from(held) >= MIN_COVERAGE * f64::from(count);
    if f64::from(good) < MIN_GOOD * tried as f64 || !is_covered {
        return Err("the preset does not find the contact of enough throws".into());
    }
    Ok(())
}
