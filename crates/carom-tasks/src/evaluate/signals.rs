//! What channels have measured and what a model predicts for them, over time.

use carom::{Data, Error, Input, Model, State};

use super::predictions;
use crate::loss::measured;
use crate::problem::Stepping;
use crate::recording::{Channel, Quantity, Recordings, Trajectory};

/// One number of a channel over a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// The channel, and the component where it has several.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Time (s), what was measured, and what the model predicts.
    pub points: Vec<[f64; 3]>,
}

/// Everything that was recorded of a trajectory, beside what the model predicts from its recorded start.
///
/// # Errors
/// When the trajectory has no start, or the simulation does not reach its end.
pub fn signals(
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
    trajectory: usize,
) -> Result<Vec<Signal>, Error> {
    let predicted = predictions(model, recordings, stepping, trajectory)?;
    let motion = &recordings.trajectories[trajectory];
    let mut data = Data::new(model);
    let recorded =
        (0..recordings.channels.len()).filter(|&index| recordings.channels[index].is_recorded());
    let recorded: Vec<usize> = recorded.collect();
    let mut all: Vec<Signal> = recorded
        .iter()
        .flat_map(|&index| empty(&recordings.channels[index]))
        .collect();
    for known in &predicted {
        carom::forward_kinematics(model, &known.state, &mut data.kinematics);
        let mut places = all.iter_mut();
        for &index in &recorded {
            let channel = &recordings.channels[index];
            let own = places.by_ref().take(channel.width);
            let Some(values) = motion.value(index, known.frame, channel.width) else {
                own.for_each(drop);
                continue;
            };
            let mut found = measured(channel, &known.state, &data.kinematics, &known.sensors);
            align(channel, values, &mut found);
            for ((signal, &value), found) in own.zip(values).zip(found) {
                signal
                    .points
                    .push([motion.times[known.frame], value, found]);
            }
        }
    }
    all.retain(|signal| !signal.points.is_empty());
    Ok(all)
}

/// A quaternion and its negative are one rotation.
fn align(channel: &Channel, values: &[f64], found: &mut [f64]) {
    let product: f64 = values.iter().zip(found.iter()).map(|(a, b)| a * b).sum();
    if matches!(channel.quantity, Quantity::Rotation(_)) && product < 0.0 {
        for number in found {
            *number = -*number;
        }
    }
}

fn empty(channel: &Channel) -> Vec<Signal> {
    let components: &[&str] = match channel.width {
        1 => &[""],
        3 => &[" x", " y", " z"],
        4 => &[" w", " x", " y", " z"],
        _ => &[],
    };
    let unit = match channel.quantity {
        Quantity::JointPosition { .. } if channel.is_angle => "rad",
        Quantity::JointVelocity { .. } if channel.is_angle => "rad/s",
        Quantity::JointPosition { .. } | Quantity::Position(_) => "m",
        Quantity::JointVelocity { .. } | Quantity::LinearVelocity { .. } => "m/s",
        Quantity::AngularVelocity { .. } => "rad/s",
        Quantity::Rotation(_) | Quantity::Sensor { .. } => "",
    };
    let name = |component: usize| match components.get(component) {
        Some(word) => format!("{}{word}", channel.name),
        None => format!("{}[{component}]", channel.name),
    };
    let signal = |component| Signal {
        name: name(component),
        unit,
        points: Vec::new(),
    };
    (0..channel.width).map(signal).collect()
}

/// States that are looked at to see whether anything touches.
const MAX_STATES: usize = 1000;

/// Whether anything touches in the recorded motions, or in those that the model predicts for one of them.
pub fn touches(
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
    trajectory: usize,
) -> bool {
    let (nq, mut data) = (model.counts().nq, Data::new(model));
    let mut state = State::reference(model);
    let input = Input::zeros(model);
    let mut is_touching = |qpos: &[f64]| {
        state.qpos.copy_from_slice(qpos);
        carom::forward(model, &state, &input, &mut data);
        !data.collision.contacts.is_empty()
    };
    let frames: usize = recordings.trajectories.iter().map(Trajectory::frames).sum();
    let every = frames.div_ceil(MAX_STATES).max(1);
    let recorded = recordings
        .trajectories
        .iter()
        .flat_map(|motion| motion.qpos.chunks_exact(nq.max(1)));
    let mut known = recorded
        .step_by(every)
        .filter(|qpos| qpos.iter().all(|number| number.is_finite()));
    if known.any(&mut is_touching) {
        return true;
    }
    let predicted = predictions(model, recordings, stepping, trajectory).unwrap_or_default();
    let every = predicted.len().div_ceil(MAX_STATES).max(1);
    predicted
        .iter()
        .step_by(every)
        .any(|known| is_touching(&known.state.qpos))
}
