//! Predictive control: plan over a horizon, execute the first steps, shift the plan, plan again.

use carom::rollout::{self, Controls, Course, Recorder, Taken};
use carom::{Dynamics, Input, State};

use super::cost::{Cost, Horizon, Kind};
use super::method::{Planned, Planner, Ranges, shifted};
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
#[derive(Clone, Debug, PartialEq)]
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

/// What is known after a plan, for those who watch.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// How many plans there were.
    pub plans: usize,
    /// How many there will be.
    pub of: usize,
    /// The last one.
    pub planned: &'a Planned,
    /// The plan that is about to be executed.
    pub state: &'a State,
    /// Why the last plan was not usable, if so.
    pub fallback: Option<&'a str>,
}

/// Records what is executed and adds up its cost.
struct Recording<'a> {
    cost: &'a Cost,
    out: &'a mut Executed,
    room: Vec<f64>,
    sum: f64,
    before: Vec<f64>,
    problem: Option<String>,
}

impl<D: Dynamics> Recorder<D> for Recording<'_> {
    fn before(&mut self, _: usize, state: &State, input: &Input) -> bool {
        if self.problem.is_some() {
            return false;
        }
        self.out.time.push(state.time);
        self.out.qpos.extend_from_slice(&state.qpos);
        self.out.qvel.extend_from_slice(&state.qvel);
        self.out.act.extend_from_slice(&state.act);
        self.out.ctrl.extend_from_slice(&input.ctrl);
        true
    }

    fn after(&mut self, _: usize, taken: Taken<'_, D>) {
        let out = &mut *self.out;
        out.sensors.extend_from_slice(taken.sensors);
        let tail = |numbers: &'_ [f64], width: usize| numbers.len() - width;
        let state = taken.state;
        if !self.before.is_empty() {
            let reading = Reading {
                qpos: &out.qpos[tail(&out.qpos, state.qpos.len())..],
                qvel: &out.qvel[tail(&out.qvel, state.qvel.len())..],
                act: &out.act[tail(&out.act, state.act.len())..],
                ctrl: &self.before,
                sensors: taken.sensors,
            };
            // Not at the end of a horizon: terms of the end are left out.
            self.sum += self.cost.at(&reading, 0, 1, &mut self.room);
        }
        let nu = out.ctrl.len() / out.time.len().max(1);
        self.before = out.ctrl[out.ctrl.len() - nu..].to_vec();
        let problem = taken.report.not_finite.or(taken.report.large);
        self.problem = problem.map(|place| format!("{place} after {:.4} s", state.time));
    }
}

/// Controls a system to the end. `watch` is told of every plan, and says whether to go on.
pub fn control<D: Dynamics>(
    dynamics: &D,
    task: &Control,
    planner: &mut dyn Planner<D>,
    watch: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Outcome {
    let nu = dynamics.shape().nu;
    let mut outcome = Outcome {
        success: false,
        judged: Vec::new(),
        cost: f64::NAN,
        plan_costs: Vec::new(),
        evaluations: 0,
        gradients: 0,
        fallbacks: Vec::new(),
        stopped: None,
        interrupted: false,
        executed: Executed::default(),
    };
    let mut plan = task.first_control.repeat(task.horizon);
    task.ranges.clamp(&mut plan);
    let (mut state, mut work) = (task.start.clone(), dynamics.work());
    let of = task.steps.div_ceil(task.execute.max(1));
    let mut done = 0;
    let (mut sum, mut counted, mut before) = (0.0, 0, Vec::new());
    while done < task.steps {
        let horizon = Horizon {
            dynamics,
            start: &state,
            cost: &task.cost,
            steps: task.horizon,
        };
        let mut planned = planner.refine(&horizon, &task.ranges, &plan);
        outcome.evaluations += planned.evaluations;
        outcome.gradients += planned.gradients;
        let is_usable = planned.cost.is_finite() && planned.plan.iter().all(|n| n.is_finite());
        if !is_usable {
            let index = outcome.plan_costs.len();
            planned.plan.clone_from(&plan);
            outcome.fallbacks.push(Fallback {
                plan: index,
                why: "no motion of the new plan came to its end; the last good plan goes on"
                    .to_owned(),
            });
        }
        outcome.plan_costs.push(planned.cost);
        let goes_on = watch(&Progress {
            plans: outcome.plan_costs.len(),
            of,
            planned: &planned,
            state: &state,
            fallback: (!is_usable).then(|| {
                let last = outcome.fallbacks.last();
                last.map_or("", |fallback| fallback.why.as_str())
            }),
        });
        if !goes_on {
            outcome.interrupted = true;
            break;
        }
        plan = planned.plan;
        let execute = task.execute.min(task.steps - done);
        let mut recording = Recording {
            cost: &task.cost,
            out: &mut outcome.executed,
            room: Vec::new(),
            sum: 0.0,
            before,
            problem: None,
        };
        let controls = Controls::PerStep(plan.clone());
        let course = Course {
            stops: true,
            ..Course::new(&controls, execute)
        };
        rollout::run(dynamics, &mut state, &course, &mut work, &mut recording);
        sum += recording.sum;
        counted += execute;
        before = recording.before;
        if let Some(problem) = recording.problem {
            outcome.stopped = Some(problem);
            break;
        }
        done += execute;
        plan = shifted(&plan, execute, nu);
        planner.shift(execute, nu);
    }
    outcome.cost = sum / counted.max(1) as f64;
    if outcome.stopped.is_none() && done >= task.steps {
        let (judged, sensors) = judge(dynamics, &state, &plan, task, &mut work);
        outcome.success = !judged.is_empty() && judged.iter().all(|judged| judged.holds);
        outcome.judged = judged;
        // The last state too.
        let out = &mut outcome.executed;
        out.time.push(state.time);
        out.qpos.extend_from_slice(&state.qpos);
        out.qvel.extend_from_slice(&state.qvel);
        out.act.extend_from_slice(&state.act);
        out.ctrl.extend_from_slice(&plan[..nu]);
        out.sensors.extend_from_slice(&sensors);
    }
    outcome
}

/// Looks at the conditions of the end, and at the sensors there.
fn judge<D: Dynamics>(
    dynamics: &D,
    state: &State,
    plan: &[f64],
    task: &Control,
    work: &mut D::Work,
) -> (Vec<Judged>, Vec<f64>) {
    let mut input = dynamics.input();
    let nu = input.ctrl.len();
    input.ctrl.copy_from_slice(&plan[..nu]);
    // Sensors are read at the start of a step.
    dynamics.step(&mut state.clone(), &input, work);
    let sensors = dynamics.sensors(work);
    let reading = Reading {
        qpos: &state.qpos,
        qvel: &state.qvel,
        act: &state.act,
        ctrl: &plan[..nu],
        sensors,
    };
    let judged = task
        .success
        .iter()
        .map(|condition| condition.judge(&reading));
    (judged.collect(), sensors.to_vec())
}
