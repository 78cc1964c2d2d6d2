//! Typed access to the attributes of an element; whatever cannot be read is reported.

use super::codes;
use super::problems::Problems;
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::model_spec::Reference;
use crate::span::Span;
use crate::xml::{Attribute, Element};

/// The attributes of one element, with the list that problems go to.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'r, 't> {
    pub(crate) element: Element<'t>,
    pub(crate) problems: &'r Problems<'r>,
}

/// A keyword type with its spellings in MJCF.
pub(crate) trait Keyword: Copy + 'static {
    /// Spellings and values.
    const WORDS: &'static [(&'static str, Self)];
}

/// Which numbers an attribute may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Finite ones.
    Finite,
    /// Also infinite ones.
    Extended,
}

/// A value, or the problem with its text.
pub(super) type Parsed<T> = Result<T, Box<Diagnostic>>;

/// A value that can be read from the text of an attribute.
pub(crate) trait FromAttribute: Sized {
    /// The value; `None` when the attribute is empty, which counts as absent.
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>>;
}

/// One attribute of an element.
pub(crate) struct AttributeText<'e, 't> {
    element: Element<'t>,
    attribute: &'e Attribute<'t>,
}

impl<'t> AttributeText<'_, 't> {
    fn value(&self) -> &'t str {
        self.attribute.value()
    }

    fn error(&self, code: &'static str, message: &str) -> Diagnostic {
        let (name, tag) = (self.attribute.name(), self.element.tag());
        Diagnostic::error(code, format!("'{name}' of <{tag}> {message}"))
            .at(self.attribute.value_span())
    }

    /// Words of the value with their places.
    fn words(&self) -> impl Iterator<Item = (&'t str, Span)> {
        let value = self.value();
        let attribute = *self.attribute;
        value.split_ascii_whitespace().map(move |word| {
            let start = word.as_ptr() as usize - value.as_ptr() as usize;
            (word, attribute.part_span(start, start + word.len()))
        })
    }

    fn numbers(&self, allowed: Numbers, most: usize) -> Parsed<Vec<f64>> {
        let mut list = Vec::new();
        for (word, place) in self.words() {
            if list.len() == most {
                return Err(self.too_many(most).into());
            }
            let number = parse_number(word).map_err(|error| self.bad_number(error, word, place))?;
            let fits = number.is_finite() || (allowed == Numbers::Extended && !number.is_nan());
            if !fits {
                return Err(self.bad_number(NumberError::NotFinite, word, place).into());
            }
            list.push(number);
        }
        Ok(list)
    }

    fn integers(&self, most: usize) -> Parsed<Vec<i32>> {
        let mut list = Vec::new();
        for (word, place) in self.words() {
            if list.len() == most {
                return Err(self.too_many(most).into());
            }
            let number = word.parse::<i32>().map_err(|_| {
                let error = self
                    .error(codes::BAD_NUMBER, "must be an integer")
                    .at(place);
                match word.parse::<f64>() {
                    Ok(_) => error.label("write it without a fraction, within 32 bits"),
                    Err(_) => error.label("not an integer"),
                }
            })?;
            list.push(number);
        }
        Ok(list)
    }

    fn bad_number(&self, error: NumberError, word: &str, place: Span) -> Diagnostic {
        match error {
            NumberError::NotANumber => {
                let diagnostic = self.error(codes::BAD_NUMBER, "must hold numbers").at(place);
                if word.contains(',') {
                    diagnostic.label("numbers are separated by spaces, not commas")
                } else {
                    diagnostic.label("not a number")
                }
            }
            NumberError::TooLarge => {
                let message = "holds a number that is too large";
                self.error(codes::NUMBER_SIZE, message).at(place)
            }
            NumberError::NotFinite => self
                .error(codes::NUMBER_SIZE, "must hold finite numbers")
                .at(place),
        }
    }

    fn too_many(&self, most: usize) -> Diagnostic {
        let found = self.value().split_ascii_whitespace().count();
        self.count_error(&format!("at most {most}"), found)
    }

    fn count_error(&self, expected: &str, found: usize) -> Diagnostic {
        let message = format!("needs {expected} {}, found {found}", plural(expected));
        self.error(codes::VALUE_COUNT, &message)
    }
}

fn plural(expected: &str) -> &'static str {
    if expected == "1" || expected.ends_with(" 1") {
        "value"
    } else {
        "values"
    }
}

#[derive(Clone, Copy)]
enum NumberError {
    NotANumber,
    TooLarge,
    NotFinite,
}

