//! How predictions respond to what a model lacks: forces at degrees of freedom, controls that act later.
//!
//! A term that is missing acts on the motion as a small force along it. With f(t) what the term would be along the motion of the model, the derivative
//! of all residuals with respect to its coefficient c is that of a simulation under the applied force c·f(t), at c = 0. Both ends of a difference are
//! simulated in fixed steps, whatever the loss does, so that contacts begin at the same steps.

use carom::{Data, Error, Input, Model, State};

use super::runner::Predicted;
use super::sum::Engine;
use super::{Job, Problem, Run, Stepping};
use crate::error;

/// What a model does in a step of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DofStep {
    /// Coordinate of the joint, where it has one (rad or m).
    pub(crate) position: f64,
    /// Velocity.
    pub(crate) velocity: f64,
    /// Generalised force of all actuators.
    pub(crate) actuation: f64,
    /// Gravity, Coriolis and centrifugal forces.
    pub(crate) bias: f64,
    /// Inertia of the joint times its acceleration.
    pub(crate) inertial: f64,
}

/// What is done to a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Push<'p> {
    /// A force at a degree of freedom: for every run and step.
    Force(usize, &'p [Vec<f64>], f64),
    /// A control acts so many steps later, or earlier.
    Shift(usize, isize),
}

/// Where a residual comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowOrigin {
    /// The run.
    pub(crate) run: usize,
    /// The frame of the trajectory.
    pub(crate) frame: usize,
    /// The channel; none for what is known of initial states.
    pub(crate) channel: Option<usize>,
    /// The component of the channel's error.
    pub(crate) component: usize,
}

impl Problem<'_> {
    /// The problem of some of the runs alone, and the unknowns of it.
    pub(crate) fn of_runs(&self, x: &[f64], is_kept: impl Fn(usize) -> bool) -> (Self, Vec<f64>) {
        let mut part = self.clone();
        let width = self.prior.len();
        let mut unknowns = x[..self.parameters.len()].to_vec();
        let mut jobs = Vec::new();
        for (index, job) in self.jobs.iter().enumerate().filter(|(k, _)| is_kept(*k)) {
            jobs.push(job.clone());
            unknowns.extend(&x[self.parameters.len() + index * width..][..width]);
        }
        part.jobs = jobs;
        (part, unknowns)
    }

    /// Steps of each run in fixed steps.
    pub(crate) fn steps_of_runs(&self) -> Vec<usize> {
        let steps = |job: &Job| job.stretches.iter().map(|stretch| stretch.steps).sum();
        self.jobs.iter().map(steps).collect()
    }

    /// What every residual is of, in the order of all results.
    pub(crate) fn origins(&self) -> Vec<RowOrigin> {
        let mut origins = Vec::new();
        for (run, job) in self.jobs.iter().enumerate() {
            let trajectory = &self.recordings.trajectories[job.run.trajectory];
            for frame in job.run.first + 1..=job.run.last {
                for (channel, _) in self.observer.compared(trajectory, frame) {
                    let width = self.observer.loss.width(&self.recordings.channels[channel]);
                    origins.extend((0..width).map(|component| RowOrigin {
                        run,
                        frame,
                        channel: Some(channel),
                        component,
                    }));
                }
            }
            origins.extend((0..self.prior.len()).map(|component| RowOrigin {
                run,
                frame: job.run.first,
                channel: None,
                component,
            }));
        }
        origins
    }

    /// The runs, as they are here.
    pub(crate) fn run_at(&self, index: usize) -> Run {
        self.jobs[index].run
    }

    /// What the model does at a degree of freedom, for every run and step; `qpos` is the place of its coordinate.
    pub(crate) fn steps_of_dofs(
        &self,
        x: &[f64],
        dofs: &[(usize, usize)],
    ) -> Result<Vec<Vec<Vec<DofStep>>>, Error> {
        self.in_fixed_steps(x, |model, data, (_, job), start| {
            let mut known: Vec<Vec<DofStep>> = vec![Vec::new(); dofs.len()];
            let end = advance(model, job, start, data, |_, _| (), &mut |state, data| {
                for (known, &(dof, qpos)) in known.iter_mut().zip(dofs) {
                    let inertia = model.dofs.inertia_reference[dof];
                    known.push(DofStep {
                        position: state.qpos[qpos],
                        velocity: state.qvel[dof],
                        actuation: data.actuation.force[dof],
                        bias: data.bias.force[dof],
                        inertial: inertia * data.solve.qacc[dof],
                    });
                }
            });
            end.map(|_| known)
        })
    }

    /// All residuals of simulations under a push, without those of what is known of initial states, which are 0.
    pub(crate) fn pushed(&self, x: &[f64], push: Push<'_>) -> Result<Vec<f64>, Error> {
        let by_run = self.in_fixed_steps(x, |model, data, (index, job), start| {
            let rows = controls_of(job, model.counts().nu);
            let act = |step: usize, input: &mut Input| match push {
                Push::Force(dof, forces, size) => {
                    input.force[dof] = size * forces[index].get(step).copied().unwrap_or(0.0);
                }
                Push::Shift(control, steps) => {
                    let other = step.saturating_add_signed(-steps).min(rows.len() - 1);
                    input.ctrl[control] = rows[other][control];
                }
            };
            let predicted = advance(model, job, start, data, act, &mut |_, _| ())?;
            let trajectory = &self.recordings.trajectories[job.run.trajectory];
            let mut residuals = Vec::with_capacity(job.count + self.prior.len());
            for known in &predicted {
                self.observer
                    .prepare_with(model, &known.state, &known.sensors, data);
                self.observer.residuals(
                    (trajectory, known.frame),
                    (&known.state, data),
                    job.factor,
                    &mut residuals,
                );
            }
            residuals.resize(job.count + self.prior.len(), 0.0);
            Ok(residuals)
        })?;
        Ok(by_run.concat())
    }

    /// Does something for every run, with the model, its memory, the run with its number and its initial state.
    fn in_fixed_steps<R: Send>(
        &self,
        x: &[f64],
        work: impl Fn(&Model, &mut Data, (usize, &Job), State) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let (theta, shifts) = self.unknowns(x)?;
        let engine = Engine::new(self, theta)?;
        let step = engine.model.option.timestep[0];
        self.in_chunks(&engine, |worker, index, job| {
            let shift = self.shift(shifts, index);
            let start = self.start_of(&engine.model, theta, job, shift)?;
            let mut job = job.clone();
            if let Stepping::Flow(_) = self.settings.stepping {
                // Frames of motions in continuous time are one step apart: here steps are the model's.
                let trajectory = &self.recordings.trajectories[job.run.trajectory];
                let (steps, nu) = (
                    (step, self.recordings.steps_per_frame),
                    engine.model.counts().nu,
                );
                job.stretches = super::schedule::stretches(trajectory, &job.run, steps, nu);
            }
            work(&engine.model, &mut worker.data, (index, &job), start)
        })
    }
}

