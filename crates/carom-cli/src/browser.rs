//! Opening an address in the user's browser.

use std::process::{Command, Stdio};

/// The system's command that opens addresses, and what stands before the address.
const OPENER: (&str, &[&str]) = if cfg!(target_os = "macos") {
    ("open", &[])
} else if cfg!(windows) {
    ("cmd", &["/C", "start", ""])
} else {
    ("xdg-open", &[])
};

/// Asks the system to open an address; does not wait for the browser.
pub(crate) fn open(url: &str) -> Result<(), String> {
    let (program, arguments) = OPENER;
    let mut child = Command::new(program)
        .args(arguments)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|cause| format!("{program}: {cause}"))?;
    // Somebody has to hear of its end; it may be long after this function.
    std::thread::spawn(move || child.wait());
    Ok(())
}
