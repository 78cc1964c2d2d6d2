//! Attributes that are set at an element, or taken from it.

use super::ORIENTATIONS;
use super::tag::Tag;
use crate::mjcf::write::numbers_text;

/// What changes at a start tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Names and values, not escaped.
    pub(super) set: Vec<(String, String)>,
    /// Names of those that go.
    pub(super) removed: Vec<String>,
    /// The tag's other name.
    pub(super) tag: Option<&'static str>,
}

impl Attributes {
    /// What the second tag says and the first does not.
    pub(super) fn between(before: Tag, after: Tag) -> Self {
        let before = before.into_attributes();
        let after = after.into_attributes().into_iter();
        let mut changes = Self {
            set: after.filter(|one| !before.contains(one)).collect(),
            ..Self::default()
        };
        if changes.has("quat") {
            changes.only_quaternion();
        }
        changes
    }

    /// One text.
    pub(super) fn text(name: &str, value: &str) -> Self {
        let mut changes = Self::default();
        changes.set_text(name, value);
        changes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.set.iter().any(|(own, _)| own == name)
    }

    pub(super) fn set_text(&mut self, name: &str, value: &str) {
        self.set.retain(|(own, _)| own != name);
        self.set.push((name.to_owned(), value.to_owned()));
    }

    pub(super) fn set_numbers(&mut self, name: &str, values: &[f64]) {
        self.set_text(name, &numbers_text(values));
        if name == "quat" {
            self.only_quaternion();
        }
    }

    /// Takes one of the changes back, and returns whether it was one.
    pub(super) fn take(&mut self, name: &str) -> bool {
        let had = self.has(name);
        self.set.retain(|(own, _)| own != name);
        had
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.removed.push(name.to_owned());
    }

    pub(super) fn rename(&mut self, tag: &'static str) {
        self.tag = Some(tag);
    }

    /// An orientation is given in one way.
    fn only_quaternion(&mut self) {
        let others = ORIENTATIONS[1..].iter().map(|&other| other.to_owned());
        self.removed.extend(others);
        self.removed.sort();
        self.removed.dedup();
    }
}
