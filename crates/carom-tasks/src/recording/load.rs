//! From files and a mapping to trajectories of a model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error;
use carom::Error;
use carom::Model;

use super::bind::{Binder, Tracked};
use super::mapping::{JointMapping, Mapping, PoseMapping, Source, VelocityMethod, unit_factor};
use super::pose::{self, PoseSeries, check_values, check_width};
use super::split::{Series, split};
use super::table::Table;
use super::{Channel, Frame, Quantity, Recordings, assemble, check, flat, geometry, line};

/// Channels of a mapping, and from which channel of positions each velocity is found that was not recorded.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) channels: Vec<Channel>,
    /// How large what it measures is (m), for each channel; 0 if unknown.
    pub(super) sizes: Vec<f64>,
}

/// The mapping of a file, or without one what the names of the arrays in the first recording stand for.
///
/// # Errors
/// When the file is wrong, or the arrays have other names.
pub fn mapping_for(
    model: &Model,
    mapping: Option<&Path>,
    recordings: &[PathBuf],
) -> Result<Mapping, Error> {
    if let Some(path) = mapping {
        return Mapping::read(path);
    }
    let Some(first) = recordings.first() else {
        return Err(error::recording("no recordings were given".to_owned()));
    };
    let table = Table::read(first, None)?;
    Mapping::of_own_arrays(model, &table, &BTreeMap::new()).map_err(|cause| {
        let remedy = format!(
            "`carom map MODEL {} --out map.toml` proposes one; give it by --mapping",
            first.display()
        );
        cause.remedy(remedy)
    })
}

/// Reads recordings: all trajectories of all files, in order.
///
/// # Errors
/// When a file or the mapping is wrong, with file, array or column, row, and what to do about it.
pub fn load(model: &Model, mapping: &Mapping, paths: &[PathBuf]) -> Result<Recordings, Error> {
    let read = |path: &PathBuf| Table::read(path, Some(mapping));
    from_tables(model, mapping, paths.iter().map(read))
}

/// As [`load`], from tables that were read or made before: all trajectories of all tables, in order.
///
/// # Errors
/// When a table or the mapping is wrong.
pub fn from_tables(
    model: &Model,
    mapping: &Mapping,
    tables: impl IntoIterator<Item = Result<Table, Error>>,
) -> Result<Recordings, Error> {
    let mapping = &mapping.fitting(model);
    let binder = Binder { model, mapping };
    let plan = plan(&binder)?;
    let mut recordings = Recordings {
        channels: plan.channels.clone(),
        trajectories: Vec::new(),
        warnings: Vec::new(),
        start: mapping.trajectories.start,
        velocity: mapping.velocity.clone(),
        flat_starts: flat::starts(&binder, &plan.channels)?,
        steps_per_frame: mapping.simulation.steps_per_frame,
        torque: mapping.torque.clone(),
        evaluate: mapping.evaluate.clone(),
    };
    check_counts(&binder)?;
    let mut tables = tables.into_iter().peekable();
    if tables.peek().is_none() {
        return Err(error::recording("no recordings were given".to_owned()));
    }
    for table in tables {
        add_table(&binder, &plan, &table?, &mut recordings)?;
    }
    if recordings.trajectories.is_empty() {
        return Err(binder.error("no trajectory is left that has a frame after its start"));
    }
    if recordings.velocity.method == VelocityMethod::Line {
        if recordings.start == 0 {
            return Err(binder.error(
                "[velocity] method = \"line\" goes through the frames before the start: give [trajectories] start = 1 or more",
            ));
        }
        line::estimate(model, &mut recordings);
    }
    for trajectory in &mut recordings.trajectories {
        flat::lay(model, &recordings.flat_starts, trajectory);
    }
    check::steps(&binder, &recordings)?;
    check::starts(&binder, &plan, &mut recordings);
    check::motion(&plan, &mut recordings);
    geometry::check(&binder, &plan, &mut recordings);
    Ok(recordings)
}

/// Largest count that a mapping may give: frames in a row of a file, steps from a frame to the next.
const MAX_COUNT: usize = 10_000;

