//! The question made ready: which numbers are unknown, where they start, within which bounds, and what the loss and its
//! derivatives are at a point, priors included.

use crate::error;
use carom::Model;
use carom::parameters::{Parameters, Transform};
use carom::quantity::{LEAST_DRY_FRICTION, Quantity};
use carom::{Error, Place};
use carom_optimise::linalg::Matrix;
use carom_optimise::{Bounds, Evaluation, Failure, Outcome, Space, Want};

use super::settings::INERTIA_SD;
use super::torques::{Torques, inertia_deviations};
use super::{Free, OptimiserKind, Prior, ResidualKind, Settings};
use crate::loss::Average;
use crate::problem::{Horizon, Linear, Problem, Starts};
use crate::recording::Recordings;

/// Numbers of a Jacobian that Levenberg–Marquardt may hold.
pub(super) const MAX_JACOBIAN_ENTRIES: usize = 60_000_000;

/// How far a search goes in a logarithm: a factor of 10⁸. Where the best value is zero, it would go on for ever, and numbers that are
/// far out hide the others from the tests for its end.
const MAX_LOG_DISTANCE: f64 = 18.4;

/// What is known before of a number of θ: (θ − mean)/deviation is a residual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ThetaPrior {
    pub(super) index: usize,
    pub(super) mean: f64,
    /// One over the deviation, in the weight of the loss.
    pub(super) factor: f64,
}

impl ThetaPrior {
    /// Its part of the gradient of the loss with respect to its number of θ.
    pub(super) fn gradient(&self, theta: &[f64]) -> f64 {
        (theta[self.index] - self.mean) * self.factor * self.factor
    }
}

/// A question that can be solved; see the [module](super) documentation.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    pub(super) problem: Problem<'a>,
    pub(super) settings: Settings,
    pub(super) space: Space,
    pub(super) priors: Vec<ThetaPrior>,
    pub(super) optimiser: OptimiserKind,
    /// Torques that are compared too, or alone.
    pub(super) torques: Option<Torques>,
    /// θ of the question, before any warm-up.
    origin: Vec<f64>,
    /// Standard deviations of θ between the passes of a horizon that has grown; empty where none has.
    pub(super) pass_spread: Vec<f64>,
}

impl<'a> Task<'a> {
    /// # Errors
    /// When parameters, recordings and settings do not go together.
    pub fn new(
        model: &Model,
        recordings: &'a Recordings,
        settings: Settings,
    ) -> Result<Self, Error> {
        if settings.free.is_empty() {
            return Err(error::settings(
                "no parameter is free: name some, such as geom.cube.friction[0]".to_owned(),
            ));
        }
        let selections: Vec<_> = (settings.free.iter())
            .map(|free| free.selection.clone())
            .collect();
        let started = started(model, &settings.free)?;
        let model = started.as_ref().unwrap_or(model);
        let parameters = Parameters::new(model, &selections)?;
        if parameters.has_state() {
            return Err(error::settings(
                "the initial state is not a parameter of the model: leave state.… out and set starts free".to_owned(),
            ));
        }
        let owner = |&selection: &usize| &settings.free[selection];
        let owners: Vec<&Free> = parameters.selections_of().iter().map(owner).collect();
        let problem = Problem::new(recordings, parameters, settings.problem.clone())?;
        let known = Known {
            problem: &problem,
            owners: &owners,
            is_local: settings.optimiser.is_local(),
            inertia_sd: settings.inertia_sd.or_else(|| {
                let has_torques = settings.residual != ResidualKind::Prediction;
                has_torques.then_some(INERTIA_SD)
            }),
        };
        let space = known.space()?;
        let priors = known.priors()?;
        let mut optimiser = settings.optimiser;
        let fits = problem.residual_count() * problem.len() <= MAX_JACOBIAN_ENTRIES;
        match optimiser {
            OptimiserKind::Auto if fits => optimiser = OptimiserKind::Lm,
            OptimiserKind::Auto => optimiser = OptimiserKind::Lbfgs,
            OptimiserKind::Lm if !fits => {
                return Err(error::settings(format!(
                    "{} residuals by {} unknowns are too many for a Jacobian in memory: use lbfgs, fewer trajectories, or starts as recorded",
                    problem.residual_count(),
                    problem.len()
                )));
            }
            _ => {}
        }
        let torques = match (settings.residual, settings.problem.starts) {
            (ResidualKind::Prediction, _) => None,
            (_, Starts::Recorded) => Some(Torques::new(problem.parameters(), recordings)?),
            _ => {
                return Err(error::settings(
                    "torques are compared with initial states as recorded: leave --free-initial-states and draws out",
                ));
            }
        };
        let origin = space.start()[..problem.parameters().len()].to_vec();
        Ok(Self {
            problem,
            settings,
            space,
            priors,
            optimiser,
            torques,
            origin,
            pass_spread: Vec::new(),
        })
    }

