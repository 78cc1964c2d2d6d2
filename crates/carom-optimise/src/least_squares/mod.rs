//! Levenberg–Marquardt: Gauss–Newton steps within a trust region [More 1978], within bounds, with robust losses.
//!
//! Near a point the cost ½·‖r‖² is about ½·‖r + J·p‖². Each iteration takes the step p that makes this least within the
//! bounds and ‖D·p‖ ≤ Δ (`trust.rs`); the radius Δ grows where the model predicts well and shrinks where it does not:
//!
//!   ϱ = actual/predicted decrease: Δ ← 3·‖D·p‖ if ϱ ≥ ¾, Δ ← about Δ/3 if ϱ ≤ ¼   (1)
//!
//! D holds the largest length so far of each column of J, so that units do not matter. With an infinite first radius the
//! method is Gauss–Newton's as long as the steps lead down. It ends where the cosine between r and every column of J that
//! the bounds leave free is small, where the cost cannot fall by more than a part, or where Δ is a small part of ‖D·x‖.
//!
//! A residual that cannot be evaluated shrinks the radius as a step does that leads up. Where steps as short as
//! [`LeastSquaresSettings::secants`] says still lead up, derivatives mislead, and the search continues with secants (`secants.rs`).

mod robust;
mod secants;
mod settings;
mod trust;

pub use robust::Loss;
pub use secants::Spans;
pub use settings::LeastSquaresSettings;

use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::linalg::{Matrix, norm, transpose_times};
use crate::optimiser::{Best, Method, Status};
use crate::request::{Answered, Evaluation, Proposal, Want};
use crate::space::Space;
use secants::Neighbour;
use trust::{Reduced, Step};

/// Steps are taken if the actual decrease is at least this fraction of the predicted one [More 1978].
const MIN_AGREEMENT: f64 = 1e-4;

/// Costs below this fraction of the first one are rounding: there is nothing left to gain.
const COST_ROUNDING: f64 = 1e-12;

/// Growth of the radius after a step that the model predicted well, per length of the step. With the usual factor of two,
/// curved valleys take twice the steps.
const RADIUS_GROWTH: f64 = 3.0;

/// Levenberg–Marquardt at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastSquares {
    settings: LeastSquaresSettings,
    bounds: Bounds,
    here: Fit,
    scale: Vec<f64>,
    radius: f64,
    damping: f64,
    phase: Phase,
    iteration: u64,
    best: Option<Best>,
    status: Status,
    /// The end that is reached once the Jacobian of the last step is there.
    ending: Option<Status>,
    last_failure: String,
    /// Where the last step began, should the Jacobian after it fail.
    before: Option<Vec<f64>>,
    /// The cost at the start.
    first_cost: f64,
    /// The span of the secants, where derivatives mislead.
    span: Option<f64>,
    /// The lowest end of the secants of this point.
    neighbour: Option<Neighbour>,
}

/// A point with its residuals and their Jacobian with respect to scaled coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Scaled coordinates.
    pub point: Vec<f64>,
    /// Residuals, not weighted.
    pub residuals: Vec<f64>,
    /// Their Jacobian.
    pub jacobian: Matrix,
    /// The cost.
    pub cost: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Phase {
    /// Waiting for the Jacobian here.
    Linearize,
    /// Waiting for the residuals here, from where secants go on.
    Arrive,
    /// Waiting for the residuals at the ends of the secants.
    Secants,
    /// Waiting for the residuals after a step.
    Trial {
        point: Vec<f64>,
        length: f64,
        predicted: f64,
    },
}

impl LeastSquares {
    /// Start at the start of a space.
    pub fn new(space: &Space, settings: LeastSquaresSettings) -> Self {
        Self::from_point(space.scaled_start(), space.scaled_bounds(), settings)
    }

    /// Start at a scaled point.
    pub(crate) fn from_point(
        point: Vec<f64>,
        bounds: Bounds,
        settings: LeastSquaresSettings,
    ) -> Self {
        let size = point.len();
        let problem = settings.loss.problem();
        Self {
            settings,
            bounds,
            here: Fit {
                point,
                residuals: Vec::new(),
                jacobian: Matrix::zeros(0, size),
                cost: f64::INFINITY,
            },
            scale: vec![0.0; size],
            radius: 0.0,
            damping: 0.0,
            phase: Phase::Linearize,
            iteration: 0,
            best: None,
            status: problem.map_or(Status::Running, Status::Stalled),
            ending: None,
            last_failure: String::new(),
            before: None,
            first_cost: 0.0,
            span: None,
            neighbour: None,
        }
    }

    /// The point of this iteration; at the end the solution with its Jacobian.
    pub fn fit(&self) -> &Fit {
        &self.here
    }

    /// Whether derivatives misled, and secants were taken instead.
    pub fn is_by_secants(&self) -> bool {
        self.span.is_some()
    }

    /// λ of the last step; zero if it was Gauss and Newton's.
    pub fn damping(&self) -> f64 {
        self.damping
    }

    /// Iterations so far.
    pub fn iterations(&self) -> u64 {
        self.iteration
    }

