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

/// Why gradients are wrong: by which quantity they differ from dual numbers, and by how much; none if they do not.
///
/// Dual numbers make the same step to the last bit, so that they decide. Differences that disagree alone are rough: see [`doubts`].
pub(super) fn problem(report: &Report) -> Option<String> {
    // What is not a number comes after all numbers.
    let by_error = |one: &&Row, other: &&Row| one.dual_error.total_cmp(&other.dual_error);
    let wrong = report
        .rows
        .iter()
        .filter(|row| verdict(row) == Verdict::Wrong);
    let count = wrong.clone().count();
    let worst = wrong.max_by(by_error);
    if let Some(row) = worst {
        let more = match count - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        return Some(format!(
            "gradients are wrong: the backward pass with respect to {}{more} differs from dual numbers by {:.1e} of the largest slope; {DUAL_BAR:.0e} is allowed",
            row.quantity, row.dual_error
        ));
    }
    (!is_linear(report)).then(|| {
        format!(
            "linearisations are wrong: A and B differ from dual numbers by {:.1e} of the largest slope; {DUAL_BAR:.0e} is allowed",
            report.linear_error
        )
    })
}

/// Where differences alone disagree, in a sentence; none if they do nowhere.
pub(super) fn doubts(report: &Report) -> Option<String> {
    let rows = report.rows.iter();
    let rows: Vec<&Row> = rows
        .filter(|row| verdict(row) == Verdict::Doubtful)
        .collect();
    let names: Vec<&str> = rows.iter().map(|row| row.quantity.as_str()).collect();
    let most = |error: fn(&Row) -> f64| rows.iter().map(|row| error(row)).fold(0.0, f64::max);
    (!rows.is_empty()).then(|| {
        format!(
            "differences are rough with respect to {}: up to {:.1e} of the largest slope off, where dual numbers confirm the gradients to {:.1e}",
            names.join(", "),
            most(|row| row.difference_error),
            most(|row| row.dual_error),
        )
    })
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
            Verdict::Doubtful => "  differences alone disagree",
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
        "agrees": problem(report).is_none(),
        "problem": problem(report),
        "doubts": doubts(report),
        "linear_error": report.linear_error,
        "rows": rows,
        "without_effect": report.without_effect,
        "kinks": report.kinks,
        "one_sided": report.one_sided,
        "cost_ratio": report.cost_ratio,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rows: &[(&str, f64, f64)], linear_error: f64) -> Report {
        let row = |&(quantity, dual_error, difference_error): &(&str, f64, f64)| Row {
            quantity: quantity.to_owned(),
            numbers: 3,
            slope: 1.0,
            dual_error,
            difference_error,
            cosine: 1.0,
            rounded: 0.0,
            kinks: 0,
            undecided: 0,
            doubt: 0.0,
        };
        Report {
            rows: rows.iter().map(row).collect(),
            without_effect: Vec::new(),
            kinks: Vec::new(),
            one_sided: Vec::new(),
            linear_error,
            states: 1,
            cost_ratio: 1.0,
        }
    }

    #[test]
    fn the_verdict_names_the_row_and_who_disagrees() {
        let rough = report(
            &[("state.qpos", 1e-14, 3e-3), ("state.qvel", 1e-15, 1e-9)],
            1e-15,
        );
        assert_eq!(problem(&rough), None);
        let doubts = doubts(&rough).unwrap();
        for part in ["state.qpos:", "3.0e-3", "1.0e-14"] {
            assert!(
                doubts.contains(part) && !doubts.contains("qvel"),
                "{doubts}"
            );
        }
        let rows = [
            ("state.qpos", 1e-5, 0.0),
            ("geoms.size", f64::NAN, 0.0),
            ("state.act", 1e-3, 1.0),
        ];
        let problem_of = |rows: &[_], linear| problem(&report(rows, linear)).unwrap();
        assert!(
            problem_of(&rows[..1], 0.0).contains("state.qpos differs from dual numbers by 1.0e-5")
        );
        let found = problem_of(&rows, 0.0);
        assert!(found.contains("geoms.size (and 2 more)"), "{found}");
        assert!(problem_of(&[], 1e-2).contains("A and B"));
    }
}
