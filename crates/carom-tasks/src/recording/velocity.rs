//! Velocities from positions, for any times.
//!
//! Backward differences: v(tₖ) = (xₖ − xₖ₋₁)/(tₖ − tₖ₋₁), the mean velocity since the frame before; at the first frame, that until the
//! second. Noise of positions σ becomes √2·σ/Δt.
//!
//! Smoothing: a polynomial a + b·τ + c·τ² + … through the frames around tₖ by least squares, τ = t − tₖ; the velocity is b and the position
//! a, for even times what Savitzky and Golay tabulated. A parabola keeps noise low, a cubic follows motions whose acceleration changes
//! within the window: a third derivative j biases the slope of a parabola over m frames on each side by about j·m²·Δt²/10. On orientations the same is done with y = log(qₖ⁻¹·q) in the frame of the body at tₖ,
//! which gives the angular velocity in the body's axes, and qₖ·exp(a).

use carom::math::{Quat, Vec3};

use super::mapping::{VelocityMapping, VelocityMethod};

/// Frames on each side of a polynomial, unless a mapping says otherwise.
const DEFAULT_FRAMES: usize = 5;
/// Its degree, unless a mapping says otherwise.
const DEFAULT_DEGREE: usize = 2;
/// Highest degree.
pub(super) const MAX_DEGREE: usize = 5;
/// Standard deviation of an estimated velocity, per difference to another method.
const METHOD_ERROR_FACTOR: f64 = 3.0;
/// Number of coefficients of the highest degree.
const MAX_COEFFICIENTS: usize = MAX_DEGREE + 1;

/// Velocities at all frames, and positions where they were smoothed.
pub(super) struct Reconstructed {
    pub(super) velocity: Vec<f64>,
    pub(super) position: Vec<f64>,
}

/// Velocities of numbers, `width` a frame; NaN where there are none.
pub(super) fn of_vectors(
    times: &[f64],
    values: &[f64],
    width: usize,
    how: &VelocityMapping,
) -> Reconstructed {
    let is_here = |frame: usize| {
        values[frame * width..][..width]
            .iter()
            .all(|x| x.is_finite())
    };
    let relative = |frame: usize, at: usize| -> Vec<f64> {
        let value = |frame: usize| &values[frame * width..][..width];
        value(frame)
            .iter()
            .zip(value(at))
            .map(|(x, base)| x - base)
            .collect()
    };
    let frames = Frames {
        times,
        is_here: &is_here,
        relative: &relative,
        width,
    };
    let mut result = frames.reconstruct(how);
    for (position, base) in result.position.iter_mut().zip(values) {
        *position += base;
    }
    result
}

/// Angular velocities in the body's axes of quaternions.
pub(super) fn of_quaternions(times: &[f64], quats: &[f64], how: &VelocityMapping) -> Reconstructed {
    let quat = |frame: usize| Quat(std::array::from_fn(|k| quats[frame * 4 + k]));
    let is_here = |frame: usize| quat(frame).0.iter().all(|x| x.is_finite());
    let relative =
        |frame: usize, at: usize| -> Vec<f64> { quat(frame).difference(quat(at)).0.to_vec() };
    let frames = Frames {
        times,
        is_here: &is_here,
        relative: &relative,
        width: 3,
    };
    let result = frames.reconstruct(how);
    let turned = (0..times.len()).flat_map(|frame| {
        let turn = Vec3(std::array::from_fn(|k| result.position[frame * 3 + k]));
        quat(frame).mul(Quat::exp(turn)).0
    });
    Reconstructed {
        position: turned.collect(),
        velocity: result.velocity,
    }
}

