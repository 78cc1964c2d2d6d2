//! A run under predictive control, step by step: plan, execute, shift.
//!
//! What moves and what plans are made with are two systems, so that a model can be wrong. Plans that come late are followed one plan
//! later: while one is executed, the next one is made for the state at its end, as the model foresees it.

use carom::{Dynamics, Error, ErrorKind, Input, State};
use serde::{Deserialize, Serialize};

use super::cost::Horizon;
use super::disturbance::Disturbance;
use super::method::{Memory, Planned, Planner, shifted};
use super::mpc::{Control, Executed, Fallback, Judged, Outcome};
use super::quantity::Reading;

/// What is known after a plan, for those who watch.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// How many plans there were.
    pub plans: usize,
    /// How many there will be.
    pub of: usize,
    /// What the last one costs.
    pub cost: f64,
    /// The last one, or the one that goes on instead.
    pub plan: &'a [f64],
    /// The state from which it is executed, as far as it is known.
    pub state: &'a State,
    /// Why the last plan was not usable, if so.
    pub fallback: Option<&'a str>,
}

/// A run that can go on later, with the same bits.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Saved {
    /// Which run it is: whoever resumes another one is told so.
    pub question: String,
    /// Controls that were executed, nu numbers a step: what happened follows from them.
    controls: Vec<f64>,
    plan: Vec<f64>,
    memory: Memory,
    plan_costs: Vec<f64>,
    fallbacks: Vec<(usize, String)>,
    evaluations: usize,
    gradients: usize,
}

/// A run.
#[derive(Debug)]
pub struct Episode<'a, D: Dynamics> {
    plant: &'a D,
    task: &'a Control,
    disturbance: &'a Disturbance,
    work: D::Work,
    input: Input,
    state: State,
    /// Where the plan begins that is refined next: the state, or where it will be after the plan that is executed.
    foreseen: State,
    plan: Vec<f64>,
    /// The plan after that, where plans are followed later.
    coming: Option<Vec<f64>>,
    done: usize,
    cost: Sum,
    outcome: Outcome,
}

/// The cost of what is executed.
#[derive(Debug, Default)]
struct Sum {
    total: f64,
    counted: usize,
    /// Controls of the step before.
    before: Vec<f64>,
    room: Vec<f64>,
}

impl<'a, D: Dynamics> Episode<'a, D> {
    /// From the start of a task.
    pub fn new(plant: &'a D, task: &'a Control, disturbance: &'a Disturbance) -> Self {
        let mut plan = task.first_control.repeat(task.horizon);
        task.ranges.clamp(&mut plan);
        Self {
            plant,
            task,
            disturbance,
            work: plant.work(),
            input: plant.input(),
            state: task.start.clone(),
            foreseen: task.start.clone(),
            plan,
            coming: None,
            done: 0,
            cost: Sum::default(),
            outcome: Outcome::default(),
        }
    }

    /// From where it was saved: what was executed is executed again.
    ///
    /// # Errors
    /// When what was saved does not fit the task.
    pub fn resume(&mut self, saved: &Saved, planner: &mut dyn Planner<D>) -> Result<(), Error> {
        let (nu, whole) = (self.input.ctrl.len(), self.plan.len());
        let steps = saved.controls.len() / nu.max(1);
        let all = saved.controls.iter().chain(&saved.plan);
        let fits = saved.plan.len() == whole
            && saved.controls.len() == steps * nu
            && steps <= self.task.steps
            && all.copied().all(f64::is_finite)
            && planner.recall(&saved.memory, whole);
        if !fits {
            return Err(Error::new(
                ErrorKind::Checkpoint,
                "the checkpoint does not fit this task",
            )
            .remedy("resume with the task it was made with, or start anew"));
        }
        self.follow(&saved.controls, steps);
        self.plan.clone_from(&saved.plan);
        let outcome = &mut self.outcome;
        outcome.plan_costs.clone_from(&saved.plan_costs);
        outcome.evaluations = saved.evaluations;
        outcome.gradients = saved.gradients;
        let fallbacks = saved.fallbacks.iter().cloned();
        outcome.fallbacks = fallbacks
            .map(|(plan, why)| Fallback { plan, why })
            .collect();
        Ok(())
    }

