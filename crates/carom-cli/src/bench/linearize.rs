//! CPU time of the Jacobians of steps and of accelerations.
//!
//! Both are taken at every state of a trajectory. They build upon the forward pass, which is part of the time unless said
//! otherwise: whoever has just made the step has its results.

use std::time::Duration;

use carom::linearize::{self, Linearization};
use carom::{Data, Dynamics, Input, State};
use cpu_time::ThreadTime;

use super::Case;

/// Microseconds a state to A and B.
pub(super) fn steps(case: &mut Case) -> f64 {
    let mut out = Linearization::new(&case.model);
    let (states, input) = (case.states(), &mut case.input);
    let (model, data, controls) = (&case.model, &mut case.data, &case.controls);
    per_state(&states, controls, input, |state, input| {
        carom::forward(model, state, input, data);
        linearize::step(model, state, input, data, &mut out);
    })
}

/// Microseconds from the results of a forward pass to A and B.
pub(super) fn after_steps(case: &mut Case) -> f64 {
    let mut out = Linearization::new(&case.model);
    let (states, input) = (case.states(), &mut case.input);
    let (model, data, controls) = (&case.model, &mut case.data, &case.controls);
    let mut spent = Duration::ZERO;
    per_state(&states, controls, input, |state, input| {
        carom::forward(model, state, input, data);
        let begin = ThreadTime::now();
        linearize::step(model, state, input, data, &mut out);
        spent += begin.elapsed();
    });
    // The first call, which warms up, counts as well.
    spent.as_secs_f64() / (states.len() + 1) as f64 * 1e6
}

/// Microseconds a state to the derivatives of the acceleration.
pub(super) fn accelerations(case: &mut Case) -> Result<f64, String> {
    let mut out = Linearization::new(&case.model);
    let (states, input) = (case.states(), &mut case.input);
    let (model, data, controls) = (&case.model, &mut case.data, &case.controls);
    let mut covered = true;
    let time = per_state(&states, controls, input, |state, input| {
        carom::forward(model, state, input, data);
        covered &= linearize::acceleration(model, state, input, data, &mut out).is_some();
    });
    if covered {
        Ok(time)
    } else {
        Err(
            "the model has something that the derivatives of the acceleration do not cover"
                .to_owned(),
        )
    }
}

/// Microseconds of a call at each state under its controls; the first call warms up.
fn per_state(
    states: &[State],
    controls: &[f64],
    input: &mut Input,
    mut call: impl FnMut(&State, &Input),
) -> f64 {
    let width = input.ctrl.len();
    call(&states[0], input);
    let begin = ThreadTime::now();
    for (step, state) in states.iter().enumerate() {
        (input.ctrl).copy_from_slice(&controls[step * width..(step + 1) * width]);
        call(state, input);
    }
    begin.elapsed().as_secs_f64() / states.len() as f64 * 1e6
}

impl Case {
    /// The states before all steps of the trajectory.
    fn states(&mut self) -> Vec<State> {
        let width = self.input.ctrl.len();
        self.state.copy_from(&self.start);
        let mut data = Data::new(&self.model);
        let mut states = Vec::with_capacity(self.steps);
        for step in 0..self.steps {
            states.push(self.state.clone());
            (self.input.ctrl).copy_from_slice(&self.controls[step * width..(step + 1) * width]);
            (self.model).step(&mut self.state, &self.input, &mut data);
        }
        states
    }
}
