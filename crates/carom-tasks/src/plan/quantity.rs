//! Numbers about a motion by name, sums and differences of them, and their adjoint.
//!
//! A name is one of `sensor.NAME`, `sensordata`, `qpos`, `qvel`, `act`, `ctrl`, `ctrl.ACTUATOR`, `joint.NAME.qpos`,
//! `joint.NAME.qvel`, `site.NAME.pos`, `body.NAME.pos`, `geom.NAME.pos` (and `quat`, `xaxis`, `yaxis`, `zaxis`, `linvel`,
//! `angvel` of them, `subtree_com` of bodies), `contact.GEOM:GEOM.force`, with an index or a range behind: `[2]`, `[0:2]`.
//! What no sensor of the model measures is measured by one that is added to it: so costs know states, controls and sensors, and
//! hold for any system that has these.

use carom::Model;
use carom::model::JointKind;
use carom_spec::ModelSpec;
use carom_spec::diagnostic::nearest_name;
use carom_spec::model_spec::{
    ContactReduction, ContactReport, ObjectKind, ObjectReference, Reference, SensorFields,
    SensorKind, SensorSpec,
};

/// What is known of a moment of a motion.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Configuration.
    pub qpos: &'a [f64],
    /// Velocity.
    pub qvel: &'a [f64],
    /// Activations.
    pub act: &'a [f64],
    /// Controls of the step that led there.
    pub ctrl: &'a [f64],
    /// What the sensors read.
    pub sensors: &'a [f64],
}

/// Derivatives by what is known of a moment; those by the configuration in tangent space.
#[derive(Debug)]
pub struct ReadingBar<'a> {
    /// By the configuration.
    pub qpos: &'a mut [f64],
    /// By the velocity.
    pub qvel: &'a mut [f64],
    /// By the activations.
    pub act: &'a mut [f64],
    /// By the controls.
    pub ctrl: &'a mut [f64],
    /// By the sensors.
    pub sensors: &'a mut [f64],
}

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// A value of a sensor.
    Sensor(usize),
    /// A coordinate, and its velocity's index.
    Position {
        /// Index of the coordinate.
        qpos: usize,
        /// Index in the tangent.
        dof: usize,
    },
    /// A velocity.
    Velocity(usize),
    /// An activation.
    Activation(usize),
    /// A control.
    Control(usize),
    /// The number itself.
    Number(f64),
}

impl Source {
    /// Its value.
    pub fn read(self, reading: &Reading<'_>) -> f64 {
        match self {
            Self::Sensor(index) => reading.sensors[index],
            Self::Position { qpos, .. } => reading.qpos[qpos],
            Self::Velocity(index) => reading.qvel[index],
            Self::Activation(index) => reading.act[index],
            Self::Control(index) => reading.ctrl[index],
            Self::Number(number) => number,
        }
    }

    fn pull(self, bar: f64, into: &mut ReadingBar<'_>) {
        match self {
            Self::Sensor(index) => into.sensors[index] += bar,
            Self::Position { dof, .. } => into.qpos[dof] += bar,
            Self::Velocity(index) => into.qvel[index] += bar,
            Self::Activation(index) => into.act[index] += bar,
            Self::Control(index) => into.ctrl[index] += bar,
            Self::Number(_) => {}
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    sign: f64,
    /// One for each number of the quantity, or one for all.
    sources: Vec<Source>,
}

/// A vector of numbers about a motion: a sum of named ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    terms: Vec<Term>,
    width: usize,
}

impl Quantity {
    /// Of single places.
    pub fn of(sources: Vec<Source>) -> Self {
        Self {
            width: sources.len(),
            terms: vec![Term { sign: 1.0, sources }],
        }
    }

    /// How many numbers it has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The places of its numbers, if it is a plain name.
    pub fn places(&self) -> Option<&[Source]> {
        match self.terms.as_slice() {
            [term] if term.sign == 1.0 => Some(&term.sources),
            _ => None,
        }
    }

    /// Whether it looks at sensors.
    pub fn uses_sensors(&self) -> bool {
        let mut sources = self.terms.iter().flat_map(|term| &term.sources);
        sources.any(|source| matches!(source, Source::Sensor(_)))
    }

