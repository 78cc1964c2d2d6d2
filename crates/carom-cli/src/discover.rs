//! `carom discover`: which forces a model lacks, what they depend on, and what law they look like.

use std::path::PathBuf;
use std::process::ExitCode;

use carom_report::{discovery_json, discovery_text};
use carom_tasks::discover::{self, Settings};
use carom_tasks::recording;

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
    /// What the arrays of the recordings are (TOML): `carom map` proposes it. Recordings of `carom sim` need none.
    #[arg(long)]
    mapping: Option<PathBuf>,
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
    let mapping = recording::mapping_for(&loaded.model, args.mapping.as_deref(), &args.recordings)?;
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
    crate::print(&if args.json {
        discovery_json(&found).to_string()
    } else {
        discovery_text(&found)
    });
    if found.is_stopped {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::SUCCESS)
}
