//! Which functions are missing: a search forward and backward by cross-validated errors.
//!
//! Functions are added one at a time: those of inputs that a target has already come first, then those of new inputs. What is added has to
//! predict held-out blocks better than chance allows among all functions that were tried, and it has to matter. Numbers inside of functions
//! (speeds, frequencies) are refined at once, so that what is left is not mistaken for another law. Inputs that turn out to be of no use are
//! dropped.

use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

use super::library::{self, Clock, Form, Unit};
use super::moments::{Fitted, Moments, chance, dot};
use super::segments::Rows;
use super::targets::{Target, Variable};

/// Probability of naming anything where there is nothing.
const MAX_CHANCE: f64 = 0.01;
/// Least share of what a target explains that is worth another function of the same inputs, or another input.
const SHAPE_SHARE: f64 = 0.002;
const INPUT_SHARE: f64 = 0.005;
/// Least part of the forces at a target that is worth a word.
const LEAST_FORCE: f64 = 1e-3;
/// Functions that are this close to the best one, in shares of what it explains, say the same.
const SAME_SHARE: f64 = 0.001;
/// Most functions at a target, and steps of the search.
const MOST_UNITS: usize = 6;
const MOST_STEPS: usize = 40;
/// A gain is beyond doubt where it is this part of all errors, this many times what the best of all functions gains by chance, and in this
/// part of the blocks.
const CLEAR_GAIN: f64 = 0.15;
const CLEAR_CHANCE: f64 = 6.0;
const CLEAR_BLOCKS: f64 = 0.8;
/// Errors of so many times the noise are worth other beginnings, of which there are so many; one is better if it leaves less than this part.
const LOUD: f64 = 2.0;
const MOST_BEGUN: usize = 8;
const BETTER_PART: f64 = 0.7;
/// Sweeps over all targets that refine numbers.
const SWEEPS: usize = 4;
/// Speeds of friction that refining looks at, beside the root mean square of the velocity.
const SPEED_RANGE: [f64; 2] = [5e-4, 4.0];
/// Places within an interval at which functions are averaged, and their weights (Gauss).
const NODES: [f64; 3] = [0.112_701_665_379_258_3, 0.5, 0.887_298_334_620_741_7];
const WEIGHTS: [f64; 3] = [5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0];

/// What forces are to explain.
pub(super) struct Question<'a> {
    pub(super) targets: &'a [Target],
    pub(super) variables: &'a [Variable],
    pub(super) rows: Vec<Rows>,
    /// Values of every variable at the nodes of all intervals, segment by segment.
    pub(super) nodes: Vec<Vec<f64>>,
    /// Intervals of each segment.
    pub(super) intervals: Vec<usize>,
    /// Measured numbers of all segments, in units of the noise.
    pub(super) measured: Vec<f64>,
    /// Where blocks end in them.
    pub(super) ends: Vec<usize>,
    /// Squares that noise alone leaves in each block.
    pub(super) floors: Vec<f64>,
    /// Root mean squares of the variables; 0 where one never changes.
    pub(super) sizes: Vec<f64>,
    /// Root mean squares of the forces that act at the targets.
    pub(super) forces: Vec<f64>,
    pub(super) clock: Clock,
    pub(super) stop: Option<&'a AtomicBool>,
}

/// A function at a target.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) target: usize,
    pub(super) unit: Unit,
}

/// Functions with their columns.
#[derive(Clone)]
pub(super) struct Laws {
    pub(super) placed: Vec<Placed>,
    columns: Vec<Vec<Vec<f64>>>,
    pub(super) moments: Moments,
    /// What is left of each block where it was not fitted.
    pub(super) left: Vec<f64>,
}

/// Nodes of an interval from the values at its frames and those around them.
pub(super) fn at_nodes(values: &[f64], interval: usize) -> [f64; 3] {
    let (here, next) = (values[interval], values[interval + 1]);
    let before = interval.checked_sub(1).map(|k| values[k]);
    let after = values.get(interval + 2).copied();
    NODES.map(|s| match (before, after) {
        // A cubic through four frames.
        (Some(before), Some(after)) => {
            let weights = [
                -s * (s - 1.0) * (s - 2.0) / 6.0,
                (s + 1.0) * (s - 1.0) * (s - 2.0) / 2.0,
                -(s + 1.0) * s * (s - 2.0) / 2.0,
                (s + 1.0) * s * (s - 1.0) / 6.0,
            ];
            weights[0] * before + weights[1] * here + weights[2] * next + weights[3] * after
        }
        (Some(before), None) => {
            before * s * (s - 1.0) / 2.0 - here * (s + 1.0) * (s - 1.0) + next * s * (s + 1.0) / 2.0
        }
        (None, Some(after)) => {
            here * (s - 1.0) * (s - 2.0) / 2.0 - next * s * (s - 2.0) + after * s * (s - 1.0) / 2.0
        }
        (None, None) => here + s * (next - here),
    })
}