/// Refuses numbers in a mapping that cannot be meant.
fn check_counts(binder: &Binder<'_>) -> Result<(), Error> {
    let mapping = binder.mapping;
    let counts = [
        (
            "[simulation] steps_per_frame",
            mapping.simulation.steps_per_frame,
        ),
        (
            "[trajectories] frames_per_row",
            mapping.trajectories.frames_per_row,
        ),
        (
            "[evaluate] window",
            mapping.evaluate.window.map(|window| window.min(MAX_COUNT)),
        ),
        (
            "[evaluate] every",
            mapping.evaluate.every.map(|every| every.min(MAX_COUNT)),
        ),
    ];
    for (name, count) in counts {
        if let Some(count) = count.filter(|count| !(1..=MAX_COUNT).contains(count)) {
            return Err(binder.error(&format!(
                "{name} = {count}: give a number from 1 to {MAX_COUNT}"
            )));
        }
    }
    let degrees = 1..=super::velocity::MAX_DEGREE;
    if let Some(degree) = (mapping.velocity.degree).filter(|degree| !degrees.contains(degree)) {
        return Err(binder.error(&format!(
            "[velocity] degree = {degree}: give a number from 1 to {}",
            degrees.end()
        )));
    }
    let poses = mapping.bodies.iter().chain(&mapping.sites);
    for pose in poses {
        for (name, fixed) in [("world", &pose.world), ("tracked", &pose.tracked)] {
            let length = |quat: [f64; 4]| quat.iter().map(|x| x * x).sum::<f64>().sqrt();
            let is_odd = |&length: &f64| (length - 1.0).abs() > 0.01;
            if let Some(length) = fixed.quaternion.map(length).filter(is_odd) {
                return Err(binder.error(&format!(
                    "\"{}\" {name}: the quaternion has length {length:.4}, not 1",
                    pose.name
                )));
            }
        }
    }
    Ok(())
}

fn add_table(
    binder: &Binder<'_>,
    plan: &Plan,
    table: &Table,
    recordings: &mut Recordings,
) -> Result<(), Error> {
    let mapping = binder.mapping;
    let frames = mapping.trajectories.frames_per_row.unwrap_or(1);
    let mut reader = Reader {
        binder,
        table,
        frames,
        series: Vec::new(),
        warnings: &mut recordings.warnings,
    };
    reader.poses()?;
    reader.joints()?;
    reader.sensors()?;
    let controls = reader.controls()?;
    let series = reader.series;
    let pieces = split(binder, table, frames, &series, &controls)?;
    if pieces.is_empty() {
        return Err(table.error(
            "there is no trajectory with 2 or more frames; check [trajectories] and the number of rows",
        ));
    }
    let name = Path::new(&table.file).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    for (index, piece) in pieces.iter().enumerate() {
        let label = if pieces.len() == 1 {
            name.to_string()
        } else {
            format!("{name} #{index}")
        };
        let trajectory = assemble::trajectory(binder, plan, (&series, &controls), piece, label);
        // Numbers near the largest ones overflow where units, axes or velocities are computed.
        let measured = trajectory.values.iter().flatten();
        let mut numbers = measured.chain(&trajectory.qpos).chain(&trajectory.qvel);
        if numbers.any(|number| number.is_infinite()) {
            return Err(table.error(&format!(
                "{}: its numbers are too large to compute with; check columns and units",
                trajectory.label
            )));
        }
        let start = mapping.trajectories.start;
        if start + 1 >= trajectory.frames() {
            recordings.warnings.push(format!(
                "{}: it has {} frames and starts at frame {start}; there is nothing to predict, so it is left out",
                trajectory.label,
                trajectory.frames()
            ));
            continue;
        }
        recordings.trajectories.push(trajectory);
    }
    Ok(())
}

