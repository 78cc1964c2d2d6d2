//! Chattering contacts, held on their surface (Filippov sliding).
//!
//! A contact may push a body off its surface while it acts, and let it fall back when it does not. The bounces become ever
//! smaller: a bounce of speed v loses energy in proportion to v³. Their limit is the Filippov solution, a motion on the surface
//! itself, under the mean of the two accelerations that keeps it there. Once bounces fall below the integration error, this
//! limit is integrated instead:
//!
//!   a = (1 − θ)·a₋ + θ·a₊,   θ = θ₀ − (r + τ·ṙ)/δ,   0 ≤ θ ≤ 1                          (1)
//!
//! with a₋ and a₊ the accelerations without and with the contact, r the distance, and θ₀ the share that keeps r where it is
//! when the hold begins. With S the difference of the two accelerations along the normal, r then follows an oscillator of
//! frequency ω = √(S/δ). τ = 2/ω damps it critically, and ω is low enough for the steps to resolve. Where θ is 0 or 1 the
//! motion is the usual one, and the contact is released. Contacts that bounce together, such as the two lower corners of a box
//! that rocks, are held as one. Of several that do not, all combinations are evaluated, weighted by the products of their
//! shares.
//!
//! In the layer nothing moves after a moment. Error control alone would let steps grow until they are unstable. It would notice
//! when r has grown from rounding to the tolerance, but derivatives would have grown by the same factor from their own size. So
//! steps with held contacts stay in the range where the method damps r as the motion does.

use super::mode::{Mode, Switch, contact_of};
use super::motion::{Onset, Run};
use crate::cotangent::DataBar;
use crate::data::Data;
use crate::dynamics::At;
use crate::dynamics::backward::Observer;
use crate::integrate::add_scaled;
use crate::stages::constraint::{Block, Row};

/// Frequency ω of a held contact in its layer (rad/s), the highest one for implicit steps. It makes steps of 0.1 ms, below
/// the time constants of usual contacts.
const MAX_LAYER_FREQUENCY: f64 = 5000.0;

/// Longest step with held contacts times ω: stable for all methods while S grows threefold.
const MAX_STEP_TIMES_FREQUENCY: f64 = 0.5;

/// A contact may be held once its bounce speed is below so many velocity errors of a step. What the bounces still do is then
/// as small as the error at the end of a motion.
const BOUNCE_SPEED_PER_ERROR: f64 = 3e3;

/// Faster bounces are never held (m/s), whatever the tolerance: they last, and their effect on the motion adds up.
const MAX_HELD_BOUNCE_SPEED: f64 = 1e-4;

/// A contact chatters after so many onsets of its own …
const MIN_ONSETS_OF_CHATTER: usize = 12;

/// … among so many last onsets of all contacts.
const CHATTER_WINDOW: usize = 64;

/// Lowest share of a force in implicit steps: keeps weights of rows above zero, and so all values finite.
const MIN_SOFTENED_SHARE: f64 = 1e-6;

/// Groups of contacts that explicit steps hold at once: n groups take 2ⁿ evaluations of the dynamics.
const MAX_HELD_GROUPS: usize = 3;

/// Held contacts are released so many layer widths from the middle of the layer, where θ has long been 0 or 1.
const RELEASE_OFFSET: f64 = 3.0;

/// A contact that is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hold {
    pub(super) switch: Switch,
    /// Contacts of one group share θ, that of the first of them.
    pub(super) group: usize,
    /// θ₀ of (1).
    share: f64,
    /// δ of (1).
    width: f64,
    /// τ of (1).
    time: f64,
}

impl Hold {
    /// (r + τ·ṙ)/δ of (1).
    fn offset(&self, normal: &Row) -> f64 {
        (normal.position - normal.margin + self.time * normal.velocity) / self.width
    }

    /// Adds the cotangents that follow from that of the offset.
    fn add_offset_bar(&self, block: &Block, offset_bar: f64, bar: &mut DataBar) {
        let bar_of_distance = offset_bar / self.width;
        bar.constraint.rows[block.row].position += bar_of_distance;
        bar.constraint.rows[block.row].velocity += self.time * bar_of_distance;
        bar.contacts[block.object].include_margin -= bar_of_distance;
    }

    /// θ of (1), and its derivative with respect to the offset.
    fn share(&self, normal: &Row) -> [f64; 2] {
        let share = self.share - self.offset(normal);
        if share <= 0.0 {
            [0.0; 2]
        } else if share >= 1.0 {
            [1.0, 0.0]
        } else {
            [share, -1.0]
        }
    }
}

/// The block of rows that a hold is about, if its contact is in sight.
fn block_of<'a>(hold: &Hold, data: &'a Data) -> Option<&'a Block> {
    let Switch::Contact { geoms, feature } = hold.switch else {
        return None;
    };
    let contact = contact_of(data, geoms, feature);
    let mut blocks = data.constraint.contact_blocks().iter();
    blocks.find(|block| Some(block.object) == contact)
}

