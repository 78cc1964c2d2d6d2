//! Experiment: all contact parameters and the side of a cube at once from its tosses [Paulus 2025, fig. S7], by
//! Levenberg–Marquardt with Jacobians of forward sensitivities and by CMA-ES.
//!
//! Both make the same loss small: segments of tosses, followed in continuous time, mean squared errors of poses. From the tuned
//! start of the paper ten frames are predicted, from random ones four, as there; of those, Levenberg–Marquardt takes the lowest of twelve, which counts as
//! simulations too. CMA-ES is run until it is as low as
//! Levenberg–Marquardt was at its end. What both took is shown for that loss and for higher ones: evaluations, whatever they cost;
//! simulations, with Jacobians as those that take as long; and CPU time. At the end of Levenberg–Marquardt CMA-ES must have needed
//! ten times the evaluations and ten times the CPU time; where it has used a fifth more than that, it is given up.
//!
//! The paper finds the mass too. It is no parameter of these motions: forces of MuJoCo's contacts are in proportion to the mass they
//! act on, so that the derivative by it is zero, which is checked.
//!
//! `cargo run --release -p carom-tasks --example cube_contact` (about half an hour on two cores) prints tables and writes
//! `target/experiments/cube_contact/`; with `-- --quick` for fewer tosses and starts, and CMA-ES given up where it has used more than
//! ten times. The recordings are looked for in `CAROM_SHARED`; without them, tosses of a hidden cube are simulated.
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

#[path = "../../carom/examples/common/mod.rs"]
mod common;
mod cube;

use std::error::Error;

use carom::Model;
use carom::parameters::Parameters;
use carom_optimise::linalg::Matrix;
use carom_optimise::random::Random;
use carom_optimise::{
    Bounds, CmaSettings, Evaluation, Failure, LeastSquaresSettings, Limits, LocalSettings,
    OneByOne, Optimiser, Outcome, Request, Settings as Method, Space, Unobserved, Want, minimise,
};
use carom_plot::{Chart, Page, Scale, Series};
use carom_tasks::evaluate::evaluate;
use carom_tasks::loss::Loss;
use carom_tasks::problem::{Horizon, Problem, Settings};
use carom_tasks::recording::Recordings;
use cpu_time::ProcessTime;

use cube::{Cube, PAPER, Tosses};

/// What is free, and between what.
const FREE: [(&str, [f64; 2]); 9] = [
    ("geom.cube.size tied", [0.03, 0.07]),
    ("geom.*.solref[0] log tied", [0.005, 0.1]),
    ("geom.*.solref[1] log tied", [0.1, 5.0]),
    ("geom.*.solimp[0] tied", [0.001, 0.9]),
    ("geom.*.solimp[1] tied", [0.5, 0.999]),
    ("geom.*.solimp[2] log tied", [0.001, 0.05]),
    ("geom.*.solimp[3] tied", [0.1, 0.9]),
    ("geom.*.solimp[4] tied", [1.0, 5.0]),
    ("geom.*.friction[0] log tied", [0.02, 2.0]),
];

/// Tosses of the fit, tosses kept back, and random starts.
const EXTENT: (usize, usize, usize) = (24, 40, 3);
/// The same in the quick form.
const QUICK: (usize, usize, usize) = (1, 4, 0);
/// Predicted frames from the tuned start and from random ones.
const HORIZONS: [usize; 2] = [10, 4];
/// Allowed error of a step.
const TOLERANCE: f64 = 1e-4;
/// By how many times CMA-ES must need more evaluations and more CPU time.
const RATIOS: [f64; 2] = [10.0, 10.0];
/// CMA-ES is given up beyond this multiple of them; in the quick form as soon as it has used more.
const PATIENCE: f64 = 1.2;
/// Losses at which both are compared, in parts above the end of Levenberg–Marquardt.
const LEVELS: [f64; 4] = [0.1, 0.01, 0.001, 0.0];
/// Points of which Levenberg–Marquardt takes the lowest, the first of them that of CMA-ES, where starts are random.
const SCREENED: u64 = 12;
/// Most simulations of CMA-ES.
const MOST: u64 = 6000;
/// What the cube of simulated tosses is like.
const HIDDEN: Cube = Cube {
    side: 0.104,
    friction: 0.25,
    solref: [0.03, 0.8],
    solimp: [0.02, 0.9, 0.015, 0.5, 2.0],
};

