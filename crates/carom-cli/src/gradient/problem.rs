//! The question: which motion, which number at its end, by what.

use carom::cotangent::StateBar;
use carom::flow::{Adjoint, Flow, FlowSettings, Motion, Onset, Status, Tolerances, Variation};
use carom::linearize::Tangent;
use carom::parameters::Parameters;
use carom::rollout::{self, Controls, Gradient, Loss, NoGradient};
use carom::varied::{self, Varied};
use carom::{Data, Error, ErrorKind, Model, State};

use super::adjoint::{self, Way};
use super::quantity::Quantity;
use super::{Args, method};
use crate::command_line::Argument;
use crate::failure::Failure;
use crate::sim;

/// Something to differentiate by.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: f64,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    OfState(Quantity),
    /// A number of θ.
    Parameter(usize),
}

/// The question.
pub(super) struct Problem<'a> {
    model: &'a Model,
    parameters: Option<Parameters>,
    pub(super) variables: Vec<Variable>,
    start: State,
    controls: Vec<f64>,
    seconds: f64,
    /// Number of the model's own steps, if these are taken.
    steps: usize,
    loss: Quantity,
    pub(super) loss_name: String,
    /// None for the model's own steps.
    flow: Option<FlowSettings>,
    /// For the model's own steps.
    steps_adjoint: rollout::Adjoint,
    /// Whether changes are carried forward.
    is_forward: bool,
}

/// The answer.
pub(super) struct Answer {
    pub(super) value: f64,
    pub(super) derivatives: Vec<f64>,
    pub(super) end: State,
    pub(super) motion: Followed,
}

/// How the motion was followed.
pub(super) enum Followed {
    InSteps(usize),
    InTime(Box<Motion>),
}

impl Followed {
    fn motion(&self) -> Option<&Motion> {
        match self {
            Self::InSteps(_) => None,
            Self::InTime(motion) => Some(motion),
        }
    }

    pub(super) fn onsets(&self) -> impl Iterator<Item = &Onset> {
        self.motion().into_iter().flat_map(Motion::onsets)
    }

    pub(super) fn steps(&self) -> usize {
        match self {
            Self::InSteps(steps) => *steps,
            Self::InTime(motion) => motion.steps(),
        }
    }

    pub(super) fn rejected(&self) -> usize {
        self.motion().map_or(0, Motion::rejected)
    }

    pub(super) fn evaluations(&self) -> usize {
        self.motion().map_or(self.steps(), Motion::evaluations)
    }

    pub(super) fn status(&self) -> String {
        self.motion()
            .map_or(Status::Done, Motion::status)
            .to_string()
    }
}

/// A number of the last state.
struct Last<'a> {
    model: &'a Model,
    quantity: Quantity,
    step: usize,
}

impl Loss for Last<'_> {
    fn by_state(&mut self, step: usize, state: &State, bar: &mut StateBar) {
        if step == self.step {
            self.quantity.seed(self.model, state, bar);
        }
    }
}

impl<'a> Problem<'a> {
    pub(super) fn new(args: &Args, model: &'a Model) -> Result<Self, Failure> {
        let adjoint_argument = Argument::new("--adjoint", &args.adjoint);
        let way = adjoint::parse(adjoint_argument)?;
        let adjoint = match way {
            Way::Backward(adjoint) => adjoint,
            Way::Forward => Adjoint::Stored,
        };
        let flow = method(&args.integrator)?.map(|method| FlowSettings {
            method,
            tolerances: Tolerances::all(args.tolerance),
            adjoint,
            ..FlowSettings::default()
        });
        let (mut steps_adjoint, mut steps) = (rollout::Adjoint::Stored, 0);
        if flow.is_none() {
            steps_adjoint = adjoint::of_steps(way, adjoint_argument)?;
            steps = sim::step_count(args.seconds, model, MAX_STEPS)?;
        }
        let mut start = sim::start_state(model, args.keyframe.as_deref())?;
        let mut controls = vec![0.0; model.counts().nu];
        for setting in &args.settings {
            set(setting, model, &mut start, &mut controls)?;
        }
        let loss = Argument::new("--loss", &args.loss);
        if args.loss.trim().starts_with("ctrl") {
            return Err(loss.unfit(
                "a control is given, not a result",
                "choose qpos[i], qvel[i] or act[i]",
            ));
        }
        let mut problem = Self {
            model,
            parameters: None,
            variables: Vec::new(),
            start,
            controls,
            seconds: args.seconds,
            steps,
            loss: Quantity::parse(loss, &["qpos", "qvel", "act"], model)?,
            loss_name: args.loss.clone(),
            flow,
            steps_adjoint,
            is_forward: way == Way::Forward,
        };
        problem.choose(&args.wrt)?;
        Ok(problem)
    }

