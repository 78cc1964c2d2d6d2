//! What a group of residuals costs.

use carom::Scalar;

/// A penalty; see the [module](super) documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Penalty {
    /// Half of the square.
    #[default]
    Squared,
    /// Half of the square up to a length, linear beyond.
    Huber {
        /// The length, in units of the weighted residuals.
        delta: f64,
    },
    /// The length of the group.
    Norm {
        /// Lengths below this are smoothed.
        softness: f64,
    },
    /// The absolute value of each number.
    Absolute {
        /// Values below this are smoothed.
        softness: f64,
    },
}

impl Penalty {
    /// The numbers that are penalised together, of a group.
    fn part(self, length: usize) -> usize {
        match self {
            Self::Absolute { .. } => 1,
            _ => length.max(1),
        }
    }

    /// r ← r·√(2ρ/s).
    pub fn apply<T: Scalar>(self, group: &mut [T]) {
        for part in group.chunks_mut(self.part(group.len())) {
            let square = part.iter().fold(T::ZERO, |sum, &r| sum + r * r);
            let factor = self.factor(square);
            for r in part {
                *r *= factor;
            }
        }
    }

    /// The cotangent of r from that of r·g(s): r̄ ← g·r̄ + 2g′·(r·r̄)·r.
    pub fn apply_vjp(self, group: &[f64], bar: &mut [f64]) {
        let length = self.part(group.len());
        for (part, bar) in group.chunks(length).zip(bar.chunks_mut(length)) {
            let square: f64 = part.iter().map(|r| r * r).sum();
            let (factor, slope) = (self.factor(square), self.slope(square));
            let along: f64 = part.iter().zip(&*bar).map(|(r, bar)| r * bar).sum();
            for (bar, r) in bar.iter_mut().zip(part) {
                *bar = factor * *bar + 2.0 * slope * along * r;
            }
        }
    }

    /// g(s) = √(2ρ/s).
    fn factor<T: Scalar>(self, square: T) -> T {
        match self {
            Self::Squared => T::ONE,
            Self::Huber { delta } => {
                if square.value() <= delta * delta {
                    return T::ONE;
                }
                let length = square.sqrt();
                ((length * (2.0 * delta) - delta * delta) / square).sqrt()
            }
            // ρ/s = 1/(√(s + ε²) + ε)
            Self::Norm { softness } | Self::Absolute { softness } => {
                let length = (square + softness * softness).sqrt();
                ((length + softness).recip() * 2.0).sqrt()
            }
        }
    }

    /// dg/ds.
    fn slope(self, square: f64) -> f64 {
        let factor = self.factor(square);
        match self {
            Self::Huber { delta } if square > delta * delta => {
                let length = square.sqrt();
                // g² = 2δ/l − δ²/l², with dl/ds = 1/(2l)
                (delta * delta / length - delta) / (square * 2.0 * length) / factor
            }
            Self::Squared | Self::Huber { .. } => 0.0,
            Self::Norm { softness } | Self::Absolute { softness } => {
                let length = (square + softness * softness).sqrt();
                let sum = length + softness;
                -1.0 / (sum * sum * 2.0 * length) / factor
            }
        }
    }
}