/// What a search asked for, and what it took.
#[derive(Default)]
struct Cost {
    /// Values, and Jacobians, with the CPU time of each (s).
    simulations: usize,
    simulating: f64,
    jacobians: usize,
    linearising: f64,
    /// After every evaluation: CPU time so far (s), values and Jacobians so far, and the lowest loss.
    path: Vec<(f64, [usize; 2], f64)>,
}

impl Cost {
    fn seconds(&self) -> f64 {
        self.simulating + self.linearising
    }

    /// CPU time as simulations that take as long.
    fn as_simulations(&self, seconds: f64) -> f64 {
        seconds * self.simulations as f64 / self.simulating
    }

    /// CPU time (s), values and Jacobians up to a loss; none if it was not reached.
    fn until(&self, loss: f64) -> Option<(f64, [usize; 2])> {
        let mut path = self.path.iter();
        let (seconds, count, _) = path.find(|(.., lowest)| *lowest <= loss)?;
        Some((*seconds, *count))
    }

    fn lowest(&self) -> f64 {
        self.path
            .last()
            .map_or(f64::INFINITY, |&(.., lowest)| lowest)
    }

    /// Evaluates a request, and keeps account of it.
    fn answer(&mut self, problem: &Problem<'_>, request: &Request) -> Outcome {
        let clock = ProcessTime::now();
        let found = match request.want {
            Want::Jacobian => jacobian(problem, &request.point),
            _ => problem
                .residuals(&request.point)
                .map(|found| Evaluation::Residuals(found.residuals))
                .map_err(|error| error.to_string()),
        };
        let seconds = clock.elapsed().as_secs_f64();
        if request.want == Want::Jacobian {
            self.jacobians += 1;
            self.linearising += seconds;
        } else {
            self.simulations += 1;
            self.simulating += seconds;
        }
        let found = found.map_err(Failure::new)?;
        let value = found.value();
        let lowest = if value < self.lowest() {
            value
        } else {
            self.lowest()
        };
        let count = [self.simulations, self.jacobians];
        self.path.push((self.seconds(), count, lowest));
        Ok(found)
    }
}

fn jacobian(problem: &Problem<'_>, point: &[f64]) -> Result<Evaluation, String> {
    let linear = problem
        .linearize(point)
        .map_err(|error| error.to_string())?;
    let jacobian = Matrix::from_data(linear.residuals.len(), point.len(), linear.dense())
        .ok_or("the Jacobian has not as many rows as there are residuals")?;
    Ok(Evaluation::Jacobian {
        residuals: linear.residuals,
        jacobian,
    })
}

/// Makes the loss small by a method; where it ended, and what it took. Ends early at a loss, or where a limit of time (s) and
/// simulations is passed.
fn search(
    problem: &Problem<'_>,
    method: &Method,
    space: &Space,
    target: Option<f64>,
    give_up: &dyn Fn(&Cost) -> bool,
) -> Result<(Vec<f64>, Cost, String), Box<dyn Error>> {
    search_after(Cost::default(), problem, method, space, target, give_up)
}

/// As [`search`], where something was spent before.
fn search_after(
    mut cost: Cost,
    problem: &Problem<'_>,
    method: &Method,
    space: &Space,
    target: Option<f64>,
    give_up: &dyn Fn(&Cost) -> bool,
) -> Result<(Vec<f64>, Cost, String), Box<dyn Error>> {
    let mut search = method.search(space.clone(), 1);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut evaluator = OneByOne(|request: &Request| {
        let outcome = cost.answer(problem, request);
        stop.fetch_or(give_up(&cost), std::sync::atomic::Ordering::Relaxed);
        outcome
    });
    let limits = Limits {
        target,
        stop: Some(&stop),
        ..Limits::default()
    };
    let end = minimise(&mut search, &mut evaluator, &limits, &mut Unobserved)?;
    let best = search.best().ok_or("the start cannot be simulated")?;
    Ok((best.point, cost, end.to_string()))
}

