//! What a step has to end at.
//!
//! The acceleration jumps where a constraint comes or goes (a [`Switch`]). It is continuous, but not smooth, where a
//! constraint goes from one piece of its law to another and where an impedance goes from one piece of its curve to another
//! (a [`Kink`]). A step across a kink of slope or curvature would be short enough for the motion, but not for its derivative:
//! an error ε of a step of length h is one of about 3·ε/h in the derivative by the time of the kink.

use super::mode::{Gauge, Switch};
use super::stepper::Stepper;
use crate::data::Data;
use crate::model::Model;
use crate::stages::constraint::{Block, BlockKind, Reference};
use crate::stages::solve::Phase;
use crate::stages::solve::law::{Law, MAX_ROWS};

/// Constraints that grow by this factor when they look ahead over a step are too stiff for it to be followed.
const STIFF: f64 = 4.0;

/// Something at which a step has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A constraint comes or goes.
    Switch(Switch),
    /// The slope or curvature of a force jumps.
    Kink(Kink),
}

/// A constraint that goes from one piece of a curve to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kink {
    /// Which of the blocks at the start of the step.
    block: usize,
    pub(super) bend: Bend,
}

/// Of which curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bend {
    /// The law of force.
    Law { from: Phase, to: Phase },
    /// The impedance.
    Impedance { to: Piece, at_width: bool },
}

/// A piece of the curve of an impedance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Piece {
    /// Up to the midpoint; constraints without a curve are always there.
    #[default]
    Start,
    /// From the midpoint to the width.
    Middle,
    /// Beyond the width.
    End,
}

/// Where on the curve of its impedance a constraint is.
struct Curve {
    /// Distance in units of the width.
    x: f64,
    /// Where its two halves meet, if with a bend.
    midpoint: Option<f64>,
}

impl Curve {
    fn of(model: &Model, data: &Data, block: &Block) -> Option<Self> {
        let solimp = match block.kind {
            BlockKind::FrictionlessContact
            | BlockKind::PyramidalContact
            | BlockKind::EllipticContact => data.collision.contacts[block.object].solimp,
            BlockKind::JointLimit => model.joints.solimp[block.object],
            BlockKind::TendonLimit => model.tendons.solimp_limit[block.object],
            BlockKind::Equality | BlockKind::DofFriction | BlockKind::TendonFriction => {
                return None;
            }
        };
        let [start, end, width, midpoint, power] = Reference::unlimited([0.0; 2], solimp).solimp();
        if start == end || width < f64::MIN_POSITIVE {
            return None;
        }
        let row = &data.constraint.rows[block.row];
        Some(Self {
            x: (row.position - row.margin).abs() / width,
            midpoint: (power != 1.0).then_some(midpoint),
        })
    }

    fn piece(&self) -> Piece {
        if self.x >= 1.0 {
            Piece::End
        } else if self.midpoint.is_some_and(|midpoint| self.x > midpoint) {
            Piece::Middle
        } else {
            Piece::Start
        }
    }
}

/// Which constraint a block belongs to: blocks may change their order while they act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    kind: BlockKind,
    object: [usize; 2],
    feature: Option<u32>,
    /// Which of those that cannot be told apart.
    nth: usize,
}