    /// Writes its numbers.
    pub fn read(&self, reading: &Reading<'_>, out: &mut [f64]) {
        out.fill(0.0);
        for term in &self.terms {
            for (k, sum) in out.iter_mut().enumerate() {
                let source = term.sources[if term.sources.len() == 1 { 0 } else { k }];
                *sum += term.sign * source.read(reading);
            }
        }
    }

    /// Adds the derivatives of what depends on its numbers.
    pub fn pull(&self, bars: &[f64], into: &mut ReadingBar<'_>) {
        for term in &self.terms {
            for (k, &bar) in bars.iter().enumerate() {
                let source = term.sources[if term.sources.len() == 1 { 0 } else { k }];
                source.pull(term.sign * bar, into);
            }
        }
    }

    /// Finds the numbers that a text names.
    ///
    /// # Errors
    /// With what is wrong and what would be right.
    pub fn parse(text: &str, model: &Model) -> Result<Self, String> {
        let mut terms = Vec::new();
        for (sign, part) in parts(text)? {
            let sources = match part.parse::<f64>() {
                Ok(number) if number.is_finite() => vec![Source::Number(number)],
                Ok(_) => return Err(format!("'{part}' is not a finite number")),
                Err(_) => places(part, model)?,
            };
            terms.push(Term { sign, sources });
        }
        let width = terms.iter().map(|term| term.sources.len()).max();
        let width = width.unwrap_or(0);
        if let Some(odd) = (terms.iter()).find(|term| ![1, width].contains(&term.sources.len())) {
            return Err(format!(
                "'{text}': {width} and {} numbers have neither sum nor difference; take a part, as in [0:{}]",
                odd.sources.len(),
                odd.sources.len(),
            ));
        }
        Ok(Self { terms, width })
    }
}

/// The signed parts of a sum; signs between parts stand alone, so that names may hold them.
fn parts(text: &str) -> Result<Vec<(f64, &str)>, String> {
    let mut parts = Vec::new();
    let (mut sign, mut rest) = (1.0, text.trim());
    loop {
        let next = [" + ", " - "].iter().filter_map(|sign| rest.find(sign));
        let end = next.min().unwrap_or(rest.len());
        let part = rest[..end].trim();
        if part.is_empty() {
            return Err(format!("'{text}': a name is missing; {FORMS}"));
        }
        parts.push((sign, part));
        if end == rest.len() {
            return Ok(parts);
        }
        sign = if rest[end..].starts_with(" - ") {
            -1.0
        } else {
            1.0
        };
        rest = &rest[end + 3..];
    }
}

/// What can be named.
const FORMS: &str = "there are sensor.NAME, site.NAME.pos, body.NAME.pos, joint.NAME.qpos, ctrl.NAME, contact.GEOM:GEOM.force, qpos, qvel, act, ctrl, each with an index or a range behind ([2], [0:2]), numbers, and sums and differences";

/// The first number that is meant, and the first one after; none after a single one.
type Cut = (usize, Option<usize>);

/// A name without its index or range, and these.
fn cut(part: &str) -> Result<(&str, Option<Cut>), String> {
    let Some(inner) = part.strip_suffix(']') else {
        return Ok((part, None));
    };
    let wrong =
        || format!("'{part}': between the brackets stands an index or a range, as in [2] or [0:2]");
    let (base, inner) = inner.rsplit_once('[').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    let range = match inner.split_once(':') {
        Some((from, to)) => {
            let from = if from.trim().is_empty() {
                0
            } else {
                number(from)?
            };
            let to = if to.trim().is_empty() {
                usize::MAX
            } else {
                number(to)?
            };
            (from, Some(to))
        }
        None => (number(inner)?, None),
    };
    Ok((base.trim(), Some(range)))
}

fn places(part: &str, model: &Model) -> Result<Vec<Source>, String> {
    let (base, range) = cut(part)?;
    let all = whole(base, part, model)?;
    let Some((from, to)) = range else {
        return Ok(all);
    };
    let to = to.map_or(from.saturating_add(1), |to| to.min(all.len()));
    match all.get(from..to) {
        Some(chosen) if !chosen.is_empty() => {
            for source in chosen {
                check_plain(*source, part, model)?;
            }
            Ok(chosen.to_vec())
        }
        _ => Err(format!(
            "'{part}': {base} has {} numbers, counted from 0",
            all.len()
        )),
    }
}

/// Quaternions of a configuration have no derivative number by number.
fn check_plain(source: Source, part: &str, model: &Model) -> Result<(), String> {
    let Source::Position { qpos, .. } = source else {
        return Ok(());
    };
    let joints = &model.structure.joints;
    let joint = joints.qpos.partition_point(|&first| first <= qpos) - 1;
    let offset = qpos - joints.qpos[joint];
    let is_quat = match joints.kind[joint] {
        JointKind::Hinge | JointKind::Slide => false,
        JointKind::Ball => true,
        JointKind::Free => offset >= 3,
    };
    if is_quat {
        return Err(format!(
            "'{part}' is a number of a quaternion, which does not change by itself; take body.NAME.zaxis or another axis"
        ));
    }
    Ok(())
}

fn position(qpos: usize, model: &Model) -> Source {
    let joints = &model.structure.joints;
    let joint = (joints.qpos.partition_point(|&first| first <= qpos)).saturating_sub(1);
    let offset = qpos - joints.qpos[joint];
    Source::Position {
        qpos,
        dof: joints.dof[joint] + offset,
    }
}

fn whole(base: &str, part: &str, model: &Model) -> Result<Vec<Source>, String> {
    let n = model.counts();
    let names = &model.structure.names;
    match base {
        "qpos" => return Ok((0..n.nq).map(|index| position(index, model)).collect()),
        "qvel" => return Ok((0..n.nv).map(Source::Velocity).collect()),
        "act" => return Ok((0..n.na).map(Source::Activation).collect()),
        "ctrl" => return Ok((0..n.nu).map(Source::Control).collect()),
        "sensordata" => return Ok((0..n.nsensor_value).map(Source::Sensor).collect()),
        _ => {}
    }
    let (family, rest) = base
        .split_once('.')
        .ok_or_else(|| format!("'{part}' names nothing; {FORMS}"))?;
    match family {
        "sensor" => sensor(rest, part, model),
        "ctrl" => {
            let controls = model.structure.control_names();
            let index = find(rest, "actuator", part, controls.iter().map(String::as_str))?;
            Ok(vec![Source::Control(index)])
        }
        "joint" => {
            let (name, field) = split_field(rest, part, &["qpos", "qvel"])?;
            let index = find(name, "joint", part, names.joints.iter().map(String::as_str))?;
            let joints = &model.structure.joints;
            let (positions, dofs) = match joints.kind[index] {
                JointKind::Hinge | JointKind::Slide => (1, 1),
                JointKind::Ball => (4, 3),
                JointKind::Free => (7, 6),
            };
            Ok(match field {
                "qpos" => (0..positions)
                    .map(|k| position(joints.qpos[index] + k, model))
                    .collect(),
                _ => (0..dofs)
                    .map(|k| Source::Velocity(joints.dof[index] + k))
                    .collect(),
            })
        }
        "site" | "body" | "geom" | "contact" => sensor(base, part, model),
        _ => Err(format!("'{part}' names nothing; {FORMS}")),
    }
}

fn split_field<'a>(
    rest: &'a str,
    part: &str,
    fields: &[&str],
) -> Result<(&'a str, &'a str), String> {
    let found = rest.rsplit_once('.');
    found
        .filter(|(_, field)| fields.contains(field))
        .ok_or_else(|| {
            format!(
                "'{part}': behind the name stands one of {}",
                fields.join(", ")
            )
        })
}

