//! The integration of a motion, and what is remembered of it.

use std::fmt;

use super::control::History;
use super::mode::{Mode, Switch};
use super::onset::Passed;
use super::pieces::Pieces;
use super::stepper::Stepper;
use super::{Flow, FlowSettings};
use crate::integrate::{Rates, add_scaled};
use crate::model::{Counts, Model};
use crate::rollout::Controls;
use crate::state::{Input, State};

/// How a motion ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    /// At the time asked for.
    Done,
    /// At the time asked for, with contacts that chattered without end and were held on their surface.
    Held {
        /// How often one began to be held.
        holds: usize,
        /// When the first one did (s).
        since: f64,
    },
    /// Too many steps.
    StepLimit {
        /// How far it got (s).
        time: f64,
    },
    /// Steps too short for the numbers of the machine.
    StepTooShort {
        /// How far it got (s).
        time: f64,
    },
    /// Whoever asked for it wants no more of it.
    Interrupted {
        /// How far it got (s).
        time: f64,
    },
    /// The state from which it starts, or an interval of it, has no finite rates.
    NotFinite {
        /// How far it got (s).
        time: f64,
    },
}

impl Status {
    /// Whether the motion was followed to the time asked for.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::Held { .. })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => out.write_str("done"),
            Self::Held { holds, since } => write!(
                out,
                "done; contacts chattered and were held on their surface, {holds} times, first at {since:.6} s"
            ),
            Self::StepLimit { time } => write!(
                out,
                "stopped at {time} s: too many steps; allow more, loosen the tolerances, or make contacts softer"
            ),
            Self::StepTooShort { time } => write!(
                out,
                "stopped at {time} s: the motion cannot be followed there; loosen the tolerances or make contacts softer"
            ),
            Self::Interrupted { time } => write!(out, "interrupted at {time} s"),
            Self::NotFinite { time } => write!(
                out,
                "stopped at {time} s: forces are not finite; look at the state and the controls there"
            ),
        }
    }
}

/// A contact or limit that begins or ceases to act.
#[derive(Clone, Debug, PartialEq)]
pub struct Onset {
    /// When (s).
    pub time: f64,
    /// What.
    pub switch: Switch,
    /// Whether it begins.
    pub begins: bool,
    /// Rate of the distance there (m/s or rad/s).
    pub rate: f64,
    /// Whether the rate is too small for a derivative: the motion hardly touches.
    pub grazes: bool,
    /// Whether the contact has chattered and is held on its surface from there on: its bounces are lower than what positions
    /// may err.
    pub is_held: bool,
    /// The change of the acceleration, nv.
    pub jump: Vec<f64>,
    /// Number of steps before it.
    pub(super) steps: usize,
    /// Number of onsets at its instant.
    pub(super) tied: usize,
}

/// Onsets with a smaller rate of the gauge graze (m/s or rad/s): the saltation divides by it, and has no meaning there.
const MAX_GRAZING_RATE: f64 = 1e-7;

impl Onset {
    pub(super) fn new(switch: Switch, begins: bool, rate: f64) -> Self {
        Self {
            time: 0.0,
            switch,
            begins,
            rate,
            grazes: rate.abs() < MAX_GRAZING_RATE,
            is_held: false,
            jump: Vec::new(),
            steps: 0,
            tied: 1,
        }
    }
}

/// Where the acceleration is smooth: which constraints are on, and on which pieces of their laws.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Regime {
    pub(super) mode: Mode,
    pub(super) pieces: Pieces,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) time: f64,
    pub(super) h: f64,
    /// The part of it that was gone: all of it, or up to where it was cut.
    pub(super) part: f64,
    /// Which of the regimes.
    pub(super) regime: usize,
    /// Which of the intervals.
    pub(super) interval: usize,
    /// Whether the rates at its start were computed there, and not at the end of the step before.
    pub(super) is_fresh: bool,
}