/// A decimal number; infinities and NaN are recognised, so that the caller can decide.
fn parse_number(word: &str) -> Result<f64, NumberError> {
    let number: f64 = word.parse().map_err(|_| NumberError::NotANumber)?;
    let written_out = word.bytes().any(|byte| byte.is_ascii_digit());
    if written_out && number.is_infinite() {
        return Err(NumberError::TooLarge);
    }
    Ok(number)
}

impl<'r, 't> Attributes<'r, 't> {
    pub(crate) fn new(element: Element<'t>, problems: &'r Problems<'r>) -> Self {
        Self { element, problems }
    }

    /// Sets `target` when the attribute is present and right; true then.
    pub(crate) fn set<T: FromAttribute>(&self, name: &str, target: &mut T) -> bool {
        match self.get(name) {
            Some(value) => {
                *target = value;
                true
            }
            None => false,
        }
    }

    /// The value of an attribute that is present and right.
    pub(crate) fn get<T: FromAttribute>(&self, name: &str) -> Option<T> {
        let attribute = self.element.attribute(name)?;
        let text = AttributeText {
            element: self.element,
            attribute: &attribute,
        };
        self.report(T::parse(&text)).flatten()
    }

    /// The value of an attribute that has to be there.
    pub(crate) fn require<T: FromAttribute>(&self, name: &str) -> Option<T> {
        if self
            .element
            .value(name)
            .is_none_or(|value| value.trim().is_empty())
        {
            self.missing(name);
            return None;
        }
        self.get(name)
    }

    /// Reports that an attribute is missing.
    pub(crate) fn missing(&self, name: &str) {
        let message = format!("<{}> needs the attribute '{name}'", self.element.tag());
        self.problems
            .error(codes::MISSING_ATTRIBUTE, self.element.span(), message);
    }

    /// Sets the first entries of `target` from one to N numbers; the count found.
    pub(super) fn set_leading<const N: usize>(&self, name: &str, target: &mut [f64; N]) -> usize {
        let Some(attribute) = self.element.attribute(name) else {
            return 0;
        };
        let text = AttributeText {
            element: self.element,
            attribute: &attribute,
        };
        let list = self
            .report(text.numbers(Numbers::Finite, N))
            .unwrap_or_default();
        target[..list.len()].copy_from_slice(&list);
        list.len()
    }

    /// Sets a pair of numbers that may be infinite.
    pub(super) fn set_range(&self, name: &str, target: &mut [f64; 2]) -> bool {
        let Some(attribute) = self.element.attribute(name) else {
            return false;
        };
        let text = AttributeText {
            element: self.element,
            attribute: &attribute,
        };
        let range = self
            .report(fixed_numbers(&text, Numbers::Extended))
            .flatten();
        if let Some(range) = range {
            *target = range;
        }
        range.is_some()
    }

    /// Several different keywords, in the order of the file.
    pub(super) fn keywords<K: Keyword>(&self, name: &str) -> Option<Vec<K>> {
        let attribute = self.element.attribute(name)?;
        let text = AttributeText {
            element: self.element,
            attribute: &attribute,
        };
        let mut found: Vec<usize> = Vec::new();
        for (word, place) in text.words() {
            let Some(index) = K::WORDS.iter().position(|(key, _)| *key == word) else {
                self.problems.push(unknown_keyword::<K>(&text, word, place));
                continue;
            };
            if found.contains(&index) {
                let message = format!("holds '{word}' twice");
                self.problems
                    .push(text.error(codes::BAD_KEYWORD, &message).at(place));
                continue;
            }
            found.push(index);
        }
        if !found.is_sorted() {
            let order: Vec<&str> = K::WORDS.iter().map(|(key, _)| *key).collect();
            let message = "must hold its words in their order";
            let help = format!("the order is {}", order.join(", "));
            self.problems
                .push(text.error(codes::BAD_KEYWORD, message).help(help));
        }
        Some(found.into_iter().map(|index| K::WORDS[index].1).collect())
    }

