//! Recorded strikes, and the mapping file that says which array is what.

use std::path::Path;

use carom::Error;
use carom_planar::{Arm, Planar};
use serde::Deserialize;

use crate::error::in_recording;
use crate::npz::{self, Array, Npz};

/// What a mapping file of strikes says.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StrikeMapping {
    /// The two bodies and what touches.
    pub scene: SceneMapping,
    /// Arrays with a row for each strike.
    pub strikes: StrikeArrays,
    /// Frames of all strikes.
    pub frames: FrameArrays,
    /// How the arm moves after touch.
    pub arm: ArmMapping,
}

/// The bodies of a scene.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SceneMapping {
    /// The body that is struck.
    pub struck: String,
    /// The body that strikes.
    pub striker: String,
    /// The contact pair of the two.
    pub pair: String,
    /// The contact pair of the struck body and the table.
    pub table: String,
}

/// Arrays with a row for each strike.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct StrikeArrays {
    /// x, y, yaw of the struck body at rest.
    pub pose: String,
    /// x, y, yaw of the striker and their rates, just before touch.
    pub striker: String,
    /// x, y, yaw of the struck body and their rates when contact has ended.
    pub post: String,
    /// The same of the striker.
    pub post_striker: String,
    /// x, y, yaw of the struck body at rest again.
    pub rest: String,
    /// Time of touch.
    pub touch: String,
    /// Time of separation.
    pub separation: String,
    /// Time without contact that counts as separation (s).
    pub quiet: f64,
    /// Mass of the struck body, a number; that of the scene where there is none.
    pub mass: Option<String>,
}

/// Frames of all strikes, one below the other.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FrameArrays {
    /// Columns: time, position (3) and quaternion (4) of the struck body, x, y, yaw of the striker.
    pub array: String,
    /// First row of each strike, and the number of rows.
    pub start: String,
}

/// How the arm moves after touch.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct ArmMapping {
    /// See [`Arm`].
    pub delay: f64,
    /// See [`Arm`].
    pub brake: f64,
    /// See [`Arm`].
    pub retreat: f64,
    /// See [`Arm`].
    pub travel: f64,
}

impl StrikeMapping {
    /// Reads a mapping file.
    ///
    /// # Errors
    /// When it cannot be read, or says what nobody knows.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|cause| in_recording(&name, format!("cannot be read ({cause})")))?;
        let mapping: Self = toml::from_str(&text).map_err(|cause| in_recording(&name, cause))?;
        let arm = mapping.arm;
        let numbers = [
            mapping.strikes.quiet,
            arm.delay,
            arm.brake,
            arm.retreat,
            arm.travel,
        ];
        if numbers
            .iter()
            .any(|number| !(number.is_finite() && *number >= 0.0))
        {
            let why = "the numbers of [arm] and 'quiet' must be finite and not negative";
            return Err(in_recording(&name, why));
        }
        Ok(mapping)
    }

    /// The arm.
    pub fn arm(&self) -> Arm {
        Arm {
            delay: self.arm.delay,
            brake: self.arm.brake,
            retreat: self.arm.retreat,
            travel: self.arm.travel,
        }
    }
}

/// A frame of a strike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Time (s).
    pub time: f64,
    /// x, y, yaw of the struck body.
    pub body: [f64; 3],
    /// x, y, yaw of the striker.
    pub striker: [f64; 3],
}

/// A recorded strike.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The struck body at rest.
    pub pose: [f64; 3],
    /// The striker just before touch.
    pub striker: Planar,
    /// The struck body when contact has ended.
    pub post: Planar,
    /// The striker at that instant.
    pub post_striker: Planar,
    /// The struck body at rest again.
    pub rest: [f64; 3],
    /// When contact ended (s).
    pub separation: f64,
    /// How long they touched (s).
    pub duration: f64,
    /// Frames.
    pub frames: Vec<Frame>,
}

/// Recorded strikes of one body.
#[derive(Clone, Debug, PartialEq)]
pub struct Strikes {
    /// Mass of the struck body (kg), if it was recorded.
    pub mass: Option<f64>,
    /// The strikes in order.
    pub strikes: Vec<Recorded>,
}

