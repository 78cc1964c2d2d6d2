//! The evolution strategy with covariance matrix adaptation, CMA-ES [Hansen 2016], with restarts and boxes.
//!
//! A normal distribution draws a generation of points, learns from their ranks alone, and so adapts its place, size and shape
//! (`run.rs`). Nothing but values is needed, and no scale of theirs matters. A run that ends may be followed by others: with
//! ever larger populations [Auger 2005], or with large and small ones in turns [Hansen 2009], whichever has used fewer
//! evaluations. Points stay in their box by folding (`transform.rs`).

mod constants;
mod run;
mod stop;
mod transform;

pub use stop::CmaTolerances;
pub(crate) use stop::population_problem;

use serde::{Deserialize, Serialize};

use crate::optimiser::{Best, Method, Status};
use crate::random::Random;
use crate::request::{Answered, Proposal, Want};
use crate::space::Space;
use constants::usual_population;
use run::Run;
use stop::{History, MAX_POPULATION, Over};
use transform::Transform;

/// What follows a run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Restarts {
    /// Nothing.
    None,
    /// So many runs, each with twice the population of the one before.
    Growing(u32),
    /// So many runs with twice the population of the large one before, and between them small ones of varying size.
    LargeAndSmall(u32),
}

/// Settings of CMA-ES.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmaSettings {
    /// The first σ in scaled coordinates: about a third of the distance to the solution.
    pub sigma: f64,
    /// Points in a generation; by default 4 + 3·ln n.
    pub population: Option<usize>,
    /// What follows a run.
    pub restarts: Restarts,
    /// When a run ends.
    pub tolerances: CmaTolerances,
    /// Generations of one run.
    pub generations: Option<u64>,
    /// Evaluations in all.
    pub evaluations: Option<u64>,
}

impl Default for CmaSettings {
    fn default() -> Self {
        Self {
            sigma: 0.3,
            population: None,
            restarts: Restarts::None,
            tolerances: CmaTolerances::default(),
            generations: None,
            evaluations: None,
        }
    }
}

impl CmaSettings {
    /// Points in a generation of the first run.
    fn population_of_first(&self, dimension: usize) -> usize {
        (self.population).map_or_else(
            || usual_population(dimension),
            |count| count.min(MAX_POPULATION),
        )
    }

    fn problem(&self) -> Option<String> {
        let sigma = self.sigma;
        let positive = sigma > 0.0 && sigma.is_finite();
        if !positive {
            return Some(format!("the first σ is {sigma}: give a positive number"));
        }
        self.population.and_then(population_problem)
    }
}

/// CMA-ES at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmaEs {
    settings: CmaSettings,
    transform: Transform,
    start: Vec<f64>,
    random: Random,
    run: Run,
    history: History,
    regimes: Regimes,
    evaluations: u64,
    best: Option<Best>,
    status: Status,
}

/// What restarts have to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Regimes {
    runs: u32,
    /// Runs with a population twice as large as before.
    doublings: u32,
    is_small: bool,
    used_large: u64,
    used_small: u64,
    /// Evaluations of the current run, and how many it may use.
    used: u64,
    most: Option<u64>,
    reasons: Vec<String>,
}

/// Reasons that are kept for the report.
const MAX_REASONS: usize = 100;

impl CmaEs {
    /// Start around the start of a space.
    pub fn new(space: &Space, settings: CmaSettings, seed: u64) -> Self {
        let start = space.scaled_start();
        let transform = Transform::new(space.scaled_bounds());
        let population = settings.population_of_first(start.len());
        let status = if start.is_empty() {
            Status::Finished("all parameters are held".into())
        } else {
            settings.problem().map_or(Status::Running, Status::Stalled)
        };
        Self {
            run: Run::new(transform.unfold(&start), settings.sigma, population),
            settings,
            transform,
            start,
            random: Random::new(seed, 0),
            history: History::default(),
            regimes: Regimes {
                runs: 1,
                ..Regimes::default()
            },
            evaluations: 0,
            best: None,
            status,
        }
    }

    /// Generations of the current run.
    pub fn generations(&self) -> u64 {
        self.run.generation
    }

    /// Runs so far.
    pub fn runs(&self) -> u32 {
        self.regimes.runs
    }

    /// Why runs ended, in their order.
    pub fn reasons(&self) -> &[String] {
        &self.regimes.reasons
    }

    /// σ of the current run.
    pub fn sigma(&self) -> f64 {
        self.run.sigma
    }

