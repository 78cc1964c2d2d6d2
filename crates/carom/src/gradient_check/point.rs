//! A state, a loss on the next one, and whether its gradient is right.

use std::time::{Duration, Instant};

use super::differences::{Measured, Slope};
use super::directions::{Direction, FlatGradient, Given, Noise, Quantity, numbers_of};
use super::linear::Linear;
use super::probe::{LANES, Probe};
use super::sides::Sides;
use super::{DIFFERENCE_BAR, DUAL_BAR, Sums};
use crate::cotangent::{Cotangents, StateBar};
use crate::data::Data;
use crate::integrate::{self, Retraced};
use crate::model::Model;
use crate::rollout::GradientError;
use crate::state::State;

/// Directions of a quantity along which differences are taken.
const DIFFERENCES: usize = 2;
/// How many times what the rounding of the state does to a slope that of other operations may do.
const ROUNDINGS: f64 = 10.0;
/// Differences that two step sizes disagree about by more than this part of their error do not judge.
const DOUBTFUL: f64 = 0.03;
/// Slopes below this are rounding: the loss weighs the next state with numbers of the size one.
const NEGLIGIBLE: f64 = 1e-12;
/// The same as a multiple of the tolerance to which the complementarity law finds impulses.
const NEGLIGIBLE_SHARE: f64 = 100.0;

/// A state, a loss on the next one, and its gradient.
pub(super) struct Point<'a> {
    pub(super) given: Given<'a>,
    /// The state after the step.
    pub(super) end: State,
    /// What differences compare to tell kinks.
    pub(super) sides: Sides,
    pub(super) loss: StateBar,
    pub(super) gradient: FlatGradient,
    /// The same gradient by state and controls from A and B, where they say all.
    linear: Option<Linear>,
    /// What rounding decides here.
    pub(super) edge: Option<String>,
    /// What rounding does to the loss.
    pub(super) noise: f64,
}

impl<'a> Point<'a> {
    /// The point, and how long a step and its backward pass take there.
    pub(super) fn new(
        given: Given<'a>,
        noise: &mut Noise,
        visit: usize,
    ) -> Result<(Self, [Duration; 2]), GradientError> {
        let mut loss = StateBar::zeros(given.model);
        noise.weigh(&mut loss);
        // The least of a few times; the first one fills the caches.
        Self::with_loss(given, loss, visit, 5)
    }

    /// As [`Self::new`], with a given loss, and so many repeats to time.
    pub(super) fn with_loss(
        given: Given<'a>,
        loss: StateBar,
        visit: usize,
        repeats: usize,
    ) -> Result<(Self, [Duration; 2]), GradientError> {
        let Given {
            model,
            state,
            input,
        } = given;
        let (mut end, mut data) = (state.clone(), Data::new(model));
        let mut retraced = Retraced::new(model);
        let mut gradient = Cotangents::zeros(model);
        let mut times = [Duration::MAX; 2];
        for _ in 0..repeats {
            end.copy_from(state);
            let start = Instant::now();
            integrate::step(model, &mut end, input, &mut data);
            times[0] = times[0].min(start.elapsed());
            gradient = Cotangents::zeros(model);
            let start = Instant::now();
            if !retraced.retrace(model, state, input, &end.warmstart) {
                return Err(GradientError::NotUnique { step: visit });
            }
            gradient.data.start(retraced.data());
            retraced.backward(model, input, &loss, &mut gradient);
            times[1] = times[1].min(start.elapsed());
        }
        let sides = Sides::of(&data);
        let linear = Linear::new(given, &loss);
        let gradient = FlatGradient {
            model: numbers_of(&gradient.model),
            gradient,
        };
        let point = Self {
            given,
            end,
            sides,
            loss,
            gradient,
            linear,
            edge: None,
            noise: 0.0,
        };
        Ok((point, times))
    }

    /// The gradient of a loss on the state after a step.
    pub(super) fn gradient_of(given: Given<'_>, loss: &StateBar) -> Option<FlatGradient> {
        let Given {
            model,
            state,
            input,
        } = given;
        let (mut end, mut data) = (state.clone(), Data::new(model));
        integrate::step(model, &mut end, input, &mut data);
        let (mut retraced, mut gradient) = (Retraced::new(model), Cotangents::zeros(model));
        if !retraced.retrace(model, state, input, &end.warmstart) {
            return None;
        }
        gradient.data.start(retraced.data());
        retraced.backward(model, input, loss, &mut gradient);
        Some(FlatGradient {
            model: numbers_of(&gradient.model),
            gradient,
        })
    }

