//! The cross-entropy method [Rubinstein 2004, ch. 4]: draw from a normal distribution, fit it to the best draws, repeat.
//!
//! With the mean e and the covariance E of the elite, the best share of a generation,
//!
//!   m ← α·m + (1 − α)·e,   Σ ← β·Σ + (1 − β)·E   (1)
//!
//! The momentum α slows the mean, β the shrinking, which is what otherwise ends the search too early. Points outside of the
//! bounds are drawn again, at last moved in. Deviations never fall below a floor; the search ends where all have met theirs.

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::cma::population_problem;
use crate::linalg::{Cholesky, Matrix, add_scaled};
use crate::optimiser::{Best, Method, Status};
use crate::random::Random;
use crate::request::{Answered, Proposal, Want};
use crate::space::Space;

/// Settings of the cross-entropy method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CemSettings {
    /// Points in a generation.
    pub population: usize,
    /// The share of them that the next distribution is fitted to.
    pub elite: f64,
    /// The first deviation of each scaled coordinate.
    pub deviation: f64,
    /// The least deviation.
    pub least_deviation: f64,
    /// α, how much of the mean is kept.
    pub momentum: f64,
    /// β, how much of the covariance is kept.
    pub inertia: f64,
    /// Whether coordinates may vary together, or each on its own.
    pub full: bool,
    /// Generations in all.
    pub generations: u64,
}

impl Default for CemSettings {
    fn default() -> Self {
        Self {
            population: 64,
            elite: 0.15,
            deviation: 0.3,
            least_deviation: 1e-6,
            momentum: 0.1,
            inertia: 0.6,
            full: false,
            generations: 200,
        }
    }
}

/// Draws of a coordinate before it is moved into its bounds.
const MAX_REDRAWS: usize = 10;
/// Generations in a row without any finite value before giving up.
const MAX_LOST_GENERATIONS: u32 = 20;

/// The cross-entropy method at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cem {
    settings: CemSettings,
    bounds: Bounds,
    random: Random,
    start: Vec<f64>,
    mean: Vec<f64>,
    /// Σ; of independent coordinates only the diagonal is used.
    covariance: Matrix,
    generation: u64,
    lost: u32,
    best: Option<Best>,
    status: Status,
}

impl Cem {
    /// Start around the start of a space.
    pub fn new(space: &Space, settings: CemSettings, seed: u64) -> Self {
        let start = space.scaled_start();
        let n = start.len();
        let variance = settings.deviation * settings.deviation;
        let status = if n == 0 {
            Status::Finished("all parameters are held".into())
        } else {
            problem(&settings).map_or(Status::Running, Status::Stalled)
        };
        Self {
            settings,
            bounds: space.scaled_bounds(),
            random: Random::new(seed, 0),
            mean: start.clone(),
            start,
            covariance: Matrix::from_fn(n, n, |i, j| if i == j { variance } else { 0.0 }),
            generation: 0,
            lost: 0,
            best: None,
            status,
        }
    }

    /// Generations so far.
    pub fn generations(&self) -> u64 {
        self.generation
    }

    fn deviation(&self, i: usize) -> f64 {
        self.covariance[(i, i)]
            .sqrt()
            .max(self.settings.least_deviation)
    }

    fn draw(&mut self, factor: Option<&Cholesky>) -> Vec<f64> {
        let n = self.mean.len();
        let mut point = self.mean.clone();
        match factor {
            Some(factor) => {
                for _ in 0..MAX_REDRAWS {
                    let z = self.random.normals(n);
                    point.clone_from(&self.mean);
                    add_scaled(&mut point, 1.0, &factor.lower().times(&z));
                    if self.bounds.contains(&point) {
                        break;
                    }
                }
            }
            None => {
                for i in 0..n {
                    let deviation = self.deviation(i);
                    for _ in 0..MAX_REDRAWS {
                        point[i] = self.mean[i] + deviation * self.random.normal();
                        if point[i] == self.bounds.clamp(i, point[i]) {
                            break;
                        }
                    }
                }
            }
        }
        self.bounds.project(&mut point);
        point
    }

