//! GLOSSARY.md: every row has its five cells, one name is used for one thing, and every array of the engine has a row.

use std::collections::{BTreeMap, BTreeSet};

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

/// Structs that hold the results of the stages are fields of this one. Numbers of the model have their rows by a test of the
/// engine, which has the table of them.
const OWNER: &str = "crates/carom/src/data.rs";

/// Every field of theirs has its row, as `owner.field`; work areas are nobody's concern.
pub(super) fn arrays_are_listed(repository: &Repository) -> Vec<String> {
    let glossary = repository.text(DOCUMENT).unwrap_or_default();
    let owners: BTreeMap<&str, &str> = (repository.text(OWNER).into_iter())
        .flat_map(owned_structs)
        .collect();
    let mut problems = Vec::new();
    for file in repository.with_extension("rs") {
        for (structure, field) in array_fields(&file.text) {
            let Some(owner) = owners.get(structure) else {
                continue;
            };
            let name = format!("{owner}.{field}");
            if !glossary.contains(&format!("| `{name}` |")) {
                problems.push(format!("{DOCUMENT}: no row for `{name}` of {}", file.path));
            }
        }
    }
    problems
}

/// Pairs of struct and field name from lines such as `pub bodies: BodyNumbers<T>,`.
fn owned_structs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (field, kind) = line.trim().strip_prefix("pub ")?.split_once(": ")?;
        Some((kind.strip_suffix("<T>,")?, field))
    })
}

/// Pairs of struct and field name inside `arrays!` declarations.
fn array_fields(text: &str) -> Vec<(&str, &str)> {
    let mut fields = Vec::new();
    let declarations = text
        .match_indices("arrays! {")
        .filter_map(|(at, opening)| text[at + opening.len()..].split("\n}").next());
    for declaration in declarations {
        let mut structure = "";
        let mut work_area = false;
        for line in declaration.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix("pub struct ") {
                structure = name.trim_end_matches(" {");
            } else if let Some(text) = line.strip_prefix("/// ") {
                work_area |= text.starts_with("Work area");
            } else if let Some((field, _)) = line.split_once(": [") {
                if !work_area {
                    fields.push((structure, field));
                }
                work_area = false;
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::{OWNER, Repository, arrays_are_listed, rows_are_complete};

    #[test]
    fn an_array_without_a_row_is_reported() {
        let declaration = "arrays! {\n    /// Results.\n    pub struct Tendon {\n        /// Lengths (m).\n        \
                           length: [T; ntendon],\n        /// Rates.\n        rate: [T; ntendon],\n        \
                           /// Work area: sums.\n        sum: [T; ntendon],\n    }\n}\n";
        let repository = Repository::of(&[
            (
                OWNER,
                "pub struct Data<T: Scalar = f64> {\n    pub tendon: Tendon<T>,\n}",
            ),
            ("crates/carom/src/stages/tendon/mod.rs", declaration),
            (
                "GLOSSARY.md",
                "| ℓ | `tendon.length` | `ten_length` | m | ntendon |",
            ),
        ]);
        assert_eq!(
            arrays_are_listed(&repository),
            ["GLOSSARY.md: no row for `tendon.rate` of crates/carom/src/stages/tendon/mod.rs"]
        );
    }

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
