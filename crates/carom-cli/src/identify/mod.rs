//! `carom identify`: from recordings to a calibrated model. What it decides is [`carom_tasks::identify::workflow`]; here it is asked and said.

mod laws;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use carom::parameters::Parameters;
use carom::{Error, ErrorKind, Model};
use carom_report::{
    identification_json, identification_page_by, identification_text, verdict_sentence,
};
use carom_tasks::identify::workflow::{self, Event, Profiles, Question, WantedChecks};
use carom_tasks::identify::{
    Excitation, FREE_STARTS, Free, Grade, Inspection, LOSSES, OptimiserKind, Outcome, PRESETS,
    RESIDUALS, Settings, Watch, calibrated_at, check_folds, in_continuous_time, loss_of,
};
use carom_tasks::problem::Starts;
use carom_tasks::recording::{self, Recordings};
use indicatif::ProgressBar;

use crate::command_line::{Argument, unfit};
use crate::failure::{Failure, READ, WRITE, finish};
use crate::{interrupt, load, output, stdio, values};

/// Finds the parameters of a model with which it moves as recorded.
///
/// Before the search, every free parameter must be identifiable from the recordings; one that is not is refused by name. After
/// it, every parameter has an interval, and errors on held-out recordings are printed before and after. Ctrl-C ends the search
/// and keeps the best parameters so far. docs/identify.md has all of it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom identify cube.xml tosses.npz --mapping cube.toml --free geom.*.friction[0],geom.cube.size --out calibrated.xml\n  carom identify cube.xml tosses.npz --mapping cube.toml --settings identify.toml --validate others.npz --report report.html\n  carom identify cube.xml tosses.npz --mapping cube.toml --free geom.cube.solref --optimiser cmaes --seed 3\n  carom identify cube.xml tosses.npz --mapping cube.toml --preset contact --out calibrated.xml\n  carom identify arm.xml run.csv --mapping arm.toml --free joint.*.damping[0] --checkpoint fit.bin --resume --json"
)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct Args {
    /// Model file (MJCF or URDF).
    pub(crate) model: PathBuf,
    /// Recordings: .npz, .csv or .mcap files.
    #[arg(required = true)]
    pub(crate) recordings: Vec<PathBuf>,
    /// What the arrays of the recordings are (TOML): `carom map` proposes it. Recordings of `carom sim` need none.
    #[arg(long)]
    pub(crate) mapping: Option<PathBuf>,
    /// Parameters to find, separated by commas: `geom.cube.size log tied`. Modifiers are log, softplus, bounds(low,high), scale(c),
    /// tied, tied-ratio.
    #[arg(long, value_name = "NAME,…")]
    pub(crate) free: Vec<String>,
    /// Parameters that are often found together, within their usual ranges: contact (friction, time constant and damping ratio of
    /// all geoms at once, from throws; segments and initial states are found too), contact-pairs (of all explicit pairs),
    /// contact-all and contact-pairs-all (solimp too).
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Choose the contact law by the error on recordings that were left out of fits: auto, or names separated by commas
    /// (soft, complementarity, `hunt_crossley`, `hunt_crossley_patch`). Friction and the numbers of the laws are found.
    #[arg(long, value_name = "auto|NAME,…", conflicts_with_all = ["free", "preset", "settings", "loss", "residual", "segments", "free_initial_states", "initial_state_draws", "tolerance", "optimiser", "folds", "profiles", "recovery", "checkpoint", "report", "evaluations", "seconds", "anyway", "fixed_steps"])]
    pub(crate) laws: Option<String>,
    /// Settings (TOML): priors, bounds, ties, loss, starts, optimiser.
    #[arg(long)]
    pub(crate) settings: Option<PathBuf>,
    /// Held-out recordings, to measure errors before and after; give them after the recordings of the fit.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) validate: Vec<PathBuf>,
    /// How predictions are compared: likelihood (squares in units of the noise), `distance_and_angle`, `squared_poses`, absolute.
    #[arg(long)]
    pub(crate) loss: Option<String>,
    /// What is compared: prediction (motions), torque (torques of joints by inverse dynamics, where controls are torques), both.
    #[arg(long)]
    pub(crate) residual: Option<String>,
    /// Compare segments of so many frames instead of whole trajectories.
    #[arg(long, value_name = "FRAMES", value_parser = values::count, allow_negative_numbers = true)]
    pub(crate) segments: Option<usize>,
    /// Estimate the initial state of every trajectory too, near the recorded one.
    #[arg(long, alias = "free-starts")]
    pub(crate) free_initial_states: bool,
    /// Simulate every run from so many initial states, the recorded one and others within its noise, and minimise the mean loss:
    /// for losses that are rough through contacts.
    #[arg(
        long,
        alias = "start-draws",
        value_name = "N",
        value_parser = values::count,
        allow_negative_numbers = true,
        conflicts_with = "free_initial_states"
    )]
    pub(crate) initial_state_draws: Option<usize>,
    /// Simulate in continuous time to this tolerance instead of by the model's time steps.
    #[arg(long, value_parser = values::tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Simulate by the model's time steps although its file says that it was calibrated in continuous time.
    #[arg(long, conflicts_with = "tolerance")]
    pub(crate) fixed_steps: bool,
    #[arg(long, help = optimiser_help())]
    pub(crate) optimiser: Option<String>,
    /// Maximum of evaluations of the loss.
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub(crate) evaluations: Option<usize>,
    /// Longest search (s).
    #[arg(long, value_parser = values::positive_seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<f64>,
    /// Seed of the random numbers of optimisers that search the whole range.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Threads; all cores if not given. The numbers do not depend on it.
    #[arg(long, value_name = "N", value_parser = values::threads, allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Fit although some parameters are not identifiable.
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

