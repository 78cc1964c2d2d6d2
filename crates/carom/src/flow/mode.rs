//! Which constraints that come and go are on.
//!
//! The acceleration is a smooth function of the state as long as the same contacts and limits act; where one begins or
//! ceases to act it may jump. A step therefore keeps to one [`Mode`], also where a stage reaches beyond its end, and
//! ends where a [`Switch`] should change: where its gauge g, distance less margin, changes its sign.

use super::hold::Hold;
use crate::data::Data;
use crate::math::{Quat, Vec3};
use crate::model::{JointKind, LawLevel, Model};
use crate::report::Element;
use crate::stages::collision::Contact;
use crate::stages::compliance::relative_velocity;
use crate::stages::constraint::{Block, BlockKind};
use crate::state::State;

/// A constraint that comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Switch {
    /// A limit of a joint.
    JointLimit {
        /// The joint.
        joint: usize,
        /// Which end of its range.
        upper: bool,
    },
    /// A limit of a tendon.
    TendonLimit {
        /// The tendon.
        tendon: usize,
        /// Which end of its range.
        upper: bool,
    },
    /// A contact.
    Contact {
        /// The geoms.
        geoms: [usize; 2],
        /// What of them touches; none: anything.
        feature: Option<u32>,
    },
}

impl Switch {
    /// A few words with the names of a model.
    pub fn describe(self, model: &Model) -> String {
        let limit = |upper: bool| if upper { "upper limit" } else { "lower limit" };
        let (prefix, element) = match self {
            Self::JointLimit { joint, upper } => (limit(upper), Element::Joint(joint)),
            Self::TendonLimit { tendon, upper } => (limit(upper), Element::Tendon(tendon)),
            Self::Contact { geoms, .. } => ("", Element::Contact(geoms)),
        };
        let element = element.describe(model).unwrap_or_default();
        if prefix.is_empty() {
            element
        } else {
            format!("the {prefix} of {element}")
        }
    }
}

/// The gauge of a switch: negative where it should be on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gauge {
    pub(super) switch: Switch,
    pub(super) value: f64,
}

/// Gauges within this may have either sign by rounding (m or rad): well above that of
/// distances between bodies some metres from the origin.
const GAUGE_ROUNDING: f64 = 4e-12;

/// The switches that are on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mode {
    /// In order.
    on: Vec<Switch>,
    /// Those of them that are held.
    holds: Vec<Hold>,
    /// Switches stay on up to this gauge (m or rad): very stiff contacts are nowhere as sure as their steps.
    slack: f64,
    /// A switch that has just changed, a little too early, and goes to where it is right.
    spared: Option<Switch>,
}

impl Mode {
    /// The mode that gauges ask for.
    pub(super) fn of(gauges: &[Gauge]) -> Self {
        let on = gauges.iter().filter(|gauge| gauge.value < 0.0);
        let mut switches: Vec<_> = on.map(|gauge| gauge.switch).collect();
        switches.sort_unstable();
        Self {
            on: switches,
            ..Self::default()
        }
    }

    /// The same with another slack.
    pub(super) fn with_slack(self, slack: f64) -> Self {
        Self { slack, ..self }
    }

    /// Contacts that are held.
    pub(super) fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// The first one of every group of contacts that are held together.
    pub(super) fn leaders(&self) -> impl Iterator<Item = &Hold> {
        let is_first = |(index, hold): &(usize, &Hold)| {
            (self.holds[..*index].iter()).all(|before| before.group != hold.group)
        };
        let leaders = self.holds.iter().enumerate().filter(is_first);
        leaders.map(|(_, hold)| hold)
    }

    /// Number of groups of contacts that are held together.
    pub(super) fn groups(&self) -> usize {
        self.holds.last().map_or(0, |last| last.group + 1)
    }

    /// A combination of groups of held contacts that act and do not, and no holds: bit by bit, in their order.
    pub(super) fn combination(&self, bits: usize) -> Self {
        let is_off = |switch: &Switch| {
            let hold = self.holds.iter().find(|hold| hold.switch == *switch);
            hold.is_some_and(|hold| bits >> hold.group & 1 == 0)
        };
        let on = self.on.iter().filter(|switch| !is_off(switch));
        Self {
            on: on.copied().collect(),
            holds: Vec::new(),
            ..*self
        }
    }

    /// Holds a contact that is on.
    pub(super) fn hold(&mut self, hold: Hold) {
        self.holds.push(hold);
    }

    /// Ends the hold of a group of contacts, on or off.
    pub(super) fn release(&mut self, group: usize, on: bool) {
        let Self {
            on: switches,
            holds,
            ..
        } = self;
        if !on {
            switches.retain(|switch| {
                let mut of_group = holds.iter().filter(|hold| hold.group == group);
                of_group.all(|hold| hold.switch != *switch)
            });
        }
        holds.retain(|hold| hold.group != group);
        for hold in holds {
            hold.group -= usize::from(hold.group > group);
        }
    }