    fn choose(&mut self, lists: &[String]) -> Result<(), Failure> {
        let mut selectors = Vec::new();
        let lists = lists.iter().map(|list| Argument::new("--wrt", list));
        for name in lists.flat_map(|list| list.split(',')) {
            // Parameters of a model are `family.name.attribute`.
            if name.text().contains('.') {
                Parameters::select(self.model, &[name.text()])
                    .map_err(|error| name.unselected(&error))?;
                selectors.push(name);
                continue;
            }
            if name.text().is_empty() {
                return Err(name.unfit("an empty name", "write qvel[0] or geom.cube.size"));
            }
            let quantity = Quantity::parse(name, &FAMILIES, self.model)?;
            self.variables.push(Variable {
                name: name.text().to_owned(),
                value: *quantity.of(&mut self.start.clone(), &mut self.controls.clone()),
                kind: Kind::OfState(quantity),
            });
        }
        let Some(&last) = selectors.last() else {
            return Ok(());
        };
        let names: Vec<&str> = selectors.iter().map(|name| name.text()).collect();
        // One by one they are right; together they may contradict each other.
        let parameters =
            Parameters::select(self.model, &names).map_err(|error| last.unselected(&error))?;
        let theta = parameters.theta0();
        for (index, name) in parameters.names().enumerate() {
            self.variables.push(Variable {
                name: name.to_owned(),
                value: theta[index],
                kind: Kind::Parameter(index),
            });
        }
        self.parameters = Some(parameters);
        Ok(())
    }

    fn gradient(&self, model: &Model) -> Result<(State, Gradient, Followed), Error> {
        let controls = Controls::Constant(self.controls.clone());
        let loss = |step: usize| Last {
            model,
            quantity: self.loss,
            step,
        };
        match self.flow {
            None => {
                let steps = self.steps;
                let mut loss = loss(steps);
                let (end, gradient) = rollout::gradient(
                    model,
                    &self.start,
                    &controls,
                    steps,
                    self.steps_adjoint,
                    &mut loss,
                )?;
                Ok((end, gradient, Followed::InSteps(steps)))
            }
            Some(settings) => {
                let flow = Flow::new(model, settings)?;
                let motion = flow.run(&self.start, &controls, self.seconds, 1);
                let gradient = motion.backward(&flow, &controls, &mut loss(1))?;
                Ok((
                    motion.end().clone(),
                    gradient,
                    Followed::InTime(Box::new(motion)),
                ))
            }
        }
    }

    /// The answer by forward sensitivities.
    fn solve_forward(&self, settings: FlowSettings) -> Result<Answer, Error> {
        let variations: Vec<Variation> = (self.variables.iter())
            .map(|variable| self.variation(variable))
            .collect::<Result<_, _>>()?;
        let controls = Controls::Constant(self.controls.clone());
        let flow = Flow::new(self.model, settings)?;
        let motion = flow.run(&self.start, &controls, self.seconds, 1);
        let changes = motion.forward(&flow, &controls, &variations)?;
        let mut end = motion.end().clone();
        let mut bar = StateBar::zeros(self.model);
        self.loss.seed(self.model, &end, &mut bar);
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let by_states = changes.iter().map(|changes| {
            let of_last = |change: &Tangent| {
                let state = dot(&bar.qpos, &change.qpos) + dot(&bar.qvel, &change.qvel);
                state + dot(&bar.act, &change.act)
            };
            changes.last().map_or(0.0, of_last)
        });
        Ok(Answer {
            derivatives: by_states.collect(),
            value: *self.loss.of(&mut end, &mut []),
            end,
            motion: Followed::InTime(Box::new(motion)),
        })
    }