fn optimiser_help() -> String {
    format!(
        "How to search: {} (auto: lm, Levenberg–Marquardt, where its Jacobian fits into memory); where the loss has many minima {}",
        OptimiserKind::names(true),
        OptimiserKind::names(false)
    )
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let outputs = [&args.out, &args.report, &args.checkpoint];
    let outputs: Vec<&Path> = outputs
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    for path in &outputs {
        output::check_target(path)?;
    }
    let loaded = load::load(&args.model, &args.allow)?;
    stdio::warn(&loaded.warnings);
    let inputs = args.mapping.iter().chain(&args.settings);
    let inputs = inputs.chain(&args.recordings).chain(&args.validate);
    let inputs = inputs.map(PathBuf::as_path).chain(loaded.sources.paths());
    output::check_distinct(&outputs, inputs)?;
    let (recordings, held_out) = recordings(args, &loaded.model)?;
    let others = held_out.iter().flat_map(|others| &others.warnings);
    let warnings: Vec<&String> = recordings
        .warnings
        .iter()
        .chain(others.filter(|warning| !recordings.warnings.contains(warning)))
        .collect();
    for warning in &warnings {
        stdio::warn(&format!("warning: {warning}\n"));
    }
    if let Some(names) = &args.laws {
        let recordings = [Some(&recordings), held_out.as_ref()];
        return laws::answer(args, names, &loaded, recordings);
    }
    refuse_folds(args, &recordings)?;
    let question = Question {
        model: &loaded.model,
        spec: &loaded.spec,
        original: Some(loaded.original()),
        recordings: &recordings,
        held_out: held_out.as_ref(),
        settings: settings(args, &recordings)?,
        checks: WantedChecks {
            profiles: if args.profiles {
                Profiles::Always
            } else {
                Profiles::WhereCheap
            },
            folds: args.folds,
            recovery: args.recovery,
            ..WantedChecks::default()
        },
        resume: None,
    };
    let resume = checkpoint(args)?;
    let question = Question {
        resume: resume.as_deref(),
        ..question
    };
    let outcome = found(&question, args.checkpoint.clone(), &|_| {}).map_err(|error| {
        wrong_name(args, &loaded.model, &error).unwrap_or_else(|| Failure::from(error))
    })?;
    // What cannot be written is said after the answer: the search was the work, and it must not be lost.
    let (mut written, mut unwritten) = (Vec::new(), None);
    let mut write = |what: &str, path: &Path, text: Result<String, Error>| {
        let text = text.map_err(Failure::from);
        let done = text.and_then(|text| {
            let done = output::write_whole(path, |out| out.write_all(text.as_bytes()));
            done.map_err(Failure::from)
        });
        match done {
            Ok(()) => written.push(format!("{what}: {}", path.display())),
            Err(failure) => {
                unwritten.get_or_insert(failure);
            }
        }
    };
    if let (Some(path), Ok(text)) = (&args.out, &outcome.description) {
        let placed = calibrated_at(text, &args.model, path);
        write("calibrated model", path, placed);
    }
    if let Some(path) = &args.report {
        let shown = held_out.as_ref().unwrap_or(&recordings);
        let page = identification_page_by(&outcome, shown, Some(&command_text()));
        write("report", path, Ok(page));
    }
    let is_stopped = outcome.solution.is_stopped || interrupt::asked();
    let refusal = outcome.refusal();
    if args.json {
        let mut document = identification_json(&outcome);
        document["diagnostics"] = loaded.listed();
        document["warnings"] = serde_json::json!(warnings);
        if let (Some(why), false) = (&refusal, is_stopped) {
            document["error"] = serde_json::json!(why);
        }
        if let Some(failure) = &unwritten {
            document["unwritten"] = failure.to_json()["error"].clone();
        }
        crate::print(&document.to_string());
    } else {
        crate::print(&identification_text(&outcome));
        for line in &written {
            crate::print(line);
        }
    }
    if let Some(failure) = unwritten {
        return Ok(failure.report(false));
    }
    if is_stopped {
        return Ok(interrupt::exit_code());
    }
    let grade = outcome.verdict().grade;
    if grade == Grade::Doubtful {
        stdio::warn(&format!("warning: {}\n", verdict_sentence(&outcome)));
    }
    Ok(ExitCode::from(grade.exit_code()))
}

