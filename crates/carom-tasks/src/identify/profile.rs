//! Profile likelihoods after the solve: how far each parameter can move before the best fit of all others gets worse than the
//! interval allows. Where the loss is a parabola, a profile's ends are those of the interval.
//!
//! The loss may rise as far as it does at the ends of the interval if it is a parabola there,
//!
//!   rise = ½·(w/e)²   (1)
//!
//! with w half the interval's width and e the standard error for noise of 1, so that both are intervals of the same probability,
//! whichever way the errors were found.

use std::sync::atomic::AtomicBool;

use carom_optimise::statistics::{Profile, ProfileLimit, ProfileSettings, rise_of};
use carom_optimise::{
    Best, LbfgsbSettings, LeastSquaresSettings, Limits, LocalSettings, OneByOne, Optimiser,
    Request, Unobserved, minimise,
};
use rayon::prelude::*;

use super::OptimiserKind;
use super::conclude::Identified;
use super::solve::Solution;
use super::task::Task;
use crate::evaluate::figure;
use carom::Error;

/// Evaluations that the profile of a parameter takes, about.
const EVALUATIONS_PER_PROFILE: usize = 25;
/// Largest cost of profiles that are made unasked: steps of all evaluations times degrees of freedom.
const MAX_UNASKED_WORK: usize = 20_000_000;
/// Ends that differ by more than this fraction of the interval's half width are not those of a parabola.
const MAX_PARABOLA_ERROR: f64 = 0.25;
/// Fits on each side of an estimate.
const FITS_PER_SIDE: usize = 12;

/// Where an interval ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ProfileEnd {
    /// At this value.
    At(f64),
    /// At a bound, up to which the recordings allow every value.
    Bound(f64),
    /// Nowhere as far as was looked.
    Open(f64),
}

impl ProfileEnd {
    /// The number.
    pub fn value(self) -> f64 {
        match self {
            Self::At(value) | Self::Bound(value) | Self::Open(value) => value,
        }
    }
}

/// A fit with a parameter held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Where it was held, in the units of the model.
    pub value: f64,
    /// By how much the loss rose, in parts of what the interval allows: 1 at its ends.
    pub rise: f64,
    /// What a parabola would give there.
    pub parabola: f64,
}

/// The profile of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterProfile {
    /// Its name.
    pub name: String,
    /// The ends of the interval that it gives, the lower value first.
    pub ends: [ProfileEnd; 2],
    /// The fits, from the least value to the greatest, the estimate among them.
    pub points: Vec<Held>,
    /// Points of the profile between the fits.
    pub curve: Vec<Held>,
    /// A lower loss that was met on the way: the search had not found the minimum.
    pub lower_loss: Option<f64>,
    /// Evaluations of the loss.
    pub evaluations: u64,
    /// What is to say about it.
    pub words: Vec<String>,
}

