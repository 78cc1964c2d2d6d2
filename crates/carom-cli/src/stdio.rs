//! Standard output and standard error, which may be closed, full or a pipe that nobody reads.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be printed.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints a line. A closed pipe (`carom … | head`) ends the output, not the program with a panic; any other failure (a full
/// disk) is said once and makes the exit code 2.
pub(crate) fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    let printed = writeln!(out, "{}", visible(line)).and_then(|()| out.flush());
    let Err(cause) = printed else {
        return;
    };
    if cause.kind() != ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
        let code = crate::failure::WRITE;
        warn(&format!(
            "error[{code}]: cannot write to standard output: {cause}\n"
        ));
    }
}

/// Prints to standard error, without adding a line end; nothing can be said where that fails.
pub(crate) fn warn(text: &str) {
    let _ = std::io::stderr().write_all(visible(text).as_bytes());
}

/// Text that steers no terminal: names and paths come from files of others, and may hold sequences that recolour, retitle
/// or overwrite what was printed. Such characters are shown as `\u001b`, which within JSON means the same character.
fn visible(text: &str) -> Cow<'_, str> {
    let steers = |character: char| {
        let turns_direction =
            matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        character.is_control() && !matches!(character, '\n' | '\t') || turns_direction
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if steers(character) {
            // Writing to a String cannot fail; all of these have four digits.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Whether something could not be printed.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn text_steers_no_terminal() {
        assert_eq!(visible("a\tb\nc é"), "a\tb\nc é");
        assert_eq!(visible("\u{1b}]0;x\u{7}"), "\\u001b]0;x\\u0007");
        assert_eq!(visible("\u{9b}2J\r\u{202e}"), "\\u009b2J\\u000d\\u202e");
    }

    #[test]
    fn json_means_the_same() {
        let name = "a\u{7f}b\u{9b}c\u{2066}";
        let document = serde_json::to_string(name).unwrap();
        let read: String = serde_json::from_str(&visible(&document)).unwrap();
        assert_eq!(read, name);
    }
}
