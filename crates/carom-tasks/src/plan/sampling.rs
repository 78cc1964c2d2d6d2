//! Sampling: draw plans around the one at hand, follow all of them, keep what was cheap.
//!
//! Predictive sampling keeps the cheapest [Gileadi 2022, sec. 4]. MPPI takes the mean of all with weights e^(−J/λ)
//! [Williams 2017, sec. III], λ as a share of the standard deviation of the costs. The cross-entropy method draws again
//! around the mean of the cheapest, with their standard deviation.

use carom::Dynamics;
use carom_optimise::random::Random;
use serde::Deserialize;

use super::cost::Horizon;
use super::method::{Memory, Planned, Planner, Ranges, costs, lowest};
use super::noise::Noise;

/// What becomes of the samples.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Update {
    /// The cheapest is taken.
    #[default]
    Predictive,
    /// Their mean with weights that fall with their costs.
    Mppi,
    /// The cheapest are drawn around again.
    Cem,
}

/// Settings of sampling.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingSettings {
    /// How many plans are drawn at once.
    pub samples: usize,
    /// What becomes of them.
    pub update: Update,
    /// The colour of the noise.
    pub noise: Noise,
    /// Knots of splines over a horizon.
    pub knots: usize,
    /// Largest standard deviation of the noise, as a share of the range of a control.
    pub deviation: f64,
    /// Smallest one as a share of the largest; each sample draws its own between them, evenly in the logarithm.
    pub least_share: f64,
    /// How often is drawn, for the cross-entropy method.
    pub rounds: usize,
    /// The share of samples that is drawn around again, for the cross-entropy method.
    pub elite: f64,
    /// λ of MPPI as a share of the standard deviation of the costs.
    pub temperature: f64,
}

impl Default for SamplingSettings {
    fn default() -> Self {
        Self {
            samples: 64,
            update: Update::Predictive,
            noise: Noise::Brown,
            knots: 8,
            deviation: 0.2,
            least_share: 0.1,
            rounds: 3,
            elite: 0.15,
            temperature: 0.1,
        }
    }
}

/// Draws plans around others.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    settings: SamplingSettings,
    seed: u64,
    stream: u64,
}

impl Draws {
    pub(super) fn new(settings: SamplingSettings, seed: u64) -> Self {
        Self {
            settings,
            seed,
            stream: 0,
        }
    }

    /// How many streams were used.
    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    /// Goes on after so many.
    pub(super) fn set_stream(&mut self, stream: u64) {
        self.stream = stream;
    }

    /// So many plans around centres, each in its turn.
    pub(super) fn around(
        &mut self,
        centers: &[&[f64]],
        steps: usize,
        ranges: &Ranges,
        count: usize,
    ) -> Vec<Vec<f64>> {
        let drawn = (0..count).map(|index| {
            let mut random = Random::new(self.seed, self.stream);
            self.stream += 1;
            let mut plan = centers[index % centers.len()].to_vec();
            let share = self.settings.least_share.powf(random.uniform());
            self.disturb(&mut plan, steps, ranges, share, &mut random);
            plan
        });
        drawn.collect()
    }

    fn disturb(
        &self,
        plan: &mut [f64],
        steps: usize,
        ranges: &Ranges,
        share: f64,
        random: &mut Random,
    ) {
        let nu = ranges.len();
        let SamplingSettings {
            noise,
            knots,
            deviation,
            ..
        } = self.settings;
        for control in 0..nu {
            let size = deviation * share * ranges.width(control);
            if size == 0.0 {
                continue;
            }
            let numbers = noise.draw(steps, knots, random);
            for (step, number) in numbers.into_iter().enumerate() {
                plan[step * nu + control] += size * number;
            }
        }
        ranges.clamp(plan);
    }
}

/// Plans by sampling.
#[derive(Clone, Debug)]
pub struct Sampling {
    settings: SamplingSettings,
    draws: Draws,
}

impl Sampling {
    /// With settings, and a seed on which all draws depend.
    pub fn new(settings: SamplingSettings, seed: u64) -> Self {
        Self {
            draws: Draws::new(settings.clone(), seed),
            settings,
        }
    }
}

impl<D: Dynamics> Planner<D> for Sampling {
    fn refine(&mut self, horizon: &Horizon<'_, D>, ranges: &Ranges, warm: &[f64]) -> Planned {
        let SamplingSettings {
            samples,
            update,
            rounds,
            elite,
            temperature,
            ..
        } = self.settings;
        let rounds = if update == Update::Cem {
            rounds.max(1)
        } else {
            1
        };
        let mut best = Planned {
            plan: warm.to_vec(),
            cost: f64::INFINITY,
            evaluations: 0,
            gradients: 0,
        };
        let mut center = warm.to_vec();
        for _ in 0..rounds {
            let mut plans = vec![center.clone()];
            let count = samples.max(2) - 1;
            plans.extend((self.draws).around(&[&center], horizon.steps, ranges, count));
            let found = costs(horizon, &plans);
            best.evaluations += plans.len();
            keep(&mut best, &plans, &found);
            center = match update {
                Update::Predictive => break,
                Update::Mppi => mean(&plans, &weights(&found, temperature)),
                Update::Cem => {
                    let is_elite = |rank: &usize| *rank as f64 <= elite * plans.len() as f64;
                    let count = (1..=plans.len()).take_while(is_elite).count();
                    let chosen = lowest(&found, count.max(1));
                    let share = 1.0 / chosen.len() as f64;
                    let mut weights = vec![0.0; plans.len()];
                    for &index in &chosen {
                        weights[index] = share;
                    }
                    mean(&plans, &weights)
                }
            };
            let plans = [center.clone()];
            best.evaluations += 1;
            keep(&mut best, &plans, &costs(horizon, &plans));
        }
        best
    }

    fn memory(&self) -> Memory {
        Memory {
            stream: self.draws.stream(),
            ..Memory::default()
        }
    }

    fn recall(&mut self, memory: &Memory, length: usize) -> bool {
        self.draws.set_stream(memory.stream);
        memory.fits(length)
    }
}

/// Keeps the cheapest of plans, if it is cheaper.
pub(super) fn keep(best: &mut Planned, plans: &[Vec<f64>], costs: &[f64]) {
    if let Some(&index) = lowest(costs, 1).first()
        && costs[index] < best.cost
    {
        best.cost = costs[index];
        best.plan.clone_from(&plans[index]);
    }
}

fn weights(costs: &[f64], temperature: f64) -> Vec<f64> {
    let finite = || costs.iter().copied().filter(|cost| cost.is_finite());
    let count = finite().count().max(1) as f64;
    let (least, mean) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().sum::<f64>() / count,
    );
    let variance = finite().map(|cost| (cost - mean).powi(2)).sum::<f64>() / count;
    let scale = (temperature * variance.sqrt()).max(f64::MIN_POSITIVE);
    let weight = |cost: &f64| {
        if cost.is_finite() {
            (-(cost - least) / scale).exp()
        } else {
            0.0
        }
    };
    let weights: Vec<f64> = costs.iter().map(weight).collect();
    let sum = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    weights.into_iter().map(|weight| weight / sum).collect()
}

fn mean(plans: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mut mean = vec![0.0; plans[0].len()];
    for (plan, &weight) in plans
        .iter()
        .zip(weights)
        .filter(|(_, weight)| **weight > 0.0)
    {
        for (sum, number) in mean.iter_mut().zip(plan) {
            *sum += weight * number;
        }
    }
    mean
}
