//! Experiment: how far off the gradient of a toss is, over what it costs [Paulus 2025, fig. S6].
//!
//! A cube is thrown at a table at several speeds; its place after a second is differentiated by them, in continuous time
//! at many tolerances and unrolled through fixed steps of many lengths. Adaptive methods with jumps at onsets are both
//! cheaper and closer at every error below ten per cent.
//!
//! `cargo run --release -p carom --example pareto` prints a table and writes `target/experiments/pareto/`; with `-- --quick`
//! a part of the settings only. Other engines are shown beside where their figures are found: those that `cargo xtask
//! bench time` measured (`target/bench/time_peers.csv`), and those that were published with the paper (in the folder that
//! `CAROM_SHARED` names).
#![allow(
    clippy::print_stdout,
    reason = "the figures are what the experiment is for"
)]

mod common;

use std::error::Error;
use std::path::Path;

use carom::Model;
use carom::flow::{Flow, FlowSettings, Method, Tolerances};
use carom::model::Integrator;
use carom::rollout::{Adjoint, Controls, Gradient, gradient};
use carom_plot::{Chart, Page, Scale, Series};
use cpu_time::ThreadTime;

use common::toss::{self, CONTINUOUS, CUBE, DOWN, SIDEWAYS};
use common::{LastPosition, median, worst_if_nan};

/// Speeds of the tosses (m/s).
const SPEEDS: [f64; 5] = [-2.0, -2.5, -3.0, -1.5, -1.0];

/// The errors that are compared.
const GREATEST_ERROR: f64 = 0.1;

/// Powers of ten of the tolerances, the last of them for methods of high order alone.
const TOLERANCES: [i32; 8] = [-1, -2, -3, -4, -5, -6, -7, -8];
const TOLERANCES_OF_LOW_ORDER: usize = 5;

const INTEGRATORS: [(&str, Integrator); 4] = [
    ("Euler", Integrator::Euler),
    ("implicit", Integrator::Implicit),
    ("implicitfast", Integrator::ImplicitFast),
    ("RK4", Integrator::RungeKutta4),
];
/// Numbers of steps in the second of a toss.
const STEPS: [usize; 8] = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000];

/// How many of the speeds, tolerances and numbers of steps are tried, and the tolerance of the truth.
struct Extent {
    speeds: usize,
    tolerances: usize,
    steps: usize,
    truth: f64,
}

const WHOLE: Extent = Extent {
    speeds: SPEEDS.len(),
    tolerances: TOLERANCES.len(),
    steps: STEPS.len(),
    truth: 1e-11,
};
const QUICK: Extent = Extent {
    speeds: 1,
    tolerances: 4,
    steps: 4,
    truth: 1e-8,
};

/// The memory that states of fixed steps may take (bytes).
const BUDGET: usize = 1 << 28;

/// An error and what it costs.
#[derive(Clone, Copy, Debug)]
struct Point {
    seconds: f64,
    error: f64,
}

/// A method with its settings, from coarse to fine.
struct Curve {
    name: String,
    /// What each point is: a tolerance, or the length of a step.
    settings: Vec<f64>,
    points: Vec<Point>,
}

/// A gradient and its CPU time (s).
type Timed = Result<(f64, f64), Box<dyn Error>>;

struct Experiment {
    model: Model,
    /// Speeds, and derivatives by them.
    truth: Vec<(f64, f64)>,
}

impl Experiment {
    fn new(extent: &Extent) -> Result<Self, Box<dyn Error>> {
        let model = toss::model(CUBE, CONTINUOUS, 0.01)?;
        let mut truth = Vec::new();
        for &speed in &SPEEDS[..extent.speeds] {
            // Their steps are cut where forces bend; those of dopri8 are taken again until they end near there, which is as good as 2e-4.
            let [one, other] = [Method::Tsit5, Method::Dopri5]
                .map(|method| in_continuous_time(&model, (method, extent.truth), speed));
            let (one, other) = (one?.0, other?.0);
            assert!(
                (one - other).abs() < 1e-4 * one.abs(),
                "the truth is not known well enough: {one} or {other}"
            );
            truth.push((speed, other));
        }
        Ok(Self { model, truth })
    }

    /// Median error over all tosses, and the mean of what they cost.
    fn point(&self, mut derivative: impl FnMut(f64) -> Timed) -> Result<Point, Box<dyn Error>> {
        let (mut errors, mut seconds) = (Vec::new(), 0.0);
        for &(speed, truth) in &self.truth {
            let (found, taken) = derivative(speed)?;
            let error = ((found - truth) / truth).abs();
            errors.push(worst_if_nan(error));
            seconds += taken / self.truth.len() as f64;
        }
        Ok(Point {
            seconds,
            error: median(errors),
        })
    }

