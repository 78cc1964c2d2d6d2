//! States of a motion between its steps.

use super::Flow;
use super::backward::weights;
use super::dense::Dense;
use super::motion::Motion;
use super::stepper::clamp_activations;
use crate::integrate::{Rates, place, tangent_rates};
use crate::state::State;

impl Motion {
    /// The state at a time (s), by the dense output of the method within the step there: as exact as the estimate of its
    /// error for `tsit5` and `dopri5` and for methods of low order, a cubic through both ends of the step for others. `flow` is what
    /// the motion was followed with.
    ///
    /// None before the start and beyond what was followed, and where steps are not stored or implicit.
    ///
    /// ```
    /// # let spec = carom_spec::read_file("../../models/cube.xml".as_ref(), &[]).spec;
    /// # let model = carom::compile::compile(&spec).0.unwrap();
    /// # use carom::flow::{Flow, FlowSettings};
    /// # use carom::{State, rollout::Controls};
    /// let flow = Flow::new(&model, FlowSettings::default())?;
    /// let motion = flow.run(&State::reference(&model), &Controls::Zero, 0.5, 1);
    /// let frames = (0..30).filter_map(|frame| motion.state_at(&flow, f64::from(frame) / 60.0));
    /// assert_eq!(frames.count(), 30);
    /// # Ok::<(), carom::Error>(())
    /// ```
    pub fn state_at(&self, flow: &Flow, time: f64) -> Option<State> {
        let tableau = flow.settings.method.tableau();
        if time == self.end().time {
            return Some(self.end().clone());
        }
        let is_within = time >= self.states[0].time && time < self.end().time;
        if !is_within || !self.is_stored() || tableau.is_extrapolated() {
            return None;
        }
        let model = &flow.model;
        let index = self.steps.partition_point(|step| step.time <= time) - 1;
        let step = self.steps[index];
        let mut start = self.states[0].clone();
        let mut rates = vec![Rates::zeros(model.counts()); tableau.len() + 1];
        self.read(index, &mut start, &mut rates);
        let mut state = start.clone();
        // Rates of positions are not stored: rebuild them stage by stage.
        let mut slope = Rates::zeros(model.counts());
        for stage in 0..rates.len() {
            slope.combine(weights(tableau, &[], stage), &rates);
            place(model, &start, &slope, step.h, &mut state);
            rates[stage].position.copy_from_slice(&slope.position);
            tangent_rates(model, &state.qvel, step.h, &mut rates[stage].position);
        }
        // Then the dense output, no further than the step was gone.
        let mut parts = Vec::new();
        let part = (time - step.time) / step.h;
        Dense::of(flow.settings.method).write_weights(part.clamp(0.0, step.part), &mut parts);
        slope.combine(&parts, &rates);
        place(model, &start, &slope, step.h, &mut state);
        clamp_activations(model, &mut state.act);
        state.time = time;
        Some(state)
    }
}
