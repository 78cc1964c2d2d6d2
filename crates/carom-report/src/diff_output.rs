//! What differs between two models, as text and as JSON.

use std::fmt::Write as _;

use carom_tasks::diff::Difference;
use serde_json::{Value, json};

/// For people: words first, then a table of numbers.
pub fn diff_text(found: &Difference) -> String {
    if found.is_empty() {
        return "the models are the same".to_owned();
    }
    let mut text = String::new();
    for sentence in &found.structure {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{sentence}");
    }
    let numbers = found.numbers.iter();
    let width = numbers
        .clone()
        .map(|change| change.name.chars().count())
        .max();
    let width = width.unwrap_or(0).max("number".len());
    if !found.numbers.is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "{:<width$}  {:>12}  {:>12}  {:>8}  unit",
            "number", "first", "second", "ratio"
        );
    }
    for change in numbers {
        let ratio = change
            .ratio()
            .map_or("—".to_owned(), |ratio| format!("{ratio:.4}"));
        let [old, new] = [change.old, change.new].map(number);
        let _ = writeln!(
            text,
            "{:<width$}  {old:>12}  {new:>12}  {ratio:>8}  {}",
            change.name, change.unit
        );
    }
    for many in &found.many {
        let [changed, all] = many.count;
        let _ = writeln!(
            text,
            "{}: {changed} of {all} numbers differ, by up to {} {}",
            many.name,
            number(many.greatest),
            many.unit
        );
    }
    text.trim_end().to_owned()
}

/// Longer numbers are shown with an exponent.
const MAX_PLAIN_LENGTH: usize = 9;

/// As it is where that is short, otherwise six digits.
fn number(number: f64) -> String {
    let exponential = format!("{number:.5e}");
    let rounded = exponential.parse().unwrap_or(number);
    [number, rounded]
        .map(|one| one.to_string())
        .into_iter()
        .find(|plain| plain.len() <= MAX_PLAIN_LENGTH)
        .unwrap_or(exponential)
}

/// For programs.
pub fn diff_json(found: &Difference) -> Value {
    let numbers: Vec<Value> = (found.numbers.iter())
        .map(|change| {
            json!({
                "name": change.name, "about": change.about, "unit": change.unit,
                "old": change.old, "new": change.new, "ratio": change.ratio(),
            })
        })
        .collect();
    let many: Vec<Value> = (found.many.iter())
        .map(|many| {
            json!({
                "name": many.name, "unit": many.unit, "changed": many.count[0], "of": many.count[1],
                "greatest": many.greatest,
            })
        })
        .collect();
    json!({ "same": found.is_empty(), "structure": found.structure, "numbers": numbers, "many": many })
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_plain_where_they_are_short() {
        let shown =
            [2.000_001_37, -0.25, 1.0 / 3.0, 12_345.678_9, 1.2e-7, 3.4e12].map(super::number);
        let expected = [
            "2",
            "-0.25",
            "0.333333",
            "12345.7",
            "1.20000e-7",
            "3.40000e12",
        ];
        assert_eq!(shown, expected);
    }
}