    /// The same question on segments of so many frames that start as recorded.
    pub(super) fn on_segments(&self, frames: usize) -> Result<Self, Error> {
        let mut settings = self.settings.problem.clone();
        settings.horizon = Horizon::Segments {
            frames,
            every: frames.saturating_sub(1).max(1),
        };
        settings.starts = Starts::Recorded;
        self.with_problem(settings)
    }

    /// The same question over another horizon.
    pub(super) fn with_horizon(&self, horizon: Horizon) -> Result<Self, Error> {
        let mut settings = self.settings.problem.clone();
        settings.horizon = horizon;
        self.with_problem(settings)
    }

    /// The same parameters in another problem. Shifts of starts begin where they are if there are as many of them, else at zero.
    pub(super) fn with_problem(&self, problem: crate::problem::Settings) -> Result<Self, Error> {
        let mut settings = self.settings.clone();
        settings.problem = problem;
        let problem = Problem::new(
            self.problem.recordings,
            self.parameters().clone(),
            settings.problem.clone(),
        )?;
        let count = self.origin.len();
        let unknowns = problem.len();
        let of_theta = |numbers: &[f64], rest: f64| {
            let mut numbers = numbers[..count].to_vec();
            numbers.resize(unknowns, rest);
            numbers
        };
        let mut start = of_theta(self.space.start(), 0.0);
        if unknowns == self.space.start().len() {
            start = self.space.start().to_vec();
        }
        let mut scale = self.theta_scale().to_vec();
        scale.extend(problem.start_deviations());
        let bounds = self.space.bounds();
        let bounds = Bounds::new(
            of_theta(bounds.lower(), f64::NEG_INFINITY),
            of_theta(bounds.upper(), f64::INFINITY),
        );
        let space = bounds
            .and_then(|bounds| Space::new(start, bounds)?.with_scale(scale))
            .map_err(error::space)?;
        Ok(Self {
            problem,
            settings,
            space,
            ..self.clone()
        })
    }

    /// The question with θ, or all unknowns, started elsewhere.
    pub(super) fn start_at(&mut self, theta: &[f64]) -> Result<(), Error> {
        let mut start = self.space.start().to_vec();
        start[..theta.len()].copy_from_slice(theta);
        let space = Space::new(start, self.space.bounds().clone())
            .and_then(|space| space.with_scale(self.space.scale().to_vec()));
        self.space = space.map_err(error::space)?;
        Ok(())
    }