    fn adaptive(&self, name: &str, method: Method, count: usize) -> Result<Curve, Box<dyn Error>> {
        let is_low_order = method.tableau().error_order == 2;
        let most = if is_low_order {
            TOLERANCES_OF_LOW_ORDER
        } else {
            TOLERANCES.len()
        };
        let exponents = &TOLERANCES[..count.min(most)];
        let settings: Vec<f64> = exponents.iter().map(|&power| 10_f64.powi(power)).collect();
        let mut points = Vec::new();
        for &tolerance in &settings {
            let choice = (method, tolerance);
            points.push(self.point(|speed| in_continuous_time(&self.model, choice, speed))?);
        }
        Ok(Curve {
            name: name.to_owned(),
            settings,
            points,
        })
    }

    fn fixed(
        &self,
        name: &str,
        integrator: Integrator,
        count: usize,
    ) -> Result<Curve, Box<dyn Error>> {
        let mut model = self.model.clone();
        model.settings.integrator = integrator;
        let (mut settings, mut points) = (Vec::new(), Vec::new());
        for steps in &STEPS[..count] {
            let length = 1.0 / *steps as f64;
            model.option.timestep[0] = length;
            settings.push(length);
            points.push(self.point(|speed| Ok(in_steps(&model, *steps, speed)))?);
        }
        Ok(Curve {
            name: format!("{name} in fixed steps"),
            settings,
            points,
        })
    }
}

fn in_continuous_time(model: &Model, (method, tolerance): (Method, f64), speed: f64) -> Timed {
    let clock = ThreadTime::now();
    let settings = FlowSettings {
        method,
        tolerances: Tolerances::all(tolerance),
        ..FlowSettings::default()
    };
    let flow = Flow::new(model, settings)?;
    let mut loss = LastPosition {
        coordinate: SIDEWAYS,
        steps: 1,
    };
    let motion = flow.run(&toss::start(model, speed), &Controls::Zero, 1.0, 1);
    let found = motion.backward(&flow, &Controls::Zero, &mut loss);
    Ok((by_speed(found), clock.elapsed().as_secs_f64()))
}

fn in_steps(model: &Model, steps: usize, speed: f64) -> (f64, f64) {
    let clock = ThreadTime::now();
    let mut loss = LastPosition {
        coordinate: SIDEWAYS,
        steps,
    };
    let start = toss::start(model, speed);
    let adjoint = Adjoint::Checkpointed { bytes: BUDGET };
    let found = gradient(model, &start, &Controls::Zero, steps, adjoint, &mut loss);
    let found = found.map(|(_, found)| found);
    (by_speed(found), clock.elapsed().as_secs_f64())
}

/// Not a number where there is no gradient: too many steps, or numbers that are not finite.
fn by_speed(found: Result<Gradient, carom::Error>) -> f64 {
    found.map_or(f64::NAN, |found| found.start.qvel[DOWN])
}

/// The points that no other is both cheaper and closer than, from cheap to close.
fn front<'a>(curves: impl Iterator<Item = &'a Curve>) -> Vec<Point> {
    let mut points: Vec<Point> = curves.flat_map(|curve| &curve.points).copied().collect();
    points.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut closest = f64::INFINITY;
    points.retain(|point| {
        let is_closer = point.error < closest;
        closest = closest.min(point.error);
        is_closer
    });
    points
}

/// What a front takes to be as close as asked for.
fn cost(front: &[Point], error: f64) -> Option<f64> {
    let close = front.iter().find(|point| point.error <= error);
    close.map(|point| point.seconds)
}

/// Names with their numbers, from a file of rows `name,number,number,…` below a head; nothing if there is no such file.
fn rows(file: &Path) -> Vec<(String, Vec<f64>)> {
    let Ok(text) = std::fs::read_to_string(file) else {
        println!("not there: {}", file.display());
        return Vec::new();
    };
    let row = |line: &str| {
        let mut cells = line.split(',');
        let name = cells.next()?.to_owned();
        let numbers: Result<Vec<f64>, _> = cells.map(str::parse).collect();
        Some((name, numbers.ok()?))
    };
    text.lines().filter_map(row).collect()
}

