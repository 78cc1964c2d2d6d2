//! Searches as bytes, and files of them that a kill cannot tear.
//!
//! Numbers are stored as they are in memory, so a search that goes on from its checkpoint ends with the same bits. A header
//! tells what the bytes are and whether all of them are there.

use std::error::Error;
use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

const MAGIC: &[u8; 8] = b"caromopt";
/// Changes with the layout of any method.
const VERSION: u32 = 1;
const HEADER: usize = 8 + 4 + 8;

/// A search as bytes.
pub fn encode<T: Serialize>(search: &T) -> Result<Vec<u8>, CheckpointError> {
    let body = postcard::to_stdvec(search).map_err(|error| CheckpointError::Body {
        reason: error.to_string(),
    })?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&checksum(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// The search of bytes.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CheckpointError> {
    let (magic, rest) = bytes
        .split_first_chunk::<8>()
        .ok_or(CheckpointError::Foreign)?;
    if magic != MAGIC {
        return Err(CheckpointError::Foreign);
    }
    let (version, rest) = rest
        .split_first_chunk::<4>()
        .ok_or(CheckpointError::Damaged)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(CheckpointError::Version { found: version });
    }
    let (sum, body) = rest
        .split_first_chunk::<8>()
        .ok_or(CheckpointError::Damaged)?;
    if u64::from_le_bytes(*sum) != checksum(body) {
        return Err(CheckpointError::Damaged);
    }
    match postcard::take_from_bytes(body) {
        Ok((search, [])) => Ok(search),
        Ok((_, rest)) => Err(CheckpointError::Body {
            reason: format!("{} bytes are left over", rest.len()),
        }),
        Err(error) => Err(CheckpointError::Body {
            reason: error.to_string(),
        }),
    }
}

/// Write bytes to a file as a whole: a kill leaves the old file or the new one, never a part.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    fs::write(part, bytes)?;
    fs::rename(part, path)
}

/// Fowler, Noll and Vo's sum, 64 bits.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Why a checkpoint cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointError {
    /// The bytes are no checkpoint.
    Foreign,
    /// The bytes are of another version.
    Version {
        /// The version that they are of.
        found: u32,
    },
    /// Bytes are missing or changed.
    Damaged,
    /// The bytes describe something else than what is to be resumed.
    Body {
        /// What is wrong.
        reason: String,
    },
}

impl Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => write!(f, "this is no checkpoint of a search: name the right file"),
            Self::Version { found } => write!(
                f,
                "the checkpoint has format {found}, this program reads format {VERSION}: resume with the program that wrote it, or start anew"
            ),
            Self::Damaged => write!(
                f,
                "the checkpoint is damaged or cut short: use an older one, or start anew"
            ),
            Self::Body { reason } => write!(
                f,
                "the checkpoint does not fit this kind of search ({reason}): resume with the same settings as it was made with"
            ),
        }
    }
}

impl Error for CheckpointError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_bit() {
        let numbers = vec![0.1, -0.0, f64::INFINITY, f64::NAN, 5e-324];
        let again: Vec<f64> = decode(&encode(&numbers).unwrap()).unwrap();
        for (a, b) in numbers.iter().zip(&again) {
            assert_eq!(a.to_bits(), b.to_bits());
        }
    }

    #[test]
    fn what_is_wrong_with_bytes_is_named() {
        let good = encode(&vec![1.0, 2.0]).unwrap();
        let read = |bytes: &[u8]| decode::<Vec<f64>>(bytes).unwrap_err();
        assert_eq!(read(b""), CheckpointError::Foreign);
        assert_eq!(read(b"PK\x03\x04 something else"), CheckpointError::Foreign);
        assert_eq!(read(&good[..good.len() - 1]), CheckpointError::Damaged);
        assert_eq!(read(&good[..10]), CheckpointError::Damaged);
        let mut other = good.clone();
        other[8] = 99;
        assert_eq!(read(&other), CheckpointError::Version { found: 99 });
        let text = decode::<String>(&good).unwrap_err();
        assert!(matches!(text, CheckpointError::Body { .. }));
    }

    #[test]
    fn files_are_replaced_as_a_whole() {
        let folder = std::env::temp_dir().join(format!("carom-checkpoint-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("search");
        for bytes in [b"first".as_slice(), b"second"] {
            write_file(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
