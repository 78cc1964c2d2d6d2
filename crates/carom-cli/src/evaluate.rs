//! `carom evaluate`: how far a model is from recordings.

use std::path::PathBuf;
use std::process::ExitCode;

use carom_report::{about_floor, evaluation_json};
use carom_tasks::evaluate::{
    Floor, Metric, Report, StartNoise, Windows, evaluate, evaluate_or_windows, evaluate_system,
    figure, noise_floor,
};
use carom_tasks::identify::stepping_of;
use carom_tasks::problem::Stepping;
use carom_tasks::recording::{self, Mapping};

use crate::failure::{Failure, finish};
use crate::load::{self, Loaded};
use crate::values::{self, Span};
use crate::{network, stdio};

/// Compares a model with recorded motions.
///
/// The model is simulated from the recorded start of every trajectory and compared with it at every frame. A mapping file says what the
/// arrays of a recording are; docs/recordings.md describes it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom evaluate cube.xml tosses.npz --mapping cube.toml\n  carom evaluate datasets/contactnets_cube.xml val.npz --mapping datasets/contactnets_cube.toml --total\n  carom evaluate arm.xml run1.csv run2.csv --mapping arm.toml --json\n  carom evaluate arm.xml bag.mcap --mapping arm.toml --tolerance 1e-6    # in continuous time"
)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct Args {
    /// Model file (MJCF or URDF), or a graph network (`carom learn graph`).
    model: PathBuf,
    /// The model file of the scene in which a graph network is used, instead of the mapping's or that of its training.
    #[arg(long, value_name = "MODEL")]
    scene: Option<PathBuf>,
    /// Recordings: .npz, .csv or .mcap files.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// What the arrays of the recordings are (TOML).
    #[arg(long)]
    mapping: PathBuf,
    /// Predict so many frames from each start, or seconds (0.5s), whatever the mapping says.
    #[arg(long, value_name = "N", value_parser = values::span, allow_negative_numbers = true)]
    window: Option<Span>,
    /// Start every so many frames, or seconds, whatever the mapping says; a large number leaves the first window alone.
    #[arg(long, value_name = "N", value_parser = values::span, allow_negative_numbers = true)]
    every: Option<Span>,
    /// Compare only these frames, the first and the last one with a colon between them: 201:900. Predictions start as without it.
    #[arg(long, value_name = "A:B", value_parser = values::frames)]
    frames: Option<[usize; 2]>,
    /// Predict whole runs, whatever the mapping says, also where they diverge.
    #[arg(long, conflicts_with_all = ["window", "every"])]
    whole: bool,
    /// Simulate in continuous time to this tolerance instead of by the model's time steps.
    #[arg(long, value_parser = values::tolerance, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Simulate by the model's time steps although its file says that it was calibrated in continuous time.
    #[arg(long, conflicts_with = "tolerance")]
    fixed_steps: bool,
    /// Print only the means over all trajectories.
    #[arg(long)]
    total: bool,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let found = if network::is_one(&args.model) {
        measure_network(args)?
    } else {
        let loaded = load::load(&args.model, &args.allow)?;
        stdio::warn(&loaded.warnings);
        measure(args, &loaded)?
    };
    show(args, &found);
    let has_failures = found.report.failures().next().is_some();
    Ok(ExitCode::from(u8::from(has_failures)))
}

/// What was measured, and what it is to be compared with.
struct Found {
    report: Report,
    floor: Option<Floor>,
    windows: Option<Windows>,
    warnings: Vec<String>,
}

/// The errors of a graph network: whole runs, or windows that the mapping or the command asks for.
fn measure_network(args: &Args) -> Result<Found, Failure> {
    let mapping = Mapping::read(&args.mapping)?;
    let network = network::load(
        &args.model,
        args.scene.as_deref(),
        Some(&mapping),
        &args.allow,
    )?;
    let model = &network.scene.model;
    let mut recordings = recording::load(model, &mapping, &args.recordings)?;
    let frames = |span: Option<Span>| span.map(|span| span.frames(&recordings));
    let [window, every] = [frames(args.window), frames(args.every)];
    recordings.evaluate.window = window.or(recordings.evaluate.window);
    recordings.evaluate.every = every.or(recordings.evaluate.every);
    recordings.evaluate.frames = args.frames.or(recordings.evaluate.frames);
    if args.whole {
        recordings.evaluate.window = None;
    }
    let report = evaluate_system(&network.system, model, &recordings)?;
    let mut warnings = network.warnings;
    warnings.extend(recordings.warnings);
    Ok(Found {
        floor: None,
        report,
        windows: None,
        warnings,
    })
}

