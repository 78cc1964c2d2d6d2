//! `cargo xtask tidy`: promises of the repository that the compiler cannot check.
//!
//! Each check returns one line per problem, `file: what is wrong`. They also run as this crate's tests.

mod book;
mod citations;
mod commits;
mod documents;
mod glossary;
mod limits;
mod models;
mod stages;
mod text;
mod words;

use std::fs;
use std::path::Path;

use crate::Outcome;
use crate::command::{command, output, root};

/// A text file of the repository.
pub(crate) struct File {
    /// Path from the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// What follows the last dot of the path.
    fn extension(&self) -> &str {
        self.path
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension)
    }
}

/// A check of the repository: its problems, one per line.
type Check = fn(&Repository) -> Vec<String>;

const CHECKS: [Check; 12] = [
    documents::architecture_paths_exist,
    documents::links_exist,
    book::chapters_exist,
    book::pages_are_whole,
    citations::keys_exist,
    glossary::rows_are_complete,
    glossary::arrays_are_listed,
    limits::only_fall,
    models::references_are_listed,
    stages::folders_are_complete,
    text::is_portable_and_finished,
    words::documents_use_the_fields_words,
];

/// The files that would be committed, read once.
pub(crate) struct Repository {
    pub(crate) files: Vec<File>,
    paths: Vec<String>,
}

impl Repository {
    fn read(root: &Path) -> Result<Self, String> {
        let listing = output(command("git").args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut paths: Vec<String> = listing
            .lines()
            .filter(|path| root.join(path).is_file())
            .map(str::to_owned)
            .collect();
        paths.sort_unstable();
        paths.dedup();
        // Binary files (reference results) are not text and have no promises of this kind.
        let read = |path: &String| {
            fs::read_to_string(root.join(path)).ok().map(|text| File {
                path: path.clone(),
                text,
            })
        };
        let files = paths.iter().filter_map(read).collect();
        Ok(Self { files, paths })
    }

    /// The text of a file, if it is there.
    fn text(&self, path: &str) -> Option<&str> {
        self.files
            .iter()
            .find(|file| file.path == path)
            .map(|file| file.text.as_str())
    }

    /// Whether a path names a file or a folder of the repository.
    fn contains(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.paths.iter().any(|present| {
            present == path
                || present
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// Files with this extension.
    fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = &'a File> {
        self.files
            .iter()
            .filter(move |file| file.extension() == extension)
    }
}

/// Run all checks; with `record`, write the numbers that may only fall as they are now first.
pub(crate) fn run(record: bool) -> Outcome {
    let mut repository = Repository::read(&root())?;
    if record {
        let text = limits::recorded(&repository)?;
        fs::write(root().join(limits::FILE), text)
            .map_err(|error| format!("cannot write {}: {error}", limits::FILE))?;
        repository = Repository::read(&root())?;
    }
    let mut problems: Vec<String> = CHECKS.iter().flat_map(|check| check(&repository)).collect();
    problems.extend(commits::titles_are_short());
    for line in limits::summary(&repository) {
        println!("{line}");
    }
    if problems.is_empty() {
        println!("{} files are tidy", repository.files.len());
        Ok(())
    } else {
        Err(format!(
            "{} problems:\n  {}",
            problems.len(),
            problems.join("\n  ")
        ))
    }
}

#[cfg(test)]
impl Repository {
    /// A repository that exists only in a test.
    fn of(files: &[(&str, &str)]) -> Self {
        let files: Vec<File> = files
            .iter()
            .map(|&(path, text)| File {
                path: path.into(),
                text: text.into(),
            })
            .collect();
        let paths = files.iter().map(|file| file.path.clone()).collect();
        Self { files, paths }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_repository_is_tidy() {
        assert_eq!(super::run(false), Ok(()));
    }
}
