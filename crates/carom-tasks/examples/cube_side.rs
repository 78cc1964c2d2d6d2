//! Experiment: the side of a cube from its tosses, by gradient [Paulus 2025, fig. 9].
//!
//! Tosses are cut into segments of five frames, of which four are predicted; the loss is the mean squared error of poses, with
//! orientations as matrices. Adam looks for the side from 60 to 140 mm, by steps of one frame and in continuous time, each with and
//! without contacts from distance. Below 70 mm nothing touches in any segment and the loss is flat: only contacts from distance
//! lead away from there. In fixed steps the gradient is that of the steps, and is zero elsewhere than where the loss is lowest.
//!
//! In continuous time and with contacts from distance, all starts must end at the same side within two per cent, each in less than a
//! minute of one core. In the paper a step of Adam takes 5 to 10 s, and the start at 140 mm was given up.
//!
//! `cargo run --release -p carom-tasks --example cube_side` (some minutes) prints a table and writes
//! `target/experiments/cube_side/`; with `-- --quick` for fewer tosses and starts. The recordings are looked for in
//! `CAROM_SHARED`; without them, tosses of a hidden cube are simulated.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;
mod cube;

use std::error::Error;

use carom::model::ContactsFromDistance;
use carom::parameters::Parameters;
use carom_optimise::{
    Adam, AdamSettings, Bounds, Evaluation, Failure, Limits, OneByOne, Outcome, Request, Schedule,
    Search, Space, Unobserved, minimise,
};
use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::loss::Loss;
use carom_tasks::problem::{Horizon, Problem, Settings, Stepping};
use cpu_time::ProcessTime;

use cube::{Cube, PAPER, TRUTHS, Tosses};

/// Tosses, and starts (mm).
const EXTENT: (usize, &[f64]) = (40, &[60.0, 80.0, 100.0, 120.0, 140.0]);
/// The same in the quick form.
const QUICK: (usize, &[f64]) = (4, &[60.0, 140.0]);
/// Steps of Adam, and how they shrink: half sides (m).
const STEPS: u64 = 30;
const RATE: Schedule = Schedule::Cosine {
    rate: 2.5e-3,
    last: 0.01,
};
/// Sides that are looked at (m).
const RANGE: [f64; 2] = [0.04, 0.16];
/// Allowed error of a step.
const TOLERANCE: f64 = 1e-5;
/// By how much ends may differ, as a part.
const SPREAD: f64 = 0.02;
/// What a search may take of one core, where the program is optimised (s).
const MAX_SECONDS: f64 = 60.0;
/// What the cube of simulated tosses is like.
const HIDDEN: Cube = Cube {
    side: 0.097,
    ..PAPER
};

/// How the gradient is computed.
struct Variant {
    name: &'static str,
    is_adaptive: bool,
    is_distant: bool,
}

const VARIANTS: [Variant; 4] = [
    Variant {
        name: "steps",
        is_adaptive: false,
        is_distant: false,
    },
    Variant {
        name: "steps, from distance",
        is_adaptive: false,
        is_distant: true,
    },
    Variant {
        name: "continuous",
        is_adaptive: true,
        is_distant: false,
    },
    Variant {
        name: "continuous, from distance",
        is_adaptive: true,
        is_distant: true,
    },
];

impl Variant {
    fn settings(&self) -> Settings {
        Settings {
            loss: Loss::squared_poses(),
            horizon: Horizon::Segments {
                frames: 5,
                every: 5,
            },
            stepping: if self.is_adaptive {
                cube::adaptive(TOLERANCE)
            } else {
                Stepping::Fixed
            },
            // A metre, as in the text of the paper: a centimetre, as in its public settings, is not felt from 60 mm.
            from_distance: self.is_distant.then(|| ContactsFromDistance {
                width: 1.0,
                power: 4.0,
                ..ContactsFromDistance::default()
            }),
            ..Settings::default()
        }
    }

    /// Whether it is the one of which something is claimed.
    fn is_claimed(&self) -> bool {
        self.is_adaptive && self.is_distant
    }
}

/// A search from one start.
struct Descent {
    start: f64,
    /// Side after every step (mm), and the loss there.
    path: Vec<[f64; 2]>,
    /// CPU time (s).
    seconds: f64,
}

impl Descent {
    /// What it found: the side (mm) with the lowest loss on its way, and the loss there. Gradients from distance are those of another
    /// force, so that the last step need not be the best one.
    fn end(&self) -> [f64; 2] {
        let lowest = self.path.iter().min_by(|a, b| a[1].total_cmp(&b[1]));
        lowest.copied().unwrap_or([f64::NAN; 2])
    }

    fn side(&self) -> f64 {
        self.end()[0]
    }

    fn seconds_a_step(&self) -> f64 {
        self.seconds / self.path.len() as f64
    }
}

fn descend(problem: &Problem<'_>, start: f64) -> Result<Descent, Box<dyn Error>> {
    let half = |side: f64| 0.5e-3 * side;
    let bounds = Bounds::new(vec![0.5 * RANGE[0]], vec![0.5 * RANGE[1]])?;
    // Gradients by metres, as in the paper: so ε is as small beside them as there.
    let space = Space::new(vec![half(start)], bounds)?.with_scale(vec![1.0])?;
    let settings = AdamSettings {
        schedule: RATE,
        decay: [0.5, 0.9],
        epsilon: 1e-6,
        steps: STEPS,
        ..AdamSettings::default()
    };
    let adam = Adam::new(&space, settings);
    let mut search = Search::new(space, adam);
    let mut path = Vec::new();
    let clock = ProcessTime::now();
    let mut evaluator = OneByOne(|request: &Request| -> Outcome {
        let found = problem.gradient(&request.point);
        let found = found.map_err(|error| Failure::new(error.to_string()))?;
        path.push([2e3 * request.point[0], found.value]);
        Ok(Evaluation::Gradient {
            value: found.value,
            gradient: found.gradient,
        })
    });
    minimise(
        &mut search,
        &mut evaluator,
        &Limits::default(),
        &mut Unobserved,
    )?;
    Ok(Descent {
        start,
        seconds: clock.elapsed().as_secs_f64(),
        path,
    })
}