/// The lowest of some points: a start anywhere may lie beside a poor minimum.
fn lowest_of(
    points: &[Vec<f64>],
    problem: &Problem<'_>,
    cost: &mut Cost,
) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut lowest = (f64::INFINITY, points.first().ok_or("no start")?);
    for (id, point) in points.iter().enumerate() {
        let request = Request {
            id: id as u64,
            point: point.clone(),
            want: Want::Residuals,
        };
        let value = cost
            .answer(problem, &request)
            .map_or(f64::INFINITY, |found| found.value());
        if value < lowest.0 {
            lowest = (value, point);
        }
    }
    Ok(lowest.1.clone())
}

/// A start with what was found from it.
struct Comparison {
    name: String,
    frames: usize,
    first: f64,
    found: Vec<f64>,
    squares: Cost,
    cma: Cost,
}

impl Comparison {
    fn of(
        name: String,
        problem: &Problem<'_>,
        frames: usize,
        (space, others): (&Space, &[Vec<f64>]),
    ) -> Result<Self, Box<dyn Error>> {
        let first = problem.value(space.start())?.value;
        let squares = Method::Local(LocalSettings::LeastSquares(LeastSquaresSettings {
            value_tolerance: 1e-4,
            ..LeastSquaresSettings::default()
        }));
        let mut cost = Cost::default();
        let mut own = space.clone();
        if !others.is_empty() {
            let start = lowest_of(others, problem, &mut cost)?;
            own = Space::new(start, space.bounds().clone())?;
        }
        let (found, squares, end) = search_after(cost, problem, &squares, &own, None, &|_| false)?;
        println!(
            "{name}: {} simulations, {} Jacobians, {:.1} s, loss {:.4e}, {end}",
            squares.simulations,
            squares.jacobians,
            squares.seconds(),
            squares.lowest()
        );
        // CMA-ES need not get there: that it has not by then is enough.
        let patience = if common::is_quick() { 1.0 } else { PATIENCE };
        let evaluations = (squares.simulations + squares.jacobians) as f64;
        let is_beyond = |cost: &Cost| {
            cost.simulations as f64 > patience * RATIOS[0] * evaluations
                && cost.seconds() > patience * RATIOS[1] * squares.seconds()
        };
        let give_up = |cost: &Cost| cost.simulations as u64 >= MOST || is_beyond(cost);
        let cma = Method::CmaEs(CmaSettings::default());
        let (_, cma, _) = search(problem, &cma, space, Some(squares.lowest()), &give_up)?;
        println!(
            "{name}: CMA-ES {} simulations, {:.1} s, loss {:.4e}",
            cma.simulations,
            cma.seconds(),
            cma.lowest()
        );
        Ok(Self {
            name,
            frames,
            first,
            found,
            squares,
            cma,
        })
    }

    /// Evaluations and CPU time of CMA-ES beside those of Levenberg–Marquardt up to a loss; at least that if it was not reached.
    fn ratios(&self, loss: f64) -> [f64; 2] {
        let (seconds, [values, jacobians]) = self.squares.until(loss).unwrap_or_default();
        let all = (self.cma.seconds(), [self.cma.simulations, 0]);
        let (cma_seconds, [simulations, _]) = self.cma.until(loss).unwrap_or(all);
        [
            simulations as f64 / (values + jacobians) as f64,
            cma_seconds / seconds,
        ]
    }

    fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        LEVELS.into_iter().map(|level| {
            let loss = (1.0 + level) * self.squares.lowest();
            let (seconds, [values, jacobians]) = self.squares.until(loss).unwrap_or_default();
            let reached = self.cma.until(loss);
            let least = if reached.is_some() { "" } else { "> " };
            let all = (self.cma.seconds(), [self.cma.simulations, 0]);
            let (cma_seconds, [simulations, _]) = reached.unwrap_or(all);
            let [times_evaluations, times_seconds] = self.ratios(loss);
            vec![
                self.name.clone(),
                self.frames.to_string(),
                format!("{:.3e}", self.first),
                format!("{loss:.4e}"),
                format!("{values} + {jacobians}"),
                format!("{:.0}", self.squares.as_simulations(seconds)),
                format!("{seconds:.2}"),
                format!("{least}{simulations}"),
                format!("{least}{cma_seconds:.2}"),
                format!("{least}{times_evaluations:.1}"),
                format!("{least}{times_seconds:.1}"),
            ]
        })
    }
}

