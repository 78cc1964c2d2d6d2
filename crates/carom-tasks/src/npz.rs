//! Reading and writing numpy's `.npz`: a zip of `.npy` arrays.
//!
//! Real and integer arrays are read as `f64` (integers beyond 2⁵³ do not occur in our files), unicode arrays as
//! strings. Headers are read strictly and sizes are checked against the bytes that are there, so a damaged file
//! gives an error, never a panic or a huge allocation.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Seek, Write};
use std::path::Path;

use carom::{Error, ErrorKind, Place};
use carom_spec::source::open_regular;

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
fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Recording, message)
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
pub fn read(path: &Path) -> Result<Npz, Error> {
    read_some(path, &|_| true).map(|(arrays, _)| arrays)
}

/// Reads the arrays of a `.npz` file whose names are wanted. The others are not unpacked, and take neither time nor memory; their names are the
/// second result.
pub fn read_some(
    path: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<(Npz, Vec<String>), Error> {
    let mut file = open_regular(path, MAX_BYTES)?;
    let size = file.metadata().map_or(0, |found| found.len());
    whole_archive(&mut file)
        .and_then(|()| read_from(std::io::BufReader::new(file), size, is_wanted))
        .map_err(|cause| {
            let place = Place::File(path.to_owned());
            error(format!("'{}'", path.display()))
                .because(cause)
                .at(place)
        })
}

/// Largest file, and most memory for the arrays of a large one (bytes).
pub const MAX_BYTES: u64 = 2 << 30;
/// Most memory for the arrays of a file that is small itself (bytes): zeros shrink to a thousandth, and a recording that
/// takes this much has 60 million numbers.
pub const MAX_EXPANDED_BYTES: u64 = 512 << 20;
/// Larger files may take so many times their size: floats of 4 bytes become 8, and measured numbers hardly shrink.
const MAX_EXPANSION: u64 = 4;

/// Most memory for the arrays of a file of so many bytes.
pub(crate) fn budget_of(size: u64) -> u64 {
    (MAX_EXPANSION.saturating_mul(size)).clamp(MAX_EXPANDED_BYTES, MAX_BYTES)
}

/// Says what a file is that is no archive.
fn whole_archive(file: &mut (impl Read + Seek)) -> Result<(), Error> {
    let mut start = Vec::new();
    let read = file.by_ref().take(6).read_to_end(&mut start);
    read.and_then(|_| file.rewind())
        .map_err(|cause| error(format!("cannot be read ({cause})")))?;
    match start.as_slice() {
        [] => Err(error(
            "the file is empty; write it again with numpy.savez(file, name=array, …)",
        )),
        b"\x93NUMPY" => Err(error(
            "this is one .npy array without a name; write it with numpy.savez(file, name=array, …)",
        )),
        [b'P', b'K', ..] => Ok(()),
        _ => Err(error(
            "not an .npz archive; write it with numpy.savez(file, name=array, …)",
        )),
    }
}

fn read_from(
    reader: impl Read + Seek,
    size: u64,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<(Npz, Vec<String>), Error> {
    let mut archive = zip::ZipArchive::new(reader)
        .map_err(|cause| {
        error(format!(
            "the file is cut off or damaged ({cause}); copy it again, or write it anew with numpy.savez"
        ))
    })?;
    let (mut arrays, mut others) = (Npz::new(), Vec::new());
    let mut budget = budget_of(size);
    for index in 0..archive.len() {
        let mut entry = archive
            .by_index(index)
            .map_err(|cause| error(format!("damaged entry {index} ({cause})")))?;
        let name = entry
            .name()
            .map_err(|cause| error(format!("damaged entry {index} ({cause})")))?;
        let name = name.trim_end_matches(".npy").to_owned();
        if !is_wanted(&name) {
            others.push(name);
            continue;
        }
        let size = entry.size();
        let array = read_npy(&mut entry, size, &mut budget)
            .map_err(|cause| error(format!("array '{name}'")).because(cause))?;
        arrays.insert(name, array);
    }
    Ok((arrays, others))
}

/// Reads one `.npy` array of `size` bytes; what it takes in memory is taken from the budget before it is.
fn read_npy(reader: &mut impl Read, size: u64, budget: &mut u64) -> Result<Array, Error> {
    let mut start = [0; 10];
    let mut fill = |bytes: &mut [u8]| {
        let outcome = reader.read_exact(bytes);
        outcome.map_err(|cause| error(format!("the file is cut off or damaged ({cause})")))
    };
    fill(&mut start)?;
    if &start[..6] != b"\x93NUMPY" {
        return Err(error("not a numpy array"));
    }
    let mut length = usize::from(u16::from_le_bytes([start[8], start[9]]));
    let mut consumed = start.len();
    if start[6] != 1 {
        let mut rest = [0; 2];
        fill(&mut rest)?;
        let field = [start[8], start[9], rest[0], rest[1]];
        length = u32::from_le_bytes(field) as usize;
        consumed += rest.len();
    }
    if length > LONGEST_HEADER {
        return Err(error("its header is too long"));
    }
    let mut header = vec![0; length];
    fill(&mut header)?;
    let header = Header::parse(&header)?;
    let kind = header.kind()?;
    if header.is_column_major && matches!(kind, Kind::Strings(_)) {
        return Err(error(
            "words in column-major order; save them with numpy.ascontiguousarray",
        ));
    }
    let bytes = kind
        .bytes(header.count)
        .filter(|&bytes| bytes <= size - (size.min((consumed + length) as u64)));
    let (Some(_), Some(memory)) = (bytes, kind.memory(header.count)) else {
        return Err(error(format!(
            "the file is cut off: it has fewer values than its shape {:?} says",
            header.shape
        )));
    };
    *budget = budget.checked_sub(memory).ok_or_else(|| {
        error(
            "the arrays would take too much memory beside the size of the file; write fewer of them to a file, or fewer rows",
        )
    })?;
    let values = match kind {
        Kind::Strings(width) => Values::Strings(read_strings(&mut fill, width, header.count)?),
        Kind::Numbers(width, decode) => {
            Values::Numbers(read_numbers(&mut fill, width, decode, header.count)?)
        }
    };
    // The archive compares its sum at the end of the entry.
    match reader.read(&mut [0]) {
        Ok(0) => {}
        Ok(_) => {
            return Err(error(format!(
                "it has more values than its shape {:?} says",
                header.shape
            )));
        }
        Err(cause) => return Err(error(format!("the file is damaged ({cause})"))),
    }
    Ok(match values {
        Values::Numbers(numbers) if header.is_column_major => {
            Array::numbers(&header.shape, row_major(&header.shape, &numbers))
        }
        values => Array {
            shape: header.shape,
            values,
        },
    })
}

/// Numbers whose first index runs fastest, in the order in which the last one does.
fn row_major(shape: &[usize], numbers: &[f64]) -> Vec<f64> {
    let mut index = vec![0; shape.len()];
    let mut ordered = Vec::with_capacity(numbers.len());
    for _ in 0..numbers.len() {
        let pairs = index.iter().zip(shape).rev();
        let place = pairs.fold(0, |place, (index, length)| place * length + index);
        ordered.push(numbers[place]);
        for (axis, count) in index.iter_mut().enumerate().rev() {
            *count += 1;
            if *count < shape[axis] {
                break;
            }
            *count = 0;
        }
    }
    ordered
}

/// Longest description of an array (bytes); those of arrays that we read have some hundred.
const LONGEST_HEADER: usize = 1 << 20;
/// Values that are read at a time.
const CHUNK: usize = 4096;

/// What a `.npy` array says about itself.
struct Header {
    descriptor: String,
    shape: Vec<usize>,
    count: usize,
    is_column_major: bool,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let header = std::str::from_utf8(bytes).map_err(|_| error("its header is not text"))?;
        let descriptor = quoted_after(header, "'descr'").ok_or_else(|| error("no 'descr'"))?;
        let order = header.find("'fortran_order'").map(|at| &header[at + 15..]);
        let order = order.map(|rest| rest.trim_start_matches([':', ' ']));
        let shape = parse_shape(header).ok_or_else(|| error("no 'shape'"))?;
        let is_column_major =
            shape.len() > 1 && !order.is_some_and(|order| order.starts_with("False"));
        let count = shape
            .iter()
            .try_fold(1usize, |product, length| product.checked_mul(*length))
            .ok_or_else(|| error(format!("its shape {shape:?} overflows")))?;
        let descriptor = descriptor.to_owned();
        Ok(Self {
            descriptor,
            shape,
            count,
            is_column_major,
        })
    }

    fn kind(&self) -> Result<Kind, Error> {
        macro_rules! numbers {
            ($type:ty) => {
                Kind::Numbers(size_of::<$type>(), |bytes| {
                    let mut value = [0; size_of::<$type>()];
                    value.copy_from_slice(bytes);
                    <$type>::from_le_bytes(value) as f64
                })
            };
        }
        let descriptor = self.descriptor.as_str();
        #[allow(clippy::cast_lossless, reason = "one macro for all number types")]
        Ok(match descriptor {
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
                let Some(Ok(width)) = descriptor.strip_prefix("<U").map(str::parse) else {
                    return Err(error(format!(
                        "numpy type '{descriptor}' is not supported; save numbers as float64 or integers, texts as str"
                    )));
                };
                Kind::Strings(width)
            }
        })
    }
}