/// Least and greatest side that searches ended at, and their difference as a part.
fn spread(descents: &[Descent]) -> (f64, f64, f64) {
    let sides = descents.iter().map(Descent::side);
    let (low, high) = sides.fold((f64::INFINITY, 0.0_f64), |(low, high), side| {
        (low.min(side), high.max(side))
    });
    (low, high, (high - low) / (0.5 * (high + low)))
}

/// Fails unless all starts end at one side, in time.
fn check(descents: &[Descent], tosses: &Tosses) {
    let (low, high, part) = spread(descents);
    assert!(
        part < SPREAD,
        "the starts end between {low:.2} and {high:.2} mm: {:.1} per cent apart",
        100.0 * part
    );
    if let Some(truth) = &tosses.truth {
        for descent in descents {
            let error = (descent.side() / (1e3 * truth.side) - 1.0).abs();
            assert!(
                error < SPREAD,
                "{:.2} mm instead of {:.2} mm",
                descent.side(),
                1e3 * truth.side
            );
        }
    }
    let longest = descents.iter().map(|descent| descent.seconds);
    let longest = longest.fold(0.0, f64::max);
    if !cfg!(debug_assertions) {
        assert!(longest < MAX_SECONDS, "a search takes {longest} s");
    }
}

/// What the sides are beside those that may be called true.
fn beside_truths(side: f64, tosses: &Tosses) -> String {
    let truths: Vec<(f64, &str)> = match &tosses.truth {
        Some(truth) => vec![(1e3 * truth.side, "simulated")],
        None => TRUTHS.to_vec(),
    };
    let words: Vec<String> = (truths.iter())
        .map(|(truth, what)| {
            let error = 100.0 * (side / truth - 1.0);
            format!("{error:+.1} % of {truth:.1} mm ({what})")
        })
        .collect();
    words.join(", ")
}

fn main() -> Result<(), Box<dyn Error>> {
    let (count, starts) = if common::is_quick() { QUICK } else { EXTENT };
    let tosses = Tosses::of("train.npz", count, HIDDEN)?;
    let model = PAPER.model()?;
    let mut page = Page::new("The side of a cube from its tosses");
    let mut rows = Vec::new();
    let mut losses = Vec::new();
    let mut line = String::new();
    let mut claimed = Vec::new();
    for variant in &VARIANTS {
        let parameters = Parameters::select(&model, &["geom.cube.size tied"])?;
        let problem = Problem::new(&tosses.recordings, parameters, variant.settings())?;
        let descents: Vec<Descent> = (starts.iter())
            .map(|&start| descend(&problem, start))
            .collect::<Result<_, _>>()?;
        for descent in &descents {
            rows.push(vec![
                variant.name.to_owned(),
                format!("{:.0}", descent.start),
                format!("{:.2}", descent.side()),
                format!("{:.3e}", descent.end()[1]),
                format!("{:.2}", descent.seconds_a_step()),
                format!("{:.1}", descent.seconds),
            ]);
        }
        let curves: Vec<Series> = (descents.iter())
            .map(|descent| {
                let path = descent.path.iter().enumerate();
                // A search that has no gradient ends at once, and stays where it is.
                let stays = [STEPS as f64, descent.side()];
                let points = path.map(|(step, [side, _])| [step as f64, *side]);
                let points = points.chain([stays]).collect();
                Series::line(format!("from {:.0} mm", descent.start), points)
            })
            .collect();
        page = page.chart(&Chart {
            title: variant.name,
            x: ("step of Adam", Scale::Linear),
            y: ("side (mm)", Scale::Linear),
            series: &curves,
        });
        let points = descents.iter().flat_map(|descent| descent.path.clone());
        losses.push(Series::dots(variant.name, points.collect()));
        if variant.is_claimed() {
            line = conclude(&tosses, problem.all_runs().len(), &descents);
            claimed = descents;
        }
    }
    let head = [
        "gradient",
        "start (mm)",
        "side (mm)",
        "loss",
        "s a step",
        "s",
    ];
    common::print_table(&head, &rows, 1);
    println!("{line}");
    check(&claimed, &tosses);
    let page = page
        .heading("All searches")
        .text(&line)
        .table(&head, &rows)
        .chart(&Chart {
            title: "Loss where the searches have been",
            x: ("side (mm)", Scale::Linear),
            y: ("mean squared error", Scale::Logarithmic),
            series: &losses,
        });
    common::save(&page, "cube_side")
}

/// The result in words.
fn conclude(tosses: &Tosses, segments: usize, descents: &[Descent]) -> String {
    let (low, high, part) = spread(descents);
    let longest = descents.iter().map(|descent| descent.seconds);
    let slowest = descents.iter().map(Descent::seconds_a_step);
    format!(
        "{}, {segments} segments: in continuous time and with contacts from distance all {} starts end between {low:.2} and {high:.2} mm, {:.2} per cent apart: {}. A step of Adam takes {:.2} s of one core at most, a search {:.1} s; the paper states 5 to 10 s a step.",
        tosses.describe(),
        descents.len(),
        100.0 * part,
        beside_truths(0.5 * (low + high), tosses),
        slowest.fold(0.0, f64::max),
        longest.fold(0.0, f64::max),
    )
}
