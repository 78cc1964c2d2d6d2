//! Signals of a trajectory, filtered, at an even rate: positions, velocities, accelerations, controls.

use carom::{Error, Model};
use rayon::prelude::*;

use super::filter::low_pass;
use crate::error;
use crate::recording::{Quantity, Recordings, Trajectory};

/// Signals are looked at so many times as often as their cutoff: neighbours are then nearly independent.
const SAMPLES_PER_CUTOFF: f64 = 4.0;

/// Dry friction changes its sign over about this speed (rad/s or m/s), v₀ in the equations: far below the speeds of an excitation, above what a
/// filter leaves of noise at rest.
const SLIDING_SPEED: f64 = 0.02;

/// Filtered signals of one trajectory.
#[derive(Clone, Debug)]
pub(crate) struct Signals {
    /// The trajectory.
    pub(crate) trajectory: usize,
    /// Time between frames (s).
    timestep: f64,
    /// Frames at which torques are compared: those near the ends are left to the filter.
    pub(crate) samples: Vec<usize>,
    /// Configurations, nv a frame: all joints are hinges and slides.
    position: Vec<f64>,
    velocity: Vec<f64>,
    acceleration: Vec<f64>,
    /// Directions of dry friction, tanh(v/v₀), filtered as torques are: the filter rounds their jumps too.
    sliding: Vec<f64>,
    /// Controls, nu a frame.
    control: Vec<f64>,
    nv: usize,
    nu: usize,
}

impl Signals {
    /// The signals of all trajectories.
    ///
    /// # Errors
    /// When a trajectory has gaps in its positions.
    pub(crate) fn all(
        model: &Model,
        recordings: &Recordings,
        cutoff: f64,
    ) -> Result<Vec<Self>, Error> {
        (0..recordings.trajectories.len())
            .into_par_iter()
            .map(|trajectory| Self::new(model, recordings, trajectory, cutoff))
            .collect()
    }

    fn new(
        model: &Model,
        recordings: &Recordings,
        index: usize,
        cutoff: f64,
    ) -> Result<Self, Error> {
        let trajectory = &recordings.trajectories[index];
        let (nv, nu) = (model.counts().nv, model.counts().nu);
        let last = trajectory.frames() - 1;
        let timestep = trajectory.times[last] / last as f64;
        let clock: Vec<f64> = (0..=last).map(|frame| timestep * frame as f64).collect();
        let smooth = |numbers: &[f64], width: usize| {
            by_columns(numbers, width, |column| {
                low_pass(
                    &resampled(trajectory, &column, &clock),
                    1.0 / timestep,
                    cutoff,
                )
            })
        };
        let position = smooth(&trajectory.qpos, nv);
        let velocity = if has_velocities(recordings, nv) {
            smooth(&trajectory.qvel, nv)
        } else {
            slopes(&position, nv, timestep)
        };
        let acceleration = slopes(&velocity, nv, timestep);
        let directions: Vec<f64> = velocity
            .iter()
            .map(|v| (v / SLIDING_SPEED).tanh())
            .collect();
        let sliding = by_columns(&directions, nv, |column| {
            low_pass(&column, 1.0 / timestep, cutoff)
        });
        let control = smooth(&trajectory.controls, nu);
        let all = [&position, &velocity, &control].into_iter().flatten();
        if !all.into_iter().all(|number| number.is_finite()) {
            return Err(error::recording(format!(
                "{}: torques are compared by filtered signals, which must not have gaps: positions of all joints are needed at every frame",
                trajectory.label
            )));
        }
        Ok(Self {
            trajectory: index,
            samples: samples(last, timestep, cutoff),
            timestep,
            position,
            velocity,
            acceleration,
            sliding,
            control,
            nv,
            nu,
        })
    }

    /// Time since the first frame (s).
    pub(crate) fn time(&self, frame: usize) -> f64 {
        self.timestep * frame as f64
    }