    fn is_held(&self, switch: Switch) -> bool {
        self.holds.iter().any(|hold| hold.switch == switch)
    }

    pub(super) fn contains(&self, switch: Switch) -> bool {
        self.on.binary_search(&switch).is_ok()
    }

    /// The mode with one switch changed.
    pub(super) fn with(&self, switch: Switch) -> Self {
        let mut mode = self.clone();
        match mode.on.binary_search(&switch) {
            Ok(place) => {
                mode.on.remove(place);
            }
            Err(place) => mode.on.insert(place, switch),
        }
        mode
    }

    /// Whether a switch should change by its gauge. Where it just has changed, rounding decides about the sign.
    fn is_wrong(&self, gauge: &Gauge) -> bool {
        let is_on = self.contains(gauge.switch);
        // Only what is on has slack, so that a contact at rest stays on.
        let slack = if is_on { self.slack } else { 0.0 };
        gauge.value.abs() > GAUGE_ROUNDING.max(slack)
            && (gauge.value < 0.0) != is_on
            && !self.is_held(gauge.switch)
            && self.spared != Some(gauge.switch)
    }

    /// Leaves a switch as it is until its gauge is right.
    pub(super) fn spare(&mut self, switch: Switch) {
        self.spared = Some(switch);
    }

    /// Ends that where the gauge is right.
    pub(super) fn end_sparing(&mut self, gauges: &[Gauge]) {
        let is_right = |switch: Switch| {
            let mut of_switch = gauges.iter().filter(|gauge| gauge.switch == switch);
            of_switch.all(|gauge| (gauge.value < 0.0) == self.contains(switch))
        };
        if self.spared.is_some_and(is_right) {
            self.spared = None;
        }
    }

    /// Whether no switch should change by its gauge.
    pub(super) fn suits(&self, gauges: &[Gauge]) -> bool {
        let is_right = |gauge: &Gauge| !self.is_wrong(gauge);
        let is_seen = |switch: &Switch| gauges.iter().any(|gauge| gauge.switch == *switch);
        gauges.iter().all(is_right) && self.on.iter().all(|on| is_seen(on) || self.is_held(*on))
    }

    /// Switches that should change by their gauges, each with its gauge; none for a contact that is out of sight.
    pub(super) fn changes(&self, gauges: &[Gauge], out: &mut Vec<(Switch, Option<f64>)>) {
        out.clear();
        let visible = gauges.iter().filter(|gauge| self.is_wrong(gauge));
        out.extend(visible.map(|gauge| (gauge.switch, Some(gauge.value))));
        let is_out_of_sight =
            |switch: &&Switch| !gauges.iter().any(|gauge| gauge.switch == **switch);
        let free = self.on.iter().filter(|switch| !self.is_held(**switch));
        let gone = free.filter(is_out_of_sight);
        out.extend(gone.map(|&switch| (switch, None)));
    }

    /// Leaves contacts that are off out of the constraints, and takes those in that are on.
    pub(super) fn choose_contacts(&self, model: &Model, contacts: &mut [Contact]) {
        for index in 0..contacts.len() {
            let contact = contacts[index];
            if let Some(switch) = of_contact(model, &contact) {
                // Of points without identity the closest one stands for all, the others follow their own distances.
                let acts = contact.distance < contact.include_margin
                    || contact.feature.is_some()
                    || is_closest(contacts, &contact);
                contacts[index].excluded = !(acts && self.contains(switch));
            }
        }
    }

    /// Removes limits that are off from the rows.
    pub(super) fn choose_limits(&self, model: &Model, data: &mut Data) {
        let Data {
            tendon, constraint, ..
        } = data;
        constraint.retain_blocks(|constraint, block| {
            // Rows of limits do not say their side: the sign of the Jacobian does, or the distance.
            let upper_joint = |block: &Block| constraint.block_jacobian(block)[0] < 0.0;
            match block.kind {
                BlockKind::JointLimit => {
                    let joint = block.object;
                    let ball = model.structure.joints.kind[joint] == JointKind::Ball;
                    let upper = ball || upper_joint(block);
                    self.contains(Switch::JointLimit { joint, upper })
                }
                BlockKind::TendonLimit => {
                    let low = model.tendons.range[block.object][0];
                    let position = constraint.rows[block.row].position;
                    let upper = position != tendon.length[block.object] - low;
                    let tendon = block.object;
                    self.contains(Switch::TendonLimit { tendon, upper })
                }
                _ => true,
            }
        });
    }
}

