//! `carom quickstart`: the main job from end to end, on an example that carom makes itself.
//!
//! A ball with a hidden friction, radius and bounce is thrown three times, and once more; noise is added. The hidden numbers are
//! found from the three, and the fourth throw is predicted. Nothing here is special: the same files and the printed commands
//! give the same numbers, and stay in a folder to go on with.

mod throws;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use carom::Model;
use carom_contact_units as contact_units;
use carom_optimise::random::Random;
use carom_report::{holds, identification_json, identification_page, within};
use carom_tasks::evaluate::{self, figure};
use carom_tasks::identify::workflow::{Question, WantedChecks};
use carom_tasks::identify::{Inspection, Outcome, Settings};
use carom_tasks::recording::{self, Mapping, Recordings};
use serde_json::json;

use crate::failure::{COMPUTATION, Failure, WRITE, finish};
use crate::identify;
use crate::load::{self, Loaded};
use crate::{browser, interrupt, output, stdio, values};
use throws::{FRAMES, Hidden, NOISE, UNKNOWNS};

const MODEL: &str = include_str!("ball.xml");
const MAPPING: &str = include_str!("map.toml");
const SETTINGS: &str = include_str!("identify.toml");
/// What tells a model file of an earlier quickstart from one of the user's.
const MARK: &str = "Written by `carom quickstart`";
/// Recordings of the fit.
const THROWS: [&str; 3] = ["throw1.csv", "throw2.csv", "throw3.csv"];
/// The one that is predicted.
const HELD_OUT: &str = "held_out.csv";

/// Shows the main job on an example: a ball with hidden friction, radius and bounce, which are found from recordings.
///
/// Three throws of the hidden ball are simulated, with noise; the hidden numbers are identified from them, a fourth throw is
/// predicted, and the report opens in the browser. Every step names the command that does it, for your own model and
/// recordings. All files are kept, so that you can go on from them. Nothing is read from the network.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  carom quickstart\n  carom quickstart --seed 7 --out another_ball --no-open\n  carom quickstart --seed 7 --json"
)]
pub(crate) struct Args {
    /// Which hidden numbers, throws and noise.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for model, recordings, calibrated model and report.
    #[arg(long, value_name = "FOLDER", default_value = "carom-quickstart")]
    out: PathBuf,
    /// Do not open the report in the browser.
    #[arg(long)]
    no_open: bool,
    /// Threads; all cores if not given. The numbers do not depend on it.
    #[arg(long, value_name = "N", value_parser = values::threads, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Print the answer as JSON, and open nothing.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> ExitCode {
    finish(args.json, answer(args))
}

fn answer(args: &Args) -> Result<ExitCode, Failure> {
    let begin = Instant::now();
    let place = Place::new(&args.out)?;
    let say = |text: &str| {
        if !args.json {
            crate::print(text);
        }
    };
    place.write("ball.xml", MODEL)?;
    place.write("map.toml", MAPPING)?;
    place.write("identify.toml", SETTINGS)?;
    let loaded = load::load(&place.path("ball.xml"), &[])?;
    say(&place.about_the_model());
    let mut settings = Settings::read(&place.path("identify.toml"))?;
    settings.threads = args.threads;
    let hidden = Hidden::new(&loaded.model, &settings, args.seed)?;
    place.record(&hidden, args.seed)?;
    say(&place.about_the_recordings());
    let recordings = place.read(&loaded.model, &THROWS)?;
    let held_out = place.read(&loaded.model, &[HELD_OUT])?;
    // The example's initial states are all measured, and its noise is known: one search answers it.
    settings.frees_starts = false;
    let question = Question {
        model: &loaded.model,
        spec: &loaded.spec,
        original: Some(loaded.original()),
        recordings: &recordings,
        held_out: Some(&held_out),
        settings,
        checks: WantedChecks::NONE,
        resume: None,
    };
    say(&place.about_the_search());
    let inspected = |inspection: &Inspection| say(&about_what_is_told(inspection));
    let found = identify::found(&question, None, &inspected);
    let mut found = found?;
    found.truth = Some(hidden.values.clone());
    found.seconds = begin.elapsed().as_secs_f64();
    if let Ok(text) = &found.description {
        place.write("calibrated.xml", text)?;
    }
    place.write("report.html", &identification_page(&found, &held_out))?;
    say(&about_what_was_found(&found, &hidden, &loaded));
    say(&place.about_the_prediction(&found));
    conclude(args, &place, &found, &hidden)
}

