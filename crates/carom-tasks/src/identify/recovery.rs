//! Known-truth recovery: the calibrated model is simulated from the recorded starts and measured with the stated noise at the same
//! frames; then its parameters, which are now known, are identified from the original start. What does not work there cannot be
//! trusted on the recordings themselves.

use std::sync::atomic::AtomicBool;

use carom_optimise::random::Random;
use carom_optimise::statistics::distribution::student_range;

use super::again::is_stopped;
use super::conclude::Identified;
use super::synthetic::Synthetic;
use super::task::Task;
use crate::error;
use crate::evaluate::figure;
use carom::Error;

/// Coverage is too low if it has less than this probability, for all parameters together, under right intervals.
const MIN_COVERAGE_PROBABILITY: f64 = 0.01;
/// A bias is named if it has less than this probability by accident, again for all parameters together, …
const MIN_BIAS_PROBABILITY: f64 = 0.001;
/// … and is more than this fraction of the interval.
const MIN_VISIBLE_BIAS: f64 = 0.1;

/// How a parameter was recovered.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// Its name.
    pub name: String,
    /// Its true value: the one that was identified from the recordings.
    pub truth: f64,
    /// What was found, round by round.
    pub values: Vec<f64>,
    /// The intervals of the rounds.
    pub intervals: Vec<[f64; 2]>,
    /// How many of them hold the truth.
    pub held: usize,
    /// Mean of what was found, less the truth.
    pub bias: f64,
}

/// What recovery tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// Rounds with an answer.
    pub rounds: usize,
    /// The parameters.
    pub parameters: Vec<Recovered>,
    /// Rounds without an answer, and why.
    pub failures: Vec<String>,
    /// Whether the setting recovers a known truth.
    pub is_passed: bool,
    /// What is to say about it.
    pub words: Vec<String>,
}

impl Task<'_> {
    /// Identifies the parameters of recordings that the calibrated model itself made, in some rounds with different noise.
    ///
    /// # Errors
    /// When the calibrated model can simulate none of the trajectories.
    pub fn recover(
        &self,
        rounds: usize,
        identified: &Identified,
        stop: Option<&AtomicBool>,
    ) -> Result<Recovery, Error> {
        let stepping = self.settings.problem.stepping;
        let synthetic = Synthetic::new(&identified.model, self.problem.recordings, stepping);
        let mut found = Recovery {
            rounds: 0,
            parameters: (identified.estimates.iter())
                .map(|one| Recovered {
                    name: one.name.clone(),
                    truth: one.value,
                    values: Vec::new(),
                    intervals: Vec::new(),
                    held: 0,
                    bias: f64::NAN,
                })
                .collect(),
            failures: Vec::new(),
            is_passed: true,
            words: Vec::new(),
        };
        for round in 0..rounds {
            if is_stopped(stop) {
                let words = format!("recovery was stopped after {round} of {rounds} rounds");
                found.words.push(words);
                break;
            }
            // One stream a round, so that more rounds do not change the first ones; stream 0 is the search's own.
            let mut random = Random::new(self.settings.seed, round as u64 + 1);
            let recordings = synthetic.measure(&mut random);
            match self.asked_again(&recordings, stop) {
                Ok((_, answer)) => found.add(&answer),
                Err(error) => found.failures.push(format!("round {}: {error}", round + 1)),
            }
        }
        if found.rounds == 0 && !found.failures.is_empty() {
            return Err(error::no_loss(error::simulation(format!(
                "no recording of the calibrated model itself could be identified: {}",
                found.failures[0]
            ))));
        }
        found.judge(self.settings.confidence);
        found.say_setting(&synthetic);
        Ok(found)
    }
}

