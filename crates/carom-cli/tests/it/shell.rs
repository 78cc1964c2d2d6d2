//! Commands of README and docs run as they are printed, in bash and in zsh, in a fresh clone.
//!
//! A page is followed from its first command to its last in a folder of its own, with the folders of the repository beside it.
//! Files that a reader brings are stand-ins: a pendulum with a wrong damping and a recording of the right one for robots, the
//! example of `carom quickstart` for throws. What takes minutes has a quick form; what needs data that does not ship is
//! understood up to the file that is missing.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Folder, Outcome, carom, finish, root, tool};

/// A command of a page.
#[derive(Debug)]
struct Printed {
    page: String,
    line: usize,
    /// As it is printed, line ends escaped by backslashes included.
    text: String,
    /// The exit code that the page says it has.
    code: i32,
}

/// Pages with commands.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "datasets/README.md".to_owned()];
    for folder in ["docs", "book/src"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|entry| PathBuf::from(entry.unwrap().file_name()));
        let names = names.filter(|name| ends_in(name, "md"));
        pages.extend(names.map(|name| format!("{folder}/{}", name.display())));
    }
    pages.sort();
    pages
}

fn ends_in(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|own| own == end)
}

const PROGRAMS: [&str; 8] = [
    "carom", "cargo", "pip", "python", "python3", "git", "cd", "cat",
];

/// The commands in the code of a page: lines that begin with a program, or with `$`. A fence ```` ```text exit-code-2 ```` says
/// how they end.
fn printed(page: &str) -> Vec<Printed> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let (mut found, mut code): (Vec<Printed>, Option<i32>) = (Vec::new(), None);
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            is_open = false;
            let exit = fence
                .rsplit_once("exit-code-")
                .map_or(0, |(_, code)| code.trim().parse().unwrap());
            let shown = ["", "text", "sh", "console"]
                .contains(&fence.split_whitespace().next().unwrap_or(""));
            code = if code.is_some() {
                None
            } else {
                Some(if shown { exit } else { -1 })
            };
            continue;
        }
        let Some(code) = code.filter(|code| *code >= 0) else {
            continue;
        };
        if is_open && let Some(last) = found.last_mut() {
            last.text.push('\n');
            last.text.push_str(line);
        } else {
            let plain = line.strip_prefix("$ ").unwrap_or(line);
            if !PROGRAMS.contains(&plain.split_whitespace().next().unwrap_or("")) {
                continue;
            }
            found.push(Printed {
                page: page.to_owned(),
                line: index + 1,
                text: plain.to_owned(),
                code,
            });
        }
        is_open = found.last().is_some_and(|last| last.text.ends_with('\\'));
    }
    found
}

fn all() -> Vec<Printed> {
    pages().iter().flat_map(|page| printed(page)).collect()
}

/// The words that a shell makes of a command, without running it: functions in the place of the programs print them.
fn words_by(shell: &[&str], folder: &Path, text: &str) -> Result<Vec<String>, String> {
    let print = "() { printf '%s\\0' \"$0\" > /dev/null; printf '%s\\0' \"$@\"; }\n";
    let functions = PROGRAMS.map(|name| [name, print].concat()).concat();
    let mut command = Command::new(shell[0]);
    command
        .args(&shell[1..])
        .arg(format!("{functions}{text}"))
        .current_dir(folder);
    let outcome = finish(&mut command);
    if outcome.code != Some(0) || !outcome.stderr.is_empty() {
        return Err(format!("{outcome:#?}"));
    }
    Ok(outcome
        .stdout
        .split('\0')
        .map(str::to_owned)
        .filter(|word| !word.is_empty())
        .collect())
}

const BASH: [&str; 4] = ["bash", "--norc", "--noprofile", "-c"];
const ZSH: [&str; 3] = ["zsh", "-f", "-c"];

/// A pendulum whose damping is wrong, under the names that pages give a robot of the reader.
const ROBOTS: [&str; 2] = ["my_robot.xml", "arm.xml"];

/// The folders of the repository, and the files of a reader.
fn fresh(name: &str) -> Folder {
    let folder = Folder::new(name);
    for name in ["models", "datasets", "tests", "tasks", "xtask"] {
        let place = fs::canonicalize(root().join(name)).unwrap();
        std::os::unix::fs::symlink(place, folder.path(name)).unwrap();
    }
    let pendulum = fs::read_to_string(root().join("models/pendulum.xml")).unwrap();
    for robot in ROBOTS {
        let wrong = pendulum.replace("damping=\"0.01\"", "damping=\"0.03\"");
        assert_ne!(wrong, pendulum);
        fs::write(folder.path(robot), wrong).unwrap();
    }
    let run = |arguments: &[&str]| {
        finish(carom().current_dir(&folder.0).args(arguments))
            .succeeds()
            .code
    };
    let simulated = [
        "sim",
        "models/pendulum.xml",
        "--keyframe",
        "horizontal",
        "--seconds",
        "2",
        "--out",
    ];
    for out in ["run.csv", "run.npz", "measured.npz", "simulated.npz"] {
        run(&[&simulated[..], &[out]].concat());
    }
    // Columns as a reader's own logger calls them.
    let text = fs::read_to_string(folder.path("run.csv")).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let names = [
        ("qpos[0]", "pivot_pos"),
        ("qvel[0]", "pivot_vel"),
        ("ctrl[0]", "tau_cmd"),
        ("time", "t"),
    ];
    let header = names.iter().fold(header.to_owned(), |header, (own, name)| {
        header.replace(own, name)
    });
    fs::write(folder.path("run.csv"), format!("{header}\n{rows}")).unwrap();
    folder
}

