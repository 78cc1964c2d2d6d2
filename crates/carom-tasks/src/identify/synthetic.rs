//! Recordings of a model itself: what would have been measured at the frames of recordings if the model were right.

use carom::Error;
use carom::math::Quat;
use carom::{Data, Model, State};
use carom_optimise::random::Random;
use rayon::prelude::*;

use crate::evaluate::predictions;
use crate::loss::measured;
use crate::problem::Stepping;
use crate::problem::runner::Predicted;
use crate::recording::{Channel, Quantity, Recordings, Trajectory, measure_again};

/// A model's own motions from the recorded starts.
pub(super) struct Synthetic<'a> {
    model: &'a Model,
    recordings: &'a Recordings,
    /// Of each trajectory that could be simulated, with what was measured replaced by what the model does.
    trajectories: Vec<Trajectory>,
    /// Trajectories that could not be, and why.
    pub(super) left_out: Vec<String>,
    /// Deviation of the noise of each channel.
    deviations: Vec<f64>,
    /// Channels whose noise is not stated: what the model leaves unexplained stands for it.
    pub(super) unstated: Vec<String>,
}

impl<'a> Synthetic<'a> {
    /// Simulates a model from all recorded starts.
    pub(super) fn new(model: &'a Model, recordings: &'a Recordings, stepping: Stepping) -> Self {
        let motions: Vec<Result<Trajectory, Error>> = (0..recordings.trajectories.len())
            .into_par_iter()
            .map(|index| {
                let predicted = predictions(model, recordings, stepping, index)?;
                Ok(replaced(model, recordings, index, &predicted))
            })
            .collect();
        let unexplained = unexplained(recordings, &motions);
        let mut synthetic = Self {
            model,
            recordings,
            trajectories: Vec::new(),
            left_out: Vec::new(),
            deviations: Vec::new(),
            unstated: Vec::new(),
        };
        for (motion, recorded) in motions.into_iter().zip(&recordings.trajectories) {
            match motion {
                Ok(motion) => synthetic.trajectories.push(motion),
                Err(why) => {
                    let label = &recorded.label;
                    synthetic.left_out.push(format!("{label}: {why}"));
                }
            }
        }
        for (channel, unexplained) in recordings.channels.iter().zip(unexplained) {
            if channel.noise.is_none() && channel.is_compared {
                synthetic.unstated.push(channel.name.clone());
            }
            synthetic
                .deviations
                .push(channel.noise.unwrap_or(unexplained));
        }
        synthetic
    }

    /// The same from initial states that were found: what is measured at them is replaced too.
    pub(super) fn from_starts(
        model: &'a Model,
        recordings: &'a Recordings,
        stepping: Stepping,
    ) -> Self {
        let mut synthetic = Self::new(model, recordings, stepping);
        let mut data = Data::new(model);
        let start = recordings.start;
        let (nq, nv) = (model.counts().nq, model.counts().nv);
        for trajectory in &mut synthetic.trajectories {
            let mut state = State::reference(model);
            (state.qpos).copy_from_slice(&trajectory.qpos[start * nq..][..nq]);
            (state.qvel).copy_from_slice(&trajectory.qvel[start * nv..][..nv]);
            carom::forward_kinematics(model, &state, &mut data.kinematics);
            for (index, channel) in recordings.channels.iter().enumerate() {
                put(trajectory, (index, channel, start), (&state, &data, &[]));
            }
        }
        synthetic
    }

    /// What would have been measured without noise.
    pub(super) fn exact(self) -> Vec<Trajectory> {
        self.trajectories
    }

    /// What would have been measured, noise and all. Starts and velocities are found from it as from what was recorded.
    pub(super) fn measure(&self, random: &mut Random) -> Recordings {
        let mut recordings = self.recordings.clone();
        recordings.warnings.clear();
        recordings.trajectories.clone_from(&self.trajectories);
        measure_again(self.model, &mut recordings, &self.deviations, random);
        recordings
    }
}

/// A trajectory with the measured values after its start replaced by those of a prediction. What is missing stays missing.
fn replaced(
    model: &Model,
    recordings: &Recordings,
    index: usize,
    predicted: &[Predicted],
) -> Trajectory {
    let mut trajectory = recordings.trajectories[index].clone();
    let mut data = Data::new(model);
    for known in predicted
        .iter()
        .filter(|known| known.frame > recordings.start)
    {
        carom::forward_kinematics(model, &known.state, &mut data.kinematics);
        for (index, channel) in recordings.channels.iter().enumerate() {
            let made = (&known.state, &data, known.sensors.as_slice());
            put(&mut trajectory, (index, channel, known.frame), made);
        }
    }
    trajectory
}

/// Puts what a state measures into a channel of a trajectory. What is missing stays missing.
fn put(
    trajectory: &mut Trajectory,
    (index, channel, frame): (usize, &Channel, usize),
    (state, data, sensors): (&State, &Data, &[f64]),
) {
    let width = channel.width;
    if !channel.is_recorded() || trajectory.value(index, frame, width).is_none() {
        return;
    }
    let found = measured(channel, state, &data.kinematics, sensors);
    let place = &mut trajectory.values[index][frame * width..][..width];
    // Sensors that are not compared are not simulated: they stay as they were recorded.
    if found.iter().all(|number| number.is_finite()) {
        place.copy_from_slice(&found);
    }
}

/// Root mean square of what a model leaves unexplained of each channel, per number.
fn unexplained(recordings: &Recordings, motions: &[Result<Trajectory, Error>]) -> Vec<f64> {
    let of = |(index, channel): (usize, &Channel)| {
        let (mut sum, mut count) = (0.0, 0.0);
        for (recorded, motion) in recordings.trajectories.iter().zip(motions) {
            let Ok(motion) = motion else { continue };
            for frame in recordings.start + 1..recorded.frames() {
                let pair = [recorded, motion].map(|one| one.value(index, frame, channel.width));
                if let [Some(recorded), Some(found)] = pair {
                    for error in errors(channel, recorded, found) {
                        sum += error * error;
                        count += 1.0;
                    }
                }
            }
        }
        if count > 0.0 {
            (sum / f64::max(count, 1.0)).sqrt()
        } else {
            0.0
        }
    };
    recordings.channels.iter().enumerate().map(of).collect()
}

fn errors(channel: &Channel, recorded: &[f64], found: &[f64]) -> Vec<f64> {
    if let Quantity::Rotation(_) = channel.quantity {
        let quat = |numbers: &[f64]| Quat(std::array::from_fn(|k| numbers[k]));
        return quat(found).difference(quat(recorded)).0.to_vec();
    }
    found.iter().zip(recorded).map(|(a, b)| a - b).collect()
}
