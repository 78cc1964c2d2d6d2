//! What a recording's file holds, before anything is known about its meaning: arrays of rows.

use std::collections::BTreeMap;
use std::path::Path;

use super::Mapping;
use crate::error;
use crate::npz::{self, Values};
use carom::{Error, ErrorKind};

/// Rows of numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array {
    /// Numbers in a row.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f64>,
    /// Rows of each trajectory, where the array's first axis counts them.
    pub rows_per_trajectory: Option<usize>,
    /// The first word with its row, where it holds words: only their equality counts.
    pub word: Option<(usize, String)>,
}

impl Array {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }
}

/// A file as a set of arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Name of the file, for messages.
    pub file: String,
    /// Arrays, or columns, by name.
    pub arrays: BTreeMap<String, Array>,
    /// Names of arrays in the file that were not read.
    pub others: Vec<String>,
    /// The array of time stamps of an array that has its own.
    pub clocks: BTreeMap<String, String>,
    /// What a row is called in messages.
    pub row_name: &'static str,
    /// Numbers of the rows in the file, where some lines are none; otherwise they count from 0.
    pub lines: Vec<usize>,
}

/// Some numbers of every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Numbers in a row.
    pub width: usize,
    /// Row by row.
    pub values: Vec<f64>,
    /// Rows of each trajectory, where the array's first axis counts them.
    pub rows_per_trajectory: Option<usize>,
    /// What each number of a row is called.
    pub names: Vec<String>,
    /// Time stamps that come with it.
    pub clock: Option<String>,
}

