//! Friction as a smooth function of the sliding speed [Brown 2016].
//!
//! With s = |v|/w the speed in units of the transition speed w, f the normal force, μ and μ₀ the coefficients of
//! sliding and of greatest static friction,
//!
//!   F = f·(μ·tanh(4·s) + (μ₀ − μ)·s/(s²/4 + 3/4)²) + σ·|v|·tanh(4·f/g)             (1)
//!
//! against the velocity. The second term has its peak, μ₀ − μ, at s = 1 and fades beyond: Stribeck's curve. The
//! third is viscous friction, which acts in full above the normal force g. There is no true sticking: a body on a
//! slope creeps at a speed well below w.

use crate::scalar::Scalar;

/// The numbers of (1) apart from the sliding coefficient, which belongs to the contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrownMcPhee<T: Scalar = f64> {
    /// w (m/s).
    pub transition_speed: T,
    /// μ₀/μ.
    pub static_ratio: T,
    /// σ (N·s/m).
    pub viscous: T,
    /// g (N).
    pub viscous_force: T,
}

impl<T: Scalar> BrownMcPhee<T> {
    /// Friction over speed, F/|v| without its viscous part and for a unit normal force and coefficient (s/m), from the
    /// square of the speed (m²/s²): smooth down to rest.
    #[inline]
    #[must_use]
    pub fn per_speed(&self, speed_squared: T) -> T {
        let scale = self.transition_speed.recip();
        let square = speed_squared * scale * scale;
        let peak = square * 0.25 + 0.75;
        (tanh_ratio(square * 16.0) * 4.0 + (self.static_ratio - T::ONE) / (peak * peak)) * scale
    }

    /// Viscous friction over speed at a normal force (N·s/m).
    #[inline]
    #[must_use]
    pub fn viscous_per_speed(&self, normal: T) -> T {
        self.viscous * (normal * 4.0 / self.viscous_force).tanh()
    }
}

/// Coefficients of tanh(x)/x in powers of x².
const TANH_SERIES: [f64; 6] = [
    1.0,
    -1.0 / 3.0,
    2.0 / 15.0,
    -17.0 / 315.0,
    62.0 / 2835.0,
    -1382.0 / 155_925.0,
];

/// tanh(x)/x as a function of x².
#[inline]
fn tanh_ratio<T: Scalar>(square: T) -> T {
    // The series is exact to rounding here, and has a derivative at rest where the root has none.
    if square.value() < 2.5e-3 {
        let terms = TANH_SERIES.iter().rev();
        return terms.fold(T::ZERO, |sum, &term| sum * square + term);
    }
    let x = square.sqrt();
    x.tanh() / x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;

    const LAW: BrownMcPhee = BrownMcPhee {
        transition_speed: 0.02,
        static_ratio: 1.4,
        viscous: 0.3,
        viscous_force: 2.0,
    };

    /// (1) as it stands, for f = μ = 1.
    fn published(speed: f64) -> f64 {
        let s = speed / LAW.transition_speed;
        (4.0 * s).tanh() + (LAW.static_ratio - 1.0) * s / (0.25 * s * s + 0.75).powi(2)
    }

    #[test]
    fn the_curve_is_the_published_one() {
        for speed in [1e-9, 1e-4, 2.4e-4, 2.6e-4, 0.01, 0.02, 0.05, 1.0] {
            let found = LAW.per_speed(speed * speed) * speed;
            let expected = published(speed);
            assert!((found - expected).abs() < 1e-14 * expected.max(1e-3));
        }
        // Greatest near the transition speed, sliding friction far above.
        assert!((LAW.per_speed(4e-4) * 0.02 - 1.4).abs() < 1e-3);
        assert!((LAW.per_speed(4.0) * 2.0 - 1.0).abs() < 1e-3);
        assert!((LAW.viscous_per_speed(50.0) - 0.3).abs() < 1e-12);
    }

    #[test]
    fn slopes_hold_at_rest_and_across_the_series() {
        let law = BrownMcPhee {
            transition_speed: Dual::constant(0.02),
            static_ratio: Dual::constant(1.4),
            viscous: Dual::constant(0.3),
            viscous_force: Dual::constant(2.0),
        };
        for square in [0.0, 6.2e-8, 6.3e-8, 1e-3] {
            let found = law.per_speed(Dual::<1>::variable(square, 0)).tangent[0];
            let step = 1e-5 * (square + 1e-7);
            let rise = LAW.per_speed(square + step) - LAW.per_speed(square - step);
            let expected = rise / (2.0 * step);
            assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
        }
    }
}
