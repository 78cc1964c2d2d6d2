//! Tables of text with a header.

use std::collections::BTreeMap;
use std::path::Path;

use super::table::{Array, Table, number_words, shortened};
use crate::error;
use carom::Error;

/// Reads a table: a header, then one row a line, separated by commas, semicolons or tabs. Empty cells and `nan` are missing
/// numbers; columns with words can only be used to split trajectories.
pub(super) fn read(path: &Path) -> Result<Table, Error> {
    let file = path.display().to_string();
    let fail = |message: String| error::in_recording(&file, message);
    let bytes = super::read_bytes(path)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        fail("not UTF-8 text; save the table as plain .csv (not as a spreadsheet)".to_owned())
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = (text.lines().enumerate()).filter(|(_, line)| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    let Some((_, header)) = lines.next() else {
        return Err(fail(
            "the file is empty; a table starts with a line of column names".to_owned(),
        ));
    };
    let separator = *[',', ';', '\t']
        .iter()
        .max_by_key(|&&candidate| header.matches(candidate).count())
        .unwrap_or(&',');
    let names: Vec<String> = header.split(separator).map(clean).collect();
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        return Err(fail(format!(
            "the first line ('{}') has numbers, not column names; add a header",
            shortened(header)
        )));
    }
    if let Some(double) = (1..names.len()).find(|&index| names[..index].contains(&names[index])) {
        return Err(fail(format!(
            "two columns are called '{}'; rename one",
            names[double]
        )));
    }
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    let mut numbers = Vec::new();
    for (index, line) in lines {
        numbers.push(index + 1);
        let row: Vec<String> = line.split(separator).map(clean).collect();
        if row.len() != names.len() {
            return Err(fail(format!(
                "line {}: {} cells, but the header has {} columns; complete the line, or remove it",
                index + 1,
                row.len(),
                names.len()
            )));
        }
        for (column, cell) in cells.iter_mut().zip(row) {
            column.push(cell);
        }
    }
    let arrays: BTreeMap<String, Array> = (names.into_iter().zip(&cells))
        .map(|(name, cells)| (name, column(cells)))
        .collect();
    Ok(Table {
        file,
        arrays,
        clocks: BTreeMap::new(),
        row_name: "line",
        lines: numbers,
    })
}

fn clean(cell: &str) -> String {
    cell.trim().trim_matches('"').trim().to_owned()
}

fn column(cells: &[String]) -> Array {
    let number = |cell: &String| match cell.as_str() {
        "" | "nan" | "NaN" | "NAN" | "null" | "NA" => Some(f64::NAN),
        cell => cell.parse::<f64>().ok(),
    };
    let word = cells.iter().position(|cell| number(cell).is_none());
    let numbers: Option<Vec<f64>> = cells.iter().map(number).collect();
    Array {
        width: 1,
        word: word.map(|row| (row, shortened(&cells[row]))),
        values: numbers.unwrap_or_else(|| number_words(cells)),
        rows_per_trajectory: None,
    }
}
