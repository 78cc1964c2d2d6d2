//! One side of a profile: where to fit next, and when to stop.

use serde::{Deserialize, Serialize};

use super::{ProfileLimit, ProfilePoint};
use crate::local::Local;
use crate::optimiser::Search;

/// One side of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Side {
    sign: f64,
    /// The fit on its way, and where the parameter is held for it.
    pub(super) search: Option<(f64, Search<Local>)>,
    pub(super) points: Vec<ProfilePoint>,
    /// The farthest value allowed with its s.
    inner: (f64, f64),
    /// The nearest one that is not.
    outer: Option<(f64, f64)>,
    pub(super) limit: Option<ProfileLimit>,
}

/// What a side is to know of its profile.
pub(super) struct Frame {
    pub(super) estimate: f64,
    pub(super) bound: f64,
    pub(super) scale: f64,
    pub(super) first_step: f64,
    /// s at the end of the interval.
    pub(super) target: f64,
    /// By how much it may be missed.
    pub(super) tolerance: f64,
    /// Fits that may be made.
    pub(super) fits: usize,
}

/// Values of the parameter that differ by less than this fraction of the scale are the same.
const MIN_VALUE_DISTANCE: f64 = 1e-9;

impl Side {
    pub(super) fn new(sign: f64, estimate: f64) -> Self {
        Self {
            sign,
            search: None,
            points: Vec::new(),
            inner: (estimate, 0.0),
            outer: None,
            limit: None,
        }
    }

    /// The fit nearest to a value.
    pub(super) fn nearest(&self, held: f64) -> Option<&ProfilePoint> {
        let known = self.points.iter().filter(|point| point.value.is_finite());
        known.min_by(|a, b| (a.held - held).abs().total_cmp(&(b.held - held).abs()))
    }

    /// Take a fit with its s.
    pub(super) fn arrive(&mut self, point: ProfilePoint, rise: f64, target: f64) {
        if rise < target {
            self.inner = (point.held, rise);
        } else {
            self.outer = Some((point.held, rise));
        }
        self.points.push(point);
    }

    /// Where to hold the parameter next; `None` at the end.
    pub(super) fn next_value(&mut self, frame: &Frame) -> Option<f64> {
        self.limit = self.end(frame);
        if self.limit.is_some() {
            return None;
        }
        let next = self.guess(frame);
        Some(if self.sign < 0.0 {
            next.max(frame.bound)
        } else {
            next.min(frame.bound)
        })
    }

    fn end(&self, frame: &Frame) -> Option<ProfileLimit> {
        let (inner, at_inner) = self.inner;
        if frame.estimate == frame.bound || inner == frame.bound {
            return Some(ProfileLimit::Bound(frame.bound));
        }
        let is_end = |at: f64| (at - frame.target).abs() <= frame.tolerance;
        if let Some((outer, at_outer)) = self.outer {
            if is_end(at_outer) || (outer - inner).abs() <= MIN_VALUE_DISTANCE * frame.scale {
                return Some(ProfileLimit::At(outer));
            }
            if is_end(at_inner) {
                return Some(ProfileLimit::At(inner));
            }
        }
        let used_up = self.points.len() >= frame.fits;
        used_up.then_some(match self.outer {
            Some((outer, _)) => ProfileLimit::At(outer),
            None => ProfileLimit::Beyond(inner),
        })
    }

    fn guess(&self, frame: &Frame) -> f64 {
        let (inner, at_inner) = self.inner;
        match self.outer {
            Some((outer, at_outer)) if at_outer.is_finite() => {
                let share = (frame.target - at_inner) / (at_outer - at_inner);
                inner + share.clamp(0.05, 0.95) * (outer - inner)
            }
            Some((outer, _)) => 0.5 * (inner + outer),
            None if at_inner > 0.0 => {
                // A little farther than the straight line says, so that the end lies between two fits.
                let factor = (1.02 * frame.target / at_inner).clamp(1.05, 4.0);
                frame.estimate + factor * (inner - frame.estimate)
            }
            None => {
                let moved = (inner - frame.estimate).abs();
                frame.estimate + self.sign * (2.0 * moved).max(frame.first_step)
            }
        }
    }
}
