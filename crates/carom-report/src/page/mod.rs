//! The report of an identification: one page, complete in itself, light or dark as the reader has it.

mod coverage;
mod motion;
mod parameters;
mod plots;
mod tables;

pub use coverage::coverage_page;

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carom_tasks::evaluate::{self, Floor, Metric, Report, figure};
use carom_tasks::identify::{Estimate, Grade, Outcome};
use carom_tasks::recording::Recordings;

use crate::summary_output::{about_floor, remarks, summary, verdict_sentence};

const STYLE: &str = include_str!("page.css");

/// The report as a page that is complete in itself. `shown` are the recordings whose motion it shows: those that were held out, if any, else those
/// of the fit.
pub fn identification_page(found: &Outcome, shown: &Recordings) -> String {
    identification_page_by(found, shown, None)
}

/// As [`identification_page`], with the command line that made it.
pub fn identification_page_by(
    found: &Outcome,
    shown: &Recordings,
    command: Option<&str>,
) -> String {
    let names = &found.before.structure.names;
    let title = match names.model.as_str() {
        "" => "Identified parameters".to_owned(),
        name => format!("Identified parameters of {name}"),
    };
    let mut body = format!(
        "<h1>{}</h1><p class=\"lead\">{}</p>",
        escape(&title),
        escape(&summary(found))
    );
    body += &verdict(found);
    body += &figures(found);
    body += &section("Parameters", &parameters::table(found));
    body += &section("What the recordings tell", &told(found));
    body += &tables::dependences(found);
    body += &suggestions(found);
    let (model, stepping) = (&found.identified.model, found.settings.stepping);
    if evaluate::touches(model, shown, stepping, motion::middle(found)) {
        body += &tables::contacts(found);
    }
    body += &section("Measured and simulated", &motion::motion(found, shown));
    body += &section("Signals over time", &motion::signals(found, shown));
    let charts = [plots::loss(found), plots::residuals(found)];
    body += &section("The search", &plots::grid(&charts));
    body += &profiles(found);
    body += &errors(found);
    if let Some(folds) = &found.checks.cross_validation {
        let title = format!("Cross-validation over {} folds", folds.folds.len());
        body += &section(&title, &tables::folds(folds));
    }
    if let Some(recovery) = &found.checks.recovery {
        body += &section("Recovery of a known truth", &tables::recovery(recovery));
    }
    body += &description(found);
    body += &section("How it was made", &origin(shown, command));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style></head>\n<body><main>{body}</main></body></html>\n",
        escape(&title)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn section(title: &str, content: &str) -> String {
    format!("<section><h2>{}</h2>{content}</section>\n", escape(title))
}

/// Command line, recordings and version.
fn origin(shown: &Recordings, command: Option<&str>) -> String {
    let mut rows = String::new();
    let mut row = |what: &str, value: &str| {
        let _ = write!(
            rows,
            "<tr><td>{what}</td><td><code>{}</code></td></tr>",
            escape(value)
        );
    };
    if let Some(command) = command {
        row("command line", command);
    }
    let mut files: Vec<&str> = shown
        .trajectories
        .iter()
        .map(|motion| motion.file.as_str())
        .collect();
    files.dedup();
    row("recordings shown", &files.join(", "));
    row("version", concat!("carom ", env!("CARGO_PKG_VERSION")));
    format!("<table>{rows}</table>")
}

/// Whether the answer may be used, and what speaks against it, the worst first.
fn verdict(found: &Outcome) -> String {
    let verdict = found.verdict();
    let (class, title) = match verdict.grade {
        Grade::Success => ("good", "Success"),
        Grade::Doubtful => ("doubtful", "Usable with doubts"),
        Grade::NoSuccess => ("bad", "No success"),
    };
    let reasons = verdict.reasons.iter();
    let mut against: Vec<String> = reasons.map(|reason| reason.words.clone()).collect();
    if verdict.grade == Grade::Success {
        let sentence = verdict_sentence(found);
        let words = sentence.split_once(": ").map(|(_, words)| words.to_owned());
        against.extend(words);
    }
    format!(
        "<div class=\"verdict {class}\"><b>{title}</b>{}</div>",
        tables::said(&against)
    )
}

/// The few numbers that matter most.
fn figures(found: &Outcome) -> String {
    let mut cards = String::new();
    let mut card = |what: &str, value: &str, (class, note): (&str, &str)| {
        let _ = write!(
            cards,
            "<div class=\"figure\"><span>{}</span><b>{}</b><span class=\"{class}\">{}</span></div>",
            escape(what),
            escape(value),
            escape(note)
        );
    };
    let (reports, whose) = match &found.held_out {
        Some(held_out) => (held_out, "held-out recordings"),
        None => (&found.fitted, "recordings of the fit"),
    };
    for (index, metric) in main_metrics(&reports[0].metrics) {
        let [before, after] = [reports[0].total[index], reports[1].total[index]];
        let change = 100.0 * (after / before - 1.0);
        let change = if change.is_finite() {
            format!("{change:+.0} %")
        } else {
            String::new()
        };
        card(
            &format!("{}, {whose}", metric.head()),
            &format!("{} → {}", figure(before), figure(after)),
            (tables::class(before, after), &change),
        );
    }
    if found.settings.loss.by_noise {
        card(
            "residuals in units of their noise",
            &figure(found.identified.noise),
            ("same", "1 if model and noise are right"),
        );
    }
    let taken = format!("{:.1} s", found.seconds);
    let evaluations = format!("{} evaluations", found.solution.history.len());
    card("search", &taken, ("same", &evaluations));
    if let Some(truth) = &found.truth {
        let inside = within(found, truth);
        let all = truth.len();
        card(
            "hidden parameters within their intervals",
            &format!("{inside} of {all}"),
            ("same", ""),
        );
    }
    format!("<div class=\"figures\">{cards}</div>")
}

/// How many true values lie within their intervals.
pub fn within(found: &Outcome, truth: &[f64]) -> usize {
    let pairs = found.identified.estimates.iter().zip(truth);
    pairs.filter(|(one, truth)| holds(one, **truth)).count()
}

/// Whether an interval holds a value.
pub fn holds(one: &Estimate, truth: f64) -> bool {
    one.interval[0] <= truth && truth <= one.interval[1]
}

/// Positions and rotations if there are any, else what comes first.
fn main_metrics(metrics: &[Metric]) -> Vec<(usize, &Metric)> {
    let wanted = ["position_percent", "rotation", "angle_degrees", "slide"];
    let all = || metrics.iter().enumerate();
    let mut chosen: Vec<_> = all()
        .filter(|(_, metric)| wanted.contains(&metric.name.as_str()))
        .collect();
    if chosen.is_empty() {
        chosen = all().take(2).collect();
    }
    chosen.truncate(2);
    chosen
}

fn told(found: &Outcome) -> String {
    let inspection = &found.inspection;
    let mut list = format!(
        "<p>{} numbers were compared in {} simulations. At the start, {} of {} combinations of parameters are identifiable (condition {}).</p>",
        inspection.residuals,
        found.runs,
        inspection.rank,
        found.identified.estimates.len(),
        figure(inspection.condition)
    );
    let remarks = remarks(found);
    list += &if remarks.is_empty() {
        tables::said(&["every parameter is known, and each by itself".to_owned()])
    } else {
        tables::said(&remarks)
    };
    list += "<p class=\"note\">Intervals follow from how strongly the recordings depend on each parameter and from the residuals that remain. They hold \
             if the model can be right; they cannot know of effects that the model lacks.</p>";
    list
}

/// Motions that would tell more.
fn suggestions(found: &Outcome) -> String {
    let words: Vec<String> = (found.checks.suggestions.iter())
        .map(carom_tasks::identify::Excitation::words)
        .collect();
    if words.is_empty() {
        return String::new();
    }
    let content = format!(
        "<p>Of the motions that were tried in simulation, these would tell most of what these recordings leave open, each in addition to those before:</p>{}\
         <p class=\"note\">A parameter's scale is the width of its bounds, or the size of its start; of logarithms, a factor of e.</p>",
        tables::said(&words)
    );
    section("What to record next", &content)
}

fn profiles(found: &Outcome) -> String {
    let Some(profiles) = &found.checks.profiles else {
        return String::new();
    };
    let estimates = &found.identified.estimates;
    let charts: Vec<String> = (profiles.iter())
        .map(|profile| {
            let one = estimates.iter().find(|one| one.name == profile.name);
            let unit = one.map(|one| one.unit.as_str());
            plots::profile(profile, unit.unwrap_or_default())
        })
        .collect();
    let words: Vec<String> = (profiles.iter())
        .flat_map(|profile| profile.words.iter().cloned())
        .collect();
    let words = if words.is_empty() {
        vec!["profiles and intervals agree: the loss is close to a parabola".to_owned()]
    } else {
        words
    };
    let content = format!(
        "<p>Each parameter is held at other values while all others are fitted again. Where the loss has risen to the limit, the interval ends.</p>{}{}",
        tables::said(&words),
        plots::grid(&charts).replacen("charts", "charts profiles", 1)
    );
    section("Profile likelihoods", &content)
}

fn errors(found: &Outcome) -> String {
    let mut sections = String::new();
    if let Some(held_out) = &found.held_out {
        let content = tables::errors(held_out) + &floor(&held_out[1], found.floors[1].as_ref());
        sections += &section("Errors on held-out recordings", &content);
    }
    let content =
        tables::errors(&found.fitted) + &floor(&found.fitted[1], found.floors[0].as_ref());
    sections + &section("Errors on the recordings of the fit", &content)
}

/// What the model would score if it were right.
fn floor(report: &Report, floor: Option<&Floor>) -> String {
    let Some(floor) = floor else {
        return String::new();
    };
    let metrics = report.metrics.iter().zip(&floor.errors);
    let metrics = metrics.map(|(metric, error)| format!("{} {}", metric.head(), figure(*error)));
    let errors: Vec<String> = metrics.collect();
    let words = format!("Noise floor: {}{}", errors.join(", "), about_floor(floor));
    format!("<p class=\"note\">{}</p>", escape(&words))
}

fn description(found: &Outcome) -> String {
    let text = match &found.description {
        Ok(text) => text,
        Err(why) => {
            return section("The calibrated model", &tables::said(&[why.to_string()]));
        }
    };
    let content = format!(
        "<a class=\"button\" download=\"calibrated.xml\" href=\"data:application/xml;base64,{}\">Download calibrated.xml</a>\
         <details><summary>show it</summary><pre>{}</pre></details>",
        STANDARD.encode(text),
        escape(text)
    );
    section("The calibrated model", &content)
}
