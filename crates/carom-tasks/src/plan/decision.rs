//! Plans that are a few numbers: initial velocities, or controls that are held for a while. What follows is simulated once.

use std::sync::Arc;

use carom::cotangent::StateBar;
use carom::{Dynamics, Error, Model, State};
use carom_optimise::{
    Answer, Bounds, CemSettings, CmaSettings, Evaluation, Evaluator, Failure, LbfgsbSettings,
    Limits, LocalSettings, Optimiser, Request, Settings, Space, Unobserved, Want, minimise,
};
use rayon::prelude::*;
use serde::Deserialize;
use toml::Spanned;

use super::cost::Horizon;
use super::mpc::Control;
use super::quantity::Source;
use super::strike::{StrikePart, StrikeStart};
use super::task::{Text, single};

/// How numbers are searched for.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum SearchMethod {
    /// The cross-entropy method.
    Cem,
    /// CMA-ES.
    Cma,
    /// Quasi-Newton steps from the initial values.
    Gradient,
    /// The cross-entropy method with a third of the evaluations, then quasi-Newton steps from the best.
    #[default]
    Both,
}

/// Settings of such searches.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct DecisionSettings {
    /// How is searched where nobody says otherwise.
    pub method: SearchMethod,
    /// Evaluations in all, a gradient counted as one.
    pub evaluations: usize,
}

impl Default for DecisionSettings {
    fn default() -> Self {
        Self {
            method: SearchMethod::Both,
            evaluations: 600,
        }
    }
}

/// A number that is decided, as a task file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionEntry {
    quantity: Spanned<String>,
    range: Spanned<[f64; 2]>,
    initial: Option<Spanned<f64>>,
    /// First step and first step after, for controls.
    steps: Option<Spanned<[usize; 2]>>,
}

/// A number that is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub source: Source,
    /// Which number of a strike it is, if it is one; it has no other place then.
    pub strike: Option<StrikePart>,
    /// Lower and upper end.
    pub range: [f64; 2],
    /// Where the search begins.
    pub initial: f64,
    /// The steps in which a control has it.
    pub steps: [usize; 2],
}

impl Decision {
    pub(super) fn new(
        entry: &DecisionEntry,
        place: &Text<'_>,
        model: &Model,
        start: &State,
        control: &[f64],
        strike: Option<&Arc<StrikeStart>>,
    ) -> Result<Self, Error> {
        let strike = StrikePart::find(&entry.quantity, strike, place)?;
        let source = match &strike {
            Some(part) => Source::Number(part.given()),
            None => single(&entry.quantity, place, model)?,
        };
        let [lower, upper] = *entry.range.get_ref();
        if !(lower.is_finite() && upper.is_finite() && lower < upper) {
            let why = format!("the range is from {lower} to {upper}");
            return Err(place
                .wrong(&entry.range.span(), why)
                .remedy("give two finite numbers, the lower one first"));
        }
        let present = match source {
            Source::Position { qpos, .. } => start.qpos[qpos],
            Source::Velocity(index) => start.qvel[index],
            Source::Activation(index) => start.act[index],
            Source::Control(index) => control[index],
            Source::Number(number) => number,
            Source::Sensor(_) => 0.0,
        };
        let initial = match &entry.initial {
            Some(initial) if !(lower..=upper).contains(initial.get_ref()) => {
                let why = format!("the initial value is {}", initial.get_ref());
                return Err(place
                    .wrong(&initial.span(), why)
                    .remedy(format!("take one from {lower} to {upper}")));
            }
            Some(initial) => *initial.get_ref(),
            None => present.clamp(lower, upper),
        };
        let steps = entry.steps.as_ref();
        if let Some(steps) = steps.filter(|steps| steps.get_ref()[0] >= steps.get_ref()[1]) {
            return Err(place
                .wrong(&steps.span(), "these are no steps")
                .remedy("give the first one and the first one after, as in [0, 20]"));
        }
        Ok(Self {
            name: entry.quantity.get_ref().clone(),
            source,
            strike,
            range: [lower, upper],
            initial,
            steps: steps.map_or([0, usize::MAX], |steps| *steps.get_ref()),
        })
    }
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The numbers.
    pub decision: Vec<f64>,
    /// What they cost; infinite if no motion came to its end.
    pub cost: f64,
    /// How many motions were followed, those of gradients included.
    pub evaluations: u64,
    /// How many gradients were taken.
    pub gradients: u64,
    /// The initial state that follows.
    pub start: State,
    /// The controls that follow, nu numbers a step.
    pub plan: Vec<f64>,
    /// Why the search ended.
    pub end: String,
}

/// The motion that numbers lead to.
struct Motions<'a, D: Dynamics> {
    dynamics: &'a D,
    task: &'a Control,
    decisions: &'a [Decision],
    gradients: u64,
}

