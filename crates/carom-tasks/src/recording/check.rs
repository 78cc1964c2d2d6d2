//! What is suspicious about recordings that can be read: warnings that say what to look at.

use crate::error;
use carom::Error;
use carom::model::{GainKind, JointKind};

use super::bind::Binder;
use super::load::Plan;
use super::{Quantity, Recordings, Trajectory, outliers};
use crate::evaluate::figure;

/// Motions that are larger or smaller than these multiples of the body look like a wrong unit: a factor of 1000 for
/// millimetres, less what bodies really move.
const MAX_MOTION_PER_SIZE: f64 = 300.0;
const MIN_MOTION_PER_SIZE: f64 = 0.003;
/// Frames that are further apart (s) look like a wrong unit.
const MAX_FRAME_INTERVAL: f64 = 1.5;
/// Recorded velocities that differ by this factor from differences of positions look like a wrong unit: degrees are a factor
/// of 57.
const MAX_VELOCITY_RATIO: f64 = 20.0;

/// Maximum of steps from a frame to the next: more would take hours, and mostly mean a wrong unit of time.
const MAX_STEPS_PER_FRAME: f64 = 1e5;
/// Maximum of steps in a trajectory.
const MAX_STEPS_PER_TRAJECTORY: f64 = 5e6;
/// Maximum of steps between most frames of a recording: milliseconds that were taken for seconds come to more.
const MAX_USUAL_STEPS_PER_FRAME: f64 = 2e3;

/// Refuses times that would take the model too many steps.
pub(super) fn steps(binder: &Binder<'_>, recordings: &Recordings) -> Result<(), Error> {
    let timestep = binder.model.option.timestep[0];
    for Trajectory { label, times, .. } in &recordings.trajectories {
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let gap = gaps.iter().copied().fold(0.0, f64::max);
        let span = times.last().copied().unwrap_or(0.0);
        if gap > MAX_STEPS_PER_FRAME * timestep || span > MAX_STEPS_PER_TRAJECTORY * timestep {
            return Err(error::recording(format!(
                "{label}: it lasts {span} s with frames up to {gap} s apart, but the model steps by {timestep} s; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds), or cut gaps by [trajectories] max_gap"
            )));
        }
        let usual = median(gaps);
        let is_asked_for = recordings.steps_per_frame.is_some();
        if usual > (MAX_USUAL_STEPS_PER_FRAME * timestep).max(MAX_FRAME_INTERVAL) && !is_asked_for {
            return Err(error::recording(format!(
                "{label}: frames are {usual:.3} s apart, {:.0} steps of the model; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds); if they are, ask for that many by [simulation] steps_per_frame",
                usual / timestep
            )));
        }
    }
    Ok(())
}

/// Joints and actuators of the model that the mapping does not speak of.
pub(super) fn starts(binder: &Binder<'_>, plan: &Plan, recordings: &mut Recordings) {
    let structure = &binder.model.structure;
    let n = binder.model.counts();
    let mut is_known = vec![false; n.nq];
    for channel in &plan.channels {
        use super::Frame::State;
        if let Quantity::JointPosition { qpos, .. }
        | Quantity::Position(State { qpos, .. })
        | Quantity::Rotation(State { qpos, .. }) = channel.quantity
        {
            is_known[qpos..qpos + channel.width].fill(true);
        }
    }
    for (joint, &kind) in structure.joints.kind.iter().enumerate() {
        let first = structure.joints.qpos[joint];
        let width = match kind {
            JointKind::Hinge | JointKind::Slide => 1,
            JointKind::Ball => 4,
            JointKind::Free => 7,
        };
        let known = is_known[first..first + width]
            .iter()
            .filter(|&&known| known);
        let what = match known.count() {
            count if count == width => continue,
            0 => "is not mapped; simulations start with its reference position, at rest",
            _ => {
                "is mapped in part; simulations start with what the reference position has of the rest, at rest"
            }
        };
        let name = match structure.names.joints[joint].as_str() {
            "" => format!(
                "joint {joint} (of body '{}')",
                structure.names.bodies[structure.joints.body[joint]]
            ),
            name => format!("joint '{name}'"),
        };
        recordings
            .warnings
            .push(format!("mapping '{}': {name} {what}", binder.mapping.file));
    }
    for (actuator, name) in structure.control_names().iter().enumerate() {
        let mapped = &binder.mapping.actuators;
        if !mapped.iter().any(|mapped| mapped.name == *name) && has_gain(binder, actuator) {
            let name = if name.is_empty() {
                format!("{actuator}")
            } else {
                format!("'{name}'")
            };
            recordings.warnings.push(format!(
                "mapping '{}': actuator {name} is not mapped; its control is 0",
                binder.mapping.file
            ));
        }
    }
}

