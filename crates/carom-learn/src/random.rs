//! Random numbers that depend on a seed and nothing else.

/// A stream of random numbers (splitmix64).
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed and a place in it: streams of different places have nothing in common.
    pub fn new(seed: u64, place: u64) -> Self {
        let mut start = Self(seed ^ 0x9E37_79B9_7F4A_7C15);
        let mixed = start.bits() ^ place.wrapping_mul(0xD134_2543_DE82_EF95);
        Self(mixed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below a bound.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least zero and below the bound"
    )]
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    /// Normal with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}
