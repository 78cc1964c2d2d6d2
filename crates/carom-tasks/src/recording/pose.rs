//! Recorded poses, in the conventions of their makers, as poses of bodies of the model.

use carom::Error;
use carom::math::{Mat3, Quat, Vec3};

use super::bind::Binder;
use super::mapping::{Axes, FixedPose, PoseMapping, RotationFormat, unit_factor};
use super::table::{Block, Table};

/// Lengths of quaternions may differ from 1 by this without a word, and by [`MAX_LENGTH_ERROR`] with a warning.
const QUIET_LENGTH_ERROR: f64 = 1e-4;
const MAX_LENGTH_ERROR: f64 = 0.05;

/// What was recorded of a pose, converted.
#[derive(Debug, Default)]
pub(super) struct PoseSeries {
    pub(super) position: Option<Vec<f64>>,
    pub(super) rotation: Option<Vec<f64>>,
    pub(super) linear_velocity: Option<Vec<f64>>,
    pub(super) angular_velocity: Option<Vec<f64>>,
    pub(super) rows: usize,
    pub(super) rows_per_trajectory: Option<usize>,
    pub(super) clock: Option<String>,
}

/// Reads the arrays of a pose.
pub(super) fn read(
    binder: &Binder<'_>,
    (table, frames): (&Table, usize),
    kind: &str,
    pose: &PoseMapping,
    warnings: &mut Vec<String>,
) -> Result<PoseSeries, Error> {
    let what = |part: &str| {
        format!("[[{kind}]] \"{}\" {part}", pose.name)
            .trim_end()
            .to_owned()
    };
    let unit = unit_factor(pose.unit.as_deref(), &["m", "mm", "cm", "in", "ft"])
        .map_err(|cause| binder.error(&format!("{}: {cause}", what(""))))?;
    let (mut series, mut rows) = (PoseSeries::default(), None);
    let parts = [
        ("position", &pose.position, 3),
        ("rotation", &pose.rotation, pose.rotation_format.width()),
        ("linear_velocity", &pose.linear_velocity, 3),
        ("angular_velocity", &pose.angular_velocity, 3),
    ];
    for (part, source, width) in parts {
        let Some(source) = source else { continue };
        let what = what(part);
        let block = table.block(source.places(), frames, &what)?;
        check_width(table, &block, width, &what)?;
        check_values(table, &block, pose.missing, &what)?;
        let found = block.values.len() / width;
        if let Some(rows) = rows.replace(found).filter(|&rows| rows != found) {
            return Err(table.error(&format!(
                "{what} has {found} rows, but its other arrays have {rows}; all parts of a pose must be equally long"
            )));
        }
        series.rows = found;
        series.rows_per_trajectory = block.rows_per_trajectory;
        series.clock.clone_from(&block.clock);
        let scaled = |factor: f64| block.values.iter().map(|value| value * factor).collect();
        match part {
            "position" => series.position = Some(scaled(unit)),
            "linear_velocity" => series.linear_velocity = Some(scaled(unit)),
            "angular_velocity" => series.angular_velocity = Some(scaled(1.0)),
            _ => {
                series.rotation = Some(quaternions(
                    table,
                    &block,
                    pose.rotation_format,
                    &what,
                    warnings,
                )?);
            }
        }
    }
    place(binder, pose, &what(""), &mut series)?;
    Ok(series)
}

/// Checks the number of columns.
pub(super) fn check_width(
    table: &Table,
    block: &Block,
    width: usize,
    what: &str,
) -> Result<(), Error> {
    if block.width == width {
        return Ok(());
    }
    Err(table.error(&format!(
        "{what}: {} columns ({}), but {width} are needed",
        block.width,
        block.names.join(", ")
    )))
}

/// Refuses numbers that are not finite, unless they stand for missing ones.
pub(super) fn check_values(
    table: &Table,
    block: &Block,
    missing: bool,
    what: &str,
) -> Result<(), Error> {
    let is_wrong = |value: &f64| value.is_infinite() || (value.is_nan() && !missing);
    let Some(index) = block.values.iter().position(is_wrong) else {
        return Ok(());
    };
    let (row, column) = (index / block.width, index % block.width);
    let is_time = what == "time" || what.starts_with("[time]");
    let advice = if is_time {
        "remove the row, or give it a time"
    } else if what.starts_with("[[actuator]]") {
        "a control acts at every row: write the one that was held"
    } else if block.values[index].is_nan() {
        "if that means 'not measured', say so in the mapping: missing = true"
    } else {
        "remove the row or mark the value as missing (NaN, missing = true)"
    };
    Err(table.error(&format!(
        "{what}: '{}', {}: {} is not a number; {advice}",
        block.names[column],
        place_of(table, block, row),
        block.values[index]
    )))
}

