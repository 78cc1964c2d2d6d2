//! Elements of a model by the words of their names.

use std::f64::consts::TAU;

use carom::Model;
use carom::model::{BiasKind, GainKind, JointKind, Transmission};
use carom_spec::model_spec::SensorKind;

use super::super::own_arrays::name_of;
use super::words::{is_known, words};

/// An element that a signal may belong to.
#[derive(Clone, Debug)]
pub(super) struct Element {
    /// Its id.
    pub(super) id: usize,
    /// Its name, or `#id`.
    pub(super) name: String,
    words: Vec<String>,
}

/// What of a model can be recorded.
pub(super) struct Elements<'a> {
    pub(super) model: &'a Model,
    /// Hinges and slides.
    pub(super) joints: Vec<Element>,
    /// Controls.
    pub(super) controls: Vec<Element>,
    /// Sensors.
    pub(super) sensors: Vec<Element>,
    /// Bodies on free joints.
    pub(super) free_bodies: Vec<Element>,
    /// All bodies but the world.
    pub(super) bodies: Vec<Element>,
    /// Sites.
    pub(super) sites: Vec<Element>,
}

fn listed(names: &[String]) -> Vec<Element> {
    let element = |id: usize| Element {
        id,
        name: name_of(names, id),
        words: words(&names[id]),
    };
    (0..names.len()).map(element).collect()
}

impl<'a> Elements<'a> {
    pub(super) fn of(model: &'a Model) -> Self {
        let structure = &model.structure;
        let names = &structure.names;
        let kinds = &structure.joints.kind;
        let mut joints = listed(&names.joints);
        joints.retain(|joint| matches!(kinds[joint.id], JointKind::Hinge | JointKind::Slide));
        let mut bodies = listed(&names.bodies);
        bodies.retain(|body| body.id > 0);
        let is_free = |body: &&Element| {
            let own = structure.bodies.joints[body.id].clone();
            own.clone().any(|joint| kinds[joint] == JointKind::Free)
        };
        Self {
            model,
            joints,
            controls: listed(&structure.control_names()),
            sensors: listed(&names.sensors),
            free_bodies: bodies.iter().filter(is_free).cloned().collect(),
            bodies,
            sites: listed(&names.sites),
        }
    }

    /// Whether a joint turns.
    pub(super) fn is_hinge(&self, joint: usize) -> bool {
        self.model.structure.joints.kind[joint] == JointKind::Hinge
    }

    /// Whether a control is a force or torque, and not the set point of a servo.
    pub(super) fn is_motor(&self, control: usize) -> bool {
        let actuators = &self.model.structure.actuators;
        let owner = actuators.control_owner[control];
        let [_, by_length, by_velocity, ..] = self.model.actuators.bias[owner];
        let is_free =
            actuators.bias[owner] == BiasKind::None || (by_length == 0.0 && by_velocity == 0.0);
        actuators.gain[owner] == GainKind::Fixed && is_free
    }

    /// Whether a number is outside of the range of a joint, and would be inside of it in degrees.
    pub(super) fn fits_in_degrees(&self, joint: usize, size: f64) -> bool {
        let limited = self.model.structure.joints.limited[joint];
        let reach = self.model.joints.range[joint]
            .iter()
            .fold(0.0_f64, |most, end| most.max(end.abs()));
        limited
            && self.is_hinge(joint)
            && size > (1.5 * reach).max(TAU)
            && size.to_radians() <= 1.1 * reach
    }

    /// The joint on which a control acts.
    pub(super) fn joint_of(&self, control: usize) -> Option<usize> {
        let actuators = &self.model.structure.actuators;
        match actuators.transmission[actuators.control_owner[control]] {
            Transmission::Joint(joint) | Transmission::JointInParent(joint) => Some(joint),
            _ => None,
        }
    }

    /// The gear of a control at its joint.
    pub(super) fn gear_of(&self, control: usize) -> f64 {
        let owner = self.model.structure.actuators.control_owner[control];
        self.model.actuators.gear[owner][0]
    }

    /// The only sensor of a kind.
    pub(super) fn only_sensor(&self, kind: SensorKind) -> Option<&Element> {
        let list = &self.model.structure.sensors.list;
        let mut found = self
            .sensors
            .iter()
            .filter(|sensor| list[sensor.id].kind == kind);
        found.next().filter(|_| found.next().is_none())
    }

    /// Joints on which actuators act, in order.
    pub(super) fn driven_joints(&self) -> Vec<&Element> {
        let driven: Vec<usize> = (0..self.controls.len())
            .filter_map(|control| self.joint_of(control))
            .collect();
        self.joints
            .iter()
            .filter(|joint| driven.contains(&joint.id))
            .collect()
    }

    /// Whether words name nothing but a joint, sensor or control.
    pub(super) fn is_named(&self, found: &[String]) -> bool {
        let lists = [&self.joints, &self.controls, &self.sensors];
        lists
            .iter()
            .any(|list| list.iter().any(|element| element.words == found))
    }
}

/// The element whose name the words have, or of which they have the end; and how many letters agree.
pub(super) fn named<'e>(elements: &'e [Element], found: &[String]) -> Option<(&'e Element, usize)> {
    let letters = |words: &[String]| words.iter().map(String::len).sum::<usize>();
    let whole = elements.iter().filter_map(|element| {
        let size = element.words.len();
        let place = (0..(found.len() + 1).saturating_sub(size))
            .find(|&at| found[at..at + size] == element.words[..]);
        let place = place.filter(|_| size > 0)?;
        let mut others = found[..place].iter().chain(&found[place + size..]);
        others
            .all(|word| is_known(word))
            .then(|| (element, letters(&element.words)))
    });
    if let Some(best) = whole.max_by_key(|(_, letters)| *letters) {
        return Some(best);
    }
    // `joint1` is `panda_joint1`, if there is no other that ends so.
    let own: Vec<String> = (found.iter())
        .filter(|word| !is_known(word) || super::words::is_filler(word))
        .cloned()
        .collect();
    let is_end = |element: &&Element| !own.is_empty() && element.words.ends_with(&own);
    let says_more = own.iter().any(|word| word.parse::<usize>().is_err());
    let mut ends = elements.iter().filter(is_end);
    let first = ends.next().filter(|_| says_more && ends.next().is_none())?;
    Some((first, letters(&own)))
}
