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

use rayon::prelude::*;

use crate::data::Data;
use crate::integrate;
use crate::model::Model;
use crate::report::NotFinite;
use crate::state::{Input, State};

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
    fn write(&self, step: usize, ctrl: &mut [f64]) {
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

    /// Whether the controls fit a model.
    fn fits(&self, nu: usize) -> bool {
        match self {
            Self::Zero => true,
            Self::Constant(values) => values.len() == nu,
            Self::PerStep(values) => nu == 0 || (!values.is_empty() && values.len() % nu == 0),
        }
    }
}

/// A recorded trajectory: states before each step and at the end, sensors of each step.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    widths: Widths,
    time: Vec<f64>,
    qpos: Vec<f64>,
    qvel: Vec<f64>,
    act: Vec<f64>,
    sensors: Vec<f64>,
    /// The last state, from which the trajectory can go on.
    pub end: State,
    /// The first step with a number that is not finite, and the number.
    pub not_finite: Option<(usize, NotFinite)>,
}

/// Row lengths of the recorded arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Widths {
    qpos: usize,
    qvel: usize,
    act: usize,
    sensors: usize,
}

impl Rollout {
    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.time.len() - 1
    }

    /// Time before step `step` (s).
    pub fn time(&self, step: usize) -> f64 {
        self.time[step]
    }

    /// Configuration before step `step`.
    pub fn qpos(&self, step: usize) -> &[f64] {
        &self.qpos[step * self.widths.qpos..][..self.widths.qpos]
    }

    /// Velocity before step `step`.
    pub fn qvel(&self, step: usize) -> &[f64] {
        &self.qvel[step * self.widths.qvel..][..self.widths.qvel]
    }

    /// Activations before step `step`.
    pub fn act(&self, step: usize) -> &[f64] {
        &self.act[step * self.widths.act..][..self.widths.act]
    }

    /// Sensor values of step `step`.
    pub fn sensors(&self, step: usize) -> &[f64] {
        &self.sensors[step * self.widths.sensors..][..self.widths.sensors]
    }

    fn new(model: &Model, start: &State, steps: usize) -> Self {
        let n = model.counts();
        let widths = Widths {
            qpos: n.nq,
            qvel: n.nv,
            act: n.na,
            sensors: n.nsensor_value,
        };
        let rows = steps + 1;
        Self {
            widths,
            time: Vec::with_capacity(rows),
            qpos: Vec::with_capacity(rows * widths.qpos),
            qvel: Vec::with_capacity(rows * widths.qvel),
            act: Vec::with_capacity(rows * widths.act),
            sensors: Vec::with_capacity(steps * widths.sensors),
            end: start.clone(),
            not_finite: None,
        }
    }

    fn push_state(&mut self) {
        self.time.push(self.end.time);
        self.qpos.extend_from_slice(&self.end.qpos);
        self.qvel.extend_from_slice(&self.end.qvel);
        self.act.extend_from_slice(&self.end.act);
    }
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
    assert!(
        controls.fits(model.counts().nu),
        "controls must have {} values a step (the model's nu)",
        model.counts().nu
    );
    let mut input = Input::zeros(model);
    let mut trajectory = Rollout::new(model, start, steps);
    trajectory.push_state();
    for step in 0..steps {
        controls.write(step, &mut input.ctrl);
        let report = integrate::step(model, &mut trajectory.end, &input, data);
        trajectory.sensors.extend_from_slice(&data.sensing.values);
        trajectory.push_state();
        let found = report.not_finite.map(|place| (step, place));
        trajectory.not_finite = trajectory.not_finite.or(found);
    }
    trajectory
}

/// Simulates a batch, one trajectory for each start state, over the threads of the current rayon pool.
///
/// # Panics
/// When there are not as many controls as start states, or they do not fit the model.
pub fn rollout_batch(
    model: &Model,
    starts: &[State],
    controls: &[Controls],
    steps: usize,
) -> Vec<Rollout> {
    assert_eq!(
        starts.len(),
        controls.len(),
        "one set of controls for each start state"
    );
    starts
        .par_iter()
        .zip(controls)
        .map_init(
            || Data::new(model),
            |data, (start, controls)| rollout(model, start, controls, steps, data),
        )
        .collect()
}
