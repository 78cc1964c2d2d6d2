//! Runs by steps of fixed length, forwards and backwards.

use carom::cotangent::{DataBar, StateBar};
use carom::dynamics::At;
use carom::rollout::{self, Rollout};
use carom::{Data, Input, Model, State, integrate};

use super::Job;

/// What a simulation predicts for a frame.
#[derive(Clone, Debug)]
pub(crate) struct Predicted {
    pub(crate) frame: usize,
    pub(crate) state: State,
    /// Sensor values; empty unless they are compared.
    pub(crate) sensors: Vec<f64>,
}

/// Where a simulation ended early.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) frame: usize,
    pub(crate) why: String,
}

/// Cotangents of what is predicted for a frame.
pub(crate) struct FrameBar {
    pub(crate) state: StateBar,
    pub(crate) sensors: Vec<f64>,
}

/// Simulates a run of which nothing but its frames is wanted, and no sensors.
pub(crate) fn follow(
    model: &Model,
    data: &mut Data,
    job: &Job,
    start: &State,
    mut at_frame: impl FnMut(&Model, &mut Data, usize, &State),
) -> Result<(), Stop> {
    let mut state = start.clone();
    let mut input = Input::zeros(model);
    for stretch in &job.stretches {
        input.timestep = stretch.timestep;
        let mut marks = stretch.marks.iter().peekable();
        for step in 0..stretch.steps {
            stretch.controls.write(step, &mut input.ctrl);
            let report = integrate::step(model, &mut state, &input, data);
            if let Some(place) = report.not_finite {
                return Err(Stop {
                    frame: marks.next().map_or(job.run.last, |&(_, frame)| frame),
                    why: place.describe(model),
                });
            }
            if let Some(&(_, frame)) = marks.next_if(|(end, _)| *end == step + 1) {
                at_frame(model, data, frame, &state);
            }
        }
    }
    Ok(())
}

/// Simulates a run. `model` is changed only in its time step.
pub(crate) fn simulate(
    model: &mut Model,
    data: &mut Data,
    job: &Job,
    start: &State,
    has_sensors: bool,
) -> Result<(Vec<Predicted>, Vec<Rollout>), Stop> {
    let mut predicted: Vec<Predicted> = Vec::new();
    let mut rollouts: Vec<Rollout> = Vec::with_capacity(job.stretches.len());
    let mut like = start.clone();
    for (index, stretch) in job.stretches.iter().enumerate() {
        let is_last = index + 1 == job.stretches.len();
        // One more step tells what the sensors read at the end.
        let steps = stretch.steps + usize::from(has_sensors && is_last);
        model.option.timestep[0] = stretch.timestep;
        let from = rollouts.last().map_or(start, |rollout| &rollout.end);
        let rollout = rollout::rollout(model, from, &stretch.controls, steps, data);
        if let Some((step, place)) = rollout.not_finite {
            let reached = stretch.marks.iter().find(|(end, _)| *end > step);
            return Err(Stop {
                frame: reached.map_or(job.run.last, |&(_, frame)| frame),
                why: place.describe(model),
            });
        }
        if let Some(last) = predicted.last_mut().filter(|_| has_sensors) {
            last.sensors = rollout.sensors(0).to_vec();
        }
        for &(step, frame) in &stretch.marks {
            like.time = rollout.time(step);
            like.qpos.copy_from_slice(rollout.qpos(step));
            like.qvel.copy_from_slice(rollout.qvel(step));
            like.act.copy_from_slice(rollout.act(step));
            let has_own = has_sensors && step < steps;
            predicted.push(Predicted {
                frame,
                state: like.clone(),
                sensors: if has_own {
                    rollout.sensors(step).to_vec()
                } else {
                    Vec::new()
                },
            });
        }
        rollouts.push(rollout);
    }
    Ok((predicted, rollouts))
}

/// Reads a run backwards: adds the cotangent of the model to `model_bar`, number by number, and returns that of the start.
pub(crate) fn backward(
    model: &mut Model,
    job: &Job,
    rollouts: &[Rollout],
    bars: &[FrameBar],
    model_bar: &mut [f64],
) -> Result<StateBar, String> {
    let mut carried = StateBar::zeros(model);
    let mut end = bars.len();
    for (stretch, rollout) in job.stretches.iter().zip(rollouts).rev() {
        model.option.timestep[0] = stretch.timestep;
        let first = end - stretch.marks.len();
        let mut marks: Vec<(usize, &FrameBar)> = (stretch.marks.iter())
            .zip(&bars[first..end])
            .map(|(&(step, _), bar)| (step, bar))
            .collect();
        if first > 0 {
            // The sensors of the frame before were read in the first step of this stretch.
            marks.insert(0, (0, &bars[first - 1]));
        }
        let mut loss = Cotangents {
            marks,
            carried: &carried,
            end: stretch.steps,
            has_sensors: bars.iter().any(|bar| !bar.sensors.is_empty()),
        };
        let gradient = rollout
            .backward(model, &stretch.controls, &mut loss)
            .map_err(|error| error.to_string())?;
        add_numbers(&gradient.model, model_bar);
        carried = gradient.start;
        end = first;
    }
    Ok(carried)
}

/// Adds all numbers of a model to a sum.
pub(crate) fn add_numbers(model: &Model, sum: &mut [f64]) {
    let mut sums = sum.iter_mut();
    model.for_each(|_, _, _, _, number| {
        if let Some(sum) = sums.next() {
            *sum += number;
        }
    });
}

/// Cotangents at the frames of a stretch, and at its end those of what follows.
pub(crate) struct Cotangents<'a> {
    /// Steps and what is known there, in order.
    pub(crate) marks: Vec<(usize, &'a FrameBar)>,
    pub(crate) carried: &'a StateBar,
    pub(crate) end: usize,
    pub(crate) has_sensors: bool,
}

impl Cotangents<'_> {
    fn at(&self, step: usize) -> Option<&FrameBar> {
        let index = self.marks.partition_point(|(mark, _)| *mark < step);
        let (mark, bar) = self.marks.get(index)?;
        (*mark == step).then_some(*bar)
    }
}

impl rollout::Loss for Cotangents<'_> {
    fn by_state(&mut self, step: usize, _: &State, bar: &mut StateBar) {
        if step == self.end {
            bar.add(self.carried);
        }
        // The frame at the start belongs to the stretch before.
        if let Some(known) = self.at(step).filter(|_| step > 0) {
            bar.add(&known.state);
        }
    }

    fn by_results(&mut self, step: usize, _: At<'_>, bar: &mut DataBar) {
        if let Some(known) = self.at(step) {
            for (sum, term) in bar.sensing.values.iter_mut().zip(&known.sensors) {
                *sum += term;
            }
        }
    }

    fn uses_sensors(&self) -> bool {
        self.has_sensors
    }
}