/// Reads recorded strikes.
///
/// # Errors
/// When the file cannot be read, or an array is absent, of another shape or not finite.
pub fn read(path: &Path, mapping: &StrikeMapping) -> Result<Strikes, Error> {
    let arrays = npz::read(path)?;
    let file = File {
        name: path.display().to_string(),
        arrays: &arrays,
    };
    let names = &mapping.strikes;
    let pose = file.rows::<3>(&names.pose)?;
    let count = pose.len();
    let striker = file.rows_for::<6>(&names.striker, count)?;
    let post = file.rows_for::<6>(&names.post, count)?;
    let post_striker = file.rows_for::<6>(&names.post_striker, count)?;
    let rest = file.rows_for::<3>(&names.rest, count)?;
    let touch = file.numbers(&names.touch, count)?;
    let separation = file.numbers(&names.separation, count)?;
    let table = file.rows::<11>(&mapping.frames.array)?;
    let start = file.numbers(&mapping.frames.start, count + 1)?;
    let mass = match &names.mass {
        None => None,
        Some(name) => {
            let mass = file.array(name)?.as_numbers().first().copied();
            Some(
                mass.filter(|mass| *mass > 0.0 && mass.is_finite())
                    .ok_or_else(|| {
                        in_recording(&file.name, format!("'{name}' is no positive mass"))
                    })?,
            )
        }
    };
    let mut strikes = Vec::with_capacity(count);
    for at in 0..count {
        let (from, to) = (start[at], start[at + 1]);
        if !(0.0 <= from && from <= to && to <= table.len() as f64) {
            let start = &mapping.frames.start;
            let why = format!("'{start}' does not give rows of frames for strike {at}");
            return Err(in_recording(&file.name, why));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let rows = &table[from as usize..to as usize];
        strikes.push(Recorded {
            pose: pose[at],
            striker: striker[at],
            post: post[at],
            post_striker: post_striker[at],
            rest: rest[at],
            separation: separation[at],
            duration: separation[at] - touch[at],
            frames: rows.iter().map(frame).collect(),
        });
    }
    Ok(Strikes { mass, strikes })
}

fn frame(row: &[f64; 11]) -> Frame {
    let [time, x, y, _, qw, qx, qy, qz, sx, sy, heading] = *row;
    let yaw = (2.0 * (qw * qz + qx * qy)).atan2(1.0 - 2.0 * (qy * qy + qz * qz));
    Frame {
        time,
        body: [x, y, yaw],
        striker: [sx, sy, heading],
    }
}

struct File<'a> {
    name: String,
    arrays: &'a Npz,
}

impl File<'_> {
    fn array(&self, name: &str) -> Result<&Array, Error> {
        self.arrays.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.arrays.keys().map(String::as_str).collect();
            in_recording(&self.name, format!("there is no array '{name}'"))
                .remedy(format!("the arrays are {}", known.join(", ")))
        })
    }

    fn finite(&self, name: &str, array: &Array) -> Result<(), Error> {
        match array
            .as_numbers()
            .iter()
            .position(|number| !number.is_finite())
        {
            None => Ok(()),
            Some(at) => {
                let width = array.shape.get(1).copied().unwrap_or(1).max(1);
                let why = format!(
                    "row {} of '{name}' has a number that is not finite",
                    at / width
                );
                Err(in_recording(&self.name, why).remedy("leave that strike out"))
            }
        }
    }

    fn rows<const N: usize>(&self, name: &str) -> Result<Vec<[f64; N]>, Error> {
        let array = self.array(name)?;
        let (rows, _) = array.as_numbers().as_chunks::<N>();
        if array.shape.len() != 2 || array.shape[1] != N || rows.len() != array.shape[0] {
            let shape = &array.shape;
            let why = format!("'{name}' has the shape {shape:?}, and should have {N} columns");
            return Err(in_recording(&self.name, why));
        }
        self.finite(name, array)?;
        Ok(rows.to_vec())
    }

    fn rows_for<const N: usize>(&self, name: &str, count: usize) -> Result<Vec<[f64; N]>, Error> {
        let rows = self.rows(name)?;
        self.count(name, rows.len(), count)?;
        Ok(rows)
    }

    fn numbers(&self, name: &str, count: usize) -> Result<Vec<f64>, Error> {
        let array = self.array(name)?;
        self.count(name, array.as_numbers().len(), count)?;
        self.finite(name, array)?;
        Ok(array.as_numbers().to_vec())
    }

    fn count(&self, name: &str, found: usize, count: usize) -> Result<(), Error> {
        if found == count {
            return Ok(());
        }
        let why = format!("'{name}' has {found} rows where {count} are expected");
        Err(in_recording(&self.name, why))
    }
}
