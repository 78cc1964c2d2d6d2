//! Activations of networks, in a form that compilers turn into vector instructions: no calls and no branches in the loops
//! over neurons. A tanh of the standard library takes as long as thirty multiplications of the layer before it.
//!
//! Exponentials are found by eˣ = 2ᵏ·eʳ, k = ⌊x/ln 2⌉, r = x − k·ln 2, and the series of eʳ for |r| ≤ ln 2 / 2. Their error is
//! below 4e-16 of the value; values and slopes are the same on every machine.

use std::f64::consts::LOG2_E;

use carom_scalar::Scalar;

/// What the hidden layers do with their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// tanh z.
    Tanh,
    /// z above 0, exp z − 1 below.
    Elu,
    /// ln(1 + exp z).
    Softplus,
    /// z / (1 + exp −z).
    Silu,
}

impl Activation {
    /// σ(z) of many sums.
    #[inline]
    pub(crate) fn values<T: Scalar>(self, sums: &[T], values: &mut [T]) {
        let each = values.iter_mut().zip(sums);
        match self {
            Self::Tanh => each.for_each(|(value, &z)| *value = tanh(z)),
            Self::Elu => each.for_each(|(value, &z)| {
                let below = exp(z.min(T::ZERO)) - 1.0;
                *value = if z > T::ZERO { z } else { below };
            }),
            Self::Softplus => each.for_each(|(value, &z)| {
                // Of a negative exponent alone, so that nothing overflows.
                *value = z.max(T::ZERO) + (exp(-z.abs()) + 1.0).ln();
            }),
            Self::Silu => each.for_each(|(value, &z)| *value = z * sigmoid(z)),
        }
    }

    /// σ′(z), where `a` = σ(z).
    #[inline]
    pub(crate) fn slope<T: Scalar>(self, z: T, a: T) -> T {
        match self {
            Self::Tanh => T::ONE - a * a,
            Self::Elu if z > T::ZERO => T::ONE,
            Self::Elu => a + 1.0,
            Self::Softplus => sigmoid(z),
            Self::Silu => {
                let gate = sigmoid(z);
                gate + a * (T::ONE - gate)
            }
        }
    }
}

/// 1 / (1 + exp −z).
#[inline]
fn sigmoid<T: Scalar>(z: T) -> T {
    (tanh(z * 0.5) + 1.0) * 0.5
}

#[inline]
fn exp<T: Scalar>(z: T) -> T {
    let value = plain_exp(z.value());
    T::chain(value, &[value], &[z])
}

#[inline]
fn tanh<T: Scalar>(z: T) -> T {
    let value = plain_tanh(z.value());
    T::chain(value, &[1.0 - value * value], &[z])
}

/// tanh x = sign x·(1 − 2/(exp 2|x| + 1)): odd to the bit, and 0 at 0.
#[inline]
fn plain_tanh(x: f64) -> f64 {
    (1.0 - 2.0 / (plain_exp(2.0 * x.abs()) + 1.0)).copysign(x)
}

/// Beyond this exponent, numbers are as good as zero or infinite for an activation.
const MAX_EXPONENT: f64 = 700.0;

/// 1/n! for n from 13 down to 2.
const SERIES: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
];

/// eˣ, held between e⁻⁷⁰⁰ and e⁷⁰⁰.
#[inline]
fn plain_exp(x: f64) -> f64 {
    // Added to a number, this leaves its nearest integer in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5·2⁵²
    // The part of ln 2 whose multiples by k are exact, and the rest.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let x = x.clamp(-MAX_EXPONENT, MAX_EXPONENT);
    let rounded = x * LOG2_E + ROUND;
    let k = rounded - ROUND;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let mut series = SERIES[0];
    for coefficient in &SERIES[1..] {
        series = series * r + coefficient;
    }
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1023 << 52));
    (1.0 + (r + r * r * series)) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_standard_library() {
        for k in -7000..=7000 {
            let x = 0.1 * f64::from(k) + 0.003;
            let (found, expected) = (plain_exp(x), x.clamp(-700.0, 700.0).exp());
            assert!(
                (found / expected - 1.0).abs() < 1e-15,
                "{x}: {found} {expected}"
            );
            let (found, expected) = (plain_tanh(0.01 * x), (0.01 * x).tanh());
            assert!((found - expected).abs() < 4e-16, "{x}: {found} {expected}");
        }
        assert!(plain_exp(f64::NAN).is_nan() && plain_tanh(f64::NAN).is_nan());
        assert_eq!(plain_tanh(f64::INFINITY), 1.0);
        assert_eq!(plain_exp(0.0), 1.0);
    }
}
