//! Mapping files: which array or column of a recording is what in the model.
//!
//! The page for users is `docs/recordings.md`. Everything is optional that has a sensible default; what is unknown is refused
//! with line and column.

use crate::error;
use carom::{Error, Place};
use std::path::Path;

use serde::Deserialize;

/// What a mapping file says.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// The model file of the scene, from the folder of this one: what systems that are no models are used in.
    #[serde(default)]
    pub scene: Option<String>,
    /// When frames were recorded.
    #[serde(default)]
    pub time: TimeMapping,
    /// How the rows of a file are split.
    #[serde(default)]
    pub trajectories: TrajectoryMapping,
    /// Velocities that were not recorded.
    #[serde(default)]
    pub velocity: VelocityMapping,
    /// How the model is simulated between frames.
    #[serde(default)]
    pub simulation: SimulationMapping,
    /// Poses of bodies.
    #[serde(default, rename = "body")]
    pub bodies: Vec<PoseMapping>,
    /// Poses of sites.
    #[serde(default, rename = "site")]
    pub sites: Vec<PoseMapping>,
    /// States of joints.
    #[serde(default, rename = "joint")]
    pub joints: Vec<JointMapping>,
    /// Values of sensors.
    #[serde(default, rename = "sensor")]
    pub sensors: Vec<SensorMapping>,
    /// Controls of actuators.
    #[serde(default, rename = "actuator")]
    pub actuators: Vec<ActuatorMapping>,
    /// Whether controls are measured torques of joints.
    pub torque: Option<TorqueMapping>,
    /// Which errors are reported.
    #[serde(default)]
    pub evaluate: EvaluateMapping,
    /// The file this was read from, for messages.
    #[serde(skip)]
    pub file: String,
}

/// A number, or the name of an array or column that holds it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum NumberOrName {
    /// The number itself.
    Number(f64),
    /// Where it is.
    Name(String),
}

/// Places of numbers in a file: `name`, `name[3]` or `name[0:3]`, one or several.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Source {
    /// One place.
    One(String),
    /// Several, side by side.
    Several(Vec<String>),
}

impl Source {
    /// The places.
    pub fn places(&self) -> &[String] {
        match self {
            Self::One(place) => std::slice::from_ref(place),
            Self::Several(places) => places,
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.places().join(", "))
    }
}

/// When frames were recorded.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TimeMapping {
    /// The time between frames (s), or where it is.
    pub dt: Option<NumberOrName>,
    /// The frames per second, or where they are.
    pub rate: Option<NumberOrName>,
    /// Time stamps.
    pub column: Option<String>,
    /// Factor that makes seconds of time stamps and `dt`.
    pub factor: Option<f64>,
}

/// How the rows of a file are split.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TrajectoryMapping {
    /// Array of the first rows of all trajectories, and the number of rows.
    pub offsets: Option<String>,
    /// Whether the first axis of every array counts trajectories.
    #[serde(default)]
    pub axis: bool,
    /// A new trajectory begins where any of these columns changes.
    #[serde(default)]
    pub columns: Vec<String>,
    /// A new trajectory begins after a gap longer than this (s).
    #[serde(alias = "longest_gap")]
    pub max_gap: Option<f64>,
    /// Array with one number a trajectory; those with 0 are left out.
    pub keep: Option<String>,
    /// Trajectories with fewer frames are left out.
    #[serde(alias = "least_frames")]
    pub min_frames: Option<usize>,
    /// Every row holds so many frames, in columns whose names differ by the number of the frame: `{frame}`.
    pub frames_per_row: Option<usize>,
    /// The frame from which simulations start.
    #[serde(default)]
    pub start: usize,
}

/// How velocities are found where they were not recorded.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum VelocityMethod {
    /// The mean velocity since the frame before.
    #[default]
    Backward,
    /// The slope of a polynomial through the frames around.
    Smooth,
    /// Starts alone: a line through the frames up to the start, bent by the friction of the model where a body lies on a table,
    /// else by gravity. Elsewhere as `Backward`.
    Line,
}

