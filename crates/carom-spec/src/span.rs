//! A place in a model file.

/// Identifies a file held by a [`SourceMap`](crate::source::SourceMap).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A range of bytes in one file; the default marks things that were not read from a file.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// A span of the bytes `start..end`. Offsets beyond `u32` (files are limited well below) saturate.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let saturate = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            file,
            start: saturate(start),
            end: saturate(end),
        }
    }

    /// The part `start..end` counted from the start of this span and cut at its end.
    #[must_use]
    pub fn part(self, start: usize, end: usize) -> Self {
        let inner = Self::new(self.file, start, end);
        let clamp = |offset: u32| self.start.saturating_add(offset).min(self.end);
        Self {
            file: self.file,
            start: clamp(inner.start),
            end: clamp(inner.end),
        }
    }
}
