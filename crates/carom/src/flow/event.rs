//! What a step has to end at.
//!
//! The acceleration jumps where a constraint comes or goes (a [`Switch`]). It is continuous, but not smooth, where a
//! constraint goes from one piece of its law or of its impedance to another (a [`Kink`]).

use super::mode::{Gauge, Switch};
use super::pieces::{Key, find_key};
use super::stepper::Stepper;
use crate::data::Data;
use crate::model::Model;
use crate::stages::constraint::{Block, BlockKind, Piece, Row, reference_of};
use crate::stages::solve::Phase;
use crate::stages::solve::law::{Law, MAX_ROWS};

/// An implicit step resolves constraints that grow by less than this factor when they look ahead over it.
const MAX_RESOLVED_STRETCH: f64 = 4.0;

/// The end of a piece is passed by more than this fraction of the numbers it is a difference of.
const BOUNDARY_ROUNDING: f64 = 1e-11;

/// A constraint is at the end of its impedance curve within this distance, in units of its width.
const POLE_DISTANCE: f64 = 1e-6;

/// Something at which a step has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A constraint comes or goes.
    Switch(Switch),
    /// A constraint goes from one piece of a curve to another.
    Kink(Kink),
}

/// A constraint that goes from one piece of a curve to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kink {
    /// Which of the blocks at the start of the step, or which of the kink functions of actuators.
    block: usize,
    kind: KinkKind,
}

impl Kink {
    /// Whether forces go on smoothly beyond it for a step that keeps to its pieces.
    pub(super) fn is_smooth_beyond(&self) -> bool {
        self.kind != KinkKind::Actuator
    }
}

/// Which curve has the kink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KinkKind {
    /// The law of force.
    Law { from: Phase, to: Phase },
    /// The impedance.
    Impedance { at_width: bool },
    /// The force of an actuator.
    Actuator,
}

/// Where on the curve of its impedance a constraint is.
struct Curve {
    /// Distance in units of the width.
    x: f64,
    /// Where its two halves meet, if it has two.
    midpoint: Option<f64>,
    /// Whether its ends are those of a power that is not an integer.
    is_singular: bool,
}

impl Curve {
    fn of(model: &Model, data: &Data, block: &Block, row: &Row) -> Option<Self> {
        let reference = reference_of(model, &data.collision.contacts, block)?;
        let [start, end, width, midpoint, power] = reference.solimp();
        if start == end || width < f64::MIN_POSITIVE {
            return None;
        }
        Some(Self {
            x: (row.position - row.margin).abs() / width,
            midpoint: (power != 1.0).then_some(midpoint),
            is_singular: power.fract() != 0.0,
        })
    }

    /// Whether derivatives of the curve have a pole here.
    fn is_at_pole(&self) -> bool {
        self.is_singular && (self.x < POLE_DISTANCE || (self.x - 1.0).abs() < POLE_DISTANCE)
    }
}

impl Key {
    /// Whether it belongs to a contact.
    fn is_of(&self, switch: Switch) -> bool {
        matches!(switch, Switch::Contact { geoms, feature } if (geoms, feature) == (self.object, self.feature))
    }
}

/// The gauge of a switch, unless it is out of sight.
pub(super) fn gauge_of(gauges: &[Gauge], switch: Switch) -> Option<f64> {
    let gauge = gauges.iter().find(|gauge| gauge.switch == switch);
    gauge.map(|gauge| gauge.value)
}

impl Stepper {
    /// The first kink between the start of the step and the last evaluation, as seen at both, with a number that changes its
    /// sign there. More than about a fraction `near` of the way lies behind it.
    pub(super) fn kink(&self, model: &Model, near: f64) -> Option<(Kink, Option<f64>)> {
        let found = self.kinks(model).filter_map(|kink| {
            let (value, size) = self.boundary_and_size(model, kink)?;
            let start = self.first_boundary(model, kink);
            // By linear interpolation; without a value at the start, all of the way counts.
            let behind = match start {
                Some(start) if start * value < 0.0 => value / (value - start),
                _ => 1.0,
            };
            (value.abs() > BOUNDARY_ROUNDING * size && behind > near)
                .then_some((kink, value, behind))
        });
        let first = found.max_by(|(.., a), (.., b)| a.total_cmp(b))?;
        Some((first.0, Some(first.1)))
    }

