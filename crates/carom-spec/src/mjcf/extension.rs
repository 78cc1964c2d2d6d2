//! Texts in `<custom>` that MuJoCo reads and ignores: how files say what MuJoCo has no words for.
//!
//! A text is called `carom/<family>` or `carom/<family>/<label>`. Its data are a list of `key=value` between semicolons:
//!
//! ```xml
//! <custom>
//!   <text name="carom/contact" data="law=complementarity; restitution=0.5"/>
//! </custom>
//! ```
//!
//! | family | says | described in |
//! |---|---|---|
//! | `collision` | maps of collisions; the label is the name of the map | [`collision_map`](super::collision_map) |
//! | `contact` | how contacts push | [`contact_law`](super::contact_law) |
//! | `joint` | laws of joints | [`joint_law`](super::joint_law) |
//! | `learned` | learned terms; the label is the name of the term | [`learned_term`](super::learned_term) |
//! | `sensor` | sensors that MuJoCo lacks; the label is the sensor's name | [`SensorRow`](crate::model_spec::SensorRow) |
//! | `simulation` | that the model was calibrated in continuous time | [`simulation`](super::simulation) |

use super::Reader;
use super::codes;
use super::write::numbers_text;
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::model_spec::{ModelSpec, Reference};
use crate::span::Span;
use crate::xml::{Attribute, Element};

/// Names that start so are carom's.
const OURS: &str = "carom/";

/// How texts that users write are called, for those that are none.
const FAMILIES: &str = "a contact law is called 'carom/contact' or 'carom/contact/<label>', \
    a law of a joint 'carom/joint/<label>', a learned term 'carom/learned/<name>', \
    a map of collisions 'carom/collision/<name>', a sensor 'carom/sensor/<name>'";

/// One `key=value` with the places of both.
#[derive(Clone, Copy)]
pub(super) struct Entry<'t> {
    pub(super) key: &'t str,
    pub(super) key_span: Span,
    pub(super) value: &'t str,
    pub(super) value_span: Span,
}

/// A text of carom's: its entries, and where its problems go.
pub(super) struct Extension<'r, 't> {
    pub(super) reader: &'r Reader<'r>,
    /// The whole name.
    pub(super) name: &'t str,
    /// What follows the family; empty if nothing does.
    pub(super) label: &'t str,
    /// Place of the name.
    pub(super) place: Span,
    /// Place of the start tag.
    pub(super) span: Span,
    /// Place of the data.
    pub(super) data_span: Span,
    list: Vec<Entry<'t>>,
}

impl Reader<'_> {
    /// Reads a text if its name is one of carom's; false for all others.
    pub(super) fn read_extension(
        &self,
        element: Element<'_>,
        name: &str,
        spec: &mut ModelSpec,
    ) -> bool {
        let Some(rest) = name.strip_prefix(OURS) else {
            return false;
        };
        let place = element
            .attribute("name")
            .map_or(element.span(), Attribute::value_span);
        let (family, label) = match rest.split_once('/') {
            Some((family, label)) => (family, Some(label)),
            None => (rest, None),
        };
        let is_known = match (family, label) {
            ("contact" | "simulation", None) => true,
            ("collision" | "contact" | "joint" | "learned" | "sensor", Some(label)) => {
                !label.is_empty()
            }
            _ => false,
        };
        if !is_known {
            let message = format!("'{name}' is not a text that carom knows");
            let diagnostic = Diagnostic::error(codes::EXTENSION, message);
            self.problems.push(diagnostic.at(place).help(FAMILIES));
            return true;
        }
        let Some(data) = element.attribute("data") else {
            self.attributes(element).missing("data");
            return true;
        };
        let mut extension = Extension {
            reader: self,
            name,
            label: label.unwrap_or_default(),
            place,
            span: element.span(),
            data_span: data.value_span(),
            list: Vec::new(),
        };
        extension.read_entries(data);
        match family {
            "collision" => extension.read_collision_map(spec),
            "contact" => extension.read_contact_law(spec),
            "joint" => extension.read_joint_law(spec),
            "learned" => extension.read_learned_term(spec),
            "simulation" => extension.read_simulation(spec),
            _ => extension.read_sensor(spec),
        }
        true
    }
}

