//! Contact laws in `<custom>`: texts that MuJoCo reads and ignores.
//!
//! ```xml
//! <custom>
//!   <text name="carom/contact" data="law=complementarity; restitution=0.5"/>
//!   <text name="carom/contact/slab" data="law=hunt_crossley; geom1=slab; geom2=table; grid=0.02; faces=-z"/>
//! </custom>
//! ```
//!
//! The text of that name alone gives the law of the whole model, the others (with a label after a slash) those of one
//! geom (`geom1`) or a pair (`geom1`, `geom2`). Where several fit, a pair beats a geom, a geom beats the model, and of
//! equals the later one wins. A text is a list of `key=value` between semicolons.
//!
//! The names of laws are those of [`LawKind`], their keys those of their numbers. With `geom1`, any law takes `points`
//! (x y z of all points in the geom's frame), or `grid` (spacing) and `faces`.

use super::Reader;
use super::codes;
use super::write::numbers_text;
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::model_spec::{
    ContactLaw, ContactLawSpec, ContactPoints, LawKind, LawValue, ModelSpec, Reference,
};
use crate::span::Span;
use crate::xml::{Attribute, Element};

/// Name of the text that gives the law of the whole model; others have a slash and a label behind it.
const NAME: &str = "carom/contact";

/// Names that start so are carom's.
const OURS: &str = "carom/";

/// Spellings of the faces of a box.
const FACES: [&str; 6] = ["-x", "+x", "-y", "+y", "-z", "+z"];

const COMMON_KEYS: [&str; 6] = ["law", "geom1", "geom2", "points", "grid", "faces"];

/// One `key=value` with the places of both.
#[derive(Clone, Copy)]
struct Entry<'t> {
    key: &'t str,
    key_span: Span,
    value: &'t str,
    value_span: Span,
}

/// The entries of a text, and where its problems go.
struct Entries<'r, 't> {
    reader: &'r Reader<'r>,
    list: Vec<Entry<'t>>,
    span: Span,
}

impl Reader<'_> {
    /// Reads a text if its name is one of carom's; false for all others.
    pub(super) fn read_contact_law(
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
        let label = match name.strip_prefix(NAME) {
            Some("") => "",
            Some(label) if label.len() > 1 && label.starts_with('/') => &label[1..],
            _ => {
                let message = format!("'{OURS}{rest}' is not a text that carom knows");
                let help = format!("a contact law is called '{NAME}' or '{NAME}/<label>'");
                let diagnostic = Diagnostic::error(codes::CONTACT_LAW, message);
                self.problems.push(diagnostic.at(place).help(help));
                return true;
            }
        };
        if spec.contact_laws.iter().any(|law| law.label == label) {
            let message = format!("two contact laws are called '{name}'");
            self.problems.error(codes::REPEATED_NAME, place, message);
        }
        let Some(data) = element.attribute("data") else {
            self.attributes(element).missing("data");
            return true;
        };
        let entries = Entries::new(self, data);
        let mut law = entries.law(label);
        law.span = element.span();
        if (law.geom1.is_none()) != label.is_empty() {
            let message = if label.is_empty() {
                format!("'{NAME}' holds for the whole model and cannot have 'geom1'")
            } else {
                format!("contact law '{name}' does not say which geom it is for")
            };
            let help = format!("call it '{NAME}/<label>' and give it a 'geom1'");
            let diagnostic = Diagnostic::error(codes::CONTACT_LAW, message);
            self.problems.push(diagnostic.at(place).help(help));
            return true;
        }
        spec.contact_laws.push(law);
        true
    }
}