/// A motion that was followed: what a backward pass needs of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    pub(super) steps: Vec<Step>,
    pub(super) regimes: Vec<Regime>,
    pub(super) onsets: Vec<Onset>,
    /// For each step: positions, velocities and activations at its start, then rates of velocities and activations of
    /// all stages and of the end. Empty if there is no room for all.
    rows: Rows,
    /// Room for steps.
    pub(super) bytes: usize,
    /// States at the ends of the intervals, the first one that of the start.
    pub(super) states: Vec<State>,
    pub(super) status: Status,
    rejected: usize,
    evaluations: usize,
}

/// Where the numbers of a step are.
/// Starts of steps in a row each: positions, velocities, activations, and rates of velocities and activations at some stages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    numbers: Vec<f64>,
    stages: usize,
    width: usize,
}

impl Rows {
    pub(super) fn new(n: &Counts, stages: usize) -> Self {
        Self {
            numbers: Vec::new(),
            stages,
            width: n.nq + n.nv + n.na + stages * (n.nv + n.na),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len() / self.width
    }

    /// Bytes of a row.
    pub(super) fn bytes(&self) -> usize {
        self.width * size_of::<f64>()
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.numbers.truncate(count * self.width);
    }

    pub(super) fn push(&mut self, start: &State, rates: &[Rates]) {
        for part in [&start.qpos, &start.qvel, &start.act] {
            self.numbers.extend_from_slice(part);
        }
        for rates in &rates[..self.stages] {
            self.numbers.extend_from_slice(&rates.velocity);
            self.numbers.extend_from_slice(&rates.activation);
        }
    }

    pub(super) fn read(&self, row: usize, start: &mut State, rates: &mut [Rates]) {
        let mut rest = &self.numbers[row * self.width..][..self.width];
        let parts = [&mut start.qpos, &mut start.qvel, &mut start.act];
        let rates = rates[..self.stages].iter_mut();
        let rates = rates.flat_map(|rates| [&mut rates.velocity, &mut rates.activation]);
        for part in parts.into_iter().chain(rates) {
            let (head, tail) = rest.split_at(part.len());
            part.copy_from_slice(head);
            rest = tail;
        }
    }
}

impl Motion {
    fn new(model: &Model, start: &State, stages: usize, bytes: usize) -> Self {
        Self {
            bytes,
            steps: Vec::new(),
            regimes: Vec::new(),
            onsets: Vec::new(),
            rows: Rows::new(model.counts(), stages + 1),
            states: vec![start.clone()],
            status: Status::Done,
            rejected: 0,
            evaluations: 0,
        }
    }

    /// How it ended.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Number of steps taken.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Number of steps that were taken back for their error.
    pub fn rejected(&self) -> usize {
        self.rejected
    }

    /// Number of evaluations of the dynamics.
    pub fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Contacts and limits that began or ceased to act, in order.
    pub fn onsets(&self) -> &[Onset] {
        &self.onsets
    }

    /// States at the start and at the end of every interval that was finished.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The last state: that of [`Self::states`], or how far the motion was followed.
    pub fn end(&self) -> &State {
        &self.states[self.states.len() - 1]
    }

    /// Reports contacts that were held in the status.
    fn report_holds(&mut self) {
        let mut held = self.onsets.iter().filter(|onset| onset.is_held);
        if self.status == Status::Done
            && let Some(first) = held.next()
        {
            self.status = Status::Held {
                holds: 1 + held.count(),
                since: first.time,
            };
        }
    }

    /// Shares the jumps of the last onsets, which were at one instant, equally. Which of them comes first depends on where the
    /// motion is shifted to; where it stays symmetric, they stay together, and nothing but their sum counts.
    pub(super) fn share_jumps(&mut self, count: usize) {
        let first = self.onsets.len() - count;
        let tied = &mut self.onsets[first..];
        let Some((last, others)) = tied.split_last_mut() else {
            return;
        };
        for other in &*others {
            add_scaled(&mut last.jump, &other.jump, 1.0);
        }
        for jump in &mut last.jump {
            *jump /= count as f64;
        }
        last.tied = count;
        for other in others {
            other.jump.copy_from_slice(&last.jump);
            other.tied = count;
        }
    }

    /// Whether contacts were held.
    pub(super) fn has_holds(&self) -> bool {
        let mut modes = self.regimes.iter().map(|regime| &regime.mode);
        modes.any(|mode| !mode.holds().is_empty())
    }