    /// True when the attribute is written, whatever its value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.element.attribute(name).is_some()
    }

    /// Place of an attribute's value, or of the element when it is absent.
    pub(crate) fn place(&self, name: &str) -> Span {
        self.element
            .attribute(name)
            .map_or_else(|| self.element.span(), Attribute::value_span)
    }

    /// Reports a problem with the value of an attribute.
    pub(crate) fn error(&self, code: &'static str, name: &str, message: &str) {
        let text = format!("'{name}' of <{}> {message}", self.element.tag());
        self.problems.error(code, self.place(name), text);
    }

    /// Reports when more than one of the attributes is written.
    pub(super) fn exclusive(&self, names: &[&str]) {
        let written: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| self.has(name))
            .collect();
        if let [first, second, ..] = written[..] {
            let tag = self.element.tag();
            let message = format!("<{tag}> cannot have both '{first}' and '{second}'");
            let place = self
                .element
                .attribute(second)
                .map_or(self.element.span(), Attribute::name_span);
            self.problems.error(codes::EXCLUSIVE, place, message);
        }
    }

    fn report<T>(&self, result: Parsed<T>) -> Option<T> {
        result
            .map_err(|diagnostic| self.problems.push(*diagnostic))
            .ok()
    }
}

fn fixed_numbers<const N: usize>(
    text: &AttributeText<'_, '_>,
    allowed: Numbers,
) -> Parsed<Option<[f64; N]>> {
    let found = text.value().split_ascii_whitespace().count();
    if found == 0 {
        return Ok(None);
    }
    if found != N {
        return Err(text.count_error(&N.to_string(), found).into());
    }
    let list = text.numbers(allowed, N)?;
    Ok(list.try_into().ok())
}

fn unknown_keyword<K: Keyword>(
    text: &AttributeText<'_, '_>,
    word: &str,
    place: Span,
) -> Diagnostic {
    let words: Vec<&str> = K::WORDS.iter().map(|(key, _)| *key).collect();
    let message = format!("cannot be '{word}'");
    let diagnostic = text.error(codes::BAD_KEYWORD, &message).at(place);
    let diagnostic = diagnostic.label(format!("expected one of: {}", words.join(", ")));
    match nearest_name(word, words.iter().copied()) {
        Some(near) => diagnostic.help(format!("did you mean '{near}'?")),
        None => diagnostic,
    }
}

impl<K: Keyword> FromAttribute for K {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        let word = text.value();
        match K::WORDS.iter().find(|(key, _)| *key == word) {
            Some((_, value)) => Ok(Some(*value)),
            None => Err(unknown_keyword::<K>(text, word, text.attribute.value_span()).into()),
        }
    }
}

impl Keyword for bool {
    const WORDS: &'static [(&'static str, Self)] = &[("false", false), ("true", true)];
}

/// `true`, `false` or `auto`, which is `None`.
impl Keyword for Option<bool> {
    const WORDS: &'static [(&'static str, Self)] =
        &[("false", Some(false)), ("true", Some(true)), ("auto", None)];
}

impl FromAttribute for f64 {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        Ok(fixed_numbers::<1>(text, Numbers::Finite)?.map(|[number]| number))
    }
}

impl<const N: usize> FromAttribute for [f64; N] {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        fixed_numbers(text, Numbers::Finite)
    }
}

impl FromAttribute for Vec<f64> {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        let list = text.numbers(Numbers::Finite, usize::MAX)?;
        Ok((!list.is_empty()).then_some(list))
    }
}

impl FromAttribute for Vec<i32> {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        let list = text.integers(usize::MAX)?;
        Ok((!list.is_empty()).then_some(list))
    }
}

impl<const N: usize> FromAttribute for [i32; N] {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        let found = text.value().split_ascii_whitespace().count();
        if found == 0 {
            return Ok(None);
        }
        if found != N {
            return Err(text.count_error(&N.to_string(), found).into());
        }
        Ok(text.integers(N)?.try_into().ok())
    }
}

impl FromAttribute for i32 {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        Ok(<[i32; 1]>::parse(text)?.map(|[number]| number))
    }
}

/// Counts: integers that are not negative.
impl FromAttribute for u32 {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        let Some(number) = i32::parse(text)? else {
            return Ok(None);
        };
        match u32::try_from(number) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(text.error(codes::VALUE_RANGE, "cannot be negative").into()),
        }
    }
}

impl FromAttribute for String {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        Ok(Some(text.value().to_owned()))
    }
}

/// The name of another element; an empty one refers to nothing.
impl FromAttribute for Reference {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        let name = text.value();
        Ok((!name.is_empty()).then(|| Reference {
            name: name.to_owned(),
            span: text.attribute.value_span(),
        }))
    }
}

/// A reference that may be absent; an empty one removes that of the default class.
impl FromAttribute for Option<Reference> {
    fn parse(text: &AttributeText<'_, '_>) -> Parsed<Option<Self>> {
        Reference::parse(text).map(Some)
    }
}
