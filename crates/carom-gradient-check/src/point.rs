//! A state, a loss on the next one, and whether its gradient is right.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use carom::cotangent::StateBar;
use carom::rollout::{NoGradient, Nothing};
use carom::system::{NoDerivative, Passing, Reverse, Seen, StepBar};
use carom::{Dynamics, Error, Model, State};

use crate::differences::{Measured, amplified};
use crate::directions::{Direction, FlatGradient, Given, Noise, Variable};
use crate::linear::Linear;
use crate::probe::{LANES, Probe};
use crate::sides::Sides;
use crate::{DIFFERENCE_BAR, DUAL_BAR, Sums};

/// How often a step and its backward pass are timed.
const REPEATS: usize = 5;
/// Directions of a quantity along which differences are taken.
const DIFFERENCES: usize = 2;
/// How many times the spread of a few computations that round differently two of them may be apart: the spread of
/// [`SAMPLES`] is between two and three standard deviations, so these are more than eight.
const ROUNDINGS: f64 = 4.0;
/// Computations of a slope that round differently.
const SAMPLES: usize = 8;

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
    /// Gradients of multiples of the loss, which round differently, with their factors; once they are needed.
    multiples: OnceCell<Vec<(f64, FlatGradient)>>,
}

impl<'a> Point<'a> {
    /// The point, and how long a step and its backward pass take there.
    pub(super) fn new(
        given: Given<'a>,
        noise: &mut Noise,
        visit: usize,
    ) -> Result<(Self, [Duration; 2]), Error> {
        let Given {
            model,
            state,
            input,
        } = given;
        let mut loss = StateBar::zeros(model);
        noise.weigh(&mut loss);
        let (mut end, mut data, mut reverse) = (state.clone(), model.work(), model.reverse());
        let mut found = None;
        // The least of a few times; the first one fills the caches.
        let mut times = [Duration::MAX; 2];
        for _ in 0..REPEATS {
            end.copy_from(state);
            let start = Instant::now();
            carom::step(model, &mut end, input, &mut data);
            times[0] = times[0].min(start.elapsed());
            let (gradient, time) = backward(given.seen(&end), model, &loss, &mut reverse)
                .map_err(|_| NoGradient::NotUnique.at(visit))?;
            times[1] = times[1].min(time);
            found = Some(gradient);
        }
        let gradient = found.ok_or_else(|| NoGradient::NotUnique.at(visit))?;
        let linear = Linear::new(given.seen(&end), model, &loss, &mut reverse);
        let point = Self {
            given,
            end,
            sides: Sides::of(&data),
            loss,
            gradient,
            linear,
            edge: None,
            noise: 0.0,
            multiples: OnceCell::new(),
        };
        Ok((point, times))
    }

    /// The gradient of the loss times a factor.
    pub(super) fn gradient_by(&self, factor: f64) -> Option<FlatGradient> {
        let model = self.given.model;
        let mut loss = self.loss.clone();
        loss.scale(factor);
        let seen = self.given.seen(&self.end);
        let found = backward(seen, model, &loss, &mut model.reverse()).ok()?;
        Some(found.0)
    }

