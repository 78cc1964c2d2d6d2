//! `carom identify`: from recordings to a calibrated model.

mod checks;
pub(crate) mod report;
mod said;
mod spoken;
#[cfg(test)]
mod tests;

pub(crate) use checks::{Checks, objections};
pub(crate) use spoken::{as_json, as_text};

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use carom::Model;
use carom_spec::ModelSpec;
use carom_tasks::evaluate::{self, evaluate};
use carom_tasks::identify::{
    FREE_STARTS, Free, Identified, IdentifyError, Inspection, LOSSES, OptimiserKind, PRESETS,
    Settings, Solution, Task, Watch, calibrated, in_continuous_time, loss_of, preset,
};
use carom_tasks::problem::Starts;
use carom_tasks::recording::{self, Mapping, Recordings};
use indicatif::ProgressBar;

use crate::command_line::{Argument, unfit};
use crate::failure::{COMPUTATION, CONTENT, Failure, READ, WRITE, finish};
use crate::gradient::problem::unselected;
use crate::load::{self, Loaded};
use crate::{interrupt, output, stdio, values};

/// Free starts count if they leave less than this part of the residuals of recorded ones.
const WORTH_MORE: f64 = 0.8;

/// Finds the parameters of a model with which it moves as recorded.
///
/// Before the search, every free parameter must show in the recordings, and all must be told apart; what cannot be told is
/// refused by name. After it, every parameter has an interval, and errors on recordings that were kept back are printed
/// before and after. Ctrl-C ends the search and keeps the best parameters so far. docs/identify.md has all of it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom identify cube.xml tosses.npz --mapping cube.toml --free geom.*.friction[0],geom.cube.size --out calibrated.xml\n  carom identify cube.xml tosses.npz --mapping cube.toml --settings identify.toml --validate others.npz --report report.html\n  carom identify cube.xml tosses.npz --mapping cube.toml --free geom.cube.solref --optimiser cmaes --seed 3\n  carom identify cube.xml tosses.npz --mapping cube.toml --preset contact --optimiser cmaes --anyway\n  carom identify arm.xml run.csv --mapping arm.toml --free joint.*.damping[0] --checkpoint fit.bin --resume --json"
)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    pub(crate) model: PathBuf,
    /// Recordings: .npz, .csv or .mcap files.
    #[arg(required = true)]
    pub(crate) recordings: Vec<PathBuf>,
    /// What the arrays of the recordings are (TOML).
    #[arg(long)]
    pub(crate) mapping: PathBuf,
    /// Parameters to find, separated by commas: `geom.cube.size log tied`. Modifiers are log, softplus, bounds(low,high), scale(c),
    /// tied, tied-ratio.
    #[arg(long, value_name = "NAME,…")]
    pub(crate) free: Vec<String>,
    /// Parameters that are often found together, within their usual ranges: contact (friction, solref and solimp of all geoms
    /// at once), contact-pairs (of all explicit pairs).
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Settings (TOML): priors, bounds, ties, loss, starts, optimiser.
    #[arg(long)]
    pub(crate) settings: Option<PathBuf>,
    /// Recordings that are kept back, to measure errors before and after; after the recordings of the fit.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) validate: Vec<PathBuf>,
    /// How predictions are compared: likelihood (squares in units of the noise), `distance_and_angle`, `squared_poses`, absolute.
    #[arg(long)]
    pub(crate) loss: Option<String>,
    /// Compare segments of so many frames instead of whole trajectories.
    #[arg(long, value_name = "FRAMES", value_parser = values::count, allow_negative_numbers = true)]
    pub(crate) segments: Option<usize>,
    /// Find the start state of every trajectory too, near the recorded one.
    #[arg(long)]
    pub(crate) free_starts: bool,
    /// Simulate every run from so many starts, the recorded one and others within its noise, and make the mean loss small: for
    /// losses that are rough through contacts.
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true, conflicts_with = "free_starts")]
    pub(crate) start_draws: Option<usize>,
    /// Simulate in continuous time to this tolerance instead of by the model's time steps.
    #[arg(long, value_parser = values::tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// How to search: auto, lm (Levenberg–Marquardt), lbfgs, adam; where the loss has many minima cmaes, cem, multi-start,
    /// basin-hopping, islands.
    #[arg(long)]
    pub(crate) optimiser: Option<String>,
    /// Most evaluations of the loss.
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub(crate) evaluations: Option<usize>,
    /// Longest search (s).
    #[arg(long, value_parser = values::positive_seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<f64>,
    /// Seed of the random numbers of cmaes, cem, multi-start, basin-hopping and islands.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Threads; all cores if not given. The numbers do not depend on it.
    #[arg(long, value_name = "N", value_parser = values::threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Fit although the recordings cannot tell some parameters.
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Follow the profile likelihood of every parameter, which is done unasked where it takes little.
    #[arg(long)]
    pub(crate) profiles: bool,
    /// Fit again without each of K parts of the trajectories, and measure errors on the part that was left out.
    #[arg(long, value_name = "K", value_parser = values::count, allow_negative_numbers = true)]
    pub(crate) folds: Option<usize>,
    /// Identify N synthetic sets that the calibrated model makes with the stated noise, and see whether its parameters are found.
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub(crate) recovery: Option<usize>,
    /// Write the calibrated model (MJCF).
    #[arg(long, value_name = "MODEL.xml")]
    pub(crate) out: Option<PathBuf>,
    /// Write a report, one page for any browser.
    #[arg(long, value_name = "PAGE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Store the search here after every step.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint, if there is one.
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// Go on although these unsupported features are in the file (diagnostic codes, or `all`).
    #[arg(long, value_name = "CODE,…", value_delimiter = ',', value_parser = values::feature)]
    pub(crate) allow: Vec<String>,
    /// Print the answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Everything that was found, for text, JSON and the report.
