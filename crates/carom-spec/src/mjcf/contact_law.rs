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
//! | law | keys |
//! |---|---|
//! | `soft` | – |
//! | `complementarity` | `restitution`, `restitution_speed`, `baumgarte` (α and β), `mixing`, `tolerance`, `iterations` |
//! | `hunt_crossley` | `stiffness`, `exponent`, `dissipation`, `transition_speed`, `static_ratio`, `viscous`, `viscous_force` |
//! | `impulse` | `restitution`, `impacts` (the most in one step) |
//! | any, with `geom1` | `points` (x y z of all points in the geom's frame), or `grid` (spacing) and `faces` |

use super::Reader;
use super::codes;
use super::write::numbers_text;
use crate::diagnostic::{Diagnostic, nearest_name};
use crate::model_spec::{
    ComplementaritySpec, ContactLaw, ContactLawSpec, ContactPoints, HuntCrossleySpec, ImpulseSpec,
    ModelSpec, Reference,
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
const COMPLEMENTARITY_KEYS: [&str; 6] = [
    "restitution",
    "restitution_speed",
    "baumgarte",
    "mixing",
    "tolerance",
    "iterations",
];
const HUNT_CROSSLEY_KEYS: [&str; 7] = [
    "stiffness",
    "exponent",
    "dissipation",
    "transition_speed",
    "static_ratio",
    "viscous",
    "viscous_force",
];

const IMPULSE_KEYS: [&str; 2] = ["restitution", "impacts"];

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
        let (law, keys) = self.kind();
        self.check_keys(keys);
        ContactLawSpec {
            label: label.to_owned(),
            span: self.span,
            law,
            geom1: self.reference("geom1"),
            geom2: self.geom2(),
            points: self.points(),
        }
    }

    /// The law, and the keys that it knows beyond the common ones.
    fn kind(&self) -> (ContactLaw, &'static [&'static str]) {
        let Some(entry) = self.find("law") else {
            let message = "a contact law needs the key 'law'";
            self.problem(self.span, message);
            return (ContactLaw::Soft, &[]);
        };
        match entry.value {
            "soft" => (ContactLaw::Soft, &[]),
            "complementarity" => (
                ContactLaw::Complementarity(self.complementarity()),
                &COMPLEMENTARITY_KEYS,
            ),
            "hunt_crossley" => (
                ContactLaw::HuntCrossley(self.hunt_crossley()),
                &HUNT_CROSSLEY_KEYS,
            ),
            "impulse" => (ContactLaw::Impulse(self.impulse()), &IMPULSE_KEYS),
            other => {
                let message = format!("'{other}' is not a contact law");
                let diagnostic = Diagnostic::error(codes::CONTACT_LAW, message)
                    .at(entry.value_span)
                    .label("expected one of: soft, complementarity, hunt_crossley, impulse");
                self.reader.problems.push(diagnostic);
                (ContactLaw::Soft, &[])
            }
        }
    }

    fn complementarity(&self) -> ComplementaritySpec {
        let mut law = ComplementaritySpec::default();
        self.number("restitution", &mut law.restitution);
        self.number("restitution_speed", &mut law.restitution_speed);
        self.numbers("baumgarte", &mut law.baumgarte);
        self.number("mixing", &mut law.mixing);
        self.number("tolerance", &mut law.tolerance);
        self.count("iterations", &mut law.iterations);
        law
    }

    fn impulse(&self) -> ImpulseSpec {
        let mut law = ImpulseSpec::default();
        self.number("restitution", &mut law.restitution);
        self.count("impacts", &mut law.impacts);
        law
    }

    fn hunt_crossley(&self) -> HuntCrossleySpec {
        let mut law = HuntCrossleySpec::default();
        self.number("stiffness", &mut law.stiffness);
        self.number("exponent", &mut law.exponent);
        self.number("dissipation", &mut law.dissipation);
        self.number("transition_speed", &mut law.transition_speed);
        self.number("static_ratio", &mut law.static_ratio);
        self.number("viscous", &mut law.viscous);
        self.number("viscous_force", &mut law.viscous_force);
        law
    }

    /// Reports keys that neither all laws know nor this one.
    fn check_keys(&self, keys: &[&'static str]) {
        let known = || COMMON_KEYS.iter().chain(keys).copied();
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

    fn numbers<const N: usize>(&self, key: &str, target: &mut [f64; N]) {
        let Some(entry) = self.find(key) else {
            return;
        };
        match self.parse(entry).try_into() {
            Ok(numbers) => *target = numbers,
            Err(found) => {
                let (found, plural) = (found.len(), if N == 1 { "" } else { "s" });
                let message = format!("'{key}' needs {N} number{plural}, found {found}");
                self.problem(entry.value_span, message);
            }
        }
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
    match &law.law {
        ContactLaw::Soft => text.push("law", "soft"),
        ContactLaw::Complementarity(law) => text.complementarity(law),
        ContactLaw::HuntCrossley(law) => text.hunt_crossley(law),
        ContactLaw::Impulse(law) => text.impulse(law),
    }
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

    fn complementarity(&mut self, law: &ComplementaritySpec) {
        let default = ComplementaritySpec::default();
        self.push("law", "complementarity");
        self.numbers("restitution", &[law.restitution], &[default.restitution]);
        let (speed, usual) = (law.restitution_speed, default.restitution_speed);
        self.numbers("restitution_speed", &[speed], &[usual]);
        self.numbers("baumgarte", &law.baumgarte, &default.baumgarte);
        self.numbers("mixing", &[law.mixing], &[default.mixing]);
        self.numbers("tolerance", &[law.tolerance], &[default.tolerance]);
        if law.iterations != default.iterations {
            self.push("iterations", &law.iterations.to_string());
        }
    }

    fn impulse(&mut self, law: &ImpulseSpec) {
        let default = ImpulseSpec::default();
        self.push("law", "impulse");
        self.numbers("restitution", &[law.restitution], &[default.restitution]);
        if law.impacts != default.impacts {
            self.push("impacts", &law.impacts.to_string());
        }
    }

    fn hunt_crossley(&mut self, law: &HuntCrossleySpec) {
        let default = HuntCrossleySpec::default();
        self.push("law", "hunt_crossley");
        for (key, value, usual) in [
            ("stiffness", law.stiffness, default.stiffness),
            ("exponent", law.exponent, default.exponent),
            ("dissipation", law.dissipation, default.dissipation),
            (
                "transition_speed",
                law.transition_speed,
                default.transition_speed,
            ),
            ("static_ratio", law.static_ratio, default.static_ratio),
            ("viscous", law.viscous, default.viscous),
            ("viscous_force", law.viscous_force, default.viscous_force),
        ] {
            self.numbers(key, &[value], &[usual]);
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
