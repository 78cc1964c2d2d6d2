//! Where bytes come from ([`FileSource`]) and what was read so far ([`SourceMap`]).
//!
//! Readers never open files themselves: they ask a [`FileSource`], so the same code reads from disk,
//! from memory in tests and from whatever a caller provides.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::span::{FileId, Span};

/// Largest file that [`DiskSource`] reads unless told otherwise (bytes).
pub const DEFAULT_SIZE_LIMIT: u64 = 512 << 20;

/// Provides the bytes of files by path.
pub trait FileSource {
    /// All bytes of the file at `path`.
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError>;
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The path as it was asked for.
    pub path: PathBuf,
    /// The reason.
    pub kind: ReadErrorKind,
}

/// The reason of a [`ReadError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadErrorKind {
    /// There is no such file.
    NotFound,
    /// The path is a folder, a device or a pipe.
    NotAFile,
    /// The file is larger than the limit (bytes).
    TooLarge {
        /// The largest size that is accepted.
        limit: u64,
    },
    /// The operating system refused, with its own words.
    Io(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            ReadErrorKind::NotFound => write!(f, "cannot find file '{path}'"),
            ReadErrorKind::NotAFile => write!(f, "'{path}' is not a regular file"),
            ReadErrorKind::TooLarge { limit } => {
                write!(
                    f,
                    "file '{path}' is larger than the limit of {} MB",
                    limit >> 20
                )
            }
            ReadErrorKind::Io(reason) => write!(f, "cannot read file '{path}': {reason}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// Files of the file system. Folders, devices and pipes are refused, sizes are limited.
#[derive(Clone, Copy, Debug)]
pub struct DiskSource {
    size_limit: u64,
}

impl Default for DiskSource {
    fn default() -> Self {
        Self {
            size_limit: DEFAULT_SIZE_LIMIT,
        }
    }
}

impl DiskSource {
    /// A source that refuses files larger than `size_limit` bytes.
    pub fn with_size_limit(size_limit: u64) -> Self {
        Self { size_limit }
    }
}

impl FileSource for DiskSource {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let too_large = || ReadError {
            path: path.to_path_buf(),
            kind: ReadErrorKind::TooLarge {
                limit: self.size_limit,
            },
        };
        let file = open_regular(path, self.size_limit)?;
        // A file may grow while it is read, and files of /proc claim to be empty.
        let mut bytes = Vec::new();
        file.take(self.size_limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|cause| refused(path, &cause))?;
        if bytes.len() as u64 > self.size_limit {
            return Err(too_large());
        }
        Ok(bytes)
    }
}

/// Opens a file of at most `size_limit` bytes. Folders, devices and pipes are refused before they are opened: opening a pipe
/// would wait for a writer.
///
/// # Errors
/// With the path and the reason.
pub fn open_regular(path: &Path, size_limit: u64) -> Result<std::fs::File, ReadError> {
    let error = |kind| ReadError {
        path: path.to_path_buf(),
        kind,
    };
    let metadata = std::fs::metadata(path).map_err(|cause| refused(path, &cause))?;
    if !metadata.is_file() {
        return Err(error(ReadErrorKind::NotAFile));
    }
    if metadata.len() > size_limit {
        return Err(error(ReadErrorKind::TooLarge { limit: size_limit }));
    }
    std::fs::File::open(path).map_err(|cause| refused(path, &cause))
}

fn refused(path: &Path, cause: &std::io::Error) -> ReadError {
    ReadError {
        path: path.to_path_buf(),
        kind: match cause.kind() {
            std::io::ErrorKind::NotFound => ReadErrorKind::NotFound,
            _ => ReadErrorKind::Io(cause.to_string()),
        },
    }
}

/// Files held in memory.
#[derive(Clone, Default, Debug)]
pub struct MemorySource {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl MemorySource {
    /// A source without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file, or replaces it.
    #[must_use]
    pub fn with(mut self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.insert(normalize(path.as_ref()), bytes.into());
        self
    }
}

impl FileSource for MemorySource {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        self.files
            .get(&normalize(path))
            .cloned()
            .ok_or_else(|| ReadError {
                path: path.to_path_buf(),
                kind: ReadErrorKind::NotFound,
            })
    }
}

/// Files held in memory, and for all others another source.
#[derive(Clone, Debug)]
pub struct Overlay<S> {
    memory: MemorySource,
    rest: S,
}

impl<S: FileSource> Overlay<S> {
    /// Files in memory hide those of the other source.
    pub fn new(memory: MemorySource, rest: S) -> Self {
        Self { memory, rest }
    }
}

impl<S: FileSource> FileSource for Overlay<S> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        self.memory.read(path).or_else(|_| self.rest.read(path))
    }
}

