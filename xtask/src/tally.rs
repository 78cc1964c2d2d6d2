//! What ran: tests that passed and failed, what was skipped and why, and what took longest.
//!
//! Numbers are read from what nextest, libtest and pytest print. Tests that cannot do all of what they say, as files or
//! programs are missing, write a line `skipped<TAB>name<TAB>reason` to the file that the variable `CAROM_NOTES` names
//! (`carom_testing::skip`), and ratchets that could move a line `better<TAB>name<TAB>text`. Steps skip by [`Tally::skip`].

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use crate::Outcome;
use crate::command::{describe, failed, target_folder, unstartable};

/// Tests that are listed as the slowest.
const SLOWEST: usize = 12;
/// Commands that run at the same time, where they are many: each of them leaves a core idle now and then.
const SIDE_BY_SIDE: usize = 2;
/// Tests faster than this are not listed (s).
const FAST: f64 = 5.0;

/// The file that tests write notes to.
pub(crate) fn notes_file() -> PathBuf {
    target_folder().join("notes.txt")
}

/// What ran so far.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    skipped: Vec<[String; 2]>,
    times: Vec<(f64, String)>,
}

impl Tally {
    /// An empty one; notes of an earlier run are forgotten.
    pub(crate) fn new() -> Self {
        let _ = fs::remove_file(notes_file()); // there may be none
        Self::default()
    }

    /// Part of a step cannot be done here.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        println!("skipped: {name} ({reason})");
        self.skipped.push([name.to_owned(), reason.to_owned()]);
    }

    /// Runs to the end and shows what the command prints, from which results of tests are read.
    pub(crate) fn run(&mut self, command: &mut Command) -> Outcome {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped
            .spawn()
            .map_err(|error| unstartable(command, &error))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let lines = std::thread::scope(|scope| {
            let other = scope.spawn(|| show(stderr, |line| eprintln!("{line}")));
            let mut lines = show(stdout, |line| println!("{line}"));
            lines.extend(other.join().unwrap_or_default());
            lines
        });
        for line in lines {
            self.read(&line);
        }
        let status = child.wait().map_err(|error| unstartable(command, &error))?;
        if status.success() {
            Ok(())
        } else {
            Err(failed(command, status))
        }
    }

    /// Runs commands side by side, shows what each has printed when it has ended, and reads results of tests from that.
    /// All run, even after a failure.
    pub(crate) fn run_side_by_side(&mut self, commands: Vec<Command>) -> Outcome {
        let waiting = Mutex::new(commands.into_iter());
        let ended = Mutex::new((Vec::new(), Vec::new()));
        let worker = || {
            // The lock is given back before the command runs.
            let next = || waiting.lock().ok()?.next();
            while let Some(mut command) = next() {
                let begin = Instant::now();
                let output = command.stdin(Stdio::null()).output();
                let Ok(mut ended) = ended.lock() else { return };
                let (lines, failures) = &mut *ended;
                let seconds = begin.elapsed().as_secs_f64();
                println!("{} ({seconds:.1} s)", describe(&command));
                match output {
                    Ok(output) => {
                        for text in [&output.stdout, &output.stderr] {
                            let text = String::from_utf8_lossy(text);
                            print!("{text}");
                            lines.extend(text.lines().map(str::to_owned));
                        }
                        if !output.status.success() {
                            failures.push(failed(&command, output.status));
                        }
                    }
                    Err(error) => failures.push(unstartable(&command, &error)),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..SIDE_BY_SIDE {
                scope.spawn(worker);
            }
        });
        let (lines, failures) = ended.into_inner().unwrap_or_default();
        for line in lines {
            self.read(&line);
        }
        if failures.is_empty() {
            Ok(())
        } else {
            Err(failures.join("\n"))
        }
    }

    fn read(&mut self, line: &str) {
        let line = without_colours(line);
        let line = line.trim().trim_matches('=').trim();
        let is_nextest = line.starts_with("Summary [") && line.contains("tests run:");
        let is_pytest = line.starts_with(|first: char| first.is_ascii_digit())
            && line.ends_with('s')
            && line.contains(" in ");
        if is_nextest || is_pytest || line.starts_with("test result:") {
            self.passed += before(line, "passed");
            self.failed += before(line, "failed") + before(line, "error") + before(line, "errors");
        }
        // nextest: PASS [   6.693s] (105/105) crate::binary name
        if let Some((time, name)) = line
            .strip_prefix("PASS [")
            .and_then(|rest| rest.split_once("s]"))
            && let Ok(time) = time.trim().parse()
        {
            let name = name.split_once(") ").map_or(name, |(_, name)| name).trim();
            self.times.push((time, name.to_owned()));
        }
        // pytest: SKIPPED [1] python/tests/test_bridges.py:40: PyTorch is not installed
        if let Some((place, reason)) = line
            .strip_prefix("SKIPPED [")
            .and_then(|rest| rest.split_once("] "))
            .and_then(|(_, rest)| rest.split_once(": "))
        {
            self.skipped.push([place.to_owned(), reason.to_owned()]);
        }
    }

    /// Adds what tests wrote down, and prints skips, slow tests and, as the last line, the sums.
    pub(crate) fn conclude(&mut self) {
        let written = fs::read_to_string(notes_file()).unwrap_or_default();
        let mut better = Vec::new();
        for line in written.lines() {
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["skipped", name, reason] => {
                    self.skipped.push([name.to_owned(), reason.to_owned()]);
                }
                ["better", _, text] => better.push(text.to_owned()),
                _ => {}
            }
        }
        self.skipped.sort();
        self.skipped.dedup();
        self.times.sort_by(|a, b| b.0.total_cmp(&a.0));
        let slow: Vec<_> = (self.times.iter().take(SLOWEST))
            .filter(|(time, _)| *time >= FAST)
            .collect();
        if !slow.is_empty() {
            println!("\nslowest tests:");
            for (time, name) in slow {
                println!("{time:9.1} s  {name}");
            }
        }
        if !better.is_empty() {
            println!("\nbetter than recorded:\n  {}", better.join("\n  "));
        }
        if !self.skipped.is_empty() {
            println!("\n{} skipped:", self.skipped.len());
            for [name, reason] in &self.skipped {
                println!("  {name} ({reason})");
            }
        }
        println!();
        println!(
            "{} passed, {} failed, {} skipped",
            self.passed,
            self.failed,
            self.skipped.len()
        );
    }
}

