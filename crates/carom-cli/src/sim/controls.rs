//! `--controls`: one row a step, from an .npz or a .csv file.

use std::ops::Range;
use std::path::Path;

use carom::Model;
use carom_spec::{Diagnostic, DiskSource, FileSource};
use carom_tasks::recording::csv::{BadRecord, Records};

use crate::command_line::choice;
use crate::failure::{CONTENT, Failure, NAME};
use crate::npz::{self, Values};
use crate::stdio;

/// Reads a file for the controls of a model, one row of them a step.
pub(super) fn read(path: &Path, model: &Model) -> Result<Vec<f64>, Failure> {
    let width = model.counts().nu;
    let refuse = |message: String| {
        let message = format!("'{}': {message}", path.display());
        Err(Failure::sentence(CONTENT, message))
    };
    if width == 0 {
        return refuse("the model has no controls; leave --controls out".to_owned());
    }
    let values = match super::recording::extension(path).as_deref() {
        Some("npz") => read_npz(path, width)?,
        Some("csv") => read_csv(path, model)?,
        _ => return refuse("controls are read from .npz and .csv files".to_owned()),
    };
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        let (row, column) = (index / width + 1, index % width + 1);
        return refuse(format!(
            "row {row} of the controls, number {column}, is not finite"
        ));
    }
    if values.is_empty() {
        return refuse("there is no row of controls".to_owned());
    }
    if let Some(column) = clock(&values, width) {
        stdio::warn(&format!(
            "warning: '{}': control {column} grows by the same amount in every row, as time does; a column of time is left out if it is called 'time' and the others as the controls are\n",
            path.display()
        ));
    }
    Ok(values)
}

/// Fewest rows that can tell a clock from a control.
const MIN_CLOCK_ROWS: usize = 10;

/// The first control that grows from zero by the same amount in every row, as time does.
fn clock(values: &[f64], width: usize) -> Option<usize> {
    (0..width).find(|&column| {
        let numbers: Vec<f64> = values.iter().skip(column).step_by(width).copied().collect();
        let step =
            (numbers.last().unwrap_or(&0.0) - numbers[0]) / (numbers.len() - 1).max(1) as f64;
        let mut expected = numbers.iter().enumerate();
        numbers.len() >= MIN_CLOCK_ROWS
            && step > 0.0
            && (numbers[0] == 0.0 || (numbers[0] - step).abs() < 1e-6 * step)
            && expected
                .all(|(row, number)| (number - numbers[0] - step * row as f64).abs() < 1e-3 * step)
    })
}

/// Names of columns that hold times.
const CLOCKS: [&str; 6] = ["time", "t", "timestamp", "stamp", "seconds", "sec"];

fn read_npz(path: &Path, width: usize) -> Result<Vec<f64>, Failure> {
    let refuse = |message: String| {
        let message = format!("'{}': {message}", path.display());
        Failure::sentence(CONTENT, message)
    };
    let mut arrays = npz::read(path)?;
    let Some(array) = arrays.remove("ctrl") else {
        let failure = refuse("there is no array 'ctrl'".to_owned());
        return Err(match choice("ctrl", arrays.keys().map(String::as_str)) {
            Some(help) => failure.help(help),
            None => failure,
        });
    };
    let shape = &array.shape;
    if !(1..=2).contains(&shape.len()) || shape.last() != Some(&width) {
        return Err(refuse(format!(
            "'ctrl' has shape {shape:?}; expected one row a step with {width} numbers, one a control"
        )));
    }
    match array.values {
        Values::Numbers(numbers) => Ok(numbers),
        Values::Strings(_) => Err(refuse("'ctrl' holds texts, not numbers".to_owned())),
    }
}

/// Largest table that is read (bytes).
const MAX_TABLE: u64 = 512 << 20;

/// A table under way.
struct Table<'a> {
    path: &'a Path,
    text: &'a str,
    /// Which column of the file has which control; empty before the first line.
    columns: Vec<usize>,
    /// Columns of the file.
    count: usize,
}

