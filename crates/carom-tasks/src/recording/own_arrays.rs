//! Recordings whose arrays say by their names what they are, so that they need no mapping: those of carom's own runs, and arrays named
//! after elements of the model.
//!
//! | array | what it holds |
//! |---|---|
//! | `time` | times of the frames (s) |
//! | `qpos`, `qvel`, `ctrl` | whole states and controls, a row a frame, in the order of the model |
//! | `sensordata` | all sensor values; compared where its noise is stated, or where nothing else is recorded |
//! | `joint.NAME`, `joint.NAME.position`, `joint.NAME.velocity` | a hinge or slide |
//! | `body.NAME.position`, `.rotation` (w, x, y, z), `.linear_velocity`, `.angular_velocity` | a body; velocities of those on a free joint |
//! | `site.NAME.position`, `.rotation` | a site |
//! | `sensor.NAME`, `actuator.NAME` | a sensor's values, an actuator's control |

use std::collections::BTreeMap;

use carom::Error;
use carom::Model;
use carom::model::JointKind;

use super::mapping::{
    ActuatorMapping, JointMapping, Mapping, PoseMapping, PoseNoise, SensorMapping, Source,
    TimeMapping,
};
use super::table::Table;

/// Arrays of carom's own runs that say nothing of the motion that is compared.
const IGNORED: [&str; 5] = [
    "act",
    "joint_names",
    "actuator_names",
    "sensor_names",
    "model",
];

/// Arrays of whole states.
const WHOLE: [&str; 4] = ["qpos", "qvel", "ctrl", "sensordata"];

impl Mapping {
    /// The mapping that the names of a table's arrays stand for. `noise` has standard deviations by the same names.
    ///
    /// # Errors
    /// When an array has another name, or the model cannot be mapped so; what to do is said.
    pub fn of_own_arrays(
        model: &Model,
        table: &Table,
        noise: &BTreeMap<String, f64>,
    ) -> Result<Self, Error> {
        let mut own = OwnArrays {
            model,
            table,
            noise,
            mapping: Self {
                time: TimeMapping {
                    column: Some("time".to_owned()),
                    ..TimeMapping::default()
                },
                file: "names of the arrays".to_owned(),
                ..Self::default()
            },
        };
        if let Some(unknown) = noise.keys().find(|name| !own.has(name)) {
            return Err(table.error(&format!(
                "noise is stated for '{unknown}', which was not recorded (it has {})",
                table.names()
            )));
        }
        own.whole_states()?;
        for name in table.arrays.keys() {
            own.named(name)?;
        }
        own.sensors();
        if !own.has("time") {
            return Err(table.error(
                "there is no array 'time' of the times of the frames (s): add it, or give a mapping",
            ));
        }
        Ok(own.mapping)
    }
}

struct OwnArrays<'a> {
    model: &'a Model,
    table: &'a Table,
    noise: &'a BTreeMap<String, f64>,
    mapping: Mapping,
}

/// The name of an element, or its number.
pub(super) fn name_of(names: &[String], index: usize) -> String {
    match names.get(index) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => format!("#{index}"),
    }
}

fn one(array: &str, index: usize) -> Source {
    Source::One(format!("{array}[{index}]"))
}

fn several(array: &str, first: usize, count: usize) -> Source {
    Source::One(format!("{array}[{first}:{}]", first + count))
}

