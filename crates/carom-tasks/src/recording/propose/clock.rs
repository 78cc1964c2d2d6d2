//! When frames were recorded, and where trajectories begin.

use super::super::mapping::{Mapping, NumberOrName};
use super::super::table::{Array, Table};
use super::signals::Signal;
use super::words::{self, Part, words};

/// Shortest and longest time between frames that recordings of robots have (s).
const USUAL_STEPS: [f64; 2] = [5e-5, 0.2];

/// What is said where there is no time.
const NO_TIME: &str = "no array has time stamps, a time step or a rate; give one of:\n# [time]\n# dt = 0.01       # s\n# rate = 100      # frames a second\n# column = \"…\"    # an array of time stamps\n";

/// What was found of the time.
#[derive(Default)]
pub(super) struct Clock {
    /// What is said beside it.
    pub(super) note: String,
    /// What has to be decided; empty if nothing.
    pub(super) open: String,
    /// The usual time between frames (s), where time stamps tell it.
    pub(super) step: Option<f64>,
    /// Arrays that it uses.
    pub(super) used: Vec<String>,
}

/// Writes [time] and [trajectories].
pub(super) fn set(mapping: &mut Mapping, table: &Table, signals: &[Signal]) -> Clock {
    let mut clock = Clock::default();
    if !signals.is_empty() && signals.iter().all(|signal| signal.has_clock) {
        return clock;
    }
    let rows = most_rows(signals);
    let split = split(mapping, table, rows, &mut clock);
    let stamps = signals
        .iter()
        .filter(|signal| is_time(signal) && signal.rows == rows);
    let mut stamps: Vec<&Signal> = stamps.collect();
    stamps.sort_by_key(|signal| (signal.words.len(), signal.name.len()));
    let stamps = stamps
        .into_iter()
        .find(|signal| is_increasing(&table.arrays[&signal.places[0]], &split));
    if let Some(stamps) = stamps {
        let name = stamps.places[0].clone();
        let step = median_step(&table.arrays[&name]);
        let factor = words::time_factor(&stamps.words).unwrap_or_else(|| likely_factor(step));
        if factor != 1.0 {
            mapping.time.factor = Some(factor);
        }
        clock.note = format!("{rows} frames, {} apart", seconds(step * factor));
        clock.used.push(name.clone());
        clock.step = Some(step * factor);
        mapping.time.column = Some(name);
        check_resets(table, mapping.time.column.as_ref(), &split, &mut clock);
        return clock;
    }
    if let Some((name, key)) = scalar(table) {
        clock.used.push(name.to_owned());
        let place = Some(NumberOrName::Name(name.to_owned()));
        match key {
            "dt" => mapping.time.dt = place,
            _ => mapping.time.rate = place,
        }
        clock.note = format!("{rows} frames");
        return clock;
    }
    if let Some((name, step)) = shared_grid(mapping, table, signals) {
        clock.note = format!("the step of '{}'", words::printable(&name));
        clock.used.push(name);
        mapping.time.dt = Some(NumberOrName::Number(step));
        return clock;
    }
    NO_TIME.clone_into(&mut clock.open);
    clock
}

/// The number of rows that most numbers have.
pub(super) fn most_rows(signals: &[Signal]) -> usize {
    let numbers = |rows: usize| -> usize {
        signals
            .iter()
            .filter(|signal| signal.rows == rows)
            .map(Signal::width)
            .sum()
    };
    let rows = signals.iter().map(|signal| signal.rows);
    rows.max_by_key(|&rows| (numbers(rows), rows)).unwrap_or(0)
}

fn is_time(signal: &Signal) -> bool {
    let is_word = |word: &String| {
        words::part(std::slice::from_ref(word)) == Part::Time || words::is_filler(word)
    };
    signal.width() == 1 && signal.part == Part::Time && signal.words.iter().all(is_word)
}

/// Whether time stamps increase between the places where trajectories begin.
fn is_increasing(array: &Array, begins: &[usize]) -> bool {
    let values = &array.values;
    let back =
        (1..values.len()).filter(|&row| values[row] <= values[row - 1] && !begins.contains(&row));
    // Without labels a clock may begin anew now and then.
    values.iter().all(|value| value.is_finite()) && back.count() * 20 <= values.len()
}

fn check_resets(table: &Table, column: Option<&String>, begins: &[usize], clock: &mut Clock) {
    let Some(array) = column.and_then(|name| table.arrays.get(name)) else {
        return;
    };
    let values = &array.values;
    let back =
        (1..values.len()).find(|&row| values[row] <= values[row - 1] && !begins.contains(&row));
    if let Some(row) = back {
        clock.open = format!(
            "time goes back at {}: a new run seems to begin there; name the array that numbers the runs:\n# [trajectories]\n# columns = [\"…\"]\n",
            table.row(row)
        );
    }
}