    /// All kinks between the start of the step and the last evaluation.
    fn kinks(&self, model: &Model) -> impl Iterator<Item = Kink> {
        // Pieces of laws and impedances that changed, then actuator forces whose kink functions changed sign.
        let of_blocks = self.blocks().flat_map(move |(before, now)| {
            let of_law = self.law_kinks(before, now);
            of_law.chain(self.impedance_kink(model, before, now))
        });
        let bends = self.first_bends.iter().zip(&self.bends).enumerate();
        let passed = bends.filter(|(_, (first, now))| **first * **now < 0.0);
        of_blocks.chain(passed.map(|(block, _)| Kink {
            block,
            kind: KinkKind::Actuator,
        }))
    }

    /// Whether the curve of an impedance has a pole of its derivatives at a kink. They cannot be followed up to there in one step.
    pub(super) fn ends_at_pole(&self, model: &Model, kink: Kink) -> bool {
        let block = self.block_now(kink);
        let curve = block.and_then(|block| {
            let row = &self.data.constraint.rows[block.row];
            Curve::of(model, &self.data, block, row)
        });
        kink.kind == (KinkKind::Impedance { at_width: true })
            && self.pieces.impedances.get(kink.block) != Some(&Piece::End)
            && curve.is_some_and(|curve| curve.is_singular)
    }

    /// Whether a step from the state that was just evaluated begins at a pole of the derivatives of an impedance.
    pub(super) fn begins_at_pole(&self, model: &Model) -> bool {
        let constraint = &self.data.constraint;
        constraint.blocks.iter().any(|block| {
            let row = &constraint.rows[block.row];
            let curve = Curve::of(model, &self.data, block, row);
            curve.is_some_and(|curve| curve.is_at_pole())
        })
    }

    /// Whether a contact exerts no force, neither at the start of the step nor at the last evaluation.
    pub(super) fn is_idle(&self, switch: Switch) -> bool {
        let is_off = |keys: &[Key], phases: &[Phase]| {
            let mut of_switch = keys.iter().zip(phases).filter(|(key, _)| key.is_of(switch));
            of_switch.all(|(_, &phase)| phase == Phase::OFF)
        };
        matches!(switch, Switch::Contact { .. })
            && is_off(&self.pieces.keys, &self.pieces.phases)
            && is_off(&self.found.keys, &self.found.phases)
    }