impl Question<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Means of a column of a function over all intervals.
    fn means(&self, unit: &Unit, column: usize) -> Vec<f64> {
        let count: usize = self.intervals.iter().sum();
        (0..count)
            .map(|interval| {
                let node = |k: usize| {
                    unit.value(|variable| self.nodes[variable][3 * interval + k], column)
                };
                (0..3).map(|k| WEIGHTS[k] * node(k)).sum()
            })
            .collect()
    }

    /// What a function at a target does to all measurements, column by column.
    fn columns(&self, target: usize, unit: &Unit) -> Vec<Vec<f64>> {
        let targets = self.targets.len();
        (0..unit.columns())
            .map(|column| {
                let means = self.means(unit, column);
                let mut out = Vec::with_capacity(self.measured.len());
                let mut first = 0;
                for (rows, &intervals) in self.rows.iter().zip(&self.intervals) {
                    let own = &means[first..first + intervals];
                    for row in rows.by_force.chunks_exact(intervals * targets) {
                        let at = row.iter().skip(target).step_by(targets);
                        out.push(at.zip(own).map(|(slope, mean)| slope * mean).sum());
                    }
                    first += intervals;
                }
                out
            })
            .collect()
    }

    /// Nothing is missing.
    pub(super) fn nothing(&self) -> Laws {
        let moments = Moments::of_measured(&self.measured, &self.ends);
        Laws {
            left: moments.cross_validated(),
            placed: Vec::new(),
            columns: Vec::new(),
            moments,
        }
    }

    /// Laws with one more.
    fn with(&self, laws: &Laws, placed: Placed) -> Laws {
        let new = self.columns(placed.target, &placed.unit);
        let known: Vec<&[f64]> = laws.columns.iter().flatten().map(Vec::as_slice).collect();
        let added: Vec<&[f64]> = new.iter().map(Vec::as_slice).collect();
        let moments = laws
            .moments
            .extended((&known, &added), &self.measured, &self.ends);
        let mut laws = laws.clone();
        laws.placed.push(placed);
        laws.columns.push(new);
        laws.left = moments.cross_validated();
        laws.moments = moments;
        laws
    }

    /// Laws with one more, by its effect on the errors alone.
    fn trial(&self, laws: &Laws, placed: &Placed) -> Vec<f64> {
        let new = self.columns(placed.target, &placed.unit);
        let known: Vec<&[f64]> = laws.columns.iter().flatten().map(Vec::as_slice).collect();
        let added: Vec<&[f64]> = new.iter().map(Vec::as_slice).collect();
        let moments = laws
            .moments
            .extended((&known, &added), &self.measured, &self.ends);
        moments.cross_validated()
    }

    /// The best of some trials: which, and its errors.
    fn best(&self, laws: &Laws, trials: &[Placed]) -> Option<(usize, Vec<f64>)> {
        let errors: Vec<Option<Vec<f64>>> = (trials.par_iter())
            .map(|placed| (!self.is_stopped()).then(|| self.trial(laws, placed)))
            .collect();
        let total = |left: &Option<Vec<f64>>| left.as_ref().map(|left| left.iter().sum::<f64>());
        let totals: Vec<Option<f64>> = errors.iter().map(total).collect();
        let best = (0..trials.len())
            .filter(|&k| totals[k].is_some_and(f64::is_finite))
            .min_by(|&a, &b| {
                totals[a]
                    .partial_cmp(&totals[b])
                    .unwrap_or(std::cmp::Ordering::Equal)
            })?;
        // Simpler functions of the same inputs that do as well are preferred.
        let before: f64 = laws.left.iter().sum();
        let lowest = totals[best]?;
        let gain = before - lowest;
        let inputs = trials[best].unit.variables();
        let as_good = |&k: &usize| -> bool {
            let Some(own) = &errors[k] else { return false };
            let same = trials[k].target == trials[best].target
                && trials[k]
                    .unit
                    .variables()
                    .iter()
                    .all(|x| inputs.contains(x));
            let Some(best) = &errors[best] else {
                return false;
            };
            let differences: Vec<f64> = own.iter().zip(best).map(|(a, b)| a - b).collect();
            let worse: f64 = differences.iter().sum();
            let count = differences.len() as f64;
            let mean = worse / count;
            let spread: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
            let error = (spread * count / (count - 1.0).max(1.0)).sqrt();
            same && worse <= (SAME_SHARE * gain).max(error.min(0.05 * gain))
        };
        let chosen = (0..trials.len())
            .filter(as_good)
            .min_by(|&a, &b| {
                let cost = |k: usize| trials[k].unit.cost();
                cost(a).cmp(&cost(b)).then(
                    totals[a]
                        .partial_cmp(&totals[b])
                        .unwrap_or(std::cmp::Ordering::Equal),
                )
            })
            .unwrap_or(best);
        Some((chosen, errors[chosen].clone()?))
    }

    /// Refines the numbers inside of the functions at a target.
    fn polished(&self, laws: &Laws, target: usize) -> Laws {
        self.refined_where(laws, 2, |own| own == target)
    }

    /// Refines the numbers inside of all functions.
    fn polished_all(&self, laws: &Laws) -> Laws {
        self.refined_where(laws, SWEEPS, |_| true)
    }

    fn refined_where(&self, laws: &Laws, sweeps: usize, is_meant: impl Fn(usize) -> bool) -> Laws {
        let mut laws = laws.clone();
        for _ in 0..sweeps {
            let before = laws.moments.fit().left;
            for index in 0..laws.placed.len() {
                if !is_meant(laws.placed[index].target) || self.is_stopped() {
                    continue;
                }
                let count = laws.placed[index].unit.numbers(self.variables).len();
                for number in 0..count {
                    laws = self.refined(&laws, index, number);
                }
            }
            if laws.moments.fit().left > 0.999 * before {
                break;
            }
        }
        laws
    }

    /// Refines one number of a function by a search over its logarithm.
    fn refined(&self, laws: &Laws, index: usize, number: usize) -> Laws {
        let placed = &laws.placed[index];
        let numbers = placed.unit.numbers(self.variables);
        let mut others = laws.kept_but(index);
        let is_wave = placed
            .unit
            .factors
            .iter()
            .any(|factor| matches!(factor.form, Form::Wave(_)));
        let with = |value: f64| {
            let mut numbers = numbers.clone();
            numbers[number] = value;
            placed.unit.with_numbers(&numbers, self.variables)
        };
        let known: Vec<&[f64]> = others.columns.iter().flatten().map(Vec::as_slice).collect();
        let left = |value: f64| {
            let new = self.columns(placed.target, &with(value));
            let added: Vec<&[f64]> = new.iter().map(Vec::as_slice).collect();
            let moments = others
                .moments
                .extended((&known, &added), &self.measured, &self.ends);
            moments.fit().left
        };
        let here = numbers[number];
        // A frequency is known to a part of a period, a speed hardly at all.
        let (low, high) = if is_wave {
            let step = std::f64::consts::PI / self.clock.span.max(1e-9);
            ((here - step).max(0.1 * here), here + step)
        } else {
            let size =
                |factor: &&library::Factor| matches!(factor.form, Form::Dry(_) | Form::Fall(..));
            let size = placed
                .unit
                .factors
                .iter()
                .find(size)
                .map_or(here, |one| self.sizes[one.variable]);
            (SPEED_RANGE[0] * size, SPEED_RANGE[1] * size)
        };
        let looks = if is_wave { 5 } else { 9 };
        let found = golden((low.ln(), high.ln()), looks, |x| left(x.exp())).exp();
        let value = if left(found) < left(here) {
            found
        } else {
            here
        };
        let unit = with(value);
        drop(known);
        others = self.with(
            &others,
            Placed {
                target: placed.target,
                unit,
            },
        );
        // The order stays.
        let last = others.placed.len() - 1;
        others.moved(last, index)
    }

    /// Inputs that the laws of a target have.
    pub(super) fn inputs(laws: &Laws, target: usize) -> Vec<usize> {
        let own = laws.placed.iter().filter(|placed| placed.target == target);
        let mut inputs: Vec<usize> = own.flat_map(|placed| placed.unit.variables()).collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// Root mean square of the force of some laws at a target.
    pub(super) fn force(&self, laws: &Laws, fitted: &Fitted, target: usize) -> f64 {
        let count: usize = self.intervals.iter().sum();
        let mut sum = vec![0.0; count];
        let mut next = 0;
        for placed in &laws.placed {
            for column in 0..placed.unit.columns() {
                if placed.target == target {
                    let means = self.means(&placed.unit, column);
                    let factor = fitted.coefficients[next];
                    sum.iter_mut()
                        .zip(&means)
                        .for_each(|(sum, mean)| *sum += factor * mean);
                }
                next += 1;
            }
        }
        (dot(&sum, &sum) / count.max(1) as f64).sqrt()
    }

    /// Whether laws are better than others beyond chance.
    ///
    /// Where much is missing, what is left differs so much from block to block that the test of its mean says little: then it counts
    /// that most blocks gain.
    fn is_better(&self, before: &[f64], after: &[f64], tried: f64) -> bool {
        let tried = tried.max(1.0);
        if chance(before, after) < MAX_CHANCE / tried {
            return true;
        }
        let total = |left: &[f64]| left.iter().sum::<f64>();
        let gain = 1.0 - total(after) / total(before);
        let by_chance = CLEAR_CHANCE * (1.0 + tried).ln() / self.measured.len() as f64;
        let better = before
            .iter()
            .zip(after)
            .filter(|(before, after)| after < before)
            .count();
        gain > CLEAR_GAIN.max(by_chance) && better as f64 >= CLEAR_BLOCKS * before.len() as f64
    }

    /// Adds functions of the inputs that a target has, and takes those away that are of no use.
    fn shaped(&self, laws: &Laws, target: usize, all: &[Vec<Unit>]) -> Laws {
        let mut laws = self.polished(laws, target);
        loop {
            let own = laws.placed.iter().filter(|placed| placed.target == target);
            if self.is_stopped() || own.clone().count() >= MOST_UNITS {
                break;
            }
            let inputs = Self::inputs(&laws, target);
            let is_own = |unit: &&Unit| unit.variables().iter().all(|x| inputs.contains(x));
            let trials: Vec<Placed> = (all[target].iter().filter(is_own))
                .filter(|unit| !own.clone().any(|placed| placed.unit == **unit))
                .map(|unit| Placed {
                    target,
                    unit: unit.clone(),
                })
                .collect();
            let Some((best, _)) = self.best(&laws, &trials) else {
                break;
            };
            let next = self.polished(&self.with(&laws, trials[best].clone()), target);
            let explained = next.explained(target);
            let gain = laws.left.iter().sum::<f64>() - next.left.iter().sum::<f64>();
            if gain < SHAPE_SHARE * explained
                || !self.is_better(&laws.left, &next.left, trials.len() as f64)
            {
                break;
            }
            laws = self.pruned(next, target);
        }
        laws
    }

    /// Takes functions of a target away that the others make up for.
    fn pruned(&self, laws: Laws, target: usize) -> Laws {
        let mut laws = laws;
        loop {
            let explained = laws.explained(target);
            let before: f64 = laws.left.iter().sum();
            let own: Vec<usize> = (0..laws.placed.len())
                .filter(|&k| laws.placed[k].target == target)
                .collect();
            if own.len() < 2 || self.is_stopped() {
                return laws;
            }
            let without: Vec<Laws> = own
                .iter()
                .map(|&index| self.polished(&laws.kept_but(index), target))
                .collect();
            let is_idle = |less: &&Laws| {
                let loss = less.left.iter().sum::<f64>() - before;
                loss < SHAPE_SHARE * explained || !self.is_better(&less.left, &laws.left, 1.0)
            };
            let Some(less) = without.iter().filter(is_idle).min_by(|a, b| {
                let total = |laws: &Laws| laws.left.iter().sum::<f64>();
                total(a)
                    .partial_cmp(&total(b))
                    .unwrap_or(std::cmp::Ordering::Equal)
            }) else {
                return laws;
            };
            laws = less.clone();
        }
    }

    /// Drops inputs that functions of the others make up for.
    fn without_idle_inputs(&self, laws: Laws, all: &[Vec<Unit>]) -> Laws {
        let mut laws = laws;
        'again: loop {
            for target in 0..self.targets.len() {
                let explained = laws.explained(target);
                for input in Self::inputs(&laws, target) {
                    if self.is_stopped() {
                        return laws;
                    }
                    let rest = laws.kept(|placed| {
                        placed.target != target || !placed.unit.variables().contains(&input)
                    });
                    let inputs: Vec<usize> = Self::inputs(&laws, target)
                        .into_iter()
                        .filter(|x| *x != input)
                        .collect();
                    // The best that functions of the other inputs can do instead.
                    let trials: Vec<Placed> = (all[target].iter())
                        .filter(|unit| unit.variables().iter().all(|x| inputs.contains(x)))
                        .map(|unit| Placed {
                            target,
                            unit: unit.clone(),
                        })
                        .collect();
                    let mut rest = rest;
                    if !inputs.is_empty()
                        && let Some((best, _)) = self.best(&rest, &trials)
                    {
                        let with = self.polished(&self.with(&rest, trials[best].clone()), target);
                        if with.left.iter().sum::<f64>() < rest.left.iter().sum::<f64>() {
                            rest = self.shaped(&with, target, all);
                        }
                    }
                    let rest = self.polished_all(&rest);
                    let loss = rest.left.iter().sum::<f64>() - laws.left.iter().sum::<f64>();
                    if loss < INPUT_SHARE * explained
                        || !self.is_better(&rest.left, &laws.left, all[target].len() as f64)
                    {
                        laws = rest;
                        continue 'again;
                    }
                }
            }
            return laws;
        }
    }

    /// Functions that may be added: those with an input that their target does not have yet, and constants.
    fn trials(
        &self,
        laws: &Laws,
        all: &[Vec<Unit>],
        refused: &[(usize, Vec<usize>)],
    ) -> Vec<Placed> {
        let of_targets = (all.iter().enumerate())
            .flat_map(|(target, units)| units.iter().map(move |unit| (target, unit)));
        let may_be_added = |(target, unit): &(usize, &Unit)| {
            let inputs = Self::inputs(laws, *target);
            let variables = unit.variables();
            let is_new = variables.iter().any(|x| !inputs.contains(x));
            let mut constants =
                (laws.placed.iter()).filter(|p| p.target == *target && p.unit.factors.is_empty());
            let is_constant = variables.is_empty() && constants.next().is_none();
            (is_new || is_constant) && !refused.contains(&(*target, variables))
        };
        let placed = |(target, unit): (usize, &Unit)| Placed {
            target,
            unit: unit.clone(),
        };
        of_targets.filter(may_be_added).map(placed).collect()
    }

    /// Laws that a function was added to: with others of the same inputs, and without inputs that turn out to be of no use.
    fn settled(&self, laws: &Laws, all: &[Vec<Unit>]) -> Laws {
        let mut next = laws.clone();
        for target in 0..self.targets.len() {
            if next.placed.iter().any(|placed| placed.target == target) {
                next = self.shaped(&next, target, all);
            }
        }
        self.without_idle_inputs(next, all)
    }

    /// Functions that leave least, by turns in all and in most blocks, the best of each choice of inputs first.
    fn promising(&self, laws: &Laws, trials: &[Placed]) -> Vec<usize> {
        let measures: Vec<Option<[f64; 2]>> = (trials.par_iter())
            .map(|placed| {
                let left = (!self.is_stopped()).then(|| self.trial(laws, placed))?;
                Some(self.measures(&left))
            })
            .collect();
        let told: Vec<usize> = (0..trials.len())
            .filter(|&k| measures[k].is_some())
            .collect();
        let ranked = [0, 1].map(|measure| {
            let mut order = told.clone();
            let of = |k: usize| measures[k].map_or(f64::INFINITY, |all| all[measure]);
            order.sort_by(|&a, &b| of(a).total_cmp(&of(b)));
            let mut seen: Vec<(usize, Vec<usize>)> = Vec::new();
            order.retain(|&k| {
                let inputs = (trials[k].target, trials[k].unit.variables());
                let is_new = !seen.contains(&inputs);
                seen.push(inputs);
                is_new
            });
            order
        });
        let [in_all, in_most] = ranked;
        in_all
            .into_iter()
            .zip(in_most)
            .flat_map(|(a, b)| [a, b])
            .collect()
    }

    /// Laws to begin with, where going on from nothing did not explain much: a function of its own motion at every target, and those
    /// that leave least, one for each choice of inputs.
    fn beginnings(&self, nothing: &Laws, all: &[Vec<Unit>]) -> Vec<Laws> {
        let mut begun: Vec<Laws> = Vec::new();
        if self.targets.len() > 1 {
            let laws: Vec<Laws> = (all[0].par_iter())
                .filter_map(|unit| self.everywhere(unit))
                .map(|placed| self.with_all(nothing, placed))
                .collect();
            for measure in 0..2 {
                let best = laws.iter().min_by(|a, b| {
                    self.measures(&a.left)[measure].total_cmp(&self.measures(&b.left)[measure])
                });
                begun.extend(best.cloned());
            }
        }
        let trials = self.trials(nothing, all, &[]);
        let mut seen: Vec<(usize, Vec<usize>)> = Vec::new();
        for index in self.promising(nothing, &trials) {
            let placed = &trials[index];
            let inputs = (placed.target, placed.unit.variables());
            if !seen.contains(&inputs) {
                seen.push(inputs);
                begun.push(self.with(nothing, placed.clone()));
            }
        }
        begun.truncate(MOST_BEGUN);
        begun
    }

    /// A function of the motion of one target, at all of them; none if it reads anything else.
    fn everywhere(&self, unit: &Unit) -> Option<Vec<Placed>> {
        let first = &self.targets[0];
        let mut factors = unit.factors.iter();
        let is_own = !unit.factors.is_empty()
            && factors.all(|factor| library::belongs(first, &self.variables[factor.variable]));
        if !is_own {
            return None;
        }
        let place = |index: usize| {
            let mut unit = unit.clone();
            for factor in &mut unit.factors {
                let word = word_of(&self.variables[factor.variable]);
                let own = |k: &usize| {
                    let variable = &self.variables[*k];
                    word == word_of(variable) && library::belongs(&self.targets[index], variable)
                };
                factor.variable = (0..self.variables.len()).find(own)?;
            }
            Some(Placed {
                target: index,
                unit,
            })
        };
        (0..self.targets.len()).map(place).collect()
    }

    fn with_all(&self, laws: &Laws, placed: Vec<Placed>) -> Laws {
        let mut laws = laws.clone();
        for placed in placed {
            laws = self.with(&laws, placed);
        }
        laws
    }

    /// What is left: in all, and in most blocks, whatever few blocks with large errors say.
    fn measures(&self, left: &[f64]) -> [f64; 2] {
        let logarithms = left.iter().zip(&self.floors);
        let logarithms = logarithms.map(|(left, floor)| (left + floor).ln());
        [left.iter().sum(), logarithms.sum()]
    }

    /// What is missing. `tell` hears how many steps were taken and how much of the squares is left.
    pub(super) fn search(&self, tell: &mut dyn FnMut(usize, f64)) -> Laws {
        let all: Vec<Vec<Unit>> = (self.targets.iter())
            .map(|target| library::units(target, self.variables, &self.sizes, self.clock))
            .collect();
        let nothing = self.nothing();
        let mut found = self.grown(nothing.clone(), &all, tell);
        let total = |laws: &Laws| laws.left.iter().sum::<f64>();
        let noise: f64 = self.floors.iter().sum();
        if total(&found) < LOUD * LOUD * noise {
            return found;
        }
        // A function that explains much by itself may stand for others, and one that explains nothing by itself may be needed.
        let tried: usize = all.iter().map(Vec::len).sum();
        let tried = (tried as f64).powi(2);
        for begun in self.beginnings(&nothing, &all) {
            let next = self.grown(self.settled(&self.polished_all(&begun), &all), &all, tell);
            if self.is_stopped() {
                break;
            }
            let is_sure = self.is_better(&nothing.left, &next.left, tried);
            if is_sure && total(&next) < BETTER_PART * total(&found) {
                found = next;
            }
        }
        found
    }

    /// Adds functions to laws for as long as they matter.
    fn grown(&self, laws: Laws, all: &[Vec<Unit>], tell: &mut dyn FnMut(usize, f64)) -> Laws {
        let mut laws = laws;
        let nothing: f64 = self.nothing().left.iter().sum();
        // Inputs of targets that were tried and did not matter.
        let mut refused: Vec<(usize, Vec<usize>)> = Vec::new();
        for step in 0..MOST_STEPS {
            if self.is_stopped() {
                break;
            }
            let left: f64 = laws.left.iter().sum();
            tell(step, left / nothing);
            let trials = self.trials(&laws, all, &refused);
            let Some((best, errors)) = self.best(&laws, &trials) else {
                break;
            };
            let placed = trials[best].clone();
            let target = placed.target;
            if !self.is_better(&laws.left, &errors, trials.len() as f64) {
                break;
            }
            let next = self.shaped(&self.with(&laws, placed.clone()), target, all);
            let next = self.settled(&self.polished_all(&next), all);
            if self.is_stopped() {
                break;
            }
            let gain = left - next.left.iter().sum::<f64>();
            let explained = next.explained(target);
            let force = self.force(&next, &next.moments.fit(), target);
            let matters = force >= LEAST_FORCE * self.forces[target]
                && gain > 0.0
                && gain >= INPUT_SHARE * explained
                && next.placed != laws.placed;
            if matters {
                laws = next;
            } else {
                refused.push((target, placed.unit.variables()));
            }
        }
        laws
    }
}