fn median_step(array: &Array) -> f64 {
    let steps = array.values.windows(2).map(|pair| pair[1] - pair[0]);
    super::super::check::median(steps.filter(|step| *step > 0.0).collect())
}

/// Seconds of the unit in which a step between frames is a usual one.
fn likely_factor(step: f64) -> f64 {
    let is_usual = |factor: &f64| (USUAL_STEPS[0]..=USUAL_STEPS[1]).contains(&(step * factor));
    [1.0, 1e-3, 1e-6, 1e-9]
        .into_iter()
        .find(is_usual)
        .unwrap_or(1.0)
}

fn seconds(step: f64) -> String {
    if step < 0.1 {
        format!("{:.4} ms", step * 1e3)
    } else {
        format!("{step:.4} s")
    }
}

/// A single number that is a time step or a rate.
fn scalar(table: &Table) -> Option<(&str, &'static str)> {
    let number = |name: &str| -> Option<&'static str> {
        let found = words(name);
        let has = |list: &[&str]| found.iter().any(|word| list.contains(&word.as_str()));
        if has(&["dt", "timestep", "period"])
            || (has(&["time", "sample"]) && has(&["step", "time"]))
        {
            Some("dt")
        } else if has(&["fps", "hz", "rate", "freq", "frequency"]) {
            Some("rate")
        } else {
            None
        }
    };
    let single = table
        .arrays
        .iter()
        .filter(|(_, array)| array.rows() == 1 && array.width == 1);
    single
        .filter(|(_, array)| array.values[0] > 0.0)
        .find_map(|(name, _)| Some((name.as_str(), number(name)?)))
}

/// Times of one trajectory that all share: its regular step.
fn shared_grid(mapping: &Mapping, table: &Table, signals: &[Signal]) -> Option<(String, f64)> {
    if !mapping.trajectories.axis {
        return None;
    }
    let stamps = signals.iter().find(|signal| is_time(signal))?;
    let values = &table.arrays[&stamps.places[0]].values;
    let step = (values.last()? - values.first()?) / (values.len() - 1) as f64;
    let is_regular = values
        .windows(2)
        .all(|pair| (pair[1] - pair[0] - step).abs() <= 1e-3 * step);
    (is_regular && step > 0.0).then(|| (stamps.places[0].clone(), step))
}

const RUNS: [&str; 16] = [
    "run",
    "runs",
    "trial",
    "episode",
    "trajectory",
    "traj",
    "toss",
    "flight",
    "drop",
    "experiment",
    "exp",
    "seq",
    "sequence",
    "segment",
    "throw",
    "impact",
];

/// Says how trajectories are told apart; the rows at which they begin.
fn split(mapping: &mut Mapping, table: &Table, rows: usize, clock: &mut Clock) -> Vec<usize> {
    if mapping.trajectories.axis {
        return Vec::new();
    }
    let is_offsets = |(name, array): &(&String, &Array)| {
        let found = words(name);
        let values = &array.values;
        found
            .iter()
            .any(|word| word.contains("offset") || word == "starts" || word == "start")
            && array.width == 1
            && values.len() >= 2
            && values[0] == 0.0
            && values.last().copied() == Some(rows as f64)
            && values.windows(2).all(|pair| pair[1] > pair[0])
    };
    if let Some((name, array)) = table.arrays.iter().find(is_offsets) {
        mapping.trajectories.offsets = Some(name.clone());
        clock.used.push(name.clone());
        let is_begin = |row: &usize| array.values.contains(&(*row as f64));
        return (1..rows).filter(is_begin).collect();
    }
    let labels: Vec<(&String, Vec<usize>)> = (table.arrays.iter())
        .filter(|(_, array)| array.width == 1 && array.rows() == rows)
        .filter(|(name, _)| words(name).iter().any(|word| RUNS.contains(&word.as_str())))
        .map(|(name, array)| (name, changes(&array.values)))
        .filter(|(_, changes)| !changes.is_empty() && changes.len() * 5 <= rows)
        .collect();
    let Some((name, begins)) = labels.into_iter().max_by_key(|(_, changes)| changes.len()) else {
        return Vec::new();
    };
    mapping.trajectories.columns = vec![name.clone()];
    clock.used.push(name.clone());
    begins
}

fn changes(values: &[f64]) -> Vec<usize> {
    (1..values.len())
        .filter(|&row| values[row] != values[row - 1])
        .collect()
}
