//! Predictive control: plan over a horizon, execute the first steps, shift the plan, plan again.

use carom::{Dynamics, State};

use super::cost::{Cost, Kind};
use super::disturbance::Disturbance;
use super::episode::{Episode, Progress};
use super::method::{Planner, Ranges};
use super::quantity::{Quantity, Reading};

/// Something that must hold at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What it is called.
    pub name: String,
    /// What it looks at.
    pub quantity: Quantity,
    /// How that becomes a number.
    pub kind: Kind,
    /// The number must be below this.
    pub below: Option<f64>,
    /// The number must be above this.
    pub above: Option<f64>,
}

/// How a condition came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What it is called.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Whether it must be below a bound: a distance.
    pub is_distance: bool,
    /// Whether it holds.
    pub holds: bool,
}

impl Condition {
    /// Looks at a moment.
    pub fn judge(&self, reading: &Reading<'_>) -> Judged {
        let mut residual = vec![0.0; self.quantity.width()];
        self.quantity.read(reading, &mut residual);
        let value = self.kind.value(&residual);
        Judged {
            name: self.name.clone(),
            value,
            is_distance: self.below.is_some(),
            holds: self.below.is_none_or(|bound| value < bound)
                && self.above.is_none_or(|bound| value > bound),
        }
    }
}

/// What is to be controlled, and to what end.
#[derive(Clone, Debug)]
pub struct Control {
    /// Where it begins.
    pub start: State,
    /// The first plan is this, held.
    pub first_control: Vec<f64>,
    /// Where controls stay.
    pub ranges: Ranges,
    /// What is to be small.
    pub cost: Cost,
    /// What must hold at the end.
    pub success: Vec<Condition>,
    /// Steps of a horizon.
    pub horizon: usize,
    /// Steps that are executed of a plan.
    pub execute: usize,
    /// Steps in all.
    pub steps: usize,
}

/// A plan that was not usable, and what happened instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Which plan, from 0.
    pub plan: usize,
    /// Why.
    pub why: String,
}

/// What was executed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Executed {
    /// Times of the states.
    pub time: Vec<f64>,
    /// Configurations, one after another.
    pub qpos: Vec<f64>,
    /// Velocities.
    pub qvel: Vec<f64>,
    /// Activations.
    pub act: Vec<f64>,
    /// Controls of the steps that follow the states.
    pub ctrl: Vec<f64>,
    /// What the sensors read.
    pub sensors: Vec<f64>,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Whether all conditions hold at the end.
    pub success: bool,
    /// How each condition came out; none if the motion did not come to its end.
    pub judged: Vec<Judged>,
    /// Mean cost of the steps that were executed.
    pub cost: f64,
    /// Cost of each plan.
    pub plan_costs: Vec<f64>,
    /// Motions that were followed for planning.
    pub evaluations: usize,
    /// Gradients that were taken.
    pub gradients: usize,
    /// Plans that were not usable.
    pub fallbacks: Vec<Fallback>,
    /// Why the motion did not come to its end, if so.
    pub stopped: Option<String>,
    /// Whether somebody wanted it to end.
    pub interrupted: bool,
    /// What was executed.
    pub executed: Executed,
}

impl Outcome {
    /// The largest number that must be below a bound; not a number if there is none.
    pub fn distance(&self) -> f64 {
        let distances = self.judged.iter().filter(|judged| judged.is_distance);
        distances
            .map(|judged| judged.value)
            .fold(f64::NAN, f64::max)
    }
}

/// Controls a system to the end. `watch` is told of every plan, and says whether to go on.
pub fn control<D: Dynamics>(
    dynamics: &D,
    task: &Control,
    planner: &mut dyn Planner<D>,
    watch: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Outcome {
    let undisturbed = Disturbance::default();
    let mut episode = Episode::new(dynamics, task, &undisturbed);
    while !episode.is_over() {
        let goes_on = watch(&episode.plan(dynamics, planner));
        if !goes_on {
            return episode.outcome(true);
        }
        episode.execute(planner);
    }
    episode.outcome(false)
}
