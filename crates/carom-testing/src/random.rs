//! A reproducible stream of numbers (splitmix64).

/// The stream; the number inside is its seed.
pub struct Random(pub u64);

impl Random {
    /// A stream of its own for every seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xD134_2543_DE82_EF95))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number in [−1, 1).
    #[expect(clippy::should_implement_trait, reason = "a stream that never ends")]
    pub fn next(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// A number in [`low`, `high`).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A positive number whose logarithm is uniform.
    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// Whether something of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// An index below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        let bits = self.bits() % bound.max(1) as u64;
        usize::try_from(bits).unwrap_or(0)
    }

    /// One of some things.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// One of some things; none if there are none.
    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        choices.get(self.below(choices.len())).copied()
    }

    /// Whether something happens that does once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Numbers in [−1, 1).
    pub fn numbers<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.next())
    }

    /// Numbers in [−1, 1).
    pub fn vector(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.next()).collect()
    }
}
