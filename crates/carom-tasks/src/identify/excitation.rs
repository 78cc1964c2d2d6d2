//! Which motion to record next: candidates are simulated with the model as it is, and what they would tell is added to what the
//! recordings tell.
//!
//! In parameters in units of their scales, known beforehand to one scale each, the covariance that recordings with the Jacobian J
//! leave is C = (1 + JᵀJ)⁻¹. The motion whose Jacobian makes the trace of C least is the best one to add: what is known well
//! already does not count there, what is not known at all counts most. The next one is the best after that, and so on.

use carom_optimise::linalg::{Matrix, Svd};
use rayon::prelude::*;

use super::Settings;
use super::candidates::{Candidate, Clock, candidates};
use super::synthetic::Synthetic;
use super::task::Task;
use crate::error;
use crate::problem::Horizon;
use crate::recording::{Quantity, Recordings, Trajectory};
use carom::Error;

/// Maximum of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// A suggestion removes at least this fraction of the variance.
const MIN_GAIN: f64 = 0.2;
/// Parameters with this standard deviation, in scales, are known well enough.
const SUFFICIENT_DEVIATION: f64 = 0.05;
/// Parameters are named if their standard deviation falls to this fraction or less.
const MAX_NAMED_RATIO: f64 = 0.7;

/// What a suggestion tells of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its name.
    pub parameter: String,
    /// Its deviation in scales before, with the recordings and the suggestions before this one; 1 is nothing.
    pub before: f64,
    /// With this one too.
    pub after: f64,
}

/// A motion to record.
#[derive(Clone, Debug, PartialEq)]
pub struct Excitation {
    /// What to do.
    pub motion: String,
    /// Parameters that it tells.
    pub tells: Vec<Told>,
}

