//! Recordings of real motions: files, what they mean for a model, and the states they give.
//!
//! A file (.npz, .csv or .mcap) holds arrays; a [`Mapping`] says which of them are poses, joints, sensors and controls of the model;
//! [`load`] makes [`Trajectory`]s of them that fit the model: times, values of every [`Channel`], controls, and states from which
//! a simulation can start. `docs/recordings.md` is the page for users.
//!
//! ```
//! # let spec = carom_spec::read_file("../../models/pendulum.xml".as_ref(), &[]).spec;
//! # let model = carom::compile::compile(&spec).0.unwrap();
//! use carom_tasks::recording::{self, Mapping};
//!
//! let folder = std::env::temp_dir().join(format!("carom-doc-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("swing.csv"), "t,angle\n0.00,0.50\n0.01,0.49\n0.03,0.44\n")?;
//! let mapping = Mapping::parse("time.column = 't'\n[[joint]]\nname = 'pivot'\nposition = 'angle'\n", "swing.toml")?;
//! let recordings = recording::load(&model, &mapping, &[folder.join("swing.csv")])?;
//! assert_eq!(recordings.trajectories[0].times, [0.0, 0.01, 0.03]);
//! let start = recordings.start(&model, 0, 1)?;
//! assert!((start.qvel[0] + 1.0).abs() < 1e-9, "by the difference to the frame before");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assemble;
mod bind;
mod cdr;
mod check;
pub mod csv;
mod flat;
mod geometry;
mod load;
pub mod mapping;
mod mcap;
mod noise;
mod outliers;
mod own_arrays;
mod pose;
mod split;
pub mod table;
mod velocity;

use assemble::complete;
pub use flat::FlatStart;
use flat::lay;
pub use load::{from_tables, load};
pub use mapping::Mapping;
pub(crate) use noise::measure_again;

use std::path::Path;

use crate::error;
use carom::{Error, ErrorKind, Place};
use carom::{Model, State};
use carom_spec::source::{DiskSource, FileSource};
use mapping::{EvaluateMapping, TorqueMapping, VelocityMapping};

/// All of a file; pipes, folders and files beyond any recording are refused unread.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let source = DiskSource::with_size_limit(crate::npz::MAX_BYTES);
    let bytes = source.read(path);
    bytes.map_err(|cause| Error::of(ErrorKind::Recording, Error::from(cause)))
}

/// Whose pose is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A body on a free joint, or a ball joint's rotation: coordinates of the state, from `qpos` and `dof` on.
    State {
        /// First number in `qpos`.
        qpos: usize,
        /// First number in `qvel`.
        dof: usize,
    },
    /// Any body.
    Body(usize),
    /// A site.
    Site(usize),
}

/// What a channel measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The coordinate of a hinge or slide (rad or m).
    JointPosition {
        /// Its place in `qpos`.
        qpos: usize,
        /// Its place in `qvel`.
        dof: usize,
    },
    /// The velocity of a hinge or slide.
    JointVelocity {
        /// Its place in `qvel`.
        dof: usize,
    },
    /// A position in the world (m).
    Position(Frame),
    /// An orientation in the world, or of a ball joint: a quaternion (w, x, y, z).
    Rotation(Frame),
    /// The velocity of a free body in world axes (m/s).
    LinearVelocity {
        /// Its first place in `qvel`.
        dof: usize,
    },
    /// The angular velocity of a free body or ball joint in its own axes (rad/s).
    AngularVelocity {
        /// Its first place in `qvel`.
        dof: usize,
    },
    /// Values of a sensor.
    Sensor {
        /// The first of them.
        first: usize,
    },
}

/// One measured quantity, the same in all trajectories.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// `body cube position`.
    pub name: String,
    /// The body, site, joint or sensor.
    pub element: String,
    /// What is measured.
    pub quantity: Quantity,
    /// Numbers a frame.
    pub width: usize,
    /// Standard deviation per number, where it is known.
    pub noise: Option<f64>,
    /// Whether simulations are compared with it.
    pub is_compared: bool,
    /// The channel of positions that it is reconstructed from, if it was not recorded.
    pub found_from: Option<usize>,
    /// Whether it is an angle (rad) or its velocity.
    pub is_angle: bool,
    /// Whether errors are taken to the nearest whole turn.
    pub modulo_turns: bool,
}

