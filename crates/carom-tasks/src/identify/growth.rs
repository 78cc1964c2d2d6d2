//! Segments and initial states of motions through impacts, by a horizon that grows.
//!
//! Through impacts a loss over whole trajectories has many minima, and in fixed steps walls: a corner that touches one step earlier moves
//! on differently. From the flight before the first contact, though, the initial state is known well, and over the few frames after it
//! every impact is followed closely. So the horizon grows by some frames at a time, and at each length all unknowns are fitted anew: the
//! parameters θ, which all runs share, and the initial state δᵣ of every run r, which matters to that run alone,
//!
//!   min ½·Σᵣ ‖rᵣ(θ, δᵣ)‖².
//!
//! A step is Levenberg and Marquardt's with the initial states eliminated: for Jacobians Pᵣ by θ and Sᵣ by δᵣ,
//!
//!   Aᵣ = Sᵣᵀ·Sᵣ + λᵣ·diag,   Σᵣ Pᵣᵀ·(1 − Sᵣ·Aᵣ⁻¹·Sᵣᵀ)·(Pᵣ·dθ + rᵣ) = 0,   dδᵣ = −Aᵣ⁻¹·Sᵣᵀ·(rᵣ + Pᵣ·dθ).   (1)
//!
//! With θ held, every run has a step of its own, which it takes or not: one run before a wall does not hold up the others.
//!
//! Where a run cannot follow its new frames as well as those before, other initial states are tried that explain the frames before as well:
//! draws from N(δᵣ, Aᵣ⁻¹), each fitted. If none follows, the run ends where it was, and another one begins after it with an initial state
//! of its own. So nobody chooses segments: they are as long as they can be explained.
//!
//! At the end of a pass, points about the unknowns are tried without derivatives, since these do not see walls. Unless residuals are then
//! what the noise explains, the horizon grows once more from the parameters that were found. How far the two passes are apart is a part of
//! the error: it is luck.

use std::sync::atomic::AtomicBool;

use carom::Error;
use carom_optimise::linalg::{Cholesky, Matrix, dot};
use carom_optimise::random::Random;

use super::again::is_stopped;
use super::outcome::has_stated_noise;
use super::task::{Task, ThetaPrior};
use super::{OptimiserKind, Settings};
use crate::problem::{Horizon, Linear, Run};

/// Frames of a run at first.
const FIRST_FRAMES: usize = 10;
/// By how many frames runs grow: an impact and what follows shows in them, and little more.
const GROWTH_FRAMES: usize = 5;
/// Iterations at every length.
const ITERATIONS: usize = 8;
/// Iterations at the end.
const LAST_ITERATIONS: usize = 30;
/// Initial states that are tried where a run does not follow, and iterations of each.
const DRAWS: usize = 8;
const DRAW_ITERATIONS: usize = 5;
/// Points that are tried about the end of a pass, at distances from the least to the greatest in standard errors, and initial states that are
/// drawn for each set of parameters among them.
const SCATTERED: usize = 80;
const MIN_DISTANCE: f64 = 0.03;
const MAX_DISTANCE: f64 = 1.5;
const FOLLOWERS: usize = 2;
/// Parameters that are tried where runs still do not follow.
const PARAMETER_DRAWS: usize = 12;
/// Standard deviations of chance by which the mean square of a run's residuals is above the usual one where other unknowns are tried, and
/// where the run has got lost. Of a hundred runs that follow, one is suspected.
const MIN_SUSPECT: f64 = 2.5;
const MIN_LOST: f64 = 4.0;
/// How often the horizon grows where residuals stay above the noise, or nobody states it.
const MAX_PASSES: usize = 2;
/// Standard deviations of chance by which the mean square of all residuals may be above that of the noise where every impact is followed.
const MAX_FOLLOWED: f64 = 2.0;
/// A fit has ended if it gains less than this part.
const MIN_GAIN: f64 = 1e-4;
/// Standard deviation of θ about its initial value while runs grow, in scales: the first impacts alone may tell some of it badly.
const GROWING_PRIOR: f64 = 1.5;
/// Longest step of θ, in scales.
const MAX_STEP: f64 = 0.5;
/// First damping, and its factor where a step fails; it falls by the same factor where one leads down.
const FIRST_DAMPING: f64 = 1e-3;
const DAMPING_FACTOR: f64 = 5.0;

