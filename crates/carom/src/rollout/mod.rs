//! Trajectories: one, or a batch spread over threads.
//!
//! A trajectory is a pure function of model, start state and controls. Each one of a batch is computed by a single
//! thread in its own [`Data`], so results are the same bits for any number of threads.
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
//! # Ok::<(), carom::rollout::GradientError>(())
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
pub use clipping::{Clipping, ClippingError};
pub use gradient::{
    Adjoint, Gradient, GradientError, Loss, RolloutBar, backward_of_record, gradient,
    observe_gradient,
};
pub use growth::{Growth, Surge};
pub use tape::StateRow;

use crate::data::Data;
use crate::integrate;
use crate::model::Model;
use crate::report::NotFinite;
use crate::state::{Input, State};
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

    /// Panics where the controls do not fit a model.
    pub(crate) fn assert_fit(&self, model: &Model) {
        let nu = model.counts().nu;
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

/// A recorded trajectory: states before each step and at the end, sensors of each step.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    states: Tape,
    sensors: Vec<f64>,
    /// Numbers of all sensors.
    sensor_width: usize,
    /// The last state, from which the trajectory can go on.
    pub end: State,
    /// The first step with a number that is not finite, and the number.
    pub not_finite: Option<(usize, NotFinite)>,
}

impl Rollout {
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
}

/// Simulates as many steps as there is memory for, which leaves `state` at their end; `goes_on` is asked before each
/// step.
///
/// # Panics
/// When controls or memory do not fit the model.
pub fn record(
    model: &Model,
    state: &mut State,
    controls: &Controls,
    memory: Record<'_>,
    data: &mut Data,
    goes_on: &mut dyn FnMut() -> bool,
) -> Recorded {
    controls.assert_fit(model);
    let layout = StateRow::new(model);
    let Record { states, sensors } = memory;
    let (first, rest) = states.split_at_mut(layout.width());
    let sensor_width = model.counts().nsensor_value;
    let mut input = Input::zeros(model);
    let mut recorded = Recorded {
        steps: 0,
        not_finite: None,
    };
    layout.write(state, first);
    for (step, row) in rest.chunks_exact_mut(layout.width()).enumerate() {
        if !goes_on() {
            break;
        }
        controls.write(step, &mut input.ctrl);
        let report = integrate::step(model, state, &input, data);
        sensors[step * sensor_width..][..sensor_width].copy_from_slice(&data.sensing.values);
        layout.write(state, row);
        let found = report.not_finite.map(|place| (step, place));
        recorded.not_finite = recorded.not_finite.or(found);
        recorded.steps += 1;
    }
    recorded
}

/// Simulates `steps` steps from a state, using `data` as work area.
///
/// # Panics
/// When the controls do not fit the model.
pub fn rollout(
    model: &Model,
    start: &State,
    controls: &Controls,
    steps: usize,
    data: &mut Data,
) -> Rollout {
    let sensor_width = model.counts().nsensor_value;
    let mut trajectory = Rollout {
        states: Tape::zeros(model, steps + 1),
        sensors: vec![0.0; steps * sensor_width],
        sensor_width,
        end: start.clone(),
        not_finite: None,
    };
    let memory = Record {
        states: trajectory.states.numbers_mut(),
        sensors: &mut trajectory.sensors,
    };
    let end = &mut trajectory.end;
    let recorded = record(model, end, controls, memory, data, &mut || true);
    trajectory.not_finite = recorded.not_finite;
    trajectory
}