/// The channels that a mapping describes.
fn plan(binder: &Binder<'_>) -> Result<Plan, Error> {
    let mut plan = Plan::default();
    let mapping = binder.mapping;
    for body in &mapping.bodies {
        let tracked = binder.body(&body.name)?;
        plan.pose(binder, ("body", body), tracked)?;
    }
    for site in &mapping.sites {
        let frame = Frame::Site(binder.site(&site.name)?);
        plan.pose(binder, ("site", site), Tracked::by(frame))?;
    }
    for joint in &mapping.joints {
        plan.joint(binder, joint)?;
    }
    for sensor in &mapping.sensors {
        let (first, width) = binder.sensor(&sensor.name)?;
        let quantity = Quantity::Sensor { first };
        let mut channel = channel("sensor", &sensor.name, "values", quantity, width);
        channel.noise = check_noise(binder, sensor.noise)?;
        plan.push(channel, 0.0);
    }
    for actuator in &mapping.actuators {
        binder.actuator(&actuator.name)?;
    }
    if plan.channels.is_empty() {
        return Err(binder.error(
            "it maps nothing; add [[body]], [[joint]] or [[sensor]] tables with arrays of the recording",
        ));
    }
    for index in 1..plan.channels.len() {
        let name = &plan.channels[index].name;
        if plan.channels[..index]
            .iter()
            .any(|other| other.name == *name)
        {
            return Err(binder.error(&format!("{name} is mapped twice")));
        }
    }
    Ok(plan)
}

fn channel(kind: &str, element: &str, part: &str, quantity: Quantity, width: usize) -> Channel {
    Channel {
        name: format!("{kind} {element} {part}"),
        element: element.to_owned(),
        quantity,
        width,
        noise: None,
        is_compared: true,
        found_from: None,
        is_angle: matches!(
            quantity,
            Quantity::Rotation(_) | Quantity::AngularVelocity { .. }
        ),
        modulo_turns: false,
    }
}

fn check_noise(binder: &Binder<'_>, noise: Option<f64>) -> Result<Option<f64>, Error> {
    match noise {
        Some(sigma) if !(sigma > 0.0 && sigma.is_finite()) => Err(binder.error(&format!(
            "noise = {sigma}: a standard deviation is a number above 0; leave it out if it is unknown"
        ))),
        noise => Ok(noise),
    }
}

/// Whether a part is among those to compare; all are if there is no list.
fn is_compared(
    binder: &Binder<'_>,
    what: &str,
    list: Option<&Vec<String>>,
    parts: &[&str],
    part: &str,
) -> Result<bool, Error> {
    let Some(list) = list else { return Ok(true) };
    if let Some(unknown) = list.iter().find(|word| !parts.contains(&word.as_str())) {
        return Err(binder.error(&format!(
            "{what} compare: '{unknown}' is none of {}",
            parts.join(", ")
        )));
    }
    Ok(list.iter().any(|word| word == part))
}

impl Plan {
    fn push(&mut self, channel: Channel, size: f64) {
        self.channels.push(channel);
        self.sizes.push(size);
    }

    fn pose(
        &mut self,
        binder: &Binder<'_>,
        (kind, pose): (&str, &PoseMapping),
        tracked: Tracked,
    ) -> Result<(), Error> {
        let Tracked {
            position,
            rotation,
            dof,
            radius,
        } = tracked;
        let what = format!("[[{kind}]] \"{}\"", pose.name);
        let velocities = [&pose.linear_velocity, &pose.angular_velocity];
        if dof.is_none() && velocities.iter().any(|source| source.is_some()) {
            return Err(binder.error(&format!(
                "{what}: velocities are for bodies on a free joint; map those of joints by [[joint]], or a velocity sensor by [[sensor]]"
            )));
        }
        let ignore = binder.mapping.velocity.ignore_recorded;
        let first = dof.unwrap_or(0);
        let parts = [
            (
                "position",
                &pose.position,
                Quantity::Position(position),
                3,
                pose.noise.position,
            ),
            (
                "rotation",
                &pose.rotation,
                Quantity::Rotation(rotation),
                4,
                pose.noise.rotation,
            ),
            (
                "linear_velocity",
                &pose.linear_velocity,
                Quantity::LinearVelocity { dof: first },
                3,
                pose.noise.linear_velocity,
            ),
            (
                "angular_velocity",
                &pose.angular_velocity,
                Quantity::AngularVelocity { dof: first + 3 },
                3,
                pose.noise.angular_velocity,
            ),
        ];
        if parts[..2].iter().all(|part| part.1.is_none()) {
            return Err(binder.error(&format!("{what}: give 'position', 'rotation' or both")));
        }
        let names = parts.map(|part| part.0);
        let mut places = [None; 4];
        for (index, (part, source, quantity, width, noise)) in parts.into_iter().enumerate() {
            let is_velocity = index >= 2;
            let is_recorded = source.is_some() && !(is_velocity && ignore);
            let from = if is_velocity { places[index - 2] } else { None };
            if !is_recorded && (from.is_none() || dof.is_none()) {
                continue;
            }
            let mut channel = channel(kind, &pose.name, part, quantity, width);
            channel.noise = check_noise(binder, noise)?;
            channel.found_from = from.filter(|_| !is_recorded);
            channel.is_compared =
                is_recorded && is_compared(binder, &what, pose.compare.as_ref(), &names, part)?;
            places[index] = Some(self.channels.len());
            self.push(channel, radius);
        }
        Ok(())
    }