/// A run with its initial state.
#[derive(Clone, Debug)]
struct Segment {
    run: Run,
    shift: Vec<f64>,
    /// The last frame to which it is known to follow.
    followed: Option<usize>,
    /// Whether it grows no more.
    is_closed: bool,
}

/// Normal equations of a run.
struct Normal {
    /// `SᵀS`, `SᵀP`, `PᵀP`.
    by_start: Matrix,
    mixed: Matrix,
    by_theta: Matrix,
    /// `Sᵀr`, `Pᵀr`.
    start_gradient: Vec<f64>,
    theta_gradient: Vec<f64>,
}

/// Unknowns on the way down.
struct Descent<'a> {
    task: Task<'a>,
    x: Vec<f64>,
    /// Halved squares of the residuals of every run.
    costs: Vec<f64>,
    damping: Vec<f64>,
    theta_damping: f64,
}

/// Unknowns, and the costs of the runs there.
type Arrival = (Vec<f64>, Vec<f64>);

impl<'a> Task<'a> {
    /// Whether segments and initial states are left to a horizon that grows.
    pub(super) fn grows(&self) -> bool {
        let Settings {
            problem, optimiser, ..
        } = &self.settings;
        let is_open = matches!(optimiser, OptimiserKind::Auto | OptimiserKind::Lm);
        self.settings.grows
            && is_open
            && problem.horizon == Horizon::Whole
            && self.has_free_starts()
    }

    /// Finds segments that the model can follow, their initial states and a start of the search, and makes them the question.
    ///
    /// # Errors
    /// When the model cannot be simulated at the start.
    pub(super) fn grow(&mut self, stop: Option<&AtomicBool>) -> Result<(), Error> {
        let grown = self.on_threads(|| self.grown(stop))?;
        *self = grown;
        Ok(())
    }

    fn grown(&self, stop: Option<&AtomicBool>) -> Result<Self, Error> {
        let mut random = Random::new(self.settings.seed, 0);
        let mut theta = self.start_theta().to_vec();
        let growing = self.growing();
        let mut passes: Vec<Descent<'a>> = Vec::new();
        // The first frames after an impact are followed better with parameters that later ones have told: the horizon grows again.
        for _ in 0..MAX_PASSES {
            let fit = self.grown_from((&theta, &growing), stop, &mut random)?;
            theta = fit.x[..fit.count()].to_vec();
            let is_last = fit.follows() || is_stopped(stop);
            passes.push(fit);
            if is_last {
                break;
            }
        }
        // How far the passes are apart says how much of the answer is luck.
        let of = |k: usize| passes.iter().map(move |pass| pass.x[k]);
        let spread: Vec<f64> = (0..theta.len()).map(|k| deviation(of(k))).collect();
        let best = passes.into_iter().reduce(|best, other| {
            if other.is_better_than(&best) {
                other
            } else {
                best
            }
        });
        let mut grown = self.clone();
        if let Some(best) = best {
            grown = best.task;
            grown.start_at(&best.x)?;
        }
        grown.pass_spread = spread;
        Ok(grown)
    }

    /// The question while runs grow, with weak priors of θ: the first impacts alone may tell some of it badly.
    fn growing(&self) -> Self {
        let mut task = self.clone();
        let about = self.theta_scale().iter().zip(self.start_theta());
        let priors = about.enumerate().map(|(index, (scale, &mean))| ThetaPrior {
            index,
            mean,
            factor: 1.0 / (GROWING_PRIOR * scale),
        });
        task.priors.extend(priors);
        task
    }