const HEAD: [&str; 11] = [
    "start",
    "frames",
    "loss there",
    "down to",
    "values + Jacobians",
    "as simulations",
    "s",
    "CMA-ES: simulations",
    "s",
    "times evaluations",
    "times s",
];

/// The bounds of all parameters.
fn box_of(parameters: &Parameters) -> Result<[Vec<f64>; 2], Box<dyn Error>> {
    let mut ends = [parameters.theta0(), parameters.theta0()].map(<[f64]>::to_vec);
    for (name, (_, range)) in parameters.names().zip(FREE) {
        for (end, value) in ends.iter_mut().zip(range) {
            parameters.set(end, name, value)?;
        }
    }
    Ok(ends)
}

/// What is searched, from a start.
fn space_of(parameters: &Parameters, start: Vec<f64>) -> Result<Space, Box<dyn Error>> {
    let [lower, upper] = box_of(parameters)?;
    Ok(Space::new(start, Bounds::new(lower, upper)?)?)
}

/// A start anywhere between the bounds.
fn random_start(parameters: &Parameters, seed: u64) -> Result<Vec<f64>, Box<dyn Error>> {
    let [lower, upper] = box_of(parameters)?;
    let mut random = Random::new(seed, 0);
    let ranges = lower.iter().zip(&upper);
    Ok(ranges
        .map(|(low, high)| low + (high - low) * random.uniform())
        .collect())
}

fn settings(frames: usize) -> Settings {
    Settings {
        loss: Loss::squared_poses(),
        horizon: Horizon::Segments {
            frames: frames + 1,
            every: frames + 1,
        },
        stepping: cube::adaptive(TOLERANCE),
        ..Settings::default()
    }
}

/// Fails unless nothing depends on the mass.
fn check_mass(model: &Model, recordings: &Recordings) -> Result<(), Box<dyn Error>> {
    let parameters = Parameters::select(model, &["geom.cube.mass log", "geom.cube.size log tied"])?;
    let problem = Problem::new(recordings, parameters, settings(HORIZONS[1]))?;
    let found = problem.gradient(&problem.start())?;
    let [by_mass, by_side] = [found.gradient[0], found.gradient[1]];
    println!(
        "loss {:.3e}; changes by {by_side:.1e} a part of the side and by {by_mass:.1e} a part of the mass",
        found.value
    );
    assert!(
        by_mass.abs() < 1e-9 * by_side.abs(),
        "the motion depends on the mass"
    );
    Ok(())
}

/// Errors of a model over whole tosses: mae13, distance (mm), angle (deg).
fn errors(model: &Model, recordings: &Recordings) -> Result<[f64; 3], Box<dyn Error>> {
    let report = evaluate(model, recordings, cube::adaptive(TOLERANCE))?;
    if let Some(failed) = report.failures().next() {
        return Err(format!("{}: {:?}", failed.label, failed.failure).into());
    }
    let of = |name: &str| report.total_of(name).unwrap_or(f64::NAN);
    Ok([of("mae13"), 1e3 * of("position"), of("rotation")])
}