    /// The problem: parameters, recordings and loss.
    pub fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        self.problem.parameters()
    }

    /// The optimiser, chosen if that was left open.
    pub fn optimiser(&self) -> OptimiserKind {
        self.optimiser
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where the search starts: θ, then the shifts of the starts.
    pub fn start(&self) -> &[f64] {
        self.space.start()
    }

    /// θ of the question, before any warm-up.
    pub fn start_theta(&self) -> &[f64] {
        &self.origin
    }

    /// The unknowns of the question, before any warm-up.
    pub(super) fn origin(&self) -> Vec<f64> {
        let mut x = self.space.start().to_vec();
        x[..self.origin.len()].copy_from_slice(&self.origin);
        x
    }

    /// By how much each number of θ must change to matter, as words and searches see it.
    pub(super) fn theta_scale(&self) -> &[f64] {
        &self.space.scale()[..self.parameters().len()]
    }

    pub(super) fn prior_residuals(&self, x: &[f64]) -> impl Iterator<Item = f64> {
        (self.priors.iter()).map(|prior| (x[prior.index] - prior.mean) * prior.factor)
    }

    /// All residuals; an error if a run failed.
    pub(super) fn residuals(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        let mut residuals = self.recorded_residuals(x)?;
        if let Some(torques) = &self.torques {
            let theta = &x[..self.parameters().len()];
            residuals.extend(torques.residuals(self.parameters(), theta)?);
        }
        residuals.extend(self.prior_residuals(x));
        Ok(residuals)
    }

    /// Whether motions are predicted, and not torques alone compared.
    pub(super) fn predicts(&self) -> bool {
        self.settings.residual != ResidualKind::Torque
    }

    /// Residuals of predictions, without those of torques and priors of parameters; an error if a run failed.
    pub(super) fn recorded_residuals(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        if !self.predicts() {
            return Ok(Vec::new());
        }
        let found = self.problem.residuals(x)?;
        match found.failures.first() {
            Some(failure) => Err(self.stopped(failure)),
            None => Ok(found.residuals),
        }
    }

    /// Residuals of the recordings, those of torques at the end, with their Jacobian; an error if a run failed.
    pub(super) fn linearize(&self, x: &[f64]) -> Result<Linear, Error> {
        let mut found = if self.predicts() {
            self.problem.linearize(x)?
        } else {
            Linear::nothing(self.parameters().len())
        };
        if let Some(failure) = found.failures.first() {
            return Err(self.stopped(failure));
        }
        if let Some(torques) = &self.torques {
            torques.add_to(&mut found, self.parameters(), &x[..self.parameters().len()])?;
        }
        Ok(found)
    }

    fn stopped(&self, failure: &crate::problem::Failure) -> Error {
        let recordings = self.problem.recordings();
        let label = &recordings.trajectories[failure.trajectory].label;
        let frame = failure.frame;
        error::simulation(format!("{label} was not simulated beyond frame {frame}"))
            .because(failure.why.clone())
            .at(Place::Recording {
                recording: label.clone(),
                column: None,
                frame: Some(frame),
            })
    }

    /// What an optimiser wants to know at a point.
    pub(super) fn evaluate(&self, x: &[f64], want: Want) -> Outcome {
        let found = match want {
            Want::Value | Want::Residuals => self.residuals(x).map(Evaluation::Residuals),
            Want::Jacobian => self.jacobian(x),
            Want::Gradient => self.gradient(x),
        };
        found.map_err(|error| Failure::new(error.to_string()))
    }

    fn jacobian(&self, x: &[f64]) -> Result<Evaluation, Error> {
        let linear = self.linearize(x)?;
        let mut numbers = linear.dense();
        let mut residuals = linear.residuals;
        let width = x.len();
        for prior in &self.priors {
            let start = numbers.len();
            numbers.resize(start + width, 0.0);
            numbers[start + prior.index] = prior.factor;
        }
        residuals.extend(self.prior_residuals(x));
        let jacobian = Matrix::from_data(residuals.len(), width, numbers).ok_or_else(|| {
            error::simulation("the Jacobian has not as many rows as there are residuals")
        })?;
        Ok(Evaluation::Jacobian {
            residuals,
            jacobian,
        })
    }

    fn gradient(&self, x: &[f64]) -> Result<Evaluation, Error> {
        let (mut value, mut gradient) = if self.torques.is_some() {
            let linear = self.linearize(x)?;
            (linear.value(), linear.gradient())
        } else {
            let found = self.problem.gradient(x)?;
            if let Some(failure) = found.failures.first() {
                return Err(self.stopped(failure));
            }
            (found.value, found.gradient)
        };
        for (prior, residual) in self.priors.iter().zip(self.prior_residuals(x)) {
            value += 0.5 * residual * residual;
            gradient[prior.index] += residual * prior.factor;
        }
        Ok(Evaluation::Gradient { value, gradient })
    }

    /// The Jacobian by the parameters alone, with what free starts could make up for taken out, and the residuals: row by
    /// row, those of the priors at the end. Its products of columns are the information on the parameters.
    pub(super) fn marginal(&self, linear: &Linear) -> Result<Marginal, Error> {
        let count = linear.parameters;
        let mut numbers: Vec<f64> = Vec::with_capacity(linear.residuals.len() * count);
        let mut runs: Vec<std::ops::Range<usize>> = Vec::with_capacity(linear.blocks.len());
        let starts_per_run = self.problem.starts_per_run();
        for (index, block) in linear.blocks.iter().enumerate() {
            let first = numbers.len() / count.max(1);
            numbers.extend(&block.by_parameters);
            let own = &mut numbers[first * count..];
            for direction in orthonormal(&block.by_start, block.rows, linear.start_width) {
                for column in 0..count {
                    let along: f64 = (0..block.rows)
                        .map(|row| direction[row] * own[row * count + column])
                        .sum();
                    for row in 0..block.rows {
                        own[row * count + column] -= along * direction[row];
                    }
                }
            }
            match runs.last_mut() {
                // Simulations from drawn starts are of the same measurements.
                Some(run) if index % starts_per_run > 0 => run.end = first + block.rows,
                _ => runs.push(first..first + block.rows),
            }
        }
        for prior in &self.priors {
            let start = numbers.len();
            numbers.resize(start + count, 0.0);
            numbers[start + prior.index] = prior.factor;
        }
        let rows = linear.residuals.len() + self.priors.len();
        let jacobian = Matrix::from_data(rows, count, numbers).ok_or_else(|| {
            error::simulation("the Jacobian has not as many rows as there are residuals")
        })?;
        Ok(Marginal {
            jacobian,
            runs,
            starts: linear.blocks.len() * linear.start_width,
        })
    }
}