impl OwnArrays<'_> {
    /// Whether there is such an array, as one or, in a table of text, as columns.
    fn has(&self, name: &str) -> bool {
        let arrays = &self.table.arrays;
        arrays.contains_key(name) || arrays.contains_key(&format!("{name}[0]"))
    }

    fn noise_of(&self, name: &str) -> Option<f64> {
        self.noise.get(name).copied()
    }

    /// Refuses a whole array whose rows are not those of the model.
    fn check_width(&self, name: &str, expected: usize) -> Result<(), Error> {
        let arrays = &self.table.arrays;
        let is_column = |column: &&String| {
            column
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('['))
        };
        let columns = arrays.keys().filter(is_column).count();
        let width = arrays.get(name).map_or(columns, |array| array.width);
        if width == expected || !self.has(name) {
            return Ok(());
        }
        Err(self.table.error(&format!(
            "'{name}' has {width} numbers a row, the model has {expected}: is it a recording of this model? It may have one row a frame, or be given by [[joint]] in a mapping"
        )))
    }

    /// `qpos`, `qvel` and `ctrl`.
    fn whole_states(&mut self) -> Result<(), Error> {
        let counts = self.model.counts();
        for (name, width) in [
            ("qpos", counts.nq),
            ("qvel", counts.nv),
            ("ctrl", counts.nu),
        ] {
            self.check_width(name, width)?;
        }
        self.check_width("sensordata", counts.nsensor_value)?;
        let (has_qpos, has_qvel) = (self.has("qpos"), self.has("qvel"));
        let structure = &self.model.structure;
        for joint in 0..structure.joints.kind.len() {
            let (qpos, dof) = (structure.joints.qpos[joint], structure.joints.dof[joint]);
            match structure.joints.kind[joint] {
                JointKind::Hinge | JointKind::Slide if has_qpos || has_qvel => {
                    let name = name_of(&structure.names.joints, joint);
                    self.mapping.joints.push(JointMapping {
                        name,
                        position: has_qpos.then(|| one("qpos", qpos)),
                        velocity: has_qvel.then(|| one("qvel", dof)),
                        noise: self.noise_of("qpos"),
                        velocity_noise: self.noise_of("qvel"),
                        ..JointMapping::default()
                    });
                }
                JointKind::Free if has_qpos => {
                    let body = structure.joints.body[joint];
                    let [position, velocity] = ["qpos", "qvel"].map(|name| self.noise_of(name));
                    self.mapping.bodies.push(PoseMapping {
                        name: name_of(&structure.names.bodies, body),
                        position: Some(several("qpos", qpos, 3)),
                        rotation: Some(several("qpos", qpos + 3, 4)),
                        linear_velocity: has_qvel.then(|| several("qvel", dof, 3)),
                        angular_velocity: has_qvel.then(|| several("qvel", dof + 3, 3)),
                        noise: PoseNoise {
                            position,
                            rotation: position,
                            linear_velocity: velocity,
                            angular_velocity: velocity,
                        },
                        ..PoseMapping::default()
                    });
                }
                JointKind::Free if has_qvel => {
                    return Err(self.table.error(
                        "'qvel' of a model with a free joint needs 'qpos' too: add it, or give a mapping",
                    ));
                }
                JointKind::Ball if has_qpos || has_qvel => {
                    return Err(self.table.error(
                        "the model has ball joints, whose coordinates cannot be compared: record 'body.NAME.rotation', or give a mapping",
                    ));
                }
                _ => {}
            }
        }
        if self.has("ctrl") {
            for actuator in 0..counts.nu {
                self.mapping.actuators.push(ActuatorMapping {
                    optional: false,
                    name: name_of(&structure.names.actuators, actuator),
                    control: one("ctrl", actuator),
                    factor: None,
                    offset: 0.0,
                    time: None,
                });
            }
        }
        Ok(())
    }

    /// An array named after an element.
    fn named(&mut self, array: &str) -> Result<(), Error> {
        let plain = array.split('[').next().unwrap_or_default();
        if plain == "time" || WHOLE.contains(&plain) || IGNORED.contains(&plain) {
            return Ok(());
        }
        let unknown = || {
            self.table.error(&format!(
                "'{array}' says not what it is: name it time, qpos, qvel, ctrl, sensordata, joint.NAME, joint.NAME.velocity, body.NAME.position, body.NAME.rotation, site.NAME.position, sensor.NAME or actuator.NAME, leave it out, or give a mapping"
            ))
        };
        let (family, rest) = array.split_once('.').ok_or_else(unknown)?;
        let source = Some(Source::One(array.to_owned()));
        let noise = self.noise_of(array);
        match family {
            "joint" => {
                let (name, is_velocity) = match rest.strip_suffix(".velocity") {
                    Some(name) => (name, true),
                    None => (rest.strip_suffix(".position").unwrap_or(rest), false),
                };
                let joints = &mut self.mapping.joints;
                let place = joints.iter().position(|joint| joint.name == name);
                let place = place.unwrap_or_else(|| {
                    joints.push(JointMapping {
                        name: name.to_owned(),
                        ..JointMapping::default()
                    });
                    joints.len() - 1
                });
                let joint = &mut joints[place];
                if is_velocity {
                    (joint.velocity, joint.velocity_noise) = (source, noise);
                } else {
                    (joint.position, joint.noise) = (source, noise);
                }
            }
            "body" | "site" => {
                let (name, part) = rest.rsplit_once('.').ok_or_else(unknown)?;
                let parts = [
                    "position",
                    "rotation",
                    "linear_velocity",
                    "angular_velocity",
                ];
                if !parts.contains(&part) {
                    return Err(unknown());
                }
                let poses = if family == "body" {
                    &mut self.mapping.bodies
                } else {
                    &mut self.mapping.sites
                };
                let place = poses.iter().position(|pose| pose.name == name);
                let place = place.unwrap_or_else(|| {
                    poses.push(PoseMapping {
                        name: name.to_owned(),
                        ..PoseMapping::default()
                    });
                    poses.len() - 1
                });
                let pose = &mut poses[place];
                match part {
                    "position" => (pose.position, pose.noise.position) = (source, noise),
                    "rotation" => (pose.rotation, pose.noise.rotation) = (source, noise),
                    "linear_velocity" => {
                        (pose.linear_velocity, pose.noise.linear_velocity) = (source, noise);
                    }
                    _ => (pose.angular_velocity, pose.noise.angular_velocity) = (source, noise),
                }
            }
            "sensor" => self.mapping.sensors.push(SensorMapping {
                name: rest.to_owned(),
                values: Source::One(array.to_owned()),
                factor: None,
                offset: 0.0,
                noise,
                missing: false,
                time: None,
            }),
            "actuator" => self.mapping.actuators.push(ActuatorMapping {
                optional: false,
                name: rest.to_owned(),
                control: Source::One(array.to_owned()),
                factor: None,
                offset: 0.0,
                time: None,
            }),
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// `sensordata`: forces and positions have no common unit, so it counts where its noise is stated or nothing else is recorded.
    fn sensors(&mut self) {
        let mapping = &self.mapping;
        let has_more = !(mapping.bodies.is_empty()
            && mapping.sites.is_empty()
            && mapping.joints.is_empty()
            && mapping.sensors.is_empty());
        let noise = self.noise_of("sensordata");
        if !self.has("sensordata") || (has_more && noise.is_none()) {
            return;
        }
        let structure = &self.model.structure;
        for sensor in 0..structure.sensors.address.len() {
            let first = structure.sensors.address[sensor];
            let end = first + structure.sensors.dimension[sensor];
            self.mapping.sensors.push(SensorMapping {
                name: name_of(&structure.names.sensors, sensor),
                values: Source::One(format!("sensordata[{first}:{end}]")),
                factor: None,
                offset: 0.0,
                noise,
                missing: false,
                time: None,
            });
        }
    }
}