impl Table {
    /// Reads a file: .npz, .csv (also .tsv, .txt) or .mcap. Of an archive only what the mapping names is unpacked, or everything without one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path, mapping: Option<&Mapping>) -> Result<Self, Error> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        match extension.to_ascii_lowercase().as_str() {
            "npz" => Self::from_npz(path, mapping),
            "csv" | "tsv" | "txt" => super::csv::read(path),
            "mcap" => super::mcap::read(path),
            _ => Err(error::recording(format!(
                "'{}': recordings are .npz, .csv or .mcap files",
                path.display()
            ))),
        }
    }

    fn from_npz(path: &Path, mapping: Option<&Mapping>) -> Result<Self, Error> {
        let places = mapping.map(Mapping::places);
        let is_wanted = |name: &str| {
            let named = |places: &Vec<&str>| places.iter().any(|place| may_be_in(place, name));
            places.as_ref().is_none_or(named)
        };
        let (arrays, others) = npz::read_some(path, &is_wanted)
            .map_err(|cause| Error::of(ErrorKind::Recording, cause))?;
        let has_axis = mapping.is_some_and(|mapping| mapping.trajectories.axis);
        let mut table = Self::from_arrays(path.display().to_string(), arrays, has_axis);
        table.others = others;
        Ok(table)
    }

    /// Arrays in memory as a table; `file` is what messages call it.
    pub fn from_arrays(
        file: String,
        arrays: impl IntoIterator<Item = (String, npz::Array)>,
        has_axis: bool,
    ) -> Self {
        let arrays = arrays.into_iter();
        let arrays = arrays.map(|(name, array)| (name, from_numpy(array, has_axis)));
        Self {
            file,
            arrays: arrays.collect(),
            others: Vec::new(),
            clocks: BTreeMap::new(),
            row_name: "row",
            lines: Vec::new(),
        }
    }

    /// The numbers of some places, side by side. `frames` is the number of frames in a row, where it holds several.
    ///
    /// # Errors
    /// When a place is not there, or is text, or lengths differ.
    pub fn block(&self, places: &[String], frames: usize, what: &str) -> Result<Block, Error> {
        let mut columns = Vec::new();
        for place in places {
            columns.extend(self.columns(place, frames, what)?);
        }
        let Some(first) = columns.first() else {
            return Err(self.error(&format!("{what} names no array")));
        };
        let (rows, split, clock) = (
            first.values.len(),
            first.rows_per_trajectory,
            first.clock.clone(),
        );
        if let Some(other) = columns.iter().find(|column| column.values.len() != rows) {
            return Err(self.error(&format!(
                "{what}: '{}' has {} rows, but '{}' has {rows}; they must be equally long",
                other.name,
                other.values.len(),
                first.name
            )));
        }
        let mut values = Vec::with_capacity(rows * columns.len());
        for row in 0..rows {
            values.extend(columns.iter().map(|column| column.values[row]));
        }
        Ok(Block {
            width: columns.len(),
            values,
            rows_per_trajectory: split,
            clock,
            names: columns.into_iter().map(|column| column.name).collect(),
        })
    }

    /// The columns that a place means.
    fn columns(&self, place: &str, frames: usize, what: &str) -> Result<Vec<NamedColumn>, Error> {
        if frames <= 1 {
            return self.plain_columns(place, what);
        }
        // A row that holds all frames has a column for each of them.
        let columns: usize = self.arrays.values().map(|array| array.width).sum();
        if frames > columns {
            return Err(self.error(&format!(
                "{what}: frames_per_row = {frames}, but a row has {columns} columns"
            )));
        }
        let mut parts = Vec::new();
        for frame in 0..frames {
            parts.push(self.plain_columns(&place.replace("{frame}", &frame.to_string()), what)?);
        }
        let shape = |columns: &[NamedColumn]| -> Vec<usize> {
            columns.iter().map(|column| column.values.len()).collect()
        };
        if let Some(frame) = parts
            .iter()
            .position(|part| shape(part) != shape(&parts[0]))
        {
            return Err(self.error(&format!(
                "{what}: '{place}' has another shape for frame {frame} than for frame 0"
            )));
        }
        let interleave = |index: usize| {
            let rows = parts[0][index].values.len();
            let values = (0..rows).flat_map(|row| {
                let parts = &parts;
                (0..frames).map(move |frame| parts[frame][index].values[row])
            });
            NamedColumn {
                name: place.to_owned(),
                values: values.collect(),
                rows_per_trajectory: Some(frames),
                clock: None,
            }
        };
        Ok((0..parts[0].len()).map(interleave).collect())
    }

    fn plain_columns(&self, place: &str, what: &str) -> Result<Vec<NamedColumn>, Error> {
        if let Some(array) = self.arrays.get(place) {
            return self.pick(place, array, 0..array.width, what);
        }
        let (name, range) = parse_place(place).ok_or_else(|| {
            self.error(&format!(
                "{what}: '{place}' is not of the form name, name[3] or name[0:3]"
            ))
        })?;
        if let (Some(array), Some(range)) = (self.arrays.get(name), &range) {
            if range.end > array.width || range.is_empty() {
                let advice = if array.width == 1 && array.rows() > 1 {
                    "; if its numbers are all in one row, reshape it to (frames, numbers)"
                } else {
                    ""
                };
                return Err(self.error(&format!(
                    "{what}: '{place}' asks for columns {} to {}, but '{name}' has {} (0 to {}){advice}",
                    range.start,
                    range.end.saturating_sub(1),
                    array.width,
                    array.width.saturating_sub(1)
                )));
            }
            return self.pick(name, array, range.clone(), what);
        }
        // A table whose header says `qpos[0], qpos[1], …`: it has no more of them than columns.
        if let Some(range) = range.filter(|range| range.len() <= self.arrays.len()) {
            let names: Vec<String> = range.map(|index| format!("{name}[{index}]")).collect();
            if !names.is_empty() && names.iter().all(|name| self.arrays.contains_key(name)) {
                let mut columns = Vec::new();
                for name in &names {
                    columns.extend(self.pick(name, &self.arrays[name], 0..1, what)?);
                }
                return Ok(columns);
            }
        }
        Err(self.error(&format!(
            "{what}: there is no '{name}' (it has {})",
            self.names()
        )))
    }

    fn pick(
        &self,
        name: &str,
        array: &Array,
        range: std::ops::Range<usize>,
        what: &str,
    ) -> Result<Vec<NamedColumn>, Error> {
        if let Some((row, word)) = &array.word {
            let is_comma = word.contains(',') && word.replace(',', ".").parse::<f64>().is_ok();
            let advice = if is_comma {
                "write decimal points, not commas"
            } else {
                "correct the cell, or leave it empty if nothing was measured (missing = true)"
            };
            return Err(self.error(&format!(
                "{what}: '{name}', {}: '{word}' is not a number; {advice}",
                self.row(row / array.width.max(1))
            )));
        }
        let is_single = array.width == 1;
        let column = |index: usize| NamedColumn {
            name: if is_single {
                name.to_owned()
            } else {
                format!("{name}[{index}]")
            },
            values: (0..array.rows())
                .map(|row| array.values[row * array.width + index])
                .collect(),
            rows_per_trajectory: array.rows_per_trajectory,
            clock: self.clocks.get(name).cloned(),
        };
        Ok(range.map(column).collect())
    }

    /// The names of all arrays, for messages.
    pub fn names(&self) -> String {
        let names = self.arrays.keys().chain(&self.others);
        let mut names: Vec<&str> = names.map(String::as_str).collect();
        if names.is_empty() {
            return "nothing".to_owned();
        }
        names.sort_unstable();
        names.join(", ")
    }

    /// An error that names the file.
    pub fn error(&self, message: &str) -> Error {
        error::in_recording(&self.file, message)
    }

    /// What a row is called: `row 17` of an array, `line 18` of a table.
    pub fn row(&self, index: usize) -> String {
        let number = self.lines.get(index).copied().unwrap_or(index);
        format!("{} {number}", self.row_name)
    }
}

