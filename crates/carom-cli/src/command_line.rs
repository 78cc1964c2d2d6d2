//! The command line as a text that problems can point into.
//!
//! Some flags carry a small language (`--set qpos[2]=0.2`, `--cfd=w_c=0.1,pairs=white:black`). An [`Argument`] is a part of
//! such a value that knows where it stands, so that every mistake is shown like one of a model file:
//!
//! ```text
//! error[A003]: there is no integrator 'tsit6'
//!   --> command line:1:55
//!     1 | carom gradient cube.xml --loss qpos[1] --integrator tsit6
//!       |                                                     ^^^^^
//!    help: did you mean 'tsit5'? There are: tsit5, dopri5
//! ```

use std::ffi::OsString;
use std::ops::Range;

use carom_spec::Diagnostic;
use carom_spec::diagnostic::nearest_name;

use crate::failure::{Failure, NAME, VALUE};

/// What the text is called where a file would be named.
const PLACE: &str = "command line";

/// The command line, as it would be typed.
pub(crate) struct CommandLine {
    text: String,
    words: Vec<Word>,
}

struct Word {
    raw: String,
    /// Where it is in the text.
    range: Range<usize>,
}

impl CommandLine {
    /// Of these words, without the program's name.
    pub(crate) fn new(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut line = Self {
            text: "carom".to_owned(),
            words: Vec::new(),
        };
        for word in words {
            line.push(&word.to_string_lossy());
        }
        line
    }

    /// Of this process.
    pub(crate) fn of_process() -> Self {
        Self::new(std::env::args_os().skip(1))
    }

    fn push(&mut self, raw: &str) {
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-./=,:+[]@%^".contains(letter);
        let quote = match raw {
            _ if !raw.is_empty() && raw.chars().all(is_plain) => "",
            _ if raw.contains('\'') => "\"",
            _ => "'",
        };
        self.text.push(' ');
        self.text.push_str(quote);
        let start = self.text.len();
        self.text.push_str(raw);
        let range = start..self.text.len();
        self.text.push_str(quote);
        let raw = raw.to_owned();
        self.words.push(Word { raw, range });
    }

    /// The subcommand, if it is one.
    pub(crate) fn command(&self) -> Option<&str> {
        use clap::CommandFactory;
        let word = self.words.first()?.raw.as_str();
        let known = crate::Cli::command().find_subcommand(word).is_some();
        known.then_some(word)
    }

    /// Where the value of a flag is; an empty flag means an argument without one.
    pub(crate) fn find(&self, flag: &str, value: &str) -> Option<Range<usize>> {
        let mut previous = "";
        for word in &self.words {
            if (flag.is_empty() || previous == flag) && word.raw == value {
                return Some(word.range.clone());
            }
            let joined = word.raw.strip_prefix(flag);
            let joined = joined.and_then(|rest| rest.strip_prefix('='));
            if !flag.is_empty() && joined == Some(value) {
                return Some(word.range.end - value.len()..word.range.end);
            }
            previous = &word.raw;
        }
        None
    }

    /// Where the last value of a flag is, whatever it is.
    fn find_value(&self, flag: &str) -> Option<Range<usize>> {
        let mut found = None;
        let mut previous = "";
        for Word { raw, range } in &self.words {
            let joined = raw
                .strip_prefix(flag)
                .and_then(|rest| rest.strip_prefix('='));
            if previous == flag {
                found = Some(range.clone());
            } else if let Some(value) = joined {
                found = Some(range.end - value.len()..range.end);
            }
            previous = raw;
        }
        found
    }

