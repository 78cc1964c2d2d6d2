//! A low-pass filter without phase: Butterworth's of second order, forwards and then backwards.
//!
//! With k = tan(π·f/fₛ) for the cutoff f at the rate fₛ, the bilinear transform [Oppenheim 2010, §7.1] of 1/(s² + √2·s + 1) is
//!
//!   y = b₀·x + z₁,   z₁ = 2·b₀·x − a₁·y + z₂,   z₂ = b₀·x − a₂·y                         (1)
//!   b₀ = k²/n,   a₁ = 2·(k² − 1)/n,   a₂ = (1 − √2·k + k²)/n,   n = 1 + √2·k + k²        (2)
//!
//! Both passes together leave |H|² of the amplitude, half of it at the cutoff, and move nothing in time.

use std::f64::consts::{PI, SQRT_2};

/// The ends are continued by so many periods of the cutoff, point-symmetrically, so that a slope goes on as a slope.
const PERIODS_OF_PADDING: f64 = 2.0;

/// The signal below a cutoff (Hz), at a rate (Hz). At half the rate and above, all of it.
pub(super) fn low_pass(signal: &[f64], rate: f64, cutoff: f64) -> Vec<f64> {
    if cutoff >= 0.5 * rate || signal.len() < 2 {
        return signal.to_vec();
    }
    let padding = padding(signal.len(), rate, cutoff);
    let (first, last) = (signal[0], signal[signal.len() - 1]);
    let before = (1..=padding).rev().map(|k| 2.0 * first - signal[k]);
    let after = (1..=padding).map(|k| 2.0 * last - signal[signal.len() - 1 - k]);
    let mut padded: Vec<f64> = before.chain(signal.iter().copied()).chain(after).collect();
    for _ in 0..2 {
        pass(&mut padded, rate, cutoff);
        padded.reverse();
    }
    padded[padding..padding + signal.len()].to_vec()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of samples, bounded by the signal"
)]
fn padding(length: usize, rate: f64, cutoff: f64) -> usize {
    let wanted = (PERIODS_OF_PADDING * rate / cutoff).min(length as f64);
    (wanted as usize).min(length - 1)
}

/// One pass, begun as if the first value had been there for ever.
fn pass(signal: &mut [f64], rate: f64, cutoff: f64) {
    let k = (PI * cutoff / rate).tan();
    let n = 1.0 + SQRT_2 * k + k * k;
    let b0 = k * k / n; // (2)
    let (a1, a2) = (2.0 * (k * k - 1.0) / n, (1.0 - SQRT_2 * k + k * k) / n);
    let (mut z1, mut z2) = ((1.0 - b0) * signal[0], (b0 - a2) * signal[0]);
    for value in signal {
        let x = *value;
        let y = b0 * x + z1; // (1)
        z1 = 2.0 * b0 * x - a1 * y + z2;
        z2 = b0 * x - a2 * y;
        *value = y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine(frequency: f64, rate: f64) -> Vec<f64> {
        let samples = 0..2000;
        let at = |k: i32| (2.0 * PI * frequency * f64::from(k) / rate).sin();
        samples.map(at).collect()
    }

    #[test]
    fn amplitudes_fall_by_the_square_of_butterworths_gain_and_phases_stay() {
        let rate = 1000.0;
        for (frequency, gain) in [(1.0, 1.0 / (1.0 + 1e-4)), (10.0, 0.5), (40.0, 1.0 / 257.0)] {
            let signal = sine(frequency, rate);
            let filtered = low_pass(&signal, rate, 10.0);
            // The bilinear transform bends frequencies: by 0.8 % of the cutoff's distance at 40 Hz.
            for (filtered, signal) in filtered.iter().zip(&signal).skip(500).take(1000) {
                let difference = filtered - gain * signal;
                assert!(difference.abs() < 4e-3, "{frequency} Hz: {difference}");
            }
        }
    }

    #[test]
    fn constants_and_slopes_stay_to_the_ends() {
        let line: Vec<f64> = (0..500).map(|k| 3.0 - 0.01 * f64::from(k)).collect();
        for (filtered, line) in low_pass(&line, 100.0, 5.0).iter().zip(&line) {
            assert!((filtered - line).abs() < 1e-3, "{filtered} for {line}");
        }
        assert_eq!(
            low_pass(&line, 100.0, 50.0),
            line,
            "nothing is above half the rate"
        );
        assert_eq!(low_pass(&[1.0], 100.0, 5.0), [1.0]);
        assert_eq!(low_pass(&[], 100.0, 5.0), [] as [f64; 0]);
        for filtered in low_pass(&[2.0, 2.0, 2.0], 100.0, 5.0) {
            assert!((filtered - 2.0).abs() < 1e-12);
        }
    }
}