/// What the recordings tell of the parameters alone.
pub(super) struct Marginal {
    pub(super) jacobian: Matrix,
    /// Rows of each run.
    pub(super) runs: Vec<std::ops::Range<usize>>,
    /// Unknowns of the starts.
    pub(super) starts: usize,
}

/// The model with the initial values of parameters that cannot begin at its own, such as the logarithm of zero, or dry friction where
/// there is none; none if all can.
fn started(model: &Model, free: &[Free]) -> Result<Option<Model>, Error> {
    let mut started: Option<Model> = None;
    for one in free {
        let model = started.as_ref().unwrap_or(model);
        let refusal = Parameters::new(model, std::slice::from_ref(&one.selection)).err();
        let (Some(refusal), Some(value)) = (refusal, one.start) else {
            continue;
        };
        let mut plain = one.selection.clone();
        plain.transform = Transform::Identity;
        let at_start = |model: &Model| -> Result<[Model; 2], Error> {
            let parameters = Parameters::new(model, std::slice::from_ref(&plain))?;
            let mut theta = parameters.theta0().to_vec();
            for name in parameters.names() {
                parameters.set(&mut theta, name, value)?;
            }
            let moved = parameters.bake(&theta)?;
            Ok([parameters.base().clone(), moved])
        };
        // Dry friction can be chosen where there is some: a model with a trace of it everywhere says where it was meant.
        let mut rubbing = model.clone();
        for quantity in DRY_FRICTION {
            rubbing.numbers_mut(quantity, |number| *number = number.max(LEAST_DRY_FRICTION));
        }
        started = Some(match (at_start(model), at_start(&rubbing)) {
            (Ok([_, moved]), _) => moved,
            (Err(_), Ok([before, after])) => {
                let mut moved = model.clone();
                for quantity in DRY_FRICTION {
                    let old = before.numbers(quantity).into_iter();
                    let mut pairs = old.zip(after.numbers(quantity));
                    moved.numbers_mut(quantity, |number| {
                        if let Some((_, new)) = pairs.next().filter(|(old, new)| old != new) {
                            *number = new;
                        }
                    });
                }
                moved
            }
            (Err(_), Err(_)) => return Err(refusal),
        });
    }
    Ok(started)
}

