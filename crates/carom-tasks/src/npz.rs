//! Reading and writing numpy's `.npz`: a zip of `.npy` arrays.
//!
//! Real and integer arrays are read as `f64` (integers beyond 2⁵³ do not occur in our files), unicode arrays as
//! strings. Headers are read strictly and sizes are checked against the bytes that are there, so a damaged file
//! gives an error, never a panic or a huge allocation.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek, Write};
use std::path::Path;

/// An array with its shape, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Length of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
    /// The values.
    pub values: Values,
}

/// Values of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers of any numpy type, as `f64`.
    Numbers(Vec<f64>),
    /// Unicode strings.
    Strings(Vec<String>),
}

/// What is wrong with a file.
#[derive(Debug)]
pub struct NpzError(String);

impl fmt::Display for NpzError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NpzError {}

fn error(message: impl Into<String>) -> NpzError {
    NpzError(message.into())
}

impl Array {
    /// An array of numbers.
    pub fn numbers(shape: &[usize], values: Vec<f64>) -> Self {
        Self {
            shape: shape.to_vec(),
            values: Values::Numbers(values),
        }
    }

    /// The numbers; empty for an array of strings.
    pub fn as_numbers(&self) -> &[f64] {
        match &self.values {
            Values::Numbers(numbers) => numbers,
            Values::Strings(_) => &[],
        }
    }

    /// The strings; empty for an array of numbers.
    pub fn as_strings(&self) -> &[String] {
        match &self.values {
            Values::Numbers(_) => &[],
            Values::Strings(strings) => strings,
        }
    }
}

/// All arrays of a `.npz` file by name.
pub type Npz = BTreeMap<String, Array>;

/// Reads a `.npz` file.
pub fn read(path: &Path) -> Result<Npz, NpzError> {
    let file = std::fs::File::open(path)
        .map_err(|cause| error(format!("cannot open '{}': {cause}", path.display())))?;
    read_from(std::io::BufReader::new(file))
        .map_err(|cause| error(format!("'{}': {cause}", path.display())))
}

/// Largest array that is read (bytes, uncompressed); a guard against archives that expand without end.
const LARGEST_ENTRY: u64 = 4 << 30;

fn read_from(reader: impl Read + Seek) -> Result<Npz, NpzError> {
    let mut archive = zip::ZipArchive::new(reader)
        .map_err(|cause| error(format!("not an .npz archive ({cause})")))?;
    let mut arrays = Npz::new();
    for index in 0..archive.len() {
        let mut entry = archive
            .by_index(index)
            .map_err(|cause| error(format!("damaged entry {index} ({cause})")))?;
        let name = entry
            .name()
            .map_err(|cause| error(format!("damaged entry {index} ({cause})")))?;
        let name = name.trim_end_matches(".npy").to_owned();
        let mut bytes = Vec::new();
        entry
            .by_ref()
            .take(LARGEST_ENTRY)
            .read_to_end(&mut bytes)
            .map_err(|cause| error(format!("array '{name}' is damaged ({cause})")))?;
        let array = parse_npy(&bytes).map_err(|cause| error(format!("array '{name}': {cause}")))?;
        arrays.insert(name, array);
    }
    Ok(arrays)
}

/// Parses one `.npy` array.
fn parse_npy(bytes: &[u8]) -> Result<Array, NpzError> {
    if bytes.len() < 10 || &bytes[..6] != b"\x93NUMPY" {
        return Err(error("not a numpy array"));
    }
    let (length, start) = if bytes[6] == 1 {
        (usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), 10)
    } else {
        let field = bytes
            .get(8..12)
            .and_then(|field| field.try_into().ok())
            .ok_or_else(|| error("truncated header"))?;
        (u32::from_le_bytes(field) as usize, 12)
    };
    let header = bytes
        .get(start..start + length)
        .and_then(|header| std::str::from_utf8(header).ok())
        .ok_or_else(|| error("truncated header"))?;
    let descriptor = quoted_after(header, "'descr'").ok_or_else(|| error("no 'descr'"))?;
    if header.contains("'fortran_order': True") {
        return Err(error(
            "column-major order; save with numpy.ascontiguousarray",
        ));
    }
    let shape = parse_shape(header).ok_or_else(|| error("no 'shape'"))?;
    let count = shape
        .iter()
        .try_fold(1usize, |product, length| product.checked_mul(*length))
        .ok_or_else(|| error("shape overflows"))?;
    let values = parse_values(descriptor, count, &bytes[start + length..])?;
    Ok(Array { shape, values })
}

fn quoted_after<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = &header[header.find(key)? + key.len()..];
    let rest = &rest[rest.find('\'')? + 1..];
    Some(&rest[..rest.find('\'')?])
}

fn parse_shape(header: &str) -> Option<Vec<usize>> {
    let rest = &header[header.find("'shape'")?..];
    let inner = &rest[rest.find('(')? + 1..rest.find(')')?];
    inner
        .split(',')
        .map(str::trim)
        .filter(|length| !length.is_empty())
        .map(|length| length.parse().ok())
        .collect()
}