pub(crate) struct Found<'a> {
    pub(crate) task: &'a Task<'a>,
    pub(crate) inspection: Inspection,
    pub(crate) solution: Solution,
    pub(crate) identified: Identified,
    /// Errors on the recordings of the fit, before and after.
    pub(crate) fitted: [evaluate::Report; 2],
    /// Errors on recordings that were kept back, before and after.
    pub(crate) kept_back: Option<[evaluate::Report; 2]>,
    pub(crate) seconds: f64,
    /// The model as it was.
    pub(crate) before: &'a Model,
    /// The calibrated model as text, or why it cannot be written: what was found is said all the same.
    pub(crate) description: Result<String, String>,
    /// Recordings whose motion is shown: those that were kept back, if any.
    pub(crate) shown: &'a Recordings,
    /// Residuals in deviations of the noise with starts as recorded, where these were tried first and starts are now unknowns too.
    pub(crate) recorded_starts: Option<f64>,
    /// True values, where they are known.
    pub(crate) truth: Option<Vec<f64>>,
    /// What was looked at beyond the search.
    pub(crate) checks: Checks,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    for path in [&args.out, &args.report, &args.checkpoint]
        .into_iter()
        .flatten()
    {
        output::check_target(path)?;
    }
    let loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    let (recordings, kept_back) = recordings(args, &loaded.model)?;
    let others = kept_back.iter().flat_map(|others| &others.warnings);
    let warnings: Vec<&String> = recordings
        .warnings
        .iter()
        .chain(others.filter(|warning| !recordings.warnings.contains(warning)))
        .collect();
    for warning in &warnings {
        stdio::warn(&format!("warning: {warning}\n"));
    }
    check_folds(args, &recordings)?;
    let settings = settings(args, &loaded.model, &recordings)?;
    let mut task =
        Task::new(&loaded.model, &recordings, settings).map_err(|error| failed(&error))?;
    let inspection = prepare(&loaded, &mut task)?;
    let suggestions = checks::before(&task, &inspection);
    checks::say(&suggestions);
    let resume = checkpoint(args)?;
    let watcher = Watcher::new(args.checkpoint.clone());
    let mut found = find(
        (&loaded, inspection),
        &task,
        kept_back.as_ref(),
        resume.as_deref(),
        watcher,
    )?;
    let freed = (task.with_free_starts(&found.identified)).map_err(|error| failed(&error))?;
    if let Some(freed) = freed.as_ref().filter(|_| !found.solution.is_stopped) {
        found = better_from_free_starts(found, &loaded, freed, kept_back.as_ref())?;
    }
    found.checks = checks::after(args, &found, suggestions)?;
    if let (Some(path), Ok(text)) = (&args.out, &found.description) {
        output::write_whole(path, |out| out.write_all(text.as_bytes()))?;
    }
    if let Some(path) = &args.report {
        let page = report::html(&found);
        output::write_whole(path, |out| out.write_all(page.as_bytes()))?;
    }
    let is_stopped = found.solution.is_stopped || interrupt::asked();
    let refusal = refusal(&found);
    if args.json {
        let mut document = as_json(&found);
        document["diagnostics"] = loaded.listed();
        document["warnings"] = serde_json::json!(warnings);
        if let (Some(why), false) = (&refusal, is_stopped) {
            document["error"] = serde_json::json!(why);
        }
        crate::print(&document.to_string());
    } else {
        crate::print(&as_text(&found));
        let model = args.out.as_ref().filter(|_| found.description.is_ok());
        for (what, path) in [
            ("calibrated model", model),
            ("report", args.report.as_ref()),
        ] {
            if let Some(path) = path {
                crate::print(&format!("{what}: {}", path.display()));
            }
        }
    }
    if is_stopped {
        return Ok(interrupt::exit_code());
    }
    Ok(ExitCode::from(u8::from(refusal.is_some())))
}

