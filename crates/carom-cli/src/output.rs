//! Writing result files: complete under their name, or not there at all.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file through a temporary neighbour that is renamed at the end, so that a crash or a full disk never
/// leaves half a file under the final name.
pub(crate) fn write_whole<E: std::fmt::Display>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<std::fs::File>) -> Result<(), E>,
) -> Result<(), String> {
    let temporary = neighbour(path);
    let fail =
        |cause: &dyn std::fmt::Display| format!("cannot write '{}': {cause}", path.display());
    let outcome = std::fs::File::create(&temporary)
        .map_err(|cause| fail(&cause))
        .and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out).map_err(|cause| fail(&cause))?;
            out.flush().map_err(|cause| fail(&cause))?;
            out.get_ref().sync_all().map_err(|cause| fail(&cause))
        })
        .and_then(|()| std::fs::rename(&temporary, path).map_err(|cause| fail(&cause)));
    if outcome.is_err() {
        // The temporary file may not exist; there is nothing more to do if removing it fails.
        let _ = std::fs::remove_file(&temporary);
    }
    outcome
}

fn neighbour(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    path.with_file_name(name)
}
