//! Ctrl-C: the first ends the work and keeps what was done, the second ends the program.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::stdio;

static ASKED: AtomicBool = AtomicBool::new(false);

/// As shells have it for programs that were interrupted.
const EXIT: u8 = 130;

/// From now on, Ctrl-C is noted; for commands that look at [`asked`] often.
pub(crate) fn watch() {
    // Where there is no handler, Ctrl-C ends the program as usual.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            carom_spec::output::remove_unfinished();
            std::process::exit(EXIT.into());
        }
        stdio::warn("\nstopping, what was done is kept; Ctrl-C again ends at once\n");
    });
}

/// Whether the user wants the work to end.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// The same as a flag, for work that looks at one.
pub(crate) fn flag() -> &'static AtomicBool {
    &ASKED
}

/// What an interrupted command returns.
pub(crate) fn exit_code() -> ExitCode {
    ExitCode::from(EXIT)
}