/// Why the answer is no, in a sentence; none if it is yes.
fn refusal(found: &Found<'_>) -> Option<String> {
    if let Some(first) = objections(found).into_iter().next() {
        return Some(first);
    }
    let recovery = found.checks.recovery.as_ref();
    let failed = recovery.filter(|recovery| !recovery.is_passed)?;
    let why = failed.words.first().map_or("", String::as_str);
    Some(format!("a known truth is not recovered: {why}"))
}

/// Refuses folds that cannot be made before the search, not after it.
fn check_folds(args: &Args, recordings: &Recordings) -> Result<(), Failure> {
    let count = recordings.trajectories.len();
    match args.folds {
        Some(_) if count < 2 => Err(unfit(
            "--folds",
            "there is one trajectory, which cannot be parted: give more recordings, or cut it by [trajectories] in the mapping",
            "nothing to part",
        )),
        Some(folds) if folds < 2 || folds > count => Err(unfit(
            "--folds",
            &format!("there are {count} trajectories, which make 2 to {count} folds"),
            "no such number of folds",
        )),
        _ => Ok(()),
    }
}

/// Looks before, and for a better start.
pub(crate) fn prepare(loaded: &Loaded, task: &mut Task<'_>) -> Result<Inspection, Failure> {
    can_be_written(task, &loaded.spec)?;
    interrupt::watch();
    task.find_starts(Some(interrupt::flag()))
        .map_err(|error| failed(&error))?;
    let mut inspection = task.inspect().map_err(|error| failed(&error))?;
    // From a start that nobody measured, nothing may move: it is found first.
    if inspection.refusal().is_some()
        && (task.free_unmeasured_starts()).map_err(|error| failed(&error))?
    {
        stdio::warn("note: the mapping does not give all of the starts: they are found too\n");
        task.find_starts(Some(interrupt::flag()))
            .map_err(|error| failed(&error))?;
        inspection = task.inspect().map_err(|error| failed(&error))?;
    }
    if let Some(refusal) = inspection.refusal()
        && !task.settings().anyway
    {
        let suggestions = checks::before(task, &inspection);
        checks::say(&suggestions);
        let motions = suggestions.iter().map(|one| one.motion.as_str());
        let motions: Vec<&str> = motions.collect();
        let record = match motions.as_slice() {
            [] => "record other motions".to_owned(),
            motions => format!("record other motions ({})", motions.join(", or ")),
        };
        let help = format!(
            "hold one of them, give a prior in --settings, {record}, or fit all the same with --anyway"
        );
        return Err(Failure::sentence(COMPUTATION, refusal)
            .answered()
            .help(help));
    }
    task.warm_up(Some(interrupt::flag()))
        .map_err(|error| failed(&error))?;
    Ok(inspection)
}

