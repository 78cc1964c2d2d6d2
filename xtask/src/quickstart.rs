//! `cargo xtask quickstart`: do intervals hold what they promise? The example of `carom quickstart`, over many seeds.

use std::cmp::Ordering;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Outcome;
use crate::command::{carom_program, command, output, target_folder};

/// Least part of the seeds whose hidden numbers must all lie within their intervals.
const LEAST: f64 = 0.95;
/// Errors are printed with four digits: those of the printed command may differ by less.
const MAX_DIFFERENCE: f64 = 1e-4;
/// Longest run.
const LONGEST: Duration = Duration::from_mins(1);

/// Runs the example for `seeds` seeds from `first` on.
pub(crate) fn check(first: u64, seeds: u64) -> Outcome {
    let program = carom_program(None)?;
    let folder = target_folder().join("quickstart");
    let (mut good, mut slowest, mut squares) = (0, Duration::ZERO, Vec::new());
    for seed in first..first + seeds {
        let begin = Instant::now();
        let mut carom = command(&program);
        carom.args(["quickstart", "--json", "--seed", &seed.to_string(), "--out"]);
        // A seed whose numbers are not within their intervals has the exit code 1, which is counted here.
        let text = output(carom.arg(&folder));
        let taken = begin.elapsed();
        slowest = slowest.max(taken);
        let errors = match &text {
            Ok(text) => errors(text)?,
            Err(_) => Vec::new(),
        };
        if let Ok(text) = &text {
            reproduces(&program, &folder, text)?;
        }
        good += u64::from(text.is_ok());
        squares.extend(errors.iter().map(|error| error * error));
        println!(
            "seed {seed}: {} in {:.1} s, errors {errors:.2?} standard errors",
            if text.is_ok() {
                "all within their intervals"
            } else {
                "not all within their intervals"
            },
            taken.as_secs_f64()
        );
    }
    let spread = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
    println!(
        "{good} of {seeds} seeds; errors have a spread of {spread:.2} standard errors; the slowest run took {:.1} s",
        slowest.as_secs_f64()
    );
    if (good as f64) < LEAST * seeds as f64 {
        return Err(format!(
            "the hidden numbers of {good} of {seeds} seeds lie within their intervals, {LEAST} of them should"
        ));
    }
    if slowest > LONGEST {
        return Err("a run took longer than a minute".to_owned());
    }
    Ok(())
}

/// Whether the last command that the example prints gives the errors that it prints.
fn reproduces(program: &Path, folder: &Path, text: &str) -> Outcome {
    let parsed = |text: &str| -> Result<Value, String> {
        serde_json::from_str(text).map_err(|cause| format!("no JSON: {cause}"))
    };
    let mut carom = command(program);
    carom.arg("evaluate");
    carom.args(["calibrated.xml", "held_out.csv"].map(|name| folder.join(name)));
    carom.arg("--mapping").arg(folder.join("map.toml"));
    let found = parsed(&output(carom.arg("--json"))?)?;
    let said = parsed(text)?;
    for metric in ["position", "rotation"] {
        let pair = [&found["total"], &said["validation"]["after"]];
        let [found, said] = pair.map(|errors| errors[metric].as_f64().unwrap_or(f64::NAN));
        if (found - said).abs().partial_cmp(&(MAX_DIFFERENCE * said)) != Some(Ordering::Less) {
            return Err(format!(
                "the printed command gives an error of {metric} of {found}, the example printed {said}"
            ));
        }
    }
    Ok(())
}

/// Errors of the numbers that were found, in standard errors.
fn errors(text: &str) -> Result<Vec<f64>, String> {
    let document: Value =
        serde_json::from_str(text).map_err(|cause| format!("no JSON: {cause}"))?;
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let parameters = document["parameters"].as_array().into_iter().flatten();
    let hidden = document["hidden"].as_array().into_iter().flatten();
    Ok((parameters.zip(hidden))
        .map(|(one, hidden)| {
            (number(&one["value"]) - number(hidden)) / number(&one["standard_error"])
        })
        .collect())
}