/// The combinations of held contacts that act and do not, with their weights. The last one has all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Blend {
    /// θ of (1) of every group, and its derivative with respect to the offset.
    shares: Vec<[f64; 2]>,
    /// The acceleration of every combination.
    accelerations: Vec<Vec<f64>>,
}

impl Blend {
    /// Number of combinations of a mode.
    pub(super) fn count(mode: &Mode) -> usize {
        1 << mode.groups()
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.shares.clear();
        self.accelerations.clear();
    }

    /// Takes the acceleration of the next combination.
    pub(super) fn push(&mut self, acceleration: &[f64]) {
        self.accelerations.push(acceleration.to_vec());
    }

    /// Reads the shares where all contacts act.
    pub(super) fn read_shares(&mut self, mode: &Mode, data: &Data) {
        let share = |hold: &Hold| {
            let block = block_of(hold, data);
            block.map_or([0.0; 2], |block| {
                hold.share(&data.constraint.rows[block.row])
            })
        };
        self.shares.extend(mode.leaders().map(share));
    }

    /// The weight of a combination, or its derivative with respect to the share of one group.
    fn weight(&self, combination: usize, wrt: Option<usize>) -> f64 {
        // θ where a group acts and 1 − θ where it does not; their derivatives are 1 and −1.
        let factors = self.shares.iter().enumerate().map(|(group, [share, _])| {
            let acts = combination >> group & 1 == 1;
            match (wrt == Some(group), acts) {
                (true, true) => 1.0,
                (true, false) => -1.0,
                (false, true) => *share,
                (false, false) => 1.0 - share,
            }
        });
        factors.product()
    }

    /// The weight of a combination.
    pub(super) fn weight_of(&self, combination: usize) -> f64 {
        self.weight(combination, None)
    }

    /// The acceleration. (1)
    pub(super) fn write(&self, out: &mut [f64]) {
        out.fill(0.0);
        for (combination, acceleration) in self.accelerations.iter().enumerate() {
            add_scaled(out, acceleration, self.weight_of(combination));
        }
    }

    /// The cotangent of the offset of a group, from that of the acceleration.
    fn offset_bar(&self, group: usize, bar: &[f64]) -> f64 {
        let along = |(combination, acceleration): (usize, &Vec<f64>)| {
            let along: f64 = acceleration.iter().zip(bar).map(|(a, bar)| a * bar).sum();
            self.weight(combination, Some(group)) * along
        };
        // θ̄ = Σ (∂weight/∂θ)·(a·ā), then through the clamp of θ.
        let share_bar: f64 = self.accelerations.iter().enumerate().map(along).sum();
        self.shares[group][1] * share_bar
    }
}

/// The adjoint of the shares, where stages are read upwards with all held contacts.
pub(super) struct Shared<'a> {
    pub(super) mode: &'a Mode,
    pub(super) blend: &'a Blend,
    /// Cotangents of the acceleration.
    pub(super) bar: &'a [f64],
}

impl Observer for Shared<'_> {
    fn before_stage(&mut self, stage: &'static str, at: At<'_>, bar: &mut DataBar) {
        // The rows of constraints are where the offset is read.
        if stage != "constraint" {
            return;
        }
        for (group, hold) in self.mode.leaders().enumerate() {
            let Some(block) = block_of(hold, at.data) else {
                continue;
            };
            hold.add_offset_bar(block, self.blend.offset_bar(group, self.bar), bar);
        }
    }
}

/// Weakens the rows of held contacts by their shares: what implicit steps, which are coarse, take for (1).
pub(super) fn soften(mode: &Mode, data: &mut Data) {
    for hold in mode.holds() {
        let Some(&block) = block_of(hold, data) else {
            continue;
        };
        let [share, _] = hold.share(&data.constraint.rows[block.row]);
        for row in &mut data.constraint.rows[block.rows()] {
            row.weight *= share.max(MIN_SOFTENED_SHARE);
        }
    }
}

/// The adjoint of [`soften`], where stages are read upwards.
pub(super) struct Softened<'a>(pub(super) &'a Mode);

impl Observer for Softened<'_> {
    fn before_stage(&mut self, stage: &'static str, at: At<'_>, bar: &mut DataBar) {
        // The rows of constraints are where the offset is read.
        if stage != "constraint" {
            return;
        }
        for hold in self.0.holds() {
            let Some(block) = block_of(hold, at.data) else {
                continue;
            };
            let [share, slope] = hold.share(&at.data.constraint.rows[block.row]);
            let share = share.max(MIN_SOFTENED_SHARE);
            let mut share_bar = 0.0;
            for row in block.rows() {
                let row_bar = &mut bar.constraint.rows[row];
                share_bar += at.data.constraint.rows[row].weight / share * row_bar.weight;
                // The adjoint of the rows knows the weight before it was softened.
                row_bar.weight /= share;
            }
            hold.add_offset_bar(block, slope * share_bar, bar);
        }
    }
}