    fn joint(&mut self, binder: &Binder<'_>, joint: &JointMapping) -> Result<(), Error> {
        let (qpos, dof, is_hinge) = binder.joint(&joint.name)?;
        let what = format!("[[joint]] \"{}\"", joint.name);
        if joint.position.is_none() && joint.velocity.is_none() {
            return Err(binder.error(&format!("{what}: give 'position', 'velocity' or both")));
        }
        let names = ["position", "velocity"];
        let compared =
            |part: &str| is_compared(binder, &what, joint.compare.as_ref(), &names, part);
        let mut position = None;
        if joint.position.is_some() {
            let quantity = Quantity::JointPosition { qpos, dof };
            let mut channel = channel("joint", &joint.name, "position", quantity, 1);
            channel.noise = check_noise(binder, joint.noise)?;
            channel.is_angle = is_hinge;
            if joint.modulo_turns && !is_hinge {
                return Err(binder.error(&format!(
                    "{what}: modulo_turns is for hinges, and this joint slides: take it out"
                )));
            }
            channel.modulo_turns = joint.modulo_turns;
            channel.is_compared = compared("position")?;
            position = Some(self.channels.len());
            self.push(channel, 0.0);
        }
        let mut channel = channel(
            "joint",
            &joint.name,
            "velocity",
            Quantity::JointVelocity { dof },
            1,
        );
        channel.noise = check_noise(binder, joint.velocity_noise)?;
        channel.is_angle = is_hinge;
        let is_recorded = joint.velocity.is_some() && !binder.mapping.velocity.ignore_recorded;
        channel.is_compared = is_recorded && compared("velocity")?;
        if is_recorded || position.is_some() {
            channel.found_from = position.filter(|_| !is_recorded);
            self.push(channel, 0.0);
        }
        Ok(())
    }
}

