//! What a folder of shards says about itself.

use std::path::Path;

use carom::{Error, ErrorKind, Place};
use carom_spec::output::write_whole;
use serde::{Deserialize, Serialize};

/// The format of folders that this carom writes and reads.
pub const FORMAT: &str = "carom-shards-1";
/// The name of the manifest in its folder.
pub const MANIFEST: &str = "manifest.json";

/// By which recipe runs are made, and which of them are there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// The text of the recipe.
    pub recipe: String,
    /// The seed of all runs.
    pub seed: u64,
    /// Seconds between frames.
    pub dt: f64,
    /// How many runs were asked for.
    pub runs: usize,
    /// The files that are complete, by their first run.
    pub shards: Vec<ShardEntry>,
}

/// One file of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    /// Its name in the folder.
    pub file: String,
    /// The number of its first run.
    pub first_run: usize,
    /// How many it has.
    pub runs: usize,
    /// The CRC-32 of its bytes.
    pub crc32: u32,
}

impl Manifest {
    /// Reads the manifest of a folder.
    ///
    /// # Errors
    /// When there is none, it is damaged, of another format, or contradicts itself.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(MANIFEST);
        let wrong = |why: String| {
            Error::new(ErrorKind::Recording, format!("'{}': {why}", path.display()))
                .at(Place::File(path.clone()))
        };
        if !path.exists() {
            let why = "there is no such file, so the folder has no shards".to_owned();
            return Err(wrong(why).remedy("make some with `carom scale --recipe R.toml --out DIR`"));
        }
        let bytes = crate::recording::read_bytes(&path)?;
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|cause| {
            wrong(format!("not the manifest of shards ({cause})"))
                .remedy("remove the folder and run `carom scale` again")
        })?;
        let format = value.get("format").and_then(|format| format.as_str());
        if format != Some(FORMAT) {
            let found = format.map_or("none".to_owned(), |format| format!("'{format}'"));
            return Err(wrong(format!("its format is {found}, not '{FORMAT}'"))
                .remedy("give a folder that this version of `carom scale` has made"));
        }
        let manifest: Self = serde_json::from_value(value).map_err(|cause| {
            wrong(format!("not a whole manifest ({cause})"))
                .remedy("remove the folder and run `carom scale` again")
        })?;
        manifest
            .check()
            .map_err(|why| wrong(why).remedy("remove the folder and run `carom scale` again"))?;
        Ok(manifest)
    }

    /// Writes it into a folder, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        write_whole(&folder.join(MANIFEST), |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            std::io::Write::write_all(out, b"\n").map_err(serde_json::Error::io)
        })?;
        Ok(())
    }

    /// How many runs are there.
    pub fn present(&self) -> usize {
        self.shards.iter().map(|entry| entry.runs).sum()
    }

    fn check(&self) -> Result<(), String> {
        if !(self.dt.is_finite() && self.dt > 0.0) {
            return Err(format!("its dt is {}, not a positive time", self.dt));
        }
        let mut end = 0;
        for entry in &self.shards {
            // A name, never a way out of the folder.
            let name = Path::new(&entry.file).file_name();
            if name.is_none_or(|name| name != entry.file.as_str()) {
                return Err(format!("'{}' is not the name of a file", entry.file));
            }
            let after = entry.first_run.checked_add(entry.runs);
            let Some(after) = after.filter(|&after| after <= self.runs) else {
                return Err(format!("'{}' has runs beyond {}", entry.file, self.runs));
            };
            if entry.first_run < end {
                return Err(format!("'{}' has runs of the file before it", entry.file));
            }
            end = after;
        }
        Ok(())
    }
}

/// The CRC-32 of zip and gzip (polynomial 0xEDB88320, reflected).
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index: u32 = 0;
        while index < 256 {
            let mut sum = index;
            let mut bit = 0;
            while bit < 8 {
                sum = if sum & 1 == 1 {
                    0xEDB8_8320 ^ (sum >> 1)
                } else {
                    sum >> 1
                };
                bit += 1;
            }
            table[index as usize] = sum;
            index += 1;
        }
        table
    };
    let sum = bytes.iter().fold(!0u32, |sum, &byte| {
        TABLE[usize::from(sum.to_le_bytes()[0] ^ byte)] ^ (sum >> 8)
    });
    !sum
}
