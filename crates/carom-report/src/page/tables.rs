//! Tables of the report: dependences, contacts, errors, folds, recovery.

use std::fmt::Write as _;

use carom::Model;
use carom_contact_units::{self as contact_units, ContactKind};
use carom_tasks::evaluate::{Metric, Report, figure};
use carom_tasks::identify::{CrossValidation, Outcome, Recovery};

use super::{escape, main_metrics, section};
use crate::dependence_output;
use crate::naming::pair_name;

/// Trajectories that are listed one by one without a click, and shown as a picture.
const MAX_LISTED_TRAJECTORIES: usize = 12;
const MAX_PICTURED_TRAJECTORIES: usize = 60;

/// A change for the better or the worse, as a class of the style sheet.
pub(super) fn class(before: f64, after: f64) -> &'static str {
    if after < before * (1.0 - 1e-9) {
        "better"
    } else if after > before * (1.0 + 1e-9) {
        "worse"
    } else {
        "same"
    }
}

/// Contacts in physical units, before and after.
pub(super) fn contacts(found: &Outcome) -> String {
    let kinds = [&found.before, &found.identified.model].map(contact_units::survey);
    if kinds[0].is_empty() || kinds[0].len() != kinds[1].len() {
        return String::new();
    }
    let mut rows = "<table><tr><th>contact</th><th></th><th>friction</th><th>stiffness</th><th>damping</th><th>restitution at 1 m/s</th><th>time constant</th>\
                    <th>sinks in at rest</th></tr>"
        .to_owned();
    for (before, after) in kinds[0].iter().zip(&kinds[1]) {
        rows += &contact_row(before, &found.before, "before");
        rows += &contact_row(after, &found.identified.model, "after");
    }
    rows += "</table>";
    section("Contacts in physical units", &rows)
}

fn contact_row(kind: &ContactKind, model: &Model, when: &str) -> String {
    let depth = kind.contact.full_depth();
    let name = if when == "before" {
        escape(&pair_name(model, kind.geoms))
    } else {
        String::new()
    };
    format!(
        "<tr class=\"{when}\"><td>{name}</td><td>{when}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        figure(kind.parameters.friction[0]),
        with_prefix(kind.contact.stiffness(depth), "N/m"),
        with_prefix(kind.contact.damping(depth), "N·s/m"),
        figure(kind.restitution),
        escape(&contact_units::seconds(kind.time_constant)),
        escape(&contact_units::metres(kind.rest_penetration)),
    )
}

/// A number with its unit, in thousands or millions of it where it is large.
fn with_prefix(number: f64, unit: &str) -> String {
    let (factor, prefix) = match number.abs() {
        size if !size.is_finite() || size < 1e4 => (1.0, ""),
        size if size < 1e6 => (1e-3, "k"),
        size if size < 1e9 => (1e-6, "M"),
        _ => (1e-9, "G"),
    };
    format!("{} {prefix}{unit}", figure(factor * number))
}

/// Errors of every trajectory, before and after.
pub(super) fn errors([before, after]: &[Report; 2]) -> String {
    let mut first = "<tr><th>trajectory</th>".to_owned();
    for metric in &before.metrics {
        let _ = write!(first, "<th>{}</th>", escape(&metric.head()));
    }
    first += "</tr>";
    let row = |label: &str, numbers: [&[f64]; 2]| {
        let mut row = format!("<tr><td>{}</td>", escape(label));
        for (before, after) in numbers[0].iter().zip(numbers[1]) {
            let _ = write!(
                row,
                "<td>{} <span class=\"arrow\">→</span> <span class=\"{}\">{}</span></td>",
                figure(*before),
                class(*before, *after),
                figure(*after)
            );
        }
        row + "</tr>"
    };
    let mut rows = String::new();
    for (before, after) in before.trajectories.iter().zip(&after.trajectories) {
        rows += &row(&before.label, [&before.errors, &after.errors]);
    }
    let total = row("mean of all", [&before.total, &after.total]);
    let total = total.replacen("<tr>", "<tr class=\"total\">", 1);
    let mut failures = String::new();
    for failure in after.failures() {
        let why = failure.failure.as_deref().unwrap_or_default();
        let words = format!("{} is not in the mean: {why}", failure.label);
        let _ = write!(failures, "<p class=\"note\">{}</p>", escape(&words));
    }
    let pictures = pictures(before, after);
    if before.trajectories.len() <= MAX_LISTED_TRAJECTORIES {
        return format!("{pictures}<table>{first}{rows}{total}</table>{failures}");
    }
    format!(
        "{pictures}<table>{first}{total}</table>{failures}<details><summary>all {} trajectories</summary><table>{first}{rows}</table></details>",
        before.trajectories.len()
    )
}

