//! What a plan is to make small, from named quantities, with its exact gradient.
//!
//! With xᵢ the state after i steps and y what the sensors read there, a plan u over N steps costs
//!
//! ```text
//!   J(u) = 1/N·Σᵢ₌₁ᴺ Σ w·ρ(r(xᵢ, uᵢ₋₁, yᵢ)) + Σ w·ρ(r(x_N, …))        (1)
//! ```
//!
//! over terms of every step and terms of the end, with r a [`Quantity`] and ρ a [`Kind`]. Sensors are read at the start of a
//! step: a plan over N steps is followed over N + 1, the last control held.

use carom::cotangent::StateBar;
use carom::rollout::{self, Controls, Course, Growth, Recorder, Rollout, RolloutBar, Taken};
use carom::{Dynamics, Error, Input, Model, State};

use super::quantity::{Quantity, Reading, ReadingBar};
use super::truncation::Truncated;

/// How a vector r becomes a cost ρ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// |r|².
    Square,
    /// |r|, or √(|r|² + w²) − w where a width w is given.
    Norm {
        /// The width w, in units of r.
        width: f64,
    },
    /// Σ |rₖ|, or Σ √(rₖ² + w²) − w.
    Abs {
        /// The width w, in units of r.
        width: f64,
    },
    /// Σ rₖ.
    Linear,
}

impl Kind {
    /// ρ(r).
    pub fn value(self, residual: &[f64]) -> f64 {
        let squares = || residual.iter().map(|number| number * number);
        match self {
            Self::Square => squares().sum(),
            Self::Norm { width } => (squares().sum::<f64>() + width * width).sqrt() - width,
            Self::Abs { width } => squares().map(|s| (s + width * width).sqrt() - width).sum(),
            Self::Linear => residual.iter().sum(),
        }
    }

    /// Replaces r by factor·∂ρ/∂r. Where a norm has a kink, zero is among its slopes and is taken.
    pub fn slope(self, residual: &mut [f64], factor: f64) {
        let over = |number: f64, length: f64| if length > 0.0 { number / length } else { 0.0 };
        match self {
            Self::Square => residual.iter_mut().for_each(|r| *r *= 2.0 * factor),
            Self::Norm { width } => {
                let squares: f64 = residual.iter().map(|number| number * number).sum();
                let length = (squares + width * width).sqrt();
                for r in residual {
                    *r = factor * over(*r, length);
                }
            }
            Self::Abs { width } => {
                for r in residual {
                    *r = factor * over(*r, (*r * *r + width * width).sqrt());
                }
            }
            Self::Linear => residual.fill(factor),
        }
    }

    /// A curvature of ρ along and across r that is not negative, for second-order methods: ρ'' ≈ along·n·nᵀ + across·(I − n·nᵀ).
    pub(super) fn curvature(self, residual: &[f64]) -> [f64; 2] {
        /// Least length by which kinks of norms are rounded, in units of r.
        const MIN_WIDTH: f64 = 1e-3;
        match self {
            Self::Square => [2.0, 2.0],
            Self::Norm { width } | Self::Abs { width } => {
                let squares: f64 = residual.iter().map(|number| number * number).sum();
                let width = width.max(MIN_WIDTH);
                let length = (squares + width * width).sqrt();
                [width * width / (length * length * length), 1.0 / length]
            }
            Self::Linear => [0.0, 0.0],
        }
    }
}

/// A term of a cost.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTerm {
    /// What it is called.
    pub name: String,
    /// What it looks at.
    pub quantity: Quantity,
    /// How that becomes a number.
    pub kind: Kind,
    /// Its weight.
    pub weight: f64,
    /// Whether it looks at the end alone.
    pub is_terminal: bool,
}

/// The cost of a plan (1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    terms: Vec<CostTerm>,
    width: usize,
    uses_sensors: bool,
}

impl Cost {
    /// Of terms.
    pub fn new(terms: Vec<CostTerm>) -> Self {
        let widths = terms.iter().map(|term| term.quantity.width());
        Self {
            width: widths.max().unwrap_or(0),
            uses_sensors: terms.iter().any(|term| term.quantity.uses_sensors()),
            terms,
        }
    }

    /// Its terms.
    pub fn terms(&self) -> &[CostTerm] {
        &self.terms
    }

    /// Terms with the factor that they have at a moment of a horizon of some steps.
    pub(super) fn weighted(
        &self,
        moment: usize,
        steps: usize,
    ) -> impl Iterator<Item = (&CostTerm, f64)> {
        self.terms.iter().filter_map(move |term| {
            let factor = match term.is_terminal {
                true if moment == steps => term.weight,
                true => return None,
                false => term.weight / steps as f64,
            };
            Some((term, factor))
        })
    }