    /// Positions of all joints at a frame.
    pub(crate) fn position(&self, frame: usize) -> &[f64] {
        &self.position[frame * self.nv..][..self.nv]
    }

    /// Their velocities.
    pub(crate) fn velocity(&self, frame: usize) -> &[f64] {
        &self.velocity[frame * self.nv..][..self.nv]
    }

    /// Their accelerations.
    pub(crate) fn acceleration(&self, frame: usize) -> &[f64] {
        &self.acceleration[frame * self.nv..][..self.nv]
    }

    /// How far dry friction acts against their velocities.
    pub(crate) fn sliding(&self, frame: usize) -> &[f64] {
        &self.sliding[frame * self.nv..][..self.nv]
    }

    /// A control so much time before a frame, and its slope there; the first one was held before the recording began.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a frame of the trajectory"
    )]
    pub(crate) fn control(&self, control: usize, frame: usize, delay: f64) -> (f64, f64) {
        let at = |frame: usize| self.control[frame * self.nu + control];
        let last = self.control.len() / self.nu - 1;
        let place = frame as f64 - delay / self.timestep;
        if place <= 0.0 {
            return (at(0), 0.0);
        }
        let before = (place as usize).min(last.saturating_sub(1));
        let slope = at((before + 1).min(last)) - at(before);
        (
            at(before) + (place - before as f64) * slope,
            slope / self.timestep,
        )
    }
}

/// Rows of numbers whose columns are changed one by one.
fn by_columns(numbers: &[f64], width: usize, change: impl Fn(Vec<f64>) -> Vec<f64>) -> Vec<f64> {
    let column = |first: usize| numbers.iter().skip(first).step_by(width).copied().collect();
    let columns: Vec<Vec<f64>> = (0..width).map(|first| change(column(first))).collect();
    let frames = columns.first().map_or(0, Vec::len);
    let rows = (0..frames).flat_map(|frame| columns.iter().map(move |column| column[frame]));
    rows.collect()
}

/// Frames to compare: about [`SAMPLES_PER_CUTOFF`] times the cutoff, one period of the cutoff away from the ends.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of frames, at least 1"
)]
fn samples(last: usize, timestep: f64, cutoff: f64) -> Vec<usize> {
    let end = (1.0 / (cutoff * timestep)).ceil().max(2.0) as usize;
    let step = (1.0 / (SAMPLES_PER_CUTOFF * cutoff * timestep))
        .floor()
        .max(1.0) as usize;
    (end..(last + 1).saturating_sub(end))
        .step_by(step)
        .collect()
}

/// Whether the velocities of all coordinates were recorded.
fn has_velocities(recordings: &Recordings, nv: usize) -> bool {
    let channels = recordings.channels.iter();
    let recorded = channels.filter(|channel| {
        matches!(channel.quantity, Quantity::JointVelocity { .. }) && channel.is_recorded()
    });
    recorded.count() == nv
}

/// A signal at even times, by lines between its frames.
fn resampled(trajectory: &Trajectory, signal: &[f64], clock: &[f64]) -> Vec<f64> {
    let times = &trajectory.times;
    let value = |&time: &f64| {
        let after = times
            .partition_point(|known| *known <= time)
            .min(signal.len() - 1);
        let before = after.saturating_sub(1);
        let span = times[after] - times[before];
        let part = if span > 0.0 {
            (time - times[before]) / span
        } else {
            0.0
        };
        signal[before] + part.min(1.0) * (signal[after] - signal[before])
    };
    clock.iter().map(value).collect()
}

/// Central differences, at the ends to one side.
fn slopes(numbers: &[f64], width: usize, timestep: f64) -> Vec<f64> {
    let last = numbers.len() / width - 1;
    let slope = |index: usize| {
        let (frame, column) = (index / width, index % width);
        let (before, after) = (frame.saturating_sub(1), (frame + 1).min(last));
        let span = timestep * (after - before) as f64;
        (numbers[after * width + column] - numbers[before * width + column]) / span
    };
    (0..numbers.len()).map(slope).collect()
}