    fn fit(&mut self, elite: &[&Answered]) {
        let n = self.mean.len();
        let share = 1.0 / elite.len() as f64;
        let mut mean = vec![0.0; n];
        for member in elite {
            add_scaled(&mut mean, share, &member.point);
        }
        let mut spread = Matrix::zeros(n, n);
        for member in elite {
            let mut off = member.point.clone();
            add_scaled(&mut off, -1.0, &mean);
            for i in 0..n {
                add_scaled(spread.row_mut(i), share * off[i], &off);
            }
        }
        let CemSettings {
            momentum, inertia, ..
        } = self.settings;
        for i in 0..n {
            self.mean[i] = momentum * self.mean[i] + (1.0 - momentum) * mean[i]; // (1)
            for j in 0..n {
                let old = self.covariance[(i, j)];
                self.covariance[(i, j)] = inertia * old + (1.0 - inertia) * spread[(i, j)]; // (1)
            }
        }
    }

    fn check_end(&mut self) {
        let settings = &self.settings;
        let widest = (0..self.mean.len())
            .map(|i| self.covariance[(i, i)].sqrt())
            .fold(0.0, f64::max);
        if widest <= settings.least_deviation {
            self.status =
                Status::Converged(format!("the largest standard deviation is {widest:.1e}"));
        } else if self.generation >= settings.generations {
            self.status =
                Status::Finished(format!("all {} generations are done", settings.generations));
        }
    }
}

fn problem(settings: &CemSettings) -> Option<String> {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if settings.population < 2 {
        return Some("the population is less than 2: give more".into());
    }
    if let Some(problem) = population_problem(settings.population) {
        return Some(problem);
    }
    if !positive(settings.deviation) || !positive(settings.least_deviation) {
        return Some("standard deviations must be positive numbers".into());
    }
    let share = |value: f64| (0.0..1.0).contains(&value);
    let shares = share(settings.momentum) && share(settings.inertia);
    let elite = settings.elite > 0.0 && settings.elite <= 1.0;
    (!shares || !elite)
        .then(|| "the elite, momentum and inertia are shares: give numbers from 0 to 1".into())
}

impl Method for Cem {
    fn propose(&mut self) -> Vec<Proposal> {
        let n = self.mean.len();
        let floor = self.settings.least_deviation * self.settings.least_deviation;
        let lifted = Matrix::from_fn(n, n, |i, j| {
            self.covariance[(i, j)] + if i == j { floor } else { 0.0 }
        });
        // A covariance without a factor is one of too few points: then coordinates are drawn on their own.
        let factor = if self.settings.full {
            Cholesky::new(&lifted)
        } else {
            None
        };
        let mut points: Vec<Vec<f64>> = (0..self.settings.population)
            .map(|_| self.draw(factor.as_ref()))
            .collect();
        if self.generation == 0 {
            points.push(self.start.clone());
        }
        let proposal = |point| Proposal {
            point,
            want: Want::Value,
        };
        points.into_iter().map(proposal).collect()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the population"
    )]
    fn learn(&mut self, answered: Vec<Answered>) {
        self.generation += 1;
        let mut ranked: Vec<&Answered> = answered.iter().filter(|a| a.outcome.is_ok()).collect();
        ranked.sort_by(|a, b| a.value().total_cmp(&b.value()));
        let Some(first) = ranked.first() else {
            self.lost += 1;
            self.covariance = Matrix::from_fn(self.mean.len(), self.mean.len(), |i, j| {
                0.25 * self.covariance[(i, j)]
            });
            if self.lost >= MAX_LOST_GENERATIONS {
                let reason = format!("{} generations in a row failed as a whole", self.lost);
                self.status = Status::Stalled(reason);
            }
            return;
        };
        self.lost = 0;
        Best::keep(&mut self.best, &first.point, first.value());
        let count = (self.settings.elite * self.settings.population as f64).ceil() as usize;
        ranked.truncate(count.max(2));
        self.fit(&ranked);
        self.check_end();
    }

    fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    fn status(&self) -> &Status {
        &self.status
    }
}