/// The rows that were published with the paper: loss, gradient, quotient, and times to compile and to run, forward and with the
/// gradient. Collisions are softened, so that gradients converge to another number than MuJoCo's: each is compared
/// with its own finest row, of a tolerance of 1e-12.
fn published() -> Vec<Series> {
    let shared = std::env::var_os("CAROM_SHARED");
    let shared = shared.map_or_else(|| common::root().join("../shared"), Into::into);
    let rows = rows(&shared.join("bench/diffmjx_cube_results.csv"));
    let finest = rows.iter().find(|(name, _)| name.contains("1e-12"));
    let Some(truth) = finest.and_then(|(_, numbers)| numbers.get(1).copied()) else {
        return Vec::new();
    };
    let of = |family: &str, name: &str| {
        let rows = rows.iter().filter(|(row, _)| row.starts_with(family));
        let points = rows.filter_map(|(_, numbers)| {
            Some([*numbers.get(6)?, (numbers.get(1)? / truth - 1.0).abs()])
        });
        Series::dots(name, points.collect())
    };
    vec![
        of("dfx_", "DiffMJX published, diffrax, beside its own limit"),
        of(
            "mjx_",
            "DiffMJX published, fixed steps, beside its own limit",
        ),
    ]
}

/// What `cargo xtask bench time` measured: names, seconds and errors.
fn measured() -> Vec<Series> {
    let rows = rows(&common::root().join("target/bench/time_peers.csv"));
    let mut names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    let series = names.iter().map(|&name| {
        let rows = rows.iter().filter(|(other, _)| other == name);
        let points = rows.filter_map(|(_, numbers)| numbers.get(..2)?.try_into().ok());
        Series::marked(name, points.collect())
    });
    series.collect()
}

fn table(curves: &[Curve]) -> Vec<Vec<String>> {
    let row = |curve: &Curve, index: usize| {
        let Point { seconds, error } = curve.points[index];
        vec![
            curve.name.clone(),
            format!("{:.0e}", curve.settings[index]),
            format!("{:.2}", 1e3 * seconds),
            format!("{:.4}", 100.0 * error),
        ]
    };
    let rows = curves.iter().flat_map(|curve| {
        let indices = 0..curve.points.len();
        indices.map(move |index| row(curve, index))
    });
    rows.collect()
}

fn line(name: &str, points: &[Point]) -> Series {
    let points = points.iter().map(|point| [point.seconds, point.error]);
    Series::marked(name, points.collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let extent = if common::is_quick() { QUICK } else { WHOLE };
    let experiment = Experiment::new(&extent)?;
    let (mut adaptive, mut fixed) = (Vec::new(), Vec::new());
    for (name, method) in Method::ALL {
        adaptive.push(experiment.adaptive(name, method, extent.tolerances)?);
    }
    for (name, integrator) in INTEGRATORS {
        fixed.push(experiment.fixed(name, integrator, extent.steps)?);
    }
    let head = [
        "method",
        "tolerance or step (s)",
        "CPU time (ms)",
        "error of the gradient (%)",
    ];
    let rows = [table(&adaptive), table(&fixed)].concat();
    common::print_table(&head, &rows, 1);

    let fronts = [&adaptive, &fixed].map(|curves| front(curves.iter()));
    let [ours, theirs] = &fronts;
    let lines = |curves: &[Curve]| -> Vec<Series> {
        let lines = curves.iter().map(|curve| line(&curve.name, &curve.points));
        lines.collect()
    };
    let adaptive_lines = lines(&adaptive);
    let mut fixed_lines = lines(&fixed);
    fixed_lines.push(line("best of continuous time", ours));
    let mut engines = vec![line("continuous time", ours), line("fixed steps", theirs)];
    engines.extend(measured());
    engines.extend(published());
    let [time, error] = [
        ("CPU time of value and gradient (s)", Scale::Logarithmic),
        ("error of the gradient", Scale::Logarithmic),
    ];
    let page = Page::new("Error over time of a cube's toss")
        .text("A cube is thrown at a table at several speeds; its place after a second is differentiated by them. The median of the errors of the derivatives is drawn over the CPU time of value and gradient, for all methods at many tolerances and for fixed steps of many lengths.")
        .chart(&Chart { title: "Continuous time", x: time, y: error, series: &adaptive_lines })
        .chart(&Chart { title: "Fixed steps", x: time, y: error, series: &fixed_lines })
        .text("The best of them beside other engines. DiffMJX softens its collisions, so that it converges to another gradient (0.173 for a speed of 2 m/s, where MuJoCo's motion has 0.576): its published rows, from a machine that is not named, are compared with its own limit.")
        .chart(&Chart { title: "Best of carom and other engines", x: time, y: error, series: &engines })
        .table(&head, &rows);
    common::save(&page, "pareto")?;

    let compared = theirs.iter().filter(|point| point.error < GREATEST_ERROR);
    for point in [&Point {
        seconds: f64::INFINITY,
        error: GREATEST_ERROR,
    }]
    .into_iter()
    .chain(compared)
    {
        let Some(seconds) = cost(ours, point.error) else {
            panic!("no tolerance gets within {}", point.error);
        };
        assert!(
            seconds < point.seconds,
            "fixed steps are off by {} in {} s, continuous time takes {seconds} s for that",
            point.error,
            point.seconds
        );
    }
    Ok(())
}
