//! Failures read as `docs/command_line.md` shows them; [`shell`](crate::shell) runs its commands.

use std::fs;

use crate::support::{root, words};

/// Commands of the page that fail, with their exit codes: the fence says which.
fn failures(page: &str) -> Vec<(String, i32)> {
    let blocks = page.split("```text exit-code-").skip(1);
    let failure = |block: &str| -> Option<(String, i32)> {
        let (code, rest) = block.split_once('\n')?;
        let line = rest.lines().next()?.strip_prefix("$ carom ")?;
        // Quotes are for the shell.
        Some((line.replace('\'', ""), code.trim().parse().ok()?))
    };
    blocks.filter_map(failure).collect()
}

#[test]
fn texts_of_failures_are_as_the_page_shows_them() {
    let page = fs::read_to_string(root().join("docs/command_line.md")).unwrap();
    let failures = failures(&page);
    assert!(failures.len() >= 2, "{failures:?}");
    for (line, code) in &failures {
        let outcome = crate::support::run(&words(line));
        outcome.fails(*code, &[]);
        let shown = if outcome.stdout.is_empty() {
            &outcome.stderr
        } else {
            &outcome.stdout
        };
        // The page breaks long lines.
        let plain = |text: &str| text.replace('\n', "");
        assert!(plain(&page).contains(&plain(shown)), "{outcome:#?}");
    }
}
