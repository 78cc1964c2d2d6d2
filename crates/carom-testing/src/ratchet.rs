//! Numbers that tests measure and that may not get worse: `tests/ratchets.txt` has them as they are now.

use std::fmt::Display;

use crate::{note, root};

/// Where the numbers are, from the root: a line each, its name and the number.
const FILE: &str = "tests/ratchets.txt";

/// Fails if more are found than the ratchet of this name has; says so if fewer are.
///
/// # Panics
/// When the number is worse than the recorded one, or none is recorded.
#[track_caller]
pub fn at_most(name: &str, found: usize) {
    let recorded = recorded(name, found);
    assert!(found <= recorded, "{name}: {found}, and was {recorded}");
    if found < recorded {
        note("better", &better(name, found, recorded));
    }
}

/// Fails if fewer are found than the ratchet of this name has; says so if more are.
///
/// # Panics
/// When the number is worse than the recorded one, or none is recorded.
#[track_caller]
pub fn at_least(name: &str, found: usize) {
    let recorded = recorded(name, found);
    assert!(found >= recorded, "{name}: {found}, and was {recorded}");
    if found > recorded {
        note("better", &better(name, found, recorded));
    }
}

fn better(name: &str, found: usize, recorded: usize) -> impl Display {
    format!("{name}: {found}, and was {recorded}; write it to {FILE}")
}

#[track_caller]
fn recorded(name: &str, found: usize) -> usize {
    let text = std::fs::read_to_string(root().join(FILE)).unwrap_or_default();
    match number(&text, name) {
        Some(number) => number,
        None => panic!("{FILE} has no number for this one; measured now:\n{name} {found}"),
    }
}

fn number(text: &str, name: &str) -> Option<usize> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut named = lines.filter_map(|line| line.rsplit_once(' '));
    let (_, number) = named.find(|(found, _)| *found == name)?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn names_may_have_spaces() {
        let text = "# a comment 1\nkinks of passive 3\nkinks of passive, shared 12\n";
        assert_eq!(number(text, "kinks of passive"), Some(3));
        assert_eq!(number(text, "kinks of passive, shared"), Some(12));
        assert_eq!(number(text, "kinks"), None);
        assert_eq!(number(text, "# a comment"), None);
    }
}
