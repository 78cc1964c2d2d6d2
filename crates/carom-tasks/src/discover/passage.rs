//! How the motion gets from a frame to the next, and how forces change that.
//!
//! The recorded states x₀, x₁, … are shifted by unknown errors δ. With F the simulation over an interval, A and B its derivatives by the state
//! and by forces that are constant over the interval,
//!
//!   δₖ₊₁ = A·δₖ + B·fₖ − dₖ,   dₖ = xₖ₊₁ ⊖ F(xₖ)                                            (1)
//!
//! The derivatives are central differences of the simulation itself, so that every integrator, actuator and contact is in them. Intervals are
//! short, so (1) is linear to second order of the noise and of what the missing forces do within one interval.

use carom::math::Quat;
use carom::system::Dynamics;
use carom::{Data, Input, Model, State};

use super::targets::{Target, Variable};
use crate::problem::schedule::{self, Stretch};
use crate::problem::{Run, starts};
use crate::recording::mapping::VelocityMethod;
use crate::recording::{Quantity, Recordings};

/// Difference of a coordinate (rad, m) or of a velocity.
const DIFFERENCE: f64 = 1e-5;
/// Acceleration that a difference of forces causes over an interval, in parts of what changes a velocity by one.
const PUSH: f64 = 1e-2;

/// An interval between two frames.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    /// By the state: square, of side 2·nv, row by row.
    pub(super) a: Vec<f64>,
    /// By the forces at all targets: 2·nv rows.
    pub(super) b: Vec<f64>,
    /// The recorded state at its end less the predicted one.
    pub(super) defect: Vec<f64>,
}

/// Frames in a row, each with a state.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    pub(super) trajectory: usize,
    /// Its first frame.
    pub(super) first: usize,
    /// Times of its frames.
    pub(super) times: Vec<f64>,
    pub(super) points: Vec<State>,
    pub(super) intervals: Vec<Interval>,
    /// Every variable at every frame.
    pub(super) variables: Vec<Vec<f64>>,
    /// Size of all forces that act at each target, at every frame.
    pub(super) forces: Vec<Vec<f64>>,
}

/// States of a trajectory, where they are known.
pub(super) fn points(
    model: &Model,
    recordings: &Recordings,
    trajectory: usize,
) -> Vec<Option<State>> {
    let motion = &recordings.trajectories[trajectory];
    let frames = motion.frames();
    let mut points: Vec<Option<State>> = vec![None; frames];
    for (frame, point) in points.iter_mut().enumerate().skip(recordings.start) {
        let run = Run {
            trajectory,
            first: frame,
            last: frame + 1,
        };
        *point = starts::state(recordings, model, &run, model.option.timestep[0]).ok();
    }
    if recordings.velocity.method == VelocityMethod::Backward {
        center_velocities(model, recordings, trajectory, &mut points);
    }
    points
}

/// Velocities that were found by differences to the frame before become those of the frame itself.
fn center_velocities(
    model: &Model,
    recordings: &Recordings,
    trajectory: usize,
    points: &mut [Option<State>],
) {
    let nv = model.counts().nv;
    let times = &recordings.trajectories[trajectory].times;
    let mut is_found = vec![true; nv];
    for channel in recordings
        .channels
        .iter()
        .filter(|channel| channel.is_recorded())
    {
        if let Quantity::JointVelocity { .. }
        | Quantity::LinearVelocity { .. }
        | Quantity::AngularVelocity { .. } = channel.quantity
            && let Some((first, width)) = starts::dofs(channel.quantity, nv)
        {
            is_found[first - nv..first - nv + width].fill(false);
        }
    }
    if !is_found.contains(&true) {
        return;
    }
    let before = points.to_vec();
    let mut change = vec![0.0; nv];
    for (frame, point) in points.iter_mut().enumerate() {
        let known = |index: Option<usize>| -> Option<(usize, &State)> {
            let index = index?;
            Some((index, before.get(index)?.as_ref()?))
        };
        let (previous, next) = (known(frame.checked_sub(1)), known(Some(frame + 1)));
        let here = known(Some(frame));
        let (Some((from, earlier)), Some((to, later))) = (previous.or(here), next.or(here)) else {
            continue;
        };
        if from == to {
            continue;
        }
        model.difference(&earlier.qpos, &later.qpos, &mut change);
        let span = times[to] - times[from];
        if let Some(point) = point {
            for (dof, _) in is_found.iter().enumerate().filter(|(_, found)| **found) {
                point.qvel[dof] = change[dof] / span;
            }
        }
    }
}

/// What a thread needs to simulate.
struct Bench<'a> {
    model: &'a Model,
    targets: &'a [Target],
    data: Data,
    input: Input,
}

