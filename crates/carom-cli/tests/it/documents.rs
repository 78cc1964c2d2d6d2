//! The examples of `docs/command_line.md` run, and end as the page says.

use std::fs;

#[cfg(unix)]
use crate::support::{Folder, carom, finish};
use crate::support::{root, words};

/// Commands of the page, with their exit codes.
fn examples() -> Vec<(String, i32)> {
    let page = fs::read_to_string(root().join("docs/command_line.md")).unwrap();
    let lines = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ carom "));
    lines
        .map(|line| match line.split_once("# exit code ") {
            Some((line, code)) => (line.to_owned(), code.trim().parse().unwrap()),
            None => (line.to_owned(), 0),
        })
        .collect()
}

#[cfg(unix)]
#[test]
fn examples_of_the_page_run() {
    let folder = Folder::new("examples");
    for name in ["models", "tests"] {
        let place = fs::canonicalize(root().join(name)).unwrap();
        std::os::unix::fs::symlink(place, folder.path(name)).unwrap();
    }
    let examples = examples();
    assert!(examples.len() > 8);
    for (line, code) in examples {
        let outcome = finish(carom().current_dir(&folder.0).args(words(&line)));
        assert_eq!(outcome.code, Some(code), "{outcome:#?}");
    }
    assert_eq!(
        folder.names(),
        ["again.csv", "models", "run.html", "run.npz", "tests"]
    );
}

#[test]
fn texts_of_failures_are_as_the_page_shows_them() {
    let page = fs::read_to_string(root().join("docs/command_line.md")).unwrap();
    for (line, code) in examples().iter().filter(|(_, code)| *code != 0) {
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
