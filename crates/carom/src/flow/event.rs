//! What a step has to end at.
//!
//! The acceleration jumps where a constraint comes or goes (a [`Switch`]). It is continuous, but not smooth, where a
//! constraint goes from one piece of its law to another and where an impedance goes from one piece of its curve to another
//! (a [`Kink`]). A step across a kink of slope or curvature would be short enough for the motion, but not for its derivative:
//! an error ε of a step of length h is one of about 3·ε/h in the derivative by the time of the kink.

use super::mode::{Gauge, Switch};
use super::motion::Regime;
use super::stepper::Stepper;
use crate::data::Data;
use crate::model::Model;
use crate::stages::constraint::{Block, BlockKind, Reference, Row};
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
    Impedance {
        to: Piece,
        at_width: bool,
        /// Whether its slope jumps, and not the curvature alone.
        is_sharp: bool,
    },
}

impl Kink {
    /// Whether the slope of the force jumps, and not its curvature alone.
    pub(super) fn is_of_slope(&self) -> bool {
        match self.bend {
            Bend::Law { .. } => true,
            Bend::Impedance { is_sharp, .. } => is_sharp,
        }
    }
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

/// Distances that are put on a piece of a curve are away from its ends by this part.
const HAIR: f64 = 1e-9;

/// Puts contacts on the pieces of their impedances that they are on in a step, where a stage of it has just left them over a
/// corner: forces hardly change, derivatives are those of the step. Whether there was such a contact.
pub(super) fn keep_pieces(model: &Model, regime: &Regime, keys: &[Key], data: &mut Data) -> bool {
    let mut changed = false;
    for index in data.constraint.first_contact..data.constraint.blocks.len() {
        let block = data.constraint.blocks[index];
        let row = &data.constraint.rows[block.row];
        let place = find_key(&regime.keys, keys[index], index);
        let curve = place.zip(Curve::of(model, data, &block, row));
        if let Some((place, curve)) = curve
            && curve.is_sharp
            && regime.pieces[place] != curve.piece()
        {
            let gap = curve.distance_on(regime.pieces[place]);
            let gap = gap.copysign(row.position - row.margin);
            let contact = &mut data.collision.contacts[block.object];
            contact.distance = contact.include_margin + gap;
            changed = true;
        }
    }
    changed
}

/// Where on the curve of its impedance a constraint is.
struct Curve {
    /// Distance in units of the width.
    x: f64,
    width: f64,
    /// Where its two halves meet, if with a bend.
    midpoint: Option<f64>,
    /// Whether it has a corner at the width, or is nearly as sharp there.
    is_sharp: bool,
}

impl Curve {
    fn of(model: &Model, data: &Data, block: &Block, row: &Row) -> Option<Self> {
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
        Some(Self {
            x: (row.position - row.margin).abs() / width,
            width,
            midpoint: (power != 1.0).then_some(midpoint),
            is_sharp: power < 2.0,
        })
    }