/// Velocities that were not recorded.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct VelocityMapping {
    /// How they are found.
    #[serde(default)]
    pub method: VelocityMethod,
    /// Frames on each side of a polynomial.
    pub frames: Option<usize>,
    /// Degree of the polynomial, 1 to 5; 2 if absent.
    pub degree: Option<usize>,
    /// Whether simulations start from the polynomials too, and not from the recorded positions.
    #[serde(default)]
    pub smooth_positions: bool,
    /// Whether velocities, recorded or reconstructed by differences, are means since the frame before. Simulations then
    /// start from the velocity at the frame itself.
    #[serde(default)]
    pub means: bool,
    /// Whether recorded velocities are put aside and found anew.
    #[serde(default)]
    pub ignore_recorded: bool,
}

/// How the model is simulated between frames.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SimulationMapping {
    /// Steps from a frame to the next; otherwise as many as fit the model's time step best.
    pub steps_per_frame: Option<usize>,
}

/// How rotations are written.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RotationFormat {
    /// Quaternion, real part first.
    #[default]
    Wxyz,
    /// Quaternion, real part last.
    Xyzw,
    /// Matrix, row by row.
    Matrix,
    /// Rotation vector (rad).
    Vector,
}

impl RotationFormat {
    /// Numbers of a rotation.
    pub fn width(self) -> usize {
        match self {
            Self::Wxyz | Self::Xyzw => 4,
            Self::Matrix => 9,
            Self::Vector => 3,
        }
    }
}

/// In which axes angular velocities are given.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Axes {
    /// Those of the body.
    #[default]
    Body,
    /// Those of the world.
    World,
}

/// A pose.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FixedPose {
    /// Position (m).
    #[serde(default)]
    pub position: [f64; 3],
    /// Quaternion (w, x, y, z).
    pub quaternion: Option<[f64; 4]>,
}

/// Standard deviations of the noise of a pose.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PoseNoise {
    /// Per axis (m).
    pub position: Option<f64>,
    /// Per axis (rad).
    pub rotation: Option<f64>,
    /// Per axis (m/s).
    pub linear_velocity: Option<f64>,
    /// Per axis (rad/s).
    pub angular_velocity: Option<f64>,
}

/// The pose of a body or site.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PoseMapping {
    /// Its name in the model.
    pub name: String,
    /// Three numbers.
    pub position: Option<Source>,
    /// As `rotation_format` says.
    pub rotation: Option<Source>,
    /// How rotations are written.
    #[serde(default)]
    pub rotation_format: RotationFormat,
    /// Three numbers.
    pub linear_velocity: Option<Source>,
    /// Axes of the linear velocity; those of the recording's world if absent.
    pub linear_velocity_axes: Option<Axes>,
    /// Three numbers.
    pub angular_velocity: Option<Source>,
    /// Axes of the angular velocity.
    #[serde(default)]
    pub angular_velocity_axes: Axes,
    /// Unit of lengths: m, mm, cm, in, ft.
    pub unit: Option<String>,
    /// The recording's world in that of the model.
    #[serde(default)]
    pub world: FixedPose,
    /// The frame that was tracked, in that of the body or site.
    #[serde(default)]
    pub tracked: FixedPose,
    /// Noise.
    #[serde(default)]
    pub noise: PoseNoise,
    /// What is compared with the model; everything if absent.
    pub compare: Option<Vec<String>>,
    /// The height at which the body lies on a table when simulations start; its tracked height and tilt are noise then.
    pub flat_start: Option<f64>,
    /// Whether NaN means that there is no value.
    #[serde(default)]
    pub missing: bool,
    /// Time stamps of this pose, if they are others.
    pub time: Option<String>,
}

