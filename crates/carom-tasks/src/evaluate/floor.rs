//! The noise floor: errors that a model would have on recordings if it were right.
//!
//! Even a true model is simulated from a start that was measured with noise, and compared with measurements that have noise. With x̂(s) the
//! model's motion from a start s, and n one draw of the noise of all that was recorded, the floor is the error of
//!
//!   x̂(s₀ + δ(n))   against   x̂(s₀) + n,   where s₀ + δ(n) is the start that follows from the recording + n
//!
//! as starts and velocities always follow from recordings. Errors near the floor are as small as any model's can be.

use carom::math::Quat;
use carom::{Data, Error, Model};
use carom_optimise::random::Random;
use rayon::prelude::*;

use super::metric::{Meter, Sums};
use super::{Evaluation, Predictor, flow_of};
use crate::loss::measured;
use crate::problem::Stepping;
use crate::problem::runner::Predicted;
use crate::recording::{Quantity, Recordings, Trajectory, measure_again};

/// Draws of the noise; floors are means over them.
const DRAWS: u64 = 3;
/// The draws are the same for every model, so that floors can be compared.
const SEED: u64 = 7;

/// Errors that a model would have if it were right.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// In the order of the report's metrics; NaN where there is none.
    pub errors: Vec<f64>,
    /// Whether the mapping states the noise of everything that was recorded; else it is estimated from how rough the recordings are.
    pub is_stated: bool,
}

/// What starts of simulations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartNoise {
    /// Measured, with noise.
    Measured,
    /// Estimated together with the parameters from all frames, so that hardly any noise is left: δ = 0.
    Estimated,
}

/// The noise floor of a model on recordings; none where nothing has noise.
///
/// # Errors
/// As [`evaluate`](super::evaluate()).
pub fn noise_floor(
    model: &Model,
    recordings: &Recordings,
    stepping: Stepping,
    starts: StartNoise,
) -> Result<Option<Floor>, Error> {
    let (deviations, is_stated) = deviations(recordings);
    if deviations.iter().all(|deviation| *deviation == 0.0) {
        return Ok(None);
    }
    let flow = flow_of(model, stepping)?;
    let meter = Meter::new(recordings, flow.is_some())?;
    let truth = Evaluation {
        model,
        recordings,
        meter: &meter,
        flow: flow.as_ref(),
        own: None,
        predictor: Predictor::Model,
    };
    let count = meter.metrics.len();
    let mut total = Sums::default();
    for draw in 0..DRAWS {
        let mut again = recordings.clone();
        let mut random = Random::new(SEED, draw);
        measure_again(model, &mut again, &deviations, &mut random);
        let disturbed = Evaluation {
            recordings: &again,
            ..truth
        };
        let sums: Vec<Option<Sums>> = (0..recordings.trajectories.len())
            .into_par_iter()
            .map(|trajectory| floor_of(&truth, &disturbed, starts, trajectory))
            .collect();
        for sums in sums.iter().flatten() {
            if recordings.evaluate.window.is_some() {
                total.add(sums);
            } else {
                total.add_means(&sums.means(count));
            }
        }
    }
    let errors = total.means(count);
    let is_known = errors.iter().any(|error| error.is_finite());
    Ok(is_known.then_some(Floor { errors, is_stated }))
}

/// Errors of the model from disturbed starts against its own motion with noise; none where it cannot be simulated.
fn floor_of(
    truth: &Evaluation<'_>,
    disturbed: &Evaluation<'_>,
    starts: StartNoise,
    trajectory: usize,
) -> Option<Sums> {
    let model = truth.model;
    let recorded = &truth.recordings.trajectories[trajectory];
    let again = &disturbed.recordings.trajectories[trajectory];
    let mut synthetic = recorded.clone();
    let mut data = Data::new(model);
    let mut sums = Sums::default();
    for run in truth.windows(trajectory) {
        let (motion, _) = truth.simulate(&mut data, run).ok()?;
        for known in &motion {
            carom::forward_kinematics(model, &known.state, &mut data.kinematics);
            let both = (recorded, again);
            write(truth.recordings, known, &data, both, &mut synthetic);
        }
        let predicted = match starts {
            StartNoise::Measured => disturbed.simulate(&mut data, run).ok()?.0,
            StartNoise::Estimated => motion,
        };
        for known in &predicted {
            let known = (known, known.frame == run.last);
            let meter = truth.meter;
            meter.measure(model, &synthetic, known, &mut data, &mut sums);
        }
    }
    Some(sums)
}

/// Writes what would have been measured at a frame: the prediction with the noise by which two recordings differ.
fn write(
    recordings: &Recordings,
    known: &Predicted,
    data: &Data,
    (recorded, again): (&Trajectory, &Trajectory),
    synthetic: &mut Trajectory,
) {
    for (index, channel) in recordings.channels.iter().enumerate() {
        let at = |one: &Trajectory| {
            one.value(index, known.frame, channel.width)
                .map(<[f64]>::to_vec)
        };
        let (Some(old), Some(new)) = (at(recorded), at(again)) else {
            continue;
        };
        let found = measured(channel, &known.state, &data.kinematics, &known.sensors);
        let noisy: Vec<f64> = if let Quantity::Rotation(_) = channel.quantity {
            let quat = |numbers: &[f64]| Quat(std::array::from_fn(|k| numbers[k]));
            quat(&found)
                .mul(quat(&old).conjugate().mul(quat(&new)))
                .0
                .to_vec()
        } else {
            let noise = new.iter().zip(&old).map(|(new, old)| new - old);
            found
                .iter()
                .zip(noise)
                .map(|(found, noise)| found + noise)
                .collect()
        };
        let place = &mut synthetic.values[index][known.frame * channel.width..];
        place[..channel.width].copy_from_slice(&noisy);
    }
}

/// The noise of each channel, and whether the mapping states all of it.
fn deviations(recordings: &Recordings) -> (Vec<f64>, bool) {
    let mut is_stated = true;
    let channels = recordings.channels.iter().enumerate();
    let deviations = channels.map(|(index, channel)| {
        if !channel.is_recorded() {
            return 0.0;
        }
        channel.noise.unwrap_or_else(|| {
            is_stated = false;
            recordings.roughness(index)
        })
    });
    (deviations.collect(), is_stated)
}
