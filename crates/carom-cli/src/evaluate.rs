//! `carom evaluate`: how far a model is from recordings.

use std::path::PathBuf;
use std::process::ExitCode;

use carom_report::evaluation_json;
use carom_tasks::evaluate::{Metric, Report, evaluate, figure};
use carom_tasks::identify::in_continuous_time;
use carom_tasks::problem::Stepping;
use carom_tasks::recording::{self, Mapping};

use crate::failure::{Failure, finish};
use crate::{load, stdio, values};

/// Compares a model with recorded motions.
///
/// The model is simulated from the recorded start of every trajectory and compared with it at every frame. A mapping file says what the
/// arrays of a recording are; docs/recordings.md describes it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom evaluate cube.xml tosses.npz --mapping cube.toml\n  carom evaluate datasets/contactnets_cube.xml val.npz --mapping datasets/contactnets_cube.toml --total\n  carom evaluate arm.xml run1.csv run2.csv --mapping arm.toml --json\n  carom evaluate arm.xml bag.mcap --mapping arm.toml --tolerance 1e-6    # in continuous time"
)]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Recordings: .npz, .csv or .mcap files.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// What the arrays of the recordings are (TOML).
    #[arg(long)]
    mapping: PathBuf,
    /// Predict so many frames from each start, whatever the mapping says.
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    window: Option<usize>,
    /// Start every so many frames, whatever the mapping says; a large number leaves the first window alone.
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    every: Option<usize>,
    /// Simulate in continuous time to this tolerance instead of by the model's time steps.
    #[arg(long, value_parser = values::tolerance, allow_negative_numbers = true)]
    tolerance: Option<f64>,
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
    let loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    let (report, warnings) = measure(args, &loaded.model)?;
    show(args, &report, &warnings);
    Ok(ExitCode::from(u8::from(report.failures().next().is_some())))
}

fn measure(args: &Args, model: &carom::Model) -> Result<(Report, Vec<String>), Failure> {
    let mapping = Mapping::read(&args.mapping)?;
    let loaded = recording::load(model, &mapping, &args.recordings);
    let mut recordings = loaded?;
    recordings.evaluate.window = args.window.or(recordings.evaluate.window);
    recordings.evaluate.every = args.every.or(recordings.evaluate.every);
    let stepping = args.tolerance.map_or(Stepping::Fixed, in_continuous_time);
    let report = evaluate(model, &recordings, stepping)?;
    Ok((report, recordings.warnings))
}

fn show(args: &Args, report: &Report, warnings: &[String]) {
    if args.json {
        crate::print(&evaluation_json(report, warnings).to_string());
        return;
    }
    for warning in warnings {
        stdio::warn(&format!("warning: {warning}\n"));
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
    for trajectory in report.failures() {
        let why = trajectory.failure.as_deref().unwrap_or_default();
        let label = &trajectory.label;
        stdio::warn(&format!("error: {label} is not in the mean: {why}\n"));
    }
}