/// Controls of every step of a run.
fn controls_of(job: &Job, nu: usize) -> Vec<Vec<f64>> {
    let mut rows = Vec::new();
    for stretch in &job.stretches {
        for step in 0..stretch.steps {
            let mut row = vec![0.0; nu];
            stretch.controls.write(step, &mut row);
            rows.push(row);
        }
    }
    rows
}

/// Simulates a run in fixed steps. `act` changes the input of a step; `see` looks at its state and at what was computed for it.
fn advance(
    model: &Model,
    job: &Job,
    start: State,
    data: &mut Data,
    act: impl Fn(usize, &mut Input),
    see: &mut dyn FnMut(&State, &Data),
) -> Result<Vec<Predicted>, Error> {
    let mut state = start;
    let mut before = state.clone();
    let mut input = Input::zeros(model);
    let mut predicted: Vec<Predicted> = Vec::new();
    let mut all = 0;
    for stretch in &job.stretches {
        input.timestep = stretch.timestep;
        let mut marks = stretch.marks.iter().peekable();
        for step in 0..stretch.steps {
            stretch.controls.write(step, &mut input.ctrl);
            act(all, &mut input);
            before.clone_from(&state);
            carom::step(model, &mut state, &input, data);
            see(&before, data);
            // Sensors at a frame are read in the step that begins there.
            if let Some(last) = predicted.last_mut().filter(|last| last.sensors.is_empty()) {
                last.sensors.clone_from(&data.sensing.values);
            }
            all += 1;
            if let Some((_, frame)) = marks.next_if(|(end, _)| *end == step + 1) {
                if !state.qpos.iter().chain(&state.qvel).all(|x| x.is_finite()) {
                    return Err(error::simulation(format!(
                        "a disturbed run did not reach frame {frame}"
                    )));
                }
                predicted.push(Predicted {
                    frame: *frame,
                    state: state.clone(),
                    sensors: Vec::new(),
                });
            }
        }
    }
    if let Some(last) = predicted.last_mut() {
        // The frame at the end needs one more step.
        let mut after = state.clone();
        carom::step(model, &mut after, &input, data);
        last.sensors.clone_from(&data.sensing.values);
    }
    Ok(predicted)
}