impl Bench<'_> {
    /// Simulates an interval under a force at one target.
    fn end(&mut self, start: &State, stretches: &[Stretch], push: Option<(usize, f64)>) -> State {
        let mut state = start.clone();
        for stretch in stretches {
            self.input.timestep = stretch.timestep;
            for step in 0..stretch.steps {
                stretch.controls.write(step, &mut self.input.ctrl);
                if let Some((target, size)) = push {
                    self.targets[target].push(self.model, &state, size, &mut self.input);
                }
                carom::step(self.model, &mut state, &self.input, &mut self.data);
            }
        }
        if let Some((target, _)) = push {
            self.targets[target].release(&mut self.input);
        }
        state
    }

    /// The change of a state in tangent space.
    fn change(&self, from: &State, to: &State) -> Vec<f64> {
        let nv = from.qvel.len();
        let mut change = vec![0.0; 2 * nv];
        self.model
            .difference(&from.qpos, &to.qpos, &mut change[..nv]);
        for (change, (to, from)) in change[nv..].iter_mut().zip(to.qvel.iter().zip(&from.qvel)) {
            *change = to - from;
        }
        change
    }

    /// An interval, and the state at its end with what the model remembers.
    fn interval(
        &mut self,
        start: &State,
        next: &State,
        stretches: &[Stretch],
    ) -> (Interval, State) {
        let nv = start.qvel.len();
        let size = 2 * nv;
        let end = self.end(start, stretches, None);
        let defect = self.change(&end, next);
        let (mut a, mut b) = (vec![0.0; size * size], vec![0.0; size * self.targets.len()]);
        let column = |slopes: &mut [f64], width: usize, index: usize, change: &[f64], span: f64| {
            for (row, change) in change.iter().enumerate() {
                slopes[row * width + index] = change / span;
            }
        };
        let mut shift = vec![0.0; size];
        for index in 0..size {
            let [low, high] = [-DIFFERENCE, DIFFERENCE].map(|by| {
                shift[index] = by;
                let mut moved = start.clone();
                starts::moved(self.model, &mut moved, &shift);
                self.end(&moved, stretches, None)
            });
            shift[index] = 0.0;
            column(
                &mut a,
                size,
                index,
                &self.change(&low, &high),
                2.0 * DIFFERENCE,
            );
        }
        let span: f64 = stretches.iter().map(|s| s.timestep * s.steps as f64).sum();
        let targets = self.targets;
        for (index, target) in targets.iter().enumerate() {
            let force = PUSH * target.inertia(self.model) / span.max(1e-6);
            let [low, high] =
                [-force, force].map(|force| self.end(start, stretches, Some((index, force))));
            column(
                &mut b,
                targets.len(),
                index,
                &self.change(&low, &high),
                2.0 * force,
            );
        }
        (Interval { a, b, defect }, end)
    }
}

/// Follows the frames from `first` to `last` of a trajectory; none where a simulation leaves the finite numbers.
pub(super) fn follow(
    (model, recordings): (&Model, &Recordings),
    (targets, variables): (&[Target], &[Variable]),
    points: &[Option<State>],
    run: &Run,
) -> Option<Passage> {
    let trajectory = &recordings.trajectories[run.trajectory];
    let mut bench = Bench {
        model,
        targets,
        data: Data::new(model),
        input: Input::zeros(model),
    };
    let nu = model.counts().nu;
    let mut passage = Passage {
        trajectory: run.trajectory,
        first: run.first,
        times: trajectory.times[run.first..=run.last].to_vec(),
        points: Vec::new(),
        intervals: Vec::new(),
        variables: vec![Vec::new(); variables.len()],
        forces: vec![Vec::new(); targets.len()],
    };
    let mut memory: Option<State> = None;
    for frame in run.first..=run.last {
        let mut point = points[frame].clone()?;
        point.time = trajectory.times[frame];
        if let Some(memory) = memory {
            point.act = memory.act;
            point.history = memory.history;
            point.warmstart = memory.warmstart;
        }
        bench
            .input
            .ctrl
            .copy_from_slice(&trajectory.controls[frame * nu..][..nu]);
        carom::forward(model, &point, &bench.input, &mut bench.data);
        for (values, variable) in passage.variables.iter_mut().zip(variables) {
            values.push(variable.value(&point, &bench.data));
        }
        for (sizes, target) in passage.forces.iter_mut().zip(targets) {
            sizes.push(target.size(model, &point, &bench.data));
        }
        memory = None;
        if frame < run.last {
            let next = points[frame + 1].as_ref()?;
            let one = Run {
                trajectory: run.trajectory,
                first: frame,
                last: frame + 1,
            };
            let steps = (model.option.timestep[0], recordings.steps_per_frame);
            let stretches = schedule::stretches(trajectory, &one, steps, nu);
            let (interval, end) = bench.interval(&point, next, &stretches);
            let numbers = interval.a.iter().chain(&interval.b).chain(&interval.defect);
            if !numbers.copied().all(f64::is_finite) {
                return None;
            }
            passage.intervals.push(interval);
            memory = Some(end);
        }
        passage.points.push(point);
    }
    Some(passage)
}

/// Axes of a body on a free joint.
pub(super) fn axes(state: &State, qpos: usize) -> Quat {
    Quat(std::array::from_fn(|k| state.qpos[qpos + 3 + k])).normalized()
}