/// Another source that keeps the paths of all files that were read.
pub(crate) struct Noted<'s> {
    source: &'s dyn FileSource,
    paths: RefCell<Vec<PathBuf>>,
}

impl<'s> Noted<'s> {
    pub(crate) fn new(source: &'s dyn FileSource) -> Self {
        Self {
            source,
            paths: RefCell::default(),
        }
    }

    /// The files that were read, in order.
    pub(crate) fn into_paths(self) -> Vec<PathBuf> {
        self.paths.into_inner()
    }
}

impl FileSource for Noted<'_> {
    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let bytes = self.source.read(path)?;
        self.paths.borrow_mut().push(path.to_owned());
        Ok(bytes)
    }
}

/// The path without `.` and with `name/..` removed, by its text alone (links are not followed).
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(normal.components().next_back(), Some(Component::Normal(_))) =>
            {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The text of one file, with the offsets of its lines.
#[derive(Clone, Debug)]
pub struct SourceFile {
    path: PathBuf,
    text: Arc<str>,
    line_starts: Vec<u32>,
    /// Characters before every block of [`BLOCK`] bytes.
    characters: Vec<usize>,
    included_from: Option<Span>,
}

/// Bytes of a block: minified files have lines of megabytes, and a column must not cost a walk along all of one.
const BLOCK: usize = 4096;

/// Characters that begin in bytes of UTF-8.
fn characters_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&byte| byte & 0xC0 != 0x80).count()
}

impl SourceFile {
    fn new(path: PathBuf, text: Arc<str>, included_from: Option<Span>) -> Self {
        let after_newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(after_newlines.map(|(offset, _)| u32::try_from(offset + 1).unwrap_or(u32::MAX)))
            .collect();
        let blocks = text.as_bytes().chunks(BLOCK);
        let characters = blocks.scan(0, |count, block| {
            let before = *count;
            *count += characters_in(block);
            Some(before)
        });
        let characters = characters.collect();
        Self {
            path,
            text,
            line_starts,
            characters,
            included_from,
        }
    }

    /// The path the file was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The decoded text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The decoded text, shared.
    pub(crate) fn shared_text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The place of the `<include>` that asked for this file.
    pub fn included_from(&self) -> Option<Span> {
        self.included_from
    }

    /// Characters of the text before an offset.
    fn characters_before(&self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        let block = (offset / BLOCK).min(self.characters.len().saturating_sub(1));
        let counted = self.characters.get(block).copied().unwrap_or(0);
        counted + characters_in(&self.text.as_bytes()[block * BLOCK..offset])
    }

    /// Number (from 0), text without the line end, and start offset of the line that holds `offset`.
    pub(crate) fn line_at(&self, offset: u32) -> (usize, &str, usize) {
        let number = self
            .line_starts
            .partition_point(|&start| start <= offset)
            .saturating_sub(1);
        let start = self.line_starts[number] as usize;
        let end = self
            .line_starts
            .get(number + 1)
            .map_or(self.text.len(), |&next| next as usize - 1);
        let line = self.text.get(start..end).unwrap_or("");
        (number, line.strip_suffix('\r').unwrap_or(line), start)
    }
}

/// A line and column for people: both count from 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line number, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
}

/// Every text file read for one model.
#[derive(Clone, Default, Debug)]
pub struct SourceMap {
    files: Vec<SourceFile>,
    /// Paths of all files that were read, meshes and height fields too.
    pub(crate) read: Vec<PathBuf>,
}