    /// Blocks at the start of the step, with where they are at the last evaluation.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let keys = self.pieces.keys.iter().enumerate();
        keys.filter_map(|(before, &key)| Some((before, find_key(&self.found.keys, key, before)?)))
            .filter(|&(_, now)| self.resolves(now))
    }

    /// Whether a step resolves the force of a block. A stiffer one, which only implicit steps meet, has a kink with every
    /// rounding.
    fn resolves(&self, block: usize) -> bool {
        let constraint = &self.data.constraint;
        let stretch = |block: &Block| constraint.stretch(block, self.horizon);
        self.horizon == 0.0
            || constraint
                .blocks
                .get(block)
                .is_some_and(|block| stretch(block) < MAX_RESOLVED_STRETCH)
    }

    /// Where a block went from one piece of its law to another; edge by edge of a pyramid.
    fn law_kinks(&self, block: usize, now: usize) -> impl Iterator<Item = Kink> + use<> {
        let (from, to) = (self.pieces.phases[block], self.found.phases[now]);
        let is_pyramid = self.found.keys[now].kind == BlockKind::PyramidalContact;
        let changed = from.0 ^ to.0;
        // A pyramid has a bit per edge, and each edge lets go at its own place.
        let edges = (0..u16::BITS)
            .map(|edge| 1 << edge)
            .filter(move |edge| is_pyramid && changed & edge != 0)
            .map(move |edge| Phase(from.0 ^ edge));
        let whole = (!is_pyramid && changed != 0).then_some(to);
        edges.chain(whole).map(move |to| Kink {
            block,
            kind: KinkKind::Law { from, to },
        })
    }

    fn impedance_kink(&self, model: &Model, block: usize, now: usize) -> Option<Kink> {
        let (from, to) = (self.pieces.impedances[block], self.found.impedances[now]);
        if from == to {
            return None;
        }
        let block_now = &self.data.constraint.blocks[now];
        let row = &self.data.constraint.rows[block_now.row];
        let curve = Curve::of(model, &self.data, block_now, row)?;
        // A step that skips the middle of the curve comes to its nearer end first.
        let skips = curve.midpoint.is_some() && from != Piece::Middle;
        let at_width = from.max(to) == Piece::End && (from != Piece::Start || !skips);
        let kind = KinkKind::Impedance { at_width };
        Some(Kink { block, kind })
    }

    /// A number that changes its sign at a kink, at the last evaluation.
    pub(super) fn boundary(&self, model: &Model, kink: Kink) -> Option<f64> {
        Some(self.boundary_and_size(model, kink)?.0)
    }

    /// The same number, and the size of what it is a difference of.
    fn boundary_and_size(&self, model: &Model, kink: Kink) -> Option<(f64, f64)> {
        if kink.kind == KinkKind::Actuator {
            return Some((*self.bends.get(kink.block)?, 1.0));
        }
        let block = self.block_now(kink)?;
        let (rows, residual) = (&self.data.constraint.rows, &self.data.solve.residual);
        self.boundary_of(model, kink, (block, rows, residual))
    }

    /// The same number at the start of the step.
    pub(super) fn first_boundary(&self, model: &Model, kink: Kink) -> Option<f64> {
        if kink.kind == KinkKind::Actuator {
            return self.first_bends.get(kink.block).copied();
        }
        let Snapshot {
            blocks,
            rows,
            residual,
        } = &self.first;
        let block = blocks.get(kink.block)?;
        Some(self.boundary_of(model, kink, (block, rows, residual))?.0)
    }

    /// The block of a kink at the last evaluation.
    fn block_now(&self, kink: Kink) -> Option<&Block> {
        let key = *self.pieces.keys.get(kink.block)?;
        let place = find_key(&self.found.keys, key, kink.block)?;
        self.data.constraint.blocks.get(place)
    }

    fn boundary_of(
        &self,
        model: &Model,
        kink: Kink,
        (block, rows, residual): (&Block, &[Row], &[f64]),
    ) -> Option<(f64, f64)> {
        match kink.kind {
            KinkKind::Law { from, to } => Some(law_boundary((block, rows, residual), from, to)),
            KinkKind::Impedance { at_width, .. } => {
                let row = &rows[block.row];
                let curve = Curve::of(model, &self.data, self.block_now(kink)?, row)?;
                let bound = if at_width { Some(1.0) } else { curve.midpoint };
                bound.map(|bound| (curve.x - bound, 1.0))
            }
            KinkKind::Actuator => None,
        }
    }
}

fn law_boundary(
    (block, rows, residual): (&Block, &[Row], &[f64]),
    from: Phase,
    to: Phase,
) -> (f64, f64) {
    let (mut weight, mut friction) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
    let mut size = 1.0_f64;
    for (index, row) in rows[block.rows()].iter().enumerate() {
        (weight[index], friction[index]) = (row.weight, row.friction);
        size = size.max(row.reference_acceleration.abs());
    }
    let law = Law {
        kind: block.kind,
        weight: &weight[..block.row_count],
        friction: &friction[..block.row_count],
    };
    let value = law.boundary(&residual[block.rows()], from, to);
    // Boundaries of friction loss are forces, those of others are accelerations.
    let unit = match block.kind {
        BlockKind::DofFriction | BlockKind::TendonFriction => weight[0],
        _ => 1.0,
    };
    (value, unit * size)
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
