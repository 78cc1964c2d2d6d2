//! Opening a file in the user's browser.

use std::path::Path;
use std::process::{Command, Stdio};

/// The system's command that opens files, and what stands before the file.
const OPENER: (&str, &[&str]) = if cfg!(target_os = "macos") {
    ("open", &[])
} else if cfg!(windows) {
    ("cmd", &["/C", "start", ""])
} else {
    ("xdg-open", &[])
};

/// Asks the system to open a page in a file; does not wait for the browser.
///
/// Other accounts can read the arguments, so they are no place for an address with a token in it.
pub(crate) fn open(page: &Path) -> Result<(), String> {
    let (program, arguments) = OPENER;
    let mut child = Command::new(program)
        .args(arguments)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|cause| format!("{program}: {cause}"))?;
    // Somebody has to hear of its end; it may be long after this function.
    std::thread::spawn(move || child.wait());
    Ok(())
}
