//! Trajectories from rows: values on frames, velocities that were not recorded, and states to start from.

use carom::Model;
use carom::math::{Quat, Vec3};

use super::bind::Binder;
use super::load::Plan;
use super::mapping::VelocityMapping;
use super::split::{Piece, Series};
use super::velocity::{of_quaternions, of_vectors};
use super::{Channel, Frame, Quantity, Trajectory};

/// One trajectory.
pub(super) fn trajectory(
    binder: &Binder<'_>,
    plan: &Plan,
    (series, controls): (&[Series], &[(usize, Series)]),
    piece: &Piece,
    label: String,
) -> Trajectory {
    let frames = piece.times.len();
    let mut recorded = series.iter().zip(&piece.rows);
    let mut values: Vec<Vec<f64>> = Vec::with_capacity(plan.channels.len());
    for channel in &plan.channels {
        let source = if channel.is_recorded() {
            recorded.next()
        } else {
            None
        };
        let Some((series, rows)) = source else {
            values.push(vec![f64::NAN; frames * channel.width]);
            continue;
        };
        let mut column = Vec::with_capacity(frames * channel.width);
        for row in rows {
            match row {
                Some(row) => column.extend(&series.values[row * series.width..][..series.width]),
                None => column.extend(std::iter::repeat_n(f64::NAN, series.width)),
            }
        }
        continue_angles(binder, channel, &mut column);
        values.push(column);
    }
    let nu = binder.model.counts().nu;
    let mut all_controls = vec![0.0; frames * nu];
    for ((actuator, series), rows) in controls.iter().zip(&piece.control_rows) {
        for (frame, &row) in rows.iter().enumerate() {
            all_controls[frame * nu + actuator] = series.values[row];
        }
    }
    let mut trajectory = Trajectory {
        file: piece.file.clone(),
        label,
        times: piece.times.clone(),
        values,
        controls: all_controls,
        qpos: Vec::new(),
        qvel: Vec::new(),
    };
    complete(
        binder.model,
        &plan.channels,
        &binder.mapping.velocity,
        &mut trajectory,
    );
    trajectory
}

/// Finds velocities that were not recorded from positions, and the states that simulations start from.
pub(crate) fn complete(
    model: &Model,
    channels: &[Channel],
    how: &VelocityMapping,
    trajectory: &mut Trajectory,
) {
    // Where starts are taken from, if they are not the values themselves.
    let mut smoothed: Vec<Option<Vec<f64>>> = vec![None; channels.len()];
    for (index, channel) in channels.iter().enumerate() {
        let Some(from) = channel.found_from else {
            continue;
        };
        let (times, positions) = (&trajectory.times, &trajectory.values[from]);
        let found = match channels[from].quantity {
            Quantity::Rotation(_) => of_quaternions(times, positions, how),
            _ => of_vectors(times, positions, channels[from].width, how),
        };
        smoothed[from] = how.smooth_positions.then_some(found.position);
        trajectory.values[index] = found.velocity;
    }
    states(model, channels, &smoothed, trajectory);
}

/// Takes jumps out of angles, where the mapping asks for it, and lets signs of quaternions be continuous.
fn continue_angles(binder: &Binder<'_>, channel: &Channel, values: &mut [f64]) {
    match channel.quantity {
        Quantity::Rotation(_) => {
            let mut before: Option<[f64; 4]> = None;
            for quat in values.chunks_exact_mut(4) {
                if quat[0].is_nan() {
                    continue;
                }
                let dot = before.map_or(1.0, |other| {
                    quat.iter().zip(other).map(|(a, b)| a * b).sum::<f64>()
                });
                if dot < 0.0 {
                    for number in quat.iter_mut() {
                        *number = -*number;
                    }
                }
                before = Some(std::array::from_fn(|k| quat[k]));
            }
        }
        Quantity::JointPosition { .. } => {
            let joints = &binder.mapping.joints;
            let unwraps = |joint: &super::mapping::JointMapping| {
                joint.name == channel.element && joint.unwrap
            };
            if !joints.iter().any(unwraps) {
                return;
            }
            let turn = std::f64::consts::TAU;
            let mut before: Option<f64> = None;
            for value in values.iter_mut().filter(|value| value.is_finite()) {
                if let Some(before) = before {
                    *value -= ((*value - before) / turn).round() * turn;
                }
                before = Some(*value);
            }
        }
        _ => {}
    }
}

/// States at all frames: what is recorded, between frames where it is missing, and the model's reference where nothing is mapped.
fn states(
    model: &Model,
    channels: &[Channel],
    smoothed: &[Option<Vec<f64>>],
    trajectory: &mut Trajectory,
) {
    let n = model.counts();
    let frames = trajectory.frames();
    let reference = &model.qpos.reference;
    let mut qpos: Vec<f64> = reference.repeat(frames);
    let mut qvel = vec![0.0; frames * n.nv];
    for (index, channel) in channels.iter().enumerate() {
        let (into, first, total) = match channel.quantity {
            Quantity::JointPosition { qpos: first, .. }
            | Quantity::Position(Frame::State { qpos: first, .. })
            | Quantity::Rotation(Frame::State { qpos: first, .. }) => (&mut qpos, first, n.nq),
            Quantity::JointVelocity { dof }
            | Quantity::LinearVelocity { dof }
            | Quantity::AngularVelocity { dof } => (&mut qvel, dof, n.nv),
            _ => continue,
        };
        let values = smoothed[index]
            .as_ref()
            .unwrap_or(&trajectory.values[index]);
        for frame in 0..frames {
            let place = &mut into[frame * total + first..][..channel.width];
            interpolate(&trajectory.times, values, channel, frame, place);
        }
    }
    trajectory.qpos = qpos;
    trajectory.qvel = qvel;
}

/// The value of a channel at a frame: its own, or between its neighbours; NaN where it has none on one side.
fn interpolate(times: &[f64], values: &[f64], channel: &Channel, frame: usize, place: &mut [f64]) {
    let width = channel.width;
    let value = |frame: usize| &values[frame * width..][..width];
    let is_here = |&frame: &usize| value(frame).iter().all(|number| number.is_finite());
    if is_here(&frame) {
        place.copy_from_slice(value(frame));
        return;
    }
    let before = (0..frame).rev().find(is_here);
    let after = (frame + 1..times.len()).find(is_here);
    let (Some(before), Some(after)) = (before, after) else {
        place.fill(f64::NAN);
        return;
    };
    let part = (times[frame] - times[before]) / (times[after] - times[before]);
    if let Quantity::Rotation(_) = channel.quantity {
        let quat = |frame: usize| Quat(std::array::from_fn(|k| value(frame)[k]));
        let Vec3(turn) = quat(after).difference(quat(before));
        let turned = quat(before).mul(Quat::exp(Vec3(turn.map(|angle| angle * part))));
        place.copy_from_slice(&turned.0);
        return;
    }
    for ((place, from), to) in place.iter_mut().zip(value(before)).zip(value(after)) {
        *place = from + part * (to - from);
    }
}