/// Says the rest, opens the report and gives the exit code.
fn conclude(
    args: &Args,
    place: &Place<'_>,
    found: &Outcome,
    hidden: &Hidden,
) -> Result<ExitCode, Failure> {
    let page = place.path("report.html");
    let problem = problem(found, hidden);
    if args.json {
        let mut document = identification_json(found);
        document["seed"] = json!(args.seed);
        document["hidden"] = json!(hidden.values);
        document["within"] = json!(within(found, &hidden.values));
        document["report"] = json!(page.display().to_string());
        if let Some(why) = &problem {
            document["error"] = json!(why);
            stdio::warn(&failed(why).rendered());
        }
        crate::print(&document.to_string());
    } else {
        let seconds = found.seconds;
        crate::print(&format!(
            "\nReport, after {seconds:.1} s: {}",
            page.display()
        ));
        if !args.no_open && !found.solution.is_stopped {
            open(&page);
        }
    }
    if found.solution.is_stopped {
        return Ok(interrupt::exit_code());
    }
    match problem {
        Some(why) if !args.json => Err(failed(&why)),
        Some(_) => Ok(ExitCode::FAILURE),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Why the example did not turn out as it should; none if it did, or was interrupted.
fn problem(found: &Outcome, hidden: &Hidden) -> Option<String> {
    if found.solution.is_stopped {
        return None;
    }
    if !found.solution.is_finished {
        return Some(format!(
            "the search did not end at a minimum: {}",
            found.solution.end
        ));
    }
    let outside = UNKNOWNS
        .iter()
        .zip(&found.identified.estimates)
        .zip(&hidden.values);
    let outside: Vec<&str> = outside
        .filter(|((_, one), hidden)| !holds(one, **hidden))
        .map(|((unknown, _), _)| unknown.words)
        .collect();
    (!outside.is_empty()).then(|| {
        format!(
            "not within its interval: {}. By chance that should happen to one seed of 250",
            outside.join(", ")
        )
    })
}

fn failed(why: &str) -> Failure {
    Failure::sentence(COMPUTATION, why).answered()
}

fn open(page: &Path) {
    let Ok(page) = page.canonicalize() else {
        return;
    };
    if let Err(cause) = browser::open(&page) {
        stdio::warn(&format!(
            "note: no browser was opened ({cause}); open the report yourself\n"
        ));
    }
}

fn about_what_is_told(inspection: &Inspection) -> String {
    format!(
        "   Each of them shows in the recordings, and all are identifiable: {} numbers were measured.",
        inspection.residuals
    )
}

fn about_what_was_found(found: &Outcome, hidden: &Hidden, loaded: &Loaded) -> String {
    let identified = &found.identified;
    let percent = format!("{} % interval", 100.0 * identified.confidence);
    let mut lines = vec![
        format!(
            "   {} evaluations; what remains between ball and model is {} times the noise of the camera.\n",
            found.solution.history.len(),
            figure(identified.noise)
        ),
        format!(
            "   {:34} {:>9} {:>9} {:>9} {percent:>20}",
            "", "model", "found", "hidden"
        ),
    ];
    for ((unknown, one), hidden) in UNKNOWNS
        .iter()
        .zip(&identified.estimates)
        .zip(&hidden.values)
    {
        let shown = |number: f64| figure(unknown.factor * number);
        let name = match unknown.unit {
            "" => unknown.words.to_owned(),
            unit => format!("{} [{unit}]", unknown.words),
        };
        lines.push(format!(
            "   {name:34} {:>9} {:>9} {:>9} {:>20}  {}",
            shown(one.start),
            shown(one.value),
            shown(*hidden),
            format!("{} … {}", shown(one.interval[0]), shown(one.interval[1])),
            if holds(one, *hidden) { "✓" } else { "✗" },
        ));
    }
    let [before, found, hidden] = [&loaded.model, &identified.model, &hidden.model].map(bounce);
    lines.push(format!(
        "   {:34} {before:>9} {found:>9} {hidden:>9}",
        "so it bounces back with [of 1 m/s]"
    ));
    lines.join("\n")
}

/// The restitution of the only contact.
fn bounce(model: &Model) -> String {
    let kinds = contact_units::survey(model);
    figure(kinds.first().map_or(f64::NAN, |kind| kind.restitution))
}

/// The folder of all files.
struct Place<'a>(&'a Path);

impl<'a> Place<'a> {
    /// Makes the folder. One with other files is left alone: ours have names that a user's may have, too.
    fn new(folder: &'a Path) -> Result<Self, Failure> {
        let place = Self(folder);
        let shown = folder.display();
        std::fs::create_dir_all(folder).map_err(|cause| {
            Failure::sentence(WRITE, format!("cannot make the folder '{shown}': {cause}"))
        })?;
        let is_empty = std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_none());
        let model = std::fs::read_to_string(place.path("ball.xml")).unwrap_or_default();
        if is_empty || model.contains(MARK) {
            return Ok(place);
        }
        let message = format!("the folder '{shown}' holds other files, which might be overwritten");
        Err(Failure::sentence(WRITE, message).help("name a new folder with --out"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        output::write_whole(&self.path(name), |out| out.write_all(text.as_bytes()))?;
        Ok(())
    }

    /// Throws the hidden ball and writes what a camera sees.
    fn record(&self, hidden: &Hidden, seed: u64) -> Result<(), Failure> {
        let mut random = Random::new(seed, 1);
        for name in THROWS.into_iter().chain([HELD_OUT]) {
            let table = hidden.thrown(&mut random)?;
            self.write(name, &table)?;
        }
        Ok(())
    }

    fn read(&self, model: &Model, names: &[&str]) -> Result<Recordings, Failure> {
        let mapping = Mapping::read(&self.path("map.toml"))?;
        let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        Ok(recording::load(model, &mapping, &paths)?)
    }

    fn about_the_model(&self) -> String {
        let folder = self.0.display();
        format!(
            "1. A model of a ball and a table, as they are believed to be:\n     carom view {folder}/ball.xml"
        )
    }

    fn about_the_recordings(&self) -> String {
        let folder = self.0.display();
        let [position, rotation, ..] = NOISE.map(|noise| 1e3 * noise);
        format!(
            "2. Another ball was thrown {} times, and once more: {FRAMES} frames each, with a noise of {position} mm and {rotation} mrad. The model is far off:\n     \
             carom evaluate {folder}/ball.xml {folder}/throw*.csv --mapping {folder}/map.toml",
            THROWS.len()
        )
    }

    fn about_the_search(&self) -> String {
        let folder = self.0.display();
        let words = UNKNOWNS.map(|unknown| unknown.words).join(", ");
        format!(
            "3. What is that ball like? Free are: {words}.\n     \
             carom identify {folder}/ball.xml {folder}/throw*.csv --mapping {folder}/map.toml --settings {folder}/identify.toml \\\n         \
             --validate {folder}/{HELD_OUT} --out {folder}/calibrated.xml --report {folder}/report.html"
        )
    }

    fn about_the_prediction(&self, found: &Outcome) -> String {
        let folder = self.0.display();
        let errors = |metric: &str, factor: f64| {
            let of = |report: &evaluate::Report| {
                figure(factor * report.total_of(metric).unwrap_or(f64::NAN))
            };
            let [before, after] = found.held_out.as_ref().unwrap_or(&found.fitted);
            format!("{} → {}", of(before), of(after))
        };
        format!(
            "4. The held-out throw is predicted from its initial state, with errors of {} mm and {} degrees:\n     \
             carom evaluate {folder}/calibrated.xml {folder}/{HELD_OUT} --mapping {folder}/map.toml",
            errors("position", 1e3),
            errors("rotation", 1.0)
        )
    }
}