/// Shows every line as it comes, and returns all.
fn show(from: Option<impl Read>, print: impl Fn(&str)) -> Vec<String> {
    let Some(from) = from else { return Vec::new() };
    let mut lines = Vec::new();
    for bytes in BufReader::new(from).split(b'\n') {
        let Ok(bytes) = bytes else { break };
        let line = String::from_utf8_lossy(&bytes).into_owned();
        print(&line);
        lines.push(line);
    }
    lines
}

/// The number before a word: `103 passed`; 0 if it is not there.
fn before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let found = words.windows(2).find(|pair| pair[1] == word);
    found.and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

/// A line without the escape sequences that colour it.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // To the letter that ends the sequence.
            let _ = characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn results_are_read_from_what_test_programs_print() {
        let mut tally = Tally::default();
        for line in [
            "\u{1b}[32;1m     Summary\u{1b}[0m [   7.278s] 105 tests run: 103 passed (2 slow), 2 failed, 0 skipped",
            "        PASS [   6.693s] (105/105) carom-optimise::it peers::evolution",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured",
            "SKIPPED [1] python/tests/test_bridges.py:40: PyTorch is not installed",
            "102 passed, 3 skipped in 5.12s",
            "===== 1 failed, 2 passed, 1 error in 0.1s =====",
            "2 passed the bar, as it says in prose",
        ] {
            tally.read(line);
        }
        assert_eq!((tally.passed, tally.failed), (103 + 3 + 102 + 2, 2 + 1 + 1));
        assert_eq!(
            tally.skipped,
            [[
                "python/tests/test_bridges.py:40",
                "PyTorch is not installed"
            ]]
        );
        assert_eq!(
            tally.times,
            [(6.693, "carom-optimise::it peers::evolution".to_owned())]
        );
    }
}