/// What the values are.
#[derive(Clone, Copy)]
enum Kind {
    /// So many bytes each, and what they mean.
    Numbers(usize, fn(&[u8]) -> f64),
    /// So many characters each.
    Strings(usize),
}

impl Kind {
    /// Bytes of so many values in the file.
    fn bytes(self, count: usize) -> Option<u64> {
        let width = match self {
            Self::Numbers(width, _) => width,
            Self::Strings(width) => width.checked_mul(4)?,
        };
        u64::try_from(width.checked_mul(count)?).ok()
    }

    /// Bytes of so many values in memory.
    fn memory(self, count: usize) -> Option<u64> {
        let width = match self {
            Self::Numbers(..) => size_of::<f64>(),
            Self::Strings(width) => width.checked_mul(4)?.checked_add(size_of::<String>())?,
        };
        u64::try_from(width.checked_mul(count)?).ok()
    }
}

fn quoted_after<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = &header[header.find(key)? + key.len()..];
    let rest = &rest[rest.find('\'')? + 1..];
    Some(&rest[..rest.find('\'')?])
}

fn parse_shape(header: &str) -> Option<Vec<usize>> {
    let rest = &header[header.find("'shape'")?..];
    let inner = &rest[rest.find('(')? + 1..];
    let inner = &inner[..inner.find(')')?];
    inner
        .split(',')
        .map(str::trim)
        .filter(|length| !length.is_empty())
        .map(|length| length.parse().ok())
        .collect()
}