    /// Lets the horizon grow from some parameters on.
    fn grown_from(
        &self,
        (theta, growing): (&[f64], &Self),
        stop: Option<&AtomicBool>,
        random: &mut Random,
    ) -> Result<Descent<'a>, Error> {
        let (mut theta, mut segments) = (theta.to_vec(), self.first_segments());
        let end = |run: &Run| self.problem.recordings.trajectories[run.trajectory].frames() - 1;
        while segments.iter().any(|one| !one.is_closed) && !is_stopped(stop) {
            let mut longer = segments.clone();
            for one in longer.iter_mut().filter(|one| !one.is_closed) {
                one.run.last = (one.run.last + GROWTH_FRAMES).min(end(&one.run));
            }
            let mut fit = growing.descent(&theta, &longer)?;
            fit.descend(ITERATIONS, true)?;
            let suspects = fit.lost(&longer, MIN_SUSPECT)?;
            if !suspects.is_empty() {
                fit.draw_again(&suspects, (growing, &theta, &segments), random)?;
                fit.descend(ITERATIONS, true)?;
            }
            if !fit.lost(&longer, MIN_LOST)?.is_empty() {
                fit = growing.draw_theta(fit, (&theta, &segments, &longer), random)?;
            }
            let lost = fit.lost(&longer, MIN_LOST)?;
            if lost.is_empty() {
                (theta, segments) = fit.segments(&longer, true);
            } else {
                let cut = fit.cut(&lost, (&segments, &longer))?;
                fit = growing.descent(&theta, &cut)?;
                fit.descend(ITERATIONS, true)?;
                (theta, segments) = fit.segments(&cut, false);
            }
            for one in &mut segments {
                one.is_closed |= one.run.last == end(&one.run) && one.followed.is_some();
            }
        }
        let mut fit = self.descent(&theta, &segments)?;
        fit.descend(LAST_ITERATIONS, true)?;
        fit.scatter(random)?;
        fit.descend(LAST_ITERATIONS, true)?;
        Ok(fit)
    }

    /// Tries other parameters, and with them all runs: draws from what the segments before tell of them. The lowest of all fits is
    /// returned.
    fn draw_theta(
        &self,
        fit: Descent<'a>,
        (theta, before, longer): (&[f64], &[Segment], &[Segment]),
        random: &mut Random,
    ) -> Result<Descent<'a>, Error> {
        let known = self.descent(theta, before)?;
        let linear = known.task.problem.linearize(&known.x)?;
        let normals = normals(&linear);
        let factors: Vec<Option<Cholesky>> = normals
            .iter()
            .map(|normal| damped(&normal.by_start, 0.0))
            .collect();
        let (matrix, _) = known.eliminated(&normals, &factors);
        let Some(factor) = damped(&matrix, 0.0) else {
            return Ok(fit);
        };
        let mut best = fit;
        for _ in 0..PARAMETER_DRAWS {
            let step: Vec<f64> = deviate(&factor, &random.normals(theta.len()));
            let x = known.moved(&normals, &factors, &step, f64::INFINITY);
            let (theta, drawn) = Descent {
                x,
                task: known.task.clone(),
                costs: known.costs.clone(),
                damping: Vec::new(),
                theta_damping: 0.0,
            }
            .segments(before, false);
            let drawn: Vec<Segment> = longer
                .iter()
                .filter_map(|long| {
                    let own = drawn.iter().find(|one| {
                        one.run.trajectory == long.run.trajectory && one.run.first == long.run.first
                    })?;
                    Some(Segment {
                        shift: own.shift.clone(),
                        ..long.clone()
                    })
                })
                .collect();
            let mut tried = self.descent(&theta, &drawn)?;
            tried.descend(ITERATIONS, true)?;
            let [cost, lowest] = [&tried, &best].map(|one| one.total(&one.costs, &one.x));
            if tried.costs.len() == best.costs.len() && cost < lowest {
                best = tried;
            }
        }
        Ok(best)
    }

    /// The first frames of every trajectory.
    fn first_segments(&self) -> Vec<Segment> {
        let recordings = self.problem.recordings;
        let width = 2 * self.parameters().base().counts().nv;
        (recordings.trajectories.iter().enumerate())
            .map(|(trajectory, motion)| {
                let (first, end) = (recordings.start, motion.frames() - 1);
                Segment {
                    run: Run {
                        trajectory,
                        first,
                        last: (first + FIRST_FRAMES - GROWTH_FRAMES).min(end),
                    },
                    shift: vec![0.0; width],
                    followed: None,
                    is_closed: false,
                }
            })
            .collect()
    }

    /// The question on segments.
    fn descent(&self, theta: &[f64], segments: &[Segment]) -> Result<Descent<'a>, Error> {
        let mut settings = self.settings.problem.clone();
        settings.horizon = Horizon::Whole;
        settings.runs = Some(segments.iter().map(|one| one.run).collect());
        let task = self.with_problem(settings)?;
        let mut x = theta.to_vec();
        for run in task.problem.all_runs() {
            let own = segments.iter().find(|one| one.run == run);
            x.extend(own.into_iter().flat_map(|own| &own.shift));
        }
        let costs = task.problem.value(&x)?.by_run;
        Ok(Descent {
            damping: vec![FIRST_DAMPING; costs.len()],
            theta_damping: FIRST_DAMPING,
            task,
            x,
            costs,
        })
    }
}

