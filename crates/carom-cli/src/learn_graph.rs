//! `carom learn graph`: a graph network from many runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use carom::{Error, ErrorKind, Place};
use carom_learn::store::{self, Card};
use carom_learn::training::{Progress, Recipe, Trainer};
use carom_tasks::evaluate::figure;
use carom_tasks::graph;
use carom_tasks::scale::shards;
use serde_json::{Value, json};

use crate::failure::{Failure, READ, WRITE, finish};
use crate::{interrupt, load, output, stdio, values};

/// Trains a graph network on runs of bodies, as `carom scale` makes them.
///
/// The network moves free bodies over planes: `carom evaluate` and other commands take it where they take a model. The page on
/// graph networks describes it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom learn graph --data shards/ --scene datasets/two_cubes.xml --out net.carom\n  carom learn graph --data shards/ --out net.carom --checkpoint net.ckpt --resume --json\n  carom learn graph --data train.npz --rotated 3000 --out copies.carom    # recordings alone, turned"
)]
pub(crate) struct Args {
    /// Runs: a folder of shards, one shard, or a recording of tracked cubes (.npz).
    #[arg(long)]
    data: PathBuf,
    /// The network.
    #[arg(long)]
    out: PathBuf,
    /// The model file of the scene in which it is used where nobody names another one.
    #[arg(long, value_name = "MODEL")]
    scene: Option<PathBuf>,
    /// Sizes and training (TOML); what it leaves out has the usual value.
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// Steps of training.
    #[arg(long, value_name = "N", value_parser = values::count)]
    steps: Option<usize>,
    /// Seed of all that is random.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Friction of the bodies of a recording, which does not say it.
    #[arg(long, value_name = "MU", default_value_t = 0.25)]
    friction: f64,
    /// Train on so many copies of the runs, each turned about the vertical by another angle.
    #[arg(long, value_name = "N", value_parser = values::count)]
    rotated: Option<usize>,
    /// Held-out errors after so many steps each, as a table (.csv).
    #[arg(long, value_name = "FILE")]
    curve: Option<PathBuf>,
    /// Store training at every validation.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint, if there is one.
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    for path in [Some(&args.out), args.curve.as_ref()].into_iter().flatten() {
        output::check_target(path)?;
    }
    let recipe = recipe(args)?;
    let scene = match &args.scene {
        Some(path) => {
            load::load(path, &[])?;
            let text = std::fs::read_to_string(path);
            Some(text.map_err(|cause| unreadable(path, &cause))?)
        }
        None => None,
    };
    let mut shard = shards::read_all(&args.data, args.friction)?;
    if let Some(copies) = args.rotated {
        shard = graph::rotated(&shard, copies);
    }
    let motions = graph::motions(&shard)?;
    let data = args.data.display().to_string();
    let mut card = graph::card(&shard, recipe, data, scene);
    let trainer = Trainer::new(recipe, &motions).ok_or_else(|| {
        Error::new(
            ErrorKind::Recording,
            "all runs with two frames are held out",
        )
        .remedy("give more runs, or a smaller held_out in the recipe")
    })?;
    let mut trainer = resumed(args, &recipe, trainer)?;
    interrupt::watch();
    let curve = train(args, &mut trainer)?;
    card.steps = trainer.state().adam.steps;
    if let Some(best) = curve.iter().rev().find(|progress| progress.is_best) {
        let errors = best.held_out;
        card.held_out = [errors.position, errors.angle, errors.both];
    } else if trainer.state().best_error.is_finite() {
        card.held_out[2] = trainer.state().best_error;
    }
    write(&args.out, &store::write(&trainer.best(), &card))?;
    if let Some(path) = &args.curve {
        write(path, table(&curve).as_bytes())?;
    }
    show(args, &card, &curve, trainer.held_out().len());
    if interrupt::asked() && !trainer.is_done() {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}

fn recipe(args: &Args) -> Result<Recipe, Failure> {
    let mut recipe = match &args.recipe {
        Some(path) => graph::read_recipe(path)?,
        None => Recipe::default(),
    };
    if let Some(steps) = args.steps {
        recipe.steps = steps as u64;
    }
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    Ok(recipe)
}

fn unreadable(path: &Path, cause: &std::io::Error) -> Failure {
    Failure::sentence(READ, format!("cannot read '{}': {cause}", path.display()))
}

fn resumed<'a>(args: &Args, recipe: &Recipe, trainer: Trainer<'a>) -> Result<Trainer<'a>, Failure> {
    let Some(path) = args
        .checkpoint
        .as_ref()
        .filter(|path| args.resume && path.exists())
    else {
        return Ok(trainer);
    };
    let bytes = std::fs::read(path).map_err(|cause| unreadable(path, &cause))?;
    let state = store::read_checkpoint(&bytes, recipe).map_err(|cause| {
        let why = format!("the checkpoint '{}' cannot be used", path.display());
        Error::new(ErrorKind::Checkpoint, why)
            .because(cause)
            .at(Place::File(path.clone()))
    })?;
    Ok(trainer.resume(state))
}