impl Task<'_> {
    /// Whether profiles take little enough to be made without being asked for. It depends on the question alone, not on the machine.
    pub fn profiles_are_cheap(&self) -> bool {
        let count = self.parameters().len();
        let dofs = self.parameters().base().counts().nv;
        let passes = 1 + self.problem.len();
        count * EVALUATIONS_PER_PROFILE * self.problem.steps() * dofs * passes <= MAX_UNASKED_WORK
    }

    /// The profiles of all parameters around a solution.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn profiles(
        &self,
        solution: &Solution,
        identified: &Identified,
        stop: Option<&AtomicBool>,
    ) -> Result<Vec<ParameterProfile>, Error> {
        self.on_threads(|| {
            let errors = &identified.unit_errors;
            let found: Vec<_> = (0..errors.len())
                .into_par_iter()
                .map(|index| self.profile(solution, identified, (index, errors[index]), stop))
                .collect();
            Ok(found.into_iter().flatten().collect())
        })
    }

    /// The profile of a parameter; none if it has none to follow, as where its bounds hold it.
    fn profile(
        &self,
        solution: &Solution,
        identified: &Identified,
        (index, error): (usize, f64),
        stop: Option<&AtomicBool>,
    ) -> Option<ParameterProfile> {
        let width = self.half_width(identified, index);
        let rise = match width {
            Some(width) if error.is_finite() && error > 0.0 => 0.5 * (width / error).powi(2), // (1)
            _ => {
                let confidence = self.settings.confidence;
                rise_of(
                    confidence,
                    identified.noise,
                    Some(identified.degrees.max(1)),
                )
            }
        };
        let local = if self.optimiser == OptimiserKind::Lbfgs {
            LocalSettings::Lbfgsb(LbfgsbSettings::default())
        } else {
            LocalSettings::LeastSquares(LeastSquaresSettings::default())
        };
        let settings = ProfileSettings {
            first_step: width,
            fits: FITS_PER_SIDE,
            ..ProfileSettings::new(local, rise)
        };
        let fit = Best {
            point: solution.x.clone(),
            value: solution.value,
        };
        let mut profile = Profile::new(&self.space, fit, index, settings).ok()?;
        let mut evaluator =
            OneByOne(|request: &Request| self.evaluate(&request.point, request.want));
        let limits = Limits {
            stop,
            ..Limits::default()
        };
        minimise(&mut profile, &mut evaluator, &limits, &mut Unobserved).ok()?;
        let limits = profile.limits()?;
        Some(self.described(&profile, identified, index, (rise, width), limits))
    }

    fn described(
        &self,
        profile: &Profile,
        identified: &Identified,
        index: usize,
        (rise, width): (f64, Option<f64>),
        limits: [ProfileLimit; 2],
    ) -> ParameterProfile {
        let theta = &identified.theta;
        let estimate = theta[index];
        let held = |at: f64, root: f64| Held {
            value: self.value_of(theta, index, at),
            rise: root * root,
            parabola: width.map_or(f64::NAN, |width| ((at - estimate) / width).powi(2)),
        };
        let fits = profile.points();
        let least = fits.iter().map(|point| point.value);
        let least = least.fold(f64::INFINITY, f64::min);
        // √ of the rise, a straight line on either side of a parabola's minimum.
        let roots: Vec<[f64; 2]> = (fits.iter())
            .filter(|point| point.value.is_finite())
            .map(|point| [point.held, ((point.value - least).max(0.0) / rise).sqrt()])
            .collect();
        let mut curve: Vec<Held> = Vec::new();
        for pair in roots.windows(2) {
            const PARTS: u8 = 12;
            for part in 0..PARTS {
                let share = f64::from(part) / f64::from(PARTS);
                let at = |k: usize| pair[0][k] + share * (pair[1][k] - pair[0][k]);
                curve.push(held(at(0), at(1)));
            }
        }
        let mut points: Vec<Held> = roots.iter().map(|root| held(root[0], root[1])).collect();
        curve.extend(points.last().copied());
        let end = |limit: ProfileLimit| {
            let value = self.value_of(theta, index, limit.value());
            match limit {
                ProfileLimit::At(_) => ProfileEnd::At(value),
                ProfileLimit::Bound(_) => ProfileEnd::Bound(value),
                ProfileLimit::Beyond(_) => ProfileEnd::Open(value),
            }
        };
        let mut ends = limits.map(end);
        // A negative scale turns the order around.
        if ends[0].value() > ends[1].value() {
            ends.reverse();
            points.reverse();
            curve.reverse();
        }
        let mut found = ParameterProfile {
            name: identified.estimates[index].name.clone(),
            ends,
            points,
            curve,
            lower_loss: profile.lower_fit().map(|best| best.value),
            evaluations: profile.evaluations(),
            words: Vec::new(),
        };
        found.say(identified, index);
        found
    }
}

impl ParameterProfile {
    fn say(&mut self, identified: &Identified, index: usize) {
        let (name, one) = (&self.name, &identified.estimates[index]);
        for (end, side) in self.ends.into_iter().zip(["below", "above"]) {
            match end {
                ProfileEnd::At(_) => {}
                ProfileEnd::Bound(value) if one.value == value => {}
                ProfileEnd::Bound(value) => self.words.push(format!(
                    "the recordings do not bound {name} from {side}: they allow every value up to its bound {}",
                    figure(value)
                )),
                ProfileEnd::Open(value) => self.words.push(format!(
                    "the recordings do not bound {name} from {side}: its profile is flat as far as {}",
                    figure(value)
                )),
            }
        }
        let [low, high] = one.interval;
        let width = 0.5 * (high - low);
        let [found_low, found_high] = self.ends.map(ProfileEnd::value);
        let is_closed = matches!(self.ends, [ProfileEnd::At(_), ProfileEnd::At(_)]);
        let differs = |a: f64, b: f64| (a - b).abs() > MAX_PARABOLA_ERROR * width;
        if is_closed && (differs(found_low, low) || differs(found_high, high)) {
            self.words.push(format!(
                "the profile of {name} gives {} … {} where its curvature gives {} … {}: the loss is no parabola there, so trust the profile",
                figure(found_low), figure(found_high), figure(low), figure(high)
            ));
        }
        if let Some(lower) = self.lower_loss {
            self.words.push(format!(
                "following the profile of {name}, a lower loss was met ({}): the search had not found the minimum, so start again from other values or with --optimiser cmaes",
                figure(lower)
            ));
        }
    }
}
