//! From signals to tables of a mapping: by names where they agree with the model's, else by shapes.

use std::f64::consts::PI;

use carom::Model;
use carom::model::JointKind;
use carom_spec::model_spec::SensorKind;

use super::super::mapping::{
    ActuatorMapping, Axes, JointMapping, Mapping, PoseMapping, RotationFormat, SensorMapping,
    Source,
};
use super::super::own_arrays::name_of;
use super::elements::{Element, Elements, named};
use super::signals::Signal;
use super::text::{self, Notes};
use super::words::{self, Part, printable};

/// Something that the reader has to decide.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// What it is.
    pub(super) about: String,
    /// Tables of a mapping that would decide it one way.
    pub(super) tables: String,
}

/// A mapping in the making.
pub(super) struct Draft<'a> {
    pub(super) elements: Elements<'a>,
    pub(super) mapping: Mapping,
    pub(super) notes: Notes,
    pub(super) open: Vec<Open>,
    /// What is not mapped, and why.
    pub(super) unused: Vec<String>,
}

/// What a list of numbers is that goes by order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Position,
    Velocity,
}

impl<'a> Draft<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        Self {
            elements: Elements::of(model),
            mapping: Mapping {
                file: "map.toml".to_owned(),
                ..Mapping::default()
            },
            notes: Notes::default(),
            open: Vec::new(),
            unused: Vec::new(),
        }
    }

    /// Maps a signal by the name of an element; false where no name agrees.
    pub(super) fn by_name(&mut self, signal: &Signal) -> bool {
        if signal.width() == 1 && self.number_by_name(signal) {
            return true;
        }
        let structure = &self.elements.model.structure;
        let sensor = named(&self.elements.sensors, &signal.words).map(|(sensor, _)| sensor.clone());
        if let Some(sensor) = sensor
            && structure.sensors.dimension[sensor.id] == signal.width()
        {
            return self.sensor(&sensor, signal);
        }
        for kind in ["body", "site"] {
            let lists: &[&Vec<Element>] = match kind {
                "body" => &[&self.elements.free_bodies, &self.elements.bodies],
                _ => &[&self.elements.sites],
            };
            let found = lists.iter().find_map(|list| named(list, &signal.words));
            if let Some((element, _)) = found {
                let element = element.clone();
                return self.pose(kind, &element, signal);
            }
        }
        false
    }

    fn number_by_name(&mut self, signal: &Signal) -> bool {
        let elements = &self.elements;
        let joint = named(&elements.joints, &signal.words);
        let control = named(&elements.controls, &signal.words);
        let letters = |found: Option<(&Element, usize)>| found.map_or(0, |(_, letters)| letters);
        let (for_joint, for_control) = (letters(joint), letters(control));
        let joint = joint.map(|(joint, _)| joint.clone());
        let control = control.map(|(control, _)| control.clone());
        match signal.part {
            Part::Command | Part::Effort => {
                let of_joint = joint.as_ref().and_then(|joint| self.control_of(joint.id));
                let best = if for_control >= for_joint {
                    control.or(of_joint)
                } else {
                    of_joint.or(control)
                };
                if best.is_none() && joint.is_none() {
                    return false;
                }
                self.control(best, signal, signal.one(0));
                true
            }
            Part::Acceleration => false,
            Part::Velocity => {
                joint.is_some_and(|joint| self.joint(&joint, State::Velocity, signal, 0))
            }
            // A name alone is that of what it is: a joint's position, an actuator's control.
            _ if for_control > for_joint => {
                self.control(control, signal, signal.one(0));
                true
            }
            _ => joint.is_some_and(|joint| self.joint(&joint, State::Position, signal, 0)),
        }
    }

    fn control_of(&self, joint: usize) -> Option<Element> {
        let acts = |control: &&Element| self.elements.joint_of(control.id) == Some(joint);
        self.elements.controls.iter().find(acts).cloned()
    }

    /// Maps a signal by its width and the words that say what it measures.
    pub(super) fn by_shape(&mut self, signal: &Signal) {
        let done = match signal.part {
            Part::Position => {
                self.state(State::Position, signal, 0..signal.width()) || self.free_pose(signal)
            }
            Part::Velocity => {
                self.state(State::Velocity, signal, 0..signal.width()) || self.free_pose(signal)
            }
            Part::Rotation | Part::Linear | Part::Pose | Part::Twist => self.free_pose(signal),
            Part::Angular => self.gyro(signal) || self.free_pose(signal),
            Part::Acceleration => self.accelerometer(signal),
            Part::Effort | Part::Command => self.controls(signal),
            Part::State => self.whole_state(signal),
            Part::Time | Part::Unknown => false,
        };
        if !done {
            self.leave(signal);
        }
    }

    /// Says what a signal may be, where that is not known.
    fn leave(&mut self, signal: &Signal) {
        let (width, joints) = (signal.width(), &self.elements.joints);
        let kind = match signal.part {
            Part::Position => "position",
            Part::Velocity => "velocity",
            _ => return self.unused.push(signal.name.clone()),
        };
        if width > joints.len() || joints.is_empty() {
            return self.unused.push(signal.name.clone());
        }
        let names: Vec<&str> = joints.iter().map(|joint| joint.name.as_str()).collect();
        let mut mapping = Mapping::default();
        for (index, joint) in joints.iter().take(width).enumerate() {
            mapping.joints.push(JointMapping {
                name: joint.name.clone(),
                position: (kind == "position").then(|| signal.one(index)),
                velocity: (kind == "velocity").then(|| signal.one(index)),
                ..JointMapping::default()
            });
        }
        self.open.push(Open {
            about: format!(
                "{} has {width} numbers, which may be the {kind} of {width} of the joints {}",
                signal.name,
                names.join(", ")
            ),
            tables: text::tables(&mapping, "", &Notes::default()),
        });
    }

    // Joints.

    /// Maps some numbers of a signal to all joints in order; false where their count is another.
    fn state(&mut self, state: State, signal: &Signal, range: std::ops::Range<usize>) -> bool {
        let counts = self.elements.model.counts();
        let all = if state == State::Position {
            counts.nq
        } else {
            counts.nv
        };
        let width = range.len();
        let driven = self.elements.driven_joints();
        let of_joints =
            |list: &[&Element]| list.iter().map(|&joint| joint.clone()).collect::<Vec<_>>();
        let joints = of_joints(&self.elements.joints.iter().collect::<Vec<_>>());
        if width == 0 {
            return false;
        }
        if width == joints.len() {
            return self.joints_in_order(&joints, state, signal, range.start);
        }
        if width == all && self.has_no_ball() {
            return self.whole(state, signal, range.start);
        }
        if width == driven.len() {
            let driven = of_joints(&driven);
            return self.joints_in_order(&driven, state, signal, range.start);
        }
        false
    }

    fn has_no_ball(&self) -> bool {
        !self
            .elements
            .model
            .structure
            .joints
            .kind
            .contains(&JointKind::Ball)
    }

    fn joints_in_order(
        &mut self,
        joints: &[Element],
        state: State,
        signal: &Signal,
        first: usize,
    ) -> bool {
        for (index, joint) in joints.iter().enumerate() {
            self.joint(joint, state, signal, first + index);
        }
        if let [joint, _, ..] = joints
            && state == State::Position
        {
            let note = format!("From here on by order: {}", signal.name);
            self.note(&format!("joint {}", joint.name), note);
        }
        true
    }

    /// Coordinates of all joints, free ones included, in the order of the model.
    fn whole(&mut self, state: State, signal: &Signal, first: usize) -> bool {
        let model = self.elements.model;
        let structure = &model.structure;
        for (joint, &kind) in structure.joints.kind.iter().enumerate() {
            let place = match state {
                State::Position => structure.joints.qpos[joint],
                State::Velocity => structure.joints.dof[joint],
            };
            let place = first + place;
            if kind == JointKind::Free {
                let body = self.free_body(structure.joints.body[joint]);
                let part = |first, count| Some(signal.some(first, count));
                match state {
                    State::Position => {
                        (body.position, body.rotation) = (part(place, 3), part(place + 3, 4));
                    }
                    State::Velocity => {
                        body.linear_velocity = part(place, 3);
                        body.angular_velocity = part(place + 3, 3);
                    }
                }
            } else {
                let element = self
                    .elements
                    .joints
                    .iter()
                    .find(|element| element.id == joint);
                if let Some(element) = element.cloned() {
                    self.joint(&element, state, signal, place);
                }
            }
        }
        true
    }

    fn free_body(&mut self, body: usize) -> &mut PoseMapping {
        let name = name_of(&self.elements.model.structure.names.bodies, body);
        find_pose(&mut self.mapping.bodies, &name)
    }

    /// Maps one number to a joint.
    fn joint(&mut self, joint: &Element, state: State, signal: &Signal, index: usize) -> bool {
        let unit = words::unit(&signal.words, self.elements.is_hinge(joint.id));
        let joints = &mut self.mapping.joints;
        let place = joints
            .iter()
            .position(|own| own.name == joint.name)
            .unwrap_or_else(|| {
                joints.push(JointMapping {
                    name: joint.name.clone(),
                    ..JointMapping::default()
                });
                joints.len() - 1
            });
        let own = &mut joints[place];
        let slot = match state {
            State::Position => &mut own.position,
            State::Velocity => &mut own.velocity,
        };
        if slot.is_some() {
            let word = if state == State::Position {
                "position"
            } else {
                "velocity"
            };
            self.note(
                &format!("joint {}", joint.name),
                format!("{word} may be {} instead", signal.name),
            );
            return true;
        }
        *slot = Some(signal.one(index));
        match (&own.unit, unit) {
            (None, Some(unit)) if state == State::Position || own.position.is_none() => {
                own.unit = Some(unit.to_owned());
            }
            // Positions in degrees, velocities in radians a second.
            (Some(position), None) if position == "deg" && state == State::Velocity => {
                own.velocity_factor = Some(180.0 / PI);
            }
            _ => {}
        }
        own.missing |= signal.range.is_none();
        true
    }

    fn note(&mut self, element: &str, note: String) {
        self.notes.entry(element.to_owned()).or_default().push(note);
    }

    // Bodies and sites.

    /// A signal of the only free body, or of the one that moves.
    fn free_pose(&mut self, signal: &Signal) -> bool {
        let fits = match signal.part {
            Part::Position | Part::Linear | Part::Velocity | Part::Angular => {
                signal.width() == 3 || signal.width() == 4
            }
            Part::Rotation => matches!(signal.width(), 3 | 4 | 9),
            Part::Pose => signal.width() == 7,
            Part::Twist => signal.width() == 6,
            _ => false,
        };
        if !fits {
            return false;
        }
        match self.elements.free_bodies.as_slice() {
            [] => false,
            [body] => {
                let body = body.clone();
                self.pose("body", &body, signal)
            }
            bodies => {
                let names: Vec<&str> = bodies.iter().map(|body| body.name.as_str()).collect();
                let mut mapping = Mapping::default();
                let pose = find_pose(&mut mapping.bodies, names[0]);
                if !set_pose(pose, signal) {
                    return false;
                }
                let about = format!(
                    "{} may be of any of the bodies {}",
                    signal.name,
                    names.join(", ")
                );
                let tables = text::tables(&mapping, "", &Notes::default());
                self.open.push(Open { about, tables });
                true
            }
        }
    }

    /// Maps a signal to parts of a pose; false where its width is none of theirs.
    fn pose(&mut self, kind: &str, element: &Element, signal: &Signal) -> bool {
        let is_free = self
            .elements
            .free_bodies
            .iter()
            .any(|body| body.id == element.id);
        let is_velocity = matches!(
            signal.part,
            Part::Velocity | Part::Linear | Part::Angular | Part::Twist
        );
        if is_velocity && !(is_free && kind == "body") {
            return false;
        }
        let list = match kind {
            "body" => &mut self.mapping.bodies,
            _ => &mut self.mapping.sites,
        };
        let known = list.iter().any(|pose| pose.name == element.name);
        let pose = find_pose(list, &element.name);
        let before = pose.clone();
        let is_set = set_pose(pose, signal);
        let is_taken = is_set && *pose == before;
        if !is_set && !known {
            list.pop();
        }
        if is_taken {
            self.note(
                &format!("{kind} {}", element.name),
                format!("{} may be meant as well", signal.name),
            );
        }
        is_set
    }

    // Sensors and actuators.

    fn gyro(&mut self, signal: &Signal) -> bool {
        let says = |word: &str| signal.words.iter().any(|own| own == word);
        let found = self.elements.only_sensor(SensorKind::Gyro).cloned();
        match found {
            Some(sensor) if signal.width() == 3 && (says("gyro") || says("imu")) => {
                self.sensor(&sensor, signal)
            }
            _ => false,
        }
    }

    fn accelerometer(&mut self, signal: &Signal) -> bool {
        let found = self
            .elements
            .only_sensor(SensorKind::Accelerometer)
            .cloned();
        let found = found.filter(|_| signal.width() == 3);
        found.is_some_and(|sensor| self.sensor(&sensor, signal))
    }

    fn sensor(&mut self, sensor: &Element, signal: &Signal) -> bool {
        if self
            .mapping
            .sensors
            .iter()
            .any(|own| own.name == sensor.name)
        {
            self.note(
                &format!("sensor {}", sensor.name),
                format!("may be {} instead", signal.name),
            );
            return true;
        }
        self.mapping.sensors.push(SensorMapping {
            name: sensor.name.clone(),
            values: signal.source.clone(),
            factor: None,
            offset: 0.0,
            noise: None,
            missing: signal.range.is_none(),
            time: None,
        });
        true
    }

    /// Maps numbers to controls in order.
    fn controls(&mut self, signal: &Signal) -> bool {
        let controls = self.elements.controls.clone();
        if controls.is_empty() {
            self.unused
                .push(format!("{} (the model has no actuators)", signal.name));
            return true;
        }
        let driven: Vec<usize> = (self.elements.driven_joints().iter())
            .map(|joint| joint.id)
            .collect();
        if signal.width() == controls.len() {
            for (index, control) in controls.into_iter().enumerate() {
                self.control(Some(control), signal, signal.one(index));
            }
            return true;
        }
        // Torques of all joints, of which some have motors.
        let joints = self.elements.joints.clone();
        if signal.part == Part::Effort && signal.width() == joints.len() && !driven.is_empty() {
            for (index, joint) in joints.iter().enumerate() {
                if let Some(control) = self.control_of(joint.id) {
                    self.control(Some(control), signal, signal.one(index));
                }
            }
            return true;
        }
        false
    }

    /// Maps one number to a control, if it can be what the actuator was told.
    fn control(&mut self, control: Option<Element>, signal: &Signal, place: Source) {
        let Some(control) = control else {
            let why = "no actuator acts on that joint";
            return self
                .unused
                .push(format!("{} ({why})", printable(&place.to_string())));
        };
        let is_motor = self.elements.is_motor(control.id);
        let says = |parts: &[Part]| {
            let own = |word: &String| parts.contains(&words::part(std::slice::from_ref(word)));
            signal.words.iter().any(own)
        };
        if is_motor && says(&[Part::Position, Part::Velocity, Part::Rotation]) {
            let why = format!("'{}' is a motor, and takes forces", control.name);
            return self
                .unused
                .push(format!("{} ({why})", printable(&place.to_string())));
        }
        if !is_motor && says(&[Part::Effort]) {
            let why = format!("'{}' is a servo, and takes set points", control.name);
            return self
                .unused
                .push(format!("{} ({why})", printable(&place.to_string())));
        }
        let name = format!("actuator {}", control.name);
        if let Some(own) = self
            .mapping
            .actuators
            .iter_mut()
            .find(|own| own.name == control.name)
        {
            // What was commanded is better than what was measured.
            let is_better = signal.part == Part::Command
                && self
                    .notes
                    .get(&name)
                    .is_some_and(|notes| notes.contains(&MEASURED.to_owned()));
            if is_better {
                own.control = place;
                own.factor = None;
                self.notes.remove(&name);
            } else {
                self.note(
                    &name,
                    format!("control may be {} instead", printable(&place.to_string())),
                );
            }
            return;
        }
        let joint = self.elements.joint_of(control.id);
        let mut factor = None;
        if signal.part == Part::Effort {
            self.note(&name, MEASURED.to_owned());
            let gear = self.elements.gear_of(control.id);
            if joint.is_some() && gear != 1.0 && gear != 0.0 {
                factor = Some(1.0 / gear);
                self.note(
                    &name,
                    format!("torques at the joint: the gear of the motor is {gear}"),
                );
            }
        } else if joint.is_some_and(|joint| self.elements.is_hinge(joint))
            && words::unit(&signal.words, true) == Some("deg")
        {
            factor = Some(PI / 180.0);
        }
        self.mapping.actuators.push(ActuatorMapping {
            name: control.name,
            control: place,
            factor,
            offset: 0.0,
            time: None,
            optional: false,
        });
    }

    /// Positions and velocities side by side.
    fn whole_state(&mut self, signal: &Signal) -> bool {
        let counts = self.elements.model.counts();
        let joints = self.elements.joints.len();
        let width = signal.width();
        if width == counts.nq + counts.nv && self.has_no_ball() {
            return self.whole(State::Position, signal, 0)
                && self.whole(State::Velocity, signal, counts.nq);
        }
        if joints > 0 && width == 2 * joints {
            return self.state(State::Position, signal, 0..joints)
                && self.state(State::Velocity, signal, joints..width);
        }
        false
    }
}

