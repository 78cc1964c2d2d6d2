//! When a run ends [Hansen 2009, §2; Hansen 2016, app. B.3].

use serde::{Deserialize, Serialize};

use super::run::Run;
use crate::lbfgsb::unit_of;

/// Values of past generations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct History {
    best: Vec<f64>,
    median: Vec<f64>,
}

/// Largest population: more points do not fit into memory.
pub(super) const MAX_POPULATION: usize = 1_000_000;

/// Why so many points cannot be drawn.
pub(crate) fn population_problem(population: usize) -> Option<String> {
    (population > MAX_POPULATION)
        .then(|| format!("the population is {population}: give at most {MAX_POPULATION}"))
}

/// Tolerances of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmaTolerances {
    /// Range of the values of a generation and of the best of the last ones; of losses that are below one from the start as
    /// a part of the first.
    pub value: f64,
    /// Size of the distribution along any coordinate, as a part of the first σ.
    pub step: f64,
    /// Ratio of the longest to the shortest axis, squared.
    pub condition: f64,
}

impl Default for CmaTolerances {
    fn default() -> Self {
        Self {
            value: 1e-11,
            step: 1e-11,
            condition: 1e14,
        }
    }
}

/// Why a run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Over {
    /// It has found what it can find.
    Converged(String),
    /// It cannot go on.
    Stuck(String),
}

/// Generations in a row without any finite value before a run gives up.
const MAX_LOST_GENERATIONS: u32 = 20;
/// Largest spread of the distribution, relative to the initial one.
const MAX_SPREAD_GROWTH: f64 = 1e8;

impl History {
    /// Note the values of a generation.
    pub(super) fn note(&mut self, values: &[f64]) {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        self.best.push(sorted[0]);
        self.median.push(sorted[sorted.len() / 2]);
    }

    /// Whether a run is over after a generation with these values.
    pub(super) fn verdict(
        &self,
        run: &Run,
        values: &[f64],
        tolerances: &CmaTolerances,
    ) -> Option<Over> {
        stuck(run, tolerances)
            .map(Over::Stuck)
            .or_else(|| self.converged(run, values, tolerances).map(Over::Converged))
    }

    fn converged(&self, run: &Run, values: &[f64], tolerances: &CmaTolerances) -> Option<String> {
        let n = run.mean.len() as f64;
        let span = 10 + count(30.0 * n / run.constants.population as f64);
        let recent = &self.best[self.best.len().saturating_sub(span)..];
        if recent.len() >= span {
            let range = range(recent.iter().chain(values));
            if range < tolerances.value * unit_of(self.best[0]) {
                return Some(format!(
                    "values differ by {range:.1e} over {span} generations"
                ));
            }
        }
        let widest = (0..run.mean.len())
            .map(|i| run.covariance[(i, i)].sqrt().max(run.path[i].abs()))
            .fold(0.0, f64::max);
        if run.sigma * widest < tolerances.step * run.first_sigma {
            return Some(format!(
                "the distribution is {:.1e} wide",
                run.sigma * widest
            ));
        }
        self.stagnates(run)
            .then(|| "values have not fallen for many generations".into())
    }

    /// Neither the best nor the median values of the last generations are lower than those before.
    fn stagnates(&self, run: &Run) -> bool {
        let n = run.mean.len() as f64;
        let least = 120.0 + 30.0 * n / run.constants.population as f64;
        let generation = self.best.len() as f64;
        let span = least.max((0.2 * generation).min(20_000.0));
        if generation < 2.0 * span {
            return false;
        }
        let span = count(span);
        let third = count(0.3 * span as f64);
        let not_lower = |values: &[f64]| {
            let window = &values[values.len() - span..];
            median(&window[span - third..]) >= median(&window[..third])
        };
        not_lower(&self.best) && not_lower(&self.median)
    }
}

fn stuck(run: &Run, tolerances: &CmaTolerances) -> Option<String> {
    if run.lost >= MAX_LOST_GENERATIONS {
        return Some(format!(
            "{} generations in a row failed as a whole",
            run.lost
        ));
    }
    if run.broken || !run.sigma.is_finite() {
        return Some("the distribution has lost its shape".into());
    }
    let longest = run.lengths.iter().copied().fold(0.0, f64::max);
    let shortest = run.lengths.iter().copied().fold(f64::INFINITY, f64::min);
    let condition = (longest / shortest).powi(2);
    if condition > tolerances.condition {
        return Some(format!(
            "the distribution is {condition:.0e} times longer than wide"
        ));
    }
    if run.sigma * longest > MAX_SPREAD_GROWTH * run.first_sigma {
        return Some("the distribution grows without bound; start with a larger one".into());
    }
    let axis = usize::try_from(run.generation).unwrap_or(0) % run.mean.len();
    let reach = 0.1 * run.sigma * run.lengths[axis];
    let moves_nothing =
        (0..run.mean.len()).all(|i| run.mean[i] == run.mean[i] + reach * run.axes[(axis, i)]);
    let lost_coordinate = (0..run.mean.len()).any(|i| {
        let reach = 0.2 * run.sigma * run.covariance[(i, i)].sqrt();
        run.mean[i] == run.mean[i] + reach
    });
    (moves_nothing || lost_coordinate).then(|| "steps are smaller than rounding".into())
}

/// The next count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small positive number"
)]
fn count(number: f64) -> usize {
    number.ceil() as usize
}

fn range<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for &value in values {
        low = low.min(value);
        high = high.max(value);
    }
    high - low
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