    /// Which quantities have an effect on the next state, by one random direction each.
    // Inline, so that whoever calls it compiles the step over dual numbers, and not everybody who builds this crate.
    #[inline]
    pub(super) fn effective(
        &self,
        quantities: &[Quantity],
        probe: &mut Probe,
        noise: &mut Noise,
    ) -> Vec<bool> {
        let Some(first) = quantities.first() else {
            return Vec::new();
        };
        let negligible = negligible(self.given.model);
        let mut effective = Vec::with_capacity(quantities.len());
        for chunk in quantities.chunks(LANES) {
            let directions = std::array::from_fn(|lane| {
                let quantity = chunk.get(lane).unwrap_or(first);
                quantity.direction(self.given.model, &probe.numbers, noise)
            });
            let dual = probe.slopes(self.given, &directions, &self.loss);
            for (direction, dual) in directions.iter().zip(dual).take(chunk.len()) {
                let backward = direction.dot(&self.gradient);
                // Written so that what is not a number has an effect.
                let is_negligible = dual.abs() < negligible && backward.abs() < negligible;
                effective.push(!is_negligible);
            }
        }
        effective
    }

    /// Compares the slopes along directions of one quantity; returns what changes at a kink.
    // Inline for the same reason.
    #[inline]
    pub(super) fn compare(
        &self,
        quantity: &Quantity,
        probe: &mut Probe,
        noise: &mut Noise,
        sums: &mut Sums,
    ) -> Option<String> {
        let model = self.given.model;
        let directions: [Direction; LANES] =
            std::array::from_fn(|_| quantity.direction(model, &probe.numbers, noise));
        let backward = (directions.each_ref()).map(|direction| direction.dot(&self.gradient));
        let dual = probe.slopes(self.given, &directions, &self.loss);
        let largest = |slopes: &[f64]| slopes.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let scale = largest(&dual).max(largest(&backward));
        if scale < negligible(model) {
            return None;
        }
        sums.slope = sums.slope.max(scale);
        let mut kink = None;
        let mut rounding = None;
        for lane in 0..LANES {
            let linear = self.linear.as_ref();
            let linear = linear.and_then(|linear| linear.along(&directions[lane]));
            let [own, linear] = [backward[lane], linear.unwrap_or(dual[lane])]
                .map(|slope| (slope - dual[lane]).abs() / scale);
            let error = greatest(own, linear);
            if exceeds(error, DUAL_BAR) {
                let tie = self.tie(&directions, lane, probe, scale);
                if tie.is_some() {
                    kink = kink.or(tie);
                    continue;
                }
                let rounding =
                    rounding.get_or_insert_with(|| self.rounding(&directions, probe, noise));
                if error * scale <= self.noise.max(ROUNDINGS * rounding[lane]) {
                    sums.rough += 1;
                    continue;
                }
            }
            sums.dual_error = greatest(sums.dual_error, own);
            sums.linear_error = greatest(sums.linear_error, linear);
        }
        let one_sided = quantity.one_sided(model).is_some();
        for lane in 0..DIFFERENCES {
            if kink.is_some() {
                break;
            }
            let measured = self.difference((&directions[lane], one_sided), probe, scale);
            kink = self.judge(
                measured,
                (&directions, lane),
                (backward[lane], scale),
                probe,
                sums,
            );
        }
        sums.kinks += usize::from(kink.is_some());
        kink
    }

    /// Takes differences into account where they can judge; otherwise returns the kink that they met.
    fn judge(
        &self,
        measured: Measured,
        (directions, lane): (&[Direction; LANES], usize),
        (backward, scale): (f64, f64),
        probe: &mut Probe,
        sums: &mut Sums,
    ) -> Option<String> {
        let Slope {
            value: slope,
            doubt,
            step,
        } = match measured {
            Measured::Slope(slope) => slope,
            Measured::Kink(kink) => return Some(kink),
        };
        if !slope.is_finite() {
            sums.rough += 1;
            return None;
        }
        let error = (slope - backward).abs() / scale;
        if exceeds(error, DIFFERENCE_BAR) {
            let jump = self.jump(directions, (lane, step), probe, (scale, error));
            if jump.is_some() {
                return jump;
            }
            if doubt > DOUBTFUL * error * scale {
                sums.rough += 1;
                return None;
            }
        }
        sums.difference_error = greatest(sums.difference_error, error);
        sums.products[0] += backward * backward / (scale * scale);
        sums.products[1] += slope * slope / (scale * scale);
        sums.products[2] += backward * slope / (scale * scale);
        None
    }
}

/// Slopes below this cannot be told from zero.
fn negligible(model: &Model) -> f64 {
    let laws = &model.structure.laws;
    let tolerance = laws.of_rows.filter(|_| laws.is_impulse_level());
    let tolerance = tolerance.map_or(0.0, |law| model.laws.tolerance[law]);
    NEGLIGIBLE.max(NEGLIGIBLE_SHARE * tolerance)
}

/// Whether an error is too large; what is not a number is.
pub(super) fn exceeds(error: f64, bar: f64) -> bool {
    error.is_nan() || error > bar
}

/// The greater of two errors; what is not a number is greater than all.
pub(super) fn greatest(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}
