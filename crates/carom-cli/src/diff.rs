//! `carom diff`: what differs between two models.

use std::path::PathBuf;
use std::process::ExitCode;

use carom_report::{diff_json, diff_text};
use serde_json::json;

use crate::failure::{Failure, finish};
use crate::{load, stdio, values};

/// Prints what differs between two models: numbers by name and in units, and everything discrete in words.
///
/// Elements are matched by their names, those without by their order. Numbers that follow from others are left out. The exit code is 0 if
/// the models are the same, 1 if they differ.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom diff arm.xml calibrated.xml\n  carom diff arm.xml calibrated.xml --json\n  carom diff arm.urdf arm.xml"
)]
pub(crate) struct Args {
    /// The first model (MJCF or URDF).
    first: PathBuf,
    /// The second model.
    second: PathBuf,
    /// Go on although these unsupported features are in the files (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let models = [&args.first, &args.second].map(|path| load::load(path, &args.allow));
    let [first, second] = models;
    let models = [first?, second?];
    for model in &models {
        stdio::warn(&model.warnings);
    }
    let found = carom_tasks::diff::diff(&models[0].model, &models[1].model);
    if args.json {
        let mut document = diff_json(&found);
        document["diagnostics"] = json!(models.each_ref().map(load::Loaded::listed));
        crate::print(&document.to_string());
    } else {
        crate::print(&diff_text(&found));
    }
    Ok(ExitCode::from(u8::from(!found.is_empty())))
}