/// Where a row is.
pub(super) fn place_of(table: &Table, block: &Block, row: usize) -> String {
    match block.rows_per_trajectory {
        Some(rows) if rows > 0 => format!("trajectory {}, frame {}", row / rows, row % rows),
        _ => table.row(row),
    }
}

fn quaternions(
    table: &Table,
    block: &Block,
    format: RotationFormat,
    what: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<f64>, Error> {
    let mut quats = Vec::with_capacity(block.values.len() / block.width * 4);
    let mut odd = None;
    for (row, numbers) in block.values.chunks_exact(block.width).enumerate() {
        if numbers.iter().any(|number| number.is_nan()) {
            quats.extend([f64::NAN; 4]);
            continue;
        }
        let quat = match format {
            RotationFormat::Wxyz => Quat(std::array::from_fn(|k| numbers[k])),
            RotationFormat::Xyzw => Quat([numbers[3], numbers[0], numbers[1], numbers[2]]),
            RotationFormat::Vector => Quat::exp(Vec3(std::array::from_fn(|k| numbers[k]))),
            RotationFormat::Matrix => {
                let matrix = Mat3(std::array::from_fn(|k| numbers[k]));
                let error = orthogonality_error(&matrix);
                if error > MAX_LENGTH_ERROR {
                    return Err(table.error(&format!(
                        "{what}: {}: the nine numbers are not a rotation matrix (off by {error:.3}); are they row by row?",
                        place_of(table, block, row)
                    )));
                }
                Quat::from_mat3(&matrix)
            }
        };
        let length = quat.dot(quat).sqrt();
        if (length - 1.0).abs() > MAX_LENGTH_ERROR {
            return Err(table.error(&format!(
                "{what}: {}: the quaternion has length {length:.4}, not 1; check the columns ({}) and 'rotation_format'",
                place_of(table, block, row),
                block.names.join(", ")
            )));
        }
        if (length - 1.0).abs() > QUIET_LENGTH_ERROR && odd.is_none() {
            odd = Some((row, length));
        }
        quats.extend(quat.normalized().0);
    }
    if let Some((row, length)) = odd {
        warnings.push(format!(
            "'{}': {what}: quaternions are not of length 1 (first: {}, {length:.5}); they were normalised",
            table.file,
            place_of(table, block, row)
        ));
    }
    warnings.extend(other_order(table, block, format, what));
    Ok(quats)
}

/// A body that was not turned has a real part of about 1 at first, and of more than this in most frames.
const MIN_FIRST_REAL_PART: f64 = 0.95;
const MIN_USUAL_REAL_PART: f64 = 0.7;

/// A warning where quaternions look as if their real part were at the other end: by the names of the columns, or as most of them would then
/// hardly be turned at all, and are turned by half a turn as they are read.
fn other_order(table: &Table, block: &Block, format: RotationFormat, what: &str) -> Option<String> {
    let (other, (first, last), real) = match format {
        RotationFormat::Wxyz => ("xyzw", ('x', 'w'), 3),
        RotationFormat::Xyzw => ("wxyz", ('w', 'z'), 0),
        RotationFormat::Matrix | RotationFormat::Vector => return None,
    };
    let ends_with = |index: usize, letter: char| {
        let name = block
            .names
            .get(index)
            .map(String::as_str)
            .unwrap_or_default();
        name.to_lowercase().ends_with(letter)
    };
    let remedy = format!("give rotation_format = \"{other}\"");
    // Messages of ROS have the real part last.
    let is_of_message = |name: &String| name.starts_with('/') && name.contains(".orientation");
    if real == 3 && block.names.iter().all(is_of_message) {
        return Some(format!(
            "'{}': {what}: orientations of a bag are x y z w: {remedy}",
            table.file
        ));
    }
    if ends_with(0, first) && ends_with(3, last) {
        return Some(format!(
            "'{}': {what}: the columns {} are not read in the order that their names tell; {remedy}",
            table.file,
            block.names.join(", "),
        ));
    }
    let reals = block
        .values
        .chunks_exact(4)
        .map(|numbers| numbers[real].abs());
    let reals: Vec<f64> = reals.filter(|size| size.is_finite()).collect();
    let is_real_at_first = reals
        .first()
        .is_some_and(|size| *size > MIN_FIRST_REAL_PART);
    let mostly = reals
        .iter()
        .filter(|size| **size > MIN_USUAL_REAL_PART)
        .count();
    (is_real_at_first && 2 * mostly > reals.len()).then(|| {
        format!(
            "'{}': {what}: it is turned by about half a turn in most frames; if the numbers are in the order {other}, {remedy}",
            table.file
        )
    })
}

/// Largest entry of R·Rᵀ − 1, and of det R − 1.
fn orthogonality_error(matrix: &Mat3) -> f64 {
    let row = |k: usize| Vec3([matrix.0[3 * k], matrix.0[3 * k + 1], matrix.0[3 * k + 2]]);
    let mut error: f64 = (row(0).cross(row(1)).dot(row(2)) - 1.0).abs();
    for i in 0..3 {
        for j in 0..3 {
            error = error.max((row(i).dot(row(j)) - f64::from(u8::from(i == j))).abs());
        }
    }
    error
}

/// From the recording's world and the tracked frame to the model's world and the body.
fn place(
    binder: &Binder<'_>,
    pose: &PoseMapping,
    what: &str,
    series: &mut PoseSeries,
) -> Result<(), Error> {
    let (world, tracked) = (Rigid::new(&pose.world), Rigid::new(&pose.tracked));
    let offset = pose.tracked.position != [0.0; 3];
    if offset
        && (series.rotation.is_none()
            || series.linear_velocity.is_some() && series.angular_velocity.is_none())
    {
        return Err(binder.error(&format!(
            "{what}: with a tracked frame beside the body's origin, positions need rotations, and velocities angular velocities"
        )));
    }
    let turns = pose.angular_velocity_axes == Axes::World && series.angular_velocity.is_some();
    let in_body = pose.linear_velocity_axes == Some(Axes::Body);
    if (turns || in_body && series.linear_velocity.is_some()) && series.rotation.is_none() {
        return Err(binder.error(&format!(
            "{what}: angular velocities in world axes, and linear ones in the body's, need the rotation"
        )));
    }
    for row in 0..series.rows {
        let vector = |values: &Option<Vec<f64>>| {
            let values = values.as_ref()?;
            Some(Vec3([
                values[3 * row],
                values[3 * row + 1],
                values[3 * row + 2],
            ]))
        };
        let quat = series
            .rotation
            .as_ref()
            .map(|values| Quat(std::array::from_fn(|k| values[4 * row + k])));
        let body_quat = quat.map(|quat| world.quat.mul(quat).mul(tracked.quat.conjugate()));
        let arm = body_quat.map_or(Vec3::ZERO, |quat| quat.rotate(tracked.position));
        let spin = vector(&series.angular_velocity).map(|spin| match pose.angular_velocity_axes {
            Axes::Body => tracked.quat.rotate(spin),
            Axes::World => {
                let spin = world.quat.rotate(spin);
                body_quat.map_or(spin, |quat| quat.rotate_inverse(spin))
            }
        });
        let position = vector(&series.position)
            .map(|position| world.position + world.quat.rotate(position) - arm);
        let velocity = vector(&series.linear_velocity).map(|velocity| {
            let velocity = match quat.filter(|_| in_body) {
                Some(quat) => world.quat.rotate(quat.rotate(velocity)),
                None => world.quat.rotate(velocity),
            };
            match (spin, body_quat) {
                (Some(spin), Some(quat)) => velocity - quat.rotate(spin).cross(arm),
                _ => velocity,
            }
        });
        let write = |values: &mut Option<Vec<f64>>, vector: Option<Vec3>| {
            if let (Some(values), Some(vector)) = (values, vector) {
                values[3 * row..3 * row + 3].copy_from_slice(&vector.0);
            }
        };
        write(&mut series.position, position);
        write(&mut series.linear_velocity, velocity);
        write(&mut series.angular_velocity, spin);
        if let (Some(values), Some(quat)) = (&mut series.rotation, body_quat) {
            values[4 * row..4 * row + 4].copy_from_slice(&quat.0);
        }
    }
    Ok(())
}

struct Rigid {
    position: Vec3,
    quat: Quat,
}

impl Rigid {
    fn new(pose: &FixedPose) -> Self {
        let quat = pose.quaternion.map_or(Quat::identity(), Quat);
        Self {
            position: Vec3(pose.position),
            quat: quat.normalized(),
        }
    }
}
