//! What must stay the same on both sides of a difference.

use carom::math::Vec3;
use carom::stages::constraint::BlockKind;
use carom::stages::solve::Phase;
use carom::{Data, Model};

use crate::point::exceeds;

/// Contacts, rows and phases of a step.
pub(super) struct Sides {
    contacts: Vec<([usize; 2], bool)>,
    blocks: Vec<(BlockKind, Phase)>,
    /// Position and normal of each contact.
    points: Vec<[Vec3; 2]>,
}

impl Sides {
    pub(super) fn of(data: &Data) -> Self {
        Self {
            contacts: contacts(data).collect(),
            blocks: blocks(data).collect(),
            points: points(data).collect(),
        }
    }

    /// What another step has that this one has not, in words.
    pub(super) fn change(&self, data: &Data, model: &Model) -> Option<String> {
        if let Some((geoms, _)) = first_difference(&self.contacts, contacts(data)) {
            return Some(format!(
                "{} appears, vanishes or changes its features",
                contact_of(model, geoms)
            ));
        }
        let (kind, _) = first_difference(&self.blocks, blocks(data))?;
        Some(format!("{} changes its phase", in_words(kind)))
    }

    /// Which contact of a step with the same contacts is farther away than a distance (m) or angle (rad), in words.
    pub(super) fn leap(&self, data: &Data, model: &Model, distance: f64) -> Option<String> {
        let far = |(a, b): (&Vec3, Vec3)| exceeds((*a - b).norm(), distance);
        let mut pairs = (self.points.iter().zip(points(data))).zip(&self.contacts);
        let (_, &(geoms, _)) =
            pairs.find(|((known, found), _)| known.iter().zip(*found).any(far))?;
        let contact = contact_of(model, geoms);
        Some(format!("{contact} leaps from one feature to another"))
    }
}

fn points(data: &Data) -> impl Iterator<Item = [Vec3; 2]> {
    let contacts = data.collision.contacts.iter();
    contacts.map(|contact| [contact.position, contact.frame.row(0)])
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

fn contact_of(model: &Model, [first, second]: [usize; 2]) -> String {
    let names = &model.structure.names.geoms;
    let (first, second) = (name(names, first), name(names, second));
    format!("a contact of geoms {first} and {second}")
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