/// Reads a table of numbers; a first line that is not numeric holds the names of the columns.
fn read_csv(path: &Path, model: &Model) -> Result<Vec<f64>, Failure> {
    let bytes = DiskSource::with_size_limit(MAX_TABLE).read(path)?;
    let text = String::from_utf8(bytes).map_err(|cause| {
        let at = cause.utf8_error().valid_up_to();
        let message = format!("'{}' is not a text file (byte {at})", path.display());
        Failure::sentence(CONTENT, message)
    })?;
    let mut table = Table {
        path,
        text: &text,
        columns: Vec::new(),
        count: 0,
    };
    let mut values = Vec::new();
    for record in Records::new(&text, &[',', ';', '\t']) {
        let record = record.map_err(|bad| {
            let BadRecord { message, place } = bad;
            table.refuse(place, Diagnostic::error(CONTENT, message))
        })?;
        let places = record.cells.into_iter().map(|cell| cell.place);
        let cells: Vec<Range<usize>> = places.collect();
        let is_number = |cell: &Range<usize>| text[cell.clone()].parse::<f64>().is_ok();
        if table.columns.is_empty() {
            let has_names = !cells.iter().any(is_number);
            table.count = cells.len();
            table.columns = table.find_columns(model, has_names.then_some(&cells[..]))?;
            if has_names {
                continue;
            }
        }
        if cells.len() != table.count {
            let message = format!("{} columns, expected {}", cells.len(), table.count);
            let place = cells[0].start..cells[cells.len() - 1].end;
            return Err(table.refuse(place, Diagnostic::error(CONTENT, message)));
        }
        for &column in &table.columns {
            let place = cells[column].clone();
            let Ok(value) = text[place.clone()].parse() else {
                let message = format!("'{}' is not a number", &text[place.clone()]);
                return Err(table.refuse(place, Diagnostic::error(CONTENT, message)));
            };
            values.push(value);
        }
    }
    Ok(values)
}

