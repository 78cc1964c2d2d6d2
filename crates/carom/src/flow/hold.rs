//! Contacts that chatter, held on their surface.
//!
//! Where a contact pushes a body away from its surface when it acts, and the body falls back when it does not, the motion is
//! one of ever smaller bounces: with v the speed of a bounce, its energy is lost in proportion to v³, so that bounces become
//! shorter without end. Their limit is a motion on the surface itself, under the mean of the two forces that keeps it there
//! (a sliding motion in the sense of Filippov). From bounces on that are too slow to matter, that limit is followed: the
//! weight W of the contact's rows becomes θ·W with
//!
//!   θ = ½ − (r + τ·ṙ)/δ,   0 ≤ θ ≤ 1                                                   (1)
//!
//! of the distance r and its rate. With S the difference of the two accelerations along the normal, r then follows an
//! oscillator of frequency ω = √(S/δ); τ = 2/ω damps it critically, and ω is what steps can follow. Beyond the layer |r| < δ/2
//! both forces are as they were, and the contact is let go.

use super::mode::{Mode, Switch, contact_of};
use super::motion::{Onset, Run};
use crate::cotangent::DataBar;
use crate::data::Data;
use crate::dynamics::At;
use crate::dynamics::backward::Observer;
use crate::stages::constraint::Row;

/// Frequency of a held contact (rad/s).
const FREQUENCY: f64 = 5000.0;

/// Bounces slower than this are not followed (m/s).
const SLOW: f64 = 1e-5;

/// As many onsets of a contact show that it bounces.
const MANY: usize = 12;

/// Among so many last onsets.
const LAST: usize = 64;

/// Least share of a force, so that all numbers stay finite.
const LEAST: f64 = 1e-6;

/// Held contacts are let go so many widths of the layer from its middle.
const FAR: f64 = 3.0;

/// A contact that is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hold {
    pub(super) switch: Switch,
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

    /// θ of (1), and its derivative by the offset.
    fn share(&self, normal: &Row) -> (f64, f64) {
        let share = 0.5 - self.offset(normal);
        if share <= LEAST {
            (LEAST, 0.0)
        } else if share >= 1.0 {
            (1.0, 0.0)
        } else {
            (share, -1.0)
        }
    }
}

/// Calls back with every hold and the block of rows it is about.
fn for_each_block(mode: &Mode, data: &Data, mut call: impl FnMut(&Hold, usize)) {
    for hold in mode.holds() {
        let Switch::Contact { geoms, feature } = hold.switch else {
            continue;
        };
        for index in data.constraint.first_contact..data.constraint.blocks.len() {
            let contact = &data.collision.contacts[data.constraint.blocks[index].object];
            if (contact.geoms, contact.feature) == (geoms, feature) {
                call(hold, index);
            }
        }
    }
}

/// Weakens the rows of held contacts. (1)
pub(super) fn soften(mode: &Mode, data: &mut Data) {
    if mode.holds().is_empty() {
        return;
    }
    let mut found = Vec::new();
    for_each_block(mode, data, |hold, index| found.push((*hold, index)));
    for (hold, index) in found {
        let rows = data.constraint.blocks[index].rows();
        let (share, _) = hold.share(&data.constraint.rows[rows.start]);
        for row in &mut data.constraint.rows[rows] {
            row.weight *= share;
        }
    }
}

/// The adjoint of [`soften`], where stages are read upwards.
pub(super) struct Softened<'a>(pub(super) Option<&'a Mode>);

impl Observer for Softened<'_> {
    fn before_stage(&mut self, stage: &'static str, at: At<'_>, bar: &mut DataBar) {
        let Some(mode) = self.0.filter(|mode| !mode.holds().is_empty()) else {
            return;
        };
        if stage != "constraint" {
            return;
        }
        for_each_block(mode, at.data, |hold, index| {
            let block = &at.data.constraint.blocks[index];
            let normal = &at.data.constraint.rows[block.row];
            let (share, slope) = hold.share(normal);
            let mut share_bar = 0.0;
            for row in block.rows() {
                let row_bar = &mut bar.constraint.rows[row];
                share_bar += at.data.constraint.rows[row].weight / share * row_bar.weight;
                // The twin of the rows takes the weight for that of the regularization alone.
                row_bar.weight /= share;
            }
            let offset_bar = slope * share_bar / hold.width;
            bar.constraint.rows[block.row].position += offset_bar;
            bar.constraint.rows[block.row].velocity += hold.time * offset_bar;
            bar.contacts[block.object].include_margin -= offset_bar;
        });
    }
}

impl Run<'_> {
    /// Whether a contact that begins to act again has bounced many times and is slow by now.
    pub(super) fn chatters(&self, onset: &Onset) -> bool {
        // Under the gravity of the earth, which need not be exact here.
        let slow = SLOW.max((2.0 * 9.81 * self.settings.bounce()).sqrt());
        if !(onset.begins && onset.rate.abs() < slow) {
            return false;
        }
        let onsets = self.motion.onsets();
        let last = &onsets[onsets.len().saturating_sub(LAST)..];
        let same = last.iter().filter(|other| other.switch == onset.switch);
        same.count() >= MANY
    }

    /// Holds the contact that just has begun to act. False where the dynamics are not finite.
    pub(super) fn hold_last(&mut self, switch: Switch) -> bool {
        let Some(onset) = self.motion.onsets().last() else {
            return true;
        };
        let size = onset
            .jump
            .iter()
            .fold(0.0, |size: f64, jump| size.max(jump.abs()));
        let along = (self.stepper).gauge_along(self.model, &self.state, switch, &onset.jump, size);
        let swing = along.unwrap_or(1.0);
        let width = swing.abs().max(0.1) / (FREQUENCY * FREQUENCY);
        self.mode.hold(Hold {
            switch,
            width,
            time: 2.0 / FREQUENCY,
        });
        self.begin()
    }

    /// Lets contacts go that are far from their surface. False where the dynamics are not finite.
    pub(super) fn let_go(&mut self) -> bool {
        let mut index = 0;
        let mut changed = false;
        while let Some(&hold) = self.mode.holds().get(index) {
            let Switch::Contact { geoms, feature } = hold.switch else {
                return true;
            };
            let data = &self.stepper.data;
            let contact = contact_of(data, geoms, feature);
            let blocks = &data.constraint.blocks[data.constraint.first_contact..];
            let block = blocks.iter().find(|block| Some(block.object) == contact);
            let offset = block.map_or(f64::INFINITY, |block| {
                hold.offset(&data.constraint.rows[block.row])
            });
            if offset.abs() > FAR {
                self.mode.release(hold.switch, offset < 0.0);
                changed = true;
            } else {
                index += 1;
            }
        }
        if changed { self.begin() } else { true }
    }
}