impl Excitation {
    /// In a sentence.
    pub fn words(&self) -> String {
        let told = self.tells.iter().map(|told| {
            let percent = |part: f64| {
                let percent = 100.0 * part;
                if percent < 1.0 {
                    format!("{percent:.2}")
                } else if percent < 10.0 {
                    format!("{percent:.1}")
                } else {
                    format!("{percent:.0}")
                }
            };
            let before = if told.before > 0.95 {
                "not at all".to_owned()
            } else {
                format!("to ±{} %", percent(told.before))
            };
            format!(
                "{} would be known to ±{} % of its scale instead of {before}",
                told.parameter,
                percent(told.after)
            )
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() {
            return format!("{}: together they would be known better", self.motion);
        }
        format!("{}: {}", self.motion, told.join("; "))
    }
}

/// What is known: rows of a Jacobian by parameters in scales, as few as there are parameters.
#[derive(Clone)]
struct Knowledge(Vec<Vec<f64>>);

impl Knowledge {
    fn new(jacobian: &Matrix, scales: &[f64], noise: f64) -> Option<Self> {
        let scaled = Matrix::from_fn(jacobian.rows(), scales.len(), |i, j| {
            jacobian[(i, j)] * scales[j] / noise
        });
        let svd = Svd::new(&scaled)?;
        let row = |(k, value): (usize, &f64)| {
            let direction = svd.directions.row(k).iter();
            direction.map(|part| part * value).collect()
        };
        Some(Self(svd.values.iter().enumerate().map(row).collect()))
    }

    fn with(&self, other: &Self) -> Self {
        Self([self.0.clone(), other.0.clone()].concat())
    }

    /// Deviations of all parameters in scales.
    fn deviations(&self) -> Option<Vec<f64>> {
        let count = self.0.first()?.len();
        let before = self.0.len();
        let all = Matrix::from_fn(before + count, count, |i, j| {
            if i < before {
                self.0[i][j]
            } else {
                f64::from(u8::from(i - before == j))
            }
        });
        let svd = Svd::new(&all)?;
        let deviation = |j: usize| {
            let parts = svd.values.iter().enumerate();
            let squares = parts.map(|(k, value)| (svd.directions[(k, j)] / value).powi(2));
            squares.sum::<f64>().sqrt()
        };
        Some((0..count).map(deviation).collect())
    }
}

fn unknown(deviations: &[f64]) -> f64 {
    deviations
        .iter()
        .map(|deviation| deviation * deviation)
        .sum()
}

impl Task<'_> {
    /// Motions that would tell most of what the recordings do not, for the parameters θ and residuals that are `noise` times the stated
    /// noise. None if everything is known well, or no candidate helps.
    ///
    /// # Errors
    /// When the recordings cannot be simulated with these parameters.
    pub fn suggest(&self, theta: &[f64], noise: f64) -> Result<Vec<Excitation>, Error> {
        self.on_threads(|| self.suggested(theta, noise))
    }

    fn suggested(&self, theta: &[f64], noise: f64) -> Result<Vec<Excitation>, Error> {
        let failed = || error::no_loss(error::simulation("the information is not finite"));
        let recordings = self.problem.recordings;
        let mut known = self
            .knowledge(recordings, theta, noise)
            .map_err(error::no_loss)?;
        let mut before = known.deviations().ok_or_else(failed)?;
        let model = self.parameters().apply(theta);
        let model = model.map_err(error::no_loss)?;
        let Some((clock, candidates)) = candidates(&model, recordings) else {
            return Ok(Vec::new());
        };
        let mut others: Vec<(String, Knowledge)> = candidates
            .into_par_iter()
            .filter_map(|candidate| {
                let recordings = recorded(recordings, &clock, &candidate);
                let stepping = self.settings.problem.stepping;
                let synthetic = Synthetic::new(&model, &recordings, stepping);
                let exact = synthetic.exact();
                let recordings = Recordings {
                    trajectories: exact,
                    ..recordings.clone()
                };
                let known = self.knowledge(&recordings, theta, noise).ok()?;
                Some((candidate.words, known))
            })
            .collect();
        let mut found = Vec::new();
        while found.len() < MAX_SUGGESTIONS
            && before
                .iter()
                .any(|deviation| *deviation > SUFFICIENT_DEVIATION)
        {
            let afters = others.iter().enumerate().filter_map(|(index, (_, other))| {
                let after = known.with(other).deviations()?;
                Some((index, after))
            });
            let best = afters.min_by(|a, b| unknown(&a.1).total_cmp(&unknown(&b.1)));
            let Some((index, after)) = best else { break };
            if unknown(&after) > (1.0 - MIN_GAIN) * unknown(&before) {
                break;
            }
            let (motion, other) = others.remove(index);
            known = known.with(&other);
            let names = self.parameters().names();
            let tells = names.zip(before.iter().zip(&after));
            let tells = tells
                .filter(|(_, (before, after))| {
                    **after < MAX_NAMED_RATIO * **before && **before > SUFFICIENT_DEVIATION
                })
                .map(|(name, (&before, &after))| Told {
                    parameter: name.to_owned(),
                    before,
                    after,
                })
                .collect();
            found.push(Excitation { motion, tells });
            before = after;
        }
        Ok(found)
    }

    /// What recordings tell, by whole trajectories and squares in units of the noise.
    fn knowledge(
        &self,
        recordings: &Recordings,
        theta: &[f64],
        noise: f64,
    ) -> Result<Knowledge, Error> {
        let mut settings = Settings {
            free: self.settings.free.clone(),
            ..Settings::default()
        };
        for free in &mut settings.free {
            free.prior = None;
        }
        settings.problem.starts = self.settings.problem.starts;
        settings.problem.stepping = self.settings.problem.stepping;
        settings.problem.horizon = Horizon::Whole;
        let task = self.on_recordings(recordings, settings)?;
        let mut x = task.start().to_vec();
        x[..theta.len()].copy_from_slice(theta);
        let linear = task.linearize(&x)?;
        let marginal = task.marginal(&linear)?;
        let known = Knowledge::new(&marginal.jacobian, self.theta_scale(), noise);
        known.ok_or_else(|| error::simulation("the information is not finite"))
    }
}

/// Recordings of a candidate, with places for what is measured.
fn recorded(recordings: &Recordings, clock: &Clock, candidate: &Candidate) -> Recordings {
    let frames = clock.times.len();
    let values = recordings.channels.iter().map(|channel| {
        let one = match channel.quantity {
            Quantity::Rotation(_) => vec![1.0, 0.0, 0.0, 0.0],
            _ => vec![0.0; channel.width],
        };
        one.repeat(frames)
    });
    let trajectory = Trajectory {
        file: String::new(),
        label: candidate.words.clone(),
        times: clock.times.clone(),
        values: values.collect(),
        controls: candidate.controls.clone(),
        qpos: candidate.start.qpos.repeat(frames),
        qvel: candidate.start.qvel.repeat(frames),
    };
    let mut velocity = recordings.velocity.clone();
    velocity.means = false;
    Recordings {
        channels: recordings.channels.clone(),
        trajectories: vec![trajectory],
        warnings: Vec::new(),
        start: 0,
        velocity,
        flat_starts: Vec::new(),
        steps_per_frame: recordings.steps_per_frame,
        torque: recordings.torque.clone(),
        evaluate: recordings.evaluate.clone(),
    }
}
