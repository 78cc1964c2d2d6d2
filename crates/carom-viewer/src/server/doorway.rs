//! A file that leads to the server's address.
//!
//! An address as an argument of the program that opens a browser stands in the list of processes, where every account of
//! the machine can read the token in it. The name of a file that only its owner can read gives nothing away.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::access::random_token;

/// A file that is removed with this value.
#[derive(Debug)]
pub(super) struct Doorway(PathBuf);

impl Doorway {
    pub(super) fn to(url: &str) -> io::Result<Self> {
        // A name that nobody can guess cannot be waiting there as a link to another file.
        let name = random_token().map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("carom-view-{name}.html"));
        let mut file = create_private(&path)?;
        let doorway = Self(path);
        writeln!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>carom</title>\
             <a href=\"{url}\">Open the viewer</a>"
        )?;
        Ok(doorway)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Doorway {
    fn drop(&mut self) {
        // It leads nowhere any more; one that cannot be removed does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A new file that only its owner can read.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