    /// The direction of a variable.
    fn variation(&self, variable: &Variable) -> Result<Variation, Error> {
        match (variable.kind, &self.parameters) {
            (Kind::Parameter(index), Some(parameters)) => {
                let theta = parameters.theta0().iter().enumerate();
                let moving = |(k, &number): (usize, &f64)| {
                    Varied::moving(number, if k == index { 1.0 } else { 0.0 })
                };
                let theta: Vec<_> = theta.map(moving).collect();
                let model = varied::model(parameters, &theta)?;
                Ok(Variation {
                    start: Tangent::zeros(self.model),
                    model: Some(model.map(|number| number.tangent[0])),
                })
            }
            (Kind::OfState(quantity), _) => Ok(Variation {
                start: quantity.direction(self.model, &self.start),
                model: None,
            }),
            (Kind::Parameter(_), None) => {
                Err(Error::new(ErrorKind::Name, "the parameter is not known"))
            }
        }
    }

    pub(super) fn solve(&self) -> Result<Answer, Error> {
        if let (true, Some(settings)) = (self.is_forward, self.flow) {
            return self.solve_forward(settings);
        }
        let (mut end, gradient, motion) = self.gradient(self.model)?;
        let by_theta = match &self.parameters {
            Some(parameters) => parameters.pull_back(parameters.theta0(), &gradient)?,
            None => Vec::new(),
        };
        let derivatives = (self.variables.iter())
            .map(|variable| match variable.kind {
                Kind::OfState(quantity) => quantity.derivative(
                    self.model,
                    &self.start,
                    &gradient.start,
                    &gradient.controls,
                ),
                Kind::Parameter(index) => by_theta[index],
            })
            .collect();
        let value = *self.loss.of(&mut end, &mut []);
        Ok(Answer {
            value,
            derivatives,
            end,
            motion,
        })
    }

    /// The loss with a variable changed.
    fn value(&self, variable: &Variable, change: f64) -> Result<f64, Error> {
        let mut start = self.start.clone();
        let mut controls = self.controls.clone();
        let mut changed = None;
        match variable.kind {
            Kind::OfState(quantity) => *quantity.of(&mut start, &mut controls) += change,
            Kind::Parameter(index) => {
                if let Some(parameters) = &self.parameters {
                    let mut theta = parameters.theta0().to_vec();
                    theta[index] += change;
                    let model = parameters.apply(&theta)?;
                    changed = Some(model);
                }
            }
        }
        let model = changed.as_ref().unwrap_or(self.model);
        let controls = Controls::Constant(controls);
        let mut end = match self.flow {
            None => {
                let mut data = Data::new(model);
                rollout::rollout(model, &start, &controls, self.steps, &mut data).end
            }
            Some(settings) => {
                let flow = Flow::new(model, settings)?;
                let motion = flow.run(&start, &controls, self.seconds, 1);
                if !motion.status().is_done() {
                    return Err(NoGradient::refused(motion.status().to_string()));
                }
                motion.end().clone()
            }
        };
        Ok(*self.loss.of(&mut end, &mut []))
    }

    /// A central difference by a variable, and how far it can be trusted: its distance from that with a step ten times as
    /// long.
    pub(super) fn difference(&self, variable: &Variable) -> Result<(f64, f64), Error> {
        let quotient = |step: f64| {
            let rise = self.value(variable, step)? - self.value(variable, -step)?;
            Ok::<f64, Error>(rise / (2.0 * step))
        };
        let step = 1e-4 * variable.value.abs().max(0.01);
        let (fine, coarse) = (quotient(step)?, quotient(10.0 * step)?);
        Ok((fine, (fine - coarse).abs()))
    }
}

/// Numbers that can be set and differentiated by.
const FAMILIES: [&str; 4] = ["qpos", "qvel", "act", "ctrl"];
/// Most of the model's own steps: their states are stored.
const MAX_STEPS: f64 = 1e7;

/// Carries out `NAME=VALUE`.
fn set(
    setting: &str,
    model: &Model,
    start: &mut State,
    controls: &mut [f64],
) -> Result<(), Failure> {
    let setting = Argument::new("--set", setting);
    let (name, value) = setting
        .split_once('=')
        .ok_or_else(|| setting.unfit("there is no value", "write NAME=VALUE, as in qpos[2]=0.2"))?;
    let quantity = Quantity::parse(name, &FAMILIES, model)?;
    *quantity.of(start, controls) = value.trim().number()?;
    Ok(())
}