/// For the metrics that matter most, a line a trajectory from its error before to that after.
fn pictures(before: &Report, after: &Report) -> String {
    if before.trajectories.len() < 2 {
        return String::new();
    }
    let pictures: Vec<String> = main_metrics(&before.metrics)
        .into_iter()
        .map(|(index, metric)| picture(metric, index, [before, after]))
        .collect();
    let legend = "<span class=\"key before\"></span>before <span class=\"key after\"></span>after, a row for each trajectory";
    format!(
        "<div class=\"pictures\">{}</div><p class=\"note\">{legend}</p>",
        pictures.concat()
    )
}

fn picture(metric: &Metric, index: usize, [before, after]: [&Report; 2]) -> String {
    const ROW: f64 = 14.0;
    const WIDTH: f64 = 480.0;
    const LEFT: f64 = 8.0;
    const RIGHT: f64 = 8.0;
    const TOP: f64 = 26.0;
    let mut pairs: Vec<(&str, f64, f64)> = (before.trajectories.iter().zip(&after.trajectories))
        .map(|(one, other)| (one.label.as_str(), one.errors[index], other.errors[index]))
        .filter(|(_, before, after)| before.is_finite() && after.is_finite())
        .collect();
    pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
    // Of many, those at even distances in the order of their errors.
    let step = pairs.len().div_ceil(MAX_PICTURED_TRAJECTORIES).max(1);
    let pairs: Vec<_> = pairs.into_iter().step_by(step).collect();
    let most = pairs.iter().map(|(_, a, b)| a.max(*b)).fold(0.0, f64::max);
    let place = |error: f64| LEFT + (WIDTH - LEFT - RIGHT) * error / most.max(f64::MIN_POSITIVE);
    let height = TOP + ROW * pairs.len() as f64 + 6.0;
    let mut body = String::new();
    for (line, (label, before, after)) in pairs.iter().enumerate() {
        let y = TOP + ROW * (line as f64 + 0.5);
        let (from, to) = (place(*before), place(*after));
        let class = class(*before, *after);
        let words = format!("{label}: {} → {}", figure(*before), figure(*after));
        let _ = write!(
            body,
            "<g class=\"{class}\"><title>{}</title><line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" class=\"rail\"/>\
             <line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y}\" y2=\"{y}\" class=\"way\"/>\
             <circle cx=\"{from:.1}\" cy=\"{y}\" r=\"3.5\" class=\"from\"/><circle cx=\"{to:.1}\" cy=\"{y}\" r=\"4\" class=\"to\"/></g>",
            escape(&words),
            WIDTH - RIGHT,
        );
    }
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" class=\"picture\"><text x=\"{LEFT}\" y=\"14\">{}</text>\
         <text x=\"{}\" y=\"14\" text-anchor=\"end\">0 … {}</text>{body}</svg>",
        escape(&metric.head()),
        WIDTH - RIGHT,
        figure(most)
    )
}

