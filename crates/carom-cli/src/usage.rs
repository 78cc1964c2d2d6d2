//! Command lines that are not understood: clap's sentence, with the place.

use std::ffi::OsString;
use std::ops::Range;
use std::process::ExitCode;

use carom_spec::Diagnostic;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::command_line::CommandLine;
use crate::failure::{Failure, USAGE};
use crate::stdio;

/// Says what is wrong, or prints the help that was asked for.
pub(crate) fn answer(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            stdio::print(text.trim_end());
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            stdio::warn(&text);
            return ExitCode::from(2);
        }
        _ => {}
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let is_flag = |word: &&OsString| *word != "--";
    let wants_json = words
        .iter()
        .take_while(is_flag)
        .any(|word| word == "--json");
    failure(error, &CommandLine::new(words)).report(wants_json)
}

/// The error with its place on the command line.
fn failure(error: &clap::Error, line: &CommandLine) -> Failure {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let sentence = paragraphs.next().unwrap_or_default();
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let sentence = words.join(" ");
    let sentence = sentence.strip_prefix("error: ").unwrap_or(&sentence);
    let mut diagnostic = Diagnostic::error(USAGE, sentence);
    for paragraph in paragraphs {
        let paragraph = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(tip) = paragraph.strip_prefix("tip: ") {
            diagnostic = diagnostic.help(tip);
        } else if let Some(usage) = paragraph.strip_prefix("Usage: ") {
            diagnostic = diagnostic.note(format!("usage: {usage}"));
        } else if paragraph.starts_with("For more information") {
            let command = line
                .command()
                .map_or(String::new(), |word| format!(" {word}"));
            diagnostic =
                diagnostic.note(format!("`carom{command} --help` has more, with examples"));
        } else if !paragraph.is_empty() {
            diagnostic = diagnostic.note(paragraph);
        }
    }
    match place(error, line) {
        Some(place) => line.refuse(place, diagnostic),
        None => Failure::unasked(vec![diagnostic], carom_spec::SourceMap::new()),
    }
}

/// Where the error is.
fn place(error: &clap::Error, line: &CommandLine) -> Option<Range<usize>> {
    let text = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    // Arguments are called `--seconds <SECONDS>` here.
    let argument = text(ContextKind::InvalidArg);
    let flag = argument.map(|argument| argument.split([' ', '=']).next().unwrap_or_default());
    let flag = flag.filter(|flag| flag.starts_with('-'));
    let value = text(ContextKind::InvalidValue);
    if let Some(value) = value {
        let whole = line.find(flag.unwrap_or_default(), value);
        return whole.or_else(|| line.find_within(value));
    }
    let word = text(ContextKind::InvalidSubcommand).or(flag).or(argument);
    // Of arguments that are missing there is nothing to point at.
    word.and_then(|word| line.find_word(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    fn refused(words: &[&str]) -> String {
        let error = crate::Cli::try_parse_from(std::iter::once(&"carom").chain(words)).err();
        let line = CommandLine::new(words.iter().map(OsString::from));
        failure(&error.unwrap(), &line).rendered()
    }

    #[test]
    fn mistakes_are_marked() {
        for (words, caret, sentence) in [
            (
                &["simm"][..],
                "      ^^^^",
                "unrecognized subcommand 'simm'",
            ),
            (
                &["sim", "a.xml", "--secnds", "1"],
                "                ^^^^^^^^",
                "--seconds",
            ),
            (
                &["sim", "a.xml", "--seconds", "1e999"],
                "                          ^^^^^",
                "too large",
            ),
            (
                &["sim", "a.xml", "--seconds=-1"],
                "                          ^^",
                "not negative",
            ),
            (
                &["parity", "d", "--class", "exact,close"],
                "                             ^^^^^",
                "possible values",
            ),
            (
                &["bench", "m", "--threads", "0"],
                "                        ^",
                "at least 1",
            ),
        ] {
            let shown = refused(words);
            assert!(shown.contains(&format!("| {caret}\n")), "{shown}");
            assert!(shown.contains(sentence), "{shown}");
            assert!(shown.starts_with("error[A001]: "), "{shown}");
        }
        let shown = refused(&["gradient", "a.xml", "--loss", "qpos[0]"]);
        assert!(shown.contains("--wrt <"), "{shown}");
        assert!(shown.contains("usage: carom gradient"), "{shown}");
    }

    #[test]
    fn examples_in_the_help_are_understood() {
        for command in crate::Cli::command().get_subcommands() {
            let help = command.get_after_help().unwrap().to_string();
            let examples = help.lines().skip(1);
            let lines: Vec<&str> = examples.take_while(|line| !line.is_empty()).collect();
            assert!(!lines.is_empty(), "{}", command.get_name());
            for line in lines {
                // Without what shells do around the command.
                let line = line.trim().trim_start_matches("source <(");
                let line = line.rsplit("| ").next().unwrap();
                let line = line.split(['>', ')']).next().unwrap();
                let words: Vec<&str> = line.split_whitespace().collect();
                assert_eq!(words[0], "carom");
                let parsed = crate::Cli::try_parse_from(&words);
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.err());
            }
        }
    }
}