    /// What a moment adds.
    pub fn at(
        &self,
        reading: &Reading<'_>,
        moment: usize,
        steps: usize,
        room: &mut Vec<f64>,
    ) -> f64 {
        room.resize(self.width, 0.0);
        let terms = self.weighted(moment, steps);
        let values = terms.map(|(term, factor)| {
            let residual = &mut room[..term.quantity.width()];
            term.quantity.read(reading, residual);
            factor * term.kind.value(residual)
        });
        values.sum()
    }

    /// Adds the derivatives of what a moment adds.
    pub fn pull(
        &self,
        reading: &Reading<'_>,
        moment: usize,
        steps: usize,
        into: &mut ReadingBar<'_>,
    ) {
        let mut room = vec![0.0; self.width];
        for (term, factor) in self.weighted(moment, steps) {
            let residual = &mut room[..term.quantity.width()];
            term.quantity.read(reading, residual);
            term.kind.slope(residual, factor);
            term.quantity.pull(residual, into);
        }
    }
}

/// The cost of a plan, with its derivatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivatives {
    /// The cost.
    pub value: f64,
    /// By the controls of each step, nu numbers a step.
    pub controls: Vec<f64>,
    /// By the initial state.
    pub start: StateBar,
    /// Length of the derivative by the state before each step, and by the last one.
    pub norms: Vec<f64>,
    /// Steps before which the derivative was cut off, last first; none where it is the gradient.
    pub cuts: Vec<usize>,
}

/// A stretch of time to plan for.
#[derive(Debug)]
pub struct Horizon<'a, D: Dynamics> {
    /// What moves.
    pub dynamics: &'a D,
    /// Where it begins.
    pub start: &'a State,
    /// What is to be small.
    pub cost: &'a Cost,
    /// How many steps it has.
    pub steps: usize,
}

impl<D: Dynamics> Clone for Horizon<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Dynamics> Copy for Horizon<'_, D> {}

/// Adds up the cost while a trajectory is followed.
struct Adding<'a> {
    cost: &'a Cost,
    steps: usize,
    state: State,
    /// Controls of this step and the one before.
    controls: [Vec<f64>; 2],
    room: Vec<f64>,
    sum: f64,
    failed: bool,
}

impl<D: Dynamics> Recorder<D> for Adding<'_> {
    fn before(&mut self, step: usize, state: &State, input: &Input) -> bool {
        if step > 0 {
            self.state.copy_from(state);
        }
        self.controls.swap(0, 1);
        self.controls[1].copy_from_slice(&input.ctrl);
        !self.failed
    }

    fn after(&mut self, step: usize, taken: Taken<'_, D>) {
        self.failed |= taken.report.not_finite.is_some() || taken.report.large.is_some();
        if step > 0 {
            let reading = Reading {
                qpos: &self.state.qpos,
                qvel: &self.state.qvel,
                act: &self.state.act,
                ctrl: &self.controls[0],
                sensors: taken.sensors,
            };
            self.sum += self.cost.at(&reading, step, self.steps, &mut self.room);
        }
    }
}