/// What is found if starts are unknowns too, where it explains the recordings better; what was found before if not.
fn better_from_free_starts<'a>(
    found: Found<'a>,
    loaded: &'a Loaded,
    freed: &'a Task<'a>,
    kept_back: Option<&'a Recordings>,
) -> Result<Found<'a>, Failure> {
    let inspection = found.inspection.clone();
    let watcher = Watcher::new(None);
    let mut other = find((loaded, inspection), freed, kept_back, None, watcher)?;
    let is_better = other.identified.noise < WORTH_MORE * found.identified.noise;
    if is_better && objections(&other).len() <= objections(&found).len() {
        other.seconds += found.seconds;
        other.recorded_starts = Some(found.identified.noise);
        return Ok(other);
    }
    Ok(found)
}

/// Searches, and looks after.
pub(crate) fn find<'a>(
    (loaded, inspection): (&'a Loaded, Inspection),
    task: &'a Task<'a>,
    kept_back: Option<&'a Recordings>,
    resume: Option<&[u8]>,
    mut watcher: Watcher,
) -> Result<Found<'a>, Failure> {
    let begin = Instant::now();
    let solution = task.solve(resume, Some(interrupt::flag()), &mut watcher);
    watcher.bar.finish_and_clear();
    let solution = solution.map_err(|error| failed(&error))?;
    let identified = task.conclude(&solution).map_err(|error| failed(&error))?;
    let stepping = task.settings().problem.stepping;
    let of = |model: &Model, recordings: &Recordings| {
        evaluate(model, recordings, stepping)
            .map_err(|error| Failure::sentence(CONTENT, error.to_string()))
    };
    let errors = |recordings: &Recordings| -> Result<[evaluate::Report; 2], Failure> {
        Ok([
            of(&loaded.model, recordings)?,
            of(&identified.model, recordings)?,
        ])
    };
    let mut fitted = errors(task.problem().recordings())?;
    if let Some(begun) = task.with_found_starts(&solution.x) {
        fitted[1] = of(&identified.model, &begun)?;
    }
    let description = calibrated(&loaded.spec, task.parameters(), &identified.theta);
    Ok(Found {
        fitted,
        kept_back: kept_back.map(errors).transpose()?,
        seconds: begin.elapsed().as_secs_f64(),
        before: &loaded.model,
        description: description.map_err(|error| error.to_string()),
        shown: kept_back.unwrap_or(task.problem().recordings()),
        truth: None,
        recorded_starts: None,
        checks: Checks::default(),
        task,
        inspection,
        solution,
        identified,
    })
}

/// Refuses parameters that no model file can hold before the search, not after it.
fn can_be_written(task: &Task<'_>, spec: &ModelSpec) -> Result<(), Failure> {
    let moved = |side: f64| {
        let theta = task.start_theta().iter();
        let moved: Vec<f64> = theta
            .map(|theta| theta + side * theta.abs().max(1e-3))
            .collect();
        calibrated(spec, task.parameters(), &moved)
    };
    // On one side of a start that is only just possible, as the inertia of a plate is, no file could be written.
    let written = moved(1e-6).or_else(|error| moved(-1e-6).map_err(|_| error));
    written.map(drop).map_err(|error| failed(&error))
}

fn failed(error: &IdentifyError) -> Failure {
    let message = error.to_string();
    match error {
        IdentifyError::Settings(_) => Failure::sentence(CONTENT, message),
        IdentifyError::Checkpoint(_) => Failure::sentence(WRITE, message),
        IdentifyError::Start(_) | IdentifyError::Description(_) => {
            Failure::sentence(COMPUTATION, message).answered()
        }
    }
}

fn recordings(args: &Args, model: &Model) -> Result<(Recordings, Option<Recordings>), Failure> {
    let content = |error: &dyn std::fmt::Display| Failure::sentence(CONTENT, error.to_string());
    let mapping = Mapping::read(&args.mapping).map_err(|error| content(&error))?;
    let load = |paths: &[PathBuf]| {
        recording::load(model, &mapping, paths).map_err(|error| content(&error))
    };
    let kept_back = match args.validate.as_slice() {
        [] => None,
        paths => Some(load(paths)?),
    };
    Ok((load(&args.recordings)?, kept_back))
}

