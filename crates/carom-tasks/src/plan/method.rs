//! What all methods share: ranges of controls, what a plan is, and the trait behind which they stand.

use carom::Dynamics;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cost::Horizon;

/// Between which values each control stays. Controls whose ends are equal are held.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranges {
    /// The lower ends, nu.
    pub lower: Vec<f64>,
    /// The upper ends, nu.
    pub upper: Vec<f64>,
}

impl Ranges {
    /// How many controls there are.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// Whether there is no control.
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// The width of a range.
    pub fn width(&self, control: usize) -> f64 {
        self.upper[control] - self.lower[control]
    }

    /// Moves all controls of a plan into their ranges.
    pub fn clamp(&self, plan: &mut [f64]) {
        for row in plan.chunks_exact_mut(self.len().max(1)) {
            for ((number, &lower), &upper) in row.iter_mut().zip(&self.lower).zip(&self.upper) {
                *number = number.clamp(lower, upper);
            }
        }
    }
}

/// A plan that a method found.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Controls, nu numbers a step.
    pub plan: Vec<f64>,
    /// What it costs; infinite if no plan could be followed to its end.
    pub cost: f64,
    /// How many motions were followed.
    pub evaluations: usize,
    /// How many gradients were taken.
    pub gradients: usize,
}

/// What a planner knows beyond its settings, for a run that goes on later.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Memory {
    /// How many streams of random numbers it has used.
    pub stream: u64,
    /// A number that it adapts.
    pub number: f64,
    /// Plans that it has kept.
    pub plans: Vec<Vec<f64>>,
}

impl Memory {
    /// Whether its plans have so many numbers, all of them finite.
    pub fn fits(&self, length: usize) -> bool {
        let mut plans = self.plans.iter();
        plans.all(|plan| plan.len() == length && plan.iter().all(|number| number.is_finite()))
    }
}

/// A way to better plans.
pub trait Planner<D: Dynamics>: Send {
    /// A plan that costs no more than the one given.
    fn refine(&mut self, horizon: &Horizon<'_, D>, ranges: &Ranges, warm: &[f64]) -> Planned;

    /// Time went on by some steps.
    fn shift(&mut self, steps: usize, nu: usize) {
        let _ = (steps, nu);
    }

    /// What it knows.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// Goes on from what it knew; false where that does not fit it, or plans of so many numbers.
    fn recall(&mut self, memory: &Memory, length: usize) -> bool {
        memory.fits(length)
    }
}

/// The plan from some steps on; the last control is held as long.
pub fn shifted(plan: &[f64], steps: usize, nu: usize) -> Vec<f64> {
    let rows = plan.len() / nu.max(1);
    let steps = steps.min(rows.saturating_sub(1));
    let mut next = plan[steps * nu..].to_vec();
    let last = plan[plan.len().saturating_sub(nu)..].to_vec();
    while next.len() < plan.len() {
        next.extend_from_slice(&last);
    }
    next
}

/// Costs of plans, over the threads of the current pool; the same bits for any number of them.
pub(super) fn costs<D: Dynamics>(horizon: &Horizon<'_, D>, plans: &[Vec<f64>]) -> Vec<f64> {
    let plans = plans.par_iter();
    plans
        .map_init(
            || horizon.dynamics.work(),
            |work, plan| horizon.value(plan, work),
        )
        .collect()
}

/// Indices of the lowest costs, lowest first; of equals the first.
pub(super) fn lowest(costs: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|&a, &b| costs[a].total_cmp(&costs[b]));
    order.truncate(count);
    order
}
