//! What must stay the same on both sides of a difference.

use crate::data::Data;
use crate::model::Model;
use crate::stages::constraint::BlockKind;
use crate::stages::solve::Phase;

/// Contacts, rows and phases of a step.
pub(super) struct Sides {
    contacts: Vec<([usize; 2], bool)>,
    blocks: Vec<(BlockKind, Phase)>,
}

impl Sides {
    pub(super) fn of(data: &Data) -> Self {
        Self {
            contacts: contacts(data).collect(),
            blocks: blocks(data).collect(),
        }
    }

    /// What another step has that this one has not, in words.
    pub(super) fn change(&self, data: &Data, model: &Model) -> Option<String> {
        let names = &model.structure.names;
        let describe = |&([first, second], _): &([usize; 2], bool)| {
            format!(
                "a contact of geoms {} and {} appears, vanishes or changes its features",
                name(&names.geoms, first),
                name(&names.geoms, second)
            )
        };
        if let Some(contact) = first_difference(&self.contacts, contacts(data)) {
            return Some(describe(&contact));
        }
        let (kind, _) = first_difference(&self.blocks, blocks(data))?;
        Some(format!("{} changes its phase", in_words(kind)))
    }
}

fn contacts(data: &Data) -> impl Iterator<Item = ([usize; 2], bool)> {
    let contacts = data.collision.contacts.iter();
    contacts.map(|contact| (contact.geoms, contact.excluded))
}

fn blocks(data: &Data) -> impl Iterator<Item = (BlockKind, Phase)> {
    let kinds = data.constraint.blocks.iter().map(|block| block.kind);
    kinds.zip(data.solve.phase.iter().copied())
}

/// The first item that one list has at a place and the other has not.
fn first_difference<T: PartialEq + Copy>(
    known: &[T],
    mut other: impl Iterator<Item = T>,
) -> Option<T> {
    for &item in known {
        if other.next() != Some(item) {
            return Some(item);
        }
    }
    other.next()
}

fn name(names: &[String], index: usize) -> String {
    match names.get(index).map(String::as_str) {
        None | Some("") => format!("number {index}"),
        Some(name) => format!("'{name}'"),
    }
}

fn in_words(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Equality => "an equality",
        BlockKind::DofFriction => "the friction of a joint",
        BlockKind::TendonFriction => "the friction of a tendon",
        BlockKind::JointLimit => "the limit of a joint",
        BlockKind::TendonLimit => "the limit of a tendon",
        BlockKind::FrictionlessContact
        | BlockKind::PyramidalContact
        | BlockKind::EllipticContact => "a contact",
    }
}
