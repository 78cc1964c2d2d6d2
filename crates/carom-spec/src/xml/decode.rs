//! Bytes to text: UTF-8 with or without mark, UTF-16 with mark, Latin-1 as a last resort.

use std::fmt;

use super::MAX_TEXT;

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without byte order mark.
    pub text: String,
    /// Offset in `text` of the first character that was not UTF-8 and taken as Latin-1.
    pub first_invalid: Option<usize>,
}

/// Why bytes are not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The file has no content.
    Empty,
    /// The bytes are not text; the string says what they look like.
    Binary(&'static str),
    /// The text is too large.
    TooLarge,
    /// Starts with the mark of UTF-16 but is not.
    InvalidUtf16,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Empty => write!(f, "is empty"),
            DecodeError::Binary(kind) => write!(f, "is not an XML file but {kind}"),
            DecodeError::TooLarge => write!(f, "is larger than the limit of {} MB", MAX_TEXT >> 20),
            DecodeError::InvalidUtf16 => {
                write!(f, "starts with a UTF-16 mark but is not valid UTF-16")
            }
        }
    }
}

/// Finds the encoding of a text file and decodes it.
pub fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    if bytes.len() > MAX_TEXT {
        return Err(DecodeError::TooLarge);
    }
    let valid = |text: String| Decoded {
        text,
        first_invalid: None,
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return decode_utf16(rest, u16::from_le_bytes).map(valid),
        [0xfe, 0xff, rest @ ..] => return decode_utf16(rest, u16::from_be_bytes).map(valid),
        _ => {}
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // Some tools pad text with zeros.
    let padding = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
    let bytes = &bytes[..bytes.len() - padding];
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(DecodeError::Empty);
    }
    if let Some(kind) = binary_kind(bytes) {
        return Err(DecodeError::Binary(kind));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(valid(text.to_owned())),
        Err(error) => Ok(Decoded {
            text: bytes.iter().map(|&byte| char::from(byte)).collect(),
            // Everything before is UTF-8, which Latin-1 spreads to two bytes per non-ASCII byte.
            first_invalid: Some(
                bytes[..error.valid_up_to()]
                    .iter()
                    .map(|byte| 1 + usize::from(byte >> 7))
                    .sum(),
            ),
        }),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(DecodeError::InvalidUtf16);
    }
    let text: Result<String, _> =
        char::decode_utf16(pairs.iter().map(|&pair| unit(pair))).collect();
    let text = text.map_err(|_| DecodeError::InvalidUtf16)?;
    match text.trim() {
        "" => Err(DecodeError::Empty),
        trimmed if trimmed.contains('\0') => Err(DecodeError::InvalidUtf16),
        _ => Ok(text),
    }
}

/// What the bytes look like when they are not text.
fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 6] = [
        (b"\x89PNG", "a PNG image"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x7fELF", "a program"),
        (b"%PDF", "a PDF document"),
        (b"MJB", "a compiled MuJoCo model"),
    ];
    for (signature, kind) in SIGNATURES {
        if bytes.starts_with(signature) {
            return Some(kind);
        }
    }
    let odd = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    let odd_count = bytes.iter().filter(|byte| odd(byte)).count();
    (bytes.contains(&0) || odd_count > bytes.len() / 20 + 2).then_some("binary data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "<a b=\"é中\"/>";
        let mut little = vec![0xff, 0xfe];
        let mut big = vec![0xfe, 0xff];
        for unit in text.encode_utf16() {
            little.extend(unit.to_le_bytes());
            big.extend(unit.to_be_bytes());
        }
        let mut marked = b"\xef\xbb\xbf".to_vec();
        marked.extend(text.as_bytes());
        for bytes in [text.as_bytes().to_vec(), marked, little, big] {
            assert_eq!(decode(&bytes).unwrap().text, text);
        }
    }

    #[test]
    fn latin_1_is_recovered_and_marked() {
        let decoded = decode(b"<a/>\xc3\xa9<!-- \xe9 -->").unwrap();
        assert_eq!(decoded.text, "<a/>Ã©<!-- é -->");
        assert_eq!(
            decoded.first_invalid.map(|at| &decoded.text[at..=at + 1]),
            Some("é")
        );
    }

    #[test]
    fn what_is_not_text_is_named() {
        let kinds: [(&[u8], &str); 6] = [
            (b"", "is empty"),
            (b" \n\0\0", "is empty"),
            (b"\x89PNG\r\n", "is not an XML file but a PNG image"),
            (b"<a>\0\x01</a>", "is not an XML file but binary data"),
            (
                b"\xff\xfe<",
                "starts with a UTF-16 mark but is not valid UTF-16",
            ),
            (
                b"\xff\xfe\x00\xd8",
                "starts with a UTF-16 mark but is not valid UTF-16",
            ),
        ];
        for (bytes, message) in kinds {
            assert_eq!(decode(bytes).unwrap_err().to_string(), message);
        }
    }
}
