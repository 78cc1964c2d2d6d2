//! `carom check --gradients`: the backward pass against dual numbers and differences, quantity by quantity.

use carom::Model;
use carom::gradient_check::{self, Report, Row, Settings};
use serde_json::json;

/// Relative error against dual numbers above which a gradient is wrong.
const DUAL_BAR: f64 = 1e-8;
/// Relative error against differences above which a gradient is doubtful; differences have errors of their own.
const DIFFERENCE_BAR: f64 = 1e-4;

/// Runs the check; the error is a sentence.
pub(super) fn check(model: &Model) -> Result<Report, String> {
    gradient_check::check(model, Settings::default()).map_err(|error| error.to_string())
}

/// Whether every gradient agrees.
pub(super) fn agrees(report: &Report) -> bool {
    report.rows.iter().all(|row| verdict(row) == Verdict::Right)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Doubtful,
    Wrong,
}

fn verdict(row: &Row) -> Verdict {
    // Written so that what is not a number fails.
    let by_duals = row.dual_error <= DUAL_BAR;
    let by_differences = row.difference_error <= DIFFERENCE_BAR;
    match (by_duals, by_differences) {
        (true, true) => Verdict::Right,
        (true, false) => Verdict::Doubtful,
        (false, _) => Verdict::Wrong,
    }
}

/// The table for people.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut lines = vec![format!(
        "gradients of a step at {} states, largest relative errors",
        report.states
    )];
    lines.push(format!(
        "{:<32} {:>7}  {:>9}  {:>11}  {:>11}  {:>6}",
        "by", "numbers", "duals", "differences", "1 − cosine", "kinks"
    ));
    for row in &report.rows {
        let mark = match verdict(row) {
            Verdict::Right => "",
            Verdict::Doubtful => "  differences disagree",
            Verdict::Wrong => "  WRONG",
        };
        let cosine = if row.cosine.is_nan() {
            "—".to_owned()
        } else {
            format!("{:.1e}", (1.0 - row.cosine).max(0.0))
        };
        let kinks = match row.kinks {
            0 => String::new(),
            count => count.to_string(),
        };
        lines.push(format!(
            "{:<32} {:>7}  {:>9.1e}  {:>11.1e}  {cosine:>11}  {kinks:>6}{mark}",
            row.quantity, row.numbers, row.dual_error, row.difference_error
        ));
    }
    if !report.without_effect.is_empty() {
        lines.push(format!(
            "without effect on the next state here: {}",
            report.without_effect.join(", ")
        ));
    }
    if !report.kinks.is_empty() {
        lines.push(
            "kinks (the derivative is one-sided there, differences were left out):".to_owned(),
        );
        lines.extend(report.kinks.iter().map(|kink| format!("  {kink}")));
    }
    lines.push(format!(
        "a backward step takes {:.1} times as long as a step",
        report.cost_ratio
    ));
    lines
}

/// The table for programs.
pub(super) fn to_json(report: &Report) -> serde_json::Value {
    let rows: Vec<_> = (report.rows.iter())
        .map(|row| {
            json!({
                "quantity": row.quantity,
                "numbers": row.numbers,
                "slope": row.slope,
                "dual_error": row.dual_error,
                "difference_error": row.difference_error,
                "cosine": row.cosine,
                "kinks": row.kinks,
            })
        })
        .collect();
    json!({
        "states": report.states,
        "agrees": agrees(report),
        "rows": rows,
        "without_effect": report.without_effect,
        "kinks": report.kinks,
        "cost_ratio": report.cost_ratio,
    })
}