fn main() -> Result<(), Box<dyn Error>> {
    let (count, kept, random) = if common::is_quick() { QUICK } else { EXTENT };
    let tosses = Tosses::of("train.npz", count, HIDDEN)?;
    let others = Tosses::of("first40.npz", kept, HIDDEN)?;
    let model = PAPER.model()?;
    check_mass(&model, &tosses.recordings)?;
    let parameters = Parameters::select(&model, &FREE.map(|(selector, _)| selector))?;
    let mut starts = vec![("tuned".to_owned(), vec![parameters.theta0().to_vec()])];
    for seed in 1..=random as u64 {
        let points = (0..SCREENED).map(|k| random_start(&parameters, 100 * seed + k));
        let points: Vec<Vec<f64>> = points.collect::<Result<_, _>>()?;
        starts.push((format!("random {seed}"), points));
    }
    let mut comparisons = Vec::new();
    let mut found_rows = Vec::new();
    let mut error_rows = Vec::new();
    for (index, (name, points)) in starts.into_iter().enumerate() {
        let start = points[0].clone();
        let screened = if index > 0 { &points[..] } else { &[] };
        let frames = HORIZONS[usize::from(index > 0)];
        let problem = Problem::new(&tosses.recordings, parameters.clone(), settings(frames))?;
        let space = space_of(&parameters, start.clone())?;
        let comparison = Comparison::of(name, &problem, frames, (&space, screened))?;
        for (what, theta) in [("start", &start), ("found", &comparison.found)] {
            let mut row = vec![comparison.name.clone(), what.to_owned()];
            row.extend(
                parameters
                    .values(theta)
                    .iter()
                    .map(|value| format!("{value:.4}")),
            );
            found_rows.push(row);
        }
        let before = errors(&parameters.apply(&start)?, &others.recordings)?;
        let after = errors(&parameters.apply(&comparison.found)?, &others.recordings)?;
        let mut row = vec![comparison.name.clone()];
        for (before, after) in before.iter().zip(after) {
            row.push(format!("{before:.3} → {after:.3}"));
        }
        error_rows.push(row);
        comparisons.push(comparison);
    }
    report(
        &tosses,
        &others,
        &parameters,
        &comparisons,
        [found_rows, error_rows],
    )?;
    for comparison in &comparisons {
        let ratios = comparison.ratios(comparison.squares.lowest());
        let is_fewer = ratios
            .iter()
            .zip(RATIOS)
            .all(|(ratio, least)| *ratio >= least);
        assert!(
            is_fewer,
            "{}: CMA-ES needs {ratios:.1?} times the evaluations and the time",
            comparison.name
        );
    }
    Ok(())
}

/// Prints tables and writes the page.
fn report(
    tosses: &Tosses,
    others: &Tosses,
    parameters: &Parameters,
    comparisons: &[Comparison],
    [found, errors]: [Vec<Vec<String>>; 2],
) -> Result<(), Box<dyn Error>> {
    let rows: Vec<Vec<String>> = comparisons.iter().flat_map(Comparison::rows).collect();
    common::print_table(&HEAD, &rows, 1);
    let titles = found.iter().map(|row| format!("{} {}", row[0], row[1]));
    let titles: Vec<String> = std::iter::once("parameter".to_owned())
        .chain(titles)
        .collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let found: Vec<Vec<String>> = (parameters.names().enumerate())
        .map(|(index, name)| {
            let values = found.iter().map(|row| row[2 + index].clone());
            std::iter::once(name.to_owned()).chain(values).collect()
        })
        .collect();
    common::print_table(&titles, &found, 1);
    let error_head = ["start", "mae13", "position (mm)", "rotation (deg)"];
    println!(
        "errors over {}, whole, in continuous time:",
        others.describe()
    );
    common::print_table(&error_head, &errors, 1);
    let mut page = Page::new("All contact parameters of a cube from its tosses")
        .text(&format!(
            "{}. Levenberg–Marquardt with Jacobians in continuous time, and CMA-ES on the same loss until it is as low.",
            tosses.describe()
        ))
        .table(&HEAD, &rows);
    for comparison in comparisons {
        let curve = |name: &str, cost: &Cost| {
            let points = cost.path.iter().map(|(seconds, _, loss)| [*seconds, *loss]);
            Series::line(name, points.collect())
        };
        page = page.chart(&Chart {
            title: &comparison.name,
            x: ("CPU time (s)", Scale::Logarithmic),
            y: ("lowest loss", Scale::Logarithmic),
            series: &[
                curve("Levenberg–Marquardt", &comparison.squares),
                curve("CMA-ES", &comparison.cma),
            ],
        });
    }
    let page = page
        .heading("What was found")
        .table(&titles, &found)
        .heading("Errors over whole tosses that were kept back")
        .text(&format!("{}, before and after.", others.describe()))
        .table(&error_head, &errors);
    common::save(&page, "cube_contact")
}
