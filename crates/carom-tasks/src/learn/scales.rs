//! How large inputs and outputs of terms are in recordings: what inputs are normalised by, and steps of a search measured by.

use carom::model::{LearnedTerm, Model, Target};
use carom::{Data, Input, inverse};
use carom_spec::model_spec::{FormKind, LearnedTermSpec};

use crate::recording::{Recordings, Trajectory};

/// Frames that are looked at: more tell no more.
const MAX_FRAMES: usize = 4000;
/// Parts of the largest number of its kind below which an input or output counts as this large.
const LEAST_PART: f64 = 1e-3;
/// A table reaches this far beyond the data on both sides, in parts of their range.
const MARGIN: f64 = 0.05;

/// Sizes of the inputs and outputs of a term, over all of its places.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sizes {
    /// Lowest, highest, mean and root mean square of each input.
    inputs: Vec<[f64; 4]>,
    /// Typical size of each output.
    pub(super) outputs: Vec<f64>,
}

impl Sizes {
    /// Typical sizes of the inputs.
    pub(super) fn input_sizes(&self) -> Vec<f64> {
        let sizes = self.inputs.iter().map(|[.., size]| *size);
        sizes
            .map(|size| if size > 0.0 { size } else { 1.0 })
            .collect()
    }

    /// The range that each input covers; empty where none was seen.
    pub(super) fn range(&self) -> Vec<[f64; 2]> {
        let ranges = self.inputs.iter().map(|&[low, high, ..]| [low, high]);
        let is_seen = self.inputs.iter().all(|[low, high, ..]| low <= high);
        if is_seen {
            ranges.collect()
        } else {
            Vec::new()
        }
    }

    /// Centre and scale of each input of a term.
    pub(super) fn scales(&self, spec: &LearnedTermSpec, odd: &[usize]) -> Vec<[f64; 2]> {
        let is_table = matches!(spec.form.kind, FormKind::Table { .. });
        let scale = |(input, &[low, high, mean, size]): (usize, &[f64; 4])| {
            let spread = (size * size - mean * mean).max(0.0).sqrt();
            let [center, scale] = if odd.contains(&input) {
                [
                    0.0,
                    if is_table {
                        low.abs().max(high.abs())
                    } else {
                        size
                    },
                ]
            } else if is_table {
                [0.5 * (low + high), (0.5 + MARGIN) * (high - low)]
            } else {
                [mean, spread]
            };
            // What does not change in the data is left as it is.
            if scale > 1e-9 * size.max(1e-9) {
                [center, scale]
            } else {
                [if odd.contains(&input) { 0.0 } else { mean }, 1.0]
            }
        };
        self.inputs.iter().enumerate().map(scale).collect()
    }
}

/// Sizes of inputs and outputs of all terms in some recordings.
pub(super) fn sizes(model: &Model, recordings: &Recordings) -> Vec<Sizes> {
    let learned = &model.structure.learned;
    let (nu, nv) = (model.counts().nu, model.counts().nv);
    let mut inputs = vec![[f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0]; learned.signals.len()];
    let mut motions = vec![[0.0; 6]; learned.frames.len()];
    let mut forces = vec![0.0; nv];
    let mut actuators = vec![0.0; model.counts().nout];
    let (mut data, mut input) = (Data::new(model), Input::zeros(model));
    let (mut count, mut differences) = (0.0_f64, 0.0_f64);
    let all: usize = recordings.trajectories.iter().map(Trajectory::frames).sum();
    let every = all.div_ceil(MAX_FRAMES).max(1);
    for (index, trajectory) in recordings.trajectories.iter().enumerate() {
        for frame in (recordings.start..trajectory.frames()).step_by(every) {
            let Ok(state) = recordings.start(model, index, frame) else {
                continue;
            };
            input
                .ctrl
                .copy_from_slice(&trajectory.controls[frame * nu..][..nu]);
            carom::forward(model, &state, &input, &mut data);
            count += 1.0;
            for (sum, &x) in inputs.iter_mut().zip(&data.learned.input) {
                let [low, high, mean, square] = *sum;
                *sum = [low.min(x), high.max(x), mean + x, square + x * x];
            }
            for (sum, &force) in actuators.iter_mut().zip(&data.actuation.actuator_force) {
                *sum += force * force;
            }
            // Accelerations by the next frame say what forces there are.
            let before = data.learned.motion.clone();
            if frame + 1 >= trajectory.frames() {
                continue;
            }
            let Ok(next) = recordings.start(model, index, frame + 1) else {
                continue;
            };
            let gap = trajectory.times[frame + 1] - trajectory.times[frame];
            let acceleration: Vec<f64> = (next.qvel.iter().zip(&state.qvel))
                .map(|(after, before)| (after - before) / gap)
                .collect();
            let mut force = vec![0.0; nv];
            inverse::forward(model, &state, &acceleration, &mut data, &mut force);
            for (sum, force) in forces.iter_mut().zip(&force) {
                *sum += force * force;
            }
            carom::forward(model, &next, &input, &mut data);
            for ((sum, before), after) in motions.iter_mut().zip(&before).zip(&data.learned.motion)
            {
                for k in 0..6 {
                    let rate = (after[k] - before[k]) / gap;
                    sum[k] += rate * rate;
                }
            }
            differences += 1.0;
        }
    }
    let root = |sum: f64, count: f64| (sum / count.max(1.0)).sqrt();
    let output = |target: &Target| match *target {
        Target::Dof(dof) => root(forces[dof], differences),
        // Parts of a coefficient.
        Target::Contact(_) => 1.0,
        Target::Actuator { output, .. } => root(actuators[output], count),
        Target::Wrench(frame, component) => {
            let body = learned.frames[frame].body;
            let inertia = model.bodies.inertia[body].0;
            let resistance = match component {
                0..3 => inertia.iter().sum::<f64>() / 3.0,
                _ => model.bodies.mass[body],
            };
            resistance * root(motions[frame][component], differences)
        }
    };
    let of_term = |term: &LearnedTerm| {
        let places = &learned.places[term.places.clone()];
        let widths = (term.form.inputs(), term.form.outputs());
        let mut own = Sizes {
            inputs: vec![[f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0]; widths.0],
            outputs: vec![0.0; widths.1],
        };
        for place in places {
            for (sum, &[low, high, total, square]) in
                own.inputs.iter_mut().zip(&inputs[place.inputs.clone()])
            {
                let share = count.max(1.0) * places.len() as f64;
                *sum = [
                    sum[0].min(low),
                    sum[1].max(high),
                    sum[2] + total / share,
                    sum[3] + square / share,
                ];
            }
            for (size, target) in own
                .outputs
                .iter_mut()
                .zip(&learned.targets[place.outputs.clone()])
            {
                *size = size.max(output(target));
            }
        }
        for sum in &mut own.inputs {
            sum[3] = sum[3].sqrt();
        }
        // Nothing is known of outputs that no data move: they are small, and not nothing.
        let largest = own.outputs.iter().copied().fold(0.0, f64::max);
        let least = if largest > 0.0 {
            LEAST_PART * largest
        } else {
            1.0
        };
        for size in &mut own.outputs {
            *size = size.max(least);
        }
        own
    };
    learned.terms.iter().map(of_term).collect()
}