    /// What is needed to go on from here; to be asked for between [`Self::execute`] and [`Self::plan`].
    pub fn saved(&self, question: &str, planner: &dyn Planner<D>) -> Saved {
        let outcome = &self.outcome;
        let fallbacks = outcome.fallbacks.iter();
        Saved {
            question: question.to_owned(),
            controls: outcome.executed.ctrl.clone(),
            plan: self.plan.clone(),
            memory: planner.memory(),
            plan_costs: outcome.plan_costs.clone(),
            fallbacks: fallbacks
                .map(|fallback| (fallback.plan, fallback.why.clone()))
                .collect(),
            evaluations: outcome.evaluations,
            gradients: outcome.gradients,
        }
    }

    /// Whether there is nothing left to execute.
    pub fn is_over(&self) -> bool {
        self.done >= self.task.steps || self.outcome.stopped.is_some()
    }

    /// How many steps were executed.
    pub fn done(&self) -> usize {
        self.done
    }

    /// How many plans there will be.
    pub fn of(&self) -> usize {
        self.task.steps.div_ceil(self.task.execute.max(1))
    }

    /// Where it is.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The plan from here on.
    pub fn current(&self) -> &[f64] {
        &self.plan
    }

    /// Plans with a model, and takes the plan, or where it is not usable, lets the last one go on.
    pub fn plan(&mut self, model: &D, planner: &mut dyn Planner<D>) -> Progress<'_> {
        self.foreseen.copy_from(&self.state);
        let warm = if self.disturbance.is_delayed {
            foresee(model, &mut self.foreseen, &self.plan, self.task.execute);
            shifted(&self.plan, self.task.execute, self.input.ctrl.len())
        } else {
            self.plan.clone()
        };
        let planned = refine(model, self.task, &self.foreseen, &warm, planner);
        self.take(planned, warm)
    }

    /// Takes a plan for the next steps, or for those after them where plans are followed later. `otherwise` goes on where it
    /// is not usable.
    pub fn take(&mut self, planned: Planned, otherwise: Vec<f64>) -> Progress<'_> {
        let of = self.of();
        let outcome = &mut self.outcome;
        outcome.evaluations += planned.evaluations;
        outcome.gradients += planned.gradients;
        let is_usable = planned.cost.is_finite();
        if !is_usable {
            outcome.fallbacks.push(Fallback {
                plan: outcome.plan_costs.len(),
                why: "no motion of the new plan came to its end; the last good plan goes on"
                    .to_owned(),
            });
        }
        outcome.plan_costs.push(planned.cost);
        let plan = if is_usable { planned.plan } else { otherwise };
        let place = if self.disturbance.is_delayed {
            self.coming.insert(plan)
        } else {
            self.plan = plan;
            &mut self.plan
        };
        let fallback = outcome.fallbacks.last().filter(|_| !is_usable);
        Progress {
            plans: outcome.plan_costs.len(),
            of,
            cost: planned.cost,
            plan: place,
            state: &self.foreseen,
            fallback: fallback.map(|fallback| fallback.why.as_str()),
        }
    }

    /// Executes the first steps of the plan, and shifts it.
    pub fn execute(&mut self, planner: &mut dyn Planner<D>) {
        let steps = self.advance(self.task.execute);
        planner.shift(steps, self.input.ctrl.len());
    }

    /// Executes so many steps at most, and shifts the plan; how many there were.
    pub fn advance(&mut self, steps: usize) -> usize {
        let steps = steps.min(self.task.steps - self.done);
        let plan = std::mem::take(&mut self.plan);
        self.follow(&plan, steps);
        let next = self.coming.take();
        self.plan = next.unwrap_or_else(|| shifted(&plan, steps, self.input.ctrl.len()));
        steps
    }

    /// Steps, and records them with their cost.
    fn follow(&mut self, controls: &[f64], steps: usize) {
        let nu = self.input.ctrl.len();
        for row in 0..steps {
            self.input.ctrl.copy_from_slice(&controls[row * nu..][..nu]);
            self.push();
            let out = &mut self.outcome.executed;
            out.push(&self.state, &self.input.ctrl);
            let report = self
                .plant
                .step(&mut self.state, &self.input, &mut self.work);
            let sensors = self.plant.sensors(&self.work);
            out.sensors.extend_from_slice(sensors);
            self.cost.add(self.task, out, sensors, nu);
            self.done += 1;
            if let Some(place) = report.not_finite.or(report.large) {
                let why = format!("{place} after {:.4} s", self.state.time);
                self.outcome.stopped = Some(why);
                break;
            }
        }
    }

    /// Forces of this step.
    fn push(&mut self) {
        for force in &mut self.input.body_force {
            *force = carom::math::Spatial::ZERO;
        }
        let now = self
            .disturbance
            .pushes
            .iter()
            .filter(|push| push.step == self.done);
        for push in now {
            if let Some(force) = self.input.body_force.get_mut(push.body) {
                for (sum, impulse) in force.0[3..].iter_mut().zip(push.impulse) {
                    *sum += impulse / self.input.timestep;
                }
            }
        }
    }

    /// How it went.
    pub fn outcome(mut self, is_interrupted: bool) -> Outcome {
        self.outcome.interrupted = is_interrupted;
        self.outcome.cost = self.cost.total / self.cost.counted.max(1) as f64;
        if self.outcome.stopped.is_none() && self.done >= self.task.steps {
            let (judged, sensors) = self.judge();
            self.outcome.success = !judged.is_empty() && judged.iter().all(|judged| judged.holds);
            self.outcome.judged = judged;
            // The last state too.
            let nu = self.input.ctrl.len();
            let out = &mut self.outcome.executed;
            out.push(&self.state, &self.plan[..nu]);
            out.sensors.extend_from_slice(&sensors);
        }
        self.outcome
    }

    /// Looks at the conditions of the end, and at the sensors there.
    fn judge(&mut self) -> (Vec<Judged>, Vec<f64>) {
        let nu = self.input.ctrl.len();
        self.input.ctrl.copy_from_slice(&self.plan[..nu]);
        // Sensors are read at the start of a step.
        self.plant
            .step(&mut self.state.clone(), &self.input, &mut self.work);
        let sensors = self.plant.sensors(&self.work);
        let reading = Reading {
            qpos: &self.state.qpos,
            qvel: &self.state.qvel,
            act: &self.state.act,
            ctrl: &self.plan[..nu],
            sensors,
        };
        let conditions = self.task.success.iter();
        let judged = conditions.map(|condition| condition.judge(&reading));
        (judged.collect(), sensors.to_vec())
    }
}

