//! `carom learn`: terms that are trained through the simulation.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use carom::{Error, ErrorKind, Model};
use carom_optimise::checkpoint;
use carom_spec::ModelSpec;
use carom_spec::mjcf::{AssetStorage, write_with};
use carom_spec::weights;
use carom_tasks::evaluate::figure;
use carom_tasks::identify::stepping_of;
use carom_tasks::learn::{self, Learned, Settings, blueprint};
use carom_tasks::recording::{self, Mapping};
use serde_json::json;

use crate::command_line::Argument;
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    evaluations: Option<u64>,
    /// Parameters of the model that are found with the weights, as for `carom identify`, beside those of the blueprint.
    #[arg(long, value_name = "PARAMETER,…")]
    free: Vec<String>,
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
    let blueprint = blueprint::read(&args.blueprint)?;
    let mapping = Mapping::read(&args.mapping)?;
    let settings = settings(args, blueprint.training, &loaded.spec)?;
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
        search: 0,
        since: (Instant::now(), 0),
    };
    let learned = learn::train(
        loaded.spec.clone(),
        blueprint.terms,
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

/// What the blueprint says, and the command line over it.
fn settings(args: &Terms, training: Settings, spec: &ModelSpec) -> Result<Settings, Failure> {
    let mut settings = training;
    settings.stepping = stepping_of(None, spec);
    if !args.horizons.is_empty() {
        settings.horizons.clone_from(&args.horizons);
    }
    settings.evaluations = args.evaluations.unwrap_or(settings.evaluations);
    for list in &args.free {
        for name in Argument::new("--free", list).split(',') {
            if name.text().is_empty() {
                return Err(name.unfit("an empty name", "write joint.elbow.armature"));
            }
            let selection = name.text().parse();
            let selection = selection.map_err(|error| name.unselected(&error))?;
            settings.free.push(selection);
        }
    }
    Ok(settings)
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
                    "search": one.search,
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
        let parameters: Vec<_> = (learned.parameters.iter())
            .map(|(name, [before, after])| json!({"name": name, "before": before, "after": after}))
            .collect();
        let document = json!({
            "model": args.out,
            "weights_file": weights_path,
            "weights": learned.weights,
            "terms": terms,
            "parameters": parameters,
            "held_back": learned.held_back,
            "horizons": horizons,
            "validation": learned.validation.map(|[before, after]| json!({"before": before, "after": after})),
            "interrupted": learned.is_stopped,
        });
        crate::print(&document.to_string());
        return;
    }
    if !learned.held_back.is_empty() {
        crate::print(&format!(
            "held back from training, to say when to end: {}",
            learned.held_back.join(", ")
        ));
    }
    for one in &learned.horizons {
        crate::print(&format!(
            "segments of {} frames, {}: loss {} to {} in {} evaluations, {}",
            one.frames,
            one.search,
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
    for (name, [before, after]) in &learned.parameters {
        crate::print(&format!(
            "{name}: {} to {}",
            figure(*before),
            figure(*after)
        ));
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
    /// The search at work, counted from 1.
    search: usize,
    /// When its first round was over, and its evaluations then.
    since: (Instant, u64),
}

impl learn::Watch for Progress {
    fn progress(&mut self, progress: &learn::Progress<'_>) {
        if self.is_quiet {
            return;
        }
        let learn::Progress {
            search: [search, searches],
            evaluations: [evaluations, most],
            ..
        } = *progress;
        if self.search != search {
            self.search = search;
            self.since = (Instant::now(), 0);
            let (what, frames) = (progress.what, progress.frames);
            stdio::warn(&format!(
                "search {search} of {searches}, segments of {frames} frames: {what}\n"
            ));
        }
        let held_out = (progress.validation)
            .map_or(String::new(), |loss| format!(", held-out {}", figure(loss)));
        // The first round of a search tells no rate: it began before the clock.
        let (begin, first) = self.since;
        let seconds = begin.elapsed().as_secs_f64();
        let pace = if first == 0 {
            self.since = (begin, evaluations);
            String::new()
        } else {
            let rate = (evaluations - first) as f64 / seconds.max(1e-9);
            let left = most.saturating_sub(evaluations) as f64 / rate.max(1e-9);
            format!(", {rate:.1} a second, at most {left:.0} s left in this search")
        };
        let loss = figure(progress.loss);
        stdio::warn(&format!(
            "  {evaluations} evaluations: loss {loss}{held_out}{pace}\n"
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
