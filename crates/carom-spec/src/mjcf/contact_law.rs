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
//! (x y z of all points in the geom's frame), or `grid` (spacing) and `faces`. Laws of forces take `patch`, the cells along
//! the side of a face over which boxes touch.

use super::codes;
use super::extension::{self, Data, Entry, Extension};
use super::write::numbers_text;
use crate::model_spec::{
    ContactLaw, ContactLawSpec, ContactPoints, LawKind, LawValue, ModelSpec, Reference,
};

/// The family of the texts.
const FAMILY: &str = "contact";

/// Spellings of the faces of a box.
const FACES: [&str; 6] = ["-x", "+x", "-y", "+y", "-z", "+z"];

const COMMON_KEYS: [&str; 7] = ["law", "geom1", "geom2", "points", "grid", "faces", "patch"];

impl Extension<'_, '_> {
    /// Reads a contact law.
    pub(super) fn read_contact_law(&self, spec: &mut ModelSpec) {
        let (name, label) = (self.name, self.label);
        if spec.contact_laws.iter().any(|law| law.label == label) {
            let message = format!("two contact laws are called '{name}'");
            let problems = &self.reader.problems;
            problems.error(codes::REPEATED_NAME, self.place, message);
        }
        let law = self.contact_law();
        if (law.geom1.is_none()) != label.is_empty() {
            let message = if label.is_empty() {
                format!("'{name}' holds for the whole model and cannot have 'geom1'")
            } else {
                format!("contact law '{name}' does not say which geom it is for")
            };
            let help = "call it 'carom/contact/<label>' and give it a 'geom1'";
            self.refuse(message, help);
            return;
        }
        spec.contact_laws.push(law);
    }

    /// All that the text says.
    fn contact_law(&self) -> ContactLawSpec {
        let all = LawKind::ALL;
        let kind = self.kind(("law", "a contact law"), all, |kind| {
            kind.description().name
        });
        // Soft where it is not known.
        let kind = kind.unwrap_or_default();
        let own = kind.description().numbers.iter().map(|number| number.name);
        self.check_keys("contact law", &COMMON_KEYS.into_iter().chain(own));
        ContactLawSpec {
            label: self.label.to_owned(),
            span: self.span,
            law: self.with_numbers(kind),
            geom1: self.reference("geom1", "geom"),
            geom2: self.geom2(),
            points: self.points(),
        }
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

    fn geom2(&self) -> Option<Reference> {
        let entry = self.find("geom2")?;
        if self.find("geom1").is_none() {
            self.problem(entry.key_span, "'geom2' needs a 'geom1'");
        }
        self.reference("geom2", "geom")
    }

    fn points(&self) -> ContactPoints {
        let (points, grid, faces) = (self.find("points"), self.find("grid"), self.find("faces"));
        for entry in [points, grid].into_iter().flatten() {
            if self.find("geom1").is_none() {
                self.problem(entry.key_span, format!("'{}' needs a 'geom1'", entry.key));
            }
        }
        if self.find("patch").is_some() {
            for entry in [points, grid, faces].into_iter().flatten() {
                let message = format!("'{}' and 'patch' exclude each other", entry.key);
                self.problem(entry.key_span, message);
            }
            let mut cells = 0;
            self.count("patch", &mut cells);
            return ContactPoints::Patch { cells };
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
}

/// Name and text of the element that says what the law says.
pub(super) fn write(law: &ContactLawSpec) -> (String, String) {
    let mut text = Data::default();
    text.law(law.law);
    for (key, geom) in [("geom1", &law.geom1), ("geom2", &law.geom2)] {
        if let Some(geom) = geom {
            text.push(key, &geom.name);
        }
    }
    text.points(&law.points);
    (extension::name(FAMILY, &law.label), text.0)
}

impl Data {
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
            ContactPoints::Patch { cells } => self.push("patch", &cells.to_string()),
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
