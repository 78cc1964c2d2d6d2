//! Random numbers as a function of seed, stream and place: Philox 4×32 with ten rounds [Salmon 2011, §4.3].
//!
//! A generator that counts has no state but its count. A checkpoint stores three numbers, every walker of a search has a
//! stream of its own, and what one of them draws does not hang on how many numbers another has used. It is forty lines,
//! checked against the published answers, and its bits cannot change with a version of a library.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random {
    seed: u64,
    stream: u64,
    count: u64,
}

const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

impl Random {
    /// The start of a stream.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self {
            seed,
            stream,
            count: 0,
        }
    }

    fn next_block(&mut self) -> [u64; 2] {
        let [c0, c1] = halves(self.count);
        let [c2, c3] = halves(self.stream);
        self.count += 1;
        let [a, b, c, d] = philox([c0, c1, c2, c3], halves(self.seed));
        [
            u64::from(a) | u64::from(b) << 32,
            u64::from(c) | u64::from(d) << 32,
        ]
    }

    /// A number from 0 to below 1, one of 2⁵³.
    pub fn uniform(&mut self) -> f64 {
        to_unit(self.next_block()[0])
    }

    /// A number below a count, 0 if there is none.
    pub fn below(&mut self, count: usize) -> usize {
        let wide = u128::from(self.next_block()[0]) * count as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number with mean 0 and variance 1, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let [a, b] = self.next_block().map(to_unit);
        (-2.0 * (1.0 - a).ln()).sqrt() * (TAU * b).cos()
    }

    /// Normal numbers.
    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }

    /// Numbers from 0 to below a count in random order.
    pub fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a half is meant")]
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (0.5_f64).powi(53)
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..ROUNDS {
        let [low0, high0] = halves(MULTIPLIERS[0] * u64::from(counter[0]));
        let [low1, high1] = halves(MULTIPLIERS[1] * u64::from(counter[2]));
        counter = [
            high1 ^ counter[1] ^ key[0],
            low1,
            high0 ^ counter[3] ^ key[1],
            low0,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let zeros = philox([0; 4], [0; 2]);
        assert_eq!(zeros, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = philox([u32::MAX; 4], [u32::MAX; 2]);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let digits = philox(
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
        );
        assert_eq!(digits, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn moments_of_normal_numbers() {
        let mut random = Random::new(1, 2);
        let numbers = random.normals(100_000);
        let moment = |power: i32| numbers.iter().map(|n| n.powi(power)).sum::<f64>() / 1e5;
        for (power, exact, spread) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
        {
            let error = (moment(power) - exact).abs();
            assert!(error < 4.0 * f64::sqrt(spread / 1e5), "{power}: {error}");
        }
    }

    #[test]
    fn streams_differ_and_orders_hold_each_once() {
        assert_ne!(Random::new(1, 0).uniform(), Random::new(1, 1).uniform());
        let mut order = Random::new(3, 0).shuffled(50);
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
        assert_eq!(Random::new(3, 0).below(0), 0);
    }
}