fn read_numbers(
    fill: &mut impl FnMut(&mut [u8]) -> Result<(), Error>,
    width: usize,
    decode: fn(&[u8]) -> f64,
    count: usize,
) -> Result<Vec<f64>, Error> {
    let mut values = Vec::new();
    let mut buffer = vec![0; width * CHUNK.min(count)];
    while values.len() < count {
        let bytes = &mut buffer[..width * CHUNK.min(count - values.len())];
        fill(bytes)?;
        values.extend(bytes.chunks_exact(width).map(decode));
    }
    Ok(values)
}

fn read_strings(
    fill: &mut impl FnMut(&mut [u8]) -> Result<(), Error>,
    width: usize,
    count: usize,
) -> Result<Vec<String>, Error> {
    let mut strings = Vec::new();
    let mut buffer = vec![0; if count > 0 { width * 4 } else { 0 }];
    while strings.len() < count {
        fill(&mut buffer)?;
        let (codes, _) = buffer.as_chunks::<4>();
        let letters = codes
            .iter()
            .map(|code| char::from_u32(u32::from_le_bytes(*code)).unwrap_or('\u{fffd}'))
            .take_while(|character| *character != '\0');
        strings.push(letters.collect());
    }
    Ok(strings)
}

/// Reads a `.npz` archive from memory.
pub fn from_bytes(bytes: &[u8]) -> Result<Npz, Error> {
    let mut reader = std::io::Cursor::new(bytes);
    whole_archive(&mut reader)?;
    read_from(reader, bytes.len() as u64, &|_| true).map(|(arrays, _)| arrays)
}

/// Writes arrays as a compressed `.npz`.
pub fn write(out: impl Write + Seek, arrays: &[(&str, &Array)]) -> Result<(), Error> {
    write_by(out, arrays, zip::CompressionMethod::Deflated)
}

/// Writes arrays as an `.npz` without compression: the bytes depend on nothing but the arrays.
pub fn write_stored(out: impl Write + Seek, arrays: &[(&str, &Array)]) -> Result<(), Error> {
    write_by(out, arrays, zip::CompressionMethod::Stored)
}

fn write_by(
    out: impl Write + Seek,
    arrays: &[(&str, &Array)],
    method: zip::CompressionMethod,
) -> Result<(), Error> {
    let wrap =
        |cause: &dyn fmt::Display| Error::new(ErrorKind::Write, format!("cannot write: {cause}"));
    let mut archive = zip::ZipWriter::new(out);
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(method)
        .large_file(true);
    for (name, array) in arrays {
        archive
            .start_file(format!("{name}.npy"), options)
            .map_err(|cause| wrap(&cause))?;
        write_npy(&mut archive, array).map_err(|cause| wrap(&cause))?;
    }
    let mut out = archive.finish().map_err(|cause| wrap(&cause))?;
    out.flush().map_err(|cause| wrap(&cause))
}

