//! No file names a folder of somebody's machine or is marked as unfinished.

use super::Repository;

/// Beginnings of paths that exist on one machine only. Split, so that this file does not contain them.
const MACHINE_PATHS: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("C:", "\\"),
];

/// Marks of unfinished work and of tests that do not run.
const UNFINISHED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("#[ign", "ore"),
];

/// Each file is free of machine paths; code is free of marks of unfinished work.
pub(super) fn is_portable_and_finished(repository: &Repository) -> Vec<String> {
    let mut problems = Vec::new();
    for file in &repository.files {
        let code = ["rs", "py", "toml"].contains(&file.extension());
        for (number, line) in file.text.lines().enumerate() {
            let machine = MACHINE_PATHS.iter().filter(|path| line.contains(**path));
            let unfinished = UNFINISHED
                .iter()
                .filter(|mark| code && line.contains(**mark));
            problems.extend(machine.chain(unfinished).map(|found| {
                format!(
                    "{}:{}: `{found}` does not belong in the repository",
                    file.path,
                    number + 1
                )
            }));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{MACHINE_PATHS, Repository, UNFINISHED, is_portable_and_finished};

    #[test]
    fn machine_paths_and_unfinished_marks_are_reported() {
        let document = format!("see {}me/notes", MACHINE_PATHS[0]);
        let code = format!("fn a() {{}}\n// {}: later", UNFINISHED[0]);
        let repository = Repository::of(&[("a.md", &document), ("a.rs", &code)]);
        let problems = is_portable_and_finished(&repository);
        assert_eq!(problems.len(), 2);
        assert!(problems[0].starts_with("a.md:1:") && problems[1].starts_with("a.rs:2:"));
    }
}
