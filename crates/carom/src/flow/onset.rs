//! Steps that end at an event.
//!
//! On the path of the step (see [`dense`](super::dense)) the event is bracketed. Where everything that the step follows is smooth
//! on both sides of it, as where a contact begins that does not act yet or a piece of a force ends (see [`pieces`](super::pieces)),
//! the step is cut there. Otherwise it is taken again to that place, and its length corrected until the event is met.

use super::event::{Event, Kink, gauge_of};
use super::mode::{Mode, Switch};
use super::motion::{Onset, Run};
use super::pieces::Pieces;

/// A gauge counts as zero within this fraction of the position tolerance …
const ZERO_PER_POSITION_TOLERANCE: f64 = 1e-6;

/// … within these bounds (m or rad): rounding of a distance below, what derivatives can see above.
const ZERO_RANGE: [f64; 2] = [1e-15, 1e-12];

/// A kink counts as hit if the step overshoots it by at most this fraction of its length. Forces are continuous there, so
/// derivatives miss only the change of their slope over that time.
const MAX_KINK_OVERSHOOT: f64 = 1e-5;

/// A kink within this fraction of the step from a switch is passed with it.
const TIED_KINK_FRACTION: f64 = 2e-7;

/// Width of the brackets around events, as a fraction of the step. Steps are cut so far beyond kinks, so that everything of
/// the same instant shows.
const BRACKET_WIDTH: f64 = 1e-6;

/// The same for kinks at which the step is taken again: the path across such a kink is no more exact than this.
const ROUGH_BRACKET_WIDTH: f64 = 1e-3;

/// Length of the step next to a pole of the derivatives of an impedance (s). An impedance whose power is not an integer has
/// such poles at its ends.
const POLE_STEP: f64 = 1e-9;

/// After so many kinks in a row, each within [`POLE_STEP`] of the last, one step ignores the pieces of laws.
const MAX_CROWDED_KINKS: usize = 8;

/// Brackets as narrow as this are enough where the secant gives the rest, as a fraction of the step.
const SECANT_BRACKET_WIDTH: f64 = 0.01;

/// Maximum of corrections of a step that should end at an event.
const MAX_CORRECTIONS: usize = 10;

/// In long steps, contacts are looked for between the stages too, as often as this (s).
const PROBE_INTERVAL: f64 = 5e-3;

/// How often, in one step, an event may turn out to have another one before it.
const MAX_RELOCATIONS: usize = 8;

/// Switches whose gauges are as small as this change at the same instant (m or rad).
const TIED_GAUGE: f64 = 1e-11;

/// How passing an event went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// The step ends there.
    Yes,
    /// The step there has too large an error, or no dynamics on its way.
    TooFar,
    /// The dynamics are not finite where the step ends.
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

