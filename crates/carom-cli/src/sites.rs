//! `carom sites`: what learned terms of a model may read and act on.

use std::path::PathBuf;
use std::process::ExitCode;

use carom::model::Structure;
use carom_spec::model_spec::{SiteOwner, SiteRow, TermSite};
use serde_json::{Value, json};

use crate::failure::{Failure, finish};
use crate::{load, stdio, values};

/// Lists the quantities of a model that learned terms may read or act on.
///
/// A term acts on sites such as joint.elbow.force and reads others, which are found before it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  carom sites arm.xml\n  carom sites arm.xml --json")]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    model: PathBuf,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
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
    let loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    let structure = &loaded.model.structure;
    let found: Vec<(&SiteRow, Vec<String>)> = (TermSite::ALL.iter())
        .map(|&site| (site.row(), elements(structure, site)))
        .filter(|(_, elements)| !elements.is_empty())
        .collect();
    if args.json {
        let sites: Vec<Value> = found
            .iter()
            .map(|(row, names)| described(row, names))
            .collect();
        crate::print(&json!({ "sites": sites }).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    for (row, names) in &found {
        let width = match row.width {
            1 => String::new(),
            width => format!(" × {width}"),
        };
        let frame = match row.frame {
            "" => String::new(),
            frame => format!(", {frame} axes"),
        };
        crate::print(&format!(
            "{:<32} {}{width}{frame}; {}; {} of {}",
            full_name(row),
            row.unit,
            uses(row),
            row.about.trim().trim_end_matches('.'),
            names.join(", ")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The name with a place for that of the element.
fn full_name(row: &SiteRow) -> String {
    match row.owner {
        SiteOwner::Model => row.name.to_owned(),
        owner => format!("{}.<name>.{}", owner.name(), row.name),
    }
}

/// What terms do with it.
fn uses(row: &SiteRow) -> String {
    let modes = row.modes.iter().map(|mode| mode.name());
    let read = row.is_input.then_some("read");
    read.into_iter().chain(modes).collect::<Vec<_>>().join(", ")
}

/// Names of the elements that have a site; the model itself has no name.
fn elements(structure: &Structure, site: TermSite) -> Vec<String> {
    let names = match site.row().owner {
        SiteOwner::Joint => &structure.names.joints,
        SiteOwner::Body => &structure.names.bodies,
        SiteOwner::Actuator => &structure.names.actuators,
        SiteOwner::Geom => &structure.names.geoms,
        SiteOwner::Model => return vec!["the model".to_owned()],
    };
    let has = |&(id, _): &(usize, &String)| structure.lacks_site(site, id).is_none();
    let name = |(id, name): (usize, &String)| match name.as_str() {
        "" => id.to_string(),
        name => name.to_owned(),
    };
    names.iter().enumerate().filter(has).map(name).collect()
}

fn described(row: &SiteRow, names: &[String]) -> Value {
    let readable = TermSite::ALL.iter().map(|site| site.row());
    let readable = readable.filter(|other| row.may_read(other));
    let inputs: Vec<String> = if row.modes.is_empty() {
        Vec::new()
    } else {
        readable.map(full_name).collect()
    };
    let modes: Vec<&str> = row.modes.iter().map(|mode| mode.name()).collect();
    json!({
        "name": full_name(row),
        "about": row.about.trim(),
        "stage": row.stage,
        "shape": row.width,
        "unit": row.unit,
        "frame": row.frame,
        "input": row.is_input,
        "modes": modes,
        "inputs": inputs,
        "elements": names,
    })
}
