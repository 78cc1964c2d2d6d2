//! Tables of text with a header, as RFC 4180 has them: cells in quotes may hold separators, line ends and doubled quotes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::table::{Array, Table, number_words, shortened};
use crate::error;
use carom::Error;

/// What separates cells.
const SEPARATORS: [char; 3] = [',', ';', '\t'];

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'t> {
    /// What it holds: without quotes around it, or else without white space around it.
    pub text: Cow<'t, str>,
    /// Where that is in the text (bytes).
    pub place: Range<usize>,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'t> {
    /// Its first line, from 1.
    pub line: usize,
    /// Its cells, one at least.
    pub cells: Vec<Cell<'t>>,
}

/// A record that cannot be read: what is wrong, and where (bytes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// A line, and a sentence.
    pub message: String,
    /// Where it is in the text (bytes).
    pub place: Range<usize>,
}

/// The records of a text, without lines that are empty or begin with `#`.
#[derive(Clone, Debug)]
pub struct Records<'t> {
    text: &'t str,
    separators: &'t [char],
    /// Where the next line begins (bytes), and its number.
    at: usize,
    line: usize,
}

impl<'t> Records<'t> {
    /// Records whose cells any of these characters separates. A byte order mark is no part of the first cell.
    pub fn new(text: &'t str, separators: &'t [char]) -> Self {
        Self {
            text,
            separators,
            at: text.len() - text.trim_start_matches('\u{feff}').len(),
            line: 1,
        }
    }

    /// The rest of the line from a place on, with its end.
    fn line_from(&self, at: usize) -> &'t str {
        let rest = &self.text[at..];
        rest.split_inclusive('\n').next().unwrap_or(rest)
    }

    /// One cell from a place on: its end, at a separator, a line end or the end of the text.
    fn cell(&mut self, from: usize) -> Result<(Cell<'t>, usize), BadRecord> {
        let is_blank = |letter: char| {
            letter.is_whitespace() && letter != '\n' && !self.separators.contains(&letter)
        };
        let is_end = |letter: char| letter == '\n' || self.separators.contains(&letter);
        let rest = &self.text[from..];
        let start = from + rest.len() - rest.trim_start_matches(is_blank).len();
        if !self.text[start..].starts_with('"') {
            let end = from + rest.find(is_end).unwrap_or(rest.len());
            let text = self.text[start.min(end)..end].trim_end();
            let place = start.min(end)..start.min(end) + text.len();
            let text = Cow::Borrowed(text);
            return Ok((Cell { text, place }, end));
        }
        // The quote that closes is the first one that is not doubled.
        let (line, inner) = (self.line, start + 1);
        let bad = |message: &str, place: Range<usize>| BadRecord {
            message: format!("line {line}: {message}"),
            place,
        };
        let mut close = inner;
        loop {
            let Some(next) = self.text[close..].find('"') else {
                let place = start..start + self.line_from(start).trim_end().len();
                return Err(bad("a quote opens a cell and nothing closes it", place));
            };
            close += next;
            if !self.text[close + 1..].starts_with('"') {
                break;
            }
            close += 2;
        }
        let held = &self.text[inner..close];
        self.line += held.matches('\n').count();
        let rest = self.text[close + 1..].trim_start_matches(is_blank);
        let end = self.text.len() - rest.len();
        if !rest.is_empty() && !rest.starts_with(is_end) {
            let message = "a cell goes on after its closing quote; double the quotes inside of it";
            return Err(bad(message, start..end));
        }
        let text = if held.contains("\"\"") {
            Cow::Owned(held.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(held)
        };
        let place = inner..close;
        Ok((Cell { text, place }, end))
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Result<Record<'t>, BadRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.text.len() {
            let line = self.line_from(self.at);
            if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
                break;
            }
            self.at += line.len();
            self.line += 1;
        }
        if self.at >= self.text.len() {
            return None;
        }
        let (line, mut cells) = (self.line, Vec::new());
        loop {
            let (cell, end) = match self.cell(self.at) {
                Ok(found) => found,
                Err(bad) => {
                    self.at = self.text.len();
                    return Some(Err(bad));
                }
            };
            cells.push(cell);
            // Behind the separator or the line end.
            self.at = (end + 1).min(self.text.len());
            if self.text[end..].starts_with(['\n']) || end == self.text.len() {
                self.line += 1;
                return Some(Ok(Record { line, cells }));
            }
        }
    }
}

/// Reads a table: a header, then one row a line, separated by commas, semicolons or tabs. Empty cells and `nan` are missing
/// numbers; columns with words can only be used to split trajectories.
pub(super) fn read(path: &Path) -> Result<Table, Error> {
    let file = path.display().to_string();
    let bytes = super::read_bytes(path)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = "not UTF-8 text; save the table as plain .csv (not as a spreadsheet)";
        error::in_recording(&file, message)
    })?;
    parse(&text, file.clone()).map_err(|message| error::in_recording(&file, message))
}

