//! What measurements say about missing forces.
//!
//! Over a segment of K intervals, with the unknown error δ₀ of its first state, (1) of `passage.rs` gives every measurement as
//!
//!   y = Ψ·δ₀ + M·f + noise                                                                  (1)
//!
//! linear in the forces f of all intervals and targets. The first state is measured like all others, so it is noisy too: δ₀ is free, and its
//! directions are turned out of (1) by reflections. What remains knows of forces alone, and its noise is white.

use super::passage::Passage;
use crate::problem::starts;
use crate::recording::Recordings;

/// Passes over the noise of channels.
const NOISE_PASSES: usize = 3;
/// Segments that tell the noise.
const NOISE_SEGMENTS: usize = 60;
/// Noise of a channel beside that of others of its kind.
const LEAST_NOISE: f64 = 1e-12;
/// Part of the rows of a channel that forces do not make up for, below which its noise cannot be told.
const MIN_FREE_PART: f64 = 0.02;

/// Frames in a row and what is measured of them.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// The passage and its first interval there.
    pub(super) passage: usize,
    pub(super) first: usize,
    pub(super) intervals: usize,
    /// Channel of every measured number.
    channel: Vec<usize>,
    /// By the first state and by the forces (interval by interval, all targets), row by row, and what is measured.
    by_start: Vec<f64>,
    by_force: Vec<f64>,
    measured: Vec<f64>,
}

/// A segment without its first state, in units of the noise.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Row by row, interval by interval, all targets.
    pub(super) by_force: Vec<f64>,
    pub(super) measured: Vec<f64>,
}

/// Where channels are in a state, and whether they are compared.
fn places(recordings: &Recordings, nv: usize) -> Vec<Option<(usize, usize)>> {
    let place = |channel: &crate::recording::Channel| {
        (channel.is_compared && channel.is_recorded())
            .then(|| starts::dofs(channel.quantity, nv))
            .flatten()
    };
    recordings.channels.iter().map(place).collect()
}

/// Numbers that are measured a frame.
pub(super) fn measured_numbers(recordings: &Recordings, nv: usize) -> [usize; 2] {
    let mut counts = [0; 2];
    for (first, width) in places(recordings, nv).into_iter().flatten() {
        counts[usize::from(first >= nv)] += width;
    }
    counts
}

impl Segment {
    /// Makes (1) of some intervals of a passage.
    pub(super) fn new(
        (model, recordings): (&carom::Model, &Recordings),
        (index, passage): (usize, &Passage),
        (first, intervals): (usize, usize),
    ) -> Self {
        let nv = model.counts().nv;
        let size = 2 * nv;
        let targets = passage.forces.len();
        let width = intervals * targets;
        let places = places(recordings, nv);
        let mut segment = Self {
            passage: index,
            first,
            intervals,
            channel: Vec::new(),
            by_start: Vec::new(),
            by_force: Vec::new(),
            measured: Vec::new(),
        };
        let mut by_start = vec![0.0; size * size];
        (0..size).for_each(|k| by_start[k * size + k] = 1.0);
        let mut by_force = vec![0.0; size * width];
        let mut drift = vec![0.0; size];
        let trajectory = &recordings.trajectories[passage.trajectory];
        for step in 0..=intervals {
            let frame = passage.first + first + step;
            let point = &passage.points[first + step];
            for (channel, place) in places.iter().enumerate() {
                let Some((row, count)) = *place else {
                    continue;
                };
                let Some(values) =
                    trajectory.value(channel, frame, recordings.channels[channel].width)
                else {
                    continue;
                };
                let quantity = recordings.channels[channel].quantity;
                let off = deviation(
                    quantity,
                    values,
                    point,
                    recordings.channels[channel].modulo_turns,
                );
                for k in 0..count {
                    segment.channel.push(channel);
                    segment
                        .by_start
                        .extend(&by_start[(row + k) * size..][..size]);
                    segment
                        .by_force
                        .extend(&by_force[(row + k) * width..][..width]);
                    segment.measured.push(off[k] - drift[row + k]);
                }
            }
            if step < intervals {
                let interval = &passage.intervals[first + step];
                by_start = product(&interval.a, &by_start, size);
                by_force = product(&interval.a, &by_force, size);
                for row in 0..size {
                    for target in 0..targets {
                        by_force[row * width + step * targets + target] +=
                            interval.b[row * targets + target];
                    }
                }
                drift = product(&interval.a, &drift, size);
                for (drift, defect) in drift.iter_mut().zip(&interval.defect) {
                    *drift -= defect;
                }
            }
        }
        segment
    }

