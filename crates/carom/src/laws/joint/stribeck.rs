//! Stribeck friction: dry friction that falls from its static to its sliding value as the joint begins to move, and a
//! viscous part, smooth everywhere.
//!
//!   f = −(c + (s − c)·exp(−(v/w)²))·tanh(v/ε) − b·v                                                    (1)
//!
//! with the Coulomb friction c, the static friction s, the Stribeck speed w, the smoothing speed ε and the viscous friction
//! b. The smoothing speed replaces the jump at rest: a joint at rest under load creeps at a speed below it.

use crate::laws::law::Law;
use crate::scalar::Scalar;

/// The force over (q, v) with the parameters (c, s, w, ε, b).
#[derive(Clone, Copy, Debug)]
pub(super) struct Stribeck;

impl Law<2, 5> for Stribeck {
    #[inline]
    fn value<T: Scalar>(self, [_, v]: [T; 2], p: [T; 5]) -> T {
        let [.., smoothing, viscous] = p;
        -level(v, p) * (v / smoothing).tanh() - viscous * v // (1)
    }

    #[inline]
    fn rate_derivative<T: Scalar>(self, [_, v]: [T; 2], p: [T; 5]) -> T {
        let [coulomb, _, speed, smoothing, viscous] = p;
        let (level, sign) = (level(v, p), (v / smoothing).tanh());
        let fall = (level - coulomb) * v * -2.0 / (speed * speed);
        -fall * sign - level * (T::ONE - sign * sign) / smoothing - viscous
    }
}

/// The dry friction at a speed, without its sign.
#[inline]
fn level<T: Scalar>(v: T, [coulomb, at_rest, speed, ..]: [T; 5]) -> T {
    let ratio = v / speed;
    coulomb + (at_rest - coulomb) * (-(ratio * ratio)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: [f64; 5] = [0.4, 0.7, 0.3, 0.02, 0.15];

    #[test]
    fn the_force_is_the_closed_form() {
        for v in [-2.0_f64, -0.3, -0.01, 0.0, 0.005, 0.1, 1.0] {
            let level = 0.4 + 0.3 * (-(v / 0.3).powi(2)).exp();
            let expected = -level * (v / 0.02).tanh() - 0.15 * v;
            let found = Stribeck.value([0.2, v], P);
            assert!((found - expected).abs() < 1e-15, "{v}: {found} {expected}");
        }
        // Fast, it is dry and viscous friction; slow, the static friction over the smoothing speed.
        assert!((Stribeck.value([0.0, 9.0], P) + 0.4 + 0.15 * 9.0).abs() < 1e-15);
        let at_rest = Stribeck.rate_derivative([0.0, 0.0], P);
        assert!((at_rest + 0.7 / 0.02 + 0.15).abs() < 1e-12);
    }

    /// With s above c, friction falls with the speed for a while.
    #[test]
    fn slopes_are_those_of_differences() {
        let mut falls = false;
        for v in [-1.0, -0.25, -0.02, 0.0, 0.01, 0.2, 0.8] {
            let h = 1e-6;
            let value = |v: f64| Stribeck.value([0.0, v], P);
            let expected = (value(v + h) - value(v - h)) / (2.0 * h);
            let [by_position, by_velocity] = Stribeck.by_inputs([0.0, v], P);
            assert!(
                (by_velocity - expected).abs() < 1e-6 * expected.abs().max(1.0),
                "{v}"
            );
            assert!(by_position.abs() < f64::MIN_POSITIVE);
            falls |= by_velocity > 0.0;
            for k in 0..5 {
                let moved = |h: f64| {
                    let mut p = P;
                    p[k] += h;
                    Stribeck.value([0.0, v], p)
                };
                let expected = (moved(1e-7) - moved(-1e-7)) / 2e-7;
                let found = Stribeck.by_parameters([0.0, v], P)[k];
                assert!(
                    (found - expected).abs() < 1e-5 * expected.abs().max(1.0),
                    "{v}, {k}"
                );
            }
        }
        assert!(falls);
    }
}
