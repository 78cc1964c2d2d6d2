//! The normal force of a contact as a nonlinear spring and damper [Hunt 1975].
//!
//! With δ the depth, δ̇ the speed of approach,
//!
//!   f = k·δⁿ·(1 + c·δ̇)  for δ > 0, never less than zero                                 (1)
//!
//! The damping vanishes with the spring, so the force is continuous at touch-down and lift-off. A free mass that meets
//! the spring at speed v leaves it at e·v whatever k, n and the mass are: integrating m·δ̇·dδ̇/dδ = −f on both ways,
//!
//!   c·v − ln(1 + c·v) = −c·e·v − ln(1 − c·e·v),   e = 1 − ⅔·c·v + O(v²)                   (2)

use super::brown_mcphee::BrownMcPhee;
use super::force::{ForceLaw, Touch, numbers};
use crate::math::Vec3;
use crate::model::LawNumbers;
use crate::scalar::Scalar;

/// The law at one contact: the spring (1), and friction by [`BrownMcPhee`] with the normal force f, coefficients μ(j) and
/// the sliding velocity u of length v,
///
///   F(j) = −(f·μ(j)·φ(v) + σ(f))·u(j)                                                  (3)
#[derive(Clone, Copy, Debug)]
pub struct HuntCrossleyContact;

impl ForceLaw<7> for HuntCrossleyContact {
    numbers!(7: stiffness, exponent, dissipation, transition_speed, static_ratio, viscous, viscous_force);

    #[inline]
    fn force<T: Scalar>(numbers: [T; 7], at: &Touch<T>) -> Vec3<T> {
        let [stiffness, exponent, dissipation, ..] = numbers;
        let [.., transition_speed, static_ratio, viscous, viscous_force] = numbers;
        let spring = HuntCrossley {
            stiffness,
            exponent,
            dissipation,
        };
        let velocity = at.velocity;
        let normal = spring.force(-at.distance, -velocity[0]); // (1)
        if normal <= T::ZERO || !at.has_friction {
            return Vec3([normal, T::ZERO, T::ZERO]);
        }
        let friction = BrownMcPhee {
            transition_speed,
            static_ratio,
            viscous,
            viscous_force,
        };
        let speed_squared = velocity[1] * velocity[1] + velocity[2] * velocity[2];
        let dry = normal * friction.per_speed(speed_squared);
        let viscous = friction.viscous_per_speed(normal);
        let tangent = |j: usize| -(dry * at.friction[j - 1] + viscous) * velocity[j]; // (3)
        Vec3([normal, tangent(1), tangent(2)])
    }
}

/// The numbers of (1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HuntCrossley<T: Scalar = f64> {
    /// k (N/mⁿ).
    pub stiffness: T,
    /// n.
    pub exponent: T,
    /// c (s/m).
    pub dissipation: T,
}

impl<T: Scalar> HuntCrossley<T> {
    /// The force at a depth (m) and a speed of approach (m/s). (1)
    #[inline]
    #[must_use]
    pub fn force(&self, depth: T, approach: T) -> T {
        if depth <= T::ZERO {
            return T::ZERO;
        }
        let damping = T::ONE + self.dissipation * approach;
        if damping <= T::ZERO {
            return T::ZERO;
        }
        self.stiffness * depth.powt(self.exponent) * damping
    }
}

/// The coefficient of restitution at an impact speed (m/s): e of (2).
///
/// ```
/// use carom::laws::hunt_crossley::{dissipation, restitution};
///
/// assert!((restitution(0.3, 0.01) - (1.0 - 2.0 / 3.0 * 0.3 * 0.01)).abs() < 1e-5);
/// assert!((restitution(dissipation(0.7, 2.0), 2.0) - 0.7).abs() < 1e-12);
/// ```
pub fn restitution(dissipation: f64, speed: f64) -> f64 {
    let d = dissipation * speed;
    if d <= 0.0 {
        return 1.0;
    }
    // −x − ln(1 − x) grows from 0 to ∞ on [0, 1).
    let target = d - d.ln_1p();
    let x = bisect(0.0, 1.0, |x| -x - (-x).ln_1p() < target);
    (x / d).min(1.0)
}

