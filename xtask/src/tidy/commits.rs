//! Titles of commits fit into a line of every tool.

use crate::command::command;

/// The last commit before titles were checked.
const BEFORE: &str = "67a781fe21f55f79b91fb521944a7f4e22baac91";
/// Most characters of a title.
const LONGEST: usize = 72;

/// Commits since then have titles of at most 72 characters. Says nothing where there is no history, in an archive or a
/// shallow clone.
pub(super) fn titles_are_short() -> Vec<String> {
    let range = format!("{BEFORE}..HEAD");
    let log = command("git")
        .args(["log", "--no-merges", "--format=%h %s", &range])
        .output();
    let log = log.map(|log| log.stdout).unwrap_or_default();
    too_long(&String::from_utf8_lossy(&log))
}

fn too_long(log: &str) -> Vec<String> {
    let commits = log.lines().filter_map(|line| line.split_once(' '));
    let long = commits.filter(|(_, title)| title.chars().count() > LONGEST);
    long.map(|(commit, title)| {
        format!(
            "commit {commit}: the title has {} characters, more than {LONGEST}",
            title.chars().count()
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::too_long;

    #[test]
    fn long_titles_are_reported() {
        let log = format!("abc1234 Add a test\ndef5678 {}", "x".repeat(73));
        assert_eq!(
            too_long(&log),
            ["commit def5678: the title has 73 characters, more than 72"]
        );
    }
}