/// The state of a joint.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct JointMapping {
    /// Its name in the model.
    pub name: String,
    /// Angle or distance.
    pub position: Option<Source>,
    /// What is subtracted from the position: the angle of the joint before, where angles are absolute.
    pub minus: Option<Source>,
    /// Velocity.
    pub velocity: Option<Source>,
    /// What is subtracted from the velocity.
    pub minus_velocity: Option<Source>,
    /// Unit of positions: rad, deg, m, mm, cm; that of velocities is the same per second.
    pub unit: Option<String>,
    /// Factor of positions and velocities, after the unit.
    pub factor: Option<f64>,
    /// Factor of velocities, if it is another.
    pub velocity_factor: Option<f64>,
    /// Added to positions, after unit and factor.
    #[serde(default)]
    pub offset: f64,
    /// Whether jumps by whole turns are taken out.
    #[serde(default)]
    pub unwrap: bool,
    /// Whether errors are taken to the nearest whole turn, as for an object that tumbles: three turns too many are none.
    #[serde(default)]
    pub modulo_turns: bool,
    /// Standard deviation of positions (rad or m).
    pub noise: Option<f64>,
    /// Standard deviation of velocities.
    pub velocity_noise: Option<f64>,
    /// Whether it is left out where the model has no joint of this name, so that one mapping serves robots of several lengths.
    #[serde(default)]
    pub optional: bool,
    /// What is compared with the model, of `position` and `velocity`; both if absent.
    pub compare: Option<Vec<String>>,
    /// Whether NaN means that there is no value.
    #[serde(default)]
    pub missing: bool,
    /// Time stamps of this joint, if they are others.
    pub time: Option<String>,
}

/// Values of a sensor.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SensorMapping {
    /// Its name in the model.
    pub name: String,
    /// As many numbers as the sensor has.
    pub values: Source,
    /// Factor.
    pub factor: Option<f64>,
    /// Added after the factor.
    #[serde(default)]
    pub offset: f64,
    /// Standard deviation.
    pub noise: Option<f64>,
    /// Whether NaN means that there is no value.
    #[serde(default)]
    pub missing: bool,
    /// Time stamps of this sensor, if they are others.
    pub time: Option<String>,
}

/// Controls of an actuator, held from each frame to the next.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ActuatorMapping {
    /// Its name in the model.
    pub name: String,
    /// One number.
    pub control: Source,
    /// Factor.
    pub factor: Option<f64>,
    /// Added after the factor.
    #[serde(default)]
    pub offset: f64,
    /// Time stamps of the controls, if they are others.
    pub time: Option<String>,
    /// Whether it is left out where the model has no actuator of this name.
    #[serde(default)]
    pub optional: bool,
}

/// Torques of joints that were measured: the controls of their motors.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct TorqueMapping {
    /// Up to which frequency torques and motions are compared (Hz).
    pub cutoff: Option<f64>,
}

/// Which errors are reported.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct EvaluateMapping {
    /// Frames that are predicted from a start; all that follow if absent.
    pub window: Option<usize>,
    /// Frames from the start of a window to that of the next; as many as a window has if absent.
    pub every: Option<usize>,
    /// First and last frame that are compared, counted from the start of the trajectory; all if absent.
    pub frames: Option<[usize; 2]>,
    /// Whether the frame of the start, where the error is 0 or that of its smoothing, is left out of means.
    #[serde(default)]
    pub without_start: bool,
    /// Whether errors at the last frame of each window are given too: how far off a prediction is after its whole time.
    #[serde(default)]
    pub ends: bool,
    /// A length (m) in per cent of which distances are given too.
    pub size: Option<f64>,
    /// Distances in several coordinates.
    #[serde(default, rename = "distance")]
    pub distances: Vec<DistanceMapping>,
}

/// The distance √Σ(factor·error)² over some joints, or the size of the sum of their errors.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DistanceMapping {
    /// What it is called.
    pub name: String,
    /// Joints whose positions count.
    #[serde(default)]
    pub positions: Vec<String>,
    /// Joints whose velocities count.
    #[serde(default)]
    pub velocities: Vec<String>,
    /// Factors of all of them in order; 1 if absent.
    pub factors: Option<Vec<f64>>,
    /// Whether it is |Σ factor·error|, as of an angle that is the sum of those of joints.
    #[serde(default)]
    pub sum: bool,
}

