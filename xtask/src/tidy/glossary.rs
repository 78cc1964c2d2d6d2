//! GLOSSARY.md: every row has its five cells, and one name is used for one thing.

use std::collections::BTreeSet;

use super::Repository;

const DOCUMENT: &str = "GLOSSARY.md";
const COLUMNS: usize = 5;

/// Rows of the tables are symbol · our name · MuJoCo name · unit · shape.
pub(super) fn rows_are_complete(repository: &Repository) -> Vec<String> {
    let Some(text) = repository.text(DOCUMENT) else {
        return vec![format!("{DOCUMENT}: missing")];
    };
    let mut names = BTreeSet::new();
    let mut problems = Vec::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with('|'))
    {
        let place = format!("{DOCUMENT}:{}", number + 1);
        let cells: Vec<&str> = line
            .trim()
            .trim_matches('|')
            .split('|')
            .map(str::trim)
            .collect();
        if cells.len() != COLUMNS {
            problems.push(format!(
                "{place}: {} cells, expected {COLUMNS}",
                cells.len()
            ));
            continue;
        }
        let heading = cells[1] == "our name" || cells[1].starts_with('-');
        if heading {
            continue;
        }
        if cells.iter().any(|cell| cell.is_empty()) {
            problems.push(format!(
                "{place}: an empty cell; write – for what does not exist"
            ));
        }
        if !names.insert(cells[1]) {
            problems.push(format!("{place}: {} is defined twice", cells[1]));
        }
    }
    if names.is_empty() {
        problems.push(format!("{DOCUMENT}: no rows"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{Repository, rows_are_complete};

    #[test]
    fn rows_need_five_filled_cells_and_a_name_of_their_own() {
        let table = "| symbol | our name | MuJoCo name | unit | shape |\n|---|---|---|---|---|\n\
                     | q | `qpos` | `qpos` | m, rad | nq |\n| q | `qpos` | – | m | nq |\n| v | `qvel` |\n| a | `qacc` | | – | nv |";
        let repository = Repository::of(&[("GLOSSARY.md", table)]);
        assert_eq!(
            rows_are_complete(&repository),
            [
                "GLOSSARY.md:4: `qpos` is defined twice",
                "GLOSSARY.md:5: 2 cells, expected 5",
                "GLOSSARY.md:6: an empty cell; write – for what does not exist",
            ]
        );
    }
}