/// Trains to the end, or until the user wants no more; validations on the way.
fn train(args: &Args, trainer: &mut Trainer<'_>) -> Result<Vec<Progress>, Failure> {
    let begin = Instant::now();
    let first = trainer.state().adam.steps;
    let mut curve = Vec::new();
    while !trainer.is_done() && !interrupt::asked() {
        let Some(progress) = trainer.step() else {
            continue;
        };
        if let Some(path) = &args.checkpoint {
            let bytes = store::write_checkpoint(trainer.state(), &trainer.recipe());
            write(path, &bytes)?;
        }
        if !args.json {
            let pace = begin.elapsed().as_secs_f64() / (progress.step - first) as f64;
            let left = trainer.recipe().steps.saturating_sub(progress.step) as f64 * pace;
            stdio::warn(&line(&progress, left));
        }
        curve.push(progress);
    }
    // The best weights are those of a validation: without one there are none.
    if curve.is_empty() && !trainer.state().best_error.is_finite() {
        curve.push(trainer.validate());
    }
    Ok(curve)
}

fn line(progress: &Progress, left: f64) -> String {
    let errors = progress.held_out;
    format!(
        "step {}: loss {}, held-out position {} mm, angle {} deg{}, {left:.0} s left\n",
        progress.step,
        figure(progress.loss),
        figure(1e3 * errors.position),
        figure(errors.angle.to_degrees()),
        if progress.is_best { ", best" } else { "" },
    )
}

fn table(curve: &[Progress]) -> String {
    let mut text = String::from("step,loss,position_m,angle_rad,distance_and_angle\n");
    for Progress {
        step,
        loss,
        held_out,
        ..
    } in curve
    {
        let (position, angle, both) = (held_out.position, held_out.angle, held_out.both);
        let _ = writeln!(text, "{step},{loss},{position},{angle},{both}");
    }
    text
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let whole = output::write_whole(path, |file| std::io::Write::write_all(file, bytes));
    whole.map_err(|cause| Failure::sentence(WRITE, cause.to_string()))
}

fn show(args: &Args, card: &Card, curve: &[Progress], held_out: usize) {
    let [position, angle, both] = card.held_out;
    if args.json {
        let row = |progress: &Progress| -> Value {
            let errors = progress.held_out;
            json!({
                "step": progress.step, "loss": progress.loss, "position": errors.position,
                "angle": errors.angle, "distance_and_angle": errors.both,
            })
        };
        let document = json!({
            "out": args.out,
            "steps": card.steps,
            "motions": card.motions[0],
            "frames": card.motions[1],
            "held_out_motions": held_out,
            "held_out": {"position": position, "angle": angle, "distance_and_angle": both},
            "curve": curve.iter().map(row).collect::<Vec<_>>(),
            "interrupted": interrupt::asked(),
        });
        crate::print(&document.to_string());
        return;
    }
    crate::print(&format!(
        "{held_out} held-out motions of {}: position {} mm, angle {} deg; wrote '{}'",
        card.motions[0],
        figure(1e3 * position),
        figure(angle.to_degrees()),
        args.out.display()
    ));
}