impl Mapping {
    /// Without optional elements that a model does not have.
    pub(super) fn fitting(&self, model: &carom::Model) -> Self {
        let (names, controls) = (&model.structure.names, model.structure.control_names());
        let mut mapping = self.clone();
        (mapping.joints).retain(|joint| !joint.optional || names.joints.contains(&joint.name));
        (mapping.actuators).retain(|own| !own.optional || controls.contains(&own.name));
        mapping
    }

    /// All places in files that it names.
    pub fn places(&self) -> Vec<&str> {
        let (time, split) = (&self.time, &self.trajectories);
        let mut sources: Vec<&Source> = Vec::new();
        let mut names: Vec<Option<&String>> = vec![
            time.column.as_ref(),
            split.offsets.as_ref(),
            split.keep.as_ref(),
        ];
        for given in [&time.dt, &time.rate].into_iter().flatten() {
            if let NumberOrName::Name(name) = given {
                names.push(Some(name));
            }
        }
        for pose in self.bodies.iter().chain(&self.sites) {
            let PoseMapping {
                position,
                rotation,
                linear_velocity,
                angular_velocity,
                time,
                ..
            } = pose;
            let parts = [position, rotation, linear_velocity, angular_velocity];
            sources.extend(parts.into_iter().flatten());
            names.push(time.as_ref());
        }
        for joint in &self.joints {
            let JointMapping {
                position,
                minus,
                velocity,
                minus_velocity,
                time,
                ..
            } = joint;
            let parts = [position, minus, velocity, minus_velocity];
            sources.extend(parts.into_iter().flatten());
            names.push(time.as_ref());
        }
        for sensor in &self.sensors {
            sources.push(&sensor.values);
            names.push(sensor.time.as_ref());
        }
        for actuator in &self.actuators {
            sources.push(&actuator.control);
            names.push(actuator.time.as_ref());
        }
        let places = sources.into_iter().flat_map(Source::places);
        let names = names.into_iter().flatten().chain(&split.columns);
        places.chain(names).map(String::as_str).collect()
    }

    /// Reads a mapping file.
    ///
    /// # Errors
    /// When it cannot be read, or says what cannot be meant.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = String::from_utf8(super::read_bytes(path)?).map_err(|_| {
            let place = path.display();
            error::recording(format!(
                "'{place}': not UTF-8 text; a mapping is a TOML file"
            ))
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    /// The tables of a mapping's text as JSON has them.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn tables_of(text: &str) -> Result<serde_json::Value, Error> {
        toml::from_str(text).map_err(|cause| error::recording(cause.to_string()))
    }

    /// A mapping from its text; `file` is what messages call it.
    ///
    /// # Errors
    /// When it says what cannot be meant.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let mut mapping: Self = toml::from_str(text).map_err(|cause| {
            let message = cause.message().trim_end();
            let Some(span) = cause.span() else {
                return error::recording(format!("mapping '{file}': {message}"))
                    .at(Place::File(file.into()));
            };
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            error::recording(format!(
                "mapping '{file}', line {line}, column {column}: {message}"
            ))
            .at(Place::Text {
                file: file.into(),
                line,
                column,
            })
        })?;
        file.clone_into(&mut mapping.file);
        Ok(mapping)
    }
}

/// Meters, or radians, of a unit.
pub(super) fn unit_factor(unit: Option<&str>, allowed: &[&str]) -> Result<f64, String> {
    let Some(unit) = unit else { return Ok(1.0) };
    let factor = match unit {
        "m" | "rad" => 1.0,
        "mm" => 1e-3,
        "cm" => 1e-2,
        "in" => 0.0254,
        "ft" => 0.3048,
        "deg" => std::f64::consts::PI / 180.0,
        "turn" => std::f64::consts::TAU,
        _ => f64::NAN,
    };
    if allowed.contains(&unit) && factor.is_finite() {
        return Ok(factor);
    }
    Err(format!(
        "unit '{unit}' is none of {}; for another one give 'factor'",
        allowed.join(", ")
    ))
}