impl Descent<'_> {
    fn count(&self) -> usize {
        self.task.parameters().len()
    }

    fn total(&self, costs: &[f64], x: &[f64]) -> f64 {
        let priors = self.task.prior_residuals(x).map(|r| 0.5 * r * r);
        costs.iter().sum::<f64>() + priors.sum::<f64>()
    }

    /// Mean of the squares of all residuals, halved.
    fn misfit(&self) -> f64 {
        self.costs.iter().sum::<f64>() / self.task.problem.residual_count().max(1) as f64
    }

    /// Whether it follows the motions further: with fewer runs, or with as many and lower residuals. A run that is cut explains what it
    /// could not follow, so residuals alone would speak for cuts.
    fn is_better_than(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.costs.len(), one.misfit());
        of(self) < of(other)
    }

    /// Whether residuals are what the noise explains, so that every impact is followed.
    fn follows(&self) -> bool {
        let (rows, unknowns) = (self.task.problem.residual_count(), self.x.len());
        let degrees = rows.saturating_sub(unknowns).max(1) as f64;
        let mean = 2.0 * self.costs.iter().sum::<f64>() / degrees;
        has_stated_noise(&self.task) && mean <= 1.0 + MAX_FOLLOWED * (2.0 / degrees).sqrt()
    }

    /// Goes down until nothing is gained; θ moves or is held.
    fn descend(&mut self, iterations: usize, moves_theta: bool) -> Result<(), Error> {
        let mut idle = 0;
        for _ in 0..iterations {
            let before = self.total(&self.costs, &self.x);
            self.step(moves_theta)?;
            let after = self.total(&self.costs, &self.x);
            let is_idle = after > (1.0 - MIN_GAIN) * before;
            idle = if is_idle { idle + 1 } else { 0 };
            if idle == 2 {
                break;
            }
        }
        Ok(())
    }

    /// One step. (1)
    fn step(&mut self, moves_theta: bool) -> Result<(), Error> {
        let linear = self.task.problem.linearize(&self.x)?;
        let normals = normals(&linear);
        let (count, width) = (linear.parameters, linear.start_width);
        let factors: Vec<Option<Cholesky>> = (normals.iter().zip(&self.damping))
            .map(|(normal, damping)| damped(&normal.by_start, *damping))
            .collect();
        // Initial states alone: every run takes its own step or not.
        let mut alone = self.x.clone();
        for (run, (normal, factor)) in normals.iter().zip(&factors).enumerate() {
            let Some(factor) = factor else { continue };
            let step = factor.solve(&normal.start_gradient);
            let own = &mut alone[count + run * width..][..width];
            own.iter_mut().zip(step).for_each(|(x, step)| *x -= step);
        }
        let alone_costs = self.task.problem.value(&alone)?.by_run;
        // All unknowns together.
        if moves_theta && let Some(together) = self.joint_step(&normals, &factors) {
            let lowest = self.costs.iter().zip(&alone_costs);
            let lowest: Vec<f64> = lowest.map(|(a, b)| a.min(*b)).collect();
            let lowest = self.total(&lowest, &self.x);
            if let Some((together, costs)) = self.arrived(together, lowest)? {
                for (run, cost) in costs.iter().enumerate() {
                    self.relax(run, *cost < self.costs[run]);
                }
                self.theta_damping = (self.theta_damping / DAMPING_FACTOR).max(1e-9);
                (self.x, self.costs) = (together, costs);
                return Ok(());
            }
            self.theta_damping *= DAMPING_FACTOR;
        }
        for run in 0..self.costs.len() {
            let is_lower = alone_costs[run] < self.costs[run];
            if is_lower {
                let own = count + run * width..count + (run + 1) * width;
                self.x[own.clone()].copy_from_slice(&alone[own]);
                self.costs[run] = alone_costs[run];
            }
            self.relax(run, is_lower);
        }
        Ok(())
    }

    /// Unknowns after a step of all of them, with their costs, if they are lower; initial states may take one more step of their own first,
    /// where most runs are lower already.
    fn arrived(&self, x: Vec<f64>, lowest: f64) -> Result<Option<Arrival>, Error> {
        let Ok(value) = self.task.problem.value(&x) else {
            return Ok(None);
        };
        let costs = value.by_run;
        if self.total(&costs, &x) < lowest {
            return Ok(Some((x, costs)));
        }
        let lower = costs
            .iter()
            .zip(&self.costs)
            .filter(|(new, old)| new <= old);
        if 2 * lower.count() < costs.len() {
            return Ok(None);
        }
        let mut other = Descent {
            task: self.task.clone(),
            x,
            costs,
            damping: vec![FIRST_DAMPING; self.costs.len()],
            theta_damping: FIRST_DAMPING,
        };
        other.step(false)?;
        let is_lower = other.total(&other.costs, &other.x) < lowest;
        Ok(is_lower.then_some((other.x, other.costs)))
    }

    fn relax(&mut self, run: usize, is_lower: bool) {
        let damping = &mut self.damping[run];
        *damping *= if is_lower {
            1.0 / DAMPING_FACTOR
        } else {
            DAMPING_FACTOR
        };
        *damping = damping.clamp(1e-9, 1e9);
    }

    /// Where all unknowns go together; none where θ is not told.
    fn joint_step(&self, normals: &[Normal], factors: &[Option<Cholesky>]) -> Option<Vec<f64>> {
        let (matrix, gradient) = self.eliminated(normals, factors);
        let mut step = damped(&matrix, self.theta_damping)?.solve(&gradient);
        for step in &mut step {
            *step = -*step;
        }
        let mut x = self.moved(normals, factors, &step, MAX_STEP);
        let (count, width) = (self.count(), self.width());
        for (run, (normal, factor)) in normals.iter().zip(factors).enumerate() {
            let Some(factor) = factor else { continue };
            let own = &mut x[count + run * width..][..width];
            own.iter_mut()
                .zip(factor.solve(&normal.start_gradient))
                .for_each(|(x, step)| *x -= step);
        }
        Some(x)
    }

    /// Information on θ with initial states eliminated, and the gradient by it.
    fn eliminated(&self, normals: &[Normal], factors: &[Option<Cholesky>]) -> (Matrix, Vec<f64>) {
        let count = self.count();
        let mut matrix = Matrix::zeros(count, count);
        let mut gradient = vec![0.0; count];
        for (prior, residual) in (self.task.priors.iter()).zip(self.task.prior_residuals(&self.x)) {
            matrix[(prior.index, prior.index)] += prior.factor * prior.factor;
            gradient[prior.index] += residual * prior.factor;
        }
        for (normal, factor) in normals.iter().zip(factors) {
            let Some(factor) = factor else { continue };
            let moved: Vec<Vec<f64>> = (0..count)
                .map(|k| factor.solve(&normal.mixed.column(k)))
                .collect();
            for i in 0..count {
                for j in 0..count {
                    let made_up = dot(&normal.mixed.column(i), &moved[j]);
                    matrix[(i, j)] += normal.by_theta[(i, j)] - made_up;
                }
                gradient[i] += normal.theta_gradient[i] - dot(&moved[i], &normal.start_gradient);
            }
        }
        (matrix, gradient)
    }

    /// Unknowns with θ moved by a step, no longer than so many scales and within bounds, and initial states along with it.
    fn moved(
        &self,
        normals: &[Normal],
        factors: &[Option<Cholesky>],
        step: &[f64],
        longest: f64,
    ) -> Vec<f64> {
        let (count, width) = (self.count(), self.width());
        let sizes = step.iter().zip(self.task.theta_scale());
        let size = sizes
            .map(|(step, scale)| (step / scale).abs())
            .fold(0.0, f64::max);
        let shortened = (longest / size).min(1.0);
        let bounds = self.task.space.bounds();
        let mut x = self.x.clone();
        for k in 0..count {
            x[k] = bounds.clamp(k, x[k] + shortened * step[k]);
        }
        let change: Vec<f64> = (0..count).map(|k| x[k] - self.x[k]).collect();
        for (run, (normal, factor)) in normals.iter().zip(factors).enumerate() {
            let Some(factor) = factor else { continue };
            let own = &mut x[count + run * width..][..width];
            let response = factor.solve(&normal.mixed.times(&change));
            own.iter_mut()
                .zip(response)
                .for_each(|(x, step)| *x -= step);
        }
        x
    }

    fn width(&self) -> usize {
        (self.x.len() - self.count()) / self.costs.len().max(1)
    }

    /// θ, and the segments with what was found; those without an initial state are gone.
    fn segments(&self, old: &[Segment], are_followed: bool) -> (Vec<f64>, Vec<Segment>) {
        let (theta, shifts) = self.x.split_at(self.count());
        let width = self.width();
        let runs = self.task.problem.all_runs().enumerate();
        let segments = runs.filter_map(|(index, run)| {
            let own = old.iter().find(|one| one.run == run)?;
            Some(Segment {
                shift: shifts[index * width..][..width].to_vec(),
                followed: if are_followed {
                    Some(run.last)
                } else {
                    own.followed
                },
                ..own.clone()
            })
        });
        (theta.to_vec(), segments.collect())
    }

    /// Runs that follow their frames worse than chance explains: all of them, or those that are new.
    fn lost(&self, segments: &[Segment], most: f64) -> Result<Vec<usize>, Error> {
        let problem = &self.task.problem;
        let residuals = problem.residuals(&self.x)?.residuals;
        let frames = problem.by_frame(&residuals, &residuals);
        let rows = residuals.len() as f64 / frames.len().max(1) as f64;
        let runs: Vec<Run> = problem.all_runs().collect();
        let mean = |of: &dyn Fn(usize, f64) -> bool| {
            let squares = frames.iter().filter(|one| of(one.run, one.time));
            let squares: Vec<f64> = squares.map(|one| one.after * one.after).collect();
            let count = squares.len() as f64;
            (squares.iter().sum::<f64>() / count, count * rows)
        };
        let mut all: Vec<f64> = (0..runs.len())
            .map(|run| mean(&|of, _| of == run).0)
            .collect();
        all.sort_by(f64::total_cmp);
        // The noise, or where nobody states it, or the model is not quite right, what residuals of most runs are.
        let usual = all.get(all.len() / 2).copied().unwrap_or(1.0);
        let least = if has_stated_noise(&self.task) {
            1.0
        } else {
            0.0
        };
        let usual = usual.max(least);
        let is_lost = |index: usize, run: &Run| {
            let own = segments.iter().find(|one| one.run == *run);
            let followed = own.and_then(|one| one.followed).unwrap_or(run.first);
            if own.is_none_or(|one| one.is_closed) {
                return false;
            }
            let times = &problem.recordings.trajectories[run.trajectory].times;
            let since = times[followed.min(run.last - 1)];
            let is_above = |(mean, count): (f64, f64)| {
                mean.is_nan() || mean > usual * (1.0 + most * (2.0 / count).sqrt())
            };
            is_above(mean(&|of, _| of == index))
                || is_above(mean(&|of, time| of == index && time > since))
        };
        let lost = runs
            .iter()
            .enumerate()
            .filter(|&(index, run)| is_lost(index, run));
        Ok(lost.map(|(index, _)| index).collect())
    }

    /// Tries other initial states of some runs: draws from what the segments before tell of them, each fitted with θ held.
    fn draw_again(
        &mut self,
        runs: &[usize],
        (base, theta, before): (&Task<'_>, &[f64], &[Segment]),
        random: &mut Random,
    ) -> Result<(), Error> {
        let known = base.descent(theta, before)?;
        let linear = known.task.problem.linearize(&known.x)?;
        let (count, width) = (self.count(), self.width());
        let all: Vec<Run> = self.task.problem.all_runs().collect();
        let factors: Vec<(Run, Option<Cholesky>, &[f64])> =
            (known.task.problem.all_runs().enumerate())
                .zip(normals(&linear))
                .map(|((index, run), normal)| {
                    let shift = &known.x[count + index * width..][..width];
                    (run, damped(&normal.by_start, 0.0), shift)
                })
                .collect();
        let drawn: Vec<Segment> = runs
            .iter()
            .map(|&run| Segment {
                run: all[run],
                shift: self.x[count + run * width..][..width].to_vec(),
                followed: None,
                is_closed: false,
            })
            .collect();
        for _ in 0..DRAWS {
            let mut tried = drawn.clone();
            for one in &mut tried {
                let is_own =
                    |run: &Run| run.trajectory == one.run.trajectory && run.first == one.run.first;
                let Some((_, Some(factor), centre)) = factors.iter().find(|(run, ..)| is_own(run))
                else {
                    continue;
                };
                one.shift = deviate(factor, &random.normals(width));
                one.shift
                    .iter_mut()
                    .zip(*centre)
                    .for_each(|(shift, centre)| *shift += centre);
            }
            let mut fit = base.descent(&self.x[..count], &tried)?;
            fit.descend(DRAW_ITERATIONS, false)?;
            for (index, (cost, run)) in fit
                .costs
                .iter()
                .zip(fit.task.problem.all_runs())
                .enumerate()
            {
                let Some(place) = all.iter().position(|one| *one == run) else {
                    continue;
                };
                if *cost < self.costs[place] {
                    let found = &fit.x[count + index * width..][..width];
                    self.x[count + place * width..][..width].copy_from_slice(found);
                    self.costs[place] = *cost;
                    self.damping[place] = FIRST_DAMPING;
                }
            }
        }
        Ok(())
    }

    /// Looks behind walls that derivatives do not see: tries points about the unknowns, and goes to lower ones.
    fn scatter(&mut self, random: &mut Random) -> Result<(), Error> {
        let (count, width) = (self.count(), self.width());
        let normals = normals(&self.task.problem.linearize(&self.x)?);
        let factors: Vec<Option<Cholesky>> = normals
            .iter()
            .map(|normal| damped(&normal.by_start, 0.0))
            .collect();
        let (matrix, _) = self.eliminated(&normals, &factors);
        let about = damped(&matrix, 0.0);
        for _ in 0..SCATTERED {
            let distance = MIN_DISTANCE * (MAX_DISTANCE / MIN_DISTANCE).powf(random.uniform());
            let mut elsewhere = |x: &[f64]| {
                let mut x = x.to_vec();
                for (run, factor) in factors.iter().enumerate() {
                    let Some(factor) = factor else { continue };
                    let step = deviate(factor, &random.normals(width));
                    let own = &mut x[count + run * width..][..width];
                    (own.iter_mut().zip(step)).for_each(|(x, step)| *x += distance * step);
                }
                x
            };
            // Initial states alone.
            let tried = elsewhere(&self.x);
            let mut fit = (self.x.clone(), self.costs.clone());
            self.take_lower(&mut fit, &tried)?;
            (self.x, self.costs) = fit;
            // Parameters, with initial states that follow or lie about there.
            let Some(about) = &about else { continue };
            let mut draws: Vec<Vec<f64>> = (0..FOLLOWERS).map(|_| elsewhere(&self.x)).collect();
            let step = deviate(about, &random.normals(count));
            let step: Vec<f64> = step.iter().map(|step| distance * step).collect();
            let moved = self.moved(&normals, &factors, &step, MAX_STEP);
            let change: Vec<f64> = moved.iter().zip(&self.x).map(|(a, b)| a - b).collect();
            let Ok(value) = self.task.problem.value(&moved) else {
                continue;
            };
            let mut fit = (moved, value.by_run);
            for tried in &mut draws {
                (tried.iter_mut().zip(&change)).for_each(|(x, change)| *x += change);
                tried[..count].copy_from_slice(&fit.0[..count]);
                self.take_lower(&mut fit, tried)?;
            }
            if self.total(&fit.1, &fit.0) < self.total(&self.costs, &self.x) {
                (self.x, self.costs) = fit;
            }
        }
        Ok(())
    }

    /// Takes the initial states of others for runs whose costs are lower with them.
    fn take_lower(&self, fit: &mut (Vec<f64>, Vec<f64>), tried: &[f64]) -> Result<(), Error> {
        let (count, width) = (self.count(), self.width());
        let costs = self.task.problem.value(tried)?.by_run;
        for (run, cost) in costs.into_iter().enumerate() {
            if cost < fit.1[run] {
                let own = count + run * width..count + (run + 1) * width;
                fit.0[own.clone()].copy_from_slice(&tried[own]);
                fit.1[run] = cost;
            }
        }
        Ok(())
    }

    /// The segments, where runs that got lost end at what they followed and others begin after it. Of those that never followed anything,
    /// nothing is left.
    fn cut(
        &self,
        lost: &[usize],
        (before, longer): (&[Segment], &[Segment]),
    ) -> Result<Vec<Segment>, Error> {
        let runs: Vec<Run> = self.task.problem.all_runs().collect();
        let mut segments = Vec::new();
        for (old, long) in before.iter().zip(longer) {
            let Some(index) = runs.iter().position(|run| *run == long.run) else {
                continue;
            };
            if !lost.contains(&index) {
                segments.push(Segment {
                    followed: Some(long.run.last),
                    ..long.clone()
                });
                continue;
            }
            let last = match old.followed {
                Some(last) => {
                    segments.push(Segment {
                        is_closed: true,
                        ..old.clone()
                    });
                    last
                }
                None => old.run.first + GROWTH_FRAMES,
            };
            let end = self.task.problem.recordings.trajectories[long.run.trajectory].frames() - 1;
            if last + FIRST_FRAMES <= end {
                let run = Run {
                    trajectory: long.run.trajectory,
                    first: last + 1,
                    last: (last + 1 + FIRST_FRAMES).min(end),
                };
                segments.push(Segment {
                    run,
                    shift: self.continued(index, run)?,
                    followed: None,
                    is_closed: false,
                });
            }
        }
        Ok(segments)
    }

    /// The shift of a new run's initial state with which it begins where a run has got to; none known, as recorded.
    fn continued(&self, index: usize, run: Run) -> Result<Vec<f64>, Error> {
        let mut settings = self.task.settings.problem.clone();
        settings.runs = Some(vec![run]);
        let Ok(one) = self.task.with_problem(settings) else {
            return Ok(vec![0.0; self.width()]);
        };
        let shift = one
            .problem
            .continued(&self.x, 0, (&self.task.problem, index))?;
        let mut shift = shift.unwrap_or_else(|| vec![0.0; self.width()]);
        // Poses are as recorded, velocities as they were predicted.
        let half = shift.len() / 2;
        shift[..half].fill(0.0);
        Ok(shift)
    }
}

