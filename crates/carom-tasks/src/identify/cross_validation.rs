//! Cross-validation: fits on all trajectories but those of a fold, and their errors on the fold that was held out.
//!
//! Every trajectory is held out once and fitted in all other folds, so the errors of both kinds are over the same trajectories
//! and can be compared.

use std::sync::atomic::AtomicBool;

use super::again::is_stopped;
use super::conclude::Identified;
use super::task::Task;
use crate::error;
use crate::evaluate::{Metric, Report, evaluate, figure};
use crate::recording::Recordings;
use carom::Error;

/// A fit is overfitted if errors of held-out trajectories are more than so many times those of fitted ones.
const MAX_HELD_OUT_RATIO: f64 = 1.5;

/// A fit without some of the trajectories.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// Trajectories that were held out.
    pub held_out: Vec<String>,
    /// The parameters that the others gave, in the units of the model.
    pub values: Vec<f64>,
    /// Mean errors on the trajectories of the fit, in the order of the metrics.
    pub fitted_errors: Vec<f64>,
    /// Mean errors on those held out.
    pub held_out_errors: Vec<f64>,
    /// Why its search ended.
    pub end: String,
}

/// What cross-validation tells.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossValidation {
    /// What errors are.
    pub metrics: Vec<Metric>,
    /// The folds.
    pub folds: Vec<Fold>,
    /// Names of the parameters.
    pub names: Vec<String>,
    /// Errors of all trajectories in the fits that knew them.
    pub fitted_errors: Vec<f64>,
    /// Errors of all trajectories in the fit that did not.
    pub held_out_errors: Vec<f64>,
    /// Standard deviation of each parameter over the folds.
    pub deviations: Vec<f64>,
    /// What is to say about it.
    pub words: Vec<String>,
}

/// Errors added up over trajectories.
#[derive(Default)]
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn add(&mut self, report: &Report) {
        self.0.resize(report.metrics.len(), (0.0, 0.0));
        for trajectory in &report.trajectories {
            for ((sum, count), error) in self.0.iter_mut().zip(&trajectory.errors) {
                if error.is_finite() {
                    *sum += error;
                    *count += 1.0;
                }
            }
        }
    }

    fn means(&self) -> Vec<f64> {
        self.0.iter().map(|(sum, count)| sum / count).collect()
    }
}

/// Refuses folds that cannot be made of so many trajectories.
///
/// # Errors
/// When there are fewer trajectories than folds, or fewer than two of either.
pub fn check_folds(folds: usize, trajectories: usize) -> Result<(), Error> {
    let why = match trajectories {
        0 | 1 => "there is one trajectory, which cannot be parted: give more recordings, or cut it by [trajectories] in the mapping".to_owned(),
        count if folds < 2 || folds > count => {
            format!("there are {count} trajectories, which make 2 to {count} folds")
        }
        _ => return Ok(()),
    };
    Err(error::settings(why))
}

impl Task<'_> {
    /// Fits again without each of some folds of the trajectories: number i is in fold i modulo their number. `identified` is the
    /// answer for all of them.
    ///
    /// # Errors
    /// When there are fewer trajectories than folds, or a fit has no answer.
    pub fn cross_validate(
        &self,
        folds: usize,
        identified: &Identified,
        stop: Option<&AtomicBool>,
    ) -> Result<CrossValidation, Error> {
        let recordings = self.problem.recordings;
        let count = recordings.trajectories.len();
        check_folds(folds, count)?;
        let mut found = CrossValidation {
            metrics: Vec::new(),
            folds: Vec::new(),
            names: self.parameters().names().map(str::to_owned).collect(),
            fitted_errors: Vec::new(),
            held_out_errors: Vec::new(),
            deviations: Vec::new(),
            words: Vec::new(),
        };
        let (mut fitted_sums, mut held_out_sums) = (Sums::default(), Sums::default());
        for fold in 0..folds {
            if is_stopped(stop) {
                found.words.push(format!(
                    "cross-validation was stopped after {fold} of {folds} folds"
                ));
                break;
            }
            let part = |is_held_out: bool| {
                let mut part = recordings.clone();
                let mut index = 0;
                part.trajectories.retain(|_| {
                    index += 1;
                    ((index - 1) % folds == fold) == is_held_out
                });
                part
            };
            let (rest, held_out) = (part(false), part(true));
            let (solution, answer) = self.asked_again(&rest, stop).map_err(|cause| {
                let labels = labels(&held_out).join(", ");
                let fit = format!("the fit without {labels} failed");
                error::no_loss(error::simulation(fit).because(cause))
            })?;
            let errors = |recordings: &Recordings| {
                let stepping = self.settings.problem.stepping;
                evaluate(&answer.model, recordings, stepping).map_err(error::no_loss)
            };
            let (fitted, held_out_report) = (errors(&rest)?, errors(&held_out)?);
            fitted_sums.add(&fitted);
            held_out_sums.add(&held_out_report);
            found.metrics.clone_from(&fitted.metrics);
            found.folds.push(Fold {
                held_out: labels(&held_out),
                values: self.parameters().values(&answer.theta),
                fitted_errors: fitted.total,
                held_out_errors: held_out_report.total,
                end: solution.end,
            });
        }
        found.fitted_errors = fitted_sums.means();
        found.held_out_errors = held_out_sums.means();
        found.deviations = (0..found.names.len())
            .map(|index| deviation(found.folds.iter().map(|fold| fold.values[index])))
            .collect();
        found.say_errors();
        found.say_parameters(identified);
        Ok(found)
    }
}

impl CrossValidation {
    /// How many times the error of held-out trajectories is that of fitted ones, by metric.
    pub fn ratios(&self) -> Vec<f64> {
        let pairs = self.held_out_errors.iter().zip(&self.fitted_errors);
        pairs.map(|(held_out, fitted)| held_out / fitted).collect()
    }

    /// Names parameters that depend on which trajectories are fitted more than their intervals allow.
    fn say_parameters(&mut self, identified: &Identified) {
        for (index, one) in identified.estimates.iter().enumerate() {
            let [low, high] = one.interval;
            let values = self.folds.iter().map(|fold| fold.values[index]);
            let least = values.clone().fold(f64::INFINITY, f64::min);
            let most = values.fold(f64::NEG_INFINITY, f64::max);
            if least < low || most > high {
                self.words.push(format!(
                    "{} lies between {} and {} in the folds, beyond its interval {} … {}: it depends on which trajectories are fitted, and its interval is too narrow",
                    one.name,
                    figure(least),
                    figure(most),
                    figure(low),
                    figure(high)
                ));
            }
        }
    }

    fn say_errors(&mut self) {
        let ratios = self.ratios();
        let above: Vec<String> = (self.metrics.iter().zip(&ratios))
            .filter(|(_, ratio)| **ratio > MAX_HELD_OUT_RATIO)
            .map(|(metric, ratio)| format!("{} ({ratio:.1} times)", metric.name))
            .collect();
        if above.is_empty() {
            let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if most.is_finite() {
                self.words.push(format!(
                    "trajectories that were held out are predicted about as well as fitted ones: errors are at most {most:.2} times as large"
                ));
            }
        } else {
            self.words.push(format!(
                "errors on held-out trajectories are far above those on fitted ones: {}; the fit follows accidents of its trajectories, so free fewer parameters or record more",
                above.join(", ")
            ));
        }
    }
}

fn labels(recordings: &Recordings) -> Vec<String> {
    let all = recordings.trajectories.iter();
    all.map(|trajectory| trajectory.label.clone()).collect()
}

/// Standard deviation of some values.
fn deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    (squares / (count - 1.0)).sqrt()
}