/// A plan from a state, of which it is sure that its motion comes to its end; otherwise its cost is infinite.
pub(super) fn refine<D: Dynamics>(
    model: &D,
    task: &Control,
    start: &State,
    warm: &[f64],
    planner: &mut dyn Planner<D>,
) -> Planned {
    let horizon = Horizon {
        dynamics: model,
        start,
        cost: &task.cost,
        steps: task.horizon,
    };
    let mut planned = planner.refine(&horizon, &task.ranges, warm);
    let is_plan = planned.plan.len() == warm.len() && planned.plan.iter().all(|n| n.is_finite());
    if is_plan && planned.cost.is_finite() {
        task.ranges.clamp(&mut planned.plan);
        // Whoever says what a plan costs may be wrong.
        if !horizon.value(&planned.plan, &mut model.work()).is_finite() {
            planned.cost = f64::INFINITY;
        }
    } else {
        planned.cost = f64::INFINITY;
    }
    planned
}

/// Moves a state on by the first steps of a plan, as a model has it.
pub(super) fn foresee<D: Dynamics>(model: &D, state: &mut State, plan: &[f64], steps: usize) {
    let (mut work, mut input) = (model.work(), model.input());
    let nu = input.ctrl.len();
    for row in plan.chunks_exact(nu.max(1)).take(steps) {
        input.ctrl.copy_from_slice(row);
        model.step(state, &input, &mut work);
    }
}

impl Executed {
    fn push(&mut self, state: &State, ctrl: &[f64]) {
        self.time.push(state.time);
        self.qpos.extend_from_slice(&state.qpos);
        self.qvel.extend_from_slice(&state.qvel);
        self.act.extend_from_slice(&state.act);
        self.ctrl.extend_from_slice(ctrl);
    }

    /// The last row of a table.
    fn tail(numbers: &[f64], rows: usize) -> &[f64] {
        &numbers[numbers.len() - numbers.len() / rows.max(1)..]
    }
}

impl Sum {
    /// Adds the state before the step that was taken last, to which the step before led.
    fn add(&mut self, task: &Control, out: &Executed, sensors: &[f64], nu: usize) {
        let rows = out.time.len();
        if rows > 1 {
            let reading = Reading {
                qpos: Executed::tail(&out.qpos, rows),
                qvel: Executed::tail(&out.qvel, rows),
                act: Executed::tail(&out.act, rows),
                ctrl: &self.before,
                sensors,
            };
            // Not at the end of a horizon: terms of the end are left out.
            self.total += task.cost.at(&reading, 0, 1, &mut self.room);
        }
        self.counted += 1;
        self.before.clear();
        self.before
            .extend_from_slice(&out.ctrl[out.ctrl.len() - nu..]);
    }
}
