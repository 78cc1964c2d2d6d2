//! Forces of actuators: f = gain(ℓ, ℓ̇)·u + bias(ℓ, ℓ̇), over the length ℓ, its rate and the input u, a control or an activation.
//!
//! Gain and bias are constant, affine, p₀ + p₁ℓ + p₂ℓ̇, or those of a [muscle](super::muscle).

use super::law::Law;
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

/// What the force depends on besides its inputs, where the model has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameters<'a, T> {
    pub(crate) gain: &'a [T],
    pub(crate) bias: &'a [T],
    pub(crate) length_range: &'a [T],
    /// The accelerations of unit force, and which of them is the actuator's: only muscles look it up.
    pub(crate) acceleration_reference: &'a [T],
    pub(crate) output: usize,
}

/// Where the parameters are in a list of all.
pub(crate) const PARAMETERS: usize = 23;
pub(crate) const BIAS: usize = 10;
pub(crate) const LENGTH_RANGE: usize = 20;
pub(crate) const ACCELERATION_REFERENCE: usize = 22;

/// Length, rate, ten parameters of the muscle, the range of lengths and the acceleration of unit force.
const MUSCLE_LANES: usize = 15;
type Lanes = Dual<MUSCLE_LANES>;

impl<'a, T: Scalar> Parameters<'a, T> {
    #[inline]
    fn among(p: &'a [T; PARAMETERS]) -> Self {
        Self {
            gain: &p[..BIAS],
            bias: &p[BIAS..LENGTH_RANGE],
            length_range: &p[LENGTH_RANGE..ACCELERATION_REFERENCE],
            acceleration_reference: &p[ACCELERATION_REFERENCE..],
            output: 0,
        }
    }

    /// The muscle that gain or bias describe.
    #[inline]
    fn muscle(&self, own: &[T]) -> Muscle<T> {
        Muscle {
            parameters: std::array::from_fn(|k| own[k]),
            length_range: [self.length_range[0], self.length_range[1]],
            acceleration_reference: self.acceleration_reference[self.output],
        }
    }
}

/// p₀ + p₁ℓ + p₂ℓ̇.
#[inline]
fn affine<T: Scalar>(p: &[T], length: T, rate: T) -> T {
    p[0] + p[1] * length + p[2] * rate
}

/// A curve of a muscle, with its derivatives with respect to all it depends on: one pass over fifteen numbers instead of one
/// over all that an actuator has.
fn muscle_lanes(
    own: &Muscle<f64>,
    [length, rate]: [f64; 2],
    curve: impl Fn(&Muscle<Lanes>, Lanes, Lanes) -> Lanes,
) -> Lanes {
    let muscle = Muscle {
        parameters: std::array::from_fn(|k| Dual::variable(own.parameters[k], 2 + k)),
        length_range: std::array::from_fn(|k| Dual::variable(own.length_range[k], 12 + k)),
        acceleration_reference: Dual::variable(own.acceleration_reference, 14),
    };
    curve(&muscle, Dual::variable(length, 0), Dual::variable(rate, 1))
}

/// Derivatives with respect to the inputs and to all parameters.
type Gradient = ([f64; 3], [f64; PARAMETERS]);

/// Adds the derivatives of a muscle's curve, times a factor; its own parameters start at `first`.
fn add_lanes(lanes: Lanes, factor: f64, first: usize, (by_inputs, by_parameters): &mut Gradient) {
    let [inputs, own] = [&lanes.tangent[..2], &lanes.tangent[2..]];
    let own_places = (first..first + 10).chain(LENGTH_RANGE..PARAMETERS);
    for (sum, slope) in by_inputs.iter_mut().zip(inputs) {
        *sum += slope * factor;
    }
    for (place, slope) in own_places.zip(own) {
        by_parameters[place] += slope * factor;
    }
}

/// Derivatives of what is no muscle's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AffineGradient {
    pub(crate) inputs: [f64; 3],
    /// With respect to the first parameters of the gain.
    pub(crate) gain: [f64; 3],
    /// With respect to the first parameters of the bias.
    pub(crate) bias: [f64; 3],
}

impl AffineGradient {
    /// Among the derivatives with respect to all parameters.
    fn among_all(self) -> Gradient {
        let mut all = [0.0; PARAMETERS];
        all[..3].copy_from_slice(&self.gain);
        all[BIAS..BIAS + 3].copy_from_slice(&self.bias);
        (self.inputs, all)
    }
}

impl ActuatorForce {
    pub(crate) fn has_muscle(self) -> bool {
        self.gain == GainKind::Muscle || self.bias == BiasKind::Muscle
    }

    /// f of the module.
    #[inline]
    pub(crate) fn force<T: Scalar>(self, [length, rate, input]: [T; 3], p: Parameters<'_, T>) -> T {
        let gain = match self.gain {
            GainKind::Fixed => p.gain[0],
            GainKind::Affine => affine(p.gain, length, rate),
            GainKind::Muscle => p.muscle(p.gain).gain(length, rate),
            // Motors and servos with set points have laws of their own.
            _ => T::ONE,
        };
        let bias = match self.bias {
            BiasKind::Affine => affine(p.bias, length, rate),
            BiasKind::Muscle => p.muscle(p.bias).bias(length),
            _ => T::ZERO,
        };
        gain * input + bias
    }