    /// The Jacobian is there: begin the next step from here.
    fn linearized(&mut self, residuals: Vec<f64>, jacobian: Matrix) {
        let first = self.here.cost == f64::INFINITY;
        self.here.cost = self.settings.loss.cost(&residuals);
        self.here.residuals = residuals;
        self.here.jacobian = jacobian;
        self.before = None;
        Best::keep(&mut self.best, &self.here.point, self.here.cost);
        let (jacobian, residuals) = self.weighted();
        for (scale, length) in self.scale.iter_mut().zip(jacobian.column_lengths()) {
            *scale = scale.max(length);
        }
        if first {
            self.first_cost = self.here.cost;
            self.radius = self.settings.first_radius * norm(&self.scaling());
        }
        if let Some(end) = self.ending.take() {
            self.status = end;
        } else if let Some(cosine) = self.right_angle(&jacobian, &residuals) {
            self.status = Status::Converged(format!(
                "the cosine between residuals and their derivatives is {cosine:.1e}"
            ));
        } else if self.iteration >= self.settings.iterations {
            self.status = Status::Finished(format!("all {} iterations are done", self.iteration));
        } else {
            self.try_step(&Reduced::new(&jacobian, &residuals));
        }
    }

    /// D, with ones for coordinates on which nothing depends.
    fn scaling(&self) -> Vec<f64> {
        let one_for_zero = |&d: &f64| if d > 0.0 { d } else { 1.0 };
        self.scale.iter().map(one_for_zero).collect()
    }

    fn scaled_length(&self, point: &[f64]) -> f64 {
        let scaled: Vec<f64> = (self.scaling().iter().zip(point))
            .map(|(d, x)| d * x)
            .collect();
        norm(&scaled)
    }

    /// Jacobian and residuals with the weights of the loss.
    fn weighted(&self) -> (Matrix, Vec<f64>) {
        let mut jacobian = self.here.jacobian.clone();
        let mut residuals = self.here.residuals.clone();
        if self.settings.loss != Loss::Squares {
            for (i, residual) in residuals.iter_mut().enumerate() {
                let [a, b] = self.settings.loss.weights(*residual);
                *residual *= b;
                for entry in jacobian.row_mut(i) {
                    *entry *= a;
                }
            }
        }
        (jacobian, residuals)
    }

    /// The largest cosine if all are small.
    fn right_angle(&self, jacobian: &Matrix, residuals: &[f64]) -> Option<f64> {
        let gradient = transpose_times(jacobian, residuals);
        let length = norm(residuals);
        let mut largest = 0.0_f64;
        let columns = jacobian.column_lengths();
        for (j, &g) in gradient.iter().enumerate() {
            let x = self.here.point[j];
            let held =
                g > 0.0 && x <= self.bounds.lower()[j] || g < 0.0 && x >= self.bounds.upper()[j];
            let column = columns[j];
            if !held && column > 0.0 && length > 0.0 {
                largest = largest.max(g.abs() / column / length);
            }
        }
        (largest <= self.settings.gradient_tolerance).then_some(largest)
    }

    fn try_step(&mut self, reduced: &Reduced) {
        let Step {
            point,
            length,
            damping,
            predicted,
        } = reduced.step(&self.here.point, &self.bounds, &self.scaling(), self.radius);
        self.damping = damping;
        if point == self.here.point {
            // Derivatives are so steep that nothing can be gained along them; secants need not be.
            if !(self.has_more_to_gain() && self.begin_secants()) {
                self.status = Status::Converged("the next step is smaller than rounding".into());
            }
            return;
        }
        self.radius = self.radius.min(if self.iteration == 0 {
            length
        } else {
            self.radius
        });
        self.phase = Phase::Trial {
            point,
            length,
            predicted,
        };
    }

    /// The residuals after a step are there, or their failure.
    fn judge(&mut self, residuals: Option<&[f64]>) -> bool {
        let Phase::Trial {
            point,
            length,
            predicted,
        } = std::mem::replace(&mut self.phase, Phase::Linearize)
        else {
            return false;
        };
        let loss = self.settings.loss;
        let cost = residuals.map_or(f64::INFINITY, |residuals| loss.cost(residuals));
        Best::keep(&mut self.best, &point, cost);
        let actual = self.here.cost - cost;
        let agreement = if predicted > 0.0 {
            actual / predicted
        } else {
            0.0
        };
        self.update_radius(agreement, length, actual.is_finite());
        let taken = agreement >= MIN_AGREEMENT;
        let cost_before = self.here.cost;
        let is_short = self.is_short(&point);
        if taken {
            self.iteration += 1;
            self.before = Some(std::mem::replace(&mut self.here.point, point));
        }
        let at_bottom = self.gains_nothing(actual, predicted, agreement, cost_before);
        let narrow = self.is_narrow();
        // Derivatives promise a gain, and short steps gain nothing, or too little to go on.
        let is_at_odds = is_short && at_bottom.is_none() && (!taken || narrow.is_some());
        if is_at_odds && self.has_more_to_gain() && self.begin_secants() {
            if taken {
                self.phase = Phase::Arrive;
            }
            return false;
        }
        let end = at_bottom.or(narrow);
        if taken {
            self.ending = end;
        } else if let Some(end) = end {
            self.status = end;
        } else {
            let (jacobian, residuals) = self.weighted();
            self.try_step(&Reduced::new(&jacobian, &residuals));
        }
        taken
    }