/// What `frictionloss` sets.
const DRY_FRICTION: [Quantity; 2] = [Quantity::DofFrictionloss, Quantity::TendonFrictionloss];

impl Marginal {
    /// About so many parts of the runs, one after the other in time.
    pub(super) fn blocks(&self, count: usize) -> Vec<std::ops::Range<usize>> {
        let each = count.div_ceil(self.runs.len().max(1));
        let of = |run: &std::ops::Range<usize>| {
            let (first, rows) = (run.start, run.len());
            (0..each).map(move |k| first + k * rows / each..first + (k + 1) * rows / each)
        };
        self.runs.iter().flat_map(of).collect()
    }
}

/// Orthonormal directions that span the columns of a matrix given row by row.
pub(super) fn orthonormal(numbers: &[f64], rows: usize, columns: usize) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut directions: Vec<Vec<f64>> = Vec::with_capacity(columns);
    for column in 0..columns {
        let mut vector: Vec<f64> = (0..rows)
            .map(|row| numbers[row * columns + column])
            .collect();
        let before = dot(&vector, &vector).sqrt();
        // Twice: once leaves what rounding makes of it.
        for _ in 0..2 {
            for direction in &directions {
                let along = dot(direction, &vector);
                for (entry, part) in vector.iter_mut().zip(direction) {
                    *entry -= along * part;
                }
            }
        }
        let length = dot(&vector, &vector).sqrt();
        if length > 1e-12 * before {
            for entry in &mut vector {
                *entry /= length;
            }
            directions.push(vector);
        }
    }
    directions
}

struct Known<'a, 'p> {
    problem: &'p Problem<'a>,
    owners: &'p [&'p Free],
    /// Whether the search goes from point to point, and not over all of what bounds hold.
    is_local: bool,
    /// Relative standard deviation of inertias, where they have one unasked.
    inertia_sd: Option<f64>,
}

impl Known<'_, '_> {
    /// θ for a value of a parameter, in the units of the model.
    fn theta(&self, index: usize, value: f64) -> Result<f64, Error> {
        let parameters = self.problem.parameters();
        let name = parameters.names().nth(index).unwrap_or_default().to_owned();
        let mut theta = parameters.theta0().to_vec();
        parameters.set(&mut theta, &name, value).map_err(|cause| {
            error::settings(&name)
                .because(cause)
                .at(Place::Element(name.clone()))
        })?;
        Ok(theta[index])
    }

    /// θ for a bound; a bound that the transform never reaches is none.
    fn bound(&self, index: usize, value: f64, otherwise: f64) -> f64 {
        if value.is_finite() {
            self.theta(index, value).unwrap_or(otherwise)
        } else {
            otherwise
        }
    }