fn write_npy(out: &mut impl Write, array: &Array) -> std::io::Result<()> {
    match &array.values {
        Values::Numbers(numbers) => {
            out.write_all(&npy_start("<f8", &array.shape))?;
            let mut bytes = Vec::with_capacity(8 * CHUNK);
            for chunk in numbers.chunks(CHUNK) {
                bytes.clear();
                bytes.extend(chunk.iter().flat_map(|number| number.to_le_bytes()));
                out.write_all(&bytes)?;
            }
            Ok(())
        }
        Values::Strings(strings) => {
            let lengths = strings.iter().map(|text| text.chars().count());
            let width = lengths.max().unwrap_or(0).max(1);
            out.write_all(&npy_start(&format!("<U{width}"), &array.shape))?;
            for text in strings {
                let codes = text.chars().map(u32::from);
                let codes = codes.chain(std::iter::repeat(0)).take(width);
                let bytes: Vec<u8> = codes.flat_map(u32::to_le_bytes).collect();
                out.write_all(&bytes)?;
            }
            Ok(())
        }
    }
}

/// All of an array but its values.
fn npy_start(descriptor: &str, shape: &[usize]) -> Vec<u8> {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    let lengths = lengths.join(", ") + if lengths.len() == 1 { "," } else { "" };
    let mut header =
        format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // The data starts at a multiple of 64 bytes; a newline ends the header.
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length = u16::try_from(header.len()).unwrap_or(u16::MAX);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(header.as_bytes());
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
        let read = read_from(bytes, 0, &|_| true).unwrap().0;
        assert_eq!(read["a/b"], numbers);
        assert_eq!(read["names"], names);
        assert_eq!(read["s"], scalar);
    }

    /// One array in a file, its bytes as they are.
    fn archive(npy: &[u8]) -> std::io::Cursor<Vec<u8>> {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file("a.npy", options).unwrap();
        archive.write_all(npy).unwrap();
        archive.finish().unwrap()
    }

    fn npy(descriptor: &str, shape: &str, body: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn damaged_files_are_errors() {
        let cases: [(Vec<u8>, &str); 12] = [
            (Vec::new(), "cut off"),
            (b"\x93NUMPY\x01\x00\xff\xff{}".to_vec(), "cut off"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(), "too long"),
            (b"GIF89a0000000000".to_vec(), "not a numpy array"),
            (npy("<f8", "(9999999999,)", &[0; 8]), "fewer values"),
            (
                npy("<f8", "(99999999999999, 99999999999999)", &[]),
                "overflows",
            ),
            (npy("<f8", "(3,)", &[0; 16]), "fewer values"),
            (npy("<f8", ")(", &[0; 16]), "no 'shape'"),
            (npy("|O", "(1,)", &[0; 8]), "'|O' is not supported"),
            (npy(">f8", "(1,)", &[0; 8]), "'>f8' is not supported"),
            (npy("<U0", "(4294967295,)", &[0; 8]), "too much memory"),
            (npy("<U99999999999", "(1,)", &[0; 8]), "fewer values"),
        ];
        for (bytes, word) in cases {
            let message = read_from(archive(&bytes), 0, &|_| true)
                .unwrap_err()
                .to_string();
            assert!(message.contains(word), "{word}: {message}");
        }
        let whole = archive(&npy("<f8", "(2,)", &[0; 16])).into_inner();
        assert!(read_from(std::io::Cursor::new(&whole), 0, &|_| true).is_ok());
        for length in 0..whole.len() {
            let cut = std::io::Cursor::new(&whole[..length]);
            assert!(read_from(cut, 0, &|_| true).is_err());
        }
    }

    #[test]
    fn archives_that_expand_without_end_are_refused_unread() {
        let mut bytes = Vec::new();
        // One byte each in the file, eight in memory.
        let size = MAX_EXPANDED_BYTES / 8 + 1;
        bytes.extend(npy("|i1", &format!("({size},)"), &[]));
        let length = bytes.len() as u64 + size;
        let mut budget = budget_of(1_600_000);
        let outcome = read_npy(&mut bytes.as_slice(), length, &mut budget);
        assert!(outcome.unwrap_err().to_string().contains("too much memory"));
        // What was measured hardly shrinks, and may be as large as its file says.
        assert_eq!(budget_of(300 << 20), 1200 << 20);
        assert_eq!(budget_of(MAX_BYTES), MAX_BYTES);
    }
}