impl<'r, 't> Entries<'r, 't> {
    fn new(reader: &'r Reader<'r>, data: Attribute<'t>) -> Self {
        let mut entries = Self {
            reader,
            list: Vec::new(),
            span: data.value_span(),
        };
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
                entries.problem(
                    place(part),
                    format!("'{part}' is not of the form key=value"),
                );
                continue;
            };
            let (key, value) = (key.trim(), value.trim());
            if entries.find(key).is_some() {
                entries.problem(place(key), format!("'{key}' is given twice"));
            }
            entries.list.push(Entry {
                key,
                key_span: place(key),
                value,
                value_span: place(value),
            });
        }
        entries
    }

    fn problem(&self, place: Span, message: impl Into<String>) {
        let problems = &self.reader.problems;
        problems.error(codes::CONTACT_LAW, place, message);
    }

    fn find(&self, key: &str) -> Option<&Entry<'t>> {
        self.list.iter().find(|entry| entry.key == key)
    }

    /// All that the text says.
    fn law(&self, label: &str) -> ContactLawSpec {
        let kind = self.kind();
        self.check_keys(kind);
        ContactLawSpec {
            label: label.to_owned(),
            span: self.span,
            law: self.with_numbers(kind),
            geom1: self.reference("geom1"),
            geom2: self.geom2(),
            points: self.points(),
        }
    }

    /// The kind of the law; soft where it is not known.
    fn kind(&self) -> LawKind {
        let Some(entry) = self.find("law") else {
            let message = "a contact law needs the key 'law'";
            self.problem(self.span, message);
            return LawKind::Soft;
        };
        LawKind::from_name(entry.value).unwrap_or_else(|| {
            let names: Vec<&str> = LawKind::ALL
                .iter()
                .map(|kind| kind.description().name)
                .collect();
            let message = format!("'{}' is not a contact law", entry.value);
            let diagnostic = Diagnostic::error(codes::CONTACT_LAW, message)
                .at(entry.value_span)
                .label(format!("expected one of: {}", names.join(", ")));
            self.reader.problems.push(diagnostic);
            LawKind::Soft
        })
    }

    /// A law with the numbers of the text.
    fn with_numbers(&self, kind: LawKind) -> ContactLaw {
        let mut law = ContactLaw::new(kind);
        for (number, value) in law.values() {
            match value {
                LawValue::Numbers(numbers) => self.numbers(number.name, numbers),
                LawValue::Count(count) => self.count(number.name, count),
            }
        }
        law
    }

    /// Reports keys that neither all laws know nor this one.
    fn check_keys(&self, kind: LawKind) {
        let own = kind.description().numbers.iter();
        let known = || {
            COMMON_KEYS
                .into_iter()
                .chain(own.clone().map(|number| number.name))
        };
        for entry in &self.list {
            if known().any(|key| key == entry.key) {
                continue;
            }
            let message = format!("this contact law has no '{}'", entry.key);
            let diagnostic = Diagnostic::error(codes::CONTACT_LAW, message).at(entry.key_span);
            let list: Vec<&str> = known().collect();
            self.reader
                .problems
                .push(match nearest_name(entry.key, known()) {
                    Some(near) => diagnostic.help(format!("did you mean '{near}'?")),
                    None => diagnostic.help(format!("it knows: {}", list.join(", "))),
                });
        }
    }

    fn reference(&self, key: &str) -> Option<Reference> {
        let entry = self.find(key)?;
        if entry.value.is_empty() {
            self.problem(entry.key_span, format!("'{key}' names no geom"));
            return None;
        }
        Some(Reference {
            name: entry.value.to_owned(),
            span: entry.value_span,
        })
    }

    fn geom2(&self) -> Option<Reference> {
        let entry = self.find("geom2")?;
        if self.find("geom1").is_none() {
            self.problem(entry.key_span, "'geom2' needs a 'geom1'");
        }
        self.reference("geom2")
    }

    fn points(&self) -> ContactPoints {
        let (points, grid, faces) = (self.find("points"), self.find("grid"), self.find("faces"));
        for entry in [points, grid].into_iter().flatten() {
            if self.find("geom1").is_none() {
                self.problem(entry.key_span, format!("'{}' needs a 'geom1'", entry.key));
            }
        }
        match (points, grid) {
            (Some(_), Some(grid)) => {
                self.problem(grid.key_span, "'grid' and 'points' exclude each other");
                ContactPoints::Shape
            }
            (Some(points), None) => self.list(points),
            (None, Some(_)) => {
                let mut spacing = 0.0;
                self.number("grid", &mut spacing);
                ContactPoints::Grid {
                    spacing,
                    faces: faces.map_or([true; 6], |entry| self.faces(entry)),
                }
            }
            (None, None) => {
                if let Some(faces) = faces {
                    self.problem(faces.key_span, "'faces' needs a 'grid'");
                }
                ContactPoints::Shape
            }
        }
    }

    fn list(&self, entry: &Entry<'_>) -> ContactPoints {
        let numbers = self.parse(entry);
        let (points, rest) = numbers.as_chunks::<3>();
        if points.is_empty() || !rest.is_empty() {
            self.problem(entry.value_span, "'points' needs x y z of each point");
        }
        ContactPoints::List(points.to_vec())
    }

    fn faces(&self, entry: &Entry<'_>) -> [bool; 6] {
        let mut chosen = [false; 6];
        for word in entry.value.split_ascii_whitespace() {
            if let Some(face) = FACES.iter().position(|face| *face == word) {
                chosen[face] = true;
            } else {
                let message = format!("'{word}' is not a face: -x, +x, -y, +y, -z or +z");
                self.problem(entry.value_span, message);
            }
        }
        chosen
    }

    fn count(&self, key: &str, target: &mut u32) {
        let Some(entry) = self.find(key) else {
            return;
        };
        match entry.value.parse() {
            Ok(count) => *target = count,
            Err(_) => self.problem(entry.value_span, format!("'{key}' must be a whole number")),
        }
    }

    fn number(&self, key: &str, target: &mut f64) {
        self.numbers(key, std::array::from_mut(target));
    }

    fn numbers(&self, key: &str, target: &mut [f64]) {
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

    fn parse(&self, entry: &Entry<'_>) -> Vec<f64> {
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

/// Name and text of the element that says what the law says.
pub(super) fn write(law: &ContactLawSpec) -> (String, String) {
    let name = match law.label.as_str() {
        "" => NAME.to_owned(),
        label => format!("{NAME}/{label}"),
    };
    let mut text = Text::default();
    text.law(law.law);
    for (key, geom) in [("geom1", &law.geom1), ("geom2", &law.geom2)] {
        if let Some(geom) = geom {
            text.push(key, &geom.name);
        }
    }
    text.points(&law.points);
    (name, text.0)
}

/// A text that grows entry by entry.
#[derive(Default)]
struct Text(String);

impl Text {
    fn push(&mut self, key: &str, value: &str) {
        if !self.0.is_empty() {
            self.0.push_str("; ");
        }
        self.0.push_str(key);
        self.0.push('=');
        self.0.push_str(value);
    }

    fn numbers(&mut self, key: &str, values: &[f64], default: &[f64]) {
        if values != default {
            self.push(key, &numbers_text(values));
        }
    }

    /// The law, and those of its numbers that a file has to give.
    fn law(&mut self, mut law: ContactLaw) {
        let kind = law.kind();
        let mut usual = ContactLaw::new(kind);
        self.push("law", kind.description().name);
        for ((number, value), (_, usual)) in law.values().into_iter().zip(usual.values()) {
            if value == usual {
                continue;
            }
            match value {
                LawValue::Numbers(numbers) => self.push(number.name, &numbers_text(numbers)),
                LawValue::Count(count) => self.push(number.name, &count.to_string()),
            }
        }
    }

    fn points(&mut self, points: &ContactPoints) {
        match points {
            ContactPoints::Shape => {}
            ContactPoints::List(list) => self.numbers("points", list.as_flattened(), &[]),
            ContactPoints::Grid { spacing, faces } => {
                self.numbers("grid", &[*spacing], &[]);
                let chosen = FACES.iter().zip(faces).filter(|(_, chosen)| **chosen);
                let words: Vec<&str> = chosen.map(|(face, _)| *face).collect();
                if words.len() < FACES.len() {
                    self.push("faces", &words.join(" "));
                }
            }
        }
    }
}