    fn space(&self) -> Result<Space, Error> {
        let parameters = self.problem.parameters();
        let count = parameters.len();
        let mut start = self.problem.start();
        let mut lower = vec![f64::NEG_INFINITY; start.len()];
        let mut upper = vec![f64::INFINITY; start.len()];
        let mut scale = vec![1.0; start.len()];
        for (index, natural) in parameters.bounds().into_iter().enumerate() {
            let free = self.owners[index];
            let name = parameters.names().nth(index).unwrap_or_default();
            if let Some(value) = free.start {
                start[index] = self.theta(index, value)?;
            }
            [lower[index], upper[index]] = natural;
            if self.is_local {
                let far = match free.selection.transform {
                    Transform::Log => [-MAX_LOG_DISTANCE, MAX_LOG_DISTANCE],
                    Transform::Softplus => [-MAX_LOG_DISTANCE, f64::INFINITY],
                    _ => [f64::NEG_INFINITY, f64::INFINITY],
                };
                lower[index] = lower[index].max(start[index] + far[0]);
                upper[index] = upper[index].min(start[index] + far[1]);
            }
            if let Some([low, high]) = free.bounds {
                let ends = [low, high].map(|end| self.bound(index, end, f64::NAN));
                // A negative scale turns the order around.
                let (low_theta, high_theta) = if free.selection.scale < 0.0 {
                    (ends[1], ends[0])
                } else {
                    (ends[0], ends[1])
                };
                // A bound that the transform never reaches leaves what is there.
                if !low_theta.is_nan() {
                    lower[index] = natural[0].max(low_theta);
                }
                if !high_theta.is_nan() {
                    upper[index] = natural[1].min(high_theta);
                }
                if free.moves_start {
                    start[index] = start[index].max(lower[index]).min(upper[index]);
                }
                let inside = lower[index] <= start[index] && start[index] <= upper[index];
                if !inside {
                    let value = parameters.values(&start[..count])[index];
                    return Err(error::settings(format!(
                        "{name} starts at {value}, outside of its bounds {low} to {high}: give another start, or wider bounds"
                    )));
                }
            }
            let width = upper[index] - lower[index];
            scale[index] = match free.selection.transform {
                Transform::Log => 1.0,
                _ if width.is_finite() && width > 0.0 => width,
                _ if start[index] != 0.0 => start[index].abs(),
                _ => 1.0,
            };
        }
        for (index, sigma) in self.problem.start_deviations().enumerate() {
            scale[count + index] = sigma;
        }
        Bounds::new(lower, upper)
            .and_then(|bounds| Space::new(start, bounds)?.with_scale(scale))
            .map_err(error::space)
    }

    fn priors(&self) -> Result<Vec<ThetaPrior>, Error> {
        let mut priors = Vec::new();
        let parameters = self.problem.parameters();
        let deviations = self.inertia_sd.map(|sd| inertia_deviations(parameters, sd));
        for (index, free) in self.owners.iter().enumerate() {
            let Some(Prior { mean, sd }) = free.prior else {
                let deviation = deviations.as_ref().and_then(|all| all[index]);
                if let (Some(sd), Transform::Identity) = (deviation, free.selection.transform) {
                    priors.push(ThetaPrior {
                        index,
                        mean: parameters.theta0()[index],
                        factor: self.weight() / sd,
                    });
                }
                continue;
            };
            // The deviation of θ is that of the value, by the slope of the transform at the mean.
            let step = 1e-4 * sd;
            let ends = [
                self.theta(index, mean + step)?,
                self.theta(index, mean - step)?,
            ];
            let slope = (ends[0] - ends[1]) / (2.0 * step);
            priors.push(ThetaPrior {
                index,
                mean: self.theta(index, mean)?,
                factor: self.weight() / (slope.abs() * sd),
            });
        }
        Ok(priors)
    }

    /// √ of what one residual counts for in the loss.
    fn weight(&self) -> f64 {
        match self.problem.settings().loss.average {
            Average::Sum => 1.0,
            Average::Frames | Average::Runs => {
                let frames = self.problem.all_runs().map(|run| run.last - run.first);
                (1.0 / frames.sum::<usize>().max(1) as f64).sqrt()
            }
        }
    }
}

impl Task<'_> {
    /// Whether starts are unknowns too.
    pub fn has_free_starts(&self) -> bool {
        matches!(self.problem.settings().starts, Starts::Free { .. })
    }
}
