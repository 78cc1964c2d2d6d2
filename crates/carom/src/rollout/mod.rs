//! Trajectories: one, or a batch spread over threads.
//!
//! A trajectory is a pure function of model, start state and controls. Each one of a batch is computed by a single
//! thread in its own [`Data`](crate::Data), so results are the same bits for any number of threads.
//!
//! ```
//! # let spec = carom_spec::read_file("../../models/pendulum.xml".as_ref(), &[]).spec;
//! # let model = carom::compile::compile(&spec).0.unwrap();
//! use carom::rollout::{Controls, rollout_batch};
//! use carom::State;
//!
//! let starts = vec![State::reference(&model); 8];
//! let batch = rollout_batch(&model, &starts, &vec![Controls::Zero; 8], 100);
//! assert_eq!(batch.len(), 8);
//! assert_eq!(batch[0].qpos(100), batch[7].qpos(100));
//! ```

//! A recorded trajectory can be read backwards, for the gradient of any loss by everything that it depends on:
//!
//! ```
//! # let spec = carom_spec::read_file("../../models/pendulum.xml".as_ref(), &[]).spec;
//! # let model = carom::compile::compile(&spec).0.unwrap();
//! use carom::rollout::{Controls, RolloutBar, rollout};
//! use carom::{Data, State};
//!
//! let (start, controls) = (State::reference(&model), Controls::Zero);
//! let trajectory = rollout(&model, &start, &controls, 100, &mut Data::new(&model));
//! // The loss is the last angle: its derivative by that is one.
//! let mut loss = RolloutBar::zeros(&trajectory);
//! loss.qpos_mut(100)[0] = 1.0;
//! let gradient = trajectory.backward(&model, &controls, &mut loss)?;
//! println!("by the first angle: {}", gradient.start.qpos[0]);
//! println!("by the damping: {}", gradient.model.dofs.damping[0]);
//! # Ok::<(), carom::Error>(())
//! ```

mod batch;
mod clipping;
mod gradient;
mod growth;
pub(crate) mod schedule;
mod tape;
#[cfg(test)]
mod tests;

pub use batch::{gradient_batch, rollout_batch};
pub use clipping::Clipping;
pub use gradient::{
    Adjoint, EndAndGradient, Gradient, Loss, NoGradient, Nothing, RolloutBar, backward_of_record,
    gradient, observe_gradient, read_backwards,
};
pub use growth::{Growth, Surge};
pub use tape::StateRow;

use crate::report::{NotFinite, StepReport};
use crate::state::{Input, State};
use crate::system::Dynamics;
use tape::{Rows, Tape};

/// Controls of a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub enum Controls {
    /// All zero.
    Zero,
    /// The same for every step, nu.
    Constant(Vec<f64>),
    /// One row of nu a step, row-major; the last row is held.
    PerStep(Vec<f64>),
}

impl Controls {
    /// Writes the controls of a step.
    pub fn write(&self, step: usize, ctrl: &mut [f64]) {
        match self {
            Self::Zero => ctrl.fill(0.0),
            Self::Constant(values) => ctrl.copy_from_slice(values),
            Self::PerStep(values) => {
                let rows = values.len() / ctrl.len().max(1);
                let start = step.min(rows.saturating_sub(1)) * ctrl.len();
                ctrl.copy_from_slice(&values[start..start + ctrl.len()]);
            }
        }
    }

    /// Panics where the controls are not so many a step.
    pub(crate) fn assert_fit(&self, nu: usize) {
        let fits = match self {
            Self::Zero => true,
            Self::Constant(values) => values.len() == nu,
            Self::PerStep(values) => nu == 0 || (!values.is_empty() && values.len() % nu == 0),
        };
        assert!(
            fits,
            "controls must have {nu} values a step (the model's nu)"
        );
    }
}

/// How a trajectory is to go on from its start.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// Its controls.
    pub controls: &'a Controls,
    /// Number of steps.
    pub steps: usize,
    /// Length of every step (s); the system's own if none is given.
    pub timestep: Option<f64>,
    /// Whether it ends with the first step that has a number which is not finite, or goes on.
    pub stops: bool,
}

impl<'a> Course<'a> {
    /// So many steps of the system's own length, whatever happens.
    pub fn new(controls: &'a Controls, steps: usize) -> Self {
        Self {
            controls,
            steps,
            timestep: None,
            stops: false,
        }
    }
}