fn parse_values(descriptor: &str, count: usize, bytes: &[u8]) -> Result<Values, NpzError> {
    macro_rules! numbers {
        ($type:ty) => {
            decode(bytes, count, |chunk: [u8; size_of::<$type>()]| {
                <$type>::from_le_bytes(chunk) as f64
            })
        };
    }
    #[allow(clippy::cast_lossless, reason = "one macro for all number types")]
    let numbers = match descriptor {
        "<f8" => numbers!(f64),
        "<f4" => numbers!(f32),
        "<i8" => numbers!(i64),
        "<i4" => numbers!(i32),
        "<i2" => numbers!(i16),
        "|i1" => numbers!(i8),
        "<u8" => numbers!(u64),
        "<u4" => numbers!(u32),
        "<u2" => numbers!(u16),
        "|u1" | "|b1" => numbers!(u8),
        _ => {
            let Some(Ok(width)) = descriptor.strip_prefix("<U").map(str::parse::<usize>) else {
                return Err(error(format!("unsupported type '{descriptor}'")));
            };
            return parse_strings(width, count, bytes).map(Values::Strings);
        }
    };
    numbers
        .map(Values::Numbers)
        .ok_or_else(|| error("fewer values than its shape says"))
}

fn decode<const N: usize>(
    bytes: &[u8],
    count: usize,
    convert: impl Fn([u8; N]) -> f64,
) -> Option<Vec<f64>> {
    let (chunks, _) = bytes.as_chunks::<N>();
    Some(
        chunks
            .get(..count)?
            .iter()
            .map(|chunk| convert(*chunk))
            .collect(),
    )
}

fn parse_strings(width: usize, count: usize, bytes: &[u8]) -> Result<Vec<String>, NpzError> {
    if width == 0 {
        return Ok(vec![String::new(); count.min(bytes.len() + 1)]);
    }
    let needed = width
        .checked_mul(4)
        .and_then(|size| size.checked_mul(count));
    if needed.is_none_or(|needed| bytes.len() < needed) {
        return Err(error("fewer characters than its shape says"));
    }
    let characters = |chunk: &[u8]| {
        let (codes, _) = chunk.as_chunks::<4>();
        codes
            .iter()
            .map(|code| char::from_u32(u32::from_le_bytes(*code)).unwrap_or('\u{fffd}'))
            .take_while(|character| *character != '\0')
            .collect()
    };
    Ok(bytes
        .chunks_exact(width * 4)
        .take(count)
        .map(characters)
        .collect())
}

/// Writes arrays as a compressed `.npz`.
pub fn write(out: impl Write + Seek, arrays: &[(&str, &Array)]) -> Result<(), NpzError> {
    let wrap = |cause: &dyn fmt::Display| error(format!("cannot write: {cause}"));
    let mut archive = zip::ZipWriter::new(out);
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .large_file(true);
    for (name, array) in arrays {
        archive
            .start_file(format!("{name}.npy"), options)
            .map_err(|cause| wrap(&cause))?;
        archive
            .write_all(&npy_bytes(array))
            .map_err(|cause| wrap(&cause))?;
    }
    let mut out = archive.finish().map_err(|cause| wrap(&cause))?;
    out.flush().map_err(|cause| wrap(&cause))
}

fn npy_bytes(array: &Array) -> Vec<u8> {
    let (descriptor, body) = match &array.values {
        Values::Numbers(numbers) => (
            "<f8".to_owned(),
            numbers
                .iter()
                .flat_map(|number| number.to_le_bytes())
                .collect::<Vec<u8>>(),
        ),
        Values::Strings(strings) => {
            let width = strings
                .iter()
                .map(|text| text.chars().count())
                .max()
                .unwrap_or(0)
                .max(1);
            let codes = strings.iter().flat_map(|text| {
                text.chars()
                    .map(u32::from)
                    .chain(std::iter::repeat(0))
                    .take(width)
            });
            (
                format!("<U{width}"),
                codes.flat_map(u32::to_le_bytes).collect(),
            )
        }
    };
    let mut shape = String::new();
    for length in &array.shape {
        shape += &length.to_string();
        shape += ", ";
    }
    let mut header =
        format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The data starts at a multiple of 64 bytes; a newline ends the header.
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_arrays_read_back() {
        let numbers = Array::numbers(&[2, 3], vec![1.0, -2.5, 3.0, f64::INFINITY, 0.0, 1e-300]);
        let names = Array {
            shape: vec![2],
            values: Values::Strings(vec!["läng".into(), String::new()]),
        };
        let scalar = Array::numbers(&[], vec![7.0]);
        let mut bytes = std::io::Cursor::new(Vec::new());
        write(
            &mut bytes,
            &[("a/b", &numbers), ("names", &names), ("s", &scalar)],
        )
        .unwrap();
        let read = read_from(bytes).unwrap();
        assert_eq!(read["a/b"], numbers);
        assert_eq!(read["names"], names);
        assert_eq!(read["s"], scalar);
    }

    #[test]
    fn damaged_headers_are_errors() {
        for bytes in [
            &b""[..],
            b"\x93NUMPY\x01\x00\xff\xff{}",
            b"\x93NUMPY\x01\x00\x40\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999,)}",
        ] {
            assert!(parse_npy(bytes).is_err());
        }
    }
}