/// Whether no point of the same geoms is closer.
fn is_closest(contacts: &[Contact], contact: &Contact) -> bool {
    let of_pair = contacts.iter().filter(|other| other.geoms == contact.geoms);
    of_pair.min_by(|a, b| a.distance.total_cmp(&b.distance)) == Some(contact)
}

/// The switch of a contact; none for those that do not jump.
fn of_contact(model: &Model, contact: &Contact) -> Option<Switch> {
    let is_soft = model.structure.laws.level_of(contact.law) == LawLevel::Acceleration;
    (is_soft && contact.adhesion == 0.0).then_some(Switch::Contact {
        geoms: contact.geoms,
        feature: contact.feature,
    })
}

/// All gauges that can be read from a state and its position stages.
pub(super) fn read_gauges(model: &Model, state: &State, data: &Data, out: &mut Vec<Gauge>) {
    out.clear();
    let disable = &model.settings.disable;
    if !(disable.limit || disable.constraint) {
        joint_gauges(model, state, out);
        tendon_gauges(model, data, out);
    }
    for contact in &data.collision.contacts {
        let Some(switch) = of_contact(model, contact) else {
            continue;
        };
        let value = contact.distance - contact.include_margin;
        match out.iter_mut().find(|gauge| gauge.switch == switch) {
            Some(gauge) => gauge.value = gauge.value.min(value),
            None => out.push(Gauge { switch, value }),
        }
    }
}

fn joint_gauges(model: &Model, state: &State, out: &mut Vec<Gauge>) {
    let joints = &model.structure.joints;
    for (joint, _) in joints.limited.iter().enumerate().filter(|(_, on)| **on) {
        let ([low, high], margin) = (model.joints.range[joint], model.joints.margin[joint]);
        let position = joints.qpos[joint];
        let mut push = |upper: bool, distance: f64| {
            out.push(Gauge {
                switch: Switch::JointLimit { joint, upper },
                value: distance - margin,
            });
        };
        match joints.kind[joint] {
            JointKind::Hinge | JointKind::Slide => {
                push(false, state.qpos[position] - low);
                push(true, high - state.qpos[position]);
            }
            JointKind::Ball => {
                let (_, angle) = ball_angle(model, state, joint);
                push(true, low.max(high) - angle);
            }
            JointKind::Free => {}
        }
    }
}

fn tendon_gauges(model: &Model, data: &Data, out: &mut Vec<Gauge>) {
    let limited = model.structure.tendons.limited.iter().enumerate();
    for (tendon, _) in limited.filter(|(_, on)| **on) {
        let [low, high] = model.tendons.range[tendon];
        let (length, margin) = (data.tendon.length[tendon], model.tendons.margin[tendon]);
        for (upper, distance) in [(false, length - low), (true, high - length)] {
            out.push(Gauge {
                switch: Switch::TendonLimit { tendon, upper },
                value: distance - margin,
            });
        }
    }
}

/// The contact that a switch stands for: the closest one where several share it.
pub(super) fn contact_of(data: &Data, geoms: [usize; 2], feature: Option<u32>) -> Option<usize> {
    let contacts = data.collision.contacts.iter().enumerate();
    let of_switch =
        contacts.filter(|(_, contact)| (contact.geoms, contact.feature) == (geoms, feature));
    let closest = of_switch.min_by(|(_, a), (_, b)| a.distance.total_cmp(&b.distance));
    closest.map(|(index, _)| index)
}

/// The axis and the angle of a ball joint.
pub(super) fn ball_angle(model: &Model, state: &State, joint: usize) -> (Vec3, f64) {
    let position = model.structure.joints.qpos[joint];
    let quat = Quat(std::array::from_fn(|k| state.qpos[position + k]));
    quat.normalized().log().normalized()
}

/// The rate of a gauge; none for a contact that is out of sight. `data` holds position and velocity stages.
pub(super) fn gauge_rate(model: &Model, state: &State, data: &Data, switch: Switch) -> Option<f64> {
    let sign = |upper: bool| if upper { -1.0 } else { 1.0 };
    match switch {
        Switch::JointLimit { joint, upper } => {
            let rates = &state.qvel[model.structure.joints.dof[joint]..];
            if model.structure.joints.kind[joint] == JointKind::Ball {
                let (axis, _) = ball_angle(model, state, joint);
                return Some(-axis.dot(Vec3([rates[0], rates[1], rates[2]])));
            }
            Some(sign(upper) * rates[0])
        }
        Switch::TendonLimit { tendon, upper } => Some(sign(upper) * data.velocity.tendon[tendon]),
        Switch::Contact { geoms, feature } => {
            let contact = &data.collision.contacts[contact_of(data, geoms, feature)?];
            let velocity = relative_velocity(model, &data.kinematics, &data.velocity, contact);
            Some(velocity[0])
        }
    }
}
