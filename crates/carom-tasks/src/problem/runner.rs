//! Runs of any system from frame to frame, forwards and backwards: the one place where problems and evaluations step.

use carom::Error;
use carom::cotangent::StateBar;
use carom::rollout::{self, Course, Rollout};
use carom::{Dynamics, State};

use super::Job;
use crate::error;

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
    pub(crate) why: Error,
}

/// Cotangents of what is predicted for a frame.
pub(crate) struct FrameBar {
    pub(crate) state: StateBar,
    pub(crate) sensors: Vec<f64>,
}

/// What a run gives: predictions at its frames, and a trajectory a stretch.
pub(crate) type Simulated<Trace> = (Vec<Predicted>, Vec<Rollout<Trace>>);

/// Simulates a run.
pub(crate) fn simulate<D: Dynamics>(
    dynamics: &D,
    job: &Job,
    start: &State,
    has_sensors: bool,
    work: &mut D::Work,
) -> Result<Simulated<D::Trace>, Stop> {
    let mut predicted: Vec<Predicted> = Vec::new();
    let mut rollouts: Vec<Rollout<D::Trace>> = Vec::with_capacity(job.stretches.len());
    let mut like = start.clone();
    for (index, stretch) in job.stretches.iter().enumerate() {
        let is_last = index + 1 == job.stretches.len();
        let course = Course {
            controls: &stretch.controls,
            // One more step tells what the sensors read at the end.
            steps: stretch.steps + usize::from(has_sensors && is_last),
            timestep: Some(stretch.timestep),
            stops: true,
        };
        let from = rollouts.last().map_or(start, |rollout| &rollout.end);
        let rollout = dynamics.rollout(from, &course, work);
        if let Some((step, why)) = dynamics.stopped(&rollout) {
            let reached = stretch.marks.iter().find(|(end, _)| *end > step);
            return Err(Stop {
                frame: reached.map_or(job.run.last, |&(_, frame)| frame),
                why: error::simulation(why),
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
            let has_own = has_sensors && step < course.steps;
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

/// Reads a run backwards: adds the cotangent of the system's own numbers to a sum, and returns that of the start.
pub(crate) fn backward<D: Dynamics>(
    dynamics: &D,
    job: &Job,
    rollouts: &[Rollout<D::Trace>],
    bars: &[FrameBar],
    sum: &mut D::Bar,
) -> Result<StateBar, Error> {
    let mut carried = StateBar::like(&job.start);
    let mut end = bars.len();
    for (stretch, rollout) in job.stretches.iter().zip(rollouts).rev() {
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
        let gradient = dynamics.gradient(rollout, &stretch.controls, &mut loss, &mut ())?;
        *sum += &gradient.model;
        carried = gradient.start;
        end = first;
    }
    Ok(carried)
}

/// Cotangents at the frames of a stretch, and at its end those of what follows.
struct Cotangents<'a> {
    /// Steps and what is known there, in order.
    marks: Vec<(usize, &'a FrameBar)>,
    carried: &'a StateBar,
    end: usize,
    has_sensors: bool,
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

    fn by_sensors(&mut self, step: usize, bar: &mut [f64]) {
        if let Some(known) = self.at(step) {
            for (sum, term) in bar.iter_mut().zip(&known.sensors) {
                *sum += term;
            }
        }
    }

    fn uses_sensors(&self) -> bool {
        self.has_sensors
    }
}
