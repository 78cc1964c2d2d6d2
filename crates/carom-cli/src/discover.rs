//! `carom discover`: which forces a model lacks, what they depend on, and what law they look like.

use std::path::PathBuf;
use std::process::ExitCode;

use carom_tasks::discover::{self, Discovery, Settings, Term};
use carom_tasks::evaluate::figure;
use carom_tasks::recording::{self, Mapping};
use serde_json::{Value, json};

use crate::failure::{Failure, finish};
use crate::{interrupt, load, stdio, values};

/// Finds out which forces a model lacks, on what they depend, and what law they look like.
///
/// Recorded motions are compared with the model from frame to frame. Functions of positions, velocities, loads and time are added as forces
/// only where they predict held-out parts of the recordings better than chance allows. The answer may be that nothing is missing.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom discover arm.xml run.npz --mapping arm.toml\n  carom discover arm.xml run.npz --mapping arm.toml --targets 'joint.*.force' --inputs 'joint.*.velocity' --json"
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
    /// Where a force may be missing, `*` for any letters; otherwise at all joints that slide or turn, and on all free bodies.
    #[arg(long, value_name = "SITE,…", value_delimiter = ',')]
    targets: Vec<String>,
    /// What it may depend on; otherwise positions, velocities and loads of all joints, motions of free bodies, and the time.
    #[arg(long, value_name = "SITE,…", value_delimiter = ',')]
    inputs: Vec<String>,
    /// Most transitions between frames that are looked at.
    #[arg(long, value_name = "N", default_value_t = Settings::default().most_intervals, value_parser = values::count)]
    samples: usize,
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
    let mapping = Mapping::read(&args.mapping)?;
    let recordings = recording::load(&loaded.model, &mapping, &args.recordings)?;
    let settings = Settings {
        targets: args.targets.clone(),
        inputs: args.inputs.clone(),
        most_intervals: args.samples,
    };
    interrupt::watch();
    let mut tell = |step: usize, left: f64| {
        if !args.json {
            let percent = 100.0 * left;
            stdio::warn(&format!(
                "{step} steps: {percent:.2} % of the errors left\n"
            ));
        }
    };
    let asked = (
        Some(interrupt::flag()),
        &mut tell as &mut dyn FnMut(usize, f64),
    );
    let found = discover::discover(&loaded.model, &recordings, &settings, asked)?;
    show(args, &found);
    if found.is_stopped {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

fn show(args: &Args, found: &Discovery) {
    if args.json {
        crate::print(&document(found).to_string());
        return;
    }
    let [before, after] = found.residuals.map(figure);
    crate::print(&found.words());
    for term in &found.terms {
        for number in &term.numbers {
            let error = number
                .error
                .map_or(String::new(), |error| format!(" ± {}", figure(error)));
            let (name, value) = (&number.name, figure(number.value));
            crate::print(&format!(
                "  {}  {name} {value}{error} {}",
                term.target, number.unit
            ));
        }
        let share = 100.0 * term.share;
        let better = 100.0 * term.better_in;
        crate::print(&format!(
            "  {}  {share:.1} % of what is missing; {better:.0} % of the held-out parts are predicted better with it",
            term.target
        ));
    }
    crate::print(&format!(
        "{} transitions between frames; errors {before} without the terms, {after} with them (in units of the noise, held out)",
        found.samples
    ));
}

fn document(found: &Discovery) -> Value {
    let term = |term: &Term| {
        let numbers: Vec<Value> = (term.numbers.iter())
            .map(|one| json!({"name": one.name, "value": one.value, "error": one.error, "unit": one.unit}))
            .collect();
        json!({
            "target": term.target,
            "inputs": term.inputs,
            "reading": term.reading,
            "formula": term.formula,
            "sentence": term.sentence,
            "numbers": numbers,
            "model_file": term.remedy,
            "force": term.force,
            "share": term.share,
            "better_in": term.better_in,
        })
    };
    let terms: Vec<Value> = found.terms.iter().map(term).collect();
    json!({
        "terms": terms,
        "words": found.words(),
        "unexplained": found.is_unexplained(),
        "targets": found.targets,
        "inputs": found.inputs,
        "samples": found.samples,
        "errors": {"without": found.residuals[0], "with": found.residuals[1]},
        "interrupted": found.is_stopped,
    })
}
