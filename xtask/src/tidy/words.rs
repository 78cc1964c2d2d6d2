//! Documents use the words of the field: the table of CONTRIBUTING.md says which ones, and this check reads it.

use super::{File, Repository};

/// Where the table of words stands.
const TABLE: &str = "CONTRIBUTING.md";
/// Its head.
const HEAD: &str = "| we say | not |";
/// The longest line of prose (columns), so that two pages fit side by side on a screen.
const MAX_COLUMNS: usize = 120;
/// Documents whose lines are not bounded: maps of the code and of its names.
const WIDE: [&str; 2] = ["ARCHITECTURE.md", "GLOSSARY.md"];
/// The page that `cargo xtask book-tables` writes, with attributes of MJCF as they are.
const WRITTEN: &str = "book/src/mjcf.md";

/// A word of the field, and those that stand for it elsewhere.
struct Word<'t> {
    ours: &'t str,
    others: Vec<&'t str>,
}

/// No document uses a word of the second column, and lines of prose are at most [`MAX_COLUMNS`] wide.
pub(super) fn documents_use_the_fields_words(repository: &Repository) -> Vec<String> {
    let words = repository.text(TABLE).map(table).unwrap_or_default();
    let mut problems = Vec::new();
    for file in repository.with_extension("md").filter(|file| is_page(file)) {
        problems.extend(wide_lines(file));
        // Names in backticks are not prose, and the table itself holds all of the words.
        let text = prose(&file.text).to_lowercase();
        for word in &words {
            let rest = text.replace(word.ours, "…");
            problems.extend(
                word.others
                    .iter()
                    .filter(|other| holds(&rest, other))
                    .map(|other| format!("{}: say `{}`, not `{other}`", file.path, word.ours)),
            );
        }
    }
    problems
}

/// Documents that people write for readers: those at the root, in `docs` and in the book.
fn is_page(file: &File) -> bool {
    if file.path == WRITTEN {
        return false;
    }
    !file.path.contains('/') || file.path.starts_with("docs/") || file.path.starts_with("book/src/")
}

/// The rows of the table.
fn table(text: &str) -> Vec<Word<'_>> {
    let rows = text.lines().skip_while(|line| *line != HEAD).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .filter_map(|row| row.trim_matches('|').split_once('|'))
        .map(|(ours, others)| Word {
            ours: ours.trim(),
            others: others.split(',').map(str::trim).collect(),
        })
        .collect()
}

/// A document without code, names in backticks and the table of words, in one line.
fn prose(text: &str) -> String {
    let text = match text.split_once(HEAD) {
        Some((before, after)) => [before, after.split_once("\n\n").map_or("", |it| it.1)].concat(),
        None => text.to_owned(),
    };
    let outside_blocks: String = text.split("```").step_by(2).collect();
    let outside_names: Vec<&str> = outside_blocks.split('`').step_by(2).collect();
    let words: Vec<&str> = outside_names
        .iter()
        .flat_map(|it| it.split_whitespace())
        .collect();
    words.join(" ")
}

/// Whether a text in small letters holds a phrase at the start of a word.
fn holds(text: &str, phrase: &str) -> bool {
    let phrase = phrase.to_lowercase();
    text.match_indices(&phrase)
        .any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

/// Lines of prose that are too long; tables and code cannot be wrapped.
fn wide_lines(file: &File) -> Vec<String> {
    let mut is_code = false;
    let mut problems = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        let is_prose = !is_code && !line.trim_start().starts_with('|');
        let columns = line.chars().count();
        if is_prose && columns > MAX_COLUMNS && !WIDE.contains(&file.path.as_str()) {
            problems.push(format!(
                "{}:{}: {columns} columns, at most {MAX_COLUMNS}",
                file.path,
                number + 1
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{Repository, documents_use_the_fields_words};

    const WORDS: &str = "We say:\n\n| we say | not |\n|---|---|\n| standard deviation | deviation |\n| held-out | kept back |\n\nMore.";

    #[test]
    fn words_of_the_second_column_are_reported() {
        let repository = Repository::of(&[
            ("CONTRIBUTING.md", WORDS),
            (
                "docs/a.md",
                "One standard\ndeviation, `kept back`.\n```\nkept back\n```\nTwo Deviations, kept\nback.",
            ),
        ]);
        assert_eq!(
            documents_use_the_fields_words(&repository),
            [
                "docs/a.md: say `standard deviation`, not `deviation`",
                "docs/a.md: say `held-out`, not `kept back`",
            ]
        );
    }

    #[test]
    fn long_lines_of_prose_are_reported() {
        let long = "word ".repeat(30);
        let text = format!("{long}\n\n| {long} |\n\n```\n{long}\n```\n");
        let repository = Repository::of(&[("CONTRIBUTING.md", WORDS), ("docs/a.md", &text)]);
        assert_eq!(
            documents_use_the_fields_words(&repository),
            ["docs/a.md:1: 150 columns, at most 120"]
        );
    }
}