/// How far found velocities may be from the true ones, for noise σ of the positions they were found from.
///
/// Noise alone makes g·σ of it, where g² is the sum of the squares of the slopes of the velocity by every position of the window. That the
/// motion is no polynomial of the method makes more of it: as a measure, the parabola through three frames gives another velocity, and the
/// root mean square of the difference is taken over all frames, or over those that simulations start from, whichever is greater. Where a motion
/// begins with a jolt, neither velocity is near the true one, hence some caution: what follows tells the start anyway.
#[derive(Debug, Default)]
pub(super) struct Deviation {
    noise: Mean,
    everywhere: Mean,
    at_starts: Mean,
}

impl Deviation {
    /// Adds a trajectory: its times, positions as `found` sees them, velocities that were found, and the frame of its start.
    pub(super) fn add(
        &mut self,
        (times, velocities, width): (&[f64], &[f64], usize),
        how: &VelocityMapping,
        start: usize,
        found: impl Fn(std::ops::Range<usize>, &VelocityMapping) -> Vec<f64>,
    ) {
        let near = |frames: usize| VelocityMapping {
            method: VelocityMethod::Smooth,
            frames: Some(frames),
            degree: Some(2),
            ..VelocityMapping::default()
        };
        let difference = |frame: usize, others: &[f64]| {
            let own = &velocities[frame * width..][..width];
            let parts = own.iter().zip(others).map(|(a, b)| a - b);
            parts.map(|part| part * part).collect::<Vec<f64>>()
        };
        let all = found(0..times.len(), &near(1));
        for frame in 1..times.len().saturating_sub(1) {
            let squares = difference(frame, &all[frame * width..][..width]);
            if frame == start {
                self.at_starts.add(&squares);
            }
            self.everywhere.add(&squares);
        }
        // At the first frame, three frames lie on one side.
        if start == 0 && times.len() > 2 {
            self.at_starts
                .add(&difference(0, &found(0..3, &near(2))[..width]));
        }
        self.noise.add(&[gain(times, start, how)]);
    }

    /// The standard deviation; none where nothing was found.
    pub(super) fn of_noise(&self, sigma: f64) -> Option<f64> {
        let misfit = self.everywhere.value().max(self.at_starts.value());
        let squared =
            self.noise.value() * sigma * sigma + METHOD_ERROR_FACTOR * METHOD_ERROR_FACTOR * misfit;
        (squared > 0.0).then(|| squared.sqrt())
    }
}

/// A mean of what is finite.
#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, numbers: &[f64]) {
        for number in numbers.iter().filter(|number| number.is_finite()) {
            self.sum += number;
            self.count += 1;
        }
    }

    fn value(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

/// Square of what noise 1 of all positions makes of a velocity.
fn gain(times: &[f64], frame: usize, how: &VelocityMapping) -> f64 {
    let side = how.frames.unwrap_or(DEFAULT_FRAMES).max(1);
    let window = &times[frame.saturating_sub(side)..times.len().min(frame + side + 1)];
    let here = frame.min(side);
    let slope = |other: usize| {
        let mut values = vec![0.0; window.len()];
        values[other] = 1.0;
        of_vectors(window, &values, 1, how).velocity[here]
    };
    (0..window.len())
        .map(slope)
        .map(|slope| slope * slope)
        .sum()
}

/// What is recorded at frames, as seen from one of them.
struct Frames<'a> {
    times: &'a [f64],
    is_here: &'a dyn Fn(usize) -> bool,
    /// The value at a frame, as a vector from that of another.
    relative: &'a dyn Fn(usize, usize) -> Vec<f64>,
    width: usize,
}