/// Errors and parameters of all folds.
pub(super) fn folds(found: &CrossValidation) -> String {
    let mut list = said(&found.words);
    list += "<table><tr><th>error</th><th>fitted</th><th>held out</th><th>ratio</th></tr>";
    let errors = found.fitted_errors.iter().zip(&found.held_out_errors);
    for ((metric, (fitted, held_out)), ratio) in
        found.metrics.iter().zip(errors).zip(found.ratios())
    {
        let class = if ratio > 1.5 { "worse" } else { "same" };
        let _ = write!(
            list,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{}</td></tr>",
            escape(&metric.head()),
            figure(*fitted),
            figure(*held_out),
            if ratio.is_finite() {
                format!("×{ratio:.2}")
            } else {
                "–".to_owned()
            },
        );
    }
    list += "</table><table><tr><th>held out</th>";
    for name in &found.names {
        let _ = write!(list, "<th><code>{}</code></th>", escape(name));
    }
    list += "</tr>";
    for fold in &found.folds {
        let label = match fold.held_out.as_slice() {
            [one] => one.clone(),
            [first, .., last] => format!("{first} … {last} ({})", fold.held_out.len()),
            [] => String::new(),
        };
        let _ = write!(list, "<tr><td>{}</td>", escape(&label));
        for value in &fold.values {
            let _ = write!(list, "<td>{}</td>", figure(*value));
        }
        list += "</tr>";
    }
    list += "<tr class=\"total\"><td>standard deviation</td>";
    for deviation in &found.deviations {
        let _ = write!(list, "<td>{}</td>", figure(*deviation));
    }
    list + "</tr></table>"
}

/// What residuals depend on.
pub(super) fn dependences(found: &Outcome) -> String {
    let Some(found) = &found.dependences else {
        return String::new();
    };
    let mut content = if found.findings.is_empty() {
        "<p>Residuals depend on nothing that was looked at: control changes, load, velocity and its direction, position, time.</p>".to_owned()
    } else {
        let words: Vec<String> = found.findings.iter().map(|one| one.words.clone()).collect();
        said(&words)
    };
    let rows: Vec<_> = dependence_output::significant(found).collect();
    if !rows.is_empty() {
        content += "<table><tr><th>residuals of</th><th>depend on</th><th>correlation</th><th>variance explained</th><th>chance</th></tr>";
        for row in rows {
            let _ = write!(
                content,
                "<tr><td>{}</td><td>{}</td><td>{:+.2}</td><td>{} %</td><td>{}</td></tr>",
                escape(&row.signal),
                escape(&dependence_output::driver(row)),
                row.correlation,
                dependence_output::percent(row.share),
                escape(&dependence_output::probability(row.probability)),
            );
        }
        content += "</table><p class=\"note\">How far the residuals look like the response to something that the model lacks, with all taken out that free \
                    parameters make up for. The variance is that of pieces of the recordings that were left out; chance is that of a single row. Causes look \
                    alike, so one is named for each signal: identify again with it, and look here once more.</p>";
    }
    section("What residuals depend on", &content)
}

/// How a known truth was recovered.
pub(super) fn recovery(found: &Recovery) -> String {
    let mut list = said(&found.words);
    list += "<table><tr><th>parameter</th><th>truth</th><th>intervals that hold it</th><th>mean error</th><th>found</th></tr>";
    for one in &found.parameters {
        let values: Vec<String> = one
            .values
            .iter()
            .take(MAX_LISTED_TRAJECTORIES)
            .map(|&v| figure(v))
            .collect();
        let more = if one.values.len() > MAX_LISTED_TRAJECTORIES {
            " …"
        } else {
            ""
        };
        let _ = write!(
            list,
            "<tr><td><code>{}</code></td><td>{}</td><td>{} of {}</td><td>{}</td><td class=\"wrap\">{}{more}</td></tr>",
            escape(&one.name),
            figure(one.truth),
            one.held,
            found.rounds,
            figure(one.bias),
            values.join(", "),
        );
    }
    list += "</table><p class=\"note\">The calibrated model was simulated from the recorded starts and measured with the stated noise at the same frames; then its \
             parameters were identified from the original start.</p>";
    list
}

/// Sentences as a list.
pub(super) fn said(words: &[String]) -> String {
    let mut list = String::new();
    for words in words {
        let _ = write!(list, "<li>{}</li>", escape(&sentence(words)));
    }
    if list.is_empty() {
        list
    } else {
        format!("<ul>{list}</ul>")
    }
}

/// Words as a sentence of their own; names of parameters stay as they are.
fn sentence(words: &str) -> String {
    let first = words.split(' ').next().unwrap_or_default();
    let mut letters = words.chars();
    let begin = match letters.next() {
        Some(letter) if !first.contains(['.', '[']) => letter.to_uppercase().collect(),
        Some(letter) => letter.to_string(),
        None => String::new(),
    };
    let end = if words.ends_with(['.', ')']) { "" } else { "." };
    format!("{begin}{}{end}", letters.as_str())
}