/// A recorded trajectory: states before each step and at the end, sensors of each step. `Trace` is what its system keeps of
/// it beyond that.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout<Trace = ()> {
    states: Tape,
    sensors: Vec<f64>,
    /// Length of every step (s); none if it is the system's own.
    timestep: Option<f64>,
    trace: Trace,
    /// Numbers of all sensors.
    sensor_width: usize,
    /// The last state, from which the trajectory can go on.
    pub end: State,
    /// The first step with a number that is not finite, and the number.
    pub not_finite: Option<(usize, NotFinite)>,
    /// Steps in which a learned term had an input outside of the range that it was trained on; fixed steps count them.
    pub extrapolating: usize,
}

impl Rollout {
    /// Of states in a row, from the first on, without sensors.
    pub(crate) fn of_states(states: &[State], timestep: Option<f64>) -> Self {
        let end = &states[states.len() - 1];
        let mut tape = Tape::with_capacity(end, states.len());
        for state in states {
            tape.push(state);
        }
        Self {
            states: tape,
            sensors: Vec::new(),
            timestep,
            trace: (),
            sensor_width: 0,
            end: end.clone(),
            not_finite: None,
            extrapolating: 0,
        }
    }

    /// With what the system keeps of it.
    pub(crate) fn with_trace<Trace>(self, trace: Trace) -> Rollout<Trace> {
        Rollout {
            states: self.states,
            sensors: self.sensors,
            timestep: self.timestep,
            trace,
            sensor_width: self.sensor_width,
            end: self.end,
            not_finite: self.not_finite,
            extrapolating: self.extrapolating,
        }
    }
}

impl<Trace> Rollout<Trace> {
    /// What its system keeps of it beyond states and sensors.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.states.len() - 1
    }

    /// Time before step `step` (s).
    pub fn time(&self, step: usize) -> f64 {
        self.states().time(step)
    }

    /// Configuration before step `step`.
    pub fn qpos(&self, step: usize) -> &[f64] {
        self.states().qpos(step)
    }

    /// Velocity before step `step`.
    pub fn qvel(&self, step: usize) -> &[f64] {
        self.states().qvel(step)
    }

    /// Activations before step `step`.
    pub fn act(&self, step: usize) -> &[f64] {
        self.states().act(step)
    }

    /// Sensor values of step `step`.
    pub fn sensors(&self, step: usize) -> &[f64] {
        &self.sensors[step * self.sensor_width..][..self.sensor_width]
    }

    fn states(&self) -> Rows<'_> {
        self.states.rows()
    }
}

/// Memory for a trajectory.
#[derive(Debug)]
pub struct Record<'a> {
    /// Of the states before each step and at the end, one [`StateRow`] each.
    pub states: &'a mut [f64],
    /// Of the sensor values of each step.
    pub sensors: &'a mut [f64],
}

/// How a recorded trajectory went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recorded {
    /// Steps that were taken: fewer than there was memory for if it was stopped.
    pub steps: usize,
    /// The first step with a number that is not finite, and the number.
    pub not_finite: Option<(usize, NotFinite)>,
    /// The first step with a number beyond all measure, and the number.
    pub large: Option<(usize, NotFinite)>,
    /// Steps in which a learned term had an input outside of the range that it was trained on.
    pub extrapolating: usize,
}

/// Looks on while a trajectory is followed, and keeps what it wants of it.
pub trait Recorder<D: Dynamics> {
    /// A step is about to be taken; false ends the trajectory before it.
    fn before(&mut self, step: usize, state: &State, input: &Input) -> bool {
        let _ = (step, state, input);
        true
    }

    /// A step has been taken.
    fn after(&mut self, step: usize, taken: Taken<'_, D>);
}

/// A step that has been taken.
#[derive(Debug)]
pub struct Taken<'a, D: Dynamics> {
    /// The state after it.
    pub state: &'a State,
    /// What the sensors read before it.
    pub sensors: &'a [f64],
    /// The memory in which it was computed.
    pub work: &'a D::Work,
    /// What it has to say.
    pub report: &'a StepReport,
}