/// The dissipation c (s/m) that gives a coefficient of restitution in (0, 1] at an impact speed (m/s).
pub fn dissipation(restitution: f64, speed: f64) -> f64 {
    if restitution >= 1.0 {
        return 0.0;
    }
    // The side of departure outgrows that of arrival as e·d nears 1, so the two meet once below 1/e.
    let is_below = |d: f64| {
        let x = restitution * d;
        d - d.ln_1p() > -x - (-x).ln_1p()
    };
    bisect(0.0, restitution.recip(), is_below) / speed
}

/// Where a property that holds from `low` on ends, before `high`.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;

    /// Restitution of a free mass on the spring, by small Runge–Kutta steps.
    fn bounce(law: &HuntCrossley, mass: f64, speed: f64) -> f64 {
        let rate = |[depth, approach]: [f64; 2]| [approach, -law.force(depth, approach) / mass];
        let (mut state, h) = ([0.0, speed], 2e-7);
        loop {
            let at = |k: [f64; 2], s: f64| [state[0] + s * h * k[0], state[1] + s * h * k[1]];
            let k1 = rate(state);
            let k2 = rate(at(k1, 0.5));
            let k3 = rate(at(k2, 0.5));
            let k4 = rate(at(k3, 1.0));
            for i in 0..2 {
                state[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
            }
            if state[0] <= 0.0 {
                return -state[1] / speed;
            }
        }
    }

    #[test]
    fn masses_rebound_as_published() {
        for (stiffness, exponent, mass) in [(1e6, 1.5, 0.3), (1e5, 1.0, 2.0), (1e7, 2.2, 0.05)] {
            for (dissipation, speed) in [(0.1, 0.5), (0.5, 1.0), (0.3, 4.0)] {
                let law = HuntCrossley {
                    stiffness,
                    exponent,
                    dissipation,
                };
                let (found, expected) =
                    (bounce(&law, mass, speed), restitution(dissipation, speed));
                assert!(
                    (found - expected).abs() < 2e-4,
                    "{law:?}: {found}, {expected}"
                );
            }
        }
    }

    /// Hunt and Crossley's e = 1 − α·v for c = 3/2·α, at low speed.
    #[test]
    fn restitution_falls_linearly_with_low_speed() {
        let alpha = 0.2;
        for speed in [1e-3, 1e-2, 1e-1] {
            let found = restitution(1.5 * alpha, speed);
            let error = found - (1.0 - alpha * speed);
            assert!(error.abs() < 2.0 * (alpha * speed).powi(2), "{error:e}");
        }
        assert_eq!(restitution(0.0, 1.0), 1.0);
        for e in [0.05, 0.3, 0.9, 0.999] {
            assert!((restitution(dissipation(e, 3.0), 3.0) - e).abs() < 1e-10);
        }
    }

    #[test]
    fn the_force_pushes_only_and_its_slopes_are_right() {
        let law = HuntCrossley {
            stiffness: 1e4,
            exponent: 1.5,
            dissipation: 0.5,
        };
        assert_eq!(law.force(-0.1, 1.0), 0.0);
        assert_eq!(law.force(0.1, -3.0), 0.0);
        let dual = HuntCrossley::<Dual<3>> {
            stiffness: Dual::constant(1e4),
            exponent: Dual::variable(1.5, 2),
            dissipation: Dual::constant(0.5),
        };
        let force = dual.force(Dual::variable(0.01, 0), Dual::variable(0.2, 1));
        let expected = [
            1.5e4 * 0.1 * 1.1,
            1e4 * 1e-3 * 0.5,
            1e4 * 1e-3 * 1.1 * 0.01_f64.ln(),
        ];
        for (found, expected) in force.tangent.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9 * expected.abs());
        }
    }
}
