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

/// Where the parameters are: ten of the gain, ten of the bias, the range of lengths, the acceleration of unit force.
pub(crate) const PARAMETERS: usize = 23;
pub(crate) const BIAS: usize = 10;
pub(crate) const LENGTH_RANGE: usize = 20;
pub(crate) const ACCELERATION_REFERENCE: usize = 22;

/// Length, rate, ten parameters of the muscle, the range of lengths and the acceleration of unit force.
const MUSCLE_LANES: usize = 15;
type Lanes = Dual<MUSCLE_LANES>;

/// p₀ + p₁ℓ + p₂ℓ̇.
#[inline]
fn affine<T: Scalar>(p: [T; 3], length: T, rate: T) -> T {
    p[0] + p[1] * length + p[2] * rate
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

/// A curve of the muscle whose parameters start at `first`, with its derivatives with respect to all it depends on: one pass
/// over fifteen numbers instead of one over all that an actuator has.
fn muscle_lanes(
    p: &[f64; PARAMETERS],
    first: usize,
    [length, rate]: [f64; 2],
    curve: impl Fn(&Muscle<Lanes>, Lanes, Lanes) -> Lanes,
) -> Lanes {
    let own = muscle(p, first);
    let muscle = Muscle {
        parameters: std::array::from_fn(|k| Dual::variable(own.parameters[k], 2 + k)),
        length_range: std::array::from_fn(|k| Dual::variable(own.length_range[k], 12 + k)),
        acceleration_reference: Dual::variable(own.acceleration_reference, 14),
    };
    curve(&muscle, Dual::variable(length, 0), Dual::variable(rate, 1))
}

/// Adds the derivatives of a muscle's curve, times a factor, to those with respect to inputs and parameters.
fn add_lanes(
    lanes: Lanes,
    factor: f64,
    first: usize,
    (by_inputs, by_parameters): &mut ([f64; 3], [f64; PARAMETERS]),
) {
    let [inputs, own] = [&lanes.tangent[..2], &lanes.tangent[2..]];
    let own_places = (first..first + 10).chain(LENGTH_RANGE..PARAMETERS);
    for (sum, slope) in by_inputs.iter_mut().zip(inputs) {
        *sum += slope * factor;
    }
    for (place, slope) in own_places.zip(own) {
        by_parameters[place] += slope * factor;
    }
}

/// The force of an actuator without a muscle, over three parameters of the gain and three of the bias.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AffineForce {
    gain: GainKind,
    bias: BiasKind,
}

impl AffineForce {
    #[inline]
    fn gain<T: Scalar>(self, p: [T; 6], length: T, rate: T) -> T {
        match self.gain {
            GainKind::Fixed => p[0],
            GainKind::Affine => affine([p[0], p[1], p[2]], length, rate),
            // Muscles, motors and servos with set points have laws of their own.
            _ => T::ONE,
        }
    }

    #[inline]
    fn bias<T: Scalar>(self, p: [T; 6], length: T, rate: T) -> T {
        match self.bias {
            BiasKind::Affine => affine([p[3], p[4], p[5]], length, rate),
            _ => T::ZERO,
        }
    }
}

impl Law<3, 6> for AffineForce {
    #[inline]
    fn value<T: Scalar>(self, [length, rate, input]: [T; 3], p: [T; 6]) -> T {
        self.gain(p, length, rate) * input + self.bias(p, length, rate)
    }

    #[inline]
    fn by_inputs(self, [length, rate, input]: [f64; 3], p: [f64; 6]) -> [f64; 3] {
        let mut slopes = [0.0, 0.0, self.gain(p, length, rate)];
        if self.gain == GainKind::Affine {
            slopes[0] += p[1] * input;
            slopes[1] += p[2] * input;
        }
        if self.bias == BiasKind::Affine {
            slopes[0] += p[4];
            slopes[1] += p[5];
        }
        slopes
    }

    #[inline]
    fn by_parameters(self, [length, rate, input]: [f64; 3], _p: [f64; 6]) -> [f64; 6] {
        let mut slopes = [0.0; 6];
        match self.gain {
            GainKind::Fixed => slopes[0] = input,
            GainKind::Affine => {
                slopes[..3].copy_from_slice(&[input, length * input, rate * input]);
            }
            _ => {}
        }
        if self.bias == BiasKind::Affine {
            slopes[3..].copy_from_slice(&[1.0, length, rate]);
        }
        slopes
    }