/// What is added to a command of minutes, so that a test can run it: its flags are read all the same.
fn quick_form(text: &str) -> Vec<&'static str> {
    let is = |word: &str| text.split_whitespace().any(|own| own == word);
    if is("identify") {
        vec!["--evaluations", "40"]
    } else if is("view") && !is("--export") {
        vec!["--export", "page.html"]
    } else if is("quickstart") && !is("--no-open") {
        vec!["--no-open"]
    } else {
        Vec::new()
    }
}

/// Commands that do not run to their end here, by words in them, and why.
const UNDERSTOOD: [(&str, &str); 6] = [
    (
        "carom plan",
        "plans for minutes; crates/carom-tasks tests its tasks",
    ),
    ("--preset contact", "takes minutes"),
    (
        "--residual torque",
        "the pendulum of this test has no links",
    ),
    ("parity my_models", "needs MuJoCo"),
    ("learn", "its recordings do not ship"),
    ("--seeds", "takes minutes"),
];

/// Ends by an answer: done, no, or doubtful. Or the file is missing that does not ship.
fn ends_well(printed: &Printed, outcome: &Outcome, missing: bool) {
    let place = format!("{}:{}: {}", printed.page, printed.line, printed.text);
    // A plain no is an answer, and stands where answers do.
    if printed.code != 1 || outcome.stdout.is_empty() {
        outcome.is_in_order();
    }
    if missing {
        let is_understood = !outcome.stderr.contains("error[A00");
        assert!(
            outcome.code == Some(2) && is_understood,
            "{place}\n{outcome:#?}"
        );
        return;
    }
    let is_cut = printed.text.contains("identify");
    let codes: &[i32] = if is_cut {
        &[0, 1, 3]
    } else {
        std::slice::from_ref(&printed.code)
    };
    assert!(
        outcome.code.is_some_and(|code| codes.contains(&code)),
        "{place}\n{outcome:#?}"
    );
    let is_understood = printed.code != 0 || !outcome.stderr.contains("error[A00");
    assert!(is_understood, "{place}\n{outcome:#?}");
}

/// Shells make the same words of every command, and find no pattern in it: a bracket without quotes ends a line in zsh.
#[test]
fn shells_read_what_the_pages_print() {
    let folder = fresh("shells");
    let has_zsh = tool(Command::new("zsh").args(["-f", "-c", "true"]));
    // Patterns without quotes may stand for files that earlier commands of the page write.
    fs::create_dir(folder.path("carom-quickstart")).unwrap();
    for throw in 1..=3 {
        fs::write(
            folder.path(&format!("carom-quickstart/throw{throw}.csv")),
            "",
        )
        .unwrap();
    }
    if !has_zsh {
        carom_testing::skip(
            "zsh is not installed: commands are read by bash, and their brackets by eye",
        );
    }
    let commands = all();
    assert!(commands.len() > 60, "{} commands", commands.len());
    for Printed {
        page, line, text, ..
    } in &commands
    {
        let place = format!("{page}:{line}: {text}");
        let by_bash =
            words_by(&BASH, &folder.0, text).unwrap_or_else(|why| panic!("{place}\n{why}"));
        if has_zsh {
            let by_zsh =
                words_by(&ZSH, &folder.0, text).unwrap_or_else(|why| panic!("{place}\n{why}"));
            assert_eq!(by_bash, by_zsh, "{place}");
        }
        // What zsh would refuse, and what it takes for words where it is typed: patterns and comments.
        let is_quoted = |word: &str| word.contains(['\'', '"']);
        let files = |word: &&str| {
            word.contains('*') && !is_quoted(word) && !by_bash.iter().any(|own| own == word)
        };
        let text = text
            .split(' ')
            .filter(|word| !files(word))
            .collect::<Vec<_>>()
            .join(" ");
        let mut quote = None;
        for (index, letter) in text.char_indices() {
            match (quote, letter) {
                (None, '\'' | '"') => quote = Some(letter),
                (Some(open), _) if open == letter => quote = None,
                (None, '[' | ']' | '*' | '?' | '#' | '(' | '~' | '^' | '…' | '!') => {
                    panic!("{place}\n'{letter}' at {index} needs quotes in zsh, or is no command");
                }
                _ => {}
            }
        }
    }
}

