//! What the noise of recorded initial states does to estimates.
//!
//! A simulation that starts as recorded starts with the noise of a measurement. With J the derivatives of the residuals of run i with respect to θ,
//! D those with respect to its initial state, Σ the covariance of that state as recorded and A = `JᵀJ` over all runs, estimates have, beside that
//! of the residuals, the covariance
//!
//!   A⁻¹·(Σᵢ JᵢᵀDᵢ·Σ·DᵢᵀJᵢ)·A⁻¹                                                                                                       (1)
//!
//! The noise of initial states shows in the residuals too: their squares rise by Σᵢ tr(Dᵢ·Σ·Dᵢᵀ) on average. Where they rose by less, initial states
//! are better than stated, or small changes of them do not grow as derivatives say, as through many impacts; (1) is then less in the same
//! proportion.
//!
//! A servo forgets its initial state within some frames, so that residuals hardly show its noise; but these frames are those in which the arm
//! begins to move, and friction and delays follow from them.

use carom::Error;
use carom_optimise::linalg::Matrix;

use super::FREE_STARTS;
use super::task::{MAX_JACOBIAN_ENTRIES, Task};
use crate::loss::Average;
use crate::problem::Starts;
use crate::recording::{Channel, Quantity, Recordings};

/// Initial states whose noise moves an estimate by more than this share of its standard error matter: below, intervals grow by less than 5 %.
const MAX_START_SHARE: f64 = 0.3;

/// Standard deviations of the residuals' own scatter.
const CHANCE: f64 = 2.0;

/// How well initial states are known of what is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct StartNoise {
    /// The channel: `joint elbow velocity`.
    pub name: String,
    /// Standard deviation in the unit of the channel.
    pub deviation: f64,
    /// Whether it was found from positions, and not recorded.
    pub is_found: bool,
}

/// How well recordings know initial positions and velocities; nothing of channels without a stated noise.
pub(super) fn of_recordings(recordings: &Recordings) -> Vec<StartNoise> {
    let of = |channel: &Channel| {
        let is_state = !matches!(channel.quantity, Quantity::Sensor { .. });
        let from = channel.found_from.map(|from| &recordings.channels[from]);
        let found = || recordings.found_deviation(channel, from?.noise?);
        let stated = channel.noise.or_else(found);
        Some(StartNoise {
            name: channel.name.clone(),
            deviation: stated.filter(|_| is_state)?,
            is_found: from.is_some(),
        })
    };
    recordings.channels.iter().filter_map(of).collect()
}

/// Whether shares of [`Task::start_covariance`] in standard errors matter.
pub(super) fn matters(shares: &[f64]) -> bool {
    shares.iter().any(|share| *share > MAX_START_SHARE)
}

impl Task<'_> {
    /// The covariance (1) of θ from the noise of recorded initial states, with `inverse` = A⁻¹; none where initial states are unknowns, where their
    /// noise is not known, or where it would take long. `noise` is the deviation of the residuals, of so many degrees of freedom.
    pub(super) fn start_covariance(
        &self,
        theta: &[f64],
        inverse: &Matrix,
        (noise, degrees): (f64, usize),
    ) -> Result<Option<Matrix>, Error> {
        let loss = &self.settings.problem.loss;
        let channels = &self.problem.recordings.channels;
        let mut compared = channels.iter().filter(|channel| channel.is_compared);
        let is_known = loss.by_noise
            && loss.average == Average::Sum
            && self.torques.is_none()
            && self.settings.problem.starts == Starts::Recorded
            && self.problem.measures_starts()
            && compared.all(|channel| channel.noise.is_some());
        let width = 2 * self.parameters().base().counts().nv;
        let count = theta.len();
        if !is_known || self.problem.residual_count() * (count + width) > MAX_JACOBIAN_ENTRIES {
            return Ok(None);
        }
        let freed = self.freed(FREE_STARTS)?;
        let deviations: Vec<f64> = freed.problem.start_deviations().take(width).collect();
        let mut x = theta.to_vec();
        x.resize(freed.problem.len(), 0.0);
        let linear = freed.linearize(&x)?;
        let mut sum = Matrix::zeros(count, count);
        let mut expected = 0.0;
        for block in &linear.blocks {
            // What is known of the initial state stands in the last rows, of which θ knows nothing.
            let rows = block.rows.saturating_sub(width);
            for (start, deviation) in deviations.iter().enumerate() {
                let mut along = vec![0.0; count];
                for row in 0..rows {
                    let by_start = block.by_start[row * width + start] * deviation;
                    expected += by_start * by_start;
                    let by_theta = &block.by_parameters[row * count..][..count];
                    for (sum, slope) in along.iter_mut().zip(by_theta) {
                        *sum += by_start * slope;
                    }
                }
                for i in 0..count {
                    for j in 0..count {
                        sum[(i, j)] += along[i] * along[j];
                    }
                }
            }
        }
        // By how much the squares of residuals may have risen, chance included.
        let degrees = degrees.max(1) as f64;
        let chance = CHANCE * (2.0 / degrees).sqrt();
        let risen = degrees * (noise * noise - 1.0 + chance).max(0.0);
        let part = (risen / expected).min(1.0);
        let covariance = inverse.times_matrix(&sum).times_matrix(inverse);
        let covariance = Matrix::from_fn(count, count, |i, j| part * covariance[(i, j)]);
        let is_finite = (0..count).all(|k| covariance[(k, k)].is_finite());
        Ok(is_finite.then_some(covariance)) // (1)
    }
}
