//! XML as robot model files really use it: a small tolerant reader that keeps every position.
//!
//! Many published models are not well-formed XML but load in MuJoCo, whose reader is lenient. This one
//! accepts what MuJoCo accepts and says so with a warning: stray `<! … >`, bare `&` and `<` in attribute
//! values, unknown entities, `--` in comments, attributes without a space between them, text between
//! elements. What MuJoCo refuses (repeated attributes, values without quotes, tags that do not match)
//! is an error with line and column. Namespaces are not interpreted: `a:b` is a name like any other.
//!
//! The reader is iterative and bounded in depth, elements and attributes; entities other than the five
//! of XML are never expanded, so no small file can become a large tree.

mod decode;
mod parse;

use std::path::Path;
use std::sync::Arc;

pub use decode::{DecodeError, decode};
pub use parse::parse;

use crate::diagnostic::Diagnostic;
use crate::source::SourceMap;
use crate::span::{FileId, Span};

/// Deepest nesting of elements; MuJoCo's reader has the same limit.
pub const MAX_DEPTH: usize = 500;
/// Most elements of one file.
pub const MAX_ELEMENTS: usize = 2_000_000;
/// Most attributes of one element.
pub const MAX_ATTRIBUTES: usize = 256;
/// Largest text (bytes).
pub const MAX_TEXT: usize = 256 << 20;

/// Decodes and parses a file's bytes and keeps its text in `sources`.
///
/// `None` when the file cannot be understood at all; the reason is then among `diagnostics`.
pub fn load(
    bytes: &[u8],
    path: &Path,
    included_from: Option<Span>,
    sources: &mut SourceMap,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Document> {
    let decoded = match decode(bytes) {
        Ok(decoded) => decoded,
        Err(error) => {
            let message = format!("'{}' {error}", path.display());
            let mut diagnostic = Diagnostic::error("X001", message);
            diagnostic.span = included_from;
            diagnostics.push(diagnostic);
            return None;
        }
    };
    // A file that a model includes need not be one whose lines whoever reads the errors may see.
    let begin = decoded.text.trim_start();
    if included_from.is_some() && !begin.is_empty() && !begin.starts_with('<') {
        let message = format!("the included file '{}' is not XML", path.display());
        let mut diagnostic = Diagnostic::error("X001", message);
        diagnostic.span = included_from;
        diagnostics.push(diagnostic);
        return None;
    }
    let file = sources.add(path, decoded.text, included_from);
    if let Some(offset) = decoded.first_invalid {
        diagnostics.push(
            Diagnostic::warning("X010", "text is not UTF-8; it was read as Latin-1")
                .at(Span::new(file, offset, offset + 1))
                .help("save the file as UTF-8"),
        );
    }
    let text = sources.file(file)?.shared_text();
    parse(file, &text, diagnostics)
}

/// Start and end offset in the text.
type Range = (u32, u32);

/// Index that stands for "none".
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct ElementData {
    tag: Range,
    start_tag: Range,
    attributes: Range,
    text: Range,
    parent: u32,
    first_child: u32,
    next_sibling: u32,
}

#[derive(Debug)]
struct AttributeData {
    name: Range,
    value: Range,
    /// The value when it differs from the text: entities replaced, line ends made `\n`.
    decoded: Option<Box<str>>,
}

/// A parsed file: a tree of elements that borrows from one text.
#[derive(Debug)]
pub struct Document {
    file: FileId,
    text: Arc<str>,
    elements: Vec<ElementData>,
    attributes: Vec<AttributeData>,
}

impl Document {
    /// The first element of the file.
    pub fn root(&self) -> Element<'_> {
        Element {
            document: self,
            index: 0,
        }
    }

    /// The element whose start tag begins at an offset.
    pub fn element_at(&self, start: u32) -> Option<Element<'_>> {
        let elements = &self.elements;
        let found = elements.binary_search_by_key(&start, |element| element.start_tag.0);
        self.element(u32::try_from(found.ok()?).ok()?)
    }

    /// The file this was read from.
    pub fn file(&self) -> FileId {
        self.file
    }

    fn slice(&self, range: Range) -> &str {
        self.text
            .get(range.0 as usize..range.1 as usize)
            .unwrap_or("")
    }

    fn span(&self, range: Range) -> Span {
        Span {
            file: self.file,
            start: range.0,
            end: range.1,
        }
    }

    fn element(&self, index: u32) -> Option<Element<'_>> {
        (index != NONE).then_some(Element {
            document: self,
            index,
        })
    }
}

/// One element of a [`Document`].
#[derive(Clone, Copy, Debug)]
pub struct Element<'d> {
    document: &'d Document,
    index: u32,
}

impl<'d> Element<'d> {
    fn data(self) -> &'d ElementData {
        &self.document.elements[self.index as usize]
    }

    /// The name, such as `geom`.
    pub fn tag(self) -> &'d str {
        self.document.slice(self.data().tag)
    }

    /// Place of the name.
    pub fn tag_span(self) -> Span {
        self.document.span(self.data().tag)
    }

    /// Place of the start tag, from `<` to `>`.
    pub fn span(self) -> Span {
        self.document.span(self.data().start_tag)
    }

    /// The attributes in the order of the file.
    pub fn attributes(self) -> impl ExactSizeIterator<Item = Attribute<'d>> + use<'d> {
        let (start, end) = self.data().attributes;
        let document = self.document;
        document.attributes[start as usize..end as usize]
            .iter()
            .map(move |data| Attribute { document, data })
    }

    /// The attribute of that name.
    pub fn attribute(self, name: &str) -> Option<Attribute<'d>> {
        self.attributes().find(|attribute| attribute.name() == name)
    }

    /// The value of the attribute of that name.
    pub fn value(self, name: &str) -> Option<&'d str> {
        self.attribute(name).map(Attribute::value)
    }

    /// The child elements in the order of the file.
    pub fn children(self) -> impl Iterator<Item = Element<'d>> + use<'d> {
        let document = self.document;
        let first = document.element(self.data().first_child);
        std::iter::successors(first, move |child| {
            document.element(child.data().next_sibling)
        })
    }

    /// The first child of that name.
    pub fn child(self, tag: &str) -> Option<Element<'d>> {
        self.children().find(|child| child.tag() == tag)
    }

    /// The element around this one.
    pub fn parent(self) -> Option<Element<'d>> {
        self.document.element(self.data().parent)
    }

    /// The first run of text inside, as it stands in the file, without surrounding space.
    pub fn text(self) -> &'d str {
        self.document.slice(self.data().text)
    }
}

/// One attribute of an [`Element`].
#[derive(Clone, Copy, Debug)]
pub struct Attribute<'d> {
    document: &'d Document,
    data: &'d AttributeData,
}

impl<'d> Attribute<'d> {
    /// The name.
    pub fn name(self) -> &'d str {
        self.document.slice(self.data.name)
    }

    /// The value with entities replaced.
    pub fn value(self) -> &'d str {
        self.data
            .decoded
            .as_deref()
            .unwrap_or_else(|| self.document.slice(self.data.value))
    }

    /// Place of the name.
    pub fn name_span(self) -> Span {
        self.document.span(self.data.name)
    }

    /// Place of the value, without its quotes.
    pub fn value_span(self) -> Span {
        self.document.span(self.data.value)
    }

    /// Place of the bytes `start..end` of [`Attribute::value`]; the whole value when entities moved them.
    pub fn part_span(self, start: usize, end: usize) -> Span {
        match self.data.decoded {
            Some(_) => self.value_span(),
            None => self.value_span().part(start, end),
        }
    }
}
