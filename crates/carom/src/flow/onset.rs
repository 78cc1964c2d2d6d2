//! Where in a step a contact or limit begins or ceases to act.
//!
//! Between the ends of a step positions follow a cubic; on it the place is bracketed. The step is then taken again to that
//! place, and its length corrected until the gauge is zero to rounding: an error of the place would be one of the motion.

use super::mode::{Gauge, Switch, gauge_rate};
use super::motion::{Onset, Run};
use super::stepper::{Rates, Stepper, place};
use crate::model::Model;
use crate::state::State;

/// Gauges within this are zero (m or rad).
const ZERO: f64 = 1e-13;

/// Brackets shorter than this part of a step are not divided further.
const NARROW: f64 = 1e-13;

/// Brackets of kinks are made as narrow as this before the step is taken again.
const CLOSE: f64 = 1e-6;

/// Most corrections of a step that ends at a kink.
const CORRECTIONS: usize = 3;

impl Run<'_> {
    /// Ends the step of length h that was just taken where the first of `self.changes` happens. False where the dynamics
    /// are not finite.
    pub(super) fn pass_onset(&mut self, h: f64) -> bool {
        let (switch, part) = self.locate(h);
        let begins = !self.mode.contains(switch);
        let after = self.mode.with(switch);
        // What ceases to act must still act in the last evaluation before.
        let target = if begins { 0.0 } else { -10.0 * ZERO };
        let mut h = part * h;
        let mut best = f64::INFINITY;
        loop {
            let Self {
                model,
                input,
                stepper,
                state,
                mode,
                ..
            } = self;
            if !stepper.step(model, state, input, h, mode) {
                return false;
            }
            if stepper.kink().is_some() {
                // First things first; the onset is met again in the next step.
                return self.pass_kink(h);
            }
            let rate = gauge_rate(model, &stepper.state, &stepper.data, switch);
            let miss = value_of(&stepper.gauges, switch).map(|gauge| gauge - target);
            let (rate, miss) = (rate.unwrap_or(0.0), miss.unwrap_or(0.0));
            let corrected = h - miss / rate;
            // Where the gauge does not come closer to zero, as at the edge of a surface, the place must do.
            if miss.abs() <= ZERO
                || 2.0 * miss.abs() > best
                || corrected.is_nan()
                || corrected <= 0.0
            {
                let before = stepper.data.solve.qacc.clone();
                self.accept(h, self.state.time + h);
                return self.switch(Onset::new(switch, begins, rate), &before, after);
            }
            best = miss.abs();
            h = corrected;
        }
    }

    /// Ends the step of length h that was just taken at the first kink in it, from where the constraint is on the other
    /// piece of its law. A step across a kink would be short enough for the motion, but not for its derivative, which has a
    /// jump there.
    pub(super) fn pass_kink(&mut self, h: f64) -> bool {
        let Self {
            model,
            input,
            stepper,
            state,
            mode,
            ..
        } = self;
        let Some(mut kink) = stepper.kink() else {
            self.accept(h, self.state.time + h);
            return true;
        };
        let path = Path::new(stepper, h);
        let mut bracket = Bracket::new(Some(stepper.boundary(kink)));
        while bracket.width() > CLOSE {
            let middle = bracket.next();
            path.place(model, state, middle, &mut stepper.state);
            if !stepper.evaluate(model, input, mode) {
                return false;
            }
            match stepper.kink() {
                Some(other) => {
                    if other != kink {
                        kink = other;
                        bracket.values[0] = None;
                    }
                    bracket.set_high(middle, Some(stepper.boundary(kink)));
                }
                None => bracket.set_low(middle, Some(stepper.boundary(kink))),
            }
        }
        let longest = h;
        let mut h = bracket.high * longest;
        for _ in 0..=CORRECTIONS {
            if !stepper.step(model, state, input, h, mode) {
                return false;
            }
            let correction = -stepper.boundary(kink) / bracket.rate * longest;
            let corrected = h + correction;
            if !(correction.abs() > ZERO && corrected > 0.0 && corrected < longest) {
                break;
            }
            h = corrected;
        }
        let mut phases = stepper.phases.clone();
        phases[kink.block] = kink.to;
        self.accept(h, self.state.time + h);
        self.stepper.phases = phases;
        true
    }

    /// The first switch that changes in the step, and at which part of it.
    fn locate(&mut self, h: f64) -> (Switch, f64) {
        let Self {
            model,
            stepper,
            state,
            mode,
            changes,
            ..
        } = self;
        let path = Path::new(stepper, h);
        let mut probe = state.clone();
        let mut first = changes[0];
        let mut bracket = Bracket::new(first.1);
        while bracket.width() > NARROW && !first.1.is_some_and(|gauge| gauge.abs() < ZERO) {
            let middle = bracket.next();
            path.place(model, state, middle, &mut probe);
            stepper.probe(model, &probe);
            mode.changes(&stepper.gauges, changes);
            match changes.first() {
                Some(&change) => {
                    if change.0 != first.0 {
                        bracket.values[0] = None;
                    }
                    first = change;
                    bracket.set_high(middle, change.1);
                }
                None => bracket.set_low(middle, value_of(&stepper.gauges, first.0)),
            }
        }
        (first.0, bracket.high)
    }
}

