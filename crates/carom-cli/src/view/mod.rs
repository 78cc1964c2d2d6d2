//! `carom view`: a model, a run or two runs in the browser.

mod run_file;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use carom::Model;
use carom_viewer::{Recording, Server, Settings, Source, Start, export_html};
use serde_json::{Value, json};

use crate::command_line::unfit;
use crate::failure::{COMPUTATION, CONTENT, Failure, NAME, VALUE, finish};
use crate::load::{self, Loaded};
use crate::{browser, interrupt, output, progress, sim, stdio, values};
use run_file::RunFile;

/// Simulated time of an exported model unless told otherwise (s).
const EXPORTED_SECONDS: f64 = 5.0;

/// Shows a model or a recorded run in the browser.
///
/// A model is simulated while the page is open. A run is what `carom sim --out run.npz` writes: arrays time, qpos, qvel, act, ctrl, and the name
/// of its model; an array `grad_qvel` with ∂loss/∂qvel is shown as arrows on the bodies. The page is served on this machine alone, until
/// Ctrl-C; with --export it is written to a file instead, which works without a network.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom view models/humanoid.xml\n  carom view run.npz\n  carom view measured.npz --overlay simulated.npz\n  carom view models/humanoid.xml --seconds 10 --export humanoid.html"
)]
pub(crate) struct Args {
    /// Model file (MJCF or URDF), or a run (.npz).
    #[arg(value_name = "MODEL|RUN.npz")]
    what: PathBuf,
    /// A second run of the same model, shown as a ghost.
    #[arg(long, value_name = "OTHER.npz")]
    overlay: Option<PathBuf>,
    /// Model of the run, if it is not where the run says.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Start from this keyframe (name or number) instead of the default configuration.
    #[arg(long)]
    keyframe: Option<String>,
    /// Write one page that works from disk, and serve nothing; a model is simulated for it.
    #[arg(long, value_name = "PAGE.html")]
    export: Option<PathBuf>,
    /// Simulated time of an exported model (s), 5 unless told.
    #[arg(long, requires = "export", value_parser = values::seconds, allow_negative_numbers = true)]
    seconds: Option<f64>,
    /// Port; 0 takes a free one.
    #[arg(long, default_value_t = 0, conflicts_with = "export")]
    port: u16,
    /// Listen on this name or address instead of the loopback interface: other machines can then connect.
    #[arg(long, conflicts_with = "export")]
    host: Option<String>,
    /// Print the address and do not open a browser.
    #[arg(long, conflicts_with = "export")]
    no_browser: bool,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    allow: Vec<String>,
    /// Print the address, or what was written, as JSON.
    #[arg(long)]
    json: bool,
}

/// What to show.
struct Shown {
    loaded: Loaded,
    start: Start,
    /// Runs; none for a model that is simulated.
    recordings: Vec<Recording>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    if let Some(page) = &args.export {
        output::check_target(page)?;
    }
    let shown = match sim::extension(&args.what).as_deref() {
        Some("npz") => run_to_show(args)?,
        Some("csv") => {
            let place = args.what.display();
            let message = format!("'{place}': a .csv does not say which model it is of");
            return Err(Failure::sentence(CONTENT, message).help("record with --out run.npz"));
        }
        _ => model_to_show(args)?,
    };
    match &args.export {
        Some(page) => {
            let runs = [Some(&args.what), args.overlay.as_ref()];
            let runs = runs.into_iter().flatten().map(PathBuf::as_path);
            output::check_distinct(&[page], shown.loaded.sources.paths().chain(runs))?;
            export(args, shown, page)
        }
        None => serve(args, shown),
    }
}

/// A flag does not go with what is shown.
fn misplaced(flag: &str, is_given: bool, message: &str) -> Result<(), Failure> {
    if is_given {
        return Err(unfit(flag, message, "leave it out"));
    }
    Ok(())
}

fn model_to_show(args: &Args) -> Result<Shown, Failure> {
    let with_runs = "it goes with a run (.npz), not with a model";
    misplaced("--overlay", args.overlay.is_some(), with_runs)?;
    misplaced("--model", args.model.is_some(), with_runs)?;
    let loaded = loaded(&args.what, args)?;
    let start = match args.keyframe.as_deref() {
        None => Start::reference(&loaded.model),
        Some(wanted) => {
            let index = sim::find_keyframe(&loaded.model, wanted)?;
            let start = Start::keyframe(&loaded.model, index);
            start.ok_or_else(|| {
                Failure::sentence(NAME, format!("there is no keyframe '{wanted}'"))
            })?
        }
    };
    Ok(Shown {
        loaded,
        start,
        recordings: Vec::new(),
    })
}