    /// Whether all steps are stored.
    pub(super) fn is_stored(&self) -> bool {
        self.rows.numbers.len() == self.steps.len() * self.rows.width
    }

    /// Remembers a step; its start only as long as there is room for all of them.
    fn remember(&mut self, step: Step, start: &State, rates: &[Rates]) {
        self.steps.push(step);
        let each = size_of::<Step>() + self.rows.bytes();
        if self.steps.len().saturating_mul(each) > self.bytes {
            self.rows.numbers = Vec::new();
        } else {
            self.rows.push(start, rates);
        }
    }

    /// Reads the start of a step and the rates of its stages.
    pub(super) fn read(&self, step: usize, start: &mut State, rates: &mut [Rates]) {
        start.time = self.steps[step].time;
        self.rows.read(step, start, rates);
    }

    /// The number of the regime that a step is in.
    fn number_of(&mut self, mode: &Mode, stepper: &Stepper) -> usize {
        let pieces = &stepper.pieces;
        let is_last = |last: &Regime| last.mode == *mode && last.pieces == *pieces;
        if !self.regimes.last().is_some_and(is_last) {
            self.regimes.push(Regime {
                mode: mode.clone(),
                pieces: pieces.clone(),
            });
        }
        self.regimes.len() - 1
    }
}

impl Flow {
    /// Follows the motion from a state over a number of equal intervals (s), each with its row of controls.
    ///
    /// # Panics
    /// When the controls do not fit the model.
    pub fn run(
        &self,
        start: &State,
        controls: &Controls,
        interval: f64,
        intervals: usize,
    ) -> Motion {
        self.run_while(start, controls, interval, intervals, &|| true)
    }

    /// As [`Flow::run`], as long as `is_wanted`, which is asked before every step.
    ///
    /// # Panics
    /// When the controls do not fit the model.
    pub fn run_while(
        &self,
        start: &State,
        controls: &Controls,
        interval: f64,
        intervals: usize,
        is_wanted: &dyn Fn() -> bool,
    ) -> Motion {
        controls.assert_fit(self.model.counts().nu);
        let mut run = Run::new(self, start);
        let mut before = Vec::new();
        for index in 0..intervals {
            // The same controls go on as if there were no end of an interval between.
            before.clone_from(&run.input.ctrl);
            controls.write(index, &mut run.input.ctrl);
            run.interval = index;
            let end = start.time + (index + 1) as f64 * interval;
            let goes_on = index > 0 && run.input.ctrl == before;
            run.motion.status = run.follow(end, goes_on, is_wanted);
            run.motion.states.push(run.state.clone());
            if run.motion.status != Status::Done {
                break;
            }
        }
        run.motion.evaluations = run.stepper.evaluations;
        run.motion.report_holds();
        run.motion
    }
}

/// Shortest step, as a fraction of the time reached or of a second: some ten ulps of the time.
const MIN_RELATIVE_STEP: f64 = 1e-14;

/// Steps with a larger error, in units of what is allowed, are so wrong that events in them mean nothing.
const MAX_ERROR_OF_LOCATED_EVENTS: f64 = 1e4;

/// Longest explicit step times the fastest rate of the constraints. Methods of order 2 are stable up to 2 on the negative real
/// axis, all others further.
const MAX_STEP_TIMES_STIFFNESS: f64 = 1.8;

/// A motion while it is followed.
pub(super) struct Run<'a> {
    pub(super) model: &'a Model,
    pub(super) settings: &'a FlowSettings,
    pub(super) input: Input,
    pub(super) stepper: Stepper,
    pub(super) state: State,
    pub(super) mode: Mode,
    pub(super) changes: Vec<(Switch, Option<f64>)>,
    /// The acceleration before an onset.
    pub(super) before: Vec<f64>,
    history: History,
    /// Whether activations may be held at the ends of their ranges.
    pub(super) has_limited_activations: bool,
    /// The next step (s).
    pub(super) h: f64,
    interval: usize,
    /// How many kinks in a row were at nearly the same time, and that time.
    pub(super) crowd: (usize, f64),
    /// When the motion was last at a pole of the derivatives of an impedance.
    pub(super) pole: Option<f64>,
    /// Whether the rates at the state were computed there.
    is_fresh: bool,
    pub(super) motion: Motion,
}