impl SourceMap {
    /// A map without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a file's text; `included_from` is the place of the include that asked for it.
    pub fn add(
        &mut self,
        path: impl Into<PathBuf>,
        text: impl Into<Arc<str>>,
        included_from: Option<Span>,
    ) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.files
            .push(SourceFile::new(path.into(), text.into(), included_from));
        id
    }

    /// The file of an id made by [`SourceMap::add`].
    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// The paths of all files that the model was read from: texts, meshes, height fields.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.read.iter().map(PathBuf::as_path)
    }

    /// All texts in the order they were read.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The text a span covers.
    pub fn text(&self, span: Span) -> Option<&str> {
        self.file(span.file)?
            .text
            .get(span.start as usize..span.end as usize)
    }

    /// Line and column where a span starts.
    pub fn position(&self, span: Span) -> Option<Position> {
        let file = self.file(span.file)?;
        let (number, line, start) = file.line_at(span.start);
        let offset = (span.start as usize).clamp(start, start + line.len());
        Some(Position {
            line: number + 1,
            column: file.characters_before(offset) - file.characters_before(start) + 1,
        })
    }

    /// The includes that lead to a file, innermost first: paths and lines of the include elements.
    pub fn include_chain(&self, id: FileId) -> Vec<(&Path, usize)> {
        let mut chain = Vec::new();
        let mut current = self.file(id);
        while let Some(place) = current.and_then(SourceFile::included_from) {
            let Some(parent) = self.file(place.file) else {
                break;
            };
            chain.push((
                parent.path(),
                self.position(place).map_or(0, |position| position.line),
            ));
            // An include can only lead from an earlier file to a later one; guard against misuse.
            if chain.len() > self.files.len() {
                break;
            }
            current = Some(parent);
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_survive_windows_line_ends() {
        let mut map = SourceMap::new();
        let id = map.add("a.xml", "é<b/>\r\n  <c/>\n", None);
        let at = |start| map.position(Span::new(id, start, start + 1)).unwrap();
        assert_eq!(at(2), Position { line: 1, column: 2 });
        assert_eq!(at(10), Position { line: 2, column: 3 });
        assert_eq!(map.file(id).unwrap().line_at(3).1, "é<b/>");
        assert_eq!(at(1000).line, 3);
    }

    #[test]
    fn columns_of_a_long_line_cost_no_walk_along_it() {
        let mut map = SourceMap::new();
        let text = format!("\n{}", "é<b/>".repeat(1 << 20));
        let id = map.add("long.xml", text, None);
        let begin = std::time::Instant::now();
        for element in (0..1_u32 << 20).step_by(16) {
            let span = Span::new(
                id,
                1 + 6 * element as usize + 2,
                1 + 6 * element as usize + 3,
            );
            let column = 5 * element as usize + 2;
            assert_eq!(map.position(span), Some(Position { line: 2, column }));
        }
        // A walk for each of 65,536 places would be 2e11 bytes: minutes.
        assert!(begin.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn memory_source_finds_normalised_paths() {
        let source = MemorySource::new().with("dir/mesh.obj", "v 0 0 0");
        assert_eq!(
            source.read(Path::new("dir/../dir/./mesh.obj")).unwrap(),
            b"v 0 0 0"
        );
        let missing = source.read(Path::new("other")).unwrap_err();
        assert_eq!(missing.to_string(), "cannot find file 'other'");
    }

    #[test]
    fn disk_source_refuses_folders_and_large_files() {
        let folder = DiskSource::default().read(Path::new(".")).unwrap_err();
        assert_eq!(folder.kind, ReadErrorKind::NotAFile);
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let large = DiskSource::with_size_limit(10).read(&manifest).unwrap_err();
        assert_eq!(large.kind, ReadErrorKind::TooLarge { limit: 10 });
        assert!(!DiskSource::default().read(&manifest).unwrap().is_empty());
    }

    #[test]
    fn include_chain_runs_from_inner_to_outer() {
        let mut map = SourceMap::new();
        let scene = map.add("scene.xml", "\n\n<include file='arm.xml'/>", None);
        let arm = map.add("arm.xml", "<mujoco/>", Some(Span::new(scene, 2, 10)));
        assert_eq!(map.include_chain(arm), vec![(Path::new("scene.xml"), 3)]);
    }
}
