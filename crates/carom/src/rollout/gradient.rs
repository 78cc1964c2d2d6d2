//! The gradient of a loss over a trajectory, by one pass from its end to its start.
//!
//! The pass needs every state once more, last first. States are cheap (a humanoid's take 700 bytes), so mostly all of them
//! are stored. Under a [budget](Adjoint::Checkpointed) only some are, and the others are simulated again by a
//! [`schedule`]. Steps are functions of the state alone, so both ways give the same bits.

use std::ops::Range;

use super::schedule::{self, Reversible};
use super::tape::{Rows, StateRow, Tape};
use super::{Controls, Course, Rollout};
use crate::arrays::add;
use crate::cotangent::{DataBar, ModelBar, StateBar};
use crate::dynamics::{At, backward::Observer};
use crate::error::{Error, ErrorKind, Place};
use crate::report::NotFinite;
use crate::state::{Input, State};
use crate::system::{Dynamics, NoDerivative, Passing, Seen, StepBar};

/// What a loss says about a trajectory while it is read backwards: derivatives of the loss by what it looks at.
pub trait Loss {
    /// Adds the derivatives of the loss by a state: that before step `step`, or the last one.
    fn by_state(&mut self, step: usize, state: &State, bar: &mut StateBar);

    /// Adds the derivatives of the loss by the sensor values of a step.
    fn by_sensors(&mut self, step: usize, bar: &mut [f64]) {
        let _ = (step, bar);
    }

    /// Adds the derivatives of the loss by results of a step of a model: forces, contacts, sensors, …
    fn by_results(&mut self, step: usize, at: At<'_>, bar: &mut DataBar) {
        let _ = at;
        self.by_sensors(step, &mut bar.sensing.values);
    }

    /// Whether the loss speaks of sensors or energies, which are computed again only then.
    fn uses_sensors(&self) -> bool {
        false
    }
}

/// A loss that looks at nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Loss for Nothing {
    fn by_state(&mut self, _: usize, _: &State, _: &mut StateBar) {}
}

/// How the backward pass gets at the states of the trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjoint {
    /// All of them are stored.
    Stored,
    /// At most so many bytes of states are stored, the rest is simulated again.
    Checkpointed {
        /// The budget for states; room for three is used in any case.
        bytes: usize,
    },
}

/// Derivatives of a loss over a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient<Bar = ModelBar> {
    /// By every number of the model, or whatever numbers the system has of its own.
    pub model: Bar,
    /// By the start state.
    pub start: StateBar,
    /// By the controls of every step, one row of nu a step.
    pub controls: Vec<f64>,
    /// Length of the derivative by the state before each step and by the last one: how much of the loss hangs on it.
    pub norms: Vec<f64>,
}

/// The end of a trajectory and the gradient of a loss over it, or why there is none.
pub type EndAndGradient<Bar = ModelBar> = Result<(State, Gradient<Bar>), Error>;

/// Why there is no gradient; the place of the [`Error`] says at which step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoGradient {
    /// There is none of this motion, for a reason given in a sentence.
    Refused,
    /// The trajectory itself is not finite.
    NotFinite(NotFinite),
    /// The equations of the constraint solver have no unique solution.
    NotUnique,
    /// An [`Observer`] has stopped the pass before the step.
    Stopped,
    /// The derivative with respect to the state before the step grew beyond all numbers.
    Exploded,
}

impl NoGradient {
    /// None of this motion, for a reason given in a sentence.
    pub fn refused(why: impl Into<String>) -> Error {
        Error::new(ErrorKind::Gradient(Self::Refused), why)
    }

    /// The error, at a step.
    pub fn at(self, step: usize) -> Error {
        let say = |sentence: String| {
            Error::new(ErrorKind::Gradient(self), sentence).at(Place::Step(step))
        };
        match self {
            Self::Refused => say(format!("step {step} has no derivative")),
            Self::NotFinite(place) => {
                say(format!("the trajectory is not finite from step {step} on: {place}"))
                    .remedy("take a smaller time step or shorten it")
            }
            Self::NotUnique => say(format!(
                "in step {step} the constraint solver's equations have no unique solution, hence no derivative"
            ))
            .remedy(
                "a body without mass or armature may be the reason, or equalities that repeat each other under the complementarity law without mixing",
            ),
            Self::Stopped => say(format!("stopped before step {step}")),
            Self::Exploded => say(format!(
                "the derivative by the state before step {step} is not finite"
            ))
            .remedy("a shorter horizon keeps it in bounds"),
        }
    }
}

