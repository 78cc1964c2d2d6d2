//! Steps that end at an event.
//!
//! Between the ends of a step positions follow a cubic; on it the event is bracketed. The step is then taken again to that
//! place, and its length corrected until the event is met: of a contact that begins, an error of the place would be one of
//! the motion.

use super::event::{Bend, Event, gauge_of};
use super::mode::{Mode, Switch};
use super::motion::{Onset, Run};

/// Gauges within this part of the allowed error of positions are zero, within these bounds (m or rad).
const ZERO: (f64, [f64; 2]) = (1e-6, [1e-15, 1e-12]);

/// Kinks are met when within these parts of the step: of a law, which bends the force, and of an impedance, which only bends
/// its slope.
const NEAR_LAW: f64 = 1e-7;
const NEAR_IMPEDANCE: f64 = 1e-4;

/// Brackets are made as narrow as this part of the step before the step is taken again.
const CLOSE: f64 = 1e-6;

/// Brackets as narrow as this are enough where their rate tells the rest.
const NARROW: f64 = 0.01;

/// Most corrections of a step that ends at an event.
const CORRECTIONS: usize = 10;

/// In steps longer than this (s) it is looked for contacts between the stages too, at these parts of them.
const LONG: f64 = 1e-3;
const BETWEEN: [f64; 2] = [0.5, 0.72];

/// Most events that are found to have another one before them, in one step.
const RELOCATIONS: usize = 8;

/// Gauges of other switches that are as small as this change at the same instant (m or rad).
const TIE: f64 = 1e-11;

/// How passing an event went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// The step ends there.
    Yes,
    /// The step there has too large an error.
    TooFar,
    /// The dynamics are not finite.
    NotFinite,
}

/// Where a step that was taken again ended.
enum End {
    /// At the event, or as near as it gets if not.
    At(f64, bool),
    /// Something else happens before its end.
    Beyond(f64, (Event, Option<f64>)),
    NotFinite,
}

