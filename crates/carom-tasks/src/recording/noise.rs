//! Noise: what it makes of velocities that were found, and the same motions measured once more, with noise on what was recorded, and starts
//! and velocities found from it as before.

use carom::Model;
use carom::math::{Quat, Vec3};
use carom_optimise::random::Random;

use super::velocity::{Deviation, of_quaternions, of_vectors};
use super::{Channel, Quantity, Recordings, complete, lay};

impl Recordings {
    /// How far velocities that were found from positions may be from the true ones; none of channels that were recorded. `otherwise` is
    /// the noise of positions where the mapping states none.
    pub(crate) fn found_deviation(&self, channel: &Channel, otherwise: f64) -> Option<f64> {
        let from = channel.found_from?;
        let index = self.channels.iter().position(|other| other == channel)?;
        let source = &self.channels[from];
        let mut deviation = Deviation::default();
        for trajectory in &self.trajectories {
            let positions = &trajectory.values[from];
            let found = |frames: std::ops::Range<usize>, how: &_| {
                let times = &trajectory.times[frames.clone()];
                let numbers = frames.start * source.width..frames.end * source.width;
                let values = &positions[numbers];
                match source.quantity {
                    Quantity::Rotation(_) => of_quaternions(times, values, how).velocity,
                    _ => of_vectors(times, values, source.width, how).velocity,
                }
            };
            let velocities = (
                &trajectory.times[..],
                &trajectory.values[index][..],
                channel.width,
            );
            deviation.add(velocities, &self.velocity, self.start, found);
        }
        deviation.of_noise(source.noise.unwrap_or(otherwise))
    }

    /// The noise of a channel as far as its roughness tells: third differences of white noise have 20 times its variance, and those of a
    /// motion that is smooth over four frames are small beside it. By their median, so that impacts do not count. Where most of them vanish,
    /// values were rounded to steps, which have a noise of 1/√12 of a step.
    pub(crate) fn roughness(&self, channel: usize) -> f64 {
        /// The median of the size of a normal deviate.
        const MEDIAN: f64 = 0.674_489_750_196_082;
        /// Differences below this share of the values are rounding.
        const ROUNDING: f64 = 1e-9;
        let Channel {
            width, quantity, ..
        } = self.channels[channel];
        // The vector of a quaternion moves by half of a small turn.
        let (first, factor) = match quantity {
            Quantity::Rotation(_) => (1, 2.0),
            _ => (0, 1.0),
        };
        let (mut sizes, mut largest) = (Vec::new(), 0.0_f64);
        for trajectory in &self.trajectories {
            let values = &trajectory.values[channel];
            for frame in 3..trajectory.frames() {
                let at = |back: usize, k: usize| factor * values[(frame - back) * width + k];
                for k in first..width {
                    let third = at(0, k) - 3.0 * at(1, k) + 3.0 * at(2, k) - at(3, k);
                    sizes.push(third.abs());
                    largest = largest.max(at(0, k).abs());
                }
            }
        }
        sizes.retain(|size| size.is_finite());
        sizes.sort_by(f64::total_cmp);
        let vanish = sizes.partition_point(|size| *size <= ROUNDING * largest);
        match (sizes.get(sizes.len() / 2), sizes.get(vanish)) {
            (Some(median), _) if 2 * vanish <= sizes.len() => median / (MEDIAN * 20.0_f64.sqrt()),
            (_, Some(step)) => step / 12.0_f64.sqrt(),
            _ => 0.0,
        }
    }
}

/// Adds noise to all recorded values, with a deviation for each channel.
pub(crate) fn measure_again(
    model: &Model,
    recordings: &mut Recordings,
    deviations: &[f64],
    random: &mut Random,
) {
    let Recordings {
        channels,
        trajectories,
        velocity,
        flat_starts,
        ..
    } = recordings;
    for trajectory in trajectories {
        for ((channel, values), deviation) in
            (channels.iter().zip(&mut trajectory.values)).zip(deviations)
        {
            if channel.is_recorded() {
                disturb(values, channel, *deviation, random);
            }
        }
        complete(model, channels, velocity, trajectory);
        lay(model, flat_starts, trajectory);
    }
}

/// Adds noise to all values of a channel; for orientations, a small turn about each axis.
fn disturb(values: &mut [f64], channel: &Channel, deviation: f64, random: &mut Random) {
    if let Quantity::Rotation(_) = channel.quantity {
        for numbers in values.chunks_exact_mut(4) {
            let quat = Quat(std::array::from_fn(|k| numbers[k]));
            let turn = Vec3(std::array::from_fn(|_| deviation * random.normal()));
            numbers.copy_from_slice(&quat.mul(Quat::exp(turn)).0);
        }
        return;
    }
    for value in values {
        *value += deviation * random.normal();
    }
}
