//! Muscles: force–length–velocity curves and activation dynamics.
//!
//! Lengths are in units of the optimal length, velocities in units of the greatest shortening speed. The parameters are
//! the range of normalised lengths (2), peak force, force scale, shortest and longest active length, greatest speed,
//! passive force and greatest lengthening force. All curves are piecewise quadratic: the active one rises from the
//! shortest length to its peak 1 at length 1 and falls to the longest; the velocity curve is 0 at −1, 1 at rest and
//! saturates when lengthening; the passive one grows beyond length 1.

use crate::math::MIN_LENGTH;
use crate::scalar::Scalar;

/// What gain and bias of a muscle depend on besides its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Muscle<T> {
    pub(crate) parameters: [T; 10],
    /// Feasible actuator lengths.
    pub(crate) length_range: [T; 2],
    /// Acceleration of unit force at the reference configuration.
    pub(crate) acceleration_reference: T,
}

impl<T: Scalar> Muscle<T> {
    /// Peak active force: given, or in proportion to the inertia that the muscle moves.
    fn peak_force(&self) -> T {
        let [_, _, force, scale, ..] = self.parameters;
        if force.value() < 0.0 {
            scale / at_least_tiny(self.acceleration_reference)
        } else {
            force
        }
    }

    /// Optimal length: the range of normalised lengths spans the feasible lengths.
    fn optimal_length(&self) -> T {
        let [low, high, ..] = self.parameters;
        (self.length_range[1] - self.length_range[0]) / at_least_tiny(high - low)
    }

    fn normalized_length(&self, length: T, optimal: T) -> T {
        self.parameters[0] + (length - self.length_range[0]) / at_least_tiny(optimal)
    }

    /// Active force per activation; negative, since muscles pull.
    pub(crate) fn gain(&self, length: T, velocity: T) -> T {
        let [_, _, _, _, low, high, speed, _, lengthening, _] = self.parameters;
        let optimal = self.optimal_length();
        let active = active_curve(self.normalized_length(length, optimal), low, high);
        let rate = velocity / at_least_tiny(optimal * speed);
        -self.peak_force() * active * velocity_curve(rate, lengthening)
    }

    /// Derivative of the gain with respect to the velocity.
    pub(crate) fn gain_velocity_derivative(&self, length: T, velocity: T) -> T {
        let [_, _, _, _, low, high, speed, _, lengthening, _] = self.parameters;
        let optimal = self.optimal_length();
        let active = active_curve(self.normalized_length(length, optimal), low, high);
        let greatest = at_least_tiny(optimal * speed);
        let slope = velocity_curve_slope(velocity / greatest, lengthening);
        -self.peak_force() * active * slope / greatest
    }

    /// Passive force; negative, since muscles pull.
    pub(crate) fn bias(&self, length: T) -> T {
        let [_, _, _, _, _, high, _, passive, ..] = self.parameters;
        let normalized = self.normalized_length(length, self.optimal_length());
        -self.peak_force() * passive * passive_curve(normalized, high)
    }
}

impl Muscle<f64> {
    /// Appends numbers that change their sign at the ends of the pieces of all curves.
    pub(crate) fn write_bends(&self, length: f64, velocity: f64, out: &mut Vec<f64>) {
        let [_, _, _, _, low, high, speed, _, lengthening, _] = self.parameters;
        let optimal = self.optimal_length();
        let length = self.normalized_length(length, optimal);
        let rate = velocity / at_least_tiny(optimal * speed);
        let lengths = [low, 0.5 * (low + 1.0), 1.0, 0.5 * (1.0 + high), high];
        out.extend(lengths.map(|end| length - end));
        out.extend([-1.0, 0.0, lengthening - 1.0].map(|end| rate - end));
    }
}

fn at_least_tiny<T: Scalar>(number: T) -> T {
    number.max(T::from(MIN_LENGTH))
}