/// Parts of a step before and after something happens.
struct Bracket {
    low: f64,
    high: f64,
    /// A number that changes its sign there, where it is known.
    values: [Option<f64>; 2],
    /// Its rate.
    rate: f64,
    halve: bool,
}

impl Bracket {
    fn new(at_end: Option<f64>) -> Self {
        Self {
            low: 0.0,
            high: 1.0,
            values: [None, at_end],
            rate: 0.0,
            halve: true,
        }
    }

    fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Where to look next: numbers on both sides allow a secant, but every other time the bracket is halved, to be sure that
    /// it shrinks.
    fn next(&mut self) -> f64 {
        self.halve = !self.halve;
        match self.values {
            [Some(low), Some(high)] if self.halve && low * high < 0.0 => {
                let edge = 1e-3 * self.width();
                let secant = self.low + self.width() * low / (low - high);
                secant.clamp(self.low + edge, self.high - edge)
            }
            _ => 0.5 * (self.low + self.high),
        }
    }

    fn set_low(&mut self, part: f64, value: Option<f64>) {
        (self.low, self.values[0]) = (part, value);
        self.set_rate();
    }

    fn set_high(&mut self, part: f64, value: Option<f64>) {
        (self.high, self.values[1]) = (part, value);
        self.set_rate();
    }

    fn set_rate(&mut self) {
        if let [Some(low), Some(high)] = self.values {
            self.rate = (high - low) / self.width();
        }
    }
}

fn value_of(gauges: &[Gauge], switch: Switch) -> Option<f64> {
    let gauge = gauges.iter().find(|gauge| gauge.switch == switch);
    gauge.map(|gauge| gauge.value)
}

/// States along a step.
struct Path {
    /// The end as seen from the start, and the rates at both, in units of h.
    ends: [Rates; 3],
    h: f64,
}

impl Path {
    fn new(stepper: &Stepper, h: f64) -> Self {
        let Stepper { rates, tableau, .. } = stepper;
        let last = &rates[rates.len() - 1];
        let mut end = rates[0].clone();
        end.combine(tableau.weights, rates);
        Self {
            ends: [end, rates[0].clone(), last.clone()],
            h,
        }
    }

    /// The state at a part of the step: on the cubic through its ends and their rates.
    fn place(&self, model: &Model, start: &State, part: f64, state: &mut State) {
        let square = part * part;
        let factors = [
            square * (3.0 - 2.0 * part),
            part * (1.0 - part) * (1.0 - part),
            square * (part - 1.0),
        ];
        let mut slope = self.ends[0].clone();
        slope.combine(&factors, &self.ends);
        place(model, start, &slope, self.h, state);
        state.time = start.time + part * self.h;
    }
}
