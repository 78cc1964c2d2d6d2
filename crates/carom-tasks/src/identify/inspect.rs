//! Before the solve: does each parameter show in the recordings, and can they be told apart?

use crate::error;
use carom::Error;
use carom::parameters::Motion;
use carom_optimise::linalg::{largest, norm};
use carom_optimise::statistics::Information;
use rayon::prelude::*;

use super::Marginal;
use super::task::Task;

/// By how much a parameter is changed to see whether a residual changes, in scales.
const PROBE_STEP: f64 = 1e-3;
/// Effects below this fraction of the greatest residual are rounding.
const EFFECT_ROUNDING: f64 = 1e-10;
/// Combinations whose effect is smaller than this fraction of the greatest are not identifiable; columns of the Jacobian have
/// length one.
const MIN_SINGULAR_VALUE: f64 = 1e-7;
/// Combinations with at least this standard deviation, in scales, are named as weak.
const MIN_WEAK_DEVIATION: f64 = 0.5;
/// Parameters with a smaller share in a combination, relative to the greatest, are not named.
const MIN_NAMED_SHARE: f64 = 0.01;

/// A parameter that does not show.
#[derive(Clone, Debug, PartialEq)]
pub struct Silent {
    /// Its name.
    pub parameter: String,
    /// Why that may be.
    pub reason: String,
}

/// What the recordings can tell about the parameters, at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// The loss there.
    pub value: f64,
    /// Number of residuals, those of priors included.
    pub residuals: usize,
    /// Parameters that do not show.
    pub silent: Vec<Silent>,
    /// For each parameter, by how many deviations of the noise the residuals change together where it changes by a scale.
    pub effects: Vec<f64>,
    /// Scales of θ: the width of bounds, else the size of the start; 1, a factor of e, for logarithms.
    pub scales: Vec<f64>,
    /// How many combinations can be told.
    pub rank: usize,
    /// Greatest over least effect of combinations of parameters of equal effect; infinite if one has none.
    pub condition: f64,
    /// Combinations that cannot be told apart, in words.
    pub untold: Vec<String>,
    /// Parameters that could be held at what they are: all others that show could then be told.
    pub hold: Vec<String>,
    /// Combinations that are known badly, in words.
    pub weak: Vec<String>,
}

