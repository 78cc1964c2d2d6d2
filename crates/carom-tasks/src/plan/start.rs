//! Other initial states and targets: start files (JSON) and the variants of a task.
//!
//! `{"keyframe": "hit", "qpos": […], "qvel": […], "act": […], "ctrl": […], "site_pos": {"target": [x, y, z]}, "body_pos": {…}, "body_quat": {…}}`,
//! each of them optional. Poses are in the frame of the parent, by name, or of all sites or bodies in their order. A file
//! may hold several by name, of which `--variant` chooses one.

use std::path::Path;

use carom::{Error, ErrorKind, Place};
use carom_spec::ModelSpec;
use carom_spec::source::{DiskSource, FileSource};
use serde_json::{Map, Value};

use super::quantity::find;

/// Most bytes of a start file.
const MAX_BYTES: u64 = 1 << 26;

/// An initial state and targets, as far as they are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Start {
    /// Name or number of the keyframe from which the rest is taken.
    pub keyframe: Option<String>,
    /// Configuration.
    pub qpos: Option<Vec<f64>>,
    /// Velocity.
    pub qvel: Option<Vec<f64>>,
    /// Activations.
    pub act: Option<Vec<f64>>,
    /// The control that is held at first.
    pub ctrl: Option<Vec<f64>>,
    /// Positions of sites.
    site_pos: Poses<3>,
    /// Positions of bodies.
    body_pos: Poses<3>,
    /// Orientations of bodies.
    body_quat: Poses<4>,
    /// Where it was read, for messages.
    file: String,
}

/// Poses of elements.
#[derive(Clone, Debug, Default, PartialEq)]
enum Poses<const N: usize> {
    #[default]
    None,
    Named(Vec<(String, [f64; N])>),
    All(Vec<[f64; N]>),
}

/// What a start may say.
const KEYS: [&str; 8] = [
    "keyframe",
    "qpos",
    "qvel",
    "act",
    "ctrl",
    "site_pos",
    "body_pos",
    "body_quat",
];

/// Keys that say something to people.
const REMARKS: [&str; 4] = ["name", "comment", "description", "seed"];

impl Start {
    /// Reads a start file, and in it a variant, if it has variants.
    ///
    /// # Errors
    /// When it cannot be read, or says what cannot be meant. The flag is whether it had the variant.
    pub fn read(path: &Path, variant: Option<&str>) -> Result<(Self, bool), Error> {
        let file = path.display().to_string();
        let bytes = DiskSource::with_size_limit(MAX_BYTES).read(path)?;
        let wrong = |why: String| {
            Error::new(ErrorKind::Settings, format!("start '{file}': {why}"))
                .at(Place::File(path.to_owned()))
        };
        let value: Value = serde_json::from_slice(&bytes).map_err(|cause| {
            let (line, column) = (cause.line(), cause.column());
            Error::new(
                ErrorKind::Settings,
                format!("start '{file}', line {line}, column {column}: {cause}"),
            )
            .at(Place::Text {
                file: path.to_owned(),
                line,
                column,
            })
            .remedy("a start is JSON, as in {\"qpos\": [0, 0.1]}")
        })?;
        Self::of_json(&value, variant, &file).map_err(wrong)
    }

    /// From JSON.
    ///
    /// # Errors
    /// With what is wrong, in a sentence.
    pub fn of_json(
        value: &Value,
        variant: Option<&str>,
        file: &str,
    ) -> Result<(Self, bool), String> {
        let Value::Object(map) = value else {
            return Err("it holds no object; write {\"qpos\": […]}".to_owned());
        };
        let mut start = Self {
            file: file.to_owned(),
            ..Self::default()
        };
        let variants = match map.get("variants") {
            Some(Value::Object(variants)) => Some(variants),
            Some(_) => return Err("'variants' must be an object".to_owned()),
            None => None,
        };
        let is_variant = |key: &str| variants.is_none() && !KEYS.contains(&key);
        let mut own = Map::new();
        for (key, value) in map {
            match value {
                _ if key == "variants" || REMARKS.contains(&key.as_str()) => {}
                Value::Object(_) if is_variant(key) => {}
                _ => drop(own.insert(key.clone(), value.clone())),
            }
        }
        start.set(&own)?;
        let Some(name) = variant else {
            return Ok((start, false));
        };
        let chosen = variants.map_or_else(|| map.get(name), |variants| variants.get(name));
        match chosen {
            Some(Value::Object(chosen)) if !KEYS.contains(&name) => {
                let chosen = chosen
                    .iter()
                    .filter(|(key, _)| !REMARKS.contains(&key.as_str()));
                start.set(
                    &chosen
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect(),
                )?;
                Ok((start, true))
            }
            _ => Ok((start, false)),
        }
    }

    fn set(&mut self, map: &Map<String, Value>) -> Result<(), String> {
        for (key, value) in map {
            match key.as_str() {
                "keyframe" => self.keyframe = Some(keyframe(value)?),
                "qpos" => self.qpos = Some(numbers(value, key)?),
                "qvel" => self.qvel = Some(numbers(value, key)?),
                "act" => self.act = Some(numbers(value, key)?),
                "ctrl" => self.ctrl = Some(numbers(value, key)?),
                "site_pos" => self.site_pos = Poses::parse(value, key)?,
                "body_pos" => self.body_pos = Poses::parse(value, key)?,
                "body_quat" => self.body_quat = Poses::parse(value, key)?,
                _ => {
                    return Err(format!(
                        "there is no '{key}'; a start has {}",
                        KEYS.join(", ")
                    ));
                }
            }
        }
        Ok(())
    }