impl<D: Dynamics> Horizon<'_, D> {
    /// The cost of a plan, nu numbers a step; infinite where the motion does not come to its end.
    pub fn value(&self, plan: &[f64], work: &mut D::Work) -> f64 {
        let controls = Controls::PerStep(plan.to_vec());
        let nu = self.dynamics.shape().nu;
        let mut adding = Adding {
            cost: self.cost,
            steps: self.steps,
            state: self.start.clone(),
            controls: [vec![0.0; nu], vec![0.0; nu]],
            room: Vec::new(),
            sum: 0.0,
            failed: false,
        };
        let course = Course {
            stops: true,
            ..Course::new(&controls, self.steps + 1)
        };
        let mut state = self.start.clone();
        rollout::run(self.dynamics, &mut state, &course, work, &mut adding);
        if adding.failed || !adding.sum.is_finite() {
            return f64::INFINITY;
        }
        adding.sum
    }

    /// The cost of a plan and its gradient.
    ///
    /// # Errors
    /// When the motion does not come to its end or has no derivative.
    pub fn derivatives(&self, plan: &[f64], work: &mut D::Work) -> Result<Derivatives, Error> {
        self.derivatives_within(plan, f64::INFINITY, work)
    }

    /// The cost of a plan and its gradient, cut off where it has grown beyond so many times what the cost put in: no longer the
    /// gradient then, but the one of motions whose stiff moments are as they are.
    ///
    /// # Errors
    /// As [`Self::derivatives`].
    pub fn derivatives_within(
        &self,
        plan: &[f64],
        growth: f64,
        work: &mut D::Work,
    ) -> Result<Derivatives, Error> {
        let controls = Controls::PerStep(plan.to_vec());
        let motion = self.motion(&controls, work)?;
        let (value, loss, mut control_bars) = self.loss(&motion, plan);
        let (gradient, cuts) = if growth.is_finite() {
            let mut loss = Truncated::new(loss, growth);
            let gradient = motion.backward(self.dynamics, &controls, &mut loss)?;
            (gradient, loss.cuts)
        } else {
            let mut loss = loss;
            let gradient = motion.backward(self.dynamics, &controls, &mut loss)?;
            (gradient, Vec::new())
        };
        // The last control is held for the steps beyond the plan.
        let nu = self.dynamics.shape().nu.max(1);
        let rows = plan.len() / nu;
        for (step, row) in gradient.controls.chunks_exact(nu).enumerate() {
            let first = step.min(rows - 1) * nu;
            for (sum, term) in control_bars[first..].iter_mut().zip(row) {
                *sum += term;
            }
        }
        Ok(Derivatives {
            value,
            controls: control_bars,
            start: gradient.start,
            norms: gradient.norms,
            cuts,
        })
    }

    /// The motion that follows a plan, with a step beyond it for what sensors read at its end.
    fn motion(&self, controls: &Controls, work: &mut D::Work) -> Result<Rollout<D::Trace>, Error> {
        let course = Course::new(controls, self.steps + 1);
        let motion = self.dynamics.rollout(self.start, &course, work);
        match self.dynamics.stopped(&motion) {
            Some((step, why)) => Err(crate::error::simulation(format!("{why} in step {step}"))),
            None => Ok(motion),
        }
    }

    /// The cost of a motion, its slopes by states and sensors, and those by controls alone.
    fn loss(&self, motion: &Rollout<D::Trace>, plan: &[f64]) -> (f64, RolloutBar, Vec<f64>) {
        let (steps, shape) = (self.steps, self.dynamics.shape());
        let nu = shape.nu;
        let mut loss = RolloutBar::zeros(motion);
        let mut control_bars = vec![0.0; plan.len()];
        let (mut value, mut room) = (0.0, Vec::new());
        let (mut qpos, mut qvel) = (vec![0.0; shape.nv], vec![0.0; shape.nv]);
        let (mut act, mut sensors) = (vec![0.0; shape.na], vec![0.0; shape.sensors]);
        for moment in 1..=steps {
            let row = (moment - 1).min((plan.len() / nu.max(1)).saturating_sub(1)) * nu;
            let reading = Reading {
                qpos: motion.qpos(moment),
                qvel: motion.qvel(moment),
                act: motion.act(moment),
                ctrl: &plan[row..row + nu],
                sensors: motion.sensors(moment),
            };
            value += self.cost.at(&reading, moment, steps, &mut room);
            for numbers in [&mut qpos, &mut qvel, &mut act, &mut sensors] {
                numbers.fill(0.0);
            }
            let mut bar = ReadingBar {
                qpos: &mut qpos,
                qvel: &mut qvel,
                act: &mut act,
                ctrl: &mut control_bars[row..row + nu],
                sensors: &mut sensors,
            };
            self.cost.pull(&reading, moment, steps, &mut bar);
            loss.qpos_mut(moment).copy_from_slice(&qpos);
            loss.qvel_mut(moment).copy_from_slice(&qvel);
            loss.act_mut(moment).copy_from_slice(&act);
            if self.cost.uses_sensors {
                loss.sensors_mut(moment).copy_from_slice(&sensors);
            }
        }
        (value, loss, control_bars)
    }
}

impl Horizon<'_, Model> {
    /// How the gradient of a plan grows from the end of the horizon to its start, and through what: the `count` steps that make
    /// it grow most.
    ///
    /// # Errors
    /// As [`Self::derivatives`].
    pub fn growth(&self, plan: &[f64], count: usize) -> Result<Growth, Error> {
        let controls = Controls::PerStep(plan.to_vec());
        let motion = self.motion(&controls, &mut self.dynamics.work())?;
        let (_, mut loss, _) = self.loss(&motion, plan);
        motion.growth(self.dynamics, &controls, &mut loss, count)
    }
}
