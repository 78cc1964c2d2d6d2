//! A search around the end of a search, where the loss has walls.
//!
//! Through impacts in fixed steps, Levenberg–Marquardt ends between walls, by derivatives and by secants alike: a corner that touches one
//! step earlier moves on differently. Behind the next wall the loss may be much lower, and an interval about the wrong place is wrong
//! whatever its width. So points are drawn about the end, at distances from one to some standard errors. From the lowest the search begins
//! again, until nothing lower is drawn. A loss without walls is left after a few evaluations.

use std::sync::atomic::AtomicBool;

use carom::Error;
use carom_optimise::linalg::{Matrix, dot};
use carom_optimise::random::Random;
use rayon::prelude::*;

use super::OptimiserKind;
use super::again::is_stopped;
use super::conclude::ROUNDING_NOISE;
use super::solve::{Solution, Unwatched};
use super::task::Task;
use crate::problem::Stepping;

/// Most unknowns: among more, few random directions lead down.
const MAX_UNKNOWNS: usize = 6;
/// Points at which it is tried whether derivatives predict residuals, one standard error away.
const PROBES: usize = 4;
/// Sum of squares by which predicted residuals may be off there, in units of the noise: more than that changes which loss is lowest.
const MAX_SMOOTH_ERROR: f64 = 1.0;
/// Points that are drawn at a time, and how often.
const POINTS: usize = 128;
const MAX_ROUNDS: usize = 12;
/// Greatest distance of a point in standard errors of each unknown; the least is one.
const MAX_DISTANCE: f64 = 16.0;
/// Least standard error in scales: below, secants of the search see nothing.
const MIN_ERROR: f64 = 3e-4;
/// Evaluations of a search from a drawn point.
const EVALUATIONS: u64 = 40;
/// A loss is lower if it is by this part of the squared noise: half a unit of log-likelihood is one standard error.
const MIN_GAIN: f64 = 0.05;
/// The stream of random numbers.
const STREAM: u64 = 1 << 33;

impl Task<'_> {
    /// Goes on from the end of a search to lower losses around it, where the loss has walls and the optimiser was left open.
    pub(super) fn scattered(
        &self,
        mut found: Solution,
        stop: Option<&AtomicBool>,
    ) -> Result<Solution, Error> {
        let settings = &self.settings;
        let is_open = settings.optimiser == OptimiserKind::Auto
            && self.optimiser == OptimiserKind::Lm
            && settings.evaluations.is_none()
            && settings.seconds.is_none();
        let is_fixed = settings.problem.stepping == Stepping::Fixed && self.torques.is_none();
        if !is_open || !is_fixed || found.is_stopped || found.x.len() > MAX_UNKNOWNS {
            return Ok(found);
        }
        let mut random = Random::new(settings.seed, STREAM);
        let Some((errors, noise)) = self.walls(&found, &mut random) else {
            return Ok(found);
        };
        for _ in 0..MAX_ROUNDS {
            let points: Vec<Vec<f64>> = (0..POINTS)
                .map(|_| {
                    let distance = MAX_DISTANCE.powf(random.uniform());
                    self.drawn(&found.x, &errors, distance, &mut random)
                })
                .collect();
            let losses: Vec<f64> = points
                .par_iter()
                .map(|x| self.loss_at(x).unwrap_or(f64::INFINITY))
                .collect();
            found.history.extend(&losses);
            let lowest = (losses.iter().zip(&points)).min_by(|a, b| a.0.total_cmp(b.0));
            let is_lower = |value: f64| value < found.value - MIN_GAIN * noise * noise;
            let Some((&value, point)) = lowest.filter(|(value, _)| is_lower(**value)) else {
                break;
            };
            let mut again = self.clone();
            again.settings.evaluations = Some(EVALUATIONS);
            again.start_at(point)?;
            (found.x, found.value) = (point.clone(), value);
            if let Ok(mut better) = again.solve(None, stop, &mut Unwatched) {
                found.history.append(&mut better.history);
                if better.value < value {
                    (found.x, found.value) = (better.x, better.value);
                }
            }
            found.is_by_secants = true;
            if is_stopped(stop) {
                break;
            }
        }
        Ok(found)
    }

    /// Standard errors of the unknowns by derivatives, and the noise, if residuals near a solution are not what derivatives predict.
    fn walls(&self, found: &Solution, random: &mut Random) -> Option<(Vec<f64>, f64)> {
        let linear = self.linearize(&found.x).ok()?;
        let rows = linear.residuals.len();
        let jacobian = Matrix::from_data(rows, found.x.len(), linear.dense())?;
        let here = linear.residuals.clone();
        let known = self.known(linear, found.value).ok()?;
        let noise = known.noise();
        if noise < ROUNDING_NOISE {
            return None;
        }
        let scales = self.space.scale().iter();
        let errors: Vec<f64> = (known.errors().into_iter().zip(scales))
            .map(|(error, scale)| error.clamp(MIN_ERROR * scale, scale / MAX_DISTANCE))
            .collect();
        let is_off = |x: Vec<f64>| {
            let step: Vec<f64> = x.iter().zip(&found.x).map(|(a, b)| a - b).collect();
            let Ok(there) = self.recorded_residuals(&x) else {
                return true;
            };
            let pairs = there.iter().zip(&here).enumerate();
            let off = pairs.map(|(row, (there, here))| {
                let predicted = here + dot(jacobian.row(row), &step);
                (there - predicted).powi(2)
            });
            off.sum::<f64>() > MAX_SMOOTH_ERROR * noise * noise
        };
        let has_walls = noise.is_finite()
            && (0..PROBES).any(|_| is_off(self.drawn(&found.x, &errors, 1.0, random)));
        has_walls.then_some((errors, noise))
    }

    /// A point about another one, within bounds.
    fn drawn(&self, x: &[f64], errors: &[f64], distance: f64, random: &mut Random) -> Vec<f64> {
        let bounds = self.space.bounds();
        let mut moved = |(k, (x, error)): (usize, (&f64, &f64))| {
            bounds.clamp(k, x + distance * error * random.normal())
        };
        x.iter().zip(errors).enumerate().map(&mut moved).collect()
    }
}
