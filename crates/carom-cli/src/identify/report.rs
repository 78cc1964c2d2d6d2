//! The report: one page, complete in itself, light or dark as the reader has it.

use std::fmt::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use carom::Model;
use carom::contact_units::{self, ContactKind};
use carom_plot::{Chart, Scale, Series};
use carom_tasks::evaluate::{self, Metric};
use carom_tasks::identify::Estimate;
use carom_viewer::{Recording, Trajectory, export_html};

use super::Found;
use super::spoken::{interval, remarks, summary, unit};
use crate::evaluate::{figure, head};
use crate::naming::pair_name;

const STYLE: &str = include_str!("report.css");
/// Trajectories that are listed one by one without a click.
const LISTED: usize = 12;
/// Frames a second of the motion that is shown.
const FRAME_RATE: f64 = 60.0;
/// Points of a chart, beyond which nothing more can be seen.
const MOST_POINTS: usize = 2_000;

/// The page.
pub(crate) fn html(found: &Found<'_>) -> String {
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
    body += &figures(found);
    body += &section("Parameters", &parameters(found));
    body += &section("What the recordings tell", &told(found));
    body += &contacts(found);
    body += &section("Measured and simulated", &motion(found));
    body += &section("The search", &charts(found));
    body += &errors(found);
    body += &description(found);
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

/// The few numbers that matter most.
fn figures(found: &Found<'_>) -> String {
    let mut cards = String::new();
    let mut card = |what: &str, value: &str, note: &str| {
        let _ = write!(
            cards,
            "<div class=\"figure\"><span>{}</span><b>{}</b><span class=\"better\">{}</span></div>",
            escape(what),
            escape(value),
            escape(note)
        );
    };
    let (reports, whose) = match &found.kept_back {
        Some(kept_back) => (kept_back, "kept back"),
        None => (&found.fitted, "of the fit"),
    };
    for (index, metric) in main_metrics(&reports[0].metrics) {
        let [before, after] = [reports[0].total[index], reports[1].total[index]];
        let change = 100.0 * (after / before - 1.0);
        card(
            &format!("{} on recordings {whose}", head(metric)),
            &format!("{} → {}", figure(before), figure(after)),
            &format!("{change:+.0} %"),
        );
    }
    card(
        "residuals in units of their noise",
        &figure(found.identified.noise),
        "1 if model and noise are right",
    );
    let taken = format!("{:.1} s", found.seconds);
    let evaluations = format!("{} evaluations", found.solution.history.len());
    card("search and checks", &taken, &evaluations);
    if let Some(truth) = &found.truth {
        let inside = within(found, truth);
        let all = truth.len();
        card(
            "hidden parameters within their intervals",
            &format!("{inside} of {all}"),
            "",
        );
    }
    format!("<div class=\"figures\">{cards}</div>")
}

/// How many true values lie within their intervals.
pub(crate) fn within(found: &Found<'_>, truth: &[f64]) -> usize {
    let pairs = found.identified.estimates.iter().zip(truth);
    pairs.filter(|(one, truth)| holds(one, **truth)).count()
}

/// Whether an interval holds a value.
pub(crate) fn holds(one: &Estimate, truth: f64) -> bool {
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

fn parameters(found: &Found<'_>) -> String {
    let percent = 100.0 * found.identified.confidence;
    let truth = found.truth.as_deref();
    let mut rows = format!(
        "<table><tr><th>parameter</th><th>start</th><th>value</th>{}<th>{percent} % interval</th><th></th><th>unit</th></tr>",
        if truth.is_some() {
            "<th>hidden truth</th>"
        } else {
            ""
        }
    );
    for (index, one) in found.identified.estimates.iter().enumerate() {
        let note = if one.is_at_bound {
            "; at its bound"
        } else {
            ""
        };
        let known = truth.map(|truth| format!("<td>{}</td>", figure(truth[index])));
        let _ = write!(
            rows,
            "<tr><td><code>{}</code><small>{}{note}</small></td><td>{}</td><td><b>{}</b></td>{}<td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&one.name),
            meaning(&one.name),
            figure(one.start),
            figure(one.value),
            known.unwrap_or_default(),
            escape(&interval(one)),
            range(one, truth.map(|truth| truth[index])),
            escape(unit(one)),
        );
    }
    rows += "</table><p class=\"note\">Bars: the interval, the value (line), the start (circle)";
    rows += if truth.is_some() {
        ", the hidden truth (diamond).</p>"
    } else {
        ".</p>"
    };
    rows
}

/// A small picture of start, value and interval.
fn range(one: &Estimate, truth: Option<f64>) -> String {
    let [low, high] = one.interval;
    if !(low.is_finite() && high.is_finite()) {
        return String::new();
    }
    let numbers = [low, high, one.start, one.value, truth.unwrap_or(one.value)];
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = if most > least { most - least } else { 1.0 };
    let place = |number: f64| 8.0 + 134.0 * (number - least) / width;
    let band = (place(high) - place(low)).max(2.0);
    let diamond = truth.map_or(String::new(), |truth| {
        let x = place(truth);
        format!("<path d=\"M{x:.1} 3l5 6-5 6-5-6z\" fill=\"none\" stroke=\"var(--good)\" stroke-width=\"1.6\"/>")
    });
    format!(
        "<svg class=\"range\" viewBox=\"0 0 150 18\"><line x1=\"4\" x2=\"146\" y1=\"9\" y2=\"9\" stroke=\"var(--line)\"/>\
         <rect x=\"{:.1}\" y=\"4\" width=\"{band:.1}\" height=\"10\" rx=\"3\" fill=\"var(--band)\"/>\
         <line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"2\" y2=\"16\" stroke=\"var(--mark)\" stroke-width=\"2\"/>\
         <circle cx=\"{:.1}\" cy=\"9\" r=\"3.4\" fill=\"none\" stroke=\"var(--soft)\" stroke-width=\"1.5\"/>{diamond}</svg>",
        place(low),
        place(one.start),
        x = place(one.value),
    )
}

/// What a parameter is, in words.
fn meaning(name: &str) -> &'static str {
    let (path, component) = match name.rsplit_once('[') {
        Some((path, rest)) => (path, rest.trim_end_matches(']')),
        None => (name, ""),
    };
    let family = path.split('.').next().unwrap_or_default();
    let attribute = path.rsplit('.').next().unwrap_or_default();
    match (family, attribute, component) {
        ("geom" | "pair", "friction", "0") => "sliding friction",
        ("geom", "friction", "1") => "spinning friction",
        ("geom", "friction", "2") => "rolling friction",
        ("pair", "friction", _) => "friction of the pair",
        ("geom" | "pair", "solref", "0") => "time constant of contacts",
        ("geom" | "pair", "solref", "1") => "damping ratio of contacts",
        ("geom" | "pair", "solimp", "0") => "impedance of contacts at first touch",
        ("geom" | "pair", "solimp", "1") => "impedance of contacts at full depth",
        ("geom" | "pair", "solimp", "2") => "depth at which contacts are at their stiffest",
        ("geom" | "pair", "solimp", "3") => "midpoint of the impedance",
        ("geom" | "pair", "solimp", "4") => "power of the impedance",
        ("geom", "size", _) => "size: half a side, or a radius",
        ("geom" | "body", "mass", _) => "mass",
        ("geom", "density", _) => "density",
        ("geom", "margin", _) => "distance at which contacts begin",
        ("body", "inertia", _) => "principal moment of inertia",
        ("body", "ipos", _) => "centre of mass",
        ("body", "pseudo_inertia", _) => {
            "mass, centre and inertia, by a form that is always physical"
        }
        ("joint" | "tendon", "damping", _) => "viscous damping",
        ("joint" | "tendon", "frictionloss", _) => "dry friction",
        ("joint" | "tendon", "stiffness", _) => "stiffness of the spring",
        ("joint", "armature", _) => "inertia of the rotor, as the joint feels it",
        ("joint", "springref", _) => "rest of the spring",
        ("actuator", "gear", _) => "gear of the actuator",
        ("actuator", "gainprm" | "kp", _) => "gain of the actuator",
        ("actuator", "delay", _) => "delay of the actuator",
        ("option", "gravity", _) => "gravity",
        (_, "pos", _) => "position",
        (_, "quat", _) => "orientation",
        _ => "",
    }
}

fn told(found: &Found<'_>) -> String {
    let inspection = &found.inspection;
    let mut list = format!(
        "<p>{} numbers were compared in {} simulations. At the start, {} of {} combinations of parameters can be told (condition {}).</p><ul>",
        inspection.residuals,
        found.task.problem().all_runs().len(),
        inspection.rank,
        found.identified.estimates.len(),
        figure(inspection.condition)
    );
    let remarks = remarks(found);
    if remarks.is_empty() {
        list += "<li>Every parameter is known, and each by itself.</li>";
    }
    for remark in remarks {
        let _ = write!(list, "<li>{}</li>", escape(&remark));
    }
    list += "</ul><p class=\"note\">Intervals follow from how strongly the recordings depend on each parameter and from the residuals that remain. They hold \
             if the model can be right; they cannot know of effects that the model lacks.</p>";
    list
}

/// Contacts in physical units, before and after.
fn contacts(found: &Found<'_>) -> String {
    let kinds = [found.before, &found.identified.model].map(contact_units::survey);
    if kinds[0].is_empty() || kinds[0].len() != kinds[1].len() {
        return String::new();
    }
    let mut rows = "<table><tr><th>contact</th><th></th><th>friction</th><th>stiffness</th><th>damping</th><th>restitution at 1 m/s</th><th>time constant</th>\
                    <th>sinks in at rest</th></tr>"
        .to_owned();
    for (before, after) in kinds[0].iter().zip(&kinds[1]) {
        for (kind, model, when) in [
            (before, found.before, "before"),
            (after, &found.identified.model, "after"),
        ] {
            rows += &contact_row(kind, model, when);
        }
    }
    rows += "</table>";
    section("Contacts in physical units", &rows)
}

fn contact_row(kind: &ContactKind, model: &Model, when: &str) -> String {
    let depth = kind.contact.full_depth();
    format!(
        "<tr><td>{}</td><td>{when}</td><td>{}</td><td>{} N/m</td><td>{} N·s/m</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        escape(&pair_name(model, kind.geoms)),
        figure(kind.parameters.friction[0]),
        figure(kind.contact.stiffness(depth)),
        figure(kind.contact.damping(depth)),
        figure(kind.restitution),
        escape(&contact_units::seconds(kind.time_constant)),
        escape(&contact_units::metres(kind.rest_penetration)),
    )
}

/// A trajectory as it was measured, and as the calibrated model moves.
fn motion(found: &Found<'_>) -> String {
    let model = &found.identified.model;
    let shown = found.shown;
    let stepping = found.task.settings().problem.stepping;
    // The one in the middle by its error after the fit: neither the best nor the worst.
    let report = &found.kept_back.as_ref().unwrap_or(&found.fitted)[1];
    let mut order: Vec<usize> = (0..report.trajectories.len()).collect();
    let error = |index: &usize| {
        report.trajectories[*index]
            .errors
            .first()
            .copied()
            .unwrap_or(f64::NAN)
    };
    order.sort_by(|a, b| error(a).total_cmp(&error(b)));
    let index = order.get(order.len() / 2).copied().unwrap_or(0);
    let predicted = match evaluate::predict(model, shown, stepping, index) {
        Ok(predicted) => predicted,
        Err(why) => return format!("<p class=\"note\">{}</p>", escape(&why.to_string())),
    };
    let recorded = &shown.trajectories[index];
    let nq = model.counts().nq;
    let (mut times, mut measured, mut simulated) = (Vec::new(), Vec::new(), Vec::new());
    for (frame, state) in &predicted {
        let qpos = &recorded.qpos[frame * nq..][..nq];
        if qpos.iter().all(|number| number.is_finite()) {
            times.push(recorded.times[*frame]);
            measured.extend_from_slice(qpos);
            simulated.extend_from_slice(&state.qpos);
        }
    }
    let film = |name: &str, qpos: &[f64]| {
        let motion = Trajectory {
            time: &times,
            qpos,
            ..Trajectory::default()
        };
        Recording::new(name, model, &motion, Some(FRAME_RATE))
    };
    let (Ok(measured), Ok(simulated)) =
        (film("measured", &measured), film("simulated", &simulated))
    else {
        return "<p class=\"note\">The configurations were not all recorded, so there is nothing to show.</p>".to_owned();
    };
    let page = export_html(model, &[measured, simulated]);
    format!(
        "<p>{}: as it was measured, and, as a ghost, as the calibrated model moves from the same start. Of all trajectories its error is the median.</p>\
         <iframe title=\"measured and simulated\" srcdoc=\"{}\"></iframe>",
        escape(&recorded.label),
        page.replace('&', "&amp;").replace('"', "&quot;")
    )
}

fn charts(found: &Found<'_>) -> String {
    let mut lowest = f64::INFINITY;
    let mut best = Vec::new();
    let mut each = Vec::new();
    for (index, &value) in found.solution.history.iter().enumerate() {
        lowest = lowest.min(value);
        best.push([(index + 1) as f64, lowest]);
        each.push([(index + 1) as f64, value]);
    }
    let loss = [
        Series::line("lowest so far", thinned(&best)),
        Series::dots("each evaluation", thinned(&each)).cut_off(),
    ];
    let loss = Chart {
        title: "Loss",
        x: ("evaluations", Scale::Linear),
        y: ("loss", Scale::Logarithmic),
        series: &loss,
    };
    let frames = &found.identified.frames;
    let before: Vec<[f64; 2]> = frames
        .iter()
        .map(|frame| [frame.time, frame.before])
        .collect();
    let after: Vec<[f64; 2]> = frames
        .iter()
        .map(|frame| [frame.time, frame.after])
        .collect();
    let residuals = [
        Series::dots("before", thinned(&before)),
        Series::dots("after", thinned(&after)),
    ];
    let residuals = Chart {
        title: "Residuals of each frame",
        x: ("time in the trajectory (s)", Scale::Linear),
        y: (
            "root mean square, in units of the noise",
            Scale::Logarithmic,
        ),
        series: &residuals,
    };
    format!(
        "<div class=\"charts\"><div class=\"chart\">{}</div><div class=\"chart\">{}</div></div>",
        loss.svg(),
        residuals.svg()
    )
}

fn thinned(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let step = points.len().div_ceil(MOST_POINTS).max(1);
    points.iter().step_by(step).copied().collect()
}

fn errors(found: &Found<'_>) -> String {
    let mut sections = String::new();
    if let Some(kept_back) = &found.kept_back {
        sections += &section(
            "Errors on recordings that were kept back",
            &error_table(kept_back),
        );
    }
    sections
        + &section(
            "Errors on the recordings of the fit",
            &error_table(&found.fitted),
        )
}

fn error_table([before, after]: &[evaluate::Report; 2]) -> String {
    let mut first = "<tr><th>trajectory</th>".to_owned();
    for metric in &before.metrics {
        let _ = write!(first, "<th>{}</th>", escape(&head(metric)));
    }
    first += "</tr>";
    let row = |label: &str, numbers: [&[f64]; 2]| {
        let mut row = format!("<tr><td>{}</td>", escape(label));
        for (before, after) in numbers[0].iter().zip(numbers[1]) {
            let _ = write!(row, "<td>{} → {}</td>", figure(*before), figure(*after));
        }
        row + "</tr>"
    };
    let mut rows = String::new();
    for (before, after) in before.trajectories.iter().zip(&after.trajectories) {
        rows += &row(&before.label, [&before.errors, &after.errors]);
    }
    let total = row("mean of all", [&before.total, &after.total]);
    if before.trajectories.len() <= LISTED {
        return format!("<table>{first}{rows}{total}</table>");
    }
    format!(
        "<table>{first}{total}</table><details><summary>all {} trajectories</summary><table>{first}{rows}</table></details>",
        before.trajectories.len()
    )
}

fn description(found: &Found<'_>) -> String {
    let Some(text) = &found.description else {
        return String::new();
    };
    let content = format!(
        "<a class=\"button\" download=\"calibrated.xml\" href=\"data:application/xml;base64,{}\">Download calibrated.xml</a>\
         <details><summary>show it</summary><pre>{}</pre></details>",
        STANDARD.encode(text),
        escape(text)
    );
    section("The calibrated model", &content)
}
