//! Recordings of tracked cubes as runs.
//!
//! Their arrays: `pose` (frames, bodies, 7) of all trajectories one after another, `offsets` of these, `side` and `mass`
//! (trajectories, bodies), `dt`, and where given `start`, the frame at which predictions begin. Velocities were not
//! recorded; they are backward differences.

use carom::{Error, ErrorKind};

use super::shards::{Body, Run, Shard, array, check_run, indices, positive, spans};
use crate::npz::Npz;

/// Farthest length of a recorded quaternion from 1.
const LENGTH_TOLERANCE: f64 = 0.05;

pub(super) fn from_arrays(arrays: &Npz, friction: f64) -> Result<Shard, Error> {
    let wrong = |why: String| Error::new(ErrorKind::Recording, why);
    let dt = positive(arrays, "dt")?;
    let pose = array(arrays, "pose")?;
    let &[frames, bodies, 7] = pose.shape.as_slice() else {
        let shape = &pose.shape;
        return Err(wrong(format!(
            "array 'pose' has the shape {shape:?}, not (frames, bodies, 7)"
        )));
    };
    let spans = spans(arrays, "offsets", frames)?;
    let count = spans.len();
    let of_bodies = |name: &str| {
        let found = array(arrays, name)?;
        if found.shape != [count, bodies] || found.as_numbers().is_empty() {
            let shape = &found.shape;
            return Err(wrong(format!(
                "array '{name}' has the shape {shape:?}, not ({count}, {bodies}), one number a body and trajectory"
            )));
        }
        Ok(found.as_numbers())
    };
    let (side, mass) = (of_bodies("side")?, of_bodies("mass")?);
    let starts = if arrays.contains_key("start") {
        indices(arrays, "start")?
    } else {
        vec![0; count]
    };
    if starts.len() != count {
        return Err(wrong(format!(
            "array 'start' has {} entries for {count} trajectories",
            starts.len()
        )));
    }
    let (rows, _) = pose.as_numbers().as_chunks::<7>();
    let mut runs = Vec::with_capacity(count);
    for (index, span) in spans.enumerate() {
        let of_run = index * bodies..(index + 1) * bodies;
        let bodies = side[of_run.clone()].iter().zip(&mass[of_run]);
        let bodies: Vec<Body> = bodies
            .map(|(&side, &mass)| Body {
                half_size: [0.5 * side; 3],
                mass,
                friction,
                shape: 0,
            })
            .collect();
        let count = bodies.len();
        let mut run = Run {
            bodies,
            pose: rows[span.start * count..span.end * count].to_vec(),
            velocity: Vec::new(),
            start: starts[index],
        };
        normalize(&mut run.pose).map_err(|why| wrong(format!("trajectory {index}: {why}")))?;
        run.velocity = differences(&run.pose, count, dt);
        check_run(&run).map_err(|why| wrong(format!("trajectory {index}: {why}")))?;
        runs.push(run);
    }
    Ok(Shard {
        dt,
        meshes: Vec::new(),
        runs,
    })
}

fn normalize(pose: &mut [[f64; 7]]) -> Result<(), String> {
    for (row, pose) in pose.iter_mut().enumerate() {
        let length = pose[3..].iter().map(|q| q * q).sum::<f64>().sqrt();
        if (length - 1.0).abs() > LENGTH_TOLERANCE || length.is_nan() {
            return Err(format!(
                "the quaternion of row {row} has length {length:.3}; columns 3 to 6 are qw qx qy qz"
            ));
        }
        for number in &mut pose[3..] {
            *number /= length;
        }
    }
    Ok(())
}

/// Backward differences; the first frame has those of the second one.
fn differences(pose: &[[f64; 7]], bodies: usize, dt: f64) -> Vec<[f64; 6]> {
    (0..pose.len())
        .map(|row| {
            let after = row.max(bodies + row % bodies.max(1));
            let (Some(now), Some(before)) = (pose.get(after), pose.get(after - bodies)) else {
                return [0.0; 6];
            };
            let turn = turn(before, now);
            std::array::from_fn(|k| match k {
                0..3 => (now[k] - before[k]) / dt,
                _ => turn[k - 3] / dt,
            })
        })
        .collect()
}

/// The rotation vector in world axes from one orientation to another.
fn turn(before: &[f64; 7], now: &[f64; 7]) -> [f64; 3] {
    let [_, _, _, a, b, c, d] = *now;
    let [_, _, _, w, x, y, z] = *before;
    // now · before⁻¹
    let vector = [
        -a * x + b * w - c * z + d * y,
        -a * y + b * z + c * w - d * x,
        -a * z - b * y + c * x + d * w,
    ];
    let scalar = a * w + b * x + c * y + d * z;
    let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
    // The shorter way round.
    let angle = 2.0 * length.atan2(scalar.abs()) * scalar.signum();
    let scale = if length > 1e-300 { angle / length } else { 0.0 };
    vector.map(|v| v * scale)
}
