//! `carom check --gradients`: the backward pass against dual numbers and differences, quantity by quantity.

use carom::Model;
use carom_gradient_check::{DIFFERENCE_BAR, DUAL_BAR, Report, Row, Settings, check_watched};
use serde_json::json;

use crate::{interrupt, progress};

/// Runs the check; the error is a sentence. Ctrl-C leaves out the states that were not visited yet.
pub(super) fn check(model: &Model, seed: u64) -> Result<Report, String> {
    interrupt::watch();
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let progress = progress::bar(0, "comparisons");
    let mut watch = |done: usize, all: usize| {
        progress.set_length(all as u64);
        progress.set_position(done as u64);
        !interrupt::asked()
    };
    let report = check_watched(model, settings, &mut watch);
    progress.finish_and_clear();
    report.map_err(|error| error.to_string())
}

/// Whether every gradient agrees.
pub(super) fn agrees(report: &Report) -> bool {
    let rows = report.rows.iter();
    rows.map(verdict).all(|verdict| verdict == Verdict::Right) && is_linear(report)
}

/// Whether A and B are right.
fn is_linear(report: &Report) -> bool {
    report.linear_error <= DUAL_BAR
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
        "{:<32} {:>7}  {:>9}  {:>11}  {:>11}  {:>6}  {:>9}",
        "by", "numbers", "duals", "differences", "1 − cosine", "kinks", "undecided"
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
        let count = |count: usize| match count {
            0 => String::new(),
            count => count.to_string(),
        };
        let (kinks, undecided) = (count(row.kinks), count(row.undecided));
        let notes = notes(row);
        lines.push(format!(
            "{:<32} {:>7}  {:>9.1e}  {:>11.1e}  {cosine:>11}  {kinks:>6}  {undecided:>9}{notes}{mark}",
            row.quantity, row.numbers, row.dual_error, row.difference_error
        ));
    }
    let mark = if is_linear(report) { "" } else { "  WRONG" };
    lines.push(format!(
        "{:<32} {:>7}  {:>9.1e}{mark}",
        "state and controls by A and B", "", report.linear_error
    ));
    if !report.without_effect.is_empty() {
        lines.push(format!(
            "without effect on the next state here: {}",
            report.without_effect.join(", ")
        ));
    }
    if !report.one_sided.is_empty() {
        let names = report.one_sided.join(", ");
        lines.push(format!("compared to one side only: {names}"));
    }
    if !report.kinks.is_empty() {
        lines.push(
            "kinks (the derivative is that of one side, differences were left out):".to_owned(),
        );
        lines.extend(report.kinks.iter().map(|kink| format!("  {kink}")));
    }
    lines.push(format!(
        "a backward step takes {:.1} times as long as a step",
        report.cost_ratio
    ));
    lines
}

/// What cannot be told, and how much that may be.
fn notes(row: &Row) -> String {
    let doubt = if row.undecided > 0 {
        format!("  differences know it to {:.1e} only", row.doubt)
    } else {
        String::new()
    };
    let rounded = if row.rounded > 0.0 {
        format!("  rounding leaves {:.1e}", row.rounded)
    } else {
        String::new()
    };
    doubt + &rounded
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
                "rounded": row.rounded,
                "undecided": row.undecided,
                "doubt": row.doubt,
            })
        })
        .collect();
    json!({
        "states": report.states,
        "agrees": agrees(report),
        "linear_error": report.linear_error,
        "rows": rows,
        "without_effect": report.without_effect,
        "kinks": report.kinks,
        "one_sided": report.one_sided,
        "cost_ratio": report.cost_ratio,
    })
}