impl Table<'_> {
    /// Which column has which control. Names are those of actuators, or `ctrl[i]` as recordings have them; where none of
    /// them is known, the order counts.
    fn find_columns(
        &self,
        model: &Model,
        names: Option<&[Range<usize>]>,
    ) -> Result<Vec<usize>, Failure> {
        let (width, count) = (model.counts().nu, self.count);
        let in_order = || {
            if count == width {
                return Ok((0..width).collect());
            }
            let line = self.text.trim_start().lines().next().unwrap_or_default();
            let start = self.text.len() - self.text.trim_start().len();
            let message = format!("{count} columns, expected {width}, one a control");
            let names = model.structure.control_names().join(", ");
            let diagnostic = Diagnostic::error(CONTENT, message);
            let diagnostic = diagnostic.help(format!("the controls are: {names}"));
            Err(self.refuse(start..start + line.len(), diagnostic))
        };
        let Some(names) = names else {
            return in_order();
        };
        let own_names = model.structure.control_names();
        let known = |index: usize| {
            let (plain, own) = (format!("ctrl[{index}]"), own_names.get(index));
            let is_meant = |place: &&Range<usize>| {
                let name = &self.text[(*place).clone()];
                name == plain || (!name.is_empty() && own.is_some_and(|own| own == name))
            };
            names.iter().position(|place| is_meant(&place))
        };
        let found: Vec<Option<usize>> = (0..width).map(known).collect();
        if found.iter().all(Option::is_none) {
            let is_clock = |place: &&Range<usize>| {
                let name = self.text[(*place).clone()].to_lowercase();
                CLOCKS.contains(&name.split([' ', '[', '(']).next().unwrap_or_default())
            };
            if let Some(place) = names.iter().find(is_clock) {
                let message = "a column of time is no control";
                let help = "leave it out, or call the others as the controls are";
                let own = own_names.iter().filter(|name| !name.is_empty());
                let own: Vec<&str> = own.map(String::as_str).collect();
                let help = format!(
                    "{help}: {}",
                    if own.is_empty() {
                        "ctrl[0], …".to_owned()
                    } else {
                        own.join(", ")
                    }
                );
                let diagnostic = Diagnostic::error(NAME, message).help(help);
                return Err(self.refuse(place.clone(), diagnostic));
            }
            return in_order();
        }
        if let Some(missing) = found.iter().position(Option::is_none) {
            let own = own_names.get(missing).filter(|name| !name.is_empty());
            let name = own.map_or_else(String::new, |name| format!(" or '{name}'"));
            let message = format!(
                "there is no column 'ctrl[{missing}]'{name}, but columns of other controls"
            );
            let place = names[0].start..names[names.len() - 1].end;
            return Err(self.refuse(place, Diagnostic::error(NAME, message)));
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn refuse(&self, place: Range<usize>, diagnostic: Diagnostic) -> Failure {
        Failure::in_text(self.path, self.text, place, diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "<mujoco><worldbody><body><geom size='1'/><joint name='j'/></body></worldbody>
        <actuator><motor name='left' joint='j'/><motor name='right' joint='j'/></actuator></mujoco>";

    fn model() -> Model {
        let files = carom_spec::MemorySource::new().with("a.xml", MODEL);
        let settings = carom_spec::mjcf::ReadSettings::default();
        let read = carom_spec::read::read("a.xml".as_ref(), &files, &settings);
        carom::compile::compile(&read.spec).0.unwrap()
    }

    fn read(name: &str, text: &str) -> Result<Vec<f64>, String> {
        let path =
            std::env::temp_dir().join(format!("carom_controls_{name}_{}.csv", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let controls = super::read(&path, &model());
        std::fs::remove_file(&path).unwrap();
        controls.map_err(|failure| failure.rendered())
    }

    #[test]
    fn columns_are_taken_by_name_or_in_order() {
        for text in [
            "1,2\n3,4\n",
            "u,v\n1,2\n3,4",
            "right,left\r\n2,1\r\n\r\n4, 3\r\n",
            "time;ctrl[0];ctrl[1]\n0;1;2\n1;3;4\n",
            "\u{feff}\"left\",\"right\"\r\n\"1\",2\r\n3 ,\"4\" \r\n",
        ] {
            assert_eq!(read("order", text), Ok(vec![1.0, 2.0, 3.0, 4.0]), "{text}");
        }
    }

    #[test]
    fn a_column_that_grows_as_time_does_is_found() {
        let rows = |columns: fn(f64) -> [f64; 2]| -> Vec<f64> {
            (0..20).flat_map(|row| columns(f64::from(row))).collect()
        };
        assert_eq!(clock(&rows(|row| [0.002 * row, row.sin()]), 2), Some(0));
        assert_eq!(
            clock(&rows(|row| [row.cos(), 0.1 * (row + 1.0)]), 2),
            Some(1)
        );
        assert_eq!(clock(&rows(|row| [0.0 * row, row * row]), 2), None);
        assert_eq!(clock(&[0.0, 1.0], 1), None);
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, words) in [
            ("1,2\n3,x\n", [":2:3", "'x' is not a number"]),
            ("1,2\n3\n", [":2:1", "1 columns, expected 2"]),
            ("1,2,3\n", [":1:1", "left, right"]),
            ("left,wrong\n1,2\n", [":1:1", "'right'"]),
            ("1,inf\n", ["row 1", "not finite"]),
            ("1,\"2\n3,4\n", [":1:3", "nothing closes it"]),
            ("", ["no row", "csv"]),
            ("left,right\n", ["no row", "csv"]),
            ("Time [s],u\n0,1\n", [":1:1", "left, right"]),
        ] {
            let message = read("mistakes", text).unwrap_err();
            for word in words {
                assert!(message.contains(word), "{text:?}: {message}");
            }
        }
    }
}