/// THE loop over the steps of a trajectory, which leaves `state` at its end.
///
/// # Panics
/// When the controls do not fit the system.
pub fn run<D: Dynamics>(
    dynamics: &D,
    state: &mut State,
    course: &Course<'_>,
    work: &mut D::Work,
    recorder: &mut impl Recorder<D>,
) -> Recorded {
    course.controls.assert_fit(dynamics.shape().nu);
    let mut input = dynamics.input();
    input.timestep = course.timestep.unwrap_or(input.timestep);
    let mut recorded = Recorded {
        steps: 0,
        not_finite: None,
        large: None,
        extrapolating: 0,
    };
    for step in 0..course.steps {
        course.controls.write(step, &mut input.ctrl);
        if !recorder.before(step, state, &input) {
            break;
        }
        let report = dynamics.step(state, &input, work);
        let taken = Taken {
            state,
            sensors: dynamics.sensors(work),
            work,
            report: &report,
        };
        recorder.after(step, taken);
        recorded.steps += 1;
        let at_step = |place| (step, place);
        recorded.not_finite = recorded.not_finite.or(report.not_finite.map(at_step));
        recorded.large = recorded.large.or(report.large.map(at_step));
        recorded.extrapolating += usize::from(report.extrapolates);
        if course.stops && report.not_finite.is_some() {
            break;
        }
    }
    recorded
}

/// Writes states and sensors into memory, row after row.
struct Writer<'a> {
    layout: StateRow,
    memory: Record<'a>,
    sensor_width: usize,
    goes_on: &'a mut dyn FnMut() -> bool,
}

impl<D: Dynamics> Recorder<D> for Writer<'_> {
    fn before(&mut self, _: usize, _: &State, _: &Input) -> bool {
        (self.goes_on)()
    }

    fn after(&mut self, step: usize, taken: Taken<'_, D>) {
        let (width, sensors) = (self.layout.width(), self.sensor_width);
        let row = &mut self.memory.states[(step + 1) * width..][..width];
        self.layout.write(taken.state, row);
        self.memory.sensors[step * sensors..][..sensors].copy_from_slice(taken.sensors);
    }
}

/// Simulates as many steps as there is memory for, which leaves `state` at their end; `goes_on` is asked before each
/// step.
///
/// # Panics
/// When controls or memory do not fit the system.
pub fn record<D: Dynamics>(
    dynamics: &D,
    state: &mut State,
    controls: &Controls,
    memory: Record<'_>,
    work: &mut D::Work,
    goes_on: &mut dyn FnMut() -> bool,
) -> Recorded {
    let layout = StateRow::like(state);
    let steps = (memory.states.len() / layout.width()).saturating_sub(1);
    let course = Course::new(controls, steps);
    layout.write(state, &mut memory.states[..layout.width()]);
    let mut writer = Writer {
        layout,
        memory,
        sensor_width: dynamics.shape().sensors,
        goes_on,
    };
    run(dynamics, state, &course, work, &mut writer)
}

/// Simulates `steps` steps from a state, using `work` as work area.
///
/// # Panics
/// When the controls do not fit the system.
pub fn rollout<D: Dynamics>(
    dynamics: &D,
    start: &State,
    controls: &Controls,
    steps: usize,
    work: &mut D::Work,
) -> Rollout<D::Trace> {
    dynamics.rollout(start, &Course::new(controls, steps), work)
}

/// Follows a trajectory step by step: what [`Dynamics::rollout`] does unless a system knows better.
///
/// # Panics
/// When the controls do not fit the system.
pub fn follow<D: Dynamics>(
    dynamics: &D,
    start: &State,
    course: &Course<'_>,
    work: &mut D::Work,
) -> Rollout<D::Trace> {
    let sensor_width = dynamics.shape().sensors;
    let mut trajectory = Rollout {
        states: Tape::zeros(start, course.steps + 1),
        sensors: vec![0.0; course.steps * sensor_width],
        timestep: course.timestep,
        trace: D::Trace::default(),
        sensor_width,
        end: start.clone(),
        not_finite: None,
        extrapolating: 0,
    };
    let layout = StateRow::like(start);
    let states = trajectory.states.numbers_mut();
    layout.write(start, &mut states[..layout.width()]);
    let mut writer = Writer {
        layout,
        memory: Record {
            states,
            sensors: &mut trajectory.sensors,
        },
        sensor_width,
        goes_on: &mut || true,
    };
    let recorded = run(dynamics, &mut trajectory.end, course, work, &mut writer);
    trajectory.not_finite = recorded.not_finite;
    trajectory.extrapolating = recorded.extrapolating;
    trajectory
}