impl Channel {
    /// Whether it was recorded, and not reconstructed from positions.
    pub fn is_recorded(&self) -> bool {
        self.found_from.is_none()
    }
}

/// One motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// File it comes from.
    pub file: String,
    /// What it is called in tables: the file's name and its number in the file.
    pub label: String,
    /// Times of its frames from the first one on (s).
    pub times: Vec<f64>,
    /// Values of each channel, frame by frame; NaN where there is none.
    pub values: Vec<Vec<f64>>,
    /// Controls from each frame to the next, nu a frame.
    pub controls: Vec<f64>,
    /// Configurations for starts, nq a frame; NaN where unknown.
    pub qpos: Vec<f64>,
    /// Velocities for starts, nv a frame; NaN where unknown.
    pub qvel: Vec<f64>,
}

impl Trajectory {
    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.times.len()
    }

    /// Values of a channel at a frame; none if any is missing.
    pub fn value(&self, channel: usize, frame: usize, width: usize) -> Option<&[f64]> {
        let values = &self.values[channel][frame * width..][..width];
        values
            .iter()
            .all(|value| value.is_finite())
            .then_some(values)
    }
}

/// Recordings that fit a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Recordings {
    /// What is measured.
    pub channels: Vec<Channel>,
    /// The motions.
    pub trajectories: Vec<Trajectory>,
    /// What looks wrong, or was left out.
    pub warnings: Vec<String>,
    /// The frame from which simulations start.
    pub start: usize,
    /// What velocities are, and how those are found that were not recorded.
    pub velocity: VelocityMapping,
    /// Bodies that lie flat at the starts of simulations.
    pub flat_starts: Vec<FlatStart>,
    /// Steps from a frame to the next, if the mapping says so.
    pub steps_per_frame: Option<usize>,
    /// Whether controls are measured torques, and up to which frequency they are compared.
    pub torque: Option<TorqueMapping>,
    /// Which errors are reported.
    pub evaluate: EvaluateMapping,
}

impl Recordings {
    /// The recordings with measurements at every so-manyth frame of a trajectory alone. States and controls stay.
    #[must_use]
    pub fn thinned(&self, every: usize) -> Self {
        let mut thinned = self.clone();
        for trajectory in &mut thinned.trajectories {
            for (channel, values) in self.channels.iter().zip(&mut trajectory.values) {
                let frames = values.chunks_exact_mut(channel.width).enumerate();
                for (_, values) in frames.filter(|(frame, _)| frame % every != 0) {
                    values.fill(f64::NAN);
                }
            }
        }
        thinned
    }

    /// The state of the model at a frame, as recorded or reconstructed.
    ///
    /// # Errors
    /// When a coordinate of it is missing.
    pub fn start(&self, model: &Model, trajectory: usize, frame: usize) -> Result<State, Error> {
        let n = model.counts();
        let motion = &self.trajectories[trajectory];
        let mut state = State::reference(model);
        state
            .qpos
            .copy_from_slice(&motion.qpos[frame * n.nq..][..n.nq]);
        state
            .qvel
            .copy_from_slice(&motion.qvel[frame * n.nv..][..n.nv]);
        let missing = |values: &[f64]| values.iter().position(|value| !value.is_finite());
        let what = match (missing(&state.qpos), missing(&state.qvel)) {
            (Some(index), _) => format!("qpos[{index}]"),
            (_, Some(index)) => format!("qvel[{index}]"),
            _ => return Ok(state),
        };
        let sentence = format!(
            "{}: frame {frame} cannot start a simulation: {what} is missing there and around it",
            motion.label
        );
        let place = Place::Recording {
            recording: motion.label.clone(),
            column: Some(what),
            frame: Some(frame),
        };
        Err(error::recording(sentence)
            .remedy("start from another frame ([trajectories] start)")
            .at(place))
    }
}
