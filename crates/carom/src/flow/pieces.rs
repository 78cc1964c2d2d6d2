//! Pieces of the curves of forces.
//!
//! The acceleration is a smooth function of the state as long as every constraint that acts stays on one piece of its law and on
//! one piece of its impedance. Every piece goes on beyond its ends, so that there is a smooth system for each choice of pieces. A
//! step follows the system of the pieces at its start in all of its stages, as if they had no ends, and is cut where it comes to
//! the first one: there the next system takes over. The error of a step is that of a smooth function, and derivatives with respect to
//! the state are those of the system that was integrated.

use crate::data::Data;
use crate::model::Model;
use crate::scalar::Scalar;
use crate::stages::collision::Contact;
use crate::stages::constraint::{BlockKind, Constraint, Piece, reference_of};
use crate::stages::solve::Phase;
use crate::stages::solve::law::{Law, MAX_ROWS};

/// Which constraint a block belongs to: blocks may change their order while they act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kind: BlockKind,
    pub(super) object: [usize; 2],
    pub(super) feature: Option<u32>,
    /// Which of those that are otherwise equal.
    nth: usize,
}

/// Reads the keys of all blocks.
pub(super) fn read_keys(data: &Data, out: &mut Vec<Key>) {
    out.clear();
    for (index, block) in data.constraint.blocks.iter().enumerate() {
        // Contacts are known by their geoms and feature, other constraints by their element.
        let (object, feature) = if index < data.constraint.first_contact {
            ([block.object; 2], None)
        } else {
            let contact = &data.collision.contacts[block.object];
            (contact.geoms, contact.feature)
        };
        let mut key = Key {
            kind: block.kind,
            object,
            feature,
            nth: 0,
        };
        // Blocks with the same key stand next to each other: number them.
        if let Some(last) = out.last()
            && (Key { nth: 0, ..*last }) == key
        {
            key.nth = last.nth + 1;
        }
        out.push(key);
    }
}

/// Where a key is, most likely at a place.
pub(super) fn find_key(keys: &[Key], key: Key, likely: usize) -> Option<usize> {
    if keys.get(likely) == Some(&key) {
        return Some(likely);
    }
    keys.iter().position(|other| *other == key)
}

/// On which pieces constraints are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pieces {
    pub(super) keys: Vec<Key>,
    /// Of their laws.
    pub(super) phases: Vec<Phase>,
    /// Of their impedances.
    pub(super) impedances: Vec<Piece>,
}

impl Pieces {
    /// Reads the pieces on which an evaluation was made.
    pub(super) fn read(&mut self, data: &Data) {
        read_keys(data, &mut self.keys);
        self.phases.clone_from(&data.solve.phase);
        let (blocks, rows) = (&data.constraint.blocks, &data.constraint.rows);
        self.impedances.clear();
        let pieces = blocks.iter().map(|block| rows[block.row].impedance.piece);
        self.impedances.extend(pieces);
    }

    /// Reads the pieces on which residuals and distances of an evaluation are, whatever it was made on.
    pub(super) fn find(&mut self, model: &Model, data: &Data) {
        read_keys(data, &mut self.keys);
        self.phases.clear();
        self.impedances.clear();
        let Data {
            collision,
            constraint,
            solve,
            ..
        } = data;
        for block in &constraint.blocks {
            let rows = constraint.block_rows(block);
            let (mut weight, mut friction) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            let mut force = [0.0; MAX_ROWS];
            for (index, row) in rows.iter().enumerate() {
                (weight[index], friction[index]) = (row.weight, row.friction);
            }
            let count = block.row_count;
            // The piece of the law by the residual, that of the impedance by the distance.
            let law = Law {
                kind: block.kind,
                weight: &weight[..count],
                friction: &friction[..count],
            };
            let residual = &solve.residual[block.rows()];
            self.phases
                .push(law.respond(residual, &mut force[..count]).0);
            let reference = reference_of(model, &collision.contacts, block);
            let piece = reference.map_or(rows[0].impedance.piece, |reference| {
                reference.piece(rows[0].position - rows[0].margin)
            });
            self.impedances.push(piece);
        }
    }

    /// As [`Self::put`] for an evaluation that was made before; the pieces of laws, or none where a constraint is not known.
    pub(super) fn put_again<'a>(
        &self,
        model: &Model,
        data: &mut Data,
        (keys, phases): (&mut Vec<Key>, &'a mut Vec<Phase>),
    ) -> &'a [Phase] {
        read_keys(data, keys);
        let contacts = &data.collision.contacts;
        if self.put(keys, (model, contacts), &mut data.constraint, phases) {
            phases
        } else {
            &[]
        }
    }

    /// Puts the constraints of an evaluation on these pieces; the pieces of their laws are left in `phases`, for the solver. False
    /// where a constraint is not known, and nothing is done.
    pub(super) fn put<T: Scalar>(
        &self,
        keys: &[Key],
        (model, contacts): (&Model<T>, &[Contact<T>]),
        constraint: &mut Constraint<T>,
        phases: &mut Vec<Phase>,
    ) -> bool {
        phases.clear();
        // All keys must be known before anything is changed.
        for (index, &key) in keys.iter().enumerate() {
            let Some(place) = find_key(&self.keys, key, index) else {
                return false;
            };
            phases.push(self.phases[place]);
        }
        for (index, &key) in keys.iter().enumerate() {
            if let Some(place) = find_key(&self.keys, key, index) {
                let block = constraint.blocks[index];
                constraint.put_on(&block, self.impedances[place], model, contacts);
            }
        }
        true
    }
}