fn sensor(name: &str, part: &str, model: &Model) -> Result<Vec<Source>, String> {
    let names = &model.structure.names.sensors;
    let index = find(name, "sensor", part, names.iter().map(String::as_str))?;
    let sensors = &model.structure.sensors;
    let first = sensors.address[index];
    let values = first..first + sensors.dimension[index];
    Ok(values.map(Source::Sensor).collect())
}

/// Most names that a message lists.
const MAX_LISTED_NAMES: usize = 12;

/// The index of a name.
pub(super) fn find<'a>(
    name: &str,
    what: &str,
    part: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, String> {
    let is_it = |other: &str| !name.is_empty() && other == name;
    if let Some(index) = known.clone().position(is_it) {
        return Ok(index);
    }
    let help = if let Some(near) = nearest_name(name, known.clone()) {
        format!("did you mean '{near}'?")
    } else {
        let mut listed: Vec<&str> = known.filter(|name| !name.is_empty()).collect();
        listed.truncate(MAX_LISTED_NAMES);
        if listed.is_empty() {
            format!("it has no {what} with a name")
        } else {
            format!("it has {}", listed.join(", "))
        }
    };
    Err(format!(
        "'{part}': the model has no {what} '{name}'; {help}"
    ))
}

/// Fields of frames, and the sensors that measure them.
const FRAME_FIELDS: [(&str, SensorKind); 7] = [
    ("pos", SensorKind::FramePosition),
    ("quat", SensorKind::FrameQuaternion),
    ("xaxis", SensorKind::FrameXAxis),
    ("yaxis", SensorKind::FrameYAxis),
    ("zaxis", SensorKind::FrameZAxis),
    ("linvel", SensorKind::FrameLinearVelocity),
    ("angvel", SensorKind::FrameAngularVelocity),
];

