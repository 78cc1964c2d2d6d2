//! What residuals depend on, as text and as JSON.

use carom_tasks::evaluate::figure;
use carom_tasks::identify::{Dependence, Dependences, Outcome};
use serde_json::{Value, json};

/// What is significant, a line each, and what to do about it; nothing where nothing is.
pub(crate) fn as_text(found: &Outcome) -> Vec<String> {
    let Some(found) = &found.dependences else {
        return Vec::new();
    };
    let rows: Vec<&Dependence> = significant(found).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        "what residuals depend on, by the share of their variance that it explains out of sample:"
            .to_owned(),
    ];
    let width = rows.iter().map(|row| row.signal.chars().count()).max();
    let width = width.unwrap_or(0);
    for row in rows {
        lines.push(format!(
            "  {:width$}  {:>5} %  correlation {:+.2}  {}",
            row.signal,
            percent(row.share),
            row.correlation,
            driver(row)
        ));
    }
    let words = found.findings.iter();
    lines.extend(words.map(|finding| format!("  {}", finding.words)));
    lines.push(
        "  (one thing for each signal: identify again with it, and look here once more)".to_owned(),
    );
    lines
}

/// Rows that are beyond chance.
pub(crate) fn significant(found: &Dependences) -> impl Iterator<Item = &Dependence> {
    found.rows.iter().filter(|row| row.is_significant)
}

/// `velocity (velocity-dependent) of joint elbow`.
pub(crate) fn driver(row: &Dependence) -> String {
    let words = row.driver.words();
    if row.element.is_empty() {
        return words.to_owned();
    }
    format!("{words} of {}", row.element)
}

/// A share in per cent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// A probability; below 10⁻⁶ that is said.
pub(crate) fn probability(probability: f64) -> String {
    if probability < 1e-6 {
        return "< 1e-6".to_owned();
    }
    figure(probability)
}

/// All rows for programs; null where nothing was looked at.
pub(crate) fn as_json(found: &Outcome) -> Value {
    let Some(found) = &found.dependences else {
        return Value::Null;
    };
    let rows: Vec<Value> = (found.rows.iter())
        .map(|row| {
            json!({
                "signal": row.signal, "driver": row.driver.name(), "element": row.element,
                "correlation": row.correlation, "share": row.share, "probability": row.probability,
                "significant": row.is_significant,
            })
        })
        .collect();
    let findings: Vec<Value> = (found.findings.iter())
        .map(|one| {
            json!({
                "signal": one.signal, "driver": one.driver.name(), "element": one.element, "share": one.share,
                "words": one.words,
            })
        })
        .collect();
    json!({ "rows": rows, "findings": findings, "runs": found.runs[0], "of_runs": found.runs[1] })
}