struct NamedColumn {
    name: String,
    values: Vec<f64>,
    rows_per_trajectory: Option<usize>,
    clock: Option<String>,
}

/// Whether a place may mean an array of this name, or a column of it: `q`, `q[3]` and `q[0:3]` are in `q` and `q[3]`, `q{frame}` in all that
/// begin as it does.
fn may_be_in(place: &str, name: &str) -> bool {
    if let Some((beginning, _)) = place.split_once("{frame}") {
        let beginning = beginning.split('[').next().unwrap_or(beginning);
        return name.starts_with(beginning);
    }
    let whole = |text: &str| text.split('[').next().unwrap_or(text).to_owned();
    place == name || whole(place) == whole(name)
}

/// `name[3]` or `name[0:3]` taken apart.
fn parse_place(place: &str) -> Option<(&str, Option<std::ops::Range<usize>>)> {
    let Some((name, rest)) = place.split_once('[') else {
        return Some((place, None));
    };
    let inner = rest.strip_suffix(']')?;
    let range = if let Some((first, end)) = inner.split_once(':') {
        first.trim().parse().ok()?..end.trim().parse().ok()?
    } else {
        let index: usize = inner.trim().parse().ok()?;
        index..index.checked_add(1)?
    };
    Some((name, Some(range)))
}

/// Arrays of any shape as rows: the first axis counts frames, or the first trajectories and the second frames.
fn from_numpy(array: npz::Array, has_axis: bool) -> Array {
    let (values, word) = match array.values {
        Values::Numbers(numbers) => (numbers, None),
        Values::Strings(words) => {
            let word = words.first().map_or("", |word| word);
            let numbers = number_words(words.iter().map(String::as_str));
            (numbers, Some((0, shortened(word))))
        }
    };
    let leading = if has_axis && array.shape.len() >= 2 {
        2
    } else {
        1
    };
    let width = array
        .shape
        .iter()
        .skip(leading)
        .product::<usize>()
        .max(usize::from(!values.is_empty()));
    Array {
        width,
        values,
        rows_per_trajectory: (leading == 2).then(|| array.shape[1]),
        word,
    }
}

/// The beginning of a text, for messages.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Words as numbers: equal ones are equal.
pub(super) fn number_words<'w>(words: impl Iterator<Item = &'w str>) -> Vec<f64> {
    let mut known = BTreeMap::new();
    let numbered = words.map(|word| {
        let next = known.len();
        *known.entry(word).or_insert(next) as f64
    });
    numbered.collect()
}