/// Cotangents of everything that a [`Rollout`] records, in its layout; configurations in tangent space.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutBar {
    nv: usize,
    na: usize,
    sensor_width: usize,
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    act: Vec<f64>,
    sensors: Vec<f64>,
    uses_sensors: bool,
}

impl RolloutBar {
    /// All zero: a loss that looks at nothing.
    pub fn zeros<Trace>(rollout: &Rollout<Trace>) -> Self {
        let states = rollout.steps() + 1;
        let (nv, na) = (rollout.qvel(0).len(), rollout.act(0).len());
        Self {
            nv,
            na,
            sensor_width: rollout.sensor_width,
            qpos: vec![0.0; states * nv],
            qvel: vec![0.0; states * nv],
            act: vec![0.0; states * na],
            sensors: vec![0.0; rollout.sensors.len()],
            uses_sensors: false,
        }
    }

    /// By the configuration before a step, in tangent space, nv.
    pub fn qpos_mut(&mut self, step: usize) -> &mut [f64] {
        &mut self.qpos[step * self.nv..][..self.nv]
    }

    /// By the velocity before a step.
    pub fn qvel_mut(&mut self, step: usize) -> &mut [f64] {
        &mut self.qvel[step * self.nv..][..self.nv]
    }

    /// By the activations before a step.
    pub fn act_mut(&mut self, step: usize) -> &mut [f64] {
        &mut self.act[step * self.na..][..self.na]
    }

    /// By the sensor values of a step.
    pub fn sensors_mut(&mut self, step: usize) -> &mut [f64] {
        self.uses_sensors = true;
        &mut self.sensors[step * self.sensor_width..][..self.sensor_width]
    }
}

impl Loss for RolloutBar {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        add(&mut bar.qpos, &self.qpos[step * self.nv..]);
        add(&mut bar.qvel, &self.qvel[step * self.nv..]);
        add(&mut bar.act, &self.act[step * self.na..]);
    }

    fn by_sensors(&mut self, step: usize, bar: &mut [f64]) {
        add(bar, &self.sensors[step * self.sensor_width..]);
    }

    fn uses_sensors(&self) -> bool {
        self.uses_sensors
    }
}

impl<Trace> Rollout<Trace> {
    /// The gradient of a loss over this trajectory; system and controls are those it was simulated with.
    ///
    /// # Errors
    /// When the trajectory is not finite or has no derivative.
    ///
    /// # Panics
    /// When the controls do not fit the system.
    pub fn backward<D: Dynamics<Trace = Trace>>(
        &self,
        dynamics: &D,
        controls: &Controls,
        loss: &mut dyn Loss,
    ) -> Result<Gradient<D::Bar>, Error> {
        self.observe_backward(dynamics, controls, loss, &mut ())
    }

    /// [`Self::backward`] with an observer, such as [`Clipping`](super::Clipping).
    ///
    /// # Errors
    /// As [`Self::backward`].
    ///
    /// # Panics
    /// As [`Self::backward`].
    pub fn observe_backward<D: Dynamics<Trace = Trace>>(
        &self,
        dynamics: &D,
        controls: &Controls,
        loss: &mut dyn Loss,
        observer: &mut dyn Observer,
    ) -> Result<Gradient<D::Bar>, Error> {
        dynamics.gradient(self, controls, loss, observer)
    }

    pub(super) fn check_finite(&self) -> Result<(), Error> {
        match self.not_finite {
            Some((step, place)) => Err(NoGradient::NotFinite(place).at(step)),
            None => Ok(()),
        }
    }
}

/// Reads a trajectory backwards step by step: what [`Dynamics::gradient`] does unless a system knows better.
///
/// # Errors
/// As [`Rollout::backward`].
///
/// # Panics
/// When the controls do not fit the system.
pub fn read_backwards<D: Dynamics>(
    dynamics: &D,
    rollout: &Rollout<D::Trace>,
    controls: &Controls,
    loss: &mut dyn Loss,
    observer: &mut dyn Observer,
) -> Result<Gradient<D::Bar>, Error> {
    rollout.check_finite()?;
    let course = Course {
        timestep: rollout.timestep,
        ..Course::new(controls, rollout.steps())
    };
    let pass = Pass::new(dynamics, course, &rollout.end);
    pass.read_all(rollout.states(), loss, observer)
}