    /// Where a word is, or one that begins with it and `=`.
    pub(crate) fn find_word(&self, wanted: &str) -> Option<Range<usize>> {
        let found = self.words.iter().find(|word| {
            let rest = word.raw.strip_prefix(wanted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })?;
        Some(found.range.start..found.range.start + wanted.len())
    }

    /// Where a text is within a word.
    pub(crate) fn find_within(&self, part: &str) -> Option<Range<usize>> {
        let word = self.words.iter().find(|word| word.raw.contains(part))?;
        let start = word.range.start + word.raw.find(part)?;
        Some(start..start + part.len())
    }

    /// A failure that points into the line.
    pub(crate) fn refuse(&self, place: Range<usize>, diagnostic: Diagnostic) -> Failure {
        Failure::in_text(PLACE.as_ref(), &self.text, place, diagnostic)
    }
}

/// A part of the value of a flag, which knows where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument<'a> {
    flag: &'static str,
    whole: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Argument<'a> {
    /// The value of a flag (`--set`).
    pub(crate) fn new(flag: &'static str, whole: &'a str) -> Self {
        Self {
            flag,
            whole,
            start: 0,
            end: whole.len(),
        }
    }
    /// What it says.
    pub(crate) fn text(self) -> &'a str {
        self.whole.get(self.start..self.end).unwrap_or_default()
    }

    /// A part by its bytes.
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        Self {
            start: (self.start + range.start).min(self.end),
            end: (self.start + range.end).min(self.end),
            ..self
        }
    }

    /// Without white space around.
    pub(crate) fn trim(self) -> Self {
        let text = self.text();
        let start = text.len() - text.trim_start().len();
        self.part(start..start + text.trim().len())
    }

    /// What is before and after the first mark.
    pub(crate) fn split_once(self, mark: char) -> Option<(Self, Self)> {
        let at = self.text().find(mark)?;
        let end = self.text().len();
        Some((self.part(0..at), self.part(at + mark.len_utf8()..end)))
    }

    /// The parts between marks that are not in parentheses, without white space around.
    pub(crate) fn split(self, mark: char) -> Vec<Self> {
        let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
        for (at, letter) in self.text().char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ if letter == mark && depth == 0 => {
                    parts.push(self.part(start..at).trim());
                    start = at + letter.len_utf8();
                }
                _ => {}
            }
        }
        parts.push(self.part(start..self.text().len()).trim());
        parts
    }

    /// A finite number.
    pub(crate) fn number(self) -> Result<f64, Failure> {
        let (text, number) = (self.text(), self.text().trim().parse::<f64>());
        let why = match number {
            Ok(number) if number.is_finite() => return Ok(number),
            Ok(number) if number.is_nan() => "not a number",
            Ok(_) => "infinite, or too large for a number",
            Err(_) => "not a number",
        };
        let message = format!("{}: '{text}' is {why}", self.flag);
        Err(self
            .refuse(Diagnostic::error(VALUE, message).help("write a number, as in 0.2 or 1e-3")))
    }

    /// The value does not fit; the label stands beside the caret.
    pub(crate) fn unfit(self, message: &str, label: impl Into<String>) -> Failure {
        let message = format!("{}: {message}", self.flag);
        self.refuse(Diagnostic::error(VALUE, message).label(label))
    }

    /// There is nothing of that name; the nearest one is proposed.
    pub(crate) fn unknown<'b>(
        self,
        kind: &str,
        names: impl IntoIterator<Item = &'b str>,
    ) -> Failure {
        let text = self.text();
        let diagnostic = Diagnostic::error(NAME, format!("there is no {kind} '{text}'"));
        self.refuse(match choice(text, names) {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        })
    }

    /// What a selector of parameters does not select, with the part in question marked: the engine's sentence quotes it.
    pub(crate) fn unselected(self, error: &carom::Error) -> Failure {
        let message = error.to_string();
        let quoted = message.split('\'').skip(1).step_by(2);
        let places = quoted.filter_map(|quoted| {
            let at = self.text().find(quoted)?;
            (!quoted.is_empty()).then(|| self.part(at..at + quoted.len()))
        });
        let part = places.min_by_key(|part| part.text().len());
        let diagnostic = Diagnostic::error(NAME, format!("{}: {message}", self.flag));
        part.unwrap_or(self).refuse(diagnostic)
    }

    /// A failure that points at this part.
    pub(crate) fn refuse(self, diagnostic: Diagnostic) -> Failure {
        let mut line = CommandLine::of_process();
        let mut start = line.find(self.flag, self.whole).map(|range| range.start);
        if start.is_none() {
            // Not what this process was called with; the flag alone is shown.
            line.text = format!("{} {}", self.flag, self.whole);
            start = Some(self.flag.len() + 1);
        }
        let start = start.unwrap_or_default();
        line.refuse(start + self.start..start + self.end, diagnostic)
    }
}

