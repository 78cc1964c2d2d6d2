//! Shards: runs of bodies on a table, in a folder that many workers fill and learners read.
//!
//! A folder has `manifest.json`, which says by which recipe and seed the runs were made and which files are complete, and
//! files `shard-00000.npz`. Those are plain numpy archives, without compression: measured numbers hardly shrink, and bytes
//! then do not depend on a compressor. Rows of `pose` run through the bodies of a frame, the frames of a run, and the runs
//! of a shard. The top of the table is at z = 0.
//!
//! | array | shape | |
//! |---|---|---|
//! | `pose` | rows, 7 | x y z (m) qw qx qy qz, body to world |
//! | `velocity` | rows, 6 | linear (m/s), then angular (rad/s), in world axes |
//! | `offsets` | runs + 1 | rows at which runs begin, and their end |
//! | `bodies` | runs | number of bodies; frames are rows over bodies |
//! | `body_offsets` | runs + 1 | where the bodies of a run begin in the arrays below |
//! | `half_size` | bodies, 3 | half sizes (m): of a box, else of the bounding box |
//! | `mass`, `friction` | bodies | (kg), coefficient of the body's own |
//! | `shape` | bodies | 0 is a box, k ≥ 1 the k-th convex mesh |
//! | `mesh_offsets` | meshes + 1 | where meshes begin in `mesh_vertices` |
//! | `mesh_vertices` | vertices, 3 | (m), in the frame of the body |
//! | `start` | runs | frame at which a prediction begins |
//! | `dt` | | seconds between frames |

use std::path::Path;

use carom::{Error, ErrorKind, Place};
use carom_spec::output::write_whole;

use super::manifest::{Manifest, ShardEntry, crc32};
use super::recorded;
use crate::npz::{self, Array, Npz};

/// Runs with one time between frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard {
    /// Seconds between frames.
    pub dt: f64,
    /// Vertices of convex meshes (m), in the frame of their body; shape k of a body is entry k − 1.
    pub meshes: Vec<Vec<[f64; 3]>>,
    /// The runs.
    pub runs: Vec<Run>,
}

/// Motions of some bodies on a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// What moves.
    pub bodies: Vec<Body>,
    /// Position (m) and quaternion (w, x, y, z) of each body of each frame, frame by frame.
    pub pose: Vec<[f64; 7]>,
    /// Linear (m/s) and angular (rad/s) velocity in world axes, in the order of the poses.
    pub velocity: Vec<[f64; 6]>,
    /// The frame at which a prediction begins.
    pub start: usize,
}

impl Run {
    /// How many frames it has.
    pub fn frames(&self) -> usize {
        self.pose.len().checked_div(self.bodies.len()).unwrap_or(0)
    }

    /// The poses of one frame, body by body.
    pub fn frame(&self, frame: usize) -> &[[f64; 7]] {
        &self.pose[frame * self.bodies.len()..][..self.bodies.len()]
    }

    /// The velocities of one frame, body by body.
    pub fn velocities(&self, frame: usize) -> &[[f64; 6]] {
        &self.velocity[frame * self.bodies.len()..][..self.bodies.len()]
    }
}

/// One body of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// Half sizes of the box, or of the box around the mesh (m).
    pub half_size: [f64; 3],
    /// Mass (kg).
    pub mass: f64,
    /// Coefficient of friction.
    pub friction: f64,
    /// 0 for a box, k ≥ 1 for the k-th mesh of the shard.
    pub shape: usize,
}

/// What is wrong with a file.
fn error(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Recording, why)
}

/// The name of a shard.
pub fn file_name(index: usize) -> String {
    format!("shard-{index:05}.npz")
}

/// Writes a shard whole or not at all, and says what the manifest has to say of it.
///
/// # Errors
/// When the runs contradict themselves, or the file cannot be written.
pub fn write(
    folder: &Path,
    index: usize,
    first_run: usize,
    shard: &Shard,
) -> Result<ShardEntry, Error> {
    let bytes = to_bytes(shard)?;
    let file = file_name(index);
    write_whole(&folder.join(&file), |out| {
        std::io::Write::write_all(out, &bytes)
    })?;
    Ok(ShardEntry {
        file,
        first_run,
        runs: shard.runs.len(),
        crc32: crc32(&bytes),
    })
}

