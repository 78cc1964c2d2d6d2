//! The texts of a model's files, and edits of them.

use super::element::Attributes;
use super::{NotPatched, is_include, refuse, tag};
use crate::mjcf::attribute;
use crate::mjcf::keywords::Degrees;
use crate::mjcf::orientation::{AngleNotation, Pose};
use crate::mjcf::problems::{Allow, Problems};
use crate::source::{SourceFile, SourceMap};
use crate::span::{FileId, Span};
use crate::xml::{self, Document, Element};

/// Numbers that differ by less than this part are what the file says already: angles were converted.
const SAME: f64 = 1e-13;

/// A range of bytes and what stands there instead.
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

pub(super) struct Texts<'s> {
    pub(super) sources: &'s SourceMap,
    documents: Vec<Document>,
    edits: Vec<Vec<Edit>>,
    /// Sections that are added to the main file.
    sections: Vec<String>,
    /// Attributes for sections of one kind, to be set or added at the end.
    pub(super) notation: AngleNotation,
}

impl<'s> Texts<'s> {
    pub(super) fn new(sources: &'s SourceMap) -> Result<Self, NotPatched> {
        let mut documents = Vec::new();
        for (index, file) in sources.files().iter().enumerate() {
            let id = FileId(u32::try_from(index).unwrap_or(u32::MAX));
            match xml::parse(id, &file.shared_text(), &mut Vec::new()) {
                Some(document) => documents.push(document),
                None => return refuse(format!("'{}' is not XML", file.path().display())),
            }
        }
        let is_mjcf = |main: &Document| main.root().tag().eq_ignore_ascii_case("mujoco");
        if !documents.first().is_some_and(is_mjcf) {
            return refuse("the model does not come from an MJCF file");
        }
        let mut texts = Self {
            sources,
            edits: documents.iter().map(|_| Vec::new()).collect(),
            documents,
            sections: Vec::new(),
            notation: AngleNotation::default(),
        };
        texts.notation = texts.read_notation();
        Ok(texts)
    }

    fn read_notation(&self) -> AngleNotation {
        let problems = Problems::new(&Allow::Everything);
        let mut notation = AngleNotation::default();
        for section in self.sections("compiler") {
            let a = attribute::Attributes::new(section, &problems);
            if let Some(Degrees(degrees)) = a.get("angle") {
                notation.degrees = degrees;
            }
            let sequence = section.value("eulerseq").map(str::as_bytes);
            if let Some(sequence) = sequence.and_then(|text| text.try_into().ok()) {
                notation.euler_sequence = sequence;
            }
        }
        notation
    }

