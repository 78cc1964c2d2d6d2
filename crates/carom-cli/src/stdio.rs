//! Standard output and standard error, which may be closed, full or a pipe that nobody reads.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be printed.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints a line. A closed pipe (`carom … | head`) ends the output, not the program with a panic; any other failure (a full
/// disk) is said once and makes the exit code 2.
pub(crate) fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    let printed = writeln!(out, "{line}").and_then(|()| out.flush());
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

/// Prints to standard error as it is; nothing can be said where that fails.
pub(crate) fn warn(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Whether something could not be printed.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}