/// The gradient of a loss over a trajectory that [`record`](super::record) has written; `like` is any of its states, for what does
/// not change from step to step.
///
/// # Errors
/// As [`Rollout::backward`].
///
/// # Panics
/// When controls or memory do not fit the system.
pub fn backward_of_record<D: Dynamics>(
    states: &[f64],
    dynamics: &D,
    like: &State,
    controls: &Controls,
    loss: &mut dyn Loss,
    observer: &mut dyn Observer,
) -> Result<Gradient<D::Bar>, Error> {
    let layout = StateRow::like(like);
    let rows = Rows::new(states, &layout);
    let pass = Pass::new(dynamics, Course::new(controls, rows.len() - 1), like);
    pass.read_all(rows, loss, observer)
}

/// Simulates a trajectory and returns its end and the gradient of a loss over it, within a memory budget if one is given.
///
/// # Errors
/// When the trajectory is not finite or has no derivative.
///
/// # Panics
/// When the controls do not fit the system.
pub fn gradient<D: Dynamics>(
    dynamics: &D,
    start: &State,
    controls: &Controls,
    steps: usize,
    adjoint: Adjoint,
    loss: &mut dyn Loss,
) -> EndAndGradient<D::Bar> {
    observe_gradient(dynamics, start, controls, steps, adjoint, loss, &mut ())
}

/// [`gradient`] with an observer, such as [`Clipping`](super::Clipping).
///
/// # Errors
/// As [`gradient`].
///
/// # Panics
/// As [`gradient`].
pub fn observe_gradient<D: Dynamics>(
    dynamics: &D,
    start: &State,
    controls: &Controls,
    steps: usize,
    adjoint: Adjoint,
    loss: &mut dyn Loss,
    observer: &mut dyn Observer,
) -> EndAndGradient<D::Bar> {
    let states = match adjoint {
        Adjoint::Stored => steps + 1,
        Adjoint::Checkpointed { bytes } => (bytes / Tape::bytes_per_state(start)).min(steps + 1),
    };
    let course = Course::new(controls, steps);
    let mut tape = Tape::with_capacity(start, states.max(schedule::RESERVE));
    tape.push(start);
    let mut trajectory = Trajectory {
        dynamics,
        controls,
        input: dynamics.input(),
        state: start.clone(),
        work: dynamics.work(),
        steps_taken: 0,
        pass: Pass::new(dynamics, course, start),
        tape,
        end: None,
        loss,
        observer,
    };
    schedule::reverse(&mut trajectory, 0..steps, states)?;
    debug_assert!(
        adjoint != Adjoint::Stored || trajectory.steps_taken == steps,
        "what is stored is simulated once"
    );
    let end = trajectory.end.unwrap_or_else(|| start.clone());
    Ok((end, trajectory.pass.finish()))
}

/// Steps in a row that are reversed, simulating again what is not stored.
struct Trajectory<'a, 'l, D: Dynamics> {
    dynamics: &'a D,
    controls: &'a Controls,
    input: Input,
    state: State,
    work: D::Work,
    /// How many steps were simulated, repeated ones included.
    steps_taken: usize,
    pass: Pass<'a, D>,
    tape: Tape,
    /// The last state, once it is known.
    end: Option<State>,
    loss: &'l mut dyn Loss,
    observer: &'l mut dyn Observer,
}

impl<D: Dynamics> Reversible for Trajectory<'_, '_, D> {
    fn stored(&self) -> usize {
        self.tape.len()
    }

    fn simulate(&mut self, steps: Range<usize>, store: bool) -> Result<(), Error> {
        let tape = self.tape.rows();
        tape.read(tape.len() - 1, &mut self.state);
        for step in steps {
            if !self.observer.goes_on() {
                return Err(NoGradient::Stopped.at(step));
            }
            self.controls.write(step, &mut self.input.ctrl);
            let report = (self.dynamics).step(&mut self.state, &self.input, &mut self.work);
            self.steps_taken += 1;
            if let Some(place) = report.not_finite {
                return Err(NoGradient::NotFinite(place).at(step));
            }
            if store {
                self.store();
            }
        }
        Ok(())
    }

    fn store(&mut self) {
        self.tape.push(&self.state);
    }

