//! Forces of actuators: f = gain(ℓ, ℓ̇)·u + bias(ℓ, ℓ̇), over the length ℓ, its rate and the input u, a control or an activation.
//!
//! Gain and bias are constant, affine, p₀ + p₁ℓ + p₂ℓ̇, or those of a [muscle](super::muscle).

use super::law::{Law, variables};
use super::muscle::Muscle;
use crate::dual::Dual;
use crate::model::{BiasKind, GainKind};
use crate::scalar::Scalar;

/// The force over (ℓ, ℓ̇, u).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActuatorForce {
    pub(crate) gain: GainKind,
    pub(crate) bias: BiasKind,
}

/// Where the parameters are: ten of the gain, ten of the bias, the range of lengths, the acceleration of unit force.
pub(crate) const PARAMETERS: usize = 23;
pub(crate) const BIAS: usize = 10;
pub(crate) const LENGTH_RANGE: usize = 20;
pub(crate) const ACCELERATION_REFERENCE: usize = 22;

/// p₀ + p₁ℓ + p₂ℓ̇, of the parameters from `first` on.
#[inline]
fn affine<T: Scalar>(p: &[T; PARAMETERS], first: usize, length: T, rate: T) -> T {
    p[first] + p[first + 1] * length + p[first + 2] * rate
}

/// The muscle whose parameters start at `first`.
#[inline]
fn muscle<T: Scalar>(p: &[T; PARAMETERS], first: usize) -> Muscle<T> {
    Muscle {
        parameters: std::array::from_fn(|k| p[first + k]),
        length_range: [p[LENGTH_RANGE], p[LENGTH_RANGE + 1]],
        acceleration_reference: p[ACCELERATION_REFERENCE],
    }
}

impl ActuatorForce {
    #[inline]
    fn gain<T: Scalar>(self, p: &[T; PARAMETERS], length: T, rate: T) -> T {
        match self.gain {
            GainKind::Fixed => p[0],
            GainKind::Affine => affine(p, 0, length, rate),
            GainKind::Muscle => muscle(p, 0).gain(length, rate),
            // Motors and servos with set points have laws of their own.
            GainKind::User | GainKind::DcMotor | GainKind::Pid | GainKind::So3 => T::ONE,
        }
    }

    #[inline]
    fn bias<T: Scalar>(self, p: &[T; PARAMETERS], length: T, rate: T) -> T {
        match self.bias {
            BiasKind::None | BiasKind::User | BiasKind::DcMotor | BiasKind::So3 => T::ZERO,
            BiasKind::Affine => affine(p, BIAS, length, rate),
            BiasKind::Muscle => muscle(p, BIAS).bias(length),
        }
    }

    /// Whether dual numbers are to differentiate it.
    fn has_muscle(self) -> bool {
        self.gain == GainKind::Muscle || self.bias == BiasKind::Muscle
    }

    /// Appends numbers that change their sign where the force bends.
    pub(crate) fn write_bends(
        self,
        [length, rate]: [f64; 2],
        p: [f64; PARAMETERS],
        out: &mut Vec<f64>,
    ) {
        if self.gain == GainKind::Muscle {
            muscle(&p, 0).write_bends(length, rate, out);
        }
        if self.bias == BiasKind::Muscle {
            muscle(&p, BIAS).write_bends(length, rate, out);
        }
    }
}

impl Law<3, PARAMETERS> for ActuatorForce {
    #[inline]
    fn value<T: Scalar>(self, [length, rate, input]: [T; 3], p: [T; PARAMETERS]) -> T {
        self.gain(&p, length, rate) * input + self.bias(&p, length, rate)
    }

    fn by_inputs(self, x: [f64; 3], p: [f64; PARAMETERS]) -> [f64; 3] {
        if self.has_muscle() {
            return (self.value(variables(x), p.map(Dual::constant))).tangent;
        }
        let [length, rate, input] = x;
        let mut slopes = [0.0, 0.0, self.gain(&p, length, rate)];
        if self.gain == GainKind::Affine {
            slopes[0] += p[1] * input;
            slopes[1] += p[2] * input;
        }
        if self.bias == BiasKind::Affine {
            slopes[0] += p[BIAS + 1];
            slopes[1] += p[BIAS + 2];
        }
        slopes
    }

    fn by_parameters(self, x: [f64; 3], p: [f64; PARAMETERS]) -> [f64; PARAMETERS] {
        if self.has_muscle() {
            return (self.value(x.map(Dual::constant), variables(p))).tangent;
        }
        let [length, rate, input] = x;
        let mut slopes = [0.0; PARAMETERS];
        match self.gain {
            GainKind::Fixed => slopes[0] = input,
            GainKind::Affine => {
                slopes[..3].copy_from_slice(&[input, length * input, rate * input]);
            }
            _ => {}
        }
        if self.bias == BiasKind::Affine {
            slopes[BIAS..BIAS + 3].copy_from_slice(&[1.0, length, rate]);
        }
        slopes
    }

    #[inline]
    fn rate_derivative<T: Scalar>(self, [length, rate, input]: [T; 3], p: [T; PARAMETERS]) -> T {
        let bias = match self.bias {
            BiasKind::Affine => p[BIAS + 2],
            _ => T::ZERO,
        };
        let gain = match self.gain {
            GainKind::Affine => p[2],
            GainKind::Muscle => muscle(&p, 0).gain_velocity_derivative(length, rate),
            _ => return bias,
        };
        bias + gain * input
    }

    fn rate_derivative_by_inputs(self, x: [f64; 3], p: [f64; PARAMETERS]) -> [f64; 3] {
        match self.gain {
            GainKind::Affine => [0.0, 0.0, p[2]],
            GainKind::Muscle => (self.rate_derivative(variables(x), p.map(Dual::constant))).tangent,
            _ => [0.0; 3],
        }
    }

    fn rate_derivative_by_parameters(self, x: [f64; 3], p: [f64; PARAMETERS]) -> [f64; PARAMETERS] {
        if self.gain == GainKind::Muscle {
            return (self.rate_derivative(x.map(Dual::constant), variables(p))).tangent;
        }
        let mut slopes = [0.0; PARAMETERS];
        if self.gain == GainKind::Affine {
            slopes[2] = x[2];
        }
        if self.bias == BiasKind::Affine {
            slopes[BIAS + 2] = 1.0;
        }
        slopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::law::check;

    #[test]
    fn what_is_written_out_agrees_with_dual_numbers() {
        let mut p: [f64; PARAMETERS] = std::array::from_fn(|k| 0.3 + 0.1 * k as f64);
        p[LENGTH_RANGE..].copy_from_slice(&[0.2, 0.35, 4.0]);
        let gains = [
            GainKind::Fixed,
            GainKind::Affine,
            GainKind::Muscle,
            GainKind::User,
        ];
        let biases = [
            BiasKind::None,
            BiasKind::Affine,
            BiasKind::Muscle,
            BiasKind::User,
        ];
        for gain in gains {
            for bias in biases {
                let law = ActuatorForce { gain, bias };
                for x in [[0.27, 0.1, 0.6], [0.24, -0.03, 0.2]] {
                    check::gradients_agree(law, x, p);
                    check::rate_derivative_is_by_input(law, 1, x, p);
                }
            }
        }
    }
}