    /// This one, and where it says nothing, another.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            keyframe: self.keyframe.or(other.keyframe),
            qpos: self.qpos.or(other.qpos),
            qvel: self.qvel.or(other.qvel),
            act: self.act.or(other.act),
            ctrl: self.ctrl.or(other.ctrl),
            site_pos: self.site_pos.or(other.site_pos),
            body_pos: self.body_pos.or(other.body_pos),
            body_quat: self.body_quat.or(other.body_quat),
            file: if self.file.is_empty() {
                other.file
            } else {
                self.file
            },
        }
    }

    /// What messages call it.
    pub(super) fn wrong(&self, why: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::Settings, format!("start '{}': {why}", self.file))
            .at(Place::File(self.file.clone().into()))
    }

    /// Moves sites and bodies of a description.
    ///
    /// # Errors
    /// When there is none of a name, or there are too few or too many.
    pub(super) fn move_targets(&self, spec: &mut ModelSpec) -> Result<(), Error> {
        let bodies = spec.bodies.iter_mut();
        let sites = bodies.flat_map(|body| &mut body.sites);
        let mut sites: Vec<_> = sites
            .map(|site| (site.name.clone(), &mut site.position))
            .collect();
        (self.site_pos)
            .apply(&mut sites, "site_pos", "site")
            .map_err(|why| self.wrong(why))?;
        let bodies = spec.bodies.iter_mut();
        let mut bodies: Vec<_> = bodies
            .map(|body| (body.name.clone(), &mut body.position))
            .collect();
        (self.body_pos)
            .apply(&mut bodies, "body_pos", "body")
            .map_err(|why| self.wrong(why))?;
        let bodies = spec.bodies.iter_mut();
        let mut bodies: Vec<_> = bodies
            .map(|body| (body.name.clone(), &mut body.quaternion))
            .collect();
        (self.body_quat)
            .apply(&mut bodies, "body_quat", "body")
            .map_err(|why| self.wrong(why))?;
        let normalize = |quat: &mut [f64; 4]| {
            let length = quat.iter().map(|n| n * n).sum::<f64>().sqrt();
            for number in quat {
                *number /= length;
            }
        };
        if self.body_quat != Poses::None {
            for body in &mut spec.bodies {
                if body.quaternion.iter().all(|&n| n == 0.0) {
                    return Err(self.wrong("a quaternion of body_quat is zero; write [1, 0, 0, 0]"));
                }
                normalize(&mut body.quaternion);
            }
        }
        Ok(())
    }
}

fn keyframe(value: &Value) -> Result<String, String> {
    match value {
        Value::String(name) => Ok(name.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err("'keyframe' must be a name or a number".to_owned()),
    }
}

fn numbers(value: &Value, key: &str) -> Result<Vec<f64>, String> {
    let Value::Array(list) = value else {
        return Err(format!("'{key}' must be a list of numbers"));
    };
    let number = |value: &Value| value.as_f64().filter(|number| number.is_finite());
    let found: Option<Vec<f64>> = list.iter().map(number).collect();
    found.ok_or_else(|| format!("'{key}' holds something that is not a finite number"))
}

impl<const N: usize> Poses<N> {
    fn or(self, other: Self) -> Self {
        if self == Self::None { other } else { self }
    }

    fn parse(value: &Value, key: &str) -> Result<Self, String> {
        let one = |value: &Value| {
            let list = numbers(value, key)?;
            <[f64; N]>::try_from(list)
                .map_err(|list| format!("'{key}': {N} numbers each, not {}", list.len()))
        };
        match value {
            Value::Object(map) => {
                let named = map
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), one(value)?)));
                Ok(Self::Named(named.collect::<Result<_, String>>()?))
            }
            Value::Array(list) if list.iter().all(Value::is_array) => {
                let all = list.iter().map(one).collect::<Result<_, String>>()?;
                Ok(Self::All(all))
            }
            Value::Array(_) => {
                let flat = numbers(value, key)?;
                let (rows, rest) = flat.as_chunks::<N>();
                if !rest.is_empty() {
                    return Err(format!("'{key}': {N} numbers each"));
                }
                Ok(Self::All(rows.to_vec()))
            }
            _ => Err(format!(
                "'{key}' must be an object of names, as in {{\"target\": [0, 0, 0]}}"
            )),
        }
    }

    fn apply(
        &self,
        elements: &mut [(String, &mut [f64; N])],
        key: &str,
        what: &str,
    ) -> Result<(), String> {
        match self {
            Self::None => {}
            Self::Named(named) => {
                for (name, pose) in named {
                    let names = elements.iter().map(|(name, _)| name.as_str());
                    let index = find(name, what, &format!("{key}.{name}"), names)?;
                    *elements[index].1 = *pose;
                }
            }
            Self::All(all) if all.len() == elements.len() => {
                for ((_, place), pose) in elements.iter_mut().zip(all) {
                    **place = *pose;
                }
            }
            Self::All(all) => {
                return Err(format!(
                    "'{key}' has {} entries, the model {}; name the ones that change, as in {{\"target\": [0, 0, 0]}}",
                    all.len(),
                    elements.len()
                ));
            }
        }
        Ok(())
    }
}
