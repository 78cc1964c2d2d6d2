//! Every stage has the files of the stage contract, and a check of its backward twin.

use std::collections::BTreeSet;

use super::Repository;

const STAGES: &str = "crates/carom/src/stages/";
const LIST: &str = "crates/carom/src/dynamics.rs";

/// A stage that `dynamics.rs` lists has `mod.rs` (equations and output struct), `forward.rs`, and tests of its own.
pub(super) fn folders_are_complete(repository: &Repository) -> Vec<String> {
    let inside = |path: &str| {
        path.strip_prefix(STAGES)
            .and_then(|rest| rest.split_once('/'))
            .map(|(f, _)| f.to_owned())
    };
    let folders: BTreeSet<String> = repository
        .files
        .iter()
        .filter_map(|file| inside(&file.path))
        .collect();
    let mut problems = Vec::new();
    let list = repository.text(LIST).unwrap_or_default();
    let listed = |folder: &String| list.contains(&format!("{folder}::forward("));
    for folder in folders.into_iter().filter(listed) {
        let path = format!("{STAGES}{folder}/");
        for name in ["mod.rs", "forward.rs"] {
            if repository.text(&format!("{path}{name}")).is_none() {
                problems.push(format!("{path}: no {name}"));
            }
        }
        let tested = repository
            .files
            .iter()
            .any(|file| file.path.starts_with(&path) && file.text.contains("#[test]"));
        if !tested {
            problems.push(format!("{path}: no tests"));
        }
        if !repository
            .files
            .iter()
            .any(|file| file.path.starts_with(&path) && is_checked(&file.text, &folder))
        {
            problems.push(format!(
                "{path}: no `check_stage!({folder}, …)`, which checks its gradients"
            ));
        }
    }
    problems
}

/// Whether a file checks the backward twin of a stage: the macro has the stage's name first, and calls the backward
/// pass that steps call.
fn is_checked(text: &str, stage: &str) -> bool {
    let words: String = text.split_whitespace().collect();
    let calls = [
        format!("dynamics::backward::{stage}("),
        format!("stages::{stage}::backward("),
    ];
    words.contains(&format!("check_stage!({stage},"))
        && calls.iter().any(|call| words.contains(call))
}

#[cfg(test)]
mod tests {
    use super::{LIST, Repository, folders_are_complete};

    #[test]
    fn a_stage_needs_its_files_and_tests() {
        let repository = Repository::of(&[
            (LIST, "good::forward(model);\npoor::forward(model);"),
            ("crates/carom/src/stages/mod.rs", ""),
            ("crates/carom/src/stages/good/mod.rs", "mod tests;"),
            ("crates/carom/src/stages/good/forward.rs", ""),
            (
                "crates/carom/src/stages/good/tests.rs",
                "#[test]\nfn holds() {}\ncheck_stage!(\n    good,\n    |at| dynamics::backward::good(at));",
            ),
            ("crates/carom/src/stages/poor/mod.rs", ""),
            ("crates/carom/src/stages/planned/mod.rs", ""),
        ]);
        assert_eq!(
            folders_are_complete(&repository),
            [
                "crates/carom/src/stages/poor/: no forward.rs",
                "crates/carom/src/stages/poor/: no tests",
                "crates/carom/src/stages/poor/: no `check_stage!(poor, …)`, which checks its gradients",
            ]
        );
    }
}