    /// Which quantities have an effect on the next state, by one random direction each.
    pub(super) fn effective(
        &self,
        quantities: &[Variable],
        probe: &mut Probe,
        noise: &mut Noise,
    ) -> Vec<bool> {
        let Some(first) = quantities.first() else {
            return Vec::new();
        };
        let negligible = self.least_noise();
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
    pub(super) fn compare(
        &self,
        quantity: &Variable,
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
        if scale < self.least_noise() {
            return None;
        }
        let errors: [[f64; 2]; LANES] = std::array::from_fn(|lane| {
            let linear = self.linear.as_ref();
            let linear = linear.and_then(|linear| linear.along(&directions[lane]));
            [backward[lane], linear.unwrap_or(dual[lane])]
                .map(|slope| (slope - dual[lane]).abs() / scale)
        });
        let mut rounding = [0.0; LANES];
        if (errors.as_flattened().iter()).any(|&error| exceeds(error, DUAL_BAR)) {
            rounding = self.rounding(&directions, probe, noise);
            if scale <= rounding.into_iter().fold(0.0, f64::max) {
                // All that is seen of the slope is its rounding.
                return None;
            }
        }
        sums.slope = sums.slope.max(scale);
        for ([own, linear], rounding) in errors.into_iter().zip(rounding) {
            let error = greatest(own, linear);
            if exceeds(error, DUAL_BAR) && error * scale <= rounding {
                sums.rounded = sums.rounded.max(error);
                continue;
            }
            sums.dual_error = greatest(sums.dual_error, own);
            sums.linear_error = greatest(sums.linear_error, linear);
        }
        let one_sided = quantity.one_sided(model).is_some();
        let mut kink = None;
        for lane in 0..DIFFERENCES {
            let claim = Claim {
                directions: &directions,
                lane,
                backward: backward[lane],
                rounding: rounding[lane],
                scale,
                one_sided,
            };
            kink = self.judge(&claim, probe, sums);
            if kink.is_some() {
                break;
            }
        }
        sums.kinks += usize::from(kink.is_some());
        kink
    }

    /// How far two computations of a slope may be apart by rounding.
    ///
    /// Slopes are linear in the directions, and gradients in the loss: multiples of them give the same but for rounding,
    /// all of which happens anew. Values are no source of difference, since dual numbers have those of plain ones to the
    /// last bit.
    fn rounding(
        &self,
        directions: &[Direction; LANES],
        probe: &mut Probe,
        noise: &mut Noise,
    ) -> [f64; LANES] {
        let multiples = self.multiples.get_or_init(|| {
            let factors = (0..SAMPLES).map(|_| noise.factor());
            factors
                .filter_map(|factor| Some((factor, self.gradient_by(factor)?)))
                .collect()
        });
        let mut bounds = [[[f64::INFINITY, f64::NEG_INFINITY]; 2]; LANES];
        let mut widen = |kind: usize, lane: usize, slope: f64| {
            let [low, high] = &mut bounds[lane][kind];
            (*low, *high) = (low.min(slope), high.max(slope));
        };
        for (factor, gradient) in multiples {
            for (lane, direction) in directions.iter().enumerate() {
                widen(0, lane, direction.dot(gradient) / factor);
            }
        }
        for _ in 0..SAMPLES {
            let factors: [f64; LANES] = std::array::from_fn(|_| noise.factor());
            let scaled = std::array::from_fn(|lane| directions[lane].scaled(factors[lane]));
            let slopes = probe.slopes(self.given, &scaled, &self.loss);
            for lane in 0..LANES {
                widen(1, lane, slopes[lane] / factors[lane]);
            }
        }
        bounds.map(|kinds| {
            let spread = kinds.map(|[low, high]| high - low);
            (ROUNDINGS * spread[0].max(spread[1])).max(self.least_noise())
        })
    }

    /// Takes differences into account where they can judge; otherwise returns the kink that they met.
    fn judge(&self, claim: &Claim<'_>, probe: &mut Probe, sums: &mut Sums) -> Option<String> {
        let Claim {
            directions,
            lane,
            backward,
            rounding,
            scale,
            one_sided,
        } = *claim;
        let direction = (&directions[lane], one_sided);
        let mut slope = match self.difference(direction, probe, scale) {
            Measured::Slope(slope) => slope,
            Measured::Kink(kink) => return Some(kink),
        };
        let error = (slope.value - backward).abs() / scale;
        if exceeds(error, DIFFERENCE_BAR) {
            let roughness = self.roughness(direction, probe, slope.step);
            slope.doubt += amplified(one_sided) * roughness / slope.step + rounding;
            let is_undecided = slope.doubt == f64::INFINITY || error * scale <= slope.doubt;
            if is_undecided {
                if self.edge.is_some() {
                    return self.edge.clone();
                }
                sums.undecided += 1;
                sums.doubt = sums.doubt.max(slope.doubt / scale);
                return None;
            }
            let kink = self.kink_on_the_way(claim, &slope, error, probe);
            if kink.is_some() {
                return kink;
            }
        }
        sums.difference_error = greatest(sums.difference_error, error);
        sums.products[0] += backward * backward / (scale * scale);
        sums.products[1] += slope.value * slope.value / (scale * scale);
        sums.products[2] += backward * slope.value / (scale * scale);
        None
    }
}

/// The gradient of a loss on the next state, and how long the backward pass took.
fn backward(
    seen: Seen<'_>,
    model: &Model,
    loss: &StateBar,
    reverse: &mut Reverse,
) -> Result<(FlatGradient, Duration), NoDerivative> {
    let mut bar = StepBar::zeros(seen.state, seen.input);
    let passing = Passing {
        next: loss,
        loss: &mut Nothing,
        observer: &mut (),
    };
    let start = Instant::now();
    model.backward(seen, passing, &mut bar, reverse)?;
    let time = start.elapsed();
    let StepBar { state, input } = bar;
    let gradient = FlatGradient {
        model: model.take_bar(reverse, input.timestep).flat(),
        state,
        input,
    };
    Ok((gradient, time))
}

/// A slope that the backward pass claims along one of some directions.
pub(super) struct Claim<'a> {
    pub(super) directions: &'a [Direction; LANES],
    /// Which of them it is.
    pub(super) lane: usize,
    pub(super) backward: f64,
    /// How far it may be off by rounding.
    pub(super) rounding: f64,
    /// What errors are measured by.
    pub(super) scale: f64,
    /// Whether differences can be taken on one side only.
    pub(super) one_sided: bool,
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
