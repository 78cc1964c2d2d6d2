//! Quasi-Newton steps with limited memory and bounds, L-BFGS-B [Byrd 1995; Morales 2011].
//!
//! Each iteration finds the least point x̄ of a quadratic model within the bounds (`model_step.rs`) and searches along
//! d = x̄ − x for a step that meets Wolfe's conditions (`line_search.rs`); the change of the gradient on the way improves the
//! model (`memory.rs`). It ends where
//!
//!   ‖P(x − g) − x‖∞ ≤ tolerance·e   or   f − f⁺ ≤ tolerance·max(|f|, |f⁺|, e)   (1)
//!
//! with the unit e = min(1, |f₀|): losses that are small from the start are followed as far as others are.
//! Points that cannot be evaluated shorten the step; what was found on the shorter side is kept.

mod line_search;
mod memory;
mod model_step;

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::linalg::{add_scaled, dot, largest, norm};
use crate::optimiser::{Best, Method, Status};
use crate::request::{Answered, Evaluation, Proposal, Want};
use crate::space::Space;
use line_search::{LineSearch, Next, Trial};
use memory::Memory;
use model_step::model_minimum;

/// Settings of L-BFGS-B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbfgsbSettings {
    /// Steps that are remembered.
    pub memory: usize,
    /// Largest entry of the projected gradient at which the search has converged, (1).
    pub gradient_tolerance: f64,
    /// Decrease in one iteration, relative to the value, at which the search has converged, (1).
    pub value_tolerance: f64,
    /// Iterations in all.
    pub iterations: u64,
    /// Evaluations along one line.
    pub line_evaluations: u32,
    /// The longest first step in scaled coordinates, before anything is known of curvature; by default the length of the
    /// gradient up to one, or, where all coordinates have two bounds, as far as these let it go. That is quick where values
    /// have one minimum, and leaves the nearest where they have many.
    pub first_step: Option<f64>,
}

impl Default for LbfgsbSettings {
    fn default() -> Self {
        Self {
            memory: 10,
            gradient_tolerance: 1e-5,
            value_tolerance: 2.2e-9,
            iterations: 15_000,
            line_evaluations: 20,
            first_step: None,
        }
    }
}

/// L-BFGS-B at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lbfgsb {
    settings: LbfgsbSettings,
    bounds: Bounds,
    /// The point of this iteration with its value and gradient; the start has none at first.
    here: Spot,
    known: bool,
    memory: Memory,
    line: Option<Line>,
    iteration: u64,
    /// e of (1).
    unit: f64,
    best: Option<Best>,
    status: Status,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Spot {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// A line that is being searched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    target: Vec<f64>,
    direction: Vec<f64>,
    search: LineSearch,
    step: f64,
    evaluations: u32,
    /// The lowest trial that is low enough, should later ones fail.
    fallback: Option<Spot>,
    last_failure: String,
}

impl Lbfgsb {
    /// Start at the start of a space.
    pub fn new(space: &Space, settings: LbfgsbSettings) -> Self {
        Self::from_point(space.scaled_start(), space.scaled_bounds(), settings)
    }

    /// Start at a scaled point.
    pub(crate) fn from_point(point: Vec<f64>, bounds: Bounds, settings: LbfgsbSettings) -> Self {
        let size = point.len();
        Self {
            settings,
            bounds,
            here: Spot {
                point,
                value: f64::INFINITY,
                gradient: vec![0.0; size],
            },
            known: false,
            memory: Memory::new(size),
            line: None,
            iteration: 0,
            unit: 1.0,
            best: None,
            status: Status::Running,
        }
    }

    /// Iterations so far.
    pub fn iterations(&self) -> u64 {
        self.iteration
    }

    fn begin(&mut self, spot: Spot) {
        self.unit = unit_of(spot.value);
        self.here = spot;
        self.known = true;
        if !self.has_converged_by_gradient() {
            self.open_line();
        }
    }

    fn has_converged_by_gradient(&mut self) -> bool {
        let projected = self
            .bounds
            .projected_gradient(&self.here.point, &self.here.gradient);
        let slope = largest(&projected);
        let converged = slope <= self.settings.gradient_tolerance * self.unit; // (1)
        if converged {
            self.status = Status::Converged(format!(
                "the largest entry of the projected gradient is {slope:.1e}"
            ));
        }
        converged
    }

    /// Begin a line from here; without a way down first forget the memory, then give up.
    fn open_line(&mut self) {
        loop {
            let Spot {
                point,
                value,
                gradient,
            } = &self.here;
            let target = model_minimum(&self.bounds, point, gradient, &self.memory);
            let direction: Vec<f64> = target.iter().zip(point).map(|(t, p)| t - p).collect();
            let slope = dot(&direction, gradient);
            let usable = slope < 0.0 && slope.is_finite() && norm(&direction).is_finite();
            if usable {
                let first = self.memory.is_empty();
                let longest = self.longest_step(&direction, first);
                let step = self.first_step(&direction, first).min(longest);
                self.line = Some(Line {
                    search: LineSearch::new(*value, slope, step, longest),
                    target,
                    direction,
                    step,
                    evaluations: 0,
                    fallback: None,
                    last_failure: String::new(),
                });
                return;
            }
            if self.memory.is_empty() {
                self.line = None;
                let steep = largest(gradient);
                self.status = Status::Stalled(format!(
                    "no direction leads down within the bounds, the largest slope is {steep:.1e}"
                ));
                return;
            }
            self.memory = Memory::new(point.len());
        }
    }