impl Laws {
    /// How much the laws of a target explain where they were not fitted.
    fn explained(&self, target: usize) -> f64 {
        let without = self.kept(|placed| placed.target != target);
        without.left.iter().sum::<f64>() - self.left.iter().sum::<f64>()
    }

    /// Laws of which some are kept.
    pub(super) fn kept(&self, is_kept: impl Fn(&Placed) -> bool) -> Self {
        self.kept_at(|_, placed| is_kept(placed))
    }

    /// The same, by their numbers too.
    fn kept_at(&self, is_kept: impl Fn(usize, &Placed) -> bool) -> Self {
        let mut first = 0;
        let (mut columns, mut numbers, mut placed) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (one, own)) in self.placed.iter().zip(&self.columns).enumerate() {
            if is_kept(index, one) {
                numbers.extend(first..first + own.len());
                columns.push(own.clone());
                placed.push(one.clone());
            }
            first += own.len();
        }
        let moments = self.moments.kept(&numbers);
        Self {
            left: moments.cross_validated(),
            placed,
            columns,
            moments,
        }
    }

    fn kept_but(&self, index: usize) -> Self {
        self.kept_at(|k, _| k != index)
    }

    /// Laws in another order: that at `from` comes to `to`.
    fn moved(&self, from: usize, to: usize) -> Self {
        let mut order: Vec<usize> = (0..self.placed.len()).filter(|&k| k != from).collect();
        order.insert(to, from);
        let mut firsts = vec![0];
        for columns in &self.columns {
            firsts.push(firsts[firsts.len() - 1] + columns.len());
        }
        let numbers: Vec<usize> = order
            .iter()
            .flat_map(|&k| firsts[k]..firsts[k + 1])
            .collect();
        Self {
            placed: order.iter().map(|&k| self.placed[k].clone()).collect(),
            columns: order.iter().map(|&k| self.columns[k].clone()).collect(),
            moments: self.moments.kept(&numbers),
            left: self.left.clone(),
        }
    }
}