impl Run<'_> {
    /// The flight time of a contact that begins to act again, if it chatters: it has bounced many times, by now lower than the
    /// position error.
    pub(super) fn chatters(&self, onset: &Onset) -> Option<f64> {
        let onsets = self.motion.onsets();
        let last = &onsets[onsets.len().saturating_sub(CHATTER_WINDOW)..];
        // The flight of this bounce, from the onset of the same contact before.
        let mut same = last.iter().filter(|other| other.switch == onset.switch);
        let before = same.next_back().filter(|_| onset.begins)?;
        let flight = self.state.time - before.time;
        // The parabola of a flight of this duration is rate·flight/4 high.
        let height = 0.25 * onset.rate.abs() * flight;
        let allowed = &self.settings.tolerances;
        // Low for methods that do not resolve every bounce; low and slow for all others.
        let is_low = height < self.settings.bounce()
            || height < allowed.position.absolute
                && onset.rate.abs()
                    < (BOUNCE_SPEED_PER_ERROR * allowed.velocity.absolute)
                        .min(MAX_HELD_BOUNCE_SPEED);
        // Implicit steps soften rows and take one evaluation, however many groups are held.
        let is_implicit = self.stepper.tableau.is_extrapolated();
        let is_free = is_implicit || self.mode.groups() < MAX_HELD_GROUPS;
        (is_low && is_free && same.count() + 1 >= MIN_ONSETS_OF_CHATTER).then_some(flight)
    }

    /// The longest step from here for held contacts.
    pub(super) fn longest_while_held(&self) -> f64 {
        if self.mode.holds().is_empty() || self.stepper.tableau.is_extrapolated() {
            f64::INFINITY
        } else {
            MAX_STEP_TIMES_FREQUENCY / MAX_LAYER_FREQUENCY
        }
    }

    /// Holds those of the last onsets, all at one instant, that chatter; the first of them flew for a time. False where the
    /// dynamics are not finite.
    pub(super) fn hold_together(&mut self, count: usize, flight: f64) -> bool {
        let onsets = &self.motion.onsets()[self.motion.onsets().len() - count..];
        let held = onsets.iter().filter(|onset| onset.is_held);
        let Some(first) = held.clone().next() else {
            return true;
        };
        // The jump of the acceleration of all of them together.
        let mut jump = vec![0.0; first.jump.len()];
        for onset in held.clone() {
            add_scaled(&mut jump, &onset.jump, 1.0);
        }
        let size = jump
            .iter()
            .fold(0.0, |size: f64, jump| size.max(jump.abs()));
        // S of (1): the jump along the normal of the first one.
        let (switch, rate) = (first.switch, first.rate);
        let along = (self.stepper).gauge_along(self.model, &self.state, switch, &jump, size);
        let swing = along.unwrap_or(1.0).abs().max(0.1);
        // It flew under −θ₀·S, which gives θ₀.
        let fall = 2.0 * rate.abs() / flight;
        let is_implicit = self.stepper.tableau.is_extrapolated();
        let frequency = if is_implicit {
            // The layer is explicit in implicit steps, so make it as thick as the position error to both sides.
            let allowed = 2.0 * self.settings.tolerances.position.absolute;
            (swing / allowed).sqrt().min(MAX_LAYER_FREQUENCY)
        } else {
            MAX_LAYER_FREQUENCY
        };
        // One group for all of them; implicit steps weaken each row by its own share.
        let group = self.mode.groups();
        for (index, onset) in held.enumerate() {
            self.mode.hold(Hold {
                switch: onset.switch,
                group: group + if is_implicit { index } else { 0 },
                share: (fall / swing).min(1.0),
                width: swing / (frequency * frequency),
                time: 2.0 / frequency,
            });
        }
        let is_finite = self.begin();
        self.add_to_jump();
        is_finite
    }

    /// Releases contacts that are far from their surface. False where the dynamics are not finite.
    pub(super) fn let_go(&mut self) -> bool {
        let mut changed = false;
        // Backwards, since a release renumbers the groups behind it.
        for group in (0..self.mode.groups()).rev() {
            let data = &self.stepper.data;
            let Some(leader) = self.mode.leaders().nth(group) else {
                continue;
            };
            let offset = block_of(leader, data).map_or(f64::INFINITY, |block| {
                leader.offset(&data.constraint.rows[block.row])
            });
            if offset.abs() > RELEASE_OFFSET {
                self.mode.release(group, offset < 0.0);
                changed = true;
            }
        }
        if changed { self.begin() } else { true }
    }
}