/// The pages whose commands run in every form of this test.
const FIRST_PAGES: [&str; 2] = ["README.md", "docs/command_line.md"];

/// The commands of pages, from top to bottom; those of most pages in the long form, since they take minutes.
#[test]
fn commands_of_the_pages_run() {
    let mut by_page: BTreeMap<String, Vec<Printed>> = BTreeMap::new();
    let is_wanted = |page: &str| carom_testing::by_tier(FIRST_PAGES.contains(&page), true);
    for printed in all().into_iter().filter(|one| is_wanted(&one.page)) {
        by_page
            .entry(printed.page.clone())
            .or_default()
            .push(printed);
    }
    for (page, commands) in by_page {
        let folder = fresh("pages");
        save_files(&page, &folder);
        for printed in commands {
            follow(&printed, &folder);
        }
    }
}

/// Files that a page shows with their names: ```` ```toml file=fall.toml ````.
fn save_files(page: &str, folder: &Folder) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    for part in text.split("```").filter(|part| part.contains("file=")) {
        let (head, content) = part.split_once('\n').unwrap_or_default();
        if let Some((_, name)) = head.split_once("file=") {
            fs::write(folder.path(name.trim()), content).unwrap();
        }
    }
}

fn follow(printed: &Printed, folder: &Folder) {
    let words = words_by(&BASH, &folder.0, &printed.text).unwrap();
    let program = printed.text.split_whitespace().next().unwrap_or_default();
    let arguments: Vec<&str> = match (
        program,
        words.iter().map(String::as_str).collect::<Vec<_>>(),
    ) {
        ("carom", words) => words,
        ("cargo", words) => match words.as_slice() {
            ["run", "--release", "--", rest @ ..] => rest.to_vec(),
            words => return cargo_exists(printed, words),
        },
        ("pip", words) => return assert_eq!(words, ["install", "."], "{printed:?}"),
        ("git" | "cd" | "cat", _) => return,
        (_, words) => {
            let exists = words.first().is_some_and(|path| root().join(path).exists());
            return assert!(exists, "{printed:?}");
        }
    };
    if UNDERSTOOD
        .iter()
        .any(|(part, _)| printed.text.contains(part))
    {
        // Flags are read before `--help` is answered, all but missing ones.
        let outcome = finish(
            carom()
                .current_dir(&folder.0)
                .args(&arguments)
                .arg("--help"),
        );
        return ends_well(printed, &outcome, false);
    }
    let mut more = quick_form(&printed.text);
    if arguments.contains(&"--evaluations") {
        more.clear();
    }
    let is_file = |word: &&&str| {
        let extension = Path::new(word)
            .extension()
            .and_then(|extension| extension.to_str());
        matches!(extension, Some("xml" | "npz" | "csv" | "toml" | "mcap")) && !word.starts_with('-')
    };
    let is_output = |word: &str| {
        let place = arguments.iter().position(|own| *own == word).unwrap_or(0);
        place > 0 && ["--out", "--export", "--report"].contains(&arguments[place - 1])
    };
    let inputs = arguments
        .iter()
        .filter(is_file)
        .filter(|word| !is_output(word));
    let missing = printed.code == 0 && inputs.clone().any(|word| !folder.path(word).exists());
    let outcome = finish(carom().current_dir(&folder.0).args(&arguments).args(more));
    ends_well(printed, &outcome, missing);
    // What would have been written is there for the commands that follow.
    for word in arguments
        .iter()
        .filter(is_file)
        .filter(|word| is_output(word))
    {
        let path = folder.path(word);
        if !path.exists() && ends_in(word.as_ref(), "xml") {
            fs::copy(folder.path("my_robot.xml"), path).unwrap();
        }
    }
}

/// A command of developers: the example or the task is there.
fn cargo_exists(printed: &Printed, words: &[&str]) {
    let tasks = fs::read_to_string(root().join("xtask/src/main.rs"))
        .unwrap()
        .to_lowercase();
    match words {
        ["xtask", task, ..] => assert!(
            tasks.contains(&task.replace('-', "")) || tasks.contains(task),
            "{printed:?}"
        ),
        ["run", .., "-p", package, "--example", name] => {
            let folder = root().join("crates").join(package).join("examples");
            let exists = folder.join(format!("{name}.rs")).exists() || folder.join(name).exists();
            assert!(exists, "{printed:?}");
        }
        ["install", "--path", path] => {
            assert!(root().join(path).join("Cargo.toml").exists(), "{printed:?}");
        }
        ["build" | "doc" | "nextest" | "add", ..] => {}
        _ => panic!("a command that nothing checks: {printed:?}"),
    }
}