/// A shard as the bytes of its file; the same runs give the same bytes on every machine.
///
/// # Errors
/// When the runs contradict themselves.
pub fn to_bytes(shard: &Shard) -> Result<Vec<u8>, Error> {
    let arrays = to_arrays(shard);
    // Nothing is written that would not be read.
    from_arrays(&arrays)?;
    let mut bytes = std::io::Cursor::new(Vec::new());
    let named: Vec<(&str, &Array)> = arrays.iter().map(|(k, array)| (&**k, array)).collect();
    npz::write_stored(&mut bytes, &named)?;
    Ok(bytes.into_inner())
}

/// The shard that an entry of the manifest names, checked against its sum.
///
/// # Errors
/// When the file is missing, damaged or not the one of this manifest.
pub fn read(folder: &Path, entry: &ShardEntry) -> Result<Shard, Error> {
    let path = folder.join(&entry.file);
    let in_file = |cause: Error| {
        error(format!("shard '{}'", path.display()))
            .because(cause)
            .at(Place::File(path.clone()))
    };
    if !path.exists() {
        let why = error("the file is missing, though the manifest lists it");
        return Err(in_file(why.remedy(AGAIN)));
    }
    let bytes = crate::recording::read_bytes(&path).map_err(in_file)?;
    if crc32(&bytes) != entry.crc32 {
        let why = error("the file is damaged or of another run: its sum is not the manifest's");
        return Err(in_file(why.remedy(AGAIN)));
    }
    let shard = npz::from_bytes(&bytes).and_then(|arrays| from_arrays(&arrays));
    let shard = shard.map_err(in_file)?;
    if shard.runs.len() != entry.runs {
        let (found, listed) = (shard.runs.len(), entry.runs);
        let why = error(format!("it has {found} runs, the manifest says {listed}"));
        return Err(in_file(why.remedy(AGAIN)));
    }
    Ok(shard)
}

/// What helps against a lost or damaged shard.
const AGAIN: &str = "remove the file and run `carom scale` again with the same recipe: it makes what is missing, to the \
                     same bits";

/// All runs of a path: of a folder of shards, of one shard, or of recordings of tracked cubes.
///
/// Recordings have no friction, so that of their bodies is the one given here.
///
/// # Errors
/// When a file is missing, damaged or of another kind, or shards of one folder differ in their time between frames.
pub fn read_all(path: &Path, friction: f64) -> Result<Shard, Error> {
    if path.is_dir() {
        let manifest = Manifest::read(path)?;
        let mut all: Option<Shard> = None;
        for entry in &manifest.shards {
            let shard = read(path, entry)?;
            match &mut all {
                None => all = Some(shard),
                Some(all) => append(all, shard),
            }
        }
        return all.ok_or_else(|| {
            error(format!("'{}' has no complete shard yet", path.display()))
                .at(Place::File(path.to_owned()))
                .remedy("let `carom scale` finish one")
        });
    }
    let arrays = npz::read(path)?;
    let shard = if arrays.contains_key("body_offsets") {
        from_arrays(&arrays)
    } else {
        recorded::from_arrays(&arrays, friction)
    };
    shard.map_err(|cause| {
        error(format!("'{}'", path.display()))
            .because(cause)
            .at(Place::File(path.to_owned()))
    })
}

/// Adds the runs of a shard, whose meshes get new numbers.
fn append(all: &mut Shard, mut shard: Shard) {
    let known = all.meshes.len();
    let bodies = shard.runs.iter_mut().flat_map(|run| &mut run.bodies);
    for body in bodies.filter(|body| body.shape > 0) {
        body.shape += known;
    }
    all.meshes.append(&mut shard.meshes);
    all.runs.append(&mut shard.runs);
}

/// The arrays of a file.
fn to_arrays(shard: &Shard) -> Npz {
    let counts = |count: &dyn Fn(&Run) -> usize| -> Vec<f64> {
        shard.runs.iter().map(|run| count(run) as f64).collect()
    };
    let (bodies, rows) = (
        counts(&|run| run.bodies.len()),
        counts(&|run| run.pose.len()),
    );
    let meshes: Vec<f64> = shard.meshes.iter().map(|mesh| mesh.len() as f64).collect();
    let all: Vec<&Body> = shard.runs.iter().flat_map(|run| &run.bodies).collect();
    let of_bodies = |number: &dyn Fn(&Body) -> f64| {
        Array::numbers(&[all.len()], all.iter().map(|body| number(body)).collect())
    };
    let list = |numbers: Vec<f64>| Array::numbers(&[numbers.len()], numbers);
    let arrays = [
        ("pose", table(shard.runs.iter().flat_map(|run| &run.pose))),
        (
            "velocity",
            table(shard.runs.iter().flat_map(|run| &run.velocity)),
        ),
        ("offsets", list(offsets(&rows))),
        ("body_offsets", list(offsets(&bodies))),
        ("bodies", list(bodies)),
        ("half_size", table(all.iter().map(|body| &body.half_size))),
        ("mass", of_bodies(&|body| body.mass)),
        ("friction", of_bodies(&|body| body.friction)),
        ("shape", of_bodies(&|body| body.shape as f64)),
        ("mesh_offsets", list(offsets(&meshes))),
        ("mesh_vertices", table(shard.meshes.iter().flatten())),
        ("start", list(counts(&|run| run.start))),
        ("dt", Array::numbers(&[], vec![shard.dt])),
    ];
    arrays.map(|(name, array)| (name.to_owned(), array)).into()
}