impl<'t> Extension<'_, 't> {
    fn read_entries(&mut self, data: Attribute<'t>) {
        let text = data.value();
        let place = |part: &str| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            data.part_span(start, start + part.len())
        };
        for part in text
            .split(';')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let Some((key, value)) = part.split_once('=') else {
                let message = format!("'{part}' is not of the form key=value");
                self.problem(place(part), message);
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            if self.find(key).is_some() {
                self.problem(place(key), format!("'{key}' is given twice"));
            }
            self.list.push(Entry {
                key,
                key_span: place(key),
                value,
                value_span: place(value),
            });
        }
    }

    pub(super) fn problem(&self, place: Span, message: impl Into<String>) {
        let problems = &self.reader.problems;
        problems.error(codes::EXTENSION, place, message);
    }

    /// A problem of the text as a whole, with the way out.
    pub(super) fn refuse(&self, message: impl Into<String>, help: impl Into<String>) {
        let diagnostic = Diagnostic::error(codes::EXTENSION, message);
        self.reader
            .problems
            .push(diagnostic.at(self.place).help(help));
    }

    pub(super) fn find(&self, key: &str) -> Option<&Entry<'t>> {
        self.list.iter().find(|entry| entry.key == key)
    }

    /// The kind that an entry names, and a name of each kind for the message if there is none of that name.
    pub(super) fn kind<K: Copy>(
        &self,
        (key, what): (&str, &str),
        all: &[K],
        name: impl Fn(K) -> &'static str,
    ) -> Option<K> {
        let Some(entry) = self.find(key) else {
            self.problem(self.data_span, format!("{what} needs the key '{key}'"));
            return None;
        };
        let found = all.iter().copied().find(|&kind| name(kind) == entry.value);
        if found.is_none() {
            let names: Vec<&str> = all.iter().map(|&kind| name(kind)).collect();
            let message = format!("'{}' is not {what}", entry.value);
            let diagnostic = Diagnostic::error(codes::EXTENSION, message)
                .at(entry.value_span)
                .label(format!("expected one of: {}", names.join(", ")));
            self.reader.problems.push(diagnostic);
        }
        found
    }

    /// Reports keys that are not known.
    pub(super) fn check_keys<'k>(
        &self,
        what: &str,
        known: &(impl Iterator<Item = &'k str> + Clone),
    ) {
        for entry in &self.list {
            if known.clone().any(|key| key == entry.key) {
                continue;
            }
            let message = format!("this {what} has no '{}'", entry.key);
            let diagnostic = Diagnostic::error(codes::EXTENSION, message).at(entry.key_span);
            let list: Vec<&str> = known.clone().collect();
            self.reader
                .problems
                .push(match nearest_name(entry.key, known.clone()) {
                    Some(near) => diagnostic.help(format!("did you mean '{near}'?")),
                    None => diagnostic.help(format!("it knows: {}", list.join(", "))),
                });
        }
    }

    /// The element that an entry names.
    pub(super) fn reference(&self, key: &str, what: &str) -> Option<Reference> {
        let entry = self.find(key)?;
        if entry.value.is_empty() {
            self.problem(entry.key_span, format!("'{key}' names no {what}"));
            return None;
        }
        Some(Reference {
            name: entry.value.to_owned(),
            span: entry.value_span,
        })
    }

    pub(super) fn count(&self, key: &str, target: &mut u32) {
        let Some(entry) = self.find(key) else {
            return;
        };
        match entry.value.parse() {
            Ok(count) => *target = count,
            Err(_) => self.problem(entry.value_span, format!("'{key}' must be a whole number")),
        }
    }

    pub(super) fn number(&self, key: &str, target: &mut f64) {
        self.numbers(key, std::array::from_mut(target));
    }

    pub(super) fn numbers(&self, key: &str, target: &mut [f64]) {
        let Some(entry) = self.find(key) else {
            return;
        };
        let numbers = self.parse(entry);
        if numbers.len() == target.len() {
            target.copy_from_slice(&numbers);
            return;
        }
        let (needed, found) = (target.len(), numbers.len());
        let plural = if needed == 1 { "" } else { "s" };
        let message = format!("'{key}' needs {needed} number{plural}, found {found}");
        self.problem(entry.value_span, message);
    }

    pub(super) fn parse(&self, entry: &Entry<'_>) -> Vec<f64> {
        let mut numbers = Vec::new();
        for word in entry.value.split_ascii_whitespace() {
            match word.parse::<f64>() {
                Ok(number) if number.is_finite() => numbers.push(number),
                _ => self.problem(entry.value_span, format!("'{word}' is not a finite number")),
            }
        }
        numbers
    }
}

/// The data of a text, which grow entry by entry.
#[derive(Default)]
pub(super) struct Data(pub(super) String);

impl Data {
    pub(super) fn push(&mut self, key: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push_str("; ");
        }
        self.0.push_str(key);
        self.0.push('=');
        self.0.push_str(value);
    }

    pub(super) fn numbers(&mut self, key: &str, values: &[f64], default: &[f64]) {
        if values != default {
            self.push(key, &numbers_text(values));
        }
    }
}

/// The name of a text.
pub(super) fn name(family: &str, label: &str) -> String {
    match label {
        "" => format!("{OURS}{family}"),
        label => format!("{OURS}{family}/{label}"),
    }
}