    /// ∂f/∂ℓ̇.
    #[inline]
    pub(crate) fn by_rate<T: Scalar>(
        self,
        [length, rate, input]: [T; 3],
        p: Parameters<'_, T>,
    ) -> T {
        let bias = match self.bias {
            BiasKind::Affine => p.bias[2],
            _ => T::ZERO,
        };
        match self.gain {
            GainKind::Affine => bias + p.gain[2] * input,
            GainKind::Muscle => {
                bias + (p.muscle(p.gain)).gain_velocity_derivative(length, rate) * input
            }
            _ => bias,
        }
    }

    /// Derivatives of the force without muscles.
    #[inline]
    pub(crate) fn affine_gradient(
        self,
        [length, rate, input]: [f64; 3],
        p: Parameters<'_, f64>,
    ) -> AffineGradient {
        let mut slopes = AffineGradient::default();
        match self.gain {
            GainKind::Fixed => {
                slopes.inputs[2] = p.gain[0];
                slopes.gain[0] = input;
            }
            GainKind::Affine => {
                let gain = affine(p.gain, length, rate);
                slopes.inputs = [p.gain[1] * input, p.gain[2] * input, gain];
                slopes.gain = [input, length * input, rate * input];
            }
            GainKind::Muscle => {}
            _ => slopes.inputs[2] = 1.0,
        }
        if self.bias == BiasKind::Affine {
            slopes.inputs[0] += p.bias[1];
            slopes.inputs[1] += p.bias[2];
            slopes.bias = [1.0, length, rate];
        }
        slopes
    }

    /// Derivatives of [`by_rate`](Self::by_rate) without muscles.
    #[inline]
    pub(crate) fn affine_by_rate_gradient(
        self,
        input: f64,
        p: Parameters<'_, f64>,
    ) -> AffineGradient {
        let mut slopes = AffineGradient::default();
        if self.gain == GainKind::Affine {
            slopes.inputs[2] = p.gain[2];
            slopes.gain[2] = input;
        }
        if self.bias == BiasKind::Affine {
            slopes.bias[2] = 1.0;
        }
        slopes
    }

    /// Appends numbers that change their sign where the force bends.
    pub(crate) fn write_bends(
        self,
        [length, rate]: [f64; 2],
        p: Parameters<'_, f64>,
        out: &mut Vec<f64>,
    ) {
        if self.gain == GainKind::Muscle {
            p.muscle(p.gain).write_bends(length, rate, out);
        }
        if self.bias == BiasKind::Muscle {
            p.muscle(p.bias).write_bends(length, rate, out);
        }
    }
}

impl Law<3, PARAMETERS> for ActuatorForce {
    #[inline]
    fn value<T: Scalar>(self, x: [T; 3], p: [T; PARAMETERS]) -> T {
        self.force(x, Parameters::among(&p))
    }

    fn gradient(self, x: [f64; 3], p: [f64; PARAMETERS]) -> Gradient {
        let p = Parameters::among(&p);
        let mut sums = self.affine_gradient(x, p).among_all();
        let [length, rate, input] = x;
        if self.gain == GainKind::Muscle {
            let gain = muscle_lanes(&p.muscle(p.gain), [length, rate], Muscle::gain);
            sums.0[2] = gain.value;
            add_lanes(gain, input, 0, &mut sums);
        }
        if self.bias == BiasKind::Muscle {
            let passive = |muscle: &Muscle<Lanes>, length, _| muscle.bias(length);
            let bias = muscle_lanes(&p.muscle(p.bias), [length, rate], passive);
            add_lanes(bias, 1.0, BIAS, &mut sums);
        }
        sums
    }

    fn by_parameters(self, x: [f64; 3], p: [f64; PARAMETERS]) -> [f64; PARAMETERS] {
        self.gradient(x, p).1
    }

    #[inline]
    fn rate_derivative<T: Scalar>(self, x: [T; 3], p: [T; PARAMETERS]) -> T {
        self.by_rate(x, Parameters::among(&p))
    }

    fn rate_derivative_gradient(self, x: [f64; 3], p: [f64; PARAMETERS]) -> Gradient {
        let p = Parameters::among(&p);
        let mut sums = self.affine_by_rate_gradient(x[2], p).among_all();
        if self.gain == GainKind::Muscle {
            let muscle = p.muscle(p.gain);
            let slope = muscle_lanes(&muscle, [x[0], x[1]], Muscle::gain_velocity_derivative);
            sums.0[2] = slope.value;
            add_lanes(slope, x[2], 0, &mut sums);
        }
        sums
    }

    fn rate_derivative_by_parameters(self, x: [f64; 3], p: [f64; PARAMETERS]) -> [f64; PARAMETERS] {
        self.rate_derivative_gradient(x, p).1
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