impl Run<'_> {
    /// Something that happens in the step that was just taken, with a number that changes its sign there if there is one.
    pub(super) fn event(&mut self) -> Option<(Event, Option<f64>)> {
        if let Some(&(switch, gauge)) = self.changes().first() {
            return Some((Event::Switch(switch), gauge));
        }
        self.kink()
    }

    /// What has to change its mode where the stepper is.
    fn changes(&mut self) -> &[(Switch, Option<f64>)] {
        (self.mode).changes(&self.stepper.gauges, &mut self.changes);
        &self.changes
    }

    /// A kink that the step which was just taken passes.
    fn kink(&mut self) -> Option<(Event, Option<f64>)> {
        let kink = self.stepper.kink(self.model)?;
        Some((Event::Kink(kink), self.stepper.boundary(self.model, kink)))
    }

    fn value_of(&self, event: Event) -> Option<f64> {
        match event {
            Event::Switch(switch) => gauge_of(&self.stepper.gauges, switch),
            Event::Kink(kink) => self.stepper.boundary(self.model, kink),
        }
    }

    fn zero(&self) -> f64 {
        let (part, [least, most]) = ZERO;
        (part * self.settings.tolerances.position.absolute).clamp(least, most)
    }

    /// An event in the step of length h that was just taken and of which nothing is seen at its end: something touches for a
    /// moment. Its part of the step too.
    pub(super) fn hidden_event(&mut self, h: f64) -> Option<(f64, Event, Option<f64>)> {
        let Self {
            model,
            stepper,
            state,
            mode,
            ..
        } = self;
        let between = if h > LONG { &BETWEEN[..] } else { &[] };
        let early = stepper.early;
        if early.is_none() && between.is_empty() {
            return None;
        }
        stepper.lay_path(h);
        let parts = early.into_iter().chain(between.iter().copied());
        let part = stepper.leaves(model, state, mode, parts)?;
        let &(switch, gauge) = self.changes().first()?;
        Some((part, Event::Switch(switch), gauge))
    }

    /// Ends the step of length h that was just taken at the first event in it; one is known at a part of the step.
    pub(super) fn pass_event(&mut self, h: f64, known: (f64, Event, Option<f64>)) -> Passed {
        let (mut h, mut first) = (h, known);
        // A switch that seemed to come first, where it was, and in a step of which length.
        let mut switch: Option<(Event, Bracket, f64)> = None;
        for _ in 0..RELOCATIONS {
            let Some((event, bracket)) = self.locate(h, first) else {
                return Passed::NotFinite;
            };
            // A kink at the same instant as a switch is passed with it.
            let is_tied = matches!(event, Event::Kink(_)) && bracket.root() > 1.0 - 2.0 * NEAR_LAW;
            let (event, bracket, longest, is_sure) = match switch {
                Some((event, bracket, longest)) if is_tied => (event, bracket, longest, true),
                _ => (event, bracket, h, false),
            };
            match self.end_at(event, &bracket, longest, is_sure) {
                End::At(h, is_met) => return self.accept_event(event, h, is_met),
                End::NotFinite => return Passed::NotFinite,
                End::Beyond(shorter, other) => {
                    if matches!(event, Event::Switch(_)) {
                        switch = Some((event, bracket, longest));
                    }
                    (h, first) = (shorter, (1.0, other.0, other.1));
                }
            }
        }
        Passed::TooFar
    }

    /// Accepts the step that was just taken to an event, and goes on from there.
    fn accept_event(&mut self, event: Event, h: f64, is_met: bool) -> Passed {
        if self.error(h) > 1.0 {
            return Passed::TooFar;
        }
        let is_finite = match event {
            Event::Kink(kink) => {
                self.accept(h, self.state.time + h);
                if is_met {
                    self.stepper.pass(kink);
                }
                true
            }
            Event::Switch(switch) => {
                self.before.clone_from(&self.stepper.data.solve.qacc);
                self.accept(h, self.state.time + h);
                self.switch(switch)
            }
        };
        if is_finite {
            Passed::Yes
        } else {
            Passed::NotFinite
        }
    }

    /// Changes a switch at the state, and all others that change at the same instant. False where the dynamics are not
    /// finite.
    fn switch(&mut self, first: Switch) -> bool {
        let mut next = Some(first);
        let mut count = 0;
        let mut done = Mode::default();
        while let Some(switch) = next {
            let rate = self.stepper.gauge_rate(self.model, &self.state, switch);
            let begins = !self.mode.contains(switch);
            if switch == first && (rate < 0.0) != begins {
                // It just has changed, and goes away from where it would have to change back.
                self.h *= 4.0;
                return true;
            }
            done = done.with(switch);
            let after = self.mode.with(switch);
            let mut onset = Onset::new(switch, begins, rate);
            onset.is_held = self.chatters(&onset);
            let is_held = onset.is_held;
            if !self.change_mode(onset, after) || is_held && !self.hold_last(switch) {
                return false;
            }
            self.before.clone_from(&self.stepper.rates[0].velocity);
            count += 1;
            next = self.tie(&done);
        }
        self.motion.share_jumps(count);
        self.choose_step();
        true
    }

    /// A switch that has to change as well at the state that was just evaluated.
    fn tie(&mut self, done: &Mode) -> Option<Switch> {
        let Self {
            model,
            stepper,
            state,
            mode,
            ..
        } = self;
        let near = (0..stepper.gauges.len()).find(|&index| {
            let gauge = stepper.gauges[index];
            if gauge.value.abs() > TIE || done.contains(gauge.switch) {
                return false;
            }
            let rate = super::mode::gauge_rate(model, state, &stepper.data, gauge.switch);
            let is_on = mode.contains(gauge.switch);
            rate.is_some_and(|rate| if is_on { rate > 0.0 } else { rate < 0.0 })
        });
        near.map(|index| stepper.gauges[index].switch)
    }

    /// Takes steps to an event until one ends there; it is the first one for sure, or others may be found before it.
    fn end_at(&mut self, event: Event, bracket: &Bracket, longest: f64, is_sure: bool) -> End {
        let near = match event {
            Event::Switch(_) => 0.0,
            Event::Kink(kink) => match kink.bend {
                Bend::Law { .. } => NEAR_LAW * longest,
                Bend::Impedance { .. } => NEAR_IMPEDANCE * longest,
            },
        };
        let zero = self.zero();
        // Rows of limits are there on one side only: what begins must act from there on, and what ceases still does.
        let target = match event {
            Event::Switch(_) => -2.0 * zero,
            Event::Kink(_) => 0.0,
        };
        let mut rate = bracket.rate / longest;
        let mut h = bracket.root() * longest + 0.5 * near;
        let mut last: Option<(f64, f64)> = None;
        let mut failures = 0;
        for _ in 0..CORRECTIONS {
            if !self.step(h) {
                return End::NotFinite;
            }
            if let Some(other) = self.other_than(event)
                && !is_sure
            {
                return End::Beyond(h, other);
            }
            let Some(miss) = self.value_of(event).map(|value| value - target) else {
                return End::At(h, false);
            };
            let is_met = match event {
                Event::Switch(_) => miss.abs() <= zero,
                Event::Kink(_) => (miss / rate).abs() <= near,
            };
            if is_met {
                return End::At(h, true);
            }
            if let Some((before, miss_before)) = last {
                // Where the miss does not shrink, as at the edge of a surface, the place must do.
                failures += usize::from(2.0 * miss.abs() > miss_before.abs());
                rate = (miss - miss_before) / (h - before);
            }
            let corrected = h - miss / rate + 0.5 * near;
            if failures > 2 || !(corrected > 0.0 && corrected <= 2.0 * longest) {
                return End::At(h, false);
            }
            last = Some((h, miss));
            h = corrected;
        }
        End::At(h, false)
    }

    /// What else than an event happens in the step that was just taken, and not at the same instant.
    fn other_than(&mut self, event: Event) -> Option<(Event, Option<f64>)> {
        let other = self.changes().iter().find(|(switch, gauge)| {
            event != Event::Switch(*switch) && gauge.is_none_or(|gauge| gauge.abs() > TIE)
        });
        if let Some(&(switch, gauge)) = other {
            return Some((Event::Switch(switch), gauge));
        }
        match event {
            Event::Switch(_) => self.kink(),
            // Kinks that are passed with another one are passed.
            Event::Kink(_) => None,
        }
    }

    /// The first event in the step of length h that was just taken, and where; one is known at a part of it. None where the
    /// dynamics are not finite.
    fn locate(&mut self, h: f64, known: (f64, Event, Option<f64>)) -> Option<(Event, Bracket)> {
        let (part, mut event, value) = known;
        if part == 1.0 {
            self.stepper.lay_path(h);
        }
        let at_start = match event {
            // Where it just has changed, the sign is one of rounding.
            Event::Switch(switch) => gauge_of(&self.stepper.first_gauges, switch)
                .filter(|&gauge| value.is_some_and(|value| gauge * value < 0.0)),
            Event::Kink(_) => None,
        };
        let mut bracket = Bracket::new(at_start, (part, value));
        while !bracket.is_close() {
            let part = bracket.next();
            self.stepper.go_along(self.model, &self.state, part);
            let found = if let Event::Switch(_) = event {
                self.stepper.probe(self.model);
                let change = self.changes().first();
                change.map(|&(switch, gauge)| (Event::Switch(switch), gauge))
            } else {
                if !(self.stepper).evaluate(self.model, &self.input, &self.mode) {
                    return None;
                }
                self.event()
            };
            if let Some((other, value)) = found {
                if other != event {
                    event = other;
                    bracket.forget();
                }
                bracket.set_high(part, value);
            } else {
                let value = self.value_of(event);
                bracket.set_low(part, value);
            }
        }
        Some((event, bracket))
    }
}