impl Frames<'_> {
    fn reconstruct(&self, how: &VelocityMapping) -> Reconstructed {
        let mut velocity = Vec::with_capacity(self.times.len() * self.width);
        let mut position = Vec::with_capacity(self.times.len() * self.width);
        for frame in 0..self.times.len() {
            let found = match how.method {
                _ if !(self.is_here)(frame) => None,
                VelocityMethod::Backward | VelocityMethod::Line => self
                    .difference(frame)
                    .map(|rate| (vec![0.0; self.width], rate)),
                VelocityMethod::Smooth => {
                    let degree = how.degree.unwrap_or(DEFAULT_DEGREE);
                    self.polynomial(frame, how.frames.unwrap_or(DEFAULT_FRAMES).max(1), degree)
                }
            };
            let (place, rate) =
                found.unwrap_or_else(|| (vec![f64::NAN; self.width], vec![f64::NAN; self.width]));
            position.extend(place);
            velocity.extend(rate);
        }
        Reconstructed { velocity, position }
    }

    /// The mean velocity since the frame before, or until the next one where there is none before.
    fn difference(&self, frame: usize) -> Option<Vec<f64>> {
        let before = (0..frame).rev().find(|&other| (self.is_here)(other));
        let after = || (frame + 1..self.times.len()).find(|&other| (self.is_here)(other));
        let other = before.or_else(after)?;
        let span = self.times[other] - self.times[frame];
        let change = (self.relative)(other, frame);
        Some(change.into_iter().map(|change| change / span).collect())
    }

    /// Value and slope of the polynomial around a frame; of a lower degree where there are few frames.
    fn polynomial(&self, frame: usize, side: usize, degree: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        let here = |range: &mut dyn Iterator<Item = usize>| -> Vec<usize> {
            range
                .filter(|&other| (self.is_here)(other))
                .take(side)
                .collect()
        };
        let mut others = here(&mut (0..frame).rev());
        others.push(frame);
        others.extend(here(&mut (frame + 1..self.times.len())));
        let size = others.len().min(degree + 1).min(MAX_COEFFICIENTS);
        if size < 2 {
            return None;
        }
        let span = others
            .iter()
            .map(|&other| (self.times[other] - self.times[frame]).abs())
            .fold(0.0, f64::max);
        // Normal equations of Σ (a + b·τ + c·τ² + … − y)², with τ in parts of the span.
        let mut moments = [0.0; 2 * MAX_COEFFICIENTS - 1];
        let mut sides = vec![[0.0; MAX_COEFFICIENTS]; self.width];
        for &other in &others {
            let tau = (self.times[other] - self.times[frame]) / span;
            for (power, moment) in moments.iter_mut().enumerate() {
                *moment += tau.powi(i32::try_from(power).unwrap_or(0));
            }
            for (side, value) in sides.iter_mut().zip((self.relative)(other, frame)) {
                for (power, sum) in side.iter_mut().enumerate() {
                    *sum += value * tau.powi(i32::try_from(power).unwrap_or(0));
                }
            }
        }
        let solve = |side: &[f64; MAX_COEFFICIENTS]| solve_moments(&moments, side, size);
        let fits: Vec<[f64; MAX_COEFFICIENTS]> = sides.iter().map(solve).collect();
        Some((
            fits.iter().map(|fit| fit[0]).collect(),
            fits.iter().map(|fit| fit[1] / span).collect(),
        ))
    }
}

/// Solves Σⱼ m(i+j)·xⱼ = sᵢ for `size` unknowns by elimination; the matrix is positive.
fn solve_moments(
    moments: &[f64; 2 * MAX_COEFFICIENTS - 1],
    side: &[f64; MAX_COEFFICIENTS],
    size: usize,
) -> [f64; MAX_COEFFICIENTS] {
    let mut matrix: [[f64; MAX_COEFFICIENTS + 1]; MAX_COEFFICIENTS] = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            if j < MAX_COEFFICIENTS {
                moments[i + j]
            } else {
                side[i]
            }
        })
    });
    for pivot in 0..size {
        for row in pivot + 1..size {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            for column in pivot..=MAX_COEFFICIENTS {
                matrix[row][column] -= factor * matrix[pivot][column];
            }
        }
    }
    let mut solution = [0.0; MAX_COEFFICIENTS];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|j| matrix[row][j] * solution[j]).sum();
        solution[row] = (matrix[row][MAX_COEFFICIENTS] - known) / matrix[row][row];
    }
    solution
}
