//! `carom learn`: terms that are trained through the simulation.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use carom::{Error, ErrorKind, Model};
use carom_optimise::checkpoint;
use carom_spec::mjcf::{AssetStorage, write_with};
use carom_spec::weights;
use carom_tasks::evaluate::figure;
use carom_tasks::identify::stepping_of;
use carom_tasks::learn::{self, Learned, Settings, blueprint};
use carom_tasks::recording::{self, Mapping};
use serde_json::json;

use crate::failure::{Failure, READ, WRITE, finish};
use crate::{interrupt, load, output, stdio, values};

/// Trains what a model lacks.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom learn terms arm.xml train.npz --mapping arm.toml --blueprint terms.toml --out learned.xml --json"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    Terms(Terms),
    Collision(crate::learn_collision::Args),
}

/// Gives a model learned terms and trains them on recordings, through the simulation.
///
/// A blueprint (TOML) says which terms. The result is a model file with a file of weights beside it, for all other commands.
/// The page on learned terms describes both.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom learn terms arm.xml train.npz --mapping arm.toml --blueprint terms.toml --out learned.xml\n  carom learn terms arm.xml train.npz --mapping arm.toml --blueprint terms.toml --validate val.npz --out learned.xml --json\n  carom learn terms arm.xml train.npz --mapping arm.toml --blueprint terms.toml --out learned.xml --checkpoint fit.bin --resume"
)]
struct Terms {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Recordings to train on: .npz, .csv or .mcap files.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// What the arrays of the recordings are (TOML).
    #[arg(long)]
    mapping: PathBuf,
    /// Which terms (TOML).
    #[arg(long)]
    blueprint: PathBuf,
    /// Held-out recordings: training ends when they are predicted no better.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    validate: Vec<PathBuf>,
    /// The model with trained terms; its weights go to a file of the same name that ends with .safetensors.
    #[arg(long)]
    out: PathBuf,
    /// Frames of the segments that are predicted, one after the other; longer than all trajectories means whole ones.
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = values::count)]
    horizons: Vec<usize>,
    /// Most evaluations over each horizon.
    #[arg(long, value_name = "N", default_value_t = Settings::default().evaluations)]
    evaluations: u64,
    /// Store training after every round of evaluations.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint, if there is one.
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    match &args.what {
        What::Terms(args) => finish(args.json, answer(args)),
        What::Collision(args) => crate::learn_collision::run(args),
    }
}

fn answer(args: &Terms) -> Result<ExitCode, Failure> {
    let weights_path = args.out.with_extension("safetensors");
    for path in [&args.out, &weights_path] {
        output::check_target(path)?;
    }
    let loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    let terms = blueprint::read(&args.blueprint)?;
    let mapping = Mapping::read(&args.mapping)?;
    let settings = Settings {
        stepping: stepping_of(None, &loaded.spec),
        horizons: args.horizons.clone(),
        evaluations: args.evaluations,
        ..Settings::default()
    };
    let resume = match &args.checkpoint {
        Some(path) if args.resume && path.exists() => {
            let bytes = std::fs::read(path).map_err(|cause| {
                let place = path.display();
                Failure::sentence(
                    READ,
                    format!("cannot read the checkpoint '{place}': {cause}"),
                )
            })?;
            Some(bytes)
        }
        _ => None,
    };
    let read = |model: &Model| {
        let training = recording::load(model, &mapping, &args.recordings)?;
        let held_out = match args.validate.as_slice() {
            [] => None,
            files => Some(recording::load(model, &mapping, files)?),
        };
        Ok((training, held_out))
    };
    interrupt::watch();
    let mut watch = Progress {
        checkpoint: args.checkpoint.clone(),
        is_quiet: args.json,
    };
    let learned = learn::train(
        loaded.spec.clone(),
        terms,
        &read,
        &settings,
        resume.as_deref(),
        (Some(interrupt::flag()), &mut watch),
    )?;
    save(args, &learned, &weights_path)?;
    show(args, &learned, &weights_path);
    if learned.is_stopped {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the model and its weights.
fn save(args: &Terms, learned: &Learned, weights_path: &Path) -> Result<(), Failure> {
    let mut spec = learned.spec.clone();
    let file = weights_path.file_name().unwrap_or_default();
    let bytes = weights::write(&learn::weights_of(&spec.learned_terms));
    for term in &mut spec.learned_terms {
        term.weights_file = Some(file.to_string_lossy().into_owned());
    }
    let text = write_with(&spec, AssetStorage::Inline);
    write(weights_path, &bytes)?;
    write(&args.out, text.as_bytes())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let whole = output::write_whole(path, |file| std::io::Write::write_all(file, bytes));
    whole.map_err(|cause| Failure::sentence(WRITE, cause.to_string()))
}

fn show(args: &Terms, learned: &Learned, weights_path: &Path) {
    if args.json {
        let horizons: Vec<_> = (learned.horizons.iter())
            .map(|one| {
                json!({
                    "frames": one.frames,
                    "evaluations": one.evaluations,
                    "loss_before": one.before,
                    "loss_after": one.after,
                    "validation": one.validation,
                    "end": one.end,
                })
            })
            .collect();
        let terms: Vec<_> = (learned.spec.learned_terms.iter())
            .map(|term| json!({"name": term.name, "weights": term.weights.len()}))
            .collect();
        let document = json!({
            "model": args.out,
            "weights_file": weights_path,
            "weights": learned.weights,
            "terms": terms,
            "horizons": horizons,
            "validation": learned.validation.map(|[before, after]| json!({"before": before, "after": after})),
            "interrupted": learned.is_stopped,
        });
        crate::print(&document.to_string());
        return;
    }
    for one in &learned.horizons {
        crate::print(&format!(
            "segments of {} frames: loss {} to {} in {} evaluations, {}",
            one.frames,
            figure(one.before),
            figure(one.after),
            one.evaluations,
            one.end
        ));
    }
    if let Some([before, after]) = learned.validation {
        let (before, after) = (figure(before), figure(after));
        crate::print(&format!("held-out recordings: loss {before} to {after}"));
    }
    crate::print(&format!(
        "{} weights; wrote '{}' and '{}'",
        learned.weights,
        args.out.display(),
        weights_path.display()
    ));
}

/// Says how training goes, and stores checkpoints.
struct Progress {
    checkpoint: Option<PathBuf>,
    is_quiet: bool,
}

impl learn::Watch for Progress {
    fn progress(&mut self, frames: usize, evaluations: u64, lowest: f64, validation: Option<f64>) {
        if self.is_quiet {
            return;
        }
        let held_out =
            validation.map_or(String::new(), |loss| format!(", held-out {}", figure(loss)));
        let lowest = figure(lowest);
        stdio::warn(&format!(
            "{frames} frames, {evaluations} evaluations: loss {lowest}{held_out}\n"
        ));
    }

    fn wants_checkpoints(&self) -> bool {
        self.checkpoint.is_some()
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(path) = &self.checkpoint else {
            return Ok(());
        };
        checkpoint::write_file(path, bytes).map_err(|cause| {
            let why = format!(
                "the checkpoint '{}' cannot be written: {cause}",
                path.display()
            );
            Error::new(ErrorKind::Checkpoint, why)
        })
    }
}