fn parse(text: &str, file: String) -> Result<Table, String> {
    // The separator is the one that tears no quotes apart and makes most columns of the header.
    let is_torn = |cell: &Cell<'_>| matches!(cell.text, Cow::Borrowed(text) if text.contains('"'));
    let mut best: Option<((bool, usize), Record<'_>, Records<'_>)> = None;
    let mut unread = None;
    for separator in &SEPARATORS {
        let mut records = Records::new(text, std::slice::from_ref(separator));
        match records.next() {
            Some(Ok(header)) => {
                let rank = (!header.cells.iter().any(is_torn), header.cells.len());
                if best.as_ref().is_none_or(|(other, ..)| rank > *other) {
                    best = Some((rank, header, records));
                }
            }
            Some(Err(bad)) => unread = Some(bad.message),
            None => {}
        }
    }
    let Some((_, header, records)) = best else {
        let empty = "the file is empty; a table starts with a line of column names";
        return Err(unread.unwrap_or_else(|| empty.to_owned()));
    };
    let names: Vec<String> = header
        .cells
        .iter()
        .map(|cell| cell.text.clone().into_owned())
        .collect();
    if names.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
        let line = text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .lines()
            .next();
        return Err(format!(
            "the first line ('{}') has numbers, not column names; add a header",
            shortened(line.unwrap_or_default())
        ));
    }
    if let Some(double) = (1..names.len()).find(|&index| names[..index].contains(&names[index])) {
        return Err(format!(
            "two columns are called '{}'; rename one",
            names[double]
        ));
    }
    let mut columns: Vec<Vec<Cow<'_, str>>> = vec![Vec::new(); names.len()];
    let mut lines = Vec::new();
    for record in records {
        let Record { line, cells } = record.map_err(|bad| bad.message)?;
        lines.push(line);
        if cells.len() != names.len() {
            return Err(format!(
                "line {line}: {} cells, but the header has {} columns; complete the line, or remove it",
                cells.len(),
                names.len()
            ));
        }
        for (column, cell) in columns.iter_mut().zip(cells) {
            column.push(cell.text);
        }
    }
    let arrays = names.into_iter().zip(columns);
    Ok(Table {
        file,
        arrays: arrays.map(|(name, cells)| (name, column(&cells))).collect(),
        others: Vec::new(),
        clocks: BTreeMap::new(),
        row_name: "line",
        lines,
    })
}

fn column(cells: &[Cow<'_, str>]) -> Array {
    let number = |cell: &Cow<'_, str>| match cell.trim() {
        "" | "nan" | "NaN" | "NAN" | "null" | "NA" => Some(f64::NAN),
        cell => cell.parse::<f64>().ok(),
    };
    let word = cells.iter().position(|cell| number(cell).is_none());
    let numbers: Option<Vec<f64>> = cells.iter().map(number).collect();
    Array {
        width: 1,
        word: word.map(|row| (row, shortened(&cells[row]))),
        values: numbers.unwrap_or_else(|| number_words(cells.iter().map(AsRef::as_ref))),
        rows_per_trajectory: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        parse(text, "a.csv".to_owned()).unwrap()
    }

    fn names(table: &Table) -> Vec<&str> {
        table.arrays.keys().map(String::as_str).collect()
    }

    #[test]
    fn cells_in_quotes_hold_separators_line_ends_and_quotes() {
        // RFC 4180, section 2, rules 5 to 7; with the byte order mark and line ends of a spreadsheet.
        let text = "\u{feff}\"a,b\",\"c \"\"d\"\"\",\"e\r\nf\",g\r\n\"1\",2,\"3\",\"x,\"\"y\"\"\"\r\n\r\n# note, \"\r\n4, 5 ,\"6\" ,z\r\n";
        let table = table(text);
        assert_eq!(names(&table), ["a,b", "c \"d\"", "e\r\nf", "g"]);
        assert_eq!(table.arrays["a,b"].values, [1.0, 4.0]);
        assert_eq!(table.arrays["c \"d\""].values, [2.0, 5.0]);
        assert_eq!(table.arrays["e\r\nf"].values, [3.0, 6.0]);
        assert_eq!(table.arrays["g"].word, Some((0, "x,\"y\"".to_owned())));
        // Line numbers count the lines of the file, also those within cells.
        assert_eq!(table.lines, [3, 6]);
    }

    #[test]
    fn separators_within_quotes_separate_nothing() {
        let semicolons = table("\"a,b,c\";t\n1;2\n");
        assert_eq!(names(&semicolons), ["a,b,c", "t"]);
        let tabs = table("t\t\"x;y;z;w\"\n1\t2\n");
        assert_eq!(names(&tabs), ["t", "x;y;z;w"]);
        assert_eq!(names(&table("t\n1\n\"2\"")), ["t"]);
    }

    #[test]
    fn quotes_that_do_not_close_are_named_with_their_line() {
        for (text, message) in [
            ("t,x\n1,2\n3,\"4\n5,6\n", "line 3: a quote opens a cell"),
            ("t,x\n1,\"2\" 3\n", "line 2: a cell goes on after"),
            ("\"t,x\n1,2\n", "line 1: a quote opens a cell"),
            ("t,x\n1,\"\"\"\n", "line 2: a quote opens a cell"),
        ] {
            let found = parse(text, String::new()).unwrap_err();
            assert!(found.starts_with(message), "{text:?}: {found}");
        }
        // A quote within a cell that does not begin with one is a letter like others.
        let found = table("t,x\n1,5\"\n");
        assert_eq!(found.arrays["x"].word, Some((0, "5\"".to_owned())));
    }
}