fn table<'a, const N: usize>(rows: impl Iterator<Item = &'a [f64; N]>) -> Array {
    let numbers: Vec<f64> = rows.flatten().copied().collect();
    Array::numbers(&[numbers.len() / N, N], numbers)
}

/// Where parts of these lengths begin, and the end.
fn offsets(lengths: &[f64]) -> Vec<f64> {
    let sum = lengths.iter().scan(0.0, |sum, length| {
        *sum += length;
        Some(*sum)
    });
    std::iter::once(0.0).chain(sum).collect()
}

/// The runs of a file's arrays.
fn from_arrays(arrays: &Npz) -> Result<Shard, Error> {
    let dt = positive(arrays, "dt")?;
    let pose: Vec<[f64; 7]> = rows(arrays, "pose")?;
    let velocity: Vec<[f64; 6]> = rows(arrays, "velocity")?;
    let half_size: Vec<[f64; 3]> = rows(arrays, "half_size")?;
    let vertices: Vec<[f64; 3]> = rows(arrays, "mesh_vertices")?;
    let [mass, friction] = [numbers(arrays, "mass")?, numbers(arrays, "friction")?];
    let (counts, shape) = (indices(arrays, "bodies")?, indices(arrays, "shape")?);
    let bodies = half_size.len();
    same_length("velocity", velocity.len(), ("pose", pose.len()))?;
    for (name, length) in [
        ("mass", mass.len()),
        ("friction", friction.len()),
        ("shape", shape.len()),
    ] {
        same_length(name, length, ("half_size", bodies))?;
    }
    let spans = spans(arrays, "offsets", pose.len())?;
    let body_spans = self::spans(arrays, "body_offsets", bodies)?;
    let mesh_spans = self::spans(arrays, "mesh_offsets", vertices.len())?;
    same_length("bodies", counts.len(), ("offsets less one", spans.len()))?;
    same_length("body_offsets", body_spans.len(), ("offsets", spans.len()))?;
    let starts = if arrays.contains_key("start") {
        indices(arrays, "start")?
    } else {
        vec![0; spans.len()]
    };
    same_length("start", starts.len(), ("offsets less one", spans.len()))?;

    let meshes: Vec<Vec<[f64; 3]>> = mesh_spans.map(|span| vertices[span].to_vec()).collect();
    let body = |index: usize| -> Result<Body, Error> {
        let found = Body {
            half_size: half_size[index],
            mass: mass[index],
            friction: friction[index],
            shape: shape[index],
        };
        check_body(&found, meshes.len()).map_err(|why| error(format!("body {index}: {why}")))?;
        Ok(found)
    };
    let mut runs = Vec::with_capacity(spans.len());
    for (index, (span, of_bodies)) in spans.zip(body_spans).enumerate() {
        let run = Run {
            bodies: of_bodies.map(body).collect::<Result<_, _>>()?,
            pose: pose[span.clone()].to_vec(),
            velocity: velocity[span].to_vec(),
            start: starts[index],
        };
        let checked = if run.bodies.len() == counts[index] {
            check_run(&run)
        } else {
            Err("'bodies' and 'body_offsets' contradict each other".to_owned())
        };
        checked.map_err(|why| error(format!("run {index}: {why}")))?;
        runs.push(run);
    }
    Ok(Shard { dt, meshes, runs })
}

fn check_body(body: &Body, meshes: usize) -> Result<(), String> {
    let is_size = |size: &f64| size.is_finite() && *size > 0.0;
    if !body.half_size.iter().all(is_size) {
        return Err("its half sizes must be positive".to_owned());
    }
    if !is_size(&body.mass) {
        return Err("its mass must be positive".to_owned());
    }
    if !(body.friction.is_finite() && body.friction >= 0.0) {
        return Err("its friction must not be negative".to_owned());
    }
    if body.shape > meshes {
        return Err(format!(
            "its shape {} is none of {meshes} meshes",
            body.shape
        ));
    }
    Ok(())
}

