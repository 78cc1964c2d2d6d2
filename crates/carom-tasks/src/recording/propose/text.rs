//! A mapping as the text of its file, with comments.

use std::fmt::Write as _;

use super::super::mapping::{
    ActuatorMapping, Axes, JointMapping, Mapping, NumberOrName, PoseMapping, RotationFormat,
    SensorMapping, Source,
};

/// Where comments of a line begin.
const COMMENT: usize = 40;

/// What is said beside tables, by `joint shoulder` and the like.
pub(super) type Notes = std::collections::BTreeMap<String, Vec<String>>;

/// A text of TOML.
fn quoted(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.replace('\u{7f}', "\\u007F")
}

fn source(source: &Source) -> String {
    match source {
        Source::One(place) => quoted(place),
        Source::Several(places) => {
            let places: Vec<String> = places.iter().map(|place| quoted(place)).collect();
            format!("[{}]", places.join(", "))
        }
    }
}

/// Lines of a table.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn line(&mut self, key: &str, value: &str, note: &str) {
        let line = format!("{key} = {value}");
        let _ = match note {
            "" => writeln!(self.0, "{line}"),
            note => writeln!(self.0, "{line:COMMENT$}# {note}"),
        };
    }

    fn source(&mut self, key: &str, given: Option<&Source>) {
        if let Some(given) = given {
            self.line(key, &source(given), "");
        }
    }

    fn number(&mut self, key: &str, given: Option<f64>) {
        if let Some(number) = given {
            self.line(key, &format!("{number:?}"), "");
        }
    }

    fn word(&mut self, key: &str, given: Option<&str>) {
        if let Some(word) = given {
            self.line(key, &quoted(word), "");
        }
    }

    fn flag(&mut self, key: &str, given: bool) {
        if given {
            self.line(key, "true", "");
        }
    }

    fn head(&mut self, kind: &str, name: &str, notes: &Notes) {
        self.0.push('\n');
        for note in notes.get(&format!("{kind} {name}")).into_iter().flatten() {
            let _ = writeln!(self.0, "# {note}");
        }
        let _ = writeln!(self.0, "[[{kind}]]");
        self.word("name", Some(name));
    }
}

/// The tables of a mapping.
pub(super) fn tables(mapping: &Mapping, time_note: &str, notes: &Notes) -> String {
    let mut lines = Lines::default();
    time(&mut lines, mapping, time_note);
    trajectories(&mut lines, mapping);
    for (kind, poses) in [("body", &mapping.bodies), ("site", &mapping.sites)] {
        for pose in poses {
            lines.head(kind, &pose.name, notes);
            self::pose(&mut lines, pose);
        }
    }
    for joint in &mapping.joints {
        lines.head("joint", &joint.name, notes);
        self::joint(&mut lines, joint);
    }
    for sensor in &mapping.sensors {
        lines.head("sensor", &sensor.name, notes);
        self::sensor(&mut lines, sensor);
    }
    for actuator in &mapping.actuators {
        lines.head("actuator", &actuator.name, notes);
        self::actuator(&mut lines, actuator);
    }
    lines.0
}

fn time(lines: &mut Lines, mapping: &Mapping, note: &str) {
    let time = &mapping.time;
    if time.column.is_none() && time.dt.is_none() && time.rate.is_none() {
        return;
    }
    lines.0.push_str("\n[time]\n");
    if let Some(column) = &time.column {
        lines.line("column", &quoted(column), note);
    }
    for (key, given) in [("dt", &time.dt), ("rate", &time.rate)] {
        match given {
            Some(NumberOrName::Number(number)) => lines.line(key, &format!("{number:?}"), note),
            Some(NumberOrName::Name(name)) => lines.line(key, &quoted(name), note),
            None => {}
        }
    }
    lines.number("factor", time.factor);
}

fn trajectories(lines: &mut Lines, mapping: &Mapping) {
    let split = &mapping.trajectories;
    if split.offsets.is_none() && split.columns.is_empty() && split.max_gap.is_none() && !split.axis
    {
        return;
    }
    lines.0.push_str("\n[trajectories]\n");
    lines.word("offsets", split.offsets.as_deref());
    lines.flag("axis", split.axis);
    if let Some(gap) = split.max_gap {
        lines.line(
            "max_gap",
            &format!("{gap:?}"),
            "s; a new trajectory begins after a longer gap",
        );
    }
    if !split.columns.is_empty() {
        lines.line(
            "columns",
            &source(&Source::Several(split.columns.clone())),
            "",
        );
    }
}

fn pose(lines: &mut Lines, pose: &PoseMapping) {
    lines.source("position", pose.position.as_ref());
    lines.source("rotation", pose.rotation.as_ref());
    if pose.rotation.is_some() {
        let (word, about) = match pose.rotation_format {
            RotationFormat::Wxyz => ("wxyz", "real part first; xyzw: last"),
            RotationFormat::Xyzw => ("xyzw", "real part last; wxyz: first"),
            RotationFormat::Matrix => ("matrix", "nine numbers, row by row"),
            RotationFormat::Vector => ("vector", "axis times angle (rad)"),
        };
        lines.line("rotation_format", &quoted(word), about);
    }
    lines.source("linear_velocity", pose.linear_velocity.as_ref());
    if let (Some(_), Some(Axes::Body)) = (&pose.linear_velocity, pose.linear_velocity_axes) {
        lines.line("linear_velocity_axes", "\"body\"", "or world");
    }
    lines.source("angular_velocity", pose.angular_velocity.as_ref());
    if pose.angular_velocity.is_some() {
        let (word, other) = match pose.angular_velocity_axes {
            Axes::Body => ("body", "or world"),
            Axes::World => ("world", "or body"),
        };
        lines.line("angular_velocity_axes", &quoted(word), other);
    }
    lines.word("unit", pose.unit.as_deref());
    let noise = &pose.noise;
    let parts = [
        ("position", noise.position),
        ("rotation", noise.rotation),
        ("linear_velocity", noise.linear_velocity),
        ("angular_velocity", noise.angular_velocity),
    ];
    let parts = parts
        .iter()
        .filter_map(|(name, sigma)| Some(format!("{name} = {:?}", (*sigma)?)));
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        lines.line("noise", &format!("{{ {} }}", parts.join(", ")), "");
    }
    lines.flag("missing", pose.missing);
}

fn joint(lines: &mut Lines, joint: &JointMapping) {
    lines.source("position", joint.position.as_ref());
    lines.source("velocity", joint.velocity.as_ref());
    lines.word("unit", joint.unit.as_deref());
    lines.number("noise", joint.noise);
    lines.number("velocity_noise", joint.velocity_noise);
    lines.flag("unwrap", joint.unwrap);
    lines.flag("missing", joint.missing);
}

fn sensor(lines: &mut Lines, sensor: &SensorMapping) {
    lines.source("values", Some(&sensor.values));
    lines.number("factor", sensor.factor);
    lines.number("noise", sensor.noise);
    lines.flag("missing", sensor.missing);
}

fn actuator(lines: &mut Lines, actuator: &ActuatorMapping) {
    lines.source("control", Some(&actuator.control));
    lines.number("factor", actuator.factor);
}

/// A table that is left to the reader: every line of it is a comment.
pub(super) fn commented(tables: &str) -> String {
    let lines = tables.trim().lines();
    lines
        .map(|line| format!("# {line}\n").replace("#  \n", "#\n"))
        .collect()
}