/// Reads the keys of all blocks.
pub(super) fn read_keys(data: &Data, out: &mut Vec<Key>) {
    out.clear();
    for (index, block) in data.constraint.blocks.iter().enumerate() {
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

/// Reads the pieces of all impedances.
pub(super) fn read_pieces(model: &Model, data: &Data, out: &mut Vec<Piece>) {
    out.clear();
    let blocks = data.constraint.blocks.iter();
    out.extend(blocks.map(|block| {
        let curve = Curve::of(model, data, block);
        curve.map_or(Piece::default(), |curve| curve.piece())
    }));
}

/// The gauge of a switch, unless it is out of sight.
pub(super) fn gauge_of(gauges: &[Gauge], switch: Switch) -> Option<f64> {
    let gauge = gauges.iter().find(|gauge| gauge.switch == switch);
    gauge.map(|gauge| gauge.value)
}

impl Stepper {
    /// The first kink between the start of the step and the last evaluation.
    pub(super) fn kink(&self, model: &Model) -> Option<Kink> {
        self.law_kink().or_else(|| self.impedance_kink(model))
    }

    /// Blocks at the start of the step, with where they are at the last evaluation.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let keys = self.keys.iter().enumerate();
        keys.filter_map(|(before, &key)| Some((before, find_key(&self.keys_now, key, before)?)))
            .filter(|&(_, now)| self.resolves(now))
    }

    /// Whether a step can follow the force of a block. Where it is stiffer than that, it bends with every rounding; only steps
    /// that are implicit get there.
    fn resolves(&self, block: usize) -> bool {
        let constraint = &self.data.constraint;
        let stretch = |block: &Block| constraint.stretch(block, self.horizon);
        self.horizon == 0.0
            || constraint
                .blocks
                .get(block)
                .is_some_and(|block| stretch(block) < STIFF)
    }

    fn law_kink(&self) -> Option<Kink> {
        let phases = &self.data.solve.phase;
        let (block, now) = (self.blocks()).find(|&(b, now)| phases[now] != self.phases[b])?;
        let (from, to) = (self.phases[block], phases[now]);
        Some(Kink {
            block,
            bend: Bend::Law { from, to },
        })
    }

    fn impedance_kink(&self, model: &Model) -> Option<Kink> {
        let pieces = &self.pieces_now;
        let (block, now) = (self.blocks()).find(|&(b, now)| pieces[now] != self.pieces[b])?;
        let (from, to) = (self.pieces[block], pieces[now]);
        let curve = Curve::of(model, &self.data, &self.data.constraint.blocks[now])?;
        // A step that skips the middle of the curve comes to its nearer end first.
        let skips = curve.midpoint.is_some() && from != Piece::Middle;
        let bend = Bend::Impedance {
            to: if skips { Piece::Middle } else { to },
            at_width: from.max(to) == Piece::End && (from != Piece::Start || !skips),
        };
        Some(Kink { block, bend })
    }

    /// A number that changes its sign at a kink, at the last evaluation.
    pub(super) fn boundary(&self, model: &Model, kink: Kink) -> Option<f64> {
        let key = *self.keys.get(kink.block)?;
        let block = &self.data.constraint.blocks[find_key(&self.keys_now, key, kink.block)?];
        match kink.bend {
            Bend::Law { from, to } => Some(self.law_boundary(block, from, to)),
            Bend::Impedance { at_width, .. } => {
                let curve = Curve::of(model, &self.data, block)?;
                let bound = if at_width { Some(1.0) } else { curve.midpoint };
                bound.map(|bound| curve.x - bound)
            }
        }
    }

    fn law_boundary(&self, block: &Block, from: Phase, to: Phase) -> f64 {
        let (mut weight, mut friction) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        for (index, row) in self.data.constraint.block_rows(block).iter().enumerate() {
            (weight[index], friction[index]) = (row.weight, row.friction);
        }
        let law = Law {
            kind: block.kind,
            weight: &weight[..block.row_count],
            friction: &friction[..block.row_count],
        };
        law.boundary(&self.data.solve.residual[block.rows()], from, to)
    }

    /// Takes a kink as passed, whatever rounding has made of it.
    pub(super) fn pass(&mut self, kink: Kink) {
        match kink.bend {
            Bend::Law { to, .. } => {
                if let Some(phase) = self.phases.get_mut(kink.block) {
                    *phase = to;
                }
            }
            Bend::Impedance { to, .. } => {
                if let Some(piece) = self.pieces.get_mut(kink.block) {
                    *piece = to;
                }
            }
        }
    }
}