    fn forget(&mut self, states: usize) {
        self.tape.truncate(states);
    }

    fn reverse_stored(&mut self, first: usize, steps: Range<usize>) -> Result<(), Error> {
        if self.end.is_none() {
            self.end = Some(self.state.clone());
            self.pass.begin(self.tape.rows(), steps.end, self.loss);
        }
        self.pass
            .reverse(self.tape.rows(), first, steps, self.loss, self.observer)
    }
}

/// The backward side.
struct Pass<'a, D: Dynamics> {
    dynamics: &'a D,
    course: Course<'a>,
    input: Input,
    /// The state before the step at hand.
    state: State,
    reverse: D::Reverse,
    bar: StepBar,
    /// Cotangent of the state after the step at hand.
    next: StateBar,
    control_bars: Vec<f64>,
    norms: Vec<f64>,
}

impl<'a, D: Dynamics> Pass<'a, D> {
    fn new(dynamics: &'a D, course: Course<'a>, like: &State) -> Self {
        let nu = dynamics.shape().nu;
        course.controls.assert_fit(nu);
        let mut input = dynamics.input();
        input.timestep = course.timestep.unwrap_or(input.timestep);
        Self {
            dynamics,
            state: like.clone(),
            reverse: dynamics.reverse(),
            bar: StepBar::zeros(like, &input),
            input,
            next: StateBar::like(like),
            control_bars: vec![0.0; course.steps * nu],
            norms: vec![0.0; course.steps + 1],
            course,
        }
    }

    /// All steps of a trajectory whose states are stored.
    fn read_all(
        mut self,
        rows: Rows<'_>,
        loss: &mut dyn Loss,
        observer: &mut dyn Observer,
    ) -> Result<Gradient<D::Bar>, Error> {
        self.begin(rows, self.course.steps, loss);
        self.reverse(rows, 0, 0..self.course.steps, loss, observer)?;
        Ok(self.finish())
    }

    /// Begins with the last state, the last one of the tape.
    fn begin(&mut self, tape: Rows<'_>, steps: usize, loss: &mut dyn Loss) {
        tape.read(tape.len() - 1, &mut self.state);
        loss.by_state(steps, &self.state, &mut self.next);
        self.norms[steps] = self.next.norm();
    }

    /// Steps whose states begin at `first` on the tape, last first.
    fn reverse(
        &mut self,
        tape: Rows<'_>,
        first: usize,
        steps: Range<usize>,
        loss: &mut dyn Loss,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let offset = steps.start;
        for step in steps.rev() {
            if !observer.goes_on() {
                return Err(NoGradient::Stopped.at(step));
            }
            let index = first + step - offset;
            tape.read(index, &mut self.state);
            self.step(step, tape.acceleration(index + 1), loss, observer)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        step: usize,
        warmstart: &[f64],
        loss: &mut dyn Loss,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let (bar, next) = (&mut self.bar, &mut self.next);
        self.course.controls.write(step, &mut self.input.ctrl);
        bar.input.next_step();
        observer.before_step(next);
        let seen = Seen {
            step,
            state: &self.state,
            input: &self.input,
            warmstart,
        };
        let passing = Passing {
            next,
            loss,
            observer,
        };
        let outcome = (self.dynamics).backward(seen, passing, bar, &mut self.reverse);
        outcome.map_err(|why| match why {
            NoDerivative::NotUnique => NoGradient::NotUnique.at(step),
            NoDerivative::Because(why) => NoGradient::refused(why),
        })?;
        loss.by_state(step, &self.state, &mut bar.state);
        std::mem::swap(&mut bar.state, next);
        let nu = bar.input.ctrl.len();
        self.control_bars[step * nu..][..nu].copy_from_slice(&bar.input.ctrl);
        self.norms[step] = next.norm();
        if self.norms[step].is_finite() {
            Ok(())
        } else {
            Err(NoGradient::Exploded.at(step))
        }
    }

    fn finish(mut self) -> Gradient<D::Bar> {
        // A length that was given depends on nothing.
        let is_own = self.course.timestep.is_none();
        let timestep = if is_own { self.bar.input.timestep } else { 0.0 };
        Gradient {
            model: self.dynamics.take_bar(&mut self.reverse, timestep),
            start: self.next,
            controls: self.control_bars,
            norms: self.norms,
        }
    }
}