/// Whether a control does anything: an actuator without gain, such as one that holds an offset, has none to map.
fn has_gain(binder: &Binder<'_>, control: usize) -> bool {
    let model = binder.model;
    let actuator = model.structure.actuators.control_owner[control];
    let gain = &model.actuators.gain[actuator];
    match model.structure.actuators.gain[actuator] {
        GainKind::Fixed => gain[0] != 0.0,
        GainKind::Affine => gain[..3] != [0.0; 3],
        _ => true,
    }
}

/// Units, and whether anything moves.
pub(super) fn motion(plan: &Plan, recordings: &mut Recordings) {
    let mut warnings = Vec::new();
    if let Some(trajectory) = recordings.trajectories.first() {
        let gap = median(
            trajectory
                .times
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .collect(),
        );
        if gap > MAX_FRAME_INTERVAL {
            warnings.push(format!(
                "{}: frames are {gap:.3} s apart; if time stamps are not in seconds, give [time] factor (0.001 for milliseconds, 1e-9 for nanoseconds)",
                trajectory.file
            ));
        }
    }
    let mut moves = false;
    for (index, channel) in plan.channels.iter().enumerate() {
        let ranges = recordings
            .trajectories
            .iter()
            .map(|t| range(t, index, channel.width));
        let widest = ranges.fold(0.0, f64::max);
        if channel.is_recorded() {
            moves |= widest > 1e-9;
        }
        let size = plan.sizes[index];
        if let (Quantity::Position(_), true) = (channel.quantity, size > 0.0 && widest > 1e-9) {
            let file = &recordings.trajectories[0].file;
            if widest > MAX_MOTION_PER_SIZE * size {
                warnings.push(format!(
                    "{file}: {} moves by {} m, {} times the size of the body; if it is in millimetres, give unit = \"mm\"",
                    channel.name, figure(widest), figure(widest / size)
                ));
            } else if widest < MIN_MOTION_PER_SIZE * size {
                warnings.push(format!(
                    "{file}: {} moves by {:.4} mm at most, much less than the size of the body ({:.1} mm); is its unit right, and did it move?",
                    channel.name, widest * 1e3, size * 1e3
                ));
            }
        }
        velocity_units(plan, index, recordings, &mut warnings);
    }
    if !moves && !recordings.trajectories.is_empty() {
        warnings.push(format!(
            "{}: nothing moves in any trajectory; there is nothing to compare a model with",
            recordings.trajectories[0].file
        ));
    }
    warnings.extend(outliers::warnings(plan, recordings));
    recordings.warnings.extend(warnings);
}

/// Compares recorded velocities with differences of positions.
fn velocity_units(plan: &Plan, index: usize, recordings: &Recordings, warnings: &mut Vec<String>) {
    let channel = &plan.channels[index];
    let is_partner = |other: Quantity| match (channel.quantity, other) {
        (
            Quantity::LinearVelocity { dof },
            Quantity::Position(super::Frame::State { dof: at, .. }),
        )
        | (Quantity::JointVelocity { dof }, Quantity::JointPosition { dof: at, .. }) => dof == at,
        _ => false,
    };
    let partner = plan
        .channels
        .iter()
        .position(|other| is_partner(other.quantity));
    let Some(partner) = partner.filter(|_| channel.is_recorded()) else {
        return;
    };
    let (mut recorded, mut found) = (Vec::new(), Vec::new());
    for trajectory in &recordings.trajectories {
        for frame in 1..trajectory.frames() {
            let at = |channel: usize, frame: usize| {
                trajectory.value(channel, frame, plan.channels[channel].width)
            };
            let (Some(velocity), Some(now), Some(before)) =
                (at(index, frame), at(partner, frame), at(partner, frame - 1))
            else {
                continue;
            };
            let span = trajectory.times[frame] - trajectory.times[frame - 1];
            let change = now.iter().zip(before).map(|(a, b)| (a - b) / span);
            recorded.push(length(velocity.iter().copied()));
            found.push(length(change));
        }
    }
    let (recorded, found) = (median(recorded), median(found));
    if recorded > 1e-6 && found > 1e-6 {
        let ratio = recorded / found;
        if !(1.0 / MAX_VELOCITY_RATIO..=MAX_VELOCITY_RATIO).contains(&ratio) {
            warnings.push(format!(
                "{}: {} is {} times what differences of the positions give; one of the two has a wrong unit, or the time has",
                recordings.trajectories[0].file, channel.name, figure(ratio)
            ));
        }
    }
}

fn length(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(|number| number * number).sum::<f64>().sqrt()
}

/// How far the numbers of a channel move in a trajectory.
fn range(trajectory: &Trajectory, channel: usize, width: usize) -> f64 {
    let values = &trajectory.values[channel];
    (0..width)
        .map(|column| {
            let numbers = values
                .iter()
                .skip(column)
                .step_by(width)
                .filter(|x| x.is_finite());
            let (low, high) = numbers
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| {
                    (low.min(x), high.max(x))
                });
            (high - low).max(0.0)
        })
        .fold(0.0, f64::max)
}

pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
