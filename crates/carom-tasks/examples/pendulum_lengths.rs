//! Experiment: the link lengths of a double pendulum, 3 and 4, from the angles of its joints [Heiden 2021, fig. 4]. A search that
//! goes down from where it starts finds them from some starts only; basin hopping finds them from all.
//!
//! `cargo run --release -p carom-tasks --example pendulum_lengths` prints a table and writes `target/experiments/pendulum_lengths/`.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;
mod motions;

use std::error::Error;
use std::f64::consts::FRAC_PI_2;
use std::path::PathBuf;

use carom::{Model, State};
use carom_optimise::random::Random;
use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::identify::{Free, OptimiserKind, Settings, Task, Unwatched};
use carom_tasks::problem::Horizon;
use carom_tasks::recording::{self, Mapping, Recordings};
use cpu_time::ProcessTime;
use motions::Motion;
use rayon::prelude::*;

/// Link lengths of the recording, and how near to both counts as found (m).
const TRUTH: [f64; 2] = [3.0, 4.0];
const NEAR: f64 = 0.01;
/// Range of the lengths in every search, and of its starts.
const BOUNDS: [f64; 2] = [0.05, 12.0];
const STARTS: f64 = 10.0;
/// Cells along each side of the map of starts, and in its quick form.
const CELLS: [usize; 2] = [20, 5];
/// Random starts of basin hopping, and in its quick form.
const HOPPERS: [u64; 2] = [20, 2];

/// Steps of the recording that are compared, and in the quick form: the fewer, the fewer minima.
const FRAMES: [usize; 2] = [500, 100];

/// What `SciPy`'s L-BFGS-B with central differences reaches on the same recording: the part of starts that succeed, and the
/// rollouts of all of them. Its basin hopping, of 30 hops, finds the lengths from all of 20 starts.
const PEER_SUCCESS: f64 = 0.635;
const PEER_ROLLOUTS: [usize; 2] = [44_425, 42_085];
/// The part of starts that must succeed on the few frames of the quick form; the peer has 96.8 % there.
const QUICK_SUCCESS: f64 = 0.9;

fn frames() -> usize {
    FRAMES[usize::from(common::is_quick())]
}

/// The recording that is shared, or one that the model makes itself.
fn recordings(model: &Model) -> Result<Recordings, Box<dyn Error>> {
    let mapping = std::fs::read_to_string(common::root().join("datasets/pendulum_lengths.toml"))?;
    // Fourth-order steps of a frame each: they are off by less than a millionth.
    let mapping = mapping + "\n[simulation]\nsteps_per_frame = 1\n";
    let shared = std::env::var_os("CAROM_SHARED");
    let shared = shared.map_or_else(|| common::root().join("../shared"), PathBuf::from);
    let path = shared.join("data/pendulum_lengths/reference.npz");
    if path.is_file() {
        let mapping = Mapping::parse(&mapping, "pendulum_lengths.toml")?;
        return Ok(recording::load(model, &mapping, &[path])?);
    }
    println!(
        "{} is not there: the model makes a recording itself",
        path.display()
    );
    let mut start = State::reference(model);
    start.qpos.copy_from_slice(&[FRAC_PI_2, 0.3]);
    let motion = Motion {
        start,
        frames: FRAMES[0],
        every: 10,
        control: &|_| Vec::new(),
        noise: [0.0; 2],
        seed: 0,
    };
    let mapping = mapping.replace("dt = \"dt\"", "column = \"t\"");
    motion.record(model, ("pendulum_lengths", &mapping), model)
}

/// How a search went.
struct Search {
    start: [f64; 2],
    /// Greatest difference of a length to the truth.
    distance: f64,
    rollouts: usize,
}

impl Search {
    fn succeeds(&self) -> bool {
        self.distance < NEAR
    }
}

/// A search from some lengths, as `carom identify --optimiser` makes it.
fn search(
    (model, recordings): (&Model, &Recordings),
    (optimiser, seed): (OptimiserKind, u64),
    start: [f64; 2],
) -> Result<Search, Box<dyn Error + Send + Sync>> {
    let mut settings = Settings {
        optimiser,
        seed,
        ..Settings::default()
    };
    for (rod, length) in ["rod1", "rod2"].iter().zip(start) {
        let mut free = Free::new(format!("body.{rod}_*.pos[2] tied-ratio").parse()?);
        // Positions are below the joint.
        (free.bounds, free.start) = (Some([-BOUNDS[1], -BOUNDS[0]]), Some(-length));
        settings.free.push(free);
    }
    settings.problem.horizon = Horizon::Segments {
        frames: frames() + 1,
        every: FRAMES[0] + 1,
    };
    let task = Task::new(model, recordings, settings)?;
    let solution = task.solve(None, None, &mut Unwatched)?;
    let lengths = solution.x.iter().map(|position| -position);
    let distance = lengths
        .zip(TRUTH)
        .map(|(length, truth)| (length - truth).abs());
    Ok(Search {
        start,
        distance: distance.fold(0.0, f64::max),
        rollouts: solution.history.len(),
    })
}

