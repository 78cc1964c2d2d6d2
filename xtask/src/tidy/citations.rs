//! Papers cited in comments are in `references.bib`.
//!
//! `[Featherstone 2008, §6.2]` cites the entry with the key `Featherstone2008`.

use std::collections::BTreeSet;

use super::{File, Repository};

const BIBLIOGRAPHY: &str = "references.bib";

/// Every citation has its entry, and every entry is cited.
pub(super) fn keys_exist(repository: &Repository) -> Vec<String> {
    let known: BTreeSet<&str> = repository.text(BIBLIOGRAPHY).map(keys).unwrap_or_default();
    let mut cited = BTreeSet::new();
    let mut problems = Vec::new();
    let code = repository
        .with_extension("rs")
        .filter(|file| file.path.starts_with("crates/"));
    for file in code.chain(repository.with_extension("md")) {
        for key in comments(file).flat_map(citations) {
            if !known.contains(key.as_str()) {
                problems.push(format!(
                    "{}: {key} is cited but not in {BIBLIOGRAPHY}",
                    file.path
                ));
            }
            cited.insert(key);
        }
    }
    let idle = known.iter().filter(|key| !cited.contains(**key));
    problems.extend(idle.map(|key| format!("{BIBLIOGRAPHY}: {key} is cited nowhere")));
    problems
}

/// Keys of the entries: `@book{Featherstone2008,`.
fn keys(bibliography: &str) -> BTreeSet<&str> {
    let entries = bibliography.lines().filter(|line| line.starts_with('@'));
    entries
        .filter_map(|line| line.split_once('{'))
        .map(|(_, key)| key.trim_end_matches(',').trim())
        .collect()
}

/// Lines that may cite: all of a document, the comments of code.
fn comments(file: &File) -> impl Iterator<Item = &str> {
    let code = file.extension() == "rs";
    file.text.lines().filter_map(move |line| {
        if code {
            line.find("//").map(|start| &line[start..])
        } else {
            Some(line)
        }
    })
}

/// Keys cited in a line: brackets that open with a name, a space and a year.
fn citations(line: &str) -> Vec<String> {
    let after_first = line.split_once('[').map_or("", |(_, rest)| rest);
    let brackets = (after_first.split('[')).filter_map(|rest| rest.split(']').next());
    brackets
        .flat_map(|bracket| bracket.split(';'))
        .filter_map(key)
        .collect()
}

/// The key of one source, which may be followed by a comma and a place in it.
fn key(citation: &str) -> Option<String> {
    let source = citation.split(',').next()?;
    let (name, year) = source.trim().rsplit_once(' ')?;
    let is_year = year.len() == 4 && year.chars().all(|c| c.is_ascii_digit());
    let is_name = name.starts_with(char::is_uppercase)
        && name.chars().all(|c| c.is_alphabetic() || " -–".contains(c));
    (is_year && is_name).then(|| {
        let letters: String = name.chars().filter(|c| c.is_alphabetic()).collect();
        letters + year
    })
}

#[cfg(test)]
mod tests {
    use super::{Repository, citations, keys_exist};

    #[test]
    fn citations_have_a_name_and_a_year() {
        assert_eq!(
            citations("// as in [Featherstone 2008, §6.2] and [Castro 2023; Hill 1938, eq. 2]"),
            ["Featherstone2008", "Castro2023", "Hill1938"]
        );
        assert!(citations("// x[i], [m], [ref 3], [`State`], [0.0 2008]").is_empty());
    }

    #[test]
    fn missing_and_idle_entries_are_reported() {
        let repository = Repository::of(&[
            (
                "crates/a.rs",
                "//! [Featherstone 2008, ch. 5]\nlet x = \"[Nobody 1999]\";",
            ),
            ("references.bib", "@article{Hill1938,\n  author = {Hill}\n}"),
        ]);
        assert_eq!(
            keys_exist(&repository),
            [
                "crates/a.rs: Featherstone2008 is cited but not in references.bib",
                "references.bib: Hill1938 is cited nowhere",
            ]
        );
    }
}
