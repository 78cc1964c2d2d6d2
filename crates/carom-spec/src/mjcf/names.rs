//! The names in use, by kind of element.

use std::collections::BTreeMap;

use super::references::Named;
use crate::model_spec::ObjectKind;

/// How often each name is used.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    counts: BTreeMap<ObjectKind, BTreeMap<String, usize>>,
}

/// All ways to refer to a body mean the same names.
fn table(kind: ObjectKind) -> ObjectKind {
    match kind {
        ObjectKind::BodyInertial | ObjectKind::Subtree => ObjectKind::Body,
        other => other,
    }
}

impl Names {
    pub(super) fn contains(&self, kind: ObjectKind, name: &str) -> bool {
        self.counts
            .get(&table(kind))
            .is_some_and(|names| names.contains_key(name))
    }

    /// Adds a name; false when it was there before. Empty names do not count.
    pub(super) fn add(&mut self, kind: ObjectKind, name: &str) -> bool {
        if name.is_empty() {
            return true;
        }
        let names = self.counts.entry(table(kind)).or_default();
        let count = names.entry(name.to_owned()).or_insert(0);
        *count += 1;
        *count == 1
    }

    pub(super) fn remove(&mut self, kind: ObjectKind, name: &str) {
        let Some(names) = self.counts.get_mut(&table(kind)) else {
            return;
        };
        if let Some(count) = names.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                names.remove(name);
            }
        }
    }

    pub(super) fn add_all<T: Named>(&mut self, list: &[T]) {
        for element in list {
            self.add(T::KIND, element.name());
        }
    }

    /// All names of a kind.
    pub(super) fn of_kind(&self, kind: ObjectKind) -> impl Iterator<Item = &str> {
        self.counts
            .get(&table(kind))
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(String::as_str)
    }
}