/// What a variable is of its element: `velocity`.
fn word_of(variable: &Variable) -> &str {
    variable.name.splitn(3, '.').nth(2).unwrap_or_default()
}

/// The lowest point of a function between two numbers, by golden sections after a look at some points.
fn golden((low, high): (f64, f64), count: usize, mut value: impl FnMut(f64) -> f64) -> f64 {
    const SECTIONS: usize = 24;
    let step = (high - low) / (count - 1) as f64;
    let looks: Vec<f64> = (0..count).map(|k| value(low + step * k as f64)).collect();
    let lowest = (0..count)
        .min_by(|&a, &b| {
            looks[a]
                .partial_cmp(&looks[b])
                .unwrap_or(std::cmp::Ordering::Equal)
        })
        .unwrap_or(0);
    let (mut a, mut b) = (
        low + step * (lowest.max(1) - 1) as f64,
        low + step * (lowest + 1).min(count - 1) as f64,
    );
    let part = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut x, mut y) = (b - part * (b - a), a + part * (b - a));
    let (mut at_x, mut at_y) = (value(x), value(y));
    for _ in 0..SECTIONS {
        if at_x < at_y {
            (b, y, at_y) = (y, x, at_x);
            x = b - part * (b - a);
            at_x = value(x);
        } else {
            (a, x, at_x) = (x, y, at_y);
            y = a + part * (b - a);
            at_y = value(y);
        }
    }
    if at_x < at_y { x } else { y }
}