    /// (1) without the first state, in units of the noise.
    pub(super) fn rows(&self, noise: &[f64]) -> Rows {
        let count = self.measured.len();
        let (size, width) = (
            self.by_start.len() / count.max(1),
            self.by_force.len() / count.max(1),
        );
        let whole = size + width + 1;
        let mut matrix = Vec::with_capacity(count * whole);
        for row in 0..count {
            let weight = 1.0 / noise[self.channel[row]];
            let numbers = self.by_start[row * size..][..size].iter();
            let numbers = numbers.chain(&self.by_force[row * width..][..width]);
            matrix.extend(
                numbers
                    .chain([&self.measured[row]])
                    .map(|number| number * weight),
            );
        }
        let kept = reflect(&mut matrix, whole, size);
        let mut rows = Rows::default();
        for row in matrix.chunks_exact(whole).skip(kept) {
            rows.by_force.extend(&row[size..size + width]);
            rows.measured.push(row[whole - 1]);
        }
        rows
    }

    /// What the noise of every channel looks like if forces may be anything: sums of squares and how many numbers they are of.
    fn noise_squares(&self, noise: &[f64], sums: &mut [[f64; 2]]) {
        let count = self.measured.len();
        let (size, width) = (
            self.by_start.len() / count.max(1),
            self.by_force.len() / count.max(1),
        );
        // The space of what first state and forces can do, by reflections; the rest of every unit vector is what a number is free by.
        let whole = size + width;
        let mut matrix = Vec::with_capacity(count * whole);
        for row in 0..count {
            let weight = 1.0 / noise[self.channel[row]];
            let numbers = self.by_start[row * size..][..size].iter();
            let numbers = numbers.chain(&self.by_force[row * width..][..width]);
            matrix.extend(numbers.map(|number| number * weight));
        }
        let basis = orthonormal(&matrix, count, whole);
        let weighted: Vec<f64> = (0..count)
            .map(|row| self.measured[row] / noise[self.channel[row]])
            .collect();
        let mut rest = weighted;
        for vector in &basis {
            let along: f64 = vector.iter().zip(&rest).map(|(a, b)| a * b).sum();
            rest.iter_mut()
                .zip(vector)
                .for_each(|(rest, part)| *rest -= along * part);
        }
        for (row, rest) in rest.iter().enumerate() {
            let taken: f64 = basis.iter().map(|vector| vector[row] * vector[row]).sum();
            let sum = &mut sums[self.channel[row]];
            sum[0] += rest * rest;
            sum[1] += (1.0 - taken).max(0.0);
        }
    }
}

/// Standard deviations of the noise of all channels: those of the mapping, or else what is left where forces may be anything.
pub(super) fn noise(recordings: &Recordings, segments: &[Segment], nv: usize) -> Vec<f64> {
    let places = places(recordings, nv);
    let mut noise = vec![1.0; places.len()];
    let known = |channel: usize| recordings.channels[channel].noise;
    let used: Vec<usize> = (0..places.len()).filter(|&k| places[k].is_some()).collect();
    if used.iter().all(|&channel| known(channel).is_some()) {
        for &channel in &used {
            noise[channel] = known(channel).unwrap_or(1.0);
        }
        return noise;
    }
    let every = segments.len().div_ceil(NOISE_SEGMENTS).max(1);
    for _ in 0..NOISE_PASSES {
        let mut sums = vec![[0.0; 2]; noise.len()];
        let mut counts = vec![0.0; noise.len()];
        for segment in segments.iter().step_by(every) {
            segment.noise_squares(&noise, &mut sums);
            segment
                .channel
                .iter()
                .for_each(|&channel| counts[channel] += 1.0);
        }
        let told = |channel: usize| sums[channel][1] > MIN_FREE_PART * counts[channel];
        // Channels of a kind that tell nothing are as noisy as the others of it.
        for kind in [false, true] {
            let of_kind = |&&channel: &&usize| {
                places[channel].is_some_and(|(first, _)| (first >= nv) == kind)
            };
            let all: Vec<usize> = used.iter().filter(of_kind).copied().collect();
            let telling: Vec<usize> = all
                .iter()
                .copied()
                .filter(|&channel| told(channel))
                .collect();
            if telling.is_empty() {
                continue;
            }
            let mean = |index: usize| -> f64 { telling.iter().map(|&k| sums[k][index]).sum() };
            let common = (mean(0) / mean(1).max(1e-300)).sqrt();
            for &channel in &all {
                let own = if told(channel) {
                    (sums[channel][0] / sums[channel][1]).sqrt()
                } else {
                    common
                };
                noise[channel] *= own;
            }
        }
        let largest = used.iter().map(|&k| noise[k]).fold(0.0, f64::max);
        for &channel in &used {
            noise[channel] = noise[channel].max(LEAST_NOISE * largest).max(1e-150);
        }
    }
    noise
}

