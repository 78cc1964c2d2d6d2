//! Intervals of parameters that are found through contacts in fixed steps, against a known truth.

use std::fmt::Write as _;

use carom::parameters::Parameters;
use carom::{Data, Input, Model, State};
use carom_optimise::random::Random;
use carom_tasks::identify::{ErrorBasis, Free, Identified, Settings, Solution, Task, Unwatched};
use carom_tasks::recording::{self, Mapping, Recordings};
use carom_testing::{at_least, by_tier};

use crate::support::{Folder, model};

/// Deviations of measured positions (m), rotations (rad), and their rates.
const NOISE: [f64; 4] = [5e-4, 5e-3, 0.05, 0.2];
const MAPPING: &str = "time.column = 't'\n[[body]]\nname = 'cube'\nposition = 'p[0:3]'\nrotation = 'p[3:7]'\n\
    linear_velocity = 'v[0:3]'\nangular_velocity = 'v[3:6]'\n\
    noise = { position = 0.0005, rotation = 0.005, linear_velocity = 0.05, angular_velocity = 0.2 }\n";
const FREE: [&str; 2] = [
    "geom.cube.size tied bounds(0.04,0.065)",
    "geom.*.friction[0] tied bounds(0.01,0.5)",
];
const TRUTH: [f64; 2] = [0.0535, 0.15];
const FRAMES: usize = 80;

/// A toss of a cube that tumbles over the board; its start is known, the rest is measured.
fn toss(cube: &Model, random: &mut Random) -> String {
    let mut state = State::reference(cube);
    state.qpos[2] = 0.15;
    for (velocity, size) in (state.qvel.iter_mut()).zip([0.8, 0.3, 0.5, 5.0, 5.0, 5.0]) {
        *velocity = size * random.normal();
    }
    let (input, mut data) = (Input::zeros(cube), Data::new(cube));
    let names = (0..7).map(|k| format!("p[{k}]"));
    let names = names.chain((0..6).map(|k| format!("v[{k}]")));
    let mut text = format!("t,{}\n", names.collect::<Vec<_>>().join(","));
    for frame in 0..FRAMES {
        let mut numbers = [state.qpos.clone(), state.qvel.clone()].concat();
        for (k, number) in numbers.iter_mut().enumerate().filter(|_| frame > 0) {
            let deviation = match k {
                0..3 => NOISE[0],
                // Half of an angle is in a quaternion.
                3..7 => 0.5 * NOISE[1],
                7..10 => NOISE[2],
                _ => NOISE[3],
            };
            *number += deviation * random.normal();
        }
        let size = numbers[3..7].iter().map(|q| q * q).sum::<f64>().sqrt();
        numbers[3..7].iter_mut().for_each(|q| *q /= size);
        let cells: Vec<String> = numbers.iter().map(f64::to_string).collect();
        writeln!(text, "{},{}", state.time, cells.join(",")).unwrap();
        carom::step(cube, &mut state, &input, &mut data);
    }
    text
}

fn tosses(folder: &Folder, cube: &Model, seed: u64) -> Recordings {
    let parameters =
        Parameters::select(cube, &["geom.cube.size tied", "geom.*.friction[0] tied"]).unwrap();
    let other = parameters.apply(&TRUTH).unwrap();
    let mut random = Random::new(seed, 0);
    let paths: Vec<_> = (0..3)
        .map(|k| folder.write(&format!("toss{k}.csv"), &toss(&other, &mut random)))
        .collect();
    let mapping = Mapping::parse(MAPPING, "map.toml").unwrap();
    recording::load(cube, &mapping, &paths).unwrap()
}

fn found(cube: &Model, recordings: &Recordings) -> (Solution, Identified) {
    let settings = Settings {
        free: (FREE.iter())
            .map(|name| Free::new(name.parse().unwrap()))
            .collect(),
        ..Settings::default()
    };
    let mut task = Task::new(cube, recordings, settings).unwrap();
    task.warm_up(None).unwrap();
    let solution = task.solve(None, None, &mut Unwatched).unwrap();
    let found = task.conclude(&solution).unwrap();
    (solution, found)
}

/// Intervals of 95 % through many impacts in fixed steps hold the truth in at least 90 % of cases: 58 of 60 over thirty sets of tosses. They
/// did so in 47 of 58 before searches looked behind walls of the loss (`scatter.rs`), and in one set of thirty the search ended in
/// another minimum. They are not so wide either that they would say nothing.
#[test]
fn intervals_through_contacts_hold_the_truth() {
    let sets = by_tier(4, 30);
    let cube = model("datasets/contactnets_cube.xml");
    let folder = Folder::new("contact-intervals");
    let (mut count, mut held, mut by_slopes) = (0_usize, 0_usize, 0_usize);
    for seed in 0..sets {
        let recordings = tosses(&folder, &cube, seed);
        let (solution, found) = found(&cube, &recordings);
        println!(
            "{seed}: noise {:.2}, {:?}, by secants: {}",
            found.noise, found.basis, solution.is_by_secants
        );
        // No search ends in another minimum: the noise would show it.
        assert!(found.noise < 1.06, "set {seed}: {}", found.noise);
        by_slopes += usize::from(found.basis == ErrorBasis::Secants);
        for (one, truth) in found.estimates.iter().zip(TRUTH) {
            let [low, high] = one.interval;
            println!("  {}: {low} … {high}", one.name);
            assert!(high - low < 0.05 * truth, "{one:?}");
            count += 1;
            held += usize::from(low <= truth && truth <= high);
        }
    }
    println!("{held} of {count} intervals hold the truth, those of {by_slopes} sets are by slopes");
    assert!(by_slopes > 0, "errors are never by slopes");
    assert!(10 * held >= 9 * count, "{held} of {count}");
    at_least(
        &format!("intervals through contacts that hold the truth, of {sets} sets"),
        held,
    );
}
