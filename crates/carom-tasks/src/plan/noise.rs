//! Random changes of plans: white, pink and brown noise, and splines through random knots.

use carom_optimise::random::Random;
use serde::Deserialize;

/// The colour of noise over time: how its power falls with frequency f.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Noise {
    /// All frequencies alike.
    White,
    /// Power like 1/f: a sum of white noises, each held twice as long as the one before.
    Pink,
    /// Power like 1/f²: a random walk.
    #[default]
    Brown,
    /// A cubic spline through random knots.
    Spline,
}

impl Noise {
    /// Numbers over time with mean square one; `knots` is for splines.
    pub(super) fn draw(self, steps: usize, knots: usize, random: &mut Random) -> Vec<f64> {
        let mut numbers = match self {
            Self::White => random.normals(steps),
            Self::Pink => pink(steps, random),
            Self::Brown => brown(steps, random),
            Self::Spline => spline(&random.normals(knots.max(2)), steps),
        };
        let square = numbers.iter().map(|n| n * n).sum::<f64>() / steps.max(1) as f64;
        let factor = if square > 0.0 {
            square.sqrt().recip()
        } else {
            0.0
        };
        for number in &mut numbers {
            *number *= factor;
        }
        numbers
    }
}

fn brown(steps: usize, random: &mut Random) -> Vec<f64> {
    let mut sum = 0.0;
    let walk = (0..steps).map(|_| {
        sum += random.normal();
        sum
    });
    let mut walk: Vec<f64> = walk.collect();
    // The walk has no level of its own: that of plans stays, but for a share that is drawn too.
    let mean = walk.iter().sum::<f64>() / steps.max(1) as f64;
    let level = random.uniform() * mean;
    for number in &mut walk {
        *number -= level;
    }
    walk
}

fn pink(steps: usize, random: &mut Random) -> Vec<f64> {
    let octaves = usize::BITS - steps.max(1).leading_zeros();
    let mut held = random.normals(octaves as usize);
    let numbers = (0..steps).map(|step| {
        for (octave, value) in held.iter_mut().enumerate() {
            if step.is_multiple_of(1 << octave) {
                *value = random.normal();
            }
        }
        held.iter().sum()
    });
    numbers.collect()
}

/// A Catmull–Rom spline through knots at even distances, the first at the first step and the last at the last one.
pub(super) fn spline(knots: &[f64], steps: usize) -> Vec<f64> {
    let last = knots.len() - 1;
    let intervals = steps.max(2) - 1;
    let numbers = (0..steps).map(|step| {
        // The knot before, and the share of the way to the next one.
        let from = (step * last / intervals).min(last.saturating_sub(1));
        let t = (step * last) as f64 / intervals as f64 - from as f64;
        let at = |index: usize| knots[index.min(last)];
        let [a, b] = [at(from.saturating_sub(1)), at(from)];
        let [c, d] = [at(from + 1), at(from + 2)];
        let (slope, next_slope) = (0.5 * (c - a), 0.5 * (d - b));
        let [t2, t3] = [t * t, t * t * t];
        b * (2.0 * t3 - 3.0 * t2 + 1.0)
            + slope * (t3 - 2.0 * t2 + t)
            + c * (3.0 * t2 - 2.0 * t3)
            + next_slope * (t3 - t2)
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean square of the changes from step to step: 2 for white noise of mean square one.
    fn roughness(noise: Noise) -> f64 {
        let drawn = (0..20).map(|stream| {
            let numbers = noise.draw(256, 8, &mut Random::new(7, stream));
            let changes = numbers.windows(2).map(|pair| (pair[1] - pair[0]).powi(2));
            changes.sum::<f64>() / 255.0
        });
        drawn.sum::<f64>() / 20.0
    }

    #[test]
    fn colours_differ_in_roughness() {
        let [white, pink, brown, spline] =
            [Noise::White, Noise::Pink, Noise::Brown, Noise::Spline].map(roughness);
        assert!((white - 2.0).abs() < 0.2, "{white}");
        assert!(pink < 0.7 * white && brown < 0.3 * pink, "{pink} {brown}");
        assert!(spline < 0.02, "{spline}");
    }

    #[test]
    fn splines_go_through_their_knots() {
        let knots = [0.0, 1.0, -1.0, 3.0];
        let numbers = spline(&knots, 31);
        for (index, knot) in knots.into_iter().enumerate() {
            assert!((numbers[10 * index] - knot).abs() < 1e-12);
        }
    }
}
