//! The tolerant parser: one pass over the bytes, an explicit stack, no recursion.

use std::sync::Arc;

use super::{
    AttributeData, Document, ElementData, MAX_ATTRIBUTES, MAX_DEPTH, MAX_ELEMENTS, MAX_TEXT, NONE,
    Range,
};
use crate::diagnostic::Diagnostic;
use crate::span::{FileId, Span};

/// Most warnings reported for one file; a broken file can hold millions of the same kind.
const MAX_WARNINGS: usize = 30;

/// Parses a text; problems go to `diagnostics`. `None` when no tree could be made.
pub fn parse(file: FileId, text: &Arc<str>, diagnostics: &mut Vec<Diagnostic>) -> Option<Document> {
    if text.len() > MAX_TEXT {
        let message = format!("text is larger than the limit of {} MB", MAX_TEXT >> 20);
        diagnostics.push(Diagnostic::error("X004", message));
        return None;
    }
    let document = Document {
        file,
        text: Arc::clone(text),
        elements: Vec::new(),
        attributes: Vec::new(),
    };
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        document,
        open: Vec::new(),
        declares_entities: false,
        trailing_text: None,
        warnings: 0,
        diagnostics,
    };
    let outcome = parser.run();
    let Parser {
        document,
        diagnostics,
        ..
    } = parser;
    if let Err(problem) = outcome {
        diagnostics.push(*problem);
        return None;
    }
    Some(document)
}

/// An element whose end tag has not been seen.
struct Open {
    element: u32,
    last_child: u32,
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    document: Document,
    open: Vec<Open>,
    declares_entities: bool,
    trailing_text: Option<Range>,
    warnings: usize,
    diagnostics: &'a mut Vec<Diagnostic>,
}

