//! Missing forces that were found, as text and as JSON.

use std::fmt::Write as _;

use carom_tasks::discover::{Discovery, Term};
use carom_tasks::evaluate::figure;
use serde_json::{Value, json};

/// For people.
pub fn discovery_text(found: &Discovery) -> String {
    let [before, after] = found.residuals.map(figure);
    let mut text = format!("{}\n", found.words());
    for term in &found.terms {
        for number in &term.numbers {
            let error = number
                .error
                .map_or(String::new(), |error| format!(" ± {}", figure(error)));
            let (name, value) = (&number.name, figure(number.value));
            let _ = writeln!(
                text,
                "  {}  {name} {value}{error} {}",
                term.target, number.unit
            );
        }
        let share = 100.0 * term.share;
        let better = 100.0 * term.better_in;
        let _ = writeln!(
            text,
            "  {}  {share:.1} % of what is missing; {better:.0} % of the held-out parts are predicted better with it",
            term.target
        );
    }
    let _ = write!(
        text,
        "{} transitions between frames; errors {before} without the terms, {after} with them (in units of the noise, held out)",
        found.samples
    );
    text
}

/// For programs.
pub fn discovery_json(found: &Discovery) -> Value {
    let term = |term: &Term| {
        let numbers: Vec<Value> = (term.numbers.iter())
            .map(|one| json!({"name": one.name, "value": one.value, "error": one.error, "unit": one.unit}))
            .collect();
        json!({
            "target": term.target,
            "inputs": term.inputs,
            "reading": term.reading,
            "formula": term.formula,
            "sentence": term.sentence,
            "numbers": numbers,
            "model_file": term.remedy,
            "force": term.force,
            "share": term.share,
            "better_in": term.better_in,
        })
    };
    let terms: Vec<Value> = found.terms.iter().map(term).collect();
    json!({
        "terms": terms,
        "words": found.words(),
        "unexplained": found.is_unexplained(),
        "targets": found.targets,
        "inputs": found.inputs,
        "samples": found.samples,
        "errors": {"without": found.residuals[0], "with": found.residuals[1]},
        "interrupted": found.is_stopped,
    })
}