/// Searches from many starts, and the CPU time of all (s).
fn searches(
    known: (&Model, &Recordings),
    optimiser: OptimiserKind,
    starts: &[[f64; 2]],
) -> Result<(Vec<Search>, f64), Box<dyn Error + Send + Sync>> {
    let begin = ProcessTime::now();
    let found: Result<Vec<Search>, _> = (0..starts.len())
        .into_par_iter()
        .map(|index| search(known, (optimiser, index as u64), starts[index]))
        .collect();
    Ok((found?, begin.elapsed().as_secs_f64()))
}

/// Centres of the cells of a grid.
fn grid(cells: usize) -> Vec<[f64; 2]> {
    let center = |index: usize| STARTS * (index as f64 + 0.5) / cells as f64;
    (0..cells * cells)
        .map(|index| [center(index / cells), center(index % cells)])
        .collect()
}

fn success(searches: &[Search]) -> f64 {
    let count = searches.iter().filter(|search| search.succeeds()).count();
    count as f64 / searches.len() as f64
}

/// A map of starts: from where the lengths are found.
fn map(page: Page, name: &str, searches: &[Search]) -> Page {
    let starts = |succeeds: bool| -> Vec<[f64; 2]> {
        let these = searches.iter().filter(|one| one.succeeds() == succeeds);
        these.map(|search| search.start).collect()
    };
    page.chart(&Chart {
        title: &format!("{name}: starts from which both lengths are found"),
        x: ("first length at the start (m)", Scale::Linear),
        y: ("second length at the start (m)", Scale::Linear),
        series: &[
            Series::dots("found", starts(true)),
            Series::dots("not found", starts(false)),
            Series::dots("truth", vec![TRUTH]),
        ],
    })
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let model = common::model_from_file("datasets/pendulum_lengths.xml")
        .map_err(|error| error.to_string())?;
    let recordings = recordings(&model).map_err(|error| error.to_string())?;
    let form = usize::from(common::is_quick());
    let mut random = Random::new(1, 0);
    let scattered: Vec<[f64; 2]> = (0..HOPPERS[form])
        .map(|_| {
            [random.uniform() * STARTS, random.uniform() * STARTS]
                .map(|length| length.max(BOUNDS[0]))
        })
        .collect();
    let mut rows = vec![
        row(
            "SciPy: L-BFGS-B, differences, 500 frames",
            (400, PEER_SUCCESS),
            PEER_ROLLOUTS[0],
            None,
        ),
        row(
            "SciPy: basin hopping, 30 hops, 500 frames",
            (20, 1.0),
            PEER_ROLLOUTS[1],
            None,
        ),
    ];
    let mut page = Page::new("Link lengths of a double pendulum")
        .text(&format!("Both lengths from {} frames of the joints' angles, from starts anywhere in 0 … 10 m. The loss has many minima: a search that goes down from its start ends in one of them, basin hopping walks from one to the next.", frames()));
    let mut wanted = Vec::new();
    for (name, optimiser, starts) in [
        ("L-BFGS-B", OptimiserKind::Lbfgs, grid(CELLS[form])),
        ("Levenberg–Marquardt", OptimiserKind::Lm, grid(CELLS[form])),
        ("basin hopping", OptimiserKind::BasinHopping, scattered),
    ] {
        let (found, seconds) = searches((&model, &recordings), optimiser, &starts)?;
        let rollouts = found.iter().map(|search| search.rollouts).sum();
        let part = success(&found);
        rows.push(row(
            &format!("carom: {name}"),
            (found.len(), part),
            rollouts,
            Some(seconds),
        ));
        page = map(page, name, &found);
        // What others reach is that of 400 starts and 500 frames.
        let least = match optimiser {
            OptimiserKind::BasinHopping => 1.0,
            _ if common::is_quick() => QUICK_SUCCESS,
            _ => PEER_SUCCESS,
        };
        wanted.push((name, part, least));
    }
    let head = ["search", "starts", "found (%)", "rollouts", "CPU (s)"];
    common::print_table(&head, &rows, 1);
    page = page.text("Rollouts of carom come with exact derivatives; differences take five rollouts for each.").table(&head, &rows);
    common::save(&page, "pendulum_lengths").map_err(|error| error.to_string())?;
    for (name, part, least) in wanted {
        assert!(
            part >= least,
            "{name} finds the lengths from {:.1} % of its starts, less than {:.1} %",
            100.0 * part,
            100.0 * least
        );
    }
    Ok(())
}

fn row(
    name: &str,
    (starts, part): (usize, f64),
    rollouts: usize,
    seconds: Option<f64>,
) -> Vec<String> {
    vec![
        name.to_owned(),
        starts.to_string(),
        format!("{:.1}", 100.0 * part),
        rollouts.to_string(),
        seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.1}")),
    ]
}