fn run_to_show(args: &Args) -> Result<Shown, Failure> {
    let with_models = "it goes with a model; a run is as it was recorded";
    misplaced("--keyframe", args.keyframe.is_some(), with_models)?;
    misplaced("--seconds", args.seconds.is_some(), with_models)?;
    let run = RunFile::read(&args.what)?;
    let path = match &args.model {
        Some(path) => path.clone(),
        None => run.model()?,
    };
    let loaded = loaded(&path, args)?;
    let mut recordings = vec![run.recording(&loaded.model)?];
    if let Some(other) = &args.overlay {
        recordings.push(RunFile::read(other)?.recording(&loaded.model)?);
    }
    Ok(Shown {
        start: Start::reference(&loaded.model),
        loaded,
        recordings,
    })
}

fn loaded(path: &Path, args: &Args) -> Result<Loaded, Failure> {
    let loaded = load::load(path, &args.allow)?;
    stdio::warn(&loaded.warnings);
    Ok(loaded)
}

/// Writes one page.
fn export(args: &Args, shown: Shown, page: &Path) -> Result<ExitCode, Failure> {
    let mut failure = None;
    let mut recordings = shown.recordings;
    let model = &shown.loaded.model;
    if recordings.is_empty() {
        let (recording, stopped) = simulated(args, model, &shown.start)?;
        recordings.push(recording);
        failure = stopped.map(|reason| Failure::sentence(COMPUTATION, reason));
    }
    let html = export_html(model, &recordings);
    output::write_whole(page, |out| out.write_all(html.as_bytes()))?;
    let frames: usize = recordings.iter().map(Recording::frames).sum();
    if let Some(failure) = &failure {
        stdio::warn(&failure.rendered());
    }
    if args.json {
        let mut document = json!({
            "page": page.display().to_string(), "bytes": html.len(), "frames": frames,
            "interrupted": interrupt::asked(), "diagnostics": shown.loaded.listed(),
        });
        if let Some(failure) = &failure {
            document["error"] = failure.to_json()["error"].clone();
        }
        crate::print(&document.to_string());
    } else {
        let megabytes = html.len() as f64 / 1e6;
        crate::print(&format!(
            "wrote {frames} frames to {} ({megabytes:.1} MB), which opens in any browser without a network",
            page.display()
        ));
    }
    Ok(match failure {
        Some(_) => ExitCode::from(1),
        None if interrupt::asked() => interrupt::exit_code(),
        None => ExitCode::SUCCESS,
    })
}

/// A simulation for the page, and why it ended early if it did.
fn simulated(
    args: &Args,
    model: &Model,
    start: &Start,
) -> Result<(Recording, Option<String>), Failure> {
    let seconds = args.seconds.unwrap_or(EXPORTED_SECONDS);
    let steps = sim::step_count(seconds, model, sim::MAX_STEPS)?;
    interrupt::watch();
    let progress = progress::bar(steps, "steps");
    let name = run_file::stem(&args.what);
    let outcome = Recording::simulate(&name, model, start, seconds, |time| {
        progress.set_position(steps_until(time, model));
        !interrupt::asked()
    });
    progress.finish_and_clear();
    outcome.map_err(|cause| {
        Failure::sentence(VALUE, cause.to_string()).help("give --seconds a smaller value")
    })
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are positive, and the number of steps was checked"
)]
fn steps_until(time: f64, model: &Model) -> u64 {
    (time / model.option.timestep[0]).round() as u64
}

/// Serves until Ctrl-C, which is how it is meant to end.
fn serve(args: &Args, shown: Shown) -> Result<ExitCode, Failure> {
    let listed = shown.loaded.listed();
    let source = source(shown);
    let mut settings = Settings {
        port: args.port,
        ..Settings::default()
    };
    if let Some(host) = &args.host {
        settings.host.clone_from(host);
    }
    let mut server = Server::start(source, &settings).map_err(|cause| failed(&cause))?;
    if server.is_public() {
        stdio::warn(&format!(
            "warning: other machines can reach {}: whoever has the address can watch and steer\n",
            server.address()
        ));
    }
    announce(args, &mut server, &listed);
    server.until_interrupted().map_err(|cause| failed(&cause))?;
    Ok(ExitCode::SUCCESS)
}

fn source(shown: Shown) -> Source {
    let model = Arc::new(shown.loaded.model);
    if shown.recordings.is_empty() {
        Source::Live {
            model,
            start: shown.start,
            paused: false,
        }
    } else {
        Source::Recordings {
            model,
            recordings: shown.recordings,
        }
    }
}

fn failed(cause: &carom_viewer::ServerError) -> Failure {
    Failure::sentence(VALUE, cause.to_string())
}

/// Prints the address and opens the browser.
fn announce(args: &Args, server: &mut Server, diagnostics: &Value) {
    if args.json {
        let document = json!({ "url": server.url(), "diagnostics": diagnostics });
        crate::print(&document.to_string());
    } else {
        crate::print(server.url());
        stdio::warn("Ctrl-C ends it\n");
    }
    if args.no_browser {
        return;
    }
    let doorway = server.doorway().map_err(|cause| cause.to_string());
    if let Err(cause) = doorway.and_then(browser::open) {
        stdio::warn(&format!(
            "note: no browser was opened ({cause}); open the address yourself\n"
        ));
    }
}