    /// Whether a step to a point is shorter than the smallest span of secants.
    fn is_short(&self, point: &[f64]) -> bool {
        let smallest = self.settings.secants.map_or(0.0, |spans| spans.last);
        let mut moved = point.iter().zip(&self.here.point);
        moved.all(|(there, here)| (there - here).abs() < smallest)
    }

    fn update_radius(&mut self, agreement: f64, length: f64, known: bool) {
        if !known {
            self.radius = 0.25 * self.radius.min(length);
        } else if agreement <= 0.25 {
            let factor = if agreement >= 0.0 { 0.3 } else { 0.25 };
            self.radius = factor * self.radius.min(10.0 * length); // (1)
        } else if agreement >= 0.75 || self.damping == 0.0 {
            self.radius = RADIUS_GROWTH * length; // (1)
        }
    }

    /// Whether residuals are more than the rounding of those at the start.
    fn has_more_to_gain(&self) -> bool {
        self.here.cost > COST_ROUNDING * self.first_cost
    }

    fn gains_nothing(
        &self,
        actual: f64,
        predicted: f64,
        agreement: f64,
        cost: f64,
    ) -> Option<Status> {
        let part = self.settings.value_tolerance * cost;
        (actual.abs() <= part && predicted <= part && agreement <= 2.0).then(|| {
            let gain = predicted / cost;
            Status::Converged(format!("a step can lower the cost by a part of {gain:.1e}"))
        })
    }

    /// The end where the trust region is too narrow for steps.
    fn is_narrow(&self) -> Option<Status> {
        let span = self.settings.step_tolerance * self.scaled_length(&self.here.point);
        let rounding = f64::EPSILON * norm(&self.scaling());
        if self.radius <= span.max(rounding) {
            let reason = if self.last_failure.is_empty() {
                format!("the trust region is as small as {:.1e}", self.radius)
            } else {
                format!(
                    "the trust region shrank to {:.1e}; the last failure: {}",
                    self.radius, self.last_failure
                )
            };
            return Some(if self.last_failure.is_empty() {
                Status::Converged(reason)
            } else {
                Status::Stalled(reason)
            });
        }
        None
    }

    fn failed(&mut self, reason: String) {
        if matches!(self.phase, Phase::Trial { .. }) {
            self.last_failure = reason;
            self.judge(None);
        } else if let Some(before) = self.before.take() {
            self.step_back(before, reason);
        } else if self.span.is_some() || !self.begin_secants() {
            self.status = Status::Stalled(format!(
                "the start cannot be evaluated: {reason}; start elsewhere"
            ));
        } else {
            // There is no derivative at the start, but perhaps there are residuals.
            self.last_failure = reason;
            self.phase = Phase::Arrive;
        }
    }

    /// There are residuals after the last step but no Jacobian: try a shorter one.
    fn step_back(&mut self, before: Vec<f64>, reason: String) {
        let moved: Vec<f64> = (self.here.point.iter().zip(&before))
            .map(|(here, before)| here - before)
            .collect();
        self.last_failure = reason;
        self.radius = 0.25 * self.radius.min(self.scaled_length(&moved));
        self.here.point = before;
        self.ending = None;
        if let Some(end) = self.is_narrow() {
            self.status = end;
        } else {
            let (jacobian, residuals) = self.weighted();
            self.try_step(&Reduced::new(&jacobian, &residuals));
        }
    }
}

impl Method for LeastSquares {
    fn propose(&mut self) -> Vec<Proposal> {
        let (point, want) = match &self.phase {
            Phase::Secants => return self.secant_proposals(),
            Phase::Linearize => (&self.here.point, Want::Jacobian),
            Phase::Arrive => (&self.here.point, Want::Residuals),
            Phase::Trial { point, .. } if self.settings.eager_jacobian && self.span.is_none() => {
                (point, Want::Jacobian)
            }
            Phase::Trial { point, .. } => (point, Want::Residuals),
        };
        vec![Proposal {
            point: point.clone(),
            want,
        }]
    }

    fn learn(&mut self, answered: Vec<Answered>) {
        if matches!(self.phase, Phase::Secants) {
            self.learn_secants(answered);
            return;
        }
        for Answered { outcome, .. } in answered {
            if self.span.is_some() {
                self.learn_by_secants(outcome);
                continue;
            }
            let in_trial = matches!(self.phase, Phase::Trial { .. });
            match outcome {
                Ok(Evaluation::Residuals(residuals)) if in_trial => {
                    self.last_failure.clear();
                    self.judge(Some(&residuals));
                }
                Ok(Evaluation::Jacobian {
                    residuals,
                    jacobian,
                }) => {
                    self.last_failure.clear();
                    let taken = !in_trial || self.judge(Some(&residuals));
                    if taken {
                        self.linearized(residuals, jacobian);
                    }
                }
                Ok(_) => self.failed("residuals were not given".into()),
                Err(failure) => self.failed(failure.reason),
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