    #[inline]
    fn rate_derivative<T: Scalar>(self, [_, _, input]: [T; 3], p: [T; 6]) -> T {
        let bias = match self.bias {
            BiasKind::Affine => p[5],
            _ => T::ZERO,
        };
        match self.gain {
            GainKind::Affine => bias + p[2] * input,
            _ => bias,
        }
    }

    #[inline]
    fn rate_derivative_by_inputs(self, _x: [f64; 3], p: [f64; 6]) -> [f64; 3] {
        let is_affine = self.gain == GainKind::Affine;
        [0.0, 0.0, if is_affine { p[2] } else { 0.0 }]
    }

    #[inline]
    fn rate_derivative_by_parameters(self, x: [f64; 3], _p: [f64; 6]) -> [f64; 6] {
        let mut slopes = [0.0; 6];
        if self.gain == GainKind::Affine {
            slopes[2] = x[2];
        }
        if self.bias == BiasKind::Affine {
            slopes[5] = 1.0;
        }
        slopes
    }
}

impl ActuatorForce {
    pub(crate) fn has_muscle(self) -> bool {
        self.gain == GainKind::Muscle || self.bias == BiasKind::Muscle
    }

    /// The parts that are no muscle's.
    #[inline]
    pub(crate) fn affine(self) -> AffineForce {
        let Self { gain, bias } = self;
        AffineForce { gain, bias }
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
/// The parameters of gain and bias that are no muscle's.
#[inline]
fn affine_parameters<T: Scalar>(p: &[T; PARAMETERS]) -> [T; 6] {
    [p[0], p[1], p[2], p[BIAS], p[BIAS + 1], p[BIAS + 2]]
}

/// Derivatives with respect to those among those with respect to all.
#[inline]
fn among_all(slopes: [f64; 6]) -> [f64; PARAMETERS] {
    let mut all = [0.0; PARAMETERS];
    all[..3].copy_from_slice(&slopes[..3]);
    all[BIAS..BIAS + 3].copy_from_slice(&slopes[3..]);
    all
}

impl Law<3, PARAMETERS> for ActuatorForce {
    #[inline]
    fn value<T: Scalar>(self, [length, rate, input]: [T; 3], p: [T; PARAMETERS]) -> T {
        let (rest, own) = (self.affine(), affine_parameters(&p));
        let gain = match self.gain {
            GainKind::Muscle => muscle(&p, 0).gain(length, rate),
            _ => rest.gain(own, length, rate),
        };
        let bias = match self.bias {
            BiasKind::Muscle => muscle(&p, BIAS).bias(length),
            _ => rest.bias(own, length, rate),
        };
        gain * input + bias
    }

    fn gradient(self, x: [f64; 3], p: [f64; PARAMETERS]) -> ([f64; 3], [f64; PARAMETERS]) {
        let (rest, own) = (self.affine(), affine_parameters(&p));
        let slopes = rest.by_parameters(x, own);
        let mut sums = (rest.by_inputs(x, own), among_all(slopes));
        let [length, rate, input] = x;
        if self.gain == GainKind::Muscle {
            let gain = muscle_lanes(&p, 0, [length, rate], Muscle::gain);
            sums.0[2] = gain.value;
            add_lanes(gain, input, 0, &mut sums);
        }
        if self.bias == BiasKind::Muscle {
            let passive = |muscle: &Muscle<Lanes>, length, _| muscle.bias(length);
            let bias = muscle_lanes(&p, BIAS, [length, rate], passive);
            add_lanes(bias, 1.0, BIAS, &mut sums);
        }
        sums
    }

    fn by_parameters(self, x: [f64; 3], p: [f64; PARAMETERS]) -> [f64; PARAMETERS] {
        self.gradient(x, p).1
    }

    #[inline]
    fn rate_derivative<T: Scalar>(self, [length, rate, input]: [T; 3], p: [T; PARAMETERS]) -> T {
        let rest = (self.affine()).rate_derivative([length, rate, input], affine_parameters(&p));
        match self.gain {
            GainKind::Muscle => rest + muscle(&p, 0).gain_velocity_derivative(length, rate) * input,
            _ => rest,
        }
    }

    fn rate_derivative_gradient(
        self,
        x: [f64; 3],
        p: [f64; PARAMETERS],
    ) -> ([f64; 3], [f64; PARAMETERS]) {
        let (rest, own) = (self.affine(), affine_parameters(&p));
        let slopes = rest.rate_derivative_by_parameters(x, own);
        let mut sums = (rest.rate_derivative_by_inputs(x, own), among_all(slopes));
        if self.gain == GainKind::Muscle {
            let slope = muscle_lanes(&p, 0, [x[0], x[1]], Muscle::gain_velocity_derivative);
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