impl<'a> Run<'a> {
    fn new(flow: &'a Flow, start: &State) -> Self {
        let Flow { model, settings } = flow;
        let tableau = settings.method.tableau();
        let mut stepper = Stepper::new(model, settings.method);
        stepper.state.copy_from(start);
        stepper.probe(model);
        Self {
            model,
            settings,
            input: Input::zeros(model),
            mode: Mode::of(&stepper.gauges).with_slack(settings.slack()),
            changes: Vec::new(),
            before: Vec::new(),
            stepper,
            state: start.clone(),
            history: History::default(),
            has_limited_activations: (model.structure.actuators.activation_limited)
                .iter()
                .any(|&limited| limited),
            h: settings.longest_step,
            interval: 0,
            crowd: (0, f64::NEG_INFINITY),
            pole: None,
            is_fresh: true,
            motion: Motion::new(model, start, tableau.len(), settings.adjoint.bytes()),
        }
    }

    /// Goes to a time, from an interval of the same controls as if there were no end between, or else with a new start.
    fn follow(&mut self, end: f64, goes_on: bool, is_wanted: &dyn Fn() -> bool) -> Status {
        let time = |run: &Self| run.state.time;
        if !goes_on && !self.restart() {
            return Status::NotFinite { time: time(self) };
        }
        let mut attempts = 0;
        while self.state.time < end {
            attempts += 1;
            if !is_wanted() {
                return Status::Interrupted { time: time(self) };
            }
            if attempts > self.settings.most_steps {
                return Status::StepLimit { time: time(self) };
            }
            // The step that was planned, no longer than stability, holds and poles allow, nor than what is left.
            let remaining = end - self.state.time;
            let shortest = MIN_RELATIVE_STEP * self.state.time.abs().max(1.0);
            let mut h = self.h.min(self.longest_step());
            let reaches_end = h >= remaining - shortest;
            if reaches_end {
                h = remaining;
            } else if h < shortest {
                return Status::StepTooShort { time: time(self) };
            }
            // Take it, and estimate its error.
            let is_finite = self.step(h);
            let error = if is_finite {
                self.error(h)
            } else {
                f64::INFINITY
            };
            // Look for events, also where the error is too large: across a kink of an actuator or in an implicit step it says
            // nothing about the error up to the event.
            let is_smooth = self.stepper.bends.is_empty();
            let worth_a_look = if self.stepper.tableau.is_extrapolated() || !is_smooth {
                MAX_ERROR_OF_LOCATED_EVENTS
            } else {
                1.0
            };
            let at_end = if error <= worth_a_look {
                self.event()
            } else {
                None
            };
            let event = match at_end {
                Some((event, value)) => Some((1.0, event, value)),
                None if error <= 1.0 => self.hidden_event(h),
                None => None,
            };
            // End the step at the event, or accept it, or take it again shorter.
            let passed = match event {
                Some(event) => self.pass_event((h, error), event),
                None if error <= 1.0 => {
                    let reached = self.state.time + h;
                    self.accept((h, 1.0), if reaches_end { end } else { reached });
                    let next = h * self.next_factor(error);
                    // That the time was up says nothing against the step that was planned.
                    self.h = if reaches_end { next.max(self.h) } else { next };
                    if self.let_go() {
                        Passed::Yes
                    } else {
                        Passed::NotFinite
                    }
                }
                None => Passed::TooFar,
            };
            match passed {
                Passed::Yes => {}
                Passed::TooFar => {
                    let halve = error <= 1.0;
                    self.h = h * if halve { 0.5 } else { self.next_factor(error) };
                    self.motion.rejected += 1;
                }
                Passed::NotFinite => return Status::NotFinite { time: time(self) },
            }
        }
        Status::Done
    }

    /// The longest step from here.
    fn longest_step(&self) -> f64 {
        (self.settings.longest_step)
            .min(self.longest_while_held())
            .min(self.longest_from_pole())
            .min(self.longest_stable())
    }

