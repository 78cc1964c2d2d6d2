//! Messages of ROS 2 as they are serialised: CDR, numbers aligned to their own size.
//!
//! Lengths are checked against the bytes that are there, so damaged messages give an error.

/// What is wrong with a message.
pub(super) type CdrError = String;

/// Reads a message number by number.
pub(super) struct Cdr<'a> {
    bytes: &'a [u8],
    place: usize,
    is_little: bool,
}

impl<'a> Cdr<'a> {
    /// A message after its four bytes of encapsulation.
    pub(super) fn new(message: &'a [u8]) -> Result<Self, CdrError> {
        let Some((head, bytes)) = message.split_at_checked(4) else {
            return Err("it is shorter than its header".to_owned());
        };
        let is_little = match head[1] {
            0 => false,
            1 => true,
            other => return Err(format!("its encoding {other} is not plain CDR")),
        };
        Ok(Self {
            bytes,
            place: 0,
            is_little,
        })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], CdrError> {
        let start = self.place.next_multiple_of(N);
        let end = start + N;
        let chunk = self
            .bytes
            .get(start..end)
            .and_then(|chunk| chunk.try_into().ok());
        self.place = end;
        let mut chunk: [u8; N] = chunk.ok_or_else(|| "it ends too early".to_owned())?;
        if !self.is_little {
            chunk.reverse();
        }
        Ok(chunk)
    }

    pub(super) fn u32(&mut self) -> Result<u32, CdrError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, CdrError> {
        self.take().map(i32::from_le_bytes)
    }

    pub(super) fn f64(&mut self) -> Result<f64, CdrError> {
        self.take().map(f64::from_le_bytes)
    }

    /// Some numbers of fixed count.
    pub(super) fn numbers<const N: usize>(&mut self) -> Result<[f64; N], CdrError> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = self.f64()?;
        }
        Ok(numbers)
    }

    /// The length of a sequence whose elements take at least so many bytes.
    pub(super) fn length(&mut self, element: usize) -> Result<usize, CdrError> {
        let length = self.u32()? as usize;
        let left = self.bytes.len().saturating_sub(self.place);
        if length.saturating_mul(element) > left {
            return Err(format!(
                "it has a list of {length} elements and only {left} bytes"
            ));
        }
        Ok(length)
    }

    /// A sequence of numbers.
    pub(super) fn sequence(&mut self) -> Result<Vec<f64>, CdrError> {
        let length = self.length(8)?;
        (0..length).map(|_| self.f64()).collect()
    }

    /// A string, whose length counts a zero at its end.
    pub(super) fn string(&mut self) -> Result<String, CdrError> {
        let length = self.length(1)?;
        let bytes = &self.bytes[self.place..self.place + length];
        self.place += length;
        let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// A header: time stamp (ns) and the name of a frame.
    pub(super) fn header(&mut self) -> Result<(i64, String), CdrError> {
        let seconds = i64::from(self.i32()?);
        let nanoseconds = i64::from(self.u32()?);
        Ok((seconds * 1_000_000_000 + nanoseconds, self.string()?))
    }
}