/// The number that a flag was given does not fit; the label stands beside the caret.
pub(crate) fn unfit(flag: &str, message: &str, label: impl Into<String>) -> Failure {
    let line = CommandLine::of_process();
    let diagnostic = Diagnostic::error(VALUE, format!("{flag}: {message}"));
    match line.find_value(flag) {
        Some(place) => line.refuse(place, diagnostic.label(label)),
        // A default, or not from the command line.
        None => Failure::unasked(vec![diagnostic.help(label)], carom_spec::SourceMap::new()),
    }
}

/// Names that are listed at most.
const MAX_LISTED: usize = 24;

/// The nearest name, and all of them; none where there are no names.
pub(crate) fn choice<'b>(text: &str, names: impl IntoIterator<Item = &'b str>) -> Option<String> {
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let shown = names[..names.len().min(MAX_LISTED)].join(", ");
    let list = match names.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    };
    match nearest_name(text, names.iter().copied()) {
        _ if names.is_empty() => None,
        Some(nearest) if names.len() == 1 => Some(format!("did you mean '{nearest}'?")),
        Some(nearest) => Some(format!("did you mean '{nearest}'? There are: {list}")),
        None => Some(format!("there are: {list}")),
    }
}

/// What a failure points at.
#[cfg(test)]
pub(crate) fn marked(failure: &Failure) -> String {
    let span = failure.diagnostics[0].span.unwrap_or_default();
    let text = failure.sources.text(span);
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> CommandLine {
        CommandLine::new(words.iter().map(OsString::from))
    }

    #[test]
    fn values_are_found_however_they_are_given() {
        let line = line(&[
            "gradient",
            "my cube.xml",
            "--set",
            "qpos[2]=1",
            "--cfd=w_c=1",
            "--set",
            "a'b",
            "",
        ]);
        assert_eq!(
            line.text,
            "carom gradient 'my cube.xml' --set qpos[2]=1 --cfd=w_c=1 --set \"a'b\" ''"
        );
        for (flag, value) in [
            ("", "my cube.xml"),
            ("--set", "qpos[2]=1"),
            ("--cfd", "w_c=1"),
            ("--set", "a'b"),
        ] {
            assert_eq!(&line.text[line.find(flag, value).unwrap()], value);
        }
        assert_eq!(line.find("--loss", "qpos[2]=1"), None);
        assert_eq!(&line.text[line.find_value("--set").unwrap()], "a'b");
        assert_eq!(&line.text[line.find_value("--cfd").unwrap()], "w_c=1");
        assert_eq!(&line.text[line.find_word("--cfd").unwrap()], "--cfd");
        assert_eq!(&line.text[line.find_within("[2]").unwrap()], "[2]");
    }

    #[test]
    fn parts_know_where_they_are() {
        let list = Argument::new("--wrt", "geom.a.size, geom.b.friction bounds(0,1),é");
        let parts: Vec<&str> = list.split(',').iter().map(|part| part.text()).collect();
        assert_eq!(parts, ["geom.a.size", "geom.b.friction bounds(0,1)", "é"]);
        let (_, second) = list.split(',')[0].split_once('.').unwrap();
        let (name, _) = second.split_once('.').unwrap();
        let failure = name.unknown("geom", ["floor", "b"]);
        assert_eq!(marked(&failure), "a");
        let expected = "error[A003]: there is no geom 'a'
  --> command line:1:12
    1 | --wrt geom.a.size, geom.b.friction bounds(0,1),é
      |            ^
   help: did you mean 'b'? There are: floor, b
";
        assert_eq!(failure.rendered(), expected);
    }

    #[test]
    fn numbers_must_be_finite() {
        for (text, word) in [
            ("1e999", "too large"),
            ("nan", "not a number"),
            ("", "not a number"),
        ] {
            let value = Argument::new("--set", text);
            assert!(value.number().unwrap_err().rendered().contains(word));
        }
        assert_eq!(Argument::new("--set", " 2 ").number().unwrap(), 2.0);
    }
}