    /// Sections of one kind, in the order in which they are read.
    pub(super) fn sections(&self, tag: &str) -> Vec<Element<'_>> {
        let mut sections = Vec::new();
        let mut open = vec![self.documents[0].root()];
        while let Some(element) = open.pop() {
            let content: Vec<_> = element.children().collect();
            for child in content.into_iter().rev() {
                open.extend((is_include(child)).then(|| self.included(child)).flatten());
            }
            sections.extend(element.children().filter(|child| child.tag() == tag));
        }
        sections
    }

    /// The root of the file that an include stands for.
    fn included(&self, include: Element<'_>) -> Option<Element<'_>> {
        let asked = include.span();
        let mut files = self.sources.files().iter();
        let index = files.position(|file| file.included_from() == Some(asked))?;
        Some(self.documents[index].root())
    }

    /// The element of a start tag.
    pub(super) fn element(&self, span: Span) -> Result<Element<'_>, NotPatched> {
        let document = self.documents.get(span.file.0 as usize);
        let element = document.and_then(|document| document.element_at(span.start));
        let Some(element) = element.filter(|_| span != Span::default()) else {
            return refuse("an element does not come from the file");
        };
        if self.is_attached(span.file) {
            return refuse("the element is part of an attached model");
        }
        Ok(element)
    }

    /// Whether a file was asked for as a model of its own.
    fn is_attached(&self, file: FileId) -> bool {
        let mut asked = self.sources.file(file).and_then(SourceFile::included_from);
        while let Some(span) = asked {
            let document = &self.documents[span.file.0 as usize];
            if !document.element_at(span.start).is_some_and(is_include) {
                return true;
            }
            asked = self
                .sources
                .file(span.file)
                .and_then(SourceFile::included_from);
        }
        false
    }

    /// The element around one, across includes.
    pub(super) fn parent<'e>(&'e self, element: Element<'e>) -> Option<Element<'e>> {
        let parent = element.parent()?;
        if parent.parent().is_some() {
            return Some(parent);
        }
        let Some(asked) = self.sources.file(parent.span().file)?.included_from() else {
            return Some(parent);
        };
        let include = self.documents[asked.file.0 as usize].element_at(asked.start)?;
        self.parent(include)
    }

    /// The pose that an element without a class gives.
    pub(super) fn pose(&self, element: Element<'_>) -> Pose {
        let problems = Problems::new(&Allow::Everything);
        let a = attribute::Attributes::new(element, &problems);
        let mut pose = Pose::IDENTITY;
        a.set("pos", &mut pose.position);
        a.set_orientation(self.notation, &mut pose.quaternion);
        pose
    }

    fn edit(&mut self, file: FileId, start: usize, end: usize, text: String) {
        self.edits[file.0 as usize].push(Edit { start, end, text });
    }

    /// Changes a start tag.
    pub(super) fn apply(&mut self, span: Span, attributes: &Attributes) -> Result<(), NotPatched> {
        let element = self.element(span)?;
        let mut edits = Vec::new();
        if let Some(name) = attributes.tag {
            let place = element.tag_span();
            edits.push((place.start, place.end, name.to_owned()));
            if !self
                .sources
                .text(span)
                .is_some_and(|tag| tag.ends_with("/>"))
            {
                return refuse("an element with an end tag would get another name");
            }
        }
        // Ends of the tag's name and of the attributes before each one: what goes, goes with the space before it.
        let mut end_before = element.tag_span().end;
        let mut last = end_before;
        let mut kept_end = end_before;
        for attribute in element.attributes() {
            let end = attribute.value_span().end + 1;
            if attributes
                .removed
                .iter()
                .any(|name| name == attribute.name())
            {
                edits.push((end_before, end, String::new()));
            } else {
                kept_end = end;
            }
            end_before = end;
            last = last.max(end);
        }
        let mut added = String::new();
        for (name, value) in &attributes.set {
            if let Some(attribute) = element.attribute(name) {
                let place = attribute.value_span();
                let old = self.sources.text(place).unwrap_or_default();
                if let Some(new) = with_numbers(old, value) {
                    edits.push((place.start, place.end, new));
                    continue;
                }
                let mut escaped = String::new();
                tag::push_escaped(&mut escaped, value);
                edits.push((place.start, place.end, escaped));
            } else {
                push_attribute(&mut added, name, value);
            }
        }
        if !added.is_empty() {
            edits.push((kept_end, kept_end, added));
        }
        for (start, end, text) in edits {
            self.edit(span.file, start as usize, end as usize, text);
        }
        Ok(())
    }

    /// Puts another start tag in the place of an element without content.
    pub(super) fn replace_element(&mut self, span: Span, tag: &str) -> Result<(), NotPatched> {
        self.element(span)?;
        if !self
            .sources
            .text(span)
            .is_some_and(|tag| tag.ends_with("/>"))
        {
            return refuse("an element with an end tag would get another name");
        }
        let (start, end) = (span.start as usize, span.end as usize);
        self.edit(span.file, start, end, format!("{tag}/>"));
        Ok(())
    }

    /// Adds an element as the first child of another one, with the space that stands before its first child.
    pub(super) fn insert_child(&mut self, span: Span, child: &str) -> Result<(), NotPatched> {
        let element = self.element(span)?;
        let Some(first) = element.children().next() else {
            return refuse("the element has no content");
        };
        let file = self.sources.file(span.file);
        let text = file.map_or("", |file| file.text());
        let end = span.end as usize;
        let between = text.get(end..first.span().start as usize).unwrap_or("");
        let space = match between.rfind('\n') {
            Some(line) if between[line..].trim().is_empty() => &between[line..],
            _ => "",
        };
        let inserted = format!("{space}{child}");
        self.edit(span.file, end, end, inserted);
        Ok(())
    }

    /// Sets attributes of the last section of a kind, or of a new one.
    pub(super) fn set_section(
        &mut self,
        kind: &str,
        attributes: &Attributes,
    ) -> Result<(), NotPatched> {
        if attributes.is_empty() {
            return Ok(());
        }
        if let Some(span) = self.sections(kind).last().map(|section| section.span()) {
            return self.apply(span, attributes);
        }
        let mut text = format!("<{kind}");
        for (name, value) in &attributes.set {
            push_attribute(&mut text, name, value);
        }
        self.insert_section(&(text + "/>"))
    }

    /// Adds a section to the main file.
    pub(super) fn insert_section(&mut self, text: &str) -> Result<(), NotPatched> {
        let root = self.documents[0].root();
        if root.children().next().is_none() {
            return refuse("the model is empty");
        }
        self.sections.push(text.to_owned());
        Ok(())
    }

    /// Every element that stands for another file, with the place of that file in the list of all.
    pub(super) fn includes(&self) -> Vec<(Span, usize)> {
        let files = self.sources.files().iter().enumerate();
        let asked = files.filter_map(|(index, file)| Some((file.included_from()?, index)));
        asked.collect()
    }

    /// Whether a file is a model that is attached.
    pub(super) fn is_model(&self, file: usize) -> bool {
        self.is_attached(FileId(u32::try_from(file).unwrap_or(u32::MAX)))
    }

    /// Elements of a file with a tag.
    pub(super) fn elements(&self, file: usize, tags: &[&str]) -> Vec<Element<'_>> {
        let mut found = Vec::new();
        let mut open = vec![self.documents[file].root()];
        while let Some(element) = open.pop() {
            if tags.contains(&element.tag()) {
                found.push(element);
            }
            open.extend(element.children());
        }
        found
    }

    /// Which files are put in the place of their includes: those that change, those that are asked for, and those that
    /// lead to them.
    pub(super) fn inlined(&self, asked_for: &[bool]) -> Vec<bool> {
        let edited = self.edits.iter().zip(asked_for);
        let mut inlined: Vec<bool> = edited.map(|(edits, &is)| is || !edits.is_empty()).collect();
        // Later files are included by earlier ones.
        for (asked, file) in self.includes().into_iter().rev() {
            let around = asked.file.0 as usize;
            inlined[around] |= inlined[file] && !self.is_model(file);
        }
        inlined
    }

    /// The main file, with some of the includes by their content.
    pub(super) fn finish(mut self, inlined: &[bool]) -> Result<String, NotPatched> {
        for section in std::mem::take(&mut self.sections) {
            self.insert_child(self.documents[0].root().span(), &section)?;
        }
        // Later files are included by earlier ones.
        for (asked, file) in self.includes().into_iter().rev() {
            if inlined[file] && !self.is_model(file) {
                let content = self.edited(file)?;
                let end = self.end_of(asked)?;
                self.edit(asked.file, asked.start as usize, end, content);
            }
        }
        self.edited(0)
    }

    /// The end of an element without content, its end tag included.
    fn end_of(&self, span: Span) -> Result<usize, NotPatched> {
        let text = self.sources.file(span.file).map_or("", |file| file.text());
        let end = span.end as usize;
        if text[..end].ends_with("/>") {
            return Ok(end);
        }
        match text[end..].find('>') {
            Some(close) if text[end..].trim_start().starts_with("</") => Ok(end + close + 1),
            _ => refuse("an include has content"),
        }
    }

    /// A file after its edits: the whole of the main one, the content of the root of others.
    fn edited(&mut self, file: usize) -> Result<String, NotPatched> {
        let source = &self.sources.files()[file];
        let text = source.text();
        let root = self.documents[file].root();
        let (mut at, end) = if file == 0 {
            (0, text.len())
        } else {
            let Some(end) = text.rfind(&format!("</{}", root.tag())) else {
                return refuse("an included file has no end tag");
            };
            (root.span().end as usize, end)
        };
        let mut edits = std::mem::take(&mut self.edits[file]);
        edits.sort_by_key(|edit| (edit.start, edit.end));
        let mut result = String::new();
        for edit in edits {
            let Some(kept) = text.get(at..edit.start) else {
                return refuse("two changes of one place");
            };
            result.push_str(kept);
            result.push_str(&edit.text);
            at = edit.end;
        }
        result.push_str(text.get(at..end).unwrap_or(""));
        if file == 0 {
            return Ok(result);
        }
        let name = source.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy().replace("--", "__");
        Ok(format!("<!-- {name} -->{}", result.trim_end()))
    }
}

fn push_attribute(text: &mut String, name: &str, value: &str) {
    text.push(' ');
    text.push_str(name);
    text.push_str("=\"");
    tag::push_escaped(text, value);
    text.push('"');
}

/// A list of numbers with others in their places; what stays the same stays as it is written. None for other texts.
fn with_numbers(old: &str, new: &str) -> Option<String> {
    let number = |word: &str| word.parse::<f64>().ok();
    let wanted: Vec<(&str, f64)> = new
        .split_ascii_whitespace()
        .map(|word| Some((word, number(word)?)))
        .collect::<Option<_>>()?;
    let mut wanted = wanted.into_iter();
    let mut result = String::new();
    let mut rest = old;
    while let Some(start) = rest.find(|c: char| !c.is_ascii_whitespace()) {
        let (space, from) = rest.split_at(start);
        let end = from
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        let known = number(word)?;
        result.push_str(space);
        match wanted.next() {
            Some((text, value)) if (value - known).abs() > SAME * value.abs() => {
                result.push_str(text);
            }
            _ => result.push_str(word),
        }
        rest = after;
    }
    for (text, _) in wanted {
        result.push(' ');
        result.push_str(text);
    }
    result.push_str(rest);
    Some(result)
}