impl Inspection {
    /// Why parameters should not be fitted; none if all can be told.
    pub fn refusal(&self) -> Option<String> {
        let silent = self.silent.iter();
        let mut reasons: Vec<String> = silent
            .map(|silent| format!("{} has no effect: {}", silent.parameter, silent.reason))
            .collect();
        reasons.extend(self.untold.iter().cloned());
        if !self.hold.is_empty() {
            reasons.push(format!(
                "with {} held, the others would be identifiable",
                list(&self.hold)
            ));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

impl Task<'_> {
    /// Looks at the start: every parameter is changed once, and the information of the recordings is taken apart. Where a horizon has grown,
    /// this is done at what it found: friction that is too high to slide has no derivative.
    ///
    /// # Errors
    /// When the model cannot be simulated at the start.
    pub fn inspect(&self) -> Result<Inspection, Error> {
        if !self.grows() {
            return self.on_threads(|| self.inspect_at(&self.origin()));
        }
        let mut inspection = self.on_threads(|| self.inspect_at(self.start()))?;
        inspection.value = self.loss_at(&self.origin())?;
        Ok(inspection)
    }

    fn inspect_at(&self, x: &[f64]) -> Result<Inspection, Error> {
        let reference = self.residuals(x).map_err(error::no_loss)?;
        let linear = self.linearize(x).map_err(error::no_loss)?;
        let marginal = self.marginal(&linear).map_err(error::no_loss)?;
        let count = self.parameters().len();
        let names: Vec<&str> = self.parameters().names().collect();
        let lengths: Vec<f64> = (0..count)
            .map(|column| norm(&marginal.jacobian.column(column)))
            .collect();
        let is_moved: Vec<bool> = (0..count)
            .into_par_iter()
            .map(|index| self.moves(x, index, &reference))
            .collect();
        let scales = self.theta_scale().to_vec();
        let rounding = EFFECT_ROUNDING * largest(&reference);
        let shows = |index: usize| lengths[index] * scales[index] > rounding;
        let mut silent = Vec::new();
        let is_silent = is_moved.contains(&false);
        let reasons = if is_silent {
            self.reasons()
        } else {
            Vec::new()
        };
        for index in 0..count {
            if !is_moved[index] {
                silent.push(Silent {
                    parameter: names[index].to_owned(),
                    reason: reasons.get(index).cloned().unwrap_or_default(),
                });
            } else if !shows(index) && self.optimiser().reads_derivatives() {
                silent.push(Silent {
                    parameter: names[index].to_owned(),
                    reason: "a change of it shows, but its derivative is zero at the start; start elsewhere, or use cmaes"
                        .to_owned(),
                });
            }
        }
        let audible: Vec<usize> = (0..count)
            .filter(|&index| is_moved[index] && shows(index))
            .collect();
        let told =
            Told::new(&names, &scales, &lengths, &audible, &marginal).map_err(error::no_loss)?;
        Ok(Inspection {
            value: 0.5 * reference.iter().map(|r| r * r).sum::<f64>(),
            residuals: reference.len(),
            silent,
            effects: (lengths.iter().zip(&scales))
                .map(|(length, scale)| length * scale)
                .collect(),
            scales,
            rank: told.rank,
            condition: if audible.len() == count {
                told.condition
            } else {
                f64::INFINITY
            },
            untold: told.untold,
            hold: told.hold,
            weak: told.weak,
        })
    }

    /// Whether a change of a number of θ changes any residual.
    fn moves(&self, x: &[f64], index: usize, reference: &[f64]) -> bool {
        let bounds = self.space.bounds();
        let step = PROBE_STEP * self.space.scale()[index];
        let start = x[index];
        let mut x = x.to_vec();
        x[index] = bounds.clamp(index, start + step);
        if x[index] == start {
            x[index] = bounds.clamp(index, start - step);
        }
        if x[index] == start {
            // Held by its bounds: that is no question of the recordings.
            return true;
        }
        match self.residuals(&x) {
            Ok(residuals) => {
                let rounding = EFFECT_ROUNDING * largest(reference);
                let mut pairs = residuals.iter().zip(reference);
                pairs.any(|(a, b)| (a - b).abs() > rounding)
            }
            // It moves things so much that the simulation ends.
            Err(_) => true,
        }
    }

    /// The likely reasons why parameters do not show, for all of them.
    ///
    /// A reason that tells what did not happen in a motion must be true of all motions that are compared, so all are looked at,
    /// from start to end.
    fn reasons(&self) -> Vec<String> {
        const OTHERWISE: &str = "nothing that was recorded depends on it";
        let names: Vec<&str> = self.parameters().names().collect();
        let mut reasons: Vec<Option<String>> = vec![None; names.len()];
        let motions = self.problem.motions();
        for (start, (steps, controls)) in &motions {
            let motion = Motion {
                start,
                controls,
                steps: *steps,
            };
            let findings = self.parameters().self_check(self.start_theta(), &motion);
            let findings = findings.unwrap_or_default();
            for (name, reason) in names.iter().zip(&mut reasons) {
                if !reason.as_deref().is_none_or(is_of_one_motion) {
                    continue;
                }
                let found = findings.iter().find(|one| one.parameter == *name);
                *reason = Some(found.map_or(OTHERWISE.to_owned(), |one| one.reason.clone()));
            }
        }
        let is_one = motions.len() == 1;
        let said = |reason: Option<String>| match reason {
            Some(reason) if is_one => reason,
            Some(reason) => reason.replace(THIS_MOTION, "in any of these motions"),
            None => OTHERWISE.to_owned(),
        };
        reasons.into_iter().map(said).collect()
    }
}

/// How reasons end that another motion may contradict.
const THIS_MOTION: &str = "in this motion";

fn is_of_one_motion(reason: &str) -> bool {
    reason.ends_with(THIS_MOTION)
}

/// What can be told of parameters that show.
struct Told {
    rank: usize,
    condition: f64,
    untold: Vec<String>,
    hold: Vec<String>,
    weak: Vec<String>,
}

impl Told {
    fn new(
        names: &[&str],
        scales: &[f64],
        lengths: &[f64],
        audible: &[usize],
        marginal: &Marginal,
    ) -> Result<Self, Error> {
        let of = |numbers: &[f64]| -> Vec<f64> { audible.iter().map(|&i| numbers[i]).collect() };
        let names: Vec<&str> = audible.iter().map(|&index| names[index]).collect();
        let jacobian = marginal.jacobian.columns_at(audible);
        let equal: Vec<f64> = of(lengths).iter().map(|length| 1.0 / length).collect();
        let information =
            Information::new(&names, &equal, &jacobian).map_err(error::information)?;
        let values = information.singular_values();
        let greatest = values.first().copied().unwrap_or(1.0);
        let least = values.last().copied().unwrap_or(1.0);
        let directions = information.unknown(1.0, 1.0 / (MIN_SINGULAR_VALUE * greatest));
        let combinations = sparse(directions.into_iter().map(|one| one.parts).collect());
        let untold: Vec<String> = (combinations.iter())
            .map(|(_, parts)| trade_off(&names, parts))
            .collect();
        let hold = (combinations.iter()).map(|&(pivot, _)| names[pivot].to_owned());
        let hold = hold.collect();
        let natural =
            Information::new(&names, &of(scales), &jacobian).map_err(error::information)?;
        let weak = if untold.is_empty() {
            natural
                .unknown(1.0, MIN_WEAK_DEVIATION)
                .into_iter()
                .map(|one| one.words)
                .collect()
        } else {
            Vec::new()
        };
        Ok(Self {
            rank: names.len() - untold.len(),
            condition: if least > 0.0 {
                greatest / least
            } else {
                f64::INFINITY
            },
            untold,
            hold,
            weak,
        })
    }
}

/// Combinations that span the same space, each with a parameter that takes part in none of the others: few parameters take
/// part in each, and with those parameters held none is left. By Gauss and Jordan's elimination with the greatest pivots.
fn sparse(mut rows: Vec<Vec<f64>>) -> Vec<(usize, Vec<f64>)> {
    let width = rows.first().map_or(0, Vec::len);
    let mut pivots: Vec<usize> = Vec::with_capacity(rows.len());
    for done in 0..rows.len() {
        let mut greatest = (done, 0, 0.0);
        for (index, row) in rows.iter().enumerate().skip(done) {
            for column in (0..width).filter(|column| !pivots.contains(column)) {
                if row[column].abs() > greatest.2 {
                    greatest = (index, column, row[column].abs());
                }
            }
        }
        let (index, column, _) = greatest;
        rows.swap(done, index);
        let factor = 1.0 / rows[done][column];
        let pivot: Vec<f64> = rows[done].iter().map(|part| part * factor).collect();
        for row in &mut rows {
            let along = row[column];
            for (part, other) in row.iter_mut().zip(&pivot) {
                *part -= along * other;
            }
        }
        rows[done] = pivot;
        pivots.push(column);
    }
    pivots.into_iter().zip(rows).collect()
}

/// A combination that is not identifiable, in words.
fn trade_off(names: &[&str], parts: &[f64]) -> String {
    let largest = parts
        .iter()
        .fold(0.0_f64, |most, part| most.max(part.abs()));
    let involved: Vec<String> = (names.iter().zip(parts))
        .filter(|(_, part)| part.abs() > MIN_NAMED_SHARE * largest)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    match involved.as_slice() {
        [one] => format!("{one} is not identifiable: the recordings stay the same if it changes"),
        many => format!(
            "{} trade off: the recordings stay the same if they change together, so they are not identifiable",
            list(many)
        ),
    }
}

/// Words with commas and an `and`.
fn list(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_sparse_and_have_a_parameter_each() {
        // Two trade-offs, of the first two and of the last three, seen as any mixture of both.
        let (one, two) = ([1.0, -2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 3.0]);
        let mix = |a: f64, b: f64| -> Vec<f64> {
            one.iter()
                .zip(two)
                .map(|(one, two)| a * one + b * two)
                .collect()
        };
        let found = sparse(vec![mix(0.6, 0.8), mix(-0.8, 0.6)]);
        let pivots: Vec<usize> = found.iter().map(|&(pivot, _)| pivot).collect();
        assert_eq!(pivots, [4, 1]);
        for (row, expected) in found.iter().zip([
            [0.0, 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0],
            [-0.5, 1.0, 0.0, 0.0, 0.0],
        ]) {
            for (part, expected) in row.1.iter().zip(expected) {
                assert!((part - expected).abs() < 1e-15, "{found:?}");
            }
        }
        let names = ["a", "b", "c", "d", "e"];
        assert!(trade_off(&names, &found[0].1).starts_with("c, d and e trade off"));
        assert!(trade_off(&names, &found[1].1).starts_with("a and b trade off"));
        assert!(trade_off(&names, &[0.0, 0.0, 0.0, 0.0, 1.0]).starts_with("e is not identifiable"));
        assert_eq!(sparse(Vec::new()), []);
    }
}