fn settings(args: &Args, model: &Model, recordings: &Recordings) -> Result<Settings, Failure> {
    let mut settings = match &args.settings {
        Some(path) => Settings::read(path).map_err(|error| failed(&error))?,
        None => Settings::default(),
    };
    for list in &args.free {
        for name in Argument::new("--free", list).split(',') {
            if name.text().is_empty() {
                return Err(name.unfit("an empty name", "write geom.cube.friction[0]"));
            }
            let refuse = |error: &carom::parameters::ParameterError| unselected(name, error);
            let free = Free::new(name.text().parse().map_err(|error| refuse(&error))?);
            carom::parameters::Parameters::new(model, std::slice::from_ref(&free.selection))
                .map_err(|error| refuse(&error))?;
            settings.free.push(free);
        }
    }
    if let Some(name) = &args.preset {
        let unknown = |_| Argument::new("--preset", name).unknown("preset", PRESETS);
        settings.free.extend(preset(name).map_err(unknown)?);
    }
    if let Some(name) = &args.optimiser {
        let known = OptimiserKind::ALL.iter().find(|(known, _)| known == name);
        settings.optimiser = known.map(|&(_, kind)| kind).ok_or_else(|| {
            let names = OptimiserKind::ALL.iter().map(|&(name, _)| name);
            Argument::new("--optimiser", name).unknown("optimiser", names)
        })?;
    }
    if let Some(name) = &args.loss {
        let argument = Argument::new("--loss", name);
        if !LOSSES.contains(&name.as_str()) {
            return Err(argument.unknown("loss", LOSSES));
        }
        settings.problem.loss = loss_of(name, recordings.evaluate.size)
            .map_err(|why| argument.unfit(&why, "needs a width"))?;
    }
    if args.free_starts {
        settings.problem.starts = FREE_STARTS;
    }
    if let Some(count) = args.start_draws {
        settings.problem.starts = Starts::Drawn { count };
    }
    if let Some(frames) = args.segments {
        settings.set_segments(frames);
    }
    if let Some(tolerance) = args.tolerance {
        settings.problem.stepping = in_continuous_time(tolerance);
    }
    settings.evaluations = args
        .evaluations
        .map(|count| count as u64)
        .or(settings.evaluations);
    settings.seconds = args.seconds.or(settings.seconds);
    settings.seed = args.seed.unwrap_or(settings.seed);
    settings.threads = args.threads;
    settings.anyway = args.anyway;
    Ok(settings)
}

/// The bytes of a checkpoint to go on from.
fn checkpoint(args: &Args) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = &args.checkpoint else {
        return Ok(None);
    };
    if !path.exists() {
        return Ok(None);
    }
    let place = path.display();
    if !args.resume {
        let message = format!("the checkpoint '{place}' exists and would be overwritten");
        return Err(Failure::sentence(WRITE, message)
            .help("go on from it with --resume, or remove it to start anew"));
    }
    let bytes = std::fs::read(path).map_err(|cause| {
        Failure::sentence(
            READ,
            format!("cannot read the checkpoint '{place}': {cause}"),
        )
    })?;
    Ok(Some(bytes))
}

/// Shows progress and stores checkpoints.
pub(crate) struct Watcher {
    bar: ProgressBar,
    checkpoint: Option<PathBuf>,
}

impl Watcher {
    pub(crate) fn new(checkpoint: Option<PathBuf>) -> Self {
        let bar = ProgressBar::new_spinner();
        Self { bar, checkpoint }
    }
}

impl Watch for Watcher {
    fn progress(&mut self, evaluations: u64, lowest: f64) {
        self.bar.tick();
        self.bar
            .set_message(format!("{evaluations} evaluations, loss {lowest:.6e}"));
    }

    fn wants_checkpoints(&self) -> bool {
        self.checkpoint.is_some()
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), String> {
        let Some(path) = &self.checkpoint else {
            return Ok(());
        };
        store(path, bytes)
    }
}

fn store(path: &Path, bytes: &[u8]) -> Result<(), String> {
    output::write_whole(path, |out| out.write_all(bytes)).map_err(|error| error.to_string())
}