    /// The longest step by which explicit methods damp what the motion damps. Longer ones would be seen when errors have grown to
    /// what is allowed from rounding; derivatives would have grown by the same factor from what they were.
    fn longest_stable(&self) -> f64 {
        if self.stepper.tableau.is_extrapolated() {
            f64::INFINITY
        } else {
            MAX_STEP_TIMES_STIFFNESS / self.stepper.stiffness
        }
    }

    /// The error of the step of length h that was just taken, in units of what is allowed.
    pub(super) fn error(&mut self, h: f64) -> f64 {
        (self.stepper).error(self.model, &self.state, h, &self.settings.tolerances)
    }

    fn next_factor(&mut self, error: f64) -> f64 {
        let order = f64::from(self.stepper.tableau.error_order);
        (self.history).next_factor(&self.settings.control, error, order)
    }

    /// Evaluates the dynamics at the state, and chooses a first step.
    fn restart(&mut self) -> bool {
        let is_finite = self.begin();
        if is_finite {
            self.choose_step();
        }
        is_finite
    }

    /// Evaluates the dynamics at the state.
    pub(super) fn begin(&mut self) -> bool {
        self.is_fresh = true;
        (self.stepper).begin(self.model, &self.state, &self.input, &self.mode)
    }

    /// Takes a step from the state, which stays what it is. False where the dynamics are not finite.
    pub(super) fn step(&mut self, h: f64) -> bool {
        (self.stepper).step(self.model, &self.state, &self.input, h, &self.mode)
    }

    /// Chooses the length of a first step from the state that was just evaluated.
    pub(super) fn choose_step(&mut self) {
        self.history = History::default();
        if self.stepper.tableau.is_extrapolated() {
            // Steps need not follow what changes fast; the error of a step that is too long tells.
            return;
        }
        self.h = (self.stepper).first_step(
            self.model,
            &self.state,
            &self.input,
            &self.mode,
            &self.settings.tolerances,
        );
    }

    /// Remembers the step of length h that was taken, up to a part of it, and goes there.
    pub(super) fn accept(&mut self, (h, part): (f64, f64), time: f64) {
        let regime = self.motion.number_of(&self.mode, &self.stepper);
        let step = Step {
            time: self.state.time,
            h,
            part,
            regime,
            interval: self.interval,
            is_fresh: std::mem::take(&mut self.is_fresh),
        };
        // A step that was cut has one more evaluation, where it was cut.
        let is_cut = part < 1.0;
        if is_cut {
            self.stepper
                .record(self.model, self.stepper.tableau.len() + 1);
        }
        let rates = &self.stepper.rates;
        self.motion.remember(step, &self.state, rates);
        (self.stepper).advance(&mut self.state, &self.mode, is_cut);
        self.mode.end_sparing(&self.stepper.gauges);
        self.state.time = time;
    }

    /// Goes on from an onset at the state in the mode after it, and remembers it; `self.before` is the acceleration there in
    /// the mode before. False where the dynamics are not finite.
    pub(super) fn change_mode(&mut self, mut onset: Onset, mode: Mode) -> bool {
        self.mode = mode;
        let is_finite = self.begin();
        onset.time = self.state.time;
        onset.steps = self.motion.steps.len();
        self.motion.onsets.push(onset);
        self.note_jump();
        is_finite
    }

    /// Remembers the change of the acceleration at the last onset, from `self.before` to that of the state at hand.
    fn note_jump(&mut self) {
        if let Some(onset) = self.motion.onsets.last_mut() {
            onset.jump.clear();
            onset.jump.resize(self.before.len(), 0.0);
        }
        self.add_to_jump();
    }

    /// Adds the change of the acceleration from `self.before` to that of the state at hand to the last onset.
    pub(super) fn add_to_jump(&mut self) {
        if let Some(onset) = self.motion.onsets.last_mut() {
            add_scaled(&mut onset.jump, &self.stepper.rates[0].velocity, 1.0);
            add_scaled(&mut onset.jump, &self.before, -1.0);
        }
    }
}