/// What is said where a measured force stands for a command.
const MEASURED: &str = "measured torque as the control: the actuator is a motor";

fn find_pose<'m>(list: &'m mut Vec<PoseMapping>, name: &str) -> &'m mut PoseMapping {
    let place = list
        .iter()
        .position(|pose| pose.name == name)
        .unwrap_or_else(|| {
            list.push(PoseMapping {
                name: name.to_owned(),
                ..PoseMapping::default()
            });
            list.len() - 1
        });
    &mut list[place]
}

/// Sets the parts of a pose that a signal has, unless they are set; false where its width is none of theirs.
fn set_pose(pose: &mut PoseMapping, signal: &Signal) -> bool {
    let width = signal.width();
    let whole = || signal.some(0, width);
    match (signal.part, width) {
        (Part::Position | Part::Unknown, 3) => {
            pose.position.get_or_insert_with(whole);
        }
        (Part::Rotation, 3 | 9) | (Part::Rotation | Part::Position, 4) => {
            if pose.rotation.is_none() {
                pose.rotation = Some(whole());
                pose.rotation_format = format_of(signal);
            }
        }
        (Part::Linear | Part::Velocity, 3) => {
            if pose.linear_velocity.is_none() {
                pose.linear_velocity = Some(whole());
                // Those of odometry are in the body's axes.
                pose.linear_velocity_axes = signal.is_message.then_some(Axes::Body);
            }
        }
        (Part::Angular, 3) => {
            pose.angular_velocity.get_or_insert_with(whole);
        }
        (Part::Pose, 7) => {
            pose.position.get_or_insert_with(|| signal.some(0, 3));
            if pose.rotation.is_none() {
                pose.rotation = Some(signal.some(3, 4));
                pose.rotation_format = format_of(signal);
            }
        }
        (Part::Twist, 6) => {
            pose.linear_velocity
                .get_or_insert_with(|| signal.some(0, 3));
            pose.angular_velocity
                .get_or_insert_with(|| signal.some(3, 3));
        }
        _ => return false,
    }
    if pose.unit.is_none() && matches!(signal.part, Part::Position | Part::Pose) {
        pose.unit = words::unit(&signal.words, false).map(str::to_owned);
    }
    true
}

/// How a rotation is written, as far as shape, words and messages tell.
fn format_of(signal: &Signal) -> RotationFormat {
    let says = |word: &str| signal.words.iter().any(|own| own == word);
    match signal.width() {
        3 => RotationFormat::Vector,
        9 => RotationFormat::Matrix,
        _ if signal.is_message || says("xyzw") => RotationFormat::Xyzw,
        _ => RotationFormat::Wxyz,
    }
}