/// How a step is made to end at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It is cut there.
    Cut,
    /// It is taken again; other events before its end count, unless the event is the first one for sure.
    Again { is_sure: bool },
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
        let (kink, value) = self.stepper.kink(self.model, 0.0)?;
        Some((Event::Kink(kink), value))
    }

    fn value_of(&self, event: Event) -> Option<f64> {
        match event {
            Event::Switch(switch) => gauge_of(&self.stepper.gauges, switch),
            Event::Kink(kink) => self.stepper.boundary(self.model, kink),
        }
    }

    fn zero(&self) -> f64 {
        let [min, max] = ZERO_RANGE;
        let zero = ZERO_PER_POSITION_TOLERANCE * self.settings.tolerances.position.absolute;
        zero.clamp(min, max)
    }

    /// An event in the step of length h that was just taken of which nothing is seen at its end: something touches for a
    /// moment. Its fraction of the step too.
    pub(super) fn hidden_event(&mut self, h: f64) -> Option<(f64, Event, Option<f64>)> {
        let Self {
            model,
            stepper,
            state,
            mode,
            ..
        } = self;
        // Probe where a stage saw something, and at regular times in a long step.
        let looks = (h / PROBE_INTERVAL).floor();
        let between = std::iter::successors(Some(1.0), |look| Some(look + 1.0))
            .take_while(|&look| look <= looks)
            .map(|look| look / (looks + 1.0));
        let parts = stepper.early.into_iter().chain(between);
        if let Some(part) = stepper.leaves(model, state, mode, h, parts) {
            let &(switch, gauge) = self.changes().first()?;
            return Some((part, Event::Switch(switch), gauge));
        }
        self.hidden_kink(h)
    }

    /// [`Self::hidden_event`] at the end of a piece that is come back to.
    fn hidden_kink(&mut self, h: f64) -> Option<(f64, Event, Option<f64>)> {
        // A stage was beyond the end of a piece; see whether the path of the step is, too.
        let part = self.stepper.early_kink?;
        if self.go_along(h, part)
            && let Some((event, value)) = self.event()
        {
            return Some((part, event, value));
        }
        let at = (self.model, &self.state, &self.input);
        self.stepper.return_to_end(at, &self.mode, h);
        None
    }

    /// Ends the step of length h and of an error that was just taken at the first event in it; one is known at a part of the
    /// step.
    pub(super) fn pass_event(
        &mut self,
        (h, error): (f64, f64),
        known: (f64, Event, Option<f64>),
    ) -> Passed {
        // A cut keeps the stages of the step, so it is the cheaper way; it needs a step that may be accepted.
        if error <= 1.0
            && let Some(passed) = self.pass_by_cut(h, known)
        {
            return passed;
        }
        self.pass_again(h, known)
    }

    /// Whether the motion in the mode of the step goes on smoothly beyond an event. A contact that acts beyond its distance
    /// does not: its impedance has a kink at zero.
    fn is_smooth_beyond(&self, event: Event) -> bool {
        let goes_on = match event {
            Event::Switch(switch) => !self.mode.contains(switch) || self.stepper.is_idle(switch),
            Event::Kink(kink) => kink.is_smooth_beyond(),
        };
        goes_on && self.stepper.dense.is_exact() && !self.has_limited_activations
    }

    /// Cuts the step of length h that was just taken at the first event in it. None where it has to be taken again.
    fn pass_by_cut(&mut self, h: f64, known: (f64, Event, Option<f64>)) -> Option<Passed> {
        let mut first = known;
        for _ in 0..MAX_RELOCATIONS {
            if !self.is_smooth_beyond(first.1) {
                return None;
            }
            let Some((event, bracket)) = self.locate(h, first) else {
                return Some(Passed::TooFar);
            };
            if !self.is_smooth_beyond(event) {
                return None;
            }
            if let Event::Kink(kink) = event {
                return Some(self.cut_at_kink(kink, h, bracket.root()));
            }
            // Another event may show before the end of the cut step: then locate that one.
            match self.end_at(event, &bracket, h, Way::Cut) {
                End::At(place, true) => return Some(self.accept_event(event, (h, place / h))),
                End::At(..) => return None,
                End::NotFinite => return Some(Passed::TooFar),
                End::Beyond(shorter, other) => first = (shorter / h, other.0, other.1),
            }
        }
        None
    }

    /// Cuts the step of length h that was just taken at a kink which is at a part of it.
    fn cut_at_kink(&mut self, kink: Kink, h: f64, part: f64) -> Passed {
        if self.stepper.ends_at_pole(self.model, kink) && part * h > POLE_STEP {
            // Steps next to a pole shrink geometrically: go half of the way that is left.
            let part = 0.5 * part;
            if !self.go_along(h, part) {
                return Passed::TooFar;
            }
            let reached = self.state.time + part * h;
            self.accept((h, part), reached);
            return Passed::Yes;
        }
        // A little beyond the kink, so that the next step is on the other side.
        let part = (part + 2.0 * BRACKET_WIDTH).min(1.0);
        if self.go_along(h, part) {
            self.accept_event(Event::Kink(kink), (h, part))
        } else {
            Passed::TooFar
        }
    }

    /// Takes the step of length h that was just taken again, to the first event in it.
    fn pass_again(&mut self, h: f64, known: (f64, Event, Option<f64>)) -> Passed {
        let (mut h, mut first) = (h, known);
        // A switch that seemed to come first, where it was, and in a step of which length.
        let mut switch: Option<(Event, Bracket, f64)> = None;
        for _ in 0..MAX_RELOCATIONS {
            let Some((event, bracket)) = self.locate(h, first) else {
                return Passed::TooFar;
            };
            // A kink at the same instant as a switch is passed with it.
            let is_tied =
                matches!(event, Event::Kink(_)) && bracket.root() > 1.0 - TIED_KINK_FRACTION;
            let (event, bracket, longest, is_sure) = match switch {
                Some((event, bracket, longest)) if is_tied => (event, bracket, longest, true),
                _ => (event, bracket, h, false),
            };
            match self.end_at(event, &bracket, longest, Way::Again { is_sure }) {
                End::At(h, _) => return self.accept_event(event, (h, 1.0)),
                End::NotFinite => return Passed::TooFar,
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

    /// Accepts the step of length h that was just taken, up to a part of it where an event is, and goes on from there.
    fn accept_event(&mut self, event: Event, (h, part): (f64, f64)) -> Passed {
        if part == 1.0 && self.error(h) > 1.0 {
            return Passed::TooFar;
        }
        let reached = self.state.time + part * h;
        let is_finite = match event {
            Event::Kink(_) => {
                self.accept((h, part), reached);
                let is_finite = self.begin();
                self.note_pole();
                self.note_crowd();
                is_finite
            }
            Event::Switch(switch) => {
                self.before.clone_from(&self.stepper.data.solve.qacc);
                self.accept((h, part), reached);
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
        // How long the first one that chatters was off.
        let mut flight = None;
        let mut done = Mode::default();
        while let Some(switch) = next {
            // The rate of the gauge tells whether it really crosses zero here.
            let rate = self.stepper.gauge_rate(self.model, &self.state, switch);
            let begins = !self.mode.contains(switch);
            if switch == first && (rate < 0.0) != begins {
                // It has just changed, and moves away from where it would have to change back.
                self.mode.spare(switch);
                return true;
            }
            done = done.with(switch);
            let after = self.mode.with(switch);
            // Change the mode, and remember the jump of the acceleration.
            let mut onset = Onset::new(switch, begins, rate);
            let found = self.chatters(&onset);
            onset.is_held = found.is_some();
            flight = flight.or(found);
            if !self.change_mode(onset, after) {
                return false;
            }
            self.before.clone_from(&self.stepper.rates[0].velocity);
            count += 1;
            next = self.tie(&done);
        }
        if let Some(flight) = flight
            && !self.hold_together(count, flight)
        {
            return false;
        }
        // All of one instant are passed: share their jumps, and start with short steps again.
        self.motion.share_jumps(count);
        self.note_pole();
        self.choose_step();
        true
    }

    /// Lets one step ignore the pieces of laws where kinks are so crowded that they do not count.
    fn note_crowd(&mut self) {
        let (count, last) = self.crowd;
        let count = if self.state.time - last < POLE_STEP {
            count + 1
        } else {
            0
        };
        self.crowd = (count, self.state.time);
        if count > MAX_CROWDED_KINKS {
            self.stepper.pieces = Pieces::default();
            self.crowd.0 = 0;
        }
    }

    /// Remembers that steps from the state are to begin short, and to grow with the time from there.
    fn note_pole(&mut self) {
        if self.stepper.begins_at_pole(self.model) {
            self.pole = Some(self.state.time);
        }
    }

    /// The longest step from the state on, for what it has passed.
    pub(super) fn longest_from_pole(&self) -> f64 {
        self.pole
            .map_or(f64::INFINITY, |time| POLE_STEP + (self.state.time - time))
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
            if gauge.value.abs() > TIED_GAUGE || done.contains(gauge.switch) {
                return false;
            }
            let rate = super::mode::gauge_rate(model, state, &stepper.data, gauge.switch);
            let is_on = mode.contains(gauge.switch);
            rate.is_some_and(|rate| if is_on { rate > 0.0 } else { rate < 0.0 })
        });
        near.map(|index| stepper.gauges[index].switch)
    }

    /// Goes along the step of a length, or takes steps again, until one ends at an event.
    fn end_at(&mut self, event: Event, bracket: &Bracket, longest: f64, way: Way) -> End {
        let place = bracket.root() * longest;
        // How far beyond the event the step may end (s).
        let near = match event {
            Event::Switch(_) => 0.0,
            Event::Kink(_) => MAX_KINK_OVERSHOOT * longest,
        };
        let zero = self.zero();
        // Rows of limits exist on one side only: what begins must act from there on, and what ceases still does.
        let target = match event {
            Event::Switch(_) => -2.0 * zero,
            Event::Kink(_) => 0.0,
        };
        // Secant iteration on the length of the step.
        let mut rate = bracket.rate / longest;
        let mut h = place + 0.5 * near;
        let mut last: Option<(f64, f64)> = None;
        let mut failures = 0;
        for _ in 0..MAX_CORRECTIONS {
            let is_finite = match way {
                Way::Cut => self.go_along(longest, h / longest),
                Way::Again { .. } => self.step(h),
            };
            if !is_finite {
                return End::NotFinite;
            }
            if let Some(other) = self.other_than(event)
                && way != (Way::Again { is_sure: true })
            {
                return End::Beyond(h, other);
            }
            let Some(miss) = self.value_of(event).map(|value| value - target) else {
                return End::At(h, false);
            };
            let is_met = match event {
                Event::Switch(_) => miss.abs() <= zero,
                // Beyond it: the next step is on the other side.
                Event::Kink(_) => miss * bracket.rate >= 0.0 && (miss / rate).abs() <= near,
            };
            if is_met {
                return End::At(h, true);
            }
            if let Some((before, miss_before)) = last {
                // Where the miss does not shrink, as at the edge of a surface, the place so far must do.
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

    /// Goes to a part of the step of length h that was just taken, and evaluates the dynamics there. False where they are not
    /// finite.
    fn go_along(&mut self, h: f64, part: f64) -> bool {
        let at = (self.model, &self.state, &self.input);
        (self.stepper).evaluate_along(at, &self.mode, (h, part))
    }

    /// What else than an event happens in the step that was just taken, and not at the same instant.
    fn other_than(&mut self, event: Event) -> Option<(Event, Option<f64>)> {
        let other = self.changes().iter().find(|(switch, gauge)| {
            event != Event::Switch(*switch) && gauge.is_none_or(|gauge| gauge.abs() > TIED_GAUGE)
        });
        if let Some(&(switch, gauge)) = other {
            return Some((Event::Switch(switch), gauge));
        }
        // A kink within the overshoot of this one is passed with it.
        let near = match event {
            Event::Switch(_) => 0.0,
            Event::Kink(_) => 4.0 * MAX_KINK_OVERSHOOT,
        };
        let (kink, value) = self.stepper.kink(self.model, near)?;
        (event != Event::Kink(kink)).then_some((Event::Kink(kink), value))
    }

    /// Width of the bracket that an event needs, as a fraction of the step.
    fn bracket_width(&self, event: Event) -> f64 {
        if matches!(event, Event::Kink(_)) && !self.is_smooth_beyond(event) {
            ROUGH_BRACKET_WIDTH
        } else {
            BRACKET_WIDTH
        }
    }

    /// The first event in the step of length h that was just taken, and where; one is known at a part of it. None where the
    /// dynamics are not finite.
    fn locate(&mut self, h: f64, known: (f64, Event, Option<f64>)) -> Option<(Event, Bracket)> {
        let (part, mut event, value) = known;
        let at_start = match event {
            Event::Switch(switch) => gauge_of(&self.stepper.first_gauges, switch),
            Event::Kink(kink) => self.stepper.first_boundary(self.model, kink),
        };
        // A switch that has just changed has the sign of rounding at the start: it brackets nothing.
        let at_start = at_start.filter(|start| value.is_some_and(|value| start * value < 0.0));
        let mut bracket = Bracket::new(at_start, (part, value));
        while !bracket.is_within(self.bracket_width(event)) {
            let part = bracket.next();
            // Switches need positions only; kinks need the forces there.
            let found = if let Event::Switch(_) = event {
                (self.stepper).go_along(self.model, &self.state, h, part);
                self.stepper.probe(self.model);
                let change = self.changes().first();
                change.map(|&(switch, gauge)| (Event::Switch(switch), gauge))
            } else {
                if !self.go_along(h, part) {
                    return None;
                }
                self.event()
            };
            if let Some((other, value)) = found {
                // An earlier event takes over the bracket, without a value at its low end.
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

    /// Whether the place is known to a width.
    fn is_within(&self, width: f64) -> bool {
        let is_near = |value: f64| (value / self.rate).abs() <= width;
        let by_rate = match self.values {
            [Some(low), Some(high)] if low * high < 0.0 => is_near(low) || is_near(high),
            _ => false,
        };
        by_rate && self.width() <= SECANT_BRACKET_WIDTH.max(width) || self.width() <= width
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

    /// Where to look next. With values on both sides, a little beyond the secant, so that both sides close in; halfway where
    /// that does not help.
    fn next(&self) -> f64 {
        match self.values {
            [Some(low), Some(high)] if low * high < 0.0 && self.moved.1 < 3 => {
                // Beyond the secant by more, the more often the same side has moved.
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