fn measure(args: &Args, loaded: &Loaded) -> Result<Found, Failure> {
    let model = &loaded.model;
    let mapping = Mapping::read(&args.mapping)?;
    let mut recordings = recording::load(model, &mapping, &args.recordings)?;
    let stepping = if args.fixed_steps {
        Stepping::Fixed
    } else {
        stepping_of(args.tolerance, &loaded.spec)
    };
    let frames = |span: Option<Span>| span.map(|span| span.frames(&recordings));
    let [window, every] = [frames(args.window), frames(args.every)];
    recordings.evaluate.window = window.or(recordings.evaluate.window);
    recordings.evaluate.every = every.or(recordings.evaluate.every);
    recordings.evaluate.frames = args.frames.or(recordings.evaluate.frames);
    let (report, windows) = if args.whole {
        recordings.evaluate.window = None;
        (evaluate(model, &recordings, stepping)?, None)
    } else {
        evaluate_or_windows(model, &recordings, stepping)?
    };
    if let Some(windows) = &windows {
        recordings.evaluate.window = Some(windows.frames);
        recordings.evaluate.every = Some(windows.every);
    }
    Ok(Found {
        floor: noise_floor(model, &recordings, stepping, StartNoise::Measured)?,
        report,
        windows,
        warnings: recordings.warnings,
    })
}

fn show(args: &Args, found: &Found) {
    let Found {
        report,
        floor,
        windows,
        warnings,
    } = found;
    if args.json {
        let document = evaluation_json(report, floor.as_ref(), windows.as_ref(), warnings);
        crate::print(&document.to_string());
        return;
    }
    for warning in warnings {
        stdio::warn(&format!("warning: {warning}\n"));
    }
    if let Some(windows) = windows {
        crate::print(&format!("{}; --whole measures whole runs", windows.words()));
    }
    let width = report
        .trajectories
        .iter()
        .map(|trajectory| trajectory.label.chars().count())
        .max()
        .unwrap_or(0)
        .max(12);
    let heads: Vec<String> = report.metrics.iter().map(Metric::head).collect();
    let line = |label: &str, frames: &str, cells: &[String]| {
        let cells = heads.iter().zip(cells).map(|(head, cell)| {
            let size = head.chars().count().max(9);
            format!(" {cell:>size$}")
        });
        format!("{label:width$} {frames:>7}{}", cells.collect::<String>())
    };
    let numbers = |label: &str, frames: usize, errors: &[f64]| {
        let cells: Vec<String> = errors.iter().map(|&number| figure(number)).collect();
        crate::print(&line(label, &frames.to_string(), &cells));
    };
    crate::print(&line("trajectory", "frames", &heads));
    for trajectory in report.trajectories.iter().filter(|_| !args.total) {
        numbers(&trajectory.label, trajectory.frames, &trajectory.errors);
    }
    let frames = report
        .trajectories
        .iter()
        .map(|trajectory| trajectory.frames)
        .sum();
    let finished = report.trajectories.len() - report.failures().count();
    numbers(&format!("mean of {finished}"), frames, &report.total);
    if let Some(floor) = floor {
        let cells: Vec<String> = floor.errors.iter().map(|&number| figure(number)).collect();
        crate::print(&line("noise floor", "", &cells));
        crate::print(&about_floor(floor));
    }
    let outside: usize = (report.trajectories.iter())
        .map(|trajectory| trajectory.extrapolating)
        .sum();
    if outside > 0 {
        crate::print(&format!(
            "in {outside} steps an input of a learned term lay outside of the range that it was trained on"
        ));
    }
    for trajectory in report.failures() {
        let why = trajectory.failure.as_deref().unwrap_or_default();
        let label = &trajectory.label;
        stdio::warn(&format!("error: {label} is not in the mean: {why}\n"));
    }
}
