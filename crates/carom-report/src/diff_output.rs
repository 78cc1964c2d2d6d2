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

/// Six digits, without zeros at the end.
fn number(number: f64) -> String {
    let plain = format!("{number}");
    if plain.len() <= 9 {
        plain
    } else {
        format!("{number:.5e}")
    }
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