/// Parts of a step before and after something happens.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    low: f64,
    high: f64,
    /// A number that changes its sign there, where it is known.
    values: [Option<f64>; 2],
    /// Its rate by part of the step.
    rate: f64,
    /// Which side was moved last, and how many times in a row.
    moved: (bool, usize),
}

impl Bracket {
    fn new(at_start: Option<f64>, (high, at_end): (f64, Option<f64>)) -> Self {
        let mut bracket = Self {
            low: 0.0,
            high,
            values: [at_start, at_end],
            rate: 0.0,
            moved: (false, 0),
        };
        bracket.set_rate();
        bracket
    }

    fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Begins to look for something else, that happens before the end as well.
    fn forget(&mut self) {
        self.values[0] = None;
        self.rate = 0.0;
    }

    /// Whether the place is known well enough.
    fn is_close(&self) -> bool {
        let is_near = |value: f64| (value / self.rate).abs() <= CLOSE;
        let by_rate = match self.values {
            [Some(low), Some(high)] if low * high < 0.0 => is_near(low) || is_near(high),
            _ => false,
        };
        by_rate && self.width() <= NARROW || self.width() <= CLOSE
    }

    /// The place.
    fn root(&self) -> f64 {
        match self.values[1] {
            Some(value) if self.rate != 0.0 => {
                (self.high - value / self.rate).clamp(self.low, self.high)
            }
            _ => self.high,
        }
    }

    /// Where to look next: by numbers on both sides a little beyond the secant, so that both sides close in; halved where that
    /// does not help.
    fn next(&self) -> f64 {
        match self.values {
            [Some(low), Some(high)] if low * high < 0.0 && self.moved.1 < 3 => {
                let secant = self.low + self.width() * low / (low - high);
                let beyond = if self.moved.0 { -1.0 } else { 1.0 };
                let nudge = if self.moved.1 > 1 { 0.1 } else { 1e-3 };
                let edge = 1e-4 * self.width();
                let aim = secant + beyond * nudge * self.width() * f64::from(self.moved.1 > 0);
                aim.clamp(self.low + edge, self.high - edge)
            }
            _ => 0.5 * (self.low + self.high),
        }
    }

    fn set_low(&mut self, part: f64, value: Option<f64>) {
        (self.low, self.values[0]) = (part, value);
        self.count(false);
    }

    fn set_high(&mut self, part: f64, value: Option<f64>) {
        (self.high, self.values[1]) = (part, value);
        self.count(true);
    }

    fn count(&mut self, high: bool) {
        let again = self.moved.0 == high;
        self.moved = (high, if again { self.moved.1 + 1 } else { 1 });
        if self.moved.1 > 3 {
            self.moved.1 = 0;
        }
        self.set_rate();
    }

    fn set_rate(&mut self) {
        if let [Some(low), Some(high)] = self.values {
            self.rate = (high - low) / self.width();
        }
    }
}
