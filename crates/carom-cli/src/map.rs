//! `carom map`: a mapping from names and shapes of a recording.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use carom_tasks::recording::{self, Proposal};
use serde_json::json;

use crate::failure::{Failure, finish};
use crate::{load, output, stdio, values};

/// Writes a mapping file: which array of a recording is what in a model, from names and shapes.
///
/// What cannot be decided stands in it as a comment, with the candidates. Check it, and give it to `carom evaluate`, `identify`,
/// `discover` and `learn`. Recordings of `carom sim --out` need no mapping.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom map arm.xml run.csv --out map.toml\n  carom map arm.xml bag.mcap\n  carom map cube.xml tosses.npz --json\n\nExit codes: 0 the recording can be read by the mapping, 1 something has to be decided first, 2 a file cannot be read."
)]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Recording: an .npz, .csv or .mcap file.
    recording: PathBuf,
    /// Write the mapping here instead of printing it.
    #[arg(long, value_name = "MAP.toml")]
    out: Option<PathBuf>,
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
    if let Some(out) = &args.out {
        output::check_target(out)?;
    }
    let loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    if let Some(out) = &args.out {
        let inputs = std::iter::once(args.recording.as_path()).chain(loaded.sources.paths());
        output::check_distinct(&[out.as_path()], inputs)?;
    }
    let model_file = args.model.display().to_string();
    let found = recording::propose(&loaded.model, &model_file, &args.recording)?;
    if let Some(out) = &args.out {
        output::write_whole(out, |file| file.write_all(found.text.as_bytes()))?;
    }
    if args.json {
        crate::print(
            &json!({
                "mapping": found.text,
                "complete": found.is_complete,
                "needless": found.is_needless,
                "undecided": found.undecided,
                "unused": found.unused,
                "warnings": found.warnings,
                "diagnostics": loaded.listed(),
            })
            .to_string(),
        );
    } else {
        show(args, &found);
    }
    Ok(ExitCode::from(u8::from(!found.is_complete)))
}

fn show(args: &Args, found: &Proposal) {
    match &args.out {
        None => crate::print(found.text.trim_end()),
        Some(out) => crate::print(&format!("mapping: {}", out.display())),
    }
    for sentence in &found.undecided {
        stdio::warn(&format!("undecided: {sentence}\n"));
    }
    if args.out.is_some() {
        for warning in &found.warnings {
            stdio::warn(&format!("warning: {warning}\n"));
        }
    }
    if found.is_needless {
        stdio::warn(
            "note: this recording needs no mapping: the names of its arrays say what they are\n",
        );
    }
}