/// Reads the arrays of a file in the order of the plan's recorded channels.
struct Reader<'a> {
    binder: &'a Binder<'a>,
    table: &'a Table,
    frames: usize,
    series: Vec<Series>,
    warnings: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn poses(&mut self) -> Result<(), Error> {
        let mapping = self.binder.mapping;
        let ignore = mapping.velocity.ignore_recorded;
        let bodies = mapping.bodies.iter().map(|pose| ("body", pose));
        let sites = mapping.sites.iter().map(|pose| ("site", pose));
        for (kind, pose) in bodies.chain(sites) {
            let table = (self.table, self.frames);
            let PoseSeries {
                position,
                rotation,
                linear_velocity,
                angular_velocity,
                rows_per_trajectory,
                clock,
                ..
            } = pose::read(self.binder, table, kind, pose, self.warnings)?;
            let velocities = [
                linear_velocity.filter(|_| !ignore),
                angular_velocity.filter(|_| !ignore),
            ];
            let widths = [3, 4, 3, 3];
            let parts = [position, rotation].into_iter().chain(velocities);
            for (values, width) in parts.zip(widths) {
                let Some(values) = values else { continue };
                self.series.push(Series {
                    what: format!("[[{kind}]] \"{}\"", pose.name),
                    width,
                    values,
                    rows_per_trajectory,
                    clock: pose.time.clone().or_else(|| clock.clone()),
                });
            }
        }
        Ok(())
    }

    /// Numbers of a source, converted.
    fn numbers(
        &self,
        source: &Source,
        (width, missing): (usize, bool),
        (factor, offset): (f64, f64),
        what: &str,
    ) -> Result<Series, Error> {
        let block = self.table.block(source.places(), self.frames, what)?;
        check_width(self.table, &block, width, what)?;
        check_values(self.table, &block, missing, what)?;
        Ok(Series {
            what: what.to_owned(),
            width,
            values: block.values.iter().map(|x| x * factor + offset).collect(),
            rows_per_trajectory: block.rows_per_trajectory,
            clock: block.clock,
        })
    }

    fn joints(&mut self) -> Result<(), Error> {
        for joint in &self.binder.mapping.joints {
            let (.., is_hinge) = self.binder.joint(&joint.name)?;
            let what = format!("[[joint]] \"{}\"", joint.name);
            let units: &[&str] = if is_hinge {
                &["rad", "deg", "turn"]
            } else {
                &["m", "mm", "cm", "in", "ft"]
            };
            let unit = unit_factor(joint.unit.as_deref(), units)
                .map_err(|cause| self.binder.error(&format!("{what}: {cause}")))?;
            let factor = unit * joint.factor.unwrap_or(1.0);
            let other = joint.velocity_factor.map_or(factor, |other| unit * other);
            let parts = [
                (
                    "position",
                    &joint.position,
                    &joint.minus,
                    (factor, joint.offset),
                ),
                (
                    "velocity",
                    &joint.velocity,
                    &joint.minus_velocity,
                    (other, 0.0),
                ),
            ];
            for (part, source, minus, scale) in parts {
                let ignored = part == "velocity" && self.binder.mapping.velocity.ignore_recorded;
                let Some(source) = source.as_ref().filter(|_| !ignored) else {
                    continue;
                };
                let what = format!("{what} {part}");
                let shape = (1, joint.missing);
                let mut series = self.numbers(source, shape, scale, &what)?;
                if let Some(minus) = minus {
                    let what = format!("{what} minus");
                    let others = self.numbers(minus, shape, (scale.0, 0.0), &what)?;
                    if others.values.len() != series.values.len() {
                        return Err(self.table.error(&format!(
                            "{what}: '{minus}' has {} rows, '{source}' has {}",
                            others.values.len(),
                            series.values.len()
                        )));
                    }
                    for (value, other) in series.values.iter_mut().zip(&others.values) {
                        *value -= other;
                    }
                }
                series.clock = joint.time.clone().or(series.clock);
                self.series.push(series);
            }
        }
        Ok(())
    }

    fn sensors(&mut self) -> Result<(), Error> {
        for sensor in &self.binder.mapping.sensors {
            let (_, width) = self.binder.sensor(&sensor.name)?;
            let what = format!("[[sensor]] \"{}\"", sensor.name);
            let scale = (sensor.factor.unwrap_or(1.0), sensor.offset);
            let shape = (width, sensor.missing);
            let mut series = self.numbers(&sensor.values, shape, scale, &what)?;
            series.clock = sensor.time.clone().or(series.clock);
            self.series.push(series);
        }
        Ok(())
    }

    /// Controls with their actuators.
    fn controls(&self) -> Result<Vec<(usize, Series)>, Error> {
        let read = |actuator: &super::mapping::ActuatorMapping| {
            let what = format!("[[actuator]] \"{}\"", actuator.name);
            let scale = (actuator.factor.unwrap_or(1.0), actuator.offset);
            let mut series = self.numbers(&actuator.control, (1, false), scale, &what)?;
            series.clock = actuator.time.clone().or(series.clock);
            Ok((self.binder.actuator(&actuator.name)?, series))
        };
        self.binder.mapping.actuators.iter().map(read).collect()
    }
}
