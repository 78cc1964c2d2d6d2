//! The same motions measured once more: noise on what was recorded, and starts and velocities found from it as before.

use carom::Model;
use carom::math::{Quat, Vec3};
use carom_optimise::random::Random;

use super::{Channel, Quantity, Recordings, complete, lay};

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