/// Standard deviation of some numbers; zero of one.
fn deviation(numbers: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = numbers.clone().count().max(1) as f64;
    let mean = numbers.clone().sum::<f64>() / count;
    let squares: f64 = numbers.map(|number| (number - mean).powi(2)).sum();
    (squares / (count - 1.0).max(1.0)).sqrt()
}

/// Normal equations of every run; zeros for a run that failed.
fn normals(linear: &Linear) -> Vec<Normal> {
    let (count, width) = (linear.parameters, linear.start_width);
    let mut rest = linear.residuals.as_slice();
    let blocks = linear.blocks.iter();
    blocks
        .map(|block| {
            let (own, others) = rest.split_at(block.rows);
            rest = others;
            let mut normal = Normal {
                by_start: Matrix::zeros(width, width),
                mixed: Matrix::zeros(width, count),
                by_theta: Matrix::zeros(count, count),
                start_gradient: vec![0.0; width],
                theta_gradient: vec![0.0; count],
            };
            for (row, &residual) in own.iter().enumerate().filter(|(_, r)| r.is_finite()) {
                let theta = &block.by_parameters[row * count..][..count];
                let start = &block.by_start[row * width..][..width];
                for i in 0..width {
                    for j in 0..width {
                        normal.by_start[(i, j)] += start[i] * start[j];
                    }
                    for k in 0..count {
                        normal.mixed[(i, k)] += start[i] * theta[k];
                    }
                    normal.start_gradient[i] += start[i] * residual;
                }
                for i in 0..count {
                    for k in 0..count {
                        normal.by_theta[(i, k)] += theta[i] * theta[k];
                    }
                    normal.theta_gradient[i] += theta[i] * residual;
                }
            }
            normal
        })
        .collect()
}

/// The factor of a matrix with a part of its diagonal added.
fn damped(matrix: &Matrix, damping: f64) -> Option<Cholesky> {
    let size = matrix.rows();
    let entry = |i: usize, j: usize| {
        let on_diagonal = if i == j { 1.0 + damping } else { 1.0 };
        matrix[(i, j)] * on_diagonal
    };
    Cholesky::new(&Matrix::from_fn(size, size, entry))
}

/// L⁻ᵀ·z: of the covariance (L·Lᵀ)⁻¹ for z of covariance 1.
fn deviate(factor: &Cholesky, z: &[f64]) -> Vec<f64> {
    let lower = factor.lower();
    let mut x = z.to_vec();
    for i in (0..z.len()).rev() {
        let rest = (i + 1..z.len()).fold(x[i], |rest, k| rest - lower[(k, i)] * x[k]);
        x[i] = rest / lower[(i, i)];
    }
    x
}
