//! A table of figures beside their bars, as it grows; it is kept as JSON too.

use std::path::Path;

use serde_json::{Value, json};

use super::Summary;
use crate::Outcome;

/// What a ratio is asked to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bar {
    /// carom over the other, at most.
    AtMost(f64),
    /// The other over carom, at least.
    AtLeast(f64),
}

impl Bar {
    /// The ratio that the bar speaks of.
    fn ratio(self, ours: f64, other: f64) -> f64 {
        match self {
            Self::AtMost(_) => ours / other,
            Self::AtLeast(_) => other / ours,
        }
    }

    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtMost(bar) => ratio <= bar,
            Self::AtLeast(bar) => ratio >= bar,
        }
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtMost(bar) => write!(out, "≤ {bar}"),
            Self::AtLeast(bar) => write!(out, "≥ {bar}"),
        }
    }
}

/// What all figures of a run came to.
#[derive(Default)]
pub(super) struct Figures {
    rows: Vec<Value>,
    missed: Vec<String>,
    absent: Vec<String>,
}

impl Figures {
    /// Begins a part of the table.
    pub(super) fn head(title: &str, other: &str) {
        println!("\n{title}");
        println!(
            "{:<34} {:>12} {:>14} {:>8} {:>8} {:>8}",
            "", "carom µs", other, "ratio", "medians", "bar"
        );
    }

    /// A time beside another one, both in µs and asked in turns. Judged by the medians, on which neighbours weigh alike; the
    /// least times and their ratio are shown beside.
    pub(super) fn compare(
        &mut self,
        (measure, model): (&str, &str),
        ours: &Summary,
        other: &Summary,
        bar: Bar,
    ) {
        let ratio = bar.ratio(ours.minimum, other.minimum);
        let of_medians = bar.ratio(ours.median, other.median);
        let verdict = self.judge(measure, model, bar.is_met(of_medians));
        println!(
            "{model:<34} {:>12.2} {:>14.2} {ratio:>8.2} {of_medians:>8.2} {:>8} {verdict}",
            ours.minimum,
            other.minimum,
            bar.to_string(),
        );
        self.rows.push(json!({
            "measure": measure, "model": model, "unit": "µs",
            "measured": ours.minimum, "measured_median": ours.median,
            "against": other.minimum, "against_median": other.median,
            "ratio": ratio, "ratio_of_medians": of_medians, "bar": bar.to_string(), "verdict": verdict,
        }));
    }

    /// A single number beside its greatest allowed value.
    pub(super) fn limit(
        &mut self,
        (measure, model): (&str, &str),
        (measured, unit): (f64, &str),
        limit: f64,
    ) {
        let bar = Bar::AtMost(limit);
        let verdict = self.judge(measure, model, bar.is_met(measured));
        println!("\n{measure}, {model}: {measured:.2} {unit} (bar {bar}) {verdict}");
        self.rows.push(json!({
            "measure": measure, "model": model, "unit": unit, "measured": measured, "bar": bar.to_string(),
            "verdict": verdict,
        }));
    }

    /// Adds a number to what the last row says, on a line of its own.
    pub(super) fn remark(&mut self, name: &str, number: f64) {
        println!("{:<34} {name}: {number:.1}", "");
        if let Some(row) = self.rows.last_mut() {
            row[name] = json!(number);
        }
    }

    /// A comparison that could not be made.
    pub(super) fn not_measured(&mut self, measure: &str, why: &str) {
        println!("\n{measure}: not measured\n{why}");
        self.absent.push(measure.to_owned());
        self.rows
            .push(json!({ "measure": measure, "verdict": "not measured", "reason": why }));
    }

    /// Writes all figures; fails where a bar is missed, or could not be judged.
    pub(super) fn conclude(self, file: &Path) -> Outcome {
        let text = format!("{:#}\n", Value::Array(self.rows));
        std::fs::write(file, text).map_err(|error| super::unwritable(file, &error))?;
        println!("\nfigures: {}", super::relative(file).display());
        let mut failures = Vec::new();
        if !self.missed.is_empty() {
            failures.push(format!("short of their bars: {}", self.missed.join("; ")));
        }
        if !self.absent.is_empty() {
            failures.push(format!("not measured: {}", self.absent.join("; ")));
        }
        if failures.is_empty() {
            println!("all bars are met");
            Ok(())
        } else {
            Err(failures.join("\n"))
        }
    }

    fn judge(&mut self, measure: &str, model: &str, is_met: bool) -> &'static str {
        if is_met {
            "met"
        } else {
            self.missed.push(format!("{measure}, {model}"));
            "short"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Bar, Figures, Summary};

    fn time(minimum: f64) -> Summary {
        Summary {
            minimum,
            median: 2.0 * minimum,
        }
    }

    #[test]
    fn bars_are_judged_in_their_direction() {
        assert!(Bar::AtMost(3.0).is_met(Bar::AtMost(3.0).ratio(6.0, 2.0)));
        assert!(!Bar::AtMost(3.0).is_met(Bar::AtMost(3.0).ratio(6.1, 2.0)));
        assert!(Bar::AtLeast(20.0).is_met(Bar::AtLeast(20.0).ratio(2.0, 40.0)));
        assert!(!Bar::AtLeast(20.0).is_met(Bar::AtLeast(20.0).ratio(2.0, 39.0)));
    }

    #[test]
    fn a_missed_bar_or_an_absent_peer_fails_the_run() {
        let folder = std::env::temp_dir().join(format!("carom-figures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("figures.json");
        let mut met = Figures::default();
        met.compare(("a", "m"), &time(1.0), &time(30.0), Bar::AtLeast(20.0));
        assert_eq!(met.conclude(&file), Ok(()));
        let mut short = Figures::default();
        short.compare(("a", "m"), &time(2.0), &time(30.0), Bar::AtLeast(20.0));
        assert!(short.conclude(&file).unwrap_err().contains("a, m"));
        let mut absent = Figures::default();
        absent.not_measured("b", "not installed");
        assert!(absent.conclude(&file).unwrap_err().contains("not measured"));
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(written.contains("not installed"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