/// The command line as a shell would read it again.
fn command_text() -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    let quoted = |word: std::ffi::OsString| {
        let word = word.to_string_lossy();
        if !word.is_empty() && word.chars().all(plain) {
            word.into_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words: Vec<String> = std::env::args_os().skip(1).map(quoted).collect();
    format!("carom {}", words.join(" "))
}

/// What the workflow finds, with progress, checkpoints and Ctrl-C; `inspected` hears before the search what the recordings can tell.
pub(crate) fn found(
    question: &Question<'_>,
    checkpoint: Option<PathBuf>,
    inspected: &(dyn Fn(&Inspection) + Sync),
) -> Result<Outcome, Error> {
    interrupt::watch();
    let mut watcher = Watcher {
        bar: ProgressBar::hidden(),
        checkpoint,
        inspected,
    };
    workflow::identify(question, Some(interrupt::flag()), &mut watcher)
}

/// A parameter of `--free` that does not exist, with its place on the command line; none if something else is wrong.
fn wrong_name(args: &Args, model: &Model, error: &Error) -> Option<Failure> {
    let ErrorKind::Parameter(_) = error.kind() else {
        return None;
    };
    let lists = args.free.iter().map(|list| Argument::new("--free", list));
    let names = lists.flat_map(|list| list.split(','));
    names.into_iter().find_map(|name| {
        let free = Free::new(name.text().parse().ok()?);
        let chosen = Parameters::new(model, std::slice::from_ref(&free.selection));
        chosen.err().map(|error| name.unselected(&error))
    })
}

/// Refuses folds that cannot be made before the search, not after it.
fn refuse_folds(args: &Args, recordings: &Recordings) -> Result<(), Failure> {
    let count = recordings.trajectories.len();
    let checked = args.folds.map_or(Ok(()), |folds| check_folds(folds, count));
    let label = if count < 2 {
        "nothing to part"
    } else {
        "no such number of folds"
    };
    checked.map_err(|why| unfit("--folds", &why.to_string(), label))
}

fn recordings(args: &Args, model: &Model) -> Result<(Recordings, Option<Recordings>), Failure> {
    let mapping = recording::mapping_for(model, args.mapping.as_deref(), &args.recordings)?;
    let load = |paths: &[PathBuf]| recording::load(model, &mapping, paths);
    let held_out = match args.validate.as_slice() {
        [] => None,
        paths => Some(load(paths)?),
    };
    Ok((load(&args.recordings)?, held_out))
}

fn settings(args: &Args, recordings: &Recordings) -> Result<Settings, Failure> {
    let mut settings = match &args.settings {
        Some(path) => Settings::read(path)?,
        None => Settings::default(),
    };
    for list in &args.free {
        for name in Argument::new("--free", list).split(',') {
            if name.text().is_empty() {
                return Err(name.unfit("an empty name", "write geom.cube.friction[0]"));
            }
            let selection = name.text().parse();
            let selection = selection.map_err(|error| name.unselected(&error))?;
            settings.free.push(Free::new(selection));
        }
    }
    if let Some(name) = &args.preset {
        let unknown = |_| Argument::new("--preset", name).unknown("preset", PRESETS);
        settings.add_preset(name).map_err(unknown)?;
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
            .map_err(|why| argument.unfit(&why.to_string(), "needs a width"))?;
    }
    if let Some(name) = &args.residual {
        let known = RESIDUALS.iter().find(|(known, _)| known == name);
        settings.residual = known.map(|&(_, kind)| kind).ok_or_else(|| {
            let names = RESIDUALS.iter().map(|&(name, _)| name);
            Argument::new("--residual", name).unknown("residual", names)
        })?;
    }
    if args.free_initial_states {
        settings.problem.starts = FREE_STARTS;
    }
    if let Some(count) = args.initial_state_draws {
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
    settings.fixed_steps = args.fixed_steps;
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

/// Shows progress, says what comes up on the way, and stores checkpoints.
struct Watcher<'w> {
    bar: ProgressBar,
    checkpoint: Option<PathBuf>,
    inspected: &'w (dyn Fn(&Inspection) + Sync),
}

impl Watch for Watcher<'_> {
    fn progress(&mut self, evaluations: u64, lowest: f64) {
        self.bar.tick();
        self.bar
            .set_message(format!("{evaluations} evaluations, loss {lowest:.6e}"));
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::InitialStatesFreed => stdio::warn(
                "note: the mapping does not give all of the starts: they are found too\n",
            ),
            Event::Suggested(suggestions) => say(suggestions),
            Event::SearchBegins => self.bar = ProgressBar::new_spinner(),
            Event::SearchEnds => self.bar.finish_and_clear(),
            Event::Inspected(inspection) => (self.inspected)(inspection),
        }
    }

    fn wants_checkpoints(&self) -> bool {
        self.checkpoint.is_some()
    }

    fn checkpoint(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(path) = &self.checkpoint else {
            return Ok(());
        };
        store(path, bytes)
    }
}

/// Says before a search what could be recorded to make it better.
fn say(suggestions: &[Excitation]) {
    if suggestions.is_empty() {
        return;
    }
    let mut text =
        "note: the recordings tell some parameters badly; what to record next:\n".to_owned();
    for suggestion in suggestions {
        let _ = writeln!(text, "  - {}", suggestion.words());
    }
    stdio::warn(&text);
}

fn store(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    Ok(output::write_whole(path, |out| out.write_all(bytes))?)
}