    fn after_generation(&mut self, values: &[f64]) {
        self.history.note(values);
        let verdict = self
            .history
            .verdict(&self.run, values, &self.settings.tolerances);
        let generations = self.run.generation;
        let used_up = self
            .regimes
            .most
            .is_some_and(|most| self.regimes.used >= most);
        if (self.settings.evaluations).is_some_and(|most| self.evaluations >= most) {
            let reason = format!("all {} evaluations are used up", self.evaluations);
            self.status = Status::Finished(reason);
        } else if let Some(over) = verdict {
            self.end_run(over);
        } else if (self.settings.generations).is_some_and(|most| generations >= most) {
            let reason = format!("all {generations} generations of the run are done");
            self.end_run(Over::Converged(reason));
        } else if used_up {
            self.end_run(Over::Converged(
                "the share of the small run is used up".into(),
            ));
        }
    }

    fn end_run(&mut self, over: Over) {
        let (Over::Converged(reason) | Over::Stuck(reason)) = &over;
        if self.regimes.reasons.len() < MAX_REASONS {
            self.regimes.reasons.push(reason.clone());
        }
        if self.regimes.is_small {
            self.regimes.used_small += self.regimes.used;
        } else {
            self.regimes.used_large += self.regimes.used;
        }
        let is_last = match self.settings.restarts {
            Restarts::None => true,
            Restarts::Growing(most) | Restarts::LargeAndSmall(most) => {
                self.regimes.doublings >= most
            }
        };
        if !is_last {
            self.restart();
        } else if self.best.is_none() {
            self.status = Status::Stalled(format!("no point could be evaluated: {reason}"));
        } else {
            self.status = match over {
                Over::Converged(reason) => Status::Converged(reason),
                Over::Stuck(reason) => Status::Stalled(reason),
            };
        }
    }

    fn restart(&mut self) {
        let regimes = &mut self.regimes;
        regimes.runs += 1;
        let small = matches!(self.settings.restarts, Restarts::LargeAndSmall(_))
            && regimes.doublings > 0
            && regimes.used_small < regimes.used_large;
        regimes.is_small = small;
        let first = self.settings.population_of_first(self.start.len());
        let (population, sigma);
        if small {
            // Sizes between the first and half of the large one, most of them small.
            let exponent = self.random.uniform().powi(2);
            let ratio = 0.5 * 2.0_f64.powf(f64::from(regimes.doublings));
            population = scaled_count(first, ratio.powf(exponent));
            sigma = self.settings.sigma * 10.0_f64.powf(-2.0 * self.random.uniform());
            regimes.most = Some((regimes.used_large / 2).max(1));
        } else {
            regimes.doublings += 1;
            population = scaled_count(first, 2.0_f64.powf(f64::from(regimes.doublings)));
            sigma = self.settings.sigma;
            regimes.most = None;
        }
        regimes.used = 0;
        let start = self.random_start();
        let mean = self.transform.unfold(&start);
        self.run = Run::new(mean, sigma, population);
        self.history = History::default();
    }

    /// Anywhere in the box; where there is none, around the start.
    fn random_start(&mut self) -> Vec<f64> {
        let bounds = self.transform.bounds().clone();
        let reach = 3.0 * self.settings.sigma;
        (0..self.start.len())
            .map(|i| {
                if bounds.is_boxed(i) {
                    let (low, high) = (bounds.lower()[i], bounds.upper()[i]);
                    low + (high - low) * self.random.uniform()
                } else {
                    bounds.clamp(i, self.start[i] + reach * self.random.normal())
                }
            })
            .collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a population fits"
)]
fn scaled_count(count: usize, factor: f64) -> usize {
    (count as f64 * factor).floor().min(MAX_POPULATION as f64) as usize
}

impl Method for CmaEs {
    fn propose(&mut self) -> Vec<Proposal> {
        let points = self.run.sample(&mut self.random);
        let mut points: Vec<Vec<f64>> = points.iter().map(|y| self.transform.fold(y)).collect();
        if self.evaluations == 0 {
            // The start itself, so that the best point is never worse. It has no rank.
            points.push(self.start.clone());
        }
        let proposal = |point| Proposal {
            point,
            want: Want::Value,
        };
        points.into_iter().map(proposal).collect()
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        let values: Vec<f64> = answered.iter().map(Answered::value).collect();
        for (answered, &value) in answered.iter().zip(&values) {
            Best::keep(&mut self.best, &answered.point, value);
        }
        let count = values.len() as u64;
        self.evaluations += count;
        self.regimes.used += count;
        let ranked = &values[..self.run.constants.population];
        self.run.adapt(ranked);
        self.after_generation(ranked);
    }

    fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    fn status(&self) -> &Status {
        &self.status
    }
}