    /// The distance next to this one that is on a piece.
    fn distance_on(&self, piece: Piece) -> f64 {
        let middle = self.midpoint.unwrap_or(1.0);
        let [low, high] = match piece {
            Piece::Start => [0.0, middle],
            Piece::Middle => [middle, 1.0],
            Piece::End => [1.0, f64::INFINITY],
        };
        self.width * self.x.clamp(low * (1.0 + HAIR), high * (1.0 - HAIR))
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

impl Key {
    /// Whether it belongs to a contact.
    fn is_of(&self, switch: Switch) -> bool {
        matches!(switch, Switch::Contact { geoms, feature } if (geoms, feature) == (self.object, self.feature))
    }
}

/// Reads the pieces of all impedances.
pub(super) fn read_pieces(model: &Model, data: &Data, out: &mut Vec<Piece>) {
    out.clear();
    let blocks = data.constraint.blocks.iter();
    out.extend(blocks.map(|block| {
        let curve = Curve::of(model, data, block, &data.constraint.rows[block.row]);
        curve.map_or(Piece::default(), |curve| curve.piece())
    }));
}

/// The gauge of a switch, unless it is out of sight.
pub(super) fn gauge_of(gauges: &[Gauge], switch: Switch) -> Option<f64> {
    let gauge = gauges.iter().find(|gauge| gauge.switch == switch);
    gauge.map(|gauge| gauge.value)
}

impl Stepper {
    /// The first kink between the start of the step and the last evaluation, with a number that changes its sign there.
    /// About more than the parts `near` of the way lie behind it: for kinks of a slope, and of a curvature.
    pub(super) fn kink(&self, model: &Model, near: [f64; 2]) -> Option<(Kink, Option<f64>)> {
        let found = self.kinks(model).filter_map(|kink| {
            let value = self.boundary(model, kink);
            let start = self.first_boundary(model, kink);
            let behind = match (start, value) {
                (Some(start), Some(value)) if start * value < 0.0 => value / (value - start),
                _ => 1.0,
            };
            let near = near[usize::from(!kink.is_of_slope())];
            (behind > near).then_some((kink, value, behind))
        });
        let first = found.max_by(|(.., a), (.., b)| a.total_cmp(b))?;
        Some((first.0, first.1))
    }

    /// All kinks between the start of the step and the last evaluation.
    fn kinks(&self, model: &Model) -> impl Iterator<Item = Kink> {
        self.blocks().flat_map(move |(before, now)| {
            let of_law = self.law_kinks(before, now);
            of_law.chain(self.impedance_kink(model, before, now))
        })
    }

    /// Whether a contact exerts no force, neither at the start of the step nor at the last evaluation.
    pub(super) fn is_idle(&self, switch: Switch) -> bool {
        let is_off = |keys: &[Key], phases: &[Phase]| {
            let mut of_switch = keys.iter().zip(phases).filter(|(key, _)| key.is_of(switch));
            of_switch.all(|(_, &phase)| phase == Phase::OFF)
        };
        matches!(switch, Switch::Contact { .. })
            && is_off(&self.keys, &self.phases)
            && is_off(&self.keys_now, &self.data.solve.phase)
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

    /// Where a block went from one piece of its law to another; edge by edge of a pyramid.
    fn law_kinks(&self, block: usize, now: usize) -> impl Iterator<Item = Kink> + use<> {
        let (from, to) = (self.phases[block], self.data.solve.phase[now]);
        let is_pyramid = self.data.constraint.blocks[now].kind == BlockKind::PyramidalContact;
        let changed = from.0 ^ to.0;
        let edges = (0..u16::BITS)
            .map(|edge| 1 << edge)
            .filter(move |edge| is_pyramid && changed & edge != 0)
            .map(move |edge| Phase(from.0 ^ edge));
        let whole = (!is_pyramid && changed != 0).then_some(to);
        edges.chain(whole).map(move |to| Kink {
            block,
            bend: Bend::Law { from, to },
        })
    }

    fn impedance_kink(&self, model: &Model, block: usize, now: usize) -> Option<Kink> {
        let (from, to) = (self.pieces[block], self.pieces_now[now]);
        if from == to {
            return None;
        }
        let block_now = &self.data.constraint.blocks[now];
        let row = &self.data.constraint.rows[block_now.row];
        let curve = Curve::of(model, &self.data, block_now, row)?;
        // A step that skips the middle of the curve comes to its nearer end first.
        let skips = curve.midpoint.is_some() && from != Piece::Middle;
        let at_width = from.max(to) == Piece::End && (from != Piece::Start || !skips);
        let bend = Bend::Impedance {
            to: if skips { Piece::Middle } else { to },
            at_width,
            is_sharp: at_width && curve.is_sharp,
        };
        Some(Kink { block, bend })
    }

    /// A number that changes its sign at a kink, at the last evaluation.
    pub(super) fn boundary(&self, model: &Model, kink: Kink) -> Option<f64> {
        let block = self.block_now(kink)?;
        let (rows, residual) = (&self.data.constraint.rows, &self.data.solve.residual);
        self.boundary_of(model, kink, (block, rows, residual))
    }

    /// The same number at the start of the step.
    pub(super) fn first_boundary(&self, model: &Model, kink: Kink) -> Option<f64> {
        let Snapshot {
            blocks,
            rows,
            residual,
        } = &self.first;
        self.boundary_of(model, kink, (blocks.get(kink.block)?, rows, residual))
    }

    /// The block of a kink at the last evaluation.
    fn block_now(&self, kink: Kink) -> Option<&Block> {
        let key = *self.keys.get(kink.block)?;
        let place = find_key(&self.keys_now, key, kink.block)?;
        self.data.constraint.blocks.get(place)
    }

    fn boundary_of(
        &self,
        model: &Model,
        kink: Kink,
        (block, rows, residual): (&Block, &[Row], &[f64]),
    ) -> Option<f64> {
        match kink.bend {
            Bend::Law { from, to } => Some(law_boundary((block, rows, residual), from, to)),
            Bend::Impedance { at_width, .. } => {
                let row = &rows[block.row];
                let curve = Curve::of(model, &self.data, self.block_now(kink)?, row)?;
                let bound = if at_width { Some(1.0) } else { curve.midpoint };
                bound.map(|bound| curve.x - bound)
            }
        }
    }

    /// Which constraint a kink is of, as long as the step is at hand.
    pub(super) fn key_of(&self, kink: Kink) -> Option<Key> {
        self.keys.get(kink.block).copied()
    }

    /// Takes a kink of a constraint as passed before the start of the step, whatever rounding has made of it.
    pub(super) fn pass(&mut self, key: Key, bend: Bend) {
        let Some(block) = find_key(&self.keys, key, 0) else {
            return;
        };
        match bend {
            Bend::Law { from, to } => {
                let is_pyramid = key.kind == BlockKind::PyramidalContact;
                let edges = if is_pyramid { from.0 ^ to.0 } else { u16::MAX };
                let phase = &mut self.phases[block].0;
                *phase = *phase & !edges | to.0 & edges;
            }
            Bend::Impedance { to, .. } => self.pieces[block] = to,
        }
    }
}

fn law_boundary((block, rows, residual): (&Block, &[Row], &[f64]), from: Phase, to: Phase) -> f64 {
    let (mut weight, mut friction) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
    for (index, row) in rows[block.rows()].iter().enumerate() {
        (weight[index], friction[index]) = (row.weight, row.friction);
    }
    let law = Law {
        kind: block.kind,
        weight: &weight[..block.row_count],
        friction: &friction[..block.row_count],
    };
    law.boundary(&residual[block.rows()], from, to)
}

/// What an evaluation found of the constraints.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    blocks: Vec<Block>,
    rows: Vec<Row>,
    residual: Vec<f64>,
}

impl Snapshot {
    pub(super) fn take(&mut self, data: &Data) {
        self.blocks.clone_from(&data.constraint.blocks);
        self.rows.clone_from(&data.constraint.rows);
        self.residual.clone_from(&data.solve.residual);
    }
}