impl<D: Dynamics> Motions<'_, D> {
    fn apply(&self, point: &[f64]) -> (State, Vec<f64>) {
        let mut start = self.task.start.clone();
        let mut plan = self.task.first_control.repeat(self.task.horizon);
        let nu = self.task.first_control.len();
        for (decision, &number) in self.decisions.iter().zip(point) {
            match decision.source {
                Source::Position { qpos, .. } => start.qpos[qpos] = number,
                Source::Velocity(index) => start.qvel[index] = number,
                Source::Activation(index) => start.act[index] = number,
                Source::Control(index) => {
                    let [from, to] = decision.steps;
                    for step in from.min(self.task.horizon)..to.min(self.task.horizon) {
                        plan[step * nu + index] = number;
                    }
                }
                Source::Sensor(_) | Source::Number(_) => {}
            }
        }
        if let Some((strike, numbers)) = self.strike(point) {
            strike.place(numbers, &mut start);
        }
        (start, plan)
    }

    /// The strike that is decided, if one is.
    fn strike(&self, point: &[f64]) -> Option<(&StrikeStart, [f64; 3])> {
        let mut found = None;
        for (decision, &number) in self.decisions.iter().zip(point) {
            if let Some(part) = &decision.strike {
                let (_, numbers) = found.get_or_insert((&*part.strike, part.strike.given()));
                numbers[part.index] = number;
            }
        }
        found
    }

    fn derivative(&self, decision: &Decision, start: &StateBar, plan: &[f64]) -> f64 {
        let nu = self.task.first_control.len();
        match decision.source {
            Source::Position { dof, .. } => start.qpos[dof],
            Source::Velocity(index) => start.qvel[index],
            Source::Activation(index) => start.act[index],
            Source::Control(index) => {
                let [from, to] = decision.steps.map(|step| step.min(self.task.horizon));
                (from..to).map(|step| plan[step * nu + index]).sum()
            }
            Source::Sensor(_) | Source::Number(_) => 0.0,
        }
    }

    fn answer(&self, request: &Request, work: &mut D::Work) -> Answer {
        let (start, plan) = self.apply(&request.point);
        let horizon = Horizon {
            dynamics: self.dynamics,
            start: &start,
            cost: &self.task.cost,
            steps: self.task.horizon,
        };
        let failure = |reason: String| Failure { reason };
        if request.want == Want::Value {
            let value = horizon.value(&plan, work);
            let outcome = if value.is_finite() {
                Ok(Evaluation::Value(value))
            } else {
                Err(failure("the motion does not come to its end".to_owned()))
            };
            return request.answer(outcome);
        }
        let found = horizon.derivatives(&plan, work);
        let outcome = found.map(|found| Evaluation::Gradient {
            value: found.value,
            gradient: {
                let strike = self.strike(&request.point);
                let slopes = strike
                    .map(|(strike, numbers)| strike.slopes(numbers, &start, &found.start))
                    .unwrap_or_default();
                let slope = |decision: &Decision| match &decision.strike {
                    Some(part) => slopes[part.index],
                    None => self.derivative(decision, &found.start, &found.controls),
                };
                self.decisions.iter().map(slope).collect()
            },
        });
        request.answer(outcome.map_err(|error| failure(error.to_string())))
    }
}

impl<D: Dynamics> Evaluator for Motions<'_, D> {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Answer> {
        let wants_slope = |request: &&Request| request.want != Want::Value;
        self.gradients += requests.iter().filter(wants_slope).count() as u64;
        let this = &*self;
        let answers = requests.par_iter().map_init(
            || this.dynamics.work(),
            |work, request| this.answer(request, work),
        );
        answers.collect()
    }
}

/// Searches for the numbers of a task.
///
/// # Errors
/// When there are none, or nothing could be evaluated.
pub fn decide<D: Dynamics>(
    dynamics: &D,
    task: &Control,
    decisions: &[Decision],
    settings: &DecisionSettings,
    seed: u64,
) -> Result<Decided, Error> {
    let ends = |end: usize| decisions.iter().map(|one| one.range[end]).collect();
    let bounds = Bounds::new(ends(0), ends(1)).map_err(crate::error::space)?;
    let mut motions = Motions {
        dynamics,
        task,
        decisions,
        gradients: 0,
    };
    let all = settings.evaluations as u64;
    let quasi_newton = Settings::Local(LocalSettings::Lbfgsb(LbfgsbSettings::default()));
    let cem = Settings::Cem(CemSettings::default());
    let stages = match settings.method {
        SearchMethod::Cem => vec![(cem, all)],
        SearchMethod::Cma => vec![(Settings::CmaEs(CmaSettings::default()), all)],
        SearchMethod::Gradient => vec![(quasi_newton, all)],
        SearchMethod::Both => vec![(cem, all / 3), (quasi_newton, all - all / 3)],
    };
    let mut point: Vec<f64> = decisions.iter().map(|one| one.initial).collect();
    let (mut best, mut evaluations, mut end) = (f64::INFINITY, 0, String::new());
    for (method, limit) in stages {
        let space = Space::new(point.clone(), bounds.clone()).map_err(crate::error::space)?;
        let mut search = method.search(space, seed);
        let limits = Limits {
            evaluations: Some(limit),
            ..Limits::default()
        };
        let ended = minimise(&mut search, &mut motions, &limits, &mut Unobserved)
            .map_err(|cause| Error::of(carom::ErrorKind::Loss, cause))?;
        end = ended.to_string();
        evaluations += search.evaluations();
        if let Some(found) = search.best().filter(|found| found.value < best) {
            best = found.value;
            point = found.point;
        } else if best.is_infinite()
            && let Some(failure) = search.last_failure()
        {
            return Err(crate::error::simulation(failure.reason.clone()));
        }
    }
    let (start, plan) = motions.apply(&point);
    Ok(Decided {
        decision: point,
        cost: best,
        evaluations,
        gradients: motions.gradients,
        start,
        plan,
        end,
    })
}