/// Active force over normalised length.
fn active_curve<T: Scalar>(length: T, low: T, high: T) -> T {
    let one = T::ONE;
    let (rising, falling) = ((low + one) * 0.5, (one + high) * 0.5);
    let half_square = |numerator: T, width: T| {
        let x = numerator / at_least_tiny(width);
        x * x * 0.5
    };
    if length < low || length > high {
        T::ZERO
    } else if length <= rising {
        half_square(length - low, rising - low)
    } else if length <= one {
        one - half_square(one - length, one - rising)
    } else if length <= falling {
        one - half_square(length - one, falling - one)
    } else {
        half_square(high - length, high - falling)
    }
}

/// Force over normalised velocity, positive when lengthening.
fn velocity_curve<T: Scalar>(velocity: T, greatest: T) -> T {
    let knee = greatest - 1.0;
    if velocity.value() <= -1.0 {
        T::ZERO
    } else if velocity.value() <= 0.0 {
        (velocity + 1.0) * (velocity + 1.0)
    } else if velocity <= knee {
        greatest - (knee - velocity) * (knee - velocity) / at_least_tiny(knee)
    } else {
        greatest
    }
}

/// Derivative of the force over normalised velocity.
fn velocity_curve_slope<T: Scalar>(velocity: T, greatest: T) -> T {
    let knee = greatest - 1.0;
    if velocity.value() <= -1.0 {
        T::ZERO
    } else if velocity.value() <= 0.0 {
        (velocity + 1.0) * 2.0
    } else if velocity <= knee {
        (knee - velocity) * 2.0 / at_least_tiny(knee)
    } else {
        T::ZERO
    }
}

/// Passive force over normalised length: quadratic up to halfway between 1 and the greatest length, then linear.
fn passive_curve<T: Scalar>(length: T, high: T) -> T {
    let half_width = (high - 1.0) * 0.5;
    let knee = half_width + 1.0;
    let width = at_least_tiny(half_width);
    if length.value() <= 1.0 {
        T::ZERO
    } else if length <= knee {
        let x = (length - 1.0) / width;
        x * x * 0.5
    } else {
        (length - knee) / width + 0.5
    }
}

/// Rate of change of the activation: a first-order lag whose time constant depends on the activation and on whether it
/// rises or falls; parameters (time constant of activation, of deactivation, width of the smooth transition).
pub(crate) fn activation_rate<T: Scalar>(control: T, activation: T, parameters: [T; 3]) -> T {
    let [rising, falling, width] = parameters;
    let unit = |x: T| x.clamp(T::ZERO, T::ONE);
    let stretch = unit(activation) * 1.5 + 0.5;
    let (rising, falling) = (rising * stretch, falling / stretch);
    let excess = unit(control) - activation;
    let time_constant = if width.value() < MIN_LENGTH {
        if excess.value() > 0.0 {
            rising
        } else {
            falling
        }
    } else {
        falling + (rising - falling) * smooth_step(excess / width + 0.5)
    };
    excess / at_least_tiny(time_constant)
}

