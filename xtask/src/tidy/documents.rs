//! Documents name files that exist.

use super::{Repository, book};

/// Every path in backticks in ARCHITECTURE.md exists. What has a slash and only characters of paths is taken for one.
pub(super) fn architecture_paths_exist(repository: &Repository) -> Vec<String> {
    const DOCUMENT: &str = "ARCHITECTURE.md";
    let Some(text) = repository.text(DOCUMENT) else {
        return vec![format!("{DOCUMENT}: missing")];
    };
    let pieces = text.split('`').enumerate();
    let inside_backticks = pieces.filter_map(|(index, piece)| (index % 2 == 1).then_some(piece));
    inside_backticks
        .filter(|word| is_path(word) && !repository.contains(word))
        .map(|path| format!("{DOCUMENT}: `{path}` does not exist"))
        .collect()
}

fn is_path(word: &str) -> bool {
    let path_character = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    word.contains('/') && word.chars().all(path_character)
}

/// Every relative link in a Markdown file leads to a file or folder. The book has a check of its own.
pub(super) fn links_exist(repository: &Repository) -> Vec<String> {
    let mut problems = Vec::new();
    let files = repository.with_extension("md");
    for file in files.filter(|file| !file.path.starts_with(book::SOURCE)) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for link in links(&file.text) {
            let target = link.split('#').next().unwrap_or_default();
            let external = link.contains("://") || link.starts_with("mailto:");
            if !external && !target.is_empty() && !repository.contains(&resolve(folder, target)) {
                problems.push(format!("{}: link to `{link}` leads nowhere", file.path));
            }
        }
    }
    problems
}

/// Targets of `[text](target)` outside code blocks.
pub(super) fn links(text: &str) -> impl Iterator<Item = &str> {
    let outside_code = text.split("```").step_by(2);
    outside_code
        .flat_map(|prose| {
            prose
                .match_indices("](")
                .map(|(at, opening)| &prose[at + opening.len()..])
        })
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target.trim()))
}

/// A link's target as a path from the root.
pub(super) fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{Repository, architecture_paths_exist, links_exist};

    #[test]
    fn a_path_that_is_gone_is_reported() {
        let repository = Repository::of(&[
            (
                "ARCHITECTURE.md",
                "`crates/a/src/` and `crates/a/src/gone.rs`, not `M·a` nor `carom::compile`",
            ),
            ("crates/a/src/lib.rs", ""),
        ]);
        assert_eq!(
            architecture_paths_exist(&repository),
            ["ARCHITECTURE.md: `crates/a/src/gone.rs` does not exist"]
        );
    }

    #[test]
    fn links_are_resolved_from_their_document() {
        let repository = Repository::of(&[
            (
                "docs/a.md",
                "[up](../README.md#top) [web](https://example.org) [gone](b.md)",
            ),
            ("README.md", "```\n[code](nowhere)\n```\n[docs](docs/)"),
        ]);
        assert_eq!(
            links_exist(&repository),
            ["docs/a.md: link to `b.md` leads nowhere"]
        );
    }
}