    /// Without knowledge of curvature a step is at most one unit long, unless bounds say how far to go.
    fn first_step(&self, direction: &[f64], first: bool) -> f64 {
        let boxed = (0..direction.len()).all(|i| self.bounds.is_boxed(i));
        match self.settings.first_step {
            Some(longest) if first => 1.0_f64.min(longest / norm(direction)),
            None if first && !boxed => 1.0_f64.min(1.0 / norm(direction)),
            _ => 1.0,
        }
    }

    fn longest_step(&self, direction: &[f64], first: bool) -> f64 {
        let bounded =
            |i: usize| self.bounds.lower()[i].is_finite() || self.bounds.upper()[i].is_finite();
        if first && (0..direction.len()).any(bounded) {
            return 1.0;
        }
        let mut longest = 1e10_f64;
        for (i, &d) in direction.iter().enumerate() {
            let at = self.here.point[i];
            if d > 0.0 {
                longest = longest.min((self.bounds.upper()[i] - at) / d);
            } else if d < 0.0 {
                longest = longest.min((self.bounds.lower()[i] - at) / d);
            }
        }
        // The target lies within the bounds: what is missing to one is rounding.
        longest.max(1.0)
    }

    fn trial_point(&self, line: &Line) -> Vec<f64> {
        if line.step == 1.0 {
            return line.target.clone();
        }
        let mut point = self.here.point.clone();
        add_scaled(&mut point, line.step, &line.direction);
        self.bounds.project(&mut point);
        point
    }

    fn go_on(&mut self, spot: Spot) {
        let Some(mut line) = self.line.take() else {
            return;
        };
        line.evaluations += 1;
        let trial = Trial {
            step: line.step,
            value: spot.value,
            slope: dot(&spot.gradient, &line.direction),
        };
        let low_enough = line.search.is_low_enough(trial);
        let next = line.search.advance(trial);
        let lower = |fallback: &Spot| spot.value < fallback.value;
        if low_enough && line.fallback.as_ref().is_none_or(lower) {
            line.fallback = Some(spot.clone());
        }
        match next {
            Next::Accept if low_enough => self.arrive(spot),
            Next::Try(step) if step > 0.0 && line.evaluations < self.settings.line_evaluations => {
                line.step = step;
                self.line = Some(line);
            }
            _ => self.settle(line),
        }
    }

    fn shorten(&mut self, reason: String) {
        let Some(mut line) = self.line.take() else {
            self.status = Status::Stalled(format!(
                "the start cannot be evaluated: {reason}; start elsewhere"
            ));
            return;
        };
        line.evaluations += 1;
        line.last_failure = reason;
        if line.fallback.is_some() || line.evaluations >= self.settings.line_evaluations {
            self.settle(line);
        } else {
            line.step = line.search.shorten(line.step);
            self.line = Some(line);
        }
    }

    /// The line search found no more: take the lowest trial that was low enough, or begin anew without memory.
    fn settle(&mut self, line: Line) {
        if let Some(spot) = line.fallback {
            self.arrive(spot);
        } else if self.memory.is_empty() {
            let failure = if line.last_failure.is_empty() {
                "values or gradients are noisier than the tolerance asks for".to_owned()
            } else {
                line.last_failure
            };
            self.status = Status::Stalled(format!(
                "no step along the gradient brings a lower value: {failure}"
            ));
        } else {
            self.memory = Memory::new(self.here.point.len());
            self.open_line();
        }
    }

    /// A step is done.
    fn arrive(&mut self, spot: Spot) {
        self.iteration += 1;
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
        let step: Vec<f64> = difference(&spot.point, &self.here.point);
        let change: Vec<f64> = difference(&spot.gradient, &self.here.gradient);
        let (before, after) = (self.here.value, spot.value);
        self.here = spot;
        if self.has_converged_by_gradient() {
            return;
        }
        let scale = before.abs().max(after.abs()).max(self.unit);
        if before - after <= self.settings.value_tolerance * scale {
            let decrease = before - after;
            self.status =
                Status::Converged(format!("the last step lowered the value by {decrease:.1e}")); // (1)
            return;
        }
        if self.iteration >= self.settings.iterations {
            self.status = Status::Finished(format!("all {} iterations are done", self.iteration));
            return;
        }
        self.memory.remember(step, change, self.settings.memory);
        self.open_line();
    }
}

/// The unit in which changes of a loss are judged, from its first value.
pub(crate) fn unit_of(first: f64) -> f64 {
    if first == 0.0 || !first.is_finite() {
        1.0
    } else {
        first.abs().min(1.0)
    }
}

impl Method for Lbfgsb {
    fn propose(&mut self) -> Vec<Proposal> {
        let point = match &self.line {
            Some(line) => self.trial_point(line),
            None => self.here.point.clone(),
        };
        vec![Proposal {
            point,
            want: Want::Gradient,
        }]
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        for Answered { point, outcome } in answered {
            match outcome {
                Ok(Evaluation::Gradient { value, gradient }) => {
                    Best::keep(&mut self.best, &point, value);
                    let spot = Spot {
                        point,
                        value,
                        gradient,
                    };
                    if self.known {
                        self.go_on(spot);
                    } else {
                        self.begin(spot);
                    }
                }
                Ok(_) => self.shorten("no gradient was given".into()),
                Err(failure) => self.shorten(failure.reason),
            }
        }
    }

    fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    fn status(&self) -> &Status {
        &self.status
    }
}