/// From 0 at x ≤ 0 to 1 at x ≥ 1 with two continuous derivatives: 6x⁵ − 15x⁴ + 10x³.
fn smooth_step<T: Scalar>(x: T) -> T {
    if x.value() <= 0.0 {
        T::ZERO
    } else if x.value() >= 1.0 {
        T::ONE
    } else {
        x * x * x * (x * (x * 2.0 - 5.0) * 3.0 + 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dual::Dual;

    const PARAMETERS: [f64; 10] = [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2, 0.0];

    fn muscle<T: Scalar>(parameters: [T; 10]) -> Muscle<T> {
        Muscle {
            parameters,
            length_range: [T::from(0.2), T::from(0.35)],
            acceleration_reference: T::from(4.0),
        }
    }

    /// Actuator length of a normalised length.
    fn length_of(normalized: f64) -> f64 {
        0.2 + (normalized - 0.75) * 0.5
    }

    #[test]
    fn the_active_curve_peaks_at_the_optimal_length_and_vanishes_outside_its_support() {
        let m = muscle(PARAMETERS);
        let gain = |normalized: f64| m.gain(length_of(normalized), 0.0);
        assert!((gain(1.0) + 50.0).abs() < 1e-12);
        assert!((gain(0.75) + 25.0).abs() < 1e-12, "half way up");
        assert!((gain(1.3) + 25.0).abs() < 1e-12, "half way down");
        assert_eq!(gain(0.4), 0.0);
        assert_eq!(gain(1.7), 0.0);
    }

    #[test]
    fn the_velocity_curve_is_continuous_and_saturates() {
        assert_eq!(velocity_curve(-1.5, 1.2), 0.0);
        assert_eq!(velocity_curve(0.0, 1.2), 1.0);
        assert!((velocity_curve(1e-9, 1.2) - 1.0).abs() < 1e-8);
        assert!((velocity_curve(0.2, 1.2) - 1.2).abs() < 1e-15);
        assert_eq!(velocity_curve(3.0, 1.2), 1.2);
    }

    #[test]
    fn the_passive_curve_has_the_given_force_at_its_knee_and_grows_linearly_beyond() {
        let m = muscle(PARAMETERS);
        assert_eq!(m.bias(length_of(0.9)), 0.0);
        assert!((m.bias(length_of(1.3)) + 50.0 * 1.3 * 0.5).abs() < 1e-10);
        let slope = (m.bias(length_of(1.5)) - m.bias(length_of(1.4))) / 0.1;
        assert!((slope + 50.0 * 1.3 / 0.3).abs() < 1e-8);
    }

    #[test]
    fn activation_rises_faster_than_it_falls_and_the_switch_can_be_smooth() {
        let hard = [0.01, 0.04, 0.0];
        assert!((activation_rate(1.0, 0.5, hard) - 0.5 / (0.01 * 1.25)).abs() < 1e-12);
        assert!((activation_rate(0.0, 0.5, hard) + 0.5 / (0.04 / 1.25)).abs() < 1e-12);
        let mut smooth = hard;
        smooth[2] = 0.4;
        let middle = 0.5 * (0.01 * 1.25 + 0.04 / 1.25);
        let rate = activation_rate(0.5 + 1e-9, 0.5, smooth);
        assert!((rate - 1e-9 / middle).abs() < 1e-12);
    }

    #[test]
    fn duals_agree_with_central_differences() {
        let h = 1e-6;
        for step in 0..60 {
            let x = 0.45 + 0.02 * f64::from(step) + 1e-3;
            let length = length_of(x);
            let v = 0.03 * f64::from(step) - 0.905;
            let dual_parameters = PARAMETERS.map(Dual::<2>::constant);
            let gain =
                muscle(dual_parameters).gain(Dual::variable(length, 0), Dual::variable(v, 1));
            let m = muscle(PARAMETERS);
            let by_length = (m.gain(length + h, v) - m.gain(length - h, v)) / (2.0 * h);
            let by_velocity = (m.gain(length, v + h) - m.gain(length, v - h)) / (2.0 * h);
            assert!((gain.tangent[0] - by_length).abs() < 1e-5, "{x}");
            assert!((gain.tangent[1] - by_velocity).abs() < 1e-5, "{x}");
            let bias = muscle(dual_parameters).bias(Dual::variable(length, 0));
            let by_length = (m.bias(length + h) - m.bias(length - h)) / (2.0 * h);
            assert!((bias.tangent[0] - by_length).abs() < 1e-5, "{x}");
        }
    }

    #[test]
    fn the_slope_of_the_velocity_curve_is_its_derivative() {
        let parameters = PARAMETERS.map(Dual::<1>::constant);
        for velocity in [-2.0, -0.3, -0.05, 0.01, 0.03, 0.2] {
            let dual = muscle(parameters)
                .gain(Dual::constant(length_of(0.9)), Dual::variable(velocity, 0));
            let slope = muscle(PARAMETERS).gain_velocity_derivative(length_of(0.9), velocity);
            assert!((slope - dual.tangent[0]).abs() < 1e-12);
        }
    }
}