/// How far the length of a quaternion may be from 1.
const LENGTH_TOLERANCE: f64 = 1e-6;

pub(super) fn check_run(run: &Run) -> Result<(), String> {
    let bodies = run.bodies.len();
    if bodies == 0 || run.pose.is_empty() || !run.pose.len().is_multiple_of(bodies) {
        let rows = run.pose.len();
        return Err(format!(
            "{rows} rows are no whole frames of {bodies} bodies"
        ));
    }
    if run.start >= run.frames() {
        return Err(format!(
            "it starts at frame {} of {}",
            run.start,
            run.frames()
        ));
    }
    for (row, (pose, velocity)) in run.pose.iter().zip(&run.velocity).enumerate() {
        let (frame, body) = (row / bodies, row % bodies);
        let length = pose[3..].iter().map(|q| q * q).sum::<f64>().sqrt();
        if !pose.iter().chain(velocity).all(|number| number.is_finite()) {
            return Err(format!("body {body} has no finite state at frame {frame}"));
        }
        if (length - 1.0).abs() > LENGTH_TOLERANCE {
            return Err(format!(
                "the quaternion of body {body} at frame {frame} has length {length:.3}"
            ));
        }
    }
    Ok(())
}

fn same_length(name: &str, length: usize, (other, expected): (&str, usize)) -> Result<(), Error> {
    if length == expected {
        return Ok(());
    }
    Err(error(format!(
        "array '{name}' has {length} entries where '{other}' needs {expected}"
    )))
}

pub(super) fn array<'a>(arrays: &'a Npz, name: &str) -> Result<&'a Array, Error> {
    arrays.get(name).ok_or_else(|| {
        let found: Vec<&str> = arrays.keys().map(String::as_str).collect();
        error(format!("there is no array '{name}' among {}", found.join(", "))).remedy(
            "give shards of `carom scale`, or recordings with the arrays pose, offsets, side, mass and dt",
        )
    })
}

/// The numbers of an array of one dimension, or a single number.
pub(super) fn numbers<'a>(arrays: &'a Npz, name: &str) -> Result<&'a [f64], Error> {
    let array = array(arrays, name)?;
    if array.shape.len() > 1 || !array.as_strings().is_empty() {
        let shape = &array.shape;
        return Err(error(format!(
            "array '{name}' has the shape {shape:?}, not a list of numbers"
        )));
    }
    Ok(array.as_numbers())
}

pub(super) fn positive(arrays: &Npz, name: &str) -> Result<f64, Error> {
    match numbers(arrays, name)? {
        [value] if value.is_finite() && *value > 0.0 => Ok(*value),
        found => Err(error(format!(
            "array '{name}' is {found:?}, not one positive number"
        ))),
    }
}

fn rows<const N: usize>(arrays: &Npz, name: &str) -> Result<Vec<[f64; N]>, Error> {
    let array = array(arrays, name)?;
    let (rows, rest) = array.as_numbers().as_chunks::<N>();
    if array.shape.len() != 2 || array.shape[1] != N || !rest.is_empty() {
        let shape = &array.shape;
        return Err(error(format!(
            "array '{name}' has the shape {shape:?}, not rows of {N}"
        )));
    }
    Ok(rows.to_vec())
}

/// Numbers that are counts or places.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a whole number that is small enough"
)]
pub(super) fn indices(arrays: &Npz, name: &str) -> Result<Vec<usize>, Error> {
    let found = numbers(arrays, name)?;
    let is_index = |number: &&f64| number.fract() == 0.0 && (0.0..9e15).contains(*number);
    if let Some(bad) = found.iter().find(|number| !is_index(number)) {
        return Err(error(format!(
            "array '{name}' has {bad}, not a whole number"
        )));
    }
    Ok(found.iter().map(|&number| number as usize).collect())
}

type Spans = std::vec::IntoIter<std::ops::Range<usize>>;

/// The parts that an array of offsets cuts so many rows into.
pub(super) fn spans(arrays: &Npz, name: &str, rows: usize) -> Result<Spans, Error> {
    let offsets = indices(arrays, name)?;
    let grows = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    if offsets.first() != Some(&0) || offsets.last() != Some(&rows) || !grows {
        return Err(error(format!(
            "array '{name}' must grow from 0 to the number of rows, {rows}"
        )));
    }
    let spans = offsets.windows(2).map(|pair| pair[0]..pair[1]);
    Ok(spans.collect::<Vec<_>>().into_iter())
}

#[cfg(test)]
#[path = "shards_tests.rs"]
mod tests;