/// Adds to a description the sensors that a text needs and the model lacks.
///
/// # Errors
/// With what is wrong and what would be right.
pub(super) fn add_sensors(text: &str, spec: &mut ModelSpec) -> Result<(), String> {
    for (_, part) in parts(text)? {
        let (base, _) = cut(part)?;
        let family = base.split('.').next().unwrap_or_default();
        if !["site", "body", "geom", "contact"].contains(&family)
            || spec.sensors.iter().any(|sensor| sensor.name == base)
        {
            continue;
        }
        let rest = &base[(family.len() + 1).min(base.len())..];
        let sensor = match family {
            "contact" => contact_sensor(rest, part, spec)?,
            _ => frame_sensor(family, rest, part, spec)?,
        };
        spec.sensors.push(SensorSpec {
            name: base.to_owned(),
            ..sensor
        });
    }
    Ok(())
}

fn object(kind: ObjectKind, name: &str) -> ObjectReference {
    ObjectReference {
        kind,
        reference: Reference {
            name: name.to_owned(),
            span: carom_spec::Span::default(),
        },
    }
}

fn frame_sensor(
    family: &str,
    rest: &str,
    part: &str,
    spec: &ModelSpec,
) -> Result<SensorSpec, String> {
    let mut fields: Vec<&str> = FRAME_FIELDS.iter().map(|(field, _)| *field).collect();
    if family == "body" {
        fields.push("subtree_com");
    }
    let (name, field) = split_field(rest, part, &fields)?;
    let bodies = spec.bodies.iter();
    let object_kind = match family {
        "site" => {
            let names = bodies.flat_map(|body| body.sites.iter().map(|site| site.name.as_str()));
            find(name, "site", part, names)?;
            ObjectKind::Site
        }
        "geom" => {
            let names = bodies.flat_map(|body| body.geoms.iter().map(|geom| geom.name.as_str()));
            find(name, "geom", part, names)?;
            ObjectKind::Geom
        }
        _ => {
            find(name, "body", part, bodies.map(|body| body.name.as_str()))?;
            ObjectKind::Body
        }
    };
    let known = FRAME_FIELDS.iter().find(|(known, _)| *known == field);
    let kind = known.map_or(SensorKind::SubtreeCenterOfMass, |(_, kind)| *kind);
    Ok(SensorSpec {
        kind,
        object: Some(object(object_kind, name)),
        ..SensorSpec::default()
    })
}

fn contact_sensor(rest: &str, part: &str, spec: &ModelSpec) -> Result<SensorSpec, String> {
    let (pair, _) = split_field(rest, part, &["force"])?;
    let (first, second) = pair.split_once(':').ok_or_else(|| {
        format!("'{part}': a contact is one of two geoms, as in contact.foot:floor.force")
    })?;
    for name in [first, second] {
        let geoms = spec.bodies.iter().flat_map(|body| &body.geoms);
        find(name, "geom", part, geoms.map(|geom| geom.name.as_str()))?;
    }
    let mut fields = [false; 9];
    fields[1] = true;
    Ok(SensorSpec {
        kind: SensorKind::Contact(ContactReport {
            fields: SensorFields(fields),
            reduction: ContactReduction::NetForce,
            count: 1,
        }),
        object: Some(object(ObjectKind::Geom, first)),
        reference: Some(object(ObjectKind::Geom, second)),
        ..SensorSpec::default()
    })
}
