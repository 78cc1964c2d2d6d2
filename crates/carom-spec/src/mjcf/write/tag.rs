//! XML output: tags with attributes that are left out when they hold the default.

use std::fmt::Write as _;

use super::super::attribute::Keyword;
use crate::model_spec::Reference;

/// A start tag that is being written.
pub(in super::super) struct Tag {
    name: &'static str,
    /// Names and values, not escaped yet.
    attributes: Vec<(String, String)>,
}

impl Tag {
    pub(in super::super) fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: Vec::new(),
        }
    }

    /// True when no attribute was written.
    pub(super) fn is_bare(&self) -> bool {
        self.attributes.is_empty()
    }

    /// Names and values of the attributes.
    pub(in super::super) fn into_attributes(self) -> Vec<(String, String)> {
        self.attributes
    }

    fn attribute(mut self, name: &str, value: &str) -> Self {
        self.attributes.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A text, unless it is empty.
    pub(in super::super) fn text(self, name: &str, value: &str) -> Self {
        if value.is_empty() {
            self
        } else {
            self.attribute(name, value)
        }
    }

    /// A text, unless it is the default.
    pub(super) fn text_unless(self, name: &str, value: &str, default: &str) -> Self {
        if value == default {
            self
        } else {
            self.attribute(name, value)
        }
    }

    /// The name of another element, if there is one.
    pub(super) fn reference<'a>(
        self,
        name: &str,
        reference: impl Into<Option<&'a Reference>>,
    ) -> Self {
        match reference.into() {
            Some(reference) => self.attribute(name, &reference.name),
            None => self,
        }
    }

    /// A number, always.
    pub(super) fn number(self, name: &str, value: f64) -> Self {
        self.attribute(name, &number_text(value))
    }

    /// A number, unless it is the default.
    pub(super) fn number_unless(self, name: &str, value: f64, default: f64) -> Self {
        if value == default {
            self
        } else {
            self.number(name, value)
        }
    }

    /// An integer, unless it is the default.
    pub(super) fn integer_unless(
        self,
        name: &str,
        value: impl Into<i64>,
        default: impl Into<i64>,
    ) -> Self {
        let (value, default) = (value.into(), default.into());
        if value == default {
            self
        } else {
            self.attribute(name, &value.to_string())
        }
    }

    /// Numbers, unless there are none.
    pub(super) fn numbers(self, name: &str, values: &[f64]) -> Self {
        if values.is_empty() {
            self
        } else {
            self.attribute(name, &numbers_text(values))
        }
    }

    /// All numbers, unless they are the default.
    pub(super) fn numbers_unless(self, name: &str, values: &[f64], default: &[f64]) -> Self {
        if values == default {
            self
        } else {
            self.numbers(name, values)
        }
    }

    /// The numbers up to the last that differs from the default; nothing when none does.
    pub(super) fn leading_unless(self, name: &str, values: &[f64], default: &[f64]) -> Self {
        let differs = |index: &usize| default.get(*index) != Some(&values[*index]);
        match (0..values.len()).rfind(differs) {
            Some(last) => self.numbers(name, &values[..=last]),
            None => self,
        }
    }

    /// A keyword, unless it is the default.
    pub(super) fn word_unless<K: Keyword + PartialEq>(
        self,
        name: &str,
        value: K,
        default: K,
    ) -> Self {
        if value == default {
            self
        } else {
            self.word(name, value)
        }
    }

    /// A keyword, always.
    pub(in super::super) fn word<K: Keyword + PartialEq>(self, name: &str, value: K) -> Self {
        match K::WORDS.iter().find(|(_, candidate)| *candidate == value) {
            Some((word, _)) => self.attribute(name, word),
            None => self,
        }
    }

    /// Words separated by spaces.
    pub(super) fn words(self, name: &str, words: &[&str]) -> Self {
        if words.is_empty() {
            self
        } else {
            self.attribute(name, &words.join(" "))
        }
    }
}

/// Indented text of nested elements.
#[derive(Default)]
pub(super) struct Output {
    text: String,
    open: Vec<&'static str>,
}

/// The text of a start tag without its end.
pub(in super::super) fn tag_text(tag: &Tag) -> String {
    let mut text = format!("<{}", tag.name);
    for (name, value) in &tag.attributes {
        // Writing to a String cannot fail.
        let _ = write!(text, " {name}=\"");
        push_escaped(&mut text, value);
        text.push('"');
    }
    text
}

impl Output {
    fn indent(&mut self) {
        for _ in &self.open {
            self.text.push_str("  ");
        }
    }

    /// An element without children.
    pub(super) fn empty(&mut self, tag: &Tag) {
        self.indent();
        self.text.push_str(&tag_text(tag));
        self.text.push_str("/>\n");
    }

    /// An element without children, unless it has no attributes.
    pub(super) fn unless_bare(&mut self, tag: &Tag) {
        if !tag.is_bare() {
            self.empty(tag);
        }
    }

    /// Starts an element with children.
    pub(super) fn open(&mut self, tag: &Tag) {
        self.indent();
        self.text.push_str(&tag_text(tag));
        self.text.push_str(">\n");
        self.open.push(tag.name);
    }

    /// Ends the innermost open element.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// An element with what `content` writes; nothing when that is nothing.
    pub(super) fn section(&mut self, name: &'static str, content: impl FnOnce(&mut Self)) {
        let before = self.text.len();
        self.open(&Tag::new(name));
        let inside = self.text.len();
        content(self);
        if self.text.len() == inside {
            self.open.pop();
            self.text.truncate(before);
        } else {
            self.close();
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The fewest digits that read back to the same number.
pub(super) fn number_text(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

pub(in super::super) fn numbers_text(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|&value| number_text(value)).collect();
    texts.join(" ")
}

pub(in super::super) fn push_escaped(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            control if control.is_control() && control != '\0' => {
                let _ = write!(text, "&#{};", u32::from(control));
            }
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact() {
        let texts = [1.0, 0.1, -0.0, 1e300, 1.0 / 3.0, f64::INFINITY].map(number_text);
        assert_eq!(
            texts,
            ["1", "0.1", "-0", "1e300", "0.3333333333333333", "inf"]
        );
    }

    #[test]
    fn defaults_are_left_out_and_names_escaped() {
        let mut out = Output::default();
        let tag = Tag::new("a")
            .text("name", "x<\"&\n")
            .number_unless("b", 1.0, 1.0)
            .leading_unless("c", &[2.0, 0.0, 0.0], &[1.0, 0.0, 0.0])
            .numbers_unless("d", &[1.0, 2.0], &[0.0, 2.0]);
        out.empty(&tag);
        out.section("nothing", |_| {});
        assert_eq!(
            out.finish(),
            "<a name=\"x&lt;&quot;&amp;&#10;\" c=\"2\" d=\"1 2\"/>\n"
        );
    }
}