/// A problem that ends parsing.
type Fatal = Box<Diagnostic>;

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), Fatal> {
        loop {
            self.text_run();
            let rest = &self.bytes[self.at..];
            match rest {
                [] => break,
                [b'<', b'!', b'-', b'-', ..] => self.comment()?,
                [b'<', b'!', b'[', b'C', b'D', b'A', b'T', b'A', b'[', ..] => self.cdata()?,
                [b'<', b'!', ..] => self.stray_declaration()?,
                [b'<', b'?', ..] => self.processing_instruction()?,
                _ => self.tag()?,
            }
        }
        if let Some(open) = self.open.last() {
            let element = &self.document.elements[open.element as usize];
            let (start_tag, tag) = (element.start_tag, self.slice(element.tag));
            return Err(self
                .not_well_formed(format!("element <{tag}> is never closed"), start_tag)
                .help(format!("add </{tag}>"))
                .into());
        }
        if self.document.elements.is_empty() {
            let end = self.bytes.len();
            return Err(self
                .not_well_formed("file has no element", self.range(end, end))
                .into());
        }
        if let Some(text) = self.trailing_text {
            return Err(self
                .not_well_formed("text after the last element", text)
                .into());
        }
        Ok(())
    }

    // ---- pieces between elements

    /// Text up to the next `<`: kept for the open element, of no meaning elsewhere.
    fn text_run(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start..];
        self.at += rest
            .iter()
            .position(|&byte| byte == b'<')
            .unwrap_or(rest.len());
        self.keep_text(start, self.at);
    }

    fn keep_text(&mut self, start: usize, end: usize) {
        let run = &self.text[start..end];
        let trimmed = run.trim();
        if trimmed.is_empty() {
            return;
        }
        let begin = start + (run.len() - run.trim_start().len());
        let range = self.range(begin, begin + trimmed.len());
        match self.open.last() {
            Some(open) => {
                let element = &mut self.document.elements[open.element as usize];
                if element.text.0 == element.text.1 {
                    element.text = range;
                }
            }
            // A document type with an internal subset leaves its closing bracket behind.
            None if self.declares_entities && matches!(trimmed, "]>" | "]") => {}
            None if self.document.elements.is_empty() => {
                self.warn("text before the first element is ignored", range);
            }
            None => self.trailing_text = Some(range),
        }
    }

    fn comment(&mut self) -> Result<(), Fatal> {
        let start = self.at;
        let end = self.find(start + 4, "-->").ok_or_else(|| {
            self.not_well_formed("comment is never closed", self.range(start, start + 4))
                .help("end it with -->")
        })?;
        self.at = end + 3;
        Ok(())
    }

    fn cdata(&mut self) -> Result<(), Fatal> {
        let start = self.at;
        let end = self.find(start + 9, "]]>").ok_or_else(|| {
            self.not_well_formed(
                "CDATA section is never closed",
                self.range(start, start + 9),
            )
        })?;
        self.keep_text(start + 9, end);
        self.at = end + 3;
        Ok(())
    }

    /// `<!DOCTYPE …>`, and whatever else starts with `<!`, up to the first `>`.
    fn stray_declaration(&mut self) -> Result<(), Fatal> {
        let start = self.at;
        let end = self.find(start, ">").ok_or_else(|| {
            self.not_well_formed("'<!' is never closed", self.range(start, start + 2))
        })?;
        self.at = end + 1;
        let body = &self.text[start..end];
        let range = self.range(start, self.at);
        if body.contains("[<!") || body.starts_with("<!ENTITY") || body.contains('[') {
            self.declares_entities = true;
        }
        if body.starts_with("<!DOCTYPE") || body.starts_with("<!ENTITY") {
            self.warn("document type declarations are ignored", range);
        } else {
            self.warn(
                "'<!…>' is neither element nor comment; it is ignored",
                range,
            );
        }
        Ok(())
    }

    fn processing_instruction(&mut self) -> Result<(), Fatal> {
        let start = self.at;
        let end = self.find(start, "?>").ok_or_else(|| {
            self.not_well_formed("'<?' is never closed", self.range(start, start + 2))
                .help("end it with ?>")
        })?;
        self.at = end + 2;
        if !self.document.elements.is_empty() {
            self.warn(
                "processing instruction is ignored",
                self.range(start, self.at),
            );
        }
        Ok(())
    }

    // ---- tags

    fn tag(&mut self) -> Result<(), Fatal> {
        let start = self.at;
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'/') {
            self.at += 1;
            self.skip_space();
            self.end_tag(start)
        } else {
            self.start_tag(start)
        }
    }

    fn start_tag(&mut self, start: usize) -> Result<(), Fatal> {
        let Some(tag) = self.name() else {
            return Err(self
                .not_well_formed(
                    "'<' is not followed by a name",
                    self.range(start, start + 1),
                )
                .help("write &lt; where the character itself is meant")
                .into());
        };
        if self.open.len() >= MAX_DEPTH {
            let message = format!("elements are nested more than {MAX_DEPTH} deep");
            return Err(Diagnostic::error("X004", message).at(self.span(tag)).into());
        }
        if self.document.elements.len() >= MAX_ELEMENTS {
            let message = format!("more than {MAX_ELEMENTS} elements");
            return Err(Diagnostic::error("X004", message).at(self.span(tag)).into());
        }
        let first_attribute = self.document.attributes.len();
        let is_empty = self.attributes(tag, first_attribute)?;
        let attributes = self.range(first_attribute, self.document.attributes.len());
        self.push_element(tag, self.range(start, self.at), attributes, is_empty);
        Ok(())
    }

    fn push_element(&mut self, tag: Range, start_tag: Range, attributes: Range, is_empty: bool) {
        let index = u32::try_from(self.document.elements.len()).unwrap_or(NONE);
        let parent = self.open.last().map_or(NONE, |open| open.element);
        if index > 0 && parent == NONE {
            // MuJoCo reads the first element only.
            self.warn("a second root element is ignored", start_tag);
        }
        self.document.elements.push(ElementData {
            tag,
            start_tag,
            attributes,
            text: (0, 0),
            parent,
            first_child: NONE,
            next_sibling: NONE,
        });
        if let Some(open) = self.open.last_mut() {
            let elements = &mut self.document.elements;
            match open.last_child {
                NONE => elements[open.element as usize].first_child = index,
                last => elements[last as usize].next_sibling = index,
            }
            open.last_child = index;
        }
        if !is_empty {
            self.open.push(Open {
                element: index,
                last_child: NONE,
            });
        }
        self.trailing_text = None;
    }

    /// The attributes up to `>` (false) or `/>` (true).
    fn attributes(&mut self, tag: Range, first: usize) -> Result<bool, Fatal> {
        loop {
            let had_space = self.skip_space();
            match self.peek() {
                Some(b'>') => {
                    self.at += 1;
                    return Ok(false);
                }
                Some(b'/') if self.bytes.get(self.at + 1) == Some(&b'>') => {
                    self.at += 2;
                    return Ok(true);
                }
                _ => {}
            }
            let at = self.at;
            let Some(name) = self.name() else {
                return Err(self.bad_attribute(tag, first, at));
            };
            if !had_space {
                self.warn("space is missing before the attribute", name);
            }
            self.attribute(tag, name, first)?;
        }
    }

    fn attribute(&mut self, tag: Range, name: Range, first: usize) -> Result<(), Fatal> {
        let name_text = self.slice(name);
        self.skip_space();
        if self.peek() != Some(b'=') {
            let message = format!("attribute '{name_text}' has no value");
            return Err(self
                .not_well_formed(message, name)
                .help("write name=\"value\"")
                .into());
        }
        self.at += 1;
        self.skip_space();
        let Some(quote @ (b'"' | b'\'')) = self.peek() else {
            let message = format!("value of attribute '{name_text}' is not in quotes");
            let here = self.range(self.at, self.at + 1);
            return Err(self
                .not_well_formed(message, here)
                .help("write name=\"value\"")
                .into());
        };
        let start = self.at + 1;
        let length = self.bytes[start..].iter().position(|&byte| byte == quote);
        let Some(length) = length else {
            let message = format!("value of attribute '{name_text}' is never closed");
            return Err(self
                .not_well_formed(message, self.range(self.at, start))
                .into());
        };
        self.at = start + length + 1;
        let value = self.range(start, start + length);
        let known = &self.document.attributes[first..];
        if known.len() >= MAX_ATTRIBUTES {
            let message = format!("element has more than {MAX_ATTRIBUTES} attributes");
            return Err(Diagnostic::error("X004", message)
                .at(self.span(name))
                .into());
        }
        if known
            .iter()
            .any(|other| self.slice(other.name) == name_text)
        {
            let tag = self.slice(tag);
            let message = format!("attribute '{name_text}' of <{tag}> is given twice");
            self.diagnostics
                .push(Diagnostic::error("X003", message).at(self.span(name)));
            return Ok(());
        }
        let decoded = self.decode_value(value)?;
        self.document.attributes.push(AttributeData {
            name,
            value,
            decoded,
        });
        Ok(())
    }

    fn bad_attribute(&self, tag: Range, first: usize, at: usize) -> Fatal {
        let tag_name = self.slice(tag);
        if at >= self.bytes.len() {
            let message = format!("start tag <{tag_name} is never closed");
            return self.not_well_formed(message, tag).into();
        }
        let message = format!("expected an attribute, '>' or '/>' in <{tag_name}>");
        let width = self.text[at..].chars().next().map_or(1, char::len_utf8);
        let problem = self.not_well_formed(message, self.range(at, at + width));
        // A forgotten quote makes the value swallow what follows, up to the next quote.
        let swallowed = self.document.attributes[first..].last().filter(|last| {
            let value = self.slice(last.value);
            value.contains('=') || value.contains('<')
        });
        match swallowed {
            Some(last) => {
                let name = self.slice(last.name);
                problem
                    .help(format!("the value of '{name}' may lack its closing quote"))
                    .into()
            }
            None => problem.into(),
        }
    }

    fn end_tag(&mut self, start: usize) -> Result<(), Fatal> {
        let Some(name) = self.name() else {
            let here = self.range(start, self.at);
            return Err(self
                .not_well_formed("'</' is not followed by a name", here)
                .into());
        };
        let after_name = self.at;
        let Some(end) = self.find(self.at, ">") else {
            return Err(self.not_well_formed("end tag is never closed", name).into());
        };
        self.at = end + 1;
        if !self.text[after_name..end].trim().is_empty() {
            self.warn("an end tag holds only its name; the rest is ignored", name);
        }
        let Some(open) = self.open.pop() else {
            self.warn(
                "end tag without a start tag is ignored",
                self.range(start, self.at),
            );
            return Ok(());
        };
        let element = &self.document.elements[open.element as usize];
        let (expected, found) = (self.slice(element.tag), self.slice(name));
        if expected != found {
            let line = 1 + self.text[..element.tag.0 as usize].matches('\n').count();
            let message = format!("end tag </{found}> does not match <{expected}>");
            return Err(self
                .not_well_formed(message, name)
                .label(format!("expected </{expected}>"))
                .note(format!("<{expected}> starts on line {line}"))
                .into());
        }
        Ok(())
    }

    // ---- attribute values

    /// Replaces entities and line ends; `None` when the text already is the value.
    fn decode_value(&mut self, value: Range) -> Result<Option<Box<str>>, Fatal> {
        let raw = self.slice(value);
        if let Some(at) = raw.find('<') {
            let here = value.0 as usize + at;
            self.warn(
                "'<' in an attribute value should be &lt;",
                self.range(here, here + 1),
            );
        }
        if !raw.contains(['&', '\r']) {
            return Ok(None);
        }
        let mut decoded = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(at) = rest.find(['&', '\r']) {
            decoded.push_str(&rest[..at]);
            let special = &rest[at..];
            let here = value.0 as usize + (raw.len() - special.len());
            let (text, length) = if special.starts_with('\r') {
                (Some('\n'), if special.starts_with("\r\n") { 2 } else { 1 })
            } else {
                self.entity(special, here)?
            };
            match text {
                Some(character) => decoded.push(character),
                None => decoded.push_str(&special[..length]),
            }
            rest = &special[length..];
        }
        decoded.push_str(rest);
        Ok(Some(decoded.into()))
    }

    /// The character of the entity that `special` starts with, and its length.
    /// Unknown ones stand for themselves, as in MuJoCo.
    fn entity(&mut self, special: &str, here: usize) -> Result<(Option<char>, usize), Fatal> {
        const NAMED: [(&str, char); 5] = [
            ("&lt;", '<'),
            ("&gt;", '>'),
            ("&amp;", '&'),
            ("&quot;", '"'),
            ("&apos;", '\''),
        ];
        const MAX_SHOWN_CHARACTERS: usize = 40;
        for (name, character) in NAMED {
            if special.starts_with(name) {
                return Ok((Some(character), name.len()));
            }
        }
        let end = special
            .bytes()
            .take(MAX_SHOWN_CHARACTERS)
            .position(|byte| byte == b';');
        let body = end.map(|end| &special[1..end]);
        if let Some(character) = body.and_then(character_reference) {
            return Ok((Some(character), body.map_or(1, str::len) + 2));
        }
        let is_name = |body: &&str| {
            body.bytes().next().is_some_and(is_name_start) && body.bytes().all(is_name_byte)
        };
        let Some(name) = body.filter(is_name) else {
            self.warn(
                "'&' in an attribute value should be &amp;",
                self.range(here, here + 1),
            );
            return Ok((None, 1));
        };
        let range = self.range(here, here + name.len() + 2);
        if self.declares_entities {
            let message = format!("entity '&{name};' is not expanded");
            return Err(Diagnostic::error("X005", message)
                .at(self.span(range))
                .help("write the text itself: entity declarations are not supported")
                .into());
        }
        self.warn(format!("unknown entity '&{name};' is kept as it is"), range);
        Ok((None, 1))
    }

    // ---- small tools

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips white space; true when there was some.
    fn skip_space(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.at > start
    }

    fn name(&mut self) -> Option<Range> {
        let start = self.at;
        self.peek().filter(|&byte| is_name_start(byte))?;
        while self.peek().is_some_and(is_name_byte) {
            self.at += 1;
        }
        Some(self.range(start, self.at))
    }

    fn find(&self, from: usize, what: &str) -> Option<usize> {
        self.text.get(from..)?.find(what).map(|at| from + at)
    }

    #[expect(
        clippy::unused_self,
        reason = "reads as the other constructors of places do"
    )]
    fn range(&self, start: usize, end: usize) -> Range {
        let offset = |offset: usize| u32::try_from(offset).unwrap_or(NONE);
        (offset(start), offset(end))
    }

    fn slice(&self, range: Range) -> &'a str {
        self.text
            .get(range.0 as usize..range.1 as usize)
            .unwrap_or("")
    }

    fn span(&self, range: Range) -> Span {
        Span {
            file: self.document.file,
            start: range.0,
            end: range.1,
        }
    }

    fn not_well_formed(&self, message: impl Into<String>, range: Range) -> Diagnostic {
        Diagnostic::error("X002", message).at(self.span(range))
    }

    fn warn(&mut self, message: impl Into<String>, range: Range) {
        self.warnings += 1;
        if self.warnings > MAX_WARNINGS {
            return;
        }
        let mut warning = Diagnostic::warning("X010", message).at(self.span(range));
        if self.warnings == MAX_WARNINGS {
            warning = warning.note("further warnings about the XML of this file are not shown");
        }
        self.diagnostics.push(warning);
    }
}

/// The character of `#65` or `#x41`.
fn character_reference(body: &str) -> Option<char> {
    let digits = body.strip_prefix('#')?;
    let code = match digits.strip_prefix('x') {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
        None => digits.parse().ok()?,
    };
    char::from_u32(code).filter(|&character| character != '\0')
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b':' || byte >= 0x80
}

fn is_name_byte(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'.' || byte == b'-'
}

#[cfg(test)]
mod tests;