impl Recovery {
    fn add(&mut self, answer: &Identified) {
        self.rounds += 1;
        for (parameter, one) in self.parameters.iter_mut().zip(&answer.estimates) {
            let [low, high] = one.interval;
            parameter.values.push(one.value);
            parameter.intervals.push(one.interval);
            parameter.held += usize::from(low <= parameter.truth && parameter.truth <= high);
            let count = parameter.values.len() as f64;
            parameter.bias = parameter.values.iter().sum::<f64>() / count - parameter.truth;
        }
    }

    fn judge(&mut self, confidence: f64) {
        let rounds = self.rounds;
        if rounds == 0 {
            return;
        }
        let mut failed = Vec::new();
        let count = self.parameters.len() as f64;
        for one in &self.parameters {
            if at_most(one.held, rounds, confidence) < MIN_COVERAGE_PROBABILITY / count {
                let percent = 100.0 * confidence;
                failed.push(format!(
                    "recovery failed: {} of {rounds} intervals of {} hold the truth {}, {percent} % should; on the recordings its interval is too narrow as well",
                    one.held,
                    one.name,
                    figure(one.truth)
                ));
            }
            if let Some(words) = one.biased(MIN_BIAS_PROBABILITY / count) {
                failed.push(words);
            }
        }
        for failure in &self.failures {
            failed.push(format!("recovery has no answer in {failure}"));
        }
        self.is_passed = failed.is_empty();
        if self.is_passed {
            let all = rounds * self.parameters.len();
            let held: usize = self.parameters.iter().map(|one| one.held).sum();
            self.words.push(format!(
                "a known truth is recovered: {held} of {all} intervals of {rounds} synthetic sets hold it, from the same start"
            ));
        } else {
            self.words.extend(failed);
        }
    }

    fn say_setting(&mut self, synthetic: &Synthetic<'_>) {
        if !synthetic.unstated.is_empty() {
            self.words.push(format!(
                "the mapping states no noise of {}: what the calibrated model leaves unexplained stood for it in the synthetic sets",
                synthetic.unstated.join(", ")
            ));
        }
        if let Some(first) = synthetic.left_out.first() {
            self.words.push(format!(
                "{} trajectories are not in the synthetic sets: {first}",
                synthetic.left_out.len()
            ));
        }
    }
}

impl Recovered {
    /// What is to say if all rounds err to one side.
    fn biased(&self, probability: f64) -> Option<String> {
        let count = self.values.len() as f64;
        if count < 2.0 {
            return None;
        }
        let mean = self.truth + self.bias;
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1.0) / count).sqrt();
        let widths = self.intervals.iter().map(|[low, high]| high - low);
        let is_visible = self.bias.abs() > MIN_VISIBLE_BIAS * widths.sum::<f64>() / count;
        let accident = student_range(1.0 - probability, count - 1.0) * deviation;
        (is_visible && self.bias.abs() > accident).then(|| {
            format!(
                "recovery is biased: {} is found {} too {} on average, beyond accident (±{})",
                self.name,
                figure(self.bias.abs()),
                if self.bias > 0.0 { "high" } else { "low" },
                figure(accident)
            )
        })
    }
}

/// The probability of at most so many successes in so many trials.
fn at_most(successes: usize, trials: usize, probability: f64) -> f64 {
    let mut sum = 0.0;
    let mut choose = 1.0;
    for k in 0..=successes {
        let (done, left) = (k as f64, (trials - k) as f64);
        sum += choose * probability.powf(done) * (1.0 - probability).powf(left);
        choose *= left / (done + 1.0);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::at_most;

    #[test]
    fn binomial_probabilities() {
        assert!((at_most(1, 2, 0.5) - 0.75).abs() < 1e-15);
        assert!((at_most(20, 20, 0.95) - 1.0).abs() < 1e-12);
        assert!((at_most(0, 3, 0.9) - 0.001).abs() < 1e-15);
        // Seventeen of twenty are no wonder, fifteen are.
        assert!(at_most(17, 20, 0.95) > 0.05 && at_most(15, 20, 0.95) < 0.01);
    }
}