/// What a channel measured less what it is at a point.
fn deviation(
    quantity: crate::recording::Quantity,
    values: &[f64],
    point: &carom::State,
    modulo_turns: bool,
) -> [f64; 3] {
    use crate::recording::{Frame, Quantity};
    use carom::math::Quat;
    let less = |first: usize, width: usize, of: &[f64]| -> [f64; 3] {
        std::array::from_fn(|k| {
            if k < width {
                values[k] - of[first + k]
            } else {
                0.0
            }
        })
    };
    match quantity {
        Quantity::JointPosition { qpos, .. } => {
            let mut off = less(qpos, 1, &point.qpos);
            if modulo_turns {
                off[0] -= (off[0] / std::f64::consts::TAU).round() * std::f64::consts::TAU;
            }
            off
        }
        Quantity::JointVelocity { dof } => less(dof, 1, &point.qvel),
        Quantity::Position(Frame::State { qpos, .. }) => less(qpos, 3, &point.qpos),
        Quantity::Rotation(Frame::State { qpos, .. }) => {
            let measured = Quat(std::array::from_fn(|k| values[k]));
            let here = Quat(std::array::from_fn(|k| {
                // Ball joints have their rotation first, free ones behind the position.
                point.qpos[qpos + k]
            }));
            measured.normalized().difference(here.normalized()).0
        }
        Quantity::LinearVelocity { dof } | Quantity::AngularVelocity { dof } => {
            less(dof, 3, &point.qvel)
        }
        _ => [0.0; 3],
    }
}

/// A product of a square matrix and one with as many rows.
fn product(square: &[f64], other: &[f64], size: usize) -> Vec<f64> {
    let width = other.len() / size;
    let mut out = vec![0.0; other.len()];
    for (row, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
        for (k, other) in other.chunks_exact(width.max(1)).enumerate() {
            let factor = square[row * size + k];
            if factor != 0.0 {
                out.iter_mut()
                    .zip(other)
                    .for_each(|(out, other)| *out += factor * other);
            }
        }
    }
    out
}

/// Reflects the first columns of a matrix away; returns how many rows these take.
fn reflect(matrix: &mut [f64], width: usize, columns: usize) -> usize {
    let rows = matrix.len() / width.max(1);
    let largest = matrix.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let mut used = 0;
    for column in 0..columns {
        if used >= rows {
            break;
        }
        let length: f64 = (used..rows)
            .map(|row| matrix[row * width + column].powi(2))
            .sum::<f64>()
            .sqrt();
        if length <= 1e-13 * largest {
            continue;
        }
        let head = matrix[used * width + column];
        let mut normal: Vec<f64> = (used..rows)
            .map(|row| matrix[row * width + column])
            .collect();
        normal[0] += if head >= 0.0 { length } else { -length };
        let square: f64 = normal.iter().map(|x| x * x).sum();
        let mut along = vec![0.0; width - column];
        for (row, part) in (used..rows).zip(&normal) {
            let line = &matrix[row * width + column..(row + 1) * width];
            along
                .iter_mut()
                .zip(line)
                .for_each(|(sum, x)| *sum += part * x);
        }
        for (row, part) in (used..rows).zip(&normal) {
            let factor = 2.0 * part / square;
            let line = &mut matrix[row * width + column..(row + 1) * width];
            line.iter_mut()
                .zip(&along)
                .for_each(|(x, along)| *x -= factor * along);
        }
        used += 1;
    }
    used
}

/// An orthonormal basis of the columns of a matrix, twice orthogonalised.
fn orthonormal(matrix: &[f64], rows: usize, width: usize) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for column in 0..width {
        let mut vector: Vec<f64> = (0..rows).map(|row| matrix[row * width + column]).collect();
        let before: f64 = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        for _ in 0..2 {
            for other in &basis {
                let along: f64 = other.iter().zip(&vector).map(|(a, b)| a * b).sum();
                vector
                    .iter_mut()
                    .zip(other)
                    .for_each(|(x, part)| *x -= along * part);
            }
        }
        let length: f64 = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 1e-10 * before && basis.len() < rows {
            basis.push(vector.iter().map(|x| x / length).collect());
        }
    }
    basis
}
